//! How long each part of a request's way through an origin takes, where somebody wants to know.

use std::future::Future;
use std::sync::Arc;

use base::{Phase, Phases};
use tokio::time::Instant;

/// Where it is noted; none: nowhere, and no clock is read.
pub(crate) type Noted = Option<Arc<Phases>>;

/// Waits for `future`, and notes how long that took, however it ended.
pub(crate) async fn timed<F: Future>(noted: &Noted, phase: Phase, future: F) -> F::Output {
    let Some(phases) = noted else { return future.await };
    let began = Instant::now();
    let output = future.await;
    phases.add_since(phase, began);
    output
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_noted_where_it_is_wanted() {
        let phases = Some(Arc::new(Phases::default()));
        for noted in [&None, &phases, &phases] {
            timed(noted, Phase::Queue, tokio::time::sleep(Duration::from_millis(20))).await;
        }
        let read = |phase| phases.as_ref().and_then(|phases| phases.read(phase));
        assert_eq!((read(Phase::Queue), read(Phase::Connect)), (Some(40_000), None));
    }
}

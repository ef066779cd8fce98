//! Following again and again: one session after the other, with growing pauses.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::queue::Inlet;
use crate::{Event, Lost};

/// The pause after the first failure; it doubles with each further one…
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// …up to this…
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// …and is forgotten after a session that lasted so long.
const STEADY: Duration = Duration::from_secs(10);

/// Runs sessions for ever, each in a task of its own: one that panics is one that failed.
pub(crate) async fn repeat<S, F>(inlet: &Inlet, begin: S)
where
    S: Fn() -> F,
    F: Future<Output = Result<Infallible, Lost>> + Send + 'static,
{
    let mut pause = PAUSE_MIN;
    loop {
        let began = Instant::now();
        let Err(lost) = Session(tokio::spawn(begin())).end().await;
        inlet.tell(Event::Lost(lost));
        if began.elapsed() >= STEADY {
            pause = PAUSE_MIN;
        }
        // Feeds that were lost together shall not come back together.
        tokio::time::sleep(pause.mul_f64(rand::random_range(0.75..1.25))).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// A session that ends when nobody waits for its end any more.
struct Session(tokio::task::JoinHandle<Result<Infallible, Lost>>);

impl Session {
    async fn end(mut self) -> Result<Infallible, Lost> {
        (&mut self.0).await.unwrap_or(Err(Lost::Unreadable))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.0.abort();
    }
}

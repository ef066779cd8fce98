//! Spawning tasks whose panics are counted and end only themselves.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::task::JoinHandle;

use crate::Counter;

/// Spawns `future` on this thread's runtime; a panic in it bumps `panics` and goes no further.
pub fn spawn_counted<F>(panics: &Arc<Counter>, future: F) -> JoinHandle<()>
where
    F: Future<Output = ()> + Send + 'static,
{
    let panics = panics.clone();
    // No async block, which would hold the future twice.
    tokio::spawn(AssertUnwindSafe(future).catch_unwind().map(move |ended| {
        if ended.is_err() {
            panics.bump();
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_counted_and_ends_only_its_own_task() {
        let panics = Arc::new(Counter::default());
        let first = spawn_counted(&panics, async { std::panic::panic_any("on purpose") });
        let second = spawn_counted(&panics, async {});
        assert!(first.await.is_ok() && second.await.is_ok());
        assert_eq!(panics.read(), 1);
    }
}

//! The end of a thread that writes: whoever stops Wick waits until all is on the disk, but not
//! for ever, as a disk may hang.

use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use tokio::sync::oneshot;

const PATIENCE: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(10);

/// Sends the message that asks for the end, once the queue has room for it, and waits for
/// the answer. A thread that is gone already has said so by itself.
pub(crate) async fn finish<M>(sender: &SyncSender<M>, ask: impl FnOnce(oneshot::Sender<()>) -> M) {
    let (done, written) = oneshot::channel();
    let mut message = ask(done);
    let finishing = async {
        while let Err(TrySendError::Full(back)) = sender.try_send(message) {
            message = back;
            tokio::time::sleep(STEP).await;
        }
        written.await
    };
    let _ = tokio::time::timeout(PATIENCE, finishing).await;
}

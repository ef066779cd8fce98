//! A file of the site's folder, sent by the kernel from where it lies.

use std::future::poll_fn;
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{Connection, End, Patience};
use crate::files::Stretch;
use crate::socket::socket;

/// So much of it is sent before others have their turn.
const TURN_BYTES: u64 = 1 << 20;

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Connection<S> {
    /// Has the kernel send a stretch of a file; whether all of it went.
    pub(super) async fn send_file(&mut self, stretch: &Stretch) -> Result<bool, End> {
        self.write_out(&[]).await?;
        let Stretch { file, first, end } = stretch;
        let mut at = *first;
        while at < *end {
            let turn = (at + TURN_BYTES).min(*end);
            // What takes long here is the disk, which no client is to blame for.
            self.place.clear();
            file.warm(at, turn).await.map_err(|_| End::Closed)?;
            while at < turn {
                let Some(socket) = socket(&mut self.io) else { return Err(End::Closed) };
                let mut patience = Patience::new(&self.server, &self.place, &mut self.outgoing);
                let sent = poll_fn(|context| {
                    match socket.poll_send_file(context, file.file(), at, (turn - at) as usize) {
                        Poll::Ready(result) => Poll::Ready(result.ok()),
                        Poll::Pending => patience.poll_over(context).map(|()| None),
                    }
                });
                // Nothing is sent of a file that became shorter.
                let bytes = sent.await.filter(|&bytes| bytes > 0).ok_or(End::Closed)?;
                patience.end(bytes);
                (at, self.body_bytes) = (at + bytes as u64, self.body_bytes + bytes as u64);
            }
            if at < *end {
                tokio::task::yield_now().await;
            }
        }
        Ok(true)
    }
}

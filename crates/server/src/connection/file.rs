//! A file of the site's folder, sent by the kernel from where it lies.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use origin::OpenFile;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Connection, End, Patience};
use crate::files::Stretch;
use crate::render::Persistence;
use crate::socket::socket;
use crate::upload::Pump;

/// So much of it is sent before others have their turn.
const TURN_BYTES: u64 = 1 << 20;

impl<S: AsyncRead + AsyncWrite + Unpin + 'static> Connection<S> {
    /// Whether the kernel can send to the client itself.
    pub(super) fn has_socket(&mut self) -> bool {
        socket(&mut self.io).is_some()
    }

    /// Sends a stretch of a file behind the head in `output`.
    pub(super) async fn send_stretch(
        &mut self,
        stretch: Stretch,
        pump: Option<&mut Pump>,
        persistence: Persistence,
    ) -> Result<bool, End> {
        if pump.is_none() && self.has_socket() {
            let Stretch { file, first, end } = stretch;
            return self.send_file(&file, first, end, persistence).await;
        }
        let length = Some(stretch.length());
        self.stream(stretch.into_body(), length, pump, persistence).await
    }

    /// Has the kernel send the bytes of a file from `first` to before `end` behind the head in
    /// `output`; whether all of it went.
    pub(super) async fn send_file(
        &mut self,
        file: &OpenFile,
        first: u64,
        end: u64,
        persistence: Persistence,
    ) -> Result<bool, End> {
        self.send_head_before().await?;
        let mut at = first;
        while at < end {
            let turn = (at + TURN_BYTES).min(end);
            // What takes long here is the disk, which no client is to blame for.
            self.place.clear();
            file.warm(at, turn).await.map_err(|_| End::Closed)?;
            while at < turn {
                let Some(socket) = socket(&mut self.io) else { return Err(End::Closed) };
                let mut patience = Patience::new(&self.server, &self.place, &mut self.outgoing);
                let sent = poll_fn(|context| {
                    match socket.poll_send_file(context, file.file(), at, (turn - at) as usize) {
                        Poll::Ready(result) => Poll::Ready(Some(result)),
                        Poll::Pending => patience.poll_over(context).map(|()| None),
                    }
                });
                let bytes = match sent.await {
                    Some(Ok(bytes @ 1..)) => bytes,
                    Some(Err(error)) if is_of_the_file_system(&error) => {
                        self.output.clear();
                        let length = Some(end - at);
                        return self.stream(file.body(at, end), length, None, persistence).await;
                    }
                    // Nothing is sent of a file that became shorter.
                    _ => return Err(End::Closed),
                };
                patience.end(bytes);
                (at, self.body_bytes) = (at + bytes as u64, self.body_bytes + bytes as u64);
            }
            if at < end {
                tokio::task::yield_now().await;
            }
        }
        Ok(true)
    }

    /// Sends the head, so that it leaves with what follows.
    async fn send_head_before(&mut self) -> Result<(), End> {
        let mut sent = 0;
        while sent < self.output.len() {
            let Some(socket) = socket(&mut self.io) else { return Err(End::Closed) };
            let left = &self.output[sent..];
            let mut patience = Patience::new(&self.server, &self.place, &mut self.outgoing);
            let took = poll_fn(|context| match socket.poll_send_before(context, left) {
                Poll::Ready(result) => Poll::Ready(result.ok()),
                Poll::Pending => patience.poll_over(context).map(|()| None),
            });
            let bytes = took.await.filter(|&bytes| bytes > 0).ok_or(End::Closed)?;
            patience.end(bytes);
            sent += bytes;
        }
        Ok(())
    }
}

/// Whether the kernel can't send files from where this one lies.
fn is_of_the_file_system(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

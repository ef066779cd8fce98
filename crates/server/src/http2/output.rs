//! What is to be sent, in the order in which it leaves: heads of frames, and bodies where they
//! lie.
//!
//! Short frames are gathered in one text; of a body that is in memory only a reference stands
//! here. All leave in vectored writes.
//! Invariant: nothing is added to what is being sent, so what was sent is forgotten at once
//! when all was.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::AsyncWrite;

/// Slices of one write: two for each answer of one frame.
const SLICES_MAX: usize = 256;
/// A body no longer than this is copied: that costs less than another slice.
const COPIED_BYTES_MAX: usize = 512;

/// Bytes in the order in which they leave.
#[derive(Default)]
pub(crate) struct Output {
    text: Vec<u8>,
    pieces: VecDeque<Piece>,
    /// Bytes of the text, and of the first piece, that have left.
    text_sent: usize,
    first_sent: usize,
    /// Pieces of bodies that have left: their streams and lengths.
    pub(crate) done: Vec<(u32, usize)>,
}

enum Piece {
    /// So much of the text.
    Text(usize),
    /// A part of a body; 0 is the stream of which nobody asks what has left.
    Body { bytes: Bytes, stream: u32 },
}

impl Piece {
    fn length(&self) -> usize {
        match self {
            Self::Text(length) => *length,
            Self::Body { bytes, .. } => bytes.len(),
        }
    }
}

impl Output {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends what is written into the text; how much that was.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let before = self.text.len();
        write(&mut self.text);
        let bytes = self.text.len() - before;
        match self.pieces.back_mut() {
            Some(Piece::Text(length)) => *length += bytes,
            _ => self.pieces.push_back(Piece::Text(bytes)),
        }
        bytes
    }

    /// Appends a part of a body; whether it will be told that it has left.
    pub(crate) fn push(&mut self, bytes: Bytes, stream: u32) -> bool {
        if bytes.len() <= COPIED_BYTES_MAX {
            self.write(|text| text.extend_from_slice(&bytes));
            return false;
        }
        self.pieces.push_back(Piece::Body { bytes, stream });
        stream != 0
    }

    /// Sends as much as is taken at once.
    pub(crate) fn poll_send<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut text_at, mut sent) = (0, self.text_sent, self.first_sent);
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            let left = piece.length() - sent;
            *slice = match piece {
                Piece::Text(_) => {
                    text_at += left;
                    IoSlice::new(&self.text[text_at - left..text_at])
                }
                Piece::Body { bytes, .. } => IoSlice::new(&bytes[sent..]),
            };
            (count, sent) = (count + 1, 0);
        }
        let bytes = ready!(Pin::new(io).poll_write_vectored(context, &slices[..count]))?;
        self.forget(bytes);
        Poll::Ready(Ok(bytes))
    }

    /// So much has left.
    fn forget(&mut self, mut bytes: usize) {
        while let Some(piece) = self.pieces.front() {
            let left = piece.length() - self.first_sent;
            let taken = left.min(bytes);
            if matches!(piece, Piece::Text(_)) {
                self.text_sent += taken;
            }
            if taken < left {
                self.first_sent += taken;
                return;
            }
            (bytes, self.first_sent) = (bytes - left, 0);
            if let Some(Piece::Body { bytes, stream: stream @ 1.. }) = self.pieces.pop_front() {
                self.done.push((stream, bytes.len()));
            }
        }
        self.text.clear();
        self.text_sent = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes a write.
    struct Narrow(usize, Vec<u8>);

    impl AsyncWrite for Narrow {
        fn poll_write(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.poll_write_vectored(context, &[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let all = slices.iter().flat_map(|slice| slice.iter().copied());
            let taken: Vec<u8> = all.take(self.0).collect();
            self.1.extend_from_slice(&taken);
            Poll::Ready(Ok(taken.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn bytes_leave_in_their_order_however_few_are_taken_at_a_time() {
        for narrow in [1, 7, 600, 100_000] {
            let (mut output, mut expected) = (Output::default(), Vec::new());
            for place in 0..400u32 {
                let short = place.to_be_bytes();
                assert_eq!(output.write(|text| text.extend(short)), 4);
                let body = vec![place as u8; if place % 3 == 0 { 20 } else { 600 }];
                let is_told = output.push(body.clone().into(), place % 5);
                assert_eq!(is_told, body.len() == 600 && place % 5 != 0);
                expected.extend(short);
                expected.extend(body);
            }
            let mut io = Narrow(narrow, Vec::new());
            let mut context = Context::from_waker(std::task::Waker::noop());
            while !output.is_empty() {
                assert!(matches!(output.poll_send(&mut io, &mut context), Poll::Ready(Ok(1..))));
            }
            assert!(io.1 == expected);
            assert!(output.text.is_empty() && output.text_sent == 0 && output.first_sent == 0);
            let told = (0..400).filter(|place| place % 3 != 0 && place % 5 != 0).count();
            assert_eq!(output.done.len(), told);
        }
    }
}

//! A body being filled: one task pushes chunks, any number read them from the first byte.
//!
//! At first everything is kept, since the whole may be stored, and pushing never
//! waits: a slow reader must not hold the origin. Once the body proves too large
//! ([`Filling::give_up_keeping`]), what all readers have read is dropped and pushing
//! waits for the slowest of them, a window ahead of it.
//!
//! Invariants: 1. A reader is given all bytes in order, then the end or one error.
//! 2. While nothing is kept, at most the window and one chunk are held beyond what
//! was held when keeping ended. 3. Each chunk counts the readers that have it before
//! them, so the slowest is known without a search.
//! Start at [`Filling::push`] and [`Reader::poll_next`].

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;

/// Chunks smaller than this are copied: a slice of a read buffer would hold the whole buffer.
const COPIED_BELOW: usize = 2048;

/// Why a body ended before it was whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken<E> {
    /// The one who filled it said so.
    #[error("{0}")]
    Failed(E),
    /// The one who filled it went without a word.
    #[error("the task that fetched this body ended before the body did")]
    Abandoned,
}

/// Nobody reads and nothing is kept: the fetch may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody reads this body any more and it is not kept")]
pub struct NoReaders;

/// The end that writes. Dropping it without [`Filling::finish`] breaks the body.
pub struct Filling<E> {
    shared: Arc<Shared<E>>,
    window: usize,
}

/// Where readers come from. Clones are the same body.
pub struct Source<E> {
    shared: Arc<Shared<E>>,
}

/// One reader with its own place in the body.
pub struct Reader<E> {
    shared: Arc<Shared<E>>,
    /// The number of the chunk to be read next, counted from the first of the body.
    next: u64,
    /// The error was given; nothing comes after it.
    is_done: bool,
    /// Made when there is first something to wait for: a body that is here costs nothing.
    arrival: Option<Pin<Box<OwnedNotified>>>,
}

struct Shared<E> {
    state: Mutex<State<E>>,
    /// Readers wait for a chunk or the end.
    arrived: Arc<Notify>,
    /// The writer waits for the slowest reader.
    read: Notify,
}

struct State<E> {
    chunks: VecDeque<Chunk>,
    /// The number of the first chunk that is still held.
    first: u64,
    held_bytes: usize,
    is_kept: bool,
    readers: usize,
    /// Readers that have read all there is.
    readers_at_end: usize,
    end: Option<Result<(), Broken<E>>>,
}

struct Chunk {
    bytes: Bytes,
    /// How many readers have it before them.
    readers: usize,
}

impl<E> State<E> {
    fn readers_at(&mut self, chunk: u64) -> &mut usize {
        match self.chunks.get_mut((chunk - self.first) as usize) {
            Some(chunk) => &mut chunk.readers,
            None => &mut self.readers_at_end,
        }
    }

    /// Lets go of what nobody will read; says whether that was anything.
    fn drop_read(&mut self) -> bool {
        let before = self.chunks.len();
        while !self.is_kept && self.chunks.front().is_some_and(|chunk| chunk.readers == 0) {
            self.first += 1;
            self.held_bytes -= self.chunks.pop_front().map_or(0, |chunk| chunk.bytes.len());
        }
        self.chunks.len() < before
    }
}

impl<E> Filling<E> {
    /// An empty body. Once it is no longer kept, the writer may be `window_bytes` ahead of
    /// the slowest reader.
    #[must_use]
    pub fn new(window_bytes: usize) -> (Self, Source<E>) {
        let state = State {
            chunks: VecDeque::new(),
            first: 0,
            held_bytes: 0,
            is_kept: true,
            readers: 0,
            readers_at_end: 0,
            end: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            arrived: Arc::new(Notify::new()),
            read: Notify::new(),
        });
        (Self { shared: shared.clone(), window: window_bytes }, Source { shared })
    }

    /// Appends a chunk; waits first while the body is not kept and the window is full.
    ///
    /// A push that is cancelled while it waits has appended nothing.
    ///
    /// # Errors
    /// [`NoReaders`]: nobody would ever see the chunk.
    pub async fn push(&mut self, bytes: Bytes) -> Result<(), NoReaders> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut bytes =
            if bytes.len() < COPIED_BELOW { Bytes::copy_from_slice(&bytes) } else { bytes };
        while let Some(refused) = self.try_push(bytes)? {
            bytes = refused;
            self.shared.read.notified().await;
        }
        self.shared.arrived.notify_waiters();
        Ok(())
    }

    /// Appends the chunk or, when the window is full, gives it back.
    fn try_push(&self, bytes: Bytes) -> Result<Option<Bytes>, NoReaders> {
        let mut state = self.shared.state.lock();
        if !state.is_kept && state.readers == 0 {
            return Err(NoReaders);
        }
        if !state.is_kept && state.held_bytes >= self.window.max(1) {
            return Ok(Some(bytes));
        }
        state.held_bytes += bytes.len();
        let readers = std::mem::take(&mut state.readers_at_end);
        state.chunks.push_back(Chunk { bytes, readers });
        Ok(None)
    }

    /// Stops keeping the whole: what all readers have read goes, and pushing waits for them.
    pub fn give_up_keeping(&mut self) {
        let mut state = self.shared.state.lock();
        state.is_kept = false;
        state.drop_read();
    }

    /// Ends the body well. If it was kept, it is returned whole, in one piece of its exact
    /// size that its readers share from now on.
    #[must_use = "the whole body is here once; readers are served without it"]
    pub fn finish(self) -> Option<Bytes> {
        let pieces = self.kept_pieces();
        // Copied without the lock, which readers want: only this end adds chunks.
        let whole = pieces.map(|pieces| Bytes::from(pieces.concat()));
        let mut state = self.shared.state.lock();
        if let Some(whole) = &whole {
            // A slow reader would else hold a second copy of the body, in pieces.
            let mut rest = whole.clone();
            for chunk in &mut state.chunks {
                chunk.bytes = rest.split_to(chunk.bytes.len());
            }
        }
        state.end = Some(Ok(()));
        drop(state);
        whole
    }

    fn kept_pieces(&self) -> Option<Vec<Bytes>> {
        let state = self.shared.state.lock();
        state.is_kept.then(|| state.chunks.iter().map(|chunk| chunk.bytes.clone()).collect())
    }

    /// Ends the body with an error that every reader is given.
    pub fn fail(self, error: E) {
        self.shared.state.lock().end = Some(Err(Broken::Failed(error)));
    }

    /// The bytes that are held for readers or for the whole, to be reserved by the caller.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let state = self.shared.state.lock();
        state.held_bytes + state.chunks.capacity() * size_of::<Chunk>()
    }

    /// How many read it now.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.shared.state.lock().readers
    }
}

impl<E> Drop for Filling<E> {
    fn drop(&mut self) {
        self.shared.state.lock().end.get_or_insert(Err(Broken::Abandoned));
        self.shared.arrived.notify_waiters();
    }
}

impl<E> Clone for Source<E> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<E> Source<E> {
    /// A reader at the first byte; `None` once that byte is gone.
    #[must_use]
    pub fn reader(&self) -> Option<Reader<E>> {
        let mut state = self.shared.state.lock();
        if state.first > 0 {
            return None;
        }
        state.readers += 1;
        *state.readers_at(0) += 1;
        drop(state);
        Some(Reader { shared: self.shared.clone(), next: 0, is_done: false, arrival: None })
    }
}

impl<E: Clone> Reader<E> {
    /// The next chunk, or `None` at the end of a whole body; after an error comes `None`.
    pub async fn next(&mut self) -> Option<Result<Bytes, Broken<E>>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// [`Reader::next`] for those who are polled themselves.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken<E>>>> {
        loop {
            if let Poll::Ready(step) = self.step() {
                return Poll::Ready(step);
            }
            // A notice must exist before the look that finds nothing: else an arrival
            // between the two would go unheard. So the first round looks twice.
            let notice = || self.shared.arrived.clone().notified_owned();
            match &mut self.arrival {
                None => self.arrival = Some(Box::pin(notice())),
                Some(arrival) => {
                    ready!(arrival.as_mut().poll(context));
                    arrival.set(notice());
                }
            }
        }
    }

    /// The next chunk or the end, if it is here.
    fn step(&mut self) -> Poll<Option<Result<Bytes, Broken<E>>>> {
        let mut state = self.shared.state.lock();
        let ahead = (self.next - state.first) as usize;
        if let Some(bytes) = state.chunks.get(ahead).map(|chunk| chunk.bytes.clone()) {
            *state.readers_at(self.next) -= 1;
            *state.readers_at(self.next + 1) += 1;
            self.next += 1;
            if state.drop_read() {
                drop(state);
                self.shared.read.notify_one();
            }
            return Poll::Ready(Some(Ok(bytes)));
        }
        match &state.end {
            None => Poll::Pending,
            Some(Err(error)) if !self.is_done => {
                self.is_done = true;
                Poll::Ready(Some(Err(error.clone())))
            }
            Some(_) => Poll::Ready(None),
        }
    }
}

impl<E> Drop for Reader<E> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        *state.readers_at(self.next) -= 1;
        state.readers -= 1;
        state.drop_read();
        drop(state);
        // The writer may have waited for this very reader, or for nobody any more.
        self.shared.read.notify_one();
    }
}

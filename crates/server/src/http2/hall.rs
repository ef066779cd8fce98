//! What the streams of one connection share: windows, bodies that have come, and what is to be
//! sent.
//!
//! A page from memory that its client lets come at once leaves no trace here but its bytes.
//! Who has to wait, for room or for a body, has an entry, as long as one of its two ends is in
//! somebody's hands. The lock is held for a look or a note, never while something is sent.
//! Law: RFC 9113 §5.1, §5.2, §6.9.
//! Bounds: [`OUTPUT_BYTES_MAX`] and one answer's piece are to be sent before frames are read no
//! more; of a stream that waits, one piece; of bodies what windows let come.
//! Invariants: 1. what is to be sent fits the windows: they are reduced before it is added.
//! 2. streams that wait for the connection's window take turns. 3. every byte that came is
//! given back to the connection's window, whatever became of its stream.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::Mutex;
use wire::h2::{self, Code, Fault, WINDOW_BYTES, WINDOW_BYTES_MAX};

use crate::Server;
use crate::http2::output::Output;
use crate::http2::state::{CONNECTION_WINDOW_BYTES, State, Stream, set, wake};
use crate::reply::Payload;
use crate::streams::answer::PIECE_BYTES;
use crate::streams::{Gone, STREAM_WINDOW_BYTES};

/// With so much to be sent nothing more is begun.
const OUTPUT_BYTES_MAX: usize = 512 << 10;
/// Streams of which it is remembered that we ended them, so that what was on its way is let go.
const ENDED_MAX: usize = 32;

/// What all streams of a connection share.
pub(crate) struct Hall {
    server: Arc<Server>,
    state: Mutex<State>,
    /// Bytes to be sent that have not left.
    backlog: AtomicUsize,
}

/// What a stream's answer came to when it was begun.
pub(crate) enum Begun {
    /// All of it was said; whether the stream has no entry.
    Whole { is_light: bool },
    /// The head was; there is no room for the rest, or it has not come.
    Partly(Payload),
    /// Nobody wants it.
    Gone,
}

/// What came of fields behind a body.
pub(crate) enum Trailers {
    /// They ended it, or it was ended by us.
    Taken,
    /// They ended their stream.
    Malformed,
    /// It had ended.
    TooLate,
}

impl Hall {
    pub(crate) fn new(server: Arc<Server>) -> Arc<Self> {
        let limits = server.limits();
        let (streams_max, head_bytes_max) = (limits.streams_max, limits.head_bytes_max);
        let hall = Self { server, state: Mutex::new(State::new()), backlog: AtomicUsize::new(0) };
        hall.say(|text| {
            let head_bytes_max = u32::try_from(head_bytes_max).unwrap_or(u32::MAX);
            h2::push_settings(text, streams_max, STREAM_WINDOW_BYTES, head_bytes_max);
            let more = CONNECTION_WINDOW_BYTES - WINDOW_BYTES as u32;
            h2::push_window_update(text, 0, more);
        });
        Arc::new(hall)
    }

    /// Whether so much is to be sent that nothing more should begin.
    pub(crate) fn is_full(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) >= OUTPUT_BYTES_MAX
    }

    /// Whether anything is to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) > 0
    }

    /// The connection looks after everything, until it has nothing more to do.
    pub(crate) fn begin_turn(&self, task: &Waker) {
        let mut state = self.state.lock();
        state.is_turning = true;
        if !state.task.as_ref().is_some_and(|known| known.will_wake(task)) {
            state.task = Some(task.clone());
        }
    }

    /// Whether nothing came to be sent meanwhile; then who adds something wakes it.
    pub(crate) fn end_turn(&self) -> bool {
        let mut state = self.state.lock();
        state.is_turning = !state.output.is_empty();
        !state.is_turning
    }

    /// Says something about the connection.
    pub(crate) fn say(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.state.lock().say(&self.backlog, write);
    }

    /// Takes what is to be sent into what is empty; false: there is nothing.
    pub(crate) fn take_output(&self, into: &mut Output) -> bool {
        let mut state = self.state.lock();
        std::mem::swap(&mut state.output, into);
        !into.is_empty()
    }

    /// So much has left, and with it these parts of bodies.
    pub(crate) fn sent(&self, bytes: usize, done: &mut Vec<(u32, usize)>) {
        let before = self.backlog.fetch_sub(bytes, Ordering::Relaxed);
        let has_room = before >= OUTPUT_BYTES_MAX && before - bytes < OUTPUT_BYTES_MAX;
        if done.is_empty() && !has_room {
            return;
        }
        let mut state = self.state.lock();
        for (stream, bytes) in done.drain(..) {
            let Some(stream) = state.streams.get_mut(&stream) else { continue };
            stream.queued = stream.queued.saturating_sub(bytes);
            if stream.queued == 0 {
                wake(&mut stream.sender);
            }
        }
        if has_room {
            state.wake_next();
        }
    }

    /// Enters a stream. `left`: bytes that have to come, if that is known. None come if it
    /// `is_heard`.
    pub(crate) fn enter(&self, id: u32, left: Option<u64>, is_heard: bool) {
        let mut state = self.state.lock();
        let stream = Stream::new(state.first_window, left, is_heard);
        state.streams.insert(id, stream);
    }

    /// Begins an answer: its head, and all of it if its client lets it come.
    pub(crate) fn begin(&self, id: u32, block: &[u8], payload: Payload) -> Begun {
        let mut state = self.state.lock();
        let state = &mut *state;
        let known = state.streams.get_mut(&id);
        let (window, is_light) = match &known {
            Some(stream) if stream.is_reset => return Begun::Gone,
            Some(stream) => (stream.window, false),
            None if state.is_over => return Begun::Gone,
            None => (state.first_window, true),
        };
        let bytes = match payload {
            Payload::None => Bytes::new(),
            Payload::Whole(bytes)
                if bytes.len() <= PIECE_BYTES && bytes.len() as i64 <= window.min(state.window) =>
            {
                bytes
            }
            payload => {
                if is_light {
                    state.streams.insert(id, Stream::new(state.first_window, None, true));
                }
                state.push_head(&self.backlog, id, block, false);
                return Begun::Partly(payload);
            }
        };
        if let Some(stream) = known {
            stream.window -= bytes.len() as i64;
            stream.is_answered = true;
        }
        state.window -= bytes.len() as i64;
        state.push_head(&self.backlog, id, block, bytes.is_empty());
        if !bytes.is_empty() {
            state.push_data(&self.backlog, id, bytes, true, false);
        }
        self.touch(state);
        Begun::Whole { is_light }
    }

    /// Sends a head before the answer's, or fields behind it.
    pub(crate) fn push_head(&self, id: u32, block: &[u8], is_last: bool) -> Result<(), Gone> {
        let mut state = self.state.lock();
        let stream = state.streams.get_mut(&id).filter(|stream| !stream.is_reset).ok_or(Gone)?;
        stream.is_answered |= is_last;
        state.push_head(&self.backlog, id, block, is_last);
        self.touch(&state);
        Ok(())
    }

    /// Takes off a piece what there is room for.
    pub(crate) fn poll_send(
        &self,
        id: u32,
        piece: &mut Bytes,
        is_last: bool,
        context: &Context<'_>,
    ) -> Poll<Result<(), Gone>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let all_room = if self.is_full() { 0 } else { state.window };
        let Some(stream) = state.streams.get_mut(&id).filter(|stream| !stream.is_reset) else {
            return Poll::Ready(Err(Gone));
        };
        let own_room = if stream.queued > 0 { 0 } else { stream.window };
        let room = own_room.min(all_room).clamp(0, PIECE_BYTES as i64) as usize;
        if room == 0 && !piece.is_empty() {
            set(&mut stream.sender, context.waker());
            // Who could not use the connection's room lets the next have it.
            let waits = own_room > 0;
            if waits != stream.is_waiting {
                stream.is_waiting = waits;
                match waits {
                    true => state.waiting.push_back(id),
                    false => state.leave_queue(id),
                }
            }
            return Poll::Pending;
        }
        let part = piece.split_to(room.min(piece.len()));
        let ends = is_last && piece.is_empty();
        stream.window -= part.len() as i64;
        stream.is_answered |= ends;
        let was_waiting = std::mem::take(&mut stream.is_waiting);
        state.window -= part.len() as i64;
        state.push_data(&self.backlog, id, part, ends, true);
        if was_waiting {
            state.leave_queue(id);
        }
        self.touch(state);
        Poll::Ready(Ok(()))
    }

    /// Ready once the client wants nothing more of a stream.
    pub(crate) fn poll_unwanted(&self, id: u32, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        match state.streams.get_mut(&id).filter(|stream| !stream.is_reset) {
            None => Poll::Ready(()),
            Some(stream) => {
                set(&mut stream.sender, context.waker());
                Poll::Pending
            }
        }
    }

    /// The next piece of a body; none at its end.
    pub(crate) fn poll_data(
        &self,
        id: u32,
        context: &Context<'_>,
    ) -> Poll<Option<Result<Bytes, String>>> {
        let mut state = self.state.lock();
        let Some(stream) = state.streams.get_mut(&id) else { return Poll::Ready(None) };
        match stream.incoming.pop_front() {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None if stream.is_reset => Poll::Ready(Some(Err("the stream was reset".into()))),
            None if stream.is_heard => Poll::Ready(None),
            None => {
                set(&mut stream.taker, context.waker());
                Poll::Pending
            }
        }
    }

    /// Lets the client send so much more.
    pub(crate) fn give_back(&self, id: u32, bytes: usize) {
        let mut state = self.state.lock();
        if let Some(stream) = state.streams.get_mut(&id) {
            stream.held = stream.held.saturating_sub(bytes);
        }
        state.owe_stream(&self.backlog, id, bytes);
        state.owe(&self.backlog, bytes);
        self.touch(&state);
    }

    /// Nobody takes what comes on a stream any longer.
    pub(crate) fn drop_taker(&self, id: u32) {
        let mut state = self.state.lock();
        let Some(stream) = state.streams.get_mut(&id) else { return };
        (stream.has_taker, stream.taker) = (false, None);
        stream.incoming.clear();
        let held = std::mem::take(&mut stream.held);
        state.owe(&self.backlog, held);
        self.leave(state, id);
    }

    /// Nobody says anything more on a stream: it was said, or never will be.
    pub(crate) fn drop_sender(&self, id: u32) {
        let mut state = self.state.lock();
        let is_over = state.is_over;
        match state.streams.get_mut(&id) {
            Some(stream) if stream.is_answered || stream.is_reset => {}
            Some(_) => self.end_stream(&mut state, id, Code::Cancel),
            None if is_over => return,
            None => return self.end_stream(&mut state, id, Code::Cancel),
        }
        self.leave(state, id);
    }

    /// One end of a stream is in nobody's hands any longer.
    fn leave(&self, mut state: parking_lot::MutexGuard<'_, State>, id: u32) {
        let Some(stream) = state.streams.get_mut(&id) else { return };
        stream.ends = stream.ends.saturating_sub(1);
        if stream.ends > 0 {
            return self.touch(&state);
        }
        if !stream.is_heard && !stream.is_reset {
            // The answer needs nothing more of the request (RFC 9113 §8.1).
            self.end_stream(&mut state, id, Code::NoError);
        }
        state.leave_queue(id);
        state.streams.remove(&id);
        self.touch(&state);
    }

    /// Ends a stream before both sides have said all.
    pub(crate) fn reset(&self, id: u32, code: Code) {
        let mut state = self.state.lock();
        if !state.streams.get(&id).is_some_and(|stream| stream.is_reset) {
            self.end_stream(&mut state, id, code);
        }
    }

    fn end_stream(&self, state: &mut State, id: u32, code: Code) {
        state.mark_reset(id);
        if state.is_over || state.ended.contains(&id) {
            return;
        }
        if state.ended.len() == ENDED_MAX {
            state.ended.pop_front();
        }
        state.ended.push_back(id);
        state.say(&self.backlog, |text| h2::push_reset(text, id, code));
        self.server.counters.streams_reset.bump();
        self.touch(state);
    }

    /// A piece of a body has come, on a stream that was begun.
    pub(crate) fn take_data(
        &self,
        id: u32,
        bytes: &[u8],
        window_bytes: usize,
        ends: bool,
    ) -> Result<(), Fault> {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.own_window -= window_bytes as i64;
        if state.own_window < 0 {
            return Err(Fault(Code::FlowControl));
        }
        let taken = match state.streams.get_mut(&id) {
            // It was on its way when we ended the stream.
            _ if state.ended.contains(&id) => Ok(0),
            Some(stream) => stream.take(bytes, window_bytes, ends),
            None => Err(Code::StreamClosed),
        };
        let kept = taken.unwrap_or_default();
        state.owe(&self.backlog, window_bytes - kept);
        match taken {
            Ok(kept) => state.owe_stream(&self.backlog, id, window_bytes - kept),
            Err(code) => self.end_stream(state, id, code),
        }
        Ok(())
    }

    /// Fields have come on a stream that was begun: they end its body if they are `sound`.
    pub(crate) fn take_trailers(&self, id: u32, are_sound: bool) -> Trailers {
        let mut state = self.state.lock();
        let is_ended = state.ended.contains(&id);
        let taken = match state.streams.get_mut(&id) {
            _ if is_ended => return Trailers::Taken,
            None => return Trailers::TooLate,
            Some(stream) if stream.is_heard || stream.is_reset => return Trailers::TooLate,
            Some(_) if !are_sound => Err(Code::Protocol),
            Some(stream) => stream.take(&[], 0, true),
        };
        match taken {
            Ok(_) => Trailers::Taken,
            Err(code) => {
                self.end_stream(&mut state, id, code);
                Trailers::Malformed
            }
        }
    }

    /// The client wants nothing more of a stream.
    pub(crate) fn take_reset(&self, id: u32) {
        self.state.lock().mark_reset(id);
    }

    /// The client takes so much more, on a stream that was begun, or with 0 on all together.
    pub(crate) fn take_window(&self, id: u32, bytes: u32) -> Result<(), Fault> {
        let mut state = self.state.lock();
        if id == 0 {
            state.window += i64::from(bytes);
            if state.window > WINDOW_BYTES_MAX {
                return Err(Fault(Code::FlowControl));
            }
            state.wake_next();
            return Ok(());
        }
        let known = state.streams.get_mut(&id).filter(|stream| !stream.is_reset);
        let Some(stream) = known else { return Ok(()) };
        stream.window += i64::from(bytes);
        match stream.window > WINDOW_BYTES_MAX {
            true => self.end_stream(&mut state, id, Code::FlowControl),
            false => wake(&mut stream.sender),
        }
        Ok(())
    }

    /// The client's streams begin with this window from now on, and those that have begun as if
    /// they had.
    pub(crate) fn take_first_window(&self, bytes: i64) -> Result<(), Fault> {
        let mut state = self.state.lock();
        let more = bytes - state.first_window;
        state.first_window = bytes;
        for stream in state.streams.values_mut() {
            stream.window += more;
            if stream.window > WINDOW_BYTES_MAX {
                return Err(Fault(Code::FlowControl));
            }
            wake(&mut stream.sender);
        }
        Ok(())
    }

    /// The connection has ended: nobody sends or takes anything on it.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.output = Output::default();
        let streams: Vec<u32> = state.streams.keys().copied().collect();
        streams.into_iter().for_each(|id| state.mark_reset(id));
    }

    /// Gives back what a connection that rests need not hold.
    pub(crate) fn rest(&self) {
        let mut state = self.state.lock();
        if state.output.is_empty() {
            state.output = Output::default();
        }
        if state.streams.is_empty() {
            state.streams = HashMap::new();
            (state.waiting, state.ended) = (VecDeque::new(), VecDeque::new());
        }
    }

    /// Has the connection send what it may not know of.
    fn touch(&self, state: &State) {
        if !state.is_turning
            && !state.output.is_empty()
            && let Some(task) = &state.task
        {
            task.wake_by_ref();
        }
    }
}

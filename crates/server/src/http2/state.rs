//! The streams of a connection that somebody holds, and what they share; for [`super::hall`],
//! under its lock.
//!
//! Law: RFC 9113 §5.1, §5.2, §6.9.
//! Invariant: who looks at a stream's window looks at the connection's too, and takes from both.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use bytes::Bytes;
use wire::h2::{self, Code, WINDOW_BYTES};
use wire::hpack;

use crate::http2::output::Output;
use crate::streams::STREAM_WINDOW_BYTES;

/// What a client may send of all bodies together before an origin has taken any.
pub(super) const CONNECTION_WINDOW_BYTES: u32 = 128 << 10;

/// All streams, and what is to be sent.
pub(super) struct State {
    pub(super) streams: HashMap<u32, Stream>,
    pub(super) output: Output,
    /// What the client takes: all together, and of a stream that begins.
    pub(super) window: i64,
    pub(super) first_window: i64,
    /// What the client may send, and what it may once it is told.
    pub(super) own_window: i64,
    pub(super) owed: u32,
    /// Streams that wait for the connection's window, or for others' bytes to leave.
    pub(super) waiting: VecDeque<u32>,
    pub(super) ended: VecDeque<u32>,
    pub(super) has_sent_head: bool,
    /// Whom to wake if something is to be sent.
    pub(super) task: Option<Waker>,
    /// Whether the connection will look anyway.
    pub(super) is_turning: bool,
    pub(super) is_over: bool,
}

/// A stream that somebody holds.
pub(super) struct Stream {
    /// What has come of its body.
    pub(super) incoming: VecDeque<Bytes>,
    pub(super) own_window: i64,
    pub(super) owed: u32,
    /// Bytes that came and were not given back.
    pub(super) held: usize,
    /// What has to come, where that is known.
    pub(super) left: Option<u64>,
    pub(super) has_taker: bool,
    pub(super) taker: Option<Waker>,
    /// Whether its client has said all.
    pub(super) is_heard: bool,
    /// What its client takes.
    pub(super) window: i64,
    /// Bytes that have not left.
    pub(super) queued: usize,
    pub(super) sender: Option<Waker>,
    pub(super) is_waiting: bool,
    /// Whether all of the answer was said.
    pub(super) is_answered: bool,
    /// Whether it ended before both had said all.
    pub(super) is_reset: bool,
    /// Ends that somebody holds.
    pub(super) ends: u8,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            streams: HashMap::new(),
            output: Output::default(),
            window: WINDOW_BYTES,
            first_window: WINDOW_BYTES,
            own_window: i64::from(CONNECTION_WINDOW_BYTES),
            owed: 0,
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            has_sent_head: false,
            task: None,
            is_turning: true,
            is_over: false,
        }
    }

    pub(super) fn say(&mut self, backlog: &AtomicUsize, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = self.output.write(write);
        backlog.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn push_head(
        &mut self,
        backlog: &AtomicUsize,
        id: u32,
        block: &[u8],
        is_last: bool,
    ) {
        if std::mem::replace(&mut self.has_sent_head, true) {
            return self.say(backlog, |text| h2::push_head(text, id, block, is_last));
        }
        let block = [&[hpack::NO_TABLE], block].concat();
        self.say(backlog, |text| h2::push_head(text, id, &block, is_last));
    }

    /// Appends a body's bytes, for which there is room.
    pub(super) fn push_data(
        &mut self,
        backlog: &AtomicUsize,
        id: u32,
        mut bytes: Bytes,
        is_last: bool,
        is_known: bool,
    ) {
        let mut queued = 0;
        loop {
            let part = match bytes.len() {
                0..=h2::FRAME_BYTES_MAX => std::mem::take(&mut bytes),
                _ => bytes.split_to(h2::FRAME_BYTES_MAX),
            };
            let (length, ends) = (part.len(), is_last && bytes.is_empty());
            self.say(backlog, |text| h2::push_data_head(text, id, length, ends));
            if length > 0 {
                backlog.fetch_add(length, Ordering::Relaxed);
                if self.output.push(part, if is_known { id } else { 0 }) {
                    queued += length;
                }
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Some(stream) = self.streams.get_mut(&id).filter(|_| queued > 0) {
            stream.queued += queued;
        }
    }

    /// The connection's client may send so much again.
    pub(super) fn owe(&mut self, backlog: &AtomicUsize, bytes: usize) {
        self.owed += bytes as u32;
        if self.owed >= CONNECTION_WINDOW_BYTES / 2 {
            let owed = std::mem::take(&mut self.owed);
            self.own_window += i64::from(owed);
            self.say(backlog, |text| h2::push_window_update(text, 0, owed));
        }
    }

    /// The same on one stream, as long as anything can come there.
    pub(super) fn owe_stream(&mut self, backlog: &AtomicUsize, id: u32, bytes: usize) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.owed += bytes as u32;
        if stream.owed >= STREAM_WINDOW_BYTES / 2 && !stream.is_heard && !stream.is_reset {
            let owed = std::mem::take(&mut stream.owed);
            stream.own_window += i64::from(owed);
            self.say(backlog, |text| h2::push_window_update(text, id, owed));
        }
    }

    pub(super) fn mark_reset(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_reset = true;
        wake(&mut stream.sender);
        wake(&mut stream.taker);
        if std::mem::take(&mut stream.is_waiting) {
            self.leave_queue(id);
        }
    }

    /// Takes a stream out of the queue, and lets the next have its turn.
    pub(super) fn leave_queue(&mut self, id: u32) {
        self.waiting.retain(|waiting| *waiting != id);
        if self.window > 0 {
            self.wake_next();
        }
    }

    /// Wakes the stream that waits longest for what all share.
    pub(super) fn wake_next(&mut self) {
        if let Some(id) = self.waiting.front()
            && let Some(stream) = self.streams.get_mut(id)
        {
            wake(&mut stream.sender);
        }
    }
}

impl Stream {
    pub(super) fn new(window: i64, left: Option<u64>, is_heard: bool) -> Self {
        Self {
            incoming: VecDeque::new(),
            own_window: i64::from(STREAM_WINDOW_BYTES),
            owed: 0,
            held: 0,
            left,
            has_taker: !is_heard,
            taker: None,
            is_heard,
            window,
            queued: 0,
            sender: None,
            is_waiting: false,
            is_answered: false,
            is_reset: false,
            ends: if is_heard { 1 } else { 2 },
        }
    }

    /// Takes a piece of its body; how much of it is kept, or why the stream must end.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        window_bytes: usize,
        ends: bool,
    ) -> Result<usize, Code> {
        if self.is_heard || self.is_reset {
            return Err(Code::StreamClosed);
        }
        self.own_window -= window_bytes as i64;
        if self.own_window < 0 {
            return Err(Code::FlowControl);
        }
        if let Some(left) = &mut self.left {
            // What comes is as long as was said (RFC 9113 §8.1.1).
            *left = left.checked_sub(bytes.len() as u64).ok_or(Code::Protocol)?;
            if ends && *left > 0 {
                return Err(Code::Protocol);
            }
        }
        self.is_heard = ends;
        wake(&mut self.taker);
        if !self.has_taker || bytes.is_empty() {
            return Ok(0);
        }
        self.incoming.push_back(Bytes::copy_from_slice(bytes));
        self.held += bytes.len();
        Ok(bytes.len())
    }
}

pub(super) fn set(place: &mut Option<Waker>, waker: &Waker) {
    if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
        *place = Some(waker.clone());
    }
}

pub(super) fn wake(place: &mut Option<Waker>) {
    if let Some(waker) = place.take() {
        waker.wake();
    }
}

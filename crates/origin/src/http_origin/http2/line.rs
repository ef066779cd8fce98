//! One connection of HTTP/2, its task, and how it ends.
//!
//! Law: RFC 9113 §3.4 (nothing is begun before the server's SETTINGS), §6.7 (PING), §6.8
//! (GOAWAY), §9.1 (when connections are closed).
//! Invariants: 1. No more requests are begun on a line than its server allows, nor more than
//! [`STREAMS_MAX`]. 2. All bodies that a line's readers leave lying fit into its window, so
//! that a slow visitor holds up nobody else. 3. A line on which somebody waits and nothing
//! comes is asked whether it is there, and given up if it doesn't say so. 4. One on which
//! nothing is answered in the time for an answer takes no more requests.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::thread::{self, ThreadId};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::sleep;

use super::heard::Heard;
use super::{Lines, Plan};
use crate::OriginError;
use crate::http_origin::explain;
use crate::http_origin::member::HEAD_BYTES_MAX;
use crate::timeouts::{seconds, within};

/// Requests at once on one line; servers allow about as many.
pub(super) const STREAMS_MAX: usize = 100;
/// What an answer may be ahead of its reader: 5 MB/s over a way of 50 ms.
const STREAM_WINDOW: u32 = 256 * 1024;
/// What a request's body may have waiting in the connection.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// How long nothing may come, while somebody waits, before the server is asked.
const SILENCE: Duration = Duration::from_secs(5);
/// The longest that this grows to while the server does answer that it is there.
const SILENCE_MAX: Duration = Duration::from_secs(40);
/// How long its word may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection that requests share.
pub(crate) struct Line {
    sender: SendRequest<Bytes>,
    thread: ThreadId,
    pub(super) state: Arc<State>,
}

/// What is known of a line also by those who must not keep it open.
#[derive(Default)]
pub(super) struct State {
    /// Requests that are on it.
    streams: AtomicUsize,
    /// All that ever were.
    begun: AtomicU64,
    is_over: AtomicBool,
    reads: Arc<AtomicU64>,
    /// Heads of answers that came.
    answers: AtomicU64,
}

/// A request's place on a line; it is free again when this is dropped.
pub(crate) struct Berth {
    line: Arc<Line>,
    /// Others had been on the line before, so it may have ended unnoticed.
    pub(crate) is_kept: bool,
    /// What had been answered on the line before.
    answers: u64,
    lines: Weak<Lines>,
}

/// Why a line ends by itself.
enum End {
    Idle,
    Dead,
}

impl Line {
    /// Speaks HTTP/2 over a stream, as soon as the server has said what it allows.
    pub(crate) async fn open<S>(
        io: S,
        plan: &Plan,
        lines: Weak<Lines>,
    ) -> Result<Arc<Self>, OriginError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let state = Arc::<State>::default();
        let io = Heard::new(io, state.reads.clone());
        let opened = async {
            let explain = |error: h2::Error| explain(&error);
            let (sender, mut connection) = builder().handshake(io).await.map_err(explain)?;
            poll_fn(|context| match Pin::new(&mut connection).poll(context) {
                Poll::Ready(Ok(())) => Poll::Ready(Err("it closed the connection".to_owned())),
                Poll::Ready(Err(error)) => Poll::Ready(Err(explain(error))),
                Poll::Pending if connection.max_concurrent_send_streams() > 0 => {
                    Poll::Ready(Ok(()))
                }
                Poll::Pending => Poll::Pending,
            })
            .await?;
            Ok((sender, connection))
        };
        let limit = plan.timeouts.connect;
        let opened = within(limit, opened).await;
        let opened = opened
            .unwrap_or_else(|| Err(format!("it let no request begin within {} s", seconds(limit))));
        let (sender, connection) = opened.map_err(|why| {
            let cure = match plan.road.tls {
                Some(_) => "",
                None => "; for a server of HTTP/1.1, write http:// instead of h2c://",
            };
            OriginError::Unreachable(format!("no HTTP/2 with it: {why}{cure}"))
        })?;
        plan.counters.http2_connects.bump();
        drop(tokio::spawn(drive(connection, state.clone(), lines, plan.clone())));
        Ok(Arc::new(Self { sender, thread: thread::current().id(), state }))
    }

    /// Whether one more request may begin.
    pub(super) fn has_room(&self) -> bool {
        let most = self.sender.current_max_send_streams().min(STREAMS_MAX);
        !self.state.is_over.load(Ordering::Acquire) && self.state.streams() < most
    }

    /// Whether its socket is watched by this thread's runtime.
    pub(super) fn is_here(&self) -> bool {
        self.thread == thread::current().id()
    }

    pub(super) fn is_unused(&self) -> bool {
        self.state.streams() == 0
    }
}

impl State {
    pub(super) fn streams(&self) -> usize {
        self.streams.load(Ordering::Acquire)
    }

    fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// No more requests are to begin on it.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Berth {
    /// A place on this line, whether there is room or not.
    pub(super) fn on(line: &Arc<Line>, lines: Weak<Lines>) -> Self {
        line.state.streams.fetch_add(1, Ordering::AcqRel);
        let is_kept = line.state.begun.fetch_add(1, Ordering::AcqRel) > 0;
        let answers = line.state.answers.load(Ordering::Acquire);
        Self { line: line.clone(), is_kept, answers, lines }
    }

    /// What requests are sent by.
    pub(crate) fn sender(&self) -> SendRequest<Bytes> {
        self.line.sender.clone()
    }

    /// The head of its answer came.
    pub(crate) fn note_answer(&self) {
        self.line.state.answers.fetch_add(1, Ordering::AcqRel);
    }

    /// The answer was waited for long enough. Where nobody else has had one meanwhile, it is
    /// the line that hangs, whatever says at its other end that it is there.
    pub(crate) fn note_silence(&self) {
        if self.line.state.answers.load(Ordering::Acquire) == self.answers {
            self.retire();
        }
    }

    /// The line takes no more requests: others find another one.
    pub(crate) fn retire(&self) {
        self.line.state.end();
        if let Some(lines) = self.lines.upgrade() {
            lines.forget(&self.line.state);
        }
    }
}

impl Drop for Berth {
    fn drop(&mut self) {
        let others = self.line.state.streams.fetch_sub(1, Ordering::AcqRel) - 1;
        if others == 0
            && let Some(lines) = self.lines.upgrade()
        {
            lines.left(&self.line.state);
        }
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(STREAM_WINDOW * STREAMS_MAX as u32)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .max_send_buffer_size(SEND_BYTES_MAX)
        // By this one sees that the server's SETTINGS have not come yet.
        .initial_max_send_streams(0);
    builder
}

/// Moves a connection's bytes until it ends, or there is no more use for it.
async fn drive<S>(
    mut connection: Connection<Heard<S>, Bytes>,
    state: Arc<State>,
    lines: Weak<Lines>,
    plan: Plan,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let pings = connection.ping_pong();
    let watched = std::pin::pin!(watch(pings, &state, &lines, plan.keep));
    let end = match select(&mut connection, watched).await {
        // Its error reaches whoever has a request on it; alone it means that it is gone.
        Either::Left(_) => None,
        Either::Right((end, _)) => Some(end),
    };
    state.end();
    if let Some(lines) = lines.upgrade() {
        lines.forget(&state);
    }
    match end {
        None => {}
        // Nobody holds it any more, so it says goodbye and closes.
        Some(End::Idle) => drop(within(PATIENCE, connection).await),
        Some(End::Dead) => plan.counters.http2_dead.bump(),
    }
}

/// Waits until the line has lain unused for `keep`, or is dead.
async fn watch(
    mut pings: Option<PingPong>,
    state: &Arc<State>,
    lines: &Weak<Lines>,
    keep: Duration,
) -> End {
    let (mut pause, mut unused) = (SILENCE, Duration::ZERO);
    loop {
        let (reads, begun) = (state.reads.load(Ordering::Relaxed), state.begun());
        let step =
            if state.streams() == 0 { pause.min(keep.saturating_sub(unused)) } else { pause };
        sleep(step).await;
        if state.begun() != begun || state.streams() > 0 {
            unused = Duration::ZERO;
        } else {
            unused += step;
            if unused < keep {
                continue;
            }
            match lines.upgrade().is_none_or(|lines| lines.forget_unused(state)) {
                true => return End::Idle,
                false => unused = Duration::ZERO,
            }
        }
        if state.reads.load(Ordering::Relaxed) != reads || state.streams() == 0 {
            pause = SILENCE;
            continue;
        }
        let Some(pings) = &mut pings else { continue };
        match within(PATIENCE, pings.ping(Ping::opaque())).await {
            Some(Ok(_)) => pause = (pause * 2).min(SILENCE_MAX),
            // What comes may be a long body, with the word behind it.
            None if state.reads.load(Ordering::Relaxed) != reads => {}
            Some(Err(_)) | None => return End::Dead,
        }
    }
}

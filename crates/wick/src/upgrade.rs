//! One Wick in the place of another: the sockets are handed over, and no request fails.
//!
//! ```text
//! wick upgrade → the one that runs starts the binary as it is on the disk now
//!     the new one → {"hand_over"} → sockets, and the notebook is free
//!     it starts its origins, and serves beside the old one
//!                 → {"leave"}     → the old one accepts no more, answers what it has, and ends
//! ```
//! Until it is told to leave the old one serves as if nothing were; if the new one fails, it
//! goes on. What was stored is not handed over: the new one begins with an empty store, and finds on
//! the disk, if pages are kept there, what the old one had once that has ended.
//! Invariant: at every moment somebody accepts on every socket.

use std::io::{self, BufRead, BufReader, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::cmsg_space;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use server::{Done, HandedOver, Line, SOCKETS_MAX};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracker::serve::Sockets as TrackerSockets;

use crate::control::{self, Answer, ControlError, Line as Told};
use crate::listening::Sockets;
use crate::service::Inherited;
use crate::sphinx::Answering;
use crate::tracker::Tracking;

/// What the new one is started with.
pub(crate) const TAKE_OVER: &str = "--take-over";
/// How long the new one may take from the sockets to its first answer: origins start meanwhile.
const PATIENCE: Duration = Duration::from_secs(55);
/// What Linux shows behind the path of a program that was replaced.
const REPLACED: &str = " (deleted)";

/// The running Wick, as its successor sees it.
pub(crate) struct Predecessor {
    stream: UnixStream,
    path: PathBuf,
}

impl Predecessor {
    /// Finds it by its state folder and takes its sockets. It goes on serving.
    pub(crate) fn find(state: &Path) -> Result<(Self, Inherited), ControlError> {
        let (stream, path) = control::connect(state)?;
        let mut predecessor = Self { stream, path };
        let (lines, handles) = predecessor.ask("hand_over")?;
        let inherited = inherited(&lines, handles).map_err(|error| predecessor.failed(error))?;
        Ok((predecessor, inherited))
    }

    /// Tells it to leave, now that somebody else serves.
    pub(crate) fn dismiss(mut self) -> Result<(), ControlError> {
        self.ask("leave").map(drop)
    }

    fn ask(&mut self, order: &str) -> Result<(Vec<Told>, Vec<OwnedFd>), ControlError> {
        let (text, handles) = self.exchange(order).map_err(|error| self.failed(error))?;
        match serde_json::from_str(&text) {
            Ok(Answer::Lines(lines)) => Ok((lines, handles)),
            Ok(Answer::Observed(_)) => Ok((Vec::new(), handles)),
            Ok(Answer::Wrong(why)) => Err(ControlError::Wrong("it doesn't hand over", why)),
            Ok(Answer::Error(why)) => Err(ControlError::Refused(why)),
            Err(error) => Err(self.failed(error.into())),
        }
    }

    /// The answer's line, and the descriptors beside its beginning.
    fn exchange(&mut self, order: &str) -> io::Result<(String, Vec<OwnedFd>)> {
        self.stream.set_read_timeout(Some(PATIENCE))?;
        writeln!(self.stream, "{{\"{order}\": {{}}}}")?;
        let mut first = [0; 1];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(SOCKETS_MAX))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut first)];
        if recvmsg(&self.stream, into, &mut beside, RecvFlags::CMSG_CLOEXEC)?.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let rights = beside.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(handles) => Some(handles),
            _ => None,
        });
        let handles: Vec<OwnedFd> = rights.flatten().collect();
        let mut line = String::from_utf8_lossy(&first).into_owned();
        BufReader::new(&mut self.stream).read_line(&mut line)?;
        Ok((line, handles))
    }

    fn failed(&self, error: io::Error) -> ControlError {
        ControlError::Ask(self.path.clone(), error)
    }
}

/// What is said of a socket for HTTP/3, and of the ways to processes that have connections on
/// it; each line is about one of the last descriptors, in their order.
const HTTP3: &str = "http3";
const HTTP3_ROUTE: &str = "http3-route";
/// The same of a tracker's sockets.
const TRACKER_HTTP: &str = "tracker-http";
const TRACKER_UDP: &str = "tracker-udp";
/// The same of a port for clients of Sphinx's.
const SPHINX: &str = "sphinx";

/// All that a successor is given: sockets that listen, then those for HTTP/3.
pub(crate) fn handed_over(
    all: &Sockets,
    tracker: Option<&Tracking>,
    sphinx: Option<&Answering>,
) -> io::Result<Done> {
    let mut sockets =
        all.listening.iter().map(OwnedFd::try_clone).collect::<io::Result<Vec<_>>>()?;
    let mut lines = Vec::new();
    for handle in &all.http3 {
        let HandedOver { address, socket, routes } = handle.hand_over()?;
        sockets.push(socket);
        lines.push(Line { topic: HTTP3, text: address.to_string() });
        for (tag, way) in routes {
            sockets.push(way);
            let text = u32::from_be_bytes(tag).to_string();
            lines.push(Line { topic: HTTP3_ROUTE, text });
        }
    }
    let (http, udp) = tracker.map_or(Ok((Vec::new(), Vec::new())), Tracking::handles)?;
    let ports = sphinx.map_or(Ok(Vec::new()), Answering::handles)?;
    for (topic, handles) in [(TRACKER_HTTP, http), (TRACKER_UDP, udp), (SPHINX, ports)] {
        for socket in handles {
            sockets.push(socket);
            lines.push(Line { topic, text: String::new() });
        }
    }
    if sockets.len() > SOCKETS_MAX {
        let why = format!("there are more than {SOCKETS_MAX} sockets: restart it instead");
        return Err(io::Error::other(why));
    }
    Ok(Done { lines, sockets })
}

/// The same as a successor reads it.
fn inherited(lines: &[Told], mut handles: Vec<OwnedFd>) -> io::Result<Inherited> {
    let unreadable = || io::Error::other("it hands over in a way that this one doesn't know");
    let first = handles.len().checked_sub(lines.len()).ok_or_else(unreadable)?;
    let mut http3: Vec<HandedOver> = Vec::new();
    let (mut tracker_http, mut tracker_udp) = (Vec::new(), Vec::new());
    let mut sphinx = Vec::new();
    for (line, socket) in lines.iter().zip(handles.split_off(first)) {
        match line.topic.as_str() {
            HTTP3 => {
                let address = line.text.parse().map_err(|_| unreadable())?;
                http3.push(HandedOver { address, socket, routes: Vec::new() });
            }
            HTTP3_ROUTE => {
                let tag: u32 = line.text.parse().map_err(|_| unreadable())?;
                let of = http3.last_mut().ok_or_else(unreadable)?;
                of.routes.push((tag.to_be_bytes(), socket));
            }
            TRACKER_HTTP => tracker_http.push(socket),
            TRACKER_UDP => tracker_udp.push(socket),
            SPHINX => sphinx.push(socket.into()),
            _ => return Err(unreadable()),
        }
    }
    let has_tracker = !tracker_http.is_empty();
    let tracker = has_tracker.then(|| TrackerSockets::of_handles(tracker_http, tracker_udp));
    Inherited::of_handles(handles, http3, tracker.transpose()?, sphinx)
}

/// What the running Wick knows of one that is to take its place.
#[derive(Default)]
pub(crate) struct Succession {
    /// The one that was started, and who asked for it.
    child: Option<(Child, oneshot::Sender<Result<Done, String>>)>,
    /// Since the sockets were handed over: by then it must have come.
    due: Option<Instant>,
}

impl Succession {
    /// Starts the binary as it is on the disk now, with the arguments of this one.
    pub(crate) fn begin(&mut self, answer: oneshot::Sender<Result<Done, String>>) {
        let started = match self.child {
            Some(_) => Err("another upgrade is under way".to_owned()),
            None => start(),
        };
        match started {
            Ok(child) => self.child = Some((child, answer)),
            // Whoever asked may have given up waiting.
            Err(why) => drop(answer.send(Err(why))),
        }
    }

    /// The sockets were handed over.
    pub(crate) fn note_handed_over(&mut self) {
        self.due = Some(Instant::now() + PATIENCE);
    }

    /// The new one serves.
    pub(crate) fn complete(&mut self) {
        if let Some((child, answer)) = self.child.take() {
            let id = child.id().map_or_else(String::new, |id| format!(" {id}"));
            let text = format!("process{id} serves in the place of process {}", std::process::id());
            let done = Done { lines: vec![Line { topic: "upgraded", text }], sockets: Vec::new() };
            // As above.
            drop(answer.send(Ok(done)));
        }
    }

    /// Waits until the new one has failed; says so to whoever asked for it.
    pub(crate) async fn failure(&mut self) {
        let why = match (&mut self.child, self.due) {
            (Some((child, _)), None) => format!("the new process ended: {}", ended(child).await),
            (Some((child, _)), Some(due)) => tokio::select! {
                status = ended(child) => format!("the new process ended: {status}"),
                () = tokio::time::sleep_until(due) => {
                    // It can't be told to give up in another way.
                    let _ = child.start_kill();
                    "the new process took too long to serve".to_owned()
                }
            },
            (None, Some(due)) => {
                tokio::time::sleep_until(due).await;
                String::new()
            }
            (None, None) => std::future::pending().await,
        };
        self.due = None;
        if let Some((_, answer)) = self.child.take() {
            let told = format!("{why}; this one serves on, and its standard error says more");
            drop(answer.send(Err(told)));
        }
    }
}

async fn ended(child: &mut Child) -> String {
    child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string())
}

fn start() -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = PathBuf::from(program.to_string_lossy().trim_end_matches(REPLACED));
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.retain(|argument| argument != TAKE_OVER);
    let mut command = Command::new(&program);
    command.args(arguments).arg(TAKE_OVER).stdin(std::process::Stdio::null());
    command.spawn().map_err(|error| format!("can't start {}: {error}", program.display()))
}

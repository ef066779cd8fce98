//! The control socket's language: one line of JSON asks, one line of JSON answers.
//!
//! ```text
//! {"explain": {"url": "http://example.org/", "cookies": "", "user_agent": ""}}
//! {"overrule": {"site": "", "act": {"rule": "foreign_cookies"}, "subject": "width", "by": "me"}}
//! {"purge": {"urls": ["http://example.org/"], "tags": [], "hosts": [], "all": false, "soft": false}}
//! {"reload": {}}  {"upgrade": {}}  {"hand_over": {}}  {"leave": {}}
//! {"observed": …}
//! {"lines": [{"topic": "site", "text": "/srv/site"}, …]}   or  {"wrong": "…"}  or  {"error": "…"}
//! {"observed": …}
//! ```
//!
//! What is wrong can be put right in the question; an error is a question that this Wick
//! doesn't know.
//!
//! What happened is asked of the [`crate::Observer`], whose language this is not.
//! What concerns the whole process, such as its settings, is handed on as an [`Order`]. The
//! sockets that are handed over come as descriptors beside the first byte of the answer.
//!
//! Who may ask is for the socket's file to say. Bounds: [`CONNECTIONS_MAX`] at a time, others
//! wait to be accepted; [`QUESTION_BYTES_MAX`] a question; [`PATIENCE`] for each question to
//! come and its answer to go, after which the connection closes.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use base::{Shutdown, task};
use rustix::cmsg_space;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde::{Deserialize, Serialize};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    Interest,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::timeout;

use crate::Server;
use crate::explain::{Line, Question};
use crate::overrule::OverruleOrder;
use crate::purge::order::PurgeOrder;

/// Connections at one time.
const CONNECTIONS_MAX: usize = 16;
/// Bytes of a question.
const QUESTION_BYTES_MAX: u64 = 64 << 10;
/// For a question and its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// For an order to be carried out: a php-fpm may have to start.
const ORDER_PATIENCE: Duration = Duration::from_secs(60);
/// How long to leave `accept` alone when it fails for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Asked {
    Explain(Question),
    Purge(PurgeOrder),
    Overrule(OverruleOrder),
    Reload {},
    Upgrade {},
    HandOver {},
    Leave {},
    Observed(serde_json::Value),
}

/// What only whoever runs the server can do.
#[derive(Debug)]
pub struct Order {
    /// What is wanted.
    pub wanted: Wanted,
    /// Who waits: for what was done, or for what is wrong.
    pub answer: oneshot::Sender<Result<Done, String>>,
}

/// What was done.
#[derive(Debug, Default)]
pub struct Done {
    /// To be shown.
    pub lines: Vec<Line>,
    /// To be handed to whoever asked; at most [`SOCKETS_MAX`].
    pub sockets: Vec<OwnedFd>,
}

/// Sockets that can be handed over at once.
pub const SOCKETS_MAX: usize = 250;

/// What may be wanted of whoever runs the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The settings are to be read again.
    Reload,
    /// The binary as it is now on the disk is to take this process's place.
    Upgrade,
    /// Another process is about to take this one's place: it needs the sockets.
    HandOver,
    /// It serves: this one is to end what it has begun, and go.
    Leave,
}

/// Where orders go.
pub type Orders = mpsc::Sender<Order>;

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Lines(Vec<Line>),
    Wrong(String),
    Error(String),
    Observed(serde_json::Value),
}

impl Server {
    /// Answers questions about the server until the signal to stop.
    pub async fn serve_control(
        self: Arc<Self>,
        listener: UnixListener,
        orders: Orders,
        shutdown: Shutdown,
    ) {
        let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let next = async || {
            let seat = seats.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((seat, listener.accept().await?.0))
        };
        loop {
            let accepted = tokio::select! {
                accepted = next() => accepted,
                () = shutdown.begun() => return,
            };
            let Ok((seat, stream)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let (server, orders) = (self.clone(), orders.clone());
            task::spawn_counted(&self.counters.panics, async move {
                // Whoever asked has gone, or was too slow: it is nobody else's affair.
                let _ = server.converse(stream, &orders).await;
                drop(seat);
            });
        }
    }

    /// Answers one question after the other.
    async fn converse(&self, stream: impl Giving, orders: &Orders) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let Some(question) = timeout(PATIENCE, read_question(&mut stream)).await?? else {
                return Ok(());
            };
            let answered = self.answer(&question, orders).await;
            let mut text = serde_json::to_vec(&answered.answer)?;
            text.push(b'\n');
            let sent = timeout(PATIENCE, stream.get_mut().give(&text, &answered.sockets)).await??;
            timeout(PATIENCE, async {
                stream.write_all(&text[sent..]).await?;
                stream.flush().await
            })
            .await??;
            if answered.ends {
                return Ok(());
            }
        }
    }

    async fn answer(&self, question: &[u8], orders: &Orders) -> Answered {
        if question.len() as u64 > QUESTION_BYTES_MAX {
            let why = format!("a question has at most {QUESTION_BYTES_MAX} bytes");
            return Answered { ends: true, ..Answer::Error(why).into() };
        }
        let wanted = match serde_json::from_slice(question) {
            Ok(Asked::Explain(question)) => return Answer::Lines(self.explain(&question)).into(),
            Ok(Asked::Purge(order)) => {
                return self.purge(&order).map_or_else(Answer::Wrong, Answer::Lines).into();
            }
            // It waits for the disk, as somebody's word has to last; that is seldom, and short.
            Ok(Asked::Overrule(order)) => {
                return self.overrule(&order).map_or_else(Answer::Wrong, Answer::Lines).into();
            }
            Ok(Asked::Observed(question)) => return self.tell_observed(question).into(),
            Ok(Asked::Reload {}) => Wanted::Reload,
            Ok(Asked::Upgrade {}) => Wanted::Upgrade,
            Ok(Asked::HandOver {}) => Wanted::HandOver,
            Ok(Asked::Leave {}) => Wanted::Leave,
            Err(error) => {
                return Answer::Error(format!("the question can't be read: {error}")).into();
            }
        };
        match carried_out(wanted, orders).await {
            Ok(Done { lines, sockets }) => Answered { sockets, ..Answer::Lines(lines).into() },
            Err(why) => Answer::Wrong(why).into(),
        }
    }
}

impl Server {
    fn tell_observed(&self, question: serde_json::Value) -> Answer {
        match &self.observer {
            Some(observer) => observer.tell(question).map_or_else(Answer::Wrong, Answer::Observed),
            None => Answer::Wrong("nothing is observed here".to_owned()),
        }
    }
}

/// An answer with what goes with it.
struct Answered {
    answer: Answer,
    sockets: Vec<OwnedFd>,
    /// Whether the next line can't be told from this one.
    ends: bool,
}

impl From<Answer> for Answered {
    fn from(answer: Answer) -> Self {
        Self { answer, sockets: Vec::new(), ends: false }
    }
}

/// A connection that descriptors may be given through.
trait Giving: AsyncRead + AsyncWrite + Unpin {
    /// Gives them beside the beginning of a text; returns how much of that was sent.
    async fn give(&mut self, text: &[u8], sockets: &[OwnedFd]) -> io::Result<usize>;
}

impl Giving for UnixStream {
    async fn give(&mut self, text: &[u8], sockets: &[OwnedFd]) -> io::Result<usize> {
        if sockets.is_empty() {
            return Ok(0);
        }
        let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        self.async_io(Interest::WRITABLE, || {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(SOCKETS_MAX))];
            let mut beside = SendAncillaryBuffer::new(&mut space);
            if !beside.push(SendAncillaryMessage::ScmRights(&sockets)) {
                return Err(io::Error::other("there are too many sockets to hand over"));
            }
            let flags = SendFlags::NOSIGNAL;
            Ok(sendmsg(&*self, &[IoSlice::new(text)], &mut beside, flags)?)
        })
        .await
    }
}

/// Hands an order on and waits for what came of it.
async fn carried_out(wanted: Wanted, orders: &Orders) -> Result<Done, String> {
    let (answer, told) = oneshot::channel();
    let order = async {
        orders.send(Order { wanted, answer }).await.ok()?;
        told.await.ok()
    };
    match timeout(ORDER_PATIENCE, order).await {
        Ok(Some(told)) => told,
        Ok(None) => Err("nobody carries that out: Wick is stopping".to_owned()),
        Err(_) => Err(format!("it took longer than {} s", ORDER_PATIENCE.as_secs())),
    }
}

/// A line, or as much of it as shows that it is too long; nothing at the end.
async fn read_question(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    stream.take(QUESTION_BYTES_MAX + 1).read_until(b'\n', &mut line).await?;
    Ok((!line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use base::Clock;

    use super::*;
    use crate::ServerConfig;

    impl Giving for tokio::io::DuplexStream {
        async fn give(&mut self, _: &[u8], sockets: &[OwnedFd]) -> io::Result<usize> {
            assert!(sockets.is_empty(), "nothing was handed over");
            Ok(0)
        }
    }

    async fn ask(questions: &[u8]) -> String {
        let server = Server::new(ServerConfig::default(), Clock::manual(0));
        let (mut client, theirs) = tokio::io::duplex(1 << 10);
        let (orders, _nobody) = mpsc::channel(1);
        let answering = tokio::spawn(async move { server.converse(theirs, &orders).await });
        // It may stop reading in the middle of what is too long.
        let _ = client.write_all(questions).await;
        let _ = client.shutdown().await;
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.expect("text");
        answering.await.expect("no panic").expect("a conversation that ends well");
        answers
    }

    #[tokio::test]
    async fn each_line_is_answered_by_one() {
        let known = "{\"explain\": {\"url\": \"http://a/\"}}";
        let answer = ask(format!("{known}\n{known}").as_bytes()).await;
        assert_eq!(answer.lines().count(), 2, "the last one needs no end of line: {answer}");
        for line in answer.lines() {
            assert_eq!(
                line,
                "{\"lines\":[{\"topic\":\"site\",\"text\":\"none answers for a\"},\
                 {\"topic\":\"verdict\",\"text\":\"refused(host-unknown): not served\"}]}"
            );
        }
        assert_eq!(ask(b"").await, "");
    }

    #[tokio::test]
    async fn what_is_no_question_is_told_and_the_next_line_is_read() {
        for wrong in [
            "",
            "explain",
            "{\"purge\": 1}",
            "{\"purge\": {\"url\": \"\"}}",
            "{\"explain\": {\"uri\": \"\"}}",
            "[[[[",
        ] {
            let answer = ask(format!("{wrong}\n{wrong}\n").as_bytes()).await;
            let told = answer.lines().filter(|line| line.starts_with("{\"error\":\"")).count();
            assert_eq!(told, 2, "{wrong}: {answer}");
        }
        assert!(ask(b"\xff\xfe\n").await.starts_with("{\"error\":"));
    }

    #[tokio::test]
    async fn what_can_be_put_right_is_told_as_wrong() {
        let told = ask(b"{\"purge\": {}}\n{\"purge\": {\"urls\": [\"http://a/\"]}}").await;
        assert_eq!(
            told.lines().filter(|line| line.starts_with("{\"wrong\":\"n")).count(),
            2,
            "{told}"
        );
    }

    #[tokio::test]
    async fn a_question_without_an_end_is_not_read_for_ever() {
        let longest = QUESTION_BYTES_MAX as usize;
        let answer = ask(&vec![b' '; longest * 2]).await;
        assert_eq!(answer, "{\"error\":\"a question has at most 65536 bytes\"}\n");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_says_nothing_is_let_go() {
        let server = Server::new(ServerConfig::default(), Clock::manual(0));
        let (_client, theirs) = tokio::io::duplex(64);
        let (orders, _nobody) = mpsc::channel(1);
        let end = server.converse(theirs, &orders).await.expect_err("nothing came");
        assert_eq!(end.kind(), io::ErrorKind::TimedOut);
    }
}

//! The listener that workers come to: HTTP/1.1, two things to ask for.
//!
//! `POST /take` waits for work: 200 with a page to ask for, 204 if there was none for a while,
//! 410 when the audit is over. `POST /done/LEASE` brings what came of it: 204 if it is counted,
//! 409 if somebody else has it by now. 401 without the token, 426 for another version, 403 for
//! who can't ask what is on the coordinator's machine; a refusal's body says what to do.
//! Invariants: 1. nothing is read of a body before the token was shown and the lease is known.
//! 2. so many connections, and heads and bodies no larger than that.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::hands::BODY_BYTES_MAX;
use super::{Crew, MACHINE_FIELD, VERSION, VERSION_FIELD, WORKER_FIELD, WorkersToken, locked};
use crate::errand::Outcome;

/// Connections at once; a worker has some.
const CONNECTIONS_MAX: usize = 256;
const HEAD_BYTES_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 32;
/// How long somebody waits for work before being told that there is none yet.
const POLL: Duration = Duration::from_secs(20);
/// How long the end of an audit is told to those who ask.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long it is not accepted after the system could not, for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// A name of a worker is no longer.
const NAME_BYTES_MAX: usize = 64;

/// Why workers can't join.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The address is taken, or not this machine's.
    #[error("can't listen for workers at {0}: {1}; name another address by --workers")]
    Bind(SocketAddr, std::io::Error),
}

/// An open door: workers join until it is closed.
pub struct Door {
    crew: Arc<Crew>,
    address: SocketAddr,
    serving: tokio::task::JoinHandle<()>,
}

struct Inside {
    crew: Arc<Crew>,
    token: WorkersToken,
    machine: String,
}

/// What one connection has taken and not brought back.
#[derive(Default)]
struct Line {
    leases: Mutex<HashSet<u64>>,
    name: Mutex<Option<String>>,
}

type Answer = Response<Full<Bytes>>;

impl Door {
    /// Listens, on the runtime that calls it.
    ///
    /// # Errors
    /// The address can't be listened at.
    pub async fn open(address: SocketAddr, token: WorkersToken) -> Result<Self, DoorError> {
        let refused = |error| DoorError::Bind(address, error);
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let crew = Arc::new(Crew::default());
        let machine = super::machine();
        let inside = Arc::new(Inside { crew: Arc::clone(&crew), token, machine });
        Ok(Self { crew, address, serving: tokio::spawn(serve(listener, inside)) })
    }

    /// Who has joined.
    #[must_use]
    pub fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells all workers that there is no more to do.
    pub async fn close(self) {
        self.crew.close();
        let gone = async {
            while self.crew.workers() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // Who doesn't hear it finds the door gone.
        let _ = timeout(FAREWELL, gone).await;
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, inside: Arc<Inside>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Connections end with the door.
    let mut lines: JoinSet<()> = JoinSet::new();
    loop {
        while lines.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let inside = Arc::clone(&inside);
        lines.spawn(async move {
            converse(stream, inside).await;
            drop(place);
        });
    }
}

/// One connection; with its end, all that was taken over it is given anew.
async fn converse(stream: TcpStream, inside: Arc<Inside>) {
    // Without it answers come a moment later.
    let _ = stream.set_nodelay(true);
    let line = Arc::new(Line::default());
    let (own, crew) = (Arc::clone(&line), Arc::clone(&inside.crew));
    let service = service_fn(move |request| {
        let (inside, line) = (Arc::clone(&inside), Arc::clone(&line));
        async move { Ok::<_, Infallible>(inside.answer(request, &line).await) }
    });
    // How it ended is the worker's business.
    let _ = http1::Builder::new()
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    for lease in locked(&own.leases).drain() {
        crew.end(lease);
    }
    if let Some(name) = locked(&own.name).take() {
        crew.leave(&name);
    }
}

impl Inside {
    async fn answer(&self, request: Request<Incoming>, line: &Line) -> Answer {
        let (head, body) = request.into_parts();
        if let Some(refusal) = self.refusal(&head) {
            return refusal;
        }
        let path = head.uri.path();
        match path.strip_prefix("/done/").map(str::parse) {
            Some(Ok(lease)) => self.done(lease, body, line).await,
            None if path == "/take" => self.take(&head, line).await,
            _ => said(StatusCode::NOT_FOUND, "there is /take and /done/LEASE"),
        }
    }

    fn refusal(&self, head: &Parts) -> Option<Answer> {
        let field = |name: &str| head.headers.get(name).map_or(&b""[..], |value| value.as_bytes());
        if !self.token.is_shown_by(field("authorization")) {
            let told = "the token is not the coordinator's: copy the file that it names";
            return Some(said(StatusCode::UNAUTHORIZED, told));
        }
        if head.method != Method::POST {
            return Some(said(StatusCode::METHOD_NOT_ALLOWED, "it is asked by POST"));
        }
        if field(VERSION_FIELD) != VERSION.as_bytes() {
            return Some(said(StatusCode::UPGRADE_REQUIRED, &super::another_version()));
        }
        None
    }

    async fn take(&self, head: &Parts, line: &Line) -> Answer {
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let is_here = text(MACHINE_FIELD) == Some(&self.machine);
        let name = text(WORKER_FIELD).filter(|name| name.len() <= NAME_BYTES_MAX).unwrap_or("");
        if locked(&line.name).get_or_insert_with(|| {
            self.crew.join(name);
            name.to_owned()
        }) != name
        {
            return said(StatusCode::BAD_REQUEST, "a connection is one worker's");
        }
        let wait = async {
            while !self.crew.refuses(is_here) {
                if let Ok(handed) = self.crew.ask(is_here).await {
                    return Some(handed);
                }
            }
            None
        };
        tokio::select! {
            () = self.crew.closed() => said(StatusCode::GONE, "the audit is over"),
            waited = timeout(POLL, wait) => match waited {
                Err(_) => said(StatusCode::NO_CONTENT, ""),
                Ok(None) => said(StatusCode::FORBIDDEN, super::ELSEWHERE),
                Ok(Some(handed)) => {
                    locked(&line.leases).insert(handed.lease);
                    match serde_json::to_vec(&handed) {
                        Ok(json) => Response::new(json.into()),
                        Err(error) => {
                            said(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
                        }
                    }
                }
            },
        }
    }

    async fn done(&self, lease: u64, body: Incoming, line: &Line) -> Answer {
        let late = || {
            let told = "somebody else has it by now; it isn't counted";
            said(StatusCode::CONFLICT, told)
        };
        if !self.crew.has_leased(lease) {
            // It is counted as late there.
            self.crew.done(lease, Err(crate::fetch::FetchError::Lost));
            return late();
        }
        let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
            self.crew.end(lease);
            return said(StatusCode::PAYLOAD_TOO_LARGE, "it is too long, or broke off");
        };
        let outcome: Result<Outcome, _> = serde_json::from_slice(&body.to_bytes());
        let Ok(outcome) = outcome else {
            self.crew.end(lease);
            return said(StatusCode::BAD_REQUEST, "it can't be read");
        };
        locked(&line.leases).remove(&lease);
        if self.crew.done(lease, outcome) { said(StatusCode::NO_CONTENT, "") } else { late() }
    }
}

fn said(status: StatusCode, text: &str) -> Answer {
    let mut answer = Response::new(Full::from(text.to_owned()));
    *answer.status_mut() = status;
    answer
}

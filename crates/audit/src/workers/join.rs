//! A worker: takes pages from a coordinator, fetches and tests them, and brings what came of it.
//!
//! It has some connections, each of which has one page at a time. What it does with that is
//! `hands.rs`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::SendRequest;
use url::Url;

use super::{
    HANDS, Handed, Hands, MACHINE_FIELD, VERSION, VERSION_FIELD, WORKER_FIELD, WorkersToken, locked,
};
use crate::fetch::{FetchError, Host};
use crate::scope::origin;

/// How long a coordinator that is gone is asked for.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(500);
/// What a coordinator says.
const SAID_BYTES_MAX: usize = 64 << 10;

/// Why a worker ends before the audit does.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no coordinator, or none any more.
    #[error(
        "the coordinator at {0} can't be reached: {1}; see that wick audit --workers runs there"
    )]
    Unreachable(String, FetchError),
    /// It doesn't want this worker.
    #[error("the coordinator at {0} refuses: {1}")]
    Refused(String, String),
    /// TLS.
    #[error("TLS can't be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// A worker.
pub struct Worker {
    coordinator: Url,
    token: WorkersToken,
    hands: Hands,
    heard: Mutex<Option<Instant>>,
    is_over: AtomicBool,
    done: AtomicUsize,
}

/// What a coordinator answered.
struct Said {
    status: StatusCode,
    body: Bytes,
}

impl Worker {
    /// A worker of the coordinator at `url`.
    ///
    /// # Errors
    /// TLS can't be set up.
    pub fn new(coordinator: Url, token: WorkersToken) -> Result<Self, JoinError> {
        Ok(Self {
            coordinator,
            token,
            hands: Hands::new()?,
            heard: Mutex::default(),
            is_over: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        })
    }

    /// Pages that were counted.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Works until the audit is over.
    ///
    /// # Errors
    /// The coordinator isn't there, has been gone for a minute, or refuses.
    pub async fn work(&self) -> Result<(), JoinError> {
        let coordinator = self.hands.coordinator(&self.coordinator).await;
        let coordinator = coordinator.map_err(|error| self.unreachable(error))?;
        let hands = (0..HANDS).map(|_| self.hand(&coordinator));
        let ended = join_all(hands).await;
        ended.into_iter().collect()
    }

    fn unreachable(&self, error: FetchError) -> JoinError {
        JoinError::Unreachable(origin(&self.coordinator), error)
    }

    async fn hand(&self, coordinator: &Host) -> Result<(), JoinError> {
        while !self.is_over.load(Ordering::Relaxed) {
            let ended = match coordinator.dial().await {
                Ok(line) => self.serve(line).await,
                Err(error) => Err(Some(error)),
            };
            match ended {
                Ok(refusal) => return refusal,
                // It was heard, and may come back.
                Err(None) => {}
                Err(Some(error)) => {
                    let heard = *locked(&self.heard);
                    let is_gone = heard.is_none_or(|heard| heard.elapsed() > PATIENCE);
                    if is_gone && !self.is_over.load(Ordering::Relaxed) {
                        return Err(self.unreachable(error));
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// Takes and brings over one connection: how all of it ended, or why the connection did.
    async fn serve(
        &self,
        mut line: SendRequest<Full<Bytes>>,
    ) -> Result<Result<(), JoinError>, Option<FetchError>> {
        loop {
            let said = self.ask(&mut line, "/take", Vec::new()).await?;
            *locked(&self.heard) = Some(Instant::now());
            match said.status {
                StatusCode::OK => {}
                StatusCode::NO_CONTENT => continue,
                StatusCode::GONE => {
                    self.is_over.store(true, Ordering::Relaxed);
                    return Ok(Ok(()));
                }
                _ => return Ok(Err(self.refused(&said))),
            }
            let Ok(handed) = serde_json::from_slice::<Handed>(&said.body) else {
                return Ok(Err(self.refused(&said)));
            };
            let outcome = self.hands.run(&handed).await;
            let broken = |error: serde_json::Error| FetchError::Broken(error.to_string());
            let body = serde_json::to_vec(&outcome).map_err(broken)?;
            let said = self.ask(&mut line, &format!("/done/{}", handed.lease), body).await?;
            match said.status {
                StatusCode::NO_CONTENT => drop(self.done.fetch_add(1, Ordering::Relaxed)),
                // Somebody else has it by now.
                StatusCode::CONFLICT => {}
                _ => return Ok(Err(self.refused(&said))),
            }
        }
    }

    fn refused(&self, said: &Said) -> JoinError {
        let told = String::from_utf8_lossy(&said.body);
        // Whoever answers may be no coordinator: what it says is shown in one line.
        let told: String = told.chars().filter(|letter| !letter.is_control()).take(300).collect();
        JoinError::Refused(origin(&self.coordinator), format!("{} ({})", told, said.status))
    }

    async fn ask(
        &self,
        line: &mut SendRequest<Full<Bytes>>,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Said, Option<FetchError>> {
        let broken = |error: hyper::Error| Some(FetchError::Broken(error.to_string()));
        let request = Request::post(path)
            .header("host", self.coordinator.authority())
            .header("authorization", self.token.shown())
            .header(VERSION_FIELD, VERSION)
            .header(MACHINE_FIELD, &self.hands.machine)
            .header(WORKER_FIELD, &self.hands.name)
            .body(Full::from(body))
            .map_err(|error| Some(FetchError::Broken(error.to_string())))?;
        line.ready().await.map_err(broken)?;
        let (head, body) = line.send_request(request).await.map_err(broken)?.into_parts();
        let body = Limited::new(body, SAID_BYTES_MAX).collect().await;
        let body = body.map_err(|error| Some(FetchError::Broken(error.to_string())))?;
        Ok(Said { status: head.status, body: body.to_bytes() })
    }
}

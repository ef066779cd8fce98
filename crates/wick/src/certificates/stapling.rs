//! Staples for what is shown: asked for in the background, kept over restarts, renewed in time.
//!
//! ```text
//! a certificate that names a responder ─ kept from earlier, and good? ─ stapled at once
//!                                      └ asked (RFC 6960 Appendix A), checked, kept, stapled
//! half of its life later: again; after a failure: again, less and less often
//! ```
//! Bounds: one question at a time, [`PATIENCE`] for its answer, [`ANSWER_BYTES_MAX`] of it.
//! Invariants: 1. no handshake waits for any of this. 2. a staple is taken away before it ends.
//! 3. what is kept is checked as if it had just come.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Request, Uri};
use http_body_util::Full;
use server::{Identity, Inquiry, StapleError, StapleLife};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::exchange::exchange;
use super::schedule::{self, Setback};
use super::shelf::Shelf;
use super::showcase::Showcase;
use super::told;

/// For one question and its answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Answers have one or two kilobytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// A staple is taken away so long before it ends: clocks differ, and one question may be under way.
const MARGIN_SECONDS: i64 = 60;
/// The least pause between two questions about one certificate.
const PAUSE_SECONDS_MIN: i64 = 60;
/// The longest pause after a failure.
const PAUSE_SECONDS_MAX: i64 = 3600;

/// Looks after all staples.
pub(crate) struct Stapler {
    showcase: Arc<Showcase>,
    shelf: Shelf,
    all: Vec<Stapled>,
}

/// A certificate, and what is known of its staple.
struct Stapled {
    certificate: Vec<u8>,
    /// What a person calls it.
    called: String,
    responder: String,
    question: Inquiry,
    staple: Option<(Vec<u8>, StapleLife)>,
    /// When its responder is asked.
    due: i64,
    failures: u32,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("its address is not one of HTTP")]
    Address,
    #[error("can't connect to it: {0}")]
    Connect(#[from] io::Error),
    #[error("it broke off: {0}")]
    Broken(String),
    #[error("it answered {0}")]
    Refused(http::StatusCode),
    #[error("it did not answer within {} s", PATIENCE.as_secs())]
    Late,
    #[error(transparent)]
    Useless(#[from] StapleError),
}

impl Stapled {
    /// A certificate that names a responder.
    fn of(identity: &Identity) -> Option<Self> {
        let facts = identity.facts();
        Some(Self {
            certificate: identity.certificate().to_vec(),
            called: facts.names.first().map_or_else(|| "?".to_owned(), |name| told::words(name)),
            responder: facts.responder.clone()?,
            question: Inquiry::about(identity)?,
            staple: None,
            due: 0,
            failures: 0,
        })
    }

    /// Takes an answer if it may be stapled; it is asked for again when half its life is over.
    fn take(&mut self, answer: Vec<u8>, now: i64) -> Result<(), StapleError> {
        // One that would be taken away at once is none.
        let life = self.question.check(&answer, now)?;
        if life.until - MARGIN_SECONDS <= now {
            return Err(StapleError::Time);
        }
        let half = life.since + (life.until - life.since) / 2;
        self.due = half.max(now + PAUSE_SECONDS_MIN);
        self.staple = Some((answer, life));
        self.failures = 0;
        Ok(())
    }

    /// When the staple has to go.
    fn end(&self) -> i64 {
        self.staple.as_ref().map_or(i64::MAX, |(_, life)| life.until - MARGIN_SECONDS)
    }

    fn next(&self) -> i64 {
        self.due.min(self.end())
    }
}

impl Stapler {
    pub(crate) fn new(showcase: Arc<Showcase>, shelf: Shelf) -> Self {
        Self { showcase, shelf, all: Vec::new() }
    }

    /// Does so for as long as the server runs.
    pub(crate) async fn keep(mut self) {
        loop {
            let showcase = self.showcase.clone();
            self.look();
            self.end_old();
            let now = told::now();
            let Some(next) = self.all.iter().map(Stapled::next).min() else {
                showcase.changed.notified().await;
                continue;
            };
            if next > now {
                // A machine may sleep, and its clock may be set.
                let wait = (next - now).min(PAUSE_SECONDS_MAX).unsigned_abs();
                let _ = timeout(Duration::from_secs(wait), showcase.changed.notified()).await;
                continue;
            }
            if let Some(at) = self.all.iter().position(|one| one.due <= now) {
                self.renew(at).await;
            }
        }
    }

    /// Sees what is shown now, and staples what can be.
    fn look(&mut self) {
        let shown = self.showcase.identities();
        self.all.retain(|one| shown.iter().any(|it| it.certificate() == one.certificate));
        for identity in &shown {
            let is_it = |one: &Stapled| one.certificate == identity.certificate();
            if !self.all.iter().any(is_it) {
                let Some(mut one) = Stapled::of(identity) else { continue };
                if let Some(kept) = self.shelf.staple(&one.question.name()) {
                    // One that is too old is as good as none.
                    let _ = one.take(kept, told::now());
                }
                self.all.push(one);
            }
            let Some(one) = self.all.iter().find(|one| is_it(one)) else { continue };
            if let Some((staple, _)) = one.staple.as_ref().filter(|_| !identity.is_stapled()) {
                self.showcase.staple(&one.certificate, Some(staple));
            }
        }
    }

    /// Takes staples away that end.
    fn end_old(&mut self) {
        let now = told::now();
        for one in self.all.iter_mut().filter(|one| one.end() <= now) {
            one.staple = None;
            self.showcase.staple(&one.certificate, None);
            complain(format_args!(
                "{} is shown without a staple: the last one has ended, and {} gave no other",
                one.called, one.responder
            ));
        }
    }

    async fn renew(&mut self, at: usize) {
        let one = &mut self.all[at];
        let asked = match timeout(PATIENCE, ask(&one.responder, &one.question.bytes)).await {
            Ok(Ok(answer)) => one.take(answer.to_vec(), told::now()).map_err(AskError::from),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(AskError::Late),
        };
        let now = told::now();
        if let Err(error) = asked {
            one.failures = one.failures.saturating_add(1);
            let pause = schedule::pause(Setback::Refused, one.failures, rand::random());
            let seconds = (pause.as_secs() as i64).clamp(PAUSE_SECONDS_MIN / 2, PAUSE_SECONDS_MAX);
            one.due = now + seconds;
            let is_revoked = matches!(error, AskError::Useless(StapleError::Revoked));
            if one.failures == 1 || is_revoked {
                let why = told::words(&error.to_string());
                let responder = told::words(&one.responder);
                complain(format_args!("no new staple for {} from {responder}: {why}", one.called));
            }
            if is_revoked && one.staple.take().is_some() {
                self.showcase.staple(&one.certificate, None);
                self.forget_but(|other| other.staple.is_some());
            }
            return;
        }
        let Some((staple, _)) = &one.staple else { return };
        self.showcase.staple(&one.certificate, Some(staple));
        if let Err(error) = self.shelf.keep_staple(&one.question.name(), staple) {
            // It serves until the next start, which asks for another.
            complain(format_args!("the staple for {} can't be kept: {error}", one.called));
        }
        self.forget_but(|_| true);
    }

    /// Keeps no staples but those of some that are shown.
    fn forget_but(&self, stays: impl Fn(&Stapled) -> bool) {
        let names = self.all.iter().filter(|one| stays(one)).map(|one| one.question.name());
        self.shelf.forget_staples_but(&names.collect::<Vec<_>>());
    }
}

/// Asks a responder, over a connection of its own.
async fn ask(responder: &str, question: &[u8]) -> Result<Bytes, AskError> {
    let uri: Uri = responder.parse().map_err(|_| AskError::Address)?;
    let (host, authority) = uri.host().zip(uri.authority()).ok_or(AskError::Address)?;
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((plain, uri.port_u16().unwrap_or(80))).await?;
    let request = Request::post(uri.path_and_query().map_or("/", |target| target.as_str()))
        .header(HOST, authority.as_str())
        .header(CONTENT_TYPE, "application/ocsp-request")
        .body(Full::new(Bytes::copy_from_slice(question)))
        .map_err(|_| AskError::Address)?;
    let answer = exchange(stream, request, ANSWER_BYTES_MAX).await;
    let (head, body) = answer.map_err(AskError::Broken)?;
    match head.status {
        http::StatusCode::OK => body.map_err(AskError::Broken),
        status => Err(AskError::Refused(status)),
    }
}

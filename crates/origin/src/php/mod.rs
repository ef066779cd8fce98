//! PHP as the origin, through FastCGI; the static files of its folder as well.
//!
//! Each open connection holds one of php-fpm's children, so there are never more
//! connections than children, and a fair, bounded queue before them.
//! Invariants: 1. A request with an unsafe method goes over a connection opened for
//! it: if that dies there is no doubt that the script was begun, and the request is
//! not sent again. 2. A safe one is sent again once, if a kept connection died
//! before any byte of an answer. 3. A child is taken when the whole request is here.
//! Start at [`PhpOrigin::send`].

mod address;
mod environment;
mod exchange;
mod inquiry;
mod last_script;
mod no_file;
mod pump;
mod sendfile;
mod spool;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::Phase;
use base::network::Block;
use bytes::Bytes;
use http::Method;
use wire::fastcgi::{CgiHead, HeadReader};
use wire::{Name, RequestHead, ResponseHead, body};

pub use address::PhpAddressError;
pub use sendfile::SendFolders;
pub use spool::Spool;

use crate::files::{self, FileAt};
use crate::ground::Disk;
use crate::http_origin::is_safe;
use crate::path::SitePath;
use crate::pool::Pool;
use crate::script::{self, Layout, Script, Target, UPLOAD_FOLDERS};
use crate::slots::{Slot, SlotLimits, Slots};
use crate::stopwatch::{Noted, timed};
use crate::timeouts::{seconds, within};
use crate::{Answer, Call, Counters, Dial, Load, Log, LogSink, OriginError, Timeouts};
use environment::Environment;
use exchange::{Connection, Exchange, Step};
use last_script::LastScript;
use pump::{Arrived, Pump, arrived};
use spool::Stored;

/// How often an app may send a request on to another of its paths.
const LOCAL_REDIRECTS_MAX: usize = 5;

/// How PHP is used.
#[derive(Clone)]
pub struct PhpOptions {
    /// Waiting times.
    pub timeouts: Timeouts,
    /// Connections at once, at most the number of children, and the queue before them.
    pub limits: SlotLimits,
    /// How long an unused connection, and with it a child, is kept. Zero if the
    /// children are shared with somebody else, who would wait for them.
    pub keep: Duration,
    /// Whether somebody starts PHP again when it is gone, so that waiting for it helps.
    pub is_restarted: bool,
    /// Where request bodies wait.
    pub spool: Spool,
    /// Variables that scripts find beside those of the request.
    pub variables: Vec<(String, String)>,
    /// Names of folders below which no script is run.
    pub upload_folders: Vec<String>,
    /// Where files may be sent from at the app's request.
    pub send_folders: SendFolders,
    /// Where PHP's messages go.
    pub log: LogSink,
}

impl Default for PhpOptions {
    /// For a php-fpm that somebody else runs, with a number of children unknown to us.
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            limits: SlotLimits { slots: 32, queue: 1024, queue_timeout: Duration::from_secs(30) },
            keep: Duration::ZERO,
            is_restarted: false,
            spool: Spool::default(),
            variables: Vec::new(),
            upload_folders: UPLOAD_FOLDERS.iter().map(|&name| name.to_owned()).collect(),
            send_folders: SendFolders::default(),
            log: Log::standard_error(),
        }
    }
}

impl PhpOptions {
    /// For a php-fpm of our own with this many children.
    #[must_use]
    pub fn for_children(children: usize) -> Self {
        let limits = PhpOptions::default().limits;
        Self {
            limits: SlotLimits { slots: children, ..limits },
            // Short: a kept connection holds a child, and php-fpm counts the time as that
            // of a request when it looks for scripts that take too long.
            keep: Duration::from_secs(5),
            is_restarted: true,
            ..Self::default()
        }
    }
}

/// A folder with PHP in it, and the php-fpm that runs it.
pub struct PhpOrigin {
    layout: Layout,
    environment: Environment,
    disk: Disk,
    last: LastScript,
    dial: Dial,
    options: Box<PhpOptions>,
    slots: Slots,
    pool: Pool<Connection>,
    log: Log,
    counters: Arc<Counters>,
}

impl PhpOrigin {
    /// The site in `root`, run by the php-fpm behind `dial`.
    #[must_use]
    pub fn new(root: impl AsRef<Path>, dial: Dial, options: PhpOptions) -> Self {
        let root = std::path::absolute(root.as_ref()).unwrap_or_else(|_| root.as_ref().into());
        let counters = Arc::new(Counters::default());
        Self {
            environment: Environment::new(&root, &options.variables),
            layout: Layout { root, runs_php: true, upload_folders: options.upload_folders.clone() },
            disk: Disk::default(),
            last: LastScript::default(),
            dial,
            slots: Slots::new(options.limits, counters.clone()),
            pool: Pool::new(options.keep),
            log: Log::new(options.log.clone(), counters.clone()),
            options: Box::new(options),
            counters,
        }
    }

    /// Reads where php-fpm listens: `unix:PATH` or `tcp:HOST:PORT`.
    ///
    /// # Errors
    /// The text is neither; the message holds the cure.
    pub fn parse_address(text: &str) -> Result<Dial, PhpAddressError> {
        address::parse(text)
    }

    /// The site's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    pub(crate) fn retire(&self) {
        self.pool.close();
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn load(&self) -> Load {
        self.slots.load()
    }

    pub(crate) async fn send_after(
        &self,
        before: impl Future<Output = Result<(), OriginError>> + Send,
        mut call: Call,
    ) -> Result<Answer, OriginError> {
        self.counters.requests.bump();
        let mut before = Some(pin!(before));
        let mut head = std::mem::take(&mut call.head);
        for _ in 0..LOCAL_REDIRECTS_MAX {
            let now = Instant::now();
            let script = match self.last.get(head.path(), now) {
                Some(script) => script,
                None => match self.resolve(&head)? {
                    Target::Script(script) => self.last.put(head.path(), script, now),
                    Target::File(file) => return files::serve(&file, &head),
                    Target::Slash(path) => return Ok(files::redirect(path, &head)),
                    Target::Missing => return Ok(Answer::not_found(head.method == Method::HEAD)),
                },
            };
            if let Some(before) = before.take() {
                before.await?;
            }
            let begun = self.run(&mut call, &head, &script).await?;
            match begun.redirect() {
                None => return self.answer(begun, &head, &script).await,
                Some(target) => {
                    begun.pump.discard();
                    head = redirected(head, target);
                }
            }
        }
        Err(OriginError::Malformed("PHP redirects within itself without end".to_owned()))
    }
}

/// An answer whose head has come.
struct Begun {
    cgi: CgiHead,
    /// What came of the body with the last of the head; more may have arrived behind it.
    first: Bytes,
    pump: Pump,
}

impl Begun {
    /// The path of this site that shall answer instead (RFC 3875 §6.2.2).
    fn redirect(&self) -> Option<String> {
        let location = self.cgi.head.fields.text(Name::Location);
        location.filter(|_| self.cgi.is_local_redirect).map(str::to_owned)
    }
}

/// The request that an app sends on to another of its paths: without a body, by GET.
fn redirected(mut head: RequestHead, target: String) -> RequestHead {
    head.target = target;
    if head.method != Method::HEAD {
        head.method = Method::GET;
    }
    head.fields.remove(Name::ContentType);
    head
}

/// What one attempt brought.
struct Got {
    cgi: CgiHead,
    first: Bytes,
    exchange: Exchange,
}

/// Why an attempt brought no head.
struct Failure {
    error: OriginError,
    /// The connection closed without a byte of an answer.
    is_silent: bool,
}

impl From<OriginError> for Failure {
    fn from(error: OriginError) -> Self {
        Self { error, is_silent: false }
    }
}

impl PhpOrigin {
    pub(crate) fn file_at(&self, path: &str) -> Option<FileAt> {
        FileAt::find(path, &self.layout, &self.disk)
    }

    fn resolve(&self, head: &RequestHead) -> Result<Target, OriginError> {
        SitePath::parse(head.path())
            .and_then(|path| script::resolve(&path, &self.layout, &self.disk))
            .inspect_err(|_| self.counters.refused_paths.bump())
            .map_err(OriginError::from)
    }

    /// Gathers the request's body and runs the script.
    async fn run(
        &self,
        call: &mut Call,
        head: &RequestHead,
        script: &Script,
    ) -> Result<Begun, OriginError> {
        let body = call.body.take();
        let announced = call.body_length.filter(|_| body.is_some());
        let has_body = body.is_some();
        let stored = self.options.spool.store(body, announced, &self.counters).await?;
        let length = has_body.then(|| stored.length());
        let environment = self.environment.encode(call, head, script, length);
        let (visitor, noted) = (Block::of(call.peer.ip()), call.phases.clone());
        self.begin(visitor, &noted, &head.method, &environment, stored).await
    }

    /// Takes a child, sends the request and waits for the head.
    async fn begin(
        &self,
        visitor: Block,
        noted: &Noted,
        method: &Method,
        environment: &[u8],
        stored: Stored,
    ) -> Result<Begun, OriginError> {
        let slot = timed(noted, Phase::Queue, self.slots.take(visitor)).await?;
        // A spooled body can't be sent twice, so it takes no chances with a kept connection.
        if is_safe(method)
            && let Stored::Memory(bytes) = &stored
            && let Some(connection) = self.kept()
        {
            self.counters.reuses.bump();
            let again = Stored::Memory(bytes.clone());
            let attempt = self.attempt(connection, environment, again);
            match timed(noted, Phase::FirstByte, attempt).await {
                Ok(got) => return Ok(self.begun(got, slot, noted)),
                Err(failure) if failure.is_silent => self.counters.stale_retries.bump(),
                Err(failure) => return Err(failure.error),
            }
        }
        let connection = timed(noted, Phase::Connect, self.fresh()).await?;
        let attempt = self.attempt(connection, environment, stored);
        match timed(noted, Phase::FirstByte, attempt).await {
            Ok(got) => Ok(self.begun(got, slot, noted)),
            Err(failure) => Err(failure.error),
        }
    }

    /// A kept connection that the other side has not closed.
    fn kept(&self) -> Option<Connection> {
        std::iter::from_fn(|| self.pool.take()).find_map(|mut connection| {
            let is_stale = connection.is_stale();
            (!is_stale).then_some(connection)
        })
    }

    /// A new connection. One that lies unused is closed for it, or its child could be
    /// the one that the new connection waits for.
    async fn fresh(&self) -> Result<Connection, OriginError> {
        drop(self.pool.take_oldest());
        let stream = self.dial.connect(&self.options.timeouts, self.options.is_restarted).await?;
        self.counters.connects.bump();
        Ok(Connection::new(stream))
    }

    /// Sends the request over `connection` and reads as far as the end of the head.
    async fn attempt(
        &self,
        connection: Connection,
        environment: &[u8],
        body: Stored,
    ) -> Result<Got, Failure> {
        let keep = !self.options.keep.is_zero();
        let exchange = Exchange::new(connection, environment, body, keep);
        self.head_of(exchange, self.options.timeouts.first_byte).await
    }

    /// Goes on with `exchange` as far as the end of the head; between two steps there may be at
    /// most `limit`.
    async fn head_of(&self, mut exchange: Exchange, limit: Duration) -> Result<Got, Failure> {
        let malformed = |what: String| Failure::from(OriginError::Malformed(what));
        let mut reader = HeadReader::default();
        loop {
            let closed = match within(limit, exchange.step()).await {
                None => {
                    let error = OriginError::FirstByteTimeout { seconds: seconds(limit) };
                    return Err(error.into());
                }
                Some(Ok(Step::Wrote)) => continue,
                Some(Ok(Step::Read)) => None,
                Some(Ok(Step::Closed)) => Some("PHP closed the connection".to_owned()),
                Some(Err(error)) => Some(error.to_string()),
            };
            if let Some(reason) = closed {
                let is_silent = !exchange.has_read();
                return Err(Failure { error: OriginError::Reset(reason), is_silent });
            }
            loop {
                let output = match arrived(&mut exchange, &self.log).map_err(malformed)? {
                    Arrived::Output(output) => output,
                    Arrived::Nothing => break,
                    Arrived::End => {
                        return Err(malformed("PHP ended without a response head".to_owned()));
                    }
                };
                let head = reader.push(&output).map_err(|error| malformed(error.to_string()))?;
                if let Some((cgi, bytes)) = head {
                    return Ok(Got { cgi, first: output.slice(bytes..), exchange });
                }
            }
        }
    }

    fn begun(&self, got: Got, mut slot: Slot, noted: &Noted) -> Begun {
        slot.begin_body(noted.clone());
        let pump = Pump {
            exchange: got.exchange,
            pool: self.pool.clone(),
            log: self.log.clone(),
            idle: self.options.timeouts.idle,
            left: None,
            slot,
        };
        Begun { cgi: got.cgi, first: got.first, pump }
    }

    async fn answer(
        &self,
        begun: Begun,
        request: &RequestHead,
        script: &Script,
    ) -> Result<Answer, OriginError> {
        let Begun { cgi, first, mut pump } = begun;
        let head = cgi.head;
        let is_head = request.method == Method::HEAD;
        if let Some((name, value)) = sendfile::named(&head) {
            pump.discard();
            let folders = &self.options.send_folders;
            return folders.send(&self.layout.root, name, value, &head, is_head);
        }
        // What is sent to such a path by POST is the app's own matter.
        if script.is_for_a_file && is_safe(&request.method) && no_file::is_told_by(&head) {
            pump.discard();
            return Ok(Answer::not_found(is_head));
        }
        if is_head || matches!(head.status, 204 | 304) {
            pump.discard();
            return Ok(Answer { head, body: body::empty(), length: Some(0), file: None });
        }
        pump.left = announced_length(&head)?;
        let (body, length) = pump.into_body(first).await;
        Ok(Answer { head, body, length, file: None })
    }
}

fn announced_length(head: &ResponseHead) -> Result<Option<u64>, OriginError> {
    let Some(value) = head.fields.first(Name::ContentLength) else { return Ok(None) };
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let length = head.fields.text(Name::ContentLength).filter(|_| is_number);
    let length = length.and_then(|text| text.parse().ok());
    length.map(Some).ok_or_else(|| {
        let value = String::from_utf8_lossy(value).into_owned();
        OriginError::Malformed(format!("a Content-Length of {value:?}"))
    })
}

#[cfg(test)]
mod tests;

//! The simulated origin: it answers as the scene says, byte by byte.
//!
//! A request takes the first line that is scripted for its method and target and
//! not yet used, or else the last `each` line whose wants it fulfils. One that finds
//! none fails the scene, and so does a line that is never used: the origin's silence
//! is what proves a hit.
//! Start at [`SimulatedOrigin::serve`].

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;

use crate::database::Database;
use crate::message::{Received, State};
use crate::scene::{Ending, Exchange, Message, Position, Stage};
use crate::story::{Failure, shown};
use crate::stream::AnyStream;
use crate::visitors::Visitors;
use crate::wants;
use crate::world::World;

/// A head without end is given up here: who took this much has no limit.
const ENDLESS_BYTES_MAX: usize = 32 << 20;

/// The origin of a scene. Clones are the same one.
#[derive(Clone, Debug)]
pub struct SimulatedOrigin(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    world: World,
    script: Mutex<Script>,
    gates: watch::Sender<BTreeSet<String>>,
    is_down: watch::Sender<bool>,
    database: Database,
}

#[derive(Debug, Default)]
struct Script {
    lines: Vec<Line>,
    visitors: Visitors,
    failures: Vec<Failure>,
    requests: usize,
}

#[derive(Debug)]
struct Line {
    exchange: Exchange,
    used: Use,
    /// How many requests it has answered.
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Unused,
    Underway,
    Over,
}

/// What becomes of the connection behind a stage.
#[derive(PartialEq, Eq)]
enum Next {
    GoesOn,
    Ends,
}

impl SimulatedOrigin {
    /// An origin that expects no request yet.
    #[must_use]
    pub fn new(world: World) -> Self {
        Self(Arc::new(Shared {
            world,
            script: Mutex::default(),
            gates: watch::Sender::default(),
            is_down: watch::Sender::new(false),
            database: Database::default(),
        }))
    }

    /// From now on this request is expected.
    pub fn expect(&self, exchange: Exchange) {
        self.script().lines.push(Line { exchange, used: Use::Unused, count: 0 });
    }

    /// Opens a gate for good.
    pub fn open(&self, gate: &str) {
        self.0.gates.send_modify(|gates| {
            gates.insert(gate.to_owned());
        });
    }

    /// Where it keeps what its pages are made of.
    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    /// Ends all connections and refuses new ones, or listens again.
    pub fn set_down(&self, is_down: bool) {
        self.0.is_down.send_replace(is_down);
    }

    /// Whether new connections are refused.
    #[must_use]
    pub fn is_down(&self) -> bool {
        *self.0.is_down.borrow()
    }

    /// Waits until the origin is down, or until it is not.
    pub(crate) async fn until_down(&self, wanted: bool) {
        let mut is_down = self.0.is_down.subscribe();
        // The sender lives in `self`, so the wait can only end in the wanted state.
        let _ = is_down.wait_for(|is_down| *is_down == wanted).await;
    }

    /// How many requests have come.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.script().requests
    }

    /// The first thing that went wrong at the origin so far.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.script().failures.first().cloned()
    }

    /// What is left over at the end of a scene: lines unused, answers unfinished.
    #[must_use]
    pub fn left_over(&self) -> Option<Failure> {
        self.script().lines.iter().find_map(|Line { exchange, used, .. }| {
            let what = match used {
                Use::Over => return None,
                Use::Unused => "the origin was never asked for this",
                Use::Underway => "the origin had not finished this answer when the scene ended",
            };
            let line = format!("{what}: {} {}", exchange.method, exchange.target);
            Some(Failure::new(exchange.at, line))
        })
    }

    /// Serves one connection until either side ends it.
    pub(crate) async fn serve(self, io: AnyStream) {
        let mut line = Wire { io, input: Vec::new(), world: self.0.world.clone() };
        let ended = tokio::select! {
            biased;
            () = self.until_down(true) => "is down: the connection is closed".into(),
            result = self.converse(&mut line) => match result {
                Ok(how) => how.to_owned(),
                Err(error) => format!("lost the connection: {error}"),
            },
        };
        self.0.world.tell("origin", &ended);
        self.0.world.moved();
    }

    async fn converse(&self, line: &mut Wire) -> io::Result<&'static str> {
        loop {
            let request = match line.next_request().await? {
                Ok(Some(request)) => request,
                Ok(None) => return Ok("saw the connection closed"),
                Err(reason) => {
                    let message = format!("the origin can't read its request: {reason}");
                    self.fail(Failure::new(Position::default(), message));
                    return Ok("closes: the request is malformed");
                }
            };
            let Some((index, exchange)) = self.take(&request) else {
                let unscripted = b"HTTP/1.1 500 Unscripted\r\nContent-Length: 0\r\n\r\n";
                line.write(unscripted).await?;
                continue;
            };
            let result = self.act(line, &request, &exchange).await;
            self.script().lines[index].used = Use::Over;
            if result? == Next::Ends {
                return Ok("closes");
            }
        }
    }

    /// Finds the line for a request, and compares the two.
    fn take(&self, request: &Received) -> Option<(usize, Exchange)> {
        let world = &self.0.world;
        let mut script = self.script();
        script.requests += 1;
        let mut visitor = script.visitors.of(request);
        let meant = |line: &Line| {
            let exchange = Visitors::expected(&line.exchange, &visitor);
            let is_it = exchange.method == request.method() && exchange.target == request.target();
            is_it.then_some(exchange)
        };
        let once = script.lines.iter().position(|line| {
            !line.exchange.is_for_each && line.used == Use::Unused && meant(line).is_some()
        });
        let found = once.or_else(|| {
            script.lines.iter().rposition(|line| {
                line.exchange.is_for_each
                    && meant(line)
                        .is_some_and(|exchange| fault(world, &exchange, request).is_none())
            })
        });
        let Some((index, mut exchange)) =
            found.and_then(|index| Some((index, meant(&script.lines[index])?)))
        else {
            let message = format!("the origin was asked, and nothing says so: {}", request.line);
            // No line is at fault: the driver knows which one was being acted out.
            script.failures.push(Failure::new(Position::default(), message));
            return None;
        };
        if let Some(mut failure) = fault(world, &exchange, request) {
            failure.message = format!("the origin's request: {}", failure.message);
            script.failures.push(failure);
        }
        script.lines[index].used = Use::Underway;
        script.lines[index].count += 1;
        let count = script.lines[index].count;
        script.visitors.answer(&mut exchange, &mut visitor, count);
        Some((index, exchange))
    }

    /// Plays the stages of an answer.
    async fn act(
        &self,
        line: &mut Wire,
        request: &Received,
        exchange: &Exchange,
    ) -> io::Result<Next> {
        let is_head = request.method() == "HEAD";
        let more: usize = exchange.stages.iter().map(Stage::more_bytes).sum();
        let mut ending = Ending::Length;
        let mut persists = true;
        let mut trailers = Vec::new();
        for stage in &exchange.stages {
            match stage {
                Stage::Gate(gate) => {
                    let mut gates = self.0.gates.subscribe();
                    // The sender lives in `self`, so the wait ends with the gate's opening.
                    let _ = gates.wait_for(|gates| gates.contains(gate)).await;
                }
                Stage::Wait(time) => tokio::time::sleep(*time).await,
                Stage::Change(table) => {
                    self.0.world.tell("origin", &format!("changes {table}"));
                    self.0.database.change(table);
                }
                Stage::Head(status, message, end) => {
                    if *status >= 200 {
                        ending = *end;
                        trailers.clone_from(&message.trailers);
                        persists = keeps_connection(message, *end);
                    }
                    let head = self.render_head(*status, message, *end, more);
                    self.0.world.tell("origin", &format!("answers {}", shown(&head)));
                    line.write(&head).await?;
                    if let Some(body) = message.body.as_ref().filter(|_| !is_head) {
                        line.write_body(body, *end).await?;
                    }
                }
                Stage::More(_) if is_head => {}
                Stage::More(body) => {
                    self.0.world.tell("origin", &format!("goes on {}", shown(body)));
                    line.write_body(body, ending).await?;
                }
                Stage::Raw(bytes) => {
                    self.0.world.tell("origin", &format!("answers raw {}", shown(bytes)));
                    line.write(bytes).await?;
                }
                Stage::Close => return Ok(Next::Ends),
                Stage::Reset => {
                    line.io.break_on_close();
                    return Ok(Next::Ends);
                }
                Stage::Stall => return line.stall().await,
                Stage::Endless => return self.send_endless(line, exchange.at).await,
            }
        }
        if ending == Ending::Chunks && !is_head {
            line.write(&last_chunk(&trailers)).await?;
        }
        Ok(if persists { Next::GoesOn } else { Next::Ends })
    }

    fn render_head(&self, status: u16, message: &Message, end: Ending, more: usize) -> Vec<u8> {
        let world = &self.0.world;
        let version = if message.http10 { "HTTP/1.0" } else { "HTTP/1.1" };
        let reason = http::StatusCode::from_u16(status).ok();
        let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or("Unnamed");
        let mut head = format!("{version} {status} {reason}\r\n");
        let adds = |name: &str| {
            let is_name = |other: &&String| other.eq_ignore_ascii_case(name);
            !message.fields.iter().any(|(other, _)| is_name(&other))
                && !message.without.iter().any(|other| is_name(&other))
        };
        for (name, value) in &message.fields {
            head.push_str(&format!("{name}: {}\r\n", world.render(value)));
        }
        if status >= 200 && adds("Date") {
            head.push_str(&format!("Date: {}\r\n", world.render("@now")));
        }
        let length = message.body.as_ref().map_or(0, Vec::len) + more;
        match end {
            Ending::Length if status < 200 || status == 204 || status == 304 => {}
            Ending::Length if adds("Content-Length") => {
                head.push_str(&format!("Content-Length: {length}\r\n"));
            }
            Ending::Chunks => head.push_str("Transfer-Encoding: chunked\r\n"),
            Ending::Length | Ending::Close => {}
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// Sends fields until nobody takes them any more.
    async fn send_endless(&self, line: &mut Wire, at: Position) -> io::Result<Next> {
        line.write(b"HTTP/1.1 200 OK\r\n").await?;
        let mut sent = 0;
        while sent < ENDLESS_BYTES_MAX {
            let field = format!("X-Endless-{sent}: {}\r\n", "x".repeat(1000));
            // That the other side gives up is what should happen.
            if line.write(field.as_bytes()).await.is_err() {
                return Ok(Next::Ends);
            }
            sent += field.len();
        }
        self.fail(Failure::new(at, format!("{sent} bytes of head were taken without complaint")));
        Ok(Next::Ends)
    }

    fn fail(&self, failure: Failure) {
        self.script().failures.push(failure);
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    fn more_bytes(&self) -> usize {
        match self {
            Self::More(body) => body.len(),
            _ => 0,
        }
    }
}

/// What of a request is not as its line wants it.
fn fault(world: &World, exchange: &Exchange, request: &Received) -> Option<Failure> {
    if let Err(failure) = wants::check(world, exchange.at, &exchange.wants, request) {
        return Some(failure);
    }
    let body = exchange.body.as_ref().filter(|body| **body != request.body)?;
    let what = "the body is not what was expected";
    Some(Failure::differs(exchange.at, what, shown(body), shown(&request.body)))
}

/// Whether another request may come on a connection after this answer.
fn keeps_connection(message: &Message, end: Ending) -> bool {
    let closes = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    };
    end != Ending::Close && !message.http10 && !message.fields.iter().any(closes)
}

fn last_chunk(trailers: &[(String, String)]) -> Vec<u8> {
    let mut bytes = b"0\r\n".to_vec();
    for (name, value) in trailers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// The origin's end of one connection.
struct Wire {
    io: AnyStream,
    input: Vec<u8>,
    world: World,
}

impl Wire {
    /// The next whole request; `None` when the other side is done.
    async fn next_request(&mut self) -> io::Result<Result<Option<Received>, String>> {
        loop {
            match Received::request(&self.input, false) {
                Err(reason) => return Ok(Err(reason)),
                Ok(Some(request)) => {
                    if let State::Whole(bytes) = request.state {
                        let taken: Vec<u8> = self.input.drain(..bytes).collect();
                        self.world.tell("origin", &format!("is asked {}", shown(&taken)));
                        return Ok(Ok(Some(request)));
                    }
                }
                Ok(None) => {}
            }
            let read = self.io.read_buf(&mut self.input).await?;
            self.world.moved();
            if read == 0 {
                if !self.input.is_empty() {
                    let story = format!("is asked half of {}", shown(&self.input));
                    self.world.tell("origin", &story);
                }
                return Ok(Ok(None));
            }
        }
    }

    async fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.io.write(bytes).await?;
            self.world.moved();
            bytes = &bytes[written..];
        }
        self.io.flush().await
    }

    async fn write_body(&mut self, body: &[u8], end: Ending) -> io::Result<()> {
        if body.is_empty() || end != Ending::Chunks {
            return self.write(body).await;
        }
        let mut chunk = format!("{:x}\r\n", body.len()).into_bytes();
        chunk.extend_from_slice(body);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk).await
    }

    /// Says nothing until the other side gives up.
    async fn stall(&mut self) -> io::Result<Next> {
        while self.io.read_buf(&mut self.input).await? > 0 {
            self.world.moved();
        }
        Ok(Next::Ends)
    }
}

//! A client of a scene: what it sends, and its judgement of what it receives.

use std::future::poll_fn;
use std::task::Poll;

use crate::coding;
use crate::connection::{Connection, render_request};
use crate::message::{Received, State};
use crate::scene::{Act, Expected, Position};
use crate::story::{Failure, shown};
use crate::subject::Subject;
use crate::verdict;
use crate::visitors::{Shown, as_wanted};
use crate::wants;
use crate::world::World;

/// The client that is a program on the same machine.
const LOCAL: &str = "local";

/// A client: one connection, or many for a crowd.
pub(crate) struct Client {
    name: String,
    number: usize,
    world: World,
    connections: Vec<Connection>,
    shown: Shown,
    /// Whether it was the one that ended its connections.
    is_gone: bool,
}

impl Client {
    pub(crate) fn new(name: &str, number: usize, world: World) -> Self {
        let (name, connections, shown) = (name.to_owned(), Vec::new(), Shown::default());
        Self { name, number, world, connections, shown, is_gone: false }
    }

    /// Which client it is: what its address ends in.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Does what a line says. `at` is the line's place.
    pub(crate) async fn act(
        &mut self,
        at: Position,
        subject: &Subject,
        act: &Act,
    ) -> Result<(), Failure> {
        match act {
            Act::Request { count, request, method, target } => {
                self.connect(at, subject, *count).await?;
                let (target, request) = (self.shown.fill(target), self.shown.fill_request(request));
                let bytes = render_request(&self.world, method, &target, &request);
                self.send(&bytes, Some(method)).await;
            }
            Act::Send(bytes) => {
                self.connect(at, subject, 1).await?;
                let text = String::from_utf8_lossy(bytes);
                let text = text.replace(crate::dates::HOST, &self.world.host);
                // What is not text is sent as it is.
                let bytes = if text.contains('\u{fffd}') { bytes.clone() } else { text.into() };
                let method = begun_method(&bytes);
                self.send(&bytes, method.as_deref()).await;
            }
            Act::Receive if self.connections.is_empty() => {
                let message = format!("{} has no connection to listen on", self.name);
                return Err(Failure::new(at, message));
            }
            Act::Receive => {}
            Act::Close => {
                self.world.tell(&self.name, "goes away");
                self.connections.clear();
                self.is_gone = true;
                self.world.moved();
                self.world.settle().await;
            }
            Act::Shut => {
                for connection in &mut self.connections {
                    connection.shut().await;
                }
                self.world.tell(&self.name, "sends no more");
                self.world.settle().await;
            }
        }
        Ok(())
    }

    /// Sees to it that `count` connections are open; one that was closed is opened anew.
    async fn connect(
        &mut self,
        at: Position,
        subject: &Subject,
        count: usize,
    ) -> Result<(), Failure> {
        self.is_gone = false;
        for connection in &mut self.connections {
            connection.look().await;
        }
        self.connections.retain(|connection| !connection.ended || !connection.input.is_empty());
        while self.connections.len() < count {
            let io = subject.connect(self.number, self.name == LOCAL).await.map_err(|error| {
                Failure::new(at, format!("{} can't connect: {error}", self.name))
            })?;
            self.connections.push(Connection::new(io, self.world.clone()));
        }
        Ok(())
    }

    async fn send(&mut self, bytes: &[u8], method: Option<&str>) {
        let many = if self.connections.len() > 1 { "all send" } else { "sends" };
        self.world.tell(&self.name, &format!("{many} {}", shown(bytes)));
        for connection in &mut self.connections {
            connection.methods.extend(method.map(str::to_owned));
            if !connection.send(bytes).await {
                self.world.tell(&self.name, "could not send all of it");
            }
        }
        self.world.settle().await;
    }

    /// Waits for what is expected, on every connection, and judges it.
    pub(crate) async fn expect(
        &mut self,
        expected: &Expected,
        origin_was_asked: impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let world = self.world.clone();
        while !self.connections.iter().all(|connection| connection.can_judge(expected)) {
            let waiting = &mut self.connections;
            let read_any = poll_fn(|context| {
                let mut progress = false;
                for connection in waiting.iter_mut().filter(|one| !one.can_judge(expected)) {
                    progress |= connection.poll_read(context).is_ready();
                }
                if progress { Poll::Ready(()) } else { Poll::Pending }
            });
            if world.patiently(read_any).await.is_none() {
                return Err(self.would_wait(expected));
            }
        }
        if expected.unfinished || expected.kept {
            world.settle().await;
            for connection in &mut self.connections {
                connection.look().await;
            }
        }
        for index in 0..self.connections.len() {
            self.judge(index, expected, &origin_was_asked)?;
        }
        Ok(())
    }

    fn would_wait(&self, expected: &Expected) -> Failure {
        let wanted = match expected.status {
            Some(status) => format!("{status}"),
            None if expected.closed => "the end of the connection".into(),
            None => "the rest of the message".into(),
        };
        let waiting = self.connections.iter().filter(|one| !one.can_judge(expected));
        let (count, all) = (waiting.clone().count(), self.connections.len());
        let who =
            if all > 1 { format!("{count} of {all} in the crowd") } else { self.name.clone() };
        let received = waiting.clone().next().map_or(String::new(), |one| shown(&one.input));
        let received = if received.is_empty() { "nothing".into() } else { received };
        let what = format!("{who} would wait for ever");
        Failure::differs(expected.at, what, wanted, received)
    }

    fn judge(
        &mut self,
        index: usize,
        expected: &Expected,
        origin_was_asked: &impl Fn() -> bool,
    ) -> Result<(), Failure> {
        let connection = &self.connections[index];
        let (at, name) = (expected.at, &self.name);
        let message = connection.message().map_err(|reason| {
            let what = format!("{name} received what is not HTTP: {reason}");
            Failure::differs(at, what, "a response", shown(&connection.input))
        })?;
        if expected.status.is_some() || expected.goes_on || expected.cut {
            let Some(message) = message else {
                let wanted = expected.status.map_or("a message".into(), |s| s.to_string());
                let what = format!("{name} received no message: the connection was closed");
                return Err(Failure::differs(at, what, wanted, shown(&connection.input)));
            };
            self.world.tell(name, &format!("receives {}", shown(&connection.input)));
            judge_message(&self.world, expected, &message, connection.body_seen)
                .and_then(|()| verdict::check(&self.world, expected, &message, origin_was_asked))
                .map_err(|mut failure| {
                    failure.message = format!("{name}: {}", failure.message);
                    failure
                })?;
            self.shown.note(&message);
            self.connections[index].account(&message);
        }
        let connection = &self.connections[index];
        if expected.closed && !connection.input.is_empty() {
            let what = format!("{} received more before the end", self.name);
            return Err(Failure::differs(at, what, "closed", shown(&connection.input)));
        }
        if expected.kept && connection.ended {
            let what = format!("{}: the connection was closed", self.name);
            return Err(Failure::differs(at, what, "kept", "closed"));
        }
        if expected.closed {
            self.connections[index].methods.clear();
        }
        Ok(())
    }

    /// What it received and nobody looked at, or never received, at the end of a scene.
    pub(crate) async fn left_over(&mut self, at: Position) -> Option<Failure> {
        if self.is_gone {
            return None;
        }
        let name = &self.name;
        for connection in &mut self.connections {
            connection.look().await;
            if !connection.input.is_empty() {
                let what = format!("{name} received what no line expects");
                return Some(Failure::differs(at, what, "nothing", shown(&connection.input)));
            }
            if !connection.methods.is_empty() {
                let message = format!("{name} has a request that no line answers");
                return Some(Failure::new(at, message));
            }
        }
        None
    }
}

/// The method of the request that these bytes begin; none if they go on with one.
fn begun_method(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let (method, _) = text.trim_start().split_once(' ')?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase());
    is_method.then(|| method.to_owned())
}

fn judge_message(
    world: &World,
    expected: &Expected,
    message: &Received,
    body_seen: usize,
) -> Result<(), Failure> {
    let at = expected.at;
    if let Some(status) = expected.status.filter(|status| *status != message.status) {
        let what = "the status is not what was expected";
        return Err(Failure::differs(at, what, status.to_string(), message.line.clone()));
    }
    wants::check(world, at, &expected.wants, message)?;
    let decoded = coding::decoded(message);
    let body = match &decoded {
        Some(body) => body,
        None => message.body.get(body_seen..).unwrap_or_default(),
    };
    if let Some(wanted) = &expected.body
        && *wanted != as_wanted(wanted, body)
    {
        let what = "the body is not what was expected";
        return Err(Failure::differs(at, what, shown(wanted), shown(body)));
    }
    let (what, wanted) = match message.state {
        State::Cut if !expected.cut => ("the message ended before it was whole", "a whole message"),
        State::Whole(_) if expected.cut => ("the message is whole", "cut"),
        State::Whole(_) if expected.unfinished => ("the message is whole already", "..."),
        _ => return Ok(()),
    };
    Err(Failure::differs(at, what, wanted, shown(body)))
}

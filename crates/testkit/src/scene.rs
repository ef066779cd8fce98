//! What a scene file says, once it has been read and found whole.
//!
//! Nothing here runs anything: [`crate::parse`] makes a [`Scene`] of a file, and
//! [`crate::play`] acts it out. Invariant: every gate that is waited for is opened
//! somewhere in the same scene, and the other way round.

use std::time::Duration;

/// One file in `scenes/`: a sentence about HTTP, and the proof of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The sentence of the first line, without its full stop.
    pub title: String,
    /// The clause that demands it.
    pub law: String,
    /// Why it can't be played against a running server, if it can't.
    pub only_virtual: Option<String>,
    /// What the site's owner decided, in the order written.
    pub settings: Vec<Setting>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

impl Scene {
    /// Whether it speaks of changes behind Wick's back, so that somebody has to listen.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.steps.iter().any(|step| match &step.deed {
            Deed::Change(_) | Deed::ChangesLost | Deed::ChangesHeard => true,
            Deed::Script(exchange) => {
                exchange.stages.iter().any(|stage| matches!(stage, Stage::Change(_)))
            }
            _ => false,
        })
    }

    /// Whether Wick is begun anew in it.
    #[must_use]
    pub fn has_restarts(&self) -> bool {
        self.steps.iter().any(|step| step.deed == Deed::Restart)
    }

    /// How long it waits in all.
    #[must_use]
    pub fn waits(&self) -> Duration {
        let time =
            |step: &Step| if let Deed::Wait(time) = step.deed { time } else { Duration::ZERO };
        self.steps.iter().map(time).fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// A place in a scene file, both counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column in bytes.
    pub column: u32,
}

/// One `name = value` of a `site` line.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Where it stands.
    pub at: Position,
    /// A name of [`crate::words::SETTINGS`].
    pub name: String,
    /// Its value as written.
    pub value: String,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where it stands.
    pub at: Position,
    /// What it is.
    pub deed: Deed,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// From now on the origin expects this request and has this answer.
    Script(Exchange),
    /// The origin's connections end, and new ones are refused.
    OriginDown,
    /// The origin listens again.
    OriginUp,
    /// A client does something, and perhaps expects something.
    Act {
        /// The client's name.
        who: String,
        /// What it does.
        act: Act,
        /// The messages that it must then receive, in order.
        expected: Vec<Expected>,
    },
    /// A row of this table changes behind Wick's back, and that is told.
    Change(String),
    /// Changes are not heard any more.
    ChangesLost,
    /// All changes are heard from now on.
    ChangesHeard,
    /// Time passes.
    Wait(Duration),
    /// A gate opens, and stays open.
    Open(String),
    /// Everything that can happen without time passing happens.
    Settle,
    /// Wick stops, and another begins with what was on its disk.
    Restart,
}

/// What a client does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Sends a request on each of its connections.
    Request {
        /// How many connections: more than one for a crowd.
        count: usize,
        /// What it asks.
        request: Message,
        /// Its method.
        method: String,
        /// Its target, as written on the request line.
        target: String,
    },
    /// Sends these bytes, whatever they are.
    Send(Vec<u8>),
    /// Only listens.
    Receive,
    /// Goes away.
    Close,
    /// Sends no more, and listens on.
    Shut,
}

/// A message to be sent: fields and body, with what the driver would add left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    /// HTTP/1.0 instead of HTTP/1.1.
    pub http10: bool,
    /// Fields with their values as written.
    pub fields: Vec<(String, String)>,
    /// Names that the driver must not add by itself.
    pub without: Vec<String>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Whether the body goes in chunks.
    pub chunked: bool,
    /// Fields behind a chunked body.
    pub trailers: Vec<(String, String)>,
}

/// A field that a message must bear, or must not.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// All its lines, joined by `, `, are this value; `...` at an end stands for anything.
    Field(String, String),
    /// There is no such field.
    Absent(String),
    /// As `Field`, in the trailers.
    Trailer(String, String),
}

/// What a client expects of one message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// Where it stands.
    pub at: Position,
    /// The status; `None` where a message goes on, or only the end is expected.
    pub status: Option<u16>,
    /// The fields.
    pub wants: Vec<Want>,
    /// The body, or the part of it that must have come.
    pub body: Option<Vec<u8>>,
    /// The verdict: its word, and its reason if one is asked for.
    pub verdict: Option<(String, Option<String>)>,
    /// `...` before the body: the rest of a message that began before.
    pub goes_on: bool,
    /// `...` behind the body: this much has come, and no more yet.
    pub unfinished: bool,
    /// The message must end before it is whole.
    pub cut: bool,
    /// The connection must end behind it.
    pub closed: bool,
    /// The connection must stay open behind it.
    pub kept: bool,
}

/// A request that the origin expects, and what it does about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// Where it stands.
    pub at: Position,
    /// Whether it is for any number of requests; its wants then choose among them.
    pub is_for_each: bool,
    /// The method.
    pub method: String,
    /// The target.
    pub target: String,
    /// What the request must bear.
    pub wants: Vec<Want>,
    /// The request's body, if it matters.
    pub body: Option<Vec<u8>>,
    /// What the origin does, in order.
    pub stages: Vec<Stage>,
}

/// One stage of the origin's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Waits until a gate opens.
    Gate(String),
    /// Waits while time passes.
    Wait(Duration),
    /// Changes a row of this table, and that is told.
    Change(String),
    /// Sends a head, and the body that stands with it.
    Head(u16, Message, Ending),
    /// Sends more of the body.
    More(Vec<u8>),
    /// Sends these bytes, whatever they are.
    Raw(Vec<u8>),
    /// Closes the connection.
    Close,
    /// Breaks the connection.
    Reset,
    /// Says nothing more until the other side gives up.
    Stall,
    /// Sends fields without end, until the other side gives up.
    Endless,
}

/// How the origin marks the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By a Content-Length, the driver's own or one that is written out.
    Length,
    /// By the last chunk.
    Chunks,
    /// By closing the connection.
    Close,
}

//! What a run is to do; made once, then only read.

use std::time::Duration;

use crate::recorded::{Moments, Recorded};
use crate::request::{Mix, Request};
use crate::schedule::Pattern;
use crate::story::Story;
use crate::target::Target;

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whom to load.
    pub target: Target,
    /// What to ask.
    pub work: Work,
    /// When to ask it.
    pub load: Load,
    /// Connections at one time; as many requests are under way at most.
    pub connections: usize,
    /// Whether connections carry more than one request.
    pub keeps: bool,
    /// How long an answer may take.
    pub timeout: Duration,
    /// Threads, each with its share of connections and arrivals.
    pub threads: usize,
    /// Virtual visitors with cookies of their own; 0 sends none.
    pub visitors: usize,
    /// What is spoken.
    pub protocol: Protocol,
    /// Whether certificates are verified.
    pub verifies: bool,
}

/// The version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, a request at a time to a connection.
    Http1,
    /// HTTP/2, several requests to a connection.
    Http2,
    /// HTTP/3, the same over QUIC.
    Http3,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Work {
    /// Single requests.
    Requests(Mix<Request>),
    /// What visitors do one step after the other.
    Stories(Mix<Story>),
    /// What was asked once; [`Load::Moments`] says which of it when.
    Recorded(Recorded),
}

/// When it is asked.
#[derive(Clone, Debug)]
pub enum Load {
    /// Arrivals on a schedule, whatever the target does.
    Open(Pattern),
    /// Arrivals at these moments, each of one of the [`Work::Recorded`].
    Moments(Moments),
    /// Each connection asks again when it was answered.
    Closed(Closed),
}

/// The closed model.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Ends after so many requests.
    pub requests: Option<u64>,
    /// Ends after so long.
    pub time: Option<Duration>,
    /// At most so many requests a second.
    pub rate_max: Option<f64>,
    /// How long a visitor thinks between an answer and the next request.
    pub think: Duration,
}

impl Load {
    /// How long it is to last, if that is known.
    #[must_use]
    pub fn time(&self) -> Option<Duration> {
        match self {
            Self::Open(pattern) => Some(pattern.time()),
            Self::Moments(moments) => moments.last().map(|(after, _)| after),
            Self::Closed(closed) => closed.time,
        }
    }

    /// How many requests it is to be, if that is known.
    #[must_use]
    pub fn requests(&self) -> Option<u64> {
        match self {
            Self::Open(pattern) => Some(pattern.requests()),
            Self::Moments(moments) => Some(moments.len() as u64),
            Self::Closed(closed) => closed.requests,
        }
    }
}

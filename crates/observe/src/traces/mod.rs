//! Traces: what is recorded of some requests, and how a collector is told of it.
//!
//! In: an answer of a trace that is recorded. Out: a [`Recorded`], which owns all that is told
//! of it, and batches of them as OTLP ([`otlp`]); [`Exemplars`] are the ids that stand beside
//! the counts of times.
//! Invariant: no query, no cookie, no address of a visitor is recorded.

pub mod exemplars;
pub mod otlp;

use base::Phase;

use crate::answer::Answer;

pub use exemplars::{Exemplar, Exemplars};

/// Bytes of a text that are recorded.
const TEXT_BYTES_MAX: usize = 1024;

/// Which trace an answer belongs to, and what is not told of those without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The trace.
    pub trace: u128,
    /// Whose span this is a part of; zero: it is the first.
    pub parent: u64,
    /// The request's own span.
    pub span: u64,
    /// What the origin was told as its parent.
    pub origin_span: u64,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// What the visitor spoke, as in `1.1`.
    pub version: &'static str,
}

/// A part of a request's way, in microseconds since its head was whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Which.
    pub phase: Phase,
    /// When it began.
    pub began_us: u64,
    /// How long it took.
    pub took_us: u64,
}

/// One answer as a collector is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Where it belongs.
    pub place: Place,
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// How long it took until its last byte was handed on.
    pub took_us: u64,
    /// Each phase that it went through.
    pub stretches: Vec<Stretch>,
    /// The method; empty: it could not be read.
    pub method: String,
    /// The host as asked for.
    pub host: String,
    /// The path without its query.
    pub path: String,
    /// The name of its site; empty: of none.
    pub site: String,
    /// The route, as in `/thread/{id}`; empty: none of its own.
    pub route: String,
    /// The status.
    pub status: u16,
    /// What became of it.
    pub verdict: &'static str,
    /// Why; empty: that word says it all.
    pub reason: &'static str,
    /// Why what the origin said was not stored; empty: it was, or the origin said nothing.
    pub unstored: &'static str,
}

impl Recorded {
    /// What is told of an answer of this route; `begins` says when each phase began.
    #[must_use]
    pub fn of(
        answer: &Answer<'_>,
        place: Place,
        begins: [u64; Phase::COUNT],
        name: crate::routes::RouteName,
    ) -> Self {
        let bounded = |text: &str| text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
        let all = Phase::ALL.iter().zip(begins).zip(answer.phases);
        let each = all.filter(|(_, took_us)| *took_us > 0);
        let stretch = |((&phase, began_us), took_us): ((&Phase, u64), u64)| Stretch {
            phase,
            began_us,
            took_us,
        };
        Self {
            place,
            unix_ms: answer.unix_ms,
            took_us: (answer.took_us)(),
            stretches: each.map(stretch).collect(),
            method: bounded(answer.method),
            host: bounded(answer.host),
            path: bounded(answer.path),
            site: if name.site.is_empty() { (answer.site)() } else { name.site },
            route: name.route,
            status: answer.status,
            verdict: answer.verdict.word(),
            reason: answer.verdict.reason(),
            unstored: answer.unstored.map_or("", |reason| reason.reason()),
        }
    }
}

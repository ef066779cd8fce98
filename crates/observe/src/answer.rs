//! An answer, as it is told by whoever gave it.

use base::Phase;
use policy::{NoStore, Verdict};

/// One answer; all of it is borrowed.
pub struct Answer<'a> {
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The method.
    pub method: &'a str,
    /// The host as asked for.
    pub host: &'a str,
    /// The path without its query.
    pub path: &'a str,
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: Verdict,
    /// Why what the origin said was not stored; none: it was, or it was not asked.
    pub unstored: Option<NoStore>,
    /// Bytes of the body that went out.
    pub bytes: u64,
    /// Whether it is HTML: a page that somebody waits for, or what is said instead of one.
    pub is_html: bool,
    /// Where its time went, in microseconds, in the order of [`Phase::ALL`]; zero: it was not
    /// there.
    pub phases: [u64; Phase::COUNT],
    /// Tells the name of the site; asked only for paths that weren't asked for lately.
    pub site: &'a dyn Fn() -> String,
    /// Reads how long the answer took until now, in microseconds; of hits not all are asked.
    pub took_us: &'a dyn Fn() -> u64,
}

impl Answer<'_> {
    /// Whether it came from memory, without anybody waiting for an origin.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        is_hit(self.verdict)
    }

    /// How long the origin worked for it, in microseconds.
    #[must_use]
    pub fn origin_us(&self) -> u64 {
        [Phase::Connect, Phase::FirstByte, Phase::Body]
            .map(|phase| self.phases[phase as usize])
            .iter()
            .sum()
    }

    /// Whether there is something at its path, so that routes may be learned from it.
    pub(crate) fn teaches(&self) -> bool {
        let is_there = !matches!(self.status, 400 | 403..=405 | 410 | 414 | 421 | 429);
        is_there && !matches!(self.verdict, Verdict::Refused(_) | Verdict::Failed(_))
    }
}

/// Whether a verdict says that memory answered, without anybody waiting for an origin.
#[must_use]
pub fn is_hit(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Hit | Verdict::Stale(_))
}

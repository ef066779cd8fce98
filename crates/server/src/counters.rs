//! What happened, counted: one counter a verdict, and the few events that have none.

use std::sync::Arc;

use base::Counter;
use policy::Verdict;
use wire::Coding;

use crate::reply::{Head, Payload, Reply};

base::counters! {
    /// The counters of one server.
    #[derive(Debug, Default)]
    pub struct Counters {
        /// Tasks that panicked; each ended only itself.
        pub panics: Arc<Counter>,
        /// Connections closed unserved because there were too many.
        pub connections_refused: Counter,
        /// Connections closed unserved because their address had too many.
        pub connections_of_one: Counter,
        /// Connections closed because their proxy did not introduce them.
        pub introductions_refused: Counter,
        /// Connections ended because a body came, or an answer was taken, too slowly.
        pub clients_slow: Counter,
        /// Connections ended because they made no progress.
        pub connections_late: Counter,
        /// Connections ended in the middle of something because the grace of a stop was over.
        pub connections_cut: Counter,
        /// Connections on which HTTP/2 was spoken.
        pub connections_http2: Counter,
        /// Connections on which HTTP/3 was spoken.
        pub connections_http3: Counter,
        /// Clients of HTTP/3 that were asked to show that their address is theirs, because many
        /// handshakes were under way.
        pub addresses_asked: Counter,
        /// Connections of HTTP/2 and HTTP/3 ended because their clients reset too many streams,
        /// or sent too many frames that ask for nothing.
        pub connections_calmed: Counter,
        /// Streams of HTTP/2 and HTTP/3 that were reset: malformed, refused, too large, late, or
        /// broken off.
        pub streams_reset: Counter,
        /// Streams of HTTP/2 and HTTP/3 refused unread, because those of the same client that were
        /// reset are still under way.
        pub streams_refused: Counter,
        /// Streams of HTTP/2 and HTTP/3 ended because their clients took nothing of the answer.
        pub streams_late: Counter,
        /// TLS handshakes that came to nothing.
        pub handshakes_failed: Counter,
        /// Failures to accept, for want of descriptors or memory.
        pub accept_failures: Counter,
        /// Requests sent to an origin.
        pub fetches: Counter,
        /// Connections that went on in another protocol.
        pub tunnels: Counter,
        /// Pages that were shared among strangers and turned out personal.
        pub pages_withdrawn: Counter,
        /// Purges that were carried out.
        pub purges: Counter,
        /// Requests to purge whose sender may not.
        pub purges_refused: Counter,
        /// Answers that stayed as they were because too many were being coded, or there was no room.
        pub codings_put_off: Counter,
    } and {
        /// How many answers bore each verdict.
        verdicts: Verdicts,
        /// What was sent in each content coding, in the order of [`Coding::ALL`].
        pub codings: [CodingCounts; Coding::COUNT],
    }
}

/// What was sent in one content coding.
#[derive(Debug, Default)]
pub struct CodingCounts {
    /// Bytes of the bodies before they were coded.
    pub before_bytes: Counter,
    /// Bytes of the same bodies as they were sent.
    pub after_bytes: Counter,
}

/// One counter a verdict.
#[derive(Debug)]
struct Verdicts(Vec<Counter>);

impl Default for Verdicts {
    fn default() -> Self {
        Self((0..Verdict::COUNT).map(|_| Counter::default()).collect())
    }
}

impl Counters {
    pub(crate) fn count(&self, reply: &Reply) {
        self.verdicts.0[reply.verdict.index()].bump();
        if let (Head::Stored { page, coded: Some(coded), .. }, Payload::Whole(body)) =
            (&reply.head, &reply.payload)
        {
            let counts = &self.codings[coded.coding.index()];
            counts.before_bytes.add(page.as_stored().map_or(0, |it| it.body.len() as u64));
            counts.after_bytes.add(body.len() as u64);
        }
    }

    /// How many answers bore this verdict.
    #[must_use]
    pub fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts.0[verdict.index()].read()
    }

    /// Every verdict that was given at least once, with its number of answers.
    pub fn verdicts(&self) -> impl Iterator<Item = (Verdict, u64)> + '_ {
        Verdict::ALL.iter().map(|&verdict| (verdict, self.of(verdict))).filter(|(_, n)| *n > 0)
    }

    /// All answers.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.verdicts.0.iter().map(Counter::read).sum()
    }
}

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
        /// Packets of HTTP/3 that were dropped because the older process that they are for took none.
        pub packets_dropped: Counter,
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
        /// Requests to other nodes of the cluster for pages that were missing here.
        pub fellows_asked: Counter,
        /// Of these, those that brought a page.
        pub fellows_gave: Counter,
        /// Of these, those that brought none which may be shared, or not yet.
        pub fellows_without: Counter,
        /// Of these, those that were not answered in time.
        pub fellows_silent: Counter,
        /// Pages that were handed to other nodes of the cluster.
        pub fellows_given: Counter,
        /// Requests to the listener for other nodes that were none of theirs.
        pub fellows_refused: Counter,
        /// Requests that count for a rate and that other nodes were told of.
        pub rates_told: Counter,
        /// The same that other nodes told of.
        pub rates_heard: Counter,
        /// Early hints that were sent of what Wick knew of a page.
        pub hints_sent: Counter,
        /// Links of pages that there was no room for in their hints.
        pub hints_left_out: Counter,
        /// Pages, and classes of them, that another node of the cluster refused to share.
        pub refusals_heard: Counter,
        /// How often something that was learned was overruled, or that was taken back.
        pub overruled: Counter,
        /// Rulings over what was learned that were refused because there were too many.
        pub rulings_refused: Counter,
        /// Addresses that were not tried out because another was.
        pub try_outs_refused: Counter,
        /// Answers that stayed as they were because too many were being coded, or there was no room.
        pub codings_put_off: Counter,
        /// What sites' own code asked for over its socket.
        pub app_requests: Counter,
        /// Of these, those that showed no site's key.
        pub app_refused: Counter,
        /// Texts in markup that were rendered.
        pub app_texts_rendered: Counter,
        /// Texts whose HTML was kept.
        pub app_texts_kept: Counter,
        /// Blocks of pages that were filled.
        pub app_blocks_filled: Counter,
        /// Blocks of pages whose dialect isn't known.
        pub app_blocks_left: Counter,
        /// Values of apps that were found.
        pub app_objects_found: Counter,
        /// Values of apps that were not.
        pub app_objects_missed: Counter,
        /// Pairs of copies for members that were compared.
        pub alike_compared: Counter,
        /// Copies for members that were not taken because there was no room for them.
        pub alike_left_out: Counter,
        /// Views of pages that apps were told of.
        pub views_told: Counter,
        /// Views that an app may not have been told of: its answer didn't come, or there were too
        /// many pages.
        pub views_lost: Counter,
        /// Calls with views that an app didn't take; they are made again.
        pub view_calls_refused: Counter,
        /// Pages whose views were counted among the others, because there were too many.
        pub views_of_others: Counter,
        /// Slices of large bodies that were written to the disk.
        pub slices_kept: Counter,
        /// Slices of large bodies that came and could not be kept: too many were in memory, or the
        /// disk was too slow or took no more.
        pub slices_not_kept: Counter,
        /// Pages that were put together from parts (ESI).
        pub esi_pages: Counter,
        /// Pages with more steps, or deeper ones, than are heeded.
        pub esi_pages_cut: Counter,
        /// Pages that went out as they were because they are too large.
        pub esi_pages_too_large: Counter,
        /// Parts of pages that were asked for.
        pub esi_parts: Counter,
        /// Parts that lay in the store.
        pub esi_parts_at_hand: Counter,
        /// Parts that were kept for their visitor.
        pub esi_parts_private: Counter,
        /// Parts that could have been kept for their visitor, and found no room.
        pub esi_parts_not_kept: Counter,
        /// Parts that could not be had.
        pub esi_parts_failed: Counter,
        /// Parts left out because their page has too many, or they are too deep.
        pub esi_parts_left_out: Counter,
        /// Parts left out because they are on another host.
        pub esi_parts_elsewhere: Counter,
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

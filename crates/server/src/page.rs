//! A stored response, kept the way it goes out: head rendered, body in one piece.
//!
//! Rendering happens once, when the page is stored, so that a hit copies one
//! block of bytes and adds `Age` and `Cache-Status`. What is asked rarely (a
//! range, a validation) parses the head again.
//! Invariant: the head ends before the fields that differ from hit to hit.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use policy::representation::{may_be_coded, vary_by_coding};
use policy::scope::Route;
use policy::{Terms, VaryKey};
use store::{Resident, allocated_bytes};
use transform::esi::Template;
use wire::{Codings, Fields, Name, ResponseHead};

use crate::coding::coded::{Coded, Slots};
use crate::esi;
use crate::files::{self, Kept, Open};
use crate::pipeline;
use crate::purge::marks::Marks;
use crate::render;
use crate::site::Site;
use crate::slices::Object;
use crate::strangers::guests::{Reader, Sharing};
use crate::views::ViewCount;

/// Of about so many milliseconds one counts for all.
const ASKED_SAMPLE: u32 = 4;
/// Spreads the moments that count over all: 2³² by the golden ratio, odd.
const ASKED_SPREAD: u32 = 0x9e37_79b1;

/// What is kept under a key: a response, or the memory that there can be none.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) kind: Kind,
    vary: Option<VaryKey>,
    /// For whom among strangers it is; none: for everybody.
    pub(crate) sharing: Option<Sharing>,
    /// Up to which count of the site's content it is known to be what it was.
    kept: AtomicU64,
    /// What of its address may name a changed row; none: every change sweeps it.
    route: Option<Route>,
    /// What purges find it by.
    pub(crate) marks: Marks,
    /// The file of the site's folder that it is, if it is one.
    pub(crate) file: Option<Arc<Kept>>,
    /// What the kernel sends its body from.
    pub(crate) open: Option<Open>,
    /// Whether who asked for it first bore a cookie or an authorization.
    pub(crate) is_of_bearer: bool,
    /// About how often it was asked for.
    asked: AtomicU32,
    /// Its views, where the owner wants the app to know; set by the first.
    views: OnceLock<ViewCount>,
    /// Who finds it with so little time left has a newer one made.
    early_ms: u32,
    /// How long its making took; the most, if nobody said.
    took_ms: u32,
    /// The number under which it lies on the disk, or 0.
    pub(crate) on_disk: AtomicU64,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// A whole response.
    Stored(Stored),
    /// This URL's answers can't be shared: nobody shall wait for anybody.
    PassUntil {
        /// When to try again.
        ticks_ms: u64,
    },
}

/// A whole response with what was decided about it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) status: u16,
    /// Status line, fields and `Content-Length`, ready for the wire; behind them the
    /// key as `Cache-Status` shows it.
    text: Box<[u8]>,
    head_bytes: usize,
    pub(crate) body: Bytes,
    /// Where the body lies instead, if it is too large for memory.
    pub(crate) object: Option<Arc<Object>>,
    pub(crate) terms: Terms,
    /// Whether it may be sent in a content coding; its `Vary` says so.
    pub(crate) is_codable: bool,
    /// Whether it is HTML.
    pub(crate) is_html: bool,
    /// In those that were made.
    pub(crate) coded: Slots,
    /// What is told of it to who must wait for a newer one, once somebody had to; empty:
    /// nothing. It is set within `Store::amend`.
    pub(crate) hints: OnceLock<Box<[u8]>>,
    /// What it is put together by, where it has holes; then it isn't codable.
    pub(crate) template: Option<Arc<Template>>,
    /// Set while somebody fetches a newer one in the background.
    refreshing: AtomicBool,
}

impl Page {
    /// A page of a cleaned head and a whole body, which may be sent in these codings.
    pub(crate) fn stored(
        mut head: ResponseHead,
        key: &[u8],
        body: Bytes,
        terms: Terms,
        vary: Option<VaryKey>,
        marks: Marks,
        codings: Codings,
    ) -> Self {
        let length = Some(body.len() as u64);
        let template = esi::compiled(head.status, &mut head.fields, &body);
        let is_codable = template.is_none()
            && !codings.is_empty()
            && may_be_coded(head.status, &head.fields, length);
        if is_codable {
            vary_by_coding(&mut head.fields);
        }
        let text = render::stored_head(&head, body.len() as u64);
        let stored = Stored::kept(head.status, &text, key, body, terms, is_codable);
        let stored = Stored { template, ..stored };
        Self::of(Kind::Stored(stored), vary, marks)
    }

    /// A page of a cleaned head, whose body lies in slices.
    pub(crate) fn sliced(
        mut head: ResponseHead,
        key: &[u8],
        object: Arc<Object>,
        terms: Terms,
        vary: Option<VaryKey>,
        marks: Marks,
    ) -> Self {
        // So large a page goes out as it is.
        esi::unmark(&mut head.fields);
        let text = render::stored_head(&head, object.length);
        let stored = Stored::kept(head.status, &text, key, Bytes::new(), terms, false);
        Self::of(Kind::Stored(stored.in_slices(Some(object))), vary, marks)
    }

    fn of(kind: Kind, vary: Option<VaryKey>, marks: Marks) -> Self {
        Self {
            kind,
            vary,
            sharing: None,
            kept: AtomicU64::new(0),
            route: None,
            marks,
            file: None,
            open: None,
            is_of_bearer: false,
            asked: AtomicU32::new(0),
            views: OnceLock::new(),
            early_ms: 0,
            took_ms: u32::MAX,
            on_disk: AtomicU64::new(0),
        }
    }

    /// A page from what was kept of it on the disk. Every change sweeps it: what of its
    /// address may name a row is found out when it is made.
    pub(crate) fn from_disk(
        stored: Stored,
        vary: Option<VaryKey>,
        sharing: Option<Sharing>,
        marks: Marks,
        early_ms: u32,
    ) -> Self {
        let template = esi::compiled(stored.status, &mut stored.fields(), &stored.body);
        let stored = Stored { template, ..stored };
        let page = Self { early_ms, ..Self::of(Kind::Stored(stored), vary, marks) };
        match sharing {
            Some(sharing) => page.shared(sharing, None),
            None => page,
        }
    }

    /// The same page, which took so long to make.
    ///
    /// What is asked for all the time is made anew before it is stale: about as long before
    /// as that takes, by lot, so that pages of one moment aren't all made anew in another
    /// (Vattani, Chierichetti and Lowenstein, "Optimal Probabilistic Cache Stampede
    /// Prevention", 2015).
    pub(crate) fn that_took(self, cost_ms: u64) -> Self {
        static LOT: AtomicU64 = AtomicU64::new(0);
        let lot = pipeline::hash(&LOT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        // 53 bits are a fraction; one added, so that it is never 0.
        let fraction = ((lot >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let early_ms = (cost_ms as f64 * -fraction.ln()) as u32;
        let half = self.as_stored().map_or(0, |stored| stored.terms.lifetime_ms / 2);
        let early_ms = early_ms.min(u32::try_from(half).unwrap_or(u32::MAX));
        Self { early_ms, took_ms: u32::try_from(cost_ms).unwrap_or(u32::MAX), ..self }
    }

    /// The same page, of which no more is known than that it was good at this tick.
    pub(crate) fn known_since(self, ticks_ms: u64) -> Self {
        let stored = self.as_stored().map_or(0, |stored| stored.terms.stored_ticks_ms);
        let took_ms = u32::try_from(stored.saturating_sub(ticks_ms)).unwrap_or(u32::MAX);
        Self { took_ms, ..self }
    }

    /// The tick at which it was asked for, at the latest; zero if nobody knows.
    pub(crate) fn asked_ticks_ms(&self) -> u64 {
        match self.took_ms {
            u32::MAX => 0,
            took_ms => self
                .as_stored()
                .map_or(0, |stored| stored.terms.stored_ticks_ms.saturating_sub(took_ms.into())),
        }
    }

    /// The same page, asked for by somebody who bore a cookie or an authorization, or not.
    pub(crate) fn asked_by(self, is_of_bearer: bool) -> Self {
        Self { is_of_bearer, ..self }
    }

    /// The same page, which is this file.
    pub(crate) fn of_file(self, kept: Arc<Kept>, open: Option<Open>) -> Self {
        Self { file: Some(kept), open, ..self }
    }

    /// Up to which count of the site's content it is known to be what it was; for a page that
    /// strangers share.
    pub(crate) fn kept_until(&self) -> Option<u64> {
        self.sharing.as_ref().map(|_| self.kept.load(Ordering::Acquire))
    }

    /// Whether it is time to have a newer one made, as it is wanted and has so long left.
    pub(crate) fn is_due(&self, ttl_ms: i64) -> bool {
        ttl_ms <= i64::from(self.early_ms)
    }

    /// The same page, for strangers.
    pub(crate) fn shared(self, sharing: Sharing, route: Option<Route>) -> Self {
        let (kept, marks) = (AtomicU64::new(sharing.content), self.marks.by_content());
        Self { sharing: Some(sharing), kept, route, marks, ..self }
    }

    /// Whether nothing that it shows was written or changed before this count of the site's
    /// content; for a page that strangers share, which lies under a key with this hash.
    pub(crate) fn is_current(&self, site: &Site, hash: u64, content: u64) -> bool {
        let kept = self.kept.load(Ordering::Acquire);
        if kept >= content {
            return true;
        }
        let (Some(following), Some(route)) = (&site.following, &self.route) else { return false };
        let Some(end) = following.scope.kept(route, hash, kept, content) else { return false };
        self.kept.fetch_max(end, Ordering::AcqRel);
        true
    }

    pub(crate) fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// The same page with what was made of an older one that has the same bytes.
    pub(crate) fn with_made_of(self, older: &Stored) -> Self {
        if let Some(own) = self.as_stored().filter(|own| own.is_codable && own.body == older.body) {
            for coded in older.coded.made() {
                let (coding, effort, body) = (coded.coding, coded.effort, coded.body.clone());
                own.coded.put(Coded::new(own.status, own.fields(), coding, effort, body).into());
            }
        }
        if let (Some(own), Some(hints)) = (self.as_stored(), older.hints.get())
            && own.body == older.body
            && own.fields().all(Name::Link).eq(older.fields().all(Name::Link))
        {
            // It is new, so nobody else has set them.
            let _ = own.hints.set(hints.clone());
        }
        self
    }

    pub(crate) fn is_for_strangers(&self) -> bool {
        self.sharing.is_some()
    }

    /// The memory that answers to requests that select this variant are nobody else's.
    pub(crate) fn pass_until(ticks_ms: u64, vary: Option<VaryKey>, marks: Marks) -> Self {
        let kind = Kind::PassUntil { ticks_ms };
        Self::of(kind, vary, marks)
    }

    /// Whether a request with these fields selects this variant, and its sender may have it.
    pub(crate) fn answers(&self, request: &Fields, reader: &Reader) -> bool {
        self.vary.as_ref().is_none_or(|vary| vary.matches(request))
            && self.sharing.as_ref().is_none_or(|sharing| sharing.is_for(reader))
    }

    /// It was asked for at this moment. One in [`ASKED_SAMPLE`] moments counts for all, so
    /// that threads don't fight over the number; which ones has no period, or who comes every
    /// 20 ms would never be seen.
    pub(crate) fn note_asked(&self, ticks_ms: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "the low bits tell moments apart")]
        let spread = (ticks_ms as u32).wrapping_mul(ASKED_SPREAD);
        if spread < u32::MAX / ASKED_SAMPLE {
            self.asked.fetch_add(ASKED_SAMPLE, Ordering::Relaxed);
        }
    }

    /// Its views since the app was last told of them.
    pub(crate) fn views(&self) -> &ViewCount {
        self.views.get_or_init(ViewCount::default)
    }

    /// About how often it was asked for.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn early_ms(&self) -> u32 {
        self.early_ms
    }

    /// The same for two pages of which one takes the other's place: what selects it, and
    /// whether it is for strangers, in a number.
    pub(crate) fn fingerprint(&self) -> u32 {
        let mut text = self.vary.as_ref().map_or_else(Vec::new, |vary| vary.as_bytes().to_vec());
        if let Some(sharing) = &self.sharing {
            text.extend_from_slice(&sharing.errand.to_le_bytes());
            text.push(1);
        }
        // Half of it is as well mixed as all.
        (pipeline::hash(&text) >> 32) as u32
    }

    pub(crate) fn vary(&self) -> Option<&VaryKey> {
        self.vary.as_ref()
    }

    pub(crate) fn as_stored(&self) -> Option<&Stored> {
        match &self.kind {
            Kind::Stored(stored) => Some(stored),
            Kind::PassUntil { .. } => None,
        }
    }
}

impl Stored {
    /// A response from its parts, the head as [`Stored::head`] gives it.
    pub(crate) fn kept(
        status: u16,
        head: &[u8],
        key: &[u8],
        body: Bytes,
        terms: Terms,
        is_codable: bool,
    ) -> Self {
        let head_bytes = head.len();
        let mut text = Vec::with_capacity(head_bytes + policy::cache_status::key_bytes(key));
        text.extend_from_slice(head);
        policy::cache_status::write_key(&mut text, key);
        let is_html = render::is_html(head);
        Self {
            status,
            text: text.into_boxed_slice(),
            head_bytes,
            body,
            object: None,
            terms,
            is_codable,
            is_html,
            coded: Slots::default(),
            hints: OnceLock::new(),
            template: None,
            refreshing: AtomicBool::new(false),
        }
    }

    /// The same, with its body there.
    pub(crate) fn in_slices(self, object: Option<Arc<Object>>) -> Self {
        Self { object, ..self }
    }

    /// How long the body is, wherever it lies.
    pub(crate) fn length(&self) -> u64 {
        self.object.as_ref().map_or(self.body.len() as u64, |object| object.length)
    }

    /// Status line and fields, without the empty line that ends a head.
    pub(crate) fn head(&self) -> &[u8] {
        &self.text[..self.head_bytes]
    }

    /// The `; key="…"` parameter for `Cache-Status`.
    pub(crate) fn key_parameter(&self) -> &[u8] {
        &self.text[self.head_bytes..]
    }

    /// The fields, parsed from the rendered head.
    pub(crate) fn fields(&self) -> Fields {
        let head = self.head();
        let start = head.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1);
        // The head was rendered from valid fields, so this can't fail; an empty set is safe.
        Fields::parse(&head[start..]).unwrap_or_default()
    }

    /// Claims the one refresh; whoever gets `true` must call [`Stored::refreshed`].
    pub(crate) fn claim_refresh(&self) -> bool {
        !self.refreshing.swap(true, Ordering::AcqRel)
    }

    /// Gives the claim back, whatever came of it.
    pub(crate) fn refreshed(&self) {
        self.refreshing.store(false, Ordering::Release);
    }
}

impl Resident for Page {
    fn weight(&self) -> usize {
        let own = allocated_bytes(size_of::<Self>() + 2 * size_of::<usize>());
        let vary = self.vary.as_ref().map_or(0, |vary| allocated_bytes(vary.bytes()));
        let tastes = self
            .sharing
            .as_ref()
            .map_or(0, |sharing| allocated_bytes(size_of_val(&*sharing.tastes)));
        let route =
            self.route.as_ref().map_or(0, |route| allocated_bytes(size_of_val(&*route.values)));
        let stored = self.as_stored().map_or(0, |stored| {
            allocated_bytes(stored.text.len())
                + allocated_bytes(stored.body.len())
                + BYTES_OVERHEAD
                + stored.object.as_ref().map_or(0, |_| allocated_bytes(size_of::<Object>()))
                + stored.coded.weight()
                + stored.hints.get().map_or(0, |text| allocated_bytes(text.len()))
                + stored.template.as_ref().map_or(0, |template| {
                    allocated_bytes(size_of::<Template>() + 2 * size_of::<usize>())
                        + allocated_bytes(template.bytes())
                })
        });
        let file = self.file.as_ref().map_or(0, |file| file.weight())
            + self.open.as_ref().map_or(0, files::open_weight);
        own + vary + file + tastes + route + stored + self.marks.weight()
    }

    fn replaces(&self, older: &Self) -> bool {
        match (&self.sharing, &older.sharing) {
            (None, None) => self.vary == older.vary,
            (Some(own), Some(older_one)) => self.vary == older.vary && own.replaces(older_one),
            // A marker that nobody shares here is lifted by what strangers share.
            (Some(_), None) => older.as_stored().is_none(),
            (None, Some(_)) => false,
        }
    }
}

/// What a shared `Bytes` allocates beside its data.
pub(crate) const BYTES_OVERHEAD: usize = 48;

#[cfg(test)]
mod tests {
    use super::*;

    fn made(terms: Terms) -> Page {
        let head = ResponseHead { status: 200, fields: Fields::new() };
        Page::stored(head, b"", Bytes::new(), terms, None, Marks::default(), Codings::NONE)
    }

    #[test]
    fn who_comes_at_even_intervals_is_counted_as_who_comes_at_any() {
        for interval in [1, 4, 20, 64, 100, 1_000] {
            for phase in 0..4 {
                let page = made(Terms::expired(0));
                (0..400).for_each(|time| page.note_asked(phase + time * interval));
                let asked = page.asked();
                assert!((200..800).contains(&asked), "every {interval} ms, {phase} later: {asked}");
            }
        }
    }

    #[test]
    fn what_takes_long_is_made_anew_long_before_it_is_stale_but_not_too_long() {
        let terms = Terms { lifetime_ms: 60_000, ..Terms::expired(0) };
        let early = |cost_ms: u64| {
            (0..1000).map(|_| made(terms).that_took(cost_ms).early_ms).collect::<Vec<_>>()
        };
        assert!(early(0).iter().all(|&ms| ms == 0), "what costs nothing is made when it is stale");
        let seconds = early(1_000);
        let mean = seconds.iter().sum::<u32>() / 1000;
        assert!((800..1_250).contains(&mean), "{mean}");
        assert!(seconds.iter().any(|&ms| ms < 200) && seconds.iter().any(|&ms| ms > 2_500));
        assert!(early(600_000).iter().all(|&ms| ms <= 30_000));
        let page = Page { early_ms: 500, ..made(terms) };
        assert!(page.is_due(500) && !page.is_due(501));
    }
}

//! Traces: one name for a request in all programs that it goes through (W3C Trace Context).
//!
//! In: `traceparent` and `tracestate` of a trusted proxy. Out: the same trace with a span of
//! ours, or a new one; what every call to an origin bears of it.
//! Law: W3C Trace Context, level 1, §3.2 and §4.3.
//! Invariants: 1. what anybody but a trusted proxy sends under these names goes nowhere while
//! traces are on. 2. whether a trace is recorded is decided once, by who began it. 3. where
//! traces are off nothing is drawn and no field is touched.
//! Start at [`Server::begin_trace`].

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::{Fields, RequestHead, Version};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::Server;
use crate::journey::Peers;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// `00-` 32 digits `-` 16 digits `-` 2 digits.
const PARENT_BYTES: usize = 55;
/// By so many of an id's bits it is decided which are recorded, as later levels of the law have it.
const CHANCE_BITS: u32 = 56;

/// Which requests are recorded of those that no trusted proxy decided about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRules {
    /// Ids whose last bits are below this are.
    below: u64,
}

impl TraceRules {
    /// This share of them, from 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Self {
        let all = (1u64 << CHANCE_BITS) as f64;
        Self { below: (share.clamp(0.0, 1.0) * all) as u64 }
    }

    fn takes(self, id: u128) -> bool {
        (id as u64) & ((1 << CHANCE_BITS) - 1) < self.below
    }
}

/// The trace that a request belongs to, and its own part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The trace.
    pub id: u128,
    /// Whose span this one is a part of; zero: it is the first.
    pub parent: u64,
    /// The request's own span.
    pub span: u64,
    /// That of what is asked of the origin for it, which the origin is told.
    pub origin_span: u64,
    /// Whether spans of it are recorded.
    pub is_recorded: bool,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// What the visitor speaks.
    pub version: Version,
}

impl Server {
    /// The trace of a request that came from `sender`, on whose way `visitor` is the first; none
    /// where nobody wants traces.
    pub(crate) fn begin_trace(
        &self,
        sender: Peers,
        visitor: Peers,
        head: &RequestHead,
    ) -> Option<Trace> {
        let rules = self.traces?;
        let told = self.proxies.trusts(sender.peer.ip()).then(|| told(&head.fields)).flatten();
        let mut trace = draw(told.map(|told| told.id));
        trace.is_recorded = told.map_or_else(|| rules.takes(trace.id), |told| told.is_recorded);
        trace.parent = told.map_or(0, |told| told.span);
        (trace.scheme, trace.version) = (visitor.scheme, head.version);
        Some(trace)
    }

    /// One for what nobody waits for, which is not recorded.
    pub(crate) fn own_trace(&self) -> Option<Trace> {
        self.traces.map(|_| draw(None))
    }
}

impl Trace {
    /// Makes it the only one in these fields. The state of another trace is not this one's.
    pub(crate) fn put(&self, fields: &mut Fields) {
        let is_continued = self.parent != 0;
        fields.retain(|_, name, _| {
            let is_state = name.eq_ignore_ascii_case(STATE.as_bytes());
            !name.eq_ignore_ascii_case(PARENT.as_bytes()) && (is_continued || !is_state)
        });
        let Self { id, origin_span, is_recorded, .. } = *self;
        fields.push(PARENT, format!("00-{id:032x}-{origin_span:016x}-0{}", u8::from(is_recorded)));
    }
}

/// A trace that nobody had before, or a new part of this one.
fn draw(id: Option<u128>) -> Trace {
    static SEEDS: LazyLock<[u64; 2]> = LazyLock::new(|| {
        let draw = || RandomState::new().hash_one("traces");
        [draw(), draw()]
    });
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_le_bytes();
    let [ids, spans] = SEEDS.map(|seed| xxh3_128_with_seed(&number, seed));
    Trace {
        // Zero is no id, and as likely as any other.
        id: id.unwrap_or(ids).max(1),
        parent: 0,
        span: (spans as u64).max(1),
        origin_span: ((spans >> 64) as u64).max(1),
        is_recorded: false,
        scheme: "http",
        version: Version::Http11,
    }
}

/// What a `traceparent` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    id: u128,
    span: u64,
    is_recorded: bool,
}

/// The one that these fields bear; none if there are several, or it is none by the law's form.
fn told(fields: &Fields) -> Option<Told> {
    let mut all = fields.all_named(PARENT);
    let (Some(text), None) = (all.next(), all.next()) else { return None };
    let text = std::str::from_utf8(text).ok()?;
    let (first, rest) = (text.get(..PARENT_BYTES)?, &text[PARENT_BYTES..]);
    let parts: Vec<&str> = first.split('-').collect();
    let &[version, id, span, flags] = parts.as_slice() else { return None };
    let is_hexadecimal =
        |part: &str| part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let lengths = [version.len(), id.len(), span.len(), flags.len()];
    if lengths != [2, 32, 16, 2] || !parts.iter().all(|part| is_hexadecimal(part)) {
        return None;
    }
    // Later versions may have more behind it, of which nothing is known (§3.2.4).
    let is_fitting = match version {
        "ff" => false,
        "00" => rest.is_empty(),
        _ => rest.is_empty() || rest.starts_with('-'),
    };
    let id = u128::from_str_radix(id, 16).ok().filter(|id| is_fitting && *id != 0)?;
    let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some(Told { id, span, is_recorded: flags & 1 == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn fields(text: &str) -> Fields {
        Fields::parse(text.as_bytes()).expect("valid fields")
    }

    #[test]
    fn a_parent_is_read_by_the_laws_form_only() {
        for (value, expected) in [
            (format!("00-{ID}-{SPAN}-01"), Some(true)),
            (format!("00-{ID}-{SPAN}-00"), Some(false)),
            (format!("00-{ID}-{SPAN}-03"), Some(true)),
            (format!("cc-{ID}-{SPAN}-01-what-comes"), Some(true)),
            (format!("cc-{ID}-{SPAN}-01.what"), None),
            (format!("00-{ID}-{SPAN}-01-more"), None),
            (format!("ff-{ID}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{ID}-{}-01", "0".repeat(16)), None),
            (format!("00-{}-{SPAN}-01", ID.to_uppercase()), None),
            (format!("00-{ID}-{SPAN}-0"), None),
            (format!("00-{ID}{SPAN}--01-"), None),
            (format!("00-+{}-{SPAN}-01", &ID[1..]), None),
            ("é".repeat(28), None),
            (String::new(), None),
        ] {
            let read = told(&fields(&format!("Traceparent: {value}")));
            assert_eq!(read.map(|told| told.is_recorded), expected, "{value}");
            if let Some(told) = read {
                assert_eq!(
                    (format!("{:032x}", told.id), told.span),
                    (ID.into(), 0xb7ad_6b71_6920_3331)
                );
            }
        }
        let twice = format!("traceparent: 00-{ID}-{SPAN}-01\ntraceparent: 00-{ID}-{SPAN}-01");
        assert_eq!(told(&fields(&twice)), None);
    }

    #[test]
    fn it_takes_the_place_of_whatever_calls_itself_so() {
        let theirs = format!("TraceParent: 00-{ID}-{SPAN}-01\nTracestate: a=b\nx-own: c");
        let (mut new, mut continued) = (fields(&theirs), fields(&theirs));
        draw(None).put(&mut new);
        let names: Vec<_> = new.iter_known().map(|(_, name, _)| name.to_vec()).collect();
        assert_eq!(names, [b"x-own".to_vec(), PARENT.into()]);
        assert!(told(&new).is_some_and(|told| format!("{:032x}", told.id) != ID));
        let known = told(&continued).expect("it is one");
        let trace = Trace { parent: known.span, is_recorded: true, ..draw(Some(known.id)) };
        trace.put(&mut continued);
        assert_eq!(continued.all_named(STATE).count(), 1);
        let passed = told(&continued).expect("it is one");
        assert_eq!((passed.id, passed.span), (known.id, trace.origin_span));
        assert!(passed.is_recorded && passed.span != known.span);
    }

    #[test]
    fn about_as_many_are_recorded_as_are_wanted_and_no_two_are_the_same() {
        let count = |share: f64| {
            let rules = TraceRules::new(share);
            (0..20_000).filter(|_| rules.takes(draw(None).id)).count()
        };
        assert_eq!((count(0.0), count(1.0), count(7.0)), (0, 20_000, 20_000));
        assert!((700..1300).contains(&count(0.05)));
        let spans: std::collections::HashSet<_> = (0..10_000).map(|_| draw(None).span).collect();
        assert_eq!(spans.len(), 10_000);
    }
}

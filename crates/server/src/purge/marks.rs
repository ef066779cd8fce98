//! Marks: what a page is found under by a purge, and how it came out of the last one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use store::allocated_bytes;
use wire::Fields;

use super::generations::{Moment, Standing};
use crate::pipeline;

/// What a page keeps of itself for purges.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The site's count of invalidations when the page's fetch began.
    pub(crate) born: u64,
    host: u64,
    /// Whether the count of content says what changes made of it: a page for strangers.
    pub(super) is_by_content: bool,
    /// Hashes of its tags, sorted.
    tags: Box<[u64]>,
    /// The same as they are called, one a line, where other nodes may want to know.
    names: Option<Box<str>>,
    /// Twice the number of the last purge that it was held against, and one more if it was
    /// softened or swept.
    checked: AtomicU64,
    softened_ticks_ms: AtomicU64,
    /// Whether something changed since.
    swept: AtomicBool,
    /// Whether the one refresh that it might be served during is over.
    leave_spent: AtomicBool,
}

impl Marks {
    /// The marks of an answer whose fetch began then; `fields` as they came from the origin.
    pub(crate) fn of(moment: Moment, host: &str, fields: &Fields) -> Self {
        let mut tags = Vec::new();
        policy::purge::tags_of(fields, |tag| tags.push(tag_mark(tag)));
        Self::with_tags(moment, host, tags)
    }

    /// The same for an answer that only renews a page: tags that it doesn't name stay.
    pub(crate) fn renewed(moment: Moment, host: &str, fields: &Fields, older: &Self) -> Self {
        let renewed = Self::of(moment, host, fields);
        match renewed.tags.is_empty() {
            true => Self { tags: older.tags.clone(), names: older.names.clone(), ..renewed },
            false => renewed,
        }
    }

    /// The marks of a page that another node calls so.
    pub(crate) fn of_names(moment: Moment, host: &str, names: &[String]) -> Self {
        let tags = names.iter().map(|name| tag_mark(name.as_bytes())).collect();
        let names = (!names.is_empty()).then(|| names.join("\n").into());
        Self { names, ..Self::with_tags(moment, host, tags) }
    }

    /// The same with what their tags are called, as the answer says that they are of.
    pub(crate) fn named(self, fields: &Fields) -> Self {
        let mut names = Vec::new();
        policy::purge::tags_of(fields, |tag| {
            names.extend_from_slice(tag);
            names.push(b'\n');
        });
        if names.pop().is_none() {
            return self;
        }
        Self { names: String::from_utf8(names).ok().map(String::into_boxed_str), ..self }
    }

    /// What its tags are called; none: nobody knows.
    pub(crate) fn names(&self) -> Option<impl Iterator<Item = &str>> {
        let is_known = self.names.is_some() || self.tags.is_empty();
        is_known.then(|| self.names.iter().flat_map(|names| names.split('\n')))
    }

    pub(super) fn with_tags(moment: Moment, host: &str, mut tags: Vec<u64>) -> Self {
        tags.sort_unstable();
        tags.dedup();
        Self {
            born: moment.fence,
            host: host_mark(host),
            tags: tags.into(),
            checked: AtomicU64::new(moment.fence * 2),
            ..Self::default()
        }
    }

    /// The same for a page that strangers share.
    pub(crate) fn by_content(self) -> Self {
        Self { is_by_content: true, ..self }
    }

    /// The same without what their tags are called.
    pub(crate) fn nameless(self) -> Self {
        Self { names: None, ..self }
    }

    /// The same for another page of the same answer.
    pub(crate) fn copied(&self) -> Self {
        let (born, host, tags) = (self.born, self.host, self.tags.clone());
        let (names, checked) = (self.names.clone(), AtomicU64::new(born * 2));
        Self { born, host, tags, names, checked, ..Self::default() }
    }

    /// What of them is worth keeping: when it was born, the host's mark and the tags'.
    pub(crate) fn to_kept(&self) -> (u64, u64, &[u64]) {
        (self.born, self.host, &self.tags)
    }

    /// The marks that were kept; they were not held against anything yet.
    pub(crate) fn of_kept(born: u64, host: u64, tags: Box<[u64]>) -> Self {
        Self { born, host, tags, checked: AtomicU64::new(born * 2), ..Self::default() }
    }

    /// Bytes that lie elsewhere.
    pub(crate) fn weight(&self) -> usize {
        let names = self.names.as_ref().map_or(0, |names| allocated_bytes(names.len()));
        allocated_bytes(size_of_val(&*self.tags)) + names
    }

    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.tags.iter().copied().chain([self.host])
    }

    pub(super) fn is_good_since(&self, alarm: u64) -> bool {
        let checked = self.checked.load(Ordering::Acquire);
        checked >= alarm && checked & 1 == 0
    }

    pub(super) fn was_checked_since(&self, alarm: u64) -> bool {
        self.checked.load(Ordering::Acquire) >= alarm
    }

    pub(super) fn checked_generation(&self) -> u64 {
        self.checked.load(Ordering::Acquire) / 2
    }

    /// It was held against all that was purged up to `alarm`.
    pub(super) fn note_checked(&self, alarm: u64) {
        let newer = |checked| (checked / 2 < alarm / 2).then_some(alarm | (checked & 1));
        // That somebody else has looked further already is as good.
        let _ = self.checked.fetch_update(Ordering::AcqRel, Ordering::Acquire, newer);
    }

    /// It is stale from now on.
    pub(super) fn soften(&self, ticks_ms: u64) {
        let now = ticks_ms.max(1);
        let _ =
            self.softened_ticks_ms.compare_exchange(0, now, Ordering::AcqRel, Ordering::Acquire);
        self.checked.fetch_or(1, Ordering::AcqRel);
    }

    /// Something that it may show has changed.
    pub(super) fn sweep(&self) {
        self.swept.store(true, Ordering::Release);
        self.checked.fetch_or(1, Ordering::AcqRel);
    }

    /// How it came out of all that it was held against.
    pub(super) fn standing(&self) -> Standing {
        if self.swept.load(Ordering::Acquire) {
            return Standing::Swept;
        }
        match self.softened_ticks_ms.load(Ordering::Acquire) {
            0 => Standing::Good,
            since_ticks_ms => Standing::Softened { since_ticks_ms },
        }
    }

    /// Whether it may still be served for the sake of a soft purge alone.
    pub(crate) fn has_leave(&self) -> bool {
        !self.leave_spent.load(Ordering::Acquire)
    }

    /// A refresh came to its end, whatever came of it.
    pub(crate) fn refreshed(&self) {
        if self.checked.load(Ordering::Acquire) & 1 == 1 {
            self.leave_spent.store(true, Ordering::Release);
        }
    }
}

/// The mark of a tag.
pub(crate) fn tag_mark(tag: &[u8]) -> u64 {
    pipeline::hash(&[b"tag|", tag].concat())
}

/// The mark of a host, whatever its port.
pub(super) fn host_mark(host: &str) -> u64 {
    pipeline::hash(&[b"host|", without_port(host).as_bytes()].concat())
}

pub(super) fn without_port(host: &str) -> &str {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
    name.map_or(host, |(name, _)| name)
}

/// Host, without its port, and target of a key.
pub(super) fn host_of(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = key.splitn(3, |&byte| byte == b'|').skip(1);
    let (host, target) = (parts.next()?, parts.next()?);
    let host = std::str::from_utf8(host).ok()?;
    Some((without_port(host).as_bytes(), target))
}

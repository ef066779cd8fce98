//! Copies: what strangers were given, kept for as long as a page made from it may be open.
//!
//! A request is recognised by the values that it carries (tokens, names of fields) or by
//! the page that it comes from. Texts are kept compressed. Bound: the owner's share of
//! bytes, of which a class of addresses has a quarter at most; the oldest go first.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use align::{BodyTooLong, Document, Kind, Request, for_each_carried};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use parking_lot::Mutex;
use policy::strangers::shape;
use wire::Fields;

use super::holders::Mark;

/// Copies of one page among which a request's own is looked for by where it comes from.
const VERSIONS_MAX: usize = 8;
/// A class of addresses may take so much of all bytes: made-up addresses displace only
/// each other.
const CLASS_PART: usize = 4;
/// Copies that nobody compared yet which are looked through for what a request carries.
const LOOKED_THROUGH_MAX: usize = 8;
/// Tokens of that request which are looked for.
const TOKENS_MAX: usize = 16;
/// What a copy takes beside its text and values, about.
const COPY_BYTES: usize = 512;
const VALUE_BYTES: usize = 64;

/// One copy.
pub(crate) struct Copy {
    pub(crate) id: u64,
    pub(crate) host: String,
    pub(crate) target: String,
    /// Accept and the fields of a request in the background; empty for a page.
    pub(crate) request: Fields,
    /// `X-` fields and the type.
    fields: Fields,
    text: Box<[u8]>,
    text_bytes: usize,
    pub(crate) known: Vec<Box<[u8]>>,
    pub(crate) tells_time: bool,
    /// Whether all values by which it would be recognised are known.
    is_settled: AtomicBool,
    /// A part of a page, fetched by a script.
    pub(crate) is_part: bool,
}

/// What of a copy is noted in front of its text.
#[derive(serde::Serialize, serde::Deserialize)]
struct Kept {
    id: u64,
    host: String,
    target: String,
    request: Vec<u8>,
    fields: Vec<u8>,
    text_bytes: usize,
    known: Vec<Vec<u8>>,
    tells_time: bool,
    #[serde(default = "settled")]
    is_settled: bool,
    is_part: bool,
}

/// What older notes mean.
fn settled() -> bool {
    true
}

/// What is needed to make a copy.
pub(crate) struct NewCopy<'a> {
    pub(crate) host: &'a str,
    pub(crate) target: &'a str,
    pub(crate) request: Fields,
    pub(crate) fields: &'a Fields,
    pub(crate) body: &'a [u8],
    pub(crate) known: Vec<Vec<u8>>,
    pub(crate) tells_time: bool,
    /// Whether `known` is all that there is to know.
    pub(crate) is_settled: bool,
    pub(crate) is_part: bool,
}

/// All copies of one site.
pub(crate) struct Copies {
    inner: Mutex<Inner>,
    bytes_max: usize,
}

#[derive(Default)]
struct Inner {
    by_id: HashMap<u64, Arc<Copy>>,
    order: VecDeque<u64>,
    /// Newest last.
    by_page: HashMap<Box<[u8]>, Vec<u64>>,
    by_value: HashMap<Box<[u8]>, u64>,
    by_class: HashMap<String, ClassCopies>,
    bytes: usize,
    last: u64,
}

/// The copies of one class of addresses, the oldest first.
#[derive(Default)]
struct ClassCopies {
    order: VecDeque<u64>,
    bytes: usize,
}

impl Copy {
    /// A copy from its parts; the text is compressed here.
    pub(crate) fn new(new: NewCopy<'_>) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory doesn't fail; an empty text would only align nothing.
        let text = match encoder.write_all(new.body).and_then(|()| encoder.finish()) {
            Ok(text) => text.into_boxed_slice(),
            Err(_) => Box::default(),
        };
        let fields = new.fields.filtered(|known, name, _| {
            known == Some(wire::Name::ContentType)
                || name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"x-"))
        });
        Self {
            id: 0,
            host: new.host.to_owned(),
            target: new.target.to_owned(),
            request: new.request,
            fields,
            text,
            text_bytes: new.body.len(),
            known: new.known.into_iter().map(Vec::into_boxed_slice).collect(),
            tells_time: new.tells_time,
            is_settled: AtomicBool::new(new.is_settled),
            is_part: new.is_part,
        }
    }

    /// The copy as it is compared.
    pub(crate) fn document(&self) -> Option<Document> {
        let body = self.body()?;
        let kind = super::persona::kind(&self.fields).unwrap_or(Kind::Html);
        Document::new(kind, &self.fields, &body).ok()
    }

    /// Whether one of these stands in its text.
    pub(crate) fn holds_any(&self, tokens: &[Vec<u8>]) -> bool {
        let body = self.body().unwrap_or_default();
        tokens.iter().any(|token| memchr::memmem::find(&body, token).is_some())
    }

    /// Its text.
    pub(crate) fn body(&self) -> Option<Vec<u8>> {
        let mut body = Vec::with_capacity(self.text_bytes);
        let limit = self.text_bytes as u64;
        DeflateDecoder::new(&*self.text).take(limit).read_to_end(&mut body).ok()?;
        Some(body)
    }

    /// What tells it from every other copy, on all nodes alike.
    pub(crate) fn mark(&self) -> Mark {
        let page = self.page();
        xxhash_rust::xxh3::xxh3_128(&[&page, &b"\0"[..], &self.text].concat()).to_le_bytes()
    }

    /// The copy as a note: JSON in front, the compressed text behind.
    pub(crate) fn to_note(&self) -> Vec<u8> {
        self.to_note_with(&[])
    }

    /// The same with values by which it is recognised since.
    pub(crate) fn to_note_with(&self, late: &[Vec<u8>]) -> Vec<u8> {
        let fields = |fields: &Fields| {
            let mut text = Vec::new();
            fields.render(&mut text);
            text
        };
        let known = self.known.iter().map(|value| value.to_vec());
        let kept = Kept {
            id: self.id,
            host: self.host.clone(),
            target: self.target.clone(),
            request: fields(&self.request),
            fields: fields(&self.fields),
            text_bytes: self.text_bytes,
            known: known.chain(late.iter().cloned()).collect(),
            tells_time: self.tells_time,
            is_settled: self.is_settled.load(Ordering::Relaxed),
            is_part: self.is_part,
        };
        // Numbers, text and lists of them: nothing that JSON lacks.
        let mut note = serde_json::to_vec(&kept).unwrap_or_default();
        note.push(b'\n');
        note.extend_from_slice(&self.text);
        note
    }

    /// A copy from its note; none if it can't be read.
    pub(crate) fn from_note(note: &[u8]) -> Option<Self> {
        let end = memchr::memchr(b'\n', note)?;
        let kept: Kept = serde_json::from_slice(&note[..end]).ok()?;
        (kept.text_bytes <= super::persona::PAGE_BYTES_MAX).then_some(())?;
        Some(Self {
            id: kept.id,
            host: kept.host,
            target: kept.target,
            request: Fields::parse(&kept.request).ok()?,
            fields: Fields::parse(&kept.fields).ok()?,
            text: note[end + 1..].into(),
            text_bytes: kept.text_bytes,
            known: kept.known.into_iter().map(Vec::into_boxed_slice).collect(),
            tells_time: kept.tells_time,
            is_settled: AtomicBool::new(kept.is_settled),
            is_part: kept.is_part,
        })
    }

    fn bytes(&self) -> usize {
        let known: usize = self.known.iter().map(|value| 2 * value.len() + VALUE_BYTES).sum();
        COPY_BYTES + self.text.len() + known + self.target.len() * 2 + self.fields.bytes()
    }

    fn page(&self) -> Vec<u8> {
        super::brief::page_name(&self.host, &self.target)
    }
}

impl Copies {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { inner: Mutex::default(), bytes_max }
    }

    /// Keeps a copy; the oldest give way.
    pub(crate) fn keep(&self, mut copy: Copy) -> Arc<Copy> {
        let mut inner = self.inner.lock();
        inner.last = inner.last.max(copy.id) + 1;
        copy.id = inner.last;
        let copy = Arc::new(copy);
        inner.bytes += copy.bytes();
        inner.order.push_back(copy.id);
        inner.by_id.insert(copy.id, copy.clone());
        for value in &copy.known {
            inner.by_value.insert(value.clone(), copy.id);
        }
        let versions = inner.by_page.entry(copy.page().into()).or_default();
        versions.push(copy.id);
        if versions.len() > VERSIONS_MAX {
            versions.remove(0);
        }
        let class = inner.by_class.entry(shape(&copy.target)).or_default();
        class.order.push_back(copy.id);
        class.bytes += copy.bytes();
        while class_oldest(&inner, &copy, self.bytes_max / CLASS_PART).is_some_and(|id| {
            inner.drop_one(id);
            true
        }) {}
        while inner.bytes > self.bytes_max && inner.order.len() > 1 {
            inner.drop_oldest();
        }
        copy
    }

    /// Keeps a copy that comes from the disk, unless it is here already; its number.
    pub(crate) fn keep_again(&self, copy: Copy) -> u64 {
        let same = self.versions(&copy.host, &copy.target).into_iter().find(|known| {
            known.text == copy.text && known.known == copy.known && known.is_part == copy.is_part
        });
        same.unwrap_or_else(|| self.keep(copy)).id
    }

    /// The copy with this number, if it is still here.
    pub(crate) fn with_id(&self, id: u64) -> Option<Arc<Copy>> {
        self.inner.lock().by_id.get(&id).cloned()
    }

    /// The newest copy of a page.
    pub(crate) fn of_page(&self, host: &str, target: &str) -> Option<Arc<Copy>> {
        self.versions(host, target).pop()
    }

    /// The copies of a page that can't be recognised by their values yet: whoever writes from
    /// that page may have been given any of them.
    pub(crate) fn unsettled(&self, host: &str, target: &str) -> Vec<Arc<Copy>> {
        let mut versions = self.versions(host, target);
        versions.retain(|copy| !copy.is_settled.load(Ordering::Relaxed));
        versions
    }

    /// The copies of a host that can't be recognised by their values yet, the newest first.
    pub(crate) fn all_unsettled(&self, host: &str) -> Vec<Arc<Copy>> {
        let inner = self.inner.lock();
        let newest_first = inner.order.iter().rev().filter_map(|id| inner.by_id.get(id));
        let is_wanted =
            |copy: &&Arc<Copy>| copy.host == host && !copy.is_settled.load(Ordering::Relaxed);
        newest_first.filter(is_wanted).take(LOOKED_THROUGH_MAX).cloned().collect()
    }

    /// The copies of a page, the newest last; parts that a script fetched are none.
    pub(crate) fn versions(&self, host: &str, target: &str) -> Vec<Arc<Copy>> {
        let inner = self.inner.lock();
        let page = super::brief::page_name(host, target);
        let versions = inner.by_page.get(page.as_slice()).into_iter().flatten();
        versions
            .filter_map(|id| inner.by_id.get(id))
            .filter(|copy| !copy.is_part)
            .cloned()
            .collect()
    }

    /// The copies that a request's values come from, each once, the newest first.
    pub(crate) fn carried(&self, request: &Request<'_>) -> Result<Vec<Arc<Copy>>, BodyTooLong> {
        let mut found: Vec<Arc<Copy>> = Vec::new();
        let mut seen: HashSet<u64> = HashSet::new();
        if self.inner.lock().by_value.is_empty() {
            return Ok(found);
        }
        for_each_carried(request, &mut |value| {
            let inner = self.inner.lock();
            if let Some(&id) = inner.by_value.get(value)
                && seen.insert(id)
            {
                found.extend(inner.by_id.get(&id).cloned());
            }
        })?;
        found.sort_by_key(|copy| std::cmp::Reverse(copy.id));
        Ok(found)
    }

    /// Adds values by which a copy is recognised, once they are known.
    pub(crate) fn recognise(&self, id: u64, known: Vec<Vec<u8>>) {
        let mut inner = self.inner.lock();
        if let Some(copy) = inner.by_id.get(&id) {
            copy.is_settled.store(true, Ordering::Relaxed);
            for value in known {
                inner.bytes += value.len() + VALUE_BYTES;
                inner.by_value.insert(value.into(), id);
            }
        }
    }

    /// All of them as notes, by their numbers, the oldest first.
    pub(crate) fn notes(&self) -> Vec<(u64, Vec<u8>)> {
        let inner = self.inner.lock();
        let mut late: HashMap<u64, Vec<Vec<u8>>> = HashMap::new();
        for (value, id) in &inner.by_value {
            if inner.by_id.get(id).is_some_and(|copy| !copy.known.contains(value)) {
                late.entry(*id).or_default().push(value.to_vec());
            }
        }
        let copies: Vec<_> = inner.order.iter().filter_map(|id| inner.by_id.get(id)).collect();
        let late = |copy: &Copy| late.get(&copy.id).map_or(&[][..], Vec::as_slice);
        copies.into_iter().map(|copy| (copy.id, copy.to_note_with(late(copy)))).collect()
    }

    /// How many there are, and what they take.
    pub(crate) fn size(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.by_id.len(), inner.bytes)
    }
}

/// What a request carries that looks like a token wherever it stands.
pub(crate) fn tokens_of(request: &Request<'_>) -> Result<Vec<Vec<u8>>, BodyTooLong> {
    let mut tokens = Vec::new();
    for_each_carried(request, &mut |value| {
        if tokens.len() < TOKENS_MAX && align::is_strong(value) {
            tokens.push(value.to_vec());
        }
    })?;
    Ok(tokens)
}

/// The oldest copy of this copy's class, if the class has more than its part.
fn class_oldest(inner: &Inner, copy: &Copy, bytes_max: usize) -> Option<u64> {
    let class = inner.by_class.get(&shape(&copy.target))?;
    (class.bytes > bytes_max && class.order.len() > 1).then(|| class.order.front().copied())?
}

impl Inner {
    fn drop_oldest(&mut self) {
        if let Some(id) = self.order.front().copied() {
            self.drop_one(id);
        }
    }

    fn drop_one(&mut self, id: u64) {
        self.order.retain(|&other| other != id);
        let Some(copy) = self.by_id.remove(&id) else { return };
        self.bytes -= copy.bytes();
        let class = shape(&copy.target);
        if let Some(copies) = self.by_class.get_mut(&class) {
            copies.order.retain(|&other| other != id);
            copies.bytes -= copy.bytes();
            if copies.order.is_empty() {
                self.by_class.remove(&class);
            }
        }
        let mut late_bytes = 0;
        self.by_value.retain(|value, other| {
            let stays = *other != id;
            if !stays && !copy.known.contains(value) {
                late_bytes += value.len() + VALUE_BYTES;
            }
            stays
        });
        self.bytes -= late_bytes;
        let page = copy.page();
        if let Some(versions) = self.by_page.get_mut(page.as_slice()) {
            versions.retain(|&version| version != id);
            if versions.is_empty() {
                self.by_page.remove(page.as_slice());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(target: &str, body: &str, known: &[&str]) -> Copy {
        Copy::new(NewCopy {
            host: "a",
            target,
            request: Fields::new(),
            fields: &Fields::parse(b"content-type: text/html\nx-token: t").expect("valid"),
            body: body.as_bytes(),
            known: known.iter().map(|value| value.as_bytes().to_vec()).collect(),
            tells_time: false,
            is_settled: true,
            is_part: false,
        })
    }

    fn carried(copies: &Copies, target: &str) -> Vec<String> {
        let fields = Fields::new();
        let request = Request { target: target.as_bytes(), fields: &fields, body: b"" };
        let found = copies.carried(&request).expect("a short body");
        found.iter().map(|copy| copy.target.clone()).collect()
    }

    #[test]
    fn a_request_is_recognised_by_its_values_and_by_its_page() {
        let copies = Copies::new(1 << 20);
        copies.keep(copy("/one", "<p>one", &["aaaa1111bbbb"]));
        copies.keep(copy("/two", "<p>two", &["cccc2222dddd"]));
        assert_eq!(carried(&copies, "/x?t=aaaa1111bbbb&u=cccc2222dddd"), ["/two", "/one"]);
        assert_eq!(carried(&copies, "/x?t=aaaa"), [""; 0]);
        let page = copies.of_page("a", "/one").expect("it is kept");
        let document = page.document().expect("it is short");
        assert!(document.text().ends_with(b"<p>one"));
        assert!(copies.of_page("b", "/one").is_none());
    }

    #[test]
    fn a_copy_that_nobody_compared_is_known_by_a_token_in_its_text() {
        let copies = Copies::new(1 << 20);
        for (target, token, is_settled) in [
            ("/one", "9f86d081884c", false),
            ("/two", "60303ae22b99", false),
            ("/three", "x", true),
        ] {
            let body = format!("<form><input name=comment_body><input name=t value={token}>");
            let new = copy(target, &body, &[]);
            new.is_settled.store(is_settled, Ordering::Relaxed);
            copies.keep(new);
        }
        let found = |body: &str| {
            let fields = Fields::parse(b"content-type: application/x-www-form-urlencoded");
            let fields = fields.expect("valid");
            let request = Request { target: b"/comment", fields: &fields, body: body.as_bytes() };
            let tokens = tokens_of(&request).expect("a short body");
            let mut all = copies.all_unsettled("a");
            all.retain(|copy| copy.holds_any(&tokens));
            all.into_iter().map(|copy| copy.target.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found("comment_body=Hello&t=9f86d081884c"), ["/one"]);
        assert_eq!(found("comment_body=Hello&t=60303ae22b99"), ["/two"]);
        assert_eq!(found("comment_body=Hello&t=a3f1c7d2e9b4"), [""; 0]);
        assert!(copies.all_unsettled("b").is_empty());
    }

    #[test]
    fn the_oldest_give_way_with_all_that_leads_to_them() {
        let copies = Copies::new(3 * COPY_BYTES);
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        for name in names {
            copies.keep(copy(&format!("/{name}"), "<p>", &[&format!("value1{name}abcdefgh")]));
        }
        let (count, bytes) = copies.size();
        assert!(count < 4 && bytes <= 3 * COPY_BYTES, "{count} {bytes}");
        assert!(copies.of_page("a", "/a").is_none());
        assert_eq!(carried(&copies, "/?v=value1aabcdefgh"), [""; 0]);
        assert_eq!(carried(&copies, "/?v=value1habcdefgh"), ["/h"]);
    }

    #[test]
    fn made_up_addresses_displace_only_each_other() {
        let copies = Copies::new(40 * COPY_BYTES);
        copies.keep(copy("/login", "<p>", &["value1abcdefgh"]));
        for number in 0..1000 {
            copies.keep(copy(&format!("/post/{number}"), "<p>", &[]));
        }
        assert!(copies.of_page("a", "/login").is_some());
        let (count, bytes) = copies.size();
        assert!(count > 2 && bytes <= 12 * COPY_BYTES, "{count} {bytes}");
    }

    #[test]
    fn a_note_brings_a_copy_back_and_a_broken_one_nothing() {
        let kept = copy("/one", "<p>one</p>", &["aaaa1111bbbb"]);
        let note = kept.to_note();
        let back = Copy::from_note(&note).expect("it was written just now");
        assert_eq!((&back.target, &back.known), (&kept.target, &kept.known));
        let text = |copy: &Copy| copy.document().map(|document| document.text().to_vec());
        assert_eq!(text(&back), text(&kept));
        for end in 0..note.len() {
            // Whatever comes back, reading it does no harm.
            drop(Copy::from_note(&note[..end]).and_then(|copy| copy.document()));
        }
    }
}

//! Who reads: what of a request decides whether a shared page is for it.
//!
//! On a hit this is all that strangers cost: a mask for the cookie, one hash over the
//! browser's name and languages, and four comparisons under the shard's lock.

use std::cell::RefCell;
use std::sync::OnceLock;

use policy::strangers::{Errand, Visitor, errand, taste, write_background_key};
use wire::{Fields, Name};

use crate::pipeline;
use crate::site::Site;

/// One who asks, as far as shared pages are concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) visitor: Visitor,
    pub(crate) taste: u64,
    /// 0 for who goes to a page; else what tells this request in the background apart.
    /// None: it can't be told apart, and is not shared with.
    pub(crate) errand: Option<u64>,
    /// The site's count of writes and changes when they came.
    pub(crate) content: u64,
}

/// For whom among strangers a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sharing {
    pub(crate) tastes: Box<[u64]>,
    pub(crate) errand: u64,
    /// The site's count of writes and changes when it was made; after any later one that may
    /// have touched it, it has to be made anew.
    pub(crate) content: u64,
    pub(crate) tells_time: bool,
    /// The number of its copy, if somebody may write from it.
    pub(crate) copy: Option<u64>,
}

impl Reader {
    /// Who sends a request with these fields. Where a site shares nothing with strangers
    /// nobody is one.
    pub(crate) fn of(site: &Site, fields: &Fields, host: &str) -> Self {
        let nobody = Self { visitor: Visitor::Holder, taste: 0, errand: None, content: 0 };
        let Some(strangers) = &site.strangers else { return nobody };
        let visitor = strangers.names.visitor(fields);
        match visitor {
            Visitor::Stranger => Self::as_stranger(site, fields, host),
            _ => Self { visitor, ..nobody },
        }
    }

    /// The stranger that the sender of these fields would be without any cookie.
    pub(crate) fn as_stranger(site: &Site, fields: &Fields, host: &str) -> Self {
        let errand = match errand(fields) {
            Errand::Navigation => Some(0),
            Errand::Background => background(fields, host),
        };
        let taste = taste_hash(fields);
        let content = site.generations.content();
        Self { visitor: Visitor::Stranger, taste, errand, content }
    }

    pub(crate) fn is_stranger(&self) -> bool {
        self.visitor == Visitor::Stranger
    }

    /// For whom a page is that is made for this reader now.
    pub(crate) fn sharing(&self, others: &[u64], content: u64, tells_time: bool) -> Sharing {
        let mut tastes = others.to_vec();
        tastes.push(self.taste);
        tastes.sort_unstable();
        tastes.dedup();
        // Who can't be told apart is never filled for; 2 is nobody's, as the lowest bit is missing.
        let errand = self.errand.unwrap_or(2);
        Sharing { tastes: tastes.into(), errand, content, tells_time, copy: None }
    }
}

impl Sharing {
    /// Whether this reader may have the page.
    pub(crate) fn is_for(&self, reader: &Reader) -> bool {
        reader.is_stranger()
            && reader.errand == Some(self.errand)
            && self.tastes.contains(&reader.taste)
    }

    /// Whether a page with this sharing is for some whom the older one was for.
    pub(crate) fn replaces(&self, older: &Self) -> bool {
        self.errand == older.errand && self.tastes.iter().any(|taste| older.tastes.contains(taste))
    }
}

fn background(fields: &Fields, host: &str) -> Option<u64> {
    let mut text = Vec::with_capacity(256);
    write_background_key(&mut text, fields, host).then(|| pipeline::hash(&text) | 1)
}

/// What kind of browser and which languages, in one number.
///
/// Browsers send the same two fields all day, so the answer is kept by their hash.
fn taste_hash(fields: &Fields) -> u64 {
    const PLACES: usize = 256;
    thread_local! {
        static KNOWN: RefCell<[(u64, u64); PLACES]> = const { RefCell::new([(0, 0); PLACES]) };
    }
    let computed = || pipeline::hash(format!("{:?}", taste(fields)).as_bytes());
    let mut lines = fields.all(Name::AcceptLanguage);
    let languages = lines.next().unwrap_or_default();
    // Several lines are one list, of which the first alone would be somebody else's.
    if lines.next().is_some() {
        return computed();
    }
    let agent = fields.first(Name::UserAgent).unwrap_or_default();
    let key = pipeline::hash(agent) ^ pipeline::hash(languages).rotate_left(1);
    KNOWN.with_borrow_mut(|known| {
        let place = &mut known[key as usize % PLACES];
        if place.0 != key {
            *place = (key, computed());
        }
        place.1
    })
}

/// How this build tells tastes apart, in a number: pages that another one stored for some
/// tastes may be for others here.
pub(crate) fn dialect() -> u64 {
    static DIALECT: OnceLock<u64> = OnceLock::new();
    *DIALECT.get_or_init(|| {
        let request = "user-agent: Mozilla/5.0 (iPad) bot\naccept-language: de-AT, en;q=0.5";
        Fields::parse(request.as_bytes()).map_or(0, |fields| taste_hash(&fields))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_line_of_languages_changes_nobody_elses_taste() {
        let hash = |text: &str| taste_hash(&Fields::parse(text.as_bytes()).expect("valid"));
        let two_lines = hash("user-agent: x\naccept-language: en;q=0.5\naccept-language: de");
        let first_line = hash("user-agent: x\naccept-language: en;q=0.5");
        assert_ne!(two_lines, first_line);
        assert_eq!(two_lines, hash("user-agent: x\naccept-language: de, en;q=0.5"));
        assert_eq!(first_line, hash("user-agent: x\naccept-language: en"));
    }
}

//! The script that marks new items, put into every page of a site that wants it.
//!
//! It goes into what the origin sends, before anything else sees it: so pages that are compared
//! or aligned have it alike, what is stored is served with it at no cost, and a page for one
//! person has it as well. Why it is so: `docs/decisions/new-items-are-marked-in-the-browser.md`.
//! Invariants: 1. no page that is coded, cut or must not be transformed is touched. 2. no strong
//! tag of the origin goes out with bytes that are not its own, and none of ours comes to it.

use bytes::Bytes;
use origin::{Answer, Call};
use policy::media_type::essence;
use policy::permit_script::permit_script;
use policy::representation::{forbids_transforming, mark_tag, restore_tags};
use transform::{Inserter, MarkNewItems, SCRIPT_HASH};
use wire::{Fields, Name};

use crate::rewriting::{Rewrite, rewrite};

/// By which an app asks for it itself; any value but `off` does.
const ASKS: &str = "x-wick-since";

/// How new items are marked, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkNewRules {
    /// How they are found, and what they look like.
    pub marks: MarkNewItems,
    /// Whether on all pages; else on those whose app asks for it by `X-Wick-Since`.
    pub everywhere: bool,
}

/// The rules at work.
pub(crate) struct MarkNew {
    element: Bytes,
    everywhere: bool,
}

impl MarkNew {
    pub(crate) fn new(rules: &MarkNewRules) -> Self {
        Self { element: rules.marks.element(), everywhere: rules.everywhere }
    }

    /// The request as an origin of such a site sees it: what it sends must be readable, and its
    /// tags are its own. Whether it was asked by one of ours is told.
    pub(crate) fn ask_readable(&self, call: &mut Call) -> bool {
        if self.everywhere {
            call.head.fields.remove(Name::AcceptEncoding);
        }
        restore_tags(&mut call.head.fields)
    }

    /// The answer with the element in it, if it is to have one; a 304 has the tag of its page.
    pub(crate) fn put_in(&self, answer: &mut Answer, by_our_tag: bool) {
        let fields = &mut answer.head.fields;
        let is_wanted = self.is_wanted(fields);
        match answer.head.status {
            304 if is_wanted || by_our_tag => mark_tag(fields),
            200 | 400.. if is_wanted && answer.file.is_none() && may_bear(fields) => {
                mark_tag(fields);
                permit_script(fields, SCRIPT_HASH);
                rewrite(answer, Inserter::new(self.element.clone()));
            }
            _ => {}
        }
    }

    /// Whether this answer is to have it. What the app said of it stays here.
    fn is_wanted(&self, fields: &mut Fields) -> bool {
        let told = fields.all_named(ASKS).next().map(|value| !value.eq_ignore_ascii_case(b"off"));
        if told.is_some() {
            fields.retain(|_, name, _| !name.eq_ignore_ascii_case(ASKS.as_bytes()));
        }
        told.unwrap_or(self.everywhere)
    }
}

/// Whether the content is a page as people read it.
fn may_bear(fields: &Fields) -> bool {
    let is_html = fields
        .first(Name::ContentType)
        .is_some_and(|kind| essence(kind).eq_ignore_ascii_case(b"text/html"));
    is_html
        && !fields.has(Name::ContentEncoding)
        && !fields.has(Name::ContentRange)
        && !forbids_transforming(fields)
}

impl Rewrite for Inserter {
    fn write(&mut self, piece: Bytes, out: impl FnMut(Bytes)) {
        Inserter::write(self, piece, out);
    }

    fn finish(&mut self, out: impl FnMut(Bytes)) {
        Inserter::finish(self, out);
    }

    fn is_done(&self) -> bool {
        Inserter::is_done(self)
    }
}

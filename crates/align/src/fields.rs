//! Fields: what the inputs of a form, and meta tags, are called.
//!
//! A name that both copies have belongs to its field, and tells it from the one beside it: a
//! visitor's first page may have a field more, or less, than the next one. A name that only
//! one copy has may be drawn anew for each session, and says nothing.

use std::borrow::Cow;

use hashbrown::HashSet;

use crate::chunk::ChunkKind;
use crate::document::Document;
use crate::escape::entity;
use crate::tag;

/// Elements with a name and a value; a meta tag's is its content.
const FIELDS: [&str; 5] = ["input", "select", "textarea", "button", "meta"];

/// Whether a tag is a field's.
pub(crate) fn is_field(tag: &[u8]) -> bool {
    let name = tag::name(tag);
    FIELDS.iter().any(|field| name.eq_ignore_ascii_case(field.as_bytes()))
}

/// The names that fields have in both copies, as they are written.
pub(crate) fn common_names<'a>(old: &'a Document, new: &'a Document) -> HashSet<&'a [u8]> {
    let old_names: HashSet<_> = fields(old).filter_map(name).collect();
    fields(new).filter_map(name).filter(|name| old_names.contains(name)).collect()
}

/// The values of the old copy's fields whose names the new copy's fields don't have.
pub(crate) fn values_of_gone<'a>(old: &'a Document, new: &Document) -> HashSet<Cow<'a, [u8]>> {
    let new_names: HashSet<_> = fields(new).filter_map(name).collect();
    fields(old)
        .filter(|tag| name(tag).is_some_and(|name| !new_names.contains(name)))
        .filter_map(|tag| attribute(tag, "value").or_else(|| attribute(tag, "content")))
        .map(entity::decode)
        .collect()
}

fn fields(document: &Document) -> impl Iterator<Item = &[u8]> {
    let tags = document.chunks().iter().filter(|chunk| chunk.kind == ChunkKind::Tag);
    tags.map(|chunk| document.bytes(*chunk)).filter(|tag| is_field(tag))
}

fn name(tag: &[u8]) -> Option<&[u8]> {
    attribute(tag, "name")
}

fn attribute<'a>(tag: &'a [u8], name: &str) -> Option<&'a [u8]> {
    tag::attributes(tag).find(|attribute| attribute.is(name)).map(|attribute| attribute.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Kind;

    fn document(body: &str) -> Document {
        Document::new(Kind::Html, &wire::Fields::new(), body.as_bytes()).expect("a short page")
    }

    #[test]
    fn names_are_common_wherever_they_stand_and_values_gone_with_their_names() {
        let old = document("<INPUT NAME=a value=1><meta name='b' content='x&amp;y'><a name=c>");
        let new = document("<p><textarea name=\"a\"></textarea><select name=d><a name=b>");
        assert_eq!(common_names(&old, &new), HashSet::from([&b"a"[..]]));
        assert_eq!(values_of_gone(&old, &new), HashSet::from([Cow::from(&b"x&y"[..])]));
        assert!(values_of_gone(&new, &old).is_empty());
    }
}

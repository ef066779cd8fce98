//! Pages: two copies of one, and what a visitor of the first sends.

use align::{Binding, Document, Kind, Likeness, Request, compare, for_each_carried, may_share};
use wire::Fields;

use crate::sections::sections;

/// What the third part is taken for, one after the other.
const TYPES: &[&str] = &[
    "application/x-www-form-urlencoded",
    "application/json",
    "multipart/form-data; boundary=b",
    "text/plain",
];

pub(crate) fn run(input: &[u8]) {
    let [old, new, sent] = sections(input);
    for kind in [Kind::Html, Kind::Xml, Kind::Script, Kind::Text] {
        let (Some(old), Some(new)) = (read(kind, old), read(kind, new)) else { return };
        let own = compare(&old, &old).map(|comparison| comparison.likeness());
        assert_eq!(own, Ok(Likeness::Same));
        assert_eq!(may_share(&old, &[&old], &old, &[]), Ok(()));
        let Ok(comparison) = compare(&old, &new) else { continue };
        for span in &comparison.spans {
            assert_ne!(span.old, span.new);
            assert!(span.old_place.end as usize <= old.text().len());
            assert!(span.new_place.end as usize <= new.text().len());
        }
        // Whoever asks wants a word, whatever it is.
        let _ = may_share(&old, &[&new], &new, &[sent]);
        assert!(Binding::default().is_empty());
        translate(&Binding::default(), sent);
        if let Ok(binding) = Binding::new(&old, &new, comparison.strong_values()) {
            translate(&binding, sent);
        }
    }
}

fn read(kind: Kind, body: &[u8]) -> Option<Document> {
    Document::new(kind, &Fields::new(), body).ok()
}

/// What is not counted as exchanged is not changed.
fn translate(binding: &Binding, sent: &[u8]) {
    for kind in TYPES {
        let mut fields = Fields::new();
        fields.push("content-type", kind);
        // What can't be sent as a field isn't.
        let _ = fields.try_push(b"x-token", sent);
        let request = Request { target: sent, fields: &fields, body: sent };
        let Ok(found) = binding.translate(&request) else { return };
        let is_as_it_was =
            *found.target == *sent && *found.fields == fields && *found.body == *sent;
        assert!(is_as_it_was || found.replaced > 0);
        assert!(is_as_it_was || !binding.is_empty());
        let carried = for_each_carried(&request, &mut |value| assert!(!value.is_empty()));
        assert!(carried.is_ok());
    }
}

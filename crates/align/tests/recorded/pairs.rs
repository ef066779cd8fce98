//! The recorded pairs.

use align::{Document, Kind};
use wire::Fields;

/// Two copies of one page, and what the plain version found.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    old: Copy,
    new: Copy,
    pub(crate) record: &'static str,
}

struct Copy {
    fields: &'static str,
    body: &'static [u8],
}

impl Pair {
    pub(crate) fn old_copy(&self) -> Document {
        self.old.read()
    }

    pub(crate) fn new_copy(&self) -> Document {
        self.new.read()
    }
}

impl Copy {
    fn read(&self) -> Document {
        let fields = Fields::parse(self.fields.as_bytes()).expect("the fields are well formed");
        Document::new(Kind::Html, &fields, self.body).expect("pages of moderate length")
    }
}

/// The pair of that name.
macro_rules! pair {
    ($name:literal) => {
        pair!($name, "", "")
    };
    ($name:literal, $old_fields:expr, $new_fields:expr) => {
        Pair {
            name: $name,
            old: Copy {
                fields: $old_fields,
                body: include_bytes!(concat!("pairs/", $name, ".old")),
            },
            new: Copy {
                fields: $new_fields,
                body: include_bytes!(concat!("pairs/", $name, ".new")),
            },
            record: include_str!(concat!("pairs/", $name, ".spans.json")),
        }
    };
}

/// All pairs.
pub(crate) const PAIRS: &[Pair] = &[
    pair!("address-in-address"),
    pair!("base64-token"),
    pair!("brackets-in-attributes"),
    pair!("captcha-address"),
    pair!("comments"),
    pair!("counters"),
    pair!("data-answer"),
    pair!("data-blob"),
    pair!("edit-token"),
    pair!("fragment-in-data"),
    pair!("greeting"),
    pair!("handlers"),
    pair!(
        "header-token",
        include_str!("pairs/header-token.old.fields"),
        include_str!("pairs/header-token.new.fields")
    ),
    pair!("hidden-field"),
    pair!("inserted-block"),
    pair!("key-in-links"),
    pair!("korean-board"),
    pair!("latin1"),
    pair!("meta-token"),
    pair!("mixed"),
    pair!("random-block"),
    pair!("random-field-names"),
    pair!("request-id"),
    pair!("row-order"),
    pair!("script-token"),
    pair!("session-in-links"),
    pair!("session-with-semicolons"),
    pair!("times"),
    pair!("token-per-form"),
    pair!("token-with-time"),
];

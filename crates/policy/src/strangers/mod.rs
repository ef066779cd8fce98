//! Strangers: visitors without a cookie of the app, and what may be shared among them.
//!
//! A page is made for strangers by personas, visitors that exist for one fill. The
//! decisions about that stand here, each as a function of fields, targets and counts:
//! who a visitor is ([`visitor`]), which class of pages a URL belongs to ([`shape`]),
//! whether a request proves where it comes from ([`same_origin`]), what it is for
//! ([`errand`]), which copy it may be given ([`taste`]), what a browser is told about
//! the copy ([`browser`]) and which headers mean anything ([`constancy`]).
//! Like the rest of this crate: no I/O, no clock, no panic on any input.

pub mod browser;
pub mod constancy;
pub mod cookie;
mod cookie_date;
pub mod errand;
pub mod impossible;
mod parts;
pub mod same_origin;
pub mod shape;
pub mod taste;
mod verb;
pub mod visitor;

pub use browser::{head_for_strangers, strip_own_etags, without_sessions};
pub use constancy::{Constancy, Wish};
pub use cookie::{Jar, SetCookie, pairs, remove_cookies, set_cookies};
pub use errand::{Errand, errand, write_background_key};
pub use impossible::impossible;
pub(crate) use parts::{parameters_of, segments_of};
pub use same_origin::{Origin, origin_of, own_referer};
pub use shape::{
    bears_drawn, forbidden_verb, list_chosen_from, may_set_preference, names_secret, names_session,
    shape,
};
pub use taste::{Device, Taste, languages, taste, user_agent};
pub use visitor::{Standing, Visitor, is_known_foreign, visitor};

#[cfg(test)]
mod garbage_tests;

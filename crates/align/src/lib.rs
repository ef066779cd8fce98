//! Two copies of one page compared, and a request translated from one to the other.
//!
//! Pure: bytes go in, an answer comes out. [`Document`] reads a copy; [`compare()`] finds
//! what differs and what each difference is; [`may_share`] says whether a page made for one
//! stranger may be shown to others; [`Binding`] translates what a visitor sends, having
//! read one copy, into what the other copy would have sent.
//! Nothing here knows any application.
//! Start at `compare.rs`; for requests at `translate.rs`.

mod binding;
mod blocks;
mod carried;
mod chunk;
mod class;
mod compare;
mod context;
mod difference;
mod document;
mod escape;
mod fields;
mod holes;
mod literal;
mod pairing;
mod passwords;
mod preloads;
mod puzzle;
mod request;
mod share;
mod skeleton;
mod span;
mod tag;
mod translate;
mod unit;

pub use binding::Binding;
pub use carried::for_each_carried;
pub use class::{Class, is_strong};
pub use compare::{Comparison, Likeness, TooDifferent, compare};
pub use document::{DOCUMENT_BYTES_MAX, Document, Kind, TooLong};
pub use holes::{Hole, HoleKind, holes};
pub use passwords::password_fields;
pub use preloads::{ADDRESS_BYTES_MAX, HEAD_BYTES_MAX, preloads};
pub use request::{BODY_BYTES_MAX, BodyTooLong, Request};
pub use share::{Refusal, Unlikeness, exposes, may_share, unlikeness};
pub use span::Span;
pub use translate::Translated;

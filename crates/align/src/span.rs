//! Spans: the places in which two copies of a page differ, and what stands there.

use std::ops::Range;

use crate::class::Class;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes of the old copy's text that hold the old value: a whole attribute value, a
    /// unit of a script, a text. The value itself may be a decoded part of it.
    pub old_place: Range<u32>,
    /// The same in the new copy.
    pub new_place: Range<u32>,
    /// What stands in the old copy, escapes read.
    pub old: Vec<u8>,
    /// What stands in the new copy.
    pub new: Vec<u8>,
    /// The field, parameter, property or attribute that bears the value; may be empty.
    pub key: Vec<u8>,
    /// What the difference is taken for.
    pub class: Class,
    /// The old copy's chunk and the new one's.
    pub(crate) chunks: (u32, u32),
}

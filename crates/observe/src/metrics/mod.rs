//! Counts as others read them.

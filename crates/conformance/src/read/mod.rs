//! The reader: a page's text becomes a tree, as a browser would make it.
//!
//! Law: HTML §13.2. [`token`] cuts the text, [`build`] puts the tree together; both tell
//! each parse error where it is. Start at [`build::read`].

pub(crate) mod body;
pub(crate) mod build;
pub(crate) mod ends;
pub(crate) mod foreign;
pub(crate) mod modes;
pub(crate) mod name;
#[cfg(test)]
mod oracle;
pub(crate) mod quirks;
pub(crate) mod reference;
pub(crate) mod repair;
pub(crate) mod tables;
pub(crate) mod token;
pub(crate) mod tree;

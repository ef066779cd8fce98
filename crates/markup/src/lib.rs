//! BBCode to safe HTML, in the dialects of forums.
//!
//! Pure: a post's bytes go in, HTML comes out. A [`Dialect`] is data, read from a file of
//! `dialects/` or from the site's own; a [`Renderer`] is a dialect made ready for work;
//! [`Renderer::key`] names what is made of a text, for whoever keeps it.
//! Invariants: 1. whatever goes in, what comes out is balanced HTML with no element,
//! attribute or address scheme that isn't on the closed lists of `element.rs` and
//! `address.rs`. 2. The work is linear in the input, and so is the output: at most
//! [`OUTPUT_FACTOR`] times the input and [`OUTPUT_SLACK`]. 3. Nothing here knows who reads:
//! what depends on the viewer is left to the site.
//! Start at [`Renderer::render`]; the way of a post is `pass.rs`.

mod address;
mod autolink;
mod bracket;
mod closers;
mod dialect;
mod element;
mod escape;
mod marks;
mod newlines;
mod opening;
mod pass;
mod renderer;
mod smilies;
mod snippet;
mod stored;
mod template;
mod tree;
mod values;
mod written;

pub use dialect::{BUILT_IN, Dialect, DialectError};
pub use renderer::{
    DEPTH_MAX, Key, OUTPUT_FACTOR, OUTPUT_SLACK, Options, Rendered, Renderer, Scratch,
    TEXT_BYTES_MAX, Text,
};
pub use written::Form;

#[cfg(test)]
mod dialect_tests;
#[cfg(test)]
mod linear_tests;
#[cfg(test)]
mod render_tests;

//! Edge Side Includes: pages that say where parts of them come from.
//!
//! In: a page's bytes as they come. Out: a [`Template`], steps over the page that need not be
//! read again; then, for each request, a [`Plan`]: the pieces of that request's page, in order.
//! Getting the parts is the caller's business.
//! Law: ESI Language Specification 1.0 (W3C Note, 4 August 2001), as Varnish, Apache Traffic
//! Server and LiteSpeed have it where it says little: names in any case, either quotes, nothing
//! inside CDATA, and an element that is never closed ends with the page.
//! Invariants: 1. a page is read once, forwards, in time linear in its length and memory that
//! doesn't grow with it, but for the steps themselves. 2. the template doesn't depend on how
//! the bytes were cut. 3. no depth of nesting makes anything recurse. 4. what a request brings
//! is never taken for markup: it is escaped wherever it is shown.
//! Start at [`Compiler`].

mod compiler;
mod expression;
mod plan;
mod scanner;
mod tag;
mod template;
mod variables;

pub use compiler::Compiler;
pub use plan::{Include, Part, Plan};
pub use template::{Keeping, Template};

#[cfg(test)]
mod tests;

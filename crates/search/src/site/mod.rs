//! A site's own search, apart from its server: what of a page is text, and how answers look.
//!
//! In: pages as strangers are given them. Out: [`crate::Document`]s, and what is shown of hits
//! as HTML, JSON and feeds. Nothing here opens a socket or decides what is public: that is for
//! whoever has the pages.
//! Start at [`PageText::of`]; the page is [`show::html`].

mod address;
mod blocks;
mod encoding;
mod narrow;
mod page;
pub mod show;

/// Hits on one page.
pub const PAGE_HITS: usize = 10;

pub use blocks::Blocks;
pub use encoding::decoded;
pub use narrow::{Age, Facets, Narrow};
pub(crate) use page::{Known, document_of, plain_text};
pub use page::{
    Link, PageText, SHAPE_CHANGED, SHAPE_HITS, SHAPE_HOST, SHAPE_LANGUAGE, SHAPE_SECTION,
    SHAPE_SUM, SHAPE_TOPIC, says_nofollow, says_noindex, shape,
};

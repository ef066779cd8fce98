//! What a site says of its pages to who reads all of them: `robots.txt`, sitemaps, feeds, and
//! which addresses are no pages.
//!
//! Pure: bytes go in, an answer comes out. Whoever crawls (`search`, `audit`) does the asking.
//! Nothing here is an error: what can't be read names nothing.

pub mod address;
pub mod date;
pub mod feed;
pub mod markup;
pub mod robots;
pub mod sitemap;

pub use address::{bears_secret, canonical, does_something, plain_host, targets_within};

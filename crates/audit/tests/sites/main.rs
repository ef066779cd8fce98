//! Audits of sites that are served here: with nothing to be said, with one fault each, and
//! interrupted, many at once, by several workers, and in a browser.

mod browser;
mod interrupted;
mod many;
mod seeded;
mod server;
mod workers;

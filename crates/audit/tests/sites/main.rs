//! Audits of sites that are served here: with nothing to be said, with one fault each, and
//! interrupted, and by several workers.

mod interrupted;
mod seeded;
mod server;
mod workers;

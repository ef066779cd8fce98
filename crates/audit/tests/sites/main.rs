//! Audits of sites that are served here: with nothing to be said, with one fault each, and
//! interrupted.

mod interrupted;
mod seeded;
mod server;

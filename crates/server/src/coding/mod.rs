//! Answers in the content coding that their visitor wants.
//!
//! A stored page is coded once for all: quickly, by the request that first wants a coding, and
//! once more, as well as it can be, when the page was asked for often. What isn't stored is
//! coded as it comes.
//!
//! ```text
//! stored page ── pick ─┬─ made already: nothing but a reference is copied
//!                      ├─ small: made at once (press), and kept with the page
//!                      └─ large, or asked for often: made behind everybody's back
//! other answer ─ passing ─┬─ a file that lies there in this coding, or was coded before (files)
//!                         └─ coded as it comes (stream)
//! ```
//!
//! Which coding, and what may be coded, is decided in `policy`; how, in `transform`.
//! Invariants: 1. what is compared, stored and cut into parts is never coded. 2. every answer
//! that would be coded for another client says so in `Vary`. 3. no serving thread codes more
//! than [`pick::IN_PLACE_BYTES_MAX`] at a time. 4. what is kept, and what coding holds
//! meanwhile, is within the store's limit.

pub(crate) mod coded;
pub(crate) mod passing;
pub(crate) mod pick;
pub(crate) mod press;
mod stream;

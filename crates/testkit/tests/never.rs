//! What must never happen, tried with dice: seeded simulations that do their best to
//! break Wick's promises.
//!
//! 1. Bytes made for one person reach another: `never/persons.rs`; where
//!    strangers share pages `never/strangers.rs`, and where pages have parts `never/parts.rs`.
//! 2. After an edit is acknowledged an older page is served: `never/edits.rs`, and after
//!    one behind our back was told of: `never/changes.rs`, and where only what that touched is
//!    made anew: `never/scoped.rs`.
//! 3. Acknowledged data is lost or counted twice: nothing here, as Wick keeps no data of
//!    its own yet; what it keeps can be fetched again.
//! 4. Memory passes the figure that the owner set: `never/memory.rs`.
//! 5. A request that a slower origin could survive takes Wick down: `never/faults.rs`.
//!
//! Each has a stage (`never/stage.rs`: one thread, virtual time), an origin that is a program
//! (`never/author.rs`), clients that see every way to end (`never/caller.rs`) and a model
//! that knows the truth. Each checker is also shown a lie, and fails the run if it believes
//! it. A failing seed prints its story and the line that plays it again.

#[path = "never/author.rs"]
mod author;
#[path = "never/caller.rs"]
mod caller;
#[path = "never/changes.rs"]
mod changes;
#[path = "never/changing.rs"]
mod changing;
#[path = "never/edits.rs"]
mod edits;
#[path = "never/faults.rs"]
mod faults;
#[path = "never/forum.rs"]
mod forum;
#[path = "never/ledger.rs"]
mod ledger;
#[path = "never/memory.rs"]
mod memory;
#[path = "never/parts.rs"]
mod parts;
#[path = "never/persons.rs"]
mod persons;
#[path = "never/scoped.rs"]
mod scoped;
#[path = "never/stage.rs"]
mod stage;
#[path = "never/strangers.rs"]
mod strangers;

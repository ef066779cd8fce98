//! Many nodes as one: what each of them tells all others, in one order, and whether it heard
//! all of it. Nothing about HTTP: what is told is text to this crate.
//!
//! ```text
//! tell ─→ outbox ─→ speaker ─┐                    ┌─→ hearing ─→ ears
//!                            └─→ stream of NATS ──┘       └─────→ heard until
//! ```
//!
//! All that nodes say goes through one JetStream stream, which gives it one order. A node hears
//! its own words come back by the same way: then it has heard all that was said before it
//! spoke, by its own clock, whatever others' clocks say. So it counts as in touch until that
//! moment and the lag limit after it. Invariants: 1. whoever is in touch has been told all that
//! was acknowledged a lag limit ago. 2. what may have been missed is said ([`Ears::missed`]),
//! before anything that came after it is told.
//!
//! What may get lost is said beside the stream ([`Node::say_aside`]).
//! What is to outlive every node is kept in a bucket beside it ([`Node::keep`]).
//!
//! What all nodes would read, such as a database's changes, one of them reads for all
//! ([`Node::want`]); which one is decided in `lease`, by the same stream. When the others asked
//! what is behind it for nothing, so that what it tells isn't their doing, `calm` knows.
//! What one node may need of another that is gone is laid down with NATS, sealed
//! ([`Node::lay_down`]).
//! Beside all that, and without a node, stands a queue of work ([`Giver`], [`Taker`]).
//! Start at [`Node::run`]; what is decided stands in [`hearing`], without I/O.

mod aside;
mod calm;
mod deposits;
mod figures;
pub mod hearing;
mod kept;
mod lags;
mod lease;
mod link;
mod node;
mod outbox;
mod queue;
mod roll;
mod said;
mod seal;
mod settings;
mod status;

pub use calm::{Asks, Calm, Traffic};
pub use deposits::{DepositCounts, Untold};
pub use figures::Look;
pub use kept::KeepError;
pub use lease::Word;
pub use node::{Asked, Ears, Node, Run, Sink};
pub use queue::{Arrival, Corner, Giver, Question, QueueError, Taken, Taker};
pub use roll::{Place, Roll};
pub use said::{Lead, Said};
pub use seal::Seal;
pub use settings::{Settings, SettingsError};
pub use status::{Member, Reading, Status};

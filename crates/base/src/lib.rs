//! The floor: clock, limits, counters, task spawn, shutdown. Nothing about HTTP.
//!
//! Every other crate stands on this one, so it depends on none of them and
//! stays small: what knows a protocol, a policy or a file format belongs above.

pub mod amount;
pub mod clock;
pub mod complaint;
pub mod counter;
pub mod listening;
pub mod network;
pub mod phases;
pub mod shutdown;
pub mod task;
pub mod token;

pub use clock::{Clock, Now};
pub use counter::{Count, Counter};
pub use phases::{Phase, Phases};
pub use shutdown::Shutdown;
pub use token::Token;

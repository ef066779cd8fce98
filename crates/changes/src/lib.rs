//! What changed in a site's database behind our back, and which of it is noise.

mod address;
mod binlog;
mod connect;
mod event;
mod feed;
mod key_class;
pub mod noise;
mod poll;
mod queue;
mod secret;
mod signature;
mod sqlite;
mod statement;

pub use address::{Address, AddressError, Door};
pub use event::{Change, Column, Event, Gtid, Lost, Operation};
pub use feed::Feed;
pub use key_class::KeyClass;
pub use noise::Learner;
pub use secret::Secret;
pub use signature::{Rows, Signature};

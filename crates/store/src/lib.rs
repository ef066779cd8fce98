//! Where responses live: the memory tier with its eviction, the disk tier, flights, and bodies being filled.
//!
//! Nothing here knows HTTP. What is stored is any [`Resident`]: it says what it
//! weighs and which older variant it takes the place of; who may be given it is
//! decided above. Four doors:
//!
//! - [`Store`]: keys to stored things, under one limit in bytes. Start at `memory.rs`.
//! - [`Flights`]: of many who miss the same key at once, one fetches. `flights.rs`.
//! - [`disk::Disk`]: what outlives the process, and has no room in memory. `disk/`.
//! - [`Filling`]: one writes a body, any number read it from its first byte. `filling.rs`.

mod allocation;
mod budget;
pub mod disk;
mod filling;
mod flights;
mod ghost;
mod memory;
mod queue;
mod reservation;
mod shard;

pub use allocation::allocated_bytes;
pub use filling::{Broken, Filling, NoReaders, Reader, Source};
pub use flights::{Flights, Lead, Role, Wait};
pub use memory::{Counts, Inserted, Key, Resident, Store, VARIANTS_MAX};
pub use reservation::{NoRoom, Reservation};

#[cfg(test)]
mod eviction_tests;
#[cfg(test)]
mod filling_tests;
#[cfg(test)]
mod flights_tests;
#[cfg(test)]
mod memory_tests;

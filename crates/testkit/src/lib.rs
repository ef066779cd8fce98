//! The scene runner and the simulated origin.
//!
//! A scene is a text file in `scenes/`: clients, Wick and the origin on one page,
//! each line an act and its expectation. [`parse::scene`] reads one whole,
//! [`play::virtually`] acts it out in virtual time, [`play::against`] to a running
//! server. The language is in `scenes/README.md`.

mod client;
pub mod coding;
mod connection;
mod database;
pub mod dates;
mod files;
pub mod filler;
mod house;
pub mod message;
pub mod parse;
pub mod play;
pub mod scene;
pub mod simulated_origin;
pub mod story;
mod stream;
mod subject;
mod verdict;
mod visitors;
mod wants;
pub mod words;
pub mod world;

pub use files::{SceneFile, find};
pub use subject::OriginPort;

//! Bytes to messages and back, where no library does it for us.
//!
//! Nothing here opens a socket, reads a clock or decides anything about a site:
//! bytes go in, messages come out, and the same message comes out however the
//! bytes were cut.

pub mod address;
pub mod body;
pub mod coding;
pub mod decoded;
pub mod fastcgi;
pub mod fields;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod hpack;
pub mod message;
pub mod name;
pub mod ocsp;
pub mod proxy;
pub mod qpack;
pub mod tracker;
pub mod websocket;

pub use address::push_address;
pub use body::{Body, BodyError};
pub use coding::{Coding, Codings};
pub use fields::Fields;
pub use message::{RequestHead, ResponseHead, Version};
pub use name::Name;

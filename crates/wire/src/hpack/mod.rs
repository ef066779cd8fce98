//! HPACK: fields of HTTP/2 to and from bytes.
//!
//! What a client sends may refer to a table of what it sent before; what is answered never
//! does, so that it can be written from anywhere, in any order, and nothing is kept for it.
//! In: the whole block of a head, or fields. Out: fields, or a block.
//! Law: RFC 7541. QPACK, which is made of the same parts, takes them from here.
//! Start at [`Decoder`] and [`push_field`].

mod decode;
mod encode;
pub(crate) mod huffman;
pub(crate) mod parts;
mod table;

pub use decode::Decoder;
pub use encode::{NO_TABLE, push_field, push_status};
pub use parts::BlockError;

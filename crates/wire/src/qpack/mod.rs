//! QPACK without a dynamic table: fields of HTTP/3 to and from bytes.
//!
//! No table that grows is announced, so none is kept, and no request waits for another's.
//! In: the block of a HEADERS frame, or fields. Out: fields, or a block.
//! Law: RFC 9204 §4.5; RFC 7541 §5.
//! Start at [`decode`] and [`encode`].

mod decode;
mod encode;
mod table;

pub use crate::hpack::BlockError;
pub use decode::decode;
pub use encode::{NO_TABLE, encode, push_field};

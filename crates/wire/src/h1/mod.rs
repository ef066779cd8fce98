//! HTTP/1.1 as a server must read it: strict where a lenient reader could be
//! made to see another message than the origin sees.
//!
//! Law: RFC 9112. The line work is httparse's; what it lets pass and we may not
//! (bare LF, ambiguous lengths, a doubtful Host) is refused here.
//! Start at [`read_head`]; bodies in chunks are [`Chunks`].

mod chunks;
mod head;

pub use chunks::{Chunk, ChunkError, Chunks};
pub use head::{FIELDS_MAX, Framing, HeadError, HeadLimits, Length, read_head};
pub(crate) use head::{known_length, push_ascii, push_host};

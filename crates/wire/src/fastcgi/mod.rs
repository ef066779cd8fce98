//! FastCGI 1.0 as a web server speaks it: records out, records and a head back.
//!
//! Pure code: bytes in, records out, the same however the bytes were cut.
//! Law: the FastCGI specification of 29 April 1996; RFC 3875 for the head.
//! Start at [`RecordReader`] for what comes in, at [`write_stream`] for what goes out.

mod head;
mod params;
mod record;

pub use head::{CgiHead, HEAD_BYTES_MAX, HeadError, HeadReader};
pub use params::{decode_params, encode_param};
pub use record::{
    CONTENT_BYTES_MAX, End, Kind, Record, RecordError, RecordReader, close_stream, write_begin,
    write_end, write_stream,
};

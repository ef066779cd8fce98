//! HTTP/2 as bytes: frames in, frames out.
//!
//! In: what a connection brings, however it is cut. Out: its frames, checked by themselves; a
//! head that comes in pieces is one. What they mean for a connection is for its server.
//! Law: RFC 9113 §3.4, §4, §6, §7. Fields are [`crate::hpack`]'s.
//! Start at [`Reader`].

mod frames;
mod write;

pub use frames::{Fault, Frame, PREFACE, Reader, Setting, settings};
pub use write::{
    CONTINUATION_BYTES_MAX, push_data_head, push_goaway, push_head, push_ping, push_reset,
    push_settings, push_settings_ack, push_window_update,
};

/// Bytes that stand before each frame's payload.
pub const FRAME_HEAD_BYTES: usize = 9;
/// Frames are no larger, either way: what each side takes unless it says otherwise.
pub const FRAME_BYTES_MAX: usize = 16 << 10;
/// No window is larger.
pub const WINDOW_BYTES_MAX: i64 = (1 << 31) - 1;
/// How large a window is before anybody says otherwise.
pub const WINDOW_BYTES: i64 = (1 << 16) - 1;

/// Kinds of frames.
mod kind {
    pub(crate) const DATA: u8 = 0x0;
    pub(crate) const HEADERS: u8 = 0x1;
    pub(crate) const PRIORITY: u8 = 0x2;
    pub(crate) const RST_STREAM: u8 = 0x3;
    pub(crate) const SETTINGS: u8 = 0x4;
    pub(crate) const PUSH_PROMISE: u8 = 0x5;
    pub(crate) const PING: u8 = 0x6;
    pub(crate) const GOAWAY: u8 = 0x7;
    pub(crate) const WINDOW_UPDATE: u8 = 0x8;
    pub(crate) const CONTINUATION: u8 = 0x9;
}

/// What frames say beside their kind.
mod flag {
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Numbers of settings.
mod setting {
    pub(crate) const ENABLE_PUSH: u16 = 0x2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 0x3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 0x4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 0x5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 0x6;
}

/// Why a stream or a connection ends (RFC 9113 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// Nothing is wrong.
    NoError = 0x0,
    /// The other side does not keep to the law.
    Protocol = 0x1,
    /// It is the server's fault.
    Internal = 0x2,
    /// More came than there was a window for.
    FlowControl = 0x3,
    /// A frame for a stream that is over.
    StreamClosed = 0x5,
    /// A frame of a size that it must not have.
    FrameSize = 0x6,
    /// Nothing was done about a request.
    RefusedStream = 0x7,
    /// Its answer is not sent to the end.
    Cancel = 0x8,
    /// A block of fields can't be decoded.
    Compression = 0x9,
    /// The other side does too much.
    EnhanceYourCalm = 0xb,
}

//! HTTP/3 as bytes: frames, settings, request heads.
//!
//! In: what streams bring, however it is cut. Out: frames as they begin, their payloads as
//! they come, and heads as HTTP/1.1 would tell them. QUIC itself is a library's.
//! Law: RFC 9114 §4.3, §6.2, §7, §8.1; RFC 9000 §16.

mod frames;
mod head;
mod settings;

pub use frames::{Frames, Number, Step, push_frame, push_number};
pub use head::read_head;
pub use settings::{SettingsError, check_settings, push_settings};

/// Kinds of frames.
pub mod frame {
    /// A piece of a body.
    pub const DATA: u64 = 0x0;
    /// A head, or trailers.
    pub const HEADERS: u64 = 0x1;
    /// A push is not wanted.
    pub const CANCEL_PUSH: u64 = 0x3;
    /// What a side takes.
    pub const SETTINGS: u64 = 0x4;
    /// A push is promised.
    pub const PUSH_PROMISE: u64 = 0x5;
    /// Nothing more is answered from here on.
    pub const GOAWAY: u64 = 0x7;
    /// How many pushes may be promised.
    pub const MAX_PUSH_ID: u64 = 0xd;

    /// Whether HTTP/2 has such a frame and HTTP/3 must not (RFC 9114 §11.2.1).
    #[must_use]
    pub fn is_of_http2(kind: u64) -> bool {
        matches!(kind, 0x2 | 0x6 | 0x8 | 0x9)
    }
}

/// Kinds of streams that go one way.
pub mod stream {
    /// Settings, and the end.
    pub const CONTROL: u64 = 0x0;
    /// What a server sends unasked.
    pub const PUSH: u64 = 0x1;
    /// What goes into QPACK's dynamic table.
    pub const ENCODER: u64 = 0x2;
    /// What was taken from it.
    pub const DECODER: u64 = 0x3;
}

/// Why a stream or a connection ends (RFC 9114 §8.1, RFC 9204 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Code {
    /// Nothing is wrong.
    NoError = 0x100,
    /// It is the server's fault.
    Internal = 0x102,
    /// A stream that there must not be.
    StreamCreation = 0x103,
    /// A stream ended that must not end.
    ClosedCriticalStream = 0x104,
    /// A frame that must not come here.
    FrameUnexpected = 0x105,
    /// A frame that is not laid out as it must be.
    Frame = 0x106,
    /// The other side does too much.
    ExcessiveLoad = 0x107,
    /// Settings that there must not be.
    Settings = 0x109,
    /// The first frame is not SETTINGS.
    MissingSettings = 0x10a,
    /// Nothing was done about a request.
    RequestRejected = 0x10b,
    /// Its answer is not sent to the end.
    RequestCancelled = 0x10c,
    /// It ended too soon.
    RequestIncomplete = 0x10d,
    /// It is malformed.
    Message = 0x10e,
    /// A block of fields can't be decoded.
    DecompressionFailed = 0x200,
    /// What goes into the dynamic table can't be read, or there is no room for it.
    EncoderStream = 0x201,
}

impl Code {
    /// The code as it is sent.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

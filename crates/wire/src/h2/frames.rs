//! The frames of a connection, out of its bytes.
//!
//! A frame that has come whole is read where it lies; only the beginning of one that has not
//! is kept. Law: RFC 9113 §4.1, §4.3, §6.
//! Bounds: one frame of [`FRAME_BYTES_MAX`] is kept, and one head of `block_bytes_max`.
//! Invariant: the same frames come out however the bytes were cut.

use crate::h2::{Code, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, WINDOW_BYTES_MAX, flag, kind, setting};

/// What a client says before its first frame.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Why a connection can't be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(pub Code);

/// One frame, as far as it says something by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A piece of a body.
    Data {
        /// Whose.
        stream: u32,
        /// The piece.
        bytes: &'a [u8],
        /// What it takes of windows: with its padding.
        window_bytes: usize,
        /// Whether nothing follows.
        ends_stream: bool,
    },
    /// A head has begun that comes in pieces, or goes on.
    HeadGoesOn {
        /// Whether this is not its first piece.
        is_continued: bool,
    },
    /// A head, or trailers.
    Head {
        /// Whose.
        stream: u32,
        /// All of its fields.
        block: &'a [u8],
        /// Whether nothing follows.
        ends_stream: bool,
        /// Whether its last piece was not its first.
        is_continued: bool,
        /// Whether its stream is said to depend on itself.
        depends_on_itself: bool,
    },
    /// A stream is not wanted any longer.
    Reset {
        /// Which.
        stream: u32,
    },
    /// What the client takes, for [`settings`].
    Settings(&'a [u8]),
    /// What we take was read.
    SettingsAck,
    /// It is to be said again.
    Ping([u8; 8]),
    /// What we said was said again.
    PingAck([u8; 8]),
    /// The client asks for nothing more.
    GoAway,
    /// More may be sent.
    WindowUpdate {
        /// On which stream; 0: on all together.
        stream: u32,
        /// So much.
        bytes: u32,
    },
    /// The stream is in fault, not the connection.
    Faulty {
        /// Which.
        stream: u32,
        /// Why it ends.
        code: Code,
    },
    /// It says nothing that matters here: PRIORITY, and what nobody knows.
    Other,
}

/// A head of which the last piece has not come.
#[derive(Clone, Copy)]
struct Begun {
    stream: u32,
    ends_stream: bool,
    depends_on_itself: bool,
}

/// A frame's head, taken apart.
#[derive(Clone, Copy)]
struct Head {
    length: usize,
    kind: u8,
    flags: u8,
    stream: u32,
}

impl Head {
    fn of(bytes: &[u8; FRAME_HEAD_BYTES]) -> Self {
        let [a, b, c, kind, flags, d, e, f, g] = *bytes;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        // The first bit is reserved.
        let stream = u32::from_be_bytes([d & 0x7f, e, f, g]);
        Self { length, kind, flags, stream }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Finds frames in what a connection brings.
#[derive(Default)]
pub struct Reader {
    /// The beginning of what has not come whole, or what was handed out last.
    held: Vec<u8>,
    is_handed_out: bool,
    /// The fields of a head that comes in pieces.
    block: Vec<u8>,
    block_bytes_max: usize,
    begun: Option<Begun>,
    has_preface: bool,
    has_settings: bool,
}

impl Reader {
    /// A head's fields may come to so many bytes as they are sent.
    #[must_use]
    pub fn new(block_bytes_max: usize) -> Self {
        Self { block_bytes_max, ..Self::default() }
    }

    /// Whether the client has said what one of HTTP/2 says first.
    #[must_use]
    pub fn has_preface(&self) -> bool {
        self.has_preface
    }

    /// Whether a frame or a head has begun and not ended.
    #[must_use]
    pub fn is_midway(&self) -> bool {
        self.begun.is_some() || !(self.held.is_empty() || self.is_handed_out)
    }

    /// Gives back what one that rests need not hold.
    pub fn rest(&mut self) {
        if self.is_handed_out || self.held.is_empty() {
            (self.held, self.is_handed_out) = (Vec::new(), false);
        }
        if self.begun.is_none() {
            self.block = Vec::new();
        }
    }

    /// Takes one frame off what has come; none: all of it was taken, and is not whole.
    ///
    /// # Errors
    /// The connection must end, and so.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Frame<'a>>, Fault> {
        if std::mem::take(&mut self.is_handed_out) {
            self.held.clear();
        }
        if !self.has_preface {
            if !self.gather(input, PREFACE.len()) {
                return match PREFACE.starts_with(&self.held) {
                    true => Ok(None),
                    false => Err(Fault(Code::Protocol)),
                };
            }
            if self.held != PREFACE {
                return Err(Fault(Code::Protocol));
            }
            self.held.clear();
            self.has_preface = true;
        }
        let come: &'i [u8] = input;
        if self.held.is_empty()
            && let Some((first, behind)) = come.split_first_chunk()
        {
            let head = self.check(Head::of(first))?;
            if let Some((payload, rest)) = behind.split_at_checked(head.length) {
                *input = rest;
                return self.read(head, Some(payload)).map(Some);
            }
        }
        if !self.gather(input, FRAME_HEAD_BYTES) {
            return Ok(None);
        }
        let Some((first, _)) = self.held.split_first_chunk() else { return Ok(None) };
        let head = self.check(Head::of(first))?;
        if !self.gather(input, FRAME_HEAD_BYTES + head.length) {
            return Ok(None);
        }
        self.is_handed_out = true;
        self.read(head, None).map(Some)
    }

    /// Holds so many bytes, if they have come.
    fn gather(&mut self, input: &mut &[u8], bytes: usize) -> bool {
        let come = *input;
        let taken = bytes.saturating_sub(self.held.len()).min(come.len());
        let (more, rest) = come.split_at(taken);
        self.held.extend_from_slice(more);
        *input = rest;
        self.held.len() >= bytes
    }

    /// Whether this frame may come now, and may be so long.
    fn check(&mut self, head: Head) -> Result<Head, Fault> {
        if head.length > FRAME_BYTES_MAX {
            return Err(Fault(Code::FrameSize));
        }
        let goes_on = head.kind == kind::CONTINUATION;
        let may_come = match self.begun {
            Some(begun) => goes_on && head.stream == begun.stream,
            None => !goes_on,
        };
        let is_first = !self.has_settings;
        if !may_come || (is_first && (head.kind != kind::SETTINGS || head.has(flag::ACK))) {
            return Err(Fault(Code::Protocol));
        }
        Ok(head)
    }

    /// Reads a frame whose payload is this, or is held behind its head.
    fn read<'a>(&'a mut self, head: Head, payload: Option<&'a [u8]>) -> Result<Frame<'a>, Fault> {
        self.has_settings = true;
        match head.kind {
            kind::HEADERS => return self.read_head(head, payload),
            kind::CONTINUATION => return self.read_continuation(head, payload),
            _ => {}
        }
        let payload = payload.unwrap_or_else(|| &self.held[FRAME_HEAD_BYTES..]);
        match head.kind {
            kind::DATA => read_data(head, payload),
            kind::PRIORITY => read_priority(head, payload),
            kind::RST_STREAM => {
                number(payload)?;
                on_stream(head)?;
                Ok(Frame::Reset { stream: head.stream })
            }
            kind::SETTINGS => read_settings(head, payload),
            kind::PUSH_PROMISE => Err(Fault(Code::Protocol)),
            kind::PING => read_ping(head, payload),
            kind::GOAWAY if head.stream != 0 => Err(Fault(Code::Protocol)),
            kind::GOAWAY if payload.len() < 8 => Err(Fault(Code::FrameSize)),
            kind::GOAWAY => Ok(Frame::GoAway),
            kind::WINDOW_UPDATE => read_window_update(head, payload),
            _ => Ok(Frame::Other),
        }
    }

    fn read_head<'a>(
        &'a mut self,
        head: Head,
        payload: Option<&'a [u8]>,
    ) -> Result<Frame<'a>, Fault> {
        on_stream(head)?;
        let held = &self.held;
        let payload = payload.unwrap_or_else(|| &held[FRAME_HEAD_BYTES..]);
        let (mut block, _) = unpadded(head, payload)?;
        let mut depends_on_itself = false;
        if head.has(flag::PRIORITY) {
            let (priority, behind) = block.split_at_checked(5).ok_or(Fault(Code::FrameSize))?;
            depends_on_itself = dependency(priority) == Some(head.stream);
            block = behind;
        }
        let (stream, ends_stream) = (head.stream, head.has(flag::END_STREAM));
        if head.has(flag::END_HEADERS) {
            let is_continued = false;
            return Ok(Frame::Head { stream, block, ends_stream, is_continued, depends_on_itself });
        }
        self.block.clear();
        self.block.extend_from_slice(block);
        self.begun = Some(Begun { stream, ends_stream, depends_on_itself });
        Ok(Frame::HeadGoesOn { is_continued: false })
    }

    fn read_continuation<'a>(
        &'a mut self,
        head: Head,
        payload: Option<&'a [u8]>,
    ) -> Result<Frame<'a>, Fault> {
        let payload = payload.unwrap_or_else(|| &self.held[FRAME_HEAD_BYTES..]);
        if self.block.len() + payload.len() > self.block_bytes_max {
            return Err(Fault(Code::EnhanceYourCalm));
        }
        self.block.extend_from_slice(payload);
        if !head.has(flag::END_HEADERS) {
            return Ok(Frame::HeadGoesOn { is_continued: true });
        }
        let Some(Begun { stream, ends_stream, depends_on_itself }) = self.begun.take() else {
            return Err(Fault(Code::Protocol));
        };
        let (block, is_continued) = (&self.block[..], true);
        Ok(Frame::Head { stream, block, ends_stream, is_continued, depends_on_itself })
    }
}

fn on_stream(head: Head) -> Result<(), Fault> {
    if head.stream == 0 { Err(Fault(Code::Protocol)) } else { Ok(()) }
}

/// A payload without its padding; and all of it.
fn unpadded(head: Head, payload: &[u8]) -> Result<(&[u8], usize), Fault> {
    if !head.has(flag::PADDED) {
        return Ok((payload, payload.len()));
    }
    let (padding, rest) = payload.split_first().ok_or(Fault(Code::FrameSize))?;
    let length = rest.len().checked_sub(usize::from(*padding)).ok_or(Fault(Code::Protocol))?;
    Ok((&rest[..length], payload.len()))
}

fn read_data(head: Head, payload: &[u8]) -> Result<Frame<'_>, Fault> {
    on_stream(head)?;
    let (bytes, window_bytes) = unpadded(head, payload)?;
    let ends_stream = head.has(flag::END_STREAM);
    Ok(Frame::Data { stream: head.stream, bytes, window_bytes, ends_stream })
}

/// The stream that a priority depends on.
fn dependency(priority: &[u8]) -> Option<u32> {
    let [a, b, c, d, _] = *priority else { return None };
    Some(u32::from_be_bytes([a & 0x7f, b, c, d]))
}

fn read_priority(head: Head, payload: &[u8]) -> Result<Frame<'static>, Fault> {
    on_stream(head)?;
    let stream = head.stream;
    Ok(match dependency(payload) {
        None => Frame::Faulty { stream, code: Code::FrameSize },
        Some(on) if on == stream => Frame::Faulty { stream, code: Code::Protocol },
        Some(_) => Frame::Other,
    })
}

fn read_settings(head: Head, payload: &[u8]) -> Result<Frame<'_>, Fault> {
    match (head.stream, head.has(flag::ACK), payload.len()) {
        (1.., _, _) => Err(Fault(Code::Protocol)),
        (_, true, 0) => Ok(Frame::SettingsAck),
        (_, false, length) if length.is_multiple_of(6) => Ok(Frame::Settings(payload)),
        _ => Err(Fault(Code::FrameSize)),
    }
}

fn read_ping(head: Head, payload: &[u8]) -> Result<Frame<'static>, Fault> {
    let said = payload.try_into().map_err(|_| Fault(Code::FrameSize))?;
    match (head.stream, head.has(flag::ACK)) {
        (1.., _) => Err(Fault(Code::Protocol)),
        (_, true) => Ok(Frame::PingAck(said)),
        (_, false) => Ok(Frame::Ping(said)),
    }
}

fn read_window_update(head: Head, payload: &[u8]) -> Result<Frame<'static>, Fault> {
    let bytes = number(payload)? & 0x7fff_ffff;
    match (head.stream, bytes) {
        (0, 0) => Err(Fault(Code::Protocol)),
        (stream, 0) => Ok(Frame::Faulty { stream, code: Code::Protocol }),
        (stream, bytes) => Ok(Frame::WindowUpdate { stream, bytes }),
    }
}

/// A payload that is one number.
fn number(payload: &[u8]) -> Result<u32, Fault> {
    payload.try_into().map(u32::from_be_bytes).map_err(|_| Fault(Code::FrameSize))
}

/// A setting that a server minds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// How large the window of a stream is at first.
    Window(i64),
}

/// Reads the payload of SETTINGS.
///
/// # Errors
/// A setting has a value that it must not have.
pub fn settings(payload: &[u8]) -> impl Iterator<Item = Result<Setting, Fault>> {
    payload.chunks_exact(6).filter_map(|entry| {
        let [a, b, c, d, e, f] = *entry else { return None };
        let value = u32::from_be_bytes([c, d, e, f]);
        let frame_bytes = FRAME_BYTES_MAX as u32..1 << 24;
        match u16::from_be_bytes([a, b]) {
            setting::ENABLE_PUSH if value > 1 => Some(Err(Fault(Code::Protocol))),
            setting::MAX_FRAME_SIZE if !frame_bytes.contains(&value) => {
                Some(Err(Fault(Code::Protocol)))
            }
            setting::INITIAL_WINDOW_SIZE if i64::from(value) > WINDOW_BYTES_MAX => {
                Some(Err(Fault(Code::FlowControl)))
            }
            setting::INITIAL_WINDOW_SIZE => Some(Ok(Setting::Window(i64::from(value)))),
            _ => None,
        }
    })
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;

//! WebSocket as bytes: frames as a client sends them, the messages that they make, frames back.
//!
//! In: what a connection brings, however it is cut. Out: text messages and control frames, one by
//! one, or why the connection is to be closed. The handshake is whose the connection is.
//! Law: RFC 6455 §5 and §7.4, without extensions. Binary messages are refused.
//! Invariants: 1. no message is larger than was said; one that would be is refused by its head.
//! 2. what isn't masked, or could be read in two ways, is refused. 3. behind a close, and behind
//! what was refused, nothing is read. 4. between messages no room is held for one.
//! Start at [`Reader::read`].

/// The longest head: two bytes, eight of length, four of the mask.
const HEAD_BYTES_MAX: usize = 14;
/// Payload of a control frame (§5.5).
pub const CONTROL_BYTES_MAX: usize = 125;
/// Room that a message had and that is kept for the next one.
const KEPT_BYTES_MAX: usize = 1024;

const CONTINUATION: u8 = 0x0;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

const LAST: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;

/// Why a connection ends (§7.4.1).
pub mod code {
    /// All is said.
    pub const NORMAL: u16 = 1000;
    /// The server stops, or another takes its place.
    pub const GOING_AWAY: u16 = 1001;
    /// What was sent is against the protocol.
    pub const PROTOCOL: u16 = 1002;
    /// Nobody takes such messages here.
    pub const UNSUPPORTED: u16 = 1003;
    /// A text that is none.
    pub const INVALID: u16 = 1007;
    /// What is sent is against the rules here.
    pub const POLICY: u16 = 1008;
    /// A message is too large.
    pub const TOO_LARGE: u16 = 1009;
}

/// What a client said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A whole message.
    Text(&'a str),
    /// Whether we are there; it wants these bytes back.
    Ping(&'a [u8]),
    /// It is there.
    Pong(&'a [u8]),
    /// It goes, with a code if it says one.
    Close(Option<u16>),
}

/// Why a connection has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No client may send this.
    #[error("a frame is against the protocol")]
    Protocol,
    /// Only text is understood.
    #[error("a message is not text")]
    Binary,
    /// It says it is text, and isn't.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// A message is larger than is taken.
    #[error("a message is too large")]
    TooLarge,
}

impl FrameError {
    /// What the client is told.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Protocol => code::PROTOCOL,
            Self::Binary => code::UNSUPPORTED,
            Self::NotUtf8 => code::INVALID,
            Self::TooLarge => code::TOO_LARGE,
        }
    }
}

/// A frame whose payload comes.
#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: u8,
    is_last: bool,
    mask: [u8; 4],
    /// Bytes of its payload that came.
    filled: usize,
    bytes: usize,
}

/// Reads what one client sends.
#[derive(Debug)]
pub struct Reader {
    message_bytes_max: usize,
    head: [u8; HEAD_BYTES_MAX],
    head_filled: usize,
    frame: Option<Frame>,
    message: Vec<u8>,
    /// A message has begun, and frames of it follow.
    is_within: bool,
    /// The message was told, and its room is free.
    is_told: bool,
    control: [u8; CONTROL_BYTES_MAX],
    is_over: bool,
}

impl Reader {
    /// A reader of a connection that was just made, which takes messages up to so many bytes.
    #[must_use]
    pub fn new(message_bytes_max: usize) -> Self {
        Self {
            message_bytes_max,
            head: [0; HEAD_BYTES_MAX],
            head_filled: 0,
            frame: None,
            message: Vec::new(),
            is_within: false,
            is_told: false,
            control: [0; CONTROL_BYTES_MAX],
            is_over: false,
        }
    }

    /// Takes from the bytes up to the end of what they say next; none if more must come. It is to
    /// be called until then.
    ///
    /// # Errors
    /// The connection has to be closed; nothing more is read.
    pub fn read<'a>(&'a mut self, bytes: &mut &[u8]) -> Result<Option<Heard<'a>>, FrameError> {
        if std::mem::take(&mut self.is_told) {
            self.message.clear();
            self.message.shrink_to(KEPT_BYTES_MAX);
        }
        let ended = self.next_end(bytes).inspect_err(|_| self.is_over = true)?;
        if self.is_over {
            *bytes = &[];
        }
        let Some(frame) = ended else { return Ok(None) };
        let payload = &self.control[..frame.bytes.min(CONTROL_BYTES_MAX)];
        let heard = match frame.opcode {
            PING => Heard::Ping(payload),
            PONG => Heard::Pong(payload),
            CLOSE => {
                self.is_over = true;
                *bytes = &[];
                Heard::Close(close_code(payload)?)
            }
            _ => {
                self.is_told = true;
                match std::str::from_utf8(&self.message) {
                    Ok(text) => Heard::Text(text),
                    Err(_) => {
                        self.is_over = true;
                        return Err(FrameError::NotUtf8);
                    }
                }
            }
        };
        Ok(Some(heard))
    }

    /// The next frame that ends a message, or is one of control.
    fn next_end(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        while !self.is_over {
            let begun = match self.frame.take() {
                Some(frame) => Some(frame),
                None => self.begin(bytes)?,
            };
            let Some(mut frame) = begun else { return Ok(None) };
            let (payload, rest) = bytes.split_at(bytes.len().min(frame.bytes - frame.filled));
            *bytes = rest;
            self.take_payload(&mut frame, payload);
            if frame.filled < frame.bytes {
                self.frame = Some(frame);
                return Ok(None);
            }
            if is_control(frame.opcode) {
                return Ok(Some(frame));
            }
            self.is_within = !frame.is_last;
            if frame.is_last {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// The next frame, when all of its head is there.
    fn begin(&mut self, bytes: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        while self.head_filled < head_bytes(&self.head[..self.head_filled]) {
            let Some((&byte, rest)) = bytes.split_first() else { return Ok(None) };
            *bytes = rest;
            self.head[self.head_filled] = byte;
            self.head_filled += 1;
            if self.head_filled == 2 {
                // Who doesn't mask sends no mask to wait for.
                self.check_head()?;
            }
        }
        let head = &self.head[..std::mem::take(&mut self.head_filled)];
        let (lengths, mask) = head[1..].split_at(head.len() - 5);
        let mask = mask.first_chunk().copied().ok_or(FrameError::Protocol)?;
        let bytes = length(lengths)?;
        let [first, ..] = self.head;
        let (opcode, is_last) = (first & OPCODE, first & LAST != 0);
        if !is_control(opcode) && bytes > (self.message_bytes_max - self.message.len()) as u64 {
            return Err(FrameError::TooLarge);
        }
        // It fits, as no more than a message does.
        Ok(Some(Frame { opcode, is_last, mask, filled: 0, bytes: bytes as usize }))
    }

    /// Whether a frame may begin so.
    fn check_head(&self) -> Result<(), FrameError> {
        let [first, second, ..] = self.head;
        let is_last = first & LAST != 0;
        let is_fit = match first & OPCODE {
            CONTINUATION => self.is_within,
            TEXT | BINARY => !self.is_within,
            CLOSE | PING | PONG => is_last && usize::from(second & LENGTH) <= CONTROL_BYTES_MAX,
            _ => false,
        };
        if !is_fit || first & RESERVED != 0 || second & MASKED == 0 {
            return Err(FrameError::Protocol);
        }
        if first & OPCODE == BINARY { Err(FrameError::Binary) } else { Ok(()) }
    }

    fn take_payload(&mut self, frame: &mut Frame, payload: &[u8]) {
        let mask = frame.mask;
        let masks = (0..4).cycle().skip(frame.filled % 4).map(|at: usize| mask[at]);
        let plain = payload.iter().zip(masks).map(|(byte, mask)| byte ^ mask);
        if is_control(frame.opcode) {
            self.control[frame.filled..].iter_mut().zip(plain).for_each(|(to, byte)| *to = byte);
        } else {
            self.message.extend(plain);
        }
        frame.filled += payload.len();
    }
}

fn is_control(opcode: u8) -> bool {
    opcode >= CLOSE
}

/// How long a head is, by what is known of it.
fn head_bytes(filled: &[u8]) -> usize {
    match filled.get(1).map(|second| second & LENGTH) {
        None => 2,
        Some(127) => 14,
        Some(126) => 8,
        Some(_) => 6,
    }
}

/// The length of a payload, which has to be said in as few bytes as can be (§5.2).
fn length(said: &[u8]) -> Result<u64, FrameError> {
    let (second, more) = said.split_first().ok_or(FrameError::Protocol)?;
    let long = more.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    match (more.len(), second & LENGTH) {
        (0, short) => Ok(u64::from(short)),
        (2, _) if long > 125 => Ok(long),
        (8, _) if long > 0xffff && long >> 63 == 0 => Ok(long),
        _ => Err(FrameError::Protocol),
    }
}

/// The code in a close frame (§5.5.1, §7.4).
fn close_code(payload: &[u8]) -> Result<Option<u16>, FrameError> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return if payload.is_empty() { Ok(None) } else { Err(FrameError::Protocol) };
    };
    let code = u16::from_be_bytes(*code);
    match code {
        1000..=1003 | 1007..=1014 | 3000..=4999 if std::str::from_utf8(reason).is_ok() => {
            Ok(Some(code))
        }
        1000..=1003 | 1007..=1014 | 3000..=4999 => Err(FrameError::NotUtf8),
        _ => Err(FrameError::Protocol),
    }
}

/// Appends a message.
pub fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_frame(out, TEXT, text);
}

/// Appends a question whether the client is there.
pub fn put_ping(out: &mut Vec<u8>) {
    put_frame(out, PING, b"");
}

/// Appends what answers a [`Heard::Ping`].
pub fn put_pong(out: &mut Vec<u8>, payload: &[u8]) {
    put_frame(out, PONG, &payload[..payload.len().min(CONTROL_BYTES_MAX)]);
}

/// Appends the last frame.
pub fn put_close(out: &mut Vec<u8>, code: u16) {
    put_frame(out, CLOSE, &code.to_be_bytes());
}

/// One frame, not masked, as a server sends them.
fn put_frame(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    out.reserve(10 + payload.len());
    out.push(LAST | opcode);
    let count = payload.len();
    match (u8::try_from(count), u16::try_from(count)) {
        (Ok(short), _) if short <= 125 => out.push(short),
        (_, Ok(middle)) => {
            out.push(126);
            out.extend_from_slice(&middle.to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&(count as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests;

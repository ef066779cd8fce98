//! Frames of one stream: where each begins, how long it is, and its payload as it comes.
//!
//! Nothing is gathered here, so a frame may be as long as its sender says; who wants a payload
//! whole decides how long that may be.
//! Invariant: the same steps come out however the bytes are cut.

use bytes::Bytes;

/// A number of one to eight bytes, as far as it has come (RFC 9000 §16).
#[derive(Clone, Copy, Debug, Default)]
pub struct Number {
    value: u64,
    /// Bytes that have not come; none has if `has_begun` is false.
    missing: u8,
    has_begun: bool,
}

impl Number {
    /// Takes what there is of it; the number once it is whole.
    pub fn take(&mut self, bytes: &mut Bytes) -> Option<u64> {
        while let Some(&byte) = bytes.first() {
            let _ = bytes.split_to(1);
            if self.has_begun {
                self.value = self.value << 8 | u64::from(byte);
                self.missing -= 1;
            } else {
                self.has_begun = true;
                self.value = u64::from(byte & 0x3f);
                self.missing = (1 << (byte >> 6)) - 1;
            }
            if self.missing == 0 {
                return Some(std::mem::take(self).value);
            }
        }
        None
    }

    /// Whether some of it has come.
    #[must_use]
    pub fn is_midway(&self) -> bool {
        self.has_begun
    }
}

/// What comes next on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A frame of this kind and length.
    Begins(u64, u64),
    /// A piece of its payload, never an empty one.
    Payload(Bytes),
    /// All of it has come.
    Ends,
}

/// Follows the frames of one stream.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    number: Number,
    kind: Option<u64>,
    /// Of the frame that has begun; 0 with `is_open` ends it.
    left: u64,
    is_open: bool,
}

impl Frames {
    /// Takes the next step from what there is; none: more bytes are needed.
    pub fn next(&mut self, bytes: &mut Bytes) -> Option<Step> {
        if self.is_open {
            if self.left == 0 {
                self.is_open = false;
                return Some(Step::Ends);
            }
            let taken = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
            self.left -= taken as u64;
            return (taken > 0).then(|| Step::Payload(bytes.split_to(taken)));
        }
        let kind = match self.kind {
            Some(kind) => kind,
            None => *self.kind.insert(self.number.take(bytes)?),
        };
        self.left = self.number.take(bytes)?;
        (self.kind, self.is_open) = (None, true);
        Some(Step::Begins(kind, self.left))
    }

    /// Whether a frame has begun that has not ended.
    #[must_use]
    pub fn is_midway(&self) -> bool {
        self.is_open || self.kind.is_some() || self.number.is_midway()
    }
}

/// Appends a number; of those that are too large for one, the largest.
pub fn push_number(out: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => out.push(number as u8),
        0x40..0x4000 => out.extend_from_slice(&(number as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => {
            out.extend_from_slice(&(number as u32 | 0x8000_0000).to_be_bytes());
        }
        _ => out.extend_from_slice(&(number.min((1 << 62) - 1) | 0b11 << 62).to_be_bytes()),
    }
}

/// Appends what stands before a frame's payload.
pub fn push_frame(out: &mut Vec<u8>, kind: u64, length: usize) {
    push_number(out, kind);
    push_number(out, length as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps on one line; payloads joined.
    fn shown(pieces: &[&[u8]]) -> (String, bool) {
        let (mut frames, mut text, mut payload) = (Frames::default(), String::new(), Vec::new());
        for piece in pieces {
            let mut bytes = Bytes::copy_from_slice(piece);
            while let Some(step) = frames.next(&mut bytes) {
                match step {
                    Step::Begins(kind, length) => text += &format!("{kind}/{length}:"),
                    Step::Payload(piece) => payload.extend_from_slice(&piece),
                    Step::Ends => {
                        text += &String::from_utf8_lossy(&std::mem::take(&mut payload));
                        text += ". ";
                    }
                }
            }
            assert!(bytes.is_empty());
        }
        (text, frames.is_midway())
    }

    #[test]
    fn frames_are_the_same_however_they_are_cut() {
        let mut bytes = vec![0, 3, b'a', b'b', b'c', 0x40, 0x21, 0x80, 0, 0, 2, b'd', b'e', 0, 0];
        bytes.extend_from_slice(&[0xc0, 0, 0, 0, 0, 0, 0, 1, 1, b'f', 0x40, 0]);
        bytes.push(0);
        let expected = "0/3:abc. 33/2:de. 0/0:. 1/1:f. 0/0:. ";
        for cut in 1..=bytes.len() {
            let pieces: Vec<&[u8]> = bytes.chunks(cut).collect();
            assert_eq!(shown(&pieces), (expected.to_owned(), false), "{cut}");
        }
    }

    #[test]
    fn what_has_begun_is_known_to_be_midway() {
        for (bytes, is_midway) in [
            (&[][..], false),
            (&[0x40], true),
            (&[0], true),
            (&[0, 0x40], true),
            (&[0, 1], true),
            (&[0, 1, 2], false),
            (&[0, 0], false),
        ] {
            assert_eq!(shown(&[bytes]).1, is_midway, "{bytes:?}");
        }
    }

    #[test]
    fn numbers_come_back_in_the_fewest_bytes() {
        for (number, length) in [
            (0, 1),
            (63, 1),
            (64, 2),
            (0x3fff, 2),
            (0x4000, 4),
            (0x3fff_ffff, 4),
            (0x4000_0000, 8),
            ((1 << 62) - 1, 8),
        ] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out.len(), length);
            assert_eq!(Number::default().take(&mut Bytes::from(out)), Some(number));
        }
    }
}

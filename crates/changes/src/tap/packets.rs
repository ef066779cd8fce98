//! Packets: the pieces that a conversation with MariaDB or MySQL is cut into.
//!
//! In: bytes of one direction, cut anywhere. Out: each packet's beginning and its length.
//! Law: the client/server protocol; a packet of 16 MiB less one byte goes on in the next.
//! Invariant: of a packet no more than a stated number of bytes is kept.

/// A piece of so many bytes is not the last of its packet.
const PIECE_BYTES_MAX: usize = 0xff_ffff;
const HEAD_BYTES: usize = 4;
/// A buffer that grew beyond this is given back.
const SPARE_BYTES_MAX: usize = 16 << 10;

/// Cuts one direction into packets.
#[derive(Debug, Default)]
pub(super) struct Packets {
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    /// Of the piece.
    left_bytes: usize,
    goes_on: bool,
    is_within: bool,
    is_whole: bool,
    first_number: u8,
    kept: Vec<u8>,
    length: usize,
}

/// One packet, as much of it as was kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    pub(super) kept: &'a [u8],
    /// Of the whole.
    pub(super) length: usize,
    /// Its number within its exchange; commands have 0.
    pub(super) number: u8,
}

impl Packet<'_> {
    /// Whether all of it was kept.
    pub(super) fn is_all(&self) -> bool {
        self.kept.len() == self.length
    }
}

impl Packets {
    /// Takes from `bytes` up to the end of a packet. True: there is one, see [`Self::packet`].
    /// `most` says how much of a packet is kept, by its first byte.
    pub(super) fn take(&mut self, bytes: &mut &[u8], most: impl Fn(u8) -> usize) -> bool {
        if std::mem::take(&mut self.is_whole) {
            self.begin_anew();
        }
        loop {
            if !self.take_head(bytes) {
                return false;
            }
            let (piece, rest) = bytes.split_at(bytes.len().min(self.left_bytes));
            *bytes = rest;
            self.left_bytes -= piece.len();
            self.length = self.length.saturating_add(piece.len());
            if let Some(first) = self.kept.first().or(piece.first()) {
                let room = most(*first).saturating_sub(self.kept.len());
                self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            if self.left_bytes > 0 {
                return false;
            }
            self.is_within = false;
            if !self.goes_on {
                self.is_whole = true;
                return true;
            }
        }
    }

    /// The packet that just became whole.
    pub(super) fn packet(&self) -> Packet<'_> {
        Packet { kept: &self.kept, length: self.length, number: self.first_number }
    }

    /// Whether a piece's head is there; takes it, if it can.
    fn take_head(&mut self, bytes: &mut &[u8]) -> bool {
        if self.is_within {
            return true;
        }
        let wanted = HEAD_BYTES - self.head_bytes;
        let (taken, rest) = bytes.split_at(bytes.len().min(wanted));
        self.head[self.head_bytes..][..taken.len()].copy_from_slice(taken);
        self.head_bytes += taken.len();
        *bytes = rest;
        if self.head_bytes < HEAD_BYTES {
            return false;
        }
        let [low, middle, high, number] = self.head;
        if !self.goes_on {
            self.first_number = number;
        }
        self.left_bytes = u32::from_le_bytes([low, middle, high, 0]) as usize;
        self.goes_on = self.left_bytes == PIECE_BYTES_MAX;
        self.head_bytes = 0;
        self.is_within = true;
        true
    }

    fn begin_anew(&mut self) {
        self.kept.clear();
        self.kept.shrink_to(SPARE_BYTES_MAX);
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len()).expect("short").to_le_bytes();
        [&length[..3], &[number], body].concat()
    }

    /// Each packet's number, length and kept bytes.
    fn cut<'a>(
        parts: impl IntoIterator<Item = &'a [u8]>,
        most: usize,
    ) -> Vec<(u8, usize, Vec<u8>)> {
        let mut packets = Packets::default();
        let mut found = Vec::new();
        for mut part in parts {
            while packets.take(&mut part, |_| most) {
                let Packet { kept, length, number } = packets.packet();
                found.push((number, length, kept.to_vec()));
            }
        }
        found
    }

    #[test]
    fn packets_are_the_same_however_they_come() {
        let bytes = [packet(0, b"\x03SELECT 1"), packet(1, b""), packet(2, b"abc")].concat();
        let expected =
            vec![(0, 9, b"\x03SELECT 1".to_vec()), (1, 0, Vec::new()), (2, 3, b"abc".to_vec())];
        assert_eq!(cut([&bytes[..]], 99), expected);
        for size in 1..9 {
            assert_eq!(cut(bytes.chunks(size), 99), expected, "{size}");
        }
        assert_eq!(cut([&bytes[..]], 2)[0], (0, 9, b"\x03S".to_vec()));
    }

    #[test]
    fn a_packet_of_several_pieces_is_one_and_its_rest_is_not_kept() {
        let full = vec![7; PIECE_BYTES_MAX];
        let bytes = [packet(0, &full), packet(1, b"x"), packet(0, &full), packet(1, b"")].concat();
        let found = cut(bytes.chunks(60_000), 3);
        let expected = [(0, PIECE_BYTES_MAX + 1, vec![7; 3]), (0, PIECE_BYTES_MAX, vec![7; 3])];
        assert_eq!(found, expected);
    }
}

//! What a client's frames are: counted as their bytes pass, so that one who sends frames that
//! ask for nothing is shown out.
//!
//! The library below answers PING and SETTINGS before it reads on, which bounds memory; it
//! doesn't bound how often. It refuses many streams that are reset before they were looked at;
//! here they are looked at at once. Law: RFC 9113 §4.1, §10.5.
//! Invariant: the same is counted however the bytes were cut.

use crate::streams::allowance::{Allowance, Excess};

/// So many bytes come before the first frame: the preface.
const PREFACE_BYTES: usize = 24;
/// Each so many bytes that a client takes let it send one more frame: its window is opened by
/// frames, while answers to PING and SETTINGS are too short to pay for the next.
const BYTES_A_FRAME: usize = 64;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Finds the frames in bytes that pass.
#[derive(Default)]
struct Frames {
    header: [u8; 9],
    /// Bytes of the frame's header that have come.
    come: usize,
    /// Bytes to let pass before the next header.
    left: usize,
}

impl Frames {
    /// Takes what there is up to the next frame's header, and gives that; none: all is taken.
    fn next(&mut self, bytes: &mut &[u8]) -> Option<[u8; 9]> {
        let passed = bytes.len().min(self.left);
        *bytes = &bytes[passed..];
        self.left -= passed;
        let taken = bytes.len().min(self.header.len() - self.come);
        self.header[self.come..self.come + taken].copy_from_slice(&bytes[..taken]);
        *bytes = &bytes[taken..];
        self.come += taken;
        if self.come < self.header.len() {
            return None;
        }
        self.come = 0;
        self.left = length(&self.header);
        Some(self.header)
    }

    /// Whether a frame has begun and not ended.
    fn is_midway(&self) -> bool {
        self.come > 0 || self.left > 0
    }
}

fn length(header: &[u8; 9]) -> usize {
    usize::from(header[0]) << 16 | usize::from(header[1]) << 8 | usize::from(header[2])
}

/// Follows the frames of one connection.
pub(crate) struct Meter {
    from_client: Frames,
    to_client: Frames,
    is_in_head: bool,
    resets: Allowance,
    idle: Allowance,
}

impl Meter {
    /// At once, and again in ten seconds, a client may send so many of each.
    pub(crate) fn new(resets_max: u32, idle_max: u32, ticks_ms: u64) -> Self {
        Self {
            from_client: Frames { left: PREFACE_BYTES, ..Frames::default() },
            to_client: Frames::default(),
            is_in_head: false,
            resets: Allowance::new(resets_max, ticks_ms),
            idle: Allowance::new(idle_max, ticks_ms),
        }
    }

    /// Looks at what was read.
    pub(crate) fn read(
        &mut self,
        mut bytes: &[u8],
        ticks_ms: impl Fn() -> u64,
    ) -> Result<(), Excess> {
        let mut seen = Ok(());
        while let Some(header) = self.from_client.next(&mut bytes) {
            seen = seen.and(self.note_frame(&header, &ticks_ms));
        }
        seen
    }

    /// Looks at what is about to be written; how many streams it resets.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> u64 {
        let mut resets = 0;
        while let Some([_, _, _, kind, ..]) = self.to_client.next(&mut bytes) {
            resets += u64::from(kind == RST_STREAM);
        }
        resets
    }

    /// So many bytes were taken by the client.
    pub(crate) fn wrote(&mut self, bytes: usize) {
        self.idle.give((bytes / BYTES_A_FRAME) as u32);
    }

    /// Whether a frame or a head has begun and not ended.
    pub(crate) fn is_midway(&self) -> bool {
        self.from_client.is_midway() || self.is_in_head
    }

    fn note_frame(&mut self, header: &[u8; 9], ticks_ms: &impl Fn() -> u64) -> Result<(), Excess> {
        let [_, _, _, kind, flags, ..] = *header;
        if matches!(kind, HEADERS | CONTINUATION) {
            self.is_in_head = flags & END_HEADERS == 0;
        }
        let (allowance, excess) = match kind {
            HEADERS => return Ok(()),
            DATA if length(header) > 0 || flags & END_STREAM != 0 => return Ok(()),
            RST_STREAM => (&mut self.resets, Excess::Resets),
            // SETTINGS, PING, PRIORITY, WINDOW_UPDATE, empty DATA, pieces of one head, and what
            // nobody knows.
            _ => (&mut self.idle, Excess::Idle),
        };
        if allowance.take(ticks_ms) { Ok(()) } else { Err(excess) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::streams::allowance::REFILL_MS;

    fn frame(length: usize, kind: u8, flags: u8) -> Vec<u8> {
        let mut bytes = vec![0, (length >> 8) as u8, length as u8, kind, flags, 0, 0, 0, 1];
        bytes.resize(9 + length, 0xff);
        bytes
    }

    fn after_preface() -> Meter {
        let mut meter = Meter::new(2, 3, 0);
        assert_eq!(meter.read(&[0; PREFACE_BYTES], || 0), Ok(()));
        meter
    }

    #[test]
    fn each_kind_of_frame_has_its_own_allowance() {
        for (kind, length, flags, most, excess) in [
            (RST_STREAM, 4, 0, 2, Some(Excess::Resets)),
            (4, 0, 0, 3, Some(Excess::Idle)),
            (6, 8, 0, 3, Some(Excess::Idle)),
            (2, 5, 0, 3, Some(Excess::Idle)),
            (8, 4, 0, 3, Some(Excess::Idle)),
            (CONTINUATION, 1, 0, 3, Some(Excess::Idle)),
            (200, 9, 0, 3, Some(Excess::Idle)),
            (DATA, 0, 0, 3, Some(Excess::Idle)),
            (DATA, 0, END_STREAM, 99, None),
            (DATA, 1, 0, 99, None),
            (HEADERS, 9, END_HEADERS, 99, None),
        ] {
            let mut meter = after_preface();
            for _ in 0..most {
                assert_eq!(meter.read(&frame(length, kind, flags), || 0), Ok(()), "{kind}");
            }
            let last = meter.read(&frame(length, kind, flags), || 0);
            assert_eq!(last.err(), excess, "{kind}");
        }
    }

    #[test]
    fn an_allowance_comes_back_with_time_and_with_bytes_taken() {
        let now = Cell::new(0);
        let mut meter = after_preface();
        let mut pings = |count: usize, wrote: usize| {
            meter.wrote(wrote);
            (0..count).filter(|_| meter.read(&frame(8, 6, 0), || now.get()).is_ok()).count()
        };
        assert_eq!(pings(9, 0), 3);
        assert_eq!(pings(9, BYTES_A_FRAME - 1), 0);
        assert_eq!(pings(9, 2 * BYTES_A_FRAME), 2);
        now.set(REFILL_MS / 3 + 1);
        assert_eq!(pings(9, 0), 1);
        now.set(100 * REFILL_MS);
        // What bytes gave, and what time gave once that was used up.
        assert_eq!(pings(9, 99 * BYTES_A_FRAME), 6);
    }

    #[test]
    fn frames_are_the_same_however_they_are_cut() {
        let mut bytes = vec![0; PREFACE_BYTES];
        for (length, kind, flags) in
            [(300, HEADERS, 0), (40, CONTINUATION, END_HEADERS), (9, DATA, 0), (4, RST_STREAM, 0)]
        {
            bytes.extend(frame(length, kind, flags));
        }
        bytes.extend(frame(4, RST_STREAM, 0));
        bytes.extend(frame(4, RST_STREAM, 0));
        for cut in 1..bytes.len() {
            let mut meter = Meter::new(2, 3, 0);
            let mut pieces = bytes.chunks(cut);
            let last = pieces.next_back().expect("there is one");
            let seen = pieces.try_for_each(|piece| meter.read(piece, || 0));
            let seen = seen.and_then(|()| meter.read(last, || 0));
            assert_eq!(seen, Err(Excess::Resets), "{cut}");
        }
    }

    #[test]
    fn a_head_is_midway_until_its_last_piece() {
        let mut meter = Meter::new(2, 3, 0);
        for (bytes, is_midway) in [
            (vec![0; PREFACE_BYTES - 1], true),
            (vec![0], false),
            (frame(3, HEADERS, 0), true),
            (frame(3, CONTINUATION, END_HEADERS), false),
            (frame(3, DATA, 0)[..11].to_vec(), true),
            (vec![0], false),
            (frame(3, DATA, 0)[..4].to_vec(), true),
        ] {
            assert_eq!(meter.read(&bytes, || 0), Ok(()));
            assert_eq!(meter.is_midway(), is_midway);
        }
    }
}

//! Frames as they are sent.

use crate::h2::{Code, FRAME_BYTES_MAX, FRAME_HEAD_BYTES, flag, kind, setting};

/// What a head's frame holds at most; the rest of it follows in others.
pub const CONTINUATION_BYTES_MAX: usize = FRAME_BYTES_MAX;

fn push_frame(out: &mut Vec<u8>, bytes: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (bytes as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Appends a head: the block of its fields, in as many frames as it needs.
pub fn push_head(out: &mut Vec<u8>, stream: u32, block: &[u8], ends_stream: bool) {
    out.reserve(FRAME_HEAD_BYTES + block.len());
    let (first, mut rest) = block.split_at(block.len().min(CONTINUATION_BYTES_MAX));
    let ends = |rest: &[u8]| if rest.is_empty() { flag::END_HEADERS } else { 0 };
    let flags = ends(rest) | if ends_stream { flag::END_STREAM } else { 0 };
    push_frame(out, first.len(), kind::HEADERS, flags, stream);
    out.extend_from_slice(first);
    while !rest.is_empty() {
        let (next, behind) = rest.split_at(rest.len().min(CONTINUATION_BYTES_MAX));
        push_frame(out, next.len(), kind::CONTINUATION, ends(behind), stream);
        out.extend_from_slice(next);
        rest = behind;
    }
}

/// Appends what stands before so many bytes of a body, which are no more than a frame holds.
pub fn push_data_head(out: &mut Vec<u8>, stream: u32, bytes: usize, ends_stream: bool) {
    debug_assert!(bytes <= FRAME_BYTES_MAX);
    push_frame(out, bytes, kind::DATA, if ends_stream { flag::END_STREAM } else { 0 }, stream);
}

/// Appends the end of a stream.
pub fn push_reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    push_frame(out, 4, kind::RST_STREAM, 0, stream);
    out.extend_from_slice(&(code as u32).to_be_bytes());
}

/// Appends leave to send so much more, on a stream or, with 0, on all together.
pub fn push_window_update(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    push_frame(out, 4, kind::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&bytes.to_be_bytes());
}

/// Appends what a server takes: streams at once, bytes of each, and of a head.
pub fn push_settings(out: &mut Vec<u8>, streams_max: u32, window_bytes: u32, head_bytes_max: u32) {
    let settings = [
        (setting::MAX_CONCURRENT_STREAMS, streams_max),
        (setting::INITIAL_WINDOW_SIZE, window_bytes),
        (setting::MAX_HEADER_LIST_SIZE, head_bytes_max),
    ];
    push_frame(out, 6 * settings.len(), kind::SETTINGS, 0, 0);
    for (number, value) in settings {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends that the other side's settings were read.
pub fn push_settings_ack(out: &mut Vec<u8>) {
    push_frame(out, 0, kind::SETTINGS, flag::ACK, 0);
}

/// Appends a ping, or the answer to one.
pub fn push_ping(out: &mut Vec<u8>, is_answer: bool, said: [u8; 8]) {
    push_frame(out, 8, kind::PING, if is_answer { flag::ACK } else { 0 }, 0);
    out.extend_from_slice(&said);
}

/// Appends that no stream behind this one is answered, and why.
pub fn push_goaway(out: &mut Vec<u8>, last_stream: u32, code: Code) {
    push_frame(out, 8, kind::GOAWAY, 0, 0);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&(code as u32).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::{Frame, PREFACE, Reader};

    #[test]
    fn a_long_head_is_sent_in_pieces_that_make_one_again() {
        for length in [0, 1, CONTINUATION_BYTES_MAX, CONTINUATION_BYTES_MAX + 1, 70_000] {
            let block: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let mut out = PREFACE.to_vec();
            push_settings_ack(&mut out);
            out[PREFACE.len() + 4] = 0;
            push_head(&mut out, 5, &block, true);
            let (mut reader, mut rest) = (Reader::new(1 << 20), &out[..]);
            let mut heads = 0;
            while let Some(frame) = reader.next(&mut rest).expect("frames") {
                if let Frame::Head { stream, block: read, ends_stream, .. } = frame {
                    assert_eq!((stream, read, ends_stream), (5, &block[..], true));
                    heads += 1;
                }
            }
            assert_eq!(heads, 1, "{length}");
        }
    }
}

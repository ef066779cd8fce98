//! Frames as a client may send them, whole and in every way that bytes can be cut.

use super::*;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// What the frames of these pieces say, behind a preface and SETTINGS; the fault comes last.
fn shown(bytes: &[u8], piece_bytes: usize) -> Vec<String> {
    let begun = [&PREFACE[..], &frame(kind::SETTINGS, 0, 0, b""), bytes].concat();
    let (mut reader, mut seen) = (Reader::new(40_000), Vec::new());
    for piece in begun.chunks(piece_bytes) {
        let mut rest = piece;
        loop {
            match reader.next(&mut rest) {
                Ok(Some(frame)) => seen.push(format!("{frame:?}")),
                Ok(None) => break,
                Err(Fault(code)) => {
                    seen.push(format!("{code:?}"));
                    return seen;
                }
            }
        }
        assert!(rest.is_empty());
        assert!(reader.held.len() <= FRAME_BYTES_MAX + FRAME_HEAD_BYTES);
    }
    seen
}

#[test]
fn each_frame_says_what_it_says_or_why_it_must_not() {
    let on = |kind, flags, payload: &[u8]| frame(kind, flags, 3, payload);
    let of_all = |kind, flags, payload: &[u8]| frame(kind, flags, 0, payload);
    let padded = flag::PADDED;
    for (bytes, expected) in [
        (on(kind::DATA, 0, b"ab"), "Data { stream: 3, bytes: [97, 98], window_bytes: 2, ends"),
        (on(kind::DATA, padded | 1, b"\x01a\0"), "bytes: [97], window_bytes: 3, ends_stream: true"),
        (on(kind::DATA, padded, b"\x02a"), "Protocol"),
        (on(kind::DATA, padded, b""), "FrameSize"),
        (of_all(kind::DATA, 0, b""), "Protocol"),
        (on(kind::DATA, 0, &[0; FRAME_BYTES_MAX + 1]), "FrameSize"),
        (on(kind::HEADERS, 4, b"x"), "block: [120], ends_stream: false, is_continued: false, dep"),
        (
            on(kind::HEADERS, 0x24, &[0x80, 0, 0, 3, 9]),
            "block: [], ends_stream: false, is_continued: false, depends_on_itself: true",
        ),
        (on(kind::HEADERS, 0x24, &[0, 0, 0, 3]), "FrameSize"),
        (of_all(kind::HEADERS, 4, b"x"), "Protocol"),
        (on(kind::PRIORITY, 0, &[0, 0, 0, 1, 9]), "Other"),
        (on(kind::PRIORITY, 0, &[0, 0, 0, 3, 9]), "Faulty { stream: 3, code: Protocol }"),
        (on(kind::PRIORITY, 0, &[0, 0, 0, 3]), "Faulty { stream: 3, code: FrameSize }"),
        (of_all(kind::PRIORITY, 0, &[0, 0, 0, 3, 9]), "Protocol"),
        (on(kind::RST_STREAM, 0, &[0; 4]), "Reset { stream: 3 }"),
        (on(kind::RST_STREAM, 0, &[0; 3]), "FrameSize"),
        (of_all(kind::RST_STREAM, 0, &[0; 4]), "Protocol"),
        (of_all(kind::SETTINGS, 0, &[0; 6]), "Settings([0, 0, 0, 0, 0, 0])"),
        (of_all(kind::SETTINGS, 0, &[0; 5]), "FrameSize"),
        (of_all(kind::SETTINGS, 1, b""), "SettingsAck"),
        (of_all(kind::SETTINGS, 1, &[0; 6]), "FrameSize"),
        (on(kind::SETTINGS, 0, b""), "Protocol"),
        (on(kind::PUSH_PROMISE, 4, &[0; 4]), "Protocol"),
        (of_all(kind::PING, 0, b"12345678"), "Ping([49, 50, 51, 52, 53, 54, 55, 56])"),
        (of_all(kind::PING, 1, b"12345678"), "PingAck([49, 50, 51, 52, 53, 54, 55, 56])"),
        (of_all(kind::PING, 0, b"1234567"), "FrameSize"),
        (on(kind::PING, 0, b"12345678"), "Protocol"),
        (of_all(kind::GOAWAY, 0, &[0; 8]), "GoAway"),
        (of_all(kind::GOAWAY, 0, &[0; 7]), "FrameSize"),
        (on(kind::GOAWAY, 0, &[0; 8]), "Protocol"),
        (on(kind::WINDOW_UPDATE, 0, &[0x80, 0, 0, 1]), "WindowUpdate { stream: 3, bytes: 1 }"),
        (on(kind::WINDOW_UPDATE, 0, &[0; 4]), "Faulty { stream: 3, code: Protocol }"),
        (of_all(kind::WINDOW_UPDATE, 0, &[0; 4]), "Protocol"),
        (of_all(kind::WINDOW_UPDATE, 0, &[0; 5]), "FrameSize"),
        (on(kind::CONTINUATION, 4, b""), "Protocol"),
        (on(0x77, 0xff, b"whatever"), "Other"),
    ] {
        let seen = shown(&bytes, usize::MAX);
        let last = seen.last().expect("a frame");
        assert!(last.contains(expected), "{last}, not {expected}");
        assert_eq!(shown(&bytes, 1), seen);
    }
}

#[test]
fn a_head_in_pieces_is_one_and_nothing_comes_between_them() {
    let head = frame(kind::HEADERS, flag::END_STREAM, 3, b"ab");
    let more = frame(kind::CONTINUATION, 0, 3, b"c");
    let last = frame(kind::CONTINUATION, flag::END_HEADERS, 3, b"d");
    let whole = [head.clone(), more.clone(), last.clone()].concat();
    for piece_bytes in 1..=whole.len() {
        let seen = shown(&whole, piece_bytes);
        assert!(
            seen[3].contains("block: [97, 98, 99, 100], ends_stream: true, is_continued: true")
        );
    }
    let long = frame(kind::CONTINUATION, 0, 3, &[0; 16_000]);
    for (frames, expected) in [
        (vec![head.clone(), frame(kind::PING, 0, 0, &[0; 8])], "Protocol"),
        (vec![head.clone(), frame(kind::CONTINUATION, 4, 5, b"")], "Protocol"),
        (vec![head, long.clone(), long.clone(), long], "EnhanceYourCalm"),
    ] {
        assert_eq!(shown(&frames.concat(), 1000).last().map(String::as_str), Some(expected));
    }
}

#[test]
fn a_connection_begins_with_its_preface_and_settings() {
    for (bytes, expected) in [
        (&b"GET / HTTP/1.1\r\n"[..], Err(Fault(Code::Protocol))),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r!", Err(Fault(Code::Protocol))),
        (b"PRI * HTTP", Ok(None)),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\x01\0\0\0\0", Err(Fault(Code::Protocol))),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x07\0\0\0\0\0", Err(Fault(Code::Protocol))),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", Ok(Some(Frame::Settings(b"")))),
    ] {
        let mut rest = bytes;
        assert_eq!(Reader::new(100).next(&mut rest), expected);
    }
}

#[test]
fn settings_have_values_that_they_may_have() {
    let entry =
        |number: u16, value: u32| [&number.to_be_bytes()[..], &value.to_be_bytes()].concat();
    for (number, value, expected) in [
        (2, 1, None),
        (2, 2, Some(Err(Fault(Code::Protocol)))),
        (4, 0, Some(Ok(Setting::Window(0)))),
        (4, 0x7fff_ffff, Some(Ok(Setting::Window(0x7fff_ffff)))),
        (4, 0x8000_0000, Some(Err(Fault(Code::FlowControl)))),
        (5, 16_383, Some(Err(Fault(Code::Protocol)))),
        (5, 16_384, None),
        (5, 1 << 24, Some(Err(Fault(Code::Protocol)))),
        (0x99, 7, None),
    ] {
        assert_eq!(settings(&entry(number, value)).next(), expected, "{number} {value}");
    }
    let two = [entry(4, 1), entry(4, 2)].concat();
    assert_eq!(settings(&two).count(), 2);
}

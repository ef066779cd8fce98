//! Frames as clients send them, whole and in every cut.

use super::*;

const MAX: usize = 300;

/// A frame as a client makes it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mask = [0x37, 0xfa, 0x21, 0x3d];
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(MASKED | short as u8),
        middle @ 126..=0xffff => {
            bytes.push(MASKED | 126);
            bytes.extend_from_slice(&(middle as u16).to_be_bytes());
        }
        long => {
            bytes.push(MASKED | 127);
            bytes.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// What is heard of bytes that come in pieces of so many.
fn heard_by(bytes: &[u8], piece: usize) -> String {
    let mut reader = Reader::new(MAX);
    let mut told = Vec::new();
    for mut rest in bytes.chunks(piece.max(1)) {
        loop {
            match reader.read(&mut rest) {
                Ok(Some(heard)) => told.push(match heard {
                    Heard::Text(text) => format!("text {text}"),
                    Heard::Ping(bytes) => format!("ping {}", bytes.escape_ascii()),
                    Heard::Pong(bytes) => format!("pong {}", bytes.escape_ascii()),
                    Heard::Close(code) => format!("close {code:?}"),
                }),
                Ok(None) => break,
                Err(error) => told.push(format!("{error:?}")),
            }
        }
        assert!(rest.is_empty(), "all that came is taken");
    }
    told.join(", ")
}

fn check(bytes: &[u8], expected: &str) {
    for piece in 1..=bytes.len().max(1) {
        assert_eq!(heard_by(bytes, piece), expected, "{} by {piece}", bytes.escape_ascii());
    }
}

#[test]
fn messages_come_whole_and_in_frames_with_others_between() {
    let long = "x".repeat(200);
    for (frames, expected) in [
        (vec![frame(0x81, b"hello")], "text hello"),
        // As RFC 6455 §5.7 has it.
        (vec![b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58".to_vec()], "text Hello"),
        (vec![frame(0x81, b"")], "text "),
        (vec![frame(0x01, b"Hel"), frame(0x80, b"lo")], "text Hello"),
        (
            vec![frame(0x01, "g\u{fc}".as_bytes().split_at(2).0), frame(0x80, b"\xbcx")],
            "text g\u{fc}x",
        ),
        (
            vec![
                frame(0x01, b"a"),
                frame(0x89, b"?"),
                frame(0x00, b""),
                frame(0x8a, b""),
                frame(0x80, b"b"),
            ],
            "ping ?, pong , text ab",
        ),
        (vec![frame(0x81, long.as_bytes()), frame(0x81, b"b")], &format!("text {long}, text b")),
        (vec![frame(0x88, b""), frame(0x81, b"late")], "close None"),
        (vec![frame(0x88, b"\x03\xe8bye")], "close Some(1000)"),
        (vec![frame(0x88, b"\x0f\xa0")], "close Some(4000)"),
        (vec![], ""),
    ] {
        check(&frames.concat(), expected);
    }
}

#[test]
fn what_no_client_may_send_ends_the_connection() {
    let mut unmasked = frame(0x81, b"a");
    unmasked[1] &= LENGTH;
    let with_length = |second: u8, length: &[u8]| {
        [&[0x81, MASKED | second][..], length, &[0; 4], &[b'x'; 8]].concat()
    };
    for (bytes, expected) in [
        (unmasked, "Protocol"),
        (frame(0xc1, b"compressed"), "Protocol"),
        (frame(0x83, b"unknown"), "Protocol"),
        (frame(0x8b, b"unknown"), "Protocol"),
        (frame(0x80, b"continues nothing"), "Protocol"),
        (frame(0x09, b"a ping in parts"), "Protocol"),
        (frame(0x89, &[0; 126]), "Protocol"),
        (frame(0x88, b"x"), "Protocol"),
        (frame(0x88, b"\x03\xed"), "Protocol"),
        (frame(0x88, b"\x03\xe7"), "Protocol"),
        (frame(0x88, b"\x03\xe8\xff"), "NotUtf8"),
        (frame(0x82, b"bytes"), "Binary"),
        (frame(0x81, b"\xff"), "NotUtf8"),
        ([frame(0x01, b"\xc3"), frame(0x80, b"(")].concat(), "NotUtf8"),
        ([frame(0x01, b"a"), frame(0x81, b"b")].concat(), "Protocol"),
        (frame(0x81, &[b'a'; MAX + 1]), "TooLarge"),
        ([frame(0x01, &[b'a'; MAX]), frame(0x80, b"a")].concat(), "TooLarge"),
        (with_length(126, &125_u16.to_be_bytes()), "Protocol"),
        (with_length(127, &0xffff_u64.to_be_bytes()), "Protocol"),
        (with_length(127, &(1_u64 << 63).to_be_bytes()), "Protocol"),
        (with_length(127, &(u64::MAX >> 1).to_be_bytes()), "TooLarge"),
    ] {
        check(&bytes, expected);
        // What was whole before is heard, and nothing behind.
        let within = [frame(0x81, b"one"), bytes, frame(0x81, b"two")].concat();
        check(&within, &format!("text one, {expected}"));
    }
    check(&frame(0x81, &[b'a'; MAX]), &format!("text {}", "a".repeat(MAX)));
}

#[test]
fn any_cut_gives_the_same() {
    // A row of frames by dice, some of them wrong; each in a hundred cuts.
    let mut state = 0x5eed_u64;
    let mut below = move |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % limit as u64) as usize
    };
    for _ in 0..200 {
        let mut bytes = Vec::new();
        for _ in 0..=below(5) {
            let firsts = [0x81, 0x01, 0x00, 0x80, 0x89, 0x8a, 0x81, 0x88, 0x82];
            let first = firsts[below(firsts.len())];
            let payload = vec![b'a' + below(26) as u8; [0, 3, 125, 126, 299][below(5)]];
            bytes.extend(frame(first, &payload));
        }
        let whole = heard_by(&bytes, bytes.len());
        for piece in 1..100 {
            assert_eq!(heard_by(&bytes, piece), whole, "{}", bytes.escape_ascii());
        }
    }
}

#[test]
fn between_messages_no_room_is_held() {
    let mut reader = Reader::new(1 << 16);
    let bytes = frame(0x81, &[b'a'; 1 << 16]);
    let mut rest = &bytes[..];
    assert!(matches!(reader.read(&mut rest), Ok(Some(Heard::Text(_)))));
    assert_eq!(reader.read(&mut rest), Ok(None));
    assert!(reader.message.capacity() <= KEPT_BYTES_MAX, "{}", reader.message.capacity());
}

#[test]
fn what_a_server_says_is_not_masked() {
    let said = |put: fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        out.escape_ascii().to_string()
    };
    assert_eq!(said(|out| put_text(out, b"Hello")), "\\x81\\x05Hello");
    assert_eq!(said(put_ping), "\\x89\\x00");
    assert_eq!(said(|out| put_pong(out, b"?")), "\\x8a\\x01?");
    assert_eq!(said(|out| put_close(out, code::GOING_AWAY)), "\\x88\\x02\\x03\\xe9");
    for (bytes, expected) in [
        (126, &[0x81, 126, 0, 126][..]),
        (0xffff, &[0x81, 126, 0xff, 0xff]),
        (0x1_0000, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let mut out = Vec::new();
        put_text(&mut out, &vec![b'a'; bytes]);
        assert_eq!((&out[..expected.len()], out.len()), (expected, expected.len() + bytes));
    }
}

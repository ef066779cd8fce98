//! What no well-made client sends.

use crate::origin::Origin;
use crate::raw::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, Raw,
    SETTINGS, WINDOW_UPDATE, block, first_window, frame, head, window,
};
use crate::wick::Wick;

const USUAL: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/")];
const POST: [(&str, &str); 4] = [(":method", "POST"), USUAL[1], USUAL[2], USUAL[3]];

/// What is said in each turn of one.
type Flood = fn(u32) -> Vec<u8>;

fn behind_origin() -> (Wick, std::net::SocketAddr, Origin) {
    let origin = Origin::begin();
    let (wick, address) = Wick::serve(&[&origin.url()]);
    (wick, address, origin)
}

#[test]
fn requests_that_could_be_read_in_two_ways_are_refused() {
    let (wick, address, _origin) = behind_origin();
    let long = "y".repeat(3000);
    let names: Vec<String> = (0..30).map(|number| format!("x{number}")).collect();
    let large: Vec<_> = names.iter().map(|name| (name.as_str(), long.as_str())).collect();
    let too_long = "y".repeat(15_000);
    let mut raw = Raw::connect(address, &first_window(1 << 20));
    let with = |more: &[(&str, &str)]| block(&[&USUAL[..], more].concat());
    for (turn, (block, body, expected)) in [
        (with(&[]), None, "200 6"),
        (block(&[&POST[..], &[("content-length", "5")]].concat()), Some("hello"), "200 "),
        (block(&POST), Some("hello"), "200 "),
        (block(&[USUAL[0], USUAL[1], USUAL[3]]), None, "400 "),
        (block(&[USUAL[0], USUAL[2], USUAL[3]]), None, "reset 1"),
        (block(&[USUAL[0], USUAL[1], USUAL[2]]), None, "reset 1"),
        (block(&[USUAL[0], USUAL[1], USUAL[2], USUAL[3], USUAL[3]]), None, "reset 1"),
        (block(&[USUAL[0], USUAL[1], USUAL[2], ("x", "y"), USUAL[3]]), None, "reset 1"),
        (block(&[("x", "y")]), None, "reset 1"),
        (with(&[("connection", "close")]), None, "reset 1"),
        (with(&[("transfer-encoding", "chunked")]), None, "reset 1"),
        (with(&[("te", "gzip")]), None, "reset 1"),
        (with(&[("X", "y")]), None, "reset 1"),
        (with(&[("x", "a\rb")]), None, "reset 1"),
        (with(&[("content-length", "5")]), None, "reset 1"),
        (with(&[("host", "other.test")]), None, "400 "),
        (with(&[("x", " y")]), None, "400 "),
        (block(&[&POST[..], &[("content-length", "5")]].concat()), Some("hell"), "reset 1"),
        (block(&[&POST[..], &[("content-length", "5")]].concat()), Some("hello!"), "reset 1"),
        (with(&[("x", &too_long)]), None, "200 6"),
        (with(&large[..4]), None, "200 6"),
        (with(&[]), None, "200 6"),
    ]
    .into_iter()
    .enumerate()
    {
        let stream = 2 * turn as u32 + 1;
        let ends = if body.is_none() { END_STREAM } else { 0 };
        raw.say(&frame(HEADERS, END_HEADERS | ends, stream, &block));
        if let Some(body) = body {
            raw.say(&frame(DATA, END_STREAM, stream, body.as_bytes()));
        }
        let outcome = raw.outcome(stream);
        assert!(outcome.starts_with(expected), "{outcome}, not {expected}: {turn}");
    }
    // One that is too large comes in pieces, and is answered: later ones refer to it.
    let block = with(&large);
    let (first, rest) = block.split_at(16_000);
    let mut pieces: Vec<_> = rest.chunks(16_000).collect();
    let last = pieces.pop().expect("it is long");
    raw.say(&frame(HEADERS, END_STREAM, 101, first));
    pieces.into_iter().for_each(|piece| raw.say(&frame(CONTINUATION, 0, 101, piece)));
    raw.say(&frame(CONTINUATION, END_HEADERS, 101, last));
    assert!(raw.outcome(101).starts_with("431 "));
    raw.say(&head(103, &USUAL, true));
    assert_eq!(raw.outcome(103), "200 6");
    wick.stop();
}

#[test]
fn a_client_that_is_out_of_step_is_told_how_and_left() {
    let (wick, address, _origin) = behind_origin();
    let request = head(5, &USUAL, true);
    let post = head(5, &POST, false);
    for (bytes, expected) in [
        (frame(DATA, 0, 5, b"x"), "end 1"),
        (frame(WINDOW_UPDATE, 0, 5, &[0, 0, 0, 1]), "end 1"),
        (frame(RST_STREAM, 0, 5, &[0; 4]), "end 1"),
        (frame(PING, 0, 5, &[0; 8]), "end 1"),
        (frame(PING, 0, 0, &[0; 7]), "end 6"),
        (frame(DATA, 0, 5, &[0; 16_385]), "end 6"),
        (frame(HEADERS, END_HEADERS, 4, &block(&USUAL)), "end 1"),
        (frame(HEADERS, END_HEADERS | END_STREAM, 5, &[0x80]), "end 9"),
        (frame(HEADERS, END_HEADERS | END_STREAM, 5, &[0xbe]), "end 9"),
        (frame(CONTINUATION, END_HEADERS, 5, &[]), "end 1"),
        (frame(HEADERS, END_STREAM, 5, &vec![0; 16_000]), "end 11"),
        ([request.clone(), head(3, &USUAL, true)].concat(), "end 1"),
        ([post, frame(DATA, 0, 7, b"x")].concat(), "end 1"),
        (first_window(1 << 31), "end 3"),
        (window(0, (1 << 31) - 1), "end 3"),
        (window(0, 0), "end 1"),
    ] {
        let mut raw = Raw::connect(address, &first_window(1000));
        raw.say(&bytes);
        if expected == "end 11" {
            (0..20).for_each(|_| raw.say(&frame(CONTINUATION, 0, 5, &[0; 16_000])));
        }
        raw.read_until(|_| false);
        let outcome = format!("end {}", raw.end.expect("it was waited for"));
        assert_eq!(outcome, expected, "{:?}", &bytes[..bytes.len().min(40)]);
    }
    // What is wrong with a stream ends that alone.
    let mut raw = Raw::connect(address, &first_window(10));
    for (stream, bytes, expected) in [
        (1, head(1, &USUAL, true), "200 6"),
        (3, [head(3, &POST, false), window(3, (1 << 31) - 1)].concat(), "reset 3"),
        (5, [head(5, &POST, false), window(5, 0)].concat(), "reset 1"),
        (7, [head(7, &POST, false), frame(PRIORITY, 0, 7, &[0, 0, 0, 7, 1])].concat(), "reset 1"),
        (9, frame(HEADERS, 0x25, 9, &[&[0, 0, 0, 9, 1], &*block(&USUAL)].concat()), "reset 1"),
        (11, [head(11, &POST, false), head(11, &[("x", "y")], false)].concat(), "reset 1"),
        (13, [head(13, &POST, false), head(13, &[(":path", "/")], true)].concat(), "reset 1"),
        (15, [head(15, &POST, false), head(15, &[("x", "y")], true)].concat(), "200 "),
        (17, head(17, &USUAL, true), "200 6"),
    ] {
        raw.say(&bytes);
        let outcome = raw.outcome(stream);
        assert!(outcome.starts_with(expected), "{stream}: {outcome}, not {expected}");
    }
    wick.stop();
}

#[test]
fn who_resets_without_end_or_floods_is_shown_out() {
    let (wick, address, _origin) = behind_origin();
    let mut warm = Raw::connect(address, &first_window(1 << 20));
    warm.say(&head(1, &USUAL, true));
    assert_eq!(warm.outcome(1), "200 6");
    let floods: [(&str, Flood); 7] = [
        ("resets", |turn| {
            let stream = 2 * turn + 1;
            [head(stream, &USUAL, true), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
        }),
        ("pings", |_| frame(PING, 0, 0, &[0; 8])),
        ("settings", |_| frame(SETTINGS, 0, 0, &[])),
        ("windows", |_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        ("priorities", |turn| frame(PRIORITY, 0, 2 * turn + 1, &[0, 0, 0, 0, 1])),
        ("nothing that is known", |_| frame(99, 0, 0, b"")),
        ("malformed requests", |turn| head(2 * turn + 1, &[("x", "y")], true)),
    ];
    for (name, flood) in floods {
        let mut raw = Raw::connect(address, &first_window(1 << 20));
        let all: Vec<u8> = (0..3000).flat_map(flood).collect();
        raw.say(&all);
        raw.read_until(|_| false);
        // Its last word is lost where more was on its way.
        assert!(matches!(raw.end, Some(11 | 0)), "{name}: {:?}", raw.end);
    }
    let ended = wick.stop();
    let told = format!("{} HTTP/2 or HTTP/3 connections were closed", floods.len());
    assert!(ended.output.contains(&told), "{}", ended.output);
}

#[test]
fn no_more_comes_than_windows_let_come_and_streams_take_turns() {
    let (wick, address, _origin) = behind_origin();
    let large = [USUAL[0], USUAL[1], USUAL[2], (":path", "/large")];
    let mut raw = Raw::connect(address, &first_window(0));
    let bytes = |raw: &Raw, stream| raw.streams.get(&stream).map_or(0, |seen| seen.bytes);
    raw.say(&head(1, &large, true));
    raw.read_until(|raw| raw.streams.contains_key(&1));
    raw.settle();
    assert_eq!(bytes(&raw, 1), 0);
    raw.say(&window(1, 10));
    raw.read_until(|raw| bytes(raw, 1) >= 10);
    raw.settle();
    assert_eq!(bytes(&raw, 1), 10);
    // All streams begin with more, less than nothing is left of it, and then there is room for
    // all but what the connection's window keeps back.
    raw.say(&[first_window(5), first_window(0), window(1, 1 << 20)].concat());
    raw.read_until(|raw| bytes(raw, 1) >= 65_535);
    raw.settle();
    assert_eq!(bytes(&raw, 1), 65_535);
    raw.say(&[head(3, &large, true), window(3, 1 << 20)].concat());
    raw.settle();
    for turn in 1..=6 {
        raw.say(&window(0, 1000));
        raw.read_until(|raw| bytes(raw, 1) + bytes(raw, 3) >= 65_535 + turn * 1000);
    }
    raw.settle();
    assert_eq!((bytes(&raw, 1), bytes(&raw, 3)), (65_535 + 3000, 3000));
    // One that is not wanted any longer leaves its turn to the other.
    raw.say(&[frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]), window(0, 1 << 20)].concat());
    assert_eq!(raw.outcome(3), "200 300000");
    wick.stop();
}

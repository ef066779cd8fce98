//! Those who send too much, take nothing, say nothing, or go away; and the stop in good order.

use super::raw::*;
use super::*;

#[tokio::test(start_paused = true)]
async fn streams_that_are_reset_go_on_at_the_origin_and_take_no_more_than_their_places() {
    let rig = Rig::with(|limits| (limits.streams_max, limits.resets_max) = (4, 100));
    let mut raw = Raw::begin(rig.connect()).await;
    for number in 0..20u32 {
        let path = format!("/wait?{number}");
        let fields = [USUAL[0], USUAL[1], (":path", path.as_str()), USUAL[3]];
        raw.ask(1 + 2 * number, &fields).await;
        raw.send(RST_STREAM, 0, 1 + 2 * number, &8u32.to_be_bytes()).await;
    }
    raw.ask(41, &USUAL).await;
    assert_eq!(raw.outcome(41).await, "reset 7");
    assert_eq!(rig.server.counters().streams_refused.read(), 17);
    // The others were reset already.
    assert_eq!(rig.server.counters().streams_reset.read(), 1);
    assert!(rig.asked.heads().len() <= 4, "{:?}", rig.asked.heads());
}

#[tokio::test(start_paused = true)]
async fn who_resets_without_end_is_shown_out() {
    let rig = Rig::with(|limits| limits.resets_max = 50);
    let mut raw = Raw::begin(rig.connect()).await;
    for number in 0..60u32 {
        raw.ask(1 + 2 * number, &USUAL).await;
        raw.send(RST_STREAM, 0, 1 + 2 * number, &8u32.to_be_bytes()).await;
    }
    assert_eq!(raw.outcome(999).await, "goaway 11");
    assert!(raw.is_closed().await);
    assert_eq!(rig.server.counters().connections_calmed.read(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_floods_with_frames_that_ask_for_nothing_is_shown_out() {
    for (kind, stream, payload) in
        [(PING, 0, &[0; 8][..]), (SETTINGS, 0, &[]), (2, 1, &[0; 5]), (99, 0, &[0; 3])]
    {
        let rig = Rig::with(|limits| limits.idle_frames_max = 50);
        let mut raw = Raw::begin(rig.connect()).await;
        for _ in 0..60 {
            raw.send(kind, 0, stream, payload).await;
        }
        assert_eq!(raw.outcome(999).await, "goaway 11", "{kind}");
        assert_eq!(rig.server.counters().connections_calmed.read(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_in_endless_pieces_ends_the_connection() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    raw.send(HEADERS, END_STREAM, 1, &block(&USUAL)).await;
    let piece = block(&[("x", "y")]);
    for _ in 0..2000 {
        raw.send(CONTINUATION, 0, 1, &piece).await;
    }
    assert_eq!(raw.outcome(1).await, "goaway 11");
}

#[tokio::test(start_paused = true)]
async fn no_more_streams_are_open_at_once_than_was_said() {
    let rig = Rig::with(|limits| limits.streams_max = 2);
    let mut raw = Raw::begin(rig.connect()).await;
    let wait = [USUAL[0], USUAL[1], (":path", "/wait"), USUAL[3]];
    for stream in [1, 3, 5] {
        raw.ask(stream, &wait).await;
    }
    assert_eq!(raw.outcome(5).await, "reset 7");
}

#[tokio::test(start_paused = true)]
async fn who_takes_nothing_of_an_answer_loses_it() {
    let rig = Rig::with(|limits| limits.write_timeout = Duration::from_secs(5));
    let mut raw = Raw::begin(rig.connect()).await;
    // The usual window, which is never opened.
    raw.ask(1, &[USUAL[0], USUAL[1], (":path", "/large"), USUAL[3]]).await;
    assert_eq!(raw.outcome(1).await, "200");
    let mut taken = 0;
    let end = loop {
        match raw.next().await {
            Some(frame) if frame.kind == DATA => taken += frame.payload.len(),
            Some(frame) if frame.kind == RST_STREAM => break frame.payload,
            Some(_) => {}
            None => rig.pass(Duration::from_secs(1)).await,
        }
    };
    assert_eq!((taken, &end[..]), (65_535, &8u32.to_be_bytes()[..]));
    assert_eq!(rig.server.counters().streams_late.read(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_reads_nothing_at_all_is_disconnected() {
    let rig = Rig::with(|limits| limits.write_timeout = Duration::from_secs(5));
    let mut stream = rig.connect();
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0, 0, 0])].concat();
    bytes.extend(frame(8, 0, 0, &0x7f00_0000u32.to_be_bytes()));
    let fields = [USUAL[0], USUAL[1], (":path", "/large"), USUAL[3]];
    bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&fields)));
    tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes).await.expect("it is taken");
    rig.pass(Duration::from_secs(3)).await;
    assert_eq!(rig.server.connections(), 1);
    rig.pass(Duration::from_secs(5)).await;
    assert_eq!(rig.server.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_silent_are_disconnected_when_their_time_is_over() {
    let seconds = Duration::from_secs;
    let begun = [PREFACE, &frame(SETTINGS, 0, 0, b""), &frame(SETTINGS, ACK, 0, b"")].concat();
    let asked = frame(HEADERS, END_HEADERS | END_STREAM, 1, &block(&USUAL));
    let half = frame(HEADERS, END_STREAM, 3, &block(&USUAL)[..5]);
    for (bytes, stays_seconds) in [
        (PREFACE[..20].to_vec(), 15),
        (begun.clone(), 15),
        ([&begun[..], &asked].concat(), 60),
        ([&begun[..], &asked[..12]].concat(), 15),
        ([&begun[..], &asked, &half].concat(), 15),
    ] {
        let rig = Rig::new();
        let mut stream = rig.connect();
        tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes).await.expect("it is taken");
        rig.pass(seconds(stays_seconds) - seconds(2)).await;
        assert_eq!(rig.server.connections(), 1, "{stays_seconds} {bytes:?}");
        rig.pass(seconds(5)).await;
        assert_eq!(rig.server.connections(), 0, "{stays_seconds} {bytes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pings_keep_nobody_who_asks_for_nothing() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    raw.ask(1, &USUAL).await;
    assert_eq!(raw.outcome(1).await, "200");
    for _ in 0..14 {
        raw.send(PING, 0, 0, &[0; 8]).await;
        rig.pass(Duration::from_secs(5)).await;
    }
    assert_eq!(rig.server.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pausing_body_is_given_up() {
    let rig = Rig::with(|limits| limits.body_timeout = Duration::from_secs(5));
    let mut raw = Raw::begin(rig.connect()).await;
    let fields = [(":method", "POST"), USUAL[1], (":path", "/echo"), USUAL[3]];
    raw.send(HEADERS, END_HEADERS, 1, &block(&fields)).await;
    for _ in 0..4 {
        raw.send(DATA, 0, 1, b"x").await;
        rig.pass(Duration::from_secs(3)).await;
    }
    let mut outcome = "nothing".to_owned();
    while outcome == "nothing" {
        outcome = raw.outcome(1).await;
    }
    assert_eq!(outcome, "408");
}

#[tokio::test(start_paused = true)]
async fn what_is_still_sent_behind_an_answer_is_read_for_a_while() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    // A host that is none, for the shortest way to an answer; and one by the origin.
    for (stream, host, status) in [(1, "a,b", "400"), (3, "example.test", "200")] {
        let fields = [(":method", "GET"), USUAL[1], (":path", "/page"), (":authority", host)];
        let fields = [&fields[..], &[("content-length", "0")]].concat();
        raw.send(HEADERS, END_HEADERS, stream, &block(&fields)).await;
        assert_eq!(raw.outcome(stream).await, status);
        raw.send(DATA, END_STREAM, stream, b"").await;
    }
    let fields = [(":method", "POST"), USUAL[1], USUAL[2], (":authority", "a,b")];
    raw.send(HEADERS, END_HEADERS, 5, &block(&fields)).await;
    assert_eq!(raw.outcome(5).await, "400");
    let mut resets = Vec::new();
    for _ in 0..3 {
        raw.send(DATA, 0, 5, &[0; 9000]).await;
        resets.push(raw.outcome(5).await);
    }
    // No answer is cut off by a reset before its client had a moment.
    assert_eq!(resets, ["nothing", "nothing", "reset 0"]);
    while let Some(frame) = raw.next().await {
        assert_ne!((frame.kind, frame.stream), (RST_STREAM, 1));
        assert_ne!((frame.kind, frame.stream), (RST_STREAM, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_goes_on_when_its_visitor_goes_away() {
    let rig = Rig::new();
    let mut raw = Raw::begin(rig.connect()).await;
    let fields = [(":method", "POST"), USUAL[1], (":path", "/wait"), USUAL[3]];
    raw.ask(1, &fields).await;
    assert_eq!(raw.outcome(1).await, "nothing");
    drop(raw);
    rig.pass(Duration::from_secs(2)).await;
    assert_eq!(rig.server.connections(), 1);
    rig.asked.go.notify_one();
    rig.pass(Duration::from_secs(2)).await;
    assert_eq!(rig.server.connections(), 0);
    assert_eq!(*rig.lines.lock(), ["POST /wait 200 pass(method)"]);
}

#[tokio::test(start_paused = true)]
async fn at_a_stop_streams_in_flight_finish_and_the_idle_are_told() {
    let rig = Rig::new();
    let mut idle = Raw::begin(rig.connect()).await;
    let mut busy = Raw::begin(rig.connect()).await;
    for raw in [&mut idle, &mut busy] {
        raw.ask(1, &USUAL).await;
        assert_eq!(raw.outcome(1).await, "200");
    }
    busy.ask(3, &[USUAL[0], USUAL[1], (":path", "/wait"), USUAL[3]]).await;
    assert_eq!(busy.outcome(3).await, "nothing");
    rig.shutdown.begin();
    rig.pass(Duration::from_millis(250)).await;
    assert_eq!(idle.outcome(3).await, "goaway 0");
    assert!(idle.is_closed().await);
    assert_eq!(rig.server.connections(), 1);
    rig.asked.go.notify_one();
    let mut seen = Vec::new();
    while let Some(frame) = busy.next().await {
        if frame.kind == PING {
            busy.send(PING, ACK, 0, &frame.payload).await;
        }
        seen.push((frame.kind, frame.stream));
    }
    assert!(seen.contains(&(GOAWAY, 0)) && seen.contains(&(HEADERS, 3)), "{seen:?}");
    rig.pass(Duration::from_secs(1)).await;
    assert_eq!(rig.server.connections(), 0);
}

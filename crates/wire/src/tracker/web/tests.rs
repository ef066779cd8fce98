//! Messages as clients write them, and what they are told.

use super::*;

const HASH: &str = "hhhhhhhhhhhhhhhhhhhh";
const PEER: &str = "-WW0205-0123456789ab";

fn told(text: &str) -> String {
    match read(text) {
        Ok(Said::Announce(said)) => {
            let Announce { uploaded, downloaded, left, event, peers_wanted, .. } = said.announce;
            let left = if left == u64::MAX { "?".to_owned() } else { left.to_string() };
            let offers: Vec<_> =
                said.offers.iter().map(|it| format!("{}={}", it.id, it.description)).collect();
            let counted = if said.has_counters { "" } else { " uncounted" };
            let more = said.more_offers;
            format!(
                "{event:?} {uploaded} {downloaded} {left} {peers_wanted:?} {offers:?} \
                 {more}{counted}"
            )
        }
        Ok(Said::Answer(said)) => {
            let to = said.to.0.escape_ascii();
            format!("to {to}: {} {}", said.answer.id, said.answer.description)
        }
        Ok(Said::Scrape(hashes)) => format!("scrape {}", hashes.len()),
        Err(wrong) => wrong.to_string(),
    }
}

fn announce(more: &str) -> String {
    format!(r#"{{"action":"announce","info_hash":"{HASH}","peer_id":"{PEER}"{more}}}"#)
}

#[test]
fn announces_are_read_as_clients_write_them() {
    for (more, expected) in [
        (
            r#","numwant":5,"uploaded":1,"downloaded":2,"left":3,"event":"started","offers":[
               {"offer":{"type":"offer","sdp":"v=0\r\n"},"offer_id":"\u0001é"}]"#,
            r#"Started 1 2 3 Some(5) ["\"\\u0001é\"={\"type\":\"offer\",\"sdp\":\"v=0\\r\\n\"}"] 0"#,
        ),
        (r#","uploaded":0,"downloaded":0,"left":null"#, "Update 0 0 ? None [] 0"),
        (r#","uploaded":0,"downloaded":0,"left":-1,"x":{"y":[1]}"#, "Update 0 0 ? None [] 0"),
        (r#","uploaded":1e3,"downloaded":2.5,"left":0"#, "Update 1000 2 0 None [] 0"),
        (r#","uploaded":-7,"downloaded":1e99"#, "Update 0 18446744073709551615 ? None [] 0"),
        (r#","event":"completed","left":0,"offers":null"#, "Completed 0 0 0 None [] 0 uncounted"),
        (r#","event":7,"numwant":"x","offers":[]"#, "Update 0 0 ? None [] 0 uncounted"),
        (r#","event":"stopped""#, "Stopped 0 0 ? None [] 0 uncounted"),
        (r#","event":"paused""#, "Paused 0 0 ? None [] 0 uncounted"),
        (r#","uploaded":"1""#, "uploaded is not a number"),
        (r#","left":[]"#, "left is not a number"),
        (r#","offers":7"#, "the message can't be read"),
        (r#","offers":[{"offer":"v=0","offer_id":"x"}]"#, "an offer or an answer is malformed"),
        (r#","offers":[{"offer":{},"offer_id":7}]"#, "an offer or an answer is malformed"),
        (r#","offers":[{"offer":{}}]"#, "an offer or an answer is malformed"),
        (r#","peer_id":"twice""#, "the message can't be read"),
    ] {
        assert_eq!(told(&announce(more)), expected, "{more}");
    }
    let offers = vec![r#"{"offer":{},"offer_id":"x"}"#; OFFERS_MAX + 3].join(",");
    let told = told(&announce(&format!(r#","offers":[{offers}]"#)));
    assert!(told.ends_with("] 3 uncounted") && told.matches("={}").count() == 10, "{told}");
    let long = format!(r#","offers":[{{"offer":{{}},"offer_id":"{}"}}]"#, "x".repeat(255));
    assert_eq!(super::read(&announce(&long)).err(), Some(WebError::Offer));
}

#[test]
fn answers_and_scrapes_are_read_and_the_rest_is_told_what_is_wrong() {
    let answer =
        r#","to_peer_id":"-WW0205-0123456789cd","answer":{"type":"answer"},"offer_id":"o""#;
    let lonely = r#","answer":{"type":"answer"},"offer_id":"o""#;
    let list = |count: usize| vec![format!("\"{HASH}\""); count].join(",");
    for (text, expected) in [
        (announce(answer), r#"to -WW0205-0123456789cd: "o" {"type":"answer"}"#),
        (announce(lonely), "to_peer_id is missing"),
        (
            announce(&answer.replace("{\"type\":\"answer\"}", "true")),
            "an offer or an answer is mal",
        ),
        (format!(r#"{{"action":"scrape","info_hash":"{HASH}"}}"#), "scrape 1"),
        (format!(r#"{{"action":"scrape","info_hash":[{}]}}"#, list(3)), "scrape 3"),
        (format!(r#"{{"action":"scrape","info_hash":[{}]}}"#, list(75)), "at most 74 torrents"),
        (r#"{"action":"scrape"}"#.to_owned(), "scrape 0"),
        (r#"{"action":"scrape","info_hash":{}}"#.to_owned(), "info_hash is not 20 bytes"),
        (r#"{"action":"scrape","info_hash":["x"]}"#.to_owned(), "info_hash is not 20 bytes"),
        (r#"{"action":"announce"}"#.to_owned(), "info_hash is missing"),
        (announce("").replace(HASH, "short"), "info_hash is not 20 bytes"),
        (announce("").replace(HASH, "\u{100}hhhhhhhhhhhhhhhhhhh"), "info_hash is not 20 bytes"),
        (announce("").replace(PEER, &PEER.repeat(2)), "peer_id is not 20 bytes"),
        (r#"{"action":"dance"}"#.to_owned(), "action is neither announce nor scrape"),
        ("{}".to_owned(), "action is neither announce nor scrape"),
        ("[]".to_owned(), "the message can't be read"),
        ("".to_owned(), "the message can't be read"),
        ("{\"a\":".repeat(10_000), "the message can't be read"),
    ] {
        let told = told(&text);
        assert!(told.starts_with(expected), "{text}: {told}");
    }
}

#[test]
fn every_byte_goes_through_a_string_and_comes_back() {
    for start in 0..=255_u8 {
        let mut bytes = [0; 20];
        bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = start.wrapping_add(at as u8));
        let mut out = Vec::new();
        put_binary(&mut out, &bytes);
        let written = String::from_utf8(out).expect("it is text");
        let value: &RawValue = serde_json::from_str(&written).expect("it is JSON");
        assert_eq!(twenty(Some(value), "it"), Ok(bytes));
        // As JSON.stringify of a browser writes it.
        let by_others =
            serde_json::to_string(&bytes.map(char::from).iter().collect::<String>()).unwrap();
        let value: &RawValue = serde_json::from_str(&by_others).expect("it is JSON");
        assert_eq!(twenty(Some(value), "it"), Ok(bytes));
    }
}

#[test]
fn what_is_said_is_what_clients_look_for() {
    let said = |put: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        let text = String::from_utf8(out).expect("it is text");
        let read: Result<serde_json::Value, _> = serde_json::from_str(&text);
        assert!(read.is_ok(), "{text}");
        text
    };
    let hash = InfoHash([b'h'; 20]);
    let swarm = Counts { complete: 1, incomplete: 2, downloaded: 3, partial: 0 };
    let answered = Told { interval: 120, min_interval: 60, swarm };
    assert_eq!(
        said(&|out| put_announce(out, &hash, &answered, Some("a \"b\""))),
        format!(
            r#"{{"action":"announce","info_hash":"{HASH}","interval":120,"complete":1,"incomplete":2,"downloaded":3,"warning message":"a \"b\""}}"#
        )
    );
    assert_eq!(
        said(&|out| put_failure(out, false, Some(&hash), "no")),
        format!(r#"{{"action":"announce","info_hash":"{HASH}","failure reason":"no"}}"#)
    );
    assert_eq!(
        said(&|out| put_failure(out, true, None, "no")),
        r#"{"action":"scrape","failure reason":"no"}"#
    );
    let from = PeerId(*b"-WW0205-0123456789ab");
    let offer = Offer { description: r#"{"sdp":"v=0"}"#, id: r#""o""# };
    assert_eq!(
        said(&|out| put_offer(out, &hash, &from, &offer)),
        format!(
            r#"{{"action":"announce","info_hash":"{HASH}","peer_id":"{PEER}","offer_id":"o","offer":{{"sdp":"v=0"}}}}"#
        )
    );
    let answer = WebAnswer { info_hash: hash, peer_id: from, to: from, answer: offer };
    assert!(said(&|out| put_answer(out, &answer)).ends_with(r#","answer":{"sdp":"v=0"}}"#));
    assert_eq!(
        said(&|out| put_scrape(out, &[(hash, swarm), (InfoHash([0; 20]), swarm)], Some(9))),
        format!(
            r#"{{"action":"scrape","files":{{"{HASH}":{{"complete":1,"incomplete":2,"downloaded":3}},"{}":{{"complete":1,"incomplete":2,"downloaded":3}}}},"flags":{{"min_request_interval":9}}}}"#,
            "\\u0000".repeat(20)
        )
    );
    assert_eq!(said(&|out| put_scrape(out, &[], None)), r#"{"action":"scrape","files":{}}"#);
}

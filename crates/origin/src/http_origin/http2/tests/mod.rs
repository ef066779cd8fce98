//! Requests by HTTP/2 to a server that does what no server should, in virtual time.

mod server;

use futures_util::future::join_all;
use http_body_util::BodyExt;
use std::sync::Arc;
use std::time::Duration;

use wire::BodyError;
use wire::h2::Code;

use super::super::tests::call;
use super::super::{HttpOptions, Upgrading, convert};
use crate::slots::SlotLimits;
use crate::{Call, HealthCheck};
use server::*;

impl Bench {
    async fn ask(&self, line: &str) -> String {
        self.ask_with(call(line, None)).await
    }

    async fn ask_with(&self, call: Call) -> String {
        match self.origin.send(call).await {
            Err(error) => format!("{} {error}", error.status()),
            Ok(answer) => {
                let status = answer.head.status;
                match answer.body.collect().await {
                    Ok(body) => {
                        let trailers = body.trailers().map(convert::fields);
                        let trailers = trailers.map_or(String::new(), |t| format!(" {t:?}"));
                        format!("{status} {}{trailers}", String::from_utf8_lossy(&body.to_bytes()))
                    }
                    Err(error) => format!("{status} broken: {error}"),
                }
            }
        }
    }

    fn connections(&self) -> usize {
        self.seen.lock().connections
    }
}

/// A head with one field written as it stands, which no encoder would write.
fn odd_head(stream: u32, name: &str, value: &str) -> Vec<u8> {
    let mut block = vec![0x88, 0, name.len() as u8];
    block.extend(name.as_bytes());
    block.push(value.len() as u8);
    block.extend(value.as_bytes());
    frame(1, 5, stream, &block)
}

#[tokio::test(start_paused = true)]
async fn answers_and_failures_are_told_apart() {
    let malformed = "502 the origin's answer makes no sense: ";
    let reset = "502 the origin closed the connection before it answered: ";
    let broken = "200 broken: the origin's response body ended early: ";
    let many = |count: usize| -> Act {
        let fields: String = (0..count).map(|n| format!("f{n}: x\n")).collect();
        send(move |s| head(s, 200, &fields, true))
    };
    let half = |s| [head(s, 200, "content-length: 9", false), data(s, b"half", false)].concat();
    let hints = |count: usize| -> Act {
        send(move |s| {
            let hints = head(s, 103, "link: </a>", false).repeat(count);
            [hints, head(s, 200, "", true)].concat()
        })
    };
    let flood: Act = send(|s| {
        let piece = [&[0, 1, b'a', 127, 128 + 1, 31][..], &[b'x'; 4096]].concat();
        let more = frame(9, 0, s, &[]).repeat(100);
        [frame(1, 0, s, &piece), more, frame(9, 0, s, &piece).repeat(1000)].concat()
    });
    for (act, seen) in [
        (page("hello"), "200 hello".to_owned()),
        (send(|s| head(s, 204, "", true)), "204 ".to_owned()),
        (send(|s| [head(s, 204, "", false), data(s, b"", true)].concat()), "204 ".to_owned()),
        (send(|s| head(s, 304, "content-length: 9", true)), "304 ".to_owned()),
        (
            send(|s| {
                let trailers = frame(1, 5, s, &[0, 3, b's', b'u', b'm', 1, b'1']);
                [head(s, 200, "", false), data(s, b"ok", false), trailers].concat()
            }),
            "200 ok [\"sum: 1\"]".to_owned(),
        ),
        (many(200), "200 ".to_owned()),
        (many(300), malformed.to_owned()),
        (hints(3), "200 ".to_owned()),
        (hints(100), malformed.to_owned()),
        (send(|s| odd_head(s, "Upper", "x")), malformed.to_owned()),
        (send(|s| odd_head(s, "connection", "close")), malformed.to_owned()),
        (send(|s| odd_head(s, "transfer-encoding", "chunked")), malformed.to_owned()),
        (send(|s| odd_head(s, ":status", "200")), malformed.to_owned()),
        (send(|s| odd_head(s, "content-length", "9")), malformed.to_owned()),
        (send(|s| frame(1, 5, s, &[0, 1, b'a', 1, b'b'])), malformed.to_owned()),
        (send(|s| head(s, 101, "", true)), malformed.to_owned()),
        (send(|s| head(s, 200, &format!("a: {}", "x".repeat(300_000)), true)), malformed.into()),
        (send(|s| frame(1, 5, s, &[0xff, 0xff, 0xff])), malformed.to_owned()),
        (flood, malformed.to_owned()),
        (close(|_| Vec::new()), reset.to_owned()),
        (send(|s| reset_of(s, Code::Internal)), reset.to_owned()),
        (silence(), "504 the origin sent no answer within 60 s".to_owned()),
        (send(half), "200 broken: the origin stopped sending for 60 s".to_owned()),
        (send(move |s| [half(s), reset_of(s, Code::NoError)].concat()), broken.to_owned()),
        (send(move |s| [half(s), reset_of(s, Code::Cancel)].concat()), broken.to_owned()),
        (send(move |s| [half(s), data(s, b"", true)].concat()), broken.to_owned()),
        (send(move |s| [half(s), data(s, b"and more", true)].concat()), broken.to_owned()),
        (
            send(|s| [head(s, 204, "", false), data(s, b"body", true)].concat()),
            "204 broken: ".to_owned(),
        ),
    ] {
        let shown = bench(vec![Script::of(vec![act])]).ask("GET /").await;
        let is_open = seen.ends_with(": ");
        assert!(
            if is_open { shown.starts_with(&seen) } else { shown == seen },
            "{shown} for {seen}"
        );
    }
    assert!(bench(Vec::new()).ask("GET /").await.starts_with("502 the origin can't be reached"));
}

fn reset_of(stream: u32, code: Code) -> Vec<u8> {
    server::reset(stream, code)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_speaks_something_else_is_told_from_one_that_is_gone() {
    let mut zero = Script::of(vec![page("never")]);
    zero.settings[0].1 = 0;
    let shown = bench(vec![zero]).ask("GET /").await;
    assert!(shown.contains("it let no request begin within 5 s; for a server of"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_request_is_as_the_law_wants_it_and_bears_what_the_visitor_sent() {
    let bench = bench(vec![Script::of(vec![page("1"), page("2"), page("3")])]);
    let mut odd = call("GET /a|b?c", None);
    for (name, value) in [
        ("Connection", "close"),
        ("Keep-Alive", "5"),
        ("TE", "trailers"),
        ("Cookie", "a=1"),
        ("X-A", "1"),
    ] {
        odd.head.fields.push(name, value);
    }
    assert_eq!(bench.ask_with(odd).await, "200 1");
    assert_eq!(bench.ask_with(call("POST /form", Some("hello"))).await, "200 2");
    assert_eq!(bench.ask("OPTIONS *").await, "200 3");
    let seen = bench.seen.lock();
    let target = |method: &str, path: &str| {
        format!("1 :method={method} :scheme=http :authority=site :path={path} ")
    };
    let sent = |at: usize| {
        let mut words: Vec<_> = seen.requests[at].split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    };
    let sorted = |text: &str| {
        let mut words: Vec<_> = text.split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    };
    let first = target("GET", "/a|b?c") + "te=trailers cookie=a=1 x-a=1 ";
    assert_eq!(sent(0), sorted(&first));
    assert_eq!(sent(1), sorted(&(target("POST", "/form") + "content-length=5 hello")));
    assert_eq!(sent(2), sorted(&target("OPTIONS", "*")));
    assert_eq!(seen.connections, 1);
}

#[tokio::test(start_paused = true)]
async fn requests_share_a_connection_as_far_as_its_server_allows() {
    for (count, allowed, connections) in [(20, 100, 1), (20, 5, 4), (20, 1, 20), (150, 999, 2)] {
        let pages = || (0..count).map(|_| page("ok")).collect();
        let script = || {
            let mut script = Script::of(pages());
            script.settings[0].1 = allowed;
            script
        };
        let bench = bench((0..count).map(|_| script()).collect());
        let lines: Vec<_> = (0..count).map(|n| format!("GET /{n}")).collect();
        let answers = join_all(lines.iter().map(|line| bench.ask(line))).await;
        assert!(answers.iter().all(|answer| answer == "200 ok"), "{answers:?}");
        assert!(bench.connections() <= connections, "{} for {allowed}", bench.connections());
        assert!(bench.connections() > 1 || connections == 1);
        assert!(bench.seen.lock().most_at_once <= (allowed as usize).min(100));
        assert_eq!(bench.origin.counters().http2_refused.read(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_are_sent_at_once_than_there_are_slots() {
    let limits = SlotLimits { slots: 3, queue: 99, queue_timeout: Duration::from_secs(9) };
    let options = HttpOptions { limits, ..HttpOptions::default() };
    let bench = bench_of(vec![Script::of((0..20).map(|_| page("ok")).collect())], options);
    let answers = join_all((0..20).map(|_| bench.ask("GET /"))).await;
    assert!(answers.iter().all(|answer| answer == "200 ok"), "{answers:?}");
    assert!(bench.seen.lock().most_at_once <= 3);
}

#[tokio::test(start_paused = true)]
async fn what_a_server_has_not_seen_is_sent_again_whatever_it_is() {
    let refusals: [fn(u32) -> Vec<u8>; 3] = [
        |s| server::reset(s, Code::RefusedStream),
        |s| goaway(s - 2, Code::NoError),
        |s| goaway(s - 2, Code::EnhanceYourCalm),
    ];
    for refusal in refusals {
        for at_head in [true, false] {
            let mut first = Script::of(vec![page("1"), send(refusal), page("again")]);
            first.at_head = at_head;
            let bench = bench(vec![first, Script::of(vec![page("again")])]);
            assert_eq!(bench.ask("GET /1").await, "200 1");
            let shown = bench.ask_with(call("POST /2", Some("hello"))).await;
            assert_eq!(shown, "200 again", "{at_head}");
            let seen = bench.seen.lock();
            let last = seen.requests.last().expect("it was asked");
            assert!(last.ends_with("hello"), "{last}");
            assert_eq!(
                bench.origin.counters().http2_refused.read()
                    + bench.origin.counters().stale_retries.read(),
                1
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_again_and_again_is_not_asked_for_ever() {
    let refuse = || send(|s| server::reset(s, Code::RefusedStream));
    let bench = bench(vec![Script::of((0..9).map(|_| refuse()).collect())]);
    assert!(bench.ask("GET /").await.starts_with("502 "));
    assert_eq!(bench.seen.lock().requests.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_wants_http1_is_asked_in_it_from_then_on() {
    let required = send(|s| frame(3, 0, s, &13_u32.to_be_bytes()));
    let single = || Script { is_single: true, ..Script::of(Vec::new()) };
    let bench = bench(vec![Script::of(vec![required]), single(), single()]);
    for number in 1..3 {
        assert_eq!(bench.ask(&format!("GET /{number}")).await, "200 old");
        assert_eq!(bench.connections(), number + 1);
    }
    assert!(bench.seen.lock().requests[2].starts_with("3 GET /2 HTTP/1.1\r\nhost: site\r\n"));
}

#[tokio::test(start_paused = true)]
async fn what_goes_on_in_another_protocol_goes_by_http1() {
    let single = Script { is_single: true, ..Script::of(Vec::new()) };
    let bench = bench(vec![Script::of(vec![page("1")]), single]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    let upgrading = bench.origin.upgrade(call("GET /chat", None)).await;
    assert!(matches!(upgrading, Ok(Upgrading::Answered(answer)) if answer.head.status == 200));
    assert!(bench.seen.lock().requests[1].starts_with("2 GET /chat HTTP/1.1\r\n"));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_seen_is_sent_again_only_if_it_may_be_repeated() {
    let ends: [fn() -> Act; 2] = [|| close(|_| Vec::new()), || close(|s| goaway(s, Code::NoError))];
    for end in ends {
        for (line, body, seen) in [
            ("GET /2", None, "200 again"),
            ("DELETE /2", None, "200 again"),
            ("POST /2", None, "502 "),
            ("PUT /2", Some("body"), "502 "),
        ] {
            // Seen, and then the connection is gone.
            let first = Script::of(vec![page("1"), end()]);
            let bench = bench(vec![first, Script::of(vec![page("again")])]);
            assert_eq!(bench.ask("GET /1").await, "200 1");
            let shown = bench.ask_with(call(line, body)).await;
            assert!(shown.starts_with(seen), "{line}: {shown}");
            let method = format!(":method={}", line.split(' ').next().unwrap_or_default());
            let times = bench.seen.lock().requests.iter().filter(|r| r.contains(&method)).count();
            let again = if seen.starts_with("200") { 2 } else { 1 };
            assert_eq!(times - usize::from(line.starts_with("GET")), again, "{line}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_answered_before_a_goodbye_is_answered_to_the_end_and_others_go_elsewhere() {
    let begun = send(|s| {
        let head = head(s, 200, "content-length: 4", false);
        [head, data(s, b"sl", false), goaway(s, Code::NoError)].concat()
    });
    let first = Script::of(vec![begun]);
    let bench = bench(vec![first, Script::of(vec![page("other")])]);
    let slow = bench.origin.send(call("GET /slow", None)).await.expect("an answer");
    assert_eq!(bench.ask("GET /other").await, "200 other");
    assert_eq!(bench.connections(), 2);
    // Nothing more comes on the first one, which is still there.
    let end = slow.body.collect().await.err();
    assert_eq!(end, Some(BodyError::OriginIdle { seconds: 60 }));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_died_is_noticed_while_somebody_waits() {
    let mut deaf = Script::of(vec![]);
    deaf.is_deaf = true;
    let bench = bench(vec![deaf, Script::of(vec![page("1")])]);
    let before = tokio::time::Instant::now();
    let shown = bench.ask("GET /").await;
    assert!(shown.starts_with("502 the origin closed the connection"), "{shown}");
    assert!(before.elapsed() < Duration::from_secs(20));
    assert_eq!(bench.origin.counters().http2_dead.read(), 1);
    assert_eq!(bench.ask("GET /").await, "200 1");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_and_there_is_waited_for_and_given_up_if_nobody_is_answered() {
    for is_somebody_answered in [true, false] {
        let mut acts = vec![silence()];
        acts.extend(is_somebody_answered.then(|| page("quick")));
        acts.push(page("same"));
        let bench = bench(vec![Script::of(acts), Script::of(vec![page("new")])]);
        let others = async {
            tokio::time::sleep(Duration::from_secs(9)).await;
            if is_somebody_answered {
                assert_eq!(bench.ask("GET /quick").await, "200 quick");
            }
        };
        let (slow, ()) = tokio::join!(bench.ask("GET /slow"), others);
        assert!(slow.starts_with("504 "), "{slow}");
        assert_eq!(bench.origin.counters().http2_dead.read(), 0);
        let next = if is_somebody_answered { "200 same" } else { "200 new" };
        assert_eq!(bench.ask("GET /").await, next);
        // The request that nobody waits for any more was called off.
        assert_eq!(bench.origin.load().taken, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_once_it_has_lain_unused() {
    let bench = bench(vec![Script::of(vec![page("1"), page("2")]), Script::of(vec![page("3")])]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(bench.ask("GET /2").await, "200 2");
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(bench.ask("GET /3").await, "200 3");
    assert_eq!(bench.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_reads_is_not_fetched_and_holds_up_nobody() {
    const BIG: usize = 1 << 20;
    let flood = || {
        send(|s| {
            // As much as the window of a stream takes, and no byte more.
            let piece = data(s, &[b'x'; 1 << 14], false);
            [head(s, 200, &format!("content-length: {BIG}"), false), piece.repeat(16)].concat()
        })
    };
    let mut acts: Vec<Act> = (0..50).map(|_| flood()).collect();
    acts.push(page("quick"));
    let bench = bench(vec![Script::of(acts)]);
    let mut unread = Vec::new();
    for _ in 0..50 {
        unread.push(bench.origin.send(call("GET /big", None)).await.expect("a head"));
    }
    assert_eq!(bench.ask("GET /quick").await, "200 quick");
    assert_eq!((bench.connections(), bench.seen.lock().leave_bytes), (1, 0));
    drop(unread);
    tokio::task::yield_now().await;
    assert_eq!(bench.origin.load().taken, 0);
}

#[tokio::test(start_paused = true)]
async fn a_window_that_never_opens_ends_with_the_time_for_an_answer() {
    let mut shut = Script::of(vec![page("late")]);
    shut.settings[1].1 = 0;
    let bench = bench(vec![shut]);
    let shown = bench.ask_with(call("POST /", Some("hello"))).await;
    assert_eq!(shown, "504 the origin sent no answer within 60 s");
    assert_eq!(bench.seen.lock().body_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_breaks_off_is_not_the_origins_fault() {
    let bench = bench(vec![Script::of(vec![page("1")])]);
    let mut broken = call("POST /", None);
    let error = Err(BodyError::Client("gone".to_owned()));
    let body = http_body_util::StreamBody::new(futures_util::stream::iter([error]));
    broken.body = Some(body.boxed_unsync());
    broken.body_length = Some(5);
    assert!(bench.ask_with(broken).await.starts_with("400 "));
    assert_eq!(bench.ask("GET /").await, "200 1");
    assert_eq!(bench.seen.lock().resets.len(), 1);
    assert_eq!(bench.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_visitor_who_leaves_resets_the_stream_alone() {
    let bench = bench(vec![Script::of(vec![page("1"), silence(), page("2")])]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    let left = tokio::time::timeout(Duration::from_millis(10), bench.ask("GET /left")).await;
    assert!(left.is_err());
    assert_eq!(bench.ask("GET /2").await, "200 2");
    assert_eq!((bench.connections(), bench.origin.load().taken), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn early_hints_are_relayed() {
    let hinted = send(|s| {
        let hints = head(s, 103, "link: </a.css>", false);
        [head(s, 100, "", false), hints, head(s, 200, "", true)].concat()
    });
    let bench = bench(vec![Script::of(vec![hinted])]);
    let heads = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (mut call, sink) = (call("GET /", None), heads.clone());
    call.early = Some(Box::new(move |head| sink.lock().push(head)));
    assert_eq!(bench.ask_with(call).await, "200 ");
    let heads = heads.lock();
    assert_eq!(heads.len(), 1);
    assert_eq!(format!("{} {:?}", heads[0].status, heads[0].fields), "103 [\"link: </a.css>\"]");
}

#[tokio::test(start_paused = true)]
async fn bodies_and_trailers_go_up_as_they_come() {
    let mut fields = http::HeaderMap::new();
    fields.insert("sum", http::HeaderValue::from_static("1"));
    let pieces = [
        Ok(http_body::Frame::data(bytes::Bytes::from(vec![b'a'; 40_000]))),
        Ok(http_body::Frame::data(bytes::Bytes::from("end"))),
        Ok(http_body::Frame::trailers(fields)),
    ];
    let bench = bench(vec![Script::of(vec![page("ok")])]);
    let mut upload = call("POST /", None);
    let body = http_body_util::StreamBody::new(futures_util::stream::iter(pieces));
    upload.body = Some(body.boxed_unsync());
    upload.body_length = None;
    assert_eq!(bench.ask_with(upload).await, "200 ok");
    let seen = bench.seen.lock();
    assert!(seen.requests[0].ends_with("aaaendsum=1 "), "{}", seen.requests[0].len());
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_head_has_the_length_in_its_fields_and_no_body() {
    let bench = bench(vec![Script::of(vec![send(|s| head(s, 200, "content-length: 9", true))])]);
    let answer = bench.origin.send(call("HEAD /", None)).await.expect("an answer");
    assert_eq!(answer.head.fields.text(wire::Name::ContentLength), Some("9"));
    assert_eq!(answer.length, Some(0));
}

#[tokio::test(start_paused = true)]
async fn after_the_farewell_a_connection_ends_with_its_last_request() {
    let bench = bench(vec![Script::of(vec![page("1"), page("2")]), Script::of(vec![page("3")])]);
    assert_eq!(bench.ask("GET /1").await, "200 1");
    bench.origin.retire();
    assert_eq!(bench.ask("GET /3").await, "200 3");
    assert_eq!(bench.connections(), 2);
    assert_eq!(bench.origin.members[0].lines.as_ref().map(|lines| lines.count()), Some(0));
}

#[tokio::test(start_paused = true)]
async fn checks_have_a_connection_of_their_own() {
    let check = HealthCheck {
        path: "/health".into(),
        host: String::new(),
        every: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        status: None,
    };
    let options = HttpOptions { check: Some(check), ..HttpOptions::default() };
    let script = || Script::of(vec![page("fine")]);
    let bench = bench_of(vec![script(), script(), script()], options);
    let watched = tokio::time::timeout(Duration::from_secs(11), bench.origin.watch()).await;
    assert!(watched.is_err());
    assert_eq!(bench.connections(), 3);
    assert_eq!(bench.origin.counters().checks_failed.read(), 0);
    let first = bench.seen.lock().requests[0].clone();
    assert!(first.contains(":path=/health") && !first.contains("connection="), "{first}");
}

//! Runs against a small server of the test's own: what is sent, and what is told of it.
//!
//! Nothing here asserts how long something took, but that it took at least as long as the server
//! made it take.

mod server;

use std::sync::Arc;
use std::time::Duration;

use h3::error::ConnectionError;
use loadgen::plan::{Closed, Load, Protocol, Work};
use loadgen::replay::{self, Arrival};
use loadgen::report::Summary;
use loadgen::request::{Mix, Request, Wanted};
use loadgen::schedule::Pattern;
use loadgen::story;
use loadgen::tally::FailureKind;
use loadgen::target::Target;
use loadgen::{Live, Outcome, Plan, run};

use crate::server::{Server, Turn};

const OK: &str = "HTTP/1.1 200 OK\r\nServer: test\r\nContent-Length: 2\r\n\r\nok";

fn plan(url: &str, load: Load) -> Plan {
    let (target, path) = Target::parse(url).expect("an address");
    let request = Request::new(Wanted::get(path), &target, true).expect("a request");
    Plan {
        target,
        work: Work::Requests(Mix::new(vec![(request, 1.0)]).expect("a weight")),
        load,
        connections: 4,
        keeps: true,
        timeout: Duration::from_secs(60),
        threads: 1,
        visitors: 0,
        protocol: Protocol::Http1,
        verifies: true,
    }
}

fn open(pattern: &str) -> Load {
    Load::Open(Pattern::parse(pattern).expect("a pattern"))
}

fn closed(requests: u64) -> Load {
    let (time, rate_max, think) = (None, None, Duration::ZERO);
    Load::Closed(Closed { requests: Some(requests), time, rate_max, think })
}

fn load(plan: Plan) -> Outcome {
    let live = Live::new(plan.threads);
    run(&Arc::new(plan), &live).expect("somebody listens")
}

#[test]
fn every_request_of_a_schedule_is_sent_once_and_answered() {
    let server = Server::start(|_, _| Turn::Answer(OK.into()));
    let outcome = load(Plan { threads: 2, ..plan(&server.url("/a"), open("1-400:1")) });
    let tally = &outcome.tally;
    assert_eq!((tally.begun, tally.answered(), tally.failed()), (201, 201, 0));
    assert_eq!(tally.statuses.get(&200), Some(&201));
    assert_eq!((tally.body_bytes, tally.server.as_str()), (402, "test"));
    assert!((1..=4).contains(&tally.connections), "{} connections", tally.connections);
    assert_eq!(tally.kept + tally.connections, 201);
    let seen = server.seen();
    assert_eq!(seen.len(), 201);
    assert!(seen.iter().all(|head| head.starts_with("GET /a HTTP/1.1\r\nHost: 127.0.0.1:")));
    assert!(outcome.time >= Duration::from_secs(1), "the schedule's time counts");
}

#[test]
fn a_stall_counts_for_all_who_would_have_come_meanwhile() {
    // Ten requests within 200 ms for one connection, whose first is answered after 500 ms.
    let stall = Duration::from_millis(500);
    let answer = move |number: u64, _: &str| match number {
        0 => Turn::After(stall, OK.into()),
        _ => Turn::Answer(OK.into()),
    };
    let server = Server::start(answer);
    let outcome = load(Plan { connections: 1, ..plan(&server.url("/"), open("50:0.2")) });
    let least = Duration::from_micros(outcome.tally.latency.min());
    assert!(least >= stall - Duration::from_millis(201), "{least:?}");
    assert_eq!(outcome.tally.late_by_target, 9);
    let server = Server::start(answer);
    let outcome = load(Plan { connections: 1, ..plan(&server.url("/"), closed(10)) });
    let latency = &outcome.tally.latency;
    let long = latency.count_between(400_000, u64::MAX);
    assert!(long < 10, "who asks again only when answered sees the stall once, not {long} times");
    assert_eq!(latency.len(), 10);
}

#[test]
fn failures_are_told_apart() {
    let server = Server::start(|number, _| match number {
        0 => Turn::Answer(OK.into()),
        1 => Turn::AnswerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".into()),
        2 => Turn::AnswerAndClose("SSH-2.0-x\r\n".into()),
        3 => Turn::Answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".into()),
        4 => Turn::Never,
        _ => Turn::Answer(OK.into()),
    });
    let timeout = Duration::from_secs(2);
    let plan = plan(&server.url("/"), closed(8));
    let outcome = load(Plan { connections: 1, timeout, ..plan });
    let tally = &outcome.tally;
    let count = |kind| tally.failures.get(&kind).map_or(0, |failures| failures.count);
    assert_eq!(count(FailureKind::Receive), 1, "{:?}", tally.failures);
    assert_eq!(count(FailureKind::Malformed), 1, "{:?}", tally.failures);
    assert_eq!(count(FailureKind::Timeout), 1, "{:?}", tally.failures);
    assert_eq!((tally.begun, tally.answered(), tally.failed()), (8, 5, 3));
    assert_eq!(tally.statuses.get(&503), Some(&1));
}

#[test]
fn what_a_kept_connection_lost_is_sent_again() {
    let server = Server::start(|_, _| Turn::AnswerAndClose(OK.into()));
    let outcome = load(Plan { connections: 1, ..plan(&server.url("/"), closed(5)) });
    let tally = &outcome.tally;
    assert_eq!((tally.answered(), tally.failed()), (5, 0));
    assert_eq!((tally.resent, tally.connections), (4, 5));
}

#[test]
fn visitors_keep_their_own_cookies() {
    let server = Server::start(|number, _| {
        let set = format!("Set-Cookie: visitor={number}; Path=/\r\n");
        Turn::Answer(format!("HTTP/1.1 200 OK\r\n{set}Content-Length: 0\r\n\r\n"))
    });
    let plan = plan(&server.url("/"), closed(6));
    let outcome = load(Plan { connections: 1, visitors: 2, ..plan });
    assert_eq!(outcome.tally.answered(), 6);
    let seen = server.seen();
    let cookies: Vec<_> = seen
        .iter()
        .map(|head| head.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap_or("none"))
        .collect();
    let own = ["none", "none", "visitor=0", "visitor=1", "visitor=2", "visitor=3"];
    assert_eq!(cookies, own);
}

#[test]
fn a_scenario_is_played_by_each_visitor() {
    let server = Server::start(|_, head| {
        if head.starts_with("GET /login") {
            let page = "<input name=token value=t42>";
            let length = page.len();
            let head = "HTTP/1.1 200 OK\r\nSet-Cookie: s=9\r\nContent-Length: ";
            Turn::Answer(format!("{head}{length}\r\n\r\n{page}"))
        } else {
            Turn::Answer("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n".into())
        }
    });
    let scenarios = |expect: u16| {
        format!(
            "[[scenario]]\nname = \"in\"\n\
             [[scenario.step]]\nrequest = \"GET /login\"\ntake = {{ token = 'value=(\\w+)' }}\n\
             [[scenario.step]]\nrequest = \"GET /in?t={{token}}\"\nexpect = {expect}\nthink = \"1ms\"\n"
        )
    };
    let url = server.url("/");
    let (target, _) = Target::parse(&url).expect("an address");
    let play = |expect| {
        let stories = story::parse(&scenarios(expect), &target, true).expect("scenarios");
        let plan = plan(&url, closed(3));
        load(Plan { work: Work::Stories(stories), connections: 1, ..plan })
    };
    let good = play(302).tally;
    assert_eq!((good.begun, good.answered(), good.failed()), (6, 6, 0));
    let seen = server.seen();
    assert!(seen[1].starts_with("GET /in?t=t42 HTTP/1.1\r\n"), "{}", seen[1]);
    assert!(seen[1].contains("\r\nCookie: s=9\r\n"), "{}", seen[1]);
    assert!(!seen[2].contains("Cookie"), "each time it is a new visitor: {}", seen[2]);
    let bad = play(200).tally;
    assert_eq!((bad.answered(), bad.failed()), (3, 3));
    let first = &bad.failures[&FailureKind::Unexpected].first;
    assert_eq!(first, "/in?t=t42: status 302, and not 200");
}

#[test]
fn a_log_is_played_in_its_order() {
    let server = Server::start(|_, _| Turn::Answer(OK.into()));
    let base = plan(&server.url("/"), closed(1));
    let arrivals = [(0, "GET", "/b"), (1, "HEAD", "/a"), (2, "GET", "/b"), (3, "GET", "/a")];
    let arrivals = arrivals.map(|(at_ms, method, path)| Arrival { at_ms, method, path });
    let replay = replay::of_arrivals(arrivals, 1.0, &base.target).expect("arrivals");
    let (work, when) = (Work::Recorded(replay.recorded), Load::Moments(replay.moments));
    let outcome = load(Plan { work, load: when, connections: 1, ..base });
    assert_eq!((outcome.tally.answered(), outcome.tally.begun), (4, 4));
    let seen = server.seen();
    let asked: Vec<_> = seen.iter().filter_map(|head| head.split(" HTTP").next()).collect();
    assert_eq!(asked, ["GET /b", "HEAD /a", "GET /b", "GET /a"]);
}

#[test]
fn who_is_stopped_tells_what_was_measured_until_then() {
    let live = Arc::new(Live::new(1));
    let stop = Arc::clone(&live);
    let server = Server::start(move |number, _| match number {
        0..3 => Turn::Answer(OK.into()),
        _ => {
            stop.stop();
            Turn::Never
        }
    });
    let plan = Arc::new(Plan { connections: 1, ..plan(&server.url("/"), closed(1_000_000)) });
    let outcome = run(&plan, &live).expect("somebody listens");
    assert!(outcome.is_stopped);
    let summary = Summary::of(&plan, &outcome);
    assert_eq!((summary.answered, summary.failed), (3, 1));
    assert_eq!(summary.failures["unfinished at the end"].count, 1);
}

#[test]
fn nobody_there_is_told_at_once() {
    let url = Server::start(|_, _| Turn::Never).url("/").replace("127.0.0.1", "127.0.0.2");
    let plan = Arc::new(plan(&url, closed(1)));
    let error = run(&plan, &Live::new(1)).expect_err("nobody listens there").to_string();
    assert!(error.starts_with("127.0.0.2:") && error.contains("can't be reached"), "{error}");
}

#[test]
fn http2_shares_a_connection() {
    let address = server::http2::start();
    let plan = plan(&format!("http://{address}/a?b"), closed(300));
    let outcome = load(Plan { connections: 20, protocol: Protocol::Http2, ..plan });
    let tally = &outcome.tally;
    assert_eq!((tally.answered(), tally.failed()), (300, 0), "{:?}", tally.failures);
    // The server tells each request's method and target: GET /a?b.
    assert_eq!((tally.body_bytes, tally.connections), (300 * 8, 1));
    assert_eq!(tally.statuses.get(&203), Some(&300));
    assert_eq!(tally.server, "");
}

/// A plan for a server of HTTP/3 whose certificate nobody vouches for.
fn quic_plan(server: &server::http3::Server, path: &str, requests: u64) -> Plan {
    let plan = plan(&format!("https://{}{path}", server.address), closed(requests));
    Plan { connections: 20, protocol: Protocol::Http3, verifies: false, ..plan }
}

#[test]
fn http3_shares_a_connection_and_closes_it_at_the_end() {
    let server = server::http3::Server::start(|told| assert_eq!(told, "GET /a?b"));
    let outcome = load(quic_plan(&server, "/a?b", 300));
    let tally = &outcome.tally;
    assert_eq!((tally.answered(), tally.failed()), (300, 0), "{:?}", tally.failures);
    assert_eq!((tally.body_bytes, tally.connections), (300 * 8, 1));
    assert_eq!(tally.statuses.get(&203), Some(&300));
    // One looked whether anybody is there, one bore the load.
    let ended = server.ended(2);
    assert!(ended.iter().all(ConnectionError::is_h3_no_error), "{ended:?}");
}

#[test]
fn http3_is_closed_also_when_a_run_is_stopped() {
    let live = Arc::new(Live::new(2));
    let stop = Arc::clone(&live);
    let server = server::http3::Server::start(move |_| stop.stop());
    let plan = Plan { threads: 2, ..quic_plan(&server, "/a?b", u64::MAX) };
    let outcome = run(&Arc::new(plan), &live).expect("somebody listens");
    assert!(outcome.is_stopped);
    let connections = usize::try_from(outcome.tally.connections).expect("a few");
    let ended = server.ended(1 + connections);
    assert!(ended.iter().all(ConnectionError::is_h3_no_error), "{ended:?}");
}

#[test]
fn who_waits_for_http3_in_vain_gives_up_and_keeps_the_connection() {
    for path in ["/never", "/half"] {
        let server = server::http3::Server::start(|_| ());
        let timeout = Duration::from_secs(1);
        let outcome = load(Plan { timeout, connections: 1, ..quic_plan(&server, path, 2) });
        let tally = &outcome.tally;
        assert_eq!((tally.answered(), tally.connections), (0, 1));
        assert_eq!(tally.failures[&FailureKind::Timeout].count, 2, "{:?}", tally.failures);
    }
}

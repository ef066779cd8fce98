//! Traces, against a collector that takes nothing but what the protocol allows.

use std::time::Duration;

use policy::{MissReason, Verdict};
use server::TraceRules;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

fn answered(status: u16, body: &'static str) -> Answered {
    let retry_after = (status == 429).then(|| Duration::from_secs(7));
    Answered { status, retry_after, body: body.into() }
}

#[test]
fn a_collectors_answer_says_what_to_do() {
    for (status, body, expected) in [
        (200, "{}", Sent::Taken { rejected: 0 }),
        (200, "", Sent::Taken { rejected: 0 }),
        (200, "{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}", Sent::Taken { rejected: 3 }),
        (202, "{\"partialSuccess\":{\"rejectedSpans\":2}}", Sent::Taken { rejected: 2 }),
        (200, "\u{1}[[", Sent::Taken { rejected: 0 }),
        (429, "", Sent::Later(Some(Duration::from_secs(7)), "a status of 429".to_owned())),
        (503, "", Sent::Later(None, "a status of 503".to_owned())),
        (400, "", Sent::Never("a status of 400".to_owned())),
        (500, "", Sent::Never("a status of 500".to_owned())),
        (302, "", Sent::Never("a status of 302".to_owned())),
    ] {
        assert_eq!(judge(&answered(status, body)), expected, "{status} {body}");
    }
}

fn traces(queue: usize) -> (Arc<Traces>, mpsc::Receiver<Recorded>) {
    let (queue, received) = mpsc::channel(queue);
    let (counters, exemplars) = (TraceCounters::default(), Exemplars::default());
    (Arc::new(Traces { queue, counters, exemplars }), received)
}

fn record(traces: &Traces, id: u128) {
    let answer = Answer {
        unix_ms: 1_789_000_000_000,
        method: "GET",
        host: "a.test",
        path: "/x",
        status: 200,
        verdict: Verdict::Miss(MissReason::UriMiss),
        unstored: None,
        bytes: 9,
        is_html: true,
        phases: [5; Phase::COUNT],
        site: &|| "forum".to_owned(),
        took_us: &|| 70_000,
    };
    let trace = Trace {
        id,
        parent: 0,
        span: 2,
        origin_span: 3,
        is_recorded: true,
        scheme: "http",
        version: Version::Http2,
    };
    traces.record(&answer, &trace, [0; Phase::COUNT], RouteName::default());
}

#[test]
fn a_full_queue_leaves_out_and_counts() {
    let (traces, mut received) = traces(2);
    (1..=5).for_each(|id| record(&traces, id));
    assert_eq!(traces.counters.left_out.read(), 3);
    let kept = received.try_recv().expect("the first");
    assert_eq!((kept.place.trace, kept.site.as_str(), kept.place.version), (1, "forum", "2"));
    let exemplars: Vec<u128> = traces.exemplars().iter().flatten().map(|it| it.trace).collect();
    assert_eq!(exemplars, [2], "an exemplar is a trace that can be found");
}

/// A collector that gives these answers in turn, and what it was asked.
async fn collector(
    answers: Vec<&'static str>,
) -> (Collector, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(async move {
        let mut heard = Vec::new();
        for status in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = Vec::new();
            while !request.ends_with(b"}]}]}]}") {
                assert!(stream.read_buf(&mut request).await.expect("a request") > 0);
            }
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
            stream.write_all(answer.as_bytes()).await.expect("it listens");
            heard.push(String::from_utf8_lossy(&request).into_owned());
        }
        heard
    });
    (Collector::parse(&format!("http://{address}")).expect("an address"), serving)
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_not() {
    let answers = vec!["503 Busy", "503 Busy", "200 OK", "400 Bad", "200 OK"];
    let (collector, serving) = collector(answers).await;
    let (traces, mut received) = traces(8);
    let plan = TracesPlan { collector, rules: TraceRules::new(1.0) };
    let pause = Duration::from_millis(1);
    let mut sender = Sender { plan, traces: traces.clone(), pause, has_complained: false };
    let origin = sender.plan.collector.0.origin().expect("an origin");
    for id in [0xa, 0xb, 0xc] {
        record(&traces, id);
        let batch = [received.try_recv().expect("it was recorded")];
        sender.send(&origin, &batch).await;
    }
    let heard = serving.await.expect("a collector");
    for (asked, id) in heard.iter().zip(["a", "a", "a", "b", "c"]) {
        assert!(asked.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{asked}");
        assert!(asked.contains(&format!("\"traceId\":\"{id:0>32}\"")), "{asked}");
    }
    assert_eq!((traces.counters.sent.read(), traces.counters.lost.read()), (2, 1));
    assert!(!sender.has_complained, "it is good again");
}

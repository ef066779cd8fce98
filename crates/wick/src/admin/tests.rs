//! What the admin listener tells, of a server that serves nobody: every name, in every form.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::atomic::Ordering;

use base::Clock;
use changes::Source;
use http_body_util::BodyExt;
use observe::machine::php::{Child, Opcache, Pool};
use observe::machine::{Machine, Process};
use observe::metrics::{Format, Times};
use observe::traces::{Exemplar, Exemplars};
use origin::{FilesOrigin, Origin};
use server::{ServerConfig, SiteConfig, StrangerRules};

use super::guard::Guard;
use super::now::{CertificateNow, DiskNow, Now, PhpNow};
use super::subjects::DatabaseState;
use super::token::Token;
use super::watch::Look;
use super::*;
use crate::observing::Latest;

fn server() -> Arc<Server> {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    site.name = "/srv/\"site\"\n a.test".into();
    site.strangers = Some(StrangerRules::default());
    site.changes = vec![Source::Files("/nowhere".into())];
    let config = ServerConfig {
        app_memory_bytes: 0,
        sites: vec![site],
        memory_bytes: 64 << 20,
        limits: server::Limits::default(),
        proxies: server::Proxies::default(),
        request_ids: false,
        traces: None,
        access: None,
        observer: None,
        server_timing: false,
        notes: Arc::new(server::NoNotes),
        rulings: Arc::default(),
        tls: None,
        disk: None,
        complaints: None,
        fellowship: None,
        aside: None,
    };
    Server::new(config, Clock::manual(0))
}

/// A look at which everything is known.
fn look() -> Arc<Look> {
    watch(&Observing::new(std::path::Path::new("/nowhere"))).look()
}

fn watch(observing: &Arc<Observing>) -> Watch {
    let watched = Watched {
        server: server(),
        observing: observing.clone(),
        memory_bytes: 64 << 20,
        log_lost: None,
        http3_addresses: 1,
        counters: Arc::default(),
        audience: Arc::default(),
        began: Instant::now(),
    };
    Watch::new(watched, Meter::new("/", vec![80]))
}

fn full(mut now: Now) -> Now {
    let children = vec![Child { pid: 7, state: "Idle".into(), ..Child::default() }];
    let site = &mut now.sites[0];
    site.php = Some(PhpNow {
        restarts: Some(1),
        pool: Some(Pool { children, ..Pool::default() }),
        opcache: Some(Opcache::default()),
    });
    (site.slots, site.slots_taken, site.waiting) = (Some(9), Some(3), Some(0));
    site.databases = vec![DatabaseState {
        kind: "MariaDB or MySQL",
        name: "site".into(),
        lost: None,
        connections: Some(1),
        running: Some(1),
        questions: Some(1),
        slow: Some(0),
        memory_hits: Some(1),
        memory_misses: Some(1),
    }];
    now.disk = Some(DiskNow { pages: 1, used_bytes: 9, counts: Vec::new() });
    now.machine = machine();
    now.traces = crate::traces::TraceCounters::default().each().collect();
    let mut times = Times::default();
    times.counts.add(700_000);
    let exemplars = Exemplars::default();
    exemplars.note(Exemplar { trace: 0xabc, took_us: 700_000, unix_ms: 1_789_000_000_500 });
    times.exemplars = exemplars.each();
    now.observed = Some(Latest { times, ..Latest::default() });
    now.certificates =
        vec![CertificateNow { names: vec!["a.test".into()], ends_seconds: 1_800_000_000 }];
    now
}

/// A machine of which everything is known; the one that this runs on may be a container.
fn machine() -> Machine {
    let (number, share) = (Some(1), Some(0.5));
    Machine {
        cores: vec![0.5, 1.0],
        busy_seconds: share,
        stolen_seconds: share,
        load: share,
        memory_total_bytes: number,
        memory_available_bytes: number,
        swap_total_bytes: number,
        swap_used_bytes: number,
        pressure_processor_ratio: share,
        pressure_memory_ratio: share,
        pressure_disk_ratio: share,
        disk_read_bytes: number,
        disk_written_bytes: number,
        disk_total_bytes: number,
        disk_free_bytes: number,
        network_received_bytes: number,
        network_sent_bytes: number,
        accept_queue: number,
        accept_overflows: number,
        process: Process {
            resident_bytes: number,
            descriptors: number,
            descriptors_max: number,
            busy_seconds: share,
            threads: number,
        },
    }
}

#[tokio::test]
async fn an_error_of_the_apps_own_counts_as_a_failure_and_a_clients_wish_does_not() {
    use policy::{FailReason, MissReason, Verdict};
    let mut now = full(look().now.clone());
    now.verdicts = vec![
        (Verdict::Miss(MissReason::UriMiss), 70),
        (Verdict::Failed(FailReason::OriginTimeout), 5),
        (Verdict::Failed(FailReason::OnlyIfCached), 25),
    ];
    now.answers = 100;
    // 40 of the misses were pages of the app that say 500.
    now.observed = Some(Latest { requests: 100, errors: 70, ..Latest::default() });
    let sample = alarm::sample(&now, &[]);
    assert_eq!((sample.answers, sample.failed), (100, 45));
    now.observed = None;
    let sample = alarm::sample(&now, &[]);
    assert_eq!((sample.answers, sample.failed), (100, 5), "no status is counted");
}

/// Every name of a number, as it is asked for.
fn names() -> HashSet<String> {
    let page = metrics::page(&full(look().now.clone()));
    let name = |(name, kind): (&str, observe::metrics::Kind)| match kind {
        observe::metrics::Kind::Counter => format!("{name}_total"),
        observe::metrics::Kind::Gauge | observe::metrics::Kind::Histogram => name.to_owned(),
    };
    page.names().map(name).collect()
}

#[tokio::test]
async fn the_dashboard_asks_for_names_that_there_are() {
    let names = names();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/wick.json");
    let text = std::fs::read_to_string(path).expect("the dashboard");
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let panels = json["panels"].as_array().expect("its panels");
    let mut asked = HashSet::new();
    for expression in panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().expect("what it asks for"))
        .map(|target| target["expr"].as_str().expect("an expression"))
        .chain(["wick_uptime_seconds"])
    {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let ours = |word: &&str| word.starts_with("wick_") || word.starts_with("process_");
        asked.extend(words.filter(ours).map(str::to_owned));
    }
    let unknown: Vec<_> = asked.difference(&names).collect();
    assert!(asked.len() > 30 && unknown.is_empty(), "{unknown:?} of {asked:?}");
}

#[tokio::test]
async fn every_counter_of_the_server_has_a_name_and_a_help() {
    let names = names();
    let look = look();
    for count in &look.now.counters {
        assert!(names.contains(&format!("wick_{}_total", count.name)), "{}", count.name);
        assert!(count.what.ends_with('.'), "{}: {}", count.name, count.what);
    }
    let site = &look.now.sites[0];
    for (about, counts) in
        [("origin", &site.origin), ("strangers", &site.strangers), ("changes", &site.changes)]
    {
        assert!(counts.len() > 5, "{about}");
        for count in counts {
            let name = format!("wick_{about}_{}_total", count.name).replace("_us_", "_seconds_");
            assert!(names.contains(&name), "{name}");
        }
    }
}

#[tokio::test]
async fn the_page_of_numbers_is_open_metrics_or_prometheus_text() {
    let page = metrics::page(&full(look().now.clone()));
    let open = page.finish(Format::OpenMetrics);
    assert!(open.contains("# {trace_id=\"00000000000000000000000000000abc\"} 0.7 "), "{open}");
    for (text, module) in [
        (open, "prometheus_client.openmetrics.parser"),
        (page.finish(Format::Prometheus), "prometheus_client.parser"),
    ] {
        let Some(told) = parsed(&text, module) else { return };
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(told, format!("{} {samples}", names().len()), "{module}");
    }
}

/// What the parser of Prometheus' own library says of a page, if it is here: families, and
/// numbers of them.
fn parsed(page: &str, module: &str) -> Option<String> {
    let program = format!(
        "import sys\n\
         from {module} import text_string_to_metric_families as parse\n\
         all = list(parse(sys.stdin.read()))\n\
         print(len(all), sum(len(one.samples) for one in all))"
    );
    let mut parser = std::process::Command::new("/usr/bin/python3")
        .args(["-c", &program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    // It may have gone already, with a reason that is read below.
    let _ = parser.stdin.take().expect("it is piped").write_all(page.as_bytes());
    let parsed = parser.wait_with_output().expect("it ends");
    let complaint = String::from_utf8_lossy(&parsed.stderr);
    if complaint.contains("ModuleNotFoundError") {
        eprintln!("SKIPPED: python3-prometheus-client is not installed (scripts/setup test)");
        return None;
    }
    assert!(parsed.status.success(), "{complaint}\n{page}");
    Some(String::from_utf8_lossy(&parsed.stdout).trim().to_owned())
}

#[tokio::test]
async fn a_look_tells_no_reason_with_a_zero_and_keeps_names_as_they_are() {
    let look = look();
    let json: serde_json::Value = serde_json::from_slice(&look.json()).expect("JSON");
    assert_eq!(json["sites"][0]["name"], "/srv/\"site\"\n a.test");
    assert_eq!(json["verdicts"], serde_json::json!({}));
    assert_eq!(json["sites"][0]["is_followed"], false);
    assert_eq!(json["cache"]["memory_bytes"], 64 << 20);
    assert_eq!(look.json().as_ptr(), look.json().as_ptr(), "it is made once");
    assert!(!look.json().contains(&b'\n'), "it is one line of an event");
}

fn admin(guard: Guard) -> (Admin, telling::Sender<Arc<Look>>) {
    let (told, looks) = telling::channel(look());
    let observing = Observing::new(std::path::Path::new("/nowhere"));
    let server = server();
    let asked = Asked::new(&server, &observing, guard.token.is_some());
    let acting = Acting { server, road: tokio::runtime::Handle::current() };
    let (streams, counters) = (Streams::default(), Arc::default());
    let admin = Admin { guard, looks, streams, counters, asked, acting };
    (admin, told)
}

/// A request by its line and fields, asked of an address of this machine.
fn ask(admin: &Admin, request: &str) -> http::Response<serve::Body> {
    admin.answer(&head(request))
}

fn head(request: &str) -> http::request::Parts {
    let mut lines = request.lines();
    let (method, target) =
        lines.next().and_then(|line| line.split_once(' ')).expect("a request line");
    let mut built = http::Request::builder().method(method).uri(target);
    built = built.header("host", "127.0.0.1:9180");
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a field");
        built = built.header(name, value);
    }
    built.body(()).expect("a request").into_parts().0
}

async fn body(answer: http::Response<serve::Body>) -> String {
    let body = answer.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

#[tokio::test]
async fn each_path_is_answered_and_others_are_not() {
    let (admin, _told) = admin(Guard::default());
    for (request, status, kind) in [
        ("GET /", 200, "text/html; charset=utf-8"),
        ("GET /page.css", 200, "text/css; charset=utf-8"),
        ("GET /?x=1", 200, "text/html; charset=utf-8"),
        ("GET /healthz", 200, "text/plain; charset=utf-8"),
        ("GET /metrics", 200, "text/plain; version=0.0.4; charset=utf-8"),
        (
            "GET /metrics\nAccept: application/openmetrics-text; version=1.0.0",
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        ),
        ("GET /api/now", 200, "application/json"),
        ("GET /api/stream", 200, "text/event-stream"),
        ("GET /api/", 404, "text/plain; charset=utf-8"),
        ("GET /../etc/passwd", 404, "text/plain; charset=utf-8"),
        ("GET /api/overrule", 405, "text/plain; charset=utf-8"),
        ("POST /api/now", 405, "text/plain; charset=utf-8"),
        ("POST /none", 404, "text/plain; charset=utf-8"),
        ("GET /\nSec-Fetch-Site: cross-site", 403, "text/plain; charset=utf-8"),
    ] {
        let answer = ask(&admin, request);
        let fields = answer.headers();
        assert_eq!(
            (answer.status().as_u16(), &fields["content-type"]),
            (status, &http::HeaderValue::from_static(kind)),
            "{request}"
        );
        for name in ["content-security-policy", "x-content-type-options", "cache-control"] {
            assert!(fields.contains_key(name), "{request}: {name}");
        }
        assert!(!fields.contains_key("access-control-allow-origin"), "{request}");
    }
    assert_eq!(admin.counters.requests.read(), 14);
    assert_eq!(admin.counters.requests_refused.read(), 1);
    assert_eq!(body(ask(&admin, "HEAD /api/now")).await, "");
    let open = "GET /metrics\nAccept: application/openmetrics-text";
    assert!(body(ask(&admin, open)).await.ends_with("# EOF\n"));
    assert!(!body(ask(&admin, "GET /metrics")).await.contains("# EOF"));
}

#[tokio::test]
async fn a_file_of_the_page_is_sent_again_only_when_it_changed() {
    let (admin, _told) = admin(Guard::default());
    let first = ask(&admin, "GET /");
    let tag = first.headers()["etag"].to_str().expect("a tag").to_owned();
    for (known, status) in [
        (tag.clone(), 304),
        (format!("\"other\", W/{tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
    ] {
        let answer = ask(&admin, &format!("GET /\nIf-None-Match: {known}"));
        assert_eq!(answer.status(), status, "{known}");
        assert_eq!(answer.headers()["etag"], tag, "{known}");
        assert_eq!(body(answer).await.is_empty(), status == 304, "{known}");
    }
}

#[tokio::test]
async fn without_the_token_the_way_to_show_it_is_told() {
    let token = token::Token::new("a-token-of-many-letters");
    let (admin, _told) = admin(Guard { token, host: None });
    let answer = ask(&admin, "GET /");
    assert_eq!(answer.status(), 401);
    assert!(answer.headers()["www-authenticate"].to_str().expect("text").contains("Bearer"));
    assert!(!body(answer).await.contains("many-letters"));
    let shown = "Authorization: Bearer a-token-of-many-letters";
    assert_eq!(ask(&admin, &format!("GET /\n{shown}")).status(), 200);
    assert_eq!(ask(&admin, "GET /healthz").status(), 200);
}

#[tokio::test]
async fn each_look_is_an_event_and_few_look_on() {
    let (admin, told) = admin(Guard::default());
    let mut streams: Vec<_> = (0..8).map(|_| ask(&admin, "GET /api/stream")).collect();
    assert!(streams.iter().all(|stream| stream.status() == 200));
    assert_eq!(ask(&admin, "GET /api/stream").status(), 503);
    assert_eq!(admin.counters.streams_refused.read(), 1);
    assert_eq!(admin.streams.audience.load(Ordering::Relaxed), 8);
    let mut stream = streams.pop().expect("a stream").into_body();
    for _ in 0..2 {
        let frame = stream.frame().await.expect("an event").expect("no error");
        let event = frame.into_data().expect("data");
        assert!(event.starts_with(b"data: {") && event.ends_with(b"}\n\n"));
        // Whoever is slow is told the last look only.
        told.send_replace(look());
        told.send_replace(look());
    }
    drop(told);
    stream.frame().await.expect("the last one").expect("no error");
    assert!(stream.frame().await.is_none(), "it ends with the watch");
    drop((stream, streams));
    assert_eq!(admin.streams.audience.load(Ordering::Relaxed), 0);
    assert_eq!(ask(&admin, "GET /api/stream").status(), 200);
}

/// A listener on a port of its own, until the end of the test.
async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Everything that comes back for these bytes.
async fn converse(address: SocketAddr, bytes: Vec<u8>) -> String {
    let conversation = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).expect("somebody listens");
        // It may be closed before it took all.
        let _ = stream.write_all(&bytes);
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told);
        String::from_utf8_lossy(&told).into_owned()
    });
    conversation.await.expect("a conversation")
}

#[tokio::test]
async fn large_heads_are_refused_and_who_says_nothing_is_let_go() {
    let (admin, _told) = admin(Guard::default());
    let (listener, address) = listener().await;
    let admin = Arc::new(admin);
    let serving = admin.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let timeout = Duration::from_millis(50);
            tokio::spawn(serve::converse(stream, serving.clone(), timeout));
        }
    });
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    let told = converse(address, format!("{head}Connection: close\r\n\r\n").into()).await;
    assert!(told.starts_with("HTTP/1.1 200 OK\r\n") && told.ends_with("\r\n\r\nok\n"), "{told}");
    let large = format!("{head}X: {}\r\n\r\n", "x".repeat(20_000));
    assert!(converse(address, large.into()).await.starts_with("HTTP/1.1 431"));
    let many = format!("{head}{}\r\n", "X: x\r\n".repeat(80));
    assert!(converse(address, many.into()).await.starts_with("HTTP/1.1 431"));
    // Nothing, half a head, and nothing after an answer: each ends.
    assert_eq!(converse(address, Vec::new()).await, "");
    assert!(!converse(address, head.into()).await.contains("200"));
    assert!(converse(address, format!("{head}\r\n").into()).await.ends_with("ok\n"));
}

#[tokio::test]
async fn more_connections_than_a_few_are_closed_unserved() {
    let (admin, _told) = admin(Guard::default());
    let counters = admin.counters.clone();
    let (listener, address) = listener().await;
    tokio::spawn(serve::serve(listener, Arc::new(admin)));
    let held = (0..40).map(|_| std::net::TcpStream::connect(address).expect("it listens"));
    let _held: Vec<_> = held.collect();
    while counters.connections_refused.read() < 8 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn munin_is_answered_in_its_own_words() {
    let (_told, looks) = telling::channel(look());
    let (listener, address) = listener().await;
    tokio::spawn(munin::serve(listener, looks));
    let told = converse(
        address,
        b"cap multigraph\nnodes\nlist\nconfig wick_requests\nfetch wick_requests\nfetch wick_php\n\
          fetch none\n\xff\xfe\nversion\nquit\nlist\n"
            .to_vec(),
    )
    .await;
    let expected = format!(
        "# munin node at wick\ncap\nwick\n.\n\
         wick_requests wick_hits wick_memory wick_connections wick_php\n\
         graph_title Requests\ngraph_vlabel requests per ${{graph_period}}\ngraph_category wick\n\
         answers.label answers\nanswers.type DERIVE\nanswers.min 0\n\
         hits.label from memory\nhits.type DERIVE\nhits.min 0\n\
         fetches.label asked of the origin\nfetches.type DERIVE\nfetches.min 0\n.\n\
         answers.value 0\nhits.value 0\nfetches.value 0\n.\n\
         active.value U\ntotal.value U\nqueue.value U\n.\n\
         # Unknown service\n.\n\
         # Unknown command. Try cap, list, nodes, config, fetch, version or quit\n\
         munins node on wick version: {}\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(told, expected);
    // A line without end.
    let told = converse(address, vec![b'x'; 1000]).await;
    assert_eq!(told, "# munin node at wick\n");
}

#[tokio::test]
async fn addresses_are_told_only_where_a_token_is_shown() {
    for (token, has_paths) in [(None, false), (Token::new("a-token-of-many-letters"), true)] {
        let (admin, _told) = admin(Guard { token, host: None });
        admin.asked.observing().ledger.note(&observe::Answer {
            unix_ms: 0,
            method: "GET",
            host: "a.test",
            path: "/letter/7041",
            status: 200,
            verdict: policy::Verdict::Hit,
            unstored: None,
            bytes: 1,
            is_html: true,
            phases: [0; base::Phase::COUNT],
            site: &|| "a".into(),
            took_us: &|| 1,
        });
        let (is_right, json) = admin.asked.tell(asked::Matter::Recent, "").await;
        let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
        assert!(is_right);
        assert_eq!(json["has_paths"], has_paths);
        assert_eq!(json["lines"][0]["route"], "/letter/{id}");
        assert_eq!(json["lines"][0].get("path").is_some(), has_paths, "{json}");
        assert_eq!(json.to_string().contains("7041"), has_paths, "{json}");
    }
}

#[tokio::test]
async fn what_is_asked_of_everything_passes_the_guard_first() {
    let (admin, _told) = admin(Guard { token: Token::new("a-token-of-many-letters"), host: None });
    for (request, status) in [
        ("GET /api/routes", 401),
        ("GET /api/routes\nAuthorization: Bearer a-token-of-many-letters", 200),
        ("POST /api/routes\nAuthorization: Bearer a-token-of-many-letters", 405),
        ("GET /api/history?from=x\nAuthorization: Bearer a-token-of-many-letters", 400),
        ("GET /api/learned\nAuthorization: Bearer a-token-of-many-letters", 200),
        ("GET /api/search", 401),
        ("GET /api/search\nAuthorization: Bearer a-token-of-many-letters", 200),
        ("GET /api/url?url=x\nAuthorization: Bearer a-token-of-many-letters", 200),
    ] {
        let answer = admin.respond(&head(request)).await;
        assert_eq!(answer.status(), status, "{request}");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert!(answer.headers().contains_key("content-security-policy"), "{request}");
    }
}

#[tokio::test]
async fn only_who_shows_the_token_may_overrule_and_no_page_of_another_site() {
    const TOKEN: &str = "a-token-of-many-letters";
    const JSON: &str = "Content-Type: application/json";
    let shown = format!("Authorization: Bearer {TOKEN}");
    let (closed, _told) = admin(Guard { token: token::Token::new(TOKEN), host: None });
    let (open, _too) = admin(Guard::default());
    let order = r#"{"act": {"rule": "foreign_cookies"}, "subject": "width"}"#;
    let try_out = r#"{"url": "http://a.test/none"}"#;
    for (admin, request, sent, status) in [
        (&open, format!("POST /api/overrule\n{JSON}"), order, 403),
        (&open, format!("POST /api/try\n{JSON}"), try_out, 200),
        (&open, format!("POST /api/try\n{JSON}\nOrigin: http://evil.test"), try_out, 403),
        (&open, "POST /api/try\nContent-Type: text/plain".to_owned(), try_out, 415),
        (&open, format!("POST /api/try\n{JSON}"), "{\"url\": 1}", 400),
        (&closed, format!("POST /api/overrule\n{JSON}"), order, 401),
        (&closed, format!("POST /api/overrule\n{JSON}\n{shown}"), order, 200),
        (&closed, format!("POST /api/overrule\n{JSON}\n{shown}"), "[1]", 400),
        (
            &closed,
            format!("POST /api/overrule\n{JSON}\n{shown}\nSec-Fetch-Site: cross-site"),
            order,
            403,
        ),
        (&closed, format!("POST /api/overrule\n{shown}"), order, 415),
    ] {
        let parts = head(&request);
        let act = acts::Act::at(parts.uri.path()).expect("it may be done");
        let sent = http_body_util::Full::from(sent);
        let answer = admin.act(act, &parts, [192, 0, 2, 7].into(), sent).await;
        let (found, said) = (answer.status(), body(answer).await);
        assert_eq!(found, status, "{request}: {said}");
    }
    let large = http_body_util::Full::from(vec![b' '; 64 << 10]);
    let parts = head(&format!("POST /api/overrule\n{JSON}\n{shown}"));
    let answer = closed.act(acts::Act::Overrule, &parts, [192, 0, 2, 7].into(), large).await;
    assert_eq!(answer.status(), 413);
    let learned = closed.respond(&head(&format!("GET /api/learned\n{shown}"))).await;
    let told: serde_json::Value = serde_json::from_str(&body(learned).await).expect("JSON");
    let ruling = &told["sites"][0]["rulings"][0];
    assert_eq!(ruling["by"], "the dashboard at 192.0.2.7");
    assert_eq!((&ruling["rule"], &ruling["subject"]), (&"foreign_cookies".into(), &"width".into()));
    assert_eq!(told["may_overrule"], true);
}

#[test]
fn an_alert_is_marked_in_the_history_when_it_begins() {
    use observe::alerts::{Alert, Kind, Turn};
    use observe::history::Mark;

    let observing = Observing::new(std::path::Path::new("/nowhere"));
    let watch = watch(&observing);
    let alert = Alert {
        kind: Kind::Disk,
        subject: String::new(),
        what: "the disk is full".into(),
        fix: Kind::Disk.fix(),
    };
    watch.heed(Turn::Ended(alert.clone()));
    assert!(!observing.is_marked(Mark::Alert));
    watch.heed(Turn::Began(alert));
    assert!(observing.is_marked(Mark::Alert));
}

#[tokio::test]
async fn each_module_tells_its_state_and_its_figures() {
    let json: serde_json::Value = serde_json::from_slice(&look().json()).expect("JSON");
    let modules = json["modules"].as_array().expect("a list");
    let told: Vec<_> = modules
        .iter()
        .map(|one| format!("{} {}", one["name"].as_str().expect("it has one"), one["state"]))
        .collect();
    assert_eq!(
        told,
        [
            "Sharing with strangers \"on\"",
            "Change feeds \"trouble\"",
            "Compression \"on\"",
            "Disk tier \"off\"",
            "HTTP/3 \"on\"",
            "Early hints \"off\"",
            "Parts of pages (ESI) \"on\"",
            "Help for apps \"on\"",
            "Search \"off\"",
            "Audit \"off\"",
        ]
    );
    assert_eq!(modules[0]["figures"]["sites"], 1);
    assert!(modules[1]["note"].as_str().expect("text").contains("not heard of at the moment"));
}

//! PHP as the origin, before an application that says exactly what a test wants.

use std::collections::VecDeque;
use std::io;

use bytes::BytesMut;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use wire::fastcgi::{
    End, Kind, RecordReader, close_stream, decode_params, write_end, write_stream,
};
use wire::{Body, BodyError};

use super::*;

/// One thing that the application does once it has read a request.
#[derive(Clone)]
enum Act {
    /// Sends this on STDOUT.
    Out(Vec<u8>),
    /// Sends this on STDERR.
    Err(&'static str),
    /// Sends bytes that are no record.
    Raw(&'static [u8]),
    /// Ends the request.
    End,
    /// Closes the connection.
    Close,
    /// Thinks for this many milliseconds.
    Pause(u64),
    /// Waits until the other side closes.
    Silence,
}

fn out(text: &str) -> Act {
    Act::Out(text.as_bytes().to_vec())
}

/// An answer as small scripts give it.
fn page(text: &str) -> Vec<Act> {
    vec![out(&format!("Content-Type: text/plain\r\n\r\n{text}")), Act::End]
}

/// What each connection does for each of its requests; a connection without any more closes.
type Script = VecDeque<Vec<Vec<Act>>>;

/// A site with one script, and the application behind it.
struct Bench {
    origin: PhpOrigin,
    seen: Arc<Mutex<Vec<String>>>,
    log: Arc<Mutex<Vec<String>>>,
    folder: TempDir,
}

fn bench(script: Vec<Vec<Vec<Act>>>, change: impl FnOnce(&mut PhpOptions)) -> Bench {
    let folder = TempDir::new().expect("a temporary folder can be made");
    std::fs::write(folder.path().join("index.php"), "<?php").expect("a file can be written");
    std::fs::write(folder.path().join("photo.jpg"), "jpeg").expect("a file can be written");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut options = PhpOptions::for_children(4);
    options.is_restarted = false;
    options.log = {
        let log = log.clone();
        Arc::new(move |line: &str| log.lock().push(line.to_owned()))
    };
    change(&mut options);
    let origin = PhpOrigin::new(folder.path(), dial(script.into(), seen.clone()), options);
    Bench { origin, seen, log, folder }
}

impl PhpOrigin {
    pub(crate) async fn send(&self, call: Call) -> Result<Answer, OriginError> {
        self.send_after(std::future::ready(Ok(())), call).await
    }
}

fn dial(script: Script, seen: Arc<Mutex<Vec<String>>>) -> Dial {
    let script = Arc::new(Mutex::new(script));
    Dial::Memory(Arc::new(move || {
        let next = script.lock().pop_front();
        let seen = seen.clone();
        async move {
            let requests = next.ok_or_else(|| io::Error::from(io::ErrorKind::ConnectionRefused))?;
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(application(theirs, requests, seen));
            Ok(ours)
        }
        .boxed()
    }))
}

async fn application(mut io: DuplexStream, requests: Vec<Vec<Act>>, seen: Arc<Mutex<Vec<String>>>) {
    for acts in requests {
        let Some(request) = read_request(&mut io).await else { return };
        seen.lock().push(request);
        for act in acts {
            let mut bytes = Vec::new();
            match act {
                Act::Out(text) => write_stream(&mut bytes, Kind::Stdout, &text),
                Act::Err(text) => write_stream(&mut bytes, Kind::Stderr, text.as_bytes()),
                Act::Raw(raw) => bytes.extend_from_slice(raw),
                Act::End => {
                    close_stream(&mut bytes, Kind::Stdout);
                    write_end(&mut bytes, End { application_status: 0, protocol_status: 0 });
                }
                Act::Close => return,
                Act::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Act::Silence => {
                    let _ = io.read(&mut [0]).await;
                    return;
                }
            }
            if io.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }
}

/// Reads a request whole; none when the connection closes instead.
async fn read_request(io: &mut DuplexStream) -> Option<String> {
    let mut reader = RecordReader::default();
    let (mut params, mut body) = (BytesMut::new(), 0);
    loop {
        while let Some(record) = reader.next_record().expect("Wick sends FastCGI") {
            match record.kind {
                Kind::Params => params.extend_from_slice(&record.content),
                Kind::Stdin if record.content.is_empty() => {
                    let pairs = decode_params(&params).expect("whole pairs");
                    let find = |name: &str| {
                        let pair = pairs.iter().find(|(n, _)| *n == name.as_bytes());
                        String::from_utf8_lossy(pair.map_or(b"", |(_, v)| v)).into_owned()
                    };
                    let (method, uri) = (find("REQUEST_METHOD"), find("REQUEST_URI"));
                    return Some(format!("{method} {uri} {body}/{}", find("CONTENT_LENGTH")));
                }
                Kind::Stdin => body += record.content.len(),
                _ => {}
            }
        }
        if io.read_buf(reader.buffer_mut()).await.ok()? == 0 {
            return None;
        }
    }
}

fn call(line: &str, body: Option<Body>) -> Call {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let head = RequestHead {
        method: method.parse().expect("a method"),
        target: target.to_owned(),
        host: "site".to_owned(),
        ..RequestHead::default()
    };
    let address = "127.0.0.1:80".parse().expect("an address");
    Call {
        head,
        body,
        body_length: None,
        peer: address,
        local: address,
        scheme: "http",
        is_counted: true,
        early: None,
        phases: None,
    }
}

impl Bench {
    /// Status and body on one line, or the error.
    async fn ask(&self, line: &str) -> String {
        match self.origin.send(call(line, None)).await {
            Err(error) => format!("{} {error}", error.status()),
            Ok(answer) => {
                let status = answer.head.status;
                match answer.body.collect().await {
                    Ok(body) => {
                        format!("{status} {}", String::from_utf8_lossy(&body.to_bytes()))
                    }
                    Err(error) => format!("{status} broken: {error}"),
                }
            }
        }
    }

    fn connects(&self) -> u64 {
        self.origin.counters.connects.read()
    }

    /// Lets tasks run until the pool holds this many connections.
    async fn until_kept(&self, connections: usize) {
        for _ in 0..1000 {
            if self.origin.pool.len() == connections {
                return;
            }
            tokio::task::yield_now().await;
        }
        assert_eq!(self.origin.pool.len(), connections);
    }
}

/// One request on one connection: what the application does, what the visitor gets.
async fn check(acts: Vec<Act>, line: &str, seen: &str) -> Bench {
    let bench = bench(vec![vec![acts]], |_| {});
    let got = bench.ask(line).await;
    assert_eq!(got, seen);
    bench
}

#[tokio::test(start_paused = true)]
async fn answers_come_through_however_they_are_cut() {
    check(page("hello"), "GET /a?b", "200 hello").await;
    let cut = vec![out("Status: 404\r"), out("\n\r"), out("\nno"), out("pe"), Act::End];
    check(cut, "GET /", "404 nope").await;
    check(vec![out("Content-Length: 2\n\nabcd"), Act::End], "GET /", "200 ab").await;
    check(page("never seen"), "HEAD /", "200 ").await;
    check(vec![out("Status: 304\n\nnever seen"), Act::End], "GET /", "304 ").await;
    let long = "x".repeat(300_000);
    check(page(&long), "GET /", &format!("200 {long}")).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_comes_in_a_moment_leaves_whole_and_a_slow_one_as_it_comes() {
    for (head, pause_ms, length, pieces) in [
        ("A: b\n\n", 1, Some(4), vec!["abcd"]),
        ("A: b\n\n", 50, None, vec!["ab", "cd"]),
        ("Content-Length: 4\n\n", 1, Some(4), vec!["abcd"]),
        ("Content-Length: 4\n\n", 50, Some(4), vec!["ab", "cd"]),
        ("Content-Length: 99999\n\n", 1, Some(99_999), vec!["ab", "cd"]),
    ] {
        let acts = vec![out(&format!("{head}ab")), Act::Pause(pause_ms), out("cd"), Act::End];
        let bench = bench(vec![vec![acts]], |_| {});
        let mut answer = bench.origin.send(call("GET /", None)).await.expect("an answer");
        assert_eq!(answer.length, length, "{head:?} {pause_ms}");
        let mut seen = Vec::new();
        while let Some(Ok(frame)) = answer.body.frame().await {
            seen.push(frame.into_data().expect("data"));
        }
        assert_eq!(seen, pieces, "{head:?} {pause_ms}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_said_all_it_announced_may_go_on_without_its_visitor() {
    let first = vec![out("Content-Length: 4\n\nabcd"), Act::Pause(5_000), Act::End];
    let bench = bench(vec![vec![first, page("next")]], |_| {});
    let begun = tokio::time::Instant::now();
    assert_eq!(bench.ask("GET /").await, "200 abcd");
    assert!(begun.elapsed().as_millis() < 1_000, "the visitor waited for the script's end");
    tokio::time::advance(Duration::from_secs(5)).await;
    bench.until_kept(1).await;
    assert_eq!(bench.ask("GET /").await, "200 next");
    assert_eq!(bench.connects(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_application_does_wrong_is_told_apart() {
    for (acts, seen) in [
        (
            vec![Act::Close],
            "502 the origin closed the connection before it answered: PHP closed the connection",
        ),
        (
            vec![out("A: b\n"), Act::Close],
            "502 the origin closed the connection before it answered: PHP closed the connection",
        ),
        (vec![Act::Silence], "504 the origin sent no answer within 60 s"),
        (vec![out("A: b\n"), Act::Silence], "504 the origin sent no answer within 60 s"),
        (
            vec![Act::End],
            "502 the origin's answer makes no sense: PHP ended without a response head",
        ),
        (
            vec![Act::Raw(b"HTTP/1.1 200 OK\r\n\r\n")],
            "502 the origin's answer makes no sense: a FastCGI record of version 72, not 1",
        ),
        (
            vec![out("no head\n\n"), Act::End],
            "502 the origin's answer makes no sense: a response head with the line \"no head\"",
        ),
        (
            vec![out("Content-Length: many\n\n"), Act::End],
            "502 the origin's answer makes no sense: a Content-Length of \"many\"",
        ),
        (
            vec![Act::Out(vec![b'x'; 300_000]), Act::Silence],
            "502 the origin's answer makes no sense: a response head longer than 262144 bytes",
        ),
        (
            vec![out("A: b\n\nhalf"), Act::Close],
            "200 broken: the origin's response body ended early: PHP closed the connection",
        ),
        (
            vec![out("A: b\n\nhalf"), Act::Silence],
            "200 broken: the origin stopped sending for 60 s",
        ),
        (
            vec![out("Content-Length: 9\n\nhalf"), Act::End],
            "200 broken: the origin's response body ended early: it is shorter than its \
             Content-Length",
        ),
    ] {
        check(acts, "GET /", seen).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_php_complains_of_reaches_the_log_and_not_the_visitor() {
    let acts = vec![Act::Err("PHP Warning: a\nand "), out("A: b\n\nok"), Act::Err("b\n"), Act::End];
    let bench = check(acts, "GET /", "200 ok").await;
    assert_eq!(*bench.log.lock(), ["php: PHP Warning: a", "php: and ", "php: b"]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_serves_one_request_after_another() {
    let bench = bench(vec![vec![page("1"), page("2")], vec![page("3")]], |_| {});
    assert_eq!(bench.ask("GET /1").await, "200 1");
    bench.until_kept(1).await;
    assert_eq!(bench.ask("GET /2").await, "200 2");
    assert_eq!((bench.connects(), bench.origin.counters.reuses.read()), (1, 1));
    bench.until_kept(1).await;
    // The application has closed it meanwhile, which is seen before it is used.
    tokio::task::yield_now().await;
    assert_eq!(bench.ask("GET /3").await, "200 3");
    assert_eq!(bench.connects(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_safe_request_on_a_stale_connection_is_sent_once_more_and_only_once() {
    let stale = vec![page("1"), vec![Act::Close]];
    let bench = bench(vec![stale, vec![vec![Act::Close]], vec![page("never")]], |_| {});
    assert_eq!(bench.ask("GET /1").await, "200 1");
    bench.until_kept(1).await;
    assert!(bench.ask("GET /2").await.starts_with("502 "));
    assert_eq!(*bench.seen.lock(), ["GET /1 0/", "GET /2 0/", "GET /2 0/"]);
    assert_eq!(bench.origin.counters.stale_retries.read(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_request_takes_a_fresh_connection_and_is_never_sent_twice() {
    let bench = bench(vec![vec![page("1"), page("never")], vec![vec![Act::Close]]], |_| {});
    assert_eq!(bench.ask("GET /1").await, "200 1");
    bench.until_kept(1).await;
    assert!(bench.ask("POST /2").await.starts_with("502 "));
    assert_eq!(*bench.seen.lock(), ["GET /1 0/", "POST /2 0/"]);
    // The unused connection was closed for it, so that children never are too few.
    assert_eq!(bench.origin.pool.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unused_connection_frees_its_child_after_a_while() {
    let bench = bench(vec![vec![page("1"), page("2")]], |_| {});
    assert_eq!(bench.ask("GET /").await, "200 1");
    bench.until_kept(1).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(bench.origin.pool.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn bodies_are_whole_before_a_child_is_taken_and_arrive_whole() {
    let bodies = [0, 1, 65_535, 65_536, 1_000_000];
    let bench = bench(bodies.map(|_| vec![page("ok")]).to_vec(), |_| {});
    for bytes in bodies {
        let body = wire::body::full(vec![b'x'; bytes]);
        let answer = bench.origin.send(call("POST /", Some(body))).await;
        assert_eq!(answer.map(|answer| answer.head.status), Ok(200));
        assert_eq!(bench.seen.lock().pop(), Some(format!("POST / {bytes}/{bytes}")));
    }
    let broken = http_body_util::StreamBody::new(futures_util::stream::iter([Err(
        BodyError::Client("gone".to_owned()),
    )]));
    let answer = bench.origin.send(call("POST /", Some(broken.boxed_unsync()))).await;
    assert_eq!(answer.err().map(|error| error.status()), Some(400));
    assert_eq!(bench.connects(), bodies.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_before_the_request_was_read_is_no_deadlock() {
    let (ours, mut theirs) = tokio::io::duplex(1024);
    let ours = Arc::new(Mutex::new(Some(ours)));
    let dial = Dial::Memory(Arc::new(move || {
        let stream = ours.lock().take();
        async move { stream.ok_or_else(|| io::Error::other("only once")) }.boxed()
    }));
    let long = "x".repeat(100_000);
    let mut bytes = Vec::new();
    write_stream(&mut bytes, Kind::Stdout, format!("A: b\n\n{long}").as_bytes());
    write_end(&mut bytes, End { application_status: 0, protocol_status: 0 });
    // Both sides have more to send than the pipe holds, and the application reads nothing.
    let application = tokio::spawn(async move {
        theirs.write_all(&bytes).await.expect("Wick reads while it writes");
        theirs
    });
    let bench = Bench {
        origin: PhpOrigin::new(
            bench(Vec::new(), |_| {}).folder.keep(),
            dial,
            PhpOptions::for_children(1),
        ),
        ..bench(Vec::new(), |_| {})
    };
    let body = wire::body::full(vec![b'y'; 500_000]);
    let answer = bench.origin.send(call("POST /", Some(body))).await.expect("a head comes");
    let body = answer.body.collect().await.expect("a body comes").to_bytes();
    assert_eq!(body.len(), long.len());
    drop(application.await.expect("the application does not panic"));
    assert_eq!(bench.origin.pool.len(), 0);
    std::fs::remove_dir_all(bench.origin.root()).expect("the folder can be removed");
}

#[tokio::test(start_paused = true)]
async fn with_all_children_busy_requests_queue_and_the_queue_is_bounded() {
    let busy = || vec![vec![Act::Silence]];
    let limits = SlotLimits { slots: 1, queue: 1, queue_timeout: Duration::from_secs(10) };
    let bench = Arc::new(bench(vec![busy(), busy()], |options| options.limits = limits));
    let first = tokio::spawn({
        let bench = bench.clone();
        async move { bench.ask("GET /1").await }
    });
    while bench.seen.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    let (second, third) = tokio::join!(bench.ask("GET /2"), bench.ask("GET /3"));
    assert_eq!(second, "503 no connection to the origin became free within 10 s");
    assert_eq!(third, "503 1 requests are waiting for the origin already");
    assert!(first.await.expect("no panic").starts_with("504 "));
}

#[tokio::test(start_paused = true)]
async fn dropping_a_body_stops_the_script_and_frees_its_child() {
    let begun = || std::iter::once(out("A: b\n\n"));
    let talkative: Vec<Act> = begun().chain((0..5000).map(|_| out("more"))).collect();
    let silent: Vec<Act> = begun().chain([Act::Silence]).collect();
    for script in [talkative, silent] {
        // Shorter than the time after which a silent script is given up anyway.
        let limits = SlotLimits { slots: 1, queue: 1, queue_timeout: Duration::from_secs(10) };
        let script = vec![vec![script], vec![page("next")]];
        let bench = bench(script, |options| options.limits = limits);
        let answer = bench.origin.send(call("GET /", None)).await.expect("a head comes");
        drop(answer);
        assert_eq!(bench.ask("GET /").await, "200 next");
    }
}

#[tokio::test(start_paused = true)]
async fn a_local_redirect_is_answered_by_the_path_it_names() {
    let to = |path: &str| vec![out(&format!("Location: {path}\n\n")), Act::End];
    let redirected = bench(vec![vec![to("/next?x"), page("there")]], |_| {});
    assert_eq!(redirected.ask("POST /").await, "200 there");
    assert_eq!(redirected.seen.lock()[1], "GET /next?x 0/");
    let circle = bench((0..9).map(|_| vec![to("/")]).collect(), |options| {
        options.keep = Duration::ZERO;
    });
    assert!(circle.ask("GET /").await.starts_with("502 "));
}

#[tokio::test(start_paused = true)]
async fn files_that_an_app_names_are_sent_with_its_fields_and_only_from_its_folders() {
    let elsewhere = TempDir::new().expect("a temporary folder can be made");
    let outside = elsewhere.path().join("secret.txt");
    std::fs::write(&outside, "secret").expect("a file can be written");
    let answer = |field: String| {
        vec![vec![
            out(&format!("{field}\nSet-Cookie: a=b\nX-Odd: c\nContent-Type: image/x\n\nnone")),
            Act::End,
        ]]
    };
    for (name, path, is_allowed, seen) in [
        ("X-Accel-Redirect", "/photo.jpg", false, "200 jpeg image/x a=b -"),
        ("X-Accel-Redirect", "/none.jpg", false, "404"),
        ("X-Accel-Redirect", "/index.php", false, "502"),
        ("X-Accel-Redirect", "/../x", false, "502"),
        ("X-Accel-Redirect", "/safe/secret.txt", false, "404"),
        ("X-Accel-Redirect", "/safe/secret.txt", true, "200 secret image/x a=b -"),
        ("X-Sendfile", "SITE/photo.jpg", false, "200 jpeg image/x a=b c"),
        ("X-Sendfile", "SITE/none.jpg", false, "404"),
        ("X-Sendfile", "photo.jpg", false, "502"),
        ("X-Sendfile", "OUTSIDE", false, "502"),
        ("X-Sendfile", "SITE/link.txt", false, "502"),
        ("X-Sendfile", "OUTSIDE", true, "200 secret image/x a=b c"),
    ] {
        let mut bench = bench(Vec::new(), |options| {
            if is_allowed {
                let folder = elsewhere.path().to_path_buf();
                options.send_folders.sendfile.push(folder.clone());
                options.send_folders.accel.push(("/safe/".to_owned(), folder));
            }
        });
        let site = bench.folder.path().display().to_string();
        std::os::unix::fs::symlink(&outside, bench.folder.path().join("link.txt")).expect("a link");
        let path = path.replace("SITE", &site).replace("OUTSIDE", &outside.display().to_string());
        let script = VecDeque::from([answer(format!("{name}: {path}"))]);
        bench.origin.dial = dial(script, bench.seen.clone());
        assert_eq!(show_file(&bench).await, seen, "{name}: {path} {is_allowed}");
    }
}

async fn show_file(bench: &Bench) -> String {
    let answer = match bench.origin.send(call("GET /", None)).await {
        Err(error) => return error.status().to_string(),
        Ok(answer) if answer.head.status == 404 => return "404".to_owned(),
        Ok(answer) => answer,
    };
    assert!(answer.file.is_some());
    let fields = &answer.head.fields;
    let named = |name: &str| {
        let value = fields.all_named(name).next().unwrap_or(b"-");
        String::from_utf8_lossy(value).into_owned()
    };
    let shown = [named("content-type"), named("set-cookie"), named("x-odd")].join(" ");
    assert_eq!(named("content-length"), answer.length.map_or(String::new(), |l| l.to_string()));
    let body = answer.body.collect().await.expect("the file can be read").to_bytes();
    format!("200 {} {shown}", String::from_utf8_lossy(&body))
}

#[tokio::test(start_paused = true)]
async fn static_files_and_refusals_cost_no_child() {
    let bench = bench(Vec::new(), |_| {});
    assert_eq!(bench.ask("GET /photo.jpg").await, "200 jpeg");
    assert_eq!(bench.ask("GET /.git/config").await, "403 dot files are not served");
    assert_eq!(bench.connects(), 0);
    let reason = "502 the origin can't be reached: memory: connection refused";
    assert_eq!(bench.ask("GET /").await, reason);
}

#[tokio::test(start_paused = true)]
async fn a_page_or_a_way_to_one_is_no_answer_for_a_missing_picture_or_style_sheet() {
    const HTML: &str = "Content-Type: text/html; charset=UTF-8";
    const NONE: &str =
        "404 <!doctype html>\n<title>404 Not Found</title>\n<h1>404 Not Found</h1>\n";
    let to = |target: &str| format!("Status: 302 Found\nLocation: {target}\n{HTML}");
    for (line, head, seen) in [
        // Apps that look at no path.
        ("GET /css/default.css", to("login.php"), NONE),
        ("GET /css/default.css?v=3", to("http://site/login.php?from=a.css"), NONE),
        ("GET /none.png", HTML.to_owned(), NONE),
        ("GET /none.png", "content-type: TEXT/HTML".to_owned(), NONE),
        ("HEAD /none.png", HTML.to_owned(), "404 "),
        // Apps that know the path.
        ("GET /css/none.png", "Content-Type: image/png".to_owned(), "200 it"),
        ("GET /css/none.css", "Content-Type: text/css".to_owned(), "200 it"),
        ("GET /css/none.css", format!("Status: 404\n{HTML}"), "404 it"),
        ("GET /css/none.css", format!("Status: 403\n{HTML}"), "403 it"),
        ("GET /css/none.css", format!("Status: 503\n{HTML}"), "503 it"),
        ("GET /favicon.ico", to("/images/w-logo.png"), "302 it"),
        ("GET /css/none.png", to("https://files.site/none.png?signed#x"), "302 it"),
        ("GET /css/none.png", format!("X-Sendfile: SITE/photo.jpg\n{HTML}"), "200 jpeg"),
        ("POST /css/none.css", HTML.to_owned(), "200 it"),
        // Pages.
        ("GET /nothere.html", HTML.to_owned(), "200 it"),
        ("GET /some/pretty/page", to("login.php"), "302 it"),
        ("GET /wiki/Node.js", HTML.to_owned(), "200 it"),
        ("GET /wiki/File:Photo.jpg", HTML.to_owned(), "200 it"),
        ("GET /index.php/File.jpg", HTML.to_owned(), "200 it"),
    ] {
        let mut bench = bench(Vec::new(), |_| {});
        std::fs::create_dir(bench.folder.path().join("css")).expect("a folder can be made");
        let site = bench.folder.path().display().to_string();
        let head = head.replace("SITE", &site);
        let acts = vec![out(&format!("{head}\n\nit")), Act::End];
        bench.origin.dial = dial(VecDeque::from([vec![acts]]), bench.seen.clone());
        assert_eq!(bench.ask(line).await, seen, "{line} {head}");
        bench.until_kept(1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_script_costs_no_child() {
    let bench = bench(Vec::new(), |_| {});
    for line in ["GET /none.php", "POST /none.php/path?a=b"] {
        assert!(bench.ask(line).await.starts_with("404 "), "{line}");
    }
    assert_eq!(bench.connects(), 0);
}

//! An audit whose workers come by a queue with NATS: whoever is killed, each page counts once, and
//! the report is that of a run that nobody disturbed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::nats::Nats;
use crate::origin::Origin;
use crate::wick::{Wick, open_folder, until};

const PAGES: usize = 24;

/// Two pages of the site, which are answered once their gates are open.
#[derive(Default)]
struct Gates {
    fifth: AtomicBool,
    ninth: AtomicBool,
}

fn site(gates: &Arc<Gates>) -> Origin {
    let gates = Arc::clone(gates);
    Origin::new(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/");
        let gate = match path {
            "/p5" => Some(&gates.fifth),
            "/p9" => Some(&gates.ninth),
            _ => None,
        };
        // Nobody waits longer than a worker does for an answer.
        let begin = Instant::now();
        while gate.is_some_and(|gate| !gate.load(Ordering::SeqCst))
            && begin.elapsed() < Duration::from_secs(60)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let number = path.strip_prefix("/p").and_then(|text| text.parse::<usize>().ok());
        let number = if path == "/" { Some(0) } else { number };
        let (status, page) = match number.filter(|number| *number < PAGES) {
            Some(number) => ("200 OK", page(number)),
            None => ("404 Not Found", String::new()),
        };
        // A worker that was killed doesn't hear it.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{page}",
            page.len()
        );
    })
}

fn page(number: usize) -> String {
    let mut page = format!(
        "<!doctype html><html lang=en><head><title>Page {number}</title></head><body>\
         <h1>Page {number}</h1><img src=/picture{number}>"
    );
    for to in [number + 1, number * 7 % PAGES, number + 4] {
        let _ = write!(page, "<a href=/p{to}>to {to}</a>");
    }
    page + "</body></html>"
}

/// All that an audit says of its site, but how it came about and how long its pages took.
fn report(output: &str) -> Value {
    let mut told: Value = serde_json::from_str(output).expect("JSON");
    let site = told["sites"][0].as_object_mut().expect("there is a site");
    site.remove("notes");
    for route in site["cacheability"].as_array_mut().expect("routes") {
        route.as_object_mut().expect("a route").remove("median_ms");
    }
    told
}

#[test]
fn whoever_is_killed_each_page_counts_once_and_the_report_is_the_same() {
    let Some(nats) = Nats::start(1) else { return };
    let gates = Arc::<Gates>::default();
    let origin = site(&gates);
    let asked = |path: &str| {
        let line = format!("GET {path} ");
        origin.heads().iter().filter(|head| head.starts_with(&line)).count()
    };
    let (url, servers) = (format!("{}/", origin.url()), format!("nats://{}", nats.address(0)));
    let (state, other) = (open_folder(), open_folder());
    let kept = state.path().display().to_string();
    let other = other.path().display().to_string();
    let base = ["audit", &url, "--probes", "0", "--format", "json", "--state"];
    let by_queue = |state: &str| {
        Wick::run(&[&base[..], &[state, "--nats", &servers, "--queue", "tests"]].concat())
    };
    let token = state.path().join("audit/workers.token").display().to_string();
    let worker = |token: &str| {
        let queue = ["audit", "worker", "--nats", &servers, "--queue", "tests"];
        Wick::run(&[&queue[..], &["--token-file", token]].concat())
    };

    let first = by_queue(&kept);
    until("a token is made", || std::fs::read(&token).is_ok_and(|made| made.ends_with(b"\n")));
    let dying = worker(&token);
    until("a worker has a page that doesn't come", || asked("/p5") == 1);
    let second = by_queue(&other).end();
    assert_eq!(second.status.code(), Some(2), "{}", second.errors);
    assert!(second.errors.contains("gives work through the queue tests"), "{}", second.errors);
    let stranger = worker(&format!("{other}/audit/workers.token")).end();
    assert_eq!(stranger.status.code(), Some(2));
    assert!(stranger.errors.contains("secret"), "{}", stranger.errors);

    dying.signal(Signal::KILL);
    dying.end();
    let before = asked("/p9");
    let lasting = worker(&token);
    until("another is given it", || asked("/p5") == 2);
    gates.fifth.store(true, Ordering::SeqCst);
    until("it has the other page that doesn't come", || asked("/p9") > before);
    first.signal(Signal::KILL);
    first.end();
    let successor = by_queue(&kept);
    gates.ninth.store(true, Ordering::SeqCst);
    let disturbed = successor.end();
    let told: Value = serde_json::from_str(&disturbed.output).expect("JSON");
    let (why, notes) = (&told["sites"][0]["error"], &told["sites"][0]["notes"]);
    assert_eq!(disturbed.status.code(), Some(1), "{}{why}{notes}", disturbed.errors);
    let worked = lasting.end();
    assert_eq!(worked.status.code(), Some(0), "{}", worked.errors);
    assert!(!nats.keeps("/picture3") && !nats.keeps("<title>"), "it lies there in clear");

    let plain = Wick::run(&[&base[..], &[&other]].concat()).end();
    assert_eq!(plain.status.code(), Some(1), "{}", plain.errors);
    let (disturbed, plain) = (report(&disturbed.output), report(&plain.output));
    // The first page has two addresses.
    assert_eq!(plain["sites"][0]["pages"], PAGES + 1);
    for (name, told) in plain["sites"][0].as_object().expect("there is a site") {
        assert_eq!(disturbed["sites"][0][name], *told, "{name}");
    }
    assert_eq!(disturbed, plain);
}

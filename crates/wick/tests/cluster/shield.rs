//! A page that is missing on a node is asked of the node that owns it: of all nodes together the
//! origin hears once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::board::{Node, until_in_touch};
use crate::nats::{Nats, Wire};
use crate::wick::{self, Wick, until};

pub(crate) const SECRET: &str = "a-secret-of-many-letters";

/// An origin that counts who asked for what, and takes its time.
struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<HashMap<String, u64>>>,
    version: Arc<AtomicU64>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (asked, version) =
            (Arc::<Mutex<HashMap<_, _>>>::default(), Arc::<AtomicU64>::default());
        let (own, count) = (asked.clone(), version.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (asked, version) = (own.clone(), count.clone());
                std::thread::spawn(move || answer(&stream, &asked, &version));
            }
        });
        Self { address, asked, version }
    }

    fn asked(&self, path: &str) -> u64 {
        self.asked.lock().expect("nobody panics").get(path).copied().unwrap_or(0)
    }
}

fn answer(stream: &TcpStream, asked: &Mutex<HashMap<String, u64>>, version: &AtomicU64) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let (mut first, mut cookie, mut length) = (String::new(), String::new(), 0);
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) < 3 {
                break;
            }
            if line.to_lowercase().starts_with("cookie:") {
                line.trim().clone_into(&mut cookie);
            }
            if let Some(text) = line.to_lowercase().strip_prefix("content-length: ") {
                length = text.trim().parse().unwrap_or(0);
            }
        }
        let mut sent = vec![0; length];
        let _ = reader.read_exact(&mut sent);
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        *asked.lock().expect("nobody panics").entry(path.clone()).or_default() += 1;
        if path.starts_with("/board") {
            let answer = board(&first, &cookie, &String::from_utf8_lossy(&sent));
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        let version = version.load(Ordering::SeqCst);
        let keep = match path.starts_with("/own") {
            true => "private, no-store",
            false => "max-age=3600",
        };
        // A herd has time to gather.
        sleep(Duration::from_millis(if path.starts_with("/herd") { 300 } else { 0 }));
        let body = format!("v{version} {path} {cookie}");
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: {keep}\r\nCache-Tag: \
             shown, also\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A board as PHP makes them: everybody gets a session, and forms bear what only it knows.
fn board(first: &str, cookie: &str, sent: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(1);
    let known = cookie.split_once("PHPSESSID=").map(|(_, id)| id[..32].to_owned());
    let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number << 7);
    let begun = || {
        let last = LAST.fetch_add(1, Ordering::SeqCst);
        format!("{:016x}{:016x}", spread(last), spread(!last))
    };
    let (is_new, session) = (known.is_none(), known.unwrap_or_else(begun));
    let token = session.chars().rev().map(|digit| if digit == 'f' { 'g' } else { digit });
    let token: String = token.collect();
    let body = match first.starts_with("POST") {
        true if sent.contains(&token) && !is_new => "it is written".to_owned(),
        true => format!("forged: {cookie} {sent}"),
        false => format!(
            "<!doctype html><title>A board</title><h1>A board</h1><p>Somebody wrote this, and \
             others wrote more of it, so that there is something to read.</p><form method=post \
             action=/board><input type=hidden name=token value={token}><input name=text></form>"
        ),
    };
    let begins = match is_new {
        true => format!("Set-Cookie: PHPSESSID={session}; path=/\r\n"),
        false => String::new(),
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: no-store, no-cache, \
         must-revalidate\r\n{begins}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

struct Shielded {
    nodes: Vec<Node>,
    site: Site,
    _nats: Nats,
}

/// Three nodes that ask each other; none where there is no NATS.
fn shielded() -> Option<Shielded> {
    let nats = Nats::start(1)?;
    let site = Site::start();
    let node = |at: usize| {
        let more = format!("listen = \"{}\"\nsecret = \"{SECRET}\"\n", loopback::address());
        Node::start_as(
            &format!("n{at}"),
            &format!("origin = \"http://{}\"\n", site.address),
            &nats,
            &more,
        )
    };
    let nodes: Vec<_> = (0..3).map(node).collect();
    until_in_touch(&nodes);
    until_known(&nodes);
    Some(Shielded { nodes, site, _nats: nats })
}

/// Waits until each knows where to ask the others.
pub(crate) fn until_known(nodes: &[Node]) {
    for node in nodes {
        until("each knows where to ask the others", || {
            let status = node.status();
            let members = status["members"].as_array().expect("a list");
            let is_known = members.iter().all(|member| member["listen"].is_string());
            members.len() == nodes.len() - 1 && is_known
        });
    }
}

fn get(node: &Node, path: &str) -> String {
    wick::ask(node.address, &format!("GET {path}\nHost: shop.test"))
}

/// How often something happened to pages between nodes.
fn counter(node: &Node, name: &str) -> u64 {
    let status = node.status();
    status["pages"][name].as_u64().unwrap_or_else(|| unreachable!("no {name} in {status}"))
}

pub(crate) fn counters(nodes: &[Node], name: &str) -> u64 {
    nodes.iter().map(|node| counter(node, name)).sum()
}

/// The owner of a page that no node has: the one that asks nobody for it.
fn owner(nodes: &[Node], path: &str) -> usize {
    let asks = |node: &Node| {
        let before = counter(node, "asked");
        get(node, path);
        counter(node, "asked") > before
    };
    let asked: Vec<_> = nodes.iter().map(asks).collect();
    assert_eq!(asked.iter().filter(|asked| !**asked).count(), 1, "{path}: {asked:?}");
    asked.iter().position(|asked| !asked).expect("one of them")
}

#[test]
fn of_a_herd_over_three_nodes_the_origin_hears_once() {
    let Some(Shielded { nodes, site, _nats }) = shielded() else { return };
    let barrier = Barrier::new(300);
    std::thread::scope(|scope| {
        for at in 0..300 {
            let (address, barrier) = (nodes[at % 3].address, &barrier);
            scope.spawn(move || {
                barrier.wait();
                let answer = wick::ask(address, "GET /herd\nHost: shop.test");
                assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("v0 /herd"));
            });
        }
    });
    // An owner that the machine kept from its work for a second is passed by, and that is told.
    let silent = counters(&nodes, "silent");
    assert!(site.asked("/herd") <= 1 + silent, "{} with {silent} silent", site.asked("/herd"));
    // All have it now.
    for node in &nodes {
        assert!(get(node, "/herd").contains("wick; hit"));
    }
    let told = get(&nodes[0], "/news");
    let also: Vec<_> = nodes.iter().map(|node| get(node, "/news")).collect();
    let from_fellows = also.iter().filter(|answer| answer.contains("detail=fellow")).count();
    assert!(from_fellows + usize::from(told.contains("detail=fellow")) == 2, "{also:?}");
    let ages = also.iter().all(|answer| answer.to_lowercase().contains("\r\nage: "));
    assert!(ages && site.asked("/news") == 1, "{also:?}");
}

#[test]
fn nothing_of_anybodys_own_crosses_and_no_stranger_is_let_in() {
    let Some(Shielded { nodes, site, _nats }) = shielded() else { return };
    for node in &nodes {
        for path in ["/account", "/news"] {
            let request = format!("GET {path}\nHost: shop.test\nCookie: sid=of-one-person");
            assert!(wick::ask(node.address, &request).contains("of-one-person"));
        }
        let request = "POST /news\nHost: shop.test\nContent-Length: 0";
        assert!(wick::ask(node.address, request).starts_with("HTTP/1.1 200"));
    }
    assert_eq!(site.asked("/account"), 3);
    assert_eq!(counters(&nodes, "asked"), 0, "nobody's own request goes to another node");
    owner(&nodes, "/seen-by-all");
    assert_eq!(counters(&nodes, "asked"), 2);
    // A page that is nobody else's is asked for once, and its kind is left alone then.
    for at in 0..4 {
        for node in &nodes {
            assert!(get(node, &format!("/own?id={at}")).contains("v0 /own"));
        }
    }
    assert!(counters(&nodes, "asked") <= 2 + 3, "{}", counters(&nodes, "asked"));
    assert_eq!(counters(&nodes, "given"), 2);
    for node in &nodes {
        let listen = node.status()["listen"].as_str().expect("an address").parse().expect("one");
        for fields in
            ["", "\nAuthorization: Bearer a-secret-of-other-letters\nwick-fellow: 1 0 0 http ::1"]
        {
            let answer = wick::ask(listen, &format!("GET /seen-by-all{fields}"));
            assert!(
                answer.starts_with("HTTP/1.1 403") && answer.contains("only nodes"),
                "{answer}"
            );
            assert!(!answer.contains("v0") && !answer.contains(SECRET), "{answer}");
        }
    }
}

#[test]
fn what_was_purged_comes_from_no_node_and_a_dead_owner_costs_nobody_an_answer() {
    let Some(Shielded { mut nodes, site, _nats }) = shielded() else { return };
    let of_the_last = |path: &String| owner(&nodes, path) == 2;
    let paths: Vec<_> =
        (0..12).map(|at| format!("/page{at}")).filter(of_the_last).take(3).collect();
    assert!(!paths.is_empty());
    // It hears of everything later than the others do.
    nodes[2].wires.iter().for_each(|wire| wire.slow(Duration::from_millis(60)));
    for round in 1..=12 {
        let path = &paths[round % paths.len()];
        for node in &nodes {
            get(node, path);
        }
        site.version.store(round as u64, Ordering::SeqCst);
        let at = round / 2 % 2;
        let request = match round % 2 {
            0 => format!("PURGE {path}\nHost: shop.test"),
            _ => "PURGEKEYS /\nHost: shop.test\nxkey-purge: also".to_owned(),
        };
        let told = wick::ask(nodes[at].address, &request);
        assert!(told.starts_with("HTTP/1.1 200"), "{told}");
        // Where it was purged nothing older is shown from then on, whoever else has heard of it.
        let is_new = |at: usize| get(&nodes[at], path).contains(&format!("v{round} "));
        assert!(is_new(at), "round {round}");
        // The other two, in the order in which they hear of it.
        for at in [1 - at, 2] {
            until("it is heard of", || is_new(at));
        }
        assert!((0..3).all(is_new), "round {round}");
    }
    assert!(counter(&nodes[2], "given") > 0);
    nodes[2].wires.iter().for_each(Wire::mend);
    until_in_touch(&nodes);
    let dead = owner(&nodes, "/last");
    let paths: Vec<_> = (0..12).map(|at| format!("/after{at}")).collect();
    // At first as a machine that hangs, which still takes connections; then as one that is gone.
    nodes[dead].signal(Signal::STOP);
    let others: Vec<_> = (0..3).filter(|at| *at != dead).collect();
    for path in &paths[..6] {
        for &at in &others {
            assert!(get(&nodes[at], path).starts_with("HTTP/1.1 200"), "{path}");
        }
    }
    nodes[dead].signal(Signal::CONT);
    nodes[dead].kill();
    for path in &paths[6..] {
        for &at in &others {
            assert!(get(&nodes[at], path).starts_with("HTTP/1.1 200"), "{path}");
        }
    }
    // Each rests after the first that it lets wait.
    assert!(others.iter().all(|at| counter(&nodes[*at], "silent") <= 4));
}

#[test]
fn what_strangers_share_is_written_from_wherever_it_was_read() {
    let Some(Shielded { nodes, site, _nats }) = shielded() else { return };
    let path = (0..30).map(|at| format!("/board{at}")).find(|path| {
        // The first to be asked has it made, and the others ask that one.
        nodes.iter().all(|node| {
            let mut is_shown = false;
            for _ in 0..40 {
                is_shown |= get(node, path).contains("wick; hit");
            }
            is_shown
        })
    });
    let path = path.expect("a page that strangers share");
    assert!(counters(&nodes, "came") > 0, "none of it came from another node");
    for node in &nodes {
        let page = get(node, &path);
        assert!(!page.to_lowercase().contains("set-cookie"), "{page}");
        let token = page.split_once("name=token value=").expect("a form").1;
        let sent = format!("token={}&text=x", &token[..32]);
        let request = format!(
            "POST {path} HTTP/1.1\nHost: shop.test\nContent-Type: \
             application/x-www-form-urlencoded\nOrigin: http://shop.test\nReferer: http://shop.test{path}\nContent-Length: \
             {}\nConnection: close\n\n{sent}",
            sent.len()
        );
        let answer = wick::rest(wick::send(node.address, &request));
        assert!(answer.contains("it is written"), "{}: {answer}", node.name);
        // The write made it old for everybody.
        for other in &nodes {
            until("it is shared again", || get(other, &path).contains("wick; hit"));
        }
    }
    drop(site);
}

#[test]
fn who_drains_is_asked_for_nothing_and_serves_what_comes() {
    let Some(Shielded { nodes, site, _nats }) = shielded() else { return };
    let path = (0..30).map(|at| format!("/page{at}")).find(|path| owner(&nodes, path) == 1);
    assert!(path.is_some(), "it owns none");
    let command = |command: &str| {
        let ended = Wick::run(&["cluster", command, "--state", &nodes[1].state()]).end();
        assert!(ended.status.success(), "{}", ended.told());
        ended.output
    };
    assert!(command("drain").contains("n1") && nodes[1].status()["is_draining"] == true);
    let draining = |node: &Node, expected: bool| {
        let status = node.status();
        let members = status["members"].as_array().expect("a list").clone();
        let is_n1 = |member: &&serde_json::Value| member["node"] == "n1";
        members.iter().find(is_n1).expect("it is there")["is_draining"] == expected
    };
    for node in [&nodes[0], &nodes[2]] {
        until("the others hear of it", || draining(node, true));
    }
    let given = counter(&nodes[1], "given");
    for at in 0..30 {
        for node in &nodes {
            assert!(get(node, &format!("/more{at}")).starts_with("HTTP/1.1 200"));
        }
        assert_eq!(site.asked(&format!("/more{at}")), 1);
    }
    assert_eq!(counter(&nodes[1], "given"), given);
    command("join");
    for node in [&nodes[0], &nodes[2]] {
        until("the others hear of it", || draining(node, false));
    }
    assert!((0..30).any(|at| owner(&nodes, &format!("/again{at}")) == 1));
}

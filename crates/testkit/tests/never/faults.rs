//! Whatever origins and clients do, Wick is there for the next who asks.
//!
//! An origin that refuses, closes, falls silent, sends garbage, heads without end, wrong
//! lengths and broken chunks; clients that send garbage, half a head, bodies that never
//! come or never end, and that go away or stay without a word. Afterwards a plain request
//! is served, nothing has panicked, no connection is left, and nothing is still fetching.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use origin::HttpOptions;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig};
use testkit::message::{Received, State};
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, chunk, head};
use crate::caller::{Caller, Got};
use crate::stage::{self, Outcome, Stage, dice};

const CLIENTS: usize = 8;
const REQUESTS: usize = 6;
/// Longer than every time-out of Wick's in a row.
const QUIET: Duration = Duration::from_secs(400);

struct Site {
    dice: Mutex<StdRng>,
}

impl Author for Site {
    fn answer(&self, request: &Received) -> Script {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        if request.target() == "/plain" {
            let fields = [("Content-Length".to_owned(), "5".to_owned())];
            let steps = vec![Step::Send(head(200, &fields)), Step::Send(b"plain".to_vec())];
            return Script { steps, closes: false };
        }
        let mut script = Script { steps: Vec::new(), closes: dice.random_bool(0.7) };
        for piece in trouble(&mut dice) {
            script.steps.push(Step::Wait(Duration::from_secs(dice.random_range(0..4))));
            script.steps.push(Step::Send(piece));
        }
        if dice.random_bool(0.2) {
            // Silence for longer than anybody waits.
            script.steps.push(Step::Wait(QUIET));
        }
        script
    }

    fn accepts(&self) -> bool {
        !self.dice.lock().unwrap_or_else(PoisonError::into_inner).random_bool(0.1)
    }
}

/// One way for an answer to be wrong, in pieces.
fn trouble(dice: &mut StdRng) -> Vec<Vec<u8>> {
    const OK: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=5\r\n";
    let text = |text: &str| vec![text.as_bytes().to_vec()];
    let garbage = |dice: &mut StdRng| -> Vec<u8> {
        (0..dice.random_range(1..3000)).map(|_| dice.random()).collect()
    };
    match dice.random_range(0..16) {
        0 => Vec::new(),
        1 => vec![garbage(dice)],
        2 => vec![OK.as_bytes().to_vec(), garbage(dice)],
        3 => vec![b"HTTP/1.1 200 OK\r\n".to_vec(), b"X-Long: yes\r\n".repeat(40_000)],
        4 => vec![b"HTTP/1.1 200 OK\r\nX-Long: ".to_vec(), vec![b'a'; 400_000]],
        5 => text(&format!("{OK}Content-Length: 100\r\n\r\nshort")),
        6 => text(&format!("{OK}Content-Length: 2\r\n\r\nmuch longer than it says")),
        7 => text(&format!("{OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef")),
        8 => text(&format!("{OK}Content-Length: -1\r\n\r\nabc")),
        9 => text(&format!("{OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n")),
        10 => text(&format!("{OK}Transfer-Encoding: chunked\r\n\r\n5\r\nabc")),
        11 => text(&format!("{OK}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc")),
        12 => vec![
            format!("{OK}Transfer-Encoding: chunked\r\n\r\n").into_bytes(),
            chunk(b"one"),
            chunk(b"two"),
            chunk(b""),
        ],
        13 => text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        14 => text(&"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(200)),
        _ => text(&format!("{OK}Content-Length: 0\r\nX-\u{e9}: \u{0}\r\n\r\n")),
    }
}

/// A body that never comes to its last chunk.
fn endless(post: &str) -> Vec<u8> {
    let mut bytes = format!("{post}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    bytes.extend(chunk(&[b'm'; 4000]).repeat(40));
    bytes
}

/// One way for a client to behave; returns its connection if it stays.
async fn misbehave(stage: &Stage, number: usize, dice: &mut StdRng) -> Option<Caller> {
    let mut caller = Caller::new(stage.connect(number));
    let path = *["/a", "/b", "/c", "/plain"].choose(dice).unwrap_or(&"/a");
    let get = format!("GET {path} HTTP/1.1\r\nHost: example.test\r\n\r\n");
    let post = format!("POST {path} HTTP/1.1\r\nHost: example.test\r\n");
    let kind = dice.random_range(0..12);
    let bytes: Vec<u8> = match kind {
        0 => (0..dice.random_range(1..500)).map(|_| dice.random()).collect(),
        1 => get.as_bytes()[..dice.random_range(0..get.len())].to_vec(),
        2 => format!("{post}Content-Length: 1000\r\n\r\nabc").into_bytes(),
        3 => format!("{post}Transfer-Encoding: chunked\r\n\r\n5\r\nab").into_bytes(),
        4 => format!("{post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n").into_bytes(),
        5 => format!("{post}Expect: 100-continue\r\nContent-Length: 10\r\n\r\n").into_bytes(),
        6 => format!("{post}Content-Length: 10\r\n\r\n0123456789{get}").into_bytes(),
        7 => get.repeat(5).into_bytes(),
        8 => endless(&post),
        _ => get.into_bytes(),
    };
    stage.world.tell(&format!("client {number}"), &testkit::story::shown(&bytes));
    let sent = tokio::time::timeout(QUIET, caller.send(&bytes));
    if sent.await.is_err() {
        stage.complain("nobody takes a request's bytes, nor closes");
    }
    match dice.random_range(0..3) {
        0 => None,
        1 => Some(caller),
        _ if kind >= 6 => {
            let method = if kind == 6 || kind == 8 { "POST" } else { "GET" };
            drop(caller.response(stage, method).await);
            Some(caller)
        }
        _ => Some(caller),
    }
}

/// Connections that their clients never close.
type Kept = Arc<Mutex<Vec<Caller>>>;

async fn live(stage: Stage, number: usize, mut dice: StdRng, kept: Kept) {
    for _ in 0..REQUESTS {
        let stays = misbehave(&stage, number, &mut dice).await;
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend(stays);
        tokio::time::sleep(Duration::from_secs(dice.random_range(0..8))).await;
    }
}

/// A plain request, which must be served; the origin may refuse a connection now and then.
async fn is_served(stage: &Stage) -> bool {
    for _ in 0..5 {
        let mut caller = Caller::new(stage.connect(99));
        caller.send(b"GET /plain HTTP/1.1\r\nHost: example.test\r\n\r\n").await;
        if let Got::Response(response) = caller.response(stage, "GET").await
            && response.status == 200
            && response.body == b"plain"
            && matches!(response.state, State::Whole(_))
        {
            return true;
        }
    }
    false
}

fn simulate(seed: u64) -> Outcome {
    let site = Site { dice: Mutex::new(dice(seed, 1)) };
    let origin = author::origin(Arc::new(site), HttpOptions::default());
    let config = ServerConfig { sites: vec![SiteConfig::new(origin)], ..ServerConfig::default() };
    stage::play(config, |stage| async move {
        let (mut actors, kept) = (JoinSet::new(), Kept::default());
        for number in 0..CLIENTS {
            let dice = dice(seed, 10 + number as u64);
            actors.spawn(live(stage.clone(), number, dice, kept.clone()));
        }
        stage.until_done(actors).await;
        if !is_served(&stage).await {
            stage.complain("a plain request is not served any more");
        }
        tokio::time::sleep(QUIET).await;
        let (memory, flights) = (stage.server.memory(), stage.server.flights());
        let connections = stage.server.connections();
        if connections + flights > 0 || memory.reserved_bytes > 0 {
            let reserved = memory.reserved_bytes;
            stage.complain(format!(
                "left over: {connections} connections, {flights} fetches, {reserved} bytes set aside"
            ));
        }
        stage.look_after();
        drop(kept);
    })
}

#[test]
fn whatever_origins_and_clients_do_the_next_who_asks_is_served() -> Result<(), String> {
    let wanted = [
        "refused",
        "failed(origin-reset)",
        "failed(origin-malformed)",
        "failed(origin-timeout)",
        "failed(origin-unreachable)",
        "failed(client-body)",
        "miss",
    ];
    stage::hunt(300, &wanted, simulate)
}

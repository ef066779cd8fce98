//! After an edit is acknowledged, no older page is served, also when its fetch began before.
//!
//! Pages have versions. Writers bump them by unsafe requests, to the page itself or to
//! another that names it in `Location` or `Content-Location`; readers note, as they begin,
//! the newest version that any writer has been told of, and complain of an older one.
//! Law: RFC 9111 §4.4. What was removed can't come back as stale either (RFC 5861), so the
//! leave to be stale excuses nothing. A writer who goes away before the answer was told
//! nothing, and nothing is promised.
//! Twice: in virtual time, and on real threads that share one server.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::Duration;

use base::Clock;
use origin::HttpOptions;
use policy::Rules;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig};
use testkit::dates::START_UNIX_MS;
use testkit::message::Received;
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, chunk, head, take_turns};
use crate::caller::{Caller, Got};
use crate::ledger::text;
use crate::stage::{self, Outcome, Stage, dice};

const PATHS: [&str; 3] = ["/a", "/b", "/c?x=1"];
const THREADS: usize = 3;

/// Where time comes from: timers, or the turns of other tasks.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    Virtual,
    Turns,
}

/// A checker that can't see this sees nothing.
#[derive(Clone, Copy, PartialEq)]
enum Honesty {
    Honest,
    /// Now and then a page changes without an unsafe request that Wick could have seen,
    /// and its writer believes that it is known.
    WritesBehindOurBack,
}

/// What is true of the pages.
struct Truth {
    versions: [AtomicU64; PATHS.len()],
    /// The newest version of each that some writer was told of.
    acknowledged: [AtomicU64; PATHS.len()],
}

struct Site {
    truth: Arc<Truth>,
    dice: Mutex<StdRng>,
    pace: Pace,
    odds: Odds,
}

const CONTROLS: [&str; 7] = [
    "max-age=600",
    "public, max-age=600",
    "max-age=1, stale-while-revalidate=600",
    "max-age=1, stale-if-error=600",
    "no-cache",
    "s-maxage=2",
    "private",
];

/// How a seed leans: one in which all pages are stale and the origin mostly fails finds
/// what an even mixture would hardly ever come to.
#[derive(Clone, Copy)]
struct Odds {
    write: f64,
    leave: f64,
    trouble: f64,
    pages: usize,
    control: Option<&'static str>,
}

impl Odds {
    fn of(seed: u64) -> Self {
        let mut dice = dice(seed, 2);
        let mut odd = |choices: &[f64]| *choices.choose(&mut dice).unwrap_or(&0.1);
        let (write, leave, trouble) =
            (odd(&[0.05, 0.1, 0.25]), odd(&[0.02, 0.1, 0.35]), odd(&[0.0, 0.1, 0.4]));
        let control = CONTROLS.choose(&mut dice).copied().filter(|_| dice.random_bool(0.5));
        Self { write, leave, trouble, pages: dice.random_range(1..=PATHS.len()), control }
    }
}

/// Lets a little time pass.
fn pause(pace: Pace, dice: &mut StdRng) -> Step {
    let short = dice.random_bool(0.3);
    match pace {
        Pace::Turns => Step::Yield(if short { 0 } else { dice.random_range(0..40) }),
        Pace::Virtual if short => Step::Wait(Duration::ZERO),
        // On a coarse grid, so that much falls on the same moment.
        Pace::Virtual => Step::Wait(Duration::from_millis(100 * dice.random_range(0..10))),
    }
}

fn pair(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

impl Author for Site {
    fn answer(&self, request: &Received) -> Script {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let mut script = Script::default();
        let Some(page) = PATHS.iter().position(|path| *path == request.target()) else {
            script.closes = true;
            return script;
        };
        match request.method() {
            "GET" | "HEAD" => self.read(&mut dice, page, request, &mut script),
            _ => self.write(&mut dice, page, &mut script),
        }
        script
    }

    fn accepts(&self) -> bool {
        !self.dice.lock().unwrap_or_else(PoisonError::into_inner).random_bool(0.04)
    }
}

impl Site {
    /// Reads the page at once and sends it slowly.
    fn read(&self, dice: &mut StdRng, page: usize, request: &Received, script: &mut Script) {
        let version = self.truth.versions[page].load(Ordering::SeqCst);
        script.steps.push(pause(self.pace, dice));
        if dice.random_bool(0.05) {
            script.closes = true;
            return;
        }
        if dice.random_bool(self.odds.trouble) {
            let fields = [pair("Content-Length", "0"), pair("X-Failed", "1")];
            script.steps.push(Step::Send(head(500, &fields)));
            return;
        }
        let language = text(&request.fields, "accept-language").unwrap_or_default();
        let is_varied = page == 2;
        let tag =
            if is_varied { format!("\"{version}{language}\"") } else { format!("\"{version}\"") };
        let any = || CONTROLS.choose(dice).copied().unwrap_or(CONTROLS[0]);
        let control = self.odds.control.unwrap_or_else(any);
        let mut fields = vec![
            pair("Cache-Control", control),
            pair("ETag", tag.clone()),
            pair("X-Version", version.to_string()),
        ];
        if is_varied {
            fields.push(pair("Vary", "Accept-Language"));
        }
        if text(&request.fields, "if-none-match").is_some_and(|known| known == tag) {
            script.steps.push(Step::Send(head(304, &fields)));
            return;
        }
        let body = format!("version {version}\n").repeat(*[1, 20, 700].choose(dice).unwrap_or(&1));
        let is_chunked = dice.random_bool(0.5);
        fields.push(match is_chunked {
            true => pair("Transfer-Encoding", "chunked"),
            false => pair("Content-Length", body.len().to_string()),
        });
        script.steps.push(Step::Send(head(200, &fields)));
        if request.method() == "HEAD" {
            return;
        }
        let breaks_off = dice.random_bool(0.06);
        for (at, piece) in body.as_bytes().chunks(body.len().div_ceil(3)).enumerate() {
            if breaks_off && at == 2 {
                script.closes = true;
                return;
            }
            script.steps.push(pause(self.pace, dice));
            let piece = if is_chunked { chunk(piece) } else { piece.to_vec() };
            script.steps.push(Step::Send(piece));
        }
        if is_chunked {
            script.steps.push(Step::Send(chunk(b"")));
        }
    }

    /// Writes at some moment, and says so at a later one.
    fn write(&self, dice: &mut StdRng, page: usize, script: &mut Script) {
        script.steps.push(pause(self.pace, dice));
        if dice.random_bool(0.1) {
            let fields = [pair("Content-Length", "0")];
            script.steps.push(Step::Send(head(422, &fields)));
            return;
        }
        let mut fields = vec![pair("Cache-Control", "no-store")];
        let mut pages = vec![page];
        if dice.random_bool(0.4) {
            let other = dice.random_range(0..PATHS.len());
            let (path, name) = (PATHS[other], ["Location", "Content-Location"]);
            let forms =
                [path.to_owned(), format!("http://example.test{path}"), path[1..].to_owned()];
            let form = forms.choose(dice).cloned().unwrap_or_default();
            fields.push(pair(name.choose(dice).unwrap_or(&"Location"), form));
            if other != page {
                pages.push(other);
            }
        }
        let (truth, wrote) = (self.truth.clone(), Arc::new(Mutex::new(String::new())));
        let writes = wrote.clone();
        script.steps.push(Step::Apply(Box::new(move || {
            let mut wrote = writes.lock().unwrap_or_else(PoisonError::into_inner);
            for page in pages {
                let version = truth.versions[page].fetch_add(1, Ordering::SeqCst) + 1;
                wrote.push_str(&format!("{page}={version} "));
            }
        })));
        script.steps.push(pause(self.pace, dice));
        let status = *[200, 201, 204, 303, 302].choose(dice).unwrap_or(&200);
        if status != 204 {
            fields.push(pair("Content-Length", "4"));
        }
        script.steps.push(Step::Tell(Box::new(move || {
            let wrote = wrote.lock().unwrap_or_else(PoisonError::into_inner);
            fields.push(pair("X-Wrote", wrote.trim()));
            head(status, &fields)
        })));
        if status != 204 {
            script.steps.push(pause(self.pace, dice));
            script.steps.push(Step::Send(b"done".to_vec()));
        }
    }
}

/// One actor: mostly reads, now and then writes.
struct Actor {
    stage: Stage,
    truth: Arc<Truth>,
    dice: StdRng,
    pace: Pace,
    honesty: Honesty,
    odds: Odds,
    number: usize,
    caller: Caller,
}

impl Actor {
    async fn live(mut self, requests: usize) {
        for _ in 0..requests {
            self.rest().await;
            if self.stage.is_over() {
                return;
            }
            if !self.caller.is_open() {
                self.reconnect();
            }
            let page = self.dice.random_range(0..self.odds.pages);
            if self.honesty == Honesty::WritesBehindOurBack && self.dice.random_bool(0.1) {
                let version = self.truth.versions[page].fetch_add(1, Ordering::SeqCst) + 1;
                self.truth.acknowledged[page].fetch_max(version, Ordering::SeqCst);
            }
            match self.dice.random_bool(self.odds.write) {
                true => self.write(page).await,
                false => self.read(page).await,
            }
        }
    }

    async fn rest(&mut self) {
        if self.pace == Pace::Turns {
            self.stage.world.clock.advance_ms(self.dice.random_range(0..300));
        }
        match pause(self.pace, &mut self.dice) {
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Yield(turns) => take_turns(turns).await,
            Step::Send(_) | Step::Apply(_) | Step::Tell(_) => {}
        }
    }

    fn reconnect(&mut self) {
        self.caller = Caller::new(self.stage.connect(self.number));
    }

    async fn send(&mut self, text: String) {
        self.stage.world.tell(&format!("actor {}", self.number), &text);
        self.caller.send(text.as_bytes()).await;
    }

    async fn write(&mut self, page: usize) {
        let method =
            *["POST", "PUT", "DELETE", "PATCH", "FROB"].choose(&mut self.dice).unwrap_or(&"POST");
        let path = PATHS[page];
        let body = if self.dice.random_bool(0.5) { "Content-Length: 3\r\n\r\nabc" } else { "\r\n" };
        self.send(format!("{method} {path} HTTP/1.1\r\nHost: example.test\r\n{body}")).await;
        if self.dice.random_bool(self.odds.leave) {
            self.rest().await;
            self.reconnect();
            return;
        }
        // Whoever has the head knows that it is done.
        let Got::Response(response) = self.caller.head(&self.stage, method).await else { return };
        let wrote = text(&response.fields, "x-wrote").unwrap_or_default();
        for (page, version) in wrote.split(' ').filter_map(|written| written.split_once('=')) {
            if let (Ok(page), Ok(version)) = (page.parse::<usize>(), version.parse()) {
                self.truth.acknowledged[page].fetch_max(version, Ordering::SeqCst);
            }
        }
        self.stage
            .world
            .tell(&format!("actor {}", self.number), &format!("{} wrote {wrote}", response.line));
        drop(self.caller.response(&self.stage, method).await);
    }

    async fn read(&mut self, page: usize) {
        let floor = self.truth.acknowledged[page].load(Ordering::SeqCst);
        let method = if self.dice.random_bool(0.1) { "HEAD" } else { "GET" };
        let language = *["de", "en"].choose(&mut self.dice).unwrap_or(&"de");
        let wish = *[
            "",
            "",
            "",
            "",
            "Cache-Control: no-cache\r\n",
            "Cache-Control: max-stale\r\n",
            "Range: bytes=0-8\r\n",
            "Cookie: a=b\r\n",
        ]
        .choose(&mut self.dice)
        .unwrap_or(&"");
        let path = PATHS[page];
        self.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: example.test\r\nAccept-Language: {language}\r\n{wish}\r\n"
        ))
        .await;
        if self.dice.random_bool(self.odds.leave) {
            self.rest().await;
            self.reconnect();
            return;
        }
        let Got::Response(response) = self.caller.response(&self.stage, method).await else {
            return;
        };
        let version = text(&response.fields, "x-version").and_then(|v| v.parse::<u64>().ok());
        let status = text(&response.fields, "cache-status").unwrap_or_default();
        let what = format!("{path}: {} version {version:?}, {status}", response.line);
        self.stage.world.tell(&format!("actor {}", self.number), &what);
        let Some(version) = version else { return };
        let lines = String::from_utf8_lossy(&response.body).into_owned();
        let wanted = format!("version {version}");
        if lines.split('\n').any(|line| !wanted.starts_with(line) && response.status == 200) {
            self.stage.complain(format!("{what}: the body is another version's"));
        }
        if version < floor {
            self.stage.complain(format!("{what}, but {floor} was acknowledged before"));
        }
    }
}

fn server(seed: u64, truth: &Arc<Truth>, pace: Pace) -> ServerConfig {
    let site =
        Site { truth: truth.clone(), dice: Mutex::new(dice(seed, 1)), pace, odds: Odds::of(seed) };
    let mut config = SiteConfig::new(author::origin(Arc::new(site), HttpOptions::default()));
    if seed.is_multiple_of(2) {
        config.rules = Rules {
            stale_while_revalidate_seconds: Some(600),
            stale_if_error_seconds: Some(600),
            ..Rules::default()
        };
    }
    ServerConfig { sites: vec![config], ..ServerConfig::default() }
}

fn truth() -> Arc<Truth> {
    let ones = || std::array::from_fn(|_| AtomicU64::new(1));
    Arc::new(Truth { versions: ones(), acknowledged: ones() })
}

fn actors(
    stage: &Stage,
    truth: &Arc<Truth>,
    seed: u64,
    numbers: std::ops::Range<usize>,
    pace: Pace,
    honesty: Honesty,
    requests: usize,
) -> JoinSet<()> {
    let mut actors = JoinSet::new();
    for number in numbers {
        let caller = Caller::new(stage.connect(number));
        let dice = dice(seed, 10 + number as u64);
        let (stage, truth) = (stage.clone(), truth.clone());
        let actor =
            Actor { stage, truth, dice, pace, honesty, odds: Odds::of(seed), number, caller };
        actors.spawn(actor.live(requests));
    }
    actors
}

fn simulate(seed: u64, honesty: Honesty) -> Outcome {
    let truth = truth();
    stage::play(server(seed, &truth, Pace::Virtual), |stage| async move {
        let actors = actors(&stage, &truth, seed, 0..6, Pace::Virtual, honesty, 12);
        stage.until_done(actors).await;
    })
}

/// The same on threads that share one server: what one seed does differs from run to run.
fn race(seed: u64) -> Outcome {
    let truth = truth();
    let stage = Stage::new(server(seed, &truth, Pace::Turns), Clock::manual(START_UNIX_MS));
    // A connection to the origin may live on a thread that has done its part already.
    let end = Arc::new(tokio::sync::Barrier::new(THREADS));
    let begin = Arc::new(Barrier::new(THREADS));
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let (stage, truth, begin, end) =
                (stage.clone(), truth.clone(), begin.clone(), end.clone());
            threads.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .expect("a runtime without I/O needs nothing that could be missing");
                runtime.block_on(async {
                    begin.wait();
                    let numbers = thread * 3..thread * 3 + 3;
                    let actors =
                        actors(&stage, &truth, seed, numbers, Pace::Turns, Honesty::Honest, 40);
                    stage.until_done(actors).await;
                    end.wait().await;
                });
            });
        }
    });
    stage.outcome()
}

#[test]
fn no_page_older_than_an_acknowledged_edit_is_served() -> Result<(), String> {
    let wanted = [
        "hit",
        "revalidated",
        "collapsed",
        "stale(while-revalidate)",
        "stale(error)",
        "stale(max-stale)",
        "pass(method)",
    ];
    stage::hunt(1500, &wanted, |seed| simulate(seed, Honesty::Honest))
}

#[test]
fn no_page_older_than_an_acknowledged_edit_is_served_on_any_thread() -> Result<(), String> {
    stage::hunt(150, &["hit", "collapsed", "stale", "pass(method)"], race)
}

#[test]
fn an_edit_that_wick_could_not_see_is_seen_by_the_checker() {
    let seen = stage::first_seen(50, |seed| simulate(seed, Honesty::WritesBehindOurBack));
    assert!(seen.is_some_and(|(_, what)| what.contains("was acknowledged before")));
}

//! Bytes made for one person must never reach another.
//!
//! Visitors with cookies, with authorization, with both and with nothing ask for the same
//! few pages at the same moments. The origin answers personally exactly where the law lets
//! it count on privacy ([`temper`]), and publicly elsewhere; it changes its mind from one
//! answer to the next, confirms with 304s that narrow an audience, is slow, and breaks off.
//! Visitors break off, too. Every response is held against the ledger.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use origin::HttpOptions;
use policy::Rules;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig};
use testkit::message::{Received, State};
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, chunk, head};
use crate::caller::{Caller, Got};
use crate::ledger::{Audience, Ledger, Made, Visitor, text};
use crate::stage::{self, Outcome, Stage, dice};

const PATHS: [&str; 3] = ["/a", "/b", "/c?x=1"];
const VISITORS: usize = 6;
const REQUESTS: usize = 8;

type Pairs = Vec<(String, String)>;

/// How honest the origin is: a checker that can't see a lie sees nothing.
#[derive(Clone, Copy, PartialEq)]
enum Honesty {
    Honest,
    /// Now and then a personal page is declared to be for everybody.
    Lies,
}

struct Site {
    ledger: Ledger,
    dice: Mutex<StdRng>,
    honesty: Honesty,
}

impl Author for Site {
    fn answer(&self, request: &Received) -> Script {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let visitor = asking(request);
        let mut script = Script::default();
        script.steps.push(Step::Wait(pause(&mut dice, 1500)));
        if dice.random_bool(0.04) {
            script.closes = true;
            return script;
        }
        let known = text(&request.fields, "if-none-match");
        let known = known.and_then(|tag| self.ledger.with_tag(&tag));
        match known.filter(|known| known.path == request.target()) {
            Some(known) if dice.random_bool(0.6) => {
                let confirmation = self.confirm(&mut dice, &visitor, &known);
                script.steps.push(Step::Send(confirmation));
            }
            _ => self.write(&mut dice, request, &visitor, &mut script),
        }
        script
    }

    fn accepts(&self) -> bool {
        !self.dice.lock().unwrap_or_else(PoisonError::into_inner).random_bool(0.03)
    }
}

/// Who asks, as the origin can tell.
fn asking(request: &Received) -> Visitor {
    let mut fields = Vec::new();
    for name in ["cookie", "authorization", "accept-language"] {
        fields.extend(text(&request.fields, name).map(|value| (name, value)));
    }
    Visitor { name: text(&request.fields, "x-visitor").unwrap_or_default(), fields }
}

fn pause(dice: &mut StdRng, most_ms: u64) -> Duration {
    match dice.random_bool(0.4) {
        true => Duration::ZERO,
        // On a coarse grid, so that much falls on the same moment.
        false => Duration::from_millis(100 * dice.random_range(0..most_ms / 100)),
    }
}

impl Site {
    /// A 304: for all who had the page before, or from now on for this one alone.
    fn confirm(&self, dice: &mut StdRng, visitor: &Visitor, known: &Made) -> Vec<u8> {
        let is_theirs = matches!(&known.audience, Audience::Person(_));
        let mut fields: Pairs = Vec::new();
        let personal = is_theirs || dice.random_bool(0.3);
        let audience = match personal {
            true => Audience::Person(visitor.name.clone()),
            false => known.audience.clone(),
        };
        let made = self.ledger.confirm(known, &visitor.name, audience);
        if personal {
            fields.extend(personal_pair(dice, visitor));
        } else if dice.random_bool(0.3) && matches!(known.audience, Audience::Everybody) {
            fields.push(pair("Cache-Control", "public, max-age=9"));
        }
        fields.push(pair("X-Mark", &made.mark.to_string()));
        fields.push(pair("ETag", &made.tag));
        head(304, &fields)
    }

    /// A whole answer, unless it breaks off.
    fn write(&self, dice: &mut StdRng, request: &Received, visitor: &Visitor, script: &mut Script) {
        let status =
            *[200, 200, 200, 200, 200, 200, 404, 500, 503, 302].choose(dice).unwrap_or(&200);
        let (mut fields, mut audience) = temper(dice, visitor);
        if self.honesty == Honesty::Lies && dice.random_bool(0.05) {
            fields = vec![pair("Cache-Control", "public, max-age=30")];
            audience = Audience::Person(visitor.name.clone());
        }
        let bytes = *[0, 40, 900, 5_000, 30_000].choose(dice).unwrap_or(&40);
        let made = self.ledger.make(request.target(), &visitor.name, audience, bytes);
        fields.push(pair("X-Mark", &made.mark.to_string()));
        fields.push(pair("ETag", &made.tag));
        fields.push(pair("Content-Type", "text/plain"));
        let part =
            text(&request.fields, "range").filter(|_| status == 200 && dice.random_bool(0.5));
        let length = made.body.len();
        if part.is_some() && length > 20 && request.method() == "GET" {
            fields.push(pair("Content-Range", &format!("bytes 5-14/{length}")));
            fields.push(pair("Content-Length", "10"));
            script.steps.push(Step::Send(head(206, &fields)));
            script.steps.push(Step::Send(made.body[5..15].to_vec()));
            return;
        }
        let is_head = request.method() == "HEAD";
        send_body(&self.ledger, dice, status, fields, (&made.body, is_head), script);
    }
}

/// Sends a body in pieces, in one of three framings, now and then not to its end.
fn send_body(
    ledger: &Ledger,
    dice: &mut StdRng,
    status: u16,
    mut fields: Pairs,
    (body, is_head): (&[u8], bool),
    script: &mut Script,
) {
    let framing = dice.random_range(0..10);
    let (is_chunked, until_close) = (framing < 4, framing == 9);
    if is_chunked {
        fields.push(pair("Transfer-Encoding", "chunked"));
    } else if !until_close {
        fields.push(pair("Content-Length", &body.len().to_string()));
    }
    script.steps.push(Step::Send(head(status, &fields)));
    script.closes = until_close;
    if is_head {
        return;
    }
    let pieces = dice.random_range(1..5);
    // Where the end of the connection is the end of the body, nobody can see it cut.
    let breaks_off_at = (dice.random_bool(0.1) && !until_close && !body.is_empty())
        .then(|| dice.random_range(0..pieces));
    for (at, piece) in body.chunks(body.len().div_ceil(pieces).max(1)).enumerate() {
        if breaks_off_at == Some(at) {
            ledger.note_break();
            script.closes = true;
            return;
        }
        script.steps.push(Step::Wait(pause(dice, 900)));
        script.steps.push(Step::Send(if is_chunked { chunk(piece) } else { piece.to_vec() }));
    }
    if is_chunked {
        script.steps.push(Step::Send(chunk(b"")));
    }
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// One of the ways to say that an answer is for one person.
fn personal_pair(dice: &mut StdRng, visitor: &Visitor) -> Pairs {
    let control = |value| vec![pair("Cache-Control", value)];
    match dice.random_range(0..12) {
        0 => control("private"),
        1 => control("private, max-age=60"),
        2 => control("no-store"),
        3 => control("max-age=60, no-store, public"),
        4 => control("s-maxage=60, PRIVATE"),
        5 => vec![pair("Cache-Control", "public, max-age=60"), pair("Cache-Control", "private")],
        6 => control("max-age=60, x=\"never closed, private"),
        7 => {
            vec![pair("Cache-Control", "public, max-age=60"), pair("CDN-Cache-Control", "no-store")]
        }
        8 => vec![pair("Cache-Control", "max-age=60"), pair("Vary", "*")],
        _ => vec![
            pair("Cache-Control", "public, max-age=60"),
            pair("Set-Cookie", &format!("id={}", visitor.name)),
        ],
    }
}

/// What an answer's head says about sharing, and whom the law then lets have it.
fn temper(dice: &mut StdRng, visitor: &Visitor) -> (Pairs, Audience) {
    let person = || Audience::Person(visitor.name.clone());
    let authorized = visitor.value("authorization").is_some();
    let known = authorized || visitor.value("cookie").is_some();
    let same = |names: &[&'static str]| {
        Audience::Same(names.iter().map(|n| (*n, visitor.value(n).map(str::to_owned))).collect())
    };
    let control = |value: &str| pair("Cache-Control", value);
    let declared = [
        "public, max-age=5",
        "s-maxage=4",
        "max-age=0, s-maxage=7",
        "must-revalidate, max-age=3",
        "public, no-cache",
        "public, max-age=1, stale-while-revalidate=9",
        "public, max-age=1, stale-if-error=60",
    ];
    let plain = [
        "max-age=5",
        "max-age=1, stale-while-revalidate=9",
        "max-age=1, stale-if-error=60",
        "no-cache",
    ];
    let choice =
        |list: &[&'static str], dice: &mut StdRng| *list.choose(dice).unwrap_or(&"no-store");
    match dice.random_range(0..10) {
        0 | 1 => (vec![control(choice(&declared, dice))], Audience::Everybody),
        2 | 3 => {
            let audience = if authorized { person() } else { Audience::Unauthorized };
            (vec![control(choice(&plain, dice))], audience)
        }
        4 => (personal_pair(dice, visitor), person()),
        5 => {
            let audience = if authorized { person() } else { same(&["cookie"]) };
            (vec![control(choice(&plain, dice)), pair("Vary", "Cookie")], audience)
        }
        6 => {
            let fields = vec![
                control(choice(&declared, dice)),
                pair("Vary", "accept-language, Authorization"),
            ];
            (fields, same(&["authorization", "accept-language"]))
        }
        7 => {
            let modified = pair("Last-Modified", "Sat, 05 Nov 1994 08:49:37 GMT");
            (vec![modified], if known { person() } else { Audience::Strangers })
        }
        8 => {
            let fields = vec![
                control(choice(&declared, dice)),
                pair("Vary", "Cookie"),
                pair("Vary", "Accept-Language"),
            ];
            (fields, same(&["cookie", "accept-language"]))
        }
        _ => {
            let fields = vec![
                control("public, max-age=5, private=\"X-Person\""),
                pair("X-Person", &format!("id={}", visitor.name)),
            ];
            (fields, Audience::Everybody)
        }
    }
}

fn simulate(seed: u64, honesty: Honesty) -> Outcome {
    let mut start = dice(seed, 0);
    let ledger = Ledger::default();
    let site = Site { ledger: ledger.clone(), dice: Mutex::new(dice(seed, 1)), honesty };
    let mut config = SiteConfig::new(author::origin(Arc::new(site), HttpOptions::default()));
    if start.random_bool(0.5) {
        config.rules = Rules {
            stale_while_revalidate_seconds: Some(20),
            stale_if_error_seconds: Some(60),
            pass_memory_seconds: 2,
            ..Rules::default()
        };
    }
    let memory_bytes = if start.random_bool(0.2) { 100_000 } else { 1 << 20 };
    let config = ServerConfig { sites: vec![config], memory_bytes, ..ServerConfig::default() };
    stage::play(config, |stage| async move {
        let mut actors = JoinSet::new();
        for number in 0..VISITORS {
            let (stage, ledger) = (stage.clone(), ledger.clone());
            let dice = dice(seed, 10 + number as u64);
            actors.spawn(visit(stage, ledger, visitor(number), number, dice));
        }
        stage.until_done(actors).await;
    })
}

fn visitor(number: usize) -> Visitor {
    let name = ["ann", "bob", "cid", "dan", "eve", "fay"][number % 6].to_owned();
    let mut fields = vec![("x-visitor", name.clone())];
    if matches!(number, 0 | 2 | 3) {
        // Two share what is not their session: cid and dan would be one cookie's people.
        fields.push(("cookie", format!("sid={}", if number == 0 { "ann" } else { "both" })));
    }
    if matches!(number, 3 | 4) {
        fields.push(("authorization", format!("Basic {name}")));
    }
    fields.push(("accept-language", ["de", "en"][number % 2].to_owned()));
    Visitor { name, fields }
}

async fn visit(stage: Stage, ledger: Ledger, visitor: Visitor, number: usize, mut dice: StdRng) {
    let mut caller = Caller::new(stage.connect(number));
    let mut last_tag = None;
    for _ in 0..REQUESTS {
        tokio::time::sleep(pause(&mut dice, 2500)).await;
        if stage.is_over() {
            return;
        }
        let path = *PATHS.choose(&mut dice).unwrap_or(&"/a");
        let method = if dice.random_bool(0.12) { "HEAD" } else { "GET" };
        let extra = wish(&mut dice, last_tag.as_deref());
        let mut text = format!("{method} {path} HTTP/1.1\r\nHost: example.test\r\n{extra}");
        for (name, value) in &visitor.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        if !caller.is_open() {
            caller = Caller::new(stage.connect(number));
        }
        stage.world.tell(&visitor.name, &text);
        caller.send(text.as_bytes()).await;
        if dice.random_bool(0.1) {
            tokio::time::sleep(pause(&mut dice, 2000)).await;
            stage.world.tell(&visitor.name, "goes away");
            caller = Caller::new(stage.connect(number));
            continue;
        }
        let Got::Response(response) = caller.response(&stage, method).await else {
            // A body that breaks off before its first byte takes its head with it.
            if ledger.breaks() == 0 {
                stage.complain(format!("{}: closed without an answer", visitor.name));
            }
            continue;
        };
        tell(&stage, &visitor, &response);
        if let Err(fault) = ledger.fault(&visitor, (method, path), &response) {
            stage.complain(format!("{} at {path}: {fault}", visitor.name));
            return;
        }
        last_tag = ledger_tag(&response).or(last_tag);
    }
}

fn ledger_tag(response: &Received) -> Option<String> {
    text(&response.fields, "etag")
}

fn tell(stage: &Stage, visitor: &Visitor, response: &Received) {
    let mut what = response.line.clone();
    for (name, value) in response.fields.iter() {
        let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
        what.push_str(&format!("\n  {name}: {value}"));
    }
    let state = if response.state == State::Cut { "cut" } else { "whole" };
    what.push_str(&format!("\n  ({} bytes, {state})", response.body.len()));
    stage.world.tell(&visitor.name, &what);
}

/// What a client may add to a plain request.
fn wish(dice: &mut StdRng, last_tag: Option<&str>) -> String {
    match dice.random_range(0..16) {
        0 => "Range: bytes=5-14\r\n".to_owned(),
        1 => "Range: bytes=-7\r\n".to_owned(),
        2 => "Cache-Control: no-cache\r\n".to_owned(),
        3 => "Cache-Control: max-age=0\r\n".to_owned(),
        4 => "Cache-Control: max-stale=30\r\n".to_owned(),
        5 => "Cache-Control: only-if-cached\r\n".to_owned(),
        6 => "Cache-Control: no-store\r\n".to_owned(),
        7 | 8 => last_tag.map_or(String::new(), |tag| format!("If-None-Match: {tag}\r\n")),
        9 => last_tag
            .map_or(String::new(), |tag| format!("If-Range: {tag}\r\nRange: bytes=5-14\r\n")),
        _ => String::new(),
    }
}

#[test]
fn bytes_made_for_one_person_never_reach_another() -> Result<(), String> {
    let wanted = [
        "hit",
        "revalidated",
        "collapsed",
        "stale(while-revalidate)",
        "stale(error)",
        "stale(max-stale)",
        "miss(uri-miss)",
        "miss(vary-miss)",
        "miss(expired)",
        "miss(no-cache)",
        "pass(cookie)",
        "pass(authorization)",
        "pass(uncacheable)",
        "pass(uncacheable-remembered)",
        "pass(range)",
        "pass(head)",
        "failed",
    ];
    stage::hunt(1500, &wanted, |seed| simulate(seed, Honesty::Honest))
}

#[test]
fn an_origin_that_lies_about_privacy_is_seen_by_the_checker() {
    let seen = stage::first_seen(50, |seed| simulate(seed, Honesty::Lies));
    assert!(seen.is_some_and(|(_, what)| what.contains("was made for")));
}

//! Parts of pages made for one person must never stand in another's page.
//!
//! Visitors share a page and ask for it at the same moments, several of them from one address;
//! its parts are personal in every way that an app has to say so, and some of those are kept
//! for their visitor. Each part bears its visitor's name, and how often that one has written:
//! a page must show no other name, and no count from before a write that was acknowledged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use origin::HttpOptions;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig};
use testkit::message::Received;
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, head};
use crate::caller::{Caller, Got};
use crate::ledger::text;
use crate::stage::{self, Outcome, Stage, dice};

const REQUESTS: usize = 10;
const ASKS: (&str, &str) = ("Surrogate-Control", "content=\"ESI/1.0\"");

/// Who visits: a name, an address, and what is sent beside the name.
const VISITORS: [(&str, usize, &str); 7] = [
    ("ann", 1, "Cookie: sid=ann-0123456789abcdef\r\n"),
    ("bob", 1, "Cookie: sid=bob-0123456789abcdef\r\n"),
    // These two are nobody, and must not be taken for one another.
    ("cid", 1, "Cookie: theme=dark\r\n"),
    ("dan", 1, "Cookie: theme=dark\r\n"),
    ("eve", 1, "Authorization: Basic eve\r\nCookie: sid=ann-0123456789abcdef\r\n"),
    // Whoever bears ann's cookie elsewhere is not believed to be ann.
    ("fay", 2, "Cookie: sid=ann-0123456789abcdef\r\n"),
    ("guy", 2, ""),
];

#[derive(Clone, Copy, PartialEq)]
enum Honesty {
    Honest,
    /// Now and then a personal part is declared to be for everybody.
    Lies,
}

struct Site {
    dice: Mutex<StdRng>,
    /// How often each visitor has written.
    written: Arc<Mutex<BTreeMap<String, u64>>>,
    honesty: Honesty,
}

impl Author for Site {
    fn answer(&self, request: &Received) -> Script {
        let mut dice = self.dice.lock().unwrap_or_else(PoisonError::into_inner);
        let name = text(&request.fields, "x-visitor").unwrap_or_default();
        let mut script = Script::default();
        script.steps.push(Step::Wait(pause(&mut dice)));
        let (status, mut fields, body) = match (request.method(), request.target()) {
            ("POST", _) => {
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                *written.entry(name).or_default() += 1;
                (200, vec![], "done".to_owned())
            }
            (_, "/page") => (200, vec![("Cache-Control", "public, max-age=5"), ASKS], page()),
            (_, "/own") => {
                let fields = vec![("Cache-Control", "private, max-age=60"), ASKS];
                (200, fields, format!("[{name}:0]{}", page()))
            }
            (_, "/nested") => {
                let fields = vec![("Cache-Control", "public, max-age=3"), ASKS];
                (200, fields, "(<esi:include src='/part/3'/>)".to_owned())
            }
            (_, "/box") => (200, vec![("Cache-Control", "max-age=3, public")], "box".to_owned()),
            _ if dice.random_bool(0.05) => (503, vec![], format!("[{name}:0]")),
            _ => {
                let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                let count = written.get(&name).copied().unwrap_or_default();
                (200, self.temper(&mut dice), format!("[{name}:{count}]"))
            }
        };
        let length = body.len().to_string();
        fields.extend([("Content-Type", "text/html"), ("Content-Length", &length)]);
        let fields: Vec<_> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        script.steps.push(Step::Send(head(status, &fields)));
        if request.method() != "HEAD" {
            script.steps.push(Step::Wait(pause(&mut dice)));
            script.steps.push(Step::Send(body.into_bytes()));
        }
        script
    }

    fn accepts(&self) -> bool {
        true
    }
}

impl Site {
    /// One of the ways to say that a part is for one person.
    fn temper(&self, dice: &mut StdRng) -> Vec<(&'static str, &'static str)> {
        if self.honesty == Honesty::Lies && dice.random_bool(0.1) {
            return vec![("Cache-Control", "public, max-age=60")];
        }
        match dice.random_range(0..8) {
            0 => vec![("Cache-Control", "no-store")],
            1 => vec![("Cache-Control", "private")],
            2 => vec![("Cache-Control", "public, max-age=60"), ("Set-Cookie", "a=b")],
            3 => vec![("Cache-Control", "private, max-age=60"), ("Vary", "X-Visitor")],
            4 => {
                let kept = "private,max-age=60";
                vec![("Cache-Control", "no-store"), ("X-LiteSpeed-Cache-Control", kept)]
            }
            _ => vec![("Cache-Control", "private, max-age=60")],
        }
    }
}

fn page() -> String {
    let include = |source: &str, more: &str| format!("<esi:include src='{source}'{more}/>");
    let attempt = format!(
        "<esi:try><esi:attempt>{}</esi:attempt><esi:except>-</esi:except></esi:try>",
        include("/part/2", "")
    );
    [
        include("/part/1", " onerror='continue'"),
        include("/box", ""),
        include("/part/4", " cache-control='private' ttl='30'"),
        attempt,
        include("/nested", " alt='/part/1'"),
    ]
    .join(",")
}

fn pause(dice: &mut StdRng) -> Duration {
    match dice.random_bool(0.5) {
        true => Duration::ZERO,
        false => Duration::from_millis(100 * dice.random_range(0..10)),
    }
}

fn simulate(seed: u64, honesty: Honesty, kept: &Mutex<u64>) -> Outcome {
    let written = Arc::default();
    let dice_of_site = Mutex::new(dice(seed, 1));
    let site = Site { dice: dice_of_site, written: Arc::clone(&written), honesty };
    let config = SiteConfig::new(author::origin(Arc::new(site), HttpOptions::default()));
    let memory_bytes = if dice(seed, 0).random_bool(0.2) { 300_000 } else { 4 << 20 };
    let config = ServerConfig { sites: vec![config], memory_bytes, ..ServerConfig::default() };
    stage::play(config, |stage| async move {
        let mut actors = JoinSet::new();
        for (number, visitor) in VISITORS.into_iter().enumerate() {
            let (stage, written) = (stage.clone(), Arc::clone(&written));
            actors.spawn(visit(stage, visitor, written, dice(seed, 10 + number as u64)));
        }
        stage.until_done(actors).await;
        let private = stage.server.counters().esi_parts_private.read();
        *kept.lock().unwrap_or_else(PoisonError::into_inner) += private;
    })
}

async fn visit(
    stage: Stage,
    (name, address, more): (&'static str, usize, &'static str),
    written: Arc<Mutex<BTreeMap<String, u64>>>,
    mut dice: StdRng,
) {
    let mut caller = Caller::new(stage.connect(address));
    // What was acknowledged before a page is asked for must be in it.
    let mut least = 0;
    for _ in 0..REQUESTS {
        tokio::time::sleep(pause(&mut dice)).await;
        if stage.is_over() {
            return;
        }
        let (method, path) = *[
            ("GET", "/page"),
            ("GET", "/page"),
            ("GET", "/page"),
            ("GET", "/own"),
            ("HEAD", "/page"),
            ("POST", "/write"),
        ]
        .choose(&mut dice)
        .unwrap_or(&("GET", "/page"));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: example.test\r\nX-Visitor: {name}\r\n{more}"
        );
        let end = if method == "POST" { "Content-Length: 0\r\n\r\n" } else { "\r\n" };
        if !caller.is_open() {
            caller = Caller::new(stage.connect(address));
        }
        stage.world.tell(name, &format!("{method} {path}, after {least} writes"));
        caller.send(format!("{request}{end}").as_bytes()).await;
        if dice.random_bool(0.1) {
            stage.world.tell(name, "goes away");
            caller = Caller::new(stage.connect(address));
            continue;
        }
        let Got::Response(response) = caller.response(&stage, method).await else {
            return stage.complain(format!("{name}: closed without an answer"));
        };
        let body = String::from_utf8_lossy(&response.body).into_owned();
        stage.world.tell(name, &format!("is given {}\n  {body}", response.line));
        if method == "POST" {
            let written = written.lock().unwrap_or_else(PoisonError::into_inner);
            least = written.get(name).copied().unwrap_or_default();
        }
        if let Err(fault) = fault(name, least, method, &response, &body) {
            return stage.complain(format!("{name}: {fault}"));
        }
    }
}

/// What is wrong with a page, if anything is.
fn fault(
    name: &str,
    least: u64,
    method: &str,
    response: &Received,
    body: &str,
) -> Result<(), String> {
    let parts: Vec<_> = body
        .split('[')
        .skip(1)
        .filter_map(|part| part.split(']').next()?.split_once(':'))
        .collect();
    for (other, count) in &parts {
        if *other != name {
            return Err(format!("a part was made for {other}"));
        }
        // The page's own mark and failures bear 0.
        let count: u64 = count.parse().unwrap_or(0);
        if count != 0 && count < least {
            return Err(format!("a part is from before write {least}: {count}"));
        }
    }
    let control = text(&response.fields, "cache-control").unwrap_or_default();
    if !parts.is_empty() && control != "private, no-store" && !control.contains("private") {
        return Err(format!("a page with personal parts says {control}"));
    }
    if method == "GET" && body.contains("<esi:") {
        return Err("a page was not put together".to_owned());
    }
    Ok(())
}

#[test]
fn parts_made_for_one_person_never_stand_in_anothers_page() -> Result<(), String> {
    let kept = Mutex::new(0);
    let wanted = ["hit", "collapsed", "miss(uri-miss)", "miss(expired)"];
    stage::hunt(80, &wanted, |seed| simulate(seed, Honesty::Honest, &kept))?;
    let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(kept > 0 || std::env::var_os("SEED").is_some(), "no part was kept for its visitor");
    Ok(())
}

#[test]
fn a_part_that_is_wrongly_for_everybody_is_seen_by_the_checker() {
    let kept = Mutex::new(0);
    let seen = stage::first_seen(50, |seed| simulate(seed, Honesty::Lies, &kept));
    assert!(seen.is_some_and(|(_, what)| what.contains("was made for")));
}

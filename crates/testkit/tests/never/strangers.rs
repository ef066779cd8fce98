//! Bytes made for one visitor must never reach another, also where strangers share pages.
//!
//! The app gives everybody a session and a token, greets some by what it knows of them (in
//! texts, attributes, scripts, headers, data, redirects), changes its mind about that, and
//! says nothing true in its headers. Persons read, log in and write with the tokens that
//! they were shown. A greeting that its owner alone may read, and whose session it is that
//! comes back, show what crossed. Comparing runs on a thread of its own, so a seed plays
//! almost the same way again, and the personas' addresses are others in each process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use origin::HttpOptions;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{ServerConfig, SiteConfig, StrangerRules};
use testkit::message::Received;
use tokio::task::JoinSet;

use crate::author::{self, Author, Script, Step, head};
use crate::caller::{Caller, Got};
use crate::ledger::text;
use crate::stage::{self, Outcome, Stage, dice};

const PATHS: [&str; 14] = [
    "/token",
    "/token?page=2",
    "/token?utm_source=mail",
    "/greets",
    "/members",
    "/turns",
    "/data",
    "/goes",
    "/ways",
    "/picture",
    "/photo",
    "/part",
    "/form",
    "/missing",
];
const NAMES: [&str; 6] = ["ann", "bob", "cid", "dan", "eve", "fay"];
const REQUESTS: usize = 24;
/// When pages that turn personal do.
const TURN: usize = 60;

/// The app and what it knows.
#[derive(Clone)]
struct App(Arc<Mutex<Known>>);

struct Known {
    dice: StdRng,
    sessions: BTreeMap<String, Session>,
    requests: usize,
    saved: usize,
    /// The first session that came back in somebody else's hands.
    fault: Option<String>,
}

#[derive(Clone)]
struct Session {
    owner: String,
    token: String,
}

/// One who asks, as the app can tell.
struct Asking {
    /// A person's name, or an address that is nobody's.
    who: String,
    is_person: bool,
    is_member: bool,
    session: Option<(String, Session)>,
}

impl App {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn asking(&mut self, request: &Received) -> Asking {
        let field = |name| text(&request.fields, name).unwrap_or_default();
        let (agent, address) = (field("user-agent"), field("x-forwarded-for"));
        let person = agent.strip_prefix("Person/").map(str::to_owned);
        let (is_person, who) = (person.is_some(), person.unwrap_or(address));
        let cookies = field("cookie");
        let cookie = |name: &str| {
            let mut pairs = cookies.split("; ").filter_map(|pair| pair.split_once('='));
            pairs.find(|(own, _)| *own == name).map(|(_, value)| value.to_owned())
        };
        let session =
            cookie("sid").and_then(|sid| Some((sid.clone(), self.sessions.get(&sid)?.clone())));
        if let Some((_, session)) = session.as_ref().filter(|(_, own)| own.owner != who) {
            let fault = format!("{who} came with the session of {}", session.owner);
            self.fault.get_or_insert(fault);
        }
        let member = cookie("auth");
        if let Some(member) = member.as_ref().filter(|member| !member.starts_with(&who)) {
            self.fault.get_or_insert(format!("{who} came as the member {member}"));
        }
        Asking { who, is_person, is_member: member.is_some(), session }
    }

    fn begin(&mut self, owner: &str) -> (String, Session) {
        let mut hexadecimal = || format!("{:016x}", self.dice.random::<u64>());
        let (sid, token) = (hexadecimal(), format!("tok{}", hexadecimal()));
        let session = Session { owner: owner.to_owned(), token };
        self.sessions.insert(sid.clone(), session.clone());
        (sid, session)
    }
}

impl Author for App {
    fn answer(&self, request: &Received) -> Script {
        let mut known = self.known();
        known.requests += 1;
        let asking = known.asking(request);
        let mut fields = vec![pair("Content-Type", "text/html")];
        fields.extend(untruth(&mut known.dice));
        let (sid, session) = match asking.session.clone() {
            Some(own) => own,
            None => {
                let (sid, session) = known.begin(&asking.who);
                fields.push(pair("Set-Cookie", &format!("sid={sid}; Path=/; HttpOnly")));
                (sid, session)
            }
        };
        let (status, body) = match request.method() {
            "POST" => take(&mut known, &asking, request, (&sid, &session), &mut fields),
            _ => page(&mut known, &asking, request, &session, &mut fields),
        };
        let mut script = Script::default();
        let pause = known.dice.random_range(0..5_u64) * 100;
        script.steps.push(Step::Wait(Duration::from_millis(pause)));
        fields.push(pair("Content-Length", &body.len().to_string()));
        script.steps.push(Step::Send(head(status, &fields)));
        if request.method() != "HEAD" {
            script.steps.push(Step::Send(body.into_bytes()));
        }
        script
    }
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What the headers say has nothing to do with the page; that it may be stored by anybody they
/// say only of what is for who has a session, and then mean the browser.
fn untruth(dice: &mut StdRng) -> Option<(String, String)> {
    let values = ["no-store", "private", "no-cache", "max-age=0", "private, max-age=60"];
    dice.random_bool(0.7).then(|| pair("Cache-Control", values.choose(dice).unwrap_or(&values[0])))
}

/// A greeting that nobody else may read.
fn greeting(who: &str) -> String {
    format!("greet:{who};")
}

/// Reading.
fn page(
    known: &mut Known,
    asking: &Asking,
    request: &Received,
    session: &Session,
    fields: &mut Vec<(String, String)>,
) -> (u16, String) {
    let greeting = greeting(&asking.who);
    let is_script = text(&request.fields, "x-requested-with").is_some();
    let path = request.target().split('?').next().unwrap_or_default().to_owned();
    let turned = known.requests > TURN && path == "/turns";
    let greets = turned || path == "/greets" || path == "/part" && is_script || asking.is_member;
    // Values in machine places are exchanged when they come back, so a persona's own may be
    // shown there; a person's may not.
    let own = if asking.is_person && path != "/token" { greeting.as_str() } else { "greet:;" };
    let own = if greets || path == "/form" { own } else { "greet:;" };
    fields.push(pair("X-Greeting", own));
    let words = if greets { greeting.as_str() } else { "a stranger" };
    let token = &session.token;
    match path.as_str() {
        "/data" => {
            fields[0].1 = "application/json".to_owned();
            (200, format!("{{\"me\": \"{greeting}\", \"key\": \"{token}\"}}"))
        }
        "/goes" | "/ways" => {
            let place = if path == "/ways" { greeting.as_str() } else { "" };
            fields.push(pair("Location", &format!("/token?of={place}")));
            (302, format!("<a href=/home>{greeting}</a>"))
        }
        "/photo" => {
            let is_theirs = asking.session.is_some() && asking.is_person;
            let values = ["max-age=60", "public, max-age=60", "max-age=60, stale-if-error=60"];
            let value = values.choose(&mut known.dice).unwrap_or(&values[0]);
            fields.retain(|(name, _)| name != "Cache-Control");
            fields.push(pair("Cache-Control", value));
            fields[0].1 = "image/png".to_owned();
            (if is_theirs { 200 } else { 404 }, if is_theirs { greeting } else { String::new() })
        }
        "/picture" => {
            fields[0].1 = "image/png".to_owned();
            (200, greeting)
        }
        _ => {
            let status = if path == "/missing" { 404 } else { 200 };
            let count = known.requests;
            let body = format!(
                "<title>{path}</title><h1>News</h1><p>Hello, {words}<p>Read {count} times\
                 <ul><li>one<li>two<li>three</ul><form method=post action=/save>\
                 <input type=hidden name=key value={token}><input type=hidden name=own value='{own}'></form>\
                 <script>var me = {{own: '{own}'}};</script>"
            );
            (status, body)
        }
    }
}

/// Writing.
fn take(
    known: &mut Known,
    asking: &Asking,
    request: &Received,
    (_, session): (&str, &Session),
    fields: &mut Vec<(String, String)>,
) -> (u16, String) {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    if asking.session.is_none() || !body.contains(&session.token) {
        return (403, "<p>This form is too old".to_owned());
    }
    known.saved += 1;
    if request.target() == "/login" {
        let value = format!("{}-{:016x}", asking.who, known.dice.random::<u64>());
        fields.push(pair("Set-Cookie", &format!("auth={value}; Path=/")));
    }
    (200, format!("<p>Thank you, {}", greeting(&asking.who)))
}

fn simulate(seed: u64, trust_personas: bool) -> (Outcome, usize) {
    let mut start = dice(seed, 0);
    let known = Known {
        dice: dice(seed, 1),
        sessions: BTreeMap::new(),
        requests: 0,
        saved: 0,
        fault: None,
    };
    let app = App(Arc::new(Mutex::new(known)));
    let origin = author::origin(Arc::new(app.clone()), HttpOptions::default());
    let mut site = SiteConfig::new(origin);
    site.strangers = Some(StrangerRules {
        fresh_ms: 1000 * start.random_range(1..4),
        stale_ms: 1000 * start.random_range(0..9),
        sample: start.random_range(1..4),
        trust_personas,
        ..StrangerRules::default()
    });
    let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
    let kept = app.clone();
    let outcome = stage::play(config, |stage| async move {
        let mut actors = JoinSet::new();
        for (number, name) in NAMES.into_iter().enumerate() {
            // Ann and bob sit behind one address.
            let person = Person {
                stage: stage.clone(),
                app: app.clone(),
                name,
                number: number.max(1),
                jar: BTreeMap::new(),
                token: None,
                page: "/token".to_owned(),
            };
            actors.spawn(person.visit(dice(seed, 10 + number as u64)));
        }
        stage.until_done(actors).await;
        if let Some(fault) = app.known().fault.take() {
            stage.complain(fault);
        }
    });
    let saved = kept.known().saved;
    (outcome, saved)
}

/// A person with a browser.
struct Person {
    stage: Stage,
    app: App,
    name: &'static str,
    number: usize,
    jar: BTreeMap<String, String>,
    /// The token that was shown last.
    token: Option<String>,
    /// The page that is open.
    page: String,
}

impl Person {
    async fn visit(mut self, mut dice: StdRng) {
        let mut caller = Caller::new(self.stage.connect(self.number));
        for _ in 0..REQUESTS {
            let pause = 100 * dice.random_range(0..20);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if self.stage.is_over() {
                return;
            }
            if dice.random_bool(0.3) {
                // Another window, which knows nothing yet.
                self.jar.clear();
            }
            let (method, request) = self.request(&mut dice);
            if !caller.is_open() {
                caller = Caller::new(self.stage.connect(self.number));
            }
            self.stage.world.tell(self.name, &request);
            caller.send(request.as_bytes()).await;
            let Got::Response(response) = caller.response(&self.stage, method).await else {
                self.stage.complain(format!("{}: closed without an answer", self.name));
                return;
            };
            self.take_in(&response);
            if let Some(fault) = self.fault(&response) {
                self.stage.complain(fault);
            }
        }
    }

    fn request(&mut self, dice: &mut StdRng) -> (&'static str, String) {
        let writes = self.token.is_some() && dice.random_bool(0.07);
        let is_script = !writes && dice.random_bool(0.2);
        let (method, target, body) = match &self.token {
            Some(token) if writes => {
                let target = if dice.random_bool(0.2) { "/login" } else { "/save" };
                ("POST", target, format!("key={token}&text=hello"))
            }
            _ => {
                let method = if dice.random_bool(0.1) { "HEAD" } else { "GET" };
                (method, *PATHS.choose(dice).unwrap_or(&"/token"), String::new())
            }
        };
        let mut text = format!("{method} {target} HTTP/1.1\r\nHost: example.test\r\n");
        let mut push = |name: &str, value: &str| text.push_str(&format!("{name}: {value}\r\n"));
        push("User-Agent", &format!("Person/{}", self.name));
        push("Referer", &format!("http://example.test{}", self.page));
        if writes && dice.random_bool(0.9) {
            push("Origin", "http://example.test");
        }
        if writes {
            push("Content-Length", &body.len().to_string());
        }
        if is_script {
            push("X-Requested-With", "XMLHttpRequest");
            push("Sec-Fetch-Site", "same-origin");
        }
        if !self.jar.is_empty() {
            let pairs: Vec<String> = self.jar.iter().map(|(n, v)| format!("{n}={v}")).collect();
            push("Cookie", &pairs.join("; "));
        }
        if !writes && !is_script {
            self.page = target.to_owned();
        }
        (method, format!("{text}\r\n{body}"))
    }

    /// Keeps cookies and the token.
    fn take_in(&mut self, response: &Received) {
        for line in response.fields.all_named("set-cookie") {
            let line = String::from_utf8_lossy(line);
            let pair = line.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        let body = String::from_utf8_lossy(&response.body);
        let token = body.find("tok").and_then(|at| body.get(at..at + 19));
        self.token = token.map(str::to_owned).or(self.token.take());
        let fields = response.fields.iter().map(|(name, value)| {
            let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            format!("{name}: {value}\n")
        });
        let fields: String = fields.collect();
        self.stage.world.tell(self.name, &format!("{}\n{fields}\n{body}", response.line));
    }

    /// What of a response was made for somebody else.
    fn fault(&self, response: &Received) -> Option<String> {
        let fields = response.fields.iter().map(|(_, value)| String::from_utf8_lossy(value));
        let all: Vec<_> = fields.chain([String::from_utf8_lossy(&response.body)]).collect();
        for text in &all {
            for piece in text.split("greet:").skip(1) {
                let who = piece.split(';').next().unwrap_or_default();
                if !who.is_empty() && who != self.name {
                    return Some(format!("{} reads what was made for {who}", self.name));
                }
            }
        }
        let sid = self.jar.get("sid")?;
        let owner = self.app.known().sessions.get(sid)?.owner.clone();
        (owner != self.name).then(|| format!("{} was given the session of {owner}", self.name))
    }
}

#[test]
fn bytes_made_for_one_visitor_never_reach_a_stranger() -> Result<(), String> {
    let wanted =
        ["hit", "collapsed", "stale(while-revalidate)", "miss(uri-miss)", "pass(bound)", "pass"];
    let saved = std::cell::Cell::new(0);
    stage::hunt(150, &wanted, |seed| {
        let (outcome, count) = simulate(seed, false);
        saved.set(saved.get() + count);
        outcome
    })?;
    assert!(saved.get() > 0, "nobody's write was taken");
    Ok(())
}

#[test]
fn a_site_that_trusts_one_persona_is_seen_by_the_checker() {
    let seen = stage::first_seen(20, |seed| simulate(seed, true).0);
    assert!(seen.is_some_and(|(_, what)| what.contains("was made for")));
}

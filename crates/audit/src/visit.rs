//! One site visited: found, fetched, tested and written down.
//!
//! The story is in [`Visit::go`]: robots and maps first, then whatever waits, then what other
//! sites say of our links, then probes, then a browser. It may end anywhere; the book has all that was done.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crawl::robots::Robots;
use crawl::sitemap::Sitemap;
use tokio::task::JoinSet;
use url::Url;
use xxhash_rust::xxh3::xxh3_64;

use crate::book::{self, Book, Found, Known, State};
use crate::browser::{BrowserPlan, wanted_rest};
use crate::errand::{Manner, Outcome, Taken, asked};
use crate::fetch::{Answer, Client, FetchError, Host, target};
use crate::gate::{FAILURES_MAX, Gate, Turn};
use crate::kind::Kind;
use crate::live::{Hand, Live};
use crate::pace::Pace;
use crate::page::{Link, LinkKind, plain};
use crate::plan::{AuditError, Plan};
use crate::scope::{NAME, Scope, origin};

const MAPS_MAX: usize = 50;
const TRIES_MAX: u32 = 3;

/// A site being visited.
pub(crate) struct Visit<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) live: &'a Live,
    pub(crate) client: Client,
    pub(crate) seed: Url,
    pub(crate) book: Book,
    pub(crate) scope: Scope,
    /// At what pace the origin is asked that it begins at; others have their own.
    pub(crate) gate: Arc<Gate>,
    pub(crate) is_here: bool,
    /// What a reader of the report should know.
    pub(crate) notes: Vec<String>,
    hosts: HashMap<String, Option<Arc<Host>>>,
    /// Whether the site is left alone though there is more of it.
    has_given_up: bool,
}

/// An address that was asked for.
struct Asked {
    known: Known,
    gate: Arc<Gate>,
    what: Outcome,
}

/// An address that is to be asked for next.
struct Next {
    known: Known,
    url: Url,
    host: Arc<Host>,
    gate: Arc<Gate>,
}

impl<'a> Visit<'a> {
    /// Opens the book of a site, and takes an interrupted run up again.
    pub(crate) async fn begin(
        plan: &'a Plan,
        live: &'a Live,
        client: Client,
        seed: &Url,
    ) -> Result<Self, AuditError> {
        let unreachable = |error| AuditError::Unreachable(seed.to_string(), error);
        let host = client.host(seed).await.map_err(unreachable)?;
        permit(&host, seed, &plan.named)?;
        let book = Book::open(&plan.state, &book_name(seed))?;
        let is_here = host.is_here();
        let scope = Scope::new(seed.clone(), plan.also.clone(), plan.pages, plan.depth);
        if is_here {
            live.stay_here();
        }
        let mut visit = Self {
            plan,
            live,
            client,
            seed: seed.clone(),
            book,
            scope,
            gate: live.gates().of(&origin(seed), || Pace::new(is_here, plan.rate)),
            is_here,
            notes: Vec::new(),
            hosts: HashMap::from([(origin(seed), Some(Arc::new(host)))]),
            has_given_up: false,
        };
        visit.take_up()?;
        Ok(visit)
    }

    fn take_up(&mut self) -> Result<(), AuditError> {
        let browser = self.plan.browser.as_ref().map_or_else(String::new, BrowserPlan::mark);
        let stored = if self.plan.stored.is_some() { " stored" } else { "" };
        let plan = format!(
            "{} {:?} {} {} {} {}{browser}{}{stored}",
            self.seed,
            self.plan.also,
            self.plan.pages,
            self.plan.depth,
            self.plan.external,
            self.plan.probes,
            self.plan.tests.mark()
        );
        let is_same = self.book.kept("plan")?.as_deref() == Some(&plan);
        let has_ended = self.book.kept("ended")?.is_some();
        if !is_same || has_ended || self.plan.anew {
            self.book.begin(&plan)?;
            return Ok(());
        }
        for known in self.book.addresses()?.values() {
            self.scope.recall(&known.url, known.kind, known.state);
        }
        let done = self.book.count(State::Done)?;
        self.live.done(done);
        self.live.find(done + self.book.count(State::Waiting)?);
        self.notes.push(format!("It went on with a run of which {done} addresses were done."));
        Ok(())
    }

    /// Visits all of it, or as much as there is time for; whether that was all.
    pub(crate) async fn go(&mut self) -> Result<bool, AuditError> {
        self.robots(&self.seed.clone()).await?;
        if !self.scope.allows(&self.seed) {
            return Err(AuditError::Forbidden(origin(&self.seed)));
        }
        if self.book.kept("mapped")?.is_none() {
            self.found(&self.seed.clone(), "seed", 0)?;
            self.stored()?;
            self.maps().await?;
            if !self.is_over() {
                self.book.keep("mapped", "1")?;
            }
        }
        self.pages().await?;
        if !self.is_over() {
            crate::outside::ask(self).await?;
        }
        if !self.is_over() && self.plan.tests.has(Kind::Caching) {
            crate::probe::run(self).await?;
        }
        if !self.is_over() {
            crate::browser::run(self).await?;
        }
        Ok(!self.is_over())
    }

    /// Whether no more is to be asked for.
    pub(crate) fn is_over(&self) -> bool {
        self.has_given_up || self.live.is_stopped()
    }

    /// The site wants rest.
    pub(crate) fn rest(&mut self, wanted: Option<Duration>) {
        self.gate.fails(wanted);
    }

    /// What a page loads in the browser came from an origin, or didn't.
    pub(crate) fn heard(&mut self, gate: &Gate, answer: Result<&Answer, &FetchError>) {
        let wanted = answer.map_or(Some(None), wanted_rest);
        match (wanted, answer) {
            (None, Ok(answer)) => gate.answered(answer.took),
            (wanted, _) => drop(gate.fails(wanted.flatten())),
        }
        self.give_up(gate);
    }

    /// The gate of an own address, whose host was found.
    pub(crate) fn gate_of(&self, url: &Url, host: &Host) -> Arc<Gate> {
        let pace = || Pace::new(host.is_here(), self.plan.rate);
        self.live.gates().of(&origin(url), pace)
    }

    /// Reads `robots.txt` of an origin, once.
    pub(crate) async fn robots(&mut self, url: &Url) -> Result<(), AuditError> {
        let origin = origin(url);
        if self.scope.robots.contains_key(&origin) {
            return Ok(());
        }
        let Ok(file) = url.join("/robots.txt") else { return Ok(()) };
        let mut tries = 0;
        let robots = loop {
            tries += 1;
            let answer = self.fetch(&file).await;
            match answer {
                Ok(answer) if answer.status == 200 => {
                    break Robots::of(&String::from_utf8_lossy(&answer.body), NAME);
                }
                Ok(answer) if answer.status == 429 || answer.status >= 500 => {
                    let wanted = answer.retry_after(SystemTime::now());
                    let may = self.gate_at(url).await.is_none_or(|gate| gate.fails(wanted));
                    if tries >= TRIES_MAX || !may || self.is_over() {
                        return Err(AuditError::Robots(origin, answer.status));
                    }
                }
                Ok(_) => break Robots::default(),
                Err(FetchError::Stopped) => return Ok(()),
                Err(error) => return Err(AuditError::Unreachable(file.to_string(), error)),
            }
        };
        if let Some(gate) = self.gate_at(url).await {
            gate.obey(robots.delay);
        }
        self.scope.robots.insert(origin, robots);
        Ok(())
    }

    /// The gate of an own address, if it may be asked.
    async fn gate_at(&mut self, url: &Url) -> Option<Arc<Gate>> {
        let host = self.host(url).await?;
        Some(self.gate_of(url, &host))
    }

    /// How addresses are asked for, and what they are held against.
    pub(crate) fn manner(&self) -> Manner {
        Manner { tests: self.plan.tests, store_first: self.plan.stored.is_some() }
    }

    /// Asks for a file that says what else there is.
    async fn fetch(&mut self, url: &Url) -> Result<Answer, FetchError> {
        let store_first = self.manner().store_first;
        self.ask(url, &[], store_first).await
    }

    /// Asks at the pace of the address's origin.
    pub(crate) async fn ask(
        &mut self,
        url: &Url,
        fields: &[(&'static str, String)],
        store_first: bool,
    ) -> Result<Answer, FetchError> {
        let missing = || FetchError::Connect("its host is not asked".to_owned());
        let host = self.host(url).await.ok_or_else(missing)?;
        let gate = self.gate_of(url, &host);
        let Some(_turn) = self.turn(&gate).await else { return Err(FetchError::Stopped) };
        let _permit = self.live.place().await;
        let answer = self.unless_stopped(asked(&host, url, fields, store_first)).await;
        if let Ok(answer) = &answer {
            gate.answered(answer.took);
        }
        answer
    }

    /// The next turn at a gate; none if nobody waits for it any more, or nobody may.
    async fn turn(&mut self, gate: &Arc<Gate>) -> Option<Turn> {
        let live = self.live;
        let begun = async {
            let turn = gate.place().await?;
            turn.begin().await;
            Some(turn)
        };
        let turn = tokio::select! {
            turn = begun => turn,
            () = live.stopped() => None,
        };
        self.give_up(gate);
        turn.filter(|_| !self.is_over())
    }

    /// What is asked for, unless somebody has had enough before it comes.
    pub(crate) async fn unless_stopped(
        &self,
        asking: impl Future<Output = Result<Answer, FetchError>>,
    ) -> Result<Answer, FetchError> {
        tokio::select! {
            answer = asking => answer,
            () = self.live.stopped() => Err(FetchError::Stopped),
        }
    }

    /// The host of an own address, found once; none if it may not be asked.
    pub(crate) async fn host(&mut self, url: &Url) -> Option<Arc<Host>> {
        let origin = origin(url);
        if let Some(host) = self.hosts.get(&origin) {
            return host.clone();
        }
        let permitted = match self.client.host(url).await {
            Ok(host) => permit(&host, url, &self.plan.named).map(|()| host),
            Err(error) => Err(AuditError::Unreachable(origin.clone(), error)),
        };
        let host = match permitted {
            Ok(host) => {
                if host.is_here() {
                    self.live.stay_here();
                }
                Some(Arc::new(host))
            }
            Err(error) => {
                self.notes.push(error.to_string());
                None
            }
        };
        self.hosts.insert(origin, host.clone());
        host
    }

    /// Takes up an address that no page links to.
    fn found(&mut self, url: &Url, source: &str, depth: u32) -> Result<(), AuditError> {
        let Ok(to) = Url::parse(&plain(url)) else { return Ok(()) };
        let link = Link { to, fragment: None, kind: LinkKind::Page, line: 0 };
        let (state, why) = self.scope.judge(&link, depth);
        self.live.find(usize::from(state == State::Waiting));
        let kind = LinkKind::Page;
        let found = Found { url: link.to.as_str(), kind, depth, source, state, why };
        self.book.find(&found)?;
        Ok(())
    }

    /// Takes up what a running Wick keeps of the site.
    fn stored(&mut self) -> Result<(), AuditError> {
        let Some(all) = &self.plan.stored else { return Ok(()) };
        let kept = all.get(self.seed.as_str()).map_or(&[][..], Vec::as_slice);
        self.notes.push(match kept.len() {
            0 => format!("The running Wick keeps no page of {}.", origin(&self.seed)),
            count => format!("Pages of the running Wick's store with which it began: {count}."),
        });
        for address in kept {
            if let Ok(page) = self.seed.join(address) {
                self.found(&page, "stored", 1)?;
            }
        }
        Ok(())
    }

    async fn maps(&mut self) -> Result<(), AuditError> {
        let named = self.scope.robots.get(&origin(&self.seed));
        let mut maps: Vec<String> = named.map_or_else(Vec::new, |robots| robots.sitemaps.clone());
        let is_guess = maps.is_empty();
        if is_guess {
            maps.push("/sitemap.xml".to_owned());
        }
        let mut known: HashSet<String> = HashSet::new();
        while let Some(map) = maps.pop() {
            let Ok(url) = self.seed.join(&map) else { continue };
            let is_new = known.len() < MAPS_MAX && known.insert(plain(&url));
            if !is_new || !self.scope.is_own(&url) || self.is_over() {
                continue;
            }
            match self.fetch(&url).await {
                Ok(answer) if answer.status == 200 => {
                    let read = tokio::task::spawn_blocking(move || Sitemap::of(&answer.body));
                    let read = read.await.map_err(|error| AuditError::Broken(error.to_string()))?;
                    maps.extend(read.maps);
                    for (page, _) in read.pages {
                        if let Ok(page) = self.seed.join(&page) {
                            self.found(&page, "map", 1)?;
                        }
                    }
                }
                Ok(answer) if !is_guess => {
                    self.notes.push(format!("The sitemap {url} answers {}.", answer.status));
                }
                Err(error) if !is_guess => {
                    self.notes.push(format!("The sitemap {url} can't be read: {error}."));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Asks for all that waits.
    async fn pages(&mut self) -> Result<(), AuditError> {
        let live = self.live;
        let mut flying: JoinSet<Asked> = JoinSet::new();
        let mut under_way: HashSet<i64> = HashSet::new();
        loop {
            let next = self.next(&under_way).await?;
            if next.is_none() && flying.is_empty() {
                return Ok(());
            }
            let gate = next.as_ref().map_or(&self.gate, |next| &next.gate).clone();
            tokio::select! {
                biased;
                // What is under way waits in the book for the next run.
                () = live.stopped() => return Ok(()),
                Some(asked) = flying.join_next() => {
                    let asked = asked.map_err(|error| AuditError::Broken(error.to_string()))?;
                    under_way.remove(&asked.known.id);
                    let gate = Arc::clone(&asked.gate);
                    self.take(asked)?;
                    self.give_up(&gate);
                }
                ready = ready(live, &gate), if next.is_some() => {
                    self.give_up(&gate);
                    let (Some(next), Some((turn, hand))) = (next, ready) else { continue };
                    under_way.insert(next.known.id);
                    self.send(&mut flying, next, turn, hand).await;
                }
            }
        }
    }

    /// The next address that may be asked for beside those that are under way.
    async fn next(&mut self, under_way: &HashSet<i64>) -> Result<Option<Next>, AuditError> {
        while !self.is_over() {
            let waiting = self.book.waiting(under_way.len() + 1)?;
            let Some(known) = waiting.into_iter().find(|one| !under_way.contains(&one.id)) else {
                break;
            };
            let Ok(url) = Url::parse(&known.url) else {
                self.book.failed(known.id, "it is no address", false)?;
                continue;
            };
            if let Err(error) = self.robots(&url).await {
                self.notes.push(error.to_string());
                let none = Robots::of("user-agent: *\ndisallow: /\n", NAME);
                self.scope.robots.insert(origin(&url), none);
            }
            let Some(host) = self.host(&url).await.filter(|_| self.scope.allows(&url)) else {
                self.book.failed(known.id, "it may not be asked", false)?;
                continue;
            };
            let gate = self.gate_of(&url, &host);
            return Ok(Some(Next { known, url, host, gate }));
        }
        Ok(None)
    }

    /// Leaves a site alone that doesn't get well, or wants it.
    fn give_up(&mut self, gate: &Gate) {
        if !gate.is_lost() || self.has_given_up {
            return;
        }
        let name = origin(&self.seed);
        self.notes.push(match gate.failures() >= FAILURES_MAX {
            true => format!(
                "{name} failed {FAILURES_MAX} times in a row, and was left alone; the next run \
                 goes on."
            ),
            false => format!("{name} wants a long rest, and was left alone; the next run goes on."),
        });
        self.has_given_up = true;
    }

    /// Sets off for an address.
    async fn send(&self, flying: &mut JoinSet<Asked>, next: Next, turn: Turn, hand: Hand) {
        let Next { known, url, host, gate } = next;
        let (place, manner) = (self.live.place().await, self.manner());
        flying.spawn(async move {
            let what = hand.run(host, url, manner, place).await;
            drop(turn);
            Asked { known, gate, what }
        });
    }

    /// Writes down what came of an address.
    fn take(&mut self, asked: Asked) -> Result<(), AuditError> {
        let Asked { known, gate, what } = asked;
        let again = known.tries + 1 < TRIES_MAX && !self.is_over();
        let taken = match what {
            Ok(taken) => taken,
            Err(error @ FetchError::Lost) => {
                self.book.failed(known.id, &error.to_string(), again)?;
                return Ok(());
            }
            Err(error) => {
                let again = gate.fails(None) && again;
                self.book.failed(known.id, &error.to_string(), again)?;
                return Ok(());
            }
        };
        if matches!(taken.status, 429 | 503) {
            let may = gate.fails(taken.retry_after);
            // Where the site is left alone, it is for the next run to ask again.
            if may && again || gate.is_lost() {
                self.book.failed(known.id, &format!("answers {}", taken.status), true)?;
                return Ok(());
            }
        } else {
            gate.answered(taken.took);
        }
        self.live.done(1);
        if taken.is_broken {
            self.notes.push(format!(
                "The tests broke off on {}: please tell the authors of Wick.",
                known.url
            ));
        }
        self.write(&known, &taken)
    }

    fn write(&mut self, known: &Known, taken: &Taken) -> Result<(), AuditError> {
        let base = Url::parse(&known.url);
        let location = taken.location.as_ref().filter(|_| is_redirect(taken.status));
        let to = location.and_then(|to| base.as_ref().ok()?.join(to).ok());
        let location = to.as_ref().map_or_else(String::new, plain);
        let mut links = Vec::new();
        for link in &taken.links {
            let (state, why) = self.scope.judge(link, known.depth + 1);
            self.live.find(usize::from(state == State::Waiting));
            links.push((link, state, why));
        }
        let result = book::Result {
            status: taken.status,
            location,
            facts: taken.facts.clone(),
            took_ms: u64::try_from(taken.took.as_millis()).unwrap_or(u64::MAX),
            links,
            findings: &taken.findings,
        };
        self.book.answered(known, &result)?;
        if let Some(to) = to {
            self.found(&to, "redirect", known.depth)?;
        }
        for entry in &taken.feed {
            if let Some(to) = base.as_ref().ok().and_then(|base| base.join(entry).ok()) {
                self.found(&to, "feed", known.depth + 1)?;
            }
        }
        Ok(())
    }
}

/// What the book of a site is called: its origin, and what it begins at where that isn't its root.
fn book_name(seed: &Url) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
    let name: String =
        origin(seed).chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    match target(seed).as_str() {
        "/" => name,
        target => format!("{name}-{:016x}", xxh3_64(target.as_bytes())),
    }
}

/// Whether a status sends on to another address.
fn is_redirect(status: u16) -> bool {
    matches!(status, 301..=303 | 307 | 308)
}

/// Waits until an origin may be asked, and somebody asks for work; the request has then begun.
/// None where the origin is to be left alone.
async fn ready(live: &Live, gate: &Arc<Gate>) -> Option<(Turn, Hand)> {
    let turn = gate.place().await?;
    let hand = live.hand().await;
    turn.begin().await;
    Some((turn, hand))
}

/// Whether a host may be asked: this machine's, and whom their owners named.
fn permit(host: &Host, url: &Url, named: &[String]) -> Result<(), AuditError> {
    let name = url.host_str().unwrap_or("");
    let is_named = named
        .iter()
        .any(|one| one.eq_ignore_ascii_case(name) || one.eq_ignore_ascii_case(host.authority()));
    if host.is_here() || is_named {
        return Ok(());
    }
    let address = host.addresses.first().map_or_else(String::new, ToString::to_string);
    Err(AuditError::Unnamed { host: name.to_owned(), address })
}

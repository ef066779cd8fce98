//! A site whose rows change behind Wick's back, and the feeds that tell of it.
//!
//! Every page shows the version of one row. Who changes a row shows it to the site's
//! readers, and tells it to a feed, in either order. [`Truth`] knows what was promised at
//! which moment: a version that all could read and that was told, whichever came last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use changes::{Change, Column, Event, FENCE, KeyClass, Lost, Operation, Teller, Values};
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use testkit::message::Received;
use testkit::world::World;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::author::{Author, Script, Step, head};
use crate::ledger::text;

pub(crate) const ROWS: usize = 2;
/// So long readers are kept from the origin while Wick finds out what reading writes.
const AT_THE_GATE: Duration = Duration::from_millis(3_100);
/// More than a feed's queue holds.
const FLOOD: usize = 4_200;

/// A page, and the row that it shows.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Path {
    pub(crate) target: &'static str,
    pub(crate) row: usize,
    /// How long it is fresh by the law; what says nothing is shared among strangers.
    pub(crate) control: &'static str,
    has_validator: bool,
    has_session: bool,
}

const fn path(target: &'static str, row: usize, control: &'static str) -> Path {
    Path { target, row, control, has_validator: false, has_session: false }
}

pub(crate) const PATHS: [Path; 6] = [
    Path { has_session: true, ..path("/news", 0, "no-store") },
    path("/list", 1, "no-store"),
    Path { has_validator: true, ..path("/tagged", 0, "max-age=600") },
    path("/plain", 1, "max-age=600"),
    Path { has_validator: true, ..path("/brief", 1, "max-age=1") },
    path("/mine", 0, "no-store"),
];

impl Path {
    pub(crate) fn is_of_law(self) -> bool {
        self.control != "no-store"
    }
}

/// How a seed leans.
#[derive(Clone, Copy)]
pub(crate) struct Odds {
    pub(crate) feeds: usize,
    /// How often something is wrong with the origin, and with a feed.
    pub(crate) trouble: f64,
    pub(crate) deafness: f64,
    /// Whether reading changes rows of its own.
    pub(crate) is_noisy: bool,
    /// The most that a page takes to come, in steps of 10 ms.
    pub(crate) slowness: u64,
    pub(crate) pages: usize,
}

impl Odds {
    pub(crate) fn of(dice: &mut StdRng) -> Self {
        let mut odd = |choices: &[f64]| *choices.choose(dice).unwrap_or(&0.0);
        let (trouble, deafness) = (odd(&[0.0, 0.0, 0.3]), odd(&[0.0, 0.1, 0.4]));
        Self {
            feeds: dice.random_range(1..=2),
            trouble,
            deafness,
            is_noisy: dice.random_bool(0.15),
            slowness: *[1, 5, 30].choose(dice).unwrap_or(&5),
            pages: dice.random_range(1..=PATHS.len()),
        }
    }
}

/// What the weather at the origin is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Weather {
    Fair,
    /// Every second answer is an error.
    Failing,
    /// Every second answer breaks off.
    Breaking,
    /// Nobody is let in.
    Down,
    /// An answer takes longer than visitors are kept waiting.
    Slow,
}

/// What is true.
pub(crate) struct Truth {
    /// The version of each row that all can read.
    visible: [u64; ROWS],
    /// When each version went out of sight.
    superseded: [Vec<(u64, Instant)>; ROWS],
    /// From when on nobody may be given less as fresh.
    promised: [Vec<(Instant, u64)>; ROWS],
    next: [u64; ROWS],
    feeds: Vec<FeedSide>,
    /// Since when one feed or more is known not to be heard.
    lost_since: Option<Instant>,
    weather: Weather,
    /// Whoever asks the origin for a page by the law at this moment, and since when.
    under_way: Vec<(&'static str, Instant)>,
    /// When something was told that may sweep.
    told: Vec<Instant>,
    pub(crate) fault: Option<String>,
}

struct FeedSide {
    teller: Teller,
    /// Whether it tells what changes.
    is_alive: bool,
    is_lost: bool,
}

/// The site, its feeds and what is true of them. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Site {
    truth: Arc<Mutex<Truth>>,
    dice: Arc<Mutex<StdRng>>,
    pub(crate) odds: Odds,
    /// Somebody was told of a change.
    pub(crate) stirred: Arc<Notify>,
}

fn change(table: &str, operation: Operation, column: &str, key: KeyClass) -> Event {
    let columns = match operation {
        Operation::Update => [Column::named(column)].into(),
        _ => [].into(),
    };
    let values = Values::default();
    let (database, table) = ("site".into(), table.into());
    Event::Change(Change { database, table, operation, columns, key, values, is_again: false })
}

impl Site {
    pub(crate) fn new(tellers: Vec<Teller>, odds: Odds, dice: StdRng) -> Self {
        let feeds = tellers.into_iter().map(|teller| {
            teller.tell(Event::Recovered);
            FeedSide { teller, is_alive: true, is_lost: false }
        });
        let truth = Truth {
            visible: [1; ROWS],
            superseded: Default::default(),
            promised: Default::default(),
            next: [1; ROWS],
            feeds: feeds.collect(),
            lost_since: None,
            weather: Weather::Fair,
            under_way: Vec::new(),
            told: Vec::new(),
            fault: None,
        };
        let (truth, dice) = (Arc::new(Mutex::new(truth)), Arc::new(Mutex::new(dice)));
        Self { truth, dice, odds, stirred: Arc::default() }
    }

    pub(crate) fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dice(&self) -> MutexGuard<'_, StdRng> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a row; its feed hears of it before, at once or later.
    pub(crate) async fn change(&self, world: &World, dice: &mut StdRng, row: usize) {
        let version = {
            let mut truth = self.truth();
            truth.next[row] += 1;
            truth.next[row]
        };
        let early = Duration::from_millis(5 * dice.random_range(0..9));
        match dice.random_range(0..10) {
            0..6 => {
                let is_heard = self.tell(world, dice, row);
                sleep(early).await;
                self.show(world, row, version);
                if is_heard {
                    self.truth().promise(row);
                }
            }
            6..8 => {
                self.show(world, row, version);
                if self.tell(world, dice, row) {
                    self.truth().promise(row);
                }
            }
            _ => {
                self.show(world, row, version);
                sleep(Duration::from_millis(10 * dice.random_range(0..200))).await;
                if self.tell(world, dice, row) {
                    self.truth().promise(row);
                }
            }
        }
    }

    /// All can read it from now on.
    fn show(&self, world: &World, row: usize, version: u64) {
        let mut truth = self.truth();
        let before = truth.visible[row];
        // Two that change one row at once: the later number stays.
        if version > before {
            truth.visible[row] = version;
            truth.superseded[row].push((before, Instant::now()));
        }
        world.tell("writer", &format!("row {row} is at version {version}"));
    }

    /// Tells a row's feed that it changed, unless that is deaf; with whatever else it tells.
    fn tell(&self, world: &World, dice: &mut StdRng, row: usize) -> bool {
        let mut truth = self.truth();
        let feeds = truth.feeds.len();
        let feed = &truth.feeds[row % feeds];
        if !feed.is_alive || feed.is_lost {
            world.tell("writer", &format!("row {row} changes, and nobody hears of it"));
            return false;
        }
        let key = match dice.random_range(0..3) {
            0 => KeyClass::Plain,
            1 => KeyClass::Of(["post-one", "post-two"][row].into()),
            _ => KeyClass::Unknown,
        };
        let told = change("rows", Operation::Update, "version", key);
        for _ in 0..dice.random_range(1..4) {
            feed.teller.tell(told.clone());
            if self.odds.is_noisy && dice.random_bool(0.3) {
                feed.teller.tell(noise());
            }
        }
        if dice.random_bool(0.7) {
            feed.teller.tell(Event::Commit(None));
        }
        if dice.random_bool(0.003) {
            (0..FLOOD).for_each(|_| feed.teller.tell(told.clone()));
        }
        if dice.random_bool(0.2) {
            feed.teller.tell(Event::Idle);
        }
        truth.told.push(Instant::now());
        world.tell("writer", &format!("row {row} changes, and that is told"));
        drop(truth);
        self.stirred.notify_waiters();
        true
    }

    /// A feed is lost for a while: at once, or first it only falls silent.
    pub(crate) async fn lose(&self, world: &World, dice: &mut StdRng, feed: usize) {
        let silence = if dice.random_bool(0.5) { 0 } else { dice.random_range(0..5_000) };
        if silence > 0 {
            world.tell("feed", &format!("{feed} falls silent"));
            self.truth().feeds[feed].is_alive = false;
            sleep(Duration::from_millis(silence)).await;
        }
        self.truth().lose(feed, if silence > 0 { Lost::Silent } else { Lost::Disconnected });
        world.tell("feed", &format!("{feed} is lost"));
        self.stirred.notify_waiters();
        sleep(Duration::from_millis(dice.random_range(0..15_000))).await;
        self.truth().recover(feed);
        world.tell("feed", &format!("{feed} is heard again"));
        self.stirred.notify_waiters();
    }

    /// The feeds have begun to be heard: until all is settled that sweeps.
    pub(crate) fn begin(&self) {
        self.truth().told.push(Instant::now());
    }

    pub(crate) fn set_weather(&self, world: &World, weather: Weather) {
        self.truth().weather = weather;
        world.tell("origin", &format!("the weather is {weather:?}"));
    }
}

impl Truth {
    /// What all can read of a row is what may be expected from now on.
    fn promise(&mut self, row: usize) {
        self.promised[row].push((Instant::now(), self.visible[row]));
    }

    fn promise_all(&mut self) {
        (0..ROWS).for_each(|row| self.promise(row));
        self.told.push(Instant::now());
    }

    fn lose(&mut self, feed: usize, why: Lost) {
        let side = &mut self.feeds[feed];
        (side.is_alive, side.is_lost) = (false, true);
        side.teller.tell(Event::Lost(why));
        self.lost_since.get_or_insert_with(Instant::now);
        self.promise_all();
    }

    fn recover(&mut self, feed: usize) {
        let side = &mut self.feeds[feed];
        (side.is_alive, side.is_lost) = (true, false);
        side.teller.tell(Event::Recovered);
        if self.feeds.iter().all(|side| !side.is_lost) {
            self.lost_since = None;
        }
        self.promise_all();
    }

    /// The least version of a row that who asks at this moment may be given as fresh: what
    /// was promised before. What is told in the same moment may be heard after it.
    pub(crate) fn floor(&self, row: usize, asked: Instant) -> u64 {
        let before = self.promised[row].iter().filter(|(at, _)| *at < asked);
        before.map(|(_, version)| *version).max().unwrap_or(1)
    }

    /// How long nobody could read this version any more.
    pub(crate) fn age(&self, row: usize, version: u64, asked: Instant) -> Duration {
        let gone = self.superseded[row].iter().find(|(old, _)| *old >= version);
        gone.map_or(Duration::ZERO, |(_, at)| asked.saturating_duration_since(*at))
    }

    pub(crate) fn lost_since(&self) -> Option<Instant> {
        self.lost_since
    }

    /// Somebody asks the origin for what the law lets be stored: one for all, unless
    /// something was swept, or began to be, between one and the other.
    fn begin(&mut self, path: Path, is_checked: bool) {
        let now = Instant::now();
        let before = self.under_way.iter().filter(|(target, _)| *target == path.target);
        if let Some((_, began)) = before.max_by_key(|(_, began)| *began)
            && is_checked
            && !self.told.iter().any(|told| *told <= now && *began <= *told + FENCE + AT_THE_GATE)
            && *began < now
        {
            self.fault.get_or_insert(format!("two ask for {} at one time", path.target));
        }
        self.under_way.push((path.target, now));
    }

    fn end(&mut self, path: Path) {
        if let Some(at) = self.under_way.iter().position(|(target, _)| *target == path.target) {
            self.under_way.remove(at);
        }
    }
}

fn noise() -> Event {
    change("sessions", Operation::Insert, "", KeyClass::Of("#".into()))
}

impl Author for Site {
    fn answer(&self, request: &Received) -> Script {
        let mut script = Script::default();
        let target = request.target().to_owned();
        let Some(path) = PATHS.into_iter().find(|path| path.target == target) else {
            let fields = [("Content-Length".to_owned(), "0".to_owned())];
            script.steps.push(Step::Send(head(404, &fields)));
            return script;
        };
        let weather = self.truth().weather;
        let mut dice = self.dice();
        let is_bad = weather != Weather::Fair && dice.random_bool(0.5);
        let before = 10 * dice.random_range(0..=self.odds.slowness.min(3)) / 3;
        let after = 10 * dice.random_range(0..=self.odds.slowness);
        let sid = text(&request.fields, "cookie").is_some_and(|cookies| cookies.contains("sid="));
        let session = (path.has_session && !sid).then(|| format!("{:016x}", dice.random::<u64>()));
        let token = format!("{:032x}", dice.random::<u128>());
        drop(dice);
        if path.is_of_law() {
            // What comes too late for its own max-age is shared, and made by several personas.
            let is_checked = self.odds.trouble == 0.0 && path.target != "/brief";
            self.truth().begin(path, is_checked);
        }
        script.steps.push(Step::Wait(Duration::from_millis(before)));
        if is_bad && weather == Weather::Failing {
            let fields = [("Content-Length".to_owned(), "0".to_owned())];
            script.steps.push(Step::Send(head(503, &fields)));
            self.then_end(path, &mut script);
            return script;
        }
        let agent = text(&request.fields, "user-agent").unwrap_or_default();
        let known = text(&request.fields, "if-none-match");
        let page = self.page(path, known, session, &token, &agent);
        let cut = is_bad && weather == Weather::Breaking;
        script.steps.push(self.noise_of_reading());
        let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
        let whole = kept.clone();
        // It is read at one moment, and comes when it comes.
        script.steps.push(Step::Apply(Box::new(move || {
            *whole.lock().unwrap_or_else(PoisonError::into_inner) = page();
        })));
        let slow = is_bad && weather == Weather::Slow;
        let wait = if slow { 6_000 + after } else { after };
        script.steps.push(Step::Wait(Duration::from_millis(wait)));
        script.steps.push(Step::Tell(Box::new(move || {
            let mut bytes = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if cut {
                bytes.truncate(bytes.len().saturating_sub(20));
            }
            bytes
        })));
        script.closes = cut;
        self.then_end(path, &mut script);
        script
    }

    fn accepts(&self) -> bool {
        self.truth().weather != Weather::Down
    }
}

impl Site {
    fn then_end(&self, path: Path, script: &mut Script) {
        let site = self.clone();
        if path.is_of_law() {
            script.steps.push(Step::Apply(Box::new(move || site.truth().end(path))));
        }
    }

    /// Reading writes as well, where a site does that.
    fn noise_of_reading(&self) -> Step {
        let site = self.clone();
        Step::Apply(Box::new(move || {
            let mut truth = site.truth();
            let feed = &truth.feeds[0];
            if site.odds.is_noisy && feed.is_alive && !feed.is_lost {
                feed.teller.tell(noise());
                feed.teller.tell(Event::Commit(None));
                truth.told.push(Instant::now());
            }
        }))
    }

    /// What is sent if the page is read at that moment.
    fn page(
        &self,
        path: Path,
        known: Option<String>,
        session: Option<String>,
        token: &str,
        agent: &str,
    ) -> impl FnOnce() -> Vec<u8> + Send + use<> {
        let (site, token, agent) = (self.clone(), token.to_owned(), agent.to_owned());
        move || {
            let version = site.truth().visible[path.row];
            let mut fields = vec![
                ("Content-Type".to_owned(), "text/html".to_owned()),
                ("Cache-Control".to_owned(), path.control.to_owned()),
            ];
            let tag = format!("\"{version}\"");
            if path.has_validator {
                fields.push(("ETag".to_owned(), tag.clone()));
            }
            if path.has_validator && known == Some(tag) {
                return head(304, &fields);
            }
            if let Some(sid) = session {
                fields.push(("Set-Cookie".to_owned(), format!("sid={sid}; Path=/")));
            }
            let greeting = if path.target == "/mine" { agent.as_str() } else { "you" };
            let body = format!(
                "<title>{}</title><h1>News</h1><p>Hello, greet:{greeting};</p><p>version \
                 {version} of row {}</p><ul><li>one<li>two<li>three</ul>\
                 <form><input name=key value={token}></form>",
                path.target, path.row,
            );
            fields.push(("Content-Length".to_owned(), body.len().to_string()));
            [head(200, &fields), body.into_bytes()].concat()
        }
    }
}

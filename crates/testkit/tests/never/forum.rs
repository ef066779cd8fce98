//! A forum whose threads change behind Wick's back and through it, and the feed that tells
//! which.
//!
//! Every page shows facts, each with its version: the texts of threads, the newest post.
//! Whoever changes a fact shows it to the site's readers and tells it to the feed, in either
//! order; once both is done nobody may be given less as fresh.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use changes::{Change, Column, Event, KeyClass, Lost, Operation, Teller, Values};
use rand::Rng;
use rand::rngs::StdRng;
use testkit::message::Received;
use testkit::world::World;
use tokio::time::{Instant, sleep};

use crate::author::{Author, Script, Step, head};

pub(crate) const THREADS: usize = 10;
const PERSONS: usize = 5;

/// What the app shows beside each thread's own text.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// The newest post, on every page.
    pub(crate) widget: bool,
    /// The last post of the person who began it, in each thread.
    pub(crate) person: bool,
    /// How often a page was asked for, on each, and a token.
    pub(crate) views: bool,
    /// It tells of some replies only long after all can read them.
    pub(crate) late: bool,
    /// The newest post on every page, after so many acts.
    pub(crate) later: Option<u64>,
}

pub(crate) struct Truth {
    /// The version of each fact that all can read.
    visible: BTreeMap<String, u64>,
    /// From when on nobody may be given less as fresh.
    promised: Vec<(Instant, String, u64)>,
    acts: u64,
    views: u64,
    is_lost: bool,
    teller: Teller,
}

/// The forum. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Forum {
    truth: Arc<Mutex<Truth>>,
    dice: Arc<Mutex<StdRng>>,
    pub(crate) habits: Habits,
}

impl Forum {
    pub(crate) fn new(teller: Teller, habits: Habits, dice: StdRng) -> Self {
        teller.tell(Event::Recovered);
        let truth = Truth {
            visible: BTreeMap::new(),
            promised: Vec::new(),
            acts: 0,
            views: 0,
            is_lost: false,
            teller,
        };
        let (truth, dice) = (Arc::new(Mutex::new(truth)), Arc::new(Mutex::new(dice)));
        Self { truth, dice, habits }
    }

    fn truth(&self) -> MutexGuard<'_, Truth> {
        self.truth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn random(&self, limit: u64) -> u64 {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..limit)
    }

    /// Somebody replies to a thread behind Wick's back.
    pub(crate) async fn reply(&self, world: &World, thread: usize) {
        let (order, early) = (self.random(10), Duration::from_millis(self.random(45)));
        if order < 4 {
            let facts = facts_of(thread);
            let is_told = self.tell(world, thread, 0);
            sleep(early).await;
            self.show(world, &facts);
            self.promise(&facts, is_told);
            return;
        }
        let facts = facts_of(thread);
        self.show(world, &facts);
        if order > 7 && self.habits.late {
            sleep(early * 20).await;
        }
        // The first change is told, and the others a little later.
        let is_told = self.tell(world, thread, 0);
        sleep(early / 3).await;
        self.tell(world, thread, 1);
        self.promise(&facts, is_told);
    }

    /// What a reply through Wick does at the origin, as its answer says.
    fn reply_now(&self, thread: usize) -> Vec<u8> {
        let mut truth = self.truth();
        truth.acts += 1;
        for fact in facts_of(thread) {
            *truth.visible.entry(fact).or_default() += 1;
        }
        drop(truth);
        self.told(thread, 0);
        let fields = [("Content-Length".to_owned(), "0".to_owned())];
        head(200, &fields)
    }

    /// Somebody was answered that their reply is there.
    pub(crate) fn acknowledged(&self, thread: usize) {
        self.promise(&facts_of(thread), true);
    }

    fn show(&self, world: &World, facts: &[String]) {
        let mut truth = self.truth();
        truth.acts += 1;
        for fact in facts {
            *truth.visible.entry(fact.clone()).or_default() += 1;
        }
        world.tell("writer", &format!("{} are others", facts.join(", ")));
    }

    fn promise(&self, facts: &[String], is_told: bool) {
        let mut truth = self.truth();
        for fact in facts.iter().filter(|_| is_told) {
            let version = truth.visible.get(fact).copied().unwrap_or(0);
            truth.promised.push((Instant::now(), fact.clone(), version));
        }
    }

    /// Tells the changes of a reply from this one on.
    fn tell(&self, world: &World, thread: usize, from: usize) -> bool {
        let is_told = self.told(thread, from);
        world.tell("writer", &format!("a reply to thread {thread} from change {from}: {is_told}"));
        is_told
    }

    fn told(&self, thread: usize, from: usize) -> bool {
        let truth = self.truth();
        if truth.is_lost {
            return false;
        }
        let post = truth.acts + 1;
        let id = thread as u64 + 1;
        let rows: [Row<'_>; 3] = [
            ("posts", Operation::Insert, &[("id", post), ("thread", id)]),
            ("threads", Operation::Update, &[("id", id)]),
            ("persons", Operation::Update, &[("id", (thread % PERSONS) as u64 + 1)]),
        ];
        for (table, operation, columns) in &rows[from..] {
            truth.teller.tell(Event::Change(change(table, *operation, columns)));
        }
        truth.teller.tell(Event::Commit(None));
        true
    }

    /// Something happens that has nothing to do with threads, or that can't be told.
    pub(crate) fn stir(&self, world: &World) {
        let (kind, truth) = (self.random(4), self.truth());
        let told = match kind {
            0 => Change::anything("site", "posts"),
            1 => Change { operation: Operation::Schema, ..Change::anything("", "") },
            _ => change("settings", Operation::Update, &[("id", 1)]),
        };
        world.tell("writer", &format!("told as well: {:?} of {}", told.operation, told.table));
        if !truth.is_lost {
            truth.teller.tell(Event::Change(told));
        }
    }

    /// The feed is lost for a while, with what happens meanwhile.
    pub(crate) async fn lose(&self, world: &World) {
        self.truth().is_lost = true;
        self.truth().teller.tell(Event::Lost(Lost::Disconnected));
        world.tell("feed", "lost");
        sleep(Duration::from_millis(self.random(4_000))).await;
        let mut truth = self.truth();
        truth.is_lost = false;
        truth.teller.tell(Event::Recovered);
        let all: Vec<_> = truth.visible.clone().into_iter().collect();
        let now = Instant::now();
        truth.promised.extend(all.into_iter().map(|(fact, version)| (now, fact, version)));
        world.tell("feed", "heard again");
    }

    /// Which fact of a page is older than was promised before it was asked for.
    pub(crate) fn older(&self, body: &str, asked: Instant) -> Option<String> {
        let truth = self.truth();
        facts_in(body).find_map(|(fact, version)| {
            let before = truth.promised.iter().filter(|(at, of, _)| *at < asked && of == fact);
            let floor = before.map(|(_, _, version)| *version).max()?;
            (version < floor).then(|| format!("{fact} is {version}, and {floor} was promised"))
        })
    }

    fn page(&self, target: &str) -> String {
        let mut truth = self.truth();
        truth.views += 1;
        let fact = |name: String| {
            let version = truth.visible.get(&name).copied().unwrap_or(0);
            format!("<p>{name} = {version} .</p>")
        };
        let thread: Option<usize> =
            target.strip_prefix("/thread?id=").and_then(|id| id.parse().ok());
        let mut page = format!("<title>{target}</title><h1>Forum</h1>");
        match thread.map(|id| id - 1) {
            Some(thread) => {
                page += &fact(format!("thread{thread}"));
                if self.habits.person {
                    page += &fact(format!("person{}", thread % PERSONS));
                }
            }
            None => (0..THREADS).for_each(|thread| page += &fact(format!("thread{thread}"))),
        }
        if self.habits.widget || self.habits.later.is_some_and(|acts| truth.acts >= acts) {
            page += &fact("newest".to_owned());
        }
        if self.habits.views {
            let views = truth.views;
            page += &format!(
                "<p>read {views} times</p><input type=hidden name=key value={views:032x}>"
            );
        }
        page + "<ul><li>one<li>two<li>three</ul>"
    }
}

/// A row's table, what is done to it, and what it holds.
type Row<'a> = (&'a str, Operation, &'a [(&'a str, u64)]);

/// What a reply to a thread changes.
fn facts_of(thread: usize) -> Vec<String> {
    let person = thread % PERSONS;
    vec![format!("thread{thread}"), format!("person{person}"), "newest".to_owned()]
}

/// The facts that a page shows.
fn facts_in(body: &str) -> impl Iterator<Item = (&str, u64)> {
    body.split("<p>").filter_map(|part| {
        let (fact, rest) = part.split_once(" = ")?;
        Some((fact, rest.split_once(" .")?.0.parse().ok()?))
    })
}

fn change(table: &str, operation: Operation, columns: &[(&str, u64)]) -> Change {
    let mut values = Values::default();
    for (column, value) in columns {
        values.note(Column::named(column), &value.to_string());
    }
    let columns = match operation {
        Operation::Update => [Column::named("last")].into(),
        _ => [].into(),
    };
    let key = KeyClass::Plain;
    Change { operation, columns, key, values, ..Change::anything("site", table) }
}

impl Author for Forum {
    fn answer(&self, request: &Received) -> Script {
        let mut script = Script::default();
        let target = request.target().to_owned();
        let forum = self.clone();
        if let Some(id) = target.strip_prefix("/reply?id=") {
            let thread = id.parse().unwrap_or(0) % THREADS;
            script.steps.push(Step::Wait(Duration::from_millis(self.random(20))));
            script.steps.push(Step::Tell(Box::new(move || forum.reply_now(thread))));
            return script;
        }
        script.steps.push(Step::Wait(Duration::from_millis(self.random(10))));
        let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
        let whole = kept.clone();
        // It is read at one moment, and comes when it comes.
        script.steps.push(Step::Apply(Box::new(move || {
            let body = forum.page(&target);
            let fields = [
                ("Content-Type".to_owned(), "text/html".to_owned()),
                ("Cache-Control".to_owned(), "no-store".to_owned()),
                ("Content-Length".to_owned(), body.len().to_string()),
            ];
            *whole.lock().unwrap_or_else(PoisonError::into_inner) =
                [head(200, &fields), body.into_bytes()].concat();
        })));
        script.steps.push(Step::Wait(Duration::from_millis(self.random(20))));
        script.steps.push(Step::Tell(Box::new(move || {
            kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })));
        script
    }
}

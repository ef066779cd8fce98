//! No page is kept that a change touched, by an app that keeps its habits.
//!
//! The same promise as in `changes.rs`, where proofs keep pages: a forum's threads are
//! replied to behind Wick's back or through it, its feed tells of each reply in several changes, is lost, tells what it can't
//! name. An app that shows a widget on all pages has none kept. One that shows more than it
//! did, from some moment on, has old pages served until one is looked at: how many is counted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use changes::{Feed, Source};
use origin::HttpOptions;
use policy::scope::Demands;
use rand::Rng;
use rand::rngs::StdRng;
use server::{FollowRules, Question, ServerConfig, SiteConfig, StrangerRules};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::author;
use crate::caller::{Caller, Got};
use crate::forum::{Forum, Habits, THREADS};
use crate::ledger::text;
use crate::stage::{self, Outcome, Stage, dice};

const READERS: usize = 5;
const REQUESTS: usize = 90;
const ACTS: usize = 40;

/// Less than a site needs: a story is short.
const FEW: Demands = Demands { batches: 5, same: 12, pages: 3, changed: 3, again: 2 };

/// What came of one story, beside its verdicts.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    answers: u64,
    old: u64,
    kept: u64,
    refuted: u64,
}

#[derive(Clone)]
struct Reader {
    stage: Stage,
    forum: Forum,
    figures: Arc<Mutex<Figures>>,
    /// Whether an old page is a fault, or one to be counted.
    is_strict: bool,
}

impl Reader {
    async fn live(self, number: usize, mut dice: StdRng) {
        let mut caller = Caller::new(self.stage.connect(number));
        for _ in 0..REQUESTS {
            sleep(Duration::from_millis(10 * dice.random_range(0..60))).await;
            if self.stage.is_over() {
                return;
            }
            if !caller.is_open() {
                caller = Caller::new(self.stage.connect(number));
            }
            let target = match dice.random_range(0..6) {
                0 => "/".to_owned(),
                _ => format!("/thread?id={}", dice.random_range(1..=THREADS)),
            };
            self.read(&mut caller, &target).await;
        }
    }

    async fn read(&self, caller: &mut Caller, target: &str) {
        let asked = Instant::now();
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: example.test\r\nUser-Agent: reader\r\n\r\n");
        caller.send(request.as_bytes()).await;
        let Got::Response(response) = caller.response(&self.stage, "GET").await else { return };
        let status = text(&response.fields, "cache-status").unwrap_or_default();
        let body = String::from_utf8_lossy(&response.body).into_owned();
        self.stage.world.tell("reader", &format!("{target}: {status}"));
        let older = self.forum.older(&body, asked);
        if let Ok(mut figures) = self.figures.lock() {
            figures.answers += 1;
            figures.old += u64::from(older.is_some());
        }
        if let Some(fault) = older.filter(|_| self.is_strict) {
            self.stage.complain(format!("{target}, {status}: {fault} before it was asked for"));
        }
    }
}

async fn act(stage: Stage, forum: Forum, seed: u64, mut dice: StdRng) {
    let (has_trouble, is_through_wick) = (seed.is_multiple_of(2), seed % 3 == 1);
    let mut caller = Caller::new(stage.connect(READERS));
    for _ in 0..ACTS {
        sleep(Duration::from_millis(10 * dice.random_range(20..120))).await;
        if stage.is_over() {
            return;
        }
        let thread = dice.random_range(0..THREADS);
        if !is_through_wick {
            forum.reply(&stage.world, thread).await;
        } else if caller.is_open() {
            let request = format!(
                "POST /reply?id={thread} HTTP/1.1\r\nHost: example.test\r\nUser-Agent: writer\r\n\
                 Content-Length: 0\r\n\r\n"
            );
            caller.send(request.as_bytes()).await;
            let Got::Response(response) = caller.response(&stage, "POST").await else { continue };
            if response.status == 200 {
                forum.acknowledged(thread);
            }
        } else {
            caller = Caller::new(stage.connect(READERS));
        }
        match dice.random_range(0..40) {
            0 if has_trouble => forum.stir(&stage.world),
            1 if has_trouble => forum.lose(&stage.world).await,
            2..5 => forum.reply(&stage.world, (thread + 1) % THREADS).await,
            _ => {}
        }
    }
}

fn simulate(seed: u64, habits: Habits, demands: Demands, is_strict: bool) -> (Outcome, Figures) {
    let (teller, feed) = Feed::told();
    let forum = Forum::new(teller, habits, dice(seed, 1));
    let origin = author::origin(Arc::new(forum.clone()), HttpOptions::default());
    let mut config = SiteConfig::new(origin);
    config.strangers = Some(StrangerRules::default());
    // Never opened: the feed is made here.
    config.changes = vec![Source::Other("told".into())];
    config.changes_rules = FollowRules { scope: Some(demands), ..FollowRules::default() };
    let config = ServerConfig { sites: vec![config], ..ServerConfig::default() };
    let figures = Arc::new(Mutex::new(Figures::default()));
    let told = figures.clone();
    let outcome = stage::play(config, |stage| async move {
        let server = stage.server.clone();
        tokio::spawn(server.follow_feeds("site", vec![feed]));
        let mut actors = JoinSet::new();
        let (stage_too, forum_too, figures) = (stage.clone(), forum.clone(), told.clone());
        let reader = Reader { stage: stage_too, forum: forum_too, figures, is_strict };
        for number in 0..READERS {
            actors.spawn(reader.clone().live(number, dice(seed, 10 + number as u64)));
        }
        actors.spawn(act(stage.clone(), forum, seed, dice(seed, 30)));
        let server = stage.server.clone();
        stage.until_done(actors).await;
        let url = "http://example.test/thread?id=1".to_owned();
        let lines = server.explain(&Question { url, ..Question::default() });
        if std::env::var("TELL").is_ok() {
            for line in lines.iter().filter(|line| line.topic == "scope") {
                println!("{}", line.text);
            }
        }
        let line = lines.iter().find(|line| line.topic == "scope");
        let line = line.map(|line| line.text.as_str()).unwrap_or_default();
        let number = |after: &str| {
            let rest = line.split(after).nth(1)?;
            rest.split([';', ',']).next()?.trim().parse::<u64>().ok()
        };
        if let Ok(mut figures) = told.lock() {
            figures.refuted = number("refuted ").unwrap_or(0);
            figures.kept = number(", kept ").unwrap_or(0);
        }
    });
    let figures = figures.lock().map(|figures| *figures).unwrap_or_default();
    (outcome, figures)
}

/// Plays seeds, and adds up what came of them.
fn many(count: u64, habits: Habits, is_strict: bool) -> Result<Figures, String> {
    let all = Mutex::new(Figures::default());
    stage::hunt(count, &["hit", "miss(swept)"], |seed| {
        let (outcome, one) = simulate(seed, habits, FEW, is_strict);
        if let Ok(mut all) = all.lock() {
            all.answers += one.answers;
            all.old += one.old;
            all.kept += one.kept;
            all.refuted += one.refuted;
        }
        outcome
    })?;
    let all = all.lock().map(|all| *all).unwrap_or_default();
    println!("{habits:?}: {all:?}");
    Ok(all)
}

fn is_whole_run() -> bool {
    std::env::var("SEED").is_err()
}

#[test]
fn no_page_is_kept_that_a_change_touched() -> Result<(), String> {
    let figures = many(60, Habits::default(), true)?;
    assert!(!is_whole_run() || figures.kept > 1000, "{figures:?}");
    assert_eq!(figures.refuted, 0, "an app that keeps its habits");
    Ok(())
}

#[test]
fn nor_where_changes_are_told_late() -> Result<(), String> {
    many(30, Habits { late: true, ..Habits::default() }, true).map(drop)
}

#[test]
fn what_differs_at_every_look_neither_proves_nor_refutes() -> Result<(), String> {
    let figures = many(30, Habits { views: true, ..Habits::default() }, true)?;
    assert!(!is_whole_run() || figures.kept > 100, "{figures:?}");
    assert_eq!(figures.refuted, 0, "{figures:?}");
    Ok(())
}

#[test]
fn a_widget_on_every_page_prevents_that_any_is_kept() -> Result<(), String> {
    let figures = many(30, Habits { widget: true, ..Habits::default() }, true)?;
    assert_eq!(figures.kept, 0, "{figures:?}");
    Ok(())
}

#[test]
fn an_app_that_shows_more_than_it_did_is_found_out() -> Result<(), String> {
    let habits = Habits { later: Some(ACTS as u64 / 2), ..Habits::default() };
    let figures = many(30, habits, false)?;
    assert!(!is_whole_run() || figures.refuted > 5, "{figures:?}");
    assert!(figures.old * 20 < figures.answers, "{figures:?}");
    Ok(())
}

#[test]
fn one_who_believes_too_soon_is_seen_by_the_checker() {
    let hasty = Demands { batches: 1, same: 1, pages: 1, changed: 1, again: 0 };
    let habits = Habits { person: true, ..Habits::default() };
    let seen = stage::first_seen(200, |seed| simulate(seed, habits, hasty, true).0);
    assert!(seen.is_some_and(|(_, what)| what.contains("was promised before")));
}

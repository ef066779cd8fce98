//! Once a change was told, nothing older is served as fresh, though no request made it.
//!
//! Rows change behind Wick's back. A feed tells of each before all can read it, at the same
//! moment or later, several times, with noise between; it falls silent, is lost and is heard
//! again. Who asks after a change was told and could be read is given it, or what is older
//! only as what it is: stale, because the origin fails or is slow. What a reader asked the
//! origin for may be what could be read when they asked. While a feed is lost nothing is
//! fresh for longer than if there were none.
//! Each part of the listener that this rests on is left out in turn, and then it is seen.

use std::time::Duration;

use changes::{Feed, Source};
use origin::HttpOptions;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use server::{Omission, ServerConfig, SiteConfig, StrangerRules};
use testkit::message::Received;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::author;
use crate::caller::{Caller, Got};
use crate::changing::{Odds, PATHS, Path, ROWS, Site, Weather};
use crate::ledger::text;
use crate::stage::{self, Outcome, Stage, dice};

const READERS: usize = 4;
const HASTY: usize = 3;
const WRITERS: usize = 2;
const REQUESTS: usize = 14;
/// A page for strangers is made of so many answers at most, one after the other.
const ANSWERS_MAX: u32 = 12;

/// One who reads.
struct Reader {
    stage: Stage,
    site: Site,
    dice: StdRng,
    name: String,
    number: usize,
    caller: Caller,
    /// Whether they ask right after something was told.
    is_hasty: bool,
    fresh: Duration,
}

impl Reader {
    async fn live(mut self) {
        for _ in 0..REQUESTS {
            self.rest().await;
            if self.stage.is_over() {
                return;
            }
            if !self.caller.is_open() {
                self.caller = Caller::new(self.stage.connect(self.number));
            }
            let page = self.dice.random_range(0..self.site.odds.pages);
            self.read(PATHS[page]).await;
        }
    }

    async fn rest(&mut self) {
        let pause = Duration::from_millis(10 * self.dice.random_range(0..200));
        if !self.is_hasty {
            return sleep(pause).await;
        }
        let stirred = self.site.stirred.clone();
        // Nobody may write any more.
        let _ = timeout(Duration::from_secs(3), stirred.notified()).await;
        let after = [0, 1, 5, 10, 20, 30, 38, 44, 47, 49, 52, 55, 70, 150, 400];
        sleep(Duration::from_millis(*after.choose(&mut self.dice).unwrap_or(&1))).await;
    }

    async fn read(&mut self, path: Path) {
        let asked = Instant::now();
        let (name, target) = (&self.name, path.target);
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: example.test\r\nUser-Agent: {name}\r\n\r\n");
        self.stage.world.tell(name, &format!("asks for {target}"));
        self.caller.send(request.as_bytes()).await;
        let Got::Response(response) = self.caller.response(&self.stage, "GET").await else {
            return;
        };
        let status = text(&response.fields, "cache-status").unwrap_or_default();
        let body = String::from_utf8_lossy(&response.body).into_owned();
        let version = version(&body);
        let told = format!("{target}: {} version {version:?}, {status}", response.line);
        self.stage.world.tell(name, &told);
        if let Some(fault) = self.fault(path, asked, &response, &status, &body) {
            self.stage.complain(format!("{told}: {fault}"));
        }
    }

    fn fault(
        &self,
        path: Path,
        asked: Instant,
        response: &Received,
        status: &str,
        body: &str,
    ) -> Option<String> {
        let whose = body.split("greet:").nth(1)?.split(';').next()?;
        if whose != "you" && whose != self.name {
            return Some(format!("{} reads what was made for {whose}", self.name));
        }
        let version = version(body).filter(|_| response.status == 200)?;
        let truth = self.site.truth();
        if let Some(fault) = &truth.fault {
            return Some(fault.clone());
        }
        let floor = truth.floor(path.row, asked);
        let is_stand_in = status.contains("detail=error") || status.contains("detail=slow");
        let ttl = status.split("ttl=").nth(1).and_then(|rest| rest.split(';').next());
        let ttl = ttl.and_then(|ttl| ttl.parse::<i64>().ok());
        if is_stand_in && version < floor {
            let is_marked = status.contains("fwd=stale") && ttl.is_none_or(|ttl| ttl <= 0);
            return (!is_marked).then(|| format!("{floor} was promised, and this seems fresh"));
        }
        if version < floor {
            return Some(format!("{floor} was promised before it was asked for"));
        }
        // Only what was found lying there may be as old as that.
        let is_found = status.contains("; hit") && ttl.is_some_and(|ttl| ttl >= 0);
        let is_lost = truth.lost_since().is_some_and(|since| since < asked);
        let age = truth.age(path.row, version, asked);
        let slack = Duration::from_millis(100 + 20 * self.site.odds.slowness) * ANSWERS_MAX;
        let is_old = age > self.fresh + slack && self.site.odds.trouble == 0.0;
        (is_found && is_lost && is_old && !path.is_of_law())
            .then(|| format!("a feed is lost, and this is {age:?} old"))
    }
}

fn version(body: &str) -> Option<u64> {
    body.split("version ").nth(1)?.split(' ').next()?.parse().ok()
}

async fn write(stage: Stage, site: Site, mut dice: StdRng) {
    for _ in 0..8 {
        sleep(Duration::from_millis(10 * dice.random_range(0..600))).await;
        if stage.is_over() {
            return;
        }
        let row = dice.random_range(0..ROWS);
        let both = dice.random_bool(0.2).then(|| (row + 1) % ROWS);
        site.change(&stage.world, &mut dice, row).await;
        if let Some(row) = both {
            site.change(&stage.world, &mut dice, row).await;
        }
    }
}

/// The weather changes, and feeds are lost.
async fn disturb(stage: Stage, site: Site, mut dice: StdRng) {
    for _ in 0..12 {
        sleep(Duration::from_millis(10 * dice.random_range(0..300))).await;
        if stage.is_over() {
            return;
        }
        if dice.random_bool(site.odds.trouble) {
            let kinds = [Weather::Failing, Weather::Breaking, Weather::Down, Weather::Slow];
            site.set_weather(&stage.world, *kinds.choose(&mut dice).unwrap_or(&Weather::Down));
            sleep(Duration::from_millis(10 * dice.random_range(0..500))).await;
            site.set_weather(&stage.world, Weather::Fair);
        }
        if dice.random_bool(site.odds.deafness) {
            let feed = dice.random_range(0..site.odds.feeds);
            site.lose(&stage.world, &mut dice, feed).await;
        }
    }
}

fn simulate(seed: u64, omits: Omission) -> Outcome {
    let mut start = dice(seed, 0);
    let odds = Odds::of(&mut start);
    let (tellers, feeds): (Vec<_>, Vec<_>) = (0..odds.feeds).map(|_| Feed::told()).unzip();
    let site = Site::new(tellers, odds, dice(seed, 1));
    let origin = author::origin(std::sync::Arc::new(site.clone()), HttpOptions::default());
    let mut config = SiteConfig::new(origin);
    let fresh_ms = 1000 * start.random_range(1..4);
    config.strangers = Some(StrangerRules {
        fresh_ms,
        stale_ms: *[0, 2_000, 600_000].choose(&mut start).unwrap_or(&0),
        sample: *[1, 4, 1_000_000].choose(&mut start).unwrap_or(&1),
        ..StrangerRules::default()
    });
    // Never opened: the feeds are made here.
    config.changes = vec![Source::Other("told".into()); odds.feeds];
    let config = ServerConfig { sites: vec![config], ..ServerConfig::default() };
    stage::play(config, |stage| async move {
        site.begin();
        let server = stage.server.clone();
        tokio::spawn(server.follow_feeds_without("site", feeds, omits));
        let mut actors = JoinSet::new();
        for number in 0..READERS + HASTY {
            let reader = Reader {
                stage: stage.clone(),
                site: site.clone(),
                dice: dice(seed, 10 + number as u64),
                name: format!("reader-{number}"),
                number,
                caller: Caller::new(stage.connect(number)),
                is_hasty: number >= READERS,
                fresh: Duration::from_millis(fresh_ms),
            };
            actors.spawn(reader.live());
        }
        for number in 0..WRITERS {
            actors.spawn(write(stage.clone(), site.clone(), dice(seed, 30 + number as u64)));
        }
        actors.spawn(disturb(stage.clone(), site.clone(), dice(seed, 40)));
        stage.until_done(actors).await;
    })
}

#[test]
fn nothing_older_than_a_change_that_was_told_is_served_as_fresh() -> Result<(), String> {
    let wanted = [
        "hit",
        "collapsed",
        "revalidated",
        "stale(error)",
        "stale(slow)",
        "stale(while-revalidate)",
        "miss(swept)",
    ];
    stage::hunt(1000, &wanted, |seed| simulate(seed, Omission::Nothing))
}

/// Whether the checker sees that this is left out.
fn check_seen(omits: Omission) {
    let seen = stage::first_seen(400, |seed| simulate(seed, omits));
    assert!(seen.is_some_and(|(_, what)| what.contains("was promised before")), "{omits:?}");
}

#[test]
fn a_listener_that_sweeps_only_once_is_seen_by_the_checker() {
    check_seen(Omission::SecondSweep);
}

#[test]
fn a_listener_that_lets_pages_be_stored_at_once_is_seen_by_the_checker() {
    check_seen(Omission::Fence);
}

#[test]
fn a_listener_that_keeps_what_was_stored_before_a_loss_is_seen_by_the_checker() {
    check_seen(Omission::SweepOfTheLost);
}

//! WebSub, where the owner names a hub: feeds name it, and it is told which of them have changed,
//! so that their readers need not ask.
//!
//! Law: W3C WebSub §4 (discovery) and §7 (publishing, `hub.mode=publish`).
//! Which feeds there are is kept in the search's folder, so that a hub is told of them after a
//! restart too, though nobody asked for them since.
//! Bounds: [`WAITING_MAX`] feeds wait; each is told at most once in [`EACH_MIN`], and tried
//! [`TRIES_MAX`] times. Invariant: nobody else waits for a hub.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ::search::site::SHAPE_HOST;
use ::search::site::show;
use ::search::{FeedKind, Index, Topic, read_query};
use base::complaint::complain;
use origin::Origin;
use serde::{Deserialize, Deserializer, Serialize, de};
use tokio::time::sleep;

use super::SiteSearch;
use super::taking::opened;
use crate::post::Address;

/// How often it is looked what has changed.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Feeds that wait to be told.
const WAITING_MAX: usize = 1024;
/// A feed that changes all the time is told so often.
const EACH_MIN: Duration = Duration::from_secs(10);
/// How long a hub may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What it didn't take is told again after this, and four times as long each time.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(3600);
const TRIES_MAX: u32 = 7;
/// Between two feeds the hub rests as long as it took, and at least this.
const REST: Duration = Duration::from_millis(50);
/// How often it is written which feeds there are, and how many of them.
const WRITE_EVERY: Duration = Duration::from_secs(2);
const KEPT_MAX: usize = 1000;
const FILE: &str = "feeds.json";

/// `websub`: a hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hub {
    /// As feeds name it.
    pub(crate) url: String,
    address: Address,
}

impl<'de> Deserialize<'de> for Hub {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = String::deserialize(deserializer)?;
        match Address::parse(&url) {
            Some(address) => Ok(Self { url, address }),
            None => Err(de::Error::custom(
                "this is no hub's address: write one such as \"https://hub.example.org/\"",
            )),
        }
    }
}

/// A feed as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    address: String,
    query: String,
    rss: bool,
    atom: bool,
}

/// A feed that the hub is to be told of.
struct Waiting {
    due: Instant,
    tries: u32,
}

/// Tells the hub, if there is one, for as long as there is a search.
pub(super) async fn tell(search: Weak<SiteSearch>) {
    let Some(owned) = opened(&search).await else { return };
    let file = owned.folder.join(FILE);
    let mut written = remember(&owned, &file).await;
    drop(owned);
    let mut telling = Telling::default();
    let mut write_due = Instant::now() + WRITE_EVERY;
    loop {
        let Some(owned) = search.upgrade() else { return };
        let hub = owned.plan().websub.clone();
        let Some((hub, index)) = hub.zip(owned.own_index()) else {
            telling = Telling::default();
            drop(owned);
            sleep(LOOK_EVERY).await;
            continue;
        };
        telling.hear(&owned, &index);
        let rest = telling.tell_next(&owned, &hub).await;
        if write_due <= Instant::now() {
            write_due = Instant::now() + WRITE_EVERY;
            written = write(&index, &file, written).await;
        }
        drop(owned);
        sleep(rest).await;
    }
}

/// Keeps the feeds that were kept before; what was written.
async fn remember(search: &Arc<SiteSearch>, file: &Path) -> Vec<Written> {
    let Ok(bytes) = tokio::fs::read(file).await else { return Vec::new() };
    let feeds: Vec<Written> = match serde_json::from_slice(&bytes) {
        Ok(feeds) => feeds,
        Err(error) => {
            complain(format_args!(
                "{}: which feeds there were can't be read from {}: {error}; the hub is told of \
                 each once somebody asks for it",
                search.name,
                file.display()
            ));
            return Vec::new();
        }
    };
    let Some(index) = search.own_index() else { return Vec::new() };
    let (search, feeds_of) = (search.clone(), feeds.clone());
    let kept = tokio::task::spawn_blocking(move || {
        // The last that is kept is the last to go.
        for Written { address, query, rss, atom } in feeds_of.into_iter().rev() {
            let host = address.split_once("://").map_or("", |(_, rest)| rest);
            let host = host.split('/').next().unwrap_or("");
            let only = (!search.hosts.is_empty()).then(|| (SHAPE_HOST, search.host_of(host)));
            let topic = Topic { address, query };
            let read = read_query(&topic.query, index.shape());
            let read = read.widened(&search.plan().synonyms);
            let _ = index.keep_feed(&topic, &read, only);
            let kinds = [(rss, FeedKind::Rss), (atom, FeedKind::Atom)];
            for (_, kind) in kinds.into_iter().filter(|(is_wanted, _)| *is_wanted) {
                index.want_feed(&topic, kind);
            }
        }
    });
    if let Err(error) = kept.await {
        complain(format_args!("feeds are not remembered: {error}"));
    }
    feeds
}

/// Writes which feeds there are, if they are others than before; what is written now.
async fn write(index: &Index, file: &Path, before: Vec<Written>) -> Vec<Written> {
    let (index, file) = (index.clone(), file.to_owned());
    let made = tokio::task::spawn_blocking(move || {
        let feeds =
            index.kept_feeds(KEPT_MAX).into_iter().map(|(Topic { address, query }, kinds)| {
                let [rss, atom] = [FeedKind::Rss, FeedKind::Atom].map(|kind| kinds.contains(&kind));
                Written { address, query, rss, atom }
            });
        let feeds: Vec<Written> = feeds.collect();
        if feeds != before
            && let Err(error) = write_all(&file, &feeds)
        {
            complain(format_args!("{} can't be written: {error}", file.display()));
        }
        feeds
    });
    made.await.unwrap_or_default()
}

fn write_all(file: &Path, feeds: &[Written]) -> std::io::Result<()> {
    let made: PathBuf = file.with_extension("new");
    fs::write(&made, serde_json::to_vec(feeds).map_err(std::io::Error::other)?)?;
    fs::rename(made, file)
}

#[derive(Default)]
struct Telling {
    /// By the addresses of feeds.
    waiting: HashMap<String, Waiting>,
    /// When each was told.
    told: HashMap<String, Instant>,
    origin: Option<(Hub, Origin)>,
}

impl Telling {
    /// Takes in what has changed.
    fn hear(&mut self, search: &SiteSearch, index: &Index) {
        self.told.retain(|_, at| at.elapsed() < EACH_MIN);
        for (topic, kinds) in index.changed_feeds(WAITING_MAX) {
            for kind in kinds {
                let url = show::feed_address(&topic.address, kind, &topic.query);
                if self.waiting.len() >= WAITING_MAX && !self.waiting.contains_key(&url) {
                    search.counters.hub_shed.bump();
                    continue;
                }
                let due = self.told.get(&url).map_or_else(Instant::now, |at| *at + EACH_MIN);
                self.waiting.entry(url).or_insert(Waiting { due, tries: 0 });
            }
        }
    }

    /// Tells the feed that is due; how long to rest then.
    async fn tell_next(&mut self, search: &SiteSearch, hub: &Hub) -> Duration {
        let next = self.waiting.iter().min_by_key(|(_, waiting)| waiting.due);
        let due = next.filter(|(_, waiting)| waiting.due <= Instant::now());
        let Some(url) = due.map(|(url, _)| url.clone()) else { return LOOK_EVERY };
        let Some(Waiting { tries, .. }) = self.waiting.remove(&url) else { return LOOK_EVERY };
        let began = Instant::now();
        // It may change again while it is told.
        self.told.insert(url.clone(), began);
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("hub.mode", "publish"), ("hub.url", &url), ("hub.topic", &url)])
            .finish();
        match self.post(hub, form).await {
            Ok(()) => search.counters.hub_told.bump(),
            Err((why, retry_after)) if tries + 1 < TRIES_MAX && retry_after.is_some() => {
                let pause = AGAIN * 4_u32.saturating_pow(tries);
                let pause = pause.max(retry_after.unwrap_or_default()).min(AGAIN_MAX);
                if tries == 0 {
                    search.counters.hub_failed.bump();
                    complain(format_args!(
                        "{}: the hub {} {why}; it is told again",
                        search.name, hub.url
                    ));
                }
                self.waiting.insert(url, Waiting { due: Instant::now() + pause, tries: tries + 1 });
            }
            Err((why, _)) => {
                search.counters.hub_failed.bump();
                complain(format_args!(
                    "{}: the hub {} {why}; it isn't told that {url} has changed",
                    search.name, hub.url
                ));
            }
        }
        began.elapsed().max(REST)
    }

    /// Why it didn't take it, and after what it may be asked again, if at all.
    async fn post(&mut self, hub: &Hub, form: String) -> Result<(), (String, Option<Duration>)> {
        if self.origin.as_ref().is_none_or(|(of, _)| of != hub) {
            self.origin = hub.address.origin().map(|origin| (hub.clone(), origin));
        }
        let Some((_, origin)) = &self.origin else {
            return Err(("can't be reached".to_owned(), Some(Duration::ZERO)));
        };
        let media_type = "application/x-www-form-urlencoded";
        let answered = hub.address.post_as(origin, media_type, form, PATIENCE).await;
        let answered =
            answered.map_err(|why| (format!("doesn't answer: {why}"), Some(Duration::ZERO)))?;
        match answered.status {
            200..=299 => Ok(()),
            status @ (429 | 500..) => {
                let pause = answered.retry_after.unwrap_or_default();
                Err((format!("answers {status}"), Some(pause)))
            }
            status => Err((format!("answers {status}"), None)),
        }
    }
}

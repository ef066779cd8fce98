//! Kept queries: what concerns one is what a search would find, no more and no less.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::Duration;

use search::{
    AttributeKind, Document, FeedKind, Filter, FilterKind, Index, Limits, Search, Seen, Shape,
    Sort, SortKey, Topic, Value, read_query,
};

const HOLDS: Duration = Duration::from_secs(3600);
const LIMIT: usize = 4;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn word(&mut self) -> &'static str {
        let words: Vec<_> = WORDS.split(' ').collect();
        self.one(&words)
    }

    fn one<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.throw(all.len())]
    }
}

const WORDS: &str = "running runner runs house houses Häuser straße garden gardens red reading \
    東京都 京都 나무는 나무 C++ wick.toml the of theory";

fn text(dice: &mut Dice, words: usize) -> String {
    let words: Vec<_> = (0..=dice.throw(words)).map(|_| dice.word()).collect();
    words.join(" ")
}

/// The languages that pages say they are in.
const TWO: &[&str] = &["en", "en", "en", "de"];
/// Where nothing is said it is guessed, and languages come and go.
const ANY: &[&str] = &["en", "en", "de", ""];

fn document(dice: &mut Dice, languages: &[&str], id: u64, made: i64) -> Document {
    let language = dice.one(languages);
    Document {
        id,
        fields: vec![text(dice, 2), text(dice, 9)],
        attributes: vec![
            Value::Int(made),
            Value::Text(language.to_owned()),
            Value::Text(dice.one(&["a.test", "b.test"]).to_owned()),
        ],
    }
}

fn part(dice: &mut Dice) -> String {
    let (one, two) = (dice.word(), dice.word());
    let short: String = one.chars().take(3).collect();
    match dice.throw(14) {
        0 => format!("\"{one} {two}\""),
        1 => format!("\"{one} {two}\"~3"),
        2 => format!("-{one}"),
        3 => format!("({one} | {two})"),
        4 => format!("{short}*"),
        5 => format!("*{}", one.chars().skip(1).collect::<String>()),
        6 => format!("{one}~"),
        7 => format!("title:{one}"),
        8 => format!("={one}"),
        9 => format!("text:({one} OR \"{two} {one}\")"),
        10 => format!("-({one} {two})"),
        11 => format!("{}?{}", &short, one.chars().skip(4).collect::<String>()),
        _ => one.to_owned(),
    }
}

fn query(dice: &mut Dice) -> String {
    let parts: Vec<_> = (0..dice.throw(4)).map(|_| part(dice)).collect();
    parts.join(" ")
}

fn shape() -> Shape {
    Shape::new("kept")
        .field("title", 3.0)
        .field("text", 1.0)
        .attribute("made", AttributeKind::Timestamp)
        .attribute("language", AttributeKind::Text)
        .attribute("host", AttributeKind::Text)
}

/// A feed as whoever keeps one goes about it.
struct Feed {
    topic: Topic,
    host: Option<String>,
    told: Vec<(u64, Vec<String>)>,
}

impl Feed {
    fn search(&self, index: &Index, limit: usize) -> Vec<(u64, Vec<String>)> {
        let filter = |host: &String| Filter {
            attribute: Some(2),
            kind: FilterKind::TextIn(vec![host.clone()]),
            is_excluded: false,
        };
        let search = Search {
            query: read_query(&self.topic.query, index.shape()),
            filters: self.host.iter().map(filter).collect(),
            sort: vec![Sort { key: SortKey::Attribute(0), is_descending: true }],
            has_fields: true,
            limit,
            ..Search::default()
        };
        let found = index.search(&search).unwrap();
        found.hits.into_iter().map(|hit| (hit.id, hit.fields)).collect()
    }

    fn keep(&self, index: &Index) -> Seen {
        let query = read_query(&self.topic.query, index.shape());
        let only = self.host.clone().map(|host| (2, host));
        index.keep_feed(&self.topic, &query, only)
    }

    fn ask(&mut self, index: &Index) {
        let seen = self.keep(index);
        self.told = self.search(index, LIMIT);
        let shows: Vec<u64> = self.told.iter().map(|(id, _)| *id).collect();
        index.note_feed(&self.topic, FeedKind::Rss, seen, (7, 1000), &shows).unwrap();
    }

    fn is_as_it_was(&self, index: &Index) -> bool {
        index.feed_version(&self.topic, FeedKind::Rss, HOLDS).is_some()
    }
}

fn feeds(dice: &mut Dice, count: usize) -> Vec<Feed> {
    (0..count)
        .map(|number| {
            let host = (dice.throw(3) == 0).then(|| "a.test".to_owned());
            let topic = Topic { address: format!("http://{number}.test"), query: query(dice) };
            Feed { topic, host, told: Vec::new() }
        })
        .collect()
}

fn index(folder: &tempfile::TempDir) -> Index {
    // Nothing is committed but by the test.
    let limits = Limits { commit_after: Duration::from_secs(3600), ..Limits::default() };
    Index::open(folder.path(), shape(), limits, None).unwrap().0
}

/// Puts and removes documents at random; after each step every kept query is told to have
/// changed exactly if a search finds the document now, or it was shown.
fn play(seed: u64, languages: &[&str], steps: usize, queries: usize) {
    let (folder, mut dice) = (tempfile::tempdir().unwrap(), Dice(seed));
    let index = index(&folder);
    for id in 1..=12 {
        index.put(document(&mut dice, languages, id, 1));
    }
    for (id, language) in [(1001, "en"), (1002, "de")] {
        index.put(document(&mut dice, &[language], id, 1));
    }
    index.commit();
    let mut feeds = feeds(&mut dice, queries);
    feeds.iter_mut().for_each(|feed| feed.ask(&index));
    let (mut changes, mut rests) = (0, 0);
    for step in 0..steps {
        let id = 1 + dice.throw(24) as u64;
        let is_put = dice.throw(3) > 0;
        match is_put {
            true => index.put(document(&mut dice, languages, id, 2 + step as i64)),
            false => index.remove(id),
        }
        index.commit();
        for feed in &mut feeds {
            let is_found = is_put && feed.search(&index, 100).iter().any(|(hit, _)| *hit == id);
            let was_shown = feed.told.iter().any(|(shown, _)| *shown == id);
            let now = feed.search(&index, LIMIT);
            let kept = feed.is_as_it_was(&index);
            let told = format!("seed {seed}, step {step}, document {id}: {:?}", feed.topic.query);
            assert!(!kept || now == feed.told, "an old answer stands: {told}");
            if was_shown || is_found {
                assert!(!kept, "it isn't told: {told}");
                changes += 1;
            } else if !kept && now == feed.told {
                rests += 1;
            }
            if !kept {
                feed.ask(&index);
            }
        }
    }
    assert!(changes > steps, "nothing was tried: {changes}");
    // Another language's stems are other words: then all are asked again.
    assert_eq!(rests > 0, languages == ANY, "{rests} of {} needless", steps * queries);
}

#[test]
fn a_kept_query_is_concerned_by_what_a_search_would_find() {
    for seed in 1..=4 {
        play(seed, TWO, 20, 30);
    }
    play(5, ANY, 60, 10);
}

#[test]
fn what_was_put_and_is_not_seen_yet_concerns_who_asks_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (index, mut dice) = (index(&folder), Dice(1));
    let mut feed = Feed {
        topic: Topic { address: "http://a.test".into(), query: "gardens".into() },
        host: None,
        told: Vec::new(),
    };
    let garden = |id: u64| {
        let mut garden = document(&mut dice, TWO, id, 1);
        garden.fields = vec!["A garden".into(), "The garden is red.".into()];
        garden.attributes[1] = Value::Text("en".into());
        garden
    };
    let mut garden = garden;
    index.put(garden(1));
    feed.ask(&index);
    assert!(!feed.is_as_it_was(&index), "what is on its way may fit");
    index.commit();
    feed.ask(&index);
    assert!(feed.is_as_it_was(&index));
    index.put(garden(2));
    feed.ask(&index);
    assert_eq!(feed.told.len(), 1);
    assert!(!feed.is_as_it_was(&index), "it was answered without what is on its way");
    index.commit();
    assert!(!feed.is_as_it_was(&index));
    feed.ask(&index);
    assert_eq!(feed.told.len(), 2);
    assert!(feed.is_as_it_was(&index));
    index.clear();
    assert!(!feed.is_as_it_was(&index));
}

#[test]
fn the_versions_of_a_feed_have_a_moment_each_and_old_queries_go() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { stored_bytes: 40_000, ..Limits::default() };
    let (index, _) = Index::open(folder.path(), shape(), limits, None).unwrap();
    let query = read_query("garden", index.shape());
    let topic = |number: usize| Topic { address: format!("http://{number}"), query: "x".into() };
    let note = |number: usize, tag: u64, now: i64| {
        let seen = index.keep_feed(&topic(number), &query, None);
        index.note_feed(&topic(number), FeedKind::Atom, seen, (tag, now), &[]).unwrap()
    };
    assert_eq!(note(0, 1, 100).since, 100);
    assert_eq!(note(0, 1, 105).since, 100, "it is the same");
    assert_eq!(note(0, 2, 100).since, 101, "two in one second");
    assert_eq!(index.feed_version(&topic(0), FeedKind::Rss, HOLDS), None);
    for number in 1..200 {
        note(number, 1, 100);
        assert!(index.feed_version(&topic(0), FeedKind::Atom, HOLDS).is_some(), "{number}");
        let counts = index.stored_counts();
        assert!(counts.bytes <= 40_000 && counts.queries <= 80, "{counts:?}");
    }
    assert_eq!(index.feed_version(&topic(1), FeedKind::Atom, HOLDS), None);
    assert_eq!(index.feed_version(&topic(0), FeedKind::Atom, Duration::ZERO), None, "too old");
}

#[test]
fn what_a_feed_shows_is_paid_for_and_the_default_room_is_for_eight_thousand_feeds() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = Index::open(folder.path(), shape(), Limits::default(), None).unwrap();
    let address = "https://board.example.org/search".to_owned();
    for number in 0..10_000_u64 {
        let query = format!("word{} of{}", number % 5000, number);
        let topic = Topic { address: address.clone(), query };
        let seen = index.keep_feed(&topic, &read_query(&topic.query, index.shape()), None);
        let shows: Vec<u64> = (0..20).map(|at| number * 7 + at).collect();
        let before = index.stored_counts().bytes;
        index.note_feed(&topic, FeedKind::Rss, seen, (1, 1), &shows).unwrap();
        assert!(index.stored_counts().bytes != before, "{number}");
    }
    let counts = index.stored_counts();
    assert!(counts.bytes <= Limits::default().stored_bytes, "{counts:?}");
    assert!(counts.queries >= 8_000, "{counts:?}");
}

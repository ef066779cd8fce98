//! What kept queries cost a page that is put: `stored QUERIES PAGES BYTES`; the last is the room
//! that they may take.
//!
//! Words are as frequent as in a language (Zipf); queries have one to three of those that aren't
//! among the first hundred, as `the` is; the feed of each shows twenty pages. Prints how many are
//! kept and their bytes, the median milliseconds that a page takes with and without them, how many
//! of them it concerns, and what they took of memory as the system counts it.

use std::time::{Duration, Instant};

use search::{Document, FeedKind, Index, Limits, Shape, Topic, Value, read_query};

const VOCABULARY: f64 = 40_000.0;
const PAGE_WORDS: usize = 600;
/// Pages in a feed.
const SHOWN: u64 = 20;

struct Dice(u64);

impl Dice {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        #[expect(clippy::cast_precision_loss, reason = "a fraction is wanted")]
        let fraction = (self.0 >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// A word that isn't among the first so many.
    fn word(&mut self, first: f64) -> String {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        let rank = (first * (VOCABULARY / first).powf(self.fraction())) as u64;
        format!("w{}", Document::id_of(&rank.to_string()) % 100_000_000)
    }

    fn words(&mut self, count: usize, first: f64) -> String {
        let words: Vec<_> = (0..count).map(|_| self.word(first)).collect();
        words.join(" ")
    }

    fn page(&mut self, id: u64) -> Document {
        let fields =
            vec![self.words(6, 1.0), String::new(), self.words(PAGE_WORDS, 1.0), String::new()];
        let mut attributes = vec![Value::Int(0); Shape::pages().attributes.len()];
        attributes[1] = Value::Text("en".to_owned());
        Document { id, fields, attributes }
    }
}

/// The middle one of the times that pages take, and how many queries they concern.
fn put(index: &Index, pages: Vec<Document>) -> (Duration, u64) {
    let matches = index.stored_counts().matches;
    let put_one = |page| {
        index.commit();
        let begun = Instant::now();
        index.put(page);
        begun.elapsed()
    };
    let mut times: Vec<_> = pages.into_iter().map(put_one).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    (middle, index.stored_counts().matches - matches)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|one| one.parse::<usize>());
    let queries = numbers.next().unwrap_or(Ok(100_000))?;
    let pages = numbers.next().unwrap_or(Ok(200))?;
    let folder = tempfile::tempdir()?;
    let room = numbers.next().unwrap_or(Ok(100_000_000))?;
    let limits = Limits { stored_bytes: room, ..Limits::default() };
    let (index, _) = Index::open(folder.path(), Shape::pages(), limits, None)?;
    let mut dice = Dice(7);
    for id in 1..=2000 {
        index.put(dice.page(id));
    }
    index.commit();
    let some = |dice: &mut Dice| (1..=pages as u64).map(|id| dice.page(id)).collect();
    let (alone, _) = put(&index, some(&mut dice));
    let before = anonymous_kilobytes();
    for number in 0..queries {
        let query = dice.words(1 + number % 3, 100.0);
        let topic = Topic { address: "http://a.test/search".to_owned(), query };
        let read = read_query(&topic.query, index.shape());
        let seen = index.keep_feed(&topic, &read, None);
        let first = number as u64 * 31 % 2000;
        let shows: Vec<u64> = (0..SHOWN).map(|at| 10_000 + (first + at * 7) % 2000).collect();
        let _ = index.note_feed(&topic, FeedKind::Rss, seen, (1, 1), &shows);
    }
    let taken = anonymous_kilobytes().saturating_sub(before);
    let counts = index.stored_counts();
    let (beside, matches) = put(&index, some(&mut dice));
    let each = |spent: Duration| spent.as_secs_f64() * 1e3;
    #[expect(clippy::cast_precision_loss, reason = "it is shown")]
    let concerned = matches as f64 / pages as f64;
    println!(
        "{} {} {:.3} {:.3}\n{concerned:.0} concerned by a page; {taken} kB of memory",
        counts.queries,
        counts.bytes,
        each(beside),
        each(alone),
    );
    Ok(())
}

fn anonymous_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

//! Random stories of large bodies: visitors who want all or parts at once, an origin that changes,
//! breaks off, is down or sends no parts, purges, kills, and bytes that rot on the disk. Whatever
//! is sent as a body is of one version, and of none that was purged or outlived.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use base::{Clock, Shutdown};
use origin::{Dial, HttpOptions, HttpOrigin, Origin};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};
use store::disk::{Disk, DiskOptions};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::{PurgeOrder, Server, ServerConfig, SiteConfig, pipeline};
use policy::slices::SLICE_BYTES as SLICE;

const START_MS: u64 = 1_800_000_000_000;
/// For how long a version may be served after the next has come.
const LIFETIME_SECONDS: u64 = 60;
const SEEDS: u64 = 16;
const STEPS: usize = 24;
/// What may come of a kill, damage aside: nothing else may be lost.
const MEMORY_BYTES: u64 = 24 << 20;

/// The origin: what it has now, and how it behaves.
struct Source {
    versions: Vec<Arc<Vec<u8>>>,
    /// When each version but the first took the place of the one before.
    since_ms: Vec<u64>,
    sends_parts: bool,
    is_down: bool,
    /// Its next answer breaks off behind so many bytes.
    breaks_at: Option<usize>,
    /// After so many requests more it has another version, at this time.
    changes_in: Option<(usize, Arc<Vec<u8>>, u64)>,
}

type Shared = Arc<Mutex<Source>>;

fn version(dice: &mut StdRng) -> Arc<Vec<u8>> {
    // Beyond what memory takes, and seldom a whole number of slices.
    let length = dice.random_range(MEMORY_BYTES / 8 + 1..5 * SLICE + SLICE / 2);
    let mut bytes = vec![0; length as usize];
    dice.fill_bytes(&mut bytes);
    Arc::new(bytes)
}

/// The value of a field in a head.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn range_of(text: &str, length: usize) -> Option<Range<usize>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let first: usize = first.parse().ok()?;
    let last: usize = last.parse().unwrap_or(usize::MAX);
    (first < length).then(|| first..last.min(length - 1) + 1)
}

/// What the source says to a request, and whether it ends there.
fn answer(source: &Shared, head: &str) -> (Vec<u8>, bool) {
    let mut source = source.lock();
    match source.changes_in.take() {
        Some((0, version, now)) => {
            source.versions.push(version);
            source.since_ms.push(now);
        }
        Some((left, version, now)) => source.changes_in = Some((left - 1, version, now)),
        None => {}
    }
    let (number, body) =
        (source.versions.len() - 1, source.versions[source.versions.len() - 1].clone());
    let tag = format!("\"v{number}\"");
    let common = format!("ETag: {tag}\r\nCache-Control: public, max-age={LIFETIME_SECONDS}\r\n");
    if field(head, "if-none-match") == Some(&tag) {
        return (format!("HTTP/1.1 304 Not Modified\r\n{common}\r\n").into_bytes(), false);
    }
    let wanted = field(head, "range").filter(|_| source.sends_parts);
    let wanted = wanted.filter(|_| field(head, "if-range").is_none_or(|it| it == tag));
    let range = wanted.and_then(|text| range_of(text, body.len()));
    let (status, part) = match &range {
        Some(range) => ("206 Partial Content", range.clone()),
        None => ("200 OK", 0..body.len()),
    };
    let mut text = format!("HTTP/1.1 {status}\r\n{common}Content-Length: {}\r\n", part.len());
    if range.is_some() {
        let last = part.end - 1;
        text += &format!("Content-Range: bytes {}-{last}/{}\r\n", part.start, body.len());
    }
    let mut bytes = (text + "\r\n").into_bytes();
    let start = bytes.len();
    bytes.extend_from_slice(&body[part]);
    match source.breaks_at.take() {
        Some(at) if start + at < bytes.len() => {
            bytes.truncate(start + at);
            (bytes, true)
        }
        _ => (bytes, false),
    }
}

async fn speak(source: Shared, mut stream: DuplexStream) {
    let mut input = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = memchr::memmem::find(&input, b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read_buf(&mut input).await {
                Ok(1..) => {}
                _ => return,
            }
        };
        let head: Vec<u8> = input.drain(..end).collect();
        let (bytes, ends) = answer(&source, &String::from_utf8_lossy(&head));
        if stream.write_all(&bytes).await.is_err() || ends {
            return;
        }
    }
}

/// One run of Wick before the source.
struct Run {
    server: Arc<Server>,
    clock: Clock,
}

impl Run {
    fn start(folder: &Path, unix_ms: u64, source: &Shared) -> Self {
        let source = source.clone();
        let dial = Dial::Memory(Arc::new(move || {
            let source = source.clone();
            Box::pin(async move {
                if source.lock().is_down {
                    return Err(std::io::ErrorKind::ConnectionRefused.into());
                }
                let (ours, theirs) = tokio::io::duplex(256 << 10);
                tokio::spawn(speak(source, ours));
                Ok(theirs)
            })
        }));
        let mut site = SiteConfig::new(Origin::Http(HttpOrigin::new(dial, HttpOptions::default())));
        (site.hosts, site.rules.refresh_early) = (vec!["a.test".into()], false);
        let clock = Clock::manual(unix_ms);
        let disk = Disk::begin(DiskOptions {
            folder: folder.join("disk"),
            size_bytes: 24 << 20,
            index_bytes_max: 1 << 20,
            boot: b"boot".to_vec(),
            unix_seconds: unix_ms / 1000,
            complain: Box::new(|_| {}),
            secret: &pipeline::hash_seed,
        });
        let disk = Some(disk.expect("a folder of ours"));
        let (sites, memory_bytes) = (vec![site], MEMORY_BYTES);
        let config = ServerConfig { sites, disk, memory_bytes, ..ServerConfig::default() };
        let server = Server::new(config, clock.clone());
        // The run before lets go when the last of its threads has noticed that it is gone.
        while server.open_disk().is_none() {
            std::thread::yield_now();
        }
        tokio::spawn(server.clone().housekeeping(Shutdown::default()));
        Self { server, clock }
    }

    async fn ask(&self, range: Option<String>) -> (String, Vec<u8>) {
        let (mut ours, theirs) = tokio::io::duplex(256 << 10);
        let address = "192.0.2.1:5".parse().expect("an address");
        tokio::spawn(self.server.clone().serve_connection(theirs, address, address));
        let range = range.map_or(String::new(), |range| format!("Range: {range}\r\n"));
        let request =
            format!("GET /film HTTP/1.1\r\nHost: a.test\r\n{range}Connection: close\r\n\r\n");
        ours.write_all(request.as_bytes()).await.expect("it reads");
        let mut all = Vec::new();
        // What is cut short ends there.
        let _ = ours.read_to_end(&mut all).await;
        let end = memchr::memmem::find(&all, b"\r\n\r\n").expect("a head") + 4;
        let body = all.split_off(end);
        (String::from_utf8(all).expect("a head"), body)
    }

    fn unix_ms(&self) -> u64 {
        self.clock.now().unix_ms
    }
}

/// What a story came to.
#[derive(Debug, Default)]
struct Tally {
    whole: usize,
    cut: usize,
    failed: usize,
    hits: usize,
    partial: usize,
}

struct Story {
    source: Shared,
    run: Run,
    /// No version before this one may be served.
    oldest: usize,
    tally: Tally,
}

impl Story {
    /// Holds an answer against what there was.
    fn check(&mut self, head: &str, body: &[u8]) {
        let status = head.split(' ').nth(1).expect("a status");
        if !matches!(status, "200" | "206") {
            assert!(matches!(status, "416" | "502" | "503" | "504"), "{head}");
            self.tally.failed += 1;
            return;
        }
        let tag = field(head, "etag").expect("a tag").trim_matches(|c| c == '"' || c == 'v');
        let number: usize = tag.parse().expect("a version");
        let source = self.source.lock();
        let version = &source.versions[number];
        let range = match field(head, "content-range") {
            Some(text) => {
                let (range, length) = text.split_once('/').expect("a length");
                assert_eq!(length.parse(), Ok(version.len()), "{head}");
                range_of(&range.replace(' ', "="), version.len()).expect("a range")
            }
            None => 0..version.len(),
        };
        assert_eq!(field(head, "content-length"), Some(&*range.len().to_string()), "{head}");
        assert!(number >= self.oldest, "version {number} was purged or is too old: {head}");
        assert!(body == &version[range.start..range.start + body.len()], "mixed: {head}");
        drop(source);
        match body.len() == range.len() {
            true => self.tally.whole += 1,
            false => self.tally.cut += 1,
        }
        let status = field(head, "cache-status").expect("a verdict");
        self.tally.hits += usize::from(status.contains("hit"));
        self.tally.partial += usize::from(status.contains("partial"));
    }

    /// From now on only what the origin has at this moment counts.
    fn purge(&mut self) {
        self.run.server.purge(&PurgeOrder { all: true, ..PurgeOrder::default() }).expect("good");
        self.oldest = self.source.lock().versions.len() - 1;
    }

    /// What was replaced long ago is not fresh any more, nor confirmed.
    fn advance(&mut self, seconds: u64) {
        self.run.clock.advance_ms(seconds * 1000);
        let now = self.run.unix_ms();
        let source = self.source.lock();
        let is_over = |&since: &u64| now >= since + LIFETIME_SECONDS * 1000;
        self.oldest = self.oldest.max(source.since_ms.iter().filter(|it| is_over(it)).count());
    }

    async fn visit(&mut self, dice: &mut StdRng) {
        let length = self.source.lock().versions.last().expect("there is one").len() as u64;
        if dice.random_range(0..4) == 0 {
            let after = (dice.random_range(0..4), version(dice), self.run.unix_ms());
            self.source.lock().changes_in = Some(after);
        }
        let mut asked = Vec::new();
        for _ in 0..dice.random_range(1..4) {
            let first = dice.random_range(0..length);
            asked.push(match dice.random_range(0..4) {
                0 => None,
                1 => Some(format!("bytes={first}-")),
                2 => Some(format!("bytes={first}-{}", first + dice.random_range(0..2 * SLICE))),
                _ => Some(format!("bytes=-{}", dice.random_range(1..SLICE))),
            });
        }
        let answers = asked.into_iter().map(|range| self.run.ask(range));
        for (head, body) in futures_util::future::join_all(answers).await {
            self.check(&head, &body);
        }
        // At another time it would have another time.
        self.source.lock().changes_in = None;
    }

    fn change(&mut self, dice: &mut StdRng) {
        let (now, mut source) = (self.run.unix_ms(), self.source.lock());
        source.versions.push(version(dice));
        source.since_ms.push(now);
    }
}

fn rot(folder: &Path, dice: &mut StdRng) {
    let files = std::fs::read_dir(folder.join("disk")).expect("it is there");
    let mut segments: Vec<_> = files.map(|file| file.expect("it is listed").path()).collect();
    segments.retain(|path| path.to_string_lossy().contains("segment-"));
    for path in segments {
        let mut bytes = std::fs::read(&path).expect("it is ours");
        for _ in 0..bytes.len().div_ceil(SLICE as usize) {
            let at = dice.random_range(0..bytes.len());
            bytes[at] ^= 1 << dice.random_range(0..8);
        }
        std::fs::write(&path, bytes).expect("it is ours");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

fn play(seed: u64) -> Tally {
    let mut dice = StdRng::seed_from_u64(seed);
    let folder = TempDir::new().expect("a folder");
    let source = Arc::new(Mutex::new(Source {
        versions: vec![version(&mut dice)],
        since_ms: Vec::new(),
        sends_parts: seed % 4 != 3,
        is_down: false,
        breaks_at: None,
        changes_in: None,
    }));
    let (mut now, mut oldest, mut tally) = (START_MS, 0, Tally::default());
    let mut steps = STEPS;
    while steps > 0 {
        let runtime = runtime();
        let story = runtime.block_on(async {
            let run = Run::start(folder.path(), now, &source);
            let mut story = Story { source: source.clone(), run, oldest, tally };
            while steps > 0 {
                steps -= 1;
                match dice.random_range(0..16) {
                    0 => story.change(&mut dice),
                    1 => story.purge(),
                    2 => story.advance(dice.random_range(1..90)),
                    3 => {
                        let at = dice.random_range(0..4 * SLICE) as usize;
                        story.source.lock().breaks_at = Some(at);
                    }
                    4 => {
                        let mut source = story.source.lock();
                        source.is_down = !source.is_down;
                    }
                    // The memory tier gives way.
                    5 => {
                        story.run.server.store.clear();
                    }
                    6 | 7 => break,
                    _ => story.visit(&mut dice).await,
                }
            }
            assert_eq!(story.run.server.counters().panics.read(), 0);
            story
        });
        now = story.run.unix_ms() + 1;
        (oldest, tally) = (story.oldest, story.tally);
        // As after a kill: nothing was closed.
        drop((story.run, runtime));
        if dice.random_range(0..3) == 0 {
            rot(folder.path(), &mut dice);
        }
    }
    tally
}

#[test]
fn whatever_is_sent_is_of_one_version_that_may_still_be_served() {
    let mut all = Tally::default();
    for seed in 0..SEEDS {
        let tally = std::panic::catch_unwind(|| play(seed));
        let tally = tally.unwrap_or_else(|_| panic!("seed {seed}"));
        all.whole += tally.whole;
        all.cut += tally.cut;
        all.failed += tally.failed;
        all.hits += tally.hits;
        all.partial += tally.partial;
    }
    println!("{all:?}");
    // What never happened was not tested.
    assert!(all.whole > 100 && all.hits > 30 && all.partial > 5 && all.failed > 5, "{all:?}");
}

//! Restarts with random stores, purges, writes and kills: what was made unusable before one is
//! not fresh after it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use base::Clock;
use bytes::Bytes;
use origin::{FilesOrigin, Origin};
use policy::Terms;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use store::Key;
use store::disk::{Disk, DiskOptions, Put};
use tempfile::TempDir;
use wire::{Codings, Fields, RequestHead, ResponseHead};

use super::{note_hit, read_all};
use crate::page::Page;
use crate::pipeline::{self, Found, look};
use crate::purge::marks::Marks;
use crate::site::Site;
use crate::strangers::guests::Reader;
use crate::{PurgeOrder, Server, ServerConfig, SiteConfig, StrangerRules, carry};

const START_MS: u64 = 1_800_000_000_000;

fn disk(folder: &Path, unix_ms: u64) -> Disk {
    Disk::begin(DiskOptions {
        folder: folder.join("disk"),
        size_bytes: 64 << 20,
        index_bytes_max: 1 << 20,
        boot: b"boot".to_vec(),
        unix_seconds: unix_ms / 1000,
        complain: Box::new(|_| {}),
        secret: &pipeline::hash_seed,
    })
    .expect("a folder of ours")
}

/// One run of Wick.
struct Run {
    server: Arc<Server>,
    site: Arc<Site>,
    clock: Clock,
}

/// What the model knows of a page: what it says, and whether strangers share it.
type Model = HashMap<String, (String, bool)>;

impl Run {
    fn start(folder: &Path, unix_ms: u64, change: impl FnOnce(&mut SiteConfig)) -> Self {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        (site.hosts, site.strangers) = (vec!["a.test".into()], Some(StrangerRules::default()));
        site.rules.refresh_early = false;
        change(&mut site);
        let clock = Clock::manual(unix_ms);
        let disk = Some(disk(folder, unix_ms));
        let config = ServerConfig { sites: vec![site], disk, ..ServerConfig::default() };
        let server = Server::new(config, clock.clone());
        // The run before lets go when the last of its threads has noticed that it is gone.
        while server.open_disk().is_none() {
            std::thread::yield_now();
        }
        let site = server.sites().only().expect("there is one").clone();
        Self { server, site, clock }
    }

    /// Stores a page as it comes from the origin.
    fn store(&self, text: &str, body: &str, is_shared: bool, tag: &str, seconds: u64) {
        let mut head = ResponseHead { status: 200, fields: Fields::new() };
        head.fields.push("surrogate-key", tag);
        let began = self.site.generations.moment();
        let lifetime_ms = seconds * 1000;
        let ticks_ms = self.clock.now().ticks_ms;
        let terms = Terms { lifetime_ms, no_cache: false, ..Terms::expired(ticks_ms) };
        let marks = Marks::of(began, "a.test", &head.fields);
        let bytes = Bytes::copy_from_slice(body.as_bytes());
        let mut page =
            Page::stored(head, text.as_bytes(), bytes, terms, None, marks, Codings::NONE);
        if is_shared {
            page = page.shared(self.reader().sharing(&[], began.content, false), None);
        }
        carry::insert(&self.server, &self.site, &key(text), Arc::new(page), began);
    }

    fn reader(&self) -> Reader {
        Reader::of(&self.site, &Fields::new(), "a.test")
    }

    /// What a visitor is given as fresh, from memory or the disk.
    fn ask(&self, text: &str) -> Option<String> {
        let (head, now, key) = (RequestHead::default(), self.clock.now(), key(text));
        let reader = self.reader();
        let found =
            || look(&self.server, &self.site, &self.site.rules(), &head, now, &key, &reader);
        let found = match found() {
            Found::Ask(_) if self.server.is_on_disk(key.hash) => {
                read_all(&self.server, &self.site, &key);
                found()
            }
            found => found,
        };
        let Found::Fresh { page, .. } = found else { return None };
        note_hit(&self.server, &self.site, &key, &page, now);
        let body = &page.as_stored().expect("it is a page").body;
        Some(String::from_utf8(body.to_vec()).expect("the test's own"))
    }

    /// As a write through Wick that succeeded.
    fn write(&self, text: &str) {
        self.site.generations.note_write();
        self.server.remove_if(&key(text), |_| true);
    }

    fn purge(&self, order: PurgeOrder) {
        self.server.purge(&order).expect("a good order");
    }

    fn flush(&self) {
        let disk = &self.server.shelf.as_ref().expect("there is one").disk;
        let (tell, told) = mpsc::channel::<()>();
        let put = Put {
            sequence: disk.next_sequence(),
            hash: 0,
            key: Box::default(),
            floor: u64::MAX,
            fingerprint: 0,
            bytes: 0,
            is_bulk: false,
            done: None,
            write: Box::new(move |_| drop(tell)),
        };
        let sequence = put.sequence;
        disk.put(put);
        // It is dropped when its turn has come.
        let _ = told.recv();
        disk.remove(0, |place| place.sequence == sequence);
    }

    fn unix_ms(&self) -> u64 {
        self.clock.now().unix_ms
    }
}

fn key(text: &str) -> Key<'_> {
    Key { hash: pipeline::hash(text.as_bytes()), text: text.as_bytes() }
}

fn address(number: u64) -> String {
    format!("http|a.test|/{number}")
}

/// One random event, and what it means for the model.
fn happen(run: &Run, dice: &mut StdRng, model: &mut Model, version: u64) {
    let number = dice.random_range(0..8u64);
    let text = address(number);
    match dice.random_range(0..16) {
        0..6 => {
            let (body, is_shared) = (format!("{number}: {version}"), dice.random());
            run.store(&text, &body, is_shared, &format!("tag{}", number % 3), 3600);
            // What a stranger shares and what the law lets be stored lie beside each other.
            run.server.remove_if(&key(&text), |page| page.is_for_strangers() != is_shared);
            model.remove(&text);
            if run.ask(&text).is_some() {
                model.insert(text, (body, is_shared));
            }
        }
        6..9 => drop(run.ask(&text)),
        9 => {
            run.write(&text);
            model.remove(&text);
            model.retain(|_, (_, is_shared)| !*is_shared);
        }
        10 => {
            let urls = vec![format!("http://a.test/{number}")];
            run.purge(PurgeOrder { urls, ..PurgeOrder::default() });
            model.remove(&text);
        }
        11 => {
            let tag = format!("tag{}", number % 3);
            run.purge(PurgeOrder { tags: vec![tag], ..PurgeOrder::default() });
            model.retain(|text, _| {
                let other: u64 =
                    text.rsplit('/').next().and_then(|n| n.parse().ok()).expect("a number");
                other % 3 != number % 3
            });
        }
        12 if dice.random_range(0..4) == 0 => {
            run.purge(PurgeOrder { all: true, ..PurgeOrder::default() });
            model.clear();
        }
        13 if dice.random_range(0..4) == 0 => {
            // The memory tier gives way.
            run.server.store.clear();
        }
        _ => run.clock.advance_ms(dice.random_range(0..2000)),
    }
}

/// A random story of one folder: how often a page was found, and Wick begun again. With
/// `is_forgetful` each run leaves a journal without its last words, as no disk may do it.
fn play(seed: u64, is_forgetful: bool) -> Result<(u64, u64), String> {
    let (mut hits, mut restarts) = (0, 0);
    let mut dice = StdRng::seed_from_u64(seed);
    let folder = TempDir::new().expect("a folder");
    let mut model = Model::new();
    let mut run = Run::start(folder.path(), START_MS, |_| {});
    let mut words = journals(folder.path());
    for version in 0..120 {
        happen(&run, &mut dice, &mut model, version);
        if dice.random_range(0..20) > 0 {
            continue;
        }
        let unix_ms = run.unix_ms();
        match dice.random_range(0..3) {
            0 => run.server.close_disk(),
            1 => run.flush(),
            _ => {}
        }
        drop(run);
        if is_forgetful {
            words.iter().for_each(|(path, length)| shorten(path, *length));
        }
        run = Run::start(folder.path(), unix_ms + 10, |_| {});
        words = journals(folder.path());
        restarts += 1;
        for number in 0..8 {
            let text = address(number);
            let Some(body) = run.ask(&text) else { continue };
            let expected = model.get(&text).map(|(body, _)| body);
            if Some(&body) != expected {
                return Err(format!("SEED {seed}, version {version}: {body}, not {expected:?}"));
            }
            hits += 1;
        }
    }
    Ok((hits, restarts))
}

/// The journals in the disk's folder, and how long they are.
fn journals(folder: &Path) -> Vec<(PathBuf, u64)> {
    let all = fs::read_dir(folder.join("disk")).expect("it is there").flatten();
    let journals = all.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal-"));
    journals.map(|entry| (entry.path(), entry.metadata().map_or(0, |data| data.len()))).collect()
}

/// Cuts off what was written behind `length`; one that is gone stays so.
fn shorten(path: &Path, length: u64) {
    if let Ok(file) = fs::OpenOptions::new().write(true).open(path) {
        let now = file.metadata().map_or(0, |data| data.len());
        file.set_len(now.min(length)).expect("ours");
    }
}

#[test]
fn what_was_made_unusable_before_a_restart_is_not_fresh_after_it() {
    let played = (0..80).map(|seed| play(seed, false).expect("what the model knows"));
    let (hits, restarts) = played.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(restarts > 200 && hits > 300, "{restarts} restarts, {hits} hits");
}

#[test]
fn a_journal_that_forgets_its_last_words_is_seen_by_the_model() {
    let seen = (0..80).find_map(|seed| play(seed, true).err());
    assert!(seen.is_some(), "a purge was forgotten, and nobody saw it");
}

/// Stores a page, asks for it twice, kills Wick and starts it again with other settings.
fn after_kill(
    is_shared: bool,
    between: impl FnOnce(&Run),
    later_ms: u64,
    change: impl FnOnce(&mut SiteConfig),
) -> Option<String> {
    let folder = TempDir::new().expect("a folder");
    let run = Run::start(folder.path(), START_MS, |_| {});
    run.store(&address(1), "body", is_shared, "tag", 3600);
    assert!(run.ask(&address(1)).is_some());
    run.flush();
    between(&run);
    drop(run);
    Run::start(folder.path(), START_MS.saturating_add_signed(later_ms.cast_signed()), change)
        .ask(&address(1))
}

#[test]
fn a_page_comes_back_as_old_as_it_is_and_only_to_the_site_that_stored_it() {
    for is_shared in [false, true] {
        let found = |later_ms, change: fn(&mut SiteConfig)| {
            after_kill(is_shared, |_| {}, later_ms, change).is_some()
        };
        assert!(found(3_000_000, |_| {}), "it is fresh for an hour");
        assert!(!found(3_600_001, |_| {}), "by the clock of the wall it is old");
        assert!(!found(0u64.wrapping_sub(60_000), |_| {}), "the clock was set back");
        assert!(!found(0, |site| site.name = "another".into()));
        assert!(!found(0, |site| site.changes = vec![changes::Source::Other("told".into())]));
        let never = |site: &mut SiteConfig| {
            let never = vec!["/x".to_owned()];
            site.strangers = Some(StrangerRules { never, ..StrangerRules::default() });
        };
        assert!(!found(0, never), "by other rules it might not have been shared");
    }
}

#[test]
fn the_last_word_before_a_kill_holds() {
    let urls = || vec!["http://a.test/1".to_owned()];
    type Between = Box<dyn Fn(&Run)>;
    let cases: [(&str, Between, [bool; 2]); 6] = [
        ("nothing", Box::new(|_| {}), [true, true]),
        ("a write to it", Box::new(|run| run.write(&address(1))), [false, false]),
        ("a write elsewhere", Box::new(|run| run.write(&address(2))), [true, false]),
        (
            "a purge of it",
            Box::new(move |run| run.purge(PurgeOrder { urls: urls(), ..PurgeOrder::default() })),
            [false, false],
        ),
        (
            "a soft purge of everything",
            Box::new(|run| {
                run.purge(PurgeOrder { all: true, soft: true, ..PurgeOrder::default() });
            }),
            [false, false],
        ),
        (
            "a newer copy that is not on the disk yet",
            Box::new(|run| {
                let is_shared = run.site.generations.content() == 0;
                run.store(&address(1), "newer", is_shared, "tag", 3600);
            }),
            [false, true],
        ),
    ];
    for (name, between, found) in &cases {
        for (is_shared, found) in [false, true].into_iter().zip(found) {
            let body = after_kill(is_shared, between, 0, |_| {});
            assert_eq!(body.is_some(), *found, "{name}, shared: {is_shared}");
        }
    }
}

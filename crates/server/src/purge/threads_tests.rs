//! Editors, purgers and readers on real threads: no look finds as fresh what is older than a
//! purge that had returned before the look began.
//!
//! Each page has a number that its editors raise. Who has purged it says so, and a reader
//! remembers what was said before it looks. The seed sets what is tried, not in which order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use base::Clock;
use bytes::Bytes;
use origin::{FilesOrigin, Origin};
use policy::Terms;
use policy::purge::{Mode, Purge, Scope, What};
use wire::{Codings, Fields, RequestHead, ResponseHead};

use super::generations::Standing;
use super::marks::Marks;
use super::*;
use crate::page::Page;
use crate::strangers::guests::Reader;
use crate::{ServerConfig, SiteConfig, carry};

const PAGES: usize = 12;
const ROUNDS: u64 = 4_000;

struct World {
    server: Arc<Server>,
    /// What the origin would give out.
    truth: Vec<AtomicU64>,
    /// What nobody may be given less than.
    answered: Vec<AtomicU64>,
    hits: AtomicU64,
    broken: AtomicBool,
}

/// What a reader does wrong, to see that it is noticed.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    None,
    /// It says that its fetch began when it ended.
    BornLate,
}

fn throw(dice: &mut u64, sides: u64) -> u64 {
    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*dice >> 33) % sides
}

impl World {
    fn new() -> Self {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        site.hosts = vec!["a.test".into(), "b.test".into()];
        let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
        let numbers = || (0..PAGES).map(|_| AtomicU64::new(1)).collect();
        Self {
            server: Server::new(config, Clock::manual(0)),
            truth: numbers(),
            answered: numbers(),
            hits: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    fn site(&self) -> Arc<Site> {
        self.server.sites().find("a.test").expect("the only site").clone()
    }

    fn edit(&self, dice: &mut u64) {
        let page = throw(dice, PAGES as u64) as usize;
        let number = self.truth[page].fetch_add(1, Ordering::SeqCst) + 1;
        let mode = if throw(dice, 3) == 0 { Mode::Soft } else { Mode::Hard };
        let tags = |tag: String| What::Tags(vec![tag]);
        let (scope, what) = match throw(dice, 40) {
            0 => (Scope::Site, What::Everything),
            1 => (Scope::Request, What::Everything),
            2..6 => (Scope::Request, What::Prefix(format!("/{page}."))),
            6..10 => (Scope::Site, What::Url(target(page))),
            10..20 => (Scope::Request, What::Url(target(page))),
            20..30 => (Scope::Site, tags(format!("third-{}", page % 3))),
            _ => (Scope::Site, tags(format!("page-{page}"))),
        };
        let purge = Purge { scope, what, mode };
        self.server.carry_out_all(&self.site(), "a.test", &[purge]).expect("its own host");
        self.answered[page].fetch_max(number, Ordering::SeqCst);
    }

    fn read(&self, dice: &mut u64, lie: Lie) {
        let page = throw(dice, PAGES as u64) as usize;
        let (server, site) = (&self.server, self.site());
        let head =
            RequestHead { host: "a.test".into(), target: target(page), ..RequestHead::default() };
        let text = format!("http|a.test|{}", head.target);
        let key = Key { hash: pipeline::hash(text.as_bytes()), text: text.as_bytes() };
        let reader = Reader::of(&site, &head.fields, &head.host);
        let least = self.answered[page].load(Ordering::SeqCst);
        match pipeline::find(server, &site, &head, server.clock.now(), &key, &reader) {
            Some((found, Standing::Good)) => {
                self.hits.fetch_add(1, Ordering::Relaxed);
                let body = &found.as_stored().expect("a page").body;
                let number = u64::from_le_bytes((**body).try_into().expect("eight bytes"));
                if number < least {
                    self.broken.store(true, Ordering::Relaxed);
                }
            }
            _ => {
                let mut began = site.generations.moment();
                let number = self.truth[page].load(Ordering::SeqCst);
                (0..throw(dice, 4)).for_each(|_| thread::yield_now());
                if lie == Lie::BornLate {
                    began = site.generations.moment();
                }
                let tags = format!("xkey: page-{page} third-{}", page % 3);
                let fields = Fields::parse(tags.as_bytes()).expect("a field");
                let marks = Marks::of(began, "a.test", &fields);
                let answer = ResponseHead { status: 200, fields };
                let body = Bytes::copy_from_slice(&number.to_le_bytes());
                let made =
                    Page::stored(answer, b"", body, Terms::expired(0), None, marks, Codings::NONE);
                carry::insert(server, &site, &key, Arc::new(made), began);
            }
        }
    }
}

fn target(page: usize) -> String {
    format!("/{page}.html")
}

/// Whether anything older than an answered purge was found, and how often anything was.
fn play(seed: u64, lie: Lie) -> (bool, u64) {
    let world = World::new();
    thread::scope(|scope| {
        for number in 0..6 {
            let world = &world;
            scope.spawn(move || {
                let mut dice = seed * 31 + number;
                for _ in 0..ROUNDS {
                    match number < 2 {
                        true => world.edit(&mut dice),
                        false => world.read(&mut dice, lie),
                    }
                    if throw(&mut dice, 8) == 0 {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    (world.broken.into_inner(), world.hits.into_inner())
}

#[test]
fn nothing_older_than_an_answered_purge_is_found_fresh() {
    let mut hits = 0;
    for seed in 0..6 {
        let (is_broken, found) = play(seed, Lie::None);
        assert!(!is_broken, "seed {seed}");
        hits += found;
    }
    assert!(hits > 1_000, "so few hits prove little: {hits}");
}

#[test]
fn a_page_that_lies_about_its_birth_is_found_out() {
    assert!((0..20).any(|seed| play(seed, Lie::BornLate).0));
}

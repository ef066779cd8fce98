//! Many visitors at once, marked, from dice: nothing of one may reach another.
//!
//! Strangers read, log in (all as the same user, each with a session and a note of their
//! own), comment, search for what nobody else looks for, do what the specimen's guests do.
//! Some share an address and a browser, as in an office. Every answer is looked through by
//! the [`Ledger`]. The dice decide who does what with whom at one time; only how requests of
//! one moment meet in the server is not theirs. `SEED=N` plays one story again.

use std::net::Ipv4Addr;
use std::sync::{Mutex, PoisonError};

use libtest_mimic::{Failed, Trial};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::browser::Outcome;
use crate::client::{Answer, Client};
use crate::crawl;
use crate::ledger::{Ledger, MARK};
use crate::served::Manner;
use crate::specimen::{Site, Specimen};
use crate::walk::Walk;

/// Moments of a story, and how many visitors act in each.
const MOMENTS: usize = 120;
/// The same where forms want to be read for some seconds by the specimen's own clock.
const SLOW_MOMENTS: usize = 60;
const AT_ONCE: usize = 4;
/// Of a hundred moments, those in which visitors write.
const BUSY_PERCENT: u32 = 15;
/// Visitors at one time; one who goes makes room for a new one.
const VISITORS: usize = 24;
/// Addresses with one browser each that they come from.
const PLACES: usize = 12;
/// How many leaks of a story are told.
const TOLD_MAX: usize = 5;

/// What a visitor may do.
#[derive(Clone, Copy, Debug)]
enum Act {
    Read(usize),
    ReadOwn(usize),
    Search,
    Comment,
    LogIn,
    Note,
    BeGuest,
    GoAndBeReplaced,
}

/// A visitor of the story.
struct Visitor<'a> {
    number: usize,
    walk: Walk<'a>,
    is_member: bool,
    was_guest: bool,
}

/// What happened, so that a story in which nothing did proves nothing.
#[derive(Debug, Default)]
struct Deeds {
    from_memory: usize,
    log_ins: usize,
    notes: usize,
    guests: usize,
}

/// A test for each specimen, and one that a leak is seen.
pub(crate) fn trials(specimens: &[Specimen]) -> Vec<Trial> {
    let mut trials = vec![Trial::test("leak_hunt::a_leak_in_the_ledger_is_seen", || {
        a_leak_in_the_ledger_is_seen().map_err(Failed::from)
    })];
    for specimen in specimens.iter().cloned() {
        let name = format!("leak_hunt::specimens::{}", specimen.name);
        trials.push(Trial::test(name, move || hunt_quietly(&specimen).map_err(Failed::from)));
    }
    let specimens = specimens.to_vec();
    trials.push(Trial::test("leak_hunt::sees_that_personas_are_trusted", move || {
        sees_that_personas_are_trusted(&specimens).map_err(Failed::from)
    }));
    trials
}

fn seed() -> u64 {
    std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

/// A story without a leak in which everything happened.
fn hunt_quietly(specimen: &Specimen) -> Outcome<()> {
    let site = Site::start(specimen, Manner::Plainly)?;
    let again = |what: String| {
        let name = &specimen.name;
        let line = format!("SEED={} cargo test -p wick --test strangers", seed());
        format!("{what}\nagain: {line} -- leak_hunt::specimens::{name}")
    };
    let (ledger, deeds, faults) = hunt(&site, seed()).map_err(&again)?;
    let leaks = ledger.leaks.len();
    if leaks > 0 {
        let told: Vec<_> = ledger.leaks.into_iter().take(TOLD_MAX).collect();
        return Err(again(format!("{leaks} leaks, such as\n{}", told.join("\n"))));
    }
    if !faults.is_empty() {
        let told: Vec<_> = faults.iter().take(TOLD_MAX).cloned().collect();
        let (count, told) = (faults.len(), told.join("\n"));
        let complaints = site.wick.complaints();
        return Err(again(format!("{count} things failed:\n{told}\nwick said: {complaints}")));
    }
    let Deeds { from_memory, log_ins, notes, guests } = deeds;
    if [from_memory, log_ins, notes, guests].contains(&0) {
        return Err(again(format!("something never happened: {deeds:?}")));
    }
    Ok(())
}

/// Plays a story to its end.
fn hunt(site: &Site, seed: u64) -> Outcome<(Ledger, Deeds, Vec<String>)> {
    let mut dice = StdRng::seed_from_u64(seed);
    let ledger = Mutex::new(Ledger::default());
    let (deeds, faults) = (Mutex::new(Deeds::default()), Mutex::new(Vec::new()));
    for place in 0..PLACES {
        lock(&ledger).know_address(&address(place).to_string());
    }
    for start in &site.specimen.personal {
        lock(&ledger).know_start(start);
    }
    let mut visitors: Vec<_> = (0..VISITORS).map(|number| Visitor::new(site, number)).collect();
    let mut next = VISITORS;
    let is_slow = site.specimen.login.wait_seconds > 0;
    for _ in 0..if is_slow { SLOW_MOMENTS } else { MOMENTS } {
        visitors.shuffle(&mut dice);
        let acts = acts(site, &mut dice);
        std::thread::scope(|scope| {
            for (visitor, act) in visitors.iter_mut().zip(&acts) {
                let (ledger, deeds, faults) = (&ledger, &deeds, &faults);
                scope.spawn(move || {
                    let done = visitor.act(site, *act, ledger, deeds);
                    let told = |error| format!("visitor {}, {act:?}: {error}", visitor.number);
                    lock(faults).extend(done.err().map(told));
                });
            }
        });
        for (visitor, act) in visitors.iter_mut().zip(&acts) {
            if matches!(act, Act::GoAndBeReplaced) {
                *visitor = Visitor::new(site, next);
                next += 1;
            }
        }
    }
    Ok((into(ledger), into(deeds), into(faults)))
}

/// What happens in one moment. A write makes all shared pages old, so there are quiet times,
/// in which they are shared, and busy moments; one guest only in each, as some specimens lock
/// what a guest edits.
fn acts(site: &Site, dice: &mut StdRng) -> Vec<Act> {
    let is_busy = dice.random_range(0..100) < BUSY_PERCENT;
    let acts = (0..AT_ONCE).map(|at| match is_busy {
        true => busy_act(dice, at == 0),
        false => quiet_act(site, dice),
    });
    acts.collect()
}

fn quiet_act(site: &Site, dice: &mut StdRng) -> Act {
    let specimen = &site.specimen;
    // Some pages are read more than others.
    let mut page = |count: usize| {
        let count = count.max(1);
        dice.random_range(0..count).min(dice.random_range(0..count))
    };
    let (shared, own) = (page(specimen.crawl.len()), page(specimen.never_shared.len()));
    match dice.random_range(0..100) {
        0..70 => Act::Read(shared),
        70..86 => Act::ReadOwn(own),
        86..90 => Act::Search,
        _ => Act::GoAndBeReplaced,
    }
}

fn busy_act(dice: &mut StdRng, may_be_guest: bool) -> Act {
    match dice.random_range(0..100) {
        0..40 if may_be_guest => Act::BeGuest,
        0..50 => Act::LogIn,
        50..75 => Act::Note,
        _ => Act::Comment,
    }
}

/// Where a place is in the network.
fn address(place: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 1, 0, 10 + place as u8)
}

impl<'a> Visitor<'a> {
    fn new(site: &'a Site, number: usize) -> Self {
        let place = number % PLACES;
        // Two kinds of browsers, so that places with the same address differ in nothing else.
        let client = Client::new(site.wick.port, address(place), &crawl::agent(place as u8 % 2));
        Self { number, walk: Walk::new(client, &site.specimen), is_member: false, was_guest: false }
    }

    /// A word that belongs to this visitor alone; `kind` tells several of them apart.
    fn mark(&self, kind: &str) -> String {
        format!("{MARK}{:04}{kind}", self.number)
    }

    fn act(
        &mut self,
        site: &Site,
        act: Act,
        ledger: &Mutex<Ledger>,
        deeds: &Mutex<Deeds>,
    ) -> Outcome<()> {
        let specimen = &site.specimen;
        let done = match act {
            Act::Read(at) => self.read(specimen.crawl.get(at)),
            Act::ReadOwn(at) => self.read(specimen.never_shared.get(at)),
            Act::Search => {
                let mark = self.mark("search");
                lock(ledger).keep(self.number, mark.clone());
                self.walk.read(&format!("/search?q={mark}")).map(|_| ())
            }
            Act::Comment => self.comment(),
            Act::LogIn => self.log_in(deeds),
            Act::Note => self.keep_note(ledger, deeds),
            Act::BeGuest => self.be_guest(site, ledger, deeds),
            Act::GoAndBeReplaced => Ok(()),
        };
        self.show_all(ledger, deeds);
        done
    }

    fn read(&mut self, target: Option<&String>) -> Outcome<()> {
        target.map_or(Ok(()), |target| self.walk.read(target).map(|_| ()))
    }

    /// Comments, where guests can.
    fn comment(&mut self) -> Outcome<()> {
        let target = &self.walk.specimen.guest.page;
        self.walk.read(target)?;
        if self.walk.can_comment() {
            self.walk.comment(target, "Nothing special")?;
        }
        Ok(())
    }

    fn log_in(&mut self, deeds: &Mutex<Deeds>) -> Outcome<()> {
        if !self.is_member {
            self.walk.log_in()?;
            self.is_member = true;
            lock(deeds).log_ins += 1;
        }
        Ok(())
    }

    fn keep_note(&mut self, ledger: &Mutex<Ledger>, deeds: &Mutex<Deeds>) -> Outcome<()> {
        self.log_in(deeds)?;
        let note = self.mark("note");
        lock(ledger).keep(self.number, note.clone());
        self.walk.keep_note(&note)?;
        lock(deeds).notes += 1;
        Ok(())
    }

    /// What the specimen's guests do; what they write may be public, what they are told is not.
    fn be_guest(
        &mut self,
        site: &Site,
        ledger: &Mutex<Ledger>,
        deeds: &Mutex<Deeds>,
    ) -> Outcome<()> {
        // Baskets and choices stay, so that a second time is another story.
        if self.is_member || self.was_guest {
            return Ok(());
        }
        self.was_guest = true;
        let mark = self.mark("guest");
        for text in self.walk.private_texts(&mark) {
            lock(ledger).keep(self.number, text);
        }
        self.walk.be_guest(site, &mark)?;
        lock(deeds).guests += 1;
        Ok(())
    }

    /// Lets the ledger look through all that came since the last time.
    fn show_all(&mut self, ledger: &Mutex<Ledger>, deeds: &Mutex<Deeds>) {
        let source = self.walk.client.source.to_string();
        for (target, answer) in self.walk.client.heard.drain(..) {
            lock(ledger).look(self.number, &source, &target, &answer);
            lock(deeds).from_memory += usize::from(answer.is_from_memory());
        }
    }
}

/// Where the check of what personas were given is switched off, stories must show leaks in
/// specimens that have something personal for strangers.
fn sees_that_personas_are_trusted(specimens: &[Specimen]) -> Outcome<()> {
    let personal: Vec<_> = specimens.iter().filter(|each| !each.personal.is_empty()).collect();
    if personal.is_empty() {
        return Err("no specimen shows strangers anything personal".into());
    }
    for specimen in personal {
        let site = Site::start(specimen, Manner::TrustingPersonas)?;
        if hunt(&site, seed())?.0.leaks.is_empty() {
            return Err(format!("{}: no leak was seen where there have to be some", specimen.name));
        }
    }
    Ok(())
}

/// The ledger is shown lies, and what is right.
fn a_leak_in_the_ledger_is_seen() -> Outcome<()> {
    const ID: &str = "q1w2e3r4t5z6u7i8o9p0a1s2d3";
    let page = |fields: &str, body: &str| Answer {
        status: 200,
        head: format!("HTTP/1.1 200 OK\r\n{fields}"),
        body: body.to_owned(),
    };
    let with_cookie = page(&format!("set-cookie: SID={ID}; path=/"), "");
    let cases: [(usize, Answer, bool); 8] = [
        (1, page("", "a note: Mk0001note"), false),
        (2, page("", "a note: Mk0001note"), true),
        (2, page("x: Mk0001note", ""), true),
        (1, with_cookie.clone(), false),
        (2, with_cookie, true),
        (2, page("", &format!("<a href=\"/?SID={ID}\">")), true),
        (2, page("set-cookie: ip=MTI3LjEuMC4xMA%3D%3D", ""), true),
        (2, page("", "nothing of anybody's"), false),
    ];
    let mut ledger = Ledger::default();
    ledger.know_address("127.1.0.10");
    ledger.keep(1, "Mk0001note".into());
    for (visitor, answer, is_leak) in cases {
        let before = ledger.leaks.len();
        ledger.look(visitor, "127.1.0.11", "/", &answer);
        if (ledger.leaks.len() > before) != is_leak {
            return Err(format!("visitor {visitor}: {answer:?} is a leak: {is_leak}"));
        }
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

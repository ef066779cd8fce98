//! Refusals: what one node found that strangers must not share, no other node shows them.
//!
//! A page, or a class of them, that was refused here is told to the others, and what they tell is
//! obeyed here: such pages leave memory and disk, one that is being made isn't kept, and none is
//! made until the refusal ends, as it would have on the node that found it. Refusals that pass by
//! themselves aren't told, nor those that follow from an address or from settings, which each
//! node knows. What is heard isn't told on; who begins is told what is remembered.
//! Invariant: nothing that is heard makes anything shareable that was not.
//! Bounds: [`RECENT_MAX`] for each site are remembered for who begins, [`TOLD_MAX`] are told in one
//! piece, each with [`WHY_BYTES_MAX`] of words.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use policy::SCHEMES;
use serde::{Deserialize, Serialize};
use store::Key;

use super::learned::LearnedTold;
use super::news::Told;
use crate::Server;
use crate::page::Page;
use crate::pipeline;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::brief::page_name;
use crate::strangers::classes::{Lasting, Noted};
use crate::strangers::refusal::Refusal;

/// Refusals of a site that who begins is told of.
const RECENT_MAX: usize = 512;
/// Refusals in one piece of news: with the longest addresses it stays below what one may be.
const TOLD_MAX: usize = 32;
/// Of why it was refused.
const WHY_BYTES_MAX: usize = 512;
/// Of an address; longer ones each node finds out about for itself.
const NAME_BYTES_MAX: usize = 8192;

/// What was refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refused {
    /// One page.
    Page { host: String, target: String },
    /// All pages whose addresses have this shape.
    Class(String),
}

/// A refusal, told.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RefusedTold {
    #[serde(flatten)]
    refused: Refused,
    why: String,
    /// For how long it holds.
    for_ms: u64,
    /// How often it was refused in a row: each time it holds for longer.
    times: u32,
}

/// What was refused of a site last, here or elsewhere.
#[derive(Default)]
pub(crate) struct Recent {
    refused: Mutex<VecDeque<Refused>>,
    /// Whether somebody asked for all of it. Where many begin at once they are told once.
    is_asked: AtomicBool,
}

impl Recent {
    fn note(&self, refused: Refused) {
        let mut all = self.refused.lock();
        all.retain(|known| *known != refused);
        if all.len() >= RECENT_MAX {
            all.pop_front();
        }
        all.push_back(refused);
    }

    fn all(&self) -> Vec<Refused> {
        self.refused.lock().iter().cloned().collect()
    }

    /// Somebody asks; [`Server::answer_who_asked`] answers soon.
    pub(super) fn ask(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
    }
}

impl Refused {
    fn bytes(&self) -> usize {
        match self {
            Self::Page { host, target } => host.len() + target.len(),
            Self::Class(class) => class.len(),
        }
    }

    /// The refusal of it that holds at this moment.
    fn lasting(&self, strangers: &Strangers, ticks_ms: u64) -> Option<Lasting> {
        match self {
            Self::Page { host, target } => {
                let page = pipeline::hash(&page_name(host, target));
                strangers.classes.lasting_of_page(page, ticks_ms)
            }
            Self::Class(class) => strangers.classes.lasting_of_class(class, ticks_ms),
        }
    }

    fn told(self, lasting: &Lasting) -> RefusedTold {
        let mut why = lasting.refusal.in_words();
        why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
        let Lasting { for_ms, times, .. } = *lasting;
        RefusedTold { refused: self, why, for_ms, times }
    }
}

impl Server {
    /// Tells the other nodes what was refused here.
    pub(crate) fn tell_refused(&self, site: &Site, host: &str, target: &str, noted: Noted) {
        if self.fellowship.is_none() {
            return;
        }
        let page = Refused::Page { host: host.to_owned(), target: target.to_owned() };
        let page = noted.page.map(|lasting| (page, lasting));
        let class = noted.class.map(|(name, lasting)| (Refused::Class(name), lasting));
        let is_to_be_told = |(refused, lasting): &(Refused, Lasting)| {
            lasting.refusal.is_for_all() && refused.bytes() <= NAME_BYTES_MAX
        };
        let told = page.into_iter().chain(class).filter(is_to_be_told);
        let told: Vec<_> = told
            .map(|(refused, lasting)| {
                if let Some(strangers) = &site.strangers {
                    strangers.recent.note(refused.clone());
                }
                refused.told(&lasting)
            })
            .collect();
        self.tell_all_refused(site, told);
    }

    /// Tells those who asked since the last time all that is remembered.
    pub(crate) fn answer_who_asked(&self) {
        for site in self.sites().each() {
            if let Some(strangers) = &site.strangers
                && strangers.recent.is_asked.swap(false, Ordering::SeqCst)
            {
                self.tell_refused_again(site, strangers);
            }
        }
    }

    fn tell_refused_again(&self, site: &Site, strangers: &Strangers) {
        let ticks_ms = self.clock.now().ticks_ms;
        let told = strangers.recent.all().into_iter().filter_map(|refused| {
            let lasting = refused.lasting(strangers, ticks_ms)?;
            lasting.refusal.is_for_all().then(|| refused.told(&lasting))
        });
        self.tell_all_refused(site, told.collect());
    }

    fn tell_all_refused(&self, site: &Site, told: Vec<RefusedTold>) {
        if told.is_empty() {
            return;
        }
        let piece = |refused: &[RefusedTold]| Told::Learned(LearnedTold::refused(refused.to_vec()));
        self.tell_fellows(site, || told.chunks(TOLD_MAX).map(piece).collect());
    }

    /// Another node refused it.
    pub(super) fn hear_refused(&self, site: &Site, strangers: &Strangers, told: &RefusedTold) {
        let RefusedTold { refused, why, for_ms, times } = told;
        if refused.bytes() > NAME_BYTES_MAX {
            return;
        }
        let why = &why[..why.floor_char_boundary(WHY_BYTES_MAX)];
        let lasting = Lasting {
            refusal: Arc::new(Refusal::Fellow(why.to_owned())),
            for_ms: *for_ms,
            times: *times,
        };
        let ticks_ms = self.clock.now().ticks_ms;
        // Remembered first: what is being made meanwhile is held against it once it is stored.
        match refused {
            Refused::Page { host, target } => {
                let page = pipeline::hash(&page_name(host, target));
                strangers.classes.hear_of_page(target, page, lasting, ticks_ms);
                for scheme in SCHEMES {
                    let ignored = &site.rules().key_ignores_query;
                    let mut text = Vec::new();
                    policy::write_key_without(&mut text, scheme, host, target, ignored);
                    let key = Key { hash: pipeline::hash(&text), text: &text };
                    self.remove_if(&key, Page::is_for_strangers);
                }
            }
            Refused::Class(class) => {
                if strangers.classes.hear_of_class(class, lasting, ticks_ms) {
                    self.withdraw_class(site, class);
                }
            }
        }
        strangers.recent.note(refused.clone());
        self.counters.refusals_heard.bump();
    }

    /// Takes all pages for strangers out of memory whose addresses have this shape. On the disk
    /// they are refused when they are asked for.
    fn withdraw_class(&self, site: &Site, class: &str) {
        let mut keys: Vec<(u64, Box<[u8]>)> = Vec::new();
        let sites = self.sites();
        self.store.for_each(|hash, text, page| {
            // The key is `scheme|host|target`.
            let text_of = std::str::from_utf8(text).ok().filter(|_| page.is_for_strangers());
            let mut parts = text_of.unwrap_or_default().splitn(3, '|').skip(1);
            let (Some(host), Some(target)) = (parts.next(), parts.next()) else { return };
            let is_own = sites.find(host).is_some_and(|found| std::ptr::eq(&**found, site));
            if is_own && policy::strangers::shape(target) == class {
                keys.push((hash, text.into()));
            }
        });
        for (hash, text) in &keys {
            self.remove_if(&Key { hash: *hash, text }, Page::is_for_strangers);
        }
    }
}

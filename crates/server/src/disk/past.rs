//! The past: what earlier runs told of a site, so that what was purged or written to then
//! stays so now.
//!
//! In: texts from the journal. Out: for each site a [`Book`] and the last content, which
//! [`crate::purge::generations::Generations::adopt`] takes in. What can't be understood
//! purges more, never less.

use std::collections::HashMap;

use policy::purge::{Mode, UrlPattern};
use serde::{Deserialize, Serialize};
use store::disk::Disk;

use crate::purge::book::{Ban, Banned, Book, MARKED_MAX};

/// Marks that one text of the journal tells of.
const MARKS_A_TEXT: usize = 4096;

/// Something that the next run has to know.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Event {
    /// A write; the site's content since.
    Wrote(u64),
    /// From here on changes were heard of, which aren't told here.
    Followed,
    /// By which rules pages are shared from here on, in a number.
    Rules(u64),
    /// A change that was heard of.
    Changed(u64),
    /// All of the site was purged.
    Whole { generation: u64, soft: bool },
    /// What bears one of these marks.
    Marked { generation: u64, soft: bool, marks: Vec<u64> },
    /// What this is found in.
    Banned { generation: u64, soft: bool, host: Option<String>, kind: Kind, text: String },
}

/// How a ban's text is meant.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) enum Kind {
    Exactly,
    Beginning,
    Pattern,
}

impl Event {
    pub(crate) fn whole(generation: u64, mode: Mode) -> Self {
        Self::Whole { generation, soft: mode == Mode::Soft }
    }

    pub(crate) fn banned(banned: &Banned) -> Self {
        let (kind, text) = match &banned.ban {
            Ban::Exactly(text) => (Kind::Exactly, text.clone()),
            Ban::Beginning(text) => (Kind::Beginning, text.clone()),
            Ban::Pattern(pattern) => (Kind::Pattern, pattern.as_str().to_owned()),
        };
        let (generation, soft) = (banned.generation, banned.mode == Mode::Soft);
        Self::Banned { generation, soft, host: banned.host.clone(), kind, text }
    }
}

/// Where one site's events go.
pub(crate) struct Ledger {
    disk: Disk,
    site: String,
}

impl Ledger {
    pub(crate) fn new(disk: Disk, site: String) -> Self {
        Self { disk, site }
    }

    pub(crate) fn tell(&self, event: &Event) {
        tell(&self.disk, &self.site, event);
    }
}

fn tell(disk: &Disk, site: &str, event: &Event) {
    // It is made of texts and numbers, so it can always be written.
    if let Ok(text) = serde_json::to_vec(&(site, event)) {
        disk.told(&text);
    }
}

/// One site's past.
#[derive(Default)]
pub(crate) struct Past {
    pub(crate) book: Book,
    /// The content since the last write.
    pub(crate) content: u64,
    /// Whether there may have been changes that were not told.
    pub(crate) was_followed: bool,
    rules: Option<u64>,
    /// The run that it is read in: all of it is less.
    run: u64,
}

impl Past {
    fn take_in(&mut self, event: Event) {
        let mode = |soft| if soft { Mode::Soft } else { Mode::Hard };
        match event {
            Event::Wrote(content) => self.content = self.content.max(content),
            Event::Followed => self.was_followed = true,
            Event::Rules(rules) => self.end_of_other_rules(rules),
            Event::Changed(generation) => self.book.changed = self.book.changed.max(generation),
            Event::Whole { generation, soft } => self.book.purge_all(generation, mode(soft)),
            Event::Marked { generation, soft, marks } => {
                self.book.purge_marked(generation, &marks, mode(soft), MARKED_MAX);
            }
            Event::Banned { generation, soft, host, kind, text } => {
                let ban = match kind {
                    Kind::Exactly => Some(Ban::Exactly(text)),
                    Kind::Beginning => Some(Ban::Beginning(text)),
                    Kind::Pattern => UrlPattern::read(&text).map(Ban::Pattern),
                };
                let mode = mode(soft);
                match ban {
                    Some(ban) => {
                        self.book.ban(Banned { generation, mode, host, ban });
                    }
                    None => self.book.purge_all(generation, mode),
                }
            }
        }
    }

    /// From here on pages are shared by these rules: what was shared by others is gone.
    pub(crate) fn end_of_other_rules(&mut self, rules: u64) {
        if self.rules.replace(rules).is_some_and(|before| before != rules) {
            self.book.purge_all(self.run, Mode::Hard);
        }
    }

    /// The events that tell all of it.
    fn events(&self) -> Vec<Event> {
        let book = &self.book;
        let mut events = vec![Event::Wrote(self.content), Event::Changed(book.changed)];
        events.extend(self.rules.map(Event::Rules));
        if self.was_followed {
            // What this run makes is told anew; of what was made before nothing is fresh.
            events.extend([Event::Wrote(self.run), Event::Changed(self.run)]);
        }
        for (generation, mode) in [(book.whole.hard, Mode::Hard), (book.whole.soft, Mode::Soft)] {
            if generation > 0 {
                events.push(Event::whole(generation, mode));
            }
        }
        let mut by_number: HashMap<(u64, bool), Vec<u64>> = HashMap::new();
        for (&mark, purged) in &book.marked {
            for (generation, soft) in [(purged.hard, false), (purged.soft, true)] {
                if generation > 0 {
                    by_number.entry((generation, soft)).or_default().push(mark);
                }
            }
        }
        for ((generation, soft), marks) in by_number {
            for marks in marks.chunks(MARKS_A_TEXT) {
                events.push(Event::Marked { generation, soft, marks: marks.to_vec() });
            }
        }
        events.extend(book.bans.iter().map(Event::banned));
        events
    }
}

/// The pasts of all sites.
#[derive(Default)]
pub(crate) struct Pasts {
    by_site: HashMap<String, Past>,
    run: u64,
}

impl Pasts {
    /// What these texts tell, read in this run. Who can't be understood may have purged
    /// anything: then nothing of any site is left.
    pub(crate) fn of(told: &[Vec<u8>], run: u64) -> Self {
        let mut pasts = Self { by_site: HashMap::new(), run };
        let mut is_understood = true;
        for text in told {
            match serde_json::from_slice::<(String, Event)>(text) {
                Ok((site, event)) => {
                    let new = || Past { run, ..Past::default() };
                    pasts.by_site.entry(site).or_insert_with(new).take_in(event);
                }
                Err(_) => is_understood = false,
            }
        }
        if !is_understood {
            let all = pasts.by_site.values_mut();
            all.for_each(|past| past.book.purge_all(run, Mode::Hard));
        }
        pasts
    }

    /// Forgets what was purged before all that is left.
    pub(crate) fn prune(&mut self, floor: u64) {
        for past in self.by_site.values_mut() {
            past.book.marked.retain(|_, purged| purged.hard.max(purged.soft) > floor);
            past.book.bans.retain(|banned| banned.generation > floor);
        }
    }

    /// Tells all of it again, in this run's journal.
    pub(crate) fn tell(&self, disk: &Disk) {
        for (site, past) in &self.by_site {
            past.events().iter().for_each(|event| tell(disk, site, event));
        }
    }

    /// The past of one site. One that nothing is known of has none: pages of its that lie
    /// there were stored by a run that told nothing, which is none.
    pub(crate) fn take(&mut self, site: &str) -> Past {
        let run = self.run;
        self.by_site.remove(site).unwrap_or_else(|| Past { run, ..Past::default() })
    }
}

/// The host of a key, if it is a page's.
pub(super) fn host_of_key(text: &[u8]) -> Option<&str> {
    let mut parts = text.splitn(3, |&byte| byte == b'|');
    let scheme = parts.next()?;
    let is_page = policy::SCHEMES.iter().any(|known| known.as_bytes() == scheme);
    let host = std::str::from_utf8(parts.next()?).ok()?;
    (is_page && parts.next().is_some_and(|rest| !rest.ends_with(crate::fetch::CREDENTIALS)))
        .then_some(host)
}

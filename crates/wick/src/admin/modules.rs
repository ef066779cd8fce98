//! Modules: the parts of Wick that may be on or off, each with its state and its figures.
//!
//! What they are made of is counted elsewhere. A module that comes later joins with one line of
//! [`TABLE`] and a function that tells how it is.
//! Start at [`look`].

use base::Count;
use serde::{Serialize, Serializer};
use server::Server;

use crate::auditing::AuditNow;

use super::now::{CodingNow, Now, SiteNow};

/// How a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    On,
    Off,
    /// It should be on, and isn't, or only in part.
    Trouble,
}

/// One module.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Module {
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// What there is to say about the state, in a sentence; empty: nothing.
    pub(crate) note: String,
    /// Numbers by their names, of which those in bytes say so.
    #[serde(serialize_with = "by_name")]
    pub(crate) figures: Vec<(&'static str, u64)>,
}

/// What modules are looked at in.
pub(crate) struct Sight<'a> {
    pub(crate) server: &'a Server,
    /// All that is known at this moment but the modules.
    pub(crate) now: &'a Now,
    /// On how many addresses HTTP/3 is listened for.
    pub(crate) http3_addresses: usize,
}

/// How a module is told: its state, what there is to say of it, and its figures.
type Told = (State, String, Vec<(&'static str, u64)>);

/// Tells how a module is.
type Teller = fn(&Sight<'_>) -> Told;

/// All of them, as they are shown.
const TABLE: &[(&str, Teller)] = &[
    ("Sharing with strangers", strangers),
    ("Change feeds", changes),
    ("Compression", compression),
    ("Disk tier", disk),
    ("HTTP/3", http3),
    ("Early hints", hints),
    ("Parts of pages (ESI)", parts),
    ("Help for apps", apps),
    ("Search", search),
    ("Audit", audit),
];

/// How every module is.
pub(crate) fn look(sight: &Sight<'_>) -> Vec<Module> {
    let each = TABLE.iter().map(|(name, tell)| {
        let (state, note, figures) = tell(sight);
        Module { name, state, note, figures }
    });
    each.collect()
}

fn off(note: &str) -> Told {
    (State::Off, note.to_owned(), Vec::new())
}

fn strangers(sight: &Sight<'_>) -> Told {
    let sites: Vec<&SiteNow> =
        sight.now.sites.iter().filter(|site| !site.strangers.is_empty()).collect();
    if sites.is_empty() {
        return off("no site shares pages with strangers");
    }
    let sum = |name| sites.iter().map(|site| number(&site.strangers, name)).sum();
    let figures = ["shared", "refused", "bound", "alarms"].map(|name| (name, sum(name)));
    (State::On, String::new(), [vec![("sites", sites.len() as u64)], figures.to_vec()].concat())
}

fn changes(sight: &Sight<'_>) -> Told {
    let followed = sight.now.sites.iter().filter(|site| site.is_followed.is_some());
    let followed: Vec<&SiteNow> = followed.collect();
    if followed.is_empty() {
        return off("no site names a database or a folder whose changes are heard");
    }
    let lost = followed.iter().filter(|site| site.is_followed == Some(false));
    let lost: Vec<&str> = lost.map(|site| site.name.as_str()).collect();
    let sum = |name| followed.iter().map(|site| number(&site.changes, name)).sum();
    let figures = ["heard", "noise", "sweeps", "restored"].map(|name| (name, sum(name)));
    let figures = [vec![("sites", followed.len() as u64)], figures.to_vec()].concat();
    match lost.is_empty() {
        true => (State::On, String::new(), figures),
        false => {
            (State::Trouble, format!("not heard of at the moment: {}", lost.join(", ")), figures)
        }
    }
}

fn compression(sight: &Sight<'_>) -> Told {
    if !sight.server.codes() {
        return off("every site leaves it to its origin");
    }
    let sum = |of: fn(&CodingNow) -> u64| sight.now.codings.iter().map(of).sum();
    let [before, after]: [u64; 2] = [sum(|one| one.before_bytes), sum(|one| one.after_bytes)];
    let put_off = number(&sight.now.counters, "codings_put_off");
    let saved = before.saturating_sub(after);
    (
        State::On,
        String::new(),
        vec![("before_bytes", before), ("saved_bytes", saved), ("put_off", put_off)],
    )
}

fn disk(sight: &Sight<'_>) -> Told {
    let Some(counts) = sight.server.disk_counts() else {
        return off("pages are kept in memory alone; disk = \"2G\" keeps them over a restart");
    };
    let (pages, bytes) = sight.server.disk_size();
    let figures = vec![
        ("pages", pages as u64),
        ("bytes", bytes),
        ("written", counts.written),
        ("read", counts.read),
        ("dropped", counts.dropped),
        ("damaged", counts.damaged),
        ("slices_kept", number(&sight.now.counters, "slices_kept")),
        ("reads_refused", sight.server.disk_reads_refused()),
    ];
    match counts.failed {
        0 => (State::On, String::new(), figures),
        _ => (State::Trouble, "it ended because of an error, which was told".to_owned(), figures),
    }
}

fn http3(sight: &Sight<'_>) -> Told {
    if sight.http3_addresses == 0 {
        return off("HTTPS isn't listened for, or http3 = false");
    }
    let figures = [("connections", "connections_http3"), ("addresses_asked", "addresses_asked")];
    (State::On, String::new(), counted(sight, &figures))
}

fn hints(sight: &Sight<'_>) -> Told {
    match number(&sight.now.counters, "hints_sent") {
        0 => off("no answer was announced yet: early_hints = true for a site has them sent"),
        _ => {
            let figures = [("sent", "hints_sent"), ("left_out", "hints_left_out")];
            (State::On, String::new(), counted(sight, &figures))
        }
    }
}

fn parts(sight: &Sight<'_>) -> Told {
    let figures = [
        ("pages", "esi_pages"),
        ("parts", "esi_parts"),
        ("at_hand", "esi_parts_at_hand"),
        ("private", "esi_parts_private"),
        ("failed", "esi_parts_failed"),
    ];
    (State::On, "for pages that ask for it".to_owned(), counted(sight, &figures))
}

fn apps(sight: &Sight<'_>) -> Told {
    let figures = [
        ("requests", "app_requests"),
        ("texts_rendered", "app_texts_rendered"),
        ("texts_kept", "app_texts_kept"),
        ("blocks_filled", "app_blocks_filled"),
        ("values_found", "app_objects_found"),
        ("values_missed", "app_objects_missed"),
    ];
    let (things, bytes) = sight.server.app_size();
    let size = vec![("kept", things as u64), ("bytes", bytes as u64)];
    (State::On, "for PHP in a folder".to_owned(), [counted(sight, &figures), size].concat())
}

fn search(sight: &Sight<'_>) -> Told {
    let searches = &sight.now.searches;
    if searches.is_empty() {
        return off("no site is searched; search = true for one finds its public pages");
    }
    let sum = |name| searches.iter().map(|one| number(&one.counters, name)).sum();
    let figures = [
        ("sites", searches.len() as u64),
        ("pages", searches.iter().filter_map(|one| one.pages).sum()),
        ("searches", sum("searches")),
        ("confirmations", sum("confirmations")),
        ("shed", sum("events_shed")),
    ];
    match searches.iter().all(|one| one.pages.is_some()) {
        true => (State::On, String::new(), figures.to_vec()),
        false => (State::Trouble, "an index isn't open yet".to_owned(), figures.to_vec()),
    }
}

fn audit(sight: &Sight<'_>) -> Told {
    let audits = &sight.now.audits;
    if audits.is_empty() {
        return off("no site's pages are audited; audit = true for one judges what is stored");
    }
    let sum = |name| audits.iter().map(|one| number(&one.counters, name)).sum();
    let stands = |of: fn(&AuditNow) -> i64| {
        u64::try_from(audits.iter().map(of).sum::<i64>()).unwrap_or_default()
    };
    let figures = vec![
        ("sites", audits.len() as u64),
        ("pages", stands(|one| one.pages)),
        ("errors", stands(|one| one.errors)),
        ("warnings", stands(|one| one.warnings)),
        ("notices", stands(|one| one.notices)),
        ("judged", sum("pages_judged")),
        ("shed", sum("pages_shed")),
    ];
    match sum("writes_failed") {
        0 => (State::On, "wick audit status tells which".to_owned(), figures),
        _ => (State::Trouble, "findings can't be written, which was told".to_owned(), figures),
    }
}

/// Counters under shorter names.
fn counted(sight: &Sight<'_>, names: &[(&'static str, &str)]) -> Vec<(&'static str, u64)> {
    let counters = &sight.now.counters;
    names.iter().map(|(name, counter)| (*name, number(counters, counter))).collect()
}

/// A counter by its name; 0 for one that isn't there.
fn number(counts: &[Count], name: &str) -> u64 {
    counts.iter().find(|count| count.name == name).map_or(0, |count| count.number)
}

fn by_name<S: Serializer>(
    figures: &[(&'static str, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(figures.iter().copied())
}

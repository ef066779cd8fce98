//! Where time goes that PHP and databases take: what each site's slow log says, read as it
//! grows, and what its databases have counted of statements since they were first asked.
//!
//! Invariants: 1. a log is emptied before it is large. 2. what was added up is bounded by
//! [`observe::profile`].

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use changes::{Lost, Statement};
use observe::profile::{Found, SlowLog};
use serde::Serialize;

/// Bytes of a log at which it is emptied, and that are read at a look.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// Of one site's places those at which so many of a hundred requests were are told as findings.
const SHARE: u64 = 10;
const REQUESTS_MIN: u64 = 5;

/// What is said beside these numbers wherever they are told.
const NOTE: &str = "samples of slow requests alone: one for each request that took as long as \
                    php_slow, at the moment when it had";

/// What was read, by the name of the site.
#[derive(Debug, Default)]
pub(crate) struct Profile(Mutex<BTreeMap<String, SlowLog>>, Mutex<BTreeMap<String, Databases>>);

/// What is known of a site's databases, by their names.
type Databases = BTreeMap<String, Counted>;

/// What one has counted: at first, and since.
#[derive(Debug, Default)]
struct Counted {
    first: Option<BTreeMap<String, (u64, u64)>>,
    since: Vec<ToldStatement>,
    /// Why nothing is known, in its own words; empty: it is.
    lost: String,
}

#[derive(Clone, Debug, Serialize)]
struct ToldStatement {
    statement: String,
    calls: u64,
    took_us: u64,
}

#[derive(Debug, Serialize)]
struct ToldDatabase {
    site: String,
    database: String,
    lost: String,
    statements: Vec<ToldStatement>,
}

/// What `/api/profile` tells.
#[derive(Debug, Serialize)]
pub(crate) struct ToldProfile {
    note: &'static str,
    sites: Vec<ToldSite>,
    /// Counts since Wick first asked.
    databases: Vec<ToldDatabase>,
}

#[derive(Debug, Serialize)]
struct ToldSite {
    site: String,
    requests: u64,
    /// Requests at places for which there was no room.
    elsewhere: u64,
    places: Vec<Found>,
}

/// A place where many of a site's slow requests were.
#[derive(Debug)]
pub(crate) struct SlowFinding {
    pub(crate) id: String,
    pub(crate) site: String,
    pub(crate) evidence: String,
    pub(crate) fix: String,
}

impl Profile {
    fn sites(&self) -> MutexGuard<'_, BTreeMap<String, SlowLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets sites that there are no more.
    pub(crate) fn keep(&self, is_kept: impl Fn(&str) -> bool) {
        self.sites().retain(|site, _| is_kept(site));
        self.databases().retain(|site, _| is_kept(site));
    }

    fn databases(&self) -> MutexGuard<'_, BTreeMap<String, Databases>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A database of a site has told its counts, or why it doesn't.
    pub(crate) fn count(&self, site: &str, database: &str, told: Result<Vec<Statement>, Lost>) {
        let mut sites = self.databases();
        let counted = sites.entry(site.to_owned()).or_default();
        let counted = counted.entry(database.to_owned()).or_default();
        let all = match told {
            Ok(all) => all,
            Err(lost) => return counted.lost = lost.to_string(),
        };
        counted.lost.clear();
        let as_now = || all.iter().map(|it| (it.text.clone(), (it.calls, it.took_us))).collect();
        let first = counted.first.get_or_insert_with(as_now);
        let each = all.into_iter().filter_map(|Statement { text, calls, took_us }| {
            // One that counts less than before counts anew: its server was started again.
            let &(calls_then, took_then) =
                first.get(&text).filter(|(then, _)| *then <= calls).unwrap_or(&(0, 0));
            let (calls, took_us) = (calls - calls_then, took_us.saturating_sub(took_then));
            (calls > 0).then_some(ToldStatement { statement: text, calls, took_us })
        });
        counted.since = each.collect();
        counted.since.sort_by_key(|told| std::cmp::Reverse(told.took_us));
    }

    pub(crate) fn told(&self) -> ToldProfile {
        let sites = self.sites();
        let each = sites.iter().map(|(site, log)| ToldSite {
            site: site.clone(),
            requests: log.requests(),
            elsewhere: log.elsewhere(),
            places: log.found(),
        });
        let told = ToldProfile { note: NOTE, sites: each.collect(), databases: Vec::new() };
        drop(sites);
        let databases = self.databases();
        let each = databases.iter().flat_map(|(site, all)| {
            all.iter().map(|(database, counted)| ToldDatabase {
                site: site.clone(),
                database: database.clone(),
                lost: counted.lost.clone(),
                statements: counted.since.clone(),
            })
        });
        ToldProfile { databases: each.collect(), ..told }
    }

    /// Places where many were.
    pub(crate) fn findings(&self) -> Vec<SlowFinding> {
        let sites = self.sites();
        let each = sites.iter().flat_map(|(site, log)| {
            let all = log.requests();
            let many = move |found: &Found| {
                found.requests >= REQUESTS_MIN && found.requests * 100 >= all * SHARE
            };
            log.found().into_iter().filter(many).map(move |found| finding(site, all, &found))
        });
        each.collect()
    }
}

fn finding(site: &str, all: u64, found: &Found) -> SlowFinding {
    let Found { place, requests } = found;
    let within = match place.within.as_str() {
        "" => String::new(),
        within => format!(", in {within}"),
    };
    SlowFinding {
        id: format!("slow {} {} {site}", place.function, place.at),
        site: site.to_owned(),
        evidence: format!(
            "{requests} of {all} requests that took as long as php_slow were in {} at {}{within}, \
             for {}; samples of slow requests alone",
            place.function, place.at, place.script
        ),
        fix: format!("see what {} waits for there", place.function),
    }
}

/// One site's log.
pub(crate) struct SlowLogFile {
    path: PathBuf,
    site: String,
    profile: Arc<Profile>,
    position: u64,
}

impl SlowLogFile {
    pub(crate) fn new(path: PathBuf, site: &str, profile: Arc<Profile>) -> Self {
        let site = site.to_owned();
        // One that was read before, of the same site, goes on; what lies there is its own.
        let position = File::open(&path).and_then(|file| file.metadata()).map_or(0, |it| it.len());
        let is_known = profile.sites().contains_key(&site);
        profile.sites().entry(site.clone()).or_default();
        Self { path, site, profile, position: if is_known { position } else { 0 } }
    }

    /// Reads what has come since the last look; a log that can't be read is looked at again.
    pub(crate) fn look(&mut self) {
        let Ok(text) = self.grown() else { return };
        let mut sites = self.profile.sites();
        let log = sites.entry(self.site.clone()).or_default();
        match text.is_empty() {
            true => log.settle(),
            false => log.read(&text),
        }
    }

    fn grown(&mut self) -> io::Result<String> {
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        let length = file.metadata()?.len();
        if length < self.position {
            self.position = 0;
        }
        let mut bytes = vec![0; (length - self.position).min(LOG_BYTES_MAX) as usize];
        file.read_exact_at(&mut bytes, self.position)?;
        self.position += bytes.len() as u64;
        if self.position >= LOG_BYTES_MAX && self.position == length {
            // php-fpm appends, wherever the end is.
            file.set_len(0)?;
            self.position = 0;
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn statements_count_from_when_they_were_first_asked_for() {
        let profile = Profile::default();
        let tell = |calls: &[(&str, u64)]| {
            let all = calls.iter().map(|&(text, calls)| Statement {
                text: text.to_owned(),
                calls,
                took_us: calls * 10,
            });
            profile.count("forum", "db", Ok(all.collect()));
            let told = profile.told().databases.remove(0).statements;
            let each = told.into_iter().map(|it| format!("{} {}", it.statement, it.calls));
            each.collect::<Vec<_>>()
        };
        assert!(tell(&[("a", 100), ("b", 5)]).is_empty());
        assert_eq!(tell(&[("a", 103), ("b", 5), ("c", 9)]), ["c 9", "a 3"]);
        assert_eq!(tell(&[("a", 2)]), ["a 2"], "it was started again");
        profile.count("forum", "db", Err(Lost::Silent));
        assert_eq!(profile.told().databases[0].lost, "the database has gone silent");
        profile.keep(|_| false);
        assert!(profile.told().databases.is_empty());
    }

    #[test]
    fn a_log_is_read_as_it_grows_and_emptied_before_it_is_large() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("slow.log");
        let profile = Arc::<Profile>::default();
        let mut log = SlowLogFile::new(path.clone(), "forum", profile.clone());
        log.look();
        let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("a log");
        let entry = "\n[x]  [pool w] pid 1\nscript_filename = /i.php\n[0x1] sleep() /i.php:3\n";
        for requests in 1..=6 {
            file.write_all(entry.as_bytes()).expect("room");
            log.look();
            log.look();
            assert_eq!(profile.told().sites[0].requests, requests);
        }
        let findings = profile.findings();
        let expected = "6 of 6 requests that took as long as php_slow were in sleep() at /i.php:3, \
                        for /i.php; samples of slow requests alone";
        assert_eq!(findings[0].evidence, expected);
        let many = entry.repeat(LOG_BYTES_MAX as usize / entry.len() + 1);
        file.write_all(many.as_bytes()).expect("room");
        (0..4).for_each(|_| log.look());
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 0);
        let all = profile.told().sites[0].requests;
        file.write_all(entry.as_bytes()).expect("room");
        log.look();
        log.look();
        assert_eq!(profile.told().sites[0].requests, all + 1);
        let again = SlowLogFile::new(path, "forum", profile.clone());
        assert!(again.position > 0, "after a reload nothing is read twice");
        profile.keep(|site| site != "forum");
        assert!(profile.told().sites.is_empty());
    }
}

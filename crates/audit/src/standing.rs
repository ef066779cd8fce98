//! What stands against the pages that a server keeps for everybody, at this moment.
//!
//! In: a page as it is stored, [`judged`] when its text is another than before. Out: what is
//! wrong now and since when, and what was mended ([`Standing::report`]). One SQLite file for each
//! site, written by the server and read by whoever wants to know.
//! Invariants: 1. a page is there once, with what its newest text breaks. 2. at most [`PAGES_MAX`]
//! pages, [`PAGE_FINDINGS_MAX`] findings of each and [`FIXED_MAX`] that were mended; the page that
//! wasn't stored for the longest time gives way.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, params};
use url::Url;
use wire::{Fields, Name};
use xxhash_rust::xxh3::Xxh3;

use crate::book::BookError;
use crate::errand;
use crate::fetch::Answer;
use crate::finding::{Finding, Place, Severity};
use crate::kind::Tests;
use crate::report::{Grouped, Report, SiteReport, route};

const PAGES_MAX: i64 = 5_000;
/// The worst of a page.
const PAGE_FINDINGS_MAX: usize = 50;
const FIXED_MAX: i64 = 1_000;
/// Pages that are named of one group.
const EXAMPLES_MAX: usize = 3;
/// What wasn't stored for so long is forgotten.
const FORGET_SECONDS: i64 = 30 * 24 * 3_600;
/// How long is waited for who reads or writes at that moment.
const BUSY: Duration = Duration::from_secs(2);
/// Pages of SQLite's in memory, in KiB.
const CACHE_KIB: i64 = 512;
/// What a change of the tables counts up; a file of another form begins anew.
const FORM: i64 = 1;

const TABLES: &str = "
create table if not exists site (name text not null);
create table if not exists page (
    id integer primary key, url text not null unique, sum integer not null,
    seen integer not null);
create index if not exists page_seen on page (seen);
create table if not exists finding (
    page integer not null, mark integer not null, rule text not null, severity text not null,
    line integer not null, col integer not null, message text not null, since integer not null,
    primary key (page, mark)) without rowid;
create table if not exists fixed (
    id integer primary key, rule text not null, severity text not null, url text not null,
    message text not null, at integer not null);
";

/// Rules that say nothing of a page which is kept and sent by the server that asks: it was
/// stored without its coding, and for everybody.
fn is_of_the_way(rule: &str) -> bool {
    rule.starts_with("cache-") || rule == "weight-uncoded"
}

/// What a page breaks, by the tests that need no other page.
#[must_use]
pub fn judged(url: &Url, fields: &Fields, body: &Bytes) -> Vec<Finding> {
    let answer = Answer {
        status: 200,
        fields: fields.clone(),
        body: body.to_vec(),
        sent_bytes: body.len() as u64,
        ..Answer::default()
    };
    let mut findings = errand::examined(url, &answer, Tests::ALL).findings;
    findings.retain(|finding| !is_of_the_way(&finding.rule));
    findings.truncate(PAGE_FINDINGS_MAX);
    findings
}

/// The sum of all that [`judged`] looks at: the same sum is the same judgement.
#[must_use]
pub fn sum_of(fields: &Fields, body: &Bytes) -> i64 {
    let mut sum = Xxh3::new();
    // Another version may have other tests.
    sum.update(env!("CARGO_PKG_VERSION").as_bytes());
    for name in [
        Name::ContentType.as_str(),
        "x-content-type-options",
        "content-security-policy",
        "referrer-policy",
        "x-frame-options",
        "strict-transport-security",
    ] {
        fields.all_named(name).for_each(|line| sum.update(line));
        sum.update(b"\n");
    }
    sum.update(body);
    sum.digest().cast_signed()
}

/// What changed by a page's judgement: how many more there are of each severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages.
    pub pages: i64,
    /// Errors, warnings and notices.
    pub findings: [i64; 3],
}

/// What stands against a site's pages.
pub struct Standing {
    connection: Connection,
}

impl Standing {
    /// Opens the file of a site, or begins it.
    ///
    /// # Errors
    /// It can't be.
    pub fn open(path: &Path, site: &str) -> Result<Self, BookError> {
        let folder = path.parent().unwrap_or(path);
        std::fs::create_dir_all(folder)
            .map_err(|error| BookError::Folder(folder.to_owned(), error))?;
        Self::connect(path, site).map_err(|error| BookError::Broken(path.to_owned(), error))
    }

    fn connect(path: &Path, site: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let form: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if form != FORM {
            for table in ["site", "page", "finding", "fixed"] {
                connection.execute_batch(&format!("drop table if exists {table};"))?;
            }
            connection.pragma_update(None, "user_version", FORM)?;
        }
        connection.execute_batch(TABLES)?;
        let named = "insert into site select ? where not exists (select * from site)";
        connection.execute(named, [site])?;
        Ok(Self { connection })
    }

    /// Opens a file to be read alone.
    ///
    /// # Errors
    /// It isn't there, or can't be read.
    pub fn read(path: &Path) -> Result<Self, BookError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
            connection.busy_timeout(BUSY)?;
            Ok(Self { connection })
        });
        opened.map_err(|error| BookError::Broken(path.to_owned(), error))
    }

    /// Whether a page was judged with this text; it is noted that it is still there.
    ///
    /// # Errors
    /// SQLite's.
    pub fn knows(&self, url: &str, sum: i64, unix: i64) -> Result<bool, BookError> {
        let sql = "update page set seen = ? where url = ? and sum = ?";
        let mut known = self.connection.prepare(sql)?;
        Ok(known.execute(params![unix, url, sum])? > 0)
    }

    /// Writes down what a page breaks now; what changed by that.
    ///
    /// # Errors
    /// SQLite's.
    pub fn put(
        &mut self,
        url: &str,
        sum: i64,
        findings: &[Finding],
        unix: i64,
    ) -> Result<Counts, BookError> {
        let mut more = Counts::default();
        let begun = self.connection.transaction()?;
        replace(&begun, url, sum, findings, unix, &mut more)?;
        bound(&begun, unix, &mut more)?;
        begun.commit()?;
        Ok(more)
    }

    /// How many there are.
    ///
    /// # Errors
    /// SQLite's.
    pub fn counts(&self) -> Result<Counts, BookError> {
        let mut counts = Counts::default();
        let pages = "select count(*) from page";
        counts.pages = self.connection.prepare(pages)?.query_row([], |row| row.get(0))?;
        let by_severity = "select severity, count(*) from finding group by severity";
        let mut by_severity = self.connection.prepare(by_severity)?;
        let mut rows = by_severity.query([])?;
        while let Some(row) = rows.next()? {
            counts.findings[severity(row, 0)? as usize] += row.get::<_, i64>(1)?;
        }
        Ok(counts)
    }

    /// All of it as a report; new is what was found, and fixed what was mended, since then.
    ///
    /// # Errors
    /// SQLite's.
    pub fn report(&self, since: i64) -> Result<SiteReport, BookError> {
        let site = "select name from site";
        let site: Option<String> =
            self.connection.query_row(site, [], |row| row.get(0)).optional()?;
        let site = site.unwrap_or_default();
        let mut report = SiteReport { site, is_whole: true, ..SiteReport::default() };
        let counts = self.counts()?;
        report.pages = usize::try_from(counts.pages).unwrap_or_default();
        report.answered = report.pages;
        let mut all = self.connection.prepare(
            "select rule, severity, url, message, line, col, since from finding \
             join page on page.id = finding.page",
        )?;
        let rows = all.query_map([], |row| {
            let place = Place { line: number(row, 4)?, column: number(row, 5)? };
            let is_new = row.get::<_, i64>(6)? >= since;
            Ok(Grouped { finding: Finding { place, ..found(row)? }, is_new })
        })?;
        report.findings = rows.collect::<rusqlite::Result<_>>()?;
        report.findings.sort_by(|one, other| one.finding.cmp(&other.finding));
        let mut fixed = self
            .connection
            .prepare("select rule, severity, url, message from fixed where at >= ? order by id")?;
        let rows = fixed.query_map([since], found)?;
        report.fixed = rows.collect::<rusqlite::Result<_>>()?;
        Ok(report)
    }
}

/// What breaks one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCount {
    /// Its id.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// Findings.
    pub count: i64,
    /// Pages with one.
    pub pages: i64,
    /// New ones.
    pub new: i64,
    /// A page with one.
    pub example: String,
}

/// What breaks one rule on pages of one route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteCount {
    /// The rule's id.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// The route: a page's address without what tells it from others of its kind.
    pub route: String,
    /// Findings.
    pub count: i64,
    /// Pages with one.
    pub pages: i64,
    /// New ones.
    pub new: i64,
    /// A few of the pages.
    pub examples: Vec<String>,
}

impl Standing {
    /// What stands against the site rule by rule, the worst first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn rules(&self, since: i64) -> Result<Vec<RuleCount>, BookError> {
        let mut all = self.connection.prepare(
            "select rule, severity, found, pages, new, url from (select rule, severity, \
             count(*) found, count(distinct page) pages, sum(since >= ?) new, min(page) first \
             from finding group by rule, severity) join page on page.id = first",
        )?;
        let rows = all.query_map([since], |row| {
            Ok(RuleCount {
                rule: row.get(0)?,
                severity: severity(row, 1)?,
                count: row.get(2)?,
                pages: row.get(3)?,
                new: row.get(4)?,
                example: row.get(5)?,
            })
        })?;
        let mut rules: Vec<RuleCount> = rows.collect::<rusqlite::Result<_>>()?;
        rules.sort_by_key(|one| (one.severity, std::cmp::Reverse(one.pages)));
        Ok(rules)
    }

    /// What stands against the site by rule and route, the worst first, and of equals what is on
    /// most pages.
    ///
    /// # Errors
    /// SQLite's.
    pub fn groups(&self, since: i64) -> Result<Vec<RouteCount>, BookError> {
        let mut all = self.connection.prepare(
            "select url, rule, severity, count(*), sum(since >= ?) from finding \
             join page on page.id = finding.page group by page.id, rule, severity order by url",
        )?;
        let mut rows = all.query([since])?;
        let mut groups: HashMap<(String, Severity, String), RouteCount> = HashMap::new();
        while let Some(row) = rows.next()? {
            let (url, rule): (String, String) = (row.get(0)?, row.get(1)?);
            let (severity, route) = (severity(row, 2)?, route(&url));
            let none = || RouteCount {
                rule: rule.clone(),
                severity,
                route: route.clone(),
                count: 0,
                pages: 0,
                new: 0,
                examples: Vec::new(),
            };
            let group = groups.entry((rule.clone(), severity, route.clone())).or_insert_with(none);
            group.count += row.get::<_, i64>(3)?;
            group.new += row.get::<_, i64>(4)?;
            group.pages += 1;
            if group.examples.len() < EXAMPLES_MAX {
                group.examples.push(url);
            }
        }
        let mut groups: Vec<RouteCount> = groups.into_values().collect();
        groups.sort_by(|one, other| {
            let key = |it: &RouteCount| (it.severity, std::cmp::Reverse(it.pages));
            let name = |it: &RouteCount| (it.rule.clone(), it.route.clone());
            key(one).cmp(&key(other)).then_with(|| name(one).cmp(&name(other)))
        });
        Ok(groups)
    }

    /// How many were mended since then.
    ///
    /// # Errors
    /// SQLite's.
    pub fn fixed(&self, since: i64) -> Result<i64, BookError> {
        let fixed = "select count(*) from fixed where at >= ?";
        Ok(self.connection.query_row(fixed, [since], |row| row.get(0))?)
    }
}

/// A report of several sites' standings.
#[must_use]
pub fn standing_report(sites: Vec<SiteReport>) -> Report {
    Report::of(sites)
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}

fn severity(row: &Row<'_>, at: usize) -> rusqlite::Result<Severity> {
    let text = row.get_ref(at)?.as_str()?;
    Ok(Severity::read(text).unwrap_or(Severity::Notice))
}

fn found(row: &Row<'_>) -> rusqlite::Result<Finding> {
    Ok(Finding {
        rule: row.get(0)?,
        severity: severity(row, 1)?,
        url: row.get(2)?,
        message: row.get(3)?,
        place: Place::default(),
    })
}

/// Puts what a page breaks now in the place of what it broke before.
fn replace(
    begun: &Transaction<'_>,
    url: &str,
    sum: i64,
    findings: &[Finding],
    unix: i64,
    more: &mut Counts,
) -> rusqlite::Result<()> {
    let known = "select id from page where url = ?";
    let known: Option<i64> = begun.prepare(known)?.query_row([url], |row| row.get(0)).optional()?;
    more.pages += i64::from(known.is_none());
    let put = "insert into page (id, url, sum, seen) values (?, ?, ?, ?) \
               on conflict (url) do update set sum = excluded.sum, seen = excluded.seen";
    begun.prepare(put)?.execute(params![known, url, sum, unix])?;
    let page = known.unwrap_or_else(|| begun.last_insert_rowid());
    let mut before = begun.prepare("select mark, since from finding where page = ?")?;
    let before: HashMap<i64, i64> = before
        .query_map([page], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let now: HashMap<i64, &Finding> =
        findings.iter().map(|finding| (finding.mark().cast_signed(), finding)).collect();
    let mut mended = begun.prepare(
        "insert into fixed (rule, severity, url, message, at) \
         select rule, severity, ?, message, ? from finding where page = ? and mark = ?",
    )?;
    for mark in before.keys().filter(|mark| !now.contains_key(mark)) {
        mended.execute(params![url, unix, page, mark])?;
    }
    take_out(begun, page, more)?;
    let mut put = begun.prepare("insert into finding values (?, ?, ?, ?, ?, ?, ?, ?)")?;
    for (mark, finding) in now {
        more.findings[finding.severity as usize] += 1;
        put.execute(params![
            page,
            mark,
            finding.rule,
            finding.severity.as_str(),
            finding.place.line as i64,
            finding.place.column as i64,
            finding.message,
            before.get(&mark).copied().unwrap_or(unix)
        ])?;
    }
    Ok(())
}

/// Takes out all that is told of a page.
fn take_out(begun: &Transaction<'_>, page: i64, more: &mut Counts) -> rusqlite::Result<()> {
    let gone = "delete from finding where page = ? returning severity";
    let mut gone = begun.prepare(gone)?;
    let mut rows = gone.query([page])?;
    while let Some(row) = rows.next()? {
        more.findings[severity(row, 0)? as usize] -= 1;
    }
    Ok(())
}

/// Forgets what is too much, or too old.
fn bound(begun: &Transaction<'_>, unix: i64, more: &mut Counts) -> rusqlite::Result<()> {
    let pages = "select count(*) from page";
    let pages: i64 = begun.prepare(pages)?.query_row([], |row| row.get(0))?;
    let oldest = "select id, seen from page order by seen, id limit 1";
    let oldest: Option<(i64, i64)> =
        begun.prepare(oldest)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    // Each page that comes takes one away at most: so there are never too many.
    if let Some((id, seen)) = oldest
        && (pages > PAGES_MAX || seen < unix - FORGET_SECONDS)
    {
        take_out(begun, id, more)?;
        begun.prepare("delete from page where id = ?")?.execute([id])?;
        more.pages -= 1;
    }
    let fixed = "delete from fixed where id <= (select max(id) from fixed) - ?";
    begun.prepare(fixed)?.execute([FIXED_MAX])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_790_000_000;

    fn page(body: &str) -> (Fields, Bytes) {
        let fields = "content-type: text/html; charset=utf-8\nx-content-type-options: nosniff\n\
                      content-security-policy: default-src 'self'; frame-ancestors 'self'\ncache-control: private";
        let body = format!(
            "<!doctype html><html lang=en><head><title>A</title><meta name=description content=A>\
             </head><body><main><h1>A</h1>{body}</main>{}",
            " ".repeat(2_000)
        );
        (Fields::parse(fields.as_bytes()).unwrap(), body.into())
    }

    fn told(body: &str) -> Vec<Finding> {
        let (fields, body) = page(body);
        judged(&Url::parse("http://a.test/").unwrap(), &fields, &body)
    }

    #[test]
    fn what_a_page_breaks_is_known_from_its_storing_until_it_is_mended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit/a.sqlite");
        let mut standing = Standing::open(&path, "a").unwrap();
        assert_eq!(told("<p>well"), [], "what caches do with it is ours to know");
        let [image] = &told("<img src=a alt='' width=1>")[..] else { panic!("one is told") };
        let (fields, body) = page("<img src=a alt='' width=1>");
        let sum = sum_of(&fields, &body);
        assert!(!standing.knows("http://a.test/", sum, NOW).unwrap());
        let both = [image.clone(), Finding { message: "another".to_owned(), ..image.clone() }];
        let more = standing.put("http://a.test/", sum, &both[..1], NOW).unwrap();
        assert_eq!(more, Counts { pages: 1, findings: [0, 1, 0] });
        assert!(standing.knows("http://a.test/", sum, NOW + 1).unwrap());
        let more = standing.put("http://a.test/", 7, &both, NOW + 100).unwrap();
        assert_eq!(more, Counts { pages: 0, findings: [0, 1, 0] });
        let reader = Standing::read(&path).unwrap();
        let report = reader.report(NOW + 50).unwrap();
        let news: Vec<_> =
            report.findings.iter().map(|one| (&*one.finding.message, one.is_new)).collect();
        assert_eq!(news, [("a has no width and height", false), ("another", true)]);
        assert!(report.fixed.is_empty() && report.pages == 1 && report.site == "a");
        let rules = reader.rules(NOW + 50).unwrap();
        let [rule] = &rules[..] else { panic!("{rules:?}") };
        assert_eq!((&*rule.rule, rule.count, rule.pages, rule.new), ("image-size", 2, 1, 1));
        assert_eq!((&*rule.example, reader.fixed(0).unwrap()), ("http://a.test/", 0));
        let groups = reader.groups(NOW + 50).unwrap();
        let [group] = &groups[..] else { panic!("{groups:?}") };
        assert_eq!((&*group.route, group.count, group.pages, group.new), ("/", 2, 1, 1));
        assert_eq!(group.examples, ["http://a.test/"]);
        drop(standing);
        let mut standing = Standing::open(&path, "a").unwrap();
        let more = standing.put("http://a.test/", 8, &[], NOW + 200).unwrap();
        assert_eq!(more.findings, [0, -2, 0]);
        let report = reader.report(NOW + 200).unwrap();
        assert_eq!((report.findings.len(), report.fixed.len()), (0, 2));
        assert_eq!(report.fixed[0].url, "http://a.test/");
        assert!(reader.report(NOW + 201).unwrap().fixed.is_empty());
    }

    #[test]
    fn pages_and_what_was_mended_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut standing = Standing::open(&folder.path().join("a.sqlite"), "a").unwrap();
        let finding = told("<img src=a alt='' width=1>").remove(0);
        let begun = standing.connection.unchecked_transaction().unwrap();
        for at in 0..PAGES_MAX {
            let url = format!("http://a.test/{at}");
            let finding = Finding { url: url.clone(), ..finding.clone() };
            replace(&begun, &url, 1, &[finding], NOW + at, &mut Counts::default()).unwrap();
        }
        begun.commit().unwrap();
        let full = standing.counts().unwrap();
        let more = standing.put("http://a.test/x", 1, &[], NOW + PAGES_MAX).unwrap();
        assert_eq!((full.pages, more.pages), (PAGES_MAX, 0));
        assert_eq!(more.findings, [0, -1, 0], "the one that was stored first is forgotten");
        assert!(!standing.knows("http://a.test/0", 1, NOW).unwrap());
        let late = NOW + PAGES_MAX + FORGET_SECONDS;
        assert_eq!(standing.put("http://a.test/x", 2, &[], late).unwrap().pages, -1);
        let begun = standing.connection.unchecked_transaction().unwrap();
        for at in 2..FIXED_MAX + 10 {
            let url = format!("http://a.test/{at}");
            replace(&begun, &url, 3, &[], late, &mut Counts::default()).unwrap();
        }
        bound(&begun, NOW, &mut Counts::default()).unwrap();
        begun.commit().unwrap();
        let report = standing.report(0).unwrap();
        assert_eq!(report.fixed.len(), usize::try_from(FIXED_MAX).unwrap());
        assert!(report.fixed.last().unwrap().url.ends_with(&format!("/{}", FIXED_MAX + 9)));
    }
}

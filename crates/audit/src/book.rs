//! The book of one site: which addresses are known, what was found, and what the last run found.
//!
//! One SQLite file for each site. Each answer is written with all that came of it in one
//! transaction, so that a process that is killed loses only what it was fetching.
//! Invariants: 1. an address is asked for once a run. 2. two runs never write one book: the
//! second is told so.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Statement, params};

use crate::finding::{Finding, Place, Severity};
use crate::page::{Facts, Link, LinkKind};

/// What a change of the tables counts up; a book of another form begins anew.
const FORM: i64 = 1;

/// Places of one address on another site that are looked for.
const FRAGMENTS_MAX: usize = 1_000;

const TABLES: &str = "
create table if not exists meta (name text primary key, value text not null) without rowid;
create table if not exists address (
    id integer primary key, url text not null unique, kind text not null, depth integer not null,
    source text not null, state text not null, why text not null default '',
    tries integer not null default 0, status integer not null default 0,
    location text not null default '', facts text not null default '',
    took integer not null default 0);
create index if not exists waiting on address (state, depth, id);
create table if not exists link (
    page integer not null, target integer not null, fragment text not null, kind text not null,
    line integer not null, primary key (page, target, fragment, kind)) without rowid;
create table if not exists finding (
    page integer not null, rule text not null, severity text not null, url text not null,
    line integer not null, col integer not null, message text not null);
create table if not exists past (
    mark integer primary key, rule text not null, severity text not null, url text not null,
    message text not null);
create table if not exists compared (once integer primary key);
";

/// Why a book can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The folder can't be made.
    #[error("can't make {0}: {1}; name another folder by --state")]
    Folder(PathBuf, std::io::Error),
    /// Somebody else has it.
    #[error("another audit of this site writes {0}; wait for its end, or name another --state")]
    Taken(PathBuf),
    /// SQLite.
    #[error("{0} can't be used: {1}; remove the file to begin anew")]
    Broken(PathBuf, rusqlite::Error),
    /// SQLite, in the middle.
    #[error("the book can't be written: {0}")]
    Write(#[from] rusqlite::Error),
}

/// What became of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It is to be asked for.
    Waiting,
    /// It was answered.
    Done,
    /// It gave no answer.
    Failed,
    /// It isn't asked for.
    Skipped,
    /// It is on another site.
    Outside,
}

impl State {
    const ALL: [Self; 5] = [Self::Waiting, Self::Done, Self::Failed, Self::Skipped, Self::Outside];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Outside => "outside",
        }
    }
}

/// An address that is known.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its number.
    pub id: i64,
    /// The address.
    pub url: String,
    /// What it was first found for.
    pub kind: LinkKind,
    /// How many links from where the run began.
    pub depth: u32,
    /// How it was found: `seed`, `map`, `feed` or `link`.
    pub source: String,
    /// What became of it.
    pub state: State,
    /// Why it was skipped or failed.
    pub why: String,
    /// How often it was asked for.
    pub tries: u32,
    /// The status; 0 without one.
    pub status: u16,
    /// Where it is sent on to.
    pub location: String,
    /// How long its answer took, in milliseconds.
    pub took_ms: u64,
    /// What is kept of the page, as JSON.
    facts: String,
}

impl Known {
    /// What is kept of the page.
    #[must_use]
    pub(crate) fn facts(&self) -> Facts {
        serde_json::from_str(&self.facts).unwrap_or_default()
    }
}

const KNOWN: &str =
    "id, url, kind, depth, source, state, why, tries, status, location, facts, took from address";

fn known(row: &Row<'_>) -> rusqlite::Result<Known> {
    let (kind, state): (String, String) = (row.get(2)?, row.get(5)?);
    let state = State::ALL.into_iter().find(|one| one.as_str() == state);
    Ok(Known {
        id: row.get(0)?,
        url: row.get(1)?,
        kind: if kind == LinkKind::Part.as_str() { LinkKind::Part } else { LinkKind::Page },
        depth: row.get(3)?,
        source: row.get(4)?,
        state: state.unwrap_or(State::Skipped),
        why: row.get(6)?,
        tries: row.get(7)?,
        status: row.get(8)?,
        location: row.get(9)?,
        facts: row.get(10)?,
        took_ms: u64::try_from(row.get::<_, i64>(11)?).unwrap_or_default(),
    })
}

/// An address to take up.
#[derive(Clone, Debug)]
pub(crate) struct Found<'a> {
    /// The address.
    pub url: &'a str,
    /// What it was found for.
    pub kind: LinkKind,
    /// How far from the beginning.
    pub depth: u32,
    /// How it was found.
    pub source: &'a str,
    /// What becomes of it.
    pub state: State,
    /// Why it isn't asked for.
    pub why: &'a str,
}

/// What came of asking for one address.
#[derive(Debug, Default)]
pub(crate) struct Result<'a> {
    /// The status.
    pub status: u16,
    /// Where it is sent on to.
    pub location: String,
    /// What is kept.
    pub facts: Facts,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Links, each with how its address is taken up if it is new.
    pub links: Vec<(&'a Link, State, &'static str)>,
    /// What its tests found.
    pub findings: &'a [Finding],
}

/// A book.
pub(crate) struct Book {
    connection: Connection,
}

impl Book {
    /// Opens or begins the book of a site.
    ///
    /// # Errors
    /// It can't be opened, or somebody else has it.
    pub(crate) fn open(folder: &Path, name: &str) -> std::result::Result<Self, BookError> {
        let unmade = |error| BookError::Folder(folder.to_owned(), error);
        std::fs::create_dir_all(folder).map_err(unmade)?;
        let path = folder.join(format!("{name}.sqlite"));
        Self::connect(&path).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => BookError::Taken(path),
            _ => BookError::Broken(path, error),
        })
    }

    fn connect(path: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::ZERO)?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // What the process wrote survives its end; only a loss of power takes the last of it.
        connection.pragma_update(None, "synchronous", "normal")?;
        let form: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if form != FORM {
            for table in ["meta", "address", "link", "finding", "past", "compared"] {
                connection.execute_batch(&format!("drop table if exists {table};"))?;
            }
            connection.pragma_update(None, "user_version", FORM)?;
        }
        connection.execute_batch(TABLES)?;
        // The lock of this mode is taken by the first write.
        let book = Self { connection };
        book.keep("opened", "1")?;
        Ok(book)
    }

    /// Keeps a word under a name.
    pub(crate) fn keep(&self, name: &str, value: &str) -> rusqlite::Result<()> {
        let sql = "insert or replace into meta values (?, ?)";
        self.connection.prepare(sql)?.execute([name, value]).map(|_| ())
    }

    /// What was kept.
    pub(crate) fn kept(&self, name: &str) -> rusqlite::Result<Option<String>> {
        let sql = "select value from meta where name = ?";
        self.connection.prepare(sql)?.query_row([name], |row| row.get(0)).optional()
    }

    /// Forgets the run, but not what the last whole one found.
    pub(crate) fn begin(&self, plan: &str) -> rusqlite::Result<()> {
        self.connection.execute_batch(
            "begin; delete from address; delete from link; delete from finding; \
             delete from meta; commit;",
        )?;
        self.keep("plan", plan)
    }

    /// Takes up an address, unless it is known; its number.
    pub(crate) fn find(&self, found: &Found<'_>) -> rusqlite::Result<i64> {
        Finder::new(&self.connection)?.find(found)
    }

    /// Addresses that wait, nearest first, from behind those that are under way.
    pub(crate) fn waiting(&self, most: usize) -> rusqlite::Result<Vec<Known>> {
        let sql = format!("select {KNOWN} where state = 'waiting' order by depth, id limit ?");
        self.connection.prepare(&sql)?.query_map([most as i64], known)?.collect()
    }

    /// Addresses in a state.
    pub(crate) fn count(&self, state: State) -> rusqlite::Result<usize> {
        let sql = "select count(*) from address where state = ?";
        let mut count = self.connection.prepare(sql)?;
        count.query_row([state.as_str()], |row| row.get::<_, i64>(0)).map(|count| count as usize)
    }

    /// Writes all that came of an address.
    pub(crate) fn answered(
        &mut self,
        page: &Known,
        result: &Result<'_>,
    ) -> std::result::Result<(), BookError> {
        let facts = serde_json::to_string(&result.facts).unwrap_or_default();
        let begun = self.connection.unchecked_transaction()?;
        begun
            .prepare(
                "update address set state = 'done', status = ?, location = ?, facts = ?, \
                 took = ?, tries = tries + 1 where id = ?",
            )?
            .execute(params![
                result.status,
                result.location,
                facts,
                result.took_ms as i64,
                page.id
            ])?;
        let mut finder = Finder::new(&begun)?;
        let mut linked = begun.prepare("insert or ignore into link values (?, ?, ?, ?, ?)")?;
        for (link, state, why) in &result.links {
            let found = Found {
                url: link.to.as_str(),
                kind: link.kind,
                depth: page.depth + 1,
                source: "link",
                state: *state,
                why,
            };
            let target = finder.find(&found)?;
            let fragment = link.fragment.as_deref().unwrap_or("");
            let (kind, line) = (link.kind.as_str(), link.line as i64);
            linked.execute(params![page.id, target, fragment, kind, line])?;
        }
        drop((finder, linked));
        for finding in result.findings {
            self.note(page.id, finding)?;
        }
        begun.commit()?;
        Ok(())
    }

    /// Writes a finding.
    pub(crate) fn note(&self, page: i64, finding: &Finding) -> rusqlite::Result<()> {
        let sql = "insert into finding values (?, ?, ?, ?, ?, ?, ?)";
        let note = self.connection.prepare(sql);
        note?
            .execute(params![
                page,
                finding.rule,
                finding.severity.as_str(),
                finding.url,
                finding.place.line as i64,
                finding.place.column as i64,
                finding.message
            ])
            .map(|_| ())
    }

    /// An address gave no answer; it is tried again if `again`.
    pub(crate) fn failed(&self, id: i64, why: &str, again: bool) -> rusqlite::Result<()> {
        let state = if again { State::Waiting } else { State::Failed };
        let sql = "update address set state = ?, why = ?, tries = tries + 1 where id = ?";
        let update = self.connection.prepare(sql);
        update?.execute(params![state.as_str(), why, id]).map(|_| ())
    }

    /// What is outside was asked for; facts, if its places were looked for.
    pub(crate) fn outside(
        &self,
        id: i64,
        status: u16,
        why: &str,
        facts: Option<&Facts>,
    ) -> rusqlite::Result<()> {
        let facts = facts.and_then(|facts| serde_json::to_string(facts).ok()).unwrap_or_default();
        let sql =
            "update address set status = ?, why = ?, facts = ?, tries = tries + 1 where id = ?";
        self.connection.prepare(sql)?.execute(params![status, why, facts, id]).map(|_| ())
    }

    /// The places of addresses on other sites that links lead to.
    pub(crate) fn fragments(&self) -> rusqlite::Result<HashMap<i64, BTreeSet<String>>> {
        let mut all = self.connection.prepare(
            "select distinct target, fragment from link join address on id = target \
             where state = 'outside' and fragment != ''",
        )?;
        let mut rows = all.query([])?;
        let mut fragments: HashMap<i64, BTreeSet<String>> = HashMap::new();
        while let Some(row) = rows.next()? {
            let of_target = fragments.entry(row.get(0)?).or_default();
            if of_target.len() < FRAGMENTS_MAX {
                of_target.insert(row.get(1)?);
            }
        }
        Ok(fragments)
    }

    /// All addresses.
    pub(crate) fn addresses(&self) -> rusqlite::Result<HashMap<i64, Known>> {
        let sql = format!("select {KNOWN} order by id");
        let mut all = self.connection.prepare(&sql)?;
        let rows = all.query_map([], known)?;
        rows.map(|row| row.map(|known| (known.id, known))).collect()
    }

    /// Calls `hear` with page, target, fragment, kind and line of each link.
    pub(crate) fn links(
        &self,
        mut hear: impl FnMut(i64, i64, &str, &str, u64),
    ) -> rusqlite::Result<()> {
        let mut all = self.connection.prepare(
            "select page, target, fragment, kind, line from link order by page, line, target",
        )?;
        let mut rows = all.query([])?;
        while let Some(row) = rows.next()? {
            let line: i64 = row.get(4)?;
            let (fragment, kind) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str()?);
            hear(row.get(0)?, row.get(1)?, fragment, kind, line as u64);
        }
        Ok(())
    }

    /// The rules that a page breaks, as far as its own tests go.
    pub(crate) fn rules_of(&self, page: i64) -> rusqlite::Result<HashSet<String>> {
        let mut all =
            self.connection.prepare("select distinct rule from finding where page = ?")?;
        all.query_map([page], |row| row.get(0))?.collect()
    }

    /// What the tests of pages found.
    pub(crate) fn findings(&self) -> rusqlite::Result<Vec<Finding>> {
        let sql = "select rule, severity, url, line, col, message from finding";
        let mut all = self.connection.prepare(sql)?;
        let rows = all.query_map([], |row| {
            let (severity, line, column): (String, i64, i64) =
                (row.get(1)?, row.get(3)?, row.get(4)?);
            Ok(Finding {
                severity: Severity::read(&severity).unwrap_or(Severity::Warning),
                rule: row.get(0)?,
                url: row.get(2)?,
                place: Place { line: line as u64, column: column as u64 },
                message: row.get(5)?,
            })
        })?;
        rows.collect()
    }

    /// Whether there is a whole run to compare with.
    pub(crate) fn kept_past(&self) -> rusqlite::Result<bool> {
        let form = "select count(*) from compared";
        self.connection.query_row(form, [], |row| row.get::<_, i64>(0)).map(|rows| rows > 0)
    }

    /// What the last whole run found, by mark; none before the first has ended.
    pub(crate) fn past(&self) -> rusqlite::Result<HashMap<u64, Finding>> {
        let mut all =
            self.connection.prepare("select mark, rule, severity, url, message from past")?;
        let rows = all.query_map([], |row| {
            let (mark, severity): (i64, String) = (row.get(0)?, row.get(2)?);
            let finding = Finding {
                severity: Severity::read(&severity).unwrap_or(Severity::Warning),
                rule: row.get(1)?,
                url: row.get(3)?,
                place: Place::default(),
                message: row.get(4)?,
            };
            Ok((mark as u64, finding))
        })?;
        rows.collect()
    }

    /// The run is over: what it found is what the next is compared with.
    pub(crate) fn end(&mut self, findings: &[Finding]) -> std::result::Result<(), BookError> {
        let begun = self.connection.unchecked_transaction()?;
        begun.execute("delete from past", [])?;
        for finding in findings {
            begun.prepare("insert or replace into past values (?, ?, ?, ?, ?)")?.execute(
                params![
                    finding.mark() as i64,
                    finding.rule,
                    finding.severity.as_str(),
                    finding.url,
                    finding.message
                ],
            )?;
        }
        begun.execute("insert or replace into compared values (1)", [])?;
        begun.execute("insert or replace into meta values ('ended', '1')", [])?;
        begun.commit()?;
        Ok(())
    }
}

/// Looks addresses up, and takes new ones up: for one page's links it is prepared once.
struct Finder<'a> {
    connection: &'a Connection,
    known: Statement<'a>,
    new: Statement<'a>,
}

impl<'a> Finder<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let known = connection.prepare("select id from address where url = ?")?;
        let new = connection.prepare(
            "insert into address (url, kind, depth, source, state, why) \
             values (?, ?, ?, ?, ?, ?)",
        )?;
        Ok(Self { connection, known, new })
    }

    fn find(&mut self, found: &Found<'_>) -> rusqlite::Result<i64> {
        let known = self.known.query_row([found.url], |row| row.get(0)).optional()?;
        if let Some(id) = known {
            return Ok(id);
        }
        let (kind, state) = (found.kind.as_str(), found.state.as_str());
        let new = params![found.url, kind, found.depth, found.source, state, found.why];
        self.new.execute(new)?;
        Ok(self.connection.last_insert_rowid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_is_written_by_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = Book::open(folder.path(), "a").unwrap();
        let second = Book::open(folder.path(), "a").map(|_| ()).unwrap_err();
        assert!(matches!(second, BookError::Taken(_)), "{second}");
        drop(first);
        assert!(Book::open(folder.path(), "a").is_ok());
    }

    #[test]
    fn an_address_waits_once_and_its_answer_is_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut book = Book::open(folder.path(), "a").unwrap();
        book.begin("plan").unwrap();
        let found = Found {
            url: "http://a/",
            kind: LinkKind::Page,
            depth: 0,
            source: "seed",
            state: State::Waiting,
            why: "",
        };
        let id = book.find(&found).unwrap();
        assert_eq!(book.find(&found).unwrap(), id);
        let page = book.waiting(9).unwrap().remove(0);
        let to = url::Url::parse("http://a/b").unwrap();
        let link = Link { to, fragment: None, kind: LinkKind::Page, line: 7 };
        let links = vec![(&link, State::Waiting, "")];
        book.answered(&page, &Result { status: 200, links, ..Result::default() }).unwrap();
        drop(book);
        let book = Book::open(folder.path(), "a").unwrap();
        assert_eq!(book.kept("plan").unwrap().as_deref(), Some("plan"));
        let waiting: Vec<_> = book.waiting(9).unwrap().into_iter().map(|one| one.url).collect();
        assert_eq!(waiting, ["http://a/b"]);
        assert_eq!(book.count(State::Done).unwrap(), 1);
    }
}

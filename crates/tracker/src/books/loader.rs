//! The loader: torrents and users come in from the site's database, and go on coming.
//!
//! In: two tables. Out: calls of a [`Keeper`].
//! Law: all rows once, in slices by their numbers; then, as long as it lasts, in each step what
//! is past the last number (which costs the database a look at the end of a key), one slice of
//! each table, so that all of both is looked at again within [`LOOK_TICKS`] steps, and the rows
//! of passkeys and torrents that clients came with and nobody knows: these may be new in a place
//! that no slice comes to soon. Who takes what for nothing is read whole then as well. In a table
//! of [`SLICE_ROWS_MIN`] rows each step looks at all of it. A file tells whether anybody changed it:
//! once all of both tables was looked at since, no row is read again until somebody does.
//! Invariants: 1. no question asks for more than [`SLICE_ROWS_MAX`] rows. 2. a row is put only
//! if it is new or changed: what is kept of each is its number and a hash of it. 3. nothing is
//! removed because a question failed, nor because a slice was empty at a table's beginning and
//! the table is empty as a whole unless it was so twice. 4. what others make us ask takes an
//! eleventh of the database's time at most.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use base::{Clock, Shutdown};
use wire::tracker::Passkey;

use super::contract::{Contract, Dialect, Field};
use super::denials;
use super::file_changes::FileChanges;
use super::gratis;
use super::keeper::Keeper;
use super::known::Known;
use super::link::{Link, Place, Row, Trouble};
use super::number::number;
use super::registry::Found;
use super::session::{Session, advised};
use super::shape::Asked;
use super::status::{Shared, Side};
use super::unix_seconds;
use super::value::Value;
use crate::rights::{TorrentId, UserId};
use crate::wanted::Wanted;

/// Between steps.
const EVERY: Duration = Duration::from_secs(1);
/// Steps in which all of both tables is looked at again.
const LOOK_TICKS: usize = 60;
/// Rows of a slice: no fewer, for a question has a price of its own…
const SLICE_ROWS_MIN: usize = 4_000;
/// …and no more, for an answer lies in memory.
const SLICE_ROWS_MAX: usize = 20_000;
/// Who reads rows in their order needs no page of a file twice: SQLite keeps 64 KiB of them.
const READER_PAGES: &str = "PRAGMA cache_size = -64";
/// Rows of a question to a file, which has hardly a price.
const FILE_ROWS_MAX: usize = 500;
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// After what strangers or pushes made us ask comes a rest so many times as long.
const REST: u64 = 10;

/// Who reads.
pub struct Loader {
    place: Place,
    contract: Contract,
    clock: Clock,
    status: Shared,
    keeper: Arc<dyn Keeper>,
    session: Option<Session>,
    torrents: Table,
    users: Table,
    is_loaded: bool,
    changes: FileChanges,
    /// Of both tables, in all.
    rows_read: u64,
    /// Steps until the tables of whom the site turns away are read again.
    denials_in: usize,
    /// Somebody knows that something changed.
    wants_look: bool,
    /// Ticks before which nobody makes us ask.
    rests_until_ms: u64,
    hashes: RandomState,
}

/// What is known of a table.
#[derive(Default)]
struct Table {
    /// A hash of each row, by its number, in its order.
    rows: Known,
    /// The last number that was seen.
    last: u32,
    /// Where the next slice begins.
    at: u32,
    /// The slice at the table's beginning held nothing at all.
    was_empty: bool,
    /// Rows that can't be read: in this look so far, and in all of the look before.
    unreadable: u64,
    unreadable_before: u64,
}

/// Which table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Torrents,
    Users,
}

/// Numbers of rows that are there, and how many can't be read.
struct Taken {
    ids: Vec<u32>,
    unreadable: u64,
}

impl Loader {
    /// One that reads for `keeper`.
    #[must_use]
    pub fn new(
        place: Place,
        contract: Contract,
        clock: Clock,
        status: Shared,
        keeper: Arc<dyn Keeper>,
    ) -> Self {
        Self {
            place,
            contract,
            clock,
            status,
            keeper,
            session: None,
            torrents: Table::default(),
            users: Table::default(),
            is_loaded: false,
            changes: FileChanges::default(),
            rows_read: 0,
            denials_in: 0,
            wants_look: false,
            rests_until_ms: 0,
            hashes: RandomState::new(),
        }
    }

    /// Reads until it is told to stop. A wake, such as a change that was heard of, makes it
    /// look at everything soon.
    pub async fn run(mut self, shutdown: Shutdown, wake: Arc<tokio::sync::Notify>) {
        let mut pause = EVERY;
        loop {
            let rest = match self.step().await {
                Ok(()) => {
                    pause = EVERY;
                    EVERY
                }
                Err(_) => {
                    pause = (pause * 2).min(PAUSE_MAX);
                    pause.mul_f64(rand::random_range(0.75..1.25))
                }
            };
            let sleep = tokio::time::sleep(rest);
            tokio::pin!(sleep);
            loop {
                tokio::select! {
                    () = shutdown.begun() => return,
                    () = &mut sleep => break,
                    () = wake.notified() => self.wants_look = true,
                }
            }
        }
    }

    /// Whether everything came once.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.is_loaded
    }

    /// Rows of both tables that were read, each time that they were.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// One step: everything the first time; then what is new, a slice of each table, and what
    /// was missed.
    ///
    /// # Errors
    /// If the database couldn't be asked; the status says so too.
    pub async fn step(&mut self) -> Result<(), Trouble> {
        let stepped = match self.is_loaded {
            false => self.look().await,
            true => self.step_on().await,
        };
        match stepped {
            Ok(()) => {
                self.status.is_well(Side::Reading);
                Ok(())
            }
            Err(trouble) => {
                self.session = None;
                let trouble =
                    advised(trouble, &self.place, &self.contract, self.keeper.node().is_some());
                let now = unix_seconds(&self.clock);
                self.status.fails(Side::Reading, &trouble, now);
                Err(trouble)
            }
        }
    }

    /// Looks at all of both tables.
    async fn look(&mut self) -> Result<(), Trouble> {
        if !self.is_loaded {
            self.keeper.begin_loading();
        }
        self.read_denied().await?;
        self.read_free().await?;
        for which in [Which::Users, Which::Torrents] {
            self.table(which).at = 0;
            while !self.slice(which, self.rows_at_once()).await? {}
        }
        if !self.is_loaded {
            self.keeper.finish_loading();
            self.is_loaded = true;
        }
        Ok(())
    }

    async fn step_on(&mut self) -> Result<(), Trouble> {
        self.denials_in = self.denials_in.saturating_sub(1);
        if self.denials_in == 0 {
            self.read_denied().await?;
        }
        match self.may_be_new().await? {
            true => self.look_on().await?,
            false => self.tell(),
        }
        let begun_ms = self.clock.now().ticks_ms;
        if begun_ms < self.rests_until_ms {
            return Ok(());
        }
        match std::mem::take(&mut self.wants_look) {
            true => self.look().await?,
            false => self.read_free().await?,
        }
        self.ask_for_missed().await?;
        let ended_ms = self.clock.now().ticks_ms;
        self.rests_until_ms = ended_ms + REST * (ended_ms - begun_ms);
        Ok(())
    }

    /// What is past the last number, and a slice of each table.
    async fn look_on(&mut self) -> Result<(), Trouble> {
        for which in [Which::Users, Which::Torrents] {
            self.news(which).await?;
            let rows = self.table(which).rows.len() / LOOK_TICKS;
            let mut left = rows.clamp(SLICE_ROWS_MIN, SLICE_ROWS_MAX);
            while left > 0 {
                let many = left.min(self.rows_at_once());
                left -= many;
                if self.slice(which, many).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether there may be rows that nobody looked at.
    async fn may_be_new(&mut self) -> Result<bool, Trouble> {
        let mut session = self.session().await?;
        let told = session.link.changes()?;
        self.session = Some(session);
        Ok(self.changes.note(told, [self.torrents.at > 0, self.users.at > 0]))
    }

    fn rows_at_once(&self) -> usize {
        match self.place.dialect() {
            Dialect::Sqlite => FILE_ROWS_MAX,
            Dialect::MySql | Dialect::Postgres => SLICE_ROWS_MAX,
        }
    }

    fn table(&mut self, which: Which) -> &mut Table {
        match which {
            Which::Torrents => &mut self.torrents,
            Which::Users => &mut self.users,
        }
    }

    /// An answer's rows; none where there is nothing to ask.
    async fn ask(
        &mut self,
        which: Which,
        question: impl FnOnce(&Asked) -> Option<String>,
    ) -> Result<Vec<Row>, Trouble> {
        let mut session = self.session().await?;
        let rows = match question(asked(&session, which)) {
            Some(question) => session.link.ask(&question).await?,
            None => Vec::new(),
        };
        self.session = Some(session);
        self.rows_read += rows.len() as u64;
        Ok(rows)
    }

    /// The session there is, or a new one; whoever takes it puts it back if all went well.
    async fn session(&mut self) -> Result<Session, Trouble> {
        if let Some(session) = self.session.take() {
            return Ok(session);
        }
        let mut session = Session::open(&self.place, &self.contract).await?;
        self.changes.forget();
        if self.place.dialect() == Dialect::Sqlite {
            session.link.run(READER_PAGES).await?;
        }
        // Who lets users in has told the other trackers of one ledger that it is there.
        if let Some(node) = self.keeper.node() {
            number(&mut session.link, self.place.dialect(), Some(&node)).await?;
        }
        self.read_passkey_key(&mut session.link).await?;
        Ok(session)
    }

    /// Whom the site turns away.
    async fn read_denied(&mut self) -> Result<(), Trouble> {
        self.denials_in = LOOK_TICKS;
        let mut session = self.session().await?;
        let Session { link, shape } = &mut session;
        let read = match &shape.denials {
            Some(denials) => Some(denials::read(link, denials).await?),
            None => None,
        };
        self.session = Some(session);
        let Some(denied) = read else { return Ok(()) };
        let (addresses, clients) = denied.counts();
        self.status.change(|status| {
            (status.denied_addresses, status.denied_clients) = (addresses as u64, clients as u64);
        });
        self.keeper.set_denied(denied);
        Ok(())
    }

    /// Who takes what for nothing.
    async fn read_free(&mut self) -> Result<(), Trouble> {
        let mut session = self.session().await?;
        let Session { link, shape } = &mut session;
        let read = match shape.free.is_empty() {
            true => None,
            false => Some(gratis::read(link, &shape.free).await?),
        };
        self.session = Some(session);
        if let Some(free) = read {
            self.status.change(|status| status.free = free.count() as u64);
            self.keeper.set_free(free);
        }
        Ok(())
    }

    /// Without the key only passkeys that stand in a column count.
    async fn read_passkey_key(&self, link: &mut Link) -> Result<(), Trouble> {
        let Some(key) = &self.contract.computed_passkeys else { return Ok(()) };
        let rows = link.ask(&key.question(self.place.dialect())).await?;
        if let Some(private_key) = rows.first().and_then(|row| row.text(0)) {
            self.keeper.set_passkey_key(private_key);
        }
        Ok(())
    }

    /// What is past the last number.
    async fn news(&mut self, which: Which) -> Result<(), Trouble> {
        loop {
            let (last, many) = (self.table(which).last, self.rows_at_once());
            let rows = self.ask(which, |asked| Some(asked.after(last, many))).await?;
            self.take(which, &rows);
            self.pass(which, &rows);
            let is_end = rows.len() < many || self.table(which).last == last;
            if is_end {
                return Ok(());
            }
        }
    }

    /// The rows of what clients came with and nobody knows.
    async fn ask_for_missed(&mut self) -> Result<(), Trouble> {
        let Some(missed) = self.keeper.missed() else { return Ok(()) };
        let Wanted { passkeys, torrents } = missed.take();
        let dialect = self.place.dialect();
        let text =
            |passkey: &Passkey| Value::Text(String::from_utf8_lossy(passkey.expose()).into_owned());
        let passkeys: Vec<Value> = passkeys.iter().map(text).collect();
        let hashes: Vec<Value> =
            torrents.iter().map(|hash| Value::Bytes(hash.0.to_vec())).collect();
        for (which, field, values) in
            [(Which::Users, Field::Passkey, passkeys), (Which::Torrents, Field::InfoHash, hashes)]
        {
            let rows = self.ask(which, |asked| asked.with(field, &values, dialect)).await?;
            self.take(which, &rows);
        }
        Ok(())
    }

    /// The next rows of a table; true at its end.
    async fn slice(&mut self, which: Which, many: usize) -> Result<bool, Trouble> {
        let from = self.table(which).at;
        let rows = self.ask(which, |asked| Some(asked.after(from, many))).await?;
        let is_end = rows.len() < many;
        let taken = self.take(which, &rows);
        // The last row may be one that is as good as deleted.
        let last = self.pass(which, &rows);
        let until = last.filter(|_| !is_end).unwrap_or(u32::MAX);
        let table = self.table(which);
        // A table that is being filled anew is empty for a moment; all that it held is not
        // thrown away for that.
        let is_empty = from == 0 && rows.is_empty() && !table.rows.is_empty();
        if is_empty && !std::mem::replace(&mut table.was_empty, true) {
            return Ok(true);
        }
        table.was_empty = is_empty;
        table.at = if is_end { 0 } else { until };
        table.unreadable += taken.unreadable;
        if is_end {
            table.unreadable_before = std::mem::take(&mut table.unreadable);
        }
        self.remove_missing(which, from, until, &taken.ids);
        if is_end {
            self.changes.end(which as usize);
        }
        if is_end && which == Which::Torrents {
            self.tell();
        }
        Ok(is_end)
    }

    /// How it stands after a look.
    fn tell(&self) {
        let (torrents, users) = (self.torrents.rows.len() as u64, self.users.rows.len() as u64);
        let unreadable = self.torrents.unreadable_before + self.users.unreadable_before;
        let mut before = 0;
        self.status.change(|status| {
            (status.torrents, status.users) = (torrents, users);
            before = std::mem::replace(&mut status.rows_unreadable, unreadable);
            status.looks += 1;
        });
        if before == 0 && unreadable > 0 {
            complain(format_args!(
                "tracker: {unreadable} torrents or users of the database can't be read and are left \
                 out: a torrent needs a hash of 20 bytes, and both need numbers up to {}",
                u32::MAX
            ));
        }
    }

    /// Goes past rows in the order of their numbers; the last of these.
    fn pass(&mut self, which: Which, rows: &[Row]) -> Option<u32> {
        let asked = asked(self.session.as_ref()?, which);
        let last = rows.iter().rev().find_map(|row| asked.id(row))?;
        let table = self.table(which);
        table.last = table.last.max(last);
        Some(last)
    }

    /// Puts what is new or changed.
    fn take(&mut self, which: Which, rows: &[Row]) -> Taken {
        let mut taken = Taken { ids: Vec::with_capacity(rows.len()), unreadable: 0 };
        let Some(session) = &self.session else { return taken };
        let asked = asked(session, which);
        let known = match which {
            Which::Torrents => &mut self.torrents.rows,
            Which::Users => &mut self.users.rows,
        };
        for row in rows {
            let Some(id) = asked.id(row) else {
                taken.unreadable += 1;
                continue;
            };
            let hash = row_hash(&self.hashes, row);
            if known.hash(id) == Some(hash) {
                taken.ids.push(id);
                continue;
            }
            let keeper = &self.keeper;
            let found = match which {
                Which::Torrents => asked.torrent(row).map(|torrent| keeper.put_torrent(&torrent)),
                Which::Users => asked.user(row).map(|user| keeper.put_user(&user)),
            };
            match found {
                Found::There(()) => {
                    known.put(id, hash);
                    taken.ids.push(id);
                }
                Found::Gone => {}
                Found::Unreadable => taken.unreadable += 1,
            }
        }
        taken
    }

    /// What stood between two numbers and isn't among those that do now is gone.
    fn remove_missing(&mut self, which: Which, after: u32, until: u32, ids: &[u32]) {
        let Some(first) = after.checked_add(1) else { return };
        for id in self.table(which).rows.remove_missing(first..=until, ids) {
            match which {
                Which::Torrents => self.keeper.remove_torrent(TorrentId(id)),
                Which::Users => self.keeper.remove_user(UserId(id)),
            }
        }
    }
}

fn asked(session: &Session, which: Which) -> &Asked {
    match which {
        Which::Torrents => &session.shape.torrents,
        Which::Users => &session.shape.users,
    }
}

/// Of two contents of a row one in four thousand million pairs is taken for the same, in each
/// process another.
fn row_hash(hashes: &RandomState, row: &Row) -> u32 {
    let hash = hashes.hash_one(row);
    (hash ^ hash >> 32) as u32
}

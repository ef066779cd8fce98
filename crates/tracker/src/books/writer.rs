//! The writer: batches go into the site's database, each exactly once.
//!
//! In: batches of a [`Keeper`]. Out: rows, and a [`Status`](super::Status).
//! Law: the number of a batch is written in the transaction of its rows, and first of all: the
//! statement finds the row locked as long as an earlier attempt is still being committed
//! somewhere, so what it finds then is what came of that.
//! Invariants: 1. a batch is [`Keeper::written`] only when its number stands in the database.
//! 2. a batch whose number stands there is never written again. 3. a row that the database
//! refuses for what stands in it keeps no other row from being written, and is counted.
//! Start at [`Writer::step`]; `tests/books` plays it against real databases that die.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use base::{Clock, Shutdown};

use super::contract::{Contract, Dialect, Each, Given, Manner, Only};
use super::figure::{Figure, Line, LookedUp};
use super::keeper::Keeper;
use super::link::{Bound, Link, Place, Row, Trouble};
use super::number::number;
use super::schema::BATCHES;
use super::session::{Session, advised};
use super::shape::{Part, Shape, Written};
use super::shared::{self, NODES, Node};
use super::statement::{Tuple, bind, cuts, rows_max, statement, statement_of_places};
use super::status::{Shared, Side};
use super::unix_seconds;
use crate::credit::{Batch, Credit};

/// The pause after the first failure; it doubles with each further one…
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// …up to this.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// What is left when we stop is tried so long; what isn't written then lies in the journal.
const FAREWELL: Duration = Duration::from_secs(5);
/// Clocks of the nodes of one ledger are set by each other better than this.
const CLOCKS_SECONDS: u64 = 2;
/// Numbers in one question.
const LOOKED_UP_AT_ONCE: usize = 1_000;
/// Rows that are bound to one statement after the other before anything else is heard.
const BOUND_AT_ONCE: usize = 1_000;

/// Who writes.
pub struct Writer {
    place: Place,
    contract: Contract,
    /// Between batches.
    every: Duration,
    clock: Clock,
    status: Shared,
    keeper: Arc<dyn Keeper>,
    session: Option<Session>,
    /// The last number that we know to stand there; none before the first connection.
    known: Option<u64>,
    /// A batch that may stand there, for nobody said that it doesn't.
    uncertain: Option<u64>,
    /// Which of several trackers of one ledger we are; none if we are alone.
    node: Option<Node>,
    /// Up to when the others know that all that we were announced is written.
    told: u32,
    /// Whether it was said that clocks are apart.
    clock_is_told: bool,
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There was nothing to write.
    Idle,
    /// The batch of this number stands in the database.
    Written(u64),
    /// It failed, as the status says; it is tried again.
    Failed,
}

impl Writer {
    /// One that writes for `keeper`, every so often.
    #[must_use]
    pub fn new(
        place: Place,
        contract: Contract,
        every: Duration,
        clock: Clock,
        status: Shared,
        keeper: Arc<dyn Keeper>,
    ) -> Self {
        let (session, known, uncertain, node) = (None, None, None, keeper.node());
        let told = 0;
        Self {
            place,
            contract,
            every,
            clock,
            status,
            keeper,
            session,
            known,
            uncertain,
            node,
            told,
            clock_is_told: false,
        }
    }

    /// Writes until it is told to stop.
    pub async fn run(mut self, shutdown: Shutdown) {
        let mut pause = PAUSE_MIN;
        while !shutdown.has_begun() {
            let rest = match self.step().await {
                // A round is of several batches.
                Step::Written(_) => {
                    pause = PAUSE_MIN;
                    continue;
                }
                Step::Idle => {
                    pause = PAUSE_MIN;
                    self.every
                }
                Step::Failed => {
                    let rest = pause.mul_f64(rand::random_range(0.75..1.25));
                    pause = (pause * 2).min(PAUSE_MAX);
                    rest
                }
            };
            tokio::select! {
                () = shutdown.begun() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
        let last = async {
            while self.step().await != Step::Idle {
                tokio::time::sleep(PAUSE_MIN).await;
            }
        };
        if tokio::time::timeout(FAREWELL, last).await.is_err() {
            complain("tracker: the last credits aren't in the database; the journal keeps them");
        }
    }

    /// One attempt at one batch.
    pub async fn step(&mut self) -> Step {
        let now = unix_seconds(&self.clock);
        match self.attempt(now).await {
            Ok(step) => step,
            Err(trouble) => {
                let trouble = advised(trouble, &self.place, &self.contract, self.node.is_some());
                self.status.fails(Side::Writing, &trouble, now);
                Step::Failed
            }
        }
    }

    async fn attempt(&mut self, now: u32) -> Result<Step, Trouble> {
        let kept = self.session.take();
        let is_new = kept.is_none();
        let mut session = match kept {
            Some(session) => session,
            None => self.connect().await?,
        };
        if let Some(node) = &self.node {
            let left = self.keeper.left();
            if !left.is_empty() {
                shared::let_go(&mut session.link, self.place.dialect(), node, &left).await?;
                self.keeper.let_go(&left);
            }
        }
        let Some(batch) = self.keeper.take_batch(self.clock.now()) else {
            // Nothing is asked of a database that has nothing to do; whether it is still there
            // is known when it has. But others wait for what we may still have to tell.
            let told = self.keeper.told();
            if let Some(node) = self.node.as_ref().filter(|_| told > self.told) {
                let dialect = self.place.dialect();
                let awaited = shared::tell(&mut session.link, dialect, node, told).await?;
                self.status.change(|status| status.awaited = awaited);
                self.told = told;
            }
            if is_new {
                self.status.is_well(Side::Writing);
            }
            self.session = Some(session);
            return Ok(Step::Idle);
        };
        match self.write(&mut session, &batch, now).await {
            Ok(()) => {
                self.session = Some(session);
                self.known = Some(batch.number);
                self.uncertain = None;
                self.status.change(|status| {
                    (status.last_number, status.last_written) = (batch.number, now);
                });
                self.status.is_well(Side::Writing);
                self.keeper.written(batch.number);
                Ok(Step::Written(batch.number))
            }
            // Whatever was begun ends with the connection, unless it ends before.
            Err(trouble @ Trouble::Away(_)) => Err(trouble),
            Err(trouble) => {
                let is_back = session.link.run("ROLLBACK").await.is_ok();
                // After a refusal all is found anew: the owner may have changed what is there.
                if is_back && matches!(trouble, Trouble::Busy(_)) {
                    self.session = Some(session);
                }
                Err(trouble)
            }
        }
    }

    async fn connect(&mut self) -> Result<Session, Trouble> {
        let mut session = Session::open(&self.place, &self.contract).await?;
        let dialect = self.place.dialect();
        let number = number(&mut session.link, dialect, self.node.as_ref()).await?;
        if self.node.is_some() {
            session.shape.add_completions();
            self.prepare(&mut session.link).await?;
        }
        let shape = &session.shape;
        self.status.change(|status| {
            if status.loose_tables != shape.loose && !shape.loose.is_empty() {
                complain(format_args!(
                    "tracker: {} keep no transactions, so a failure may lose or double a minute of \
                     credits; ALTER TABLE … ENGINE = InnoDB ends that",
                    shape.loose.join(", ")
                ));
            }
            status.loose_tables.clone_from(&shape.loose);
            if status.unwritten_tables != shape.kept_from_us && !shape.kept_from_us.is_empty() {
                complain(format_args!(
                    "tracker: {} may be read and not be changed, so what the contract adds there is \
                     left out; wick check says what grants it",
                    shape.kept_from_us.join(", ")
                ));
            }
            status.unwritten_tables.clone_from(&shape.kept_from_us);
        });
        match self.known {
            None => {
                self.known = Some(number);
                self.keeper.resume(number);
            }
            Some(known) if number < known => {
                let forgotten = known - number;
                self.status.change(|status| status.batches_forgotten += forgotten);
                complain(format_args!(
                    "tracker: the database held batch {known} and now ends at {number}: it forgot \
                     {forgotten} after it had said that they were written"
                ));
                self.known = Some(number);
            }
            Some(_) => {}
        }
        Ok(session)
    }

    /// What matters where others wait for us: that nobody does for long if we die, and that clocks
    /// tell who was first.
    async fn prepare(&mut self, link: &mut Link) -> Result<(), Trouble> {
        let dialect = self.place.dialect();
        if dialect == Dialect::MySql {
            let wait = "SET SESSION idle_transaction_timeout = 60";
            // MySQL doesn't have it; there a dead connection ends when the system says so.
            match link.run(wait).await {
                Ok(_) | Err(Trouble::Refused(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        let theirs = link.ask(&format!("SELECT {}", shared::clock(dialect))).await?;
        let theirs = theirs.first().and_then(|row| row.number(0)).unwrap_or(0);
        let apart = theirs.abs_diff(self.clock.now().unix_seconds());
        if apart > CLOCKS_SECONDS && !self.clock_is_told {
            self.clock_is_told = true;
            complain(format_args!(
                "tracker: this machine's clock and the database's are {apart} s apart. Trackers of \
                 one ledger go by their clocks where a client comes to several: set them by NTP"
            ));
        }
        Ok(())
    }

    /// One transaction. Where its number stands there already, it is done.
    async fn write(
        &mut self,
        session: &mut Session,
        batch: &Batch,
        now: u32,
    ) -> Result<(), Trouble> {
        let number = batch.number;
        let may_be_there = self.uncertain == Some(number);
        let Session { link, shape } = session;
        link.run(shape.dialect.begin()).await?;
        let (table, id) = self.node.as_ref().map_or((BATCHES, 1), |node| (NODES, node.id));
        let claim = format!(
            "UPDATE {table} SET number = {number}, written = {now} \
             WHERE id = {id} AND number < {number}"
        );
        if link.run(&claim).await? == 0 {
            link.run("ROLLBACK").await?;
            if may_be_there || self.known.is_some_and(|known| known >= number) {
                self.status.change(|status| status.found_written += 1);
                return Ok(());
            }
            return Err(Trouble::Refused(format!(
                "another tracker writes into this database: {table} is past batch {number}, \
                 which we never wrote. One database is one tracker's, or that of all nodes of a \
                 [cluster], each with a state folder of its own"
            )));
        }
        // From here on an end that nobody told us of may have been a good one.
        self.uncertain = Some(number);
        let (settled, too_late) = match &self.node {
            Some(node) => shared::settle(link, node, batch).await?,
            None => (Cow::Borrowed(batch), 0),
        };
        let mut rows = Rows { link, shape, done: 0, without_owner: 0, refused: Vec::new() };
        rows.write(&settled).await?;
        let Rows { done, without_owner, refused, .. } = rows;
        link.run("COMMIT").await?;
        self.status.change(|status| {
            status.batches += 1;
            status.announces_too_late += too_late;
            status.rows += done;
            status.rows_without_owner += without_owner;
            status.rows_refused += refused.len() as u64;
            if let Some(last) = refused.last() {
                status.last_refused.clone_from(last);
            }
        });
        if let Some(last) = refused.last() {
            let count = refused.len();
            complain(format_args!("tracker: {count} rows were refused by the database: {last}"));
        }
        Ok(())
    }
}

/// The rows of one batch on their way.
struct Rows<'a> {
    link: &'a mut Link,
    shape: &'a Shape,
    done: u64,
    without_owner: u64,
    /// Which, and why.
    refused: Vec<String>,
}

impl Rows<'_> {
    async fn write(&mut self, batch: &Batch) -> Result<(), Trouble> {
        let looked_up = match self.shape.looks_up {
            true => self.look_up(batch).await?,
            false => Vec::new(),
        };
        let shape = self.shape;
        for written in &shape.writes {
            let lines = lines(batch, written, &looked_up, shape.looks_up);
            // Who only fell silent has a row, or needs none.
            let (silent, told): (Vec<_>, Vec<_>) = lines.into_iter().partition(Line::is_silent);
            self.write_lines(written, written.manner, &told).await?;
            match written.manner {
                Manner::Insert if written.only.is_none() => {}
                Manner::Insert => self.write_lines(written, Manner::Insert, &silent).await?,
                _ => self.write_silent(written, silent).await?,
            }
        }
        Ok(())
    }

    /// Who adds something has a statement of their own: two that have one row, as two clients at
    /// one port, would be one change to it.
    async fn write_silent(
        &mut self,
        written: &Written,
        silent: Vec<Line<'_>>,
    ) -> Result<(), Trouble> {
        let (adding, others): (Vec<_>, Vec<_>) = silent.into_iter().partition(Line::adds);
        self.write_lines(written, Manner::Update, &others).await?;
        for line in adding {
            self.write_lines(written, Manner::Update, &[line]).await?;
        }
        Ok(())
    }

    async fn write_lines(
        &mut self,
        written: &Written,
        manner: Manner,
        lines: &[Line<'_>],
    ) -> Result<(), Trouble> {
        if self.shape.dialect == Dialect::Sqlite {
            return self.write_bound(written, manner, lines).await;
        }
        let (mut tuples, mut owners) = (Vec::new(), Vec::new());
        for line in lines {
            match Tuple::of(line, written, manner, self.shape.dialect) {
                Some(tuple) => {
                    tuples.push(tuple);
                    owners.push(line);
                }
                None => self.without_owner += 1,
            }
        }
        let mut begin = 0;
        let bytes_max = self.shape.statement_bytes_max;
        for end in cuts(&tuples, rows_max(written, manner), bytes_max) {
            self.write_tuples(written, manner, &tuples[begin..end], &owners[begin..end]).await?;
            begin = end;
        }
        Ok(())
    }

    /// Writes rows one by one into a file, by a statement that is read once.
    async fn write_bound(
        &mut self,
        written: &Written,
        manner: Manner,
        lines: &[Line<'_>],
    ) -> Result<(), Trouble> {
        let text = statement_of_places(written, manner);
        for lines in lines.chunks(BOUND_AT_ONCE) {
            let has_name = |at: usize, bound: &mut Vec<_>| bind(&lines[at], written, manner, bound);
            let Bound { done, refused } = self.link.run_each(&text, lines.len(), has_name).await?;
            self.without_owner += lines.len() as u64 - done - refused.len() as u64;
            self.done += done;
            self.refused.extend(
                refused
                    .into_iter()
                    .map(|(at, why)| format!("{} in {}: {why}", owner(&lines[at]), written.table)),
            );
        }
        Ok(())
    }

    /// Writes rows by one statement. If a row of it is refused, its halves are tried, until the
    /// row stands alone.
    async fn write_tuples(
        &mut self,
        written: &Written,
        manner: Manner,
        tuples: &[Tuple],
        owners: &[&Line<'_>],
    ) -> Result<(), Trouble> {
        let mut left = Vec::new();
        if !tuples.is_empty() {
            left.push(0..tuples.len());
        }
        while let Some(range) = left.pop() {
            let text = statement(written, manner, &tuples[range.clone()], self.shape.dialect);
            match self.guarded(&text).await {
                Ok(()) => self.done += range.len() as u64,
                Err(Trouble::Row(why)) if range.len() == 1 => {
                    let owner = owner(owners[range.start]);
                    self.refused.push(format!("{owner} in {}: {why}", written.table));
                }
                Err(Trouble::Row(_)) => {
                    let middle = range.start + range.len() / 2;
                    left.push(middle..range.end);
                    left.push(range.start..middle);
                }
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(())
    }

    /// A statement that leaves the transaction whole when it fails; in PostgreSQL only with a
    /// point to go back to.
    async fn guarded(&mut self, text: &str) -> Result<(), Trouble> {
        if self.shape.dialect != Dialect::Postgres {
            return self.link.run(text).await.map(drop);
        }
        self.link.run("SAVEPOINT wick").await?;
        let ran = self.link.run(text).await;
        match ran {
            Ok(_) => self.link.run("RELEASE SAVEPOINT wick").await.map(drop),
            Err(Trouble::Row(why)) => {
                self.link.run("ROLLBACK TO SAVEPOINT wick").await?;
                Err(Trouble::Row(why))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// What the site's tables tell of each credit.
    async fn look_up(&mut self, batch: &Batch) -> Result<Vec<Option<LookedUp>>, Trouble> {
        let mut users: Vec<u32> = batch.credits.iter().map(|credit| credit.user.0).collect();
        let mut torrents: Vec<u32> = batch.credits.iter().map(|credit| credit.torrent.0).collect();
        let mut known: [BTreeMap<u32, Row>; 2] = [BTreeMap::new(), BTreeMap::new()];
        let asked = [&self.shape.users, &self.shape.torrents];
        for (at, ids) in [&mut users, &mut torrents].into_iter().enumerate() {
            ids.sort_unstable();
            ids.dedup();
            for ids in ids.chunks(LOOKED_UP_AT_ONCE) {
                let rows = self.link.ask(&asked[at].of(ids)).await?;
                known[at]
                    .extend(rows.into_iter().filter_map(|row| Some((asked[at].id(&row)?, row))));
            }
        }
        let [users, torrents] = &known;
        let looked_up = batch.credits.iter().map(|credit| {
            let (user, torrent) = (users.get(&credit.user.0)?, torrents.get(&credit.torrent.0)?);
            asked[0].looked_up(user, asked[1], torrent)
        });
        Ok(looked_up.collect())
    }
}

fn owner(line: &Line<'_>) -> String {
    match line {
        Line::Credit(credit, _) | Line::Session(credit, ..) => {
            let (user, torrent) = (credit.user.0, credit.torrent.0);
            let (up, down) = (credit.uploaded, credit.downloaded);
            format!("{up} bytes sent and {down} taken by user {user} of torrent {torrent}")
        }
        Line::User { user, uploaded, downloaded } => {
            format!("{uploaded} bytes sent and {downloaded} taken by user {user}")
        }
        Line::Torrent(standing) => format!("torrent {}", standing.torrent.0),
    }
}

/// The lines of a batch for one table, in the order of its keys.
fn lines<'a>(
    batch: &'a Batch,
    written: &Written,
    looked_up: &'a [Option<LookedUp>],
    looks_up: bool,
) -> Vec<Line<'a>> {
    match written.each {
        Each::Torrent => batch.torrents.iter().map(Line::Torrent).collect(),
        Each::User => users(batch),
        Each::Credit | Each::Session => {
            let credits = batch.credits.iter().enumerate();
            let credits = credits.filter(|(_, credit)| match written.only {
                None => true,
                Some(Only::Completed) => credit.completed > 0,
                Some(Only::Token) => credit.token_downloaded > 0 || credit.has_ended_token,
            });
            let credits = credits.map(|(at, credit)| {
                (credit, looked_up.get(at).and_then(Option::as_ref).filter(|_| looks_up))
            });
            match written.each {
                Each::Session => credits.flat_map(|it| sessions(it, written)).collect(),
                // One of theirs fell silent, and others go on: nothing to say of the user.
                _ => credits
                    .filter(|(it, _)| it.left.is_some() || !it.is_active || it.adds())
                    .map(|(credit, told)| Line::Credit(credit, told))
                    .collect(),
            }
        }
    }
}

/// The sessions of a credit, those that have gone before those that are there: of two that have
/// one row in turn the row is the living one's. Where no client names the row, one that fell
/// silent says nothing of it, for the row may be another's by now.
fn sessions<'a>(
    (credit, told): (&'a Credit, Option<&'a LookedUp>),
    written: &Written,
) -> Vec<Line<'a>> {
    let is_clients = written
        .columns
        .iter()
        .any(|column| column.part == Part::Key && column.given == Given::Figure(Figure::PeerId));
    let all = credit.others.iter().chain([&credit.last]);
    let mut all: Vec<_> = all.filter(|it| is_clients || it.left.is_some() || it.adds()).collect();
    all.sort_by_key(|session| session.is_active);
    all.into_iter().map(|session| Line::Session(credit, session, told)).collect()
}

/// Each user once, with the sums of what they did; whoever moved no byte is left out.
fn users(batch: &Batch) -> Vec<Line<'_>> {
    let mut sums: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for credit in &batch.credits {
        let sum = sums.entry(credit.user.0).or_default();
        sum.0 = sum.0.saturating_add(credit.uploaded);
        sum.1 = sum.1.saturating_add(credit.downloaded);
    }
    let moved = sums.into_iter().filter(|(_, sum)| *sum != (0, 0));
    moved.map(|(user, (uploaded, downloaded))| Line::User { user, uploaded, downloaded }).collect()
}

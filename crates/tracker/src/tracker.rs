//! The tracker itself: what is asked of it from outside, and which shard answers.
//!
//! Invariants: 1. locks are taken in one order: books, shard, users. None is held while
//! anything is waited for but another of these. 2. an announce looks at one torrent and one
//! user, whatever there is besides. 3. the clock is the caller's.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

use arc_swap::{ArcSwap, ArcSwapOption};
use base::Now;
use base::complaint::complain;
use parking_lot::Mutex;
use wire::tracker::{Announce, Counts, Event, InfoHash, Peers, Told};

use crate::address::{self, Reach};
use crate::batches::Batches;
use crate::books::Node;
use crate::denied::Denied;
use crate::exchange::Exchange;
use crate::expiry::{ROUND_SECONDS, STEP};
use crate::free::Free;
use crate::joining;
use crate::journal::log::{self, Journal, create};
use crate::journal::spool::Spool;
use crate::journal::{Loaded, checkpoint, load};
use crate::ledger::Entry;
use crate::numbers::Numbers;
use crate::pace::Pace;
use crate::port_checks::{Check, PortChecks};
use crate::refusal::Refusal;
use crate::rights::{Torrent, TorrentId, User, UserId};
use crate::rules::{Mode, Rules};
use crate::second_names::SecondNames;
use crate::session::Session;
use crate::shard::{Ask, Shard};
use crate::site_log::{LogOf, LogRow, SiteLog};
use crate::status::Counters;
use crate::suspects::SuspectCounts;
use crate::swarm::Identity;
use crate::users::{UserRow, Users, settle};
use crate::wanted::Missed;

/// A power of two. State on disk is by shard, so it never changes.
pub(crate) const SHARDS: usize = 64;

/// A journal shorter than this is read quickly whatever else there is.
const JOURNAL_BYTES: u64 = 64 << 20;
const JOURNAL_BYTES_A_SESSION: u64 = 16;
/// What an open tracker is told is in no journal: so often its sessions are written, where
/// anything was announced…
const PEERS_MS: u64 = 5 * 60_000;
/// …and later by this for each of them, since many are much to write…
const PEERS_US_A_SESSION: u64 = 40;
/// …but no later than this.
const PEERS_MS_MAX: u64 = 10 * 60_000;
/// Entries of the ledger that are told.
const EXPLAINED_MAX: usize = 100;

/// Every peer in memory.
#[derive(Debug)]
pub struct Tracker {
    pub(crate) rules: ArcSwap<Rules>,
    pub(crate) shards: Vec<Mutex<Shard>>,
    pub(crate) users: Users,
    /// In which shard the torrent of a number is.
    pub(crate) numbers: Mutex<Numbers>,
    pub(crate) second_names: SecondNames,
    pub(crate) exchange: Exchange,
    pub(crate) batches: Batches,
    pub(crate) counters: Counters,
    pub(crate) suspect_counts: SuspectCounts,
    pub(crate) port_checks: PortChecks,
    pub(crate) pace: Pace,
    pub(crate) sessions: AtomicUsize,
    pub(crate) pending: AtomicUsize,
    /// Where state is kept; none if it isn't.
    pub(crate) disk: Option<Disk>,
    checkpointing: Mutex<()>,
    /// When the last checkpoint began, and how many announces there were by then.
    checkpointed: [AtomicU64; 2],
    generation: AtomicU8,
    /// For whoever can ask the site.
    pub(crate) missed: Missed,
    /// For a site that keeps logs of what was asked.
    pub(crate) site_log: SiteLog,
    /// Whom the site's own tables turn away; none as long as they turn nobody away.
    denied: ArcSwapOption<Denied>,
    /// What costs whom nothing; none as long as nothing does.
    free: ArcSwapOption<Free>,
    /// Nodes that won't come back, until the ledger knows.
    pub(crate) left: Mutex<Vec<String>>,
}

/// The state folder.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) folder: PathBuf,
    /// By which a ledger of several trackers knows this folder's.
    pub(crate) node: Option<(u64, u64)>,
    pub(crate) journal: Journal,
    /// Held as long as the folder is ours.
    _lock: File,
}

impl Tracker {
    /// A tracker that knows nothing yet and keeps nothing on disk.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self::with_users(rules, Users::default())
    }

    pub(crate) fn with_users(rules: Rules, users: Users) -> Self {
        let identity = match rules.mode {
            Mode::Open => Identity::PeerId,
            Mode::Private => Identity::User,
        };
        let keeps_points = rules.node.is_some() && rules.mode == Mode::Private;
        let shard = |salt| Mutex::new(Shard::new(salt, identity, keeps_points));
        Self {
            pace: Pace::new(&rules),
            rules: ArcSwap::from_pointee(rules),
            shards: (0..SHARDS as u64).map(shard).collect(),
            users,
            numbers: Mutex::default(),
            second_names: SecondNames::default(),
            exchange: Exchange::default(),
            batches: Batches::default(),
            counters: Counters::default(),
            suspect_counts: SuspectCounts::default(),
            port_checks: PortChecks::default(),
            sessions: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            disk: None,
            checkpointing: Mutex::default(),
            checkpointed: Default::default(),
            generation: AtomicU8::new(0),
            missed: Missed::default(),
            site_log: SiteLog::default(),
            denied: ArcSwapOption::empty(),
            free: ArcSwapOption::empty(),
            left: Mutex::default(),
        }
    }

    /// A tracker that goes on where the one before it ended, and keeps its state in a folder.
    /// Says what it found there.
    ///
    /// # Errors
    ///
    /// If the folder can't be made, read or written, or another process has it.
    pub fn open(folder: &Path, mut rules: Rules, now: Now) -> io::Result<(Self, Loaded)> {
        let lock = lock(folder)?;
        let is_private = rules.mode == Mode::Private;
        let node = if is_private { joining::node(folder)? } else { None };
        let joins = is_private && node.is_none() && rules.node.is_some();
        // Who was one of several goes on by what the database knows of sessions.
        rules.node = rules.node.or_else(|| node.map(|(id, _)| id.to_string()));
        let mut loaded = Loaded::default();
        let (batches, sealed, damaged) = Batches::open(Spool::open(folder)?)?;
        loaded.damaged_bytes += damaged;
        let users = load::users(folder, &mut loaded)?;
        let mut tracker = Self { batches, ..Self::with_users(rules, users) };
        let at = u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX);
        tracker.shards.iter().for_each(|shard| shard.lock().packing.set_clock(at));
        if joins {
            tracker.shards.iter().for_each(|shard| shard.lock().keeps_points = false);
        }
        let generation = load::fill(&tracker, folder, &sealed, &mut loaded)?;
        let journal = Journal::create(folder, generation)?;
        tracker.disk = Some(Disk { folder: folder.to_owned(), node, journal, _lock: lock });
        if joins {
            tracker.join(now)?;
        }
        tracker.pace.wait_for_all(at);
        tracker.note_checkpoint(now);
        if loaded.damaged_bytes > 0 {
            complain(format_args!(
                "tracker: {} bytes in {} are damaged and were left out",
                loaded.damaged_bytes,
                folder.display()
            ));
        }
        Ok((tracker, loaded))
    }

    /// What was announced until now survives the process when this returns. To be called once
    /// a turn, before the turn's answers leave.
    ///
    /// # Errors
    ///
    /// If the journal can't be written; announces are still counted in memory.
    pub fn flush_journal(&self) -> io::Result<()> {
        self.disk.as_ref().map_or(Ok(()), |disk| disk.journal.flush())
    }

    /// The same, so that it survives the machine as well.
    pub(crate) fn sync_journal(&self) -> io::Result<()> {
        self.disk.as_ref().map_or(Ok(()), |disk| disk.journal.sync())
    }

    /// Writes all of memory into the folder, beside what goes on. To be called at the end, and
    /// on a thread of its own when [`Tracker::wants_checkpoint`] says so.
    ///
    /// # Errors
    ///
    /// If the folder can't be written; what was there before still holds.
    pub fn checkpoint(&self, now: Now) -> io::Result<()> {
        let Some(disk) = &self.disk else { return Ok(()) };
        let _one_at_a_time = self.checkpointing.lock();
        self.note_checkpoint(now);
        let generation = disk.journal.rotate()?;
        checkpoint::write(self, &disk.folder, generation)
    }

    /// One that fails is not tried again at once: a disk that is full takes its time.
    fn note_checkpoint(&self, now: Now) {
        let [began, announces] = &self.checkpointed;
        began.store(now.ticks_ms, Relaxed);
        announces.store(self.counters.announces.read(), Relaxed);
    }

    /// Whether the journal has grown so long that a checkpoint makes the next start quicker; on an
    /// open tracker, which has none, whether a kill would forget what was told for some minutes.
    #[must_use]
    pub fn wants_checkpoint(&self, now: Now) -> bool {
        let Some(disk) = &self.disk else { return false };
        let sessions = self.sessions.load(Relaxed) as u64;
        if self.rules.load().mode == Mode::Private {
            let enough = JOURNAL_BYTES.max(sessions * JOURNAL_BYTES_A_SESSION);
            return disk.journal.bytes.load(Relaxed) > enough;
        }
        let [began, announces] = &self.checkpointed;
        let every_ms = (PEERS_MS + sessions * PEERS_US_A_SESSION / 1000).min(PEERS_MS_MAX);
        now.ticks_ms.saturating_sub(began.load(Relaxed)) >= every_ms
            && self.counters.announces.read() != announces.load(Relaxed)
    }

    /// Why a user has the credit they have of a torrent: the last entries of the ledger.
    ///
    /// # Errors
    ///
    /// If the journal can't be read.
    pub fn explain(&self, user: UserId, torrent: TorrentId) -> io::Result<Vec<Entry>> {
        let Some(disk) = &self.disk else { return Ok(Vec::new()) };
        disk.journal.flush()?;
        log::explain(&disk.folder, user, torrent, EXPLAINED_MAX)
    }

    /// Tells how far the database is, before the first batch is taken: what it has already is
    /// not handed out again.
    pub fn resume(&self, last_in_database: u64) {
        self.batches.resume(last_in_database);
    }

    /// Answers an announce. `from` is where it came from, `peers` is filled.
    ///
    /// # Errors
    ///
    /// Why its client is to be sent away.
    pub fn announce(
        &self,
        announce: &Announce,
        from: IpAddr,
        now: Now,
        peers: &mut Peers,
    ) -> Result<Told, Refusal> {
        self.announce_by(Reach::Address, announce, from, now, peers)
    }

    /// The same, of a client to whom others come so.
    pub(crate) fn announce_by(
        &self,
        reach: Reach,
        announce: &Announce,
        from: IpAddr,
        now: Now,
        peers: &mut Peers,
    ) -> Result<Told, Refusal> {
        self.counters.announces.bump();
        let rules = self.rules.load();
        let answered = self.answer(reach, announce, from, &rules, now, peers);
        let counts = answered.inspect_err(|refusal| {
            self.counters.refused[refusal.number()].bump();
            self.miss(announce, *refusal);
        })?;
        let salt = announce.peer_id.0[19] ^ announce.info_hash.0[0];
        let interval = self.pace.interval(&rules, now.ticks_us ^ u64::from(salt));
        let min_interval = rules.min_interval_seconds.min(interval);
        Ok(Told { interval, min_interval, swarm: counts })
    }

    /// Has the site asked for what it may have had only since a moment.
    fn miss(&self, announce: &Announce, refusal: Refusal) {
        match (refusal, &announce.passkey) {
            (Refusal::UnknownPasskey, Some(passkey)) => self.missed.passkey(passkey),
            (Refusal::UnknownTorrent, Some(_)) => self.missed.torrent(&announce.info_hash),
            _ => {}
        }
    }

    fn answer(
        &self,
        reach: Reach,
        announce: &Announce,
        from: IpAddr,
        rules: &Rules,
        now: Now,
        peers: &mut Peers,
    ) -> Result<Counts, Refusal> {
        let has_stopped = announce.event == Event::Stopped;
        let user = self.who(announce, rules)?;
        self.may_be(announce, from, rules)?;
        let addresses = match address::by(reach, announce, from, rules) {
            Err(refusal) if !has_stopped => return Err(refusal),
            found => found.unwrap_or_default(),
        };
        let first_name;
        let mut announce = announce;
        if let Some(first) = self.second_names.first(&announce.info_hash) {
            first_name = Announce { info_hash: first, ..announce.clone() };
            announce = &first_name;
        }
        let free = self.free.load();
        let ask = Ask {
            announce,
            addresses,
            user,
            free: free.as_deref(),
            rules,
            at: u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX),
            timeout_seconds: self.pace.timeout_seconds(),
            has_room: self.sessions.load(Relaxed) < rules.sessions_max as usize,
        };
        let mut shard = self.shard(&announce.info_hash).lock();
        let (sessions, pending) = (shard.sessions, shard.pending.len());
        let outcome = shard.announce(&ask, &self.users, peers)?;
        add_difference(&self.sessions, sessions, shard.sessions);
        add_difference(&self.pending, pending, shard.pending.len());
        let place = shard_of(&announce.info_hash);
        let full = match (&outcome.entry, &self.disk, rules.mode) {
            (Some(entry), Some(Disk { journal, .. }), Mode::Private) => {
                journal.append(place, shard.sequence, entry).then_some(journal)
            }
            _ => None,
        };
        drop(shard);
        if let Some(entry) = outcome.entry.as_ref().filter(|_| outcome.refusal.is_none()) {
            let user = UserId(user.map_or(0, |user| user.id));
            let row = || LogRow::of_announce(announce, user, entry.torrent, from, ask.at);
            self.site_log.note(LogOf::Announces, row);
        }
        if rules.node.is_some() {
            outcome.entry.iter().for_each(|entry| self.tell(entry));
        }
        if let Some(entry) = outcome.entry.as_ref().filter(|_| rules.checks_ports) {
            wanted_check(entry, from).into_iter().for_each(|check| self.port_checks.want(check));
        }
        // Who flushes at the turn's end hears of an error.
        let _ = full.map(Journal::flush);
        outcome.refusal.map_or(Ok(outcome.counts), Err)
    }

    /// Whose announce it is; nobody's on an open tracker.
    fn who(&self, announce: &Announce, rules: &Rules) -> Result<Option<UserRow>, Refusal> {
        if rules.mode == Mode::Open {
            return Ok(None);
        }
        let passkey = announce.passkey.as_ref().ok_or(Refusal::NoPasskey)?;
        self.users
            .by_passkey(passkey, &announce.info_hash, rules.xbt_key.as_ref())
            .and_then(|id| self.users.with(id, |row| *row))
            .map(Some)
            .ok_or(Refusal::UnknownPasskey)
    }

    /// Whether such a client, and such a torrent, may be at all.
    fn may_be(&self, announce: &Announce, from: IpAddr, rules: &Rules) -> Result<(), Refusal> {
        if announce.event == Event::Stopped {
            return Ok(());
        }
        if !rules.clients.allow(&announce.peer_id) {
            return Err(Refusal::Client);
        }
        if let Some(denied) = &*self.denied.load() {
            if denied.denies_client(&announce.peer_id) {
                return Err(Refusal::Client);
            }
            if denied.denies_address(from) {
                return Err(Refusal::Address);
            }
        }
        let hash = &announce.info_hash;
        if rules.mode == Mode::Open
            && (rules.denied.contains(hash)
                || rules.only.as_ref().is_some_and(|only| !only.contains(hash)))
        {
            return Err(Refusal::UnknownTorrent);
        }
        Ok(())
    }

    /// What a swarm is; none if there is none.
    #[must_use]
    pub fn scrape(&self, hash: &InfoHash) -> Option<Counts> {
        self.counters.scrapes.bump();
        let hash = self.second_names.first(hash).unwrap_or(*hash);
        self.shard(&hash).lock().counts(&hash)
    }

    /// From now on these rules hold; but the mode, and whose the ledger is, stay what they were at
    /// the start.
    pub fn set_rules(&self, mut rules: Rules) {
        let before = self.rules.load();
        rules.mode = before.mode;
        rules.node.clone_from(&before.node);
        self.pace.set(&rules);
        self.rules.store(rules.into());
    }

    /// Which of several trackers of one ledger it is; none if it is alone.
    #[must_use]
    pub fn node(&self) -> Option<Node> {
        let (id, last_alone) = self.disk.as_ref()?.node?;
        Some(Node { id, name: self.rules.load().node.clone()?, last_alone })
    }

    /// Turns away whom the site's own tables turn away, beside the rules.
    pub fn set_denied(&self, denied: Denied) {
        let is_any = denied != Denied::default();
        self.denied.store(is_any.then(|| denied.into()));
    }

    /// Lets users take for nothing what the site's own tables say, as long as they do.
    pub fn set_free(&self, free: Free) {
        if self.free.load().as_deref() != Some(&free) {
            self.free.store((free.count() > 0).then(|| free.into()));
        }
    }

    /// What was asked, for a site that keeps logs of that.
    #[must_use]
    pub fn site_log(&self) -> &SiteLog {
        &self.site_log
    }

    /// The rules that hold.
    #[must_use]
    pub fn rules(&self) -> std::sync::Arc<Rules> {
        self.rules.load_full()
    }

    /// All that is put from now on is all that there is, once the loading is over.
    pub fn begin_loading(&self) {
        self.generation.fetch_add(1, Relaxed);
    }

    /// What was not put since the loading began is gone.
    pub fn finish_loading(&self) {
        let generation = self.generation.load(Relaxed);
        self.users.sweep(generation);
        let mut names = HashSet::new();
        for shard in &self.shards {
            let gone: Vec<TorrentId> = shard
                .lock()
                .torrents
                .rows
                .iter()
                .filter(|row| row.generation != generation && row.id != 0)
                .map(|row| TorrentId(row.id))
                .collect();
            names.extend(gone.into_iter().filter_map(|id| self.remove(id)));
            settle(&mut shard.lock().torrents.rows);
        }
        self.second_names.forget(&names);
        self.users.settle();
    }

    /// Adds a torrent or changes what the site says of it.
    pub fn put_torrent(&self, torrent: &Torrent) {
        let place = shard_of(&torrent.info_hash);
        let before = self.numbers.lock().insert(torrent.id, place);
        if let Some(before) = before {
            // The number may have had another hash: a torrent that was uploaded anew.
            let mut shard = self.shards[before].lock();
            let old = shard.torrents.find(&torrent.info_hash);
            if old.is_none_or(|old| shard.torrents.rows[old].id != torrent.id.0) {
                let old = shard.torrents.by_id(torrent.id);
                self.remove_row(&mut shard, old);
            }
        }
        self.second_names.put(torrent.info_hash, torrent.info_hash_v2);
        let generation = self.generation.load(Relaxed);
        self.shard(&torrent.info_hash).lock().torrents.put(torrent, generation);
    }

    /// A torrent is gone from the site: its sessions end, what they earned stays.
    pub fn remove_torrent(&self, id: TorrentId) {
        self.second_names.forget(&self.remove(id).into_iter().collect());
    }

    fn remove(&self, id: TorrentId) -> Option<InfoHash> {
        let place = self.numbers.lock().remove(id)?;
        let mut shard = self.shards[place].lock();
        let old = shard.torrents.by_id(id);
        self.remove_row(&mut shard, old)
    }

    fn remove_row(&self, shard: &mut Shard, row: Option<usize>) -> Option<InfoHash> {
        let row = row?;
        let (sessions, pending) = (shard.sessions, shard.pending.len());
        shard.end_all(row, &self.users);
        add_difference(&self.sessions, sessions, shard.sessions);
        add_difference(&self.pending, pending, shard.pending.len());
        Some(shard.torrents.remove(row, true).info_hash)
    }

    /// Adds a user or changes what the site says of them.
    pub fn put_user(&self, user: &User) {
        self.users.put(user, self.generation.load(Relaxed));
    }

    /// A user is gone from the site.
    pub fn remove_user(&self, id: UserId) {
        self.users.remove(id);
    }

    /// Nodes of a cluster won't come back: the ledger doesn't wait any more for what they may
    /// still have to tell, from the next turn of the books on.
    pub fn let_go(&self, nodes: &[String]) {
        if self.rules.load().node.is_some() {
            self.left.lock().extend_from_slice(nodes);
        }
    }

    /// The database has this batch, for good.
    pub fn written(&self, number: u64) {
        self.batches.written(number);
    }

    /// Time goes on: silent sessions end, the interval follows the load. Once a second is
    /// fitting; it may be called more seldom.
    pub fn tick(&self, now: Now) {
        let rules = self.rules.load();
        let elapsed_ms = self.pace.tick(&rules, now, self.counters.announces.read());
        let at = u32::try_from(now.unix_seconds()).unwrap_or(u32::MAX);
        self.relieve(now);
        self.count_suspects(now);
        for (check, is_connectable) in self.port_checks.turn(now.ticks_ms) {
            self.shard(&check.info_hash).lock().note_reach(&check, is_connectable);
        }
        let Some(silent_since) = self.pace.silent_since(at) else { return };
        for shard in &self.shards {
            let round = shard.lock().round() as u64;
            let due = (round * elapsed_ms).div_ceil(ROUND_SECONDS * 1000).min(round);
            for _ in 0..due.div_ceil(STEP as u64) {
                let mut shard = shard.lock();
                let (sessions, pending) = (shard.sessions, shard.pending.len());
                shard.expire(at, silent_since, &self.users);
                add_difference(&self.sessions, sessions, shard.sessions);
                add_difference(&self.pending, pending, shard.pending.len());
            }
        }
    }

    pub(crate) fn shard(&self, hash: &InfoHash) -> &Mutex<Shard> {
        &self.shards[shard_of(hash)]
    }
}

fn lock(folder: &Path) -> io::Result<File> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    #[cfg(unix)]
    keep_to_owner(folder)?;
    let lock = create(&folder.join("lock"))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::new(
            io::ErrorKind::WouldBlock,
            format!("{} belongs to another process that runs", folder.display()),
        ),
        TryLockError::Error(error) => error,
    })?;
    Ok(lock)
}

/// A folder that was there before may be open to others: peers and addresses are nobody else's.
#[cfg(unix)]
fn keep_to_owner(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if let Err(error) = fs::set_permissions(folder, fs::Permissions::from_mode(0o700)) {
        complain(format_args!(
            "tracker: {} is open to other users ({error}); its owner can close it: chmod 700",
            folder.display()
        ));
    }
    Ok(())
}

/// The check of a session that there was none of, where its announce came from.
fn wanted_check(entry: &Entry, from: IpAddr) -> Option<Check> {
    let session = &entry.session;
    if entry.has_stopped || session.is_connectable.is_some() {
        return None;
    }
    let from = from.to_canonical();
    let both = [session.v4.map(SocketAddr::V4), session.v6.map(SocketAddr::V6)];
    let address =
        both.into_iter().flatten().find(|address| address.ip() == from && address.port() != 0)?;
    let Session { user, peer_id, .. } = *session;
    Some(Check { info_hash: entry.info_hash, user, peer_id, address })
}

pub(crate) fn shard_of(hash: &InfoHash) -> usize {
    usize::from(hash.0[19]) % SHARDS
}

pub(crate) fn add_difference(sum: &AtomicUsize, before: usize, after: usize) {
    // Wraps around for what became less, which is what is wanted.
    if before != after {
        sum.fetch_add(after.wrapping_sub(before), Relaxed);
    }
}

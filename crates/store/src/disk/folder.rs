//! The tier's folder: what lies in it, and what of that still counts.
//!
//! `secret` | `lock` | `journal-RUN-PART` of each run | `segment-NUMBER`. Nothing is trusted
//! that was written without a journal, or whose journal is damaged, or that another boot of
//! the machine left without having closed it: then all of it goes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::index::{Index, Place};
use super::journal::{self, Said};
use super::record::{Entry, TRAILER_BYTES, footer_bytes, read_footer, scan, write_footer};

/// Counts up when records or journals come to mean something else.
pub(super) const FORMAT: u32 = 2;
/// Between the numbers of two runs, at least: no run counts so far.
pub(super) const RUNS_APART: u64 = 1 << 40;
/// Seconds of the clock are so far apart; ten years from now they are still within 63 bits.
const SECOND_SHIFT: u32 = 33;
/// When that clock began.
const EPOCH_SECONDS: u64 = 1_700_000_000;

/// What was found on the disk and may be used.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) index: Index,
    /// Of what it holds, those that are no pieces of something large.
    pub(super) records: usize,
    /// Bytes of each segment.
    pub(super) segments: BTreeMap<u32, u64>,
    pub(super) told: Vec<Vec<u8>>,
    /// Records that lie there and are dead.
    pub(super) dead: Vec<u64>,
    pub(super) all_dead: u64,
    /// The lowest floor of what may be used.
    pub(super) floor: u64,
    /// Why nothing of it may be.
    pub(super) emptied: Option<&'static str>,
    /// Journals that count until another says the same.
    pub(super) journals: Vec<PathBuf>,
}

/// Makes the folder, or sees to it that nobody else may read it.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

/// The secret of this folder, as `decide` wants it.
pub(super) fn secret(folder: &Path, decide: &dyn Fn(Option<u64>) -> u64) -> io::Result<u64> {
    let path = folder.join("secret");
    let known = fs::read(&path).ok().and_then(|bytes| bytes.try_into().ok());
    let known = known.map(u64::from_le_bytes);
    let secret = decide(known);
    if known != Some(secret) {
        let part = folder.join(format!("secret-{}", std::process::id()));
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        file.write_all(&secret.to_le_bytes())?;
        fs::rename(&part, &path)?;
    }
    Ok(secret)
}

/// The lock, if nobody else has it.
pub(super) fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(folder.join("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

pub(super) fn journal_path(folder: &Path, run: u64, part: u64) -> PathBuf {
    folder.join(format!("journal-{run:016x}-{part:04x}"))
}

pub(super) fn segment_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("segment-{number:08x}"))
}

/// The journals, the oldest first.
pub(super) fn journals(folder: &Path) -> io::Result<BTreeMap<(u64, u64), PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let run_and_part = name.to_str().and_then(|name| {
            let (run, part) = name.strip_prefix("journal-")?.split_once('-')?;
            Some((u64::from_str_radix(run, 16).ok()?, u64::from_str_radix(part, 16).ok()?))
        });
        if let Some(number) = run_and_part {
            found.insert(number, entry.path());
        }
    }
    Ok(found)
}

/// Whether a segment with this number holds pieces of what is large.
pub(super) const fn is_of_bulk(number: u32) -> bool {
    number % 2 == 1
}

fn segments(folder: &Path) -> io::Result<BTreeMap<u32, u64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("segment-"));
        if let Some(number) = number.and_then(|number| u32::from_str_radix(number, 16).ok()) {
            found.insert(number, entry.metadata()?.len());
        }
    }
    Ok(found)
}

/// The number from which this run counts: above all that those before it counted.
pub(super) fn run_number(folder: &Path, unix_seconds: u64) -> io::Result<u64> {
    let last = journals(folder)?.keys().next_back().map_or(0, |&(run, _)| run);
    let by_clock = unix_seconds.saturating_sub(EPOCH_SECONDS).min(1 << 30) << SECOND_SHIFT;
    Ok(by_clock.max(last.saturating_add(RUNS_APART)))
}

/// What journals say, and where they lie.
type Journals = (Vec<Said>, Vec<PathBuf>);

/// What all journals before this run's say together, or why they are not to be believed.
fn read_journals(
    folder: &Path,
    secret: u64,
    run: u64,
    boot: &[u8],
    has_segments: bool,
) -> io::Result<Result<Journals, &'static str>> {
    let (mut all, mut paths) = (Vec::new(), Vec::new());
    let older = journals(folder)?.into_iter().filter(|((other, _), _)| *other != run);
    for ((other, _), path) in older {
        if other > run {
            return Ok(Err("a Wick that began later was here"));
        }
        let Some(said) = journal::read(&path, secret)? else {
            return Ok(Err("what was purged can't be read any more"));
        };
        let (format, same_boot) = match said.first() {
            Some(Said::Opened { format, boot: then }) => (*format, then == boot),
            _ => return Ok(Err("what was purged can't be read any more")),
        };
        if format != FORMAT {
            return Ok(Err("another version of Wick wrote it"));
        }
        if !same_boot && said.last() != Some(&Said::Closed) {
            return Ok(Err("the machine stopped before it was closed"));
        }
        all.extend(said);
        paths.push(path);
    }
    match has_segments && paths.is_empty() {
        true => Ok(Err("what was purged was not kept")),
        false => Ok(Ok((all, paths))),
    }
}

/// Reads what is there, without reading any body of a segment that was ended in good order.
pub(super) fn load(
    folder: &Path,
    secret: u64,
    run: u64,
    boot: &[u8],
    entries_max: usize,
) -> io::Result<Loaded> {
    let segments = segments(folder)?;
    let said = read_journals(folder, secret, run, boot, !segments.is_empty())?;
    let (said, journals) = match said {
        Ok(both) => both,
        Err(why) => {
            remove_all(folder, Some(run))?;
            return Ok(Loaded { emptied: Some(why), floor: run, ..Loaded::default() });
        }
    };
    let mut loaded = Loaded { floor: run, journals, ..Loaded::default() };
    let mut dead = HashSet::new();
    let mut dead_keys: HashMap<u64, u64> = HashMap::new();
    for said in said {
        match said {
            Said::Opened { .. } | Said::Closed => {}
            Said::Dead(sequences) => dead.extend(sequences),
            Said::DeadKey { hash, before } => {
                let last = dead_keys.entry(hash).or_default();
                *last = before.max(*last);
            }
            Said::AllDead { before } => loaded.all_dead = loaded.all_dead.max(before),
            Said::Told(text) => loaded.told.push(text),
        }
    }
    let is_dead = |entry: &Entry| {
        entry.sequence < loaded.all_dead
            || entry.sequence >= run
            || dead.contains(&entry.sequence)
            || dead_keys.get(&entry.hash).is_some_and(|&before| entry.sequence < before)
    };
    // The newest first: if there are more than there is room for, the oldest go.
    for (&number, &bytes) in segments.iter().rev() {
        let entries = entries_of(folder, secret, number, bytes)?;
        let has_room = loaded.index.len() + entries.len() <= entries_max;
        let (gone, alive): (Vec<Entry>, Vec<Entry>) = entries.iter().copied().partition(is_dead);
        if alive.is_empty() || !has_room {
            fs::remove_file(segment_path(folder, number))?;
            continue;
        }
        if !is_of_bulk(number) {
            loaded.records += alive.len();
        }
        for entry in &alive {
            loaded.floor = loaded.floor.min(entry.floor);
            loaded.index.insert(Place::of(number, entry));
        }
        loaded.dead.extend(gone.iter().map(|entry| entry.sequence));
        loaded.segments.insert(number, bytes);
    }
    Ok(loaded)
}

/// The records of one segment: by its footer, or, where that is missing or damaged, one by
/// one; then it is given another.
pub(super) fn entries_of(
    folder: &Path,
    secret: u64,
    number: u32,
    bytes: u64,
) -> io::Result<Vec<Entry>> {
    let path = segment_path(folder, number);
    let mut file = File::open(&path)?;
    if let Some(entries) = footer_of(&mut file, secret, number, bytes) {
        return Ok(entries);
    }
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut all)?;
    let entries = scan(&all, secret);
    drop(all);
    let mut footer = Vec::new();
    write_footer(&mut footer, secret, number, &entries);
    OpenOptions::new().append(true).open(&path)?.write_all(&footer)?;
    Ok(entries)
}

fn footer_of(file: &mut File, secret: u64, number: u32, bytes: u64) -> Option<Vec<Entry>> {
    let mut trailer = [0; TRAILER_BYTES];
    file.seek(SeekFrom::Start(bytes.checked_sub(TRAILER_BYTES as u64)?)).ok()?;
    file.read_exact(&mut trailer).ok()?;
    let length = footer_bytes(&trailer, number).filter(|&length| length <= bytes)?;
    let mut footer = vec![0; usize::try_from(length).ok()?];
    file.seek(SeekFrom::Start(bytes - length)).ok()?;
    file.read_exact(&mut footer).ok()?;
    read_footer(&footer, secret, number)
}

/// Removes all journals, but for those of this run, and all segments. Journals go first: what
/// has none is not believed.
pub(super) fn remove_all(folder: &Path, but_of: Option<u64>) -> io::Result<()> {
    for ((run, _), path) in journals(folder)? {
        if Some(run) != but_of {
            fs::remove_file(path)?;
        }
    }
    for number in segments(folder)?.into_keys() {
        fs::remove_file(segment_path(folder, number))?;
    }
    Ok(())
}

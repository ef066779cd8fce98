//! Single answers on the disk: the last ones, so that one can look back after a restart, after
//! a crash, and further than memory remembers.
//!
//! Two files of fixed size beside the history, since hits would drive out at once what one
//! looks for. A record has the place that its number gives it, and a checksum into which its
//! place goes; so records are written where they belong, and whatever is cut, torn or flipped takes
//! with it only the records that it hits. A process that begins goes on behind the highest
//! number that it finds.
//! Bounds: [`OTHERS`] and [`HITS`] records of [`RECORD_BYTES`], 30 MiB; of each look (a second)
//! [`OTHERS_MAX`] and [`HITS_MAX`] are kept.
//! Invariant: no query, no cookie, no address of a visitor stands in it.
//! Start at [`KeptWriter::note`] and [`read`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use base::Phase;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::answer::is_hit;
use crate::ledger::Wanted;
use crate::recent::Seen;
use crate::routes::RouteName;

/// Records of answers that memory gave, and of others.
const HITS: u64 = 16_384;
const OTHERS: u64 = 65_536;
/// Records of one look.
const HITS_MAX: usize = 64;
const OTHERS_MAX: usize = 1024;
/// Bytes of a record, and what of it is checked.
pub const RECORD_BYTES: usize = 384;
const CHECKED_BYTES: usize = RECORD_BYTES - 8;
/// Bytes of its numbers; texts follow.
const FIXED_BYTES: usize = 4 * 8 + Phase::COUNT * 4 + 2;
const TEXT_BYTES: usize = CHECKED_BYTES - FIXED_BYTES;
/// What one text may have of that, but for the path, which comes last.
const ONE_BYTES: usize = 60;
/// Changes whenever records are written in another way: it goes into each checksum.
const VERSION: u64 = 1;
/// Records that are read at a time, and written.
const READ_RECORDS: usize = 512;
const WRITTEN_RECORDS: usize = 64;

/// One answer, as it was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Counts up from one, over restarts too.
    pub number: u64,
    /// When the request's head was whole, in milliseconds since 1970.
    pub unix_ms: u64,
    /// How long it took.
    pub took_us: u64,
    /// Bytes of the body that went out.
    pub bytes: u64,
    /// Where the time went, in microseconds, in the order of [`Phase::ALL`].
    pub phases: [u32; Phase::COUNT],
    /// The status.
    pub status: u16,
    /// The method, or its beginning; likewise the other texts.
    pub method: String,
    /// Why it was answered so, as in `miss(uri-miss)`.
    pub verdict: String,
    /// Why what the origin said was not stored; empty: it was, or was not asked.
    pub unstored: String,
    /// The name of its site.
    pub site: String,
    /// Its route.
    pub route: String,
    /// The host as asked for.
    pub host: String,
    /// The path without its query.
    pub path: String,
}

impl Kept {
    fn of(seen: &Seen, name: &RouteName) -> Self {
        Self {
            number: 0,
            unix_ms: seen.unix_ms,
            took_us: seen.took_us,
            bytes: seen.bytes,
            phases: seen.phases.map(|time| u32::try_from(time).unwrap_or(u32::MAX)),
            status: seen.status,
            method: seen.method.clone(),
            verdict: seen.verdict.to_string(),
            unstored: seen.unstored.map_or_else(String::new, |it| it.reason().to_owned()),
            site: name.site.clone(),
            route: name.route.clone(),
            host: seen.host.clone(),
            path: seen.path.clone(),
        }
    }

    fn texts(&self) -> [&String; 7] {
        let Self { method, verdict, unstored, site, route, host, path, .. } = self;
        [method, verdict, unstored, site, route, host, path]
    }

    /// Whether it is one of those that are wanted.
    #[must_use]
    pub fn fits(&self, wanted: &Wanted) -> bool {
        let Self { verdict, unstored, route, path, .. } = self;
        let (word, reason) = verdict.split_once('(').unwrap_or((verdict, ""));
        wanted.fits_why([word, reason.trim_end_matches(')'), unstored, verdict])
            && wanted.fits_route(path, route)
            && wanted.fits_status(self.status)
    }

    /// As it lies at this place.
    fn write(&self, place: u64) -> [u8; RECORD_BYTES] {
        let mut bytes = Vec::with_capacity(RECORD_BYTES);
        for number in [self.number, self.unix_ms, self.took_us, self.bytes] {
            bytes.extend(number.to_le_bytes());
        }
        self.phases.iter().for_each(|time| bytes.extend(time.to_le_bytes()));
        bytes.extend(self.status.to_le_bytes());
        let texts = self.texts();
        for (at, text) in texts.iter().enumerate() {
            let room = CHECKED_BYTES - bytes.len() - 1;
            let is_last = at + 1 == texts.len();
            // Each of the others leaves room for those behind it.
            let room = if is_last { room } else { room.min(ONE_BYTES).min(TEXT_BYTES / 7 + 9) };
            let end = text.floor_char_boundary(room);
            // A zero ends a text, and stands in none.
            bytes.extend(text[..end].bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
            bytes.push(0);
        }
        bytes.resize(CHECKED_BYTES, 0);
        bytes.extend(xxh3_64_with_seed(&bytes, VERSION << 56 | place).to_le_bytes());
        let mut written = [0; RECORD_BYTES];
        written.copy_from_slice(&bytes);
        written
    }

    /// Reads what was written at this place; none if it isn't whole, or another's.
    fn read(bytes: &[u8], place: u64) -> Option<Self> {
        let (checked, sum) = bytes.split_at_checked(CHECKED_BYTES)?;
        if sum != xxh3_64_with_seed(checked, VERSION << 56 | place).to_le_bytes() {
            return None;
        }
        let (fixed, texts) = checked.split_at_checked(FIXED_BYTES)?;
        let mut rest = fixed;
        let mut next = |length: usize| -> u64 {
            let (bytes, after) = rest.split_at(length.min(rest.len()));
            rest = after;
            bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        let [number, unix_ms, took_us, bytes] = [8; 4].map(&mut next);
        let phases = [4; Phase::COUNT].map(|length| next(length) as u32);
        let status = next(2) as u16;
        let mut texts = texts.split(|byte| *byte == 0);
        let mut text = || String::from_utf8_lossy(texts.next().unwrap_or_default()).into_owned();
        let [method, verdict, unstored, site, route, host, path] = [(); 7].map(|()| text());
        Some(Self {
            number,
            unix_ms,
            took_us,
            bytes,
            phases,
            status,
            method,
            verdict,
            unstored,
            site,
            route,
            host,
            path,
        })
    }
}

/// One of the two files.
#[derive(Debug)]
struct Ring {
    file: File,
    records: u64,
    next: u64,
}

const FILES: [(&str, u64); 2] = [("hits.answers", HITS), ("others.answers", OTHERS)];

impl Ring {
    fn open(folder: &Path, (name, records): (&str, u64)) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Who may read addresses that visitors asked for is who may read the access log.
        options.read(true).write(true).create(true).truncate(false).mode(0o640);
        let file = options.open(folder.join(name))?;
        let mut newest = 0;
        each(&file, records, |kept| newest = newest.max(kept.number))?;
        Ok(Self { file, records, next: newest.saturating_add(1) })
    }

    /// Writes these one behind the other, in one call those that lie together.
    fn write(&mut self, all: impl Iterator<Item = Kept>) -> io::Result<()> {
        let (mut bytes, mut number) = (Vec::new(), self.next);
        for mut kept in all {
            let place = number % self.records;
            if place == 0 || bytes.len() == WRITTEN_RECORDS * RECORD_BYTES {
                self.put(&mut bytes, number)?;
            }
            kept.number = number;
            bytes.extend_from_slice(&kept.write(place));
            number = number.saturating_add(1);
        }
        self.put(&mut bytes, number)
    }

    /// Puts the records before `next` where they belong.
    fn put(&mut self, bytes: &mut Vec<u8>, next: u64) -> io::Result<()> {
        let place = self.next % self.records;
        self.file.write_all_at(bytes, place * RECORD_BYTES as u64)?;
        self.next = next;
        bytes.clear();
        Ok(())
    }
}

/// Calls `take` with each record that is whole, in the order of places.
fn each(file: &File, records: u64, mut take: impl FnMut(Kept)) -> io::Result<()> {
    let mut bytes = vec![0; READ_RECORDS * RECORD_BYTES];
    let mut place = 0;
    while place < records {
        let mut read = 0;
        while read < bytes.len() {
            let offset = place * RECORD_BYTES as u64 + read as u64;
            match file.read_at(&mut bytes[read..], offset) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        for (at, bytes) in (place..records).zip(bytes[..read].chunks_exact(RECORD_BYTES)) {
            // One that bears another place's number was copied there, by a hand or a fault.
            let kept = Kept::read(bytes, at).filter(|kept| kept.number % records == at);
            kept.into_iter().for_each(&mut take);
        }
        if read < bytes.len() {
            return Ok(());
        }
        place += READ_RECORDS as u64;
    }
    Ok(())
}

/// Keeps answers; whoever has it must also have the lock of the history beside it.
#[derive(Debug)]
pub struct KeptWriter([Ring; 2]);

impl KeptWriter {
    /// Opens what is kept in a folder, or begins it.
    ///
    /// # Errors
    /// The folder can't be used.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let [hits, others] = FILES;
        Ok(Self([Ring::open(folder, hits)?, Ring::open(folder, others)?]))
    }

    /// Keeps the last of these, which are told oldest first.
    ///
    /// # Errors
    /// The files can't be written.
    pub fn note(&mut self, seen: &[(Seen, RouteName)]) -> io::Result<()> {
        let Self(rings) = self;
        for (ring, (most, of_hits)) in rings.iter_mut().zip([(HITS_MAX, true), (OTHERS_MAX, false)])
        {
            let is_its = |it: &&(Seen, RouteName)| is_hit(it.0.verdict) == of_hits;
            let last: Vec<_> = seen.iter().rev().filter(is_its).take(most).collect();
            ring.write(last.into_iter().rev().map(|(seen, name)| Kept::of(seen, name)))?;
        }
        Ok(())
    }
}

/// What was kept in a folder of answers whose requests came since then, and that are wanted;
/// oldest first. It may be written meanwhile.
///
/// # Errors
/// The folder can't be read; one in which there is nothing is empty.
pub fn read(folder: &Path, since_unix_ms: u64, wanted: &Wanted) -> io::Result<Vec<Kept>> {
    let mut all = Vec::new();
    walk(folder, since_unix_ms, |kept| {
        if kept.fits(wanted) {
            all.push(kept);
        }
    })?;
    all.sort_by_key(|kept| (kept.unix_ms, kept.number));
    Ok(all)
}

/// The same one by one, in no order, for who needs none of them for longer.
///
/// # Errors
/// As [`read`].
pub fn walk(folder: &Path, since_unix_ms: u64, mut take: impl FnMut(Kept)) -> io::Result<()> {
    for (name, records) in FILES {
        match File::open(folder.join(name)) {
            Ok(file) => each(&file, records, |kept| {
                if kept.unix_ms >= since_unix_ms {
                    take(kept);
                }
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What these bytes are at this place, if they are anything.
#[must_use]
pub fn read_record(bytes: &[u8], place: u64) -> Option<Kept> {
    Kept::read(bytes, place)
}

#[cfg(test)]
mod tests {
    use policy::{MissReason, NoStore, PassReason, Verdict};

    use super::*;

    fn seen(unix_ms: u64, verdict: Verdict, path: &str) -> (Seen, RouteName) {
        let seen = Seen {
            number: 9,
            unix_ms,
            method: "GET".into(),
            host: "a.test".into(),
            path: path.into(),
            route: 3,
            status: 200,
            verdict,
            unstored: Some(NoStore::NoStore),
            bytes: 77,
            took_us: 41_000,
            phases: [1, 0, 2, 3, u64::MAX, 5, 6],
        };
        (seen, RouteName { site: "forum".into(), route: "/thread/{id}".into() })
    }

    const MISS: Verdict = Verdict::Miss(MissReason::UriMiss);

    #[test]
    fn what_was_kept_is_read_over_a_restart_and_selected() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = KeptWriter::open(folder.path()).expect("a new one");
        writer
            .note(&[
                seen(1000, MISS, "/thread/1"),
                seen(2000, Verdict::Hit, "/thread/1"),
                seen(3000, Verdict::Pass(PassReason::Cookie), "/cart"),
            ])
            .expect("written");
        drop(writer);
        let mut writer = KeptWriter::open(folder.path()).expect("the same");
        writer.note(&[seen(4000, MISS, "/thread/2")]).expect("written");
        let read = |since, why: &str, route: &str| -> Vec<u64> {
            let wanted = Wanted { why: why.into(), route: route.into(), ..Wanted::default() };
            let all = super::read(folder.path(), since, &wanted).expect("readable");
            all.iter().map(|kept| kept.unix_ms).collect()
        };
        assert_eq!(read(0, "", ""), [1000, 2000, 3000, 4000]);
        assert_eq!(read(1001, "miss", ""), [4000]);
        for (why, expected) in [
            ("uri-miss", &[1000, 4000][..]),
            ("miss(uri-miss)", &[1000, 4000]),
            ("cookie", &[3000]),
            ("hit", &[2000]),
            ("no-store", &[1000, 2000, 3000, 4000]),
            ("x", &[]),
        ] {
            assert_eq!(read(0, why, ""), expected, "{why}");
        }
        assert_eq!(read(0, "", "/thread/*"), [1000, 2000, 4000]);
        let all = super::read(folder.path(), 4000, &Wanted::default()).expect("readable");
        let expected =
            Kept { number: 3, ..Kept::of(&seen(4000, MISS, "/thread/2").0, &all_name()) };
        assert_eq!(all, [expected]);
        assert_eq!(all[0].phases, [1, 0, 2, 3, u32::MAX, 5, 6]);
        let empty = tempfile::tempdir().expect("a folder");
        assert!(super::read(empty.path(), 0, &Wanted::default()).expect("empty").is_empty());
    }

    fn all_name() -> RouteName {
        RouteName { site: "forum".into(), route: "/thread/{id}".into() }
    }

    #[test]
    fn long_texts_are_cut_and_none_runs_into_another() {
        let (mut long, name) = seen(1, MISS, &"/é".repeat(200));
        long.host = "h\0".repeat(100);
        let kept = Kept::of(&long, &name);
        let read = Kept::read(&kept.write(5), 5).expect("it is whole");
        assert!(kept.path.starts_with(&read.path) && read.path.len() > 100, "{}", read.path);
        assert!(read.host.starts_with("h?h?") && read.host.len() <= ONE_BYTES);
        assert_eq!((read.site.as_str(), read.verdict.as_str()), ("forum", "miss(uri-miss)"));
        assert_eq!(Kept::read(&kept.write(5), 6), None, "another's place");
    }

    #[test]
    fn of_a_crowd_the_last_are_kept_and_the_ring_goes_round() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = KeptWriter::open(folder.path()).expect("a new one");
        let rounds = HITS / HITS_MAX as u64 + 3;
        for round in 0..rounds {
            let crowd: Vec<_> =
                (0..100).map(|at| seen(round * 1000 + at, Verdict::Hit, "/")).collect();
            writer.note(&crowd).expect("written");
        }
        let all = super::read(folder.path(), 0, &Wanted::default()).expect("readable");
        assert_eq!(all.len() as u64, HITS);
        assert_eq!(all[0].unix_ms, 3036, "the first rounds are gone, and the first of each");
        let size =
            std::fs::metadata(folder.path().join("hits.answers")).expect("it is there").len();
        assert_eq!(size, HITS * RECORD_BYTES as u64);
    }

    #[test]
    fn more_than_are_written_at_a_time_lie_in_their_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = KeptWriter::open(folder.path()).expect("a new one");
        for at in 0..2 {
            let others: Vec<_> = (0..1500).map(|it| seen(at * 1500 + it, MISS, "/")).collect();
            writer.note(&others).expect("written");
        }
        let all = super::read(folder.path(), 0, &Wanted::default()).expect("readable");
        let told: Vec<_> = all.iter().map(|kept| (kept.number, kept.unix_ms)).collect();
        let expected: Vec<_> = (1..).zip((476..1500).chain(1976..3000)).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_torn_or_flipped_is_left_out_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut writer = KeptWriter::open(folder.path()).expect("a new one");
        let crowd: Vec<_> = (0..20).map(|at| seen(at, MISS, "/")).collect();
        writer.note(&crowd).expect("written");
        let path = folder.path().join("others.answers");
        let mut bytes = std::fs::read(&path).expect("it is there");
        bytes[RECORD_BYTES * 5 + 40] ^= 1;
        bytes.truncate(RECORD_BYTES * 20 + 100);
        std::fs::write(&path, &bytes).expect("it is ours");
        let all = super::read(folder.path(), 0, &Wanted::default()).expect("readable");
        let numbers: Vec<u64> = all.iter().map(|kept| kept.number).collect();
        let expected: Vec<u64> = (1..20).filter(|number| *number != 5).collect();
        assert_eq!(numbers, expected);
    }
}

//! History: what happened each second of a day, each ten of a month, each minute of a year.
//!
//! Three files of fixed size in one folder ([`TIERS`]). Each second is written into all three
//! at once, into the stretch that it lies in, so that a process that is killed loses that
//! second and nothing else. A process that begins goes on with the stretches that it finds.
//! When the clock is set back, what happens then is added to what happened at that time
//! before, and marked.
//! Invariant: reading and writing take no more than the files' size, whatever is in them.
//! Start at [`History::note`] and [`read`].

mod point;
mod ring;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use point::{Mark, POINT_BYTES, Point, Times};
pub use ring::Tier;
use ring::{RingFile, Source, is_ring, read_points};

/// How long what is kept how finely; 64 MB together.
pub const TIERS: [Tier; 3] = [
    Tier { seconds: 1, points: 86_400 },
    Tier { seconds: 10, points: 259_200 },
    Tier { seconds: 60, points: 525_600 },
];
/// Who asks for more points gets longer ones.
pub const POINTS_MAX: u64 = 5000;

/// Why there is no history; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Another process writes it.
    #[error(
        "another Wick writes the history in {0}: give this one a folder of its own with --state"
    )]
    Taken(PathBuf),
    /// It can't be read or written.
    #[error("the history in {0} can't be used: {1}; see to it that Wick's user may write there")]
    Unusable(PathBuf, #[source] io::Error),
}

/// The file of a tier.
fn file(folder: &Path, tier: Tier) -> PathBuf {
    folder.join(format!("{}s.ring", tier.seconds))
}

/// A history that is written.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    rings: Vec<RingFile>,
    /// The stretch of each ring that the last second was in.
    open: [Option<Point>; TIERS.len()],
    newest: u64,
    /// Held for as long as this one writes.
    _lock: File,
}

impl History {
    /// Opens the history in a folder, or begins one.
    ///
    /// # Errors
    /// Another process writes it, or the folder can't be used.
    pub fn open(folder: &Path) -> Result<Self, HistoryError> {
        let unusable = |error| HistoryError::Unusable(folder.to_owned(), error);
        fs::create_dir_all(folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(HistoryError::Taken(folder.to_owned()));
            }
            Err(fs::TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let rings = TIERS.iter().map(|tier| RingFile::open(&file(folder, *tier), *tier));
        let rings = rings.collect::<io::Result<Vec<_>>>().map_err(unusable)?;
        let open = Default::default();
        Ok(Self { folder: folder.to_owned(), rings, open, newest: 0, _lock: lock })
    }

    /// Writes what happened in one second.
    ///
    /// # Errors
    /// The files can't be written; what was noted is lost, and the next may be tried.
    pub fn note(&mut self, mut second: Point) -> Result<(), HistoryError> {
        if second.time < self.newest {
            second.mark(Mark::Clock);
        }
        self.newest = second.time;
        let written = self.write(&second);
        written.map_err(|error| HistoryError::Unusable(self.folder.clone(), error))
    }

    fn write(&mut self, second: &Point) -> io::Result<()> {
        for (ring, open) in self.rings.iter().zip(&mut self.open) {
            let time = second.time - second.time % ring.tier.seconds;
            let mut point = match open.take().filter(|point| point.time == time) {
                Some(point) => point,
                None => ring.read(time)?.unwrap_or(Point { time, ..Point::default() }),
            };
            point.merge(second);
            ring.write(&point)?;
            *open = Some(point);
        }
        Ok(())
    }
}

/// Which stretch of time is wanted, and how finely; in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first second.
    pub from: u64,
    /// The first second behind it.
    pub to: u64,
    /// The length of a point, in seconds.
    pub step: u64,
}

impl Span {
    /// The finest tier that is no finer than wanted and reaches back far enough at `now`.
    fn tier(&self, now: u64) -> Tier {
        let reaches = |tier: &Tier| self.from >= now.saturating_sub(tier.reach());
        let is_fine = |tier: &&Tier| tier.seconds <= self.step.max(1);
        let coarsest = TIERS.iter().rev().filter(is_fine).find(|tier| reaches(tier));
        coarsest.or_else(|| TIERS.iter().find(|tier| reaches(tier))).copied().unwrap_or(TIERS[2])
    }

    /// The length of its points, if they are made of those of a tier.
    fn step_of(&self, tier: Tier) -> u64 {
        let length = self.to.saturating_sub(self.from).min(TIERS[2].reach());
        let step = self.step.max(length.div_ceil(POINTS_MAX)).max(1);
        step.div_ceil(tier.seconds) * tier.seconds
    }
}

/// Reads the history in a folder, also while it is written: a point for each step in which
/// something was noted, oldest first. Where it is not kept so finely, points are longer than
/// was wanted; so they are where there would be more than [`POINTS_MAX`].
///
/// # Errors
/// The folder can't be read; one in which there is none is an empty history.
pub fn read(folder: &Path, span: Span, now: u64) -> Result<Vec<Point>, HistoryError> {
    let tier = span.tier(now);
    let unusable = |error| HistoryError::Unusable(folder.to_owned(), error);
    match File::open(file(folder, tier)) {
        Ok(file) => read_from(&file, tier, span).map_err(unusable),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(unusable(error)),
    }
}

/// The same from the bytes of one file of a tier.
#[must_use]
pub fn read_bytes(bytes: &[u8], tier: Tier, span: Span) -> Vec<Point> {
    // Memory can always be read.
    read_from(bytes, tier, span).unwrap_or_default()
}

fn read_from<S: Source + ?Sized>(source: &S, tier: Tier, span: Span) -> io::Result<Vec<Point>> {
    let mut points: Vec<Point> = Vec::new();
    if !is_ring(source, tier)? {
        return Ok(points);
    }
    let step = span.step_of(tier);
    let from = span.from - span.from % step;
    read_points(source, tier, from, span.to, |point| {
        let time = point.time - point.time % step;
        match points.last_mut().filter(|last| last.time == time) {
            Some(last) => last.merge(&point),
            None => points.push(Point { time, ..point }),
        }
    })?;
    Ok(points)
}

#[cfg(test)]
mod tests;

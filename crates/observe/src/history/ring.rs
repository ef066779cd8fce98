//! A ring of points in a file: each has the place that its time gives it.
//!
//! Nothing tells where the ring begins: a point bears its time, and one of an earlier round is
//! no point of this one. So a write is one write to one place, and whatever is cut, torn or
//! flipped takes with it only the points that it hits.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::point::{POINT_BYTES, Point};

/// Before the points: what they are, in a text that ends with its sum.
const HEAD_BYTES: usize = 64;
/// Changes whenever points are written in another way.
const VERSION: u32 = 2;
/// Points that are read at a time.
const READ_POINTS: u64 = 512;

/// How a ring divides time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// The length of each point, in seconds.
    pub seconds: u64,
    /// How many there are.
    pub points: u64,
}

impl Tier {
    /// How far back it reaches, in seconds.
    #[must_use]
    pub const fn reach(self) -> u64 {
        self.seconds * self.points
    }

    /// Bytes of its file.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        HEAD_BYTES as u64 + self.points * POINT_BYTES as u64
    }

    fn place(self, time: u64) -> u64 {
        time / self.seconds % self.points
    }

    fn offset(place: u64) -> u64 {
        HEAD_BYTES as u64 + place * POINT_BYTES as u64
    }

    fn head(self) -> [u8; HEAD_BYTES] {
        let text =
            format!("wick history {VERSION} {} {} {POINT_BYTES}\n", self.seconds, self.points);
        let mut head = [0; HEAD_BYTES];
        // A number has at most twenty digits, but these are small.
        let end = text.len().min(HEAD_BYTES - 8);
        head[..end].copy_from_slice(&text.as_bytes()[..end]);
        let sum = xxh3_64(&head[..HEAD_BYTES - 8]);
        head[HEAD_BYTES - 8..].copy_from_slice(&sum.to_le_bytes());
        head
    }
}

/// Where a ring's bytes come from.
pub(super) trait Source {
    /// Reads what is there, which may be less than there is room for.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl Source for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match FileExt::read_at(self, &mut bytes[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

impl Source for [u8] {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let length = bytes.len().min(self.len() - from);
        bytes[..length].copy_from_slice(&self[from..from + length]);
        Ok(length)
    }
}

/// Whether these bytes begin as a ring of this tier does.
pub(super) fn is_ring<S: Source + ?Sized>(source: &S, tier: Tier) -> io::Result<bool> {
    let mut head = [0; HEAD_BYTES];
    Ok(source.read_at(&mut head, 0)? == HEAD_BYTES && head == tier.head())
}

/// Calls `take` with each point that begins at `from` or later and before `to`, in order.
pub(super) fn read_points<S: Source + ?Sized>(
    source: &S,
    tier: Tier,
    from: u64,
    to: u64,
    mut take: impl FnMut(Point),
) -> io::Result<()> {
    // All of them have different places.
    let from = from.max(to.saturating_sub(tier.reach()));
    let mut number = from.div_ceil(tier.seconds);
    let end = to.div_ceil(tier.seconds);
    let mut bytes = vec![0; READ_POINTS as usize * POINT_BYTES];
    while number < end {
        let place = number % tier.points;
        let count = READ_POINTS.min(end - number).min(tier.points - place);
        let room = &mut bytes[..count as usize * POINT_BYTES];
        let read = source.read_at(room, Tier::offset(place))?;
        for (at, bytes) in (0..).zip(room[..read].chunks_exact(POINT_BYTES)) {
            let point = Point::read(bytes, place + at);
            if let Some(point) = point.filter(|point| point.time == (number + at) * tier.seconds) {
                take(point);
            }
        }
        number += count;
    }
    Ok(())
}

/// A ring that is written.
#[derive(Debug)]
pub(super) struct RingFile {
    file: File,
    pub(super) tier: Tier,
}

impl RingFile {
    /// Opens a ring, or makes it; what is no ring of this tier is begun anew.
    pub(super) fn open(path: &Path, tier: Tier) -> io::Result<Self> {
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let file = options.open(path)?;
        if !is_ring(&file, tier)? {
            file.set_len(0)?;
            file.write_all_at(&tier.head(), 0)?;
        }
        Ok(Self { file, tier })
    }

    /// The point that begins then, if there is one.
    pub(super) fn read(&self, time: u64) -> io::Result<Option<Point>> {
        let mut found = None;
        read_points(&self.file, self.tier, time, time + 1, |point| found = Some(point))?;
        Ok(found)
    }

    pub(super) fn write(&self, point: &Point) -> io::Result<()> {
        let place = self.tier.place(point.time);
        self.file.write_all_at(&point.write(place), Tier::offset(place))
    }
}

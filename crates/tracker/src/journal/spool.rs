//! Batches on disk, from when they are made until the database has them.
//!
//! The newest stays also when it was written: it says up to which entry each shard was made
//! batches of.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::codec::{
    Bytes, CREDIT_BYTES_MAX, OTHER_BYTES_MAX, POINT_BYTES, put_credit, put_other, put_point,
    put_standing, take_credit, take_other, take_point, take_standing,
};
use super::files;
use super::frame::{BODY_BYTES_MAX, Frames, Kind, put};
use super::log::create;
use crate::credit::{Batch, Credit, Point};
use crate::tracker::SHARDS;

/// Up to which entry each shard was made batches of.
pub(crate) type Sealed = [u64; SHARDS];

const STANDING_BYTES: usize = 24;
/// A credit is never shorter: where its client is isn't always known.
const CREDIT_BYTES_MIN: usize = 142;
/// Credits of a batch that are put into words before they are written.
const CREDITS_AT_ONCE: usize = 512;

/// The folder of batches.
#[derive(Clone, Debug)]
pub(crate) struct Spool(PathBuf);

impl Spool {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let folder = folder.join("batches");
        fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }

    /// The numbers of batches here, in order.
    pub(crate) fn numbers(&self) -> io::Result<Vec<u64>> {
        files::numbers(&self.0, "")
    }

    /// Writes a batch. It is there when its file has its name, and not before.
    pub(crate) fn write(&self, batch: &Batch, sealed: &Sealed) -> io::Result<()> {
        let part = self.0.join("part");
        let mut file = create(&part)?;
        let mut out = Vec::new();
        put(&mut out, Kind::Batch, |out| {
            out.extend_from_slice(&batch.number.to_le_bytes());
            sealed.iter().for_each(|sequence| out.extend_from_slice(&sequence.to_le_bytes()));
        });
        for credits in batch.credits.chunks(CREDITS_AT_ONCE) {
            put_credits(&mut out, credits);
            write_out(&mut file, &mut out)?;
        }
        put_points(&mut out, &batch.points);
        for standings in batch.torrents.chunks(BODY_BYTES_MAX / STANDING_BYTES) {
            put(&mut out, Kind::Standings, |out| {
                standings.iter().for_each(|standing| put_standing(out, standing));
            });
        }
        put(&mut out, Kind::End, |_| {});
        write_out(&mut file, &mut out)?;
        file.sync_data()?;
        fs::rename(&part, self.path(batch.number))
    }

    /// Reads a batch, and how many bytes of it are damaged.
    pub(crate) fn read(&self, number: u64) -> io::Result<(Batch, Sealed, u64)> {
        let file = File::open(self.path(number))?;
        let room = usize::try_from(file.metadata()?.len()).unwrap_or(0) / CREDIT_BYTES_MIN;
        let mut frames = Frames::new(file);
        let credits = Vec::with_capacity(room);
        let mut batch = Batch { number, credits, ..Batch::default() };
        let mut sealed = [0; SHARDS];
        let mut is_whole = false;
        while let Some((kind, body)) = frames.next()? {
            let mut bytes = Bytes(body);
            match kind {
                Kind::Batch => {
                    bytes.u64();
                    sealed.fill_with(|| bytes.u64().unwrap_or(0));
                }
                Kind::Credits => {
                    batch.credits.extend(std::iter::from_fn(|| take_credit(&mut bytes)));
                }
                Kind::Others => {
                    while let Some((user, torrent, other)) = take_other(&mut bytes) {
                        let key = |credit: &Credit| (credit.user, credit.torrent);
                        let place = batch.credits.binary_search_by_key(&(user, torrent), key);
                        // Where the credit is damaged its sessions are too.
                        place
                            .into_iter()
                            .for_each(|at| batch.credits[at].others.push(other.clone()));
                    }
                }
                Kind::Points => {
                    batch.points.extend(std::iter::from_fn(|| take_point(&mut bytes)));
                }
                Kind::Standings => {
                    batch.torrents.extend(std::iter::from_fn(|| take_standing(&mut bytes)));
                }
                Kind::End => is_whole = true,
                _ => {}
            }
        }
        let damaged = frames.damaged_bytes.max(u64::from(!is_whole));
        Ok((batch, sealed, damaged))
    }

    pub(crate) fn remove(&self, number: u64) {
        // Who stays for no reason is handed out once more at most, and refused by its number.
        let _ = fs::remove_file(self.path(number));
    }

    fn path(&self, number: u64) -> PathBuf {
        self.0.join(format!("{number:020}"))
    }
}

fn write_out(file: &mut File, out: &mut Vec<u8>) -> io::Result<()> {
    file.write_all(out)?;
    out.clear();
    Ok(())
}

/// Appends credits, and behind them the sessions beside the last of each.
pub(super) fn put_credits(out: &mut Vec<u8>, credits: &[Credit]) {
    for credits in credits.chunks(BODY_BYTES_MAX / CREDIT_BYTES_MAX) {
        put(out, Kind::Credits, |out| credits.iter().for_each(|credit| put_credit(out, credit)));
    }
    let mut others = Vec::new();
    for credit in credits {
        others.extend(credit.others.iter().map(|other| (credit, other)));
    }
    for others in others.chunks(BODY_BYTES_MAX / OTHER_BYTES_MAX) {
        put(out, Kind::Others, |out| {
            others.iter().for_each(|(credit, other)| put_other(out, credit, other));
        });
    }
}

/// Appends points.
pub(super) fn put_points(out: &mut Vec<u8>, points: &[Point]) {
    for points in points.chunks(BODY_BYTES_MAX / POINT_BYTES) {
        put(out, Kind::Points, |out| points.iter().for_each(|point| put_point(out, point)));
    }
}

//! A tracker that was alone becomes one of several that write one ledger.
//!
//! What it earned alone goes into batches without points, which are written as they are; then the
//! ledger is told where each session stands, so that what comes next counts from there. All that
//! is on disk before the folder has its number: whoever dies before begins anew, and to tell where
//! a session stands twice adds nothing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use base::Now;

use crate::journal::log::create;
use crate::shard::Shard;
use crate::tracker::{Tracker, add_difference};

const FILE: &str = "node";

impl Tracker {
    /// Begins to be one of several, before anything is announced.
    pub(crate) fn join(&mut self, now: Now) -> io::Result<()> {
        self.seal_all(now)?;
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.pending.len();
            shard.keeps_points = true;
            shard.note_standings();
            add_difference(&self.pending, before, shard.pending.len());
            drop(shard);
            self.seal_all(now)?;
        }
        if let Some(disk) = &mut self.disk {
            disk.node = Some(draw(&disk.folder, self.batches.last())?);
        }
        Ok(())
    }
}

impl Shard {
    fn note_standings(&mut self) {
        let Self { torrents, packing, pending, .. } = self;
        for row in &mut torrents.rows {
            row.is_dirty |= row.swarm.len_all() > 0;
            row.swarm.each(|record| pending.note_standing(row.id, &packing.unpack(&record)));
        }
    }
}

/// By what the folder's tracker is told from all others of one ledger, if there are others: a
/// number, and that of the last batch that it made when it was alone.
pub(crate) fn node(folder: &Path) -> io::Result<Option<(u64, u64)>> {
    let path = folder.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            let both = text.trim().split_once(' ');
            let both = both.and_then(|(id, last)| Some((id.parse().ok()?, last.parse().ok()?)));
            let damaged = || io::Error::other(format!("{} holds no numbers", path.display()));
            both.map(Some).ok_or_else(damaged)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Draws one.
fn draw(folder: &Path, last: u64) -> io::Result<(u64, u64)> {
    let id = rand::random_range(1..=i64::MAX as u64);
    let part = folder.join("node.part");
    let mut file = create(&part)?;
    file.write_all(format!("{id} {last}").as_bytes())?;
    file.sync_all()?;
    fs::rename(part, folder.join(FILE))?;
    File::open(folder)?.sync_all()?;
    Ok((id, last))
}

//! What was learned of a site's pages, beside its index: which blocks recur on them, so that what
//! comes first after a restart isn't found by the words of a menu.
//!
//! Bound: one file of about 100 kB, written every [`WRITE_EVERY`] if it is another than before, and
//! at the end. Derived data: what can't be read is learned again.

use std::path::Path;
use std::sync::Weak;
use std::time::Duration;
use std::{fs, io};

use ::search::site::Blocks;
use base::complaint::complain;
use tokio::time::sleep;

use super::taking::opened;
use super::{SiteSearch, unpoisoned};

const FILE: &str = "blocks";
const WRITE_EVERY: Duration = Duration::from_secs(60);

/// Writes it now and then, for as long as there is a search.
pub(super) async fn keep(search: Weak<SiteSearch>) {
    let mut written = Vec::new();
    loop {
        sleep(WRITE_EVERY).await;
        let Some(search) = opened(&search).await else { return };
        let made = tokio::task::spawn_blocking(move || search.write_learned(written));
        written = made.await.unwrap_or_default();
    }
}

impl SiteSearch {
    /// Takes in what a run before this learned.
    pub(super) fn read_learned(&self) {
        if let Some(blocks) = read(&self.folder) {
            *unpoisoned(&self.blocks) = blocks;
        }
    }

    /// Writes what is known, unless that was written before; what is written now.
    pub(super) fn write_learned(&self, before: Vec<u8>) -> Vec<u8> {
        let bytes = unpoisoned(&self.blocks).encode();
        if bytes != before
            && let Err(error) = write(&self.folder, &bytes)
        {
            let folder = self.folder.display();
            complain(format_args!("what recurs on pages can't be kept in {folder}: {error}"));
        }
        bytes
    }
}

fn read(folder: &Path) -> Option<Blocks> {
    Blocks::decode(&fs::read(folder.join(FILE)).ok()?)
}

fn write(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let made = folder.join(FILE).with_extension("new");
    fs::write(&made, bytes)?;
    fs::rename(made, folder.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_is_there_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(folder.path()).is_none());
        let mut blocks = Blocks::default();
        (0..20).for_each(|page| blocks.note(page, [7, 100 + page].into_iter()));
        write(folder.path(), &blocks.encode()).expect("it can be written");
        let kept = read(folder.path()).expect("it is there");
        assert!(kept.is_common(7) && !kept.is_common(103));
        fs::write(folder.path().join(FILE), b"something else").expect("it can be written");
        assert!(read(folder.path()).is_none());
    }
}

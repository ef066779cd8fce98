//! Temporary files: how much is written to them, of all that the disks write, and how large a tmpfs
//! would hold them.
//!
//! In: a [`Machine`]. Out: what each owner wrote in the window.
//! What a server writes to such a file goes to memory first; a disk sees it only when the kernel
//! writes it back, half a minute later, or sooner where memory is short or the disk is waited for.
//! So a tmpfs gains where disks are waited for, and nowhere else (`bench/doctor`).

use std::path::Path;

use crate::machine::{FileSystem, Machine};

/// From this share of the disks' writes on.
pub(crate) const SHARE_MIN: f64 = 0.01;
/// Percent of a minute in which somebody waited for a disk, from which on writes are no matter of
/// indifference.
const WAITING_MIN: f64 = 5.0;
/// So many seconds of what is written are held: twice what the kernel keeps before it writes back.
const HELD_SECONDS: f64 = 60.0;
/// Sizes are whole pieces of this.
const PIECE: u64 = 256 << 20;
const TMPFS_MAX: u64 = 4 << 30;
/// The page of Aria, in which MariaDB keeps temporary tables on disk, unless it says otherwise.
const ARIA_PAGE_BYTES: f64 = 8192.0;

/// What one server wrote to temporary files on a disk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Writes {
    /// Whose.
    pub(crate) owner: Owner,
    /// In the window.
    pub(crate) bytes: f64,
}

/// Who makes temporary files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// MariaDB or MySQL.
    Database,
    /// PostgreSQL, which wants no tmpfs: its manual warns of tablespaces that vanish.
    Postgres,
    /// PHP, of uploads.
    Php,
}

/// What was written to temporary files that aren't in memory, by those of whom it is known.
pub(crate) fn written(machine: &Machine) -> Vec<Writes> {
    let mut all = Vec::new();
    let mut add = |owner, bytes: Option<f64>| {
        all.extend(bytes.map(|bytes| Writes { owner, bytes }));
    };
    if !machine.set("mysql.tmpdir").is_some_and(|path| is_in_memory(machine, path)) {
        add(Owner::Database, database_bytes(machine));
    }
    add(Owner::Postgres, machine.grown("postgres.temp_bytes"));
    if !is_in_memory(machine, upload_folder(machine.set("php.upload_tmp_dir"))) {
        add(Owner::Php, machine.grown("php.upload_bytes"));
    }
    all
}

/// At least: on MariaDB what left Aria's cache of pages, in which all temporary tables on disk are,
/// and hardly anything else (performance_schema misses them: of 77 MB it told 0.3); on MySQL
/// what performance_schema counts. Sorts that merge files are in neither.
fn database_bytes(machine: &Machine) -> Option<f64> {
    let page = machine.number("mysql.aria_block_size").unwrap_or(ARIA_PAGE_BYTES);
    let pages = machine.grown("mysql.Aria_pagecache_writes").map(|pages| pages * page);
    let counted = machine.grown("mysql.temporary_bytes");
    pages.into_iter().chain(counted).reduce(f64::max)
}

/// Where uploads lie until PHP has moved them.
pub(crate) fn upload_folder(set: Option<&str>) -> &str {
    set.filter(|path| path.starts_with('/')).unwrap_or("/tmp")
}

/// Whether the first of these folders is a tmpfs.
pub(crate) fn is_in_memory(machine: &Machine, folders: &str) -> bool {
    let first = folders.split(':').next().unwrap_or(folders);
    let first = if first.is_empty() { "/tmp" } else { first };
    let holders = machine.file_systems.iter();
    let holders = holders.filter(|one: &&FileSystem| Path::new(first).starts_with(&one.place));
    holders.max_by_key(|one| one.place.len()).is_some_and(|one| one.kind == "tmpfs")
}

/// Whether anybody waits for a disk.
pub(crate) fn is_waited_for(machine: &Machine) -> bool {
    machine.now("psi.io.some.avg60").is_some_and(|percent| percent > WAITING_MIN)
        || machine.set("kernel.rotational") == Some("1")
}

/// How large a tmpfs would be that holds what is written; none where it wouldn't gain.
pub(crate) fn tmpfs_wanted(machine: &Machine) -> Option<u64> {
    let disks = machine.grown("disks.written_bytes").filter(|&bytes| bytes > 0.0)?;
    let fit = written(machine).into_iter().filter(|one| one.owner != Owner::Postgres);
    let bytes: f64 = fit.filter(|one| one.bytes > disks * SHARE_MIN).map(|one| one.bytes).sum();
    if bytes <= 0.0 || machine.window_seconds <= 0.0 || !is_waited_for(machine) {
        return None;
    }
    let held = (bytes / machine.window_seconds * HELD_SECONDS) as u64;
    Some((held.div_ceil(PIECE).max(1).saturating_mul(PIECE)).min(TMPFS_MAX))
}

//! What was before, on the disk, so that it can be put back at any time.
//!
//! Invariant: the newest snapshot is taken back first, and is gone only when all of it is back.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ApplyError, Plan, live, write};
use crate::finding::{Change, Place};
use crate::machine::Machine;
use crate::read::{Options, Root};

#[derive(Serialize, Deserialize)]
struct Snapshot {
    finding: String,
    files: Vec<SavedFile>,
    settings: Vec<SavedSetting>,
}

#[derive(Serialize, Deserialize)]
struct SavedFile {
    path: String,
    before: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SavedSetting {
    /// `kernel`, `database`, `postgres`, `php`, `pool` or `unit`.
    kind: String,
    /// The PHP's version, or the unit.
    owner: String,
    name: String,
    old: Option<String>,
}

/// Writes down what a plan is about to change.
pub(super) fn take(plan: &Plan, state: &Path) -> Result<(), ApplyError> {
    let files = plan
        .edits
        .iter()
        .map(|edit| SavedFile { path: edit.path.clone(), before: edit.before.clone() });
    let snapshot = Snapshot {
        finding: plan.finding.to_owned(),
        files: files.collect(),
        settings: plan.changes.iter().map(saved).collect(),
    };
    let number = numbers(state).last().map_or(1, |last| last + 1);
    let text = serde_json::to_string_pretty(&snapshot)
        .map_err(|error| ApplyError::File(state.to_owned(), error.into()))?;
    write(&path(state, number), &text)
}

/// Takes the newest snapshot back; which finding it was of.
///
/// # Errors
/// There is none, or something of it can't be put back; it stays for another try.
pub async fn roll_back(
    options: &Options,
    machine: &Machine,
    state: &Path,
) -> Result<String, ApplyError> {
    let none = || ApplyError::NoSnapshot(state.join("doctor"));
    let number = numbers(state).last().copied().ok_or_else(none)?;
    let path = path(state, number);
    let wrong = |error| ApplyError::File(path.clone(), error);
    let text = fs::read_to_string(&path).map_err(wrong)?;
    let snapshot: Snapshot = serde_json::from_str(&text).map_err(|error| wrong(error.into()))?;
    let root = Root::new(&options.root);
    for SavedFile { path, before } in &snapshot.files {
        let path = root.at(path);
        match before {
            Some(before) => write(&path, before)?,
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(ApplyError::File(path, error));
                }
                _ => (),
            },
        }
    }
    let back: Vec<Change> = snapshot.settings.iter().filter_map(restored).collect();
    live::take_over(&back, options, machine)
        .await
        .map_err(|error| ApplyError::Stuck(error.to_string()))?;
    fs::remove_file(&path).map_err(wrong)?;
    Ok(snapshot.finding)
}

fn saved(change: &Change) -> SavedSetting {
    let (kind, owner) = match &change.place {
        Place::Kernel => ("kernel", String::new()),
        Place::Database => ("database", String::new()),
        Place::Postgres => ("postgres", String::new()),
        Place::Php(version) => ("php", version.clone()),
        Place::Pool(version, _) => ("pool", version.clone()),
        Place::Unit(unit) => ("unit", unit.clone()),
    };
    let (name, old) = (change.name.clone(), change.old.clone());
    SavedSetting { kind: kind.into(), owner, name, old }
}

/// The change back; of a setting without a former value only who has to read its files again.
fn restored(saved: &SavedSetting) -> Option<Change> {
    let owner = saved.owner.clone();
    let place = match saved.kind.as_str() {
        "kernel" => Place::Kernel,
        "database" => Place::Database,
        "postgres" => Place::Postgres,
        "php" | "pool" => Place::Php(owner),
        "unit" => Place::Unit(owner),
        _ => return None,
    };
    // What PostgreSQL wasn't told before is reset.
    let has_value =
        matches!(place, Place::Php(_) | Place::Unit(_) | Place::Postgres) || saved.old.is_some();
    let new = saved.old.clone().unwrap_or_default();
    has_value.then(|| Change { place, name: saved.name.clone(), old: None, new })
}

fn path(state: &Path, number: u64) -> PathBuf {
    state.join("doctor").join(format!("{number:06}.json"))
}

/// The numbers of all snapshots, the newest last.
fn numbers(state: &Path) -> Vec<u64> {
    let entries = fs::read_dir(state.join("doctor")).into_iter().flatten().flatten();
    let mut numbers: Vec<u64> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

//! What the owner decided over what was learned, at run time: its file in the state folder.
//!
//! It is written whole, and on the disk, before a ruling is answered. `wick.toml` is its owner's
//! and stays as it is.
//! Invariants: 1. a file that can't be read is set aside and told of, never written over. 2. its
//! bound is that of rulings.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::complaint::complain;
use serde::{Deserialize, Serialize};
use server::{Ruling, Rulings, RulingsKeeper};

/// The file's name in the state folder.
const FILE: &str = "overruled.json";
/// More than all rulings that there may be take.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// How its contents are written.
const VERSION: u32 = 1;

#[derive(Deserialize, Serialize)]
struct Written {
    version: u32,
    rulings: Vec<Ruling>,
}

/// The rulings that are kept in a state folder; those to come are kept there too.
pub(crate) fn open(state: &Path) -> Arc<Rulings> {
    let path = state.join(FILE);
    let kept = match read(&path) {
        Ok(kept) => kept,
        Err(why) => {
            set_aside(&path, &why);
            Vec::new()
        }
    };
    let keep: RulingsKeeper = Box::new(move |all| {
        write(&path, all).map_err(|error| {
            format!(
                "nothing was overruled, as it can't be kept in {}: {error}; make room, or name \
                 another folder with --state",
                path.display()
            )
        })
    });
    Rulings::new(kept, Some(keep))
}

fn read(path: &Path) -> Result<Vec<Ruling>, String> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|error| error.to_string())?;
    let written: Written = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match written.version {
        VERSION => Ok(written.rulings),
        other => Err(format!("its version is {other}, which this Wick doesn't know")),
    }
}

/// What can't be read is left for somebody to look at.
fn set_aside(path: &Path, why: &str) {
    let aside = path.with_extension("json.unread");
    let moved = match fs::rename(path, &aside) {
        Ok(()) => format!("it is {} now", aside.display()),
        Err(error) => format!("it can't be moved away: {error}"),
    };
    complain(format_args!(
        "nothing holds that was overruled, as {} can't be read: {why}; {moved}",
        path.display()
    ));
}

/// Replaces the file in one step.
fn write(path: &PathBuf, all: &[Ruling]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let written = Written { version: VERSION, rulings: all.to_vec() };
    let mut file = tempfile::Builder::new()
        .prefix(".overruled-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    serde_json::to_writer_pretty(&mut file, &written)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use server::Rule;

    use super::*;

    fn ruling(subject: &str) -> Ruling {
        let (site, by) = ("forum".to_owned(), "me".to_owned());
        Ruling { site, rule: Rule::ForeignCookies, subject: subject.into(), by, unix_ms: 5 }
    }

    #[test]
    fn what_is_written_is_read_and_a_damaged_file_is_left_for_somebody_to_look_at() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("made/on/the/way").join(FILE);
        assert_eq!(read(&path), Ok(Vec::new()), "there is none yet");
        for count in [2, 1, 0] {
            let all: Vec<Ruling> = (0..count).map(|at| ruling(&format!("c{at}"))).collect();
            write(&path, &all).expect("it can be written");
            assert_eq!(read(&path), Ok(all));
        }
        let mode = fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for damaged in ["", "{", "{\"version\": 2, \"rulings\": []}", "\u{0}"] {
            fs::write(&path, damaged).expect("ours");
            assert!(read(&path).is_err(), "{damaged:?}");
        }
        open(path.parent().expect("its folder"));
        assert!(!path.exists() && path.with_extension("json.unread").exists());
    }
}

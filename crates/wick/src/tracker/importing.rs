//! `wick tracker import`: a list of torrents goes into the tracker's own tables.
//!
//! A tracker that runs sees them within seconds.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use tracker::books::Importer;

use super::BooksPlan;
use super::lists::listed;
use super::plan::folder;
use crate::announce::say;
use crate::arguments::{Serve, TrackerImport};
use crate::control::ControlError;
use crate::plan::Plan;

/// Reads the list a line at a time, and says how many were new.
pub(super) fn import(wanted: &TrackerImport, state: PathBuf) -> Result<(), ControlError> {
    imported(wanted, state).map_err(|why| ControlError::Wrong("nothing was imported", why))
}

fn imported(wanted: &TrackerImport, state: PathBuf) -> Result<(), String> {
    let (books, state) = books(wanted, state)?;
    let contract = books.contract()?;
    if !contract.is_ours() {
        let contract = books.contract;
        return Err(format!("the site puts torrents into the tables of {contract}, not Wick"));
    }
    let list = &wanted.list;
    let wrong = |error: std::io::Error| format!("the list {}: {error}", list.display());
    let lines = BufReader::new(File::open(list).map_err(wrong)?).lines();
    let folder = folder(&state);
    if books.database.is_none() {
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("the folder {}: {error}", folder.display()))?;
    }
    let place = books.place(&folder)?;
    let mut importer = Importer::begin(place, contract).map_err(|trouble| trouble.to_string())?;
    for (number, line) in lines.enumerate() {
        if let Some(hash) = listed(list, number, &line.map_err(wrong)?)? {
            importer.add(hash).map_err(|trouble| trouble.to_string())?;
        }
    }
    let (new, all) = importer.finish().map_err(|trouble| trouble.to_string())?;
    say(&format!("{new} torrents are new; {} were there already\n", all - new));
    Ok(())
}

/// The database that the settings name, and the state folder.
fn books(wanted: &TrackerImport, state: PathBuf) -> Result<(BooksPlan, PathBuf), String> {
    let Some(config) = &wanted.config else {
        let ours = BooksPlan {
            database: None,
            contract: "wick".to_owned(),
            flush: Duration::ZERO,
            logs_announces: false,
            push_secret: None,
        };
        return Ok((ours, state));
    };
    let serve = Serve { config: Some(config.clone()), ..Serve::default() };
    let plan = Plan::of(&serve).map_err(|error| error.to_string())?;
    let tracker = plan.tracker.ok_or("there is no [tracker] in these settings")?;
    let books = tracker.books.ok_or(
        "this tracker has no database, as its mode is open: name the list in allow or deny",
    )?;
    Ok((books, plan.state))
}

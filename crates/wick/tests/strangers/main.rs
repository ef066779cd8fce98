//! Strangers before sites that give everybody a session: every specimen behind the built
//! binary with no setting, visited by programs and by people with a real browser.
//!
//! - `specimens::NAME` ([`check`]): from the second visit on pages come from memory and read
//!   as the origin's; log-ins and what guests do work from such pages in Chromium.
//! - `first_visitors::NAME` ([`first_visitors`]): who reads what is not in memory yet, and
//!   writes at once.
//! - `attacks::NAME` ([`attacks`]): what other sites and other visitors try gets no further
//!   than it does without Wick.
//! - `leak_hunt::NAME` ([`leak_hunt`]): hundreds of marked visitors at once, from dice.
//!
//! The specimens' results are printed as a table, which `target/strangers.md` keeps. Where
//! Chromium or php-fpm is missing nothing is checked, loudly; `scripts/setup test` brings
//! both. One specimen alone: `cargo test -p wick --test strangers -- specimens::flash`.

mod attacks;
mod browser;
mod check;
mod client;
mod crawl;
mod first_visitors;
mod leak_hunt;
mod ledger;
mod page;
mod people;
mod served;
mod specimen;
mod table;
mod walk;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};

use crate::browser::{Browser, Outcome};
use crate::specimen::Specimen;
use crate::table::Table;

/// What all tests of a run share.
#[derive(Default)]
struct Run {
    /// Started by the first test that needs it.
    browser: Mutex<Option<Arc<Browser>>>,
    table: Mutex<Table>,
}

impl Run {
    fn browser(&self) -> Outcome<Arc<Browser>> {
        let mut browser = self.browser.lock().unwrap_or_else(PoisonError::into_inner);
        if browser.is_none() {
            *browser = Some(Arc::new(Browser::start()?));
        }
        browser.clone().ok_or_else(|| "there is no browser".to_owned())
    }

    /// Closes the browser and shows the table; whether both went well.
    fn end(&self) -> Outcome<()> {
        let browser = self.browser.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = browser.map_or(Ok(()), |browser| browser.end());
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        ended.and(table.show())
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if let Some(missing) = missing() {
        eprintln!("\n*** {missing} is missing: STRANGERS ARE NOT TESTED, NOTHING IS CHECKED ***\n");
        return ExitCode::SUCCESS;
    }
    let specimens = match specimen::all() {
        Ok(specimens) if !specimens.is_empty() => specimens,
        Ok(_) => return complain("specimens/ holds no specimen.json"),
        Err(error) => return complain(&error),
    };
    let run = Arc::new(Run::default());
    let mut trials = Vec::new();
    for specimen in &specimens {
        trials.push(specimen_trial(&run, specimen));
    }
    trials.extend(first_visitors::trials(&specimens));
    trials.extend(attacks::trials(&specimens));
    trials.extend(client::trials());
    trials.extend(leak_hunt::trials(&specimens));
    let conclusion = libtest_mimic::run(&arguments, trials);
    match run.end() {
        Ok(()) => conclusion.exit_code(),
        Err(error) => complain(&error),
    }
}

fn specimen_trial(run: &Arc<Run>, specimen: &Specimen) -> Trial {
    let (run, specimen) = (run.clone(), specimen.clone());
    Trial::test(format!("specimens::{}", specimen.name), move || {
        let (row, faults) = check::check(&specimen, &run.browser()?)?;
        run.table.lock().unwrap_or_else(PoisonError::into_inner).add(row);
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n\n").into()) }
    })
}

/// What a run can't do without and is not there.
fn missing() -> Option<&'static str> {
    let has_php = std::fs::read_dir("/usr/sbin").is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("php-fpm"))
        })
    });
    match (browser::is_installed(), has_php) {
        (false, _) => Some("Chromium"),
        (_, false) => Some("php-fpm"),
        _ => None,
    }
}

fn complain(what: &str) -> ExitCode {
    eprintln!("{what}");
    ExitCode::FAILURE
}

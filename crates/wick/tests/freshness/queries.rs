//! `wick queries --site`: which requests run which queries, and what caching those would save.

use std::process::{Command, Stdio};
use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::Value;

use crate::browser::Outcome;
use crate::figures::Figures;
use crate::ladder::{Reader, Tapped};
use crate::stranger::{self, PATIENCE};
use crate::trial;

pub(crate) fn trials(figures: &Arc<Figures>) -> Vec<Trial> {
    vec![trial(figures, "queries::by_route".to_owned(), |_| {
        let site = Tapped::start("session-everywhere")?;
        by_route(&site).map_err(|error| format!("{error}\nwick said:\n{}", site.wick.complaints()))
    })]
}

/// Searches are told by their route, as soon as no probes are under way.
fn by_route(site: &Tapped) -> Outcome<()> {
    let mut reader = Reader::new(&site.wick);
    let mut last = String::new();
    let told = stranger::each(PATIENCE, || {
        let mut watching = queries(site, "");
        let mut watching = watching.spawn().map_err(|error| error.to_string())?;
        while watching.try_wait().map_err(|error| error.to_string())?.is_none() {
            reader.ask_the_app()?;
        }
        let output = watching.wait_with_output().map_err(|error| error.to_string())?;
        last = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let report: Value =
            serde_json::from_str(&last).map_err(|error| format!("{error}: {last}"))?;
        Ok(told_of_search(&report))
    })?;
    told.ok_or_else(|| format!("no query is told to be a search's: {last}"))?;
    if last.contains("word1") {
        return Err(format!("literals are told: {last}"));
    }
    let wrong = queries(site, "another").output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    match said.contains("name one of these sites") && wrong.status.code() == Some(1) {
        true => Ok(()),
        false => Err(format!("a site that isn't there: {said}")),
    }
}

fn queries(site: &Tapped, name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
    command.args(["queries", "--window", "1s", "--format", "json", "--site", name, "--state"]);
    command.arg(site.wick.state.path().join("state"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Whether a query of the search's is told, with whom it is for and why that wasn't in memory.
fn told_of_search(report: &Value) -> Option<()> {
    let rows = report["top"].as_array()?;
    let search = rows.iter().find(|row| {
        row["fingerprint"].as_str().is_some_and(|text| text.contains("like"))
            && row["routes"][0]["route"] == "GET /search"
    })?;
    let route = &search["routes"][0];
    let has_words = |name: &str| route[name].as_str().is_some_and(|text| !text.is_empty());
    let is_sure = route["share"].as_f64()? > 0.0 && search["mean_seconds"].as_f64()? > 0.0;
    let notes = report["notes"].as_array()?;
    let tells_sweeps =
        notes.iter().any(|note| note.as_str().is_some_and(|it| it.contains("swept")));
    (is_sure && tells_sweeps && has_words("evidence") && has_words("fix")).then_some(())
}

//! `wick sphinx status`: how each index stands, and what clients did.
//!
//! Invariant: names and numbers, and what a database said; no text, no login.

use search::sphinx::conf::IndexKind;
use search::sphinx::{IndexStatus, Protocol, State};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Answering, Open, lock};
use crate::arguments::{Sphinx, SphinxCommand};
use crate::control::ControlError;
use crate::observing::told::{self, Told};
use crate::{observing, plan};
use base::amount::{show_bytes, show_count};

/// What may be asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SphinxQuestion {
    Status {},
}

/// Asks the running Wick and shows what it says.
pub(crate) fn ask(arguments: &Sphinx) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let SphinxCommand::Status = &arguments.command;
    let question = observing::asking::Question::Sphinx(SphinxQuestion::Status {});
    told::show(&state, &question, false)
}

/// Answers a question.
pub(crate) fn tell(
    searching: Option<&Answering>,
    question: &SphinxQuestion,
) -> Result<Told, String> {
    let SphinxQuestion::Status {} = question;
    let none = "clients of Sphinx aren't answered here: add [sphinx] to wick.toml";
    let searching = searching.ok_or(none)?;
    let open = lock(&searching.open);
    let open = open.as_ref().ok_or("the indexes aren't open yet; ask again")?;
    Ok(status(searching, open))
}

fn status(searching: &Answering, open: &Open) -> Told {
    let mut lines = Vec::new();
    let ports = searching.ports();
    for port in &ports {
        let spoken = spoken(port.protocol);
        lines.push(("port".to_owned(), format!("{} ({spoken})", port.address)));
    }
    let indexes = open.filling.status();
    for index in &indexes {
        lines.push((index.name.clone(), sentence(index)));
    }
    let tables = open.catalogue.all().into_iter();
    let tables: Vec<_> =
        tables.filter(|held| indexes.iter().all(|index| index.name != held.name)).collect();
    for table in &tables {
        let counts = table.index.counts();
        let text = format!("made by a client, {}", documents(counts.documents));
        lines.push((table.name.clone(), text));
    }
    let figures: Vec<_> = open.figures.each().collect();
    let done = figures.iter().filter(|count| count.number > 0);
    lines.extend(done.map(|count| (count.name.to_owned(), count.number.to_string())));
    let told = json!({
        "ports": ports.iter().map(|port| json!({
            "address": port.address.to_string(),
            "protocol": spoken(port.protocol),
        })).collect::<Vec<_>>(),
        "indexes": indexes.iter().map(index_json).collect::<Vec<_>>(),
        "tables": tables.iter().map(|table| json!({
            "name": table.name,
            "documents": table.index.counts().documents,
        })).collect::<Vec<_>>(),
        "figures": figures.iter().map(|count| (count.name.to_owned(), count.number.into()))
            .collect::<serde_json::Map<_, _>>(),
    });
    Told { lines, told }
}

pub(super) fn spoken(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Binary => "the binary API",
        Protocol::MySql => "SphinxQL",
    }
}

pub(super) fn kind(kind: IndexKind) -> &'static str {
    match kind {
        IndexKind::Plain => "plain",
        IndexKind::Realtime => "real-time",
        IndexKind::Distributed => "distributed",
    }
}

fn sentence(index: &IndexStatus) -> String {
    let mut said = match (&index.state, index.made) {
        (State::Waiting, _) => "not made yet".to_owned(),
        (State::Making, 0) => "made for the first time".to_owned(),
        (State::Making, _) => "made anew; found as it was".to_owned(),
        (State::Whole, _) => kind(index.kind).to_owned(),
        (State::Trouble(why), 0) => format!("not made: {why}"),
        (State::Trouble(why), _) => format!("found as it was; not made anew: {why}"),
    };
    if index.kind != IndexKind::Distributed {
        let size = show_bytes(index.disk_bytes);
        said += &format!(", {}, {size}", documents(index.documents));
    }
    if index.made > 0 {
        let age = super::plan::age(index.made);
        said += &format!(
            "; made {age} s ago in {} ms, anew in {} s",
            index.took_milliseconds, index.next_seconds
        );
    }
    if index.skipped > 0 {
        said += &format!("; {} no id", show_count(index.skipped, "row has", "rows have"));
    }
    if let Some(warning) = &index.warning {
        said += &format!("; {warning}");
    }
    said
}

fn index_json(index: &IndexStatus) -> Value {
    let (state, why) = match &index.state {
        State::Waiting => ("waiting", None),
        State::Making => ("making", None),
        State::Whole => ("whole", None),
        State::Trouble(why) => ("trouble", Some(why)),
    };
    json!({
        "name": index.name,
        "kind": kind(index.kind),
        "state": state,
        "why": why,
        "documents": index.documents,
        "disk_bytes": index.disk_bytes,
        "made": index.made,
        "took_milliseconds": index.took_milliseconds,
        "next_seconds": index.next_seconds,
        "rows_skipped": index.skipped,
        "warning": index.warning,
    })
}

fn documents(count: u64) -> String {
    show_count(count, "document", "documents")
}

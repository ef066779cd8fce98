//! An answer of the running Wick in two columns, and the same for programs.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asking::Question;
use crate::announce::say;
use crate::control::{self, ControlError};

/// What is answered to `wick cluster`, `wick search`, `wick sphinx` and `wick tracker`.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Told {
    /// A topic and what is said of it.
    pub(crate) lines: Vec<(String, String)>,
    pub(crate) told: Value,
}

/// Asks the Wick with this state folder, and shows what it says.
pub(crate) fn show(state: &Path, question: &Question, as_json: bool) -> Result<(), ControlError> {
    let answer: Told = control::ask_observed(state, question)?;
    if as_json {
        say(&format!("{}\n", answer.told));
        return Ok(());
    }
    let width = answer.lines.iter().map(|(topic, _)| topic.chars().count()).max().unwrap_or(0);
    for (topic, text) in &answer.lines {
        let (topic, text) = (control::printable(topic), control::printable(text));
        say(&format!("{topic:<width$}  {text}\n"));
    }
    Ok(())
}

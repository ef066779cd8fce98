//! Advice: what would make queries cheaper.

use serde::{Deserialize, Serialize};

/// One piece of advice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// What to do, as a statement.
    pub statement: String,
    /// Why.
    pub why: String,
    /// How sure it is: `verified`, `unverified` or `unused`.
    pub confidence: String,
    /// What it costs.
    pub cost: String,
    /// How to take it back.
    pub revert: String,
    /// The classes that it is for, by their ids.
    pub classes: Vec<String>,
}

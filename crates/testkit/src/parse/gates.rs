//! Gates that are waited for and gates that are opened must be the same ones.

use std::collections::BTreeMap;

use super::ParseError;
use crate::scene::{Deed, Position, Scene, Stage};
use crate::words;

/// Finds a gate that nobody opens, or that nobody waits for.
pub(super) fn check(scene: &Scene) -> Result<(), ParseError> {
    let mut awaited: BTreeMap<&str, Position> = BTreeMap::new();
    let mut opened: BTreeMap<&str, Position> = BTreeMap::new();
    for step in &scene.steps {
        match &step.deed {
            Deed::Open(gate) => {
                opened.entry(gate).or_insert(step.at);
            }
            Deed::Script(exchange) => {
                for stage in &exchange.stages {
                    if let Stage::Gate(gate) = stage {
                        awaited.entry(gate).or_insert(exchange.at);
                    }
                }
            }
            _ => {}
        }
    }
    compare(&awaited, &opened, "opened")?;
    compare(&opened, &awaited, "waited for")
}

fn compare(
    these: &BTreeMap<&str, Position>,
    those: &BTreeMap<&str, Position>,
    missing: &str,
) -> Result<(), ParseError> {
    let Some((gate, at)) = these.iter().find(|(gate, _)| !those.contains_key(*gate)) else {
        return Ok(());
    };
    let hint = words::nearest(gate, those.keys().copied());
    let hint = hint.map_or(String::new(), |near| format!("; the nearest is \"{near}\""));
    Err(ParseError::new(*at, format!("the gate \"{gate}\" is never {missing}{hint}")))
}

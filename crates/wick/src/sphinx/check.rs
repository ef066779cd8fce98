//! `wick check`: what was read of a `sphinx.conf`, what of it isn't obeyed, and what its sources
//! have.

use std::net::TcpListener;

use base::amount::show_count;
use search::sphinx::{SourceFound, Tried, try_out};

use super::asking::{kind, spoken};
use super::{SphinxError, SphinxPlan};
use crate::announce::say;

/// Says it; what keeps clients from finding anything is wrong.
pub(crate) async fn check(plan: &SphinxPlan, wrong: &mut Vec<String>) {
    say("\n");
    for port in &plan.listen {
        let state = match TcpListener::bind(port.address) {
            Ok(_) => "free",
            Err(error) => {
                wrong.push(SphinxError::Listen(port.address, error).to_string());
                "can't be had"
            }
        };
        say(&format!("sphinx      {} for {} ({state})\n", port.address, spoken(port.protocol)));
    }
    for address in &plan.closed {
        say(&format!(
            "  closed    the file listens on {address}: here it is this machine's alone; listen of \
             [sphinx] opens it\n"
        ));
    }
    let Some(file) = &plan.file else {
        say("  conf      none: clients make their tables themselves\n");
        return;
    };
    say(&format!("  conf      {}\n", file.display()));
    for index in &plan.conf.indexes {
        let of = [&index.sources[..], &index.locals].concat().join(", ");
        let of = if of.is_empty() { of } else { format!(" of {of}") };
        say(&format!("  index     {}: {}{of}\n", index.name, kind(index.kind)));
        for local in &index.locals {
            if plan.conf.indexes.iter().all(|other| other.name != *local) {
                wrong.push(format!(
                    "the distributed index {} names the index {local}, which isn't there",
                    index.name
                ));
            }
        }
    }
    for remark in &plan.conf.remarks {
        say(&format!("  line {:<4} {}: {}\n", remark.line, remark.key, remark.why));
    }
    let conf = plan.conf.clone();
    // Databases are waited for.
    let tried = tokio::task::spawn_blocking(move || try_out(&conf)).await;
    for Tried { source, told } in tried.unwrap_or_default() {
        match told {
            Ok(found) => say(&format!("  source    {source}: {}\n", sentence(&found))),
            Err(why) => {
                say(&format!("  source    {source}: can't be read\n"));
                wrong.push(format!("the source {source}: {why}"));
            }
        }
    }
}

fn sentence(found: &SourceFound) -> String {
    let rows = match found.is_at_least {
        true => format!("{} or more rows", found.rows),
        false => show_count(found.rows, "row", "rows"),
    };
    let mut said = match found.range {
        Some((0, 0)) => "no rows".to_owned(),
        Some((least, most)) => format!(
            "ids {least} to {most} in {}, {rows} in the first",
            show_count(found.steps, "step", "steps"),
        ),
        None => rows,
    };
    let named = |names: &[String]| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    said += &format!("; fields {}; attributes {}", named(&found.fields), named(&found.attributes));
    if found.skipped > 0 {
        said += &format!(
            "; {} left out",
            show_count(found.skipped, "row has no id and is", "rows have no id and are")
        );
    }
    if !found.missing.is_empty() {
        said += &format!("; no such columns: {}", found.missing.join(", "));
    }
    said
}

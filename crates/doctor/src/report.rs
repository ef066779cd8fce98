//! What was found, for people and for programs.
//!
//! In: an examination, what couldn't be seen, the budget. Out: text for a terminal, or the
//! members of a JSON object.

use base::amount::show_bytes;
use serde::Serialize;

use crate::budget::Budget;
use crate::checks::{Examination, Remark};
use crate::finding::{Confidence, Finding};
use crate::machine::{Machine, Unseen};
use crate::traffic::Traffic;

/// How wide text is.
const WIDTH: usize = 96;

/// Everything that is told.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What to do, the worst first; their numbers begin at 1.
    pub findings: Vec<Finding>,
    /// What is fine, and why.
    pub fine: Vec<Remark>,
    /// What couldn't be judged, and why.
    pub unseen: Vec<Remark>,
    /// What couldn't be read, and what would help.
    pub hidden: Vec<Unseen>,
    /// How memory is shared out.
    pub budget: Budget,
    /// How long counters were watched.
    pub window_seconds: f64,
    /// What the findings are ranked by; none: by what is at stake alone.
    pub traffic: Option<Traffic>,
}

impl Report {
    /// Of an examination.
    #[must_use]
    pub fn new(examination: Examination, machine: &Machine, budget: Budget) -> Self {
        let Examination { findings, fine, unseen } = examination;
        Self {
            findings,
            fine,
            unseen,
            hidden: machine.unseen.clone(),
            budget,
            window_seconds: machine.window_seconds,
            traffic: machine.traffic.filter(Traffic::tells),
        }
    }

    /// As a person reads it; `all` also tells what is fine and what couldn't be judged.
    #[must_use]
    pub fn text(&self, all: bool) -> String {
        let mut out = String::new();
        for (index, finding) in self.findings.iter().enumerate() {
            say_finding(&mut out, index + 1, finding);
        }
        if self.findings.is_empty() {
            out.push_str("Nothing to do.\n\n");
        }
        if let Some(traffic) = &self.traffic {
            say_traffic(&mut out, traffic);
        }
        if self.budget.limit_bytes > 0 {
            say_budget(&mut out, &self.budget);
        }
        if !self.hidden.is_empty() {
            out.push_str("Not seen\n");
            for Unseen { what, cure } in &self.hidden {
                wrap(&mut out, "  - ", &format!("{what}: {cure}"));
            }
            out.push('\n');
        }
        if all {
            say_remarks(&mut out, "Fine, because", &self.fine);
            say_remarks(&mut out, "Not judged, because", &self.unseen);
        }
        let (found, fine, unseen) = (self.findings.len(), self.fine.len(), self.unseen.len());
        out.push_str(&format!(
            "{found} to do, {fine} fine, {unseen} not judged, in {:.0} s{}\n",
            self.window_seconds,
            if all { "" } else { "; --all tells why" }
        ));
        out
    }
}

fn say_finding(out: &mut String, number: usize, finding: &Finding) {
    let about = match finding.subject.is_empty() {
        true => String::new(),
        false => format!(" ({})", finding.subject),
    };
    let sure = match finding.confidence {
        Confidence::High => "",
        Confidence::Medium => ", likely",
        Confidence::Low => ", perhaps",
    };
    out.push_str(&format!("{number}. {}{about}: {}{sure}\n", finding.id, finding.class.words()));
    wrap(out, "   seen    ", &finding.evidence);
    wrap(out, "   gain    ", &gain(finding));
    wrap(out, "   do      ", &finding.fix.words);
    for change in &finding.fix.changes {
        out.push_str(&format!("           {change}\n"));
    }
    if !finding.fix.changes.is_empty() {
        out.push_str(&format!("           wick doctor --apply {number}\n"));
    }
    wrap(out, "   undo    ", &finding.revert);
    wrap(out, "   source  ", finding.source);
    out.push('\n');
}

fn gain(finding: &Finding) -> String {
    match finding.saved_ms_a_day {
        None => finding.gain.clone(),
        Some(ms) => format!("{}: {} a day of what visitors wait for", finding.gain, show_time(ms)),
    }
}

/// Milliseconds, as a person reads them.
fn show_time(ms: f64) -> String {
    let units = [(3_600_000.0, "h"), (60_000.0, "min"), (1000.0, "s")];
    match units.into_iter().find(|(unit, _)| ms >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", ms / unit),
        None => format!("{ms:.0} ms"),
    }
}

fn say_traffic(out: &mut String, traffic: &Traffic) {
    let queue = match traffic.queue_ms {
        Some(ms) => format!(", for each of which a place was waited for {}", show_time(ms)),
        None => String::new(),
    };
    let text = format!(
        "in {} of the last day {:.0} requests, {:.0} of them to the origins, which worked {}{queue}",
        show_time(traffic.noted_seconds * 1000.0),
        traffic.requests,
        traffic.origin_requests,
        show_time(traffic.origin_ms)
    );
    wrap(out, "Traffic: ", &text);
    out.push('\n');
}

fn say_budget(out: &mut String, budget: &Budget) {
    out.push_str(&format!(
        "Memory: {} of {} may be planned for\n",
        show_bytes(budget.spendable_bytes),
        show_bytes(budget.limit_bytes)
    ));
    for part in &budget.parts {
        let advised = match part.now_bytes == part.advised_bytes {
            true => String::new(),
            false => format!(" → {}", show_bytes(part.advised_bytes)),
        };
        out.push_str(&format!("  {:>10}{advised}  {}\n", show_bytes(part.now_bytes), part.name));
    }
    let (now, advised) = (budget.now_bytes(), budget.advised_bytes());
    let advised =
        if now == advised { String::new() } else { format!(" → {}", show_bytes(advised)) };
    out.push_str(&format!("  {:>10}{advised}  together, at most\n\n", show_bytes(now)));
}

fn say_remarks(out: &mut String, title: &str, remarks: &[Remark]) {
    if remarks.is_empty() {
        return;
    }
    out.push_str(&format!("{title}\n"));
    for Remark { id, because } in remarks {
        wrap(out, &format!("  {id:<22}"), because);
    }
    out.push('\n');
}

/// Breaks a text into lines that begin below the first word.
fn wrap(out: &mut String, first: &str, text: &str) {
    let indent = first.chars().count();
    let mut column = indent;
    out.push_str(first);
    for (index, word) in text.split_ascii_whitespace().enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_a_unit_that_fits() {
        for (ms, text) in [
            (0.4, "0 ms"),
            (999.0, "999 ms"),
            (1500.0, "1.5 s"),
            (90_000.0, "1.5 min"),
            (9e6, "2.5 h"),
        ] {
            assert_eq!(show_time(ms), text);
        }
    }

    #[test]
    fn long_texts_are_broken_below_their_first_word() {
        let mut out = String::new();
        wrap(&mut out, "  do  ", &"abcdefghi ".repeat(12));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].chars().count() <= WIDTH && lines[1].starts_with("      abcdefghi"));
    }
}

//! Plans of `auto_explain`: whose they are, and how many rows they looked at.
//!
//! In: what follows `plan:`, in the formats `text`, `json` and `yaml` (`auto_explain.log_format`).
//! Out: the statement, the plan, and a [`Summary`]. In all three a node tells its counts before those
//! below it, so lines are enough; a plan that was cut still tells what it has.

use std::borrow::Cow;

use memchr::memmem;

use super::numbers::whole;
use crate::query::{Marks, Query};

/// What a plan comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    rows_sent: u64,
    rows_examined: u64,
    marks: Marks,
}

/// A statement and its plan, which begins in text at the first line that tells a cost, and in the
/// other formats at the member `Plan`.
pub(super) fn parts(text: &[u8]) -> (Cow<'_, [u8]>, &[u8]) {
    if let Some(parts) = quoted(text) {
        return parts;
    }
    let Some(text) = text.strip_prefix(b"Query Text: ") else {
        return (Cow::Borrowed(b""), text);
    };
    let cost = memmem::find(text, b"  (cost=");
    let line = cost.and_then(|cost| text[..cost].iter().rposition(|byte| *byte == b'\n'));
    match line {
        Some(line) => (Cow::Borrowed(&text[..line]), &text[line + 1..]),
        None => (Cow::Borrowed(text), b""),
    }
}

/// The same of json and yaml, both of which write the statement as JSON writes a string.
fn quoted(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let is_json = text.starts_with(b"{");
    let (name, plan): (&[u8], &[u8]) = match is_json {
        true => (b"\"Query Text\": ", b"\n  \"Plan\": "),
        false => (b"Query Text: ", b"\nPlan: "),
    };
    let plan = &text[memmem::find(text, plan)? + 1..];
    let at = memmem::find(text, name)? + name.len();
    // No SQL begins with a double quote, so that a text plan isn't taken for yaml.
    let mut values = serde_json::Deserializer::from_slice(&text[at..]).into_iter::<String>();
    let statement = values.next()?.ok()?;
    Some((Cow::Owned(statement.into_bytes()), plan))
}

/// A node of a plan in json or yaml, as far as it was read.
#[derive(Clone, Copy, Default)]
struct Node {
    is_scan: bool,
    rows: Option<u64>,
    loops: Option<u64>,
    removed: u64,
}

impl Summary {
    /// Rows by the plan's own counts, where `auto_explain.log_analyze` is on.
    pub(super) fn of(plan: &[u8]) -> Self {
        match plan.starts_with(b"Plan: ") || plan.starts_with(b"  \"Plan\": ") {
            true => Self::of_members(plan),
            false => Self::of_text(plan),
        }
    }

    fn of_members(plan: &[u8]) -> Self {
        let mut told = Self::default();
        let mut node = None::<Node>;
        let mut nodes = 0;
        for (name, value) in plan.split(|byte| *byte == b'\n').filter_map(member) {
            match name {
                b"Node Type" => {
                    told.add(node.take(), nodes);
                    nodes += 1;
                    let is_scan = value.ends_with(b" Scan") && value != b"Bitmap Index Scan";
                    node = Some(Node { is_scan, ..Node::default() });
                    told.marks.full_scan |= value == b"Seq Scan";
                    told.marks.sort |= value == b"Sort" || value == b"Incremental Sort";
                }
                b"Sort Space Type" => told.marks.on_disk |= value == b"Disk",
                _ => {
                    let Some(node) = &mut node else { continue };
                    let number = whole(value);
                    match name {
                        // Workers of a node tell theirs behind it.
                        b"Actual Rows" => node.rows = node.rows.or(number),
                        b"Actual Loops" => node.loops = node.loops.or(number),
                        b"Rows Removed by Filter" | b"Rows Removed by Index Recheck" => {
                            node.removed = node.removed.saturating_add(number.unwrap_or(0));
                        }
                        _ => {}
                    }
                }
            }
        }
        told.add(node, nodes);
        told
    }

    /// Adds a node that was read to its end, the `number`th.
    fn add(&mut self, node: Option<Node>, number: usize) {
        let Some(Node { is_scan, rows, loops, removed }) = node else { return };
        let loops = loops.unwrap_or(1);
        let rows = rows.unwrap_or(0).saturating_mul(loops);
        if number == 1 {
            self.rows_sent = rows;
        }
        let passed = removed.saturating_mul(loops);
        let examined = if is_scan { rows.saturating_add(passed) } else { passed };
        self.rows_examined = self.rows_examined.saturating_add(examined);
    }

    fn of_text(plan: &[u8]) -> Self {
        let mut told = Self::default();
        let mut loops = 1;
        for (index, line) in plan.split(|byte| *byte == b'\n').enumerate() {
            let has = |word: &[u8]| memmem::find(line, word).is_some();
            if let Some(at) = memmem::find(line, b"(actual ") {
                let number = |name: &[u8]| {
                    let at = at + memmem::find(&line[at..], name)? + name.len();
                    whole(&line[at..])
                };
                loops = number(b"loops=").unwrap_or(1);
                let rows = number(b"rows=").unwrap_or(0).saturating_mul(loops);
                if index == 0 {
                    told.rows_sent = rows;
                }
                if has(b" Scan ") && !has(b"Bitmap Index Scan") {
                    told.rows_examined = told.rows_examined.saturating_add(rows);
                }
            }
            for removed in [&b"Rows Removed by Filter: "[..], b"Rows Removed by Index Recheck: "] {
                if let Some(at) = memmem::find(line, removed) {
                    let rows = whole(&line[at + removed.len()..]).unwrap_or(0);
                    told.rows_examined =
                        told.rows_examined.saturating_add(rows.saturating_mul(loops));
                }
            }
            told.marks.full_scan |= has(b"Seq Scan on ");
            told.marks.sort |= has(b"Sort Key: ");
            told.marks.on_disk |= has(b"  Disk: ");
        }
        told
    }

    pub(super) fn into_query(self, query: &mut Query<'_>) {
        (query.rows_sent, query.rows_examined) = (self.rows_sent, self.rows_examined);
        query.marks = self.marks;
    }
}

/// A member of a plan: `"Name": value,` in json, `Name: value` in yaml, with a dash before a list's
/// first; strings without their quotes.
fn member(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"- ").unwrap_or(line);
    let colon = memmem::find(line, b": ")?;
    let (name, value) = (&line[..colon], &line[colon + 2..]);
    let value = value.strip_suffix(b",").unwrap_or(value);
    Some((unquoted(name), unquoted(value)))
}

fn unquoted(text: &[u8]) -> &[u8] {
    let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{
  "Query Text": "select \"a\"\nfrom posts where topic_id = 8;",
  "Plan": {
    "Node Type": "Sort",
    "Parallel Aware": false,
    "Actual Rows": 7.00,
    "Actual Loops": 1,
    "Sort Key": ["a"],
    "Sort Space Type": "Disk",
    "Plans": [
      {
        "Node Type": "Seq Scan",
        "Relation Name": "posts",
        "Actual Rows": 20,
        "Actual Loops": 3,
        "Filter": "(topic_id = 8)",
        "Rows Removed by Filter": 980,
        "Workers": [
          {
            "Worker Number": 0,
            "Actual Rows": 5,
            "Actual Loops": 1
          }
        ]
      },
      {
        "Node Type": "Bitmap Index Scan",
        "Actual Rows": 500,
        "Actual Loops": 1
      }
    ]
  }
}"#;

    const YAML: &str = "Query Text: \"select \\\"a\\\"\\nfrom posts where topic_id = 8;\"\n\
        Plan: \n  Node Type: \"Sort\"\n  Parallel Aware: false\n  Actual Rows: 7\n  Actual Loops: 1\n\
        \x20 Sort Key: \n    - \"a\"\n  Sort Space Type: \"Disk\"\n  Plans: \n\
        \x20   - Node Type: \"Seq Scan\"\n      Relation Name: \"posts\"\n      Actual Rows: 20\n\
        \x20     Actual Loops: 3\n      Filter: \"(topic_id = 8)\"\n      Rows Removed by Filter: 980\n\
        \x20     Workers: \n        - Worker Number: 0\n          Actual Rows: 5\n\
        \x20         Actual Loops: 1\n    - Node Type: \"Bitmap Index Scan\"\n      Actual Rows: 500\n\
        \x20     Actual Loops: 1\n";

    #[test]
    fn plans_come_to_the_same_in_json_and_yaml() {
        for text in [JSON, YAML] {
            let (statement, plan) = parts(text.as_bytes());
            let statement = String::from_utf8_lossy(&statement);
            assert_eq!(statement, "select \"a\"\nfrom posts where topic_id = 8;");
            let marks = Marks { full_scan: true, sort: true, on_disk: true, ..Marks::default() };
            let expected = Summary { rows_sent: 7, rows_examined: 3000, marks };
            assert_eq!(Summary::of(plan), expected, "{}", String::from_utf8_lossy(plan));
        }
    }

    #[test]
    fn a_plan_that_is_cut_tells_what_it_has() {
        for text in [JSON, YAML] {
            for end in 0..text.len() {
                let (_, plan) = parts(&text.as_bytes()[..end]);
                assert!(Summary::of(plan).rows_examined <= 3000);
            }
        }
    }
}

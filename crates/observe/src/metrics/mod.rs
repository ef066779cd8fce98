//! Counts as others read them: OpenMetrics text, which Prometheus and most other programs take.
//!
//! In: families of numbers, in any order. Out: text by the OpenMetrics specification 1.0: types,
//! units, `_total` behind the names of counters, labels with their quotes, and `# EOF`.
//! Invariants: 1. a family is written once, with its head before all of its numbers.
//! 2. whatever stands in a label, the text stays one that can be read.
//! Start at [`Page`].

use std::fmt::Write as _;

/// What such a text is declared as.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Units that names end with.
const UNITS: [&str; 3] = ["bytes", "seconds", "ratio"];

/// Whether a number only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It does, until the program starts again.
    Counter,
    /// It doesn't.
    Gauge,
}

/// What a family of numbers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family<'a> {
    /// Its name, without `_total`.
    pub name: &'a str,
    /// Whether its numbers only grow.
    pub kind: Kind,
    /// What they count, in a sentence.
    pub help: &'a str,
}

/// A text in the making.
#[derive(Debug, Default)]
pub struct Page {
    families: Vec<Written>,
}

#[derive(Debug)]
struct Written {
    name: String,
    kind: Kind,
    head: String,
    numbers: String,
}

impl Page {
    /// A counter.
    pub fn count(&mut self, name: &str, help: &str, labels: &[(&str, &str)], number: u64) {
        let family = Family { name, kind: Kind::Counter, help };
        self.number(family, labels, number);
    }

    /// A gauge; one that isn't known is left out.
    pub fn gauge(
        &mut self,
        name: &str,
        help: &str,
        labels: &[(&str, &str)],
        number: Option<impl Number>,
    ) {
        if let Some(number) = number {
            self.number(Family { name, kind: Kind::Gauge, help }, labels, number);
        }
    }

    /// A number of a family; of the same labels there must be one only.
    pub fn number(&mut self, family: Family<'_>, labels: &[(&str, &str)], number: impl Number) {
        if !number.is_told() {
            return;
        }
        let written = self.family(family);
        let total = if written.kind == Kind::Counter { "_total" } else { "" };
        let numbers = &mut written.numbers;
        let _ = write!(numbers, "{}{total}", written.name);
        for (at, (name, value)) in labels.iter().enumerate() {
            numbers.push_str(if at == 0 { "{" } else { "," });
            let _ = write!(numbers, "{name}=\"");
            escape(numbers, value);
            numbers.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = write!(numbers, "{end} ");
        number.write(numbers);
        numbers.push('\n');
    }

    /// The families that have been written, in their order.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.families.iter().map(|family| (family.name.as_str(), family.kind))
    }

    /// The whole text.
    #[must_use]
    pub fn finish(self) -> String {
        let lines = self.families.into_iter().map(|family| family.head + &family.numbers);
        lines.chain(["# EOF\n".to_owned()]).collect()
    }

    fn family(&mut self, family: Family<'_>) -> &mut Written {
        let known = self.families.iter().rposition(|written| written.name == family.name);
        let at = known.unwrap_or_else(|| {
            self.families.push(Written::new(family));
            self.families.len() - 1
        });
        &mut self.families[at]
    }
}

impl Written {
    fn new(family: Family<'_>) -> Self {
        let Family { name, kind, help } = family;
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let mut head = format!("# TYPE {name} {word}\n");
        let unit = name.rsplit_once('_').map_or("", |(_, unit)| unit);
        if UNITS.contains(&unit) {
            let _ = writeln!(head, "# UNIT {name} {unit}");
        }
        let _ = write!(head, "# HELP {name} ");
        escape(&mut head, help);
        head.push('\n');
        Self { name: name.to_owned(), kind, head, numbers: String::new() }
    }
}

/// What stands behind a name.
pub trait Number {
    /// Writes it.
    fn write(&self, text: &mut String);

    /// Whether there is anything to be told.
    fn is_told(&self) -> bool {
        true
    }
}

impl Number for u64 {
    fn write(&self, text: &mut String) {
        let _ = write!(text, "{self}");
    }
}

impl Number for i64 {
    fn write(&self, text: &mut String) {
        let _ = write!(text, "{self}");
    }
}

impl Number for f64 {
    fn write(&self, text: &mut String) {
        let _ = write!(text, "{self}");
    }

    fn is_told(&self) -> bool {
        self.is_finite()
    }
}

impl Number for bool {
    fn write(&self, text: &mut String) {
        text.push(if *self { '1' } else { '0' });
    }
}

fn escape(text: &mut String, value: &str) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_once_whatever_order_their_numbers_come_in() {
        let mut page = Page::default();
        page.count("wick_a", "First.", &[("site", "x")], 1);
        page.gauge("wick_b_bytes", "Second.", &[], Some(7u64));
        page.count("wick_a", "First.", &[("site", "y"), ("why", "")], 2);
        page.gauge("wick_c_ratio", "Third.", &[], Some(0.25));
        page.gauge("wick_d", "Fourth.", &[], Some(true));
        page.gauge("wick_e_timestamp_seconds", "Fifth.", &[], Some(-1i64));
        let expected = "# TYPE wick_a counter\n# HELP wick_a First.\n\
            wick_a_total{site=\"x\"} 1\nwick_a_total{site=\"y\",why=\"\"} 2\n\
            # TYPE wick_b_bytes gauge\n# UNIT wick_b_bytes bytes\n# HELP wick_b_bytes Second.\n\
            wick_b_bytes 7\n\
            # TYPE wick_c_ratio gauge\n# UNIT wick_c_ratio ratio\n# HELP wick_c_ratio Third.\n\
            wick_c_ratio 0.25\n\
            # TYPE wick_d gauge\n# HELP wick_d Fourth.\nwick_d 1\n\
            # TYPE wick_e_timestamp_seconds gauge\n# UNIT wick_e_timestamp_seconds seconds\n\
            # HELP wick_e_timestamp_seconds Fifth.\nwick_e_timestamp_seconds -1\n# EOF\n";
        assert_eq!(page.finish(), expected);
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut page = Page::default();
        page.gauge("wick_a", "A.", &[], None::<u64>);
        page.gauge("wick_b", "B.", &[], Some(f64::NAN));
        page.gauge("wick_c", "C.", &[], Some(f64::INFINITY));
        assert_eq!(page.finish(), "# EOF\n");
    }

    #[test]
    fn nothing_in_a_label_ends_it() {
        for (value, expected) in [
            ("a\"} 9\nwick_x 1", "a\\\"} 9\\nwick_x 1"),
            ("a\\", "a\\\\"),
            ("\u{e9}\t{}", "\u{e9}\t{}"),
        ] {
            let mut page = Page::default();
            page.count("wick_a", "A.", &[("site", value)], 1);
            let text = page.finish();
            assert!(text.contains(&format!("{{site=\"{expected}\"}} 1\n")), "{text}");
            assert_eq!(text.lines().count(), 4, "{text}");
        }
    }
}

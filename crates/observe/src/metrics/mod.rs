//! Counts as others read them: OpenMetrics text, or the older text of Prometheus.
//!
//! In: families of numbers, in any order. Out: text by the OpenMetrics specification 1.0: types,
//! units, `_total` behind the names of counters, labels with their quotes, exemplars, and
//! `# EOF`; or without units, exemplars and end by Prometheus' exposition format 0.0.4.
//! Invariants: 1. a family is written once, with its head before all of its numbers.
//! 2. whatever stands in a label, the text stays one that can be read.
//! Start at [`Page`]; [`Format::wanted`] reads which is wanted.

mod format;
mod times;

use std::fmt::Write as _;

pub use format::Format;
pub use times::Times;

/// Units that names end with.
const UNITS: [&str; 3] = ["bytes", "seconds", "ratio"];

/// Whether a number only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It does, until the program starts again.
    Counter,
    /// It doesn't.
    Gauge,
    /// Times, by how many were below each of some bounds.
    Histogram,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
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
    help: String,
    numbers: Vec<Line>,
}

/// A number, and the exemplar behind it; empty: none.
#[derive(Debug)]
struct Line {
    number: String,
    exemplar: String,
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
        written.add(total, labels, number, String::new());
    }

    /// The families that have been written, in their order.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.families.iter().map(|family| (family.name.as_str(), family.kind))
    }

    /// The whole text.
    #[must_use]
    pub fn finish(&self, format: Format) -> String {
        let mut text = String::new();
        for family in &self.families {
            family.write_head(&mut text, format);
            for Line { number, exemplar } in &family.numbers {
                text.push_str(number);
                if format == Format::OpenMetrics {
                    text.push_str(exemplar);
                }
                text.push('\n');
            }
        }
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    fn family(&mut self, family: Family<'_>) -> &mut Written {
        let known = self.families.iter().rposition(|written| written.name == family.name);
        let at = known.unwrap_or_else(|| {
            let Family { name, kind, help } = family;
            let (name, help) = (name.to_owned(), help.to_owned());
            self.families.push(Written { name, kind, help, numbers: Vec::new() });
            self.families.len() - 1
        });
        &mut self.families[at]
    }
}

impl Written {
    fn add(
        &mut self,
        ending: &str,
        labels: &[(&str, &str)],
        number: impl Number,
        exemplar: String,
    ) {
        let mut line = format!("{}{ending}", self.name);
        for (at, (name, value)) in labels.iter().enumerate() {
            line.push_str(if at == 0 { "{" } else { "," });
            let _ = write!(line, "{name}=\"");
            escape(&mut line, value, true);
            line.push('"');
        }
        line.push_str(if labels.is_empty() { " " } else { "} " });
        number.write(&mut line);
        self.numbers.push(Line { number: line, exemplar });
    }

    fn write_head(&self, text: &mut String, format: Format) {
        let Self { name, kind, help, .. } = self;
        // Prometheus names a counter as its numbers are, and knows no units.
        let is_total = format == Format::Prometheus && *kind == Kind::Counter;
        let total = if is_total { "_total" } else { "" };
        let _ = writeln!(text, "# TYPE {name}{total} {}", kind.word());
        let unit = name.rsplit_once('_').map_or("", |(_, unit)| unit);
        if UNITS.contains(&unit) && format == Format::OpenMetrics {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = write!(text, "# HELP {name}{total} ");
        escape(text, help, format == Format::OpenMetrics);
        text.push('\n');
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

fn escape(text: &mut String, value: &str, with_quotes: bool) {
    for letter in value.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            '"' if with_quotes => text.push_str("\\\""),
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
        assert_eq!(page.finish(Format::OpenMetrics), expected);
        let older = "# TYPE wick_a_total counter\n# HELP wick_a_total First.\n\
            wick_a_total{site=\"x\"} 1\nwick_a_total{site=\"y\",why=\"\"} 2\n\
            # TYPE wick_b_bytes gauge\n# HELP wick_b_bytes Second.\nwick_b_bytes 7\n";
        assert!(page.finish(Format::Prometheus).starts_with(older));
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let mut page = Page::default();
        page.gauge("wick_a", "A.", &[], None::<u64>);
        page.gauge("wick_b", "B.", &[], Some(f64::NAN));
        page.gauge("wick_c", "C.", &[], Some(f64::INFINITY));
        assert_eq!(page.finish(Format::OpenMetrics), "# EOF\n");
        assert_eq!(page.finish(Format::Prometheus), "");
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
            let text = page.finish(Format::OpenMetrics);
            assert!(text.contains(&format!("{{site=\"{expected}\"}} 1\n")), "{text}");
            assert_eq!(text.lines().count(), 4, "{text}");
        }
    }
}

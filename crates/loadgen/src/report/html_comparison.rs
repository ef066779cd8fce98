//! A comparison as one page that needs nothing beside it: a table, and each interval drawn.
//!
//! Invariant: nothing that came from a command line stands in it but as text.

use std::fmt::Write as _;

use crate::report::Comparison;
use crate::report::comparison::signed;
use crate::report::html::{begin, escape};
use crate::statistics::Difference;

const WIDTH: f64 = 760.0;
/// Room for the names at the left, and for a number at each end.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 50.0;
const ROW: f64 = 34.0;

/// All of it, as a page.
#[must_use]
pub fn html_of_comparison(comparison: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut out, comparison);
    out
}

fn write(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let title = format!("{} against {}", comparison.second, comparison.first);
    begin(out, &title)?;
    let class = if comparison.deciding().is_none() { " class=\"void\"" } else { "" };
    for line in comparison.conclusion().lines() {
        writeln!(out, "<p{class}>{}</p>", escape(line))?;
    }
    write!(out, "<table><tr><th scope=\"col\">figure</th>")?;
    for name in ["difference", "from", "to", "smallest to be seen", "samples"] {
        write!(out, "<th scope=\"col\">{name}</th>")?;
    }
    writeln!(out, "</tr>")?;
    for one in &comparison.figures {
        write!(out, "<tr><th scope=\"row\">{}</th>", escape(&one.figure))?;
        match one.difference {
            Some(Difference { share, low, high, smallest, samples }) => writeln!(
                out,
                "<td>{}</td><td>{}</td><td>{}</td><td>{:.1} %</td><td>{samples}</td></tr>",
                signed(share),
                signed(low),
                signed(high),
                smallest * 100.0
            )?,
            None => writeln!(out, "<td colspan=\"5\">unknown</td></tr>")?,
        }
    }
    writeln!(out, "</table>")?;
    plot(out, comparison)?;
    writeln!(out, "</body></html>")
}

/// Each interval as a bar around its best guess, on one scale, with a line where there is no
/// difference.
fn plot(out: &mut String, comparison: &Comparison) -> std::fmt::Result {
    let differences = || comparison.figures.iter().filter_map(|one| one.difference);
    let ends = || differences().flat_map(|one| [one.low, one.high]);
    let reach = ends().fold(0.0f64, |reach, end| reach.max(end.abs())).max(1e-6);
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let x = |share: f64| middle + share / reach * (WIDTH - RIGHT - LEFT) / 2.0;
    let height = ROW * comparison.figures.len() as f64 + ROW;
    writeln!(out, "<h2>By what share the second is larger, with its interval</h2>")?;
    writeln!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"differences\">"
    )?;
    for share in [-reach, 0.0, reach] {
        let (at, bottom) = (x(share), height - ROW);
        writeln!(out, "<path class=\"axis\" d=\"M{at:.1} 0V{bottom}\"/>")?;
        let (below, text) = (height - ROW / 3.0, signed(share));
        writeln!(out, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{text}</text>")?;
    }
    for (place, one) in comparison.figures.iter().enumerate() {
        let at = ROW * (place as f64 + 0.5);
        writeln!(out, "<text x=\"0\" y=\"{}\">{}</text>", at + 4.0, escape(&one.figure))?;
        let Some(difference) = one.difference else { continue };
        let class = match difference.is_one() {
            true if (difference.share > 0.0) == (one.figure != "rate") => "d",
            true => "b",
            false => "a",
        };
        let (low, high, share) = (x(difference.low), x(difference.high), x(difference.share));
        writeln!(out, "<path class=\"{class}\" d=\"M{low:.1} {at}H{high:.1}\"/>")?;
        writeln!(out, "<circle class=\"{class}\" cx=\"{share:.1}\" cy=\"{at}\" r=\"4\"/>")?;
    }
    writeln!(out, "</svg>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Summary, samples};

    #[test]
    fn what_was_found_is_told_and_drawn() {
        let slower = |factor: u64| {
            let mut one = Summary { void: None, ..samples::open() };
            one.latency.p50_us *= factor;
            one
        };
        let rounds: Vec<_> = (0..5).map(|_| (slower(1), slower(2))).collect();
        let page = html_of_comparison(&Comparison::of_rounds("a", "<script>", &rounds));
        assert!(page.contains("&lt;script&gt; against a") && !page.contains("<script>"), "{page}");
        assert!(page.contains("<p>the second is slower: its median is +100.0 %</p>"), "{page}");
        assert_eq!(page.matches("<circle").count(), 5);
        assert_eq!(page.matches("<circle class=\"d\"").count(), 1);
        let nothing = html_of_comparison(&Comparison::of_rounds("a", "b", &rounds[..2]));
        assert!(nothing.contains("<p class=\"void\">VOID: "), "{nothing}");
        assert!(!nothing.contains("NaN") && !nothing.contains("inf"), "{nothing}");
    }
}

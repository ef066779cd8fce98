//! A report as one page of HTML that needs nothing else: plots are SVG, no script runs.
//!
//! Invariant: nothing of a log gets into the page but through [`escape`], and the page's
//! policy lets it load and run nothing.

use std::fmt::Write;

use crate::report::{Report, Row};
use crate::text::{date, duration, number};

/// Plots are so wide, in units of their own.
const PLOT_WIDTH: f64 = 720.0;
const BAR_HEIGHT: f64 = 22.0;
const SPREAD_HEIGHT: f64 = 90.0;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>Queries</title>
<style>
:root { color-scheme: light dark; --ink: #1d2330; --paper: #fff; --pale: #5b6475; --line: #d8dde6; --bar: #2f6fd0; --warm: #a84300; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --paper: #14171d; --pale: #a3adbf; --line: #333a47; --bar: #5b96ee; --warm: #f0975a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid var(--line); border-radius: 4px; padding: .6rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; } th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; } th { color: var(--pale); font-weight: 600; } td.query, th.query { text-align: left; white-space: normal; min-width: 18rem; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; } svg .bar { fill: var(--bar); } svg .base { stroke: var(--line); }
.pale { color: var(--pale); } .warm { color: var(--warm); } section { border-top: 1px solid var(--line); margin-top: 1.5rem; } a { color: var(--bar); }
</style>
</head>
<body>
<main>
";

/// The report as a page.
#[must_use]
pub fn html(report: &Report) -> String {
    let mut page = String::from(HEAD);
    // A string takes whatever is written to it.
    let _ = write(report, &mut page);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    let total = &report.total;
    writeln!(out, "<h1>Queries of {}</h1>", escape(&report.sources.join(", ")))?;
    write!(
        out,
        "<p>{} queries in {} classes took {}",
        number(total.count),
        number(report.classes as u64),
        duration(total.seconds)
    )?;
    if let Some((first, last)) = total.first_seen.zip(total.last_seen) {
        write!(out, ", {} to {} UTC", date(first), date(last))?;
    }
    writeln!(
        out,
        ". The first {} take {:.1} % of the time.</p>",
        number(report.pareto_classes as u64),
        report.pareto_share * 100.0
    )?;
    if report.others.count > 0 {
        let (count, time) = (number(report.others.count), duration(report.others.seconds));
        writeln!(
            out,
            "<p>{count} more, which took {time}, are of classes too many to be kept.</p>"
        )?;
    }
    if !report.top.is_empty() {
        writeln!(out, "<h2>Shares of the time</h2>")?;
        shares(&report.top, out)?;
        table(&report.top, out)?;
    }
    report.top.iter().enumerate().try_for_each(|(index, row)| class(index + 1, row, out))?;
    changes(report, out)?;
    advice(report, out)?;
    if report.unread > 0 {
        writeln!(out, "<h2>Not read</h2>\n<p>{} lines, such as</p>", number(report.unread))?;
        writeln!(out, "<pre>{}</pre>", escape(&report.unread_examples.join("\n")))?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "<p>{}</p>", escape(note)))
}

/// A bar for each class.
fn shares(rows: &[Row], out: &mut String) -> std::fmt::Result {
    let height = BAR_HEIGHT * rows.len() as f64;
    let most = rows.iter().map(|row| row.share).fold(f64::MIN_POSITIVE, f64::max);
    writeln!(
        out,
        "<svg role=\"img\" aria-label=\"Share of the time of each class\" viewBox=\"0 0 {PLOT_WIDTH} {height}\" width=\"{PLOT_WIDTH}\">"
    )?;
    for (index, row) in rows.iter().enumerate() {
        let (y, width) = (BAR_HEIGHT * index as f64, (PLOT_WIDTH - 130.0) * row.share / most);
        writeln!(
            out,
            "<text x=\"0\" y=\"{:.1}\">{}</text><rect class=\"bar\" x=\"30\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\">{:.1} %</text>",
            y + 15.0,
            index + 1,
            y + 3.0,
            BAR_HEIGHT - 6.0,
            width + 36.0,
            y + 15.0,
            row.share * 100.0
        )?;
    }
    writeln!(out, "</svg>")
}

fn table(rows: &[Row], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Classes\"><table>\n<tr><th>#</th><th>share</th><th>time</th><th>count</th><th>mean</th><th>95 %</th><th>rows</th><th>examined</th><th class=\"query\">query</th></tr>"
    )?;
    for (index, row) in rows.iter().enumerate() {
        let each = |sum: u64| number(sum / row.total.count.max(1));
        writeln!(
            out,
            "<tr><td><a href=\"#class-{0}\">{0}</a></td><td>{1:.1} %</td><td>{2}</td><td>{3}</td><td>{4}</td><td>{5}</td><td>{6}</td><td>{7}</td><td class=\"query\"><code>{8}</code></td></tr>",
            index + 1,
            row.share * 100.0,
            duration(row.total.seconds),
            number(row.total.count),
            duration(row.mean_seconds),
            row.p95_seconds.map_or("–".into(), duration),
            each(row.total.rows_sent),
            each(row.total.rows_examined),
            escape(&cut(&row.fingerprint, 160))
        )?;
    }
    writeln!(
        out,
        "</table></div>\n<p class=\"pale\">Rows and examined: what one execution answers with and looks at.</p>"
    )
}

fn class(place: usize, row: &Row, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<section id=\"class-{place}\"><h2>{place}. <code>{}</code></h2>", row.id)?;
    writeln!(out, "<pre>{}</pre>", escape(&row.fingerprint))?;
    let names = [("Users", &row.users), ("Hosts", &row.hosts), ("Databases", &row.databases)];
    for (name, names) in names.iter().filter(|(_, names)| !names.is_empty()) {
        writeln!(out, "<p>{name}: {}</p>", escape(&names.join(", ")))?;
    }
    let marks = row.marks();
    if !marks.is_empty() {
        writeln!(out, "<p class=\"warm\">It {}.</p>", marks.join(", "))?;
    }
    if let (Some(p50), Some(p99), Some(max)) = (row.p50_seconds, row.p99_seconds, row.max_seconds) {
        let (p50, p99, max) = (duration(p50), duration(p99), duration(max));
        writeln!(out, "<p>Half within {p50}, 99 % within {p99}, the longest {max}.</p>")?;
    }
    for route in &row.routes {
        let (name, share) = (escape(&route.route), route.share * 100.0);
        match route.reads() {
            true => {
                write!(out, "<p>Caching <code>{name}</code> removes up to {share:.1} % of it.")?;
            }
            false => write!(out, "<p><code>{name}</code> runs {share:.1} % of it.")?,
        }
        writeln!(out, " {} {}</p>", escape(&route.evidence), escape(&route.fix))?;
    }
    spread(&row.spread, out)?;
    if !row.example.is_empty() {
        writeln!(out, "<h3>The slowest</h3>\n<pre>{}</pre>", escape(&row.example))?;
    }
    if !row.plan.is_empty() {
        writeln!(out, "<h3>Its plan</h3>\n<pre>{}</pre>", escape(&row.plan))?;
    }
    writeln!(out, "</section>")
}

/// How many executions took how long, in powers of two.
fn spread(spread: &[(f64, u64)], out: &mut String) -> std::fmt::Result {
    let first = spread.iter().position(|(_, count)| *count > 0).unwrap_or(spread.len());
    let spread = &spread[first..];
    let most = spread.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    let step = (PLOT_WIDTH / spread.len() as f64).min(72.0);
    let whole = SPREAD_HEIGHT + 20.0;
    writeln!(
        out,
        "<svg role=\"img\" aria-label=\"How many took how long\" viewBox=\"0 0 {PLOT_WIDTH} {whole}\" width=\"{PLOT_WIDTH}\">"
    )?;
    for (index, (to, count)) in spread.iter().enumerate() {
        let (x, height) = (step * index as f64, SPREAD_HEIGHT * (*count as f64) / most as f64);
        writeln!(
            out,
            "<rect class=\"bar\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{} below {}</title></rect>",
            SPREAD_HEIGHT - height,
            step - 2.0,
            number(*count),
            duration(*to)
        )?;
        // Where bars are narrow, only some bear their bound.
        if index % (64.0 / step).ceil() as usize == 0 {
            writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{:.1}\">&lt; {}</text>",
                whole - 4.0,
                duration(*to)
            )?;
        }
    }
    writeln!(
        out,
        "<line class=\"base\" x1=\"0\" x2=\"{PLOT_WIDTH}\" y1=\"{SPREAD_HEIGHT}\" y2=\"{SPREAD_HEIGHT}\"/></svg>"
    )
}

fn changes(report: &Report, out: &mut String) -> std::fmt::Result {
    let Some(changes) = &report.changes else { return Ok(()) };
    writeln!(out, "<h2>Since the last run</h2>")?;
    for (name, all) in [("New", &changes.new), ("Gone", &changes.gone)] {
        writeln!(out, "<h3>{name}: {}</h3>\n<ul>", all.len())?;
        for one in all {
            let (time, text) = (duration(one.seconds), escape(&cut(&one.fingerprint, 300)));
            writeln!(out, "<li>{time} in {}: <code>{text}</code></li>", number(one.count))?;
        }
        writeln!(out, "</ul>")?;
    }
    writeln!(out, "<h3>Worse: {}</h3>\n<ul>", changes.worse.len())?;
    for one in &changes.worse {
        let (before, now) = (duration(one.before_seconds), duration(one.now_seconds));
        let text = escape(&cut(&one.fingerprint, 300));
        writeln!(out, "<li>{before} → {now}, {:.1} times: <code>{text}</code></li>", one.factor)?;
    }
    writeln!(out, "</ul>")
}

fn advice(report: &Report, out: &mut String) -> std::fmt::Result {
    if report.advice.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>Advice</h2>")?;
    for advice in &report.advice {
        writeln!(out, "<pre>{}</pre>\n<ul>", escape(&advice.statement))?;
        let lines = [
            ("Confidence", &advice.confidence),
            ("Why", &advice.why),
            ("Cost", &advice.cost),
            ("Back", &advice.revert),
        ];
        for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            writeln!(out, "<li>{name}: {}</li>", escape(text))?;
        }
        writeln!(out, "</ul>")?;
    }
    Ok(())
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text as text of HTML, in elements and in attributes.
fn escape(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => told.push_str("&amp;"),
            '<' => told.push_str("&lt;"),
            '>' => told.push_str("&gt;"),
            '"' => told.push_str("&quot;"),
            '\'' => told.push_str("&#39;"),
            letter if letter.is_control() && letter != '\n' && letter != '\t' => told.push(' '),
            letter => told.push(letter),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Classes;
    use crate::logs::Faults;
    use crate::query::Query;
    use crate::report::Wanted;
    use crate::tokens::Dialect;

    #[test]
    fn nothing_of_a_log_becomes_markup() {
        let mut classes = Classes::default();
        let mut query = Query::new(b"select `<script>alert(1)</script>` from t", Dialect::MySql);
        (query.user, query.host, query.database) = (b"<b>", b"\"><i>", b"'<u>");
        (query.plan, query.nanoseconds) = (b"# explain: <img>", 7_000);
        classes.take(&query);
        let faults = Faults { unread: 1, examples: vec!["<svg onload=x>".into()], cut: 0 };
        let mut report = Report::of(&classes, &faults, Wanted { top: 9, literals: true });
        report.sources.push("<title>".into());
        report.notes.push("<p id=note>".into());
        let page = html(&report);
        for bad in
            ["<script", "<b>", "<i>", "<u>", "<img", "<svg onload", "<p id=note", "of <title"]
        {
            assert!(!page.contains(bad), "{bad}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    }
}

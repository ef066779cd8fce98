//! A report for a terminal.

use std::fmt::Write;

use time::OffsetDateTime;

use crate::report::{Report, Row, Total};
use crate::saved::SavedClass;

/// Columns that a line has.
const WIDTH: usize = 100;
/// What is shown of a fingerprint, and of what changed.
const FINGERPRINT_CHARS: usize = 600;
const CHANGES_MAX: usize = 10;
/// Routes that are told of a class.
const ROUTES_MAX: usize = 5;

/// The report as lines.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut told = String::new();
    // A string takes whatever is written to it.
    let _ = write(report, &mut told);
    told
}

fn write(report: &Report, out: &mut String) -> std::fmt::Result {
    head(report, out)?;
    table(report, out)?;
    for (index, row) in report.top.iter().enumerate() {
        class(index + 1, row, out)?;
    }
    if let Some(changes) = &report.changes {
        let list = |name: &str, all: &[SavedClass], out: &mut String| {
            writeln!(out, "\n{name} since the last run: {}", all.len())?;
            for one in all.iter().take(CHANGES_MAX) {
                let (time, count) = (duration(one.seconds), number(one.count));
                writeln!(out, "  {time:>9} in {count}: {}", cut(&one.fingerprint, WIDTH))?;
            }
            std::fmt::Result::Ok(())
        };
        list("New", &changes.new, out)?;
        list("Gone", &changes.gone, out)?;
        writeln!(out, "\nWorse since the last run: {}", changes.worse.len())?;
        for one in changes.worse.iter().take(CHANGES_MAX) {
            let (before, now) = (duration(one.before_seconds), duration(one.now_seconds));
            let fingerprint = cut(&one.fingerprint, WIDTH);
            writeln!(out, "  {before} → {now} ({:.1} times): {fingerprint}", one.factor)?;
        }
    }
    advice(report, out)?;
    if report.unread > 0 {
        writeln!(out, "\n{} lines couldn't be read, such as", number(report.unread))?;
        report
            .unread_examples
            .iter()
            .try_for_each(|line| writeln!(out, "  {}", printable(line)))?;
    }
    if report.cut > 0 {
        writeln!(out, "\n{} entries are longer than 8 MiB and were cut.", report.cut)?;
    }
    report.notes.iter().try_for_each(|note| writeln!(out, "\n{note}"))
}

fn head(report: &Report, out: &mut String) -> std::fmt::Result {
    let Total { count, seconds, first_seen, last_seen, .. } = report.total;
    if count == 0 {
        return writeln!(out, "No queries in {}.", report.sources.join(", "));
    }
    let at_least = if report.others.count > 0 { "at least " } else { "" };
    write!(
        out,
        "{} queries in {at_least}{} took {}",
        number(count),
        plural(report.classes as u64, "class", "classes"),
        duration(seconds)
    )?;
    match (report.window_seconds, first_seen.zip(last_seen)) {
        (Some(window), _) => writeln!(out, " within {}.", duration(window))?,
        (None, Some((first, last))) => writeln!(out, ", {} to {} UTC.", date(first), date(last))?,
        (None, None) => writeln!(out, ".")?,
    }
    if report.pareto_classes > 0 {
        let these = match report.pareto_classes {
            1 => "The first takes".to_owned(),
            many => format!("The first {many} take"),
        };
        let (all, share) = (number(report.classes as u64), percent(report.pareto_share));
        writeln!(out, "{these} {share} % of the time, of {all}.")?;
    }
    if report.others.count > 0 {
        let (count, time) = (number(report.others.count), duration(report.others.seconds));
        writeln!(out, "{count} more, which took {time}, are of classes too many to be kept.")?;
    }
    Ok(())
}

fn table(report: &Report, out: &mut String) -> std::fmt::Result {
    if report.top.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n  # {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  QUERY",
        "SHARE %", "TIME", "COUNT", "MEAN", "P95", "ROWS", "EXAMINED"
    )?;
    for (index, row) in report.top.iter().enumerate() {
        let each = |sum: u64| number(sum / row.total.count.max(1));
        writeln!(
            out,
            "{:>3} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}",
            index + 1,
            percent(row.share),
            duration(row.total.seconds),
            number(row.total.count),
            duration(row.mean_seconds),
            row.p95_seconds.map_or("-".into(), duration),
            each(row.total.rows_sent),
            each(row.total.rows_examined),
            cut(&row.fingerprint, 40)
        )?;
    }
    writeln!(out, "ROWS and EXAMINED are those that one execution answers with and looks at.")
}

fn class(number_of_it: usize, row: &Row, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n{number_of_it}. {}", row.id)?;
    wrapped(&cut(&row.fingerprint, FINGERPRINT_CHARS), out)?;
    if let (Some(p50), Some(p99), Some(max)) = (row.p50_seconds, row.p99_seconds, row.max_seconds) {
        let (p50, p99, max) = (duration(p50), duration(p99), duration(max));
        writeln!(out, "   half within {p50}, 99 % within {p99}, the longest {max}")?;
    }
    if row.total.lock_seconds > 0.0 {
        writeln!(out, "   waits for locks: {}", duration(row.total.lock_seconds))?;
    }
    let from = [("user", &row.users), ("host", &row.hosts), ("database", &row.databases)];
    let from = from.iter().filter(|(_, names)| !names.is_empty());
    let from: Vec<_> =
        from.map(|(name, names)| format!("{name} {}", printable(&names.join(", ")))).collect();
    if !from.is_empty() {
        writeln!(out, "   {}", from.join("; "))?;
    }
    if let Some((first, last)) = row.total.first_seen.zip(row.total.last_seen) {
        writeln!(out, "   seen {} to {}", date(first), date(last))?;
    }
    let marks = row.marks();
    if !marks.is_empty() {
        writeln!(out, "   {}", marks.join(", "))?;
    }
    routes(row, out)?;
    if !row.example.is_empty() {
        writeln!(out, "   slowest:")?;
        wrapped(&cut(&row.example, FINGERPRINT_CHARS), out)?;
    }
    for line in row.plan.lines() {
        writeln!(out, "   {}", printable(line.trim_start_matches("# explain: ")))?;
    }
    Ok(())
}

/// Which requests ran it, and what keeping their answers would save.
fn routes(row: &Row, out: &mut String) -> std::fmt::Result {
    for route in row.routes.iter().take(ROUTES_MAX) {
        let (name, share) = (printable(&route.route), percent(route.share));
        match route.reads() {
            true => writeln!(out, "   caching {name} removes up to {share} % of it")?,
            false => writeln!(out, "   {name} runs {share} % of it")?,
        }
        let told = [&route.evidence, &route.fix];
        for text in told.into_iter().filter(|text| !text.is_empty()) {
            wrapped(text, out)?;
        }
    }
    if let Some(unsure) = row.unsure_share.filter(|share| *share > 0.0) {
        writeln!(out, "   whose {} % of it are isn't certain", percent(unsure))?;
    }
    Ok(())
}

fn advice(report: &Report, out: &mut String) -> std::fmt::Result {
    if report.advice.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nAdvice")?;
    for (index, advice) in report.advice.iter().enumerate() {
        writeln!(out, "\n{}. {} ({})", index + 1, printable(&advice.statement), advice.confidence)?;
        let lines = [("why", &advice.why), ("cost", &advice.cost), ("back", &advice.revert)];
        for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            writeln!(out, "   {name:<5}{}", printable(text))?;
        }
        if !advice.classes.is_empty() {
            writeln!(out, "   {:<5}{}", "for", advice.classes.join(", "))?;
        }
    }
    Ok(())
}

/// The text in lines that are not longer than a line, indented.
fn wrapped(text: &str, out: &mut String) -> std::fmt::Result {
    let mut column = 0;
    for word in printable(text).split_whitespace() {
        let width = word.chars().count() + 1;
        if column == 0 || column + width > WIDTH {
            let end = if column == 0 { "" } else { "\n" };
            write!(out, "{end}     {word}")?;
            column = 5 + width;
        } else {
            write!(out, " {word}")?;
            column += width;
        }
    }
    writeln!(out)
}

/// What is in a log can't steer a terminal.
fn printable(text: &str) -> String {
    let is_plain = |letter: char| !letter.is_control() || letter == '\t';
    text.chars().map(|letter| if is_plain(letter) { letter } else { ' ' }).collect()
}

fn cut(text: &str, most: usize) -> String {
    let text = printable(text);
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

/// A count and what is counted, as `1 query` and `1235 k queries`.
#[must_use]
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// Three digits or so, with a unit.
pub(crate) fn duration(seconds: f64) -> String {
    let digits = |value: f64, unit: &str| match value {
        value if value < 9.995 => format!("{value:.2} {unit}"),
        value if value < 99.95 => format!("{value:.1} {unit}"),
        value => format!("{value:.0} {unit}"),
    };
    match seconds {
        seconds if seconds < 0.000_999_5 => digits(seconds * 1e6, "µs"),
        seconds if seconds < 0.999_5 => digits(seconds * 1e3, "ms"),
        seconds if seconds < 600.0 => digits(seconds, "s"),
        seconds if seconds < 36_000.0 => digits(seconds / 60.0, "min"),
        seconds => digits(seconds / 3600.0, "h"),
    }
}

/// A count, in at most seven columns.
pub(crate) fn number(count: u64) -> String {
    match count {
        0..=99_999 => count.to_string(),
        100_000..=9_999_999 => format!("{:.0} k", count as f64 / 1e3),
        10_000_000..=9_999_999_999 => format!("{:.0} M", count as f64 / 1e6),
        _ => format!("{:.0} G", count as f64 / 1e9),
    }
}

/// A date and a time of day.
pub(crate) fn date(unix: i64) -> String {
    let Ok(at) = OffsetDateTime::from_unix_timestamp(unix) else { return unix.to_string() };
    format!("{} {:02}:{:02}:{:02}", at.date(), at.hour(), at.minute(), at.second())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::RouteRow;

    #[test]
    fn what_caching_a_route_would_remove_is_told() {
        let route =
            |route: &str, share| RouteRow { route: route.to_owned(), share, ..RouteRow::default() };
        let mut row = Row { unsure_share: Some(0.25), ..Row::default() };
        row.routes = vec![route("GET /forum/{id}", 0.61), route("POST /post", 0.14)];
        row.routes[0].evidence = "/forum/{id}: its \x1b cookie".to_owned();
        let mut told = String::new();
        routes(&row, &mut told).expect("a string takes all");
        assert_eq!(
            told,
            "   caching GET /forum/{id} removes up to 61.0 % of it\n     /forum/{id}: its cookie\n   \
             POST /post runs 14.0 % of it\n   whose 25.0 % of it are isn't certain\n"
        );
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(duration(0.000_012_3), "12.3 µs");
        assert_eq!(duration(0.25), "250 ms");
        assert_eq!(duration(75.0), "75.0 s");
        assert_eq!(duration(7200.0), "120 min");
        assert_eq!(number(1_234_567), "1235 k");
        assert_eq!(date(1_795_414_322), "2026-11-23 06:12:02");
        assert_eq!(printable("a\x1b[31m\tb"), "a [31m\tb");
    }
}

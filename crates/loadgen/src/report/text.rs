//! The report for a terminal.

use std::fmt::Write as _;

use base::amount::show_bytes;

use crate::report::summary::{Spread, Summary};

/// From which share of a core on a thread is said to have been busy.
const BUSY: f64 = 0.9;

/// All of it, as text.
#[must_use]
pub fn text(summary: &Summary) -> String {
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ = write(&mut out, summary);
    out
}

fn write(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let Summary { target, address, model, seconds, .. } = summary;
    writeln!(out, "{target} at {address}, {model} model, {seconds:.2} s")?;
    if summary.stopped {
        writeln!(out, "stopped before its end: what follows is what was measured until then")?;
    }
    writeln!(out)?;
    let wanted = summary.wanted.map_or_else(String::new, |wanted| format!(" of {}", count(wanted)));
    let rate = summary.answers_per_second;
    writeln!(out, "requests begun   {}{wanted}", count(summary.begun))?;
    writeln!(out, "answered         {}, {rate:.1} a second", count(summary.answered))?;
    let statuses = summary.statuses.iter();
    let statuses: Vec<_> = statuses.map(|(status, n)| format!("{status}: {}", count(*n))).collect();
    writeln!(out, "statuses         {}", or_none(&statuses.join(", ")))?;
    writeln!(out, "failed           {}", count(summary.failed))?;
    for (kind, failures) in &summary.failures {
        let first = &failures.first;
        writeln!(out, "                 {kind}: {}, as in: {first}", count(failures.count))?;
    }
    let received = summary.head_bytes + summary.body_bytes;
    let body = show_bytes(summary.body_bytes);
    writeln!(out, "received         {}, {body} of it in bodies", show_bytes(received))?;
    let resent = match summary.resent {
        0 => String::new(),
        resent => format!(", {} requests sent again on a new one", count(resent)),
    };
    writeln!(out, "connections      {} opened{resent}", count(summary.connections))?;
    writeln!(out)?;
    table(out, summary)?;
    writeln!(out)?;
    generator(out, summary)
}

fn table(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let columns = ["min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
    write!(out, "{:<17}", "milliseconds")?;
    columns.iter().try_for_each(|name| write!(out, "{name:>10}"))?;
    writeln!(out)?;
    let mut line = |name: &str, spread: &Spread| {
        write!(out, "{name:<17}")?;
        let mean = spread.mean_us.round() as u64;
        let (min, max) = (spread.min_us, spread.max_us);
        let rest = [spread.p50_us, spread.p90_us, spread.p99_us, spread.p999_us, spread.p9999_us];
        for micros in [min, mean].into_iter().chain(rest).chain([max]) {
            write!(out, "{:>10}", millis(micros))?;
        }
        writeln!(out)
    };
    if summary.model != "closed" {
        line("latency", &summary.latency)?;
    }
    line("service time", &summary.service)
}

fn generator(out: &mut String, summary: &Summary) -> std::fmt::Result {
    let own = &summary.generator;
    let each = own.cpu_seconds * 1e6 / (summary.answered as f64).max(1.0);
    let busy = own.busiest_thread * 100.0;
    let cpu = own.cpu_seconds;
    writeln!(
        out,
        "generator        {cpu:.2} s of CPU, {each:.1} µs an answer; its busiest thread {busy:.0} % busy"
    )?;
    if summary.model != "closed" {
        let share = own.late as f64 / (summary.begun as f64).max(1.0) * 100.0;
        let p99 = millis(own.lateness.p99_us);
        let late = count(own.late);
        writeln!(
            out,
            "late by itself   {late} requests ({share:.2} %) by over 1 ms; p99 {p99} ms"
        )?;
        let waited = count(own.waited_for_target);
        writeln!(
            out,
            "late by target   {waited} requests waited over 1 ms for a connection that was free"
        )?;
    } else if own.busiest_thread > BUSY {
        writeln!(
            out,
            "                 it may have been the limit: give it more threads, or a machine of its own"
        )?;
    }
    match &summary.void {
        Some(why) => writeln!(out, "\nVOID: {why}"),
        None => Ok(()),
    }
}

/// Milliseconds with as many digits as say something.
pub(crate) fn millis(micros: u64) -> String {
    let millis = micros as f64 / 1_000.0;
    match micros {
        0..10_000 => format!("{millis:.3}"),
        10_000..100_000 => format!("{millis:.2}"),
        100_000..1_000_000 => format!("{millis:.1}"),
        _ => format!("{millis:.0}"),
    }
}

/// A number with commas, `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn numbers_are_shown_as_people_read_them() {
        let shown = [7, 999, 1_000, 123_456, 1_234_567].map(count);
        assert_eq!(shown, ["7", "999", "1,000", "123,456", "1,234,567"]);
        let shown = [0, 9_999, 12_345, 123_456, 12_345_678].map(millis);
        assert_eq!(shown, ["0.000", "9.999", "12.35", "123.5", "12346"]);
    }

    #[test]
    fn the_report_says_all_that_was_measured() {
        let shown = text(&samples::open());
        for expected in [
            "127.0.0.1:81 at 127.0.0.1:81, open model, 10.00 s",
            "requests begun   1,000 of 1,000",
            "answered         990, 99.0 a second",
            "statuses         200: 989, 503: 1",
            "failed           10\n",
            "timed out: 10, as in: <no whole answer>",
            "milliseconds            min      mean       p50       p90",
            "late by itself   20 requests (2.00 %) by over 1 ms",
            "VOID: 2.0 % of the requests were sent over 1 ms late by the generator itself",
        ] {
            assert!(shown.contains(expected), "{expected:?} is missing in\n{shown}");
        }
    }
}

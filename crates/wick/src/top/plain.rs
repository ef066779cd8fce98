//! The same as plain text, once: for a pipe, a mail, or somebody who can't see a screen.

use std::fmt::Write;

use base::amount::show_bytes;

use super::numbers::{count, percent, rate, since, time, time_or_none};
use super::view::View;

/// Routes that are shown.
const ROUTES_MAX: usize = 40;

/// Everything, line by line.
pub(super) fn text(view: &View) -> String {
    let head = &view.head;
    let mut text = String::new();
    let mut line = |topic: &str, said: String| {
        // A string takes whatever is written to it.
        let _ = writeln!(text, "{topic:<12}{said}");
    };
    line("wick", format!("{}, up {}", head.version, since(head.uptime_seconds)));
    line(
        "requests",
        format!("{} since the start, {}/s", count(head.requests_all), rate(head.rate)),
    );
    line("hits", percent(head.hits, head.requests));
    line("p50, p99", format!("{}, {}", time_or_none(head.p50_us), time_or_none(head.p99_us)));
    line("5xx", count(head.errors_all));
    line("workers", format!("{} of {} busy, {} wait", head.slots_taken, head.slots, head.waiting));
    line(
        "memory",
        format!("{} of {}", show_bytes(head.resident_bytes), show_bytes(head.memory_bytes)),
    );
    line("cache", format!("{}, {} pages", show_bytes(head.cache_bytes), count(head.pages)));
    line("connections", count(head.connections));
    text.push('\n');
    let shown = || view.rows.iter().take(ROUTES_MAX);
    let width = shown().map(|row| row.name.chars().count()).max().unwrap_or(0).max(5);
    let mut row = |name: &str, cells: [&str; 6]| {
        let [requests, hits, origin, p50, p99, errors] = cells;
        let _ = writeln!(
            text,
            "{name:<width$} {requests:>10} {hits:>8} {origin:>8} {p50:>8} {p99:>8} {errors:>6}"
        );
    };
    row("route", ["requests", "hits", "origin", "p50", "p99", "5xx"]);
    for one in shown() {
        row(
            &one.name,
            [
                &count(one.requests),
                &percent(one.hits, one.requests),
                &time(one.origin_us),
                &time_or_none(one.p50_us),
                &time_or_none(one.p99_us),
                &count(one.errors),
            ],
        );
    }
    let _ = writeln!(text, "\n{:<30} {:>10} {:>8}", "reason", "requests", "origin");
    for reason in &view.reasons {
        let (requests, origin) = (count(reason.requests), time(reason.origin_us));
        let _ = writeln!(text, "{:<30} {requests:>10} {origin:>8}", reason.why);
    }
    text.push_str("\nslowest of the last 5 minutes\n");
    for line in &view.slowest {
        let took = time(line.took_us);
        let _ = writeln!(
            text,
            "{took:>8}  {}  {:<22} {} {}{}",
            line.status, line.verdict, line.method, line.host, line.path
        );
    }
    text
}

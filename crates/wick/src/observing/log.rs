//! `wick log`: the last answers of the running Wick, each with why and how long, and those to
//! come; or those that were kept on the disk.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use base::Phase;
use observe::Wanted;
use observe::kept::Kept;

use super::asking::{LINES_MAX, LogAnswer, LogLine, LogQuestion, Question};
use super::{FOLDER, unix};
use crate::announce::say;
use crate::arguments::Log;
use crate::control::{ControlError, ask_observed, printable};
use crate::plan;

/// How many of the last are shown where nobody says.
const LINES: u16 = 40;
/// How often new answers are asked for.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes of the time at the beginning of a line, and of status and verdict behind it.
const TIME: usize = 12;
const WHAT: usize = 29;

/// Shows the last answers, and those to come if that is wanted.
pub(crate) fn run(arguments: &Log) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    if let Some(since) = arguments.since {
        say(&kept(arguments, &state.join(FOLDER), since, has_colours())?);
        return Ok(());
    }
    let mut wanted = LogQuestion {
        why: arguments.why.clone().unwrap_or_default(),
        route: arguments.route.clone().unwrap_or_default(),
        status: arguments.status.clone().unwrap_or_default(),
        after: 0,
        count: arguments.lines.unwrap_or(LINES).into(),
    };
    let has_colours = has_colours();
    let mut left_out = None;
    loop {
        let answer: LogAnswer = ask_observed(&state, &Question::Log(wanted.clone()))?;
        say(&text(&answer, left_out, has_colours));
        if !arguments.follow {
            return Ok(());
        }
        left_out = Some(answer.left_out);
        wanted.after = answer.newest;
        wanted.count = LINES_MAX;
        std::thread::sleep(INTERVAL);
    }
}

/// What was kept of so long ago until now, a line of its own before each day.
fn kept(
    arguments: &Log,
    folder: &Path,
    since: Duration,
    has_colours: bool,
) -> Result<String, ControlError> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (why, route) = (text(&arguments.why), text(&arguments.route));
    let wanted = Wanted { why, route, status: text(&arguments.status) };
    let from = unix().saturating_sub(since).as_millis() as u64;
    let all = observe::kept::read(folder, from, &wanted);
    let mut all = all.map_err(|error| ControlError::Kept(folder.to_owned(), error))?;
    if let Some(count) = arguments.lines {
        all.drain(..all.len().saturating_sub(count.into()));
    }
    let (mut told, mut before) = (String::new(), None);
    for one in all.into_iter().map(LogLine::from) {
        let date = time::OffsetDateTime::from_unix_timestamp((one.unix_ms / 1000) as i64);
        let day = date.map(time::OffsetDateTime::date).ok();
        if let Some(day) = day.filter(|_| before != day) {
            // A string takes whatever is written to it.
            let _ = writeln!(told, "{day} (UTC)");
        }
        before = day;
        told += &if has_colours { coloured(&one) } else { show(&one) };
    }
    Ok(told)
}

impl From<Kept> for LogLine {
    fn from(kept: Kept) -> Self {
        let phases = Phase::ALL.iter().zip(kept.phases).filter(|(_, time)| *time > 0);
        let phases = phases.map(|(phase, time)| (phase.word().to_owned(), time.into())).collect();
        let Kept { unix_ms, took_us, bytes, status, method, host, path, .. } = kept;
        let Kept { verdict, unstored, site, route, .. } = kept;
        Self {
            unix_ms,
            method,
            host,
            path,
            site,
            route,
            status,
            verdict,
            unstored,
            bytes,
            took_us,
            phases,
        }
    }
}

/// Colours are for somebody who looks on: not for a pipe, and not with `NO_COLOR`.
fn has_colours() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !is_dumb && !is_unwanted
}

/// `left_out`: how many were by the answer before.
fn text(answer: &LogAnswer, left_out: Option<u64>, has_colours: bool) -> String {
    let show = |line| if has_colours { coloured(line) } else { show(line) };
    let mut text: String = answer.lines.iter().map(show).collect();
    match left_out.map(|before| answer.left_out.saturating_sub(before)) {
        None | Some(0) => {}
        Some(more) => {
            // A string takes whatever is written to it.
            let _ = writeln!(text, "  … {more} hits came too fast to be shown one by one");
        }
    }
    text
}

/// The same line with its status and verdict in colours, by what went wrong and what came
/// from memory.
fn coloured(line: &LogLine) -> String {
    let plain = show(line);
    let is_hit = line.verdict == "hit" || line.verdict.starts_with("stale");
    let status = match line.status {
        500.. => "\x1b[91m",
        400..500 => "\x1b[33m",
        _ if is_hit => "\x1b[32m",
        _ => "\x1b[39m",
    };
    // The first columns are of one width, so what stands where is known.
    let (time, rest) = plain.trim_end().split_at_checked(TIME).unwrap_or((&plain, ""));
    let (what, behind) = rest.split_at_checked(WHAT).unwrap_or((rest, ""));
    format!("\x1b[2m{time}\x1b[22m{status}{what}\x1b[0m{behind}\n")
}

/// `09:26:40.007  200  miss(uri-miss)  41.2 ms  GET a.test/thread/5  [no-store; origin 38.0]`
fn show(line: &LogLine) -> String {
    let seconds = line.unix_ms / 1000;
    let mut notes: Vec<String> = line
        .phases
        .iter()
        .map(|(word, time)| format!("{} {}", printable(word), milliseconds(*time)))
        .collect();
    if !line.unstored.is_empty() {
        notes.insert(0, format!("not stored: {}", printable(&line.unstored)));
    }
    let notes = if notes.is_empty() { String::new() } else { format!("  [{}]", notes.join(", ")) };
    format!(
        "{:02}:{:02}:{:02}.{:03}  {}  {:<22} {:>9} ms  {} {}{}{notes}\n",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        line.unix_ms % 1000,
        line.status,
        printable(&line.verdict),
        milliseconds(line.took_us),
        printable(&line.method),
        printable(&line.host),
        printable(&line.path),
    )
}

fn milliseconds(microseconds: u64) -> String {
    format!("{}.{:03}", microseconds / 1000, microseconds % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_when_what_why_and_where_its_time_went() {
        let mut line = LogLine {
            unix_ms: 1_789_000_000_007,
            method: "GET".into(),
            host: "a.test".into(),
            path: "/thread/5".into(),
            site: "a".into(),
            route: "/thread/{id}".into(),
            status: 200,
            verdict: "miss(uri-miss)".into(),
            unstored: "no-store".into(),
            bytes: 10,
            took_us: 41_230,
            phases: vec![("queue".into(), 100), ("origin".into(), 38_000)],
        };
        assert_eq!(
            show(&line),
            "00:26:40.007  200  miss(uri-miss)            41.230 ms  GET a.test/thread/5  \
             [not stored: no-store, queue 0.100, origin 38.000]\n"
        );
        (line.path, line.unstored) = ("/\x1b[2J".into(), String::new());
        line.phases.clear();
        assert!(show(&line).ends_with("GET a.test/\\u{1b}[2J\n"), "{}", show(&line));
        line.status = 502;
        let told = coloured(&line);
        assert!(
            told.starts_with(
                "\x1b[2m00:26:40.007\x1b[22m\x1b[91m  502  miss(uri-miss)        \x1b[0m "
            ),
            "{told:?}"
        );
        let strip = ["\x1b[2m", "\x1b[22m", "\x1b[91m", "\x1b[0m"];
        let stripped = strip.iter().fold(told, |text, code| text.replacen(code, "", 1));
        assert_eq!(stripped, show(&line), "nothing else differs");
        let answer = LogAnswer { lines: vec![line], newest: 9, left_out: 12 };
        assert_eq!(text(&answer, None, false).lines().count(), 1);
        assert_eq!(text(&answer, Some(12), false).lines().count(), 1);
        assert!(text(&answer, Some(2), false).contains("10 hits came too fast"));
    }
}

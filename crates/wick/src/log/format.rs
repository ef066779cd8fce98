//! The formats of a line of the access log.
//!
//! In: an answered request. Out: one line without its end, in which nothing that a visitor
//! sent can begin another line or end a quoted part.

use std::fmt::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use server::AccessLine;

use super::LogFormat;

impl LogFormat {
    /// Whether a line is told. What reads the combined format counts visitors, and a part of
    /// an answer has none of its own.
    pub(super) fn tells(self, line: &AccessLine) -> bool {
        self != Self::Combined || !line.is_part
    }

    pub(super) fn show(self, line: &AccessLine) -> String {
        match self {
            Self::Wick => wick(line),
            Self::Combined => combined(line),
            Self::Json => json(line),
        }
    }
}

/// `1789000000.123 203.0.113.7 GET example.org /path 200 hit 0ms`
fn wick(line: &AccessLine) -> String {
    let id = match &*line.request_id {
        "" => String::new(),
        id => format!(" {id}"),
    };
    let part = if line.is_part { " part" } else { "" };
    format!(
        "{}.{:03} {} {} {} {} {} {} {}ms{id}{part}",
        line.unix_ms / 1000,
        line.unix_ms % 1000,
        line.peer,
        line.method,
        or_dash(&line.host),
        line.path,
        line.status,
        line.verdict,
        line.took_ms
    )
}

/// `203.0.113.7 - - [10/Sep/2026:00:26:40 +0000] "GET /path HTTP/1.1" 200 5 "-" "curl/8"`
fn combined(line: &AccessLine) -> String {
    let moment = Moment::of(line.unix_ms);
    let bytes = line.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
    format!(
        "{} - - [{}/{}/{}:{} +0000] \"{} {} {}\" {} {bytes} \"{}\" \"{}\"",
        line.peer,
        moment.day,
        moment.month,
        moment.year,
        moment.time,
        quoted(&line.method),
        quoted(&line.path),
        line.protocol,
        line.status,
        quoted(or_dash(&line.referer)),
        quoted(or_dash(&line.agent)),
    )
}

/// `{"time":"2026-09-10T00:26:40.007Z","peer":"203.0.113.7",…}`
fn json(line: &AccessLine) -> String {
    #[derive(Serialize)]
    struct Shown<'a> {
        time: String,
        peer: String,
        method: &'a str,
        host: &'a str,
        path: &'a str,
        protocol: &'a str,
        status: u16,
        bytes: Option<u64>,
        verdict: String,
        took_ms: u64,
        referer: &'a str,
        agent: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        request_id: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        part: bool,
    }
    let moment = Moment::of(line.unix_ms);
    let (month, ms) = (moment.month_number(), line.unix_ms % 1000);
    let shown = Shown {
        time: format!("{}-{month:02}-{}T{}.{ms:03}Z", moment.year, moment.day, moment.time),
        peer: line.peer.to_string(),
        method: &line.method,
        host: &line.host,
        path: &line.path,
        protocol: line.protocol,
        status: line.status,
        bytes: line.bytes,
        verdict: line.verdict.to_string(),
        took_ms: line.took_ms,
        referer: &line.referer,
        agent: &line.agent,
        request_id: &line.request_id,
        part: line.is_part,
    };
    // Texts and numbers: there is nothing in it that JSON can't say.
    serde_json::to_string(&shown).unwrap_or_default()
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// A text that stays between its quotation marks and on its line.
fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => shown.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(shown, "\\x{:02x}", u32::from(letter));
            }
            letter => shown.push(letter),
        }
    }
    shown
}

/// A time in UTC, as the parts of an HTTP date.
struct Moment {
    day: String,
    month: String,
    year: String,
    time: String,
}

impl Moment {
    fn of(unix_ms: u64) -> Self {
        // `Sun, 06 Nov 1994 08:49:37 GMT`; a clock that is set beyond the year 9999 has none.
        let last = Duration::from_secs(253_402_300_799);
        let date = UNIX_EPOCH + Duration::from_millis(unix_ms).min(last);
        let text = httpdate::fmt_http_date(date);
        let mut parts = text.split(' ').skip(1).map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (day, month, year, time) = (next(), next(), next(), next());
        Self { day, month, year, time }
    }

    fn month_number(&self) -> usize {
        const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
        MONTHS.find(&self.month).map_or(0, |at| at / 3 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> AccessLine {
        AccessLine {
            unix_ms: 1_789_000_000_007,
            peer: [203, 0, 113, 7].into(),
            method: "GET".into(),
            host: "example.org".into(),
            path: "/path".into(),
            protocol: "HTTP/1.1",
            referer: String::new(),
            agent: "curl/8".into(),
            bytes: Some(5),
            status: 200,
            verdict: policy::Verdict::Hit,
            took_ms: 3,
            request_id: Box::default(),
            is_part: false,
        }
    }

    #[test]
    fn a_line_reads_as_documented() {
        for (format, expected) in [
            (LogFormat::Wick, "1789000000.007 203.0.113.7 GET example.org /path 200 hit 3ms"),
            (
                LogFormat::Combined,
                "203.0.113.7 - - [10/Sep/2026:00:26:40 +0000] \"GET /path HTTP/1.1\" 200 5 \
                 \"-\" \"curl/8\"",
            ),
            (
                LogFormat::Json,
                "{\"time\":\"2026-09-10T00:26:40.007Z\",\"peer\":\"203.0.113.7\",\
                 \"method\":\"GET\",\"host\":\"example.org\",\"path\":\"/path\",\
                 \"protocol\":\"HTTP/1.1\",\"status\":200,\"bytes\":5,\"verdict\":\"hit\",\
                 \"took_ms\":3,\"referer\":\"\",\"agent\":\"curl/8\"}",
            ),
        ] {
            assert_eq!(format.show(&line()), expected);
        }
        let mut named = line();
        named.request_id = "0b9f".into();
        assert!(LogFormat::Wick.show(&named).ends_with(" hit 3ms 0b9f"));
        assert!(LogFormat::Json.show(&named).ends_with("\"request_id\":\"0b9f\"}"));
        assert_eq!(LogFormat::Combined.show(&named), LogFormat::Combined.show(&line()));
        let mut part = line();
        part.is_part = true;
        assert!(LogFormat::Wick.show(&part).ends_with(" hit 3ms part"));
        assert!(LogFormat::Json.show(&part).ends_with(",\"part\":true}"));
        assert!(!LogFormat::Combined.tells(&part) && LogFormat::Json.tells(&part));
        let mut unknown = line();
        (unknown.host, unknown.bytes) = (String::new(), None);
        assert!(LogFormat::Wick.show(&unknown).contains(" GET - /path "));
        assert!(LogFormat::Combined.show(&unknown).contains(" 200 - "));
    }

    #[test]
    fn what_a_visitor_sends_stays_on_its_line_and_between_its_marks() {
        let mut sly = line();
        sly.agent = "a\" \"b\\\r\n1.2.3.4 - -\u{1b}[2J".into();
        sly.unix_ms = u64::MAX;
        for format in [LogFormat::Combined, LogFormat::Json] {
            let shown = format.show(&sly);
            assert!(!shown.contains(['\r', '\n', '\u{1b}']), "{shown}");
        }
        let shown = LogFormat::Combined.show(&sly);
        assert!(shown.ends_with("\"a\\\" \\\"b\\\\\\x0d\\x0a1.2.3.4 - -\\x1b[2J\""), "{shown}");
        let read: serde_json::Value =
            serde_json::from_str(&LogFormat::Json.show(&sly)).expect("JSON");
        assert_eq!(read["agent"], sly.agent);
    }
}

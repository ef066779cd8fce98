//! The standard, case by case: <https://github.com/summerwind/h2spec>.

use crate::{output, program, serve_page};

/// Cases that fail, each with the reason.
const EXCEPTIONS: &[&str] = &[
    // On a clear-text port what is no preface may be HTTP/1.1, and is answered as such (400)
    // before the connection is closed; h2spec reads that answer as a broken frame.
    "3.5. HTTP/2 Connection Preface: 2: Sends invalid connection preface",
];

#[test]
fn every_case_of_the_standard_holds_but_the_named_ones() {
    let Some(h2spec) = program("h2spec") else { return };
    let (wick, address, _folder) = serve_page("<p>home</p>");
    let port = address.port().to_string();
    let said = output(&h2spec, &["-h", "127.0.0.1", "-p", &port, "-S"]);
    wick.stop();
    // As in `146 tests, 145 passed, 0 skipped, 1 failed`.
    let last = said.lines().last().unwrap_or_default();
    let mut counts = last.split(", ").filter_map(|count| count.split_once(' '));
    let mut count = |name| {
        let found = counts.find(|(_, counted)| *counted == name);
        found.and_then(|(number, _)| number.parse::<usize>().ok())
    };
    assert!(count("tests").is_some_and(|tests| tests > 140), "{said}");
    assert_eq!(failures(&said), EXCEPTIONS, "{said}");
    assert_eq!(count("failed"), Some(EXCEPTIONS.len()), "{said}");
}

/// The cases that the report lists as failed, each behind its section's title.
fn failures(said: &str) -> Vec<String> {
    let report = said.split_once("Failures:").map_or("", |(_, report)| report);
    let mut section = "";
    let mut found = Vec::new();
    for line in report.lines().map(str::trim) {
        if let Some(case) = line.strip_prefix("× ") {
            found.push(format!("{section}: {case}"));
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            section = line;
        }
    }
    found
}

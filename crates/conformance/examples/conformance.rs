//! Tells what is not conforming in files of HTML, a line each.
//!
//! `conformance [--quiet] FILE…`, or names of files on lines of standard input where none
//! is given. A line is `"FILE":LINE.COLUMN: SEVERITY: MESSAGE [RULE]`, as vnu's `gnu` format
//! is but for the rule. Ends with 1 if any page isn't valid, and with 2 if one can't be read.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use conformance::Severity;

fn main() -> std::io::Result<ExitCode> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let is_quiet = names.first().is_some_and(|first| first == "--quiet");
    if is_quiet {
        names.remove(0);
    }
    if names.is_empty() {
        names = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut code = 0;
    for name in &names {
        let html = match std::fs::read(name) {
            Ok(html) => html,
            Err(error) => {
                writeln!(out, "\"{name}\": can't be read: {error}")?;
                code = 2;
                continue;
            }
        };
        for finding in conformance::check(&html, None) {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "info",
            };
            if finding.severity == Severity::Error {
                code = code.max(1);
            }
            if !is_quiet {
                writeln!(
                    out,
                    "\"{name}\":{}.{}: {severity}: {} [{}]",
                    finding.line, finding.column, finding.message, finding.rule
                )?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::from(code))
}

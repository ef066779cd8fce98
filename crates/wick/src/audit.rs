//! `wick audit`: what was typed becomes a plan, is watched while it runs, and is reported.
//!
//! The audit itself is the `audit` crate's. Exit status: 0 nothing that `--fail-on` names, 1
//! there is, 2 a site could not be audited, 130 stopped by Ctrl-C. Invariant: standard output
//! has the report alone.

use std::error::Error;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::audit::{Live, Plan, Report, report};
use base::complaint::{complain, write};
use clap::{Args, ValueEnum};
use tokio::time::interval;
use url::Url;

use crate::bench::listen;
use crate::plan::default_state;
use crate::run::single_threaded;

/// There was something that `--fail-on` names.
const FOUND: u8 = 1;
/// A site could not be audited.
const FAILED: u8 = 2;
/// Stopped by Ctrl-C: as a shell tells it of who dies of that signal.
const STOPPED: u8 = 130;
/// How soon a Ctrl-C is seen.
const LOOK: Duration = Duration::from_millis(100);
/// Looks from one line on the terminal to the next.
const LOOKS_A_LINE: usize = 10;

/// `wick audit`.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Where each site begins; only pages on its host are asked for.
    #[arg(required = true, value_name = "URL", value_parser = read_url)]
    pub(crate) urls: Vec<Url>,
    /// A further host of the sites, such as a shop's pictures'; may be given several times.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) also: Vec<String>,
    /// The word of the owner: a host that is not this machine and may be audited; may be given
    /// several times.
    #[arg(long, value_name = "HOST")]
    pub(crate) i_may_audit: Vec<String>,
    /// The most pages of one site; of what they load, four times as many.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = read_count)]
    pub(crate) pages: usize,
    /// The most links from where a site begins.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) depth: u32,
    /// Also try links to other sites: each once, by HEAD and then GET.
    #[arg(long)]
    pub(crate) external: bool,
    /// The most of those for one site.
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "external")]
    pub(crate) external_max: usize,
    /// The most pages that are asked for as several strangers, to see what they depend on.
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub(crate) probes: usize,
    /// The most requests a second to one site [default: as many as it bears without getting
    /// slower].
    #[arg(long, value_name = "N", value_parser = read_rate)]
    pub(crate) rate: Option<f64>,
    /// What makes the exit status 1.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "error")]
    pub(crate) fail_on: FailOn,
    /// How the report is written to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// Also write the report to a file, as one page of HTML that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Begin anew, though the last run was interrupted.
    #[arg(long)]
    pub(crate) anew: bool,
    /// Where is kept what was found, in the folder "audit" [default: /var/lib/wick for root, else
    /// the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

/// What makes an audit fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Any error.
    Error,
    /// Any error or warning.
    Warning,
    /// Any error or warning that the last run didn't have.
    New,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: docs/audit.md tells its shape.
    Json,
    /// A test suite for each site, a test for each rule.
    Junit,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations of GitHub's workflows.
    Github,
}

/// `wick audit`; what can't be begun at all ends with its own status, too.
pub(crate) fn run(typed: &Audit) -> ExitCode {
    match act(typed) {
        Ok(status) => status,
        Err(problem) => {
            complain(&problem);
            ExitCode::from(FAILED)
        }
    }
}

fn act(typed: &Audit) -> Result<ExitCode, Box<dyn Error>> {
    let plan = Plan {
        sites: typed.urls.clone(),
        also: typed.also.clone(),
        named: typed.i_may_audit.clone(),
        pages: typed.pages,
        depth: typed.depth,
        external: if typed.external { typed.external_max } else { 0 },
        probes: typed.probes,
        rate: typed.rate,
        state: typed.state.clone().unwrap_or_else(default_state).join("audit"),
        anew: typed.anew,
    };
    let interrupted = listen()?;
    let live = Live::default();
    let report = single_threaded()?.block_on(async {
        tokio::select! {
            report = ::audit::run(&plan, &live) => report,
            never = watch(&live, &interrupted) => match never {},
        }
    })?;
    if std::io::stderr().is_terminal() {
        write(format_args!(""));
    }
    let shown = match typed.format {
        Format::Text => report::text(&report),
        Format::Json => report::json(&report),
        Format::Junit => report::junit(&report),
        Format::Sarif => report::sarif(&report),
        Format::Github => report::github(&report),
    };
    std::io::stdout().write_all(shown.as_bytes())?;
    if let Some(path) = &typed.html {
        std::fs::write(path, report::html(&report))
            .map_err(|error| format!("can't write {}: {error}", path.display()))?;
    }
    Ok(ExitCode::from(status(&report, typed.fail_on, live.is_stopped())))
}

/// Hands a Ctrl-C on, and shows on a terminal how far it is.
async fn watch(live: &Live, interrupted: &Arc<AtomicBool>) -> std::convert::Infallible {
    let shows = std::io::stderr().is_terminal();
    let mut looks = interval(LOOK);
    let (mut at, mut before) = (0, 0);
    loop {
        looks.tick().await;
        if interrupted.load(Ordering::Relaxed) {
            live.stop();
        }
        at += 1;
        if shows && at % LOOKS_A_LINE == 0 {
            let answered = live.answered();
            let (rate, seconds) = (answered.saturating_sub(before), at / LOOKS_A_LINE);
            before = answered;
            let found = live.found().max(answered);
            let line = format!("\r{seconds} s  {answered} of {found} addresses  {rate}/s\x1b[K");
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}

fn status(report: &Report, fail_on: FailOn, is_stopped: bool) -> u8 {
    if report.sites.iter().any(|site| site.error.is_some()) {
        return FAILED;
    }
    if is_stopped {
        return STOPPED;
    }
    let totals = report.totals;
    let counts = match fail_on {
        FailOn::Error => totals.errors,
        FailOn::Warning => totals.errors + totals.warnings,
        FailOn::New => totals.new,
    };
    if counts > 0 { FOUND } else { 0 }
}

fn read_url(text: &str) -> Result<Url, String> {
    let wrong = || "write a whole address, as in https://example.org/".to_owned();
    let url = Url::parse(text).map_err(|_| wrong())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    if is_web { Ok(url) } else { Err(wrong()) }
}

fn read_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=10_000_000).contains(count));
    count.ok_or_else(|| "write a number from 1 to 10000000".to_owned())
}

fn read_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.001..=100_000.0).contains(rate));
    rate.ok_or_else(|| "write requests a second, from 0.001 to 100000".to_owned())
}

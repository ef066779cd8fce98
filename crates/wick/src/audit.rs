//! `wick audit`: what was typed becomes a plan, is watched while it runs, and is reported.
//!
//! The audit itself is the `audit` crate's. Exit status: 0 nothing that `--fail-on` names or a budget forbids, 1
//! there is, 2 a site could not be audited (to its end), 130 stopped by Ctrl-C. Invariant: standard output
//! has the report alone.

mod queue;
mod worker;

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::audit::report::Budget;
use ::audit::{
    Baseline, BaselineError, BrowserPlan, Crew, Door, Kind, Live, Plan, Report, Severity, Tests,
    WorkersToken, report,
};
use base::complaint::complain;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use tokio::runtime::Runtime;
use tokio::time::{Instant, interval};
use url::Url;

use self::queue::Queue;
use crate::auditing::{self, StatusTyped};
use crate::bench::{listen, read_duration};
use crate::control::ControlError;
use crate::live_line::LiveLine;
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

/// `wick audit`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Audit {
    /// What else than to audit.
    #[command(subcommand)]
    pub(crate) other: Option<Other>,
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
    /// Also judge pages in Chromium, by axe-core, as scripts and styles make them: contrast, and
    /// what else only a browser sees [default PATH: chromium].
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub(crate) browser: Option<Option<PathBuf>>,
    /// The most pages that are, those of different shapes first [default: one of each shape, 40
    /// at most].
    #[arg(long, value_name = "N", value_parser = read_count, requires = "browser")]
    pub(crate) browser_pages: Option<usize>,
    /// axe-core's axe.min.js [default: here, in node_modules/axe-core, or in
    /// /usr/share/javascript/axe-core].
    #[arg(long, value_name = "FILE", requires = "browser")]
    pub(crate) axe: Option<PathBuf>,
    /// Run Chromium without its sandbox, which isn't there for root.
    #[arg(long, requires = "browser")]
    pub(crate) no_sandbox: bool,
    /// Run these tests alone; several with commas between them [default: all].
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kinds())]
    pub(crate) only: Vec<Kind>,
    /// Also visit the pages that the running Wick keeps of the site, and ask its store before its
    /// origin: what lies there costs the origin nothing.
    #[arg(long)]
    pub(crate) stored: bool,
    /// The most requests a second to one site [default: as many as it bears without getting
    /// slower].
    #[arg(long, value_name = "N", value_parser = read_rate)]
    pub(crate) rate: Option<f64>,
    /// What makes the exit status 1 [default: error, and nothing where a budget is given].
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// The most that there may be of errors, warnings, notices, new (errors and warnings),
    /// page-bytes (of the heaviest page) or a rule's findings; more makes the exit status 1. May
    /// be given several times.
    #[arg(long, value_name = "NAME=N", value_parser = Budget::read)]
    pub(crate) budget: Vec<Budget>,
    /// A report written by --format json, such as the last deploy's: what is new and fixed is told
    /// by it, and not by the last run.
    #[arg(long, value_name = "FILE", conflicts_with = "watch")]
    pub(crate) baseline: Option<PathBuf>,
    /// How the report is written to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
    /// Also write the report to a file, as one page of HTML that needs nothing else.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Audit again and again, with a rest between, such as 10m, and tell what is new and fixed,
    /// until Ctrl-C.
    #[arg(long, value_name = "TIME", value_parser = read_duration, conflicts_with = "format")]
    pub(crate) watch: Option<Duration>,
    /// Begin anew, though the last run was interrupted.
    #[arg(long)]
    pub(crate) anew: bool,
    /// Where is kept what was found, in the folder "audit" [default: /var/lib/wick for root, else
    /// the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Have the pages fetched and tested by workers, which join here; on this machine alone
    /// unless an address is given.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = worker::read_address)]
    #[arg(group = "ways")]
    pub(crate) workers: Option<SocketAddr>,
    /// Where else workers come.
    #[command(flatten)]
    pub(crate) queue: queue::QueueTyped,
    /// A file with the token that workers show, made if it isn't there; WICK_AUDIT_TOKEN goes
    /// before it [default: workers.token in the folder "audit"].
    #[arg(long, value_name = "FILE", requires = "ways")]
    pub(crate) token_file: Option<PathBuf>,
}

/// What else `wick audit` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Other {
    /// Fetch and test pages for an audit that runs elsewhere, until it is over.
    Worker(worker::WorkerTyped),
    /// Tell what stands against the pages that the running Wick has stored, of sites with
    /// `audit = true`.
    Status(StatusTyped),
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
    match &typed.other {
        Some(Other::Worker(typed)) => return worker::run(typed),
        Some(Other::Status(typed)) => {
            write(typed.format, &auditing::show(typed)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let mut plan = plan(typed)?;
    let interrupted = listen()?;
    let runtime = single_threaded()?;
    let way = Way::open(&runtime, typed, &interrupted)?;
    let crew = way.crew();
    let (report, mut is_stopped) = runtime.block_on(visit(&plan, crew, &interrupted))?;
    let mut report = report.within(&typed.budget);
    show(typed, &report)?;
    if let Some(pause) = typed.watch {
        plan.anew = false;
        while runtime.block_on(rested(pause, &interrupted)) {
            plan.stored = stored(typed, &plan.sites)?;
            (report, is_stopped) = runtime.block_on(visit(&plan, crew, &interrupted))?;
            report = report.within(&typed.budget);
            std::io::stdout().write_all(report::news(&report).as_bytes())?;
            keep(typed, &report)?;
        }
    }
    runtime.block_on(way.close())?;
    Ok(ExitCode::from(status(&report, fail_on(typed), is_stopped)))
}

/// By what way workers come.
enum Way {
    None,
    Door(Door),
    Queue(Queue),
}

impl Way {
    fn open(
        runtime: &Runtime,
        typed: &Audit,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Self, Box<dyn Error>> {
        let token = worker::token_file(typed.token_file.as_deref(), typed.state.as_deref());
        if let Some(address) = typed.workers {
            return Ok(Self::Door(worker::open(runtime, address, &token)?));
        }
        let Some(servers) = &typed.queue.nats else { return Ok(Self::None) };
        let token = WorkersToken::read_or_make(&token)?;
        Ok(Self::Queue(Queue::open(runtime, &typed.queue, servers, &token, interrupted)?))
    }

    fn crew(&self) -> Option<&Arc<Crew>> {
        match self {
            Self::None => None,
            Self::Door(door) => Some(door.crew()),
            Self::Queue(queue) => Some(queue.crew()),
        }
    }

    async fn close(self) -> Result<(), Box<dyn Error>> {
        match self {
            Self::None => {}
            Self::Door(door) => door.close().await,
            Self::Queue(queue) => queue.close().await?,
        }
        Ok(())
    }
}

/// What makes it fail: where somebody says how much of something there may be, not what they
/// didn't speak of.
fn fail_on(typed: &Audit) -> Option<FailOn> {
    typed.fail_on.or_else(|| typed.budget.is_empty().then_some(FailOn::Error))
}

/// What the running Wick keeps of the sites, if that is wanted.
fn stored(
    typed: &Audit,
    sites: &[Url],
) -> Result<Option<BTreeMap<String, Vec<String>>>, ControlError> {
    let state = typed.state.clone().unwrap_or_else(default_state);
    typed.stored.then(|| auditing::of_running(&state, sites, typed.pages)).transpose()
}

/// The report that the run is compared with; it has to tell of each site.
fn baseline(typed: &Audit, sites: &[Url]) -> Result<Option<Baseline>, BaselineError> {
    let Some(path) = &typed.baseline else { return Ok(None) };
    let baseline = Baseline::read(path)?;
    sites.iter().try_for_each(|site| baseline.of(site).map(|_| ()))?;
    Ok(Some(baseline))
}

fn plan(typed: &Audit) -> Result<Plan, Box<dyn Error>> {
    let mut known = HashSet::new();
    let sites: Vec<Url> =
        typed.urls.iter().filter(|url| known.insert(url.as_str())).cloned().collect();
    let (stored, baseline) = (stored(typed, &sites)?, baseline(typed, &sites)?);
    let browser = typed.browser.as_ref().map(|program| {
        let (program, axe) = (program.as_deref(), typed.axe.as_deref());
        BrowserPlan::find(program, axe, typed.browser_pages, !typed.no_sandbox)
    });
    Ok(Plan {
        sites,
        also: typed.also.clone(),
        named: typed.i_may_audit.clone(),
        pages: typed.pages,
        depth: typed.depth,
        external: if typed.external { typed.external_max } else { 0 },
        probes: typed.probes,
        browser: browser.transpose()?,
        tests: if typed.only.is_empty() { Tests::ALL } else { Tests::only(&typed.only) },
        stored,
        baseline,
        rate: typed.rate,
        state: typed.state.clone().unwrap_or_else(default_state).join("audit"),
        anew: typed.anew,
    })
}

/// Audits once; what was found, and whether somebody had enough.
async fn visit(
    plan: &Plan,
    crew: Option<&Arc<Crew>>,
    interrupted: &Arc<AtomicBool>,
) -> Result<(Report, bool), Box<dyn Error>> {
    let live = crew.map_or_else(Live::default, |crew| Live::with(Arc::clone(crew)));
    let report = tokio::select! {
        report = ::audit::run(plan, &live) => report?,
        never = watch(&live, interrupted) => match never {},
    };
    Ok((report, live.is_stopped()))
}

/// Waits until the next run; whether nobody had enough before it.
async fn rested(pause: Duration, interrupted: &Arc<AtomicBool>) -> bool {
    let end = Instant::now() + pause;
    let mut looks = interval(LOOK);
    while !interrupted.load(Ordering::Relaxed) {
        if Instant::now() >= end {
            return true;
        }
        looks.tick().await;
    }
    false
}

fn show(typed: &Audit, report: &Report) -> Result<(), Box<dyn Error>> {
    write(typed.format, report)?;
    keep(typed, report)
}

fn write(format: Format, report: &Report) -> std::io::Result<()> {
    let shown = match format {
        Format::Text => report::text(report),
        Format::Json => report::json(report),
        Format::Junit => report::junit(report),
        Format::Sarif => report::sarif(report),
        Format::Github => report::github(report),
    };
    std::io::stdout().write_all(shown.as_bytes())
}

fn keep(typed: &Audit, report: &Report) -> Result<(), Box<dyn Error>> {
    if let Some(path) = &typed.html {
        std::fs::write(path, report::html(report))
            .map_err(|error| format!("can't write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Hands a Ctrl-C on, and shows on a terminal how far it is.
async fn watch(live: &Live, interrupted: &Arc<AtomicBool>) -> std::convert::Infallible {
    let (begin, mut line, mut before) = (Instant::now(), LiveLine::default(), 0);
    let mut looks = interval(LOOK);
    loop {
        looks.tick().await;
        if interrupted.load(Ordering::Relaxed) {
            live.stop();
        }
        if line.is_time() {
            let (answered, seconds) = (live.answered(), begin.elapsed().as_secs());
            let (found, rate) = (live.found().max(answered), answered.saturating_sub(before));
            before = answered;
            let workers = live.workers().map_or_else(String::new, |workers| match workers {
                1 => "  1 worker".to_owned(),
                workers => format!("  {workers} workers"),
            });
            let told = format!("{seconds} s  {answered} of {found} addresses  {rate}/s{workers}");
            line.write(&told);
        }
    }
}

fn status(report: &Report, fail_on: Option<FailOn>, is_stopped: bool) -> u8 {
    if report.sites.iter().any(|site| site.error.is_some()) {
        return FAILED;
    }
    if is_stopped {
        return STOPPED;
    }
    // Half of a site that is in order is no site in order.
    if report.sites.iter().any(|site| !site.is_whole) {
        return FAILED;
    }
    let counts = |one: &report::Grouped| match fail_on {
        None => false,
        Some(FailOn::Error) => one.finding.severity == Severity::Error,
        Some(FailOn::Warning) => one.finding.severity <= Severity::Warning,
        Some(FailOn::New) => one.is_new && one.finding.severity <= Severity::Warning,
    };
    let mut findings = report.sites.iter().flat_map(|site| &site.findings);
    if findings.any(counts) || !report.is_within() { FOUND } else { 0 }
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

fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::CHOICES.map(Kind::as_str))
        .try_map(|name| Kind::named(&name).ok_or("there is no such kind of test"))
}

fn read_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.001..=100_000.0).contains(rate));
    rate.ok_or_else(|| "write requests a second, from 0.001 to 100000".to_owned())
}

#[cfg(test)]
mod tests {
    use ::audit::report::{Grouped, SiteReport};
    use ::audit::{Finding, Place};

    use super::*;

    fn report(severity: Option<Severity>, is_new: bool) -> Report {
        let findings = severity.map(|severity| {
            let (rule, url, message) = Default::default();
            let finding = Finding { severity, rule, url, place: Place::default(), message };
            Grouped { finding, is_new }
        });
        let findings = findings.into_iter().collect();
        Report::of(vec![SiteReport { is_whole: true, findings, ..SiteReport::default() }])
    }

    #[test]
    fn the_exit_status_says_what_the_owner_wants_to_know() {
        let (error, warning, notice) = (Severity::Error, Severity::Warning, Severity::Notice);
        for (severity, is_new, fail_on, expected) in [
            (None, false, FailOn::Warning, 0),
            (Some(error), false, FailOn::Error, FOUND),
            (Some(warning), true, FailOn::Error, 0),
            (Some(error), false, FailOn::Warning, FOUND),
            (Some(warning), false, FailOn::Warning, FOUND),
            (Some(notice), true, FailOn::Warning, 0),
            (Some(error), false, FailOn::New, 0),
            (Some(warning), true, FailOn::New, FOUND),
            (Some(notice), true, FailOn::New, 0),
        ] {
            let told = status(&report(severity, is_new), Some(fail_on), false);
            assert_eq!(told, expected, "{severity:?} {is_new} {fail_on:?}");
        }
        for (severity, text, expected) in [
            (Some(error), "errors=1", 0),
            (Some(error), "errors=0", FOUND),
            (Some(warning), "errors=0", 0),
            (None, "page-bytes=0", 0),
        ] {
            let budget = Budget::read(text).expect("it can be read");
            let told = status(&report(severity, false).within(&[budget]), None, false);
            assert_eq!(told, expected, "{severity:?} {text}");
        }
        let (mut half, fail_on) = (report(None, false), Some(FailOn::Error));
        half.sites[0].is_whole = false;
        assert_eq!(status(&half, fail_on, false), FAILED);
        assert_eq!(status(&half, fail_on, true), STOPPED);
        half.sites[0].error = Some("it is away".to_owned());
        assert_eq!(status(&half, fail_on, true), FAILED);
    }
}

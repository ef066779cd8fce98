//! What was typed, made into what is run on; what can't be is said here.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::complaint::complain;
use loadgen::Plan;
use loadgen::permission::{PermissionError, permit};
use loadgen::plan::{Closed, Load, Protocol, Work};
use loadgen::replay::{self, ReplayError};
use loadgen::request::{Mix, Request, RequestError, Wanted, read_field};
use loadgen::schedule::{Pattern, PatternError};
use loadgen::story::{self, StoryError};
use loadgen::target::{Target, TargetError};

use crate::bench::history::Past;
use crate::bench::{Bench, blitz};
use crate::descriptors;

/// What a person gets who says nothing of it.
const RATE: f64 = 50.0;
const DURATION: Duration = Duration::from_secs(10);
/// The same for each of several rounds.
const ROUND: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(30);
/// ab's own, where only a time is given.
const AB_REQUESTS_MAX: u64 = 50_000;
const LIST_BYTES_MAX: u64 = 64 << 20;
/// So much of a log is read at a time.
const READ_BYTES: usize = 64 << 10;

/// Why a line can't be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error(transparent)]
    Permission(#[from] PermissionError),
    #[error("name what to load: wick bench [OPTIONS] URL")]
    NoUrl,
    #[error("{0}")]
    Refused(&'static str),
    #[error("a log, a list and a file of scenarios say what is asked: leave {0} out")]
    Twice(&'static str),
    #[error("--vs holds one address against another: leave out the others")]
    SeveralVersus,
    #[error(
        "-T is a timeout in milliseconds with --pattern, and the body's type with -p; else write --timeout 4s"
    )]
    DoubtfulT,
    #[error("\"{0}\" is not a number of milliseconds, which -T is with --pattern")]
    Millis(String),
    #[error("the file {}: {error}", path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error("{}, line {line}: write an address, or a weight and an address, as in \"3 /news\"", path.display())]
    List { path: PathBuf, line: usize },
    #[error("{}: {error}", path.display())]
    Story { path: PathBuf, error: StoryError },
    #[error("{}: {error}", path.display())]
    Replay { path: PathBuf, error: ReplayError },
    #[error(transparent)]
    History(observe::history::HistoryError),
    #[error("--think is for visitors who wait for an answer: give -c too")]
    Think,
    #[error("{} holds no report of this form: keep one with --save first", path.display())]
    Saved { path: PathBuf },
    #[error(
        "{wanted} connections are more than the {room} that this process may open; raise the limit of open files (ulimit -n)"
    )]
    Room { wanted: usize, room: usize },
    #[error("--http 3 needs an address with https://: there is no HTTP/3 without TLS")]
    Quic,
    #[error("{0} must be above 0")]
    Nothing(&'static str),
}

/// What a line asks for.
pub(crate) fn of(typed: &Bench) -> Result<Plan, PlanError> {
    if let Some(why) = typed.ab.refused() {
        return Err(PlanError::Refused(why));
    }
    let addresses = addresses(typed);
    let first = addresses.first().ok_or(PlanError::NoUrl)?;
    let (target, path) = Target::parse(first)?;
    let protocol = match typed.http {
        3 if !target.is_tls => return Err(PlanError::Quic),
        3 => Protocol::Http3,
        2 => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let keeps = typed.keep || protocol != Protocol::Http1 || !(typed.no_keep_alive || is_ab(typed));
    let is_listed = typed.replay.is_some() || typed.urls.is_some() || typed.scenario.is_some();
    if is_listed && addresses.len() > 1 {
        return Err(PlanError::Twice("the other addresses"));
    }
    if is_listed && !typed.steps.is_empty() {
        return Err(PlanError::Twice("-d, -s and -v"));
    }
    let (work, load) = match &typed.replay {
        Some(log) => replay(log, typed, &target)?,
        None if !typed.steps.is_empty() => (blitz::work(typed, &target, keeps)?, load(typed)?),
        None => {
            let others = addresses[1..].iter().map(|address| target.another(address));
            let others = others.collect::<Result<Vec<_>, _>>()?;
            let paths = std::iter::once(path).chain(others).collect();
            (work(typed, &target, paths, keeps)?, load(typed)?)
        }
    };
    let peak = match &load {
        Load::Open(pattern) => Some(pattern.peak()),
        Load::Moments(moments) => Some(moments.busiest() as f64),
        Load::Closed(_) => None,
    };
    if typed.rate_cap.is_some_and(|cap| cap <= 0.0 || !cap.is_finite()) {
        return Err(PlanError::Nothing("--rate-cap"));
    }
    let cap = permit(&target, &typed.i_may_load, typed.rate_cap, peak)?;
    let room = descriptors::raise_limit();
    let (load, connections) = match load {
        Load::Closed(closed) => {
            let load = Load::Closed(Closed { rate_max: cap, ..closed });
            let wanted = typed.concurrency.unwrap_or(1) as usize;
            if wanted > room {
                return Err(PlanError::Room { wanted, room });
            }
            (load, wanted)
        }
        // Fewer connections let requests wait, which is told; it changes no figure unseen.
        open => (open, (typed.connections as usize).min(room)),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = typed.threads.map_or((cores / 2).clamp(1, 4), usize::from).min(connections);
    Ok(Plan {
        target,
        work,
        load,
        connections,
        keeps,
        timeout: timeout(typed)?,
        threads,
        visitors: typed.visitors as usize,
        protocol,
        verifies: !typed.insecure,
    })
}

/// The addresses; after a bare `-r`, which takes a region, the first may stand there.
pub(crate) fn addresses(typed: &Bench) -> Vec<&str> {
    let misplaced = typed.region.as_deref().filter(|text| text.contains(['/', ':', '.']));
    misplaced.into_iter().chain(typed.addresses.iter().map(String::as_str)).collect()
}

fn is_ab(typed: &Bench) -> bool {
    typed.requests.is_some() || typed.time_limit.is_some()
}

fn load(typed: &Bench) -> Result<Load, PlanError> {
    if let Some(pattern) = &typed.pattern {
        return Ok(Load::Open(Pattern::parse(pattern)?));
    }
    let think = typed.think.unwrap_or_default();
    let usual = if typed.vs.is_some() { ROUND } else { DURATION };
    if is_ab(typed) || typed.concurrency.is_some() {
        let limit = typed.time_limit.map(Duration::from_secs);
        let is_timed = typed.requests.is_none();
        let time = limit.or(typed.duration).or(is_timed.then_some(usual));
        let requests = typed.requests.or(limit.map(|_| AB_REQUESTS_MAX));
        return Ok(Load::Closed(Closed { requests, time, rate_max: None, think }));
    }
    if !think.is_zero() {
        return Err(PlanError::Think);
    }
    let rate = typed.rate.unwrap_or(RATE);
    Ok(Load::Open(Pattern::fixed(rate, typed.duration.unwrap_or(usual))?))
}

fn timeout(typed: &Bench) -> Result<Duration, PlanError> {
    let body = typed.body.as_ref().or(typed.ab.put.as_ref());
    let time = match (&typed.timeout_or_type, &typed.pattern, body) {
        (Some(millis), Some(_), _) => {
            let wrong = |_| PlanError::Millis(millis.clone());
            Duration::from_millis(millis.parse().map_err(wrong)?)
        }
        (Some(_), None, None) => return Err(PlanError::DoubtfulT),
        _ => typed.timeout.or(typed.ab.seconds.map(Duration::from_secs)).unwrap_or(TIMEOUT),
    };
    if time.is_zero() { Err(PlanError::Nothing("the timeout")) } else { Ok(time) }
}

fn work(
    typed: &Bench,
    target: &Target,
    paths: Vec<String>,
    keeps: bool,
) -> Result<Work, PlanError> {
    let fields = typed.fields.iter().map(|text| read_field(text));
    let mut fields = fields.collect::<Result<Vec<_>, _>>()?;
    if !typed.cookies.is_empty() {
        fields.push(("Cookie".to_owned(), typed.cookies.join("; ")));
    }
    fields.extend(typed.ab.fields());
    let put = typed.ab.put.as_deref();
    let body = typed.body.as_deref().or(put).map(read).transpose()?;
    if body.is_some() && typed.pattern.is_none() {
        // What ab says of a body of which it knows nothing.
        let kind = typed.timeout_or_type.as_deref().unwrap_or("text/plain");
        fields.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    let usual = match (typed.ab.head, put, &body) {
        (true, ..) => "HEAD",
        (_, Some(_), _) => "PUT",
        (.., Some(_)) => "POST",
        (.., None) => "GET",
    };
    let method = typed.method.as_deref().unwrap_or(usual).to_owned();
    let body = body.unwrap_or_default();
    let wanted = |path| {
        let (method, fields, body) = (method.clone(), fields.clone(), body.clone());
        Request::new(Wanted { method, path, fields, body }, target, keeps)
    };
    if let Some(file) = &typed.scenario {
        let text = read(file)?;
        let stories = story::parse(&String::from_utf8_lossy(&text), target, keeps);
        let wrong = |error| PlanError::Story { path: file.clone(), error };
        return Ok(Work::Stories(stories.map_err(wrong)?));
    }
    let Some(list) = &typed.urls else {
        let requests = paths.into_iter().map(|path| Ok((wanted(path)?, 1.0)));
        return Ok(Work::Requests(Mix::new(requests.collect::<Result<_, PlanError>>()?)?));
    };
    let bytes = read(list)?;
    let mut weighted = Vec::new();
    for (number, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = || PlanError::List { path: list.clone(), line: number + 1 };
        let (weight, address) = match line.split_once([' ', '\t']) {
            Some((weight, address)) => (weight.parse().map_err(|_| wrong())?, address.trim()),
            None => (1.0, line),
        };
        if !(0.0..=1e9).contains(&weight) {
            return Err(wrong());
        }
        weighted.push((wanted(target.path_here(address)?)?, weight));
    }
    Ok(Work::Requests(Mix::new(weighted)?))
}

fn replay(log: &Path, typed: &Bench, target: &Target) -> Result<(Work, Load), PlanError> {
    let wrong = |error| PlanError::Replay { path: log.to_owned(), error };
    let speed = replay::parse_speed(&typed.speed).map_err(wrong)?;
    let (played, what) = if log.is_dir() {
        let past = Past::read(log, typed.since).map_err(PlanError::History)?;
        if past.hosts_left_out > 0 {
            let (others, log) = (past.hosts_left_out, log.display());
            complain(format_args!(
                "the history in {log} has other hosts too ({others}), which are left out"
            ));
        }
        (replay::of_arrivals(past.arrivals(), speed, target), "requests")
    } else {
        let file = File::open(log);
        let file = file.map_err(|error| PlanError::File { path: log.to_owned(), error })?;
        (replay::read(BufReader::with_capacity(READ_BYTES, file), speed, target), "lines")
    };
    let played = played.map_err(wrong)?;
    if played.left_out > 0 {
        let (count, log) = (played.left_out, log.display());
        complain(format_args!("{count} {what} of {log} can't be played, and are left out"));
    }
    Ok((Work::Recorded(played.recorded), Load::Moments(played.moments)))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, PlanError> {
    let wrong = |error| PlanError::File { path: path.to_owned(), error };
    let length = std::fs::metadata(path).map_err(wrong)?.len();
    if length > LIST_BYTES_MAX {
        return Err(wrong(std::io::Error::other("it is larger than 64 MiB")));
    }
    std::fs::read(path).map_err(wrong)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

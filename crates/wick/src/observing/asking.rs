//! What may be asked about what happened, as JSON through the control socket.
//!
//! ```text
//! {"log": {"why": "pass", "route": "/thread/{id}", "status": "5xx", "after": 0, "count": 40}}
//! {"findings": {}}
//! {"overview": {}}
//! {"routes": {}}
//! {"profile": {}}
//! {"tracker": {"status": {}}}  {"tracker": {"user": {"id": 7}}}
//! {"sphinx": {"status": {}}}
//! {"cluster": {"status": {}}}  {"cluster": {"forget": {"nodes": ["b"]}}}
//! {"cluster": {"drain": {"ends": false}}}
//! {"search": {"status": {}}}  {"search": {"find": {"query": "words", "site": ""}}}
//! {"history": {"from": 1789000000, "to": 1789003600, "step": 60}}
//! {"statements": {"site": "forum"}}
//! {"stored": {"scheme": "http", "host": "example.org", "after": null}}
//! ```

use base::Phase;
use changes::tap::Passed;
use observe::history::{self, Mark, Span};
use observe::routes::RouteName;
use observe::{RouteCounts, Seen, Wanted};
use serde::{Deserialize, Serialize};
use server::Statements;

use super::overview::overview;
use super::profile::SlowFinding;
use super::{Observing, unix};
use crate::auditing::{self, StoredQuestion};
use crate::cluster::{self, ClusterQuestion};
use crate::search::{self, SearchQuestion};
use crate::sphinx::{self, SphinxQuestion};
use crate::tracker::{self, TrackerQuestion};

/// Lines of one answer.
pub(crate) const LINES_MAX: usize = 1000;

/// A question.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Question {
    Log(LogQuestion),
    Findings {},
    Overview {},
    Routes {},
    Profile {},
    Tracker(TrackerQuestion),
    Sphinx(SphinxQuestion),
    Cluster(ClusterQuestion),
    Search(SearchQuestion),
    History {
        from: u64,
        to: u64,
        step: u64,
    },
    /// What passed a site's tap since this was last asked; asking begins it.
    Statements {
        site: String,
    },
    /// The public pages that are kept of a host.
    Stored(StoredQuestion),
}

/// Statements that passed a site's tap.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct StatementsAnswer {
    /// The site's name.
    pub(crate) site: String,
    pub(crate) statements: Vec<ToldStatement>,
    /// How many there were besides.
    pub(crate) missed: u64,
    /// Whether there are more to be asked for at once.
    pub(crate) are_more: bool,
    /// How often the site's pages were swept since the start, and how often changes of which
    /// table did that.
    pub(crate) sweeps: u64,
    pub(crate) swept_by: Vec<(String, u64)>,
}

/// One of them.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ToldStatement {
    pub(crate) text: String,
    /// Method and route, as in `GET /thread/{id}`; none where that isn't certain.
    pub(crate) route: Option<String>,
    pub(crate) took_us: u64,
}

/// Which of the last answers are wanted.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogQuestion {
    pub(crate) why: String,
    pub(crate) route: String,
    pub(crate) status: String,
    /// Only those after this number.
    pub(crate) after: u64,
    /// The last so many.
    pub(crate) count: usize,
}

/// The last answers, oldest first.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct LogAnswer {
    pub(crate) lines: Vec<LogLine>,
    /// The number to ask for what comes next with.
    pub(crate) newest: u64,
    /// Answers so far that came too fast to be remembered one by one.
    pub(crate) left_out: u64,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct LogLine {
    pub(crate) unix_ms: u64,
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) site: String,
    pub(crate) route: String,
    pub(crate) status: u16,
    pub(crate) verdict: String,
    pub(crate) unstored: String,
    pub(crate) bytes: u64,
    pub(crate) took_us: u64,
    /// Each phase that it went through, in microseconds.
    pub(crate) phases: Vec<(String, u64)>,
}

/// What the answer to [`Question::Findings`] has for each.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ToldFinding {
    id: String,
    pub(crate) site: String,
    pub(crate) route: String,
    pub(crate) evidence: String,
    origin_us: u64,
    share: f64,
    gain_us: u64,
    pub(crate) fix: String,
    revert: String,
}

/// What the answer to [`Question::Routes`] has for each.
#[derive(Debug, Serialize)]
struct ToldRoute {
    site: String,
    /// Empty: all that have none of their own.
    route: String,
    requests: u64,
    hits: u64,
    errors: u64,
    bytes: u64,
    origin_us: u64,
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    verdicts: Vec<(String, u64)>,
}

/// What the answer to [`Question::History`] has for each stretch of time.
#[derive(Debug, Serialize)]
struct ToldPoint {
    time: u64,
    covered: u64,
    requests: u64,
    hits: u64,
    errors: u64,
    bytes: u64,
    origin_us: u64,
    memory_bytes: u64,
    p50_us: Option<u64>,
    p99_us: Option<u64>,
    html_p50_us: Option<u64>,
    html_p99_us: Option<u64>,
    other_p50_us: Option<u64>,
    other_p99_us: Option<u64>,
    marks: Vec<String>,
}

/// Answers a question.
pub(crate) fn tell(
    observing: &Observing,
    question: serde_json::Value,
) -> Result<serde_json::Value, String> {
    let question: Question = serde_json::from_value(question).map_err(|error| error.to_string())?;
    let told = match question {
        Question::Log(wanted) => serde_json::to_value(log(observing, wanted)),
        Question::Findings {} => serde_json::to_value(findings(observing)),
        Question::Overview {} => serde_json::to_value(overview(observing)),
        Question::Routes {} => {
            let routes = observing.ledger.counts();
            serde_json::to_value(routes.into_iter().map(told_route).collect::<Vec<_>>())
        }
        Question::Tracker(question) => {
            let tracking = observing.tracker.get();
            serde_json::to_value(tracker::tell(tracking.map(|it| &**it), &question)?)
        }
        Question::Sphinx(question) => {
            let searching = observing.sphinx.get();
            serde_json::to_value(sphinx::tell(searching.map(|it| &**it), &question)?)
        }
        Question::Cluster(question) => {
            let told = cluster::tell(observing.cluster.get(), &question)?;
            if let ClusterQuestion::Forget { nodes } = &question
                && let Some(open) = observing.tracker.get().and_then(|tracking| tracking.open())
            {
                open.tracker.let_go(nodes);
            }
            serde_json::to_value(told)
        }
        Question::Search(question) => {
            serde_json::to_value(search::tell(&observing.searches(), &question)?)
        }
        Question::Profile {} => serde_json::to_value(observing.profile.told()),
        Question::History { from, to, step } => {
            let span = Span { from, to, step };
            let points = history::read(&observing.history, span, unix().as_secs());
            let points = points.map_err(|error| error.to_string())?;
            serde_json::to_value(points.iter().map(told_point).collect::<Vec<_>>())
        }
        Question::Statements { site } => serde_json::to_value(statements(observing, &site)?),
        Question::Stored(question) => {
            let (server, _) = observing.attached().ok_or("nothing is served yet")?;
            serde_json::to_value(auditing::tell_stored(&server, &question))
        }
    };
    told.map_err(|error| error.to_string())
}

fn statements(observing: &Observing, site: &str) -> Result<StatementsAnswer, String> {
    let (server, _) = observing.attached().ok_or("nothing is served yet")?;
    let Statements { site, batch, sweeps, swept_by } = server.passed_statements(site)?;
    let route = |visit: &str| {
        let (method, path) = visit.split_once(' ').unwrap_or(("", visit));
        let route = observing.ledger.route_of(&site, path).route;
        let route = if route.is_empty() { "other paths" } else { &route };
        format!("{method} {route}")
    };
    let told = |passed: Passed| ToldStatement {
        route: passed.visit.as_deref().map(route),
        took_us: u64::try_from(passed.took.as_micros()).unwrap_or(u64::MAX),
        text: passed.text,
    };
    let statements = batch.passed.into_iter().map(told).collect();
    let (missed, are_more) = (batch.missed, batch.are_more);
    Ok(StatementsAnswer { statements, missed, are_more, site, sweeps, swept_by })
}

fn log(observing: &Observing, question: LogQuestion) -> LogAnswer {
    let LogQuestion { why, route, status, after, count } = question;
    let (mut found, newest) = observing.ledger.recent(after, &Wanted { why, route, status });
    let lines = found.split_off(found.len().saturating_sub(count.min(LINES_MAX)));
    let lines = lines.into_iter().map(|(seen, name)| line(seen, name)).collect();
    LogAnswer { lines, newest, left_out: observing.ledger.left_out() }
}

pub(super) fn line(seen: Seen, name: RouteName) -> LogLine {
    let phases = Phase::ALL.iter().zip(seen.phases).filter(|(_, time)| *time > 0);
    LogLine {
        unix_ms: seen.unix_ms,
        phases: phases.map(|(phase, time)| (phase.word().to_owned(), time)).collect(),
        method: seen.method,
        host: seen.host,
        path: seen.path,
        site: name.site,
        route: name.route,
        status: seen.status,
        verdict: seen.verdict.to_string(),
        unstored: seen.unstored.map_or_else(String::new, |reason| reason.reason().to_owned()),
        bytes: seen.bytes,
        took_us: seen.took_us,
    }
}

fn findings(observing: &Observing) -> Vec<ToldFinding> {
    let all = observe::findings(&observing.ledger.counts());
    let told = all.into_iter().map(|finding| ToldFinding {
        id: finding.id,
        site: finding.route.site,
        route: finding.route.route,
        evidence: finding.evidence,
        origin_us: finding.origin_us,
        share: finding.share,
        gain_us: finding.gain_us,
        fix: finding.fix,
        revert: finding.revert,
    });
    told.chain(observing.profile.findings().into_iter().map(slow_finding)).collect()
}

/// What slow requests do, as far as samples of them tell: it has no price, for nobody measured
/// one.
fn slow_finding(found: SlowFinding) -> ToldFinding {
    ToldFinding {
        id: found.id,
        site: found.site,
        route: String::new(),
        evidence: found.evidence,
        origin_us: 0,
        share: 0.0,
        gain_us: 0,
        fix: found.fix,
        revert: String::new(),
    }
}

fn told_route(counts: RouteCounts) -> ToldRoute {
    let verdicts = counts.each_verdict();
    ToldRoute {
        requests: counts.requests(),
        hits: counts.hits(),
        errors: counts.errors,
        bytes: counts.bytes,
        origin_us: counts.origin_us(),
        p50_us: counts.times.percentile(0.5),
        p99_us: counts.times.percentile(0.99),
        verdicts: verdicts.map(|(why, tally)| (why.to_string(), tally.requests)).collect(),
        site: counts.name.site,
        route: counts.name.route,
    }
}

fn told_point(point: &history::Point) -> ToldPoint {
    let marks = Mark::ALL.iter().filter(|mark| point.has(**mark));
    let times = point.times();
    ToldPoint {
        time: point.time,
        covered: point.covered,
        requests: point.requests,
        hits: point.hits,
        errors: point.errors,
        bytes: point.bytes,
        origin_us: point.origin_us,
        memory_bytes: point.memory_bytes,
        p50_us: times.percentile(0.5),
        p99_us: times.percentile(0.99),
        html_p50_us: point.html.percentile(0.5),
        html_p99_us: point.html.percentile(0.99),
        other_p50_us: point.other.percentile(0.5),
        other_p99_us: point.other.percentile(0.99),
        marks: marks.map(|mark| format!("{mark:?}").to_lowercase()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn questions_are_answered_and_others_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let observing = Observing::new(folder.path());
        for (question, answer) in [
            (json!({"log": {"count": 10}}), json!({"lines": [], "newest": 0, "left_out": 0})),
            (json!({"findings": {}}), json!([])),
            (json!({"routes": {}}), json!([])),
            (json!({"history": {"from": 0, "to": 100, "step": 1}}), json!([])),
        ] {
            assert_eq!(tell(&observing, question), Ok(answer));
        }
        for wrong in [
            json!({"log": {"count": -1}}),
            json!({"log": {"rout": "/"}}),
            json!({"history": {"from": 0}}),
            json!({"statements": {"site": ""}}),
            json!({"stored": {"scheme": "http", "host": "a", "after": null}}),
            json!({"history": {"from": u64::MAX, "to": 0, "step": "x"}}),
            json!("log"),
            json!(null),
        ] {
            assert!(tell(&observing, wrong.clone()).is_err(), "{wrong}");
        }
        let told = tell(&observing, json!({"overview": {}})).expect("it is a question");
        assert_eq!((&told["all"]["requests"], &told["routes"]), (&json!(0), &json!([])));
        let ends = json!({"history": {"from": 0, "to": u64::MAX, "step": 0}});
        assert_eq!(tell(&observing, ends), Ok(json!([])));
    }
}

//! The queries of a site that the running Wick serves, by its tap: which they are, which
//! requests run them, and why those requests' answers weren't in memory.
//!
//! Wick keeps what passes while it is asked for it, and a second or two longer until a
//! request's route is known; what comes of it is counted here.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use queries::classes::Classes;
use queries::logs::Faults;
use queries::query::{Query, Whose};
use queries::report::Report;
use queries::tokens::Dialect;
use server::STATEMENT_AGE;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::{Looked, QueriesError, progress};
use crate::control::ask_observed;
use crate::live_line::LiveLine;
use crate::observing::asking::{Question, StatementsAnswer, ToldFinding};

/// How long to wait where there is nothing more.
const PAUSE: Duration = Duration::from_millis(200);

/// Watches a site for a while, or until Ctrl-C.
pub(super) fn watch(state: &Path, name: &str, window: Duration) -> Result<Looked, QueriesError> {
    let has_ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, has_ended.clone()).map_err(QueriesError::Signals)?;
    }
    let mut looked = Looked {
        classes: Classes::default(),
        faults: Faults::default(),
        report: Report::default(),
    };
    let (begun, mut line) = (Instant::now(), LiveLine::default());
    let (mut end, mut missed, mut before) = (window, 0, None);
    let last = loop {
        let is_over = begun.elapsed() >= end + STATEMENT_AGE;
        let question = Question::Statements { site: name.to_owned() };
        let answer: StatementsAnswer = ask_observed(state, &question)?;
        missed += answer.missed;
        for told in &answer.statements {
            let mut query = Query::new(told.text.as_bytes(), Dialect::MySql);
            query.nanoseconds = told.took_us.saturating_mul(1000);
            query.whose = told.route.as_deref().map_or(Whose::Unsure, Whose::Route);
            looked.classes.take(&query);
        }
        let are_more = answer.are_more;
        if before.is_none() {
            before = Some((answer.sweeps, answer.swept_by.clone()));
        }
        if are_more {
            continue;
        }
        if is_over {
            break answer;
        }
        // What is on its way is still waited for.
        if has_ended.load(Ordering::Relaxed) {
            end = end.min(begun.elapsed());
        }
        progress::tell_watching(&mut line, begun.elapsed().min(end), end);
        std::thread::sleep(PAUSE);
    };
    looked.report.sources = vec![format!("the site {}", last.site)];
    looked.report.window_seconds = Some(end.as_secs_f64());
    if missed > 0 {
        let note = format!("{missed} more statements came too fast to be kept, and are in no sum.");
        looked.report.notes.push(note);
    }
    looked.report.notes.push(sweeps(&before.unwrap_or_default(), &last));
    Ok(looked)
}

/// What changes did to the site's pages in between.
fn sweeps((sweeps, swept_by): &(u64, Vec<(String, u64)>), last: &StatementsAnswer) -> String {
    let times = last.sweeps.saturating_sub(*sweeps);
    if times == 0 {
        return "No change swept the site's pages meanwhile.".to_owned();
    }
    let earlier = |table: &str| {
        swept_by.iter().find(|(known, _)| known == table).map_or(0, |(_, count)| *count)
    };
    let grown =
        last.swept_by.iter().map(|(table, count)| (table, count.saturating_sub(earlier(table))));
    let mut grown: Vec<_> = grown.filter(|(_, count)| *count > 0).collect();
    grown.sort_by_key(|(table, count)| (std::cmp::Reverse(*count), *table));
    let named = grown.iter().map(|(table, count)| {
        let table = if table.is_empty() { "others" } else { table };
        format!("{table} ({count})")
    });
    let by = named.collect::<Vec<_>>().join(", ");
    let by = if by.is_empty() { String::new() } else { format!(", by changes of {by}") };
    let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    format!("Meanwhile the site's pages were swept {times}{by}; what was kept is made anew then.")
}

/// Tells of each route why its answers weren't in memory, and what to do.
pub(super) fn explain_misses(state: &Path, report: &mut Report) -> Result<(), QueriesError> {
    let findings: Vec<ToldFinding> = ask_observed(state, &Question::Findings {})?;
    put_findings(report, &findings);
    Ok(())
}

/// Findings come the dearest first; the first of a route is told.
fn put_findings(report: &mut Report, findings: &[ToldFinding]) {
    let site = report.sources.first().and_then(|source| source.strip_prefix("the site "));
    let of_site: Vec<_> = findings.iter().filter(|one| Some(&*one.site) == site).collect();
    for route in report.top.iter_mut().flat_map(|row| &mut row.routes) {
        let Some((_, path)) = route.route.split_once(' ').filter(|_| route.reads()) else {
            continue;
        };
        if let Some(found) = of_site.iter().find(|one| one.route == path) {
            route.evidence.clone_from(&found.evidence);
            route.fix.clone_from(&found.fix);
        }
    }
}

#[cfg(test)]
mod tests {
    use queries::report::Row;
    use queries::routes::RouteRow;
    use serde_json::json;

    use super::*;

    #[test]
    fn sweeps_are_told_with_the_tables_that_changed() {
        let table = |name: &str, count| (name.to_owned(), count);
        let last = |sweeps, swept_by| StatementsAnswer {
            site: "forum".to_owned(),
            statements: Vec::new(),
            missed: 0,
            are_more: false,
            sweeps,
            swept_by,
        };
        let before = (5, vec![table("posts", 7), table("users", 1)]);
        let told = sweeps(&before, &last(5, before.1.clone()));
        assert_eq!(told, "No change swept the site's pages meanwhile.");
        let after = vec![table("", 1), table("online", 1), table("posts", 10), table("users", 1)];
        assert_eq!(
            sweeps(&before, &last(8, after)),
            "Meanwhile the site's pages were swept 3 times, by changes of posts (3), others (1), \
             online (1); what was kept is made anew then."
        );
        let untold = sweeps(&before, &last(6, before.1.clone()));
        assert!(untold.starts_with("Meanwhile the site's pages were swept once; "), "{untold}");
    }

    #[test]
    fn a_route_is_told_its_dearest_finding_and_no_other_sites() {
        let finding = |site: &str, route: &str, fix: &str| {
            let told = json!({
                "id": "x", "site": site, "route": route, "evidence": "seen", "origin_us": 1,
                "share": 0.5, "gain_us": 1, "fix": fix, "revert": ""
            });
            serde_json::from_value(told).expect("a finding")
        };
        let findings: [ToldFinding; 4] = [
            finding("shop", "/search", "another's"),
            finding("forum", "/search", "the dearest"),
            finding("forum", "/search", "a cheaper one"),
            finding("forum", "/post", "it writes"),
        ];
        let route = |name: &str| RouteRow { route: name.to_owned(), ..RouteRow::default() };
        let routes = vec![route("GET /search"), route("POST /post"), route("GET /none")];
        let row = Row { routes, ..Row::default() };
        let sources = vec!["the site forum".to_owned()];
        let mut report = Report { sources, top: vec![row], ..Report::default() };
        put_findings(&mut report, &findings);
        let fixes: Vec<_> = report.top[0].routes.iter().map(|route| route.fix.as_str()).collect();
        assert_eq!(fixes, ["the dearest", "", ""]);
    }
}

//! What the origin's time goes into, and what would save it.
//!
//! In: counts by route and reason. Out: [`Finding`]s, the dearest first, each with what was
//! seen, what it would save at most, what to do, and how to undo that.
//! A saving is an upper bound: the first visit to each page has to be made by somebody.

use policy::{NoStore, Verdict};

use crate::answer::is_hit;
use crate::counts::{RouteCounts, Tally};
use crate::remedies::{Remedy, of_unstored, of_verdict};
use crate::routes::RouteName;

/// How many are told.
const FINDINGS_MAX: usize = 100;

/// Something that the origin's time goes into.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Names it: the same for as long as its route and its reason are.
    pub id: String,
    /// Of which requests it is.
    pub route: RouteName,
    /// What was seen, in one sentence.
    pub evidence: String,
    /// How long the origin worked for it, in microseconds.
    pub origin_us: u64,
    /// The share of all that the origin worked.
    pub share: f64,
    /// What would be saved at most, in microseconds; zero where there is nothing to do.
    pub gain_us: u64,
    /// What to do, or why there is nothing.
    pub fix: String,
    /// How to undo that; empty where there is nothing to do.
    pub revert: String,
}

/// What each route's reasons cost, the dearest first.
#[must_use]
pub fn findings(counts: &[RouteCounts]) -> Vec<Finding> {
    let total_us: u64 = counts.iter().map(RouteCounts::origin_us).sum();
    let each = counts.iter().flat_map(|route| {
        route
            .each_verdict()
            .filter(|(verdict, tally)| !is_hit(*verdict) && tally.origin_us > 0)
            .map(move |(verdict, tally)| finding(route, verdict, tally, total_us))
    });
    let mut all: Vec<Finding> = each.collect();
    all.sort_by(|one, other| (other.origin_us, &one.id).cmp(&(one.origin_us, &other.id)));
    all.truncate(FINDINGS_MAX);
    all
}

fn finding(route: &RouteCounts, verdict: Verdict, tally: Tally, total_us: u64) -> Finding {
    let name = &route.name;
    let shown = match name.route.as_str() {
        "" => "other paths".to_owned(),
        path => path.to_owned(),
    };
    let share = tally.origin_us as f64 / total_us.max(1) as f64;
    let mut evidence = format!(
        "{} of {} requests for {shown} were {verdict}: {:.1} s of the origin's time, {:.0} % of it",
        tally.requests,
        route.requests(),
        tally.origin_us as f64 / 1e6,
        share * 100.0
    );
    // A miss that came to nothing, and a pass because of one, are explained by why it did.
    let unstored = match verdict {
        Verdict::Miss(_) | Verdict::Pass(policy::PassReason::Remembered) => commonest(route),
        _ => None,
    };
    let remedy = match unstored {
        Some((reason, unstored)) => {
            let reason_text = reason.reason();
            evidence += &format!("; {} answers were not stored: {reason_text}", unstored.requests);
            of_unstored(reason)
        }
        None => of_verdict(verdict),
    };
    let (gain_us, fix, revert) = match remedy {
        Remedy::Fix { how, revert } => (tally.origin_us, how.to_owned(), revert.to_owned()),
        Remedy::Nothing { because } => (0, format!("nothing to do: {because}"), String::new()),
    };
    let id = format!("{verdict} {}{}", name.site, name.route);
    let route = name.clone();
    Finding { id, route, evidence, origin_us: tally.origin_us, share, gain_us, fix, revert }
}

/// Why most of a route's answers were not stored, if that is why it has misses: if as many
/// as half of its misses came to nothing.
fn commonest(route: &RouteCounts) -> Option<(NoStore, Tally)> {
    let all = NoStore::ALL.iter().copied().zip(route.unstored.iter().copied());
    let most = all.max_by_key(|(_, tally)| (tally.origin_us, tally.requests))?;
    let is_miss = |(verdict, _): &(Verdict, Tally)| matches!(verdict, Verdict::Miss(_));
    let misses: u64 = route.each_verdict().filter(is_miss).map(|(_, tally)| tally.requests).sum();
    (most.1.requests > 0 && most.1.requests * 2 >= misses).then_some(most)
}

#[cfg(test)]
mod tests {
    use policy::{MissReason, PassReason};

    use super::*;

    fn route(path: &str, verdicts: &[(Verdict, u64, u64)]) -> RouteCounts {
        let name = RouteName { site: "forum".into(), route: path.into() };
        let mut counts = RouteCounts::of(name);
        for (verdict, requests, origin_us) in verdicts {
            counts.verdicts[verdict.index()] = Tally { requests: *requests, origin_us: *origin_us };
        }
        counts
    }

    #[test]
    fn the_dearest_comes_first_with_what_to_do_about_it() {
        let miss = Verdict::Miss(MissReason::UriMiss);
        let counts = [
            route("/thread/{id}", &[(Verdict::Hit, 900, 0), (miss, 100, 2_000_000)]),
            route("/cart", &[(Verdict::Pass(PassReason::Cookie), 60, 6_000_000)]),
            route("/post", &[(Verdict::Pass(PassReason::Method), 9, 2_000_000)]),
        ];
        let all = findings(&counts);
        let ids: Vec<_> = all.iter().map(|finding| finding.id.as_str()).collect();
        let expected = [
            "pass(cookie) forum/cart",
            "miss(uri-miss) forum/thread/{id}",
            "pass(method) forum/post",
        ];
        assert_eq!(ids, expected);
        assert_eq!(
            all[0].evidence,
            "60 of 60 requests for /cart were pass(cookie): 6.0 s of the origin's time, 60 % of it"
        );
        assert!(all[0].fix.contains("foreign_cookies") && all[0].gain_us == 6_000_000);
        assert!(all[2].fix.starts_with("nothing to do: ") && all[2].gain_us == 0);
        assert!(all[2].revert.is_empty() && !all[0].revert.is_empty());
    }

    #[test]
    fn misses_that_come_to_nothing_are_explained_by_why_they_do() {
        let miss = Verdict::Miss(MissReason::UriMiss);
        let passed = Verdict::Pass(PassReason::Remembered);
        let mut counts = route("/account", &[(miss, 10, 900_000), (passed, 90, 100_000)]);
        counts.unstored[NoStore::NoStore as usize] = Tally { requests: 9, origin_us: 800_000 };
        let all = findings(&[counts.clone()]);
        for finding in &all {
            assert!(finding.fix.contains("ignore_no_store"), "{finding:?}");
            assert!(finding.evidence.ends_with("9 answers were not stored: no-store"));
        }
        counts.unstored[NoStore::NoStore as usize].requests = 4;
        let few = findings(&[counts]);
        assert!(few[0].fix.contains("ignore_query"), "most of them were stored: {:?}", few[0]);
    }
}

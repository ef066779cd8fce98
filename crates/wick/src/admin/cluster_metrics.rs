//! What `/metrics` tells of this node among the others: whether it is in touch, for how long, and
//! how late its words are heard.

use cluster::Status;
use observe::metrics::{Page, Times};

/// How it stands.
pub(super) fn put(page: &mut Page, node: &Status) {
    let help = "Whether this node has heard all that was told a lag limit ago.";
    page.gauge("wick_cluster_in_touch", help, &[], Some(node.is_in_touch));
    let seconds = |milliseconds: f64| milliseconds / 1e3;
    for (name, help, number) in [
        (
            "wick_cluster_in_touch_seconds",
            "For how long it is in touch if it hears nothing more; below zero: since when it isn't.",
            seconds(node.in_touch_for_ms as f64),
        ),
        ("wick_cluster_lag_limit_seconds", "The lag limit.", seconds(node.lag_ms as f64)),
    ] {
        page.gauge(name, help, &[], Some(number));
    }
    let help = "How long this node's words took until it heard them back, and so about everybody.";
    page.times("wick_cluster_heard_back_seconds", help, &times(&node.heard_back));
    for (name, help, number) in [
        ("wick_cluster_told", "What this node told the others.", node.told),
        ("wick_cluster_heard", "What the others told.", node.heard),
        ("wick_cluster_missed", "Times that something may have been missed.", node.missed),
    ] {
        page.count(name, help, &[], number);
    }
    let missing = node.members.iter().filter(|member| member.is_missing).count();
    for (name, help, number) in [
        ("wick_cluster_waiting", "What waits to be told.", node.waiting),
        ("wick_cluster_members", "The other nodes.", node.members.len()),
        ("wick_cluster_members_missing", "Those that are away without a goodbye.", missing),
    ] {
        page.gauge(name, help, &[], Some(number as u64));
    }
    for member in &node.members {
        let help = "How far behind this node another one has heard, as this one knows.";
        let labels = [("node", member.node.as_str())];
        let behind = seconds(member.behind_ms as f64);
        page.gauge("wick_cluster_behind_seconds", help, &labels, Some(behind));
    }
    let Some(deposits) = &node.deposits else { return };
    let help = "What strangers were given, for the node that they write to: by what became of it.";
    for (what, number) in [
        ("laid", deposits.laid),
        ("found", deposits.found),
        ("missing", deposits.missing),
        ("refused", deposits.refused),
        ("lost", deposits.lost),
    ] {
        page.count("wick_cluster_deposits", help, &[("what", what)], number);
    }
}

/// Times that were counted by doublings of a millisecond, each taken for the middle of its class.
fn times(doublings: &[u64]) -> Times {
    let mut times = Times::default();
    for (at, count) in doublings.iter().enumerate() {
        let middle_us = (1_u64 << at) * 750;
        times.counts.add_many(middle_us, *count);
    }
    times
}

#[cfg(test)]
mod tests {
    use cluster::Member;
    use observe::metrics::Format;

    use super::*;

    #[test]
    fn how_a_node_stands_and_how_late_it_is_heard_is_told() {
        let member = |node: &str, is_missing| Member {
            node: node.to_owned(),
            is_missing,
            behind_ms: 1500,
            ..Member::default()
        };
        let status = Status {
            in_touch_for_ms: -2500,
            heard_back: vec![0, 0, 3, 1],
            members: vec![member("b", false), member("c", true)],
            deposits: Some(cluster::DepositCounts { lost: 4, ..Default::default() }),
            ..Status::default()
        };
        let mut page = Page::default();
        put(&mut page, &status);
        let text = page.finish(Format::OpenMetrics);
        for line in [
            "wick_cluster_in_touch 0\n",
            "wick_cluster_in_touch_seconds -2.5\n",
            "wick_cluster_heard_back_seconds_count 4\n",
            "wick_cluster_heard_back_seconds_bucket{le=\"0.004096\"} 3\n",
            "wick_cluster_heard_back_seconds_bucket{le=\"0.008192\"} 4\n",
            "wick_cluster_members_missing 1\n",
            "wick_cluster_behind_seconds{node=\"b\"} 1.5\n",
            "wick_cluster_deposits_total{what=\"lost\"} 4\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}

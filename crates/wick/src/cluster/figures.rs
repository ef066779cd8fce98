//! Figures: how each node is, as its owner is shown on any of them.
//!
//! Each tells its own once a second (`cluster::figures`); here they are read off the counters and
//! put together. Another version may say less, or more: what is missing is zero.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use cluster::{Node, Reading, Status};
use policy::Verdict;
use serde::{Deserialize, Serialize};
use server::Server;

use crate::admin::hits;
use crate::certificates::TURN;

/// Who was silent for so long isn't counted, and is shown as such.
const SILENT_MS: u64 = 5000;

/// How one node is, or all of them together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Figures {
    /// Answers since the start.
    pub(crate) answers: u64,
    /// Those that memory gave, its own or another node's.
    pub(crate) hits: u64,
    /// Answers in the last second.
    pub(crate) answers_per_second: f64,
    /// Of these, those that memory gave.
    pub(crate) hits_per_second: f64,
    /// Connections of visitors.
    pub(crate) connections: u64,
    /// What the cache holds.
    pub(crate) memory_bytes: u64,
    /// What it may hold.
    pub(crate) memory_limit_bytes: u64,
    /// Pages in memory.
    pub(crate) pages: u64,
    /// Sweeps since the start: of what changed in databases, and purges.
    pub(crate) sweeps: u64,
}

/// What a node tells of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Told {
    pub(crate) version: String,
    pub(crate) uptime_seconds: u64,
    pub(crate) is_in_touch: bool,
    /// For how long it would stay in touch if it heard nothing more.
    pub(crate) in_touch_for_ms: i64,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

/// A node, for who looks at all of them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NodeNow {
    pub(crate) node: String,
    /// Whether it is the one that tells this.
    pub(crate) is_own: bool,
    /// Whether it is away without having said goodbye.
    pub(crate) is_missing: bool,
    pub(crate) is_draining: bool,
    /// For how long nothing was heard that it had to tell; of this node zero.
    pub(crate) behind_ms: u64,
    /// The databases that it reads for all.
    pub(crate) reads: Vec<String>,
    /// What it told of itself last; none: nothing for [`SILENT_MS`].
    pub(crate) told: Option<Told>,
}

/// All nodes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Sum {
    /// Nodes that there are.
    pub(crate) nodes: usize,
    /// Those among them whose figures aren't known, and aren't in the sums.
    pub(crate) silent: usize,
    #[serde(flatten)]
    pub(crate) figures: Figures,
}

/// Reads this node's figures.
pub(super) struct Meter {
    server: Weak<Server>,
    began: Instant,
    last: Mutex<Last>,
}

/// The last second.
struct Last {
    at: Instant,
    answers: u64,
    hits: u64,
    rates: (f64, f64),
}

impl Meter {
    pub(super) fn new(server: &Arc<Server>) -> Self {
        let (now, server) = (Instant::now(), Arc::downgrade(server));
        let last = Last { at: now, answers: 0, hits: 0, rates: (0.0, 0.0) };
        Self { server, began: now, last: Mutex::new(last) }
    }

    pub(super) fn read(&self, status: &Status) -> Told {
        let figures = self.server.upgrade().map(|server| self.figures(&server));
        Told {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: self.began.elapsed().as_secs(),
            is_in_touch: status.is_in_touch,
            in_touch_for_ms: status.in_touch_for_ms,
            figures: figures.unwrap_or_default(),
        }
    }

    fn figures(&self, server: &Server) -> Figures {
        let counters = server.counters();
        let verdicts: Vec<(Verdict, u64)> =
            Verdict::ALL.iter().map(|&verdict| (verdict, counters.of(verdict))).collect();
        let answers = verdicts.iter().map(|(_, number)| number).sum();
        let hits = hits(&verdicts);
        let (answers_per_second, hits_per_second) = self.rates(answers, hits);
        let memory = server.memory();
        let swept = |site: server::SiteCounts| {
            site.changes.iter().filter(|it| it.name == "sweeps").map(|it| it.number).sum::<u64>()
        };
        let swept: u64 = server.site_counts().into_iter().map(swept).sum();
        Figures {
            answers,
            hits,
            answers_per_second,
            hits_per_second,
            connections: server.connections() as u64,
            memory_bytes: memory.used_bytes,
            memory_limit_bytes: memory.limit_bytes,
            pages: memory.pages,
            sweeps: swept + counters.purges.read(),
        }
    }

    /// Of the last second, whoever asks how often.
    fn rates(&self, answers: u64, hits: u64) -> (f64, f64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = last.at.elapsed().as_secs_f64();
        if seconds >= 0.9 {
            let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            let rates = (rate(answers, last.answers), rate(hits, last.hits));
            *last = Last { at: Instant::now(), answers, hits, rates };
        }
        last.rates
    }
}

/// All nodes, this one first.
pub(super) fn nodes(node: &Node, meter: &Meter, status: &Status) -> Vec<NodeNow> {
    let reads = |name: &str| {
        let is_source = |it: &&Reading| it.source != TURN;
        let readings = status.readings.iter().filter(is_source);
        let own = readings.filter(|it| it.by.as_deref() == Some(name));
        own.map(|it| it.source.clone()).collect()
    };
    let own = NodeNow {
        node: status.node.clone(),
        is_own: true,
        is_missing: false,
        is_draining: status.is_draining,
        behind_ms: 0,
        reads: reads(&status.node),
        told: Some(meter.read(status)),
    };
    // At an upgrade there is another run of this node.
    let others = status.members.iter().filter(|member| member.node != status.node);
    let others = others.map(|member| NodeNow {
        node: member.node.clone(),
        is_own: false,
        is_missing: member.is_missing,
        is_draining: member.is_draining,
        behind_ms: member.behind_ms,
        reads: reads(&member.node),
        told: told(node, &member.node),
    });
    std::iter::once(own).chain(others).collect()
}

fn told(node: &Node, name: &str) -> Option<Told> {
    let (ago_ms, text) = node.figures_of(name)?;
    (ago_ms <= SILENT_MS).then(|| serde_json::from_str(&text).ok()).flatten()
}

impl Sum {
    pub(super) fn of(nodes: &[NodeNow]) -> Self {
        let mut sum = Self { nodes: nodes.len(), ..Self::default() };
        for node in nodes {
            let Some(told) = &node.told else {
                sum.silent += 1;
                continue;
            };
            let (all, one) = (&mut sum.figures, &told.figures);
            all.answers = all.answers.saturating_add(one.answers);
            all.hits = all.hits.saturating_add(one.hits);
            all.answers_per_second += one.answers_per_second;
            all.hits_per_second += one.hits_per_second;
            all.connections = all.connections.saturating_add(one.connections);
            all.memory_bytes = all.memory_bytes.saturating_add(one.memory_bytes);
            all.memory_limit_bytes = all.memory_limit_bytes.saturating_add(one.memory_limit_bytes);
            all.pages = all.pages.saturating_add(one.pages);
            all.sweeps = all.sweeps.saturating_add(one.sweeps);
        }
        sum
    }
}

impl Figures {
    /// The share of answers that memory gave since the start; none before the first.
    pub(super) fn hit_ratio(&self) -> Option<f64> {
        (self.answers > 0).then(|| self.hits as f64 / self.answers as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(told: Option<&str>) -> NodeNow {
        NodeNow {
            node: "n".into(),
            is_own: false,
            is_missing: told.is_none(),
            is_draining: false,
            behind_ms: 0,
            reads: Vec::new(),
            told: told.map(|text| serde_json::from_str(text).expect("it can be read")),
        }
    }

    #[test]
    fn who_is_silent_is_not_in_the_sum_and_another_version_may_say_less_or_more() {
        let told = r#"{"version":"9","answers":6,"hits":3,"hits_per_second":1.5,"moods":["good"]}"#;
        let nodes = [node(Some(told)), node(Some("{\"answers\":4}")), node(None)];
        let sum = Sum::of(&nodes);
        let expected = Figures { answers: 10, hits: 3, hits_per_second: 1.5, ..Figures::default() };
        assert_eq!(sum, Sum { nodes: 3, silent: 1, figures: expected });
        assert_eq!(sum.figures.hit_ratio(), Some(0.3));
        assert_eq!(Figures::default().hit_ratio(), None);
    }
}

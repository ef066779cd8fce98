//! `wick cluster`: how the nodes stand, and taking one off that is gone for good.

use base::amount::show_bytes;
use cluster::{DepositCounts, Member, Node, Reading, Status};
use serde::{Deserialize, Serialize};
use serde_json::json;
use server::Server;

use super::Joint;
use super::figures::{self, NodeNow, Sum};
use crate::arguments::{Cluster, ClusterCommand};
use crate::certificates::TURN;
use crate::control::ControlError;
use crate::observing::told::{self, Told};
use crate::{observing, plan};

/// What may be asked.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClusterQuestion {
    Status {},
    Forget {
        nodes: Vec<String>,
    },
    /// Nothing new is to come to this node, or it may again.
    Drain {
        ends: bool,
    },
}

/// Asks the running Wick and shows what it says.
pub(crate) fn ask(arguments: &Cluster) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let (question, as_json) = match &arguments.command {
        ClusterCommand::Status { json } => (ClusterQuestion::Status {}, *json),
        ClusterCommand::Forget { nodes } => {
            (ClusterQuestion::Forget { nodes: nodes.clone() }, false)
        }
        ClusterCommand::Drain => (ClusterQuestion::Drain { ends: false }, false),
        ClusterCommand::Join => (ClusterQuestion::Drain { ends: true }, false),
    };
    let question = observing::asking::Question::Cluster(question);
    told::show(&state, &question, as_json)
}

/// Answers a question.
pub(crate) fn tell(joint: Option<&Joint>, question: &ClusterQuestion) -> Result<Told, String> {
    let none = "this Wick is the only one: add [cluster] to wick.toml";
    let joint = joint.ok_or(none)?;
    let node = &*joint.node;
    match question {
        ClusterQuestion::Status {} => {
            let server = joint.server.upgrade();
            let pages = server.as_deref().map(Pages::of).unwrap_or_default();
            let rates = server.as_deref().map(Rates::of).unwrap_or_default();
            let now = node.status();
            let nodes = figures::nodes(node, &joint.meter, &now);
            Ok(status(now, &Shown { pages, rates, nodes }))
        }
        ClusterQuestion::Drain { ends } => Ok(drain(node, *ends)),
        ClusterQuestion::Forget { nodes } => forget(node, nodes),
    }
}

fn forget(node: &Node, nodes: &[String]) -> Result<Told, String> {
    let members = node.status().members;
    let known = |wanted: &String| members.iter().find(|member| member.node == *wanted);
    for wanted in nodes {
        match known(wanted) {
            Some(member) if member.is_missing => {}
            Some(_) => {
                return Err(format!("{wanted} is there: stop it, and it says goodbye itself"));
            }
            None => {
                let names: Vec<_> = members.iter().map(|member| member.node.as_str()).collect();
                let names = names.join(", ");
                return Err(format!("no other node is called {wanted}: there are {names}"));
            }
        }
    }
    for wanted in nodes {
        node.forget(wanted);
    }
    let line = |wanted: &String| {
        let text = "taken off: what it may have had to tell is lost, so every node asks the origin \
                    again for all that is older";
        (wanted.clone(), text.to_owned())
    };
    Ok(Told { lines: nodes.iter().map(line).collect(), told: json!({ "gone": nodes }) })
}

fn drain(node: &Node, ends: bool) -> Told {
    node.drain(!ends);
    let name = node.status().node;
    let text = match ends {
        false => {
            "draining: other nodes ask it for no pages any more, and /healthz of its admin \
             listener says 503; what comes is served until it is stopped"
        }
        true => "takes its part again: other nodes ask it for pages, and /healthz says 200",
    };
    let told = json!({ "node": name, "is_draining": !ends });
    Told { lines: vec![(name, text.to_owned())], told }
}

/// How often pages went between nodes, since the start.
#[derive(Debug, Default, Serialize)]
struct Pages {
    /// Missing pages that another node was asked for.
    asked: u64,
    /// Of these, those that came.
    came: u64,
    /// Of these, those that it had not, or that are nobody else's.
    without: u64,
    /// Of these, those that nothing was said to in time.
    silent: u64,
    /// Pages that others were given.
    given: u64,
    /// Requests that were no node's.
    refused: u64,
}

impl Pages {
    fn of(server: &Server) -> Self {
        let counters = server.counters();
        Self {
            asked: counters.fellows_asked.read(),
            came: counters.fellows_gave.read(),
            without: counters.fellows_without.read(),
            silent: counters.fellows_silent.read(),
            given: counters.fellows_given.read(),
            refused: counters.fellows_refused.read(),
        }
    }
}

/// How many requests that count for a rate nodes told each other of, since the start.
#[derive(Debug, Default, Serialize)]
struct Rates {
    /// By how many nodes rates are parted; zero: they aren't.
    nodes: u32,
    told: u64,
    heard: u64,
}

impl Rates {
    fn of(server: &Server) -> Self {
        let counters = server.counters();
        let (told, heard) = (counters.rates_told.read(), counters.rates_heard.read());
        Self { nodes: server.rate_nodes(), told, heard }
    }
}

/// What stands beside the status.
struct Shown {
    pages: Pages,
    rates: Rates,
    nodes: Vec<NodeNow>,
}

fn status(mut status: Status, Shown { pages, rates, nodes }: &Shown) -> Told {
    let ordering = ordering(&mut status);
    let status = &status;
    let mut lines = vec![
        ("node".to_owned(), format!("{} of cluster {}", status.node, status.cluster)),
        ("nats".to_owned(), status.servers.clone()),
        ("touch".to_owned(), touch(status)),
        (
            "told".to_owned(),
            format!(
                "{} by this node, {} by others; {} times something may have been missed",
                status.told, status.heard, status.missed
            ),
        ),
    ];
    if let Some(address) = status.listen {
        lines.push(("listen".to_owned(), format!("other nodes ask for pages at {address}")));
        let Pages { asked, came, without, silent, given, refused } = pages;
        let text = format!(
            "{asked} asked of other nodes: {came} came, {without} were not to be had, {silent} got \
             no answer in time; {given} given to others, {refused} strangers refused"
        );
        lines.push(("pages".to_owned(), text));
    }
    lines.push(("handed on".to_owned(), handed_on(status.deposits)));
    if rates.nodes > 1 {
        let text = format!(
            "of {} nodes together: {} requests of those who ask much told to the others, {} told by them",
            rates.nodes, rates.told, rates.heard
        );
        lines.push(("rates".to_owned(), text));
    }
    if status.is_draining {
        let text = "nothing new is to come to this node; take that back with: wick cluster join";
        lines.push(("draining".to_owned(), text.to_owned()));
    }
    if status.waiting > 0 {
        lines.push(("waiting".to_owned(), format!("{} to be told", status.waiting)));
    }
    if let Some(error) = &status.error {
        lines.push(("error".to_owned(), error.clone()));
    }
    let own = nodes.iter().filter(|node| node.is_own);
    lines.extend(own.map(|node| ("this".to_owned(), told_figures(node))));
    lines.extend(status.members.iter().map(|member| {
        let now = nodes.iter().find(|node| !node.is_own && node.node == member.node);
        let figures = now.filter(|_| !member.is_missing).map(told_figures);
        let figures = figures.map_or_else(String::new, |figures| format!("; {figures}"));
        (member.node.clone(), standing(member) + &figures)
    }));
    let reads = |reading: &Reading| ("reads".to_owned(), reads(reading, &status.node));
    lines.extend(status.readings.iter().map(reads));
    if let Some(node) = &ordering {
        let text = format!("{node} orders one at this moment");
        lines.push(("certificates".to_owned(), text));
    }
    let mut told = json!(status);
    told["pages"] = json!(pages);
    told["rates"] = json!(rates);
    told["certificates"] = json!({ "ordering": ordering });
    told["nodes"] = json!(nodes);
    told["sum"] = json!(Sum::of(nodes));
    Told { lines, told }
}

/// Who orders a certificate, which is claimed as a source is, and is none.
fn ordering(status: &mut Status) -> Option<String> {
    let turn = status.readings.iter().find(|reading| reading.source == TURN);
    let ordering = turn.and_then(|turn| turn.by.clone());
    status.readings.retain(|reading| reading.source != TURN);
    ordering
}

/// How a node is, as it told last.
fn told_figures(node: &NodeNow) -> String {
    let Some(told) = &node.told else { return "how it is isn't heard".to_owned() };
    let figures = &told.figures;
    let hits = match figures.hit_ratio() {
        Some(ratio) => format!(", {:.1} % from memory", ratio * 100.0),
        None => String::new(),
    };
    format!(
        "wick {}: {:.1} requests a second, {} since its start{hits}, {} in {} pages, {} sweeps",
        told.version,
        figures.answers_per_second,
        figures.answers,
        show_bytes(figures.memory_bytes),
        figures.pages,
        figures.sweeps,
    )
}

/// What strangers were given, for the nodes that they write to.
fn handed_on(counts: Option<DepositCounts>) -> String {
    let Some(DepositCounts { laid, found, missing, refused, lost, waiting }) = counts else {
        return "nothing: a stranger must write to the node that showed the page; add secret to \
                [cluster], the same on all nodes"
            .to_owned();
    };
    format!(
        "{laid} values and pages laid down for other nodes, {waiting} wait, {lost} lost; {found} of \
         theirs found, {missing} not there, {refused} not of this cluster or too old"
    )
}

/// Who reads a database's changes for all.
fn reads(reading: &Reading, own: &str) -> String {
    let source = &reading.source;
    let followed = match reading.is_followed {
        true => "followed",
        false => "not followed yet: its pages are fresh for seconds",
    };
    match &reading.by {
        Some(node) if node == own => format!("{source}: by this node, {followed}"),
        Some(node) => format!("{source}: by {node}, {followed}"),
        None => format!("{source}: by nobody yet; its pages are fresh for seconds"),
    }
}

fn touch(status: &Status) -> String {
    let lag = status.lag_ms;
    match (status.is_in_touch, status.in_touch_for_ms) {
        (true, left) => {
            format!("in touch, for {left} ms more if nothing is heard (lag limit {lag} ms)")
        }
        (false, _) => format!("out of touch: what is older than {lag} ms is asked for again"),
    }
}

fn standing(member: &Member) -> String {
    let behind = member.behind_ms;
    match member.is_missing {
        true => format!(
            "missing for {behind} ms, without a goodbye; if it is gone for good: wick cluster \
             forget {}",
            member.node
        ),
        false => {
            let pages = match (member.listen, member.is_draining) {
                (_, true) => "; it is draining".to_owned(),
                (Some(address), false) => format!("; asked for pages at {address}"),
                (None, false) => String::new(),
            };
            format!("there; all that it had to tell {behind} ms ago is heard{pages}")
        }
    }
}

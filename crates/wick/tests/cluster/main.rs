//! Several Wicks before one site, with real NATS servers: what one of them makes old is old on
//! all, whatever fails in between.

mod board;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
#[path = "../../../changes/tests/mariadb/server.rs"]
#[allow(dead_code, reason = "the tests of feeds need more of it")]
mod database;
mod finding;
mod followed;
mod moving;
#[allow(dead_code, reason = "the tests of certificates ask more of it")]
mod nats;
mod noise;
#[path = "../command_line/origin.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the command line")]
mod origin;
mod php;
#[path = "../../../changes/tests/postgres/server.rs"]
#[allow(dead_code, reason = "shared with the tests of the feed")]
mod postgres_server;
mod rates;
mod reading;
#[path = "../command_line/serving.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the command line")]
mod serving;
mod shield;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "it is shared with the tests of the command line")]
mod wick;

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use board::{Edits, LAG, Node, Origin, until_in_touch};
use nats::Nats;
use wick::{Wick, until};

struct Cluster {
    nodes: Vec<Node>,
    origin: Origin,
    nats: Nats,
}

/// Nodes that are in touch, before an origin; none where there is no NATS.
fn cluster(nodes: usize, servers: usize) -> Option<Cluster> {
    let nats = Nats::start(servers)?;
    let origin = Origin::start();
    let nodes: Vec<_> =
        (0..nodes).map(|at| Node::start(&format!("n{at}"), &origin, &nats)).collect();
    until_in_touch(&nodes);
    Some(Cluster { nodes, origin, nats })
}

/// Each node has the page in memory.
fn warm(nodes: &[Node]) {
    for node in nodes {
        until("the page is kept", || node.get().is_hit());
    }
}

#[test]
fn what_one_node_is_told_is_old_on_all() {
    let Some(Cluster { nodes, origin, nats: _nats }) = cluster(3, 1) else { return };
    let mut edits = Edits::default();
    let ways = [
        ("PURGE /page\nHost: board.test", "an address"),
        ("PURGEKEYS /\nHost: board.test\nxkey-purge: page", "a tag"),
    ];
    for (request, what) in ways {
        warm(&nodes);
        let version = origin.change();
        let told = nodes[0].purge(request);
        assert!(told.starts_with("HTTP/1.1 200"), "{what}: {told}");
        edits.note(version);
        // It is there long before the lag limit; that much is left to the machine.
        for node in &nodes {
            until(what, || edits.look(node, what).version == version);
        }
    }
    warm(&nodes);
    let version = nodes[1].edit();
    edits.note(version);
    for node in &nodes {
        until("a write", || edits.look(node, "a write").version == version);
    }
    warm(&nodes);
    let asked = origin.asked.load(Ordering::SeqCst);
    sleep(2 * LAG);
    assert!(nodes.iter().all(|node| node.get().is_hit()), "in touch pages stay fresh");
    assert_eq!(origin.asked.load(Ordering::SeqCst), asked);
}

#[test]
fn a_node_that_sleeps_shows_nothing_old_when_it_wakes() {
    let Some(Cluster { nodes, nats: _nats, .. }) = cluster(2, 1) else { return };
    warm(&nodes);
    let mut edits = Edits::default();
    nodes[1].signal(Signal::STOP);
    edits.note(nodes[0].edit());
    sleep(LAG + Duration::from_millis(50));
    nodes[1].signal(Signal::CONT);
    // The very first request after it, before anything could be heard.
    edits.look(&nodes[1], "waking");
    until_in_touch(&nodes);
    warm(&nodes);
}

#[test]
fn a_node_that_is_cut_off_falls_back_and_is_waited_for() {
    let Some(Cluster { nodes, nats: _nats, .. }) = cluster(3, 1) else { return };
    warm(&nodes);
    let mut edits = Edits::default();
    nodes[2].wires.iter().for_each(nats::Wire::cut);
    // It can tell nobody: its answer waits until nobody relies on it.
    edits.note(nodes[2].edit());
    for node in &nodes {
        edits.look(node, "at once");
    }
    sleep(LAG + Duration::from_millis(20));
    for node in &nodes {
        edits.look(node, "a lag limit later");
    }
    assert!(nodes.iter().all(|node| !node.is_in_touch()));
    edits.note(nodes[0].edit());
    sleep(LAG + Duration::from_millis(20));
    edits.look(&nodes[2], "cut off");
    nodes[2].wires.iter().for_each(nats::Wire::mend);
    until_in_touch(&nodes);
    nodes.iter().for_each(|node| drop(edits.look(node, "mended")));
    warm(&nodes);
}

#[test]
fn out_of_touch_nobody_is_given_what_was_asked_for_too_long_before() {
    let Some(Cluster { nodes, origin, nats: _nats }) = cluster(2, 1) else { return };
    nodes[1].wires.iter().for_each(nats::Wire::cut);
    until("it is out of touch", || !nodes[1].is_in_touch());
    std::thread::scope(|scope| {
        let before = origin.asked.load(Ordering::SeqCst);
        let address = nodes[1].address;
        let early = scope.spawn(move || board::get(address, "/slow").version);
        until("the origin is asked", || origin.asked.load(Ordering::SeqCst) > before);
        let version = nodes[0].edit();
        sleep(LAG + Duration::from_millis(20));
        // The first one's fetch is still under way.
        assert_eq!(board::get(address, "/slow").version, version);
        assert_eq!(early.join().expect("no panic"), version - 1);
    });
}

#[test]
fn a_node_that_dies_is_waited_for_until_it_is_back_or_taken_off() {
    let Some(Cluster { mut nodes, nats: _nats, .. }) = cluster(3, 1) else { return };
    warm(&nodes);
    nodes[2].kill();
    let misses = |node: &Node| {
        let members = node.status()["members"].clone();
        members.as_array().is_some_and(|all| all.iter().any(|one| one["is_missing"] == true))
    };
    until("the others notice", || misses(&nodes[0]) && misses(&nodes[1]));
    assert!(!nodes[0].is_in_touch() && !nodes[1].is_in_touch());
    let refused = Wick::run(&["cluster", "forget", "n1", "--state", &nodes[0].state()]).end();
    assert!(refused.told().contains("n1 is there"), "{}", refused.told());
    let unknown = Wick::run(&["cluster", "forget", "x", "--state", &nodes[0].state()]).end();
    assert!(unknown.told().contains("no other node is called x"), "{}", unknown.told());
    nodes[2].begin();
    until_in_touch(&nodes);
    nodes[2].kill();
    until("the others notice", || misses(&nodes[0]));
    let taken_off = Wick::run(&["cluster", "forget", "n2", "--state", &nodes[0].state()]).end();
    assert!(taken_off.status.success(), "{}", taken_off.told());
    until_in_touch(&nodes);
    warm(&nodes[..2]);
}

#[test]
fn which_cookies_are_the_apps_all_nodes_know_and_who_comes_later() {
    let Some(Cluster { nodes, origin, nats }) = cluster(2, 1) else { return };
    let knows = |node: &Node| {
        let url = format!("http://{}/page", node.address);
        let told = Wick::run(&["explain", &url, "--state", &node.state()]).end().output;
        told.lines().any(|line| line.starts_with("cookies") && line.contains("sid"))
    };
    assert!(!nodes.iter().any(knows));
    board::get(nodes[0].address, "/login");
    until("both nodes know", || nodes.iter().all(knows));
    let late = Node::start("n2", &origin, &nats);
    until("who comes later knows", || knows(&late));
}

#[test]
fn what_one_node_refuses_to_share_no_other_tries_nor_who_comes_later() {
    let Some(Cluster { nodes, origin, nats }) = cluster(2, 1) else { return };
    let refused = |node: &Node| {
        let url = format!("http://{}/account/8", node.address);
        let told = Wick::run(&["explain", &url, "--state", &node.state()]).end().output;
        told.lines().any(|line| line.starts_with("sharing") && line.contains("another node found"))
    };
    assert!(!nodes.iter().any(refused));
    board::look(nodes[0].address, "/account/7");
    until("the other node knows", || refused(&nodes[1]));
    assert!(!refused(&nodes[0]), "it has found it itself");
    let late = Node::start("n2", &origin, &nats);
    until("who comes later knows", || refused(&late));
}

#[test]
fn who_says_goodbye_is_not_waited_for() {
    let Some(Cluster { mut nodes, origin, nats: _nats }) = cluster(2, 1) else { return };
    warm(&nodes);
    let errors = nodes[1].stop();
    assert_eq!(errors, "", "it goes without a complaint");
    let asked = origin.asked.load(Ordering::SeqCst);
    sleep(2 * LAG);
    assert!(nodes[0].get().is_hit(), "nothing was missed");
    assert_eq!(origin.asked.load(Ordering::SeqCst), asked);
    assert_eq!(nodes[0].status()["members"], serde_json::json!([]));
}

#[test]
fn an_upgrade_makes_nothing_old() {
    let Some(Cluster { nodes, origin, nats: _nats }) = cluster(2, 1) else { return };
    warm(&nodes);
    let asked = origin.asked.load(Ordering::SeqCst);
    let missed = nodes[0].status()["missed"].clone();
    let serving = serving::upgrade(&nodes[1].state());
    until("one run is left", || {
        nodes[0].status()["members"].as_array().is_some_and(|members| members.len() == 1)
    });
    until("the other one is in touch", || nodes[0].is_in_touch());
    assert!(nodes[0].get().is_hit());
    assert_eq!(nodes[0].status()["missed"], missed);
    assert_eq!(origin.asked.load(Ordering::SeqCst), asked);
    let mut edits = Edits::default();
    warm(&nodes);
    edits.note(nodes[1].edit());
    until("the successor is heard", || edits.look(&nodes[0], "upgraded").version == 1);
    serving::end(serving);
}

#[test]
fn without_nats_pages_are_good_for_the_lag_limit_and_with_it_again_for_long() {
    let Some(Cluster { nodes, mut nats, .. }) = cluster(2, 1) else { return };
    warm(&nodes);
    let mut edits = Edits::default();
    nats.kill(0);
    edits.note(nodes[0].edit());
    sleep(LAG + Duration::from_millis(20));
    edits.look(&nodes[1], "without NATS");
    assert!(!nodes[1].is_in_touch());
    // What is new is still shared, for a lag limit.
    nodes[1].get();
    nats.begin(0);
    until_in_touch(&nodes);
    warm(&nodes);
}

#[test]
fn what_cannot_be_is_told() {
    let check = |cluster: &str, expected: &str| {
        let folder = tempfile::TempDir::new().expect("a folder");
        let file = folder.path().join("wick.toml");
        let text = format!("[[site]]\norigin = \"http://127.0.0.1:9\"\n[cluster]\n{cluster}\n");
        std::fs::write(&file, text).expect("settings can be written");
        let ended = Wick::run(&["serve", "--config", &file.display().to_string()]).end();
        assert!(ended.told().contains(expected), "{cluster}: {}", ended.told());
        assert!(!ended.told().contains("hunter2"), "a password is shown: {}", ended.told());
    };
    check("", "in [cluster]: no address of a NATS server");
    check("nats = \"nats://me:hunter2@:x\"", "address 1 of the NATS servers can't be read");
    check("nats = \"a.test\"\nlag = \"10ms\"", "a lag limit is between 200ms and 60s");
    check("nats = \"a.test\"\nnode = \"a b\"", "\"a b\" is no name of a node");
    check("nats = \"a.test\"\nnoed = \"a\"", "node");
    let listen = |more: &str| format!("nats = \"a.test\"\nlisten = {more}");
    check(&listen("\"10.0.0.5:7070\""), "can be reached from other machines: add secret = ");
    check(&listen("\"0.0.0.0:7070\""), "is no address at which other nodes could ask this one");
    check(&listen("\"127.0.0.1:0\""), "is no address at which other nodes could ask this one");
    check(&listen("\"127.0.0.1:7070\"\nsecret = \"hunter2\""), "shorter than 16 characters");
    let both = "\"127.0.0.1:7070\"\nsecret = \"a\"\nsecret_file = \"b\"";
    check(&listen(both), "take one of them out");
    let file = "\"10.0.0.5:7070\"\nsecret_file = \"/nowhere/at-all\"";
    check(&listen(file), "name a file that this user may read");
}

/// Everything at once, by a seed: `SEED=7`, `STEPS=400`.
#[test]
fn whatever_fails_no_node_shows_what_is_older_than_the_lag_limit() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (seed, steps) = (number("SEED", 1), number("STEPS", 60));
    let Some(mut cluster) = cluster(3, 3) else { return };
    let mut dice = Dice(seed);
    let mut edits = Edits::default();
    let mut faults = std::collections::BTreeMap::<&str, u64>::new();
    for step in 0..steps {
        let when = format!("seed {seed}, step {step}");
        let at = dice.below(3);
        if dice.below(3) == 0 {
            let fault = fault(&mut cluster, &mut dice);
            *faults.entry(fault).or_default() += 1;
        }
        if cluster.nodes[at].is_running() && dice.below(2) == 0 {
            edits.note(cluster.nodes[at].edit());
        }
        for _ in 0..4 {
            sleep(Duration::from_millis(dice.below(120) as u64));
            for node in cluster.nodes.iter().filter(|node| node.is_running()) {
                edits.look(node, &when);
            }
        }
    }
    mend(&mut cluster);
    until_in_touch(&cluster.nodes);
    warm(&cluster.nodes);
    for node in &cluster.nodes {
        edits.look(node, "in the end");
    }
    println!("faults of seed {seed}, {steps} steps, none of which showed an old page:");
    faults.iter().for_each(|(fault, count)| println!("  {count:>4}  {fault}"));
    assert!(faults.len() > 3, "{faults:?}");
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % below
    }
}

fn fault(Cluster { nodes, nats, .. }: &mut Cluster, dice: &mut Dice) -> &'static str {
    let (at, server) = (dice.below(3), dice.below(3));
    match dice.below(7) {
        0 => {
            nodes[at].wires.iter().for_each(nats::Wire::cut);
            "a node is cut off"
        }
        1 => {
            nodes[at].wires.iter().for_each(|wire| wire.slow(Duration::from_millis(80)));
            "a node's wires are slow"
        }
        2 | 3 => {
            nodes[at].wires.iter().for_each(nats::Wire::mend);
            "a node's wires are mended"
        }
        4 if nodes[at].is_running() => {
            nodes[at].kill();
            "a node dies"
        }
        4 => {
            nodes[at].begin();
            "a node comes back"
        }
        5 if nodes[at].is_running() => {
            nodes[at].signal(Signal::STOP);
            sleep(LAG * 2);
            nodes[at].signal(Signal::CONT);
            "a node is paused"
        }
        _ => {
            nats.kill(server);
            nats.begin(server);
            "a NATS server is killed and comes back"
        }
    }
}

fn mend(Cluster { nodes, nats: _nats, .. }: &mut Cluster) {
    for node in nodes {
        node.wires.iter().for_each(nats::Wire::mend);
        if !node.is_running() {
            node.begin();
        }
    }
}

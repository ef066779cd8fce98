//! One node reads a database's log, and all obey: with a real MariaDB.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::board::{Edits, LAG, Node, Origin, until_in_touch};
use crate::database::{PASSWORD, Server};
use crate::nats::Nats;
use crate::warm;
use crate::wick::{Wick, until};

const LOGGED: &[&str] = &[
    "--log-bin=log",
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
];

/// How long a database may take to tell its log's reader, on a machine that is busy.
const FEED: Duration = Duration::from_secs(1);

struct Site {
    nodes: Vec<Node>,
    origin: Origin,
    database: Server,
    _nats: Nats,
}

impl Site {
    /// Nodes that all follow the site's database; none where there is no NATS or no MariaDB.
    fn start(count: usize) -> Option<Self> {
        let nats = Nats::start(1)?;
        let database = Server::start(LOGGED)?;
        database.ask("CREATE TABLE site.posts (id INT PRIMARY KEY, title TEXT)");
        database.ask("INSERT INTO site.posts VALUES (1, 'first')");
        let password = PASSWORD.replace(':', "%3A").replace('@', "%40");
        let socket = database.socket().display().to_string();
        let changes =
            format!("changes = \"mysql://wick:{password}@localhost/site?socket={socket}\"\n");
        let origin = Origin::start();
        let node = |at| Node::start_also(&format!("n{at}"), &origin, &nats, &changes);
        let nodes: Vec<_> = (0..count).map(node).collect();
        until_in_touch(&nodes);
        Some(Self { nodes, origin, database, _nats: nats })
    }

    /// Connections that read the log.
    fn dumps(&self) -> usize {
        let ask = "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                   WHERE COMMAND LIKE 'Binlog Dump%'";
        self.database.ask(ask).parse().expect("a count")
    }

    /// Changes what pages show, and tells it to nobody but the database.
    fn edit(&self) -> u64 {
        let version = self.origin.change();
        self.database.ask(&format!("UPDATE site.posts SET title = 'v{version}' WHERE id = 1"));
        version
    }

    /// Which node reads, as all that run say; none while they don't agree, or it doesn't follow.
    fn reader(&self) -> Option<usize> {
        let running = self.nodes.iter().filter(|node| node.is_running());
        let told: Vec<_> = running.map(reader).collect();
        let first = told.first()?.clone()?;
        told.iter().all(|one| one.as_ref() == Some(&first)).then_some(())?;
        self.nodes.iter().position(|node| node.name == first)
    }

    fn until_read(&self) -> usize {
        until("one node reads, as all know", || self.reader().is_some());
        self.reader().expect("they agree")
    }

    /// An edit that only the database knows of is seen on all nodes that run.
    fn until_edit_is_seen(&self) {
        until_in_touch(&self.nodes);
        let running = || self.nodes.iter().filter(|node| node.is_running());
        running().for_each(|node| until("the page is kept", || node.get().is_hit()));
        let version = self.edit();
        for node in running() {
            until("an edit is seen", || node.get().version == version);
        }
    }
}

fn reader(node: &Node) -> Option<String> {
    let status = node.status();
    let reading = status["readings"].as_array()?.first()?;
    (reading["is_followed"] == true).then(|| reading["by"].as_str().map(str::to_owned))?
}

#[test]
fn one_node_reads_the_log_and_all_obey() {
    let Some(site) = Site::start(3) else { return };
    site.until_read();
    until("one connection reads the log", || site.dumps() == 1);
    for _ in 0..3 {
        site.until_edit_is_seen();
    }
    warm(&site.nodes);
    assert_eq!(site.dumps(), 1);
    let told = Wick::run(&["cluster", "status", "--state", &site.nodes[0].state()]).end().output;
    assert!(told.contains("reads") && told.contains("any-host mysql-"), "{told}");
    assert!(!told.contains("wick-p4ss"), "{told}");
}

#[test]
fn a_database_that_dies_is_read_again_and_a_reload_takes_nothing_away() {
    let Some(mut site) = Site::start(2) else { return };
    let reader = site.until_read();
    site.database.kill();
    until("nobody takes it for followed", || {
        site.nodes.iter().all(|node| node.status()["readings"][0]["is_followed"] == false)
    });
    site.database.again();
    site.until_read();
    site.until_edit_is_seen();

    let epoch = |node: &Node| node.status()["readings"][0]["epoch"].as_u64();
    let before = epoch(&site.nodes[reader]);
    site.nodes[reader].reload_with("changes_fresh = \"1h\"\n");
    site.until_edit_is_seen();
    site.until_read();
    until("one connection reads the log", || site.dumps() == 1);
    assert!(epoch(&site.nodes[reader]) >= before);
}

#[test]
fn another_node_reads_when_the_reader_sleeps_or_dies() {
    let Some(mut site) = Site::start(3) else { return };
    let sleeper = site.until_read();
    site.until_edit_is_seen();
    warm(&site.nodes);
    let mut edits = Edits::default();
    site.nodes[sleeper].signal(Signal::STOP);
    edits.note(site.edit());
    sleep(LAG + FEED);
    let awake = || site.nodes.iter().enumerate().filter(|(at, _)| *at != sleeper);
    awake().for_each(|(_, node)| drop(edits.look(node, "its reader sleeps")));
    until("another reads", || {
        awake().all(|(_, node)| reader(node).is_some_and(|by| by != site.nodes[sleeper].name))
    });
    edits.note(site.edit());
    sleep(LAG + FEED);
    site.nodes[sleeper].signal(Signal::CONT);
    // The very first request after it, when it takes itself for the reader.
    edits.look(&site.nodes[sleeper], "waking");
    let second = site.until_read();
    assert_ne!(second, sleeper, "the lower epoch is dropped");
    until("one connection reads the log", || site.dumps() == 1);
    site.until_edit_is_seen();

    site.nodes[second].kill();
    edits.note(site.edit());
    sleep(LAG + FEED);
    for node in site.nodes.iter().filter(|node| node.is_running()) {
        edits.look(node, "its reader is dead");
    }
    let third = site.until_read();
    assert_ne!(third, second);
    let (name, state) = (site.nodes[second].name.clone(), site.nodes[third].state());
    let gone = Wick::run(&["cluster", "forget", &name, "--state", &state]).end();
    assert!(gone.status.success(), "{}", gone.told());
    site.until_edit_is_seen();
    assert_eq!(site.dumps(), 1);
}

//! One node reads a database's log, and all obey: with a real MariaDB, and a real PostgreSQL.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::board::{Edits, LAG, Node, Origin, until_in_touch};
use crate::database::{PASSWORD, Server};
use crate::nats::Nats;
use crate::postgres_server::{self, LOGICAL};
use crate::warm;
use crate::wick::{Wick, until};

pub(crate) const LOGGED: &[&str] = &[
    "--log-bin=log",
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
];

/// How long a database may take to tell its log's reader, on a machine that is busy.
pub(crate) const FEED: Duration = Duration::from_secs(1);

enum Database {
    MariaDb(Server),
    Postgres(postgres_server::Server),
}

impl Database {
    fn mariadb() -> Option<Self> {
        let server = Server::start(LOGGED)?;
        server.ask("CREATE TABLE site.posts (id INT PRIMARY KEY, title TEXT)");
        server.ask("INSERT INTO site.posts VALUES (1, 'first')");
        Some(Self::MariaDb(server))
    }

    fn postgres() -> Option<Self> {
        let server = postgres_server::Server::start(LOGICAL)?;
        server.ask("CREATE TABLE posts (id int PRIMARY KEY, title text)");
        server.ask("INSERT INTO posts VALUES (1, 'first')");
        Some(Self::Postgres(server))
    }

    /// As `changes` names it.
    fn address(&self) -> String {
        let (scheme, socket) = match self {
            Self::MariaDb(server) => ("mysql", server.socket().display().to_string()),
            Self::Postgres(server) => ("postgres", server.folder().display().to_string()),
        };
        let password = PASSWORD.replace(':', "%3A").replace('@', "%40");
        format!("{scheme}://wick:{password}@localhost/site?socket={socket}")
    }

    fn update(&self, title: &str) {
        let set = format!("SET title = '{title}' WHERE id = 1");
        match self {
            Self::MariaDb(server) => drop(server.ask(&format!("UPDATE site.posts {set}"))),
            Self::Postgres(server) => drop(server.ask(&format!("UPDATE posts {set}"))),
        }
    }

    /// Connections that read the log.
    fn readers(&self) -> usize {
        let told = match self {
            Self::MariaDb(server) => server.ask(
                "SELECT COUNT(*) FROM information_schema.PROCESSLIST \
                 WHERE COMMAND LIKE 'Binlog Dump%'",
            ),
            // Slots are temporary, and go with their connections.
            Self::Postgres(server) => {
                server.administer_site("SELECT count(*) FROM pg_replication_slots")
            }
        };
        told.parse().expect("a count")
    }

    fn kill(&mut self) {
        match self {
            Self::MariaDb(server) => server.kill(),
            Self::Postgres(server) => server.kill(),
        }
    }

    fn again(&mut self) {
        match self {
            Self::MariaDb(server) => server.again(),
            Self::Postgres(server) => server.again(),
        }
    }
}

pub(crate) struct Site {
    pub(crate) nodes: Vec<Node>,
    pub(crate) origin: Origin,
    database: Database,
    _nats: Nats,
}

impl Site {
    /// Nodes that all follow the site's database; none where there is no NATS or no MariaDB.
    fn start(count: usize) -> Option<Self> {
        Self::start_with(count, Database::mariadb)
    }

    fn start_with(count: usize, database: fn() -> Option<Database>) -> Option<Self> {
        Self::start_as(database, &vec![(true, String::new()); count])
    }

    /// Nodes before one MariaDB: whether each follows it, and more settings of its `[cluster]`.
    pub(crate) fn start_each(nodes: &[(bool, String)]) -> Option<Self> {
        Self::start_as(Database::mariadb, nodes)
    }

    fn start_as(database: fn() -> Option<Database>, nodes: &[(bool, String)]) -> Option<Self> {
        let nats = Nats::start(1)?;
        let database = database()?;
        let changes = format!("changes = {:?}\n", database.address());
        let origin = Origin::start();
        let node = |(at, (follows, more)): (usize, &(bool, String))| {
            let changes = if *follows { &*changes } else { "" };
            let site = format!("origin = \"http://{}\"\n{changes}", origin.address);
            Node::start_as(&format!("n{at}"), &site, &nats, more)
        };
        let nodes: Vec<_> = nodes.iter().enumerate().map(node).collect();
        until_in_touch(&nodes);
        Some(Self { nodes, origin, database, _nats: nats })
    }

    /// Changes what pages show, and tells it to nobody but the database.
    pub(crate) fn edit(&self) -> u64 {
        let version = self.origin.change();
        self.database.update(&format!("v{version}"));
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

    pub(crate) fn until_read(&self) -> usize {
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
    until("one connection reads the log", || site.database.readers() == 1);
    for _ in 0..3 {
        site.until_edit_is_seen();
    }
    warm(&site.nodes);
    assert_eq!(site.database.readers(), 1);
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
    until("one connection reads the log", || site.database.readers() == 1);
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
    until("one connection reads the log", || site.database.readers() == 1);
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
    assert_eq!(site.database.readers(), 1);
}

#[test]
fn a_postgresql_is_read_by_one_node_and_by_another_after_its_death() {
    let Some(mut site) = Site::start_with(3, Database::postgres) else { return };
    let first = site.until_read();
    until("one connection reads the log", || site.database.readers() == 1);
    (0..3).for_each(|_| site.until_edit_is_seen());
    let told = Wick::run(&["cluster", "status", "--state", &site.nodes[0].state()]).end().output;
    assert!(told.contains("reads") && !told.contains("wick-p4ss"), "{told}");

    site.nodes[first].kill();
    let mut edits = Edits::default();
    edits.note(site.edit());
    sleep(LAG + FEED);
    for node in site.nodes.iter().filter(|node| node.is_running()) {
        edits.look(node, "its reader is dead");
    }
    let second = site.until_read();
    assert_ne!(second, first);
    let (name, state) = (site.nodes[first].name.clone(), site.nodes[second].state());
    let gone = Wick::run(&["cluster", "forget", &name, "--state", &state]).end();
    assert!(gone.status.success(), "{}", gone.told());
    site.until_edit_is_seen();
    until("no slot of the dead one is left", || site.database.readers() == 1);

    site.database.kill();
    until("nobody takes it for followed", || {
        let mut running = site.nodes.iter().filter(|node| node.is_running());
        running.all(|node| node.status()["readings"][0]["is_followed"] == false)
    });
    site.database.again();
    site.until_read();
    site.until_edit_is_seen();
    until("one connection reads the log", || site.database.readers() == 1);
}

//! Several trackers, one ledger: clients go from one to the other, trackers die with what they
//! haven't written and come back with it, and the database is cut off in between. In the end what
//! stands there is what clients did, to the byte.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use base::Clock;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tracker::books::{Dialect, NODES, POINTS, Place, Shared, Step, Writer};
use tracker::{Mode, Rules, Tracker};
use wire::tracker::{Announce, Event, PeerId, Peers};

use crate::cut::{Door, Way};
use crate::game::{die_after, seeds};
use crate::kills::{address, answer};
use crate::ledger::{TORRENTS, USERS};
use crate::opened::{announce_of, loaded, opened};
use crate::sites::{Site, TORRENTPIER, UNIT3D, WICK, XBT, sums};
use crate::{mariadb, postgres};

const STEPS: usize = 400;
const CLIENTS: usize = 24;
const START_MS: u64 = 1_800_000_000_000;
/// How far the nodes' clocks are ahead.
const AHEAD_SECONDS: [u64; 3] = [0, 2, 4];
/// So long a client waits after it began or ended: clocks must tell that.
const EDGE_SECONDS: u64 = 10;

/// A client of a user at a torrent.
struct Client {
    user: u32,
    torrent: u32,
    number: u32,
    /// Since it began.
    uploaded: u64,
    downloaded: u64,
    is_there: bool,
    is_complete: bool,
    /// Unix seconds.
    not_before: u64,
}

/// A node: its clock, its folder, and what runs there.
struct Node {
    clock: Clock,
    folder: tempfile::TempDir,
    running: Option<(Arc<Tracker>, Writer)>,
}

/// Bytes sent and taken, and times completed, by user and torrent.
type Did = BTreeMap<(u32, u32), [u64; 3]>;

struct Nodes {
    nodes: Vec<Node>,
    clients: Vec<Client>,
    did: Did,
    dice: StdRng,
    site: &'static Site,
    place: Place,
    status: Shared,
    /// Whether there is one yet, and no ledger of several.
    is_alone: bool,
}

impl Nodes {
    fn new(site: &'static Site, place: Place, seed: u64) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        let node = |ahead: &u64| Node {
            clock: Clock::manual(START_MS + ahead * 1000),
            folder: tempfile::tempdir().expect("a folder"),
            running: None,
        };
        let clients = (0..CLIENTS as u32).map(|number| Client {
            user: dice.random_range(1..=USERS),
            torrent: dice.random_range(1..=TORRENTS),
            number,
            uploaded: 0,
            downloaded: 0,
            is_there: false,
            is_complete: false,
            not_before: 0,
        });
        let clients = clients.collect();
        let nodes = AHEAD_SECONDS.iter().map(node).collect();
        let (did, status, is_alone) = (Did::new(), Shared::default(), false);
        Self { nodes, clients, did, dice, site, place, status, is_alone }
    }

    async fn start(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let name = (!self.is_alone).then(|| format!("node{at}"));
        let rules = Rules { mode: Mode::Private, gap_seconds: 0, node: name, ..Rules::default() };
        let state: &Path = node.folder.path();
        let tracker = opened(state, &rules, &node.clock).await;
        let (place, status) = (self.place.clone(), self.status.clone());
        let writer = loaded(&tracker, place, self.site.contract, &node.clock, status).await;
        node.running = Some((tracker, writer));
    }

    fn wait(&self, seconds: u64) {
        self.nodes.iter().for_each(|node| node.clock.advance_ms(seconds * 1000));
    }

    fn now(&self) -> u64 {
        self.nodes[0].clock.now().unix_seconds()
    }

    /// Some client tells some node that is there what it did.
    fn announce(&mut self) {
        let up: Vec<usize> = (0..3).filter(|&at| self.nodes[at].running.is_some()).collect();
        let Some(&at) = up.get(self.dice.random_range(0..up.len().max(1))) else { return };
        let who = self.dice.random_range(0..CLIENTS);
        let now = self.now();
        if now < self.clients[who].not_before {
            return;
        }
        let dice = &mut self.dice;
        let client = &mut self.clients[who];
        let (mut event, mut more) = (Event::Update, [0; 3]);
        if client.is_there {
            more = [dice.random_range(0..1 << 30), 0, 0];
            if !client.is_complete {
                more[1] = dice.random_range(1..1 << 30);
                client.is_complete = dice.random_bool(0.2);
                more[2] = u64::from(client.is_complete);
            }
            if dice.random_bool(0.15) {
                event = Event::Stopped;
            }
        } else {
            // The same client once more, after a pause.
            (client.uploaded, client.downloaded, event) = (0, 0, Event::Started);
        }
        client.uploaded += more[0];
        client.downloaded += more[1];
        client.is_there = event != Event::Stopped;
        client.not_before = now + if event == Event::Update { 1 } else { EDGE_SECONDS };
        let told = announce(client, event);
        let did = self.did.entry((client.user, client.torrent)).or_default();
        did.iter_mut().zip(more).for_each(|(did, more)| *did += more);
        let node = &self.nodes[at];
        let (tracker, _) = node.running.as_ref().expect("it is there");
        let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, client.number as u8));
        tracker
            .announce(&told, from, node.clock.now(), &mut Peers::default())
            .expect("nobody is refused");
        tracker.flush_journal().expect("it is in the journal");
    }

    /// Whoever is there writes all it has, if it can.
    async fn write(&mut self, at: usize) {
        let Some((_, writer)) = &mut self.nodes[at].running else { return };
        while let Step::Written(_) = writer.step().await {}
    }

    async fn step(&mut self, door: Option<&Door>) {
        let seconds = self.dice.random_range(1..60);
        self.wait(seconds);
        for _ in 0..self.dice.random_range(0..6) {
            self.announce();
        }
        let at = self.dice.random_range(0..3);
        match self.dice.random_range(0..10) {
            // It dies, as it writes or not, and comes back some time.
            0 => {
                if let Some((tracker, mut writer)) = self.nodes[at].running.take() {
                    let waits = self.dice.random_range(0..40);
                    die_after(waits, writer.step()).await;
                    drop((writer, tracker));
                }
            }
            1 | 2 if self.nodes[at].running.is_none() => self.start(at).await,
            3 => {
                if let Some((tracker, _)) = &self.nodes[at].running {
                    tracker.checkpoint(self.nodes[at].clock.now()).expect("state");
                }
            }
            4 | 5 => {
                if let Some(door) = door {
                    match self.dice.random_range(0..3) {
                        0 => door.cut(Way::There, self.dice.random_range(0..6_000)),
                        1 => door.cut(Way::Back, self.dice.random_range(0..2_000)),
                        _ => door.cut_after_commit(self.dice.random_range(0..11)),
                    }
                }
                self.write(at).await;
                door.map(Door::open);
            }
            6 | 7 => self.write(at).await,
            _ => {}
        }
    }

    /// One tracker is there for a while, and dies with what it hasn't written.
    async fn play_alone(&mut self) {
        self.is_alone = true;
        self.start(0).await;
        for _ in 0..20 {
            let seconds = self.dice.random_range(1..60);
            self.wait(seconds);
            (0..10).for_each(|_| self.announce());
            if self.dice.random_bool(0.2) {
                self.write(0).await;
            }
        }
        self.nodes[0].running = None;
        self.is_alone = false;
    }

    async fn play(&mut self, door: Option<&Door>) {
        self.play_alone().await;
        for at in 0..3 {
            self.start(at).await;
        }
        for _ in 0..STEPS {
            self.step(door).await;
        }
        for at in 0..3 {
            if self.nodes[at].running.is_none() {
                self.start(at).await;
            }
            self.settle(at).await;
        }
    }

    /// All of a node is written, after what was cut last was found out. What came after a round
    /// began is in the next.
    async fn settle(&mut self, at: usize) {
        let (_, writer) = self.nodes[at].running.as_mut().expect("it is there");
        let (mut attempts, mut rounds) = (0, 0);
        while rounds < 2 {
            rounds += u32::from(writer.step().await == Step::Idle);
            attempts += 1;
            assert!(attempts < 100, "it isn't written: {:?}", self.status.read());
        }
    }

    /// What stands there is what clients did.
    fn check(&self, ask: impl Fn(&str) -> String, seed: u64) {
        let site = self.site;
        if !site.credits.is_empty() {
            let found = sums(&ask(site.credits), 2);
            let owed = self.did.iter().map(|((user, torrent), did)| {
                // As they are worth, as told, and times completed; as many as the site keeps.
                let all = vec![did[0], did[1], did[0], did[1], did[2]];
                (vec![*user, *torrent], all)
            });
            compare(found, owed.collect(), site.contract, seed);
        }
        let mut users: BTreeMap<Vec<u32>, Vec<u64>> = BTreeMap::new();
        for ((user, _), did) in &self.did {
            let sums = users.entry(vec![*user]).or_insert_with(|| vec![0, 0]);
            sums.iter_mut().zip(did).for_each(|(sum, did)| *sum += did);
        }
        compare(sums(&ask(site.users), 1), users, site.contract, seed);
        let status = self.status.read();
        let refused = (status.rows_refused, status.rows_without_owner, status.announces_too_late);
        assert_eq!(refused, (0, 0, 0), "{status:?}");
    }

    /// Nothing is kept that nobody needs: a session has few announces there once all have told.
    async fn check_room(&mut self, ask: impl Fn(&str) -> String) {
        for _ in 0..40 {
            self.wait(30);
            (0..CLIENTS).for_each(|_| self.announce());
            for at in 0..3 {
                self.settle(at).await;
            }
        }
        let most = ask(&format!(
            "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM {POINTS} GROUP BY user_id, torrent_id, \
             peer_id) AS t"
        ));
        let most: u64 = most.trim().parse().expect("a number");
        assert!(most < 12, "{most} announces of one session");
    }
}

fn compare(
    mut found: BTreeMap<Vec<u32>, Vec<u64>>,
    mut owed: BTreeMap<Vec<u32>, Vec<u64>>,
    what: &str,
    seed: u64,
) {
    let width = found.values().next().map_or(0, Vec::len);
    owed.values_mut().for_each(|sums| sums.truncate(width));
    found.retain(|_, sums| sums.iter().any(|sum| *sum > 0));
    owed.retain(|_, sums| sums.iter().any(|sum| *sum > 0));
    assert_eq!(found, owed, "{what}, again: SEED={seed}");
}

fn announce(client: &Client, event: Event) -> Announce {
    let mut peer_id = *b"-TR4050-000000000000";
    peer_id[16..].copy_from_slice(&client.number.to_be_bytes());
    Announce {
        peer_id: PeerId(peer_id),
        uploaded: client.uploaded,
        downloaded: client.downloaded,
        left: u64::from(!client.is_complete),
        event,
        ..announce_of(&format!("passkey{}", client.user), client.torrent as u8)
    }
}

/// A file with a site in it, and its place.
fn file() -> (tempfile::TempDir, rusqlite::Connection, Place) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    site.execute_batch(&WICK.made(Dialect::Sqlite)).expect("tables");
    (folder, site, Place::Sqlite(path))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_did_at_any_node_is_credited_once_whichever_dies() {
    for seed in seeds() {
        let (_folder, site, place) = file();
        let mut nodes = Nodes::new(&WICK, place, seed);
        nodes.play(None).await;
        nodes.check(|text| answer(&site, text), seed);
        nodes.check_room(|text| answer(&site, text)).await;
        nodes.check(|text| answer(&site, text), seed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_nodes_credit_each_byte_once_in_mariadb_whatever_is_cut() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    for seed in seeds() {
        for site in [&WICK, &XBT, &UNIT3D, &TORRENTPIER] {
            let database = format!("{}_{seed}", site.contract);
            server.ask(&format!(
                "CREATE DATABASE {database}; GRANT ALL ON {database}.* TO app@localhost; \
                 USE {database}; {}",
                site.made(Dialect::MySql)
            ));
            let door = Door::before(server.socket(), "db");
            let place = Place::MySql(address(&door.folder().join("db"), "app", &database));
            let mut nodes = Nodes::new(site, place, seed);
            nodes.play(Some(&door)).await;
            nodes.check(|text| server.ask(&format!("USE {database}; {text}")), seed);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_nodes_credit_each_byte_once_in_postgresql_whatever_is_cut() {
    let Some(server) = postgres::Server::start(&[]) else { return };
    for seed in seeds() {
        let drop = format!(
            "DROP TABLE IF EXISTS wick_torrents, wick_users, wick_accounts, wick_tracker_batches, \
             {NODES}, {POINTS};"
        );
        server.ask(&format!("{drop} {}", WICK.made(Dialect::Postgres)));
        let name = ".s.PGSQL.5432";
        let door = Door::before(server.folder().join(name), name);
        let place = Place::Postgres(address(door.folder(), "app", "site"));
        let mut nodes = Nodes::new(&WICK, place, seed);
        nodes.play(Some(&door)).await;
        nodes.check(|text| server.ask(text), seed);
    }
}

#[tokio::test]
async fn who_was_taken_for_gone_and_comes_back_doubles_nothing() {
    let (_folder, site, place) = file();
    let mut nodes = Nodes::new(&WICK, place, 1);
    for at in 0..3 {
        nodes.start(at).await;
        nodes.settle(at).await;
    }
    for _ in 0..20 {
        nodes.wait(30);
        (0..CLIENTS).for_each(|_| nodes.announce());
    }
    // It dies with what it was told; the owner says that it is gone, and the others go on.
    nodes.nodes[0].running = None;
    nodes.wait(700);
    nodes.settle(2).await;
    nodes.settle(1).await;
    let awaited = nodes.status.read().awaited.expect("it is waited for");
    assert!(awaited.name == "node0" && awaited.told > 0, "{awaited:?}");
    let (tracker, _) = nodes.nodes[1].running.as_ref().expect("it is there");
    tracker.let_go(&["node0".to_owned(), "node1".to_owned()]);
    nodes.wait(30);
    nodes.settle(1).await;
    assert_eq!(nodes.status.read().awaited, None);
    let gone = "SELECT group_concat(name) FROM wick_tracker_nodes WHERE is_gone = 1";
    let gone: String = site.query_row(gone, [], |row| row.get(0)).expect("a name");
    assert_eq!(gone, "node0", "nobody lets go of himself");
    for _ in 0..40 {
        nodes.wait(30);
        (0..CLIENTS).for_each(|_| nodes.announce());
        for at in [1, 2] {
            nodes.settle(at).await;
        }
    }
    nodes.start(0).await;
    nodes.settle(0).await;
    assert!(nodes.status.read().announces_too_late > 0, "{:?}", nodes.status.read());
    for (key, found) in sums(&answer(&site, WICK.credits), 2) {
        let did = nodes.did[&(key[0], key[1])];
        assert!(found[2] <= did[0] && found[3] <= did[1], "{key:?}: {found:?} of {did:?}");
    }
}

#[tokio::test]
async fn who_is_alone_does_not_write_where_several_do() {
    let (_folder, _site, place) = file();
    let mut nodes = Nodes::new(&WICK, place, 1);
    nodes.start(0).await;
    nodes.settle(0).await;
    nodes.is_alone = true;
    nodes.start(1).await;
    let (_, writer) = nodes.nodes[1].running.as_mut().expect("it is there");
    assert_eq!(writer.step().await, Step::Failed);
    let status = nodes.status.read();
    assert!(status.why.contains("write [cluster] here too"), "{status:?}");
}

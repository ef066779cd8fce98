//! Gazelle's tokens: what was taken with one stands in its row, once, and a download that is
//! complete ends it, whoever dies and wherever clients announce.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base::Clock;
use tracker::books::{Contract, Dialect, Place, Shared, State, Step, Writer, batches_table, check};
use tracker::books::{grants, shared_tables};
use tracker::{Mode, Rules, Tracker};
use wire::tracker::{Announce, Event, Peers};

use crate::mariadb;
use crate::opened::{announce_of, loaded, opened, place_of};
use crate::sites::GAZELLE;

fn place(server: &mariadb::Server, user: &str) -> Place {
    place_of(&server.socket(), user, "site")
}

/// A tracker with a folder of its own.
struct Node {
    folder: tempfile::TempDir,
    rules: Rules,
    clock: Clock,
    status: Shared,
    place: Place,
    running: Option<(Arc<Tracker>, Writer)>,
}

impl Node {
    async fn start(place: Place, name: Option<&str>) -> Self {
        let node = name.map(str::to_owned);
        let mut node = Self {
            folder: tempfile::tempdir().expect("a folder"),
            rules: Rules { mode: Mode::Private, gap_seconds: 0, node, ..Rules::default() },
            clock: Clock::manual(1_800_000_000_000),
            status: Shared::default(),
            place,
            running: None,
        };
        node.restart().await;
        node
    }

    fn checkpoint(&self) {
        let (tracker, _) = self.running.as_ref().expect("it is there");
        tracker.checkpoint(self.clock.now()).expect("state");
    }

    /// What was in memory is gone.
    async fn restart(&mut self) {
        if let Some((tracker, writer)) = self.running.take() {
            tracker.flush_journal().expect("it is in the journal");
            drop((tracker, writer));
        }
        let tracker = opened(self.folder.path(), &self.rules, &self.clock).await;
        let (place, status) = (self.place.clone(), self.status.clone());
        let writer = loaded(&tracker, place, "gazelle", &self.clock, status).await;
        self.running = Some((tracker, writer));
    }

    /// A user at a torrent has taken so much, and lacks so much.
    fn tell(&self, user: u8, torrent: u8, downloaded: u64, left: u64, event: Event) {
        let (tracker, _) = self.running.as_ref().expect("it is there");
        let announce =
            Announce { downloaded, left, event, ..announce_of(&format!("passkey{user}"), torrent) };
        let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, user));
        let told = tracker.announce(&announce, from, self.clock.now(), &mut Peers::default());
        told.expect("it is counted");
    }

    async fn write(&mut self) {
        let (_, writer) = self.running.as_mut().expect("it is there");
        while let Step::Written(_) = writer.step().await {}
    }
}

/// Users 1 to 3 have a token; 4 has none. Torrent 2 is neutral: there neither side counts.
const TOKENS: &str = "UPDATE torrents SET FreeTorrent = '2' WHERE ID = 2; UPDATE users_freeleeches \
    SET Expired = 0 WHERE UserID < 4 AND TorrentID < 3";
const HELD: &str = "USE site; SELECT UserID, TorrentID, Downloaded, Expired FROM users_freeleeches \
    WHERE UserID < 5 AND TorrentID < 3 ORDER BY UserID, TorrentID";
/// Who took all, who took a part, who was complete before, who had no token; neutral is nothing.
const EXPECTED: &str = "1\t1\t1500\t1\n1\t2\t0\t0\n2\t1\t700\t0\n2\t2\t0\t0\n3\t1\t0\t0\n3\t2\t0\t0\n\
    4\t1\t0\t1\n4\t2\t0\t1\n";
const CREDITED: &str =
    "USE site; SELECT UserID, Downloaded FROM users_leech_stats WHERE Downloaded > 0";

/// User, torrent, bytes taken and lacking.
type Told = (u8, u8, u64, u64, Event);

/// The story of these, whose parts may be told to different trackers.
fn story() -> Vec<Vec<Told>> {
    let begin = |user, torrent, left| (user, torrent, 0, left, Event::Started);
    vec![
        vec![
            begin(1, 1, 1500),
            begin(1, 2, 1500),
            begin(2, 1, 900),
            begin(3, 1, 0),
            begin(4, 1, 9),
        ],
        vec![(1, 1, 1000, 500, Event::Update), (1, 2, 1000, 500, Event::Update)],
        vec![(2, 1, 700, 200, Event::Update), (3, 1, 0, 0, Event::Update)],
        vec![(1, 1, 1500, 0, Event::Completed), (1, 2, 1500, 0, Event::Completed)],
        vec![(4, 1, 9, 0, Event::Completed), (1, 1, 1500, 0, Event::Stopped)],
    ]
}

#[tokio::test]
async fn what_tokens_saved_is_added_up_once_and_a_complete_download_ends_them() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    // One that lives, those that lose their memory after each step, and two that share a ledger.
    let (one, two) = (vec![None], vec![Some("a"), Some("b")]);
    for (names, dies, checkpoints) in [
        (&one, false, false),
        (&one, true, false),
        (&one, true, true),
        (&two, true, false),
        (&two, true, true),
    ] {
        let made = GAZELLE.made(Dialect::MySql);
        server.ask(&format!("DROP DATABASE site; CREATE DATABASE site; USE site; {made} {TOKENS}"));
        let mut nodes = Vec::new();
        for name in names {
            nodes.push(Node::start(place(&server, "app"), *name).await);
        }
        for (part, said) in story().into_iter().enumerate() {
            nodes.iter().for_each(|node| node.clock.advance_ms(60_000));
            let at = part % nodes.len();
            for (user, torrent, downloaded, left, event) in said {
                nodes[at].tell(user, torrent, downloaded, left, event);
            }
            if checkpoints {
                nodes[at].checkpoint();
            }
            if dies {
                nodes[at].restart().await;
            }
            if part == 2 {
                nodes[at].write().await;
            }
        }
        // Each twice: the second time nothing is left to add.
        for _ in 0..2 {
            for node in &mut nodes {
                node.clock.advance_ms(60_000);
                node.write().await;
                node.restart().await;
            }
        }
        assert_eq!(
            server.ask(HELD).trim_end(),
            EXPECTED.trim_end(),
            "{names:?} {dies} {checkpoints}"
        );
        assert_eq!(server.ask(CREDITED).trim_end(), "4\t9", "{names:?} {dies} {checkpoints}");
    }
}

#[tokio::test]
async fn credits_are_written_where_the_tokens_table_is_missing_or_kept_from_us() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let contract = Contract::known("gazelle").expect("one of ours");
    let place = place(&server, "tracker");
    server.ask(&format!(
        "USE site; {} {TOKENS}; {}; {}; CREATE USER tracker@localhost IDENTIFIED BY 'tracker'; {}",
        GAZELLE.made(Dialect::MySql),
        batches_table(Dialect::MySql),
        shared_tables(Dialect::MySql).join("; "),
        grants(&contract, &place).join(" ")
    ));
    assert_eq!(check(&place, &contract, false).await, Ok(()));
    for (change, unwritten) in [
        ("REVOKE UPDATE ON site.users_freeleeches FROM tracker@localhost", 1),
        ("DROP TABLE site.users_freeleeches", 0),
    ] {
        server.ask(change);
        let looked = check(&place, &contract, false).await;
        match unwritten {
            0 => assert_eq!(looked, Ok(())),
            _ => {
                let why = looked.expect_err("it may not be changed").to_string();
                let grant = "GRANT SELECT, UPDATE ON `site`.`users_freeleeches`";
                assert!(why.contains(grant), "{why}");
            }
        }
        server.ask(
            "DELETE FROM site.users_leech_stats; UPDATE site.wick_tracker_batches SET number = 0",
        );
        let mut node = Node::start(place.clone(), None).await;
        node.tell(1, 1, 0, 100, Event::Started);
        node.tell(4, 1, 0, 100, Event::Started);
        node.clock.advance_ms(60_000);
        node.tell(1, 1, 100, 0, Event::Completed);
        node.tell(4, 1, 100, 0, Event::Completed);
        node.write().await;
        let status = node.status.read();
        assert_eq!((status.state, status.unwritten_tables.len()), (State::Good, unwritten));
        let expected = if unwritten == 1 { "4\t100" } else { "1\t100\n4\t100" };
        assert_eq!(server.ask(CREDITED).trim_end(), expected, "{change}");
    }
}

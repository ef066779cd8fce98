//! Two clients of one user at one torrent: each has its row where a site shows peers, whoever of
//! them announced last, and what they did is added up where a site counts users.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use base::Clock;
use tracker::books::{Dialect, Place, Shared, Step, Writer};
use tracker::{Mode, Rules, Tracker};
use wire::tracker::{Announce, Event, PeerId, Peers};

use crate::mariadb;
use crate::opened::{announce_of, loaded, place_of};
use crate::sites::{GAZELLE, Site, TORRENTPIER, UNIT3D, XBT};

/// The site of one contract, with a tracker that has been told of its torrents and users.
struct Stage {
    tracker: Arc<Tracker>,
    writer: Writer,
    clock: Clock,
}

/// Port, counters (sent, taken, to go) and event of a client, which is known by a letter.
type Says = (char, u16, [u64; 3], Event);

impl Stage {
    async fn begin(site: &Site, place: Place) -> Self {
        let clock = Clock::manual(1_800_000_000_000);
        let rules = Rules { mode: Mode::Private, ..Rules::default() };
        let tracker = Arc::new(Tracker::new(rules));
        let writer = loaded(&tracker, place, site.contract, &clock, Shared::default()).await;
        Self { tracker, writer, clock }
    }

    /// Announces of the first user at the first torrent, half a minute apart.
    fn tell(&self, said: &[Says]) {
        for &(client, port, [uploaded, downloaded, left], event) in said {
            let mut peer_id = *b"-TR4050-abcdefghijk?";
            peer_id[19] = client as u8;
            let announce = Announce {
                peer_id: PeerId(peer_id),
                port,
                uploaded,
                downloaded,
                left,
                event,
                ..announce_of("passkey1", 1)
            };
            let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, client as u8));
            let mut peers = Peers::default();
            let told = self.tracker.announce(&announce, from, self.clock.now(), &mut peers);
            told.expect("it is counted");
            self.clock.advance_ms(30_000);
        }
    }

    async fn write(&mut self) {
        while self.writer.step().await != Step::Idle {}
    }

    /// The first goes before the second announces; the third falls silent while the second stays.
    async fn play(&mut self) {
        self.tell(&[
            ('a', 7001, [0, 0, 100], Event::Started),
            ('b', 7002, [0, 0, 50], Event::Started),
            ('c', 7003, [0, 0, 0], Event::Started),
        ]);
        self.write().await;
        self.tell(&[
            ('a', 7001, [1000, 10, 90], Event::Update),
            ('a', 7001, [1100, 20, 80], Event::Stopped),
            ('b', 7002, [30, 5, 45], Event::Update),
        ]);
        self.write().await;
        for sent in 1..=4 {
            self.clock.advance_ms(1_200_000);
            (0..3).for_each(|_| self.tracker.tick(self.clock.now()));
            self.tell(&[('b', 7002, [30 + sent, 5, 45], Event::Update)]);
        }
        assert_eq!(self.tracker.status().sessions, 1, "the second is left");
        self.write().await;
    }
}

fn place(socket: &Path, database: &str) -> Place {
    place_of(socket, "app", database)
}

#[tokio::test]
async fn each_client_of_a_user_has_its_row_in_mariadb() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    // UNIT3D and Gazelle know peers by what they call themselves, TorrentPier by their ports.
    // The first did 1100 and 20, the second 34 and 5; all of them together 1134 and 25.
    for (site, asked, expected) in [
        (
            &UNIT3D,
            "SELECT RIGHT(peer_id, 1), port, active, seeder, `left`, uploaded, downloaded FROM \
             peers ORDER BY 1; SELECT active, seeder, uploaded, downloaded FROM history; \
             SELECT uploaded, downloaded FROM users WHERE id = 1; \
             SELECT seeders, leechers FROM torrents WHERE id = 1",
            "a 7001 0 0 80 1100 20\nb 7002 1 0 45 34 5\nc 7003 0 1 0 0 0\n1 0 1134 25\n1134 25\n0 1",
        ),
        (
            &GAZELLE,
            "SELECT RIGHT(peer_id, 1), active, remaining, uploaded, downloaded, announced FROM \
             xbt_files_users ORDER BY 1; \
             SELECT Uploaded, Downloaded FROM users_leech_stats WHERE UserID = 1",
            "a 0 80 1100 20 3\nb 1 45 34 5 6\nc 0 0 0 0 1\n1134 25",
        ),
        (
            &TORRENTPIER,
            "SELECT port, update_time > 0, seeder, remain, uploaded, up_add, down_add FROM \
             bb_bt_tracker ORDER BY 1",
            "7001 0 0 80 1100 1100 20\n7002 1 0 45 34 34 5\n7003 1 1 0 0 0 0",
        ),
        (
            &XBT,
            "SELECT active, uploaded, downloaded, announced FROM xbt_files_users; \
             SELECT uploaded, downloaded FROM xbt_users WHERE uid = 1",
            "1 1134 25 10\n1134 25",
        ),
    ] {
        let database = format!("clients_{}", site.contract);
        server.ask(&format!(
            "CREATE DATABASE {database}; GRANT ALL ON {database}.* TO app@localhost; \
             USE {database}; {}",
            site.made(Dialect::MySql)
        ));
        let mut stage = Stage::begin(site, place(&server.socket(), &database)).await;
        stage.play().await;
        let found = server.ask(&format!("USE {database}; {asked}")).replace('\t', " ");
        assert_eq!(found, expected, "{}", site.contract);
    }
}

#[tokio::test]
async fn a_client_that_is_started_anew_at_its_port_has_its_row_again_in_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    site.execute_batch(&TORRENTPIER.made(Dialect::Sqlite)).expect("tables");
    let mut stage = Stage::begin(&TORRENTPIER, Place::Sqlite(path)).await;
    // What the client called itself before goes last, and its row is the new one's.
    stage.tell(&[
        ('a', 7001, [0, 0, 100], Event::Started),
        ('a', 7001, [70, 0, 100], Event::Update),
        ('b', 7001, [0, 0, 100], Event::Started),
        ('b', 7001, [5, 0, 90], Event::Update),
        ('a', 7001, [75, 0, 100], Event::Stopped),
    ]);
    stage.write().await;
    let row: (String, bool, i64, i64) = site
        .query_row(
            "SELECT substr(peer_id, 20), update_time > 0, remain, up_add FROM bb_bt_tracker",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .expect("one row");
    assert_eq!(row, ("b".to_owned(), true, 90, 80));
}

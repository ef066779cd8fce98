//! What the site has comes in, and goes on coming.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use base::{Clock, Now};
use changes::{Address, Door, Secret};
use tracker::books::{Contract, Dialect, Keeper, Loader, Place, Shared, own_tables};
use tracker::{
    Batch, Denied, Free, Mode, Refusal, Rules, Torrent, TorrentId, Tracker, User, UserId,
};
use wire::tracker::{PeerId, Peers};

use crate::mariadb;
use crate::opened::{announce_of, place_of};
use crate::postgres;
use crate::sites::{GAZELLE, Site, TORRENTPIER, UNIT3D, WICK, XBT, XBT2019};

/// Keeps what it is given, and how often.
#[derive(Default)]
struct Held(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    torrents: BTreeMap<u32, Torrent>,
    users: BTreeMap<u32, User>,
    puts: usize,
    is_loaded: bool,
    passkey_key: String,
    denied: Denied,
    free: Free,
}

impl Held {
    fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.0.lock().expect("no panic"))
    }

    fn numbers(&self) -> (Vec<u32>, Vec<u32>) {
        self.with(|held| {
            (held.torrents.keys().copied().collect(), held.users.keys().copied().collect())
        })
    }

    fn passkey(&self, user: u32) -> String {
        self.with(|held| {
            let passkey = held.users[&user].passkey.as_ref().expect("a passkey");
            String::from_utf8(passkey.expose().to_vec()).expect("letters")
        })
    }
}

impl Keeper for Held {
    fn resume(&self, _: u64) {}

    fn take_batch(&self, _: Now) -> Option<Arc<Batch>> {
        None
    }

    fn written(&self, _: u64) {}

    fn begin_loading(&self) {}

    fn finish_loading(&self) {
        self.with(|held| held.is_loaded = true);
    }

    fn put_torrent(&self, torrent: &Torrent) {
        self.with(|held| {
            held.puts += 1;
            held.torrents.insert(torrent.id.0, torrent.clone())
        });
    }

    fn remove_torrent(&self, id: TorrentId) {
        self.with(|held| held.torrents.remove(&id.0));
    }

    fn put_user(&self, user: &User) {
        self.with(|held| {
            held.puts += 1;
            held.users.insert(user.id.0, user.clone())
        });
    }

    fn remove_user(&self, id: UserId) {
        self.with(|held| held.users.remove(&id.0));
    }

    fn set_denied(&self, denied: Denied) {
        self.with(|held| held.denied = denied);
    }

    fn set_free(&self, free: Free) {
        self.with(|held| held.free = free);
    }

    fn set_passkey_key(&self, private_key: &str) {
        self.with(|held| private_key.clone_into(&mut held.passkey_key));
    }
}

fn loader(contract: &str, place: Place, held: &Arc<Held>) -> Loader {
    let contract = Contract::known(contract).expect("one of ours");
    Loader::new(place, contract, Clock::machine(), Shared::default(), held.clone())
}

#[tokio::test]
async fn rows_come_change_and_go_in_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    let run = |text: &str| site.execute_batch(text).expect("it is done");
    run(&WICK.made(Dialect::Sqlite));
    let held = Arc::new(Held::default());
    let mut loader = loader("wick", Place::Sqlite(path), &held);
    loader.step().await.expect("it is loaded");
    assert!(held.with(|held| held.is_loaded));
    assert_eq!(held.numbers(), ((1..=9).collect(), (1..=12).collect()));
    // What is as it was is not put again.
    let puts = held.with(|held| held.puts);
    loader.step().await.expect("nothing");
    assert_eq!(held.with(|held| held.puts), puts);
    run("INSERT INTO wick_users (id, passkey) VALUES (40, 'new'); \
         UPDATE wick_users SET passkey = 'changed' WHERE id = 2; \
         DELETE FROM wick_torrents WHERE id = 9; \
         UPDATE wick_torrents SET is_deleted = 1 WHERE id = 1; \
         UPDATE wick_torrents SET worth_downloaded = 0 WHERE id = 4; \
         INSERT INTO wick_torrents (id, info_hash) VALUES (11, X'00');");
    loader.step().await.expect("news");
    assert_eq!(held.numbers(), ((2..=8).collect(), (1..=12).chain([40]).collect()));
    assert_eq!(held.passkey(2), "changed");
    assert_eq!(held.with(|held| held.torrents[&4].worth.downloaded), 0);
    // A table that is empty is believed when it is so twice.
    run("DELETE FROM wick_users");
    loader.step().await.expect("it may be filled again");
    assert_eq!(held.numbers().1.len(), 13);
    loader.step().await.expect("it isn't");
    assert_eq!(held.numbers().1.len(), 0);
}

#[tokio::test]
async fn a_file_that_nobody_changed_is_not_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    let run = |text: &str| site.execute_batch(text).expect("it is done");
    run(&WICK.made(Dialect::Sqlite));
    run("WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) \
         INSERT INTO wick_users (id, passkey) SELECT i, 'key' || i FROM n");
    let held = Arc::new(Held::default());
    let mut loader = loader("wick", Place::Sqlite(path), &held);
    // Until all of it was looked at, and was so again since it told of no change.
    for _ in 0..4 {
        loader.step().await.expect("rows");
    }
    let read = loader.rows_read();
    loader.step().await.expect("nothing");
    assert_eq!(loader.rows_read(), read);
    // What slices went past a moment ago is come to again.
    run("UPDATE wick_users SET passkey = 'changed' WHERE id = 8999");
    loader.step().await.expect("the first slice");
    run("UPDATE wick_users SET passkey = 'other' WHERE id = 2");
    for _ in 0..5 {
        loader.step().await.expect("the others");
    }
    assert_eq!([8999, 2].map(|user| held.passkey(user)), ["changed", "other"]);
    let read = loader.rows_read();
    loader.step().await.expect("nothing");
    assert_eq!(loader.rows_read(), read);
}

#[tokio::test]
async fn a_large_table_is_looked_at_in_slices() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    let tables = own_tables(Dialect::Sqlite).join(";");
    let numbers =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)";
    site.execute_batch(&format!(
        "{tables}; BEGIN; INSERT INTO wick_users (id, passkey) {numbers} SELECT i * 2, 'key' || i \
         FROM n; COMMIT"
    ))
    .expect("a large table");
    let held = Arc::new(Held::default());
    let mut loader = loader("wick", Place::Sqlite(path), &held);
    loader.step().await.expect("it is loaded");
    assert_eq!(held.numbers().1.len(), 30_000);
    site.execute_batch(
        "DELETE FROM wick_users WHERE id IN (2, 8000, 8002, 60000); \
         UPDATE wick_users SET passkey = 'changed' WHERE id = 59998",
    )
    .expect("changes");
    for _ in 0..8 {
        loader.step().await.expect("a slice");
    }
    assert_eq!(held.numbers().1.len(), 29_996);
    assert_eq!(held.passkey(59_998), "changed");
}

#[tokio::test]
async fn rows_behind_many_deleted_ones_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    let tables = own_tables(Dialect::Sqlite).join(";");
    let numbers =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)";
    site.execute_batch(&format!(
        "{tables}; BEGIN; INSERT INTO wick_users (id, passkey, is_deleted) {numbers} \
         SELECT i, 'key' || i, i BETWEEN 11 AND 45000 FROM n; COMMIT"
    ))
    .expect("a large table");
    let held = Arc::new(Held::default());
    let mut loader = loader("wick", Place::Sqlite(path), &held);
    for _ in 0..16 {
        loader.step().await.expect("a slice");
        assert_eq!(held.numbers().1.len(), 5_010);
    }
}

/// Announces of the user with this passkey, for the torrent of this number.
fn announce(tracker: &Tracker, clock: &Clock, passkey: &str, torrent: u8) -> Result<(), Refusal> {
    let announce = announce_of(passkey, torrent);
    let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, torrent));
    tracker.announce(&announce, from, clock.now(), &mut Peers::default()).map(drop)
}

#[tokio::test]
async fn a_passkey_or_a_hash_that_a_client_comes_with_is_looked_for_in_a_large_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tracker.sqlite");
    let site = rusqlite::Connection::open(&path).expect("a file");
    let tables = own_tables(Dialect::Sqlite).join(";");
    let numbers =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)";
    site.execute_batch(&format!(
        "{tables}; BEGIN; INSERT INTO wick_users (id, passkey) {numbers} SELECT i, 'key' || i \
         FROM n; INSERT INTO wick_torrents (id, info_hash) {numbers} SELECT i * 2, \
         CAST(printf('%020d', i) AS BLOB) FROM n; COMMIT"
    ))
    .expect("large tables");
    let clock = Clock::manual(1_800_000_000_000);
    let rules = Rules { mode: Mode::Private, min_interval_seconds: 0, ..Rules::default() };
    let tracker = Arc::new(Tracker::new(rules));
    let contract = Contract::known("wick").expect("one of ours");
    let (place, status) = (Place::Sqlite(path), Shared::default());
    let mut loader = Loader::new(place, contract, clock.clone(), status, tracker.clone());
    loader.step().await.expect("it is loaded");
    // The user is far from where the next slice is, and the torrent below the last number.
    site.execute_batch(
        "UPDATE wick_users SET passkey = 'changed' WHERE id = 29000; \
         INSERT INTO wick_torrents (id, info_hash) \
         VALUES (50001, X'000000000000000000000000000000000000004d')",
    )
    .expect("changes");
    assert_eq!(announce(&tracker, &clock, "key29000", 77), Err(Refusal::UnknownTorrent));
    assert_eq!(announce(&tracker, &clock, "changed", 77), Err(Refusal::UnknownPasskey));
    assert_eq!(announce(&tracker, &clock, "nobodys", 77), Err(Refusal::UnknownPasskey));
    loader.step().await.expect("they are found");
    assert_eq!(announce(&tracker, &clock, "changed", 77), Ok(()));
    assert_eq!(announce(&tracker, &clock, "key29000", 77), Err(Refusal::UnknownPasskey));
}

/// What the loader of a site finds after a change.
async fn loaded(server: &mariadb::Server, site: &'static Site, change: &str) -> Arc<Held> {
    let database = format!("load_{}", site.contract);
    server.ask(&format!(
        "CREATE OR REPLACE DATABASE {database}; GRANT SELECT ON {database}.* TO app@localhost; \
         USE {database}; {} {change}",
        site.made(Dialect::MySql)
    ));
    let place = place_of(&server.socket(), "app", &database);
    let held = Arc::new(Held::default());
    let mut loader = loader(site.contract, place, &held);
    loader.step().await.expect("it is loaded");
    held
}

async fn check(server: &mariadb::Server, site: &'static Site, change: &str, torrents: &[u32]) {
    let held = loaded(server, site, change).await;
    assert_eq!(held.numbers(), (torrents.to_vec(), (1..=12).collect()), "{}", site.contract);
    assert_eq!(held.passkey(7), "passkey7");
    held.with(|held| {
        let hash = held.torrents[&2].info_hash.0;
        assert_eq!((hash[0], hash[19]), (0, 2));
        let worth = held.torrents[&2].worth;
        let expected = match site.contract {
            "torrentpier3" => (100, 50),
            "gazelle" => (0, 0),
            "unit3d" => (200, 25),
            _ => (100, 100),
        };
        assert_eq!((worth.uploaded, worth.downloaded), expected, "{}", site.contract);
    });
}

#[tokio::test]
async fn what_a_group_of_unit3d_grants_counts_for_its_users() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let groups = "INSERT INTO `groups` (id, slug, is_freeleech, is_double_upload) VALUES \
         (1, 'user', 0, 0), (2, 'free', 1, 0), (3, 'both', 1, 1); \
         UPDATE users SET group_id = 2 WHERE id = 7; UPDATE users SET group_id = 3 WHERE id = 8; \
         UPDATE users SET group_id = 9 WHERE id = 9;";
    for (change, expected) in [
        ("", [(100, 100), (100, 0), (200, 0), (100, 100)]),
        // A site that lacks a column, or has no groups that may be seen.
        (
            "ALTER TABLE `groups` DROP is_double_upload",
            [(100, 100), (100, 0), (100, 0), (100, 100)],
        ),
        ("DROP TABLE `groups`", [(100, 100); 4]),
    ] {
        let held = loaded(&server, &UNIT3D, &format!("{groups} {change}")).await;
        let worth = |user| held.with(|it| it.users[&user].worth);
        let found = [6, 7, 8, 9].map(|user| (worth(user).uploaded, worth(user).downloaded));
        assert_eq!(found, expected, "{change}");
    }
}

#[tokio::test]
async fn columns_that_a_site_may_lack_count_where_they_are() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let held = loaded(
        &server,
        &XBT,
        "ALTER TABLE xbt_users ADD can_leech TINYINT NOT NULL DEFAULT 1, ADD wait_time INT NOT NULL \
         DEFAULT 0, ADD peers_limit INT NOT NULL DEFAULT 0, ADD torrents_limit INT NOT NULL DEFAULT \
         0; UPDATE xbt_users SET can_leech = 0, wait_time = 3600, peers_limit = 3, torrents_limit = \
         2, torrent_pass_version = 4 WHERE uid = 7; \
         INSERT INTO xbt_config VALUES ('torrent_pass_private_key', 'k3y')",
    )
    .await;
    held.with(|held| {
        let limits = |user: u32| {
            let user = &held.users[&user];
            (user.may_leech, user.wait_seconds, user.peers_max, user.torrents_max)
        };
        assert_eq!((limits(6), limits(7)), ((true, 0, 0, 0), (false, 3600, 3, 2)));
        assert_eq!((held.users[&7].passkey_version, held.passkey_key.as_str()), (4, "k3y"));
    });
}

#[tokio::test]
async fn whom_an_xbt_site_turns_away_is_turned_away() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    // Sites have addresses as numbers with and without sign: 200.1.2.0 to 200.1.2.255, and 9.9.9.9.
    let hosts = "CREATE TABLE xbt_deny_from_hosts (begin INT NOT NULL, end INT NOT NULL); \
         INSERT INTO xbt_deny_from_hosts VALUES (-939458048, -939457793), (151587081, 151587081);";
    let clients = "CREATE TABLE xbt_deny_from_clients (peer_id CHAR(20) NOT NULL); \
         INSERT INTO xbt_deny_from_clients VALUES ('-BAD');";
    for (site, change, expected) in [
        (&XBT, format!("{hosts} {clients}"), (true, true)),
        (
            &XBT2019,
            hosts
                .replace("INT ", "INT UNSIGNED ")
                .replace("-939458048, -939457793", "3355509248, 3355509503"),
            (true, false),
        ),
        (&WICK, String::new(), (false, false)),
    ] {
        let held = loaded(&server, site, &change).await;
        held.with(|held| {
            let is_denied = |from: &str| held.denied.denies_address(from.parse().expect(from));
            assert_eq!((is_denied("200.1.2.77"), is_denied("9.9.9.9")), (expected.0, expected.0));
            assert!(!is_denied("200.1.3.0") && !is_denied("9.9.9.8"), "{}", site.contract);
            let is_bad = held.denied.denies_client(&PeerId(*b"-BAD123-abcdefghijkl"));
            let is_good = !held.denied.denies_client(&PeerId(*b"-TR4050-abcdefghijkl"));
            assert_eq!((is_bad, is_good), (expected.1, true), "{}", site.contract);
        });
    }
}

#[tokio::test]
async fn what_a_site_gives_away_is_free_until_it_is_over() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let tokens = "REPLACE INTO users_freeleeches (UserID, TorrentID, Expired) VALUES (7, 2, 0), \
         (7, 3, 1), (8, 2, 0)";
    let of_unit3d = "INSERT INTO freeleech_tokens (user_id, torrent_id) VALUES (7, 2), (8, 2); \
         INSERT INTO personal_freeleeches (user_id) VALUES (9)";
    for (site, change, expected) in [
        (&GAZELLE, tokens, [true, false, false, false]),
        (&UNIT3D, of_unit3d, [true, false, true, true]),
        (&UNIT3D, "DROP TABLE freeleech_tokens, personal_freeleeches", [false; 4]),
        (&XBT, "", [false; 4]),
    ] {
        let held = loaded(&server, site, change).await;
        let found = [(7, 2), (7, 3), (9, 2), (9, 8)]
            .map(|(user, torrent)| held.with(|it| it.free.holds(UserId(user), TorrentId(torrent))));
        assert_eq!(found, expected, "{} {change}", site.contract);
    }
    // One that is used now counts soon, and no more when it is over.
    let held = Arc::new(Held::default());
    let place = place_of(&server.socket(), "app", "site");
    server.ask(&format!("USE site; {}", GAZELLE.made(Dialect::MySql)));
    let mut loader = loader("gazelle", place, &held);
    loader.step().await.expect("it is loaded");
    let is_free = || held.with(|held| held.free.holds(UserId(7), TorrentId(2)));
    for (change, expected) in [
        ("REPLACE INTO users_freeleeches (UserID, TorrentID) VALUES (7, 2)", true),
        ("UPDATE users_freeleeches SET Expired = 1", false),
    ] {
        server.ask(&format!("USE site; {change}"));
        for _ in 0..600 {
            loader.step().await.expect("it reads on");
            if is_free() == expected {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(is_free(), expected, "{change}");
    }
}

#[tokio::test]
async fn rows_come_change_and_go_in_postgresql() {
    let Some(server) = postgres::Server::start(&[]) else { return };
    server.ask(&WICK.made(Dialect::Postgres));
    let place = Place::Postgres(Address {
        door: Door::Socket(server.folder().to_owned()),
        user: "app".to_owned(),
        password: Secret::new("app"),
        database: "site".to_owned(),
    });
    let held = Arc::new(Held::default());
    let mut loader = loader("wick", place, &held);
    loader.step().await.expect("it is loaded");
    assert_eq!(held.numbers(), ((1..=9).collect(), (1..=12).collect()));
    assert_eq!(held.with(|held| held.torrents[&9].info_hash.0[19]), 9);
    server.ask(
        "INSERT INTO wick_users (id, passkey) VALUES (40, 'new'); \
         UPDATE wick_users SET passkey = 'changed' WHERE id = 2; \
         DELETE FROM wick_torrents WHERE id = 9; \
         UPDATE wick_torrents SET is_deleted = 1 WHERE id = 1;",
    );
    loader.step().await.expect("news");
    assert_eq!(held.numbers(), ((2..=8).collect(), (1..=12).chain([40]).collect()));
    assert_eq!(held.passkey(2), "changed");
}

#[tokio::test]
async fn each_contract_reads_its_site() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let eight: Vec<u32> = (1..=8).collect();
    let nine: Vec<u32> = (1..=9).collect();
    check(&server, &WICK, "UPDATE wick_torrents SET is_deleted = 1 WHERE id = 9", &eight).await;
    check(&server, &XBT, "UPDATE xbt_files SET flags = 3 WHERE fid = 9", &eight).await;
    check(&server, &XBT2019, "UPDATE xbt_torrents SET flags = 1 WHERE tid = 9", &eight).await;
    check(
        &server,
        &TORRENTPIER,
        // Closed is gone; without a description it is its author's still.
        "UPDATE bb_bt_torrents SET tor_type = 2 WHERE topic_id = 2; \
         UPDATE bb_bt_torrents SET tor_status = 1 WHERE topic_id = 9; \
         UPDATE bb_bt_torrents SET tor_status = 4 WHERE topic_id = 8",
        &eight,
    )
    .await;
    check(&server, &GAZELLE, "UPDATE torrents SET FreeTorrent = '2' WHERE ID = 2", &nine).await;
    check(
        &server,
        &UNIT3D,
        "UPDATE torrents SET deleted_at = NOW() WHERE id = 9; \
         UPDATE torrents SET free = 75, doubleup = 1 WHERE id = 2",
        &eight,
    )
    .await;
}

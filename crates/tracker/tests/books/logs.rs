//! Logs of what a tracker is asked: a row for each announce and scrape where a site wants it, as
//! the trackers that these tables were made for wrote them.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base::Clock;
use tracker::books::{Contract, Dialect, LogWriter, Place, Shared, batches_table, check, grants};
use tracker::serve::{ConnectionIds, ServeRules, Service};
use tracker::site_log::LogOf;
use tracker::{Mode, Rules, Tracker};
use wire::tracker::{Announce, Event, Peers};

use crate::mariadb;
use crate::opened::{announce_of, loaded, place_of};
use crate::sites::{Site, UNIT3D, XBT};

/// As XBT makes them; those of before had no users of scrapes, and of now have no IPv4 alone.
const XBT_LOGS: &str = "
    CREATE TABLE xbt_announce_log (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, ipa INT UNSIGNED NOT
        NULL, port INT NOT NULL, event INT NOT NULL, info_hash BINARY(20) NOT NULL, peer_id
        BINARY(20) NOT NULL, downloaded BIGINT UNSIGNED NOT NULL, left0 BIGINT UNSIGNED NOT NULL,
        uploaded BIGINT UNSIGNED NOT NULL, uid INT NOT NULL, mtime INT NOT NULL) ENGINE = MyISAM;
    CREATE TABLE xbt_scrape_log (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, ipv6 VARBINARY(16) NOT
        NULL, uid INT NOT NULL, mtime INT NOT NULL) ENGINE = MyISAM;";
const ANNOUNCES: &str = "
    CREATE TABLE announces (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id INT
        UNSIGNED NOT NULL, torrent_id INT UNSIGNED NOT NULL, uploaded BIGINT UNSIGNED NOT NULL,
        downloaded BIGINT UNSIGNED NOT NULL, `left` BIGINT UNSIGNED NOT NULL, corrupt BIGINT
        UNSIGNED NOT NULL, peer_id BINARY(20) NOT NULL, port SMALLINT UNSIGNED NOT NULL, numwant
        SMALLINT UNSIGNED NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, event
        VARCHAR(255) NOT NULL, `key` VARCHAR(255) NOT NULL, CHECK (port <> 7)) ENGINE = InnoDB;";

fn place(server: &mariadb::Server, user: &str) -> Place {
    place_of(&server.socket(), user, "site")
}

/// A tracker of a site, and who writes the site's logs.
struct Stage {
    tracker: Arc<Tracker>,
    clock: Clock,
    status: Shared,
    logs: LogWriter,
}

impl Stage {
    async fn begin(server: &mariadb::Server, site: &Site, is_wanted: bool) -> Self {
        let clock = Clock::manual(1_800_000_000_000);
        let rules = Rules { mode: Mode::Private, gap_seconds: 0, ..Rules::default() };
        let tracker = Arc::new(Tracker::new(rules));
        let (place, status) = (place(server, "app"), Shared::default());
        loaded(&tracker, place.clone(), site.contract, &clock, status.clone()).await;
        let mut contract = Contract::known(site.contract).expect("one of ours");
        assert!(!is_wanted || contract.log_announces());
        let logs = LogWriter::new(place, contract, clock.clone(), status.clone(), tracker.clone());
        Self { tracker, clock, status, logs }
    }

    /// The first user announces at the first torrent; whether that is counted.
    fn announce(&self, passkey: &str, port: u16, event: Event) -> bool {
        let announce = Announce {
            key: Some(0xab),
            port,
            uploaded: 5,
            downloaded: 6,
            left: 7,
            event,
            peers_wanted: Some(70_000),
            ..announce_of(passkey, 1)
        };
        let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, 1));
        self.clock.advance_ms(1_000);
        let now = self.clock.now();
        self.tracker.announce(&announce, from, now, &mut Peers::default()).is_ok()
    }

    fn scrape(&self, passkey: &str) {
        let (ids, rules) = (ConnectionIds::new([7; 16]), ServeRules::default());
        let service = Service::new(self.tracker.clone(), rules, ids, self.clock.clone());
        let target = format!("/scrape?passkey={passkey}&info_hash={}%01", "%00".repeat(19));
        let from = IpAddr::V4(Ipv4Addr::new(81, 2, 69, 2));
        service.answer_alone(target.as_bytes(), from, &mut Vec::new());
    }
}

#[tokio::test]
async fn xbt_sites_have_rows_for_announces_and_scrapes_where_their_settings_want_them() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!("USE site; {} {XBT_LOGS}", XBT.made(Dialect::MySql)));
    let mut stage = Stage::begin(&server, &XBT, false).await;
    let ask = |what: &str| server.ask(&format!("USE site; {what}")).trim_end().to_owned();
    let count =
        "SELECT (SELECT COUNT(*) FROM xbt_announce_log), (SELECT COUNT(*) FROM xbt_scrape_log)";
    // Nobody wants them: nothing is kept either.
    stage.logs.step().await.expect("nothing is to be done");
    assert!(stage.announce("passkey1", 6881, Event::Started));
    stage.scrape("passkey1");
    assert!(stage.tracker.site_log().first(LogOf::Announces, 9).is_empty());
    ask("INSERT INTO xbt_config VALUES ('log_announce', '1'), ('log_scrape', '1')");
    stage.logs.step().await.expect("a minute isn't over");
    assert!(stage.announce("passkey1", 6881, Event::Update));
    stage.clock.advance_ms(60_000);
    stage.logs.step().await.expect("it is asked again");
    assert_eq!(ask(count), "0\t0", "what was before isn't known");
    for event in [Event::Started, Event::Completed, Event::Paused, Event::Stopped] {
        assert!(stage.announce("passkey1", 6881, event));
    }
    assert!(!stage.announce("passkeyX", 6881, Event::Started), "nobody has this passkey");
    stage.scrape("passkey2");
    stage.scrape("passkeyX");
    stage.logs.step().await.expect("it is written");
    stage.logs.step().await.expect("and not again");
    let row = |event, second| {
        format!(
            "1359103233\t6881\t{event}\t{:040X}\t-TR4050-abcdefghijkl\t6\t7\t5\t1\t18000000{second}",
            1
        )
    };
    let expected = [row(2, 63), row(1, 64), row(0, 65), row(3, 66)].join("\n");
    let columns =
        "ipa, port, event, HEX(info_hash), peer_id, downloaded, left0, uploaded, uid, mtime";
    assert_eq!(ask(&format!("SELECT {columns} FROM xbt_announce_log ORDER BY id")), expected);
    let scrapes = ask("SELECT HEX(ipv6), uid, mtime FROM xbt_scrape_log");
    assert_eq!(scrapes, "00000000000000000000FFFF51024502\t2\t1800000067");
    let status = stage.status.read();
    assert_eq!((status.log_rows, status.log_rows_left_out, status.rows_refused), (5, 0, 0));
    // They are turned off again.
    ask("UPDATE xbt_config SET value = '0'");
    stage.clock.advance_ms(60_000);
    stage.logs.step().await.expect("it is asked again");
    assert!(stage.announce("passkey1", 6881, Event::Started));
    stage.logs.step().await.expect("nothing is to be done");
    assert_eq!(ask(count), "4\t1");
}

#[tokio::test]
async fn rows_for_unit3d_wait_for_their_table_and_one_that_is_refused_stops_no_other() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!("USE site; {} {ANNOUNCES}", UNIT3D.made(Dialect::MySql)));
    let mut stage = Stage::begin(&server, &UNIT3D, true).await;
    let ask = |what: &str| server.ask(&format!("USE site; {what}")).trim_end().to_owned();
    // From the first announce on, though the database is asked later.
    assert!(stage.announce("passkey1", 6881, Event::Started));
    ask("RENAME TABLE announces TO elsewhere");
    let trouble = stage.logs.step().await.expect_err("it isn't there").to_string();
    assert!(trouble.contains("log_announces of [tracker] wants this log"), "{trouble}");
    assert!(trouble.contains("GRANT INSERT ON `site`.`announces` TO 'app'@"), "{trouble}");
    assert_eq!(stage.status.read().log_why, trouble);
    // More than go into one statement, in whose midst one is refused.
    for at in 0..1200 {
        assert!(stage.announce("passkey1", if at == 700 { 7 } else { 6881 }, Event::Update));
    }
    assert!(stage.announce("passkey1", 6881, Event::Stopped));
    ask("RENAME TABLE elsewhere TO announces");
    stage.logs.step().await.expect("it is written");
    let status = stage.status.read();
    assert_eq!((status.log_why.as_str(), status.log_rows, status.log_rows_left_out), ("", 1201, 1));
    assert!(status.last_refused.contains("announces"), "{status:?}");
    let columns = "user_id, torrent_id, uploaded, downloaded, `left`, corrupt, peer_id, port, numwant, \
        created_at, event, `key`";
    let row = |time: &str, event: &str| {
        format!(
            "1\t1\t5\t6\t7\t0\t-TR4050-abcdefghijkl\t6881\t65535\t2027-01-15 08:{time}\t{event}\t\
             00000000000000ab"
        )
    };
    for (which, expected) in [
        ("id = 1", row("00:01", "started")),
        ("event = 'stopped'", row("20:02", "stopped")),
        ("created_at = '2027-01-15 08:00:02'", row("00:02", "")),
    ] {
        let found = ask(&format!(
            "SET time_zone = '+00:00'; SELECT {columns} FROM announces WHERE {which}"
        ));
        assert_eq!(found, expected);
    }
    assert_eq!(ask("SELECT COUNT(*), COUNT(DISTINCT created_at) FROM announces"), "1201\t1201");
}

#[tokio::test]
async fn rows_wait_for_a_database_that_is_away_and_none_is_there_twice() {
    let Some(mut server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!("USE site; {} {ANNOUNCES}", UNIT3D.made(Dialect::MySql)));
    let mut stage = Stage::begin(&server, &UNIT3D, true).await;
    assert!(stage.announce("passkey1", 6881, Event::Started));
    stage.logs.step().await.expect("it is written");
    server.kill();
    assert!(stage.announce("passkey1", 6881, Event::Update));
    // What was on its way when it went may be there: it isn't written again, and is counted.
    stage.logs.step().await.expect_err("it is away");
    assert!(stage.announce("passkey1", 6881, Event::Stopped));
    stage.logs.step().await.expect_err("it is still away");
    assert_eq!(stage.status.read().log_rows_left_out, 1);
    server.again();
    stage.logs.step().await.expect("it is written");
    let found = server.ask("SELECT event FROM site.announces ORDER BY id");
    assert_eq!(found.trim_end(), "started\nstopped");
    assert_eq!((stage.status.read().log_rows, stage.status.read().log_rows_left_out), (2, 1));
}

#[tokio::test]
async fn what_a_log_needs_is_said_before_it_is_written() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let place = place(&server, "tracker");
    for (site, logs, want) in [
        (&XBT, XBT_LOGS, "INSERT INTO xbt_config VALUES ('log_announce', '1')"),
        (&UNIT3D, ANNOUNCES, ""),
    ] {
        let mut contract = Contract::known(site.contract).expect("one of ours");
        server.ask(&format!(
            "DROP DATABASE site; CREATE DATABASE site; USE site; {} {logs} {}; CREATE OR REPLACE \
             USER tracker@localhost IDENTIFIED BY 'tracker'; {}",
            site.made(Dialect::MySql),
            batches_table(Dialect::MySql),
            grants(&contract, &place).join(" ")
        ));
        assert_eq!(check(&place, &contract, false).await, Ok(()), "nobody wants them");
        match want {
            "" => assert!(contract.log_announces()),
            want => drop(server.ask(&format!("USE site; {want}"))),
        }
        let why =
            check(&place, &contract, false).await.expect_err("a right is missing").to_string();
        let (_, statements) = why.split_once("owner run: ").expect("what to do");
        server.ask(&format!("USE site; {statements}"));
        assert_eq!(check(&place, &contract, false).await, Ok(()), "{statements}");
    }
}

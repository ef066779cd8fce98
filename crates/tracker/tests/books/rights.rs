//! Rights and refusals: what the owner is told, and what goes on meanwhile.

use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use changes::{Address, Door, Secret};
use tracker::books::{Contract, Dialect, Loader, Place, Shared, State, Step, Writer};
use tracker::books::{NODES, POINTS, batches_table, check, grants};

use crate::game::Game;
use crate::ledger::Ledger;
use crate::mariadb;
use crate::opened::place_of;
use crate::postgres;
use crate::sites::{GAZELLE, TORRENTPIER, UNIT3D, WICK, XBT, XBT2019};

fn place(server: &mariadb::Server, user: &str) -> Place {
    Place::MySql(Address {
        door: Door::Socket(server.socket()),
        user: user.to_owned(),
        password: Secret::new("tracker"),
        database: "site".to_owned(),
    })
}

#[tokio::test]
async fn the_least_rights_do_and_what_is_missing_is_said() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!(
        "USE site; {} CREATE USER tracker@localhost IDENTIFIED BY 'tracker';",
        XBT.made(Dialect::MySql)
    ));
    let contract = Contract::known("xbt").expect("one");
    let mut given = grants(&contract, &place(&server, "tracker"));
    let batches = given.pop().expect("the table of batches comes last");
    let mut game = Game::new(&XBT, place(&server, "tracker"), 1);
    game.ledger.announce();
    server.ask(&given.join(" "));
    assert_eq!(game.step().await, Step::Failed);
    let status = game.status.read();
    assert_eq!(status.state, State::Refused);
    let make = batches_table(Dialect::MySql);
    let looked = check(&place(&server, "tracker"), &contract, false).await;
    let why = looked.expect_err("the table of batches isn't there").to_string();
    assert!(why.contains(&make) && why.contains(&batches), "{why}");
    assert!(status.why.contains(&make) && status.why.contains(&batches), "{}", status.why);
    // What it says is done.
    server.ask(&format!("USE site; {make}; {batches}"));
    assert_eq!(game.step().await, Step::Written(1), "{:?}", game.status.read());
    assert_eq!(game.status.read().why, "");
    assert_eq!(check(&place(&server, "tracker"), &contract, false).await, Ok(()));
    // Of several it is one that needs more.
    let looked = check(&place(&server, "tracker"), &contract, true).await;
    let why = looked.expect_err("their tables aren't there").to_string();
    let (_, statements) = why.split_once("owner run: ").expect("what to do");
    assert!(statements.contains(NODES) && statements.contains(POINTS), "{statements}");
    server.ask(&format!("USE site; {statements}"));
    assert_eq!(check(&place(&server, "tracker"), &contract, true).await, Ok(()));
    server.ask(&format!("REVOKE DELETE ON site.{POINTS} FROM tracker@localhost"));
    let looked = check(&place(&server, "tracker"), &contract, true).await;
    assert!(looked.is_err_and(|why| why.to_string().contains("DELETE")));
    game.check(|text| server.ask(&format!("USE site; {text}")));
    // A password that is no more.
    server.ask("ALTER USER tracker@localhost IDENTIFIED BY 'another'");
    game.restart();
    assert_eq!(game.step().await, Step::Failed);
    let status = game.status.read();
    assert!(!format!("{status:?}").contains("'tracker'@'localhost' IDENTIFIED"), "{status:?}");
    assert_eq!(status.state, State::Refused);
}

/// A loader and a writer get on with these rights alone.
async fn check_rights(game: &mut Game, contract: Contract, place: Place) {
    let clock = Clock::machine();
    let read = game.ledger.clone();
    let mut loader = Loader::new(place, contract, clock, game.status.clone(), read);
    loader.step().await.expect("it reads");
    for number in 1..=3 {
        game.ledger.announce();
        assert_eq!(game.step().await, Step::Written(number), "{:?}", game.status.read());
    }
    loader.step().await.expect("it reads on");
    assert_eq!(game.status.read().state, State::Good);
}

#[tokio::test]
async fn each_contract_gets_on_with_the_rights_that_it_says() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask("CREATE USER tracker@localhost IDENTIFIED BY 'tracker'");
    for site in [&WICK, &XBT, &XBT2019, &TORRENTPIER, &GAZELLE, &UNIT3D] {
        let database = format!("rights_{}", site.contract);
        let place = place_of(&server.socket(), "tracker", &database);
        let contract = Contract::known(site.contract).expect("one");
        server.ask(&format!(
            "CREATE DATABASE {database}; USE {database}; {} {}; {}",
            site.made(Dialect::MySql),
            batches_table(Dialect::MySql),
            grants(&contract, &place).join(" ")
        ));
        let mut game = Game::new(site, place.clone(), 11);
        check_rights(&mut game, contract, place).await;
        game.check(|text| server.ask(&format!("USE {database}; {text}")));
    }
}

#[tokio::test]
async fn our_own_tables_get_on_with_their_rights_in_postgresql() {
    let Some(server) = postgres::Server::start(&[]) else { return };
    let contract = Contract::known("wick").expect("one");
    let place = in_postgres(&server, "tracker", "tracker", "site");
    server.administer("CREATE ROLE tracker LOGIN PASSWORD 'tracker'");
    let (tables, batches) = (WICK.made(Dialect::Postgres), batches_table(Dialect::Postgres));
    server.ask(&format!("{tables} {batches}; {}", grants(&contract, &place).join(" ")));
    let mut game = Game::new(&WICK, place.clone(), 11);
    check_rights(&mut game, contract, place).await;
    game.check(|text| server.ask(text));
}

fn in_postgres(server: &postgres::Server, user: &str, password: &str, database: &str) -> Place {
    Place::Postgres(Address {
        door: Door::Socket(server.folder().to_owned()),
        user: user.to_owned(),
        password: Secret::new(password),
        database: database.to_owned(),
    })
}

/// What the owner is told when both sides of the books have tried.
async fn told(contract: &str, place: &Place) -> (State, String) {
    let contract = Contract::known(contract).expect("one of ours");
    let (status, keeper) = (Shared::default(), Arc::new(Ledger::new(1)));
    keeper.announce();
    let clock = Clock::machine();
    let (at, held) = (place.clone(), keeper.clone());
    let mut loader = Loader::new(at, contract.clone(), clock.clone(), status.clone(), held);
    let every = Duration::from_secs(60);
    let mut writer = Writer::new(place.clone(), contract, every, clock, status.clone(), keeper);
    let _ = loader.step().await;
    writer.step().await;
    let status = status.read();
    (status.state, status.why)
}

async fn check_told(contract: &str, place: &Place, state: State, expected: &[&str]) {
    let (found, why) = told(contract, place).await;
    assert_eq!(found, state, "{why}");
    for words in expected {
        assert!(why.contains(words), "{words:?} is not in: {why}");
    }
    assert!(!why.contains("pa55word"), "{why}");
}

#[tokio::test]
async fn what_is_wrong_in_mariadb_is_said_with_what_to_do() {
    let Some(mut server) = mariadb::Server::start(&[]) else { return };
    let contract = Contract::known("xbt").expect("one");
    let place = |database: &str, password: &str| {
        Place::MySql(Address {
            door: Door::Socket(server.socket()),
            user: "tracker".to_owned(),
            password: Secret::new(password),
            database: database.to_owned(),
        })
    };
    let right = place("site", "pa55word");
    server.ask(&format!(
        "USE site; {} {}; CREATE USER tracker@localhost IDENTIFIED BY 'pa55word'; {} \
         CREATE DATABASE other;",
        XBT.made(Dialect::MySql),
        batches_table(Dialect::MySql),
        grants(&contract, &right).join(" ")
    ));
    check_told("xbt", &right, State::Good, &[]).await;
    let nobody = ["lets nobody in", "correct `database` of [tracker]"];
    check_told("xbt", &place("site", "pa55word?"), State::Refused, &nobody).await;
    let lacks =
        ["lacks a right", "`other`", "GRANT SELECT, UPDATE ON `other`.`xbt_users` TO 'tracker'@"];
    check_told("xbt", &place("other", "pa55word"), State::Refused, &lacks).await;
    let another =
        ["no table `xbt_torrents`", "by [names]", "GRANT SELECT, UPDATE ON `site`.`xbt_torrents`"];
    check_told("xbt2019", &right, State::Refused, &another).await;
    // Our own tables are made, where that is allowed.
    let make =
        ["CREATE TABLE IF NOT EXISTS wick_torrents", "GRANT SELECT, UPDATE ON `site`.`wick_"];
    check_told("wick", &right, State::Refused, &make).await;
    for (change, expected, undo) in [
        (
            "REVOKE UPDATE ON site.xbt_files_users FROM tracker@localhost",
            [
                "UPDATE command denied",
                "GRANT SELECT, INSERT, UPDATE ON `site`.`xbt_files_users` TO 'tracker'@'localhost';",
            ],
            "GRANT UPDATE ON site.xbt_files_users TO tracker@localhost",
        ),
        (
            "REVOKE SELECT ON site.xbt_config FROM tracker@localhost",
            [
                "SELECT command denied",
                "GRANT SELECT ON `site`.`xbt_config` TO 'tracker'@'localhost';",
            ],
            "GRANT SELECT ON site.xbt_config TO tracker@localhost",
        ),
        (
            "ALTER TABLE site.xbt_users CHANGE downloaded taken BIGINT UNSIGNED NOT NULL",
            ["`xbt_users` has no column `downloaded`", "by [names]"],
            "ALTER TABLE site.xbt_users CHANGE taken downloaded BIGINT UNSIGNED NOT NULL",
        ),
        (
            "RENAME TABLE site.xbt_users TO site.members",
            ["no table `xbt_users`", "by [names]"],
            "RENAME TABLE site.members TO site.xbt_users",
        ),
    ] {
        server.ask(change);
        check_told("xbt", &right, State::Refused, &expected).await;
        server.ask(undo);
    }
    check_told("xbt", &right, State::Good, &[]).await;
    server.kill();
    let door = server.socket().display().to_string();
    check_told("xbt", &right, State::Waiting, &["is away", "can't be reached", &door]).await;
}

#[tokio::test]
async fn what_is_wrong_in_postgresql_is_said_with_what_to_do() {
    let Some(server) = postgres::Server::start(&[]) else { return };
    let at = |password, database| in_postgres(&server, "tracker", password, database);
    server.administer("CREATE ROLE tracker LOGIN PASSWORD 'pa55word'");
    let right = at("pa55word", "site");
    let make = ["lacks a right", "run: CREATE TABLE IF NOT EXISTS wick_torrents", "GRANT SELECT"];
    check_told("wick", &right, State::Refused, &make).await;
    let kept = ["this contract can't be kept in PostgreSQL"];
    check_told("unit3d", &right, State::Refused, &kept).await;
    let nobody = ["lets nobody in", "correct `database` of [tracker]"];
    check_told("wick", &at("another", "site"), State::Refused, &nobody).await;
    check_told("wick", &at("pa55word", "none"), State::Refused, &nobody).await;
    let tables = WICK.made(Dialect::Postgres);
    let contract = Contract::known("wick").expect("one");
    let batches = grants(&contract, &right).pop().expect("the table of batches comes last");
    let rights = grants(&contract, &right).join(" ").replace(&batches, "");
    server.ask(&format!("{tables} {rights}"));
    let make = ["lacks a right", "CREATE TABLE IF NOT EXISTS wick_tracker_batches", &batches];
    check_told("wick", &right, State::Refused, &make).await;
    server.ask(&format!("{}; {batches}", batches_table(Dialect::Postgres)));
    check_told("wick", &right, State::Good, &[]).await;
    server.ask("REVOKE SELECT ON wick_users FROM tracker");
    let lacks =
        ["lacks a right", "wick_users", "GRANT SELECT, UPDATE ON \"wick_users\" TO \"tracker\";"];
    check_told("wick", &right, State::Refused, &lacks).await;
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let absent = Place::Sqlite(path("absent.sqlite"));
    check_told("torrentpier3", &absent, State::Waiting, &["is away", "absent.sqlite"]).await;
    assert!(!path("absent.sqlite").exists(), "a site's file is the site's to make");
    rusqlite::Connection::open(path("other.sqlite"))
        .and_then(|other| other.execute_batch("CREATE TABLE posts (id INTEGER)"))
        .expect("a file");
    let other = Place::Sqlite(path("other.sqlite"));
    let expected = ["other.sqlite has no table `bb_bt_torrents`", "name the site's own file"];
    check_told("torrentpier3", &other, State::Refused, &expected).await;
    std::fs::write(path("text"), "no database, and long enough to see that".repeat(20))
        .expect("one");
    let text = Place::Sqlite(path("text"));
    check_told("wick", &text, State::Refused, &["text: ", "not a database"]).await;
    let ours = Place::Sqlite(path("ours.sqlite"));
    check_told("wick", &ours, State::Good, &[]).await;
}

#[tokio::test]
async fn a_row_that_is_refused_keeps_no_other_from_being_written() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!(
        "USE site; {} CREATE USER tracker@localhost IDENTIFIED BY 'tracker'; \
         GRANT ALL ON site.* TO tracker@localhost; DELETE FROM users WHERE id = 3;",
        UNIT3D.made(Dialect::MySql)
    ));
    let mut game = Game::new(&UNIT3D, place(&server, "tracker"), 5);
    for number in 1..=20 {
        game.ledger.announce();
        assert_eq!(game.step().await, Step::Written(number), "{:?}", game.status.read());
    }
    let status = game.status.read();
    let owed = game.ledger.owed();
    let lost = owed.keys().filter(|(user, _)| *user == 3).count();
    assert!(lost > 0 && status.rows_refused >= lost as u64, "{status:?}");
    assert!(status.last_refused.contains("user 3"), "{}", status.last_refused);
    let rows = server.ask("USE site; SELECT COUNT(*) FROM history");
    assert_eq!(rows, (owed.len() - lost).to_string());
}

#[tokio::test]
async fn tables_that_keep_no_transactions_and_other_writers_are_told() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    server.ask(&format!(
        "USE site; {} CREATE USER tracker@localhost IDENTIFIED BY 'tracker'; \
         GRANT ALL ON site.* TO tracker@localhost; ALTER TABLE xbt_files_users ENGINE = MyISAM;",
        XBT.made(Dialect::MySql)
    ));
    let mut game = Game::new(&XBT, place(&server, "tracker"), 9);
    game.ledger.announce();
    assert_eq!(game.step().await, Step::Written(1), "{:?}", game.status.read());
    assert_eq!(game.status.read().loose_tables, ["xbt_files_users"]);
    game.check(|text| server.ask(&format!("USE site; {text}")));
    // Somebody else writes batches here.
    server.ask("USE site; UPDATE wick_tracker_batches SET number = 7");
    game.ledger.announce();
    assert_eq!(game.step().await, Step::Failed);
    let status = game.status.read();
    assert!(status.why.contains("another tracker"), "{}", status.why);
}

//! Kills: of the connection at each of its bytes, of the database, and of the writer.

use std::path::Path;

use changes::{Address, Secret};
use tracker::books::{Dialect, Place, Step};

use crate::cut::{Door, Way};
use crate::game::{Game, seeds};
use crate::mariadb;
use crate::postgres;
use crate::sites::{GAZELLE, Site, TORRENTPIER, UNIT3D, WICK, XBT, XBT2019};

const CUTS: usize = 60;

pub(crate) fn address(socket: &Path, user: &str, database: &str) -> Address {
    Address {
        door: changes::Door::Socket(socket.to_owned()),
        user: user.to_owned(),
        password: Secret::new("app"),
        database: database.to_owned(),
    }
}

/// One batch as it goes when nothing happens: what passes there and back.
async fn usual(game: &mut Game, door: &Door) -> [usize; 2] {
    assert_eq!(game.step().await, Step::Idle, "{:?}", game.status.read());
    door.open();
    game.ledger.announce();
    assert_eq!(game.step().await, Step::Written(1), "{:?}", game.status.read());
    door.open()
}

async fn play_mariadb(server: &mut mariadb::Server, site: &'static Site, seed: u64) -> u64 {
    let database = format!("{}_{seed}", site.contract);
    let ask = |server: &mariadb::Server, text: &str| server.ask(&format!("USE {database}; {text}"));
    server.ask(&format!(
        "CREATE DATABASE {database}; GRANT ALL ON {database}.* TO app@localhost; USE {database}; {}",
        site.made(Dialect::MySql)
    ));
    let door = Door::before(server.socket(), "db");
    let place = Place::MySql(address(&door.folder().join("db"), "app", &database));
    let mut game = Game::new(site, place, seed);
    let usual = usual(&mut game, &door).await;
    for round in 0..CUTS {
        game.round(&door, usual).await;
        if !site.job.is_empty() && round % 7 == 0 {
            ask(server, site.job);
        }
    }
    game.check(|text| ask(server, text));
    if site.contract == "xbt" {
        die_with_mariadb(server, &mut game, &door, usual).await;
        game.check(|text| ask(server, text));
    }
    game.status.read().found_written
}

/// The server dies while it is asked, at some byte of it.
async fn die_with_mariadb(
    server: &mut mariadb::Server,
    game: &mut Game,
    door: &Door,
    usual: [usize; 2],
) {
    for part in 0..3 {
        door.open();
        game.ledger.announce();
        let at = usual[0] * part / 2;
        tokio::select! {
            _ = game.step() => {}
            () = door.passed(Way::There, at) => {}
        }
        server.kill();
        game.restart();
        game.ledger.announce();
        assert_eq!(game.step().await, Step::Failed, "it is away");
        server.again();
        game.settle().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_is_credited_once_in_mariadb_whatever_is_cut_and_whoever_dies() {
    let Some(mut server) = mariadb::Server::start(&[]) else { return };
    let mut found_written = 0;
    for seed in seeds() {
        for site in [&WICK, &XBT, &XBT2019, &TORRENTPIER, &GAZELLE, &UNIT3D] {
            found_written += play_mariadb(&mut server, site, seed).await;
        }
    }
    assert!(found_written > 10, "so few acknowledgements were lost that nothing was proved");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_is_credited_once_in_postgresql_whatever_is_cut_and_whoever_dies() {
    let Some(mut server) = postgres::Server::start(&[]) else { return };
    for seed in seeds() {
        let drop = "DROP TABLE IF EXISTS wick_torrents, wick_users, wick_accounts, \
            wick_tracker_batches;";
        server.ask(&format!("{drop} {}", WICK.made(Dialect::Postgres)));
        let name = ".s.PGSQL.5432";
        let door = Door::before(server.folder().join(name), name);
        let place = Place::Postgres(address(door.folder(), "app", "site"));
        let mut game = Game::new(&WICK, place, seed);
        let usual = usual(&mut game, &door).await;
        for _ in 0..CUTS {
            game.round(&door, usual).await;
        }
        game.check(|text| server.ask(text));
        for part in 0..2 {
            door.open();
            game.ledger.announce();
            tokio::select! {
                _ = game.step() => {}
                () = door.passed(Way::There, usual[0] * part / 2) => {}
            }
            server.kill();
            game.restart();
            server.again();
            game.settle().await;
        }
        game.check(|text| server.ask(text));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_byte_is_credited_once_in_sqlite_wherever_the_writer_dies() {
    for seed in seeds() {
        for kept in [&WICK, &TORRENTPIER] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("tracker.sqlite");
            let site = rusqlite::Connection::open(&path).expect("a file");
            site.execute_batch(&kept.made(Dialect::Sqlite)).expect("tables");
            let mut game = Game::new(kept, Place::Sqlite(path), seed);
            for waits in 0..CUTS {
                game.ledger.announce();
                game.step_and_die(waits % 30).await;
                game.settle().await;
            }
            game.check(|text| answer(&site, text));
        }
    }
}

pub(crate) fn answer(site: &rusqlite::Connection, text: &str) -> String {
    let mut asked = site.prepare(text).expect("a question");
    let width = asked.column_count();
    let line = |row: &rusqlite::Row<'_>| {
        let numbers = (0..width).map(|at| row.get::<_, i64>(at).map(|number| number.to_string()));
        Ok(numbers.collect::<Result<Vec<_>, _>>()?.join("|"))
    };
    let lines = asked.query_map([], line).expect("an answer");
    lines.collect::<Result<Vec<_>, _>>().expect("lines").join("\n")
}

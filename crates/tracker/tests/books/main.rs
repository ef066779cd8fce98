//! The books against real databases: every byte once, whoever dies when.
//!
//! A ledger of what dice say that users did ([`ledger`]) is written through a door that is cut
//! at any byte ([`cut`]), to databases that are killed, by writers that are. In the end each
//! table of each contract holds what the ledger says. `SEEDS=10` plays ten times as long;
//! `SEED=3` another game.

#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
#[path = "../../../changes/tests/mariadb/server.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod mariadb;
#[path = "../../../changes/tests/postgres/server.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod postgres;

mod cut;
mod game;
mod kills;
mod ledger;
mod loading;
mod logs;
mod nodes;
mod opened;
mod rights;
mod sessions;
mod sites;
mod tokens;
mod whole;

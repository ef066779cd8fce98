//! The tracker of a running Wick: alone and through a site, asked, reloaded, upgraded, and with
//! real BitTorrent clients, also in a browser.

#[path = "../strangers/browser.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod browser;
#[path = "../../../changes/tests/shared/daemon.rs"]
mod daemon;
#[path = "../../../changes/tests/mariadb/server.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod mariadb;
#[path = "../cluster/nats.rs"]
#[allow(dead_code, reason = "shared with the tests of the cluster")]
mod nats;
#[path = "../command_line/wick.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod wick;

mod books;
mod clients;
mod killed;
mod nodes;
mod private;
mod secrets;
mod served;
mod serving;
mod site;
mod story;
mod upgrading;
mod webtorrent;

//! Three trackers of a cluster before one MariaDB: clients go from one to the other and see each
//! other, a tracker is killed with what it hasn't written and comes back with it, and each byte is
//! credited once.

use std::thread::sleep;
use std::time::Duration;

use crate::mariadb;
use crate::nats::Nats;
use crate::served::{Served, get};
use crate::wick::until;

const USERS: u32 = 6;

struct Nodes {
    server: mariadb::Server,
    nats: Nats,
    served: Vec<Served>,
}

impl Nodes {
    /// None, said aloud, where NATS or MariaDB isn't installed.
    fn begin() -> Option<Self> {
        let (nats, server) = (Nats::start(1)?, mariadb::Server::start(&[])?);
        let mut nodes = Self { server, nats, served: Vec::new() };
        for at in 0..3 {
            // The first writes nothing as long as it runs.
            let flush = if at == 0 { "1h" } else { "1s" };
            nodes.served.push(Served::begin(&nodes.top(at), &nodes.table(flush)));
        }
        let hash = "68".repeat(20);
        until("the tables to be made", || {
            nodes.server.ask("USE site; SHOW TABLES LIKE 'wick_accounts'").contains("wick")
        });
        let users = (1..=USERS).map(|user| format!("({user}, '{}')", passkey(user)));
        let users: Vec<_> = users.collect();
        nodes.server.ask(&format!(
            "USE site; INSERT INTO wick_users (id, passkey) VALUES {}; \
             INSERT INTO wick_torrents (info_hash) VALUES (X'{hash}')",
            users.join(", ")
        ));
        (0..nodes.served.len()).for_each(|at| nodes.until_read(at));
        Some(nodes)
    }

    /// Waits until a node has read the site's torrent and users: it writes what its log has before.
    fn until_read(&self, at: usize) {
        let users = format!("users      {USERS}");
        until("the tables to be seen", || {
            let served = &self.served[at];
            served.ask(&["tracker", "torrent", &"68".repeat(20)]).contains("seeders")
                && served.ask(&["tracker", "status"]).contains(&users)
        });
    }

    fn top(&self, at: usize) -> String {
        format!(
            "[cluster]\nnats = \"nats://{}\"\nnode = \"n{at}\"\nsecret = \"a-secret-of-many-letters\"",
            self.nats.address(0)
        )
    }

    fn table(&self, flush: &str) -> String {
        let socket = self.server.socket().display().to_string();
        format!(
            "mode = \"private\"\nflush = \"{flush}\"\n\
             database = \"mysql://app:app@localhost/site?socket={socket}\""
        )
    }

    /// Announces as a user's client at a node.
    fn announce(&self, at: usize, user: u32, uploaded: u64, event: &str) -> String {
        let target = format!(
            "/{}/announce?info_hash={}&peer_id=-TR4040-{user:012}&port={}&uploaded={uploaded}\
             &downloaded=0&left=9&event={event}",
            passkey(user),
            "h".repeat(20),
            10_000 + user
        );
        let told = get(self.served[at].address, &target);
        assert!(told.contains("8:completei"), "{told}");
        told
    }

    fn until_uploaded(&self, what: &str, expected: &str) {
        let mut last = String::new();
        until(what, || {
            let found = self.uploaded();
            if found != last {
                eprintln!("{what}: {found}");
                last.clone_from(&found);
            }
            found == expected
        });
    }

    fn until_gone(&self, expected: &str) {
        let question = "USE site; SELECT is_gone FROM wick_tracker_nodes WHERE name = 'n0'";
        until("the ledger to know", || self.server.ask(question) == expected);
    }

    fn uploaded(&self) -> String {
        self.server.ask("USE site; SELECT uploaded FROM wick_users ORDER BY id").replace('\n', " ")
    }
}

fn passkey(user: u32) -> String {
    format!("passkey{user:024}")
}

/// A client says more so much later that clocks tell it, whichever node hears it.
fn clocks_tell() {
    sleep(Duration::from_secs(6));
}

#[test]
fn clients_of_all_nodes_see_each_other_and_each_byte_counts_once_over_a_nodes_death() {
    let Some(mut nodes) = Nodes::begin() else { return };
    nodes.announce(0, 1, 0, "started");
    nodes.announce(1, 2, 0, "started");
    nodes.announce(0, 4, 0, "started");
    nodes.announce(1, 5, 0, "started");
    until("who comes to a third to see all", || {
        nodes.announce(2, 3, 0, "completed").contains("5:peers24:")
    });
    // One goes from node to node; one ends where nothing is written yet; one did so and began anew.
    for (at, uploaded) in [(1, 100), (0, 250), (2, 400), (0, 500)] {
        clocks_tell();
        nodes.announce(at, 1, uploaded, "completed");
    }
    nodes.announce(2, 2, 30, "completed");
    nodes.announce(0, 2, 70, "stopped");
    nodes.announce(0, 4, 5000, "completed");
    nodes.announce(0, 5, 900, "completed");
    nodes.until_uploaded("what the others know to be written", "300 30 0 0 0 0");
    nodes.served[0].rewrite(&nodes.top(0), &nodes.table("1s"));
    nodes.served[0].kill();
    // What the dead one was told is in what a client says at another.
    clocks_tell();
    nodes.announce(1, 1, 600, "completed");
    nodes.announce(2, 4, 6000, "completed");
    nodes.announce(2, 5, 1000, "stopped");
    nodes.until_uploaded("the others to write", "500 30 0 0 1000 0");
    nodes.served[0].serve();
    nodes.until_uploaded("what it knew to be written too", "600 70 0 6000 1000 0");
    nodes.until_read(0);
    clocks_tell();
    nodes.announce(0, 1, 601, "stopped");
    nodes.until_uploaded("it to go on", "601 70 0 6000 1000 0");
    // Who is said to be gone for good isn't waited for, and is when it comes back all the same.
    nodes.served[0].kill();
    until("it to be missing", || {
        nodes.served[1].ask(&["cluster", "forget", "n0"]).contains("taken off")
    });
    nodes.until_gone("1");
    nodes.served[0].serve();
    nodes.until_gone("0");
    nodes.served.drain(..).for_each(|served| drop(served.stop()));
    assert_eq!(nodes.uploaded(), "601 70 0 6000 1000 0", "nothing comes after it");
    let told = nodes.server.ask("USE site; SELECT COUNT(*) FROM wick_tracker_nodes WHERE id <> 0");
    assert_eq!(told, "3");
}

//! Pages of a site whose database is followed are asked of the node that owns them, too; with a
//! real MariaDB, whose log one node reads for all.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::board::{Edits, LAG, get};
use crate::reading::{FEED, Site};
use crate::shield::{SECRET, counters, until_known};
use crate::wick::until;

/// Nodes that ask each other, of which these follow the database.
fn shielded(follow: &[bool]) -> Option<Site> {
    let more = || format!("listen = \"{}\"\nsecret = \"{SECRET}\"\n", loopback::address());
    let nodes: Vec<_> = follow.iter().map(|follows| (*follows, more())).collect();
    let site = Site::start_each(&nodes)?;
    until_known(&site.nodes);
    Some(site)
}

#[test]
fn after_an_edit_a_herd_over_all_nodes_is_one_request() {
    let Some(site) = shielded(&[true; 3]) else { return };
    site.until_read();
    let asked = || site.origin.asked.load(Ordering::SeqCst);
    let gave = counters(&site.nodes, "came");
    for _ in 0..3 {
        let version = site.edit();
        // All know of it, and what it changed can be read by all.
        for node in &site.nodes {
            until("an edit is seen", || node.get().version == version);
        }
        let version = site.edit();
        sleep(LAG + FEED);
        let apart = ["silent", "without"].map(|name| counters(&site.nodes, name));
        let before = asked();
        let barrier = Barrier::new(90);
        std::thread::scope(|scope| {
            for at in 0..90 {
                let (address, barrier) = (site.nodes[at % 3].address, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    assert_eq!(get(address, "/page").version, version);
                });
            }
        });
        // Who was kept from its work for a while says so, and then the origin is asked.
        let now = ["silent", "without"].map(|name| counters(&site.nodes, name));
        let excused: u64 = now.iter().zip(apart).map(|(now, before)| now - before).sum();
        assert!(asked() - before <= 1 + excused, "{} with {excused} excused", asked() - before);
    }
    assert!(counters(&site.nodes, "came") > gave, "nobody was given anything");
}

#[test]
fn what_the_database_has_told_is_never_given_as_fresh() {
    let Some(site) = shielded(&[true; 3]) else { return };
    site.until_read();
    let edits = Mutex::new(Edits::default());
    let ends = Instant::now() + Duration::from_secs(20);
    let addresses: Vec<_> = site.nodes.iter().map(|node| node.address).collect();
    let look = |address: SocketAddr| {
        let owed = edits.lock().expect("nobody panics").owed();
        let shown = get(address, "/page");
        assert!(shown.version >= owed, "{address} shows {shown:?}, owed is {owed}");
    };
    std::thread::scope(|scope| {
        for address in &addresses {
            scope.spawn(|| {
                while Instant::now() < ends {
                    look(*address);
                    sleep(Duration::from_millis(3));
                }
            });
        }
        for turn in 0_u64.. {
            if Instant::now() >= ends {
                break;
            }
            let version = site.edit();
            edits.lock().expect("nobody panics").note_at(version, Instant::now() + FEED);
            // Between none and some of what an edit needs to be heard, told and settled.
            sleep(Duration::from_millis([5, 350, 40, 900, 90, 20, 180][(turn % 7) as usize]));
        }
    });
    sleep(LAG + FEED);
    addresses.into_iter().for_each(look);
    assert!(counters(&site.nodes, "came") > 10, "few pages went from node to node");
}

#[test]
fn who_hears_nothing_of_the_database_is_not_asked_and_gets_nothing() {
    let Some(site) = shielded(&[true, false]) else { return };
    until("one follows", || site.nodes[0].status()["readings"][0]["is_followed"] == true);
    for at in 0..12 {
        let path = format!("/page/of-{}", char::from(b'a' + at));
        site.nodes.iter().for_each(|node| drop(get(node.address, &path)));
    }
    assert_eq!(counters(&site.nodes, "came"), 0);
    assert!(counters(&site.nodes, "asked") > 0, "nobody tried");
}

//! Whom an announce is told of: the right kinds, never oneself, and each as likely.

mod world;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tracker::{Rules, Tracker};
use wire::tracker::{Announce, Event, Peers};
use world::{START, address, announce, info_hash, now, open, private, tell, torrent, user};

fn seeder(torrent: u32, user: u32, client: u32) -> Announce {
    Announce { left: 0, ..announce(torrent, user, client) }
}

/// The statistic of Pearson's test, less what is its mean, in standard deviations.
fn deviation(counts: &[u32]) -> f64 {
    let all: u32 = counts.iter().sum();
    let expected = f64::from(all) / counts.len() as f64;
    let square =
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum::<f64>();
    let freedom = (counts.len() - 1) as f64;
    (square - freedom) / (2.0 * freedom).sqrt()
}

#[test]
fn every_peer_of_a_kind_is_told_as_often() {
    // Small and large swarms, few and many wanted; p > 0.001 is about 3.1 deviations.
    for (peers, wanted, rounds) in [(30, 7, 6000), (600, 50, 3000), (5000, 50, 4000)] {
        let tracker = Tracker::new(Rules { gap_seconds: 0, ..open() });
        for client in 0..peers {
            tell(&tracker, &seeder(1, 0, client), START).unwrap();
        }
        let mut counts = vec![0; peers as usize];
        let asker = Announce {
            peers_wanted: Some(wanted),
            event: Event::Update,
            ..announce(1, 0, 1_000_000)
        };
        for _ in 0..rounds {
            let (_, told) = tell(&tracker, &asker, START + 1).unwrap();
            let mut once = told.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!((told.len(), once.len()), (wanted as usize, wanted as usize));
            told.iter().for_each(|client| counts[*client as usize] += 1);
        }
        // Without replacement the counts vary a little less than Pearson has it.
        let deviation = deviation(&counts);
        assert!(deviation.abs() < 4.0, "{peers} peers: {deviation} deviations");
    }
}

#[test]
fn who_takes_is_told_of_givers_and_who_gives_of_takers() {
    for (givers, takers) in [(3, 3), (100, 100), (100, 2), (2, 100), (400, 400)] {
        let tracker = Tracker::new(open());
        for client in 0..givers {
            tell(&tracker, &seeder(1, 0, client), START).unwrap();
        }
        for client in givers..givers + takers {
            tell(&tracker, &announce(1, 0, client), START).unwrap();
        }
        let is_giver = |client: &&u32| **client < givers;
        let (counts, told) = tell(&tracker, &announce(1, 0, 1_000_000), START).unwrap();
        let told_givers = told.iter().filter(is_giver).count() as u32;
        assert_eq!(told.len() as u32, (givers + takers).min(50), "{givers} and {takers}");
        assert!(told_givers >= givers.min(38), "{told_givers} givers of {givers} and {takers}");
        assert_eq!(counts.swarm.complete, givers);
        let (_, told) = tell(&tracker, &seeder(1, 0, 1_000_001), START).unwrap();
        assert_eq!(told.iter().filter(is_giver).count(), 0, "who gives needs no givers");
        assert_eq!(told.len() as u32, (takers + 1).min(50));
    }
}

#[test]
fn partial_seeds_give_and_count_as_incomplete() {
    let tracker = Tracker::new(open());
    let partial = Announce { event: Event::Paused, ..announce(1, 0, 7) };
    tell(&tracker, &partial, START).unwrap();
    tell(&tracker, &announce(1, 0, 8), START).unwrap();
    let (told, of) = tell(&tracker, &announce(1, 0, 9), START).unwrap();
    assert_eq!(of.len(), 2, "who takes is told of both");
    assert_eq!((told.swarm.complete, told.swarm.incomplete, told.swarm.partial), (0, 3, 1));
    let (_, of) =
        tell(&tracker, &Announce { event: Event::Paused, ..announce(1, 0, 7) }, START + 60)
            .unwrap();
    assert!(!of.contains(&7) && of.len() == 2, "a partial seed is told of takers: {of:?}");
    tell(&tracker, &seeder(1, 0, 7), START + 120).unwrap();
    assert_eq!(tracker.scrape(&info_hash(1)).unwrap().partial, 0);
}

#[test]
fn nobody_is_told_of_own_sessions() {
    let tracker = Tracker::new(private());
    tracker.put_torrent(&torrent(1));
    (1..=40).for_each(|id| tracker.put_user(&user(id)));
    for client in 0..400 {
        tell(&tracker, &announce(1, 1 + client % 40, client), START).unwrap();
    }
    for _ in 0..50 {
        let asker = Announce { peers_wanted: Some(200), ..announce(1, 5, 4) };
        let (_, told) = tell(&tracker, &asker, START + 60).unwrap();
        assert_eq!(told.len(), 200);
        assert!(told.iter().all(|client| client % 40 != 4), "{told:?}");
    }
}

#[test]
fn a_client_that_moved_is_not_told_of_where_it_was() {
    for others in [1, 300] {
        let tracker = Tracker::new(Rules { peers_max: 500, ..open() });
        for client in 1..=others {
            tell(&tracker, &announce(1, 0, client), START).unwrap();
        }
        let mover = Announce { key: Some(7), peers_wanted: Some(500), ..announce(1, 0, 0) };
        let mut peers = Peers::default();
        tracker.announce(&mover, address(1_000_000), now(START), &mut peers).unwrap();
        peers = Peers::default();
        tracker.announce(&mover, address(1_000_001), now(START + 60), &mut peers).unwrap();
        assert_eq!(peers.v4.len() / 6, others as usize, "all of them but itself");
    }
}

#[test]
fn what_is_foreseen_is_answered_as_it_is_without() {
    // So many that something is foreseen, of torrents with few sessions and with many.
    let tracker = Tracker::new(Rules { gap_seconds: 0, ..private() });
    (1..=200).for_each(|id| tracker.put_torrent(&torrent(id)));
    (1..=500).for_each(|id| tracker.put_user(&user(id)));
    let of = |number: u32| {
        let torrent = if number < 12_000 { 1 } else { 1 + number % 200 };
        announce(torrent, 1 + number % 500, number)
    };
    let (all, strangers) = (24_000, [announce(1, 900, 1), announce(900, 1, 1)]);
    for turn in (0..all).collect::<Vec<u32>>().chunks(64) {
        let together: Vec<Announce> = turn.iter().map(|number| of(*number)).collect();
        tracker.foresee(&together);
        for (announce, number) in together.iter().zip(turn) {
            tracker
                .announce(announce, address(*number), now(START), &mut Peers::default())
                .unwrap();
        }
    }
    let nobodys = [Announce { passkey: None, ..of(3) }, of(4)];
    tracker.foresee(&[&strangers[..], &nobodys[..]].concat());
    for stranger in &strangers {
        assert!(tell(&tracker, stranger, START).is_err());
    }
    assert_eq!(tracker.status().sessions, all as usize);
    for number in [5, 23_999] {
        let again = [of(number), of(number + 1)];
        tracker.foresee(&again);
        let (_, told) = tell(&tracker, &again[0], START + 60).unwrap();
        assert!(told.len() > 40 && !told.contains(&number), "{told:?}");
    }
    assert_eq!(tracker.status().sessions, all as usize, "each is found where it is");
}

#[test]
fn both_sockets_of_a_client_are_one_session_with_both_addresses() {
    let tracker = Tracker::new(private());
    tracker.put_torrent(&torrent(1));
    (1..=2).for_each(|id| tracker.put_user(&user(id)));
    let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let mapped = IpAddr::V6(Ipv4Addr::new(10, 9, 8, 7).to_ipv6_mapped());
    let mut peers = Peers::default();
    let first = Announce { key: Some(1), ..announce(1, 1, 1) };
    let second = Announce { key: Some(2), ..announce(1, 1, 1) };
    tracker.announce(&first, mapped, now(START), &mut peers).unwrap();
    tracker.announce(&second, v6, now(START), &mut peers).unwrap();
    let told = tracker.announce(&announce(1, 2, 2), address(2), now(START), &mut peers).unwrap();
    assert_eq!(told.swarm.incomplete, 2);
    assert_eq!(peers.v4, [10, 9, 8, 7, 0x1a, 0xe1]);
    assert_eq!(peers.v6[..16], Ipv6Addr::LOCALHOST.octets());
    assert_eq!(peers.v6[16..], [0x1a, 0xe1]);
    let mut only_v6 = Peers { without_v4: true, with_ids: true, ..Peers::default() };
    tracker.announce(&announce(1, 2, 2), address(2), now(START), &mut only_v6).unwrap();
    assert_eq!((only_v6.v4.len(), only_v6.v6.len(), only_v6.ids.len()), (0, 18, 1));
}

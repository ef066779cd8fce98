//! Who may announce what, and when sessions end.

mod world;

use tracker::{Denied, Refusal, Rules, Torrent, TorrentId, Tracker, User, UserId};
use wire::tracker::{Announce, Event};
use world::{START, announce, info_hash, now, open, peer_id, private, tell, torrent, user};

fn site(users: impl IntoIterator<Item = User>) -> Tracker {
    let tracker = Tracker::new(private());
    (1..=9).for_each(|id| tracker.put_torrent(&torrent(id)));
    users.into_iter().for_each(|user| tracker.put_user(&user));
    tracker
}

fn refusal(tracker: &Tracker, announce: &Announce, at: u32) -> Option<Refusal> {
    tell(tracker, announce, at).err()
}

#[test]
fn strangers_are_sent_away_with_the_reason() {
    let tracker = site([user(1)]);
    let known = announce(1, 1, 1);
    for (told, expected) in [
        (known.clone(), None),
        (Announce { passkey: None, ..known.clone() }, Some(Refusal::NoPasskey)),
        (announce(1, 2, 1), Some(Refusal::UnknownPasskey)),
        (announce(99, 1, 1), Some(Refusal::UnknownTorrent)),
        (Announce { port: 0, ..known.clone() }, Some(Refusal::Port { port: 0 })),
    ] {
        assert_eq!(refusal(&tracker, &told, START), expected, "{told:?}");
    }
    tracker.remove_torrent(TorrentId(1));
    assert_eq!(refusal(&tracker, &known, START), Some(Refusal::DeletedTorrent));
    assert_eq!(tracker.status().sessions, 0);
    tracker.remove_user(UserId(1));
    assert_eq!(refusal(&tracker, &announce(2, 1, 1), START), Some(Refusal::UnknownPasskey));
}

#[test]
fn who_stops_is_never_sent_away() {
    let tracker = site([User { may_leech: false, ..user(1) }]);
    let stopped = Announce { event: Event::Stopped, ..announce(1, 1, 1) };
    for told in [
        stopped.clone(),
        Announce { port: 0, ..stopped.clone() },
        Announce { info_hash: info_hash(99), ..stopped },
    ] {
        assert_eq!(refusal(&tracker, &told, START), None);
    }
}

#[test]
fn limits_hold_and_are_lifted() {
    let tracker = site([
        User { may_leech: false, ..user(1) },
        User { peers_max: 2, ..user(2) },
        User { torrents_max: 2, ..user(3) },
        User { wait_seconds: 7200, ..user(4) },
    ]);
    tracker.put_torrent(&Torrent { made: START - 3600, ..torrent(5) });
    let check = |torrent, user, client, left, expected| {
        let told = Announce { left, ..announce(torrent, user, client) };
        assert_eq!(refusal(&tracker, &told, START), expected, "{torrent} {user} {client}");
    };
    check(1, 1, 1, 9, Some(Refusal::MayNotLeech));
    check(1, 1, 1, 0, None);
    check(1, 2, 1, 9, None);
    check(1, 2, 2, 0, None);
    check(1, 2, 3, 9, Some(Refusal::TooManyPeers { max: 2 }));
    check(2, 2, 3, 9, None);
    check(1, 3, 1, 9, None);
    check(2, 3, 1, 9, None);
    check(2, 3, 2, 9, None);
    check(3, 3, 1, 9, Some(Refusal::TooManyTorrents { max: 2 }));
    check(3, 3, 1, 0, None);
    check(1, 3, 1, 0, None);
    check(4, 3, 1, 9, None);
    check(5, 4, 1, 9, Some(Refusal::Wait { minutes: 60 }));
    check(5, 4, 1, 0, None);
}

#[test]
fn what_was_sent_counts_also_of_who_may_not_go_on() {
    let tracker = site([user(1)]);
    tell(&tracker, &announce(1, 1, 1), START).unwrap();
    tracker.put_user(&User { may_leech: false, ..user(1) });
    let later = Announce { uploaded: 5, event: Event::Update, ..announce(1, 1, 1) };
    assert_eq!(refusal(&tracker, &later, START + 1800), Some(Refusal::MayNotLeech));
    assert_eq!(tracker.status().sessions, 0);
    let batch = tracker.take_batch(now(START + 1800)).unwrap();
    assert_eq!((batch.credits[0].uploaded, batch.credits[0].is_active), (5, false));
}

#[test]
fn coming_too_often_is_refused_and_loses_nothing() {
    let tracker = site([user(1)]);
    let at = |uploaded| Announce { uploaded, event: Event::Update, ..announce(1, 1, 1) };
    tell(&tracker, &announce(1, 1, 1), START).unwrap();
    let soon = refusal(&tracker, &at(10), START + 3);
    assert_eq!(soon, Some(Refusal::TooOften { seconds: 7 }));
    assert_eq!(refusal(&tracker, &at(30), START + 60), None);
    assert_eq!(tracker.take_batch(now(START)).unwrap().credits[0].uploaded, 30);
    let stopped = Announce { event: Event::Stopped, ..at(30) };
    assert_eq!(refusal(&tracker, &stopped, START + 61), None);
}

#[test]
fn silent_sessions_end_and_the_site_hears_of_it() {
    for clients in [5, 500] {
        let tracker = site((1..=600).map(user));
        for client in 0..clients {
            tell(&tracker, &announce(1, 1 + client, client), START).unwrap();
        }
        while let Some(batch) = tracker.take_batch(now(START)) {
            tracker.written(batch.number);
        }
        let mut at = START;
        let kept = Announce { event: Event::Update, ..announce(1, 3, 2) };
        while at < START + 3000 {
            at += 20;
            tell(&tracker, &kept, at).unwrap();
            tracker.tick(now(at));
        }
        assert_eq!(tracker.status().sessions, 1);
        let mut ended = 0;
        while let Some(batch) = tracker.take_batch(now(at)) {
            ended += batch.credits.iter().filter(|credit| !credit.is_active).count();
            tracker.written(batch.number);
        }
        assert_eq!(ended as u32, clients - 1);
        assert_eq!(tracker.user(UserId(1)).unwrap().taking, 0);
        assert_eq!(tracker.user(UserId(3)).unwrap().taking, 1);
    }
}

#[test]
fn an_open_tracker_makes_torrents_and_forgets_empty_ones() {
    let tracker = Tracker::new(Rules { denied: [info_hash(3)].into(), ..open() });
    tell(&tracker, &announce(1, 0, 1), START).unwrap();
    assert_eq!(refusal(&tracker, &announce(3, 0, 1), START), Some(Refusal::UnknownTorrent));
    // A stranger who knows a peer id ends nobody's session from elsewhere.
    let mut peers = wire::tracker::Peers::default();
    let stopped = Announce { event: Event::Stopped, ..announce(1, 0, 1) };
    tracker.announce(&stopped, world::address(77), now(START), &mut peers).unwrap();
    assert_eq!(tracker.status().sessions, 1);
    tell(&tracker, &stopped, START).unwrap();
    assert_eq!(tracker.status().sessions, 0);
    let _ = tracker.take_batch(now(START));
    (0..20).for_each(|step| tracker.tick(now(START + step * 60)));
    assert_eq!(tracker.status().torrents, 0);
}

#[test]
fn loading_anew_drops_what_is_gone_and_keeps_the_rest() {
    let tracker = site((1..=4).map(user));
    (1..=4).for_each(|id| drop(tell(&tracker, &announce(id, id, id), START).unwrap()));
    tracker.begin_loading();
    (1..=2).for_each(|id| tracker.put_torrent(&torrent(id)));
    (1..=3).for_each(|id| tracker.put_user(&user(id)));
    tracker.finish_loading();
    let status = tracker.status();
    assert_eq!((status.torrents, status.users, status.sessions), (2, 3, 2));
    assert_eq!(tracker.user(UserId(1)).unwrap().sessions[0].2.peer_id, peer_id(1));
    let hybrid = Torrent { info_hash_v2: Some(info_hash(200)), ..torrent(1) };
    tracker.put_torrent(&hybrid);
    assert_eq!(tracker.scrape(&info_hash(200)).unwrap().incomplete, 1);
    tracker.put_torrent(&Torrent { info_hash: info_hash(201), ..torrent(1) });
    assert_eq!(tracker.scrape(&info_hash(1)), None, "the number has another hash now");
}

#[test]
fn who_can_be_reached_is_found_out_where_the_rules_want_it() {
    let listens = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listens.local_addr().unwrap().port();
    let from = std::net::IpAddr::from([127, 0, 0, 1]);
    for checks_ports in [false, true] {
        let tracker = Tracker::new(Rules { checks_ports, ..private() });
        tracker.put_torrent(&torrent(1));
        (1..=2).for_each(|id| tracker.put_user(&user(id)));
        let mut peers = wire::tracker::Peers::default();
        let told = Announce { port, ..announce(1, 1, 1) };
        tracker.announce(&told, from, now(START), &mut peers).unwrap();
        let reach = |user| tracker.user(UserId(user)).unwrap().sessions[0].2.is_connectable;
        let mut turns = 0;
        while reach(1).is_none() && turns < if checks_ports { 10_000_000 } else { 3 } {
            tracker.tick(now(START));
            std::thread::yield_now();
            turns += 1;
        }
        assert_eq!(reach(1), checks_ports.then_some(true));
        let credits = &tracker.take_batch(now(START)).unwrap().credits;
        assert_eq!(credits[0].last.is_connectable, checks_ports.then_some(true));
        let again = Announce { event: Event::Update, ..told.clone() };
        tracker.announce(&again, from, now(START + 1800), &mut peers).unwrap();
        assert_eq!(reach(1), checks_ports.then_some(true), "it is where it was");
        let moved = Announce { port: port ^ 1, ..again };
        tracker.announce(&moved, from, now(START + 3600), &mut peers).unwrap();
        assert_eq!(reach(1), None, "what was found out of another port says nothing");
    }
}

#[test]
fn lists_say_which_torrents_and_clients_come() {
    let clients =
        tracker::Clients { only: vec![b"-WK".to_vec()], denied: vec![b"-WK0002".to_vec()] };
    let rules = Rules { only: Some([info_hash(1)].into()), clients, ..open() };
    let tracker = Tracker::new(rules);
    let named = |name: &[u8; 8]| {
        let mut told = announce(1, 0, 1);
        told.peer_id.0[..8].copy_from_slice(name);
        refusal(&tracker, &told, START)
    };
    assert_eq!(named(b"-WK0001-"), None);
    assert_eq!(named(b"-WK0002-"), Some(Refusal::Client));
    assert_eq!(named(b"-TR2940-"), Some(Refusal::Client));
    assert_eq!(refusal(&tracker, &announce(2, 0, 1), START), Some(Refusal::UnknownTorrent));
}

#[test]
fn whom_the_site_turns_away_is_refused_until_it_does_no_more() {
    let tracker = site([user(1)]);
    let known = announce(1, 1, 1);
    let bad_client = Denied::new(Vec::new(), vec![known.peer_id.0[..8].to_vec()]);
    let bad_address = Denied::new(vec![(0, u32::MAX)], Vec::new());
    for (denied, expected) in [
        (bad_client, Some(Refusal::Client)),
        (bad_address, Some(Refusal::Address)),
        (Denied::default(), None),
    ] {
        tracker.set_denied(denied);
        assert_eq!(refusal(&tracker, &known, START), expected);
        let stopped = Announce { event: Event::Stopped, ..known.clone() };
        assert_eq!(refusal(&tracker, &stopped, START), None, "who stops is never sent away");
    }
}

#[test]
fn both_names_of_a_hybrid_torrent_lead_to_one_swarm() {
    let tracker = site((1..=2).map(user));
    tracker.put_torrent(&Torrent { info_hash_v2: Some(info_hash(200)), ..torrent(1) });
    tell(&tracker, &announce(1, 1, 1), START).unwrap();
    let by_second = Announce { info_hash: info_hash(200), ..announce(1, 2, 2) };
    let (told, of) = tell(&tracker, &by_second, START).unwrap();
    assert_eq!((told.swarm.incomplete, of), (2, vec![1]));
    tracker.remove_torrent(TorrentId(1));
    assert_eq!(refusal(&tracker, &by_second, START), Some(Refusal::UnknownTorrent));
}

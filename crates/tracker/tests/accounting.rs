//! What a batch says of what users did: snatches, seeding, what bytes are worth, and what a site
//! needs to find who took and ran.

mod world;

use tracker::rights::Worth;
use tracker::{Credit, Free, Torrent, TorrentId, Tracker, User, UserId};
use wire::tracker::{Announce, Event};
use world::{START, announce, folder, now, private, tell, torrent, user};

const HOUR: u32 = 3600;

fn site() -> Tracker {
    let tracker = Tracker::new(private());
    (1..=4).for_each(|id| tracker.put_torrent(&torrent(id)));
    (1..=4).for_each(|id| tracker.put_user(&user(id)));
    tracker
}

/// All that was earned since the last time.
fn credits(tracker: &Tracker, at: u32) -> Vec<Credit> {
    let (mut credits, mut rounds) = (Vec::new(), 0);
    // A round may have begun already.
    while rounds < 2 {
        match tracker.take_batch(now(at)) {
            Some(batch) => {
                credits.extend_from_slice(&batch.credits);
                tracker.written(batch.number);
            }
            None => rounds += 1,
        }
    }
    credits.sort_by_key(|credit| (credit.user, credit.torrent));
    credits
}

/// Bytes sent, taken and lacked, and why it is said.
fn says(uploaded: u64, downloaded: u64, left: u64, event: Event) -> Announce {
    Announce { uploaded, downloaded, left, event, ..announce(1, 1, 1) }
}

#[test]
fn a_snatch_is_counted_where_a_leecher_becomes_a_seeder_and_nowhere_else() {
    use Event::{Completed, Paused, Started, Stopped, Update};
    for (name, told, expected) in [
        ("completed", vec![(9, Started), (0, Completed)], 1),
        ("completed twice", vec![(9, Started), (0, Completed), (0, Completed)], 1),
        ("completed lacking something", vec![(9, Started), (3, Completed), (0, Update)], 1),
        ("never said it", vec![(9, Started), (0, Update)], 1),
        ("said it at the start", vec![(0, Completed), (0, Update)], 0),
        ("a seeder that comes", vec![(0, Started), (0, Update)], 0),
        ("a recheck", vec![(9, Started), (0, Completed), (4, Update), (0, Update)], 2),
        ("a part and no more", vec![(9, Started), (4, Paused), (4, Paused)], 0),
        ("a part and the rest", vec![(9, Started), (4, Paused), (0, Update)], 1),
        ("at the last moment", vec![(9, Started), (0, Stopped)], 1),
    ] {
        let tracker = site();
        for (at, (left, event)) in (START..).step_by(60).zip(told) {
            tell(&tracker, &says(0, 0, left, event), at).unwrap();
        }
        assert_eq!(credits(&tracker, START)[0].completed, expected, "{name}");
        assert_eq!(tracker.scrape(&world::info_hash(1)).unwrap().downloaded, expected, "{name}");
    }
}

#[test]
fn seeding_counts_between_two_announces_that_seed_and_no_gap() {
    use Event::{Completed, Started, Stopped, Update};
    for (name, told, expected) in [
        ("seeds", vec![(0, 0, Started), (1800, 0, Update), (3600, 0, Update)], 3600),
        ("took until then", vec![(0, 9, Started), (1800, 0, Completed), (3600, 0, Update)], 1800),
        ("stops", vec![(0, 0, Started), (600, 0, Stopped)], 600),
        ("was away", vec![(0, 0, Started), (9 * 3600, 0, Update), (9 * 3600 + 60, 0, Update)], 60),
        ("came back", vec![(0, 0, Started), (600, 0, Stopped), (5000, 0, Started)], 600),
        ("takes", vec![(0, 9, Started), (1800, 5, Update)], 0),
    ] {
        let tracker = site();
        for (after, left, event) in told {
            tell(&tracker, &says(0, 0, left, event), START + after).unwrap();
        }
        assert_eq!(credits(&tracker, START)[0].seeded_seconds, expected, "{name}");
    }
}

#[test]
fn the_better_of_what_user_and_torrent_are_worth_counts_and_what_was_told_stands_beside() {
    let worth = |uploaded, downloaded| Worth { uploaded, downloaded };
    let plain = worth(100, 100);
    for (name, of_torrent, of_user, expected) in [
        ("plain", plain, plain, (1000, 500)),
        ("freeleech", worth(100, 0), plain, (1000, 0)),
        ("double upload", worth(200, 100), plain, (2000, 500)),
        ("a user who leeches free", plain, worth(100, 0), (1000, 0)),
        ("half", worth(100, 50), plain, (1000, 250)),
        ("the better of both", worth(150, 50), worth(200, 100), (2000, 250)),
        ("worth nothing", worth(0, 100), worth(0, 100), (0, 500)),
        ("neutral", worth(0, 0), worth(200, 100), (0, 0)),
    ] {
        let tracker = site();
        tracker.put_torrent(&Torrent { worth: of_torrent, ..torrent(1) });
        tracker.put_user(&User { worth: of_user, ..user(1) });
        tell(&tracker, &says(0, 0, 9, Event::Started), START).unwrap();
        tell(&tracker, &says(1000, 500, 9, Event::Update), START + 60).unwrap();
        let credit = &credits(&tracker, START)[0];
        assert_eq!((credit.uploaded, credit.downloaded), expected, "{name}");
        assert_eq!((credit.told_uploaded, credit.told_downloaded), (1000, 500), "{name}");
    }
}

#[test]
fn what_is_free_costs_whom_it_is_free_for_nothing_as_long_as_it_is() {
    let tracker = site();
    let pair = |user, torrent| (UserId(user), TorrentId(torrent));
    let mut told = says(0, 0, 9, Event::Started);
    tell(&tracker, &told, START).unwrap();
    let mut credit = |free: Free, downloaded| {
        tracker.set_free(free);
        told = says(downloaded, downloaded, 9, Event::Update);
        tell(&tracker, &told, START + downloaded as u32).unwrap();
        let credit = credits(&tracker, START)[0].clone();
        (credit.uploaded, credit.downloaded, credit.told_downloaded)
    };
    assert_eq!(credit(Free::new(vec![pair(2, 1), pair(1, 2)], vec![]), 100), (100, 100, 100));
    assert_eq!(credit(Free::new(vec![pair(1, 1)], vec![]), 200), (100, 0, 100));
    assert_eq!(credit(Free::new(vec![], vec![UserId(1)]), 300), (100, 0, 100));
    assert_eq!(credit(Free::default(), 400), (100, 100, 100));
}

#[test]
fn who_takes_and_runs_can_be_found() {
    let tracker = site();
    tell(&tracker, &says(0, 0, 1000, Event::Started), START).unwrap();
    tell(&tracker, &says(10, 1000, 0, Event::Completed), START + HOUR).unwrap();
    tell(&tracker, &says(20, 1000, 0, Event::Stopped), START + HOUR + 120).unwrap();
    let credit = &credits(&tracker, START)[0];
    assert_eq!((credit.completed, credit.seeded_seconds), (1, 120));
    assert_eq!((credit.uploaded, credit.downloaded, credit.left), (20, 1000, Some(0)));
    assert_eq!((credit.is_active, credit.last.has_stopped), (false, true));
    assert_eq!(credit.announced, START + HOUR + 120);
}

#[test]
fn sessions_and_torrents_of_one_user_add_up() {
    let tracker = site();
    for (torrent, client) in [(1, 1), (1, 2), (2, 1)] {
        tell(&tracker, &announce(torrent, 1, client), START).unwrap();
        let told = Announce {
            uploaded: 10 * u64::from(torrent) + u64::from(client),
            event: Event::Update,
            ..announce(torrent, 1, client)
        };
        tell(&tracker, &told, START + 60).unwrap();
    }
    let sums: Vec<_> = credits(&tracker, START)
        .iter()
        .map(|credit| (credit.torrent.0, credit.uploaded, credit.announces))
        .collect();
    assert_eq!(sums, [(1, 11 + 12, 4), (2, 21, 2)]);
}

#[test]
fn each_client_of_a_user_is_told_whoever_of_them_came_last_and_after_a_restart_too() {
    let state = folder();
    let (tracker, _) = Tracker::open(state.path(), private(), now(START)).unwrap();
    tracker.put_torrent(&torrent(1));
    tracker.put_user(&user(1));
    let says = |client, uploaded, left, event, at| {
        let says = Announce { uploaded, left, event, ..announce(1, 1, client) };
        tell(&tracker, &says, START + at).unwrap();
    };
    (1..=2).for_each(|client| says(client, 0, 100, Event::Started, 0));
    says(1, 10, 90, Event::Update, 60);
    says(2, 200, 0, Event::Completed, 61);
    says(1, 15, 80, Event::Update, 120);
    says(2, 230, 0, Event::Stopped, 121);
    says(1, 16, 70, Event::Update, 180);
    let check = |tracker: &Tracker| {
        let credits = credits(tracker, START + 200);
        let [credit] = &credits[..] else { panic!("one user, one torrent: {credits:?}") };
        assert_eq!((credit.uploaded, credit.left, credit.is_active), (246, Some(70), true));
        let told: Vec<_> = credit.others.iter().chain([&credit.last]).collect();
        let told: Vec<_> = told
            .iter()
            .map(|it| (it.credited_uploaded, it.left, it.is_active, it.announced - START))
            .collect();
        assert_eq!(told, [(230, Some(0), false, 121), (16, Some(70), true, 180)]);
        assert_eq!((credit.last.announces, credit.others[0].announces), (4, 3));
    };
    tracker.flush_journal().unwrap();
    // From the journal, from a checkpoint, and from a batch that was made before a kill.
    drop(tracker);
    let again = || Tracker::open(state.path(), private(), now(START)).unwrap().0;
    again().checkpoint(now(START)).unwrap();
    let tracker = again();
    check(&tracker);
    drop(tracker);
    check(&again());
}

#[test]
fn a_database_that_is_away_costs_disk_and_hardly_memory() {
    let state = folder();
    let rules = tracker::Rules { pending_max: 100, gap_seconds: 0, ..private() };
    let (tracker, _) = Tracker::open(state.path(), rules, now(START)).unwrap();
    (1..=200).for_each(|id| tracker.put_torrent(&torrent(id)));
    (1..=20).for_each(|id| tracker.put_user(&user(id)));
    let mut told = 0;
    for round in 0..4 {
        for id in 1..=200 {
            for whose in 1..=20 {
                let uploaded = u64::from(round) * 1000;
                let event = if round == 0 { Event::Started } else { Event::Update };
                let says = Announce { uploaded, event, ..announce(id, whose, whose) };
                tell(&tracker, &says, START + round * 900).unwrap();
                told += 1;
            }
            tracker.tick(now(START + round * 900));
            assert!(tracker.status().credits_pending <= 120, "{:?}", tracker.status());
        }
    }
    assert!(tracker.status().batches_behind > 100, "they wait on disk");
    let all = credits(&tracker, START + 4000);
    assert_eq!(all.iter().map(|credit| u64::from(credit.announces)).sum::<u64>(), told);
    assert_eq!(all.iter().map(|credit| credit.uploaded).sum::<u64>(), 200 * 20 * 3000);
}

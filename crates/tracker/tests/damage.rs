//! State on disk that is cut or damaged: what is good is read, and what is lost is said.

mod world;

use std::fs;

use tracker::{Loaded, TorrentId, Tracker, UserId};
use wire::tracker::{Announce, Event};
use world::{START, announce, folder, info_hash, now, private, tell, torrent, user};

const ENTRIES: u32 = 12;

/// A journal of clients that each began at a torrent of their own.
fn journal() -> (tempfile::TempDir, Vec<u8>) {
    let state = folder();
    let (tracker, _) = Tracker::open(state.path(), private(), now(START)).expect("state on disk");
    for id in 1..=ENTRIES {
        tracker.put_torrent(&torrent(id));
        tracker.put_user(&user(id));
        tell(&tracker, &announce(id, id, id), START).expect("state on disk");
    }
    tracker.flush_journal().expect("state on disk");
    drop(tracker);
    let bytes = fs::read(state.path().join("journal-00000001")).expect("state on disk");
    (state, bytes)
}

fn load(bytes: &[u8]) -> (Tracker, Loaded) {
    let state = folder();
    fs::write(state.path().join("journal-00000001"), bytes).expect("state on disk");
    Tracker::open(state.path(), private(), now(START)).expect("state on disk")
}

#[test]
fn a_journal_cut_anywhere_has_all_entries_before_the_cut() {
    let (_state, bytes) = journal();
    let length = bytes.len() / ENTRIES as usize;
    assert_eq!(bytes.len() % ENTRIES as usize, 0, "entries are alike here");
    // Every byte of the first entries, and the rest by sevens.
    let cuts = (0..2 * length).chain((2 * length..=bytes.len()).step_by(7));
    for cut in cuts {
        let (_, loaded) = load(&bytes[..cut]);
        let expected = (cut / length, (cut % length) as u64);
        assert_eq!((loaded.sessions, loaded.damaged_bytes), expected, "cut at {cut}");
    }
}

#[test]
fn a_damaged_byte_costs_its_own_entry() {
    let (_state, bytes) = journal();
    let length = bytes.len() / ENTRIES as usize;
    for at in (0..bytes.len()).step_by(11) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x40;
        let (tracker, loaded) = load(&damaged);
        assert_eq!(loaded.sessions as u32, ENTRIES - 1, "byte {at}");
        assert_eq!(loaded.damaged_bytes, length as u64, "byte {at}");
        let gone = info_hash((at / length) as u32 + 1);
        assert_eq!(tracker.scrape(&gone), None, "byte {at}");
    }
}

#[test]
fn a_checkpoint_brings_all_back_and_a_damaged_one_most() {
    let state = folder();
    let (tracker, _) = Tracker::open(state.path(), private(), now(START)).unwrap();
    (1..=20).for_each(|id| tracker.put_torrent(&torrent(id)));
    (1..=300).for_each(|id| tracker.put_user(&user(id)));
    for client in 0..3000 {
        let told = Announce {
            left: u64::from(client % 3),
            event: if client % 7 == 1 { Event::Paused } else { Event::Started },
            ..announce(1 + client % 20, 1 + client % 300, client)
        };
        tell(&tracker, &told, START).unwrap();
    }
    let before: Vec<_> = (1..=20).map(|id| tracker.scrape(&info_hash(id))).collect();
    tracker.checkpoint(now(START)).unwrap();
    drop(tracker);
    let (tracker, loaded) = Tracker::open(state.path(), private(), now(START)).unwrap();
    let counts = (loaded.sessions, loaded.torrents, loaded.users, loaded.damaged_bytes);
    assert_eq!(counts, (3000, 20, 300, 0));
    let after: Vec<_> = (1..=20).map(|id| tracker.scrape(&info_hash(id))).collect();
    assert_eq!(after, before);
    tell(&tracker, &announce(1, 1, 0), START + 60).expect("passkeys are known again");
    drop(tracker);
    let shard = state.path().join("checkpoint-00000002/shard-03");
    let mut bytes = fs::read(&shard).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let (_, loaded) = Tracker::open(state.path(), private(), now(START)).unwrap();
    assert!(loaded.damaged_bytes > 0 && loaded.sessions >= 2850, "{loaded:?}");
}

#[test]
fn a_folder_is_one_process_s() {
    let state = folder();
    let (_tracker, _) = Tracker::open(state.path(), private(), now(START)).unwrap();
    let refused = Tracker::open(state.path(), private(), now(START)).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("another process"), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_was_open_to_others_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let state = folder();
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (_tracker, _) = Tracker::open(state.path(), private(), now(START)).unwrap();
    let mode = fs::metadata(state.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn the_ledger_says_why() {
    let (state, _) = journal();
    let (tracker, _) = Tracker::open(state.path(), private(), now(START)).unwrap();
    tracker.put_user(&user(3));
    let told = |uploaded, at| {
        let told = Announce { uploaded, event: Event::Update, ..announce(3, 3, 3) };
        tell(&tracker, &told, at).unwrap();
    };
    told(100, START + 1800);
    told(40, START + 3600);
    let entries = tracker.explain(UserId(3), TorrentId(3)).unwrap();
    let said: Vec<_> = entries.iter().map(|entry| (entry.uploaded, entry.rule)).collect();
    use tracker::Rule::{Began, Counted, Restarted};
    assert_eq!(said, [(0, Began), (100, Counted), (0, Restarted)]);
    assert_eq!(tracker.explain(UserId(4), TorrentId(3)).unwrap(), []);
}

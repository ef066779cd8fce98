//! The tier as its user sees it: restarts, kills, damage, and what is full.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, mpsc};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

use super::{Disk, DiskOptions, Past, Put, read_record, write_blocks};

fn options(folder: &Path) -> DiskOptions<'static> {
    DiskOptions {
        folder: folder.join("disk"),
        size_bytes: 64 << 20,
        index_bytes_max: 1 << 20,
        boot: b"boot".to_vec(),
        unix_seconds: 1_800_000_000,
        complain: Box::new(|_| {}),
        secret: &|known| known.unwrap_or(7),
    }
}

fn open_with(options: DiskOptions<'_>) -> (Disk, Past) {
    let disk = Disk::begin(options).expect("a folder of ours");
    let past = disk.open().expect("it can be read").expect("it is free");
    (disk, past)
}

/// The tier at work, and what it was told before.
fn open(folder: &Path) -> (Disk, Vec<Vec<u8>>, Option<&'static str>) {
    let (disk, past) = open_with(options(folder));
    let (told, emptied) = (past.told.clone(), past.emptied);
    told.iter().for_each(|told| disk.told(told));
    disk.settle(past);
    (disk, told, emptied)
}

fn put(disk: &Disk, hash: u64, payload: &[u8]) -> u64 {
    let sequence = disk.next_sequence();
    let bytes = payload.to_vec();
    let is_taken = disk.put(Put {
        sequence,
        hash,
        key: hash.to_string().into_bytes().into(),
        floor: disk.run(),
        fingerprint: 0,
        bytes: payload.len(),
        is_bulk: false,
        done: None,
        write: Box::new(move |out| out.extend_from_slice(&bytes)),
    });
    assert!(is_taken, "the queue has room");
    sequence
}

/// Waits until all that was put is written.
fn flush(disk: &Disk) {
    let (tell, told) = mpsc::channel::<()>();
    let sequence = disk.next_sequence();
    // What is never wanted is never written; the closure goes when its turn comes.
    disk.put(Put {
        sequence,
        hash: 0,
        key: Box::default(),
        floor: 0,
        fingerprint: 0,
        bytes: 0,
        is_bulk: false,
        done: None,
        write: Box::new(move |_| drop(tell)),
    });
    let _ = told.recv();
    disk.remove(0, |_| true);
}

fn found(disk: &Disk, hash: u64) -> Vec<Vec<u8>> {
    let read = |place| {
        let bytes = disk.read(place)?;
        let (record, _) = read_record(&bytes, disk.secret())?;
        assert_eq!(record.key, hash.to_string().as_bytes());
        Some(record.payload.to_vec())
    };
    disk.places(hash).iter().filter_map(read).collect()
}

/// As if the process had been killed: nothing is ended in good order. Its lock goes with it.
fn kill(disk: Disk) {
    flush(&disk);
    disk.inner.shelf.lock().lock = None;
    // The thread goes with the last clone.
    drop(disk);
}

#[test]
fn what_was_put_is_there_after_a_stop_and_after_a_kill() {
    let folder = TempDir::new().expect("a folder");
    let (disk, ..) = open(folder.path());
    put(&disk, 1, b"one");
    disk.told(b"a purge");
    disk.close();
    let (disk, told, emptied) = open(folder.path());
    assert_eq!((told, emptied), (vec![b"a purge".to_vec()], None));
    assert_eq!(found(&disk, 1), [b"one"]);
    put(&disk, 2, b"two");
    put(&disk, 1, b"another one");
    kill(disk);
    let (disk, told, emptied) = open(folder.path());
    assert_eq!((told.len(), emptied), (1, None));
    assert_eq!(
        (found(&disk, 1), found(&disk, 2)),
        (vec![b"one".to_vec(), b"another one".to_vec()], vec![b"two".to_vec()])
    );
    assert!(!disk.holds(3));
}

#[test]
fn what_was_removed_is_not_there_after_a_kill() {
    let folder = TempDir::new().expect("a folder");
    let (disk, ..) = open(folder.path());
    let first = put(&disk, 1, b"one");
    put(&disk, 1, b"two");
    put(&disk, 2, b"other");
    flush(&disk);
    disk.remove(1, |place| place.sequence == first);
    disk.remove(2, |_| true);
    kill(disk);
    for _ in 0..2 {
        let (disk, ..) = open(folder.path());
        assert_eq!(found(&disk, 1), [b"two"]);
        assert!(!disk.holds(2));
        kill(disk);
    }
}

#[test]
fn one_that_waits_for_another_removes_what_it_does_not_see_yet() {
    let folder = TempDir::new().expect("a folder");
    let (old, ..) = open(folder.path());
    put(&old, 1, b"one");
    put(&old, 2, b"two");
    let new = Disk::begin(options(folder.path())).expect("a second one");
    assert!(new.open().expect("it can be looked for").is_none(), "the old one has it");
    new.remove(1, |_| true);
    new.told(b"by the new one");
    assert!(!new.holds(2));
    put(&old, 3, b"three");
    old.told(b"by the old one");
    old.close();
    let third = |told: &[Vec<u8>]| told.iter().any(|told| told == b"by the new one");
    let past = new.open().expect("it can be read").expect("it is free");
    assert_eq!(past.told, [b"by the old one"], "its own it knows");
    past.told.iter().for_each(|told| new.told(told));
    new.settle(past);
    assert_eq!(
        (found(&new, 1), found(&new, 2), found(&new, 3)),
        (vec![], vec![b"two".to_vec()], vec![b"three".to_vec()])
    );
    kill(new);
    let (disk, told, _) = open(folder.path());
    assert!(third(&told) && told.len() == 2, "{told:?}");
    assert!(!disk.holds(1) && disk.holds(2));
}

#[test]
fn what_cannot_be_trusted_is_emptied_with_the_reason() {
    type Case = (&'static str, fn(&Path));
    let cases: [Case; 4] = [
        ("what was purged can't be read any more", |folder| {
            let journal = journal(folder);
            let mut bytes = std::fs::read(&journal).expect("it is there");
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
            std::fs::write(&journal, bytes).expect("it is ours");
        }),
        ("what was purged was not kept", |folder| {
            std::fs::remove_file(journal(folder)).expect("it is ours");
        }),
        ("the machine stopped before it was closed", |_| {}),
        ("what was purged can't be read any more", |folder| {
            std::fs::write(folder.join("disk/secret"), [9; 8]).expect("it is ours");
        }),
    ];
    for (why, spoil) in cases {
        let folder = TempDir::new().expect("a folder");
        let (disk, ..) = open(folder.path());
        put(&disk, 1, b"one");
        kill(disk);
        spoil(folder.path());
        let mut options = options(folder.path());
        if why.starts_with("the machine") {
            options.boot = b"another".to_vec();
        }
        let (disk, past) = open_with(options);
        assert_eq!((past.emptied, past.records), (Some(why), 0));
        disk.settle(past);
        assert!(!disk.holds(1));
        put(&disk, 1, b"new");
        kill(disk);
        // What is written after that counts, on the same start of the machine.
        let (disk, _, emptied) = open(folder.path());
        let is_other_boot = why.starts_with("the machine");
        assert_eq!(emptied, is_other_boot.then_some(why));
        assert_eq!(found(&disk, 1).len(), usize::from(!is_other_boot));
    }
}

fn journal(folder: &Path) -> std::path::PathBuf {
    let all = std::fs::read_dir(folder.join("disk")).expect("it is there").flatten();
    let mut all = all.filter(|entry| entry.file_name().to_string_lossy().starts_with("journal"));
    all.next().expect("there is one").path()
}

#[test]
fn closed_in_good_order_it_outlives_the_machine() {
    let folder = TempDir::new().expect("a folder");
    let (disk, ..) = open(folder.path());
    put(&disk, 1, b"one");
    disk.close();
    let mut options = options(folder.path());
    options.boot = b"another".to_vec();
    let (_, past) = open_with(options);
    assert_eq!((past.emptied, past.records), (None, 1));
}

#[test]
fn a_byte_that_differs_loses_its_record_and_no_other() {
    let folder = TempDir::new().expect("a folder");
    for is_sealed in [false, true] {
        let state = folder.path().join(format!("{is_sealed}"));
        let (disk, ..) = open(&state);
        for hash in 1..=3 {
            put(&disk, hash, &[hash as u8; 20]);
        }
        if is_sealed {
            disk.close()
        } else {
            kill(disk)
        }
        let segment = state.join("disk/segment-00000000");
        let sound = std::fs::read(&segment).expect("it is there");
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&segment, &damaged).expect("it is ours");
            let (disk, ..) = open(&state);
            let pages: Vec<_> = (1..=3).map(|hash| found(&disk, hash)).collect();
            let whole = pages.iter().filter(|page| page.len() == 1).count();
            assert!(whole >= 2, "byte {at}: {pages:?}");
            for (page, hash) in pages.iter().zip(1u8..) {
                assert!(page.iter().all(|page| *page == [hash; 20]), "byte {at}");
            }
            disk.close();
        }
        std::fs::write(&segment, &sound).expect("it is ours");
    }
}

#[test]
fn the_oldest_goes_when_the_folder_or_the_index_is_full() {
    for (size_bytes, index_bytes_max) in [(2 << 20, 1 << 20), (64 << 20, 8 << 10)] {
        let folder = TempDir::new().expect("a folder");
        let mut options = options(folder.path());
        (options.size_bytes, options.index_bytes_max) = (size_bytes, index_bytes_max);
        let (disk, past) = open_with(options);
        disk.settle(past);
        let mut numbers = Vec::new();
        for hash in 1..=400u64 {
            numbers.push(put(&disk, hash, &vec![7; 10_000]));
            flush(&disk);
        }
        let bytes: u64 = std::fs::read_dir(folder.path().join("disk"))
            .expect("it is there")
            .map(|entry| entry.expect("it is listed").metadata().expect("it is there").len())
            .sum();
        assert!(bytes <= size_bytes + (64 << 10), "{bytes}");
        assert!(disk.index_bytes() <= index_bytes_max, "{}", disk.index_bytes());
        assert!(!disk.holds(1) && disk.holds(400));
        assert!(!disk.may_have(numbers[0]) && disk.may_have(numbers[399]));
        assert!(disk.counts().evicted > 100 && disk.counts().failed == 0);
        assert_eq!(found(&disk, 400).len(), 1);
    }
}

const PIECE_BYTES: usize = 10_000;

fn put_piece(disk: &Disk, hash: u64) {
    let (sequence, secret) = (disk.next_sequence(), disk.secret());
    let is_taken = disk.put(Put {
        sequence,
        hash,
        key: hash.to_string().into_bytes().into(),
        floor: u64::MAX,
        fingerprint: 0,
        bytes: 0,
        is_bulk: true,
        done: None,
        write: Box::new(move |out| {
            write_blocks(out, secret, sequence, &[hash as u8; PIECE_BYTES]);
        }),
    });
    assert!(is_taken, "the queue has room");
    flush(disk);
}

/// Whether a piece is there, as it was put.
fn has_piece(disk: &Disk, hash: u64) -> bool {
    let Some(blocks) = disk.open_blocks(hash, hash.to_string().as_bytes()) else { return false };
    let bytes = disk.read_block(&blocks, 0).expect("it is sound");
    assert_eq!(bytes, [hash as u8; PIECE_BYTES]);
    true
}

fn small(folder: &Path) -> DiskOptions<'static> {
    DiskOptions { size_bytes: 2 << 20, ..options(folder) }
}

#[test]
fn pieces_that_are_asked_for_again_outlive_older_and_younger_ones() {
    let folder = TempDir::new().expect("a folder");
    let (disk, past) = open_with(small(folder.path()));
    disk.settle(past);
    // One is asked for again and again, one once, one was often, and long ago.
    for hash in 1..=3 {
        put_piece(&disk, hash);
    }
    assert!(has_piece(&disk, 2) && (0..9).all(|_| has_piece(&disk, 3)));
    let held = disk.open_blocks(1, b"1").expect("it is there");
    for hash in 10..=900 {
        put_piece(&disk, hash);
        assert!(has_piece(&disk, hash) && has_piece(&disk, 1), "{hash}");
    }
    assert!(!disk.holds(2) && !disk.holds(3) && !disk.holds(10) && disk.holds(900));
    let carried = disk.counts().carried;
    assert!((4..20).contains(&carried), "{carried}: one goes as often as the folder is filled");
    // Whoever holds where it was loses nothing but that.
    assert!(disk.read_block(&held, 0).is_none() && has_piece(&disk, 1));
    assert_eq!((disk.counts().damaged, disk.counts().failed), (0, 0));
    disk.remove(1, |_| true);
    kill(disk);
    let (disk, past) = open_with(small(folder.path()));
    disk.settle(past);
    assert!(!disk.holds(1), "no copy of what was removed comes back");
    assert!(has_piece(&disk, 900));
}

#[test]
fn where_all_are_asked_for_again_half_of_the_room_is_for_new_ones() {
    let folder = TempDir::new().expect("a folder");
    let (disk, past) = open_with(small(folder.path()));
    disk.settle(past);
    for hash in 1..=600 {
        put_piece(&disk, hash);
        (0..3).for_each(|_| assert!(has_piece(&disk, hash)));
        let all = std::fs::read_dir(folder.path().join("disk")).expect("it is there");
        let lengths = all.map(|entry| entry.expect("it is listed").metadata().expect("it").len());
        let bytes: u64 = lengths.sum();
        assert!(bytes <= (2 << 20) + (64 << 10), "{bytes}");
    }
    let counts = disk.counts();
    assert!(counts.carried > 100 && counts.failed == 0, "{counts:?}");
    assert!(counts.carried <= counts.evicted, "{counts:?}");
}

#[test]
fn a_folder_that_can_not_be_written_ends_the_tier_and_says_so_once() {
    let folder = TempDir::new().expect("a folder");
    let said = Arc::new(Mutex::new(Vec::new()));
    let hears = said.clone();
    let mut options = options(folder.path());
    options.complain = Box::new(move |line| hears.lock().push(line.to_owned()));
    let (disk, past) = open_with(options);
    disk.settle(past);
    put(&disk, 1, b"one");
    flush(&disk);
    // Where the next segment would be lies something else.
    disk.inner.shelf.lock().segments.insert(8, 0);
    std::fs::create_dir(folder.path().join("disk/segment-0000000a")).expect("it is ours");
    put(&disk, 2, &vec![0; 300 << 10]);
    put(&disk, 3, &vec![0; 900 << 10]);
    disk.close();
    disk.told(b"to nobody");
    assert_eq!((disk.counts().failed, said.lock().len()), (1, 1), "{:?}", said.lock());
    assert!(!disk.holds(1));
    drop(disk);
    std::fs::remove_dir(folder.path().join("disk/segment-0000000a")).expect("it is ours");
    let (disk, told, _) = open(folder.path());
    assert!(told.is_empty() && !disk.holds(1));
}

#[test]
fn a_journal_that_is_too_long_is_begun_anew_and_nothing_from_before_it_counts() {
    let folder = TempDir::new().expect("a folder");
    let (disk, ..) = open(folder.path());
    put(&disk, 1, b"one");
    flush(&disk);
    let long = vec![0; 20 << 20];
    (0..4).for_each(|_| disk.told(&long));
    assert!(disk.holds(1), "this run knows all of it");
    put(&disk, 2, b"two");
    kill(disk);
    let (disk, told, emptied) = open(folder.path());
    assert_eq!((told.len(), emptied), (0, None));
    assert!(!disk.holds(1) && disk.holds(2));
}

/// Random puts, removals, kills, stops and torn tails: what was removed is never found again,
/// and what is found is what was put.
#[test]
fn nothing_that_was_removed_comes_back_whatever_happens() {
    for seed in 0..60 {
        let mut dice = StdRng::seed_from_u64(seed);
        let folder = TempDir::new().expect("a folder");
        let mut alive: HashMap<u64, HashMap<u64, Vec<u8>>> = HashMap::new();
        let (mut disk, ..) = open(folder.path());
        let mut found_again = 0;
        for step in 0..80u64 {
            let hash = dice.random_range(1..12);
            match dice.random_range(0..10) {
                0..5 => {
                    let payload = vec![step as u8; dice.random_range(0..2000)];
                    let sequence = put(&disk, hash, &payload);
                    alive.entry(hash).or_default().insert(sequence, payload);
                }
                5..8 => {
                    disk.remove(hash, |_| true);
                    alive.remove(&hash);
                }
                8 => {
                    if dice.random() {
                        disk.close();
                        drop(disk)
                    } else {
                        kill(disk)
                    }
                    if dice.random_range(0..3) == 0 {
                        tear(folder.path(), &mut dice);
                    }
                    (disk, ..) = open(folder.path());
                }
                _ => {}
            }
            for hash in 1..12 {
                for place in disk.places(hash).iter().filter(|place| place.is_written()) {
                    let known = alive.get(&hash).and_then(|all| all.get(&place.sequence));
                    let known = known.unwrap_or_else(|| panic!("seed {seed}, step {step}"));
                    let Some(bytes) = disk.read(place) else { continue };
                    let (record, _) = read_record(&bytes, disk.secret()).expect("it is sound");
                    assert_eq!(record.payload, known, "seed {seed}, step {step}");
                    found_again += 1;
                }
            }
        }
        assert!(found_again > 10, "seed {seed} found nothing");
    }
}

/// Cuts a piece off the newest segment.
fn tear(folder: &Path, dice: &mut StdRng) {
    let all = std::fs::read_dir(folder.join("disk")).expect("it is there").flatten();
    let names = all.map(|entry| entry.path());
    let segments = names.filter(|path| path.to_string_lossy().contains("/segment-"));
    let Some(newest) = segments.max() else { return };
    let file = std::fs::OpenOptions::new().write(true).open(newest).expect("it is ours");
    let length = file.metadata().expect("it is there").len();
    file.set_len(length.saturating_sub(dice.random_range(0..3000))).expect("it is ours");
}

//! Who finds whom in the hall, and what is left when they go.

use mio::{Poll, Token, Waker};

use super::*;

const HASH: InfoHash = InfoHash([b'h'; 20]);

fn name(number: u64) -> PeerId {
    let mut name = [0; 20];
    name[..8].copy_from_slice(&number.to_be_bytes());
    PeerId(name)
}

/// A mailbox that nobody waits at.
fn mailbox() -> Arc<Mailbox> {
    let poll = Poll::new().expect("the system has one");
    let waker = Waker::new(poll.registry(), Token(0)).expect("a waker");
    Arc::new(Mailbox::new(Arc::new(waker)))
}

/// A place of the client of this number, in the connection of this number.
fn place(mailbox: &Arc<Mailbox>, number: u64, owner: u64, is_complete: bool) -> Place {
    let seat = Seat { serial: number, ..Seat::new(mailbox.clone(), 0) };
    Place { peer_id: name(number), owner, is_complete, seat }
}

fn serials(mut seats: Vec<Seat>) -> Vec<u64> {
    seats.sort_unstable_by_key(|seat| seat.serial);
    seats.iter().map(|seat| seat.serial).collect()
}

#[test]
fn offers_are_for_others_who_can_make_use_of_them() {
    let (hall, mailbox) = (Hall::default(), mailbox());
    // Two users with two clients each, one of each complete, and one who is nobody's.
    for (number, owner, is_complete) in
        [(1, 7, true), (2, 7, false), (3, 9, true), (4, 9, false), (5, 0, false)]
    {
        let place = place(&mailbox, number, owner, is_complete);
        assert_eq!(hall.enter(&HASH, place, 10), Entered::Well);
    }
    let chosen = |number, owner, is_complete, wanted| {
        hall.choose(&HASH, &place(&mailbox, number, owner, is_complete), wanted)
    };
    assert_eq!(serials(chosen(2, 7, false, 10)), [3, 4, 5], "no other of its own");
    assert_eq!(serials(chosen(1, 7, true, 10)), [4, 5], "nobody who has all");
    assert_eq!(serials(chosen(5, 0, false, 10)), [1, 2, 3, 4], "all others");
    assert_eq!((chosen(5, 0, false, 2).len(), chosen(5, 0, false, 0).len()), (2, 0));
    assert!(hall.choose(&InfoHash([0; 20]), &place(&mailbox, 1, 0, false), 5).is_empty());
}

#[test]
fn of_many_each_is_chosen_about_as_often() {
    for count in [20, 200] {
        let (hall, mailbox) = (Hall::default(), mailbox());
        for number in 0..count {
            hall.enter(&HASH, place(&mailbox, number, 0, false), 1000);
        }
        let asker = place(&mailbox, count, 0, false);
        let mut chosen = vec![0_u32; count as usize];
        let rounds = 200 * count as u32;
        for _ in 0..rounds {
            let seats = serials(hall.choose(&HASH, &asker, 5));
            assert!(seats.windows(2).all(|pair| pair[0] != pair[1]) && seats.len() == 5);
            seats.iter().for_each(|serial| chosen[*serial as usize] += 1);
        }
        // 1000 expected of each, by a standard deviation of less than 32.
        assert!(chosen.iter().all(|times| (800..1200).contains(times)), "{chosen:?}");
    }
}

#[test]
fn a_name_is_of_who_showed_it_last_and_of_no_other_owner() {
    let (hall, mailbox) = (Hall::default(), mailbox());
    let enter = |serial: u64, owner| {
        let mut place = place(&mailbox, 1, owner, false);
        place.seat.serial = serial;
        hall.enter(&HASH, place, 2)
    };
    assert_eq!(enter(10, 7), Entered::Well);
    assert_eq!(enter(11, 7), Entered::Well, "it came back by another connection");
    assert_eq!(enter(12, 9), Entered::Taken, "who is somebody else gets nothing of it");
    assert_eq!(hall.find(&HASH, &name(1)).map(|seat| seat.serial), Some(11));
    assert!(!hall.leave(&HASH, &name(1), 10), "the connection before takes nothing with it");
    assert_eq!(hall.enter(&HASH, place(&mailbox, 2, 0, false), 2), Entered::Well);
    assert_eq!(hall.enter(&HASH, place(&mailbox, 3, 0, false), 2), Entered::Full);
    assert!(hall.leave(&HASH, &name(1), 11) && !hall.leave(&HASH, &name(1), 11));
    assert!(hall.find(&HASH, &name(1)).is_none() && hall.find(&HASH, &name(2)).is_some());
    assert!(hall.leave(&HASH, &name(2), 2));
    let table = hall.table.lock();
    assert!(table.swarms.is_empty() && table.places == 0, "nothing is left");
}

#[test]
fn who_is_lost_is_due_unless_they_are_back() {
    let (hall, mailbox) = (Hall::default(), mailbox());
    let lose = |number, due_ms| {
        hall.lose(Lost { due_ms, info_hash: HASH, peer_id: name(number), passkey: None })
    };
    assert!(lose(1, 100) && lose(2, 100) && lose(3, 200));
    hall.enter(&HASH, place(&mailbox, 2, 0, false), 10);
    let due = |now_ms| -> Vec<PeerId> { hall.due(now_ms).iter().map(|it| it.peer_id).collect() };
    assert_eq!(due(99), []);
    assert_eq!(due(150), [name(1)]);
    assert_eq!((due(150), due(200)), (vec![], vec![name(3)]));
    assert!((0..LOST_MAX as u64).all(|number| lose(number, 1)));
    assert!(!lose(0, 1), "there are too many");
    assert_eq!(due(1).len(), DUE_MAX - 1, "some at a time, and one is back");
}

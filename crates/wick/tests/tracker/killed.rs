//! A private tracker that is killed (SIGKILL) while clients announce: what they were answered is
//! credited, each byte once.
//!
//! Clients begin, do something, and stop, again and again; a stop that was answered and then
//! forgotten could never be made good. What was not answered they say again, as the same session,
//! which must count once whether the first was heard or not. `KILLS=100` kills more often.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::served::{Served, try_get};
use crate::story::{Client, TABLE, USERS, credited, owed, users};
use crate::wick::{PATIENCE, until};

#[test]
fn what_was_answered_is_credited_once_whenever_the_process_is_killed() {
    let kills = std::env::var("KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut served = Served::begin("", TABLE);
    let tables = served.enrol(&users(), &"68".repeat(20));
    let address = Arc::new(Mutex::new(served.address));
    let (is_over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (1..=USERS)
        .map(|user| {
            let (address, is_over, answers) = (address.clone(), is_over.clone(), answers.clone());
            std::thread::spawn(move || {
                let mut client = Client::new(user);
                let mut bound = Instant::now() + PATIENCE;
                while !is_over.load(Relaxed) {
                    let place = *address.lock().expect("no panic");
                    let told = try_get(place, &client.target()).unwrap_or_default();
                    if told.contains("8:completei") {
                        client.is_answered();
                        answers.fetch_add(1, Relaxed);
                        bound = Instant::now() + PATIENCE;
                    } else {
                        // It is dead, or has just begun and hasn't read its tables.
                        assert!(Instant::now() < bound, "nobody answers: {told}");
                        std::thread::sleep(Duration::from_millis(2));
                    }
                }
                client
            })
        })
        .collect();
    for kill in 0..kills {
        // Within a flush, and within several.
        let goal = answers.load(Relaxed) + 20 + 97 * (kill % 4);
        until("clients to be answered", || answers.load(Relaxed) >= goal);
        served.kill_and_serve();
        *address.lock().expect("no panic") = served.address;
    }
    let goal = answers.load(Relaxed) + 20;
    until("clients to be answered", || answers.load(Relaxed) >= goal);
    is_over.store(true, Relaxed);
    let mut clients: Vec<Client> =
        clients.into_iter().map(|client| client.join().expect("it is answered")).collect();
    // What was said last, and may have been heard, is said once more.
    for client in &mut clients {
        let told = try_get(served.address, &client.target()).expect("it answers");
        assert!(told.contains("8:completei"), "{told}");
        client.is_answered();
    }
    let answers = answers.load(Relaxed);
    let found = credited(&tables, &clients);
    assert_eq!(found, owed(&clients), "after {kills} kills and {answers} answers");
    served.stop();
    assert_eq!(credited(&tables, &clients), owed(&clients), "nothing comes after it");
    println!("{kills} kills, {answers} answers");
}

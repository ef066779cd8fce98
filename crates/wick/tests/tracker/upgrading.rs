//! A new Wick in the place of the one before: no announce is lost, no peer, and no byte.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::served::{Served, UdpClient, get, query};
use crate::story::{Client, TABLE, USERS, credited, owed, users};
use crate::wick::until;

#[test]
fn an_upgrade_loses_no_announce_and_no_peer() {
    let served = Served::begin("", "");
    let address = served.address;
    // Its connection id must be good with the next one too.
    let before = UdpClient::connect(address);
    before.announce(1, b"");
    let (is_over, clients) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(2)));
    let announcing: Vec<_> = (0..3)
        .map(|number| {
            let (is_over, clients) = (is_over.clone(), clients.clone());
            std::thread::spawn(move || {
                let datagrams = (number == 0).then(|| UdpClient::connect(address));
                while !is_over.load(Ordering::Relaxed) {
                    let client = clients.fetch_add(1, Ordering::Relaxed);
                    if let Some(datagrams) = &datagrams {
                        // Sent once: if it were lost there would be no answer.
                        assert!(datagrams.announce(client, b"").starts_with(&[0, 0, 0, 1]));
                        continue;
                    }
                    let told = get(address, &format!("/announce?{}", query(client, 0, "")));
                    assert!(told.contains("8:completei"), "{told}");
                }
            })
        })
        .collect();
    let next = upgrade(&served);
    before.announce(clients.fetch_add(1, Ordering::Relaxed), b"");
    is_over.store(true, Ordering::Relaxed);
    for thread in announcing {
        thread.join().expect("each announce is answered");
    }
    let count = clients.load(Ordering::Relaxed) - 1;
    let told = served.ask(&["tracker", "status"]);
    assert!(told.contains(&format!("peers      {count} (")), "{count} announced: {told}");
    drop(next);
    until("the next one to end", || TcpStream::connect(address).is_err());
}

#[test]
fn an_upgrade_of_a_private_tracker_loses_no_byte_and_doubles_none() {
    let served = Served::begin("", TABLE);
    let tables = served.enrol(&users(), &"68".repeat(20));
    let address = served.address;
    let (is_over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let clients: Vec<_> = (1..=USERS)
        .map(|user| {
            let (is_over, answers) = (is_over.clone(), answers.clone());
            std::thread::spawn(move || {
                let mut client = Client::new(user);
                while !is_over.load(Ordering::Relaxed) {
                    let told = get(address, &client.target());
                    assert!(told.contains("8:completei"), "{told}");
                    client.is_answered();
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                client
            })
        })
        .collect();
    let after = |count| {
        let goal = answers.load(Ordering::Relaxed) + count;
        until("clients to be answered", || answers.load(Ordering::Relaxed) >= goal);
    };
    after(50);
    let first = upgrade(&served);
    after(50);
    let next = upgrade(&served);
    drop(first);
    after(50);
    is_over.store(true, Ordering::Relaxed);
    let clients: Vec<Client> =
        clients.into_iter().map(|client| client.join().expect("each is answered")).collect();
    assert_eq!(credited(&tables, &clients), owed(&clients));
    drop(next);
    until("the last one to end", || TcpStream::connect(address).is_err());
    assert_eq!(credited(&tables, &clients), owed(&clients), "nothing comes after it");
}

fn upgrade(served: &Served) -> Next {
    Next::of(&served.ask(&["upgrade"]))
}

/// The process that took over; it ends with the test.
pub(crate) struct Next(Pid);

impl Next {
    /// The one that an upgrade tells of.
    pub(crate) fn of(told: &str) -> Self {
        assert!(told.contains("serves in the place of"), "{told}");
        let number = told
            .split("process ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next())
            .and_then(|number| number.parse().ok());
        let number: i32 = number.expect("the number of the process");
        Self(Pid::from_raw(number).expect("a process"))
    }
}

impl Drop for Next {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = kill_process(self.0, Signal::TERM);
    }
}

//! Answers told, and what is counted and remembered of them.

use std::sync::Arc;

use base::Phase;
use policy::{MissReason, NoStore, PassReason, RefuseReason, Verdict};

use super::*;

const MISS: Verdict = Verdict::Miss(MissReason::UriMiss);
const PASS: Verdict = Verdict::Pass(PassReason::Cookie);

/// What the tests tell: a path, a verdict, a status, and how long it took.
fn tell(ledger: &Ledger, path: &str, verdict: Verdict, status: u16, took_us: u64) {
    let mut phases = [0; Phase::COUNT];
    if !crate::answer::is_hit(verdict) {
        phases[Phase::FirstByte as usize] = took_us / 2;
    }
    ledger.note(&Answer {
        unix_ms: 1_789_000_000_000,
        method: "GET",
        host: "a.test",
        path,
        status,
        verdict,
        unstored: (verdict == MISS && status == 200).then_some(NoStore::NoStore),
        bytes: 100,
        is_html: true,
        phases,
        site: &|| "site".to_owned(),
        took_us: &|| took_us,
    });
}

#[test]
fn answers_are_counted_by_route_and_reason() {
    let ledger = Ledger::default();
    for number in 0..40 {
        tell(&ledger, &format!("/thread/{number}"), MISS, 200, 2000);
        tell(&ledger, &format!("/thread/{number}"), Verdict::Hit, 200, 8);
    }
    tell(&ledger, "/", PASS, 503, 100);
    let counts = ledger.counts();
    let names: Vec<_> = counts.iter().map(|it| it.name.route.as_str()).collect();
    assert_eq!(names, ["/thread/{id}", "/"]);
    let thread = &counts[0];
    assert_eq!((thread.requests(), thread.hits(), thread.bytes, thread.errors), (80, 40, 8000, 0));
    assert_eq!(thread.verdicts[MISS.index()], counts::Tally { requests: 40, origin_us: 40_000 });
    assert_eq!(thread.unstored[NoStore::NoStore as usize].requests, 40);
    assert_eq!(
        (thread.times.percentile(0.5), thread.times.percentile(0.99)),
        (Some(8), Some(1983))
    );
    assert_eq!(counts[1].errors, 1);
    assert_eq!(ledger.totals().requests(), 81);
    assert_eq!(ledger.totals().times.count(), 81);
}

#[test]
fn hits_are_timed_by_samples_and_each_is_counted() {
    let ledger = Ledger::default();
    let reads = std::cell::Cell::new(0);
    for _ in 0..160 {
        ledger.note(&Answer {
            unix_ms: 0,
            method: "GET",
            host: "a.test",
            path: "/",
            status: 200,
            verdict: Verdict::Hit,
            unstored: None,
            bytes: 0,
            is_html: true,
            phases: [0; Phase::COUNT],
            site: &|| "site".to_owned(),
            took_us: &|| {
                reads.set(reads.get() + 1);
                9
            },
        });
    }
    assert_eq!(reads.get(), 10);
    assert_eq!(ledger.totals().times.count(), 160);
    assert_eq!(ledger.totals().times.percentile(0.001), Some(9));
}

#[test]
fn the_last_answers_are_remembered_and_hits_drive_out_nothing_else() {
    let ledger = Ledger::default();
    tell(&ledger, "/cart?", PASS, 200, 5);
    tell(&ledger, "/gone", MISS, 404, 5);
    for number in 0..5000 {
        tell(&ledger, &format!("/{number}"), Verdict::Hit, 200, 5);
    }
    tell(&ledger, "/thread/5", MISS, 200, 5);
    let found = |why: &str, route: &str, status: &str| -> Vec<String> {
        let wanted = Wanted { why: why.into(), route: route.into(), status: status.into() };
        ledger.recent(0, &wanted).0.into_iter().map(|(seen, _)| seen.path).collect()
    };
    assert_eq!(found("pass", "", ""), ["/cart?"]);
    assert_eq!(found("cookie", "", ""), ["/cart?"]);
    assert_eq!(found("pass(cookie)", "", ""), ["/cart?"]);
    assert_eq!(found("no-store", "", ""), ["/thread/5"]);
    assert_eq!(found("", "/thread/{id}", ""), ["/thread/5"]);
    assert_eq!(found("", "/ca*", ""), ["/cart?"]);
    assert_eq!(found("", "", "4xx"), ["/gone"]);
    assert_eq!(found("miss", "", "404"), ["/gone"]);
    assert_eq!(found("hit", "", "").len() as u64 + ledger.left_out(), 5000);
    let (none, newest) = ledger.recent(u64::MAX - 1, &Wanted::default());
    assert_eq!((none.len(), newest), (0, u64::MAX - 1));
    let (_, newest) = ledger.recent(0, &Wanted::default());
    tell(&ledger, "/é", MISS, 200, 5);
    let (fresh, _) = ledger.recent(newest, &Wanted::default());
    assert_eq!(fresh.len(), 1);
}

#[test]
fn long_texts_are_cut_between_letters() {
    let ledger = Ledger::default();
    tell(&ledger, &"/é".repeat(300), PASS, 200, 1);
    let path = ledger.recent(0, &Wanted::default()).0[0].0.path.clone();
    assert!(path.len() <= 160 && path.ends_with('/') || path.ends_with('é'), "{path}");
}

#[test]
fn refused_requests_and_unknown_sites_are_others() {
    let ledger = Ledger::default();
    tell(&ledger, "/a", Verdict::Refused(RefuseReason::Rate), 429, 1);
    for number in 0..3000 {
        tell(&ledger, &format!("/x{number}y"), MISS, 404, 1);
    }
    let counts = ledger.counts();
    assert_eq!(counts.len(), 1);
    assert_eq!((counts[0].name.route.as_str(), counts[0].requests()), ("", 3001));
}

#[test]
fn nothing_is_lost_while_threads_count_and_routes_move() {
    let ledger = Arc::new(Ledger::default());
    let hands: Vec<_> = (0..4)
        .map(|hand: u64| {
            let ledger = ledger.clone();
            std::thread::spawn(move || {
                let mut dice = hand + 1;
                for _ in 0..4000 {
                    dice ^= dice << 13;
                    dice ^= dice >> 7;
                    dice ^= dice << 17;
                    let word = |at: u64| (b'a' + (dice >> at) as u8 % 26) as char;
                    let path = format!("/{}{}/{}{}", word(0), word(8), word(16), word(24));
                    tell(&ledger, &path, Verdict::Hit, 200, 1);
                }
            })
        })
        .collect();
    for hand in hands {
        hand.join().expect("no panic");
    }
    assert_eq!(ledger.totals().requests(), 16_000);
    assert_eq!(ledger.totals().times.count(), 16_000);
    assert!(ledger.counts().len() <= ROUTES_MAX + 1);
}

#[test]
fn the_slowest_come_first_and_none_from_before() {
    let ledger = Ledger::default();
    assert!(ledger.slowest(0, 9).is_empty(), "an empty place is no answer");
    for (path, took_us) in [("/a", 300), ("/b", 90_000), ("/c", 7), ("/d", 4_000)] {
        tell(&ledger, path, MISS, 200, took_us);
    }
    let told = |since, count| -> Vec<String> {
        ledger
            .slowest(since, count)
            .into_iter()
            .map(|(seen, name)| seen.path + &name.site)
            .collect()
    };
    assert_eq!(told(1_789_000_000_000, 3), ["/bsite", "/dsite", "/asite"]);
    assert!(told(1_789_000_000_001, 3).is_empty());
}

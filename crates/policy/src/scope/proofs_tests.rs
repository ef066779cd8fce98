//! What is seen, step by step, and what it proves.

use std::collections::BTreeSet;

use super::*;
use crate::scope::{Batch, Ledger, Route, Spelled};

const FEW: Demands = Demands { batches: 3, same: 4, pages: 2, changed: 2, again: 2 };

/// Values are their own hashes here, and names have none.
fn spelled(target: &str) -> (Spelled, Route) {
    let spelled = Spelled::of("a.test", target).expect("few values");
    let hash =
        |text: &str| text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
    let route = spelled.route(hash, |text| text.parse().ok());
    (spelled, route)
}

/// A story told to proofs: `reply 5` begins a batch of that kind whose rows point at thread 5
/// and at person 1; the pages behind it were the same or, with a `!`, had changed.
struct Teller {
    proofs: Proofs,
    ledger: Ledger,
    content: u64,
    said: Vec<String>,
}

impl Teller {
    fn new() -> Self {
        let (proofs, ledger) = (Proofs::new(FEW), Ledger::default());
        Self { proofs, ledger, content: 0, said: Vec::new() }
    }

    fn batch(&mut self, kind: &str, thread: u64) {
        let mut batch = Batch::default();
        let set = |value| BTreeSet::from([value]);
        let columns = [("thread".to_owned(), set(thread)), ("person".to_owned(), set(1))];
        let columns = columns.iter().map(|(name, values)| (name.clone(), Some(values)));
        batch.note(kind, columns);
        let begin = self.content;
        self.content += 2;
        let past = self.proofs.decide(begin, self.content, batch).expect("a kind");
        self.ledger.enter(past);
    }

    fn see(&mut self, from: u64, target: &str, seen: Seen) {
        let (spelled, route) = spelled(target);
        let past = self.ledger.between(from, self.content).expect("no gap");
        match self.proofs.observe(&past, &spelled, &route, seen) {
            Outcome::Nothing => {}
            Outcome::Proved { kind, shape } => self.said.push(format!("proved {kind} {shape}")),
            Outcome::Refuted { kind, shape } => self.said.push(format!("refuted {kind} {shape}")),
        }
    }

    fn tell(&mut self, story: &str) {
        for line in story.split(';').map(str::trim).filter(|line| !line.is_empty()) {
            let (act, pages) = line.split_once(':').unwrap_or((line, ""));
            let (kind, thread) = act.split_once(' ').expect("a kind and a thread");
            let from = self.content;
            self.batch(kind, thread.parse().expect("a number"));
            for page in pages.split_whitespace() {
                match page.strip_prefix('!') {
                    Some(target) => self.see(from, target, Seen::Changed),
                    None => self.see(from, page, Seen::Same),
                }
            }
        }
    }

    fn keeps(&self, from: u64, target: &str) -> bool {
        // A page whose lot is not drawn in the first batches.
        self.ledger.kept(&spelled(target).1, 3, from, self.content).is_some()
    }
}

const PROVED: &str = "reply 5: !/t?id=5 /t?id=6 /t?id=7; reply 6: !/t?id=6 /t?id=7 /t?id=8; \
                      reply 9: !/t?id=9 /t?id=5;";

#[test]
fn pages_that_a_batch_does_not_name_are_kept_once_that_is_proved() {
    let mut teller = Teller::new();
    teller.tell(PROVED);
    assert_eq!(teller.said, ["proved reply a.test/t?id=* (1)"]);
    let from = teller.content;
    teller.tell("reply 7");
    for (target, is_kept) in [
        ("/t?id=5", true),
        ("/t?id=7", false),
        // What a program may take for a 7, other shapes, other kinds of page.
        ("/t?id=07", false),
        ("/t?id=5&id=7", false),
        ("/t", false),
        ("/list", false),
    ] {
        assert_eq!(teller.keeps(from, target), is_kept, "{target}");
    }
    let from = teller.content;
    teller.tell("rename 7");
    assert!(!teller.keeps(from, "/t?id=5"), "another kind");
}

#[test]
fn one_page_that_changes_unnamed_ends_it_for_good() {
    for (story, expected) in [
        // Before there is a proof nothing is said.
        ("reply 5: !/t?id=5 !/t?id=6;", ""),
        ("reply 5: !/t?id=6;", ""),
        // After it there is.
        (&*format!("{PROVED} reply 5: !/t?id=6;"), "proved reply, refuted reply"),
        // Other pages that change prove nothing against it.
        (&*format!("{PROVED} reply 5: !/list;"), "proved reply"),
        (&*format!("{PROVED} rename 5: !/t?id=6;"), "proved reply"),
    ] {
        let mut teller = Teller::new();
        teller.tell(story);
        let said: Vec<_> = teller.said.iter().filter_map(|said| said.split(" a.").next()).collect();
        assert_eq!(said.join(", "), expected, "{story}");
        if !expected.ends_with("proved reply") {
            teller.tell(&PROVED.repeat(3));
            let said: Vec<_> =
                teller.said.iter().filter_map(|said| said.split(" a.").next()).collect();
            assert_eq!(said.join(", "), expected, "it is not proved again: {story}");
        }
    }
}

#[test]
fn too_little_is_no_proof() {
    for story in [
        // The same three batches without a change, with one page only, with fewer batches.
        "reply 5: /t?id=6 /t?id=7; reply 6: /t?id=7 /t?id=8; reply 9: /t?id=5;",
        "reply 5: !/t?id=5 /t?id=6 /t?id=6; reply 7: !/t?id=7 /t?id=6; reply 8: /t?id=6",
        "reply 5: !/t?id=5 /t?id=6 /t?id=7 /t?id=8; reply 6: !/t?id=6 /t?id=8;",
    ] {
        let mut teller = Teller::new();
        teller.tell(story);
        assert_eq!(teller.said, [""; 0], "{story}");
    }
}

#[test]
fn a_column_that_holds_the_value_by_chance_is_dropped_and_until_then_sweeps_too() {
    let mut teller = Teller::new();
    // Thread 1 was written to by person 1.
    teller.tell("reply 1: !/t?id=1 /t?id=6 /t?id=7; reply 1: !/t?id=1 /t?id=8; reply 1: /t?id=9");
    assert_eq!(teller.said.len(), 1);
    let from = teller.content;
    teller.tell("reply 6");
    assert!(!teller.keeps(from, "/t?id=1") && teller.keeps(from, "/t?id=7"));
    teller.tell("reply 6: !/t?id=6");
    let from = teller.content;
    teller.tell("reply 6");
    assert!(teller.keeps(from, "/t?id=1"));
}

#[test]
fn of_several_batches_only_what_holds_for_all_counts() {
    let mut teller = Teller::new();
    teller.tell(PROVED);
    let from = teller.content;
    teller.tell("reply 5; reply 6");
    teller.see(from, "/t?id=5", Seen::Changed);
    assert_eq!(teller.said.len(), 1, "one of them names it");
    teller.tell("rename 5");
    teller.see(from, "/t?id=8", Seen::Changed);
    assert_eq!(teller.said.len(), 1, "it may have been the other");
    let from = teller.content;
    teller.tell("reply 5; reply 6");
    teller.see(from, "/t?id=8", Seen::Changed);
    assert_eq!(teller.said.len(), 2, "both of them kept it");
}

#[test]
fn after_a_loss_and_a_restart_it_has_to_hold_again_and_a_refuted_one_stays_refuted() {
    let mut teller = Teller::new();
    teller.tell(PROVED);
    let kept = teller.proofs.kept();
    assert_eq!(kept.len(), 1);
    let hash =
        |text: &str| text.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
    let mut again = Teller::new();
    again.proofs.restore(kept.clone(), hash);
    assert_eq!((again.proofs.kept(), again.proofs.proved()), (kept, 1));
    teller.proofs.doubt();
    for teller in [&mut teller, &mut again] {
        let from = teller.content;
        teller.tell("reply 7: /t?id=5");
        assert!(!teller.keeps(from, "/t?id=6"));
        let from = teller.content;
        teller.tell("reply 7: /t?id=5; reply 7");
        assert!(!teller.keeps(from, "/t?id=6"));
        let from = teller.content;
        teller.tell("reply 7");
        assert!(teller.keeps(from, "/t?id=6"));
    }
    teller.proofs.forget();
    assert_eq!(teller.proofs.kept(), []);
    again.tell("reply 7: !/t?id=5");
    let refuted = again.proofs.kept();
    assert!(refuted[0].is_refuted && again.proofs.proved() == 0);
    again.proofs.forget();
    assert_eq!(again.proofs.kept(), refuted);
    let mut last = Teller::new();
    last.proofs.restore(refuted.clone(), hash);
    last.tell(&PROVED.repeat(3));
    assert_eq!((last.said.len(), last.proofs.kept()), (0, refuted));
}

#[test]
fn there_is_room_for_so_many_and_what_is_proved_stays() {
    let mut teller = Teller::new();
    teller.tell(PROVED);
    for number in 0..CLAIMS_MAX + 10 {
        teller.tell(&format!("k{number} 5: !/t?id=5;"));
    }
    assert_eq!(teller.proofs.count, CLAIMS_MAX);
    assert_eq!(teller.proofs.proved(), 1);
    let claims: usize = teller.proofs.claims.values().map(HashMap::len).sum();
    assert_eq!(claims, CLAIMS_MAX);
}

#[test]
fn what_is_known_is_told_in_words() {
    let mut teller = Teller::new();
    let told = |teller: &Teller| teller.proofs.tell("a.test/t?id=* (1)").collect::<Vec<_>>();
    teller.tell("reply 5: !/t?id=5 /t?id=6; rename 5: !/t?id=6");
    assert_eq!(
        told(&teller),
        [
            "rename: sweeps all of them; others changed as well",
            "reply: sweeps all of them so far; it may be that parameter id is reply: thread, \
             seen 1 times of 3, with a change 1 of 2",
        ]
    );
    teller.tell("reply 6: !/t?id=6 /t?id=7 /t?id=8; reply 6: /t?id=8");
    let proved = "reply: sweeps only those of which parameter id is reply: thread; proved";
    assert_eq!(told(&teller)[1], proved);
}

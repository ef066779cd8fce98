//! What a node makes of what comes out of the stream, message by message and by a simulation.

use super::*;

const LAG: u64 = 1000;

fn said(node: &str, instance: u64, number: u64) -> Said {
    Said { form: 1, node: node.to_owned(), instance, number, ..Said::default() }
}

fn arrival(sequence: u64, said: Said) -> Arrival {
    Arrival { sequence, said: Some(said) }
}

fn take(hearing: &mut Hearing, arrival: Arrival) -> Heard {
    hearing.take(arrival, 0)
}

/// A node "a", run 1, that has said 1 at 100 and heard it back as message 11.
fn heard_once() -> Hearing {
    let mut hearing = Hearing::new("a", 1, LAG);
    hearing.begin_anew(10);
    hearing.note_sent(1, 100);
    assert_eq!(hearing.heard_until(), 0, "nothing came back yet");
    assert_eq!(take(&mut hearing, arrival(11, said("a", 1, 1))), Heard::default());
    hearing
}

#[test]
fn a_node_is_in_touch_for_a_lag_limit_after_what_it_said_and_heard() {
    let mut hearing = heard_once();
    assert_eq!(hearing.heard_until(), 1100);
    hearing.note_sent(2, 300);
    assert_eq!(hearing.heard_until(), 1100, "saying alone is not hearing");
    take(&mut hearing, arrival(12, said("a", 1, 2)));
    assert_eq!(hearing.heard_until(), 1300);
}

#[test]
fn what_others_tell_is_obeyed_and_never_twice() {
    let mut hearing = heard_once();
    let told = Said { news: vec!["x".into(), "y".into()], ..said("b", 5, 1) };
    let heard = take(&mut hearing, arrival(12, told.clone()));
    assert_eq!(heard, Heard { news: told.news.clone(), ..Heard::default() });
    assert_eq!(take(&mut hearing, arrival(12, told)), Heard::default());
}

#[test]
fn a_gap_an_unknown_form_a_new_run_and_a_loss_mean_that_something_may_be_missed() {
    let check = |name: &str, second: Arrival, expected: bool| {
        let mut hearing = heard_once();
        take(&mut hearing, arrival(12, said("b", 5, 1)));
        assert_eq!(take(&mut hearing, second).missed, expected, "{name}");
    };
    check("next", arrival(13, said("b", 5, 2)), false);
    check("a third node", arrival(13, said("c", 9, 1)), false);
    check("gap", arrival(14, said("b", 5, 2)), true);
    check("unreadable", Arrival { sequence: 13, said: None }, true);
    check("new run", arrival(13, said("b", 6, 1)), true);
    check("loss", arrival(13, Said { has_lost: true, ..said("b", 5, 2) }), true);
    check(
        "an unknown one is gone",
        arrival(13, Said { gone: vec!["z".into()], ..said("c", 9, 1) }),
        false,
    );
    check("b is gone", arrival(13, Said { gone: vec!["b".into()], ..said("c", 9, 1) }), true);
    check("goodbye", arrival(13, Said { is_goodbye: true, ..said("b", 5, 2) }), false);
}

#[test]
fn at_an_upgrade_a_node_has_two_runs_and_nothing_is_missed() {
    let mut hearing = heard_once();
    hearing.take(arrival(12, said("b", 5, 1)), 0);
    let beside = Said { is_successor: true, ..said("b", 6, 1) };
    assert_eq!(take(&mut hearing, arrival(13, beside)), Heard::default());
    assert_eq!(take(&mut hearing, arrival(14, said("b", 5, 2))), Heard::default());
    assert_eq!(hearing.members().len(), 2);
    let goodbye = Said { is_goodbye: true, ..said("b", 5, 3) };
    assert_eq!(take(&mut hearing, arrival(15, goodbye)), Heard::default());
    assert_eq!(hearing.members().len(), 1);
}

#[test]
fn other_runs_of_ones_own_name_are_heard_as_others_are() {
    let mut hearing = heard_once();
    let successor = Said { is_successor: true, news: vec!["x".into()], ..said("a", 2, 1) };
    assert_eq!(take(&mut hearing, arrival(12, successor)).news, ["x"]);
    let goodbye = Said { is_goodbye: true, ..said("a", 2, 2) };
    assert!(take(&mut hearing, arrival(13, goodbye)).own_name_goes);
    let twin = take(&mut hearing, arrival(14, said("a", 3, 1)));
    assert!(twin.has_twin && !twin.missed);
}

#[test]
fn after_a_goodbye_a_new_run_owes_nothing() {
    let mut hearing = heard_once();
    take(&mut hearing, arrival(12, said("b", 5, 1)));
    take(&mut hearing, arrival(13, Said { is_goodbye: true, ..said("b", 5, 2) }));
    assert!(hearing.members().is_empty());
    assert!(!take(&mut hearing, arrival(14, said("b", 6, 1))).missed);
}

#[test]
fn a_node_that_is_away_without_goodbye_puts_all_others_out_of_touch() {
    let mut hearing = heard_once();
    take(&mut hearing, arrival(12, said("b", 5, 1)));
    // From now on b is silent, and a speaks every 100 ms.
    for number in 2..=40 {
        hearing.note_sent(number, number * 100);
        take(&mut hearing, arrival(11 + number, said("a", 1, number)));
    }
    assert_eq!(hearing.heard_until(), 1100, "what b had to tell is known up to its first message");
    assert!(hearing.members()[0].is_missing);
    // It comes back, but has more to tell than it said.
    take(&mut hearing, arrival(52, said("b", 5, 2)));
    assert_eq!(hearing.heard_until(), 1100);
    // Now all is told that it had when it heard itself at 52.
    take(&mut hearing, arrival(53, Said { told_until: 52, ..said("b", 5, 3) }));
    assert_eq!(hearing.heard_until(), 4000 + LAG);
}

#[test]
fn who_is_known_by_name_alone_has_a_lag_limit_to_be_heard_in() {
    let mut hearing = Hearing::new("a", 1, LAG);
    hearing.note_known("a");
    hearing.note_known("b");
    hearing.begin_anew(10);
    for number in 1..=30 {
        hearing.note_sent(number, number * 100);
        take(&mut hearing, arrival(10 + number, said("a", 1, number)));
    }
    assert_eq!(hearing.heard_until(), 100 + LAG);
    assert!(hearing.members()[0].is_missing);
    let gone = Said { gone: vec!["b".into()], ..said("a", 1, 31) };
    hearing.note_sent(31, 3100);
    assert!(take(&mut hearing, arrival(41, gone)).missed, "nobody knows what it had to tell");
    assert_eq!(hearing.heard_until(), 3100 + LAG);
}

#[test]
fn a_node_of_the_next_form_is_waited_for_and_what_it_tells_makes_everything_old() {
    let read = |text: String| Said::read(text.as_bytes()).expect("it has an envelope");
    let next = |number: u64, more: &str| {
        read(format!(
            r#"{{"form":2,"node":"b","instance":5,"number":{number},"told":[{{}}]{more}}}"#
        ))
    };
    let mut hearing = heard_once();
    assert!(take(&mut hearing, arrival(12, next(1, ""))).missed);
    // It is silent from now on, and may have something to tell.
    for number in 2..=40 {
        hearing.note_sent(number, number * 100);
        take(&mut hearing, arrival(11 + number, said("a", 1, number)));
    }
    assert_eq!(hearing.heard_until(), 1100);
    assert!(take(&mut hearing, arrival(52, next(2, r#","told_until":51"#))).missed);
    assert_eq!(hearing.heard_until(), 4000 + LAG);
    // In this form it says what this version understands, and nothing is old for that.
    let beat = r#"{"form":1,"node":"b","instance":5,"number":3,"told_until":51,"mood":"good"}"#;
    assert_eq!(take(&mut hearing, arrival(53, read(beat.to_owned()))), Heard::default());
    assert!(take(&mut hearing, arrival(54, next(4, r#","is_goodbye":true"#))).missed);
    assert!(hearing.members().is_empty());
}

#[test]
fn a_place_that_is_not_there_yet_is_not_believed() {
    let mut hearing = heard_once();
    take(&mut hearing, arrival(12, said("b", 5, 1)));
    take(&mut hearing, arrival(13, Said { told_until: u64::MAX, ..said("b", 5, 2) }));
    for number in 2..=40 {
        hearing.note_sent(number, number * 100);
        take(&mut hearing, arrival(12 + number, said("a", 1, number)));
    }
    assert_eq!(hearing.heard_until(), 100 + LAG);
}

#[test]
fn another_stream_begins_anew() {
    let mut hearing = heard_once();
    hearing.begin_anew(3);
    assert_eq!((hearing.heard_until(), hearing.sequence()), (0, Some(3)));
    hearing.note_sent(2, 500);
    take(&mut hearing, arrival(4, said("a", 1, 2)));
    assert_eq!(hearing.heard_until(), 1500);
}

/// A stream, nodes that hear it late and speak late, and edits: whoever is in touch knows each
/// edit that was acknowledged a lag limit ago. All of it by a seed.
mod simulated {
    use super::*;

    struct Dice(u64);

    impl Dice {
        fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % below
        }
    }

    /// One node, its clock ahead of the others by `skew`.
    struct Node {
        hearing: Hearing,
        skew: u64,
        number: u64,
        /// What waits to be told: edit, and when it was made.
        outbox: Edits,
        /// A message on its way to the stream, and when it comes there.
        flying: Option<(Said, u64, Edits)>,
        next_word: u64,
        known: std::collections::BTreeSet<String>,
        /// Nothing reaches the stream, and nothing comes from it, before this.
        cut_until: u64,
        has_missed: bool,
    }

    /// An edit: when it was acknowledged, to whoever made it.
    type Edits = Vec<(String, u64)>;

    fn play(seed: u64, nodes: usize, steps: u64) -> (usize, u64) {
        let mut dice = Dice(seed);
        let mut all: Vec<Node> = (0..nodes).map(|at| node(at, &mut dice)).collect();
        let (mut stream, mut edits): (Vec<Said>, Edits) = (Vec::new(), Vec::new());
        let (mut waiting, mut in_touch): (Edits, u64) = (Vec::new(), 0);
        for now in (0..steps).map(|step| step * 10) {
            for (at, node) in all.iter_mut().enumerate() {
                if dice.below(2000) == 0 {
                    node.cut_until = now + dice.below(5000);
                }
                if dice.below(300) == 0 {
                    let edit = format!("{at}-{now}");
                    node.known.insert(edit.clone());
                    node.outbox.push((edit.clone(), now));
                    waiting.push((edit, now));
                }
                step(node, now, &mut stream, &mut edits, &mut waiting, &mut dice);
                in_touch += check(node, now, &edits, seed);
            }
            // What can't be told is acknowledged once nobody trusts who would have to tell it.
            let is_late = |(edit, made): &mut (String, u64)| {
                let node =
                    &all[edit[..edit.find('-').expect("a node")].parse::<usize>().expect("it")];
                *made < now && node.hearing.trusted_until() <= now + node.skew
            };
            let late: Vec<_> = waiting.extract_if(.., is_late).collect();
            edits.extend(late.into_iter().map(|(edit, _)| (edit, now)));
        }
        (edits.len(), in_touch)
    }

    fn node(at: usize, dice: &mut Dice) -> Node {
        let mut hearing = Hearing::new(&format!("n{at}"), 1, LAG);
        hearing.begin_anew(0);
        Node {
            hearing,
            skew: dice.below(1 << 40),
            number: 0,
            outbox: Vec::new(),
            flying: None,
            next_word: 0,
            known: std::collections::BTreeSet::new(),
            cut_until: 0,
            has_missed: false,
        }
    }

    fn step(
        node: &mut Node,
        now: u64,
        stream: &mut Vec<Said>,
        edits: &mut Edits,
        waiting: &mut Edits,
        dice: &mut Dice,
    ) {
        if node.flying.is_none() && now >= node.next_word {
            node.number += 1;
            let told: Vec<_> = node.outbox.drain(..node.outbox.len().min(2)).collect();
            let mut word = said(&node.hearing.node.clone(), 1, node.number);
            word.news = told.iter().map(|(edit, _)| edit.clone()).collect();
            if node.outbox.is_empty() {
                word.told_until = node.hearing.own_sequence();
            }
            node.hearing.note_sent(node.number, now + node.skew);
            node.flying = Some((word, now + dice.below(40), told));
            node.next_word = now + 125;
        }
        if now < node.cut_until {
            return;
        }
        if let Some((word, _, told)) = node.flying.take_if(|(_, due, _)| *due <= now) {
            stream.push(word);
            for (edit, _) in told {
                waiting.retain(|(waits, _)| *waits != edit);
                edits.push((edit, now));
            }
        }
        let heard = node.hearing.sequence().unwrap_or(0);
        for sequence in heard + 1..=(heard + dice.below(2 + stream.len() as u64)) {
            let Some(word) = stream.get(sequence as usize - 1) else { break };
            let heard = node.hearing.take(arrival(sequence, word.clone()), now + node.skew);
            node.has_missed |= heard.missed;
            node.known.extend(heard.news);
        }
    }

    /// One if the node is in touch.
    fn check(node: &Node, now: u64, edits: &Edits, seed: u64) -> u64 {
        if node.hearing.heard_until() <= now + node.skew {
            return 0;
        }
        assert!(!node.has_missed, "nothing is ever missing here");
        for (edit, acknowledged) in edits.iter().rev().take(200) {
            let must_know = acknowledged + LAG <= now;
            assert!(
                !must_know || node.known.contains(edit),
                "seed {seed}, at {now}: {} doesn't know {edit} of {acknowledged}",
                node.hearing.node
            );
        }
        1
    }

    #[test]
    fn who_is_in_touch_knows_what_was_acknowledged_a_lag_limit_ago() {
        for seed in 0..30 {
            let (edits, in_touch) = play(seed, 3, 6000);
            assert!(edits > 30, "{edits} edits");
            assert!(in_touch > 3000, "in touch at {in_touch} of 18000 looks");
        }
    }

    #[test]
    fn a_hundred_nodes_are_no_different() {
        let (edits, in_touch) = play(7, 100, 300);
        assert!(edits > 50 && in_touch > 1000, "{edits} edits, in touch at {in_touch} looks");
    }
}

//! Who reads a source for all, message by message and by a simulation.

use super::*;
use crate::hearing::{Arrival, Hearing};

const LAG: u64 = 1000;
const KEY: &str = "shop mysql";

/// Nodes before one stream that reaches all of them at once.
struct Table {
    nodes: Vec<(Hearing, u64)>,
    sequence: u64,
    now: u64,
}

impl Table {
    fn of(names: &[&str]) -> Self {
        let node = |name: &&str| {
            let mut hearing = Hearing::new(name, 1, LAG);
            hearing.begin_anew(0);
            assert!(hearing.leases.want(KEY, 0));
            (hearing, 0)
        };
        Self { nodes: names.iter().map(node).collect(), sequence: 0, now: 0 }
    }

    fn says(&mut self, at: usize) -> Said {
        let (hearing, number) = &mut self.nodes[at];
        *number += 1;
        let mut said = Said {
            form: 1,
            node: ["a", "b", "c"][at].to_owned(),
            instance: 1,
            number: *number,
            told_until: hearing.own_sequence(),
            ..Said::default()
        };
        hearing.note_sent(*number, self.now);
        let spoke = hearing.spoke_ticks_ms();
        hearing.leases.fill(&mut said, true, spoke, self.now);
        said
    }

    /// All hear it; what each makes of it.
    fn hear(&mut self, said: &Said) -> Vec<Vec<Word>> {
        self.sequence += 1;
        let (sequence, now) = (self.sequence, self.now);
        let hear = |(hearing, _): &mut (Hearing, u64)| {
            let arrival = Arrival { sequence, said: Some(said.clone()) };
            hearing.take(arrival, now).words.into_iter().map(|(_, word)| word).collect()
        };
        self.nodes.iter_mut().map(hear).collect()
    }

    /// All speak in turn for so long; what each made of it.
    fn talk(&mut self, milliseconds: u64) -> Vec<Vec<Word>> {
        let mut words = vec![Vec::new(); self.nodes.len()];
        for _ in 0..milliseconds / 100 {
            self.now += 100;
            for at in 0..self.nodes.len() {
                let said = self.says(at);
                for (all, heard) in words.iter_mut().zip(self.hear(&said)) {
                    all.extend(heard);
                }
            }
        }
        words
    }

    fn read_on(&mut self, at: usize, begun: u64) {
        let hearing = &mut self.nodes[at].0;
        let (place, epoch) = (hearing.own_sequence(), hearing.leases.readings()[0].epoch);
        hearing.leases.read_on(KEY, epoch, begun, place);
    }

    fn readers(&self) -> Vec<Option<String>> {
        self.nodes.iter().map(|(one, _)| one.leases.readings()[0].by.clone()).collect()
    }
}

#[test]
fn the_first_claim_wins_and_all_agree() {
    let mut table = Table::of(&["a", "b", "c"]);
    let words = table.talk(900);
    assert_eq!(words.iter().filter(|words| matches!(words[..], [Word::Ours(_)])).count(), 1);
    assert_eq!(words.iter().filter(|words| words.is_empty()).count(), 0);
    let readers = table.readers();
    assert!(readers[0].is_some() && readers.iter().all(|one| *one == readers[0]));
}

#[test]
fn who_reads_is_obeyed_by_all_and_relied_on_no_longer_than_it_reads() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    assert_eq!(table.readers()[1].as_deref(), Some("a"));
    table.read_on(0, 1);
    let mut said = table.says(0);
    said.leads[0].news = vec!["x".to_owned()];
    let place = said.leads[0].until;
    let words = table.hear(&said);
    let followed = Word::Recovered(said.leads[0].epoch, 1);
    let expected = [Word::Until(place), followed, Word::Told("x".to_owned()), Word::Until(place)];
    assert_eq!((words[0].as_slice(), words[1].as_slice()), ([].as_slice(), expected.as_slice()));
    table.nodes[1].0.leases.obeyed(KEY, place);
    let relied = table.nodes[1].0.heard_until();
    // It speaks on, but its feed stands still: nobody is in touch beyond that.
    table.talk(900);
    assert!(table.nodes[1].0.heard_until() <= relied + 100, "no word that it reads on");
    assert!(table.nodes[0].0.heard_until() > relied + 500, "who reads doesn't wait for itself");
}

#[test]
fn another_takes_over_when_reading_stands_still_and_all_is_taken_for_changed() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    table.read_on(0, 1);
    table.talk(200);
    let words = table.talk(1200);
    assert!(matches!(words[1][..], [Word::Lost, Word::Until(0), Word::Ours(_)]), "{words:?}");
    assert!(words[0].contains(&Word::Theirs));
    assert_eq!(table.readers(), [Some("b".to_owned()), Some("b".to_owned())]);
    // The new one's own reading has a beginning of its own, of the same number.
    table.read_on(1, 1);
    let words = table.talk(100);
    assert!(words[0].iter().any(|word| matches!(word, Word::Recovered(_, 1))));
}

#[test]
fn a_reader_of_an_older_epoch_tells_nobody_anything() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    table.read_on(0, 1);
    let mut late = table.says(0);
    late.leads[0].news = vec!["late".to_owned()];
    // It is on its way while b hears nothing of a and claims.
    let said = table.says(1);
    table.hear(&said);
    table.now += 1100;
    for _ in 0..2 {
        let said = table.says(1);
        table.hear(&said);
    }
    assert_eq!(table.readers()[1].as_deref(), Some("b"));
    assert_eq!(table.hear(&late), [[].as_slice(), &[]]);
    assert_eq!(table.readers()[1].as_deref(), Some("b"));
}

#[test]
fn a_claim_that_comes_after_a_word_of_the_reader_is_void() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    table.read_on(0, 1);
    let reads_on = table.says(0);
    table.now += 1100;
    let said = table.says(1);
    table.hear(&said);
    let claim = table.says(1);
    assert_eq!(claim.leads[0].epoch, 0);
    table.hear(&reads_on);
    table.hear(&claim);
    assert_eq!(table.readers(), [Some("a".to_owned()), Some("a".to_owned())]);
}

#[test]
fn who_says_goodbye_or_rests_is_followed_at_once() {
    for is_goodbye in [true, false] {
        let mut table = Table::of(&["a", "b"]);
        table.talk(900);
        table.read_on(0, 1);
        table.talk(100);
        if is_goodbye {
            let goodbye = Said { is_goodbye, ..table.says(0) };
            let words = table.hear(&goodbye);
            assert_eq!(words[1][words[1].len() - 2..], [Word::Lost, Word::Until(0)]);
        } else {
            table.nodes[0].0.leases.rest(KEY, table.now + 5000);
            let said = table.says(0);
            assert_eq!(table.hear(&said)[0], [Word::Theirs]);
        }
        let said = table.says(1);
        assert!(matches!(table.hear(&said)[1][..], [Word::Ours(_)]));
    }
}

#[test]
fn who_leaves_and_wants_again_begins_anew() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    table.read_on(0, 1);
    table.talk(100);
    let before = table.nodes[0].0.leases.readings()[0].epoch;
    table.nodes[0].0.leases.leave(KEY);
    assert!(table.nodes[0].0.leases.want(KEY, table.now));
    assert!(!table.nodes[0].0.leases.want(KEY, table.now), "it is wanted once");
    let words = table.talk(200);
    assert!(words[1].contains(&Word::Lost), "its reading was interrupted: {words:?}");
    let after = &table.nodes[1].0.leases.readings()[0];
    assert!(after.by.is_some() && after.epoch > before);
}

#[test]
fn who_comes_later_learns_who_reads_and_another_stream_forgets_it() {
    let mut table = Table::of(&["a", "b"]);
    table.talk(900);
    table.read_on(0, 1);
    let (mut late, _) = Table::of(&["c"]).nodes.remove(0);
    late.begin_anew(table.sequence);
    let said = table.says(0);
    let arrival = Arrival { sequence: table.sequence + 1, said: Some(said) };
    let words: Vec<_> = late.take(arrival, 0).words.into_iter().map(|(_, word)| word).collect();
    let is_followed = words.iter().any(|word| matches!(word, Word::Recovered(..)));
    assert!(is_followed && late.leases.readings()[0].is_followed);
    let words = late.begin_anew(3);
    assert_eq!(
        words.into_iter().map(|(_, word)| word).collect::<Vec<_>>(),
        [Word::Lost, Word::Until(0)]
    );
    assert_eq!(late.leases.readings()[0].by, None);
}

/// A database whose changes one node reads, nodes that are paused and cut off, and visitors:
/// nobody is shown as fresh what is older than a lag limit. All of it by a seed.
mod simulated {
    use std::collections::VecDeque;

    use super::*;

    const STEP: u64 = 5;
    /// How long a page is fresh whose source isn't followed.
    const SHORT: u64 = 300;

    struct Dice(u64);

    impl Dice {
        fn below(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % below
        }
    }

    /// A page: how many changes it has seen, when it was asked for, and whether it is fresh for
    /// hours.
    struct Page {
        version: usize,
        asked: u64,
        is_lasting: bool,
    }

    struct Node {
        hearing: Hearing,
        skew: u64,
        number: u64,
        flying: Option<(Said, u64)>,
        next_word: u64,
        cut_until: u64,
        paused_until: u64,
        /// What it was told and has not obeyed yet, and when it does.
        heard: VecDeque<(Word, u64)>,
        is_followed: bool,
        /// As the reader: its epoch, when its feed begins, what that has told, and what waits to
        /// be told.
        reads: Option<(u64, u64, Option<usize>)>,
        outbox: Vec<(u64, String)>,
        next_beat: u64,
        page: Option<Page>,
    }

    #[derive(Debug, Default)]
    struct Outcome {
        stale: usize,
        hits: usize,
        takeovers: usize,
        changes: usize,
    }

    /// The worst moments: who read before wakes when the next one's feed is about to begin, and
    /// something changes in between.
    #[derive(Default)]
    struct Worst {
        known: u64,
        change_at: Option<u64>,
    }

    impl Worst {
        fn note(&mut self, nodes: &mut [Node], now: u64, dice: &mut Dice) {
            let reads =
                |node: &Node| node.reads.as_ref().map(|(epoch, begins, _)| (*epoch, *begins));
            let Some((epoch, begins)) = nodes.iter().filter_map(reads).max() else { return };
            if epoch == self.known {
                return;
            }
            self.known = epoch;
            self.change_at = Some(begins.saturating_sub(dice.below(60)));
            let is_before = |node: &&mut Node| {
                node.paused_until > now && reads(node).is_some_and(|(own, _)| own < epoch)
            };
            for node in nodes.iter_mut().filter(is_before) {
                node.paused_until = begins.saturating_sub(dice.below(200)).max(now + STEP);
            }
        }
    }

    /// As often as among three, however many there are, something happens to one of them: else
    /// somebody would be away at any moment, and nobody in touch.
    fn play(seed: u64, nodes: usize, steps: u64, is_fenced: bool) -> Outcome {
        let rarer = (nodes as u64 / 3).max(1);
        let mut dice = Dice(seed);
        let (mut stream, mut changes): (Vec<Said>, Vec<u64>) = (Vec::new(), Vec::new());
        let mut nodes: Vec<Node> = (0..nodes).map(|at| node(at, &mut dice)).collect();
        let (mut outcome, mut worst) = (Outcome::default(), Worst::default());
        for now in (0..steps).map(|step| step * STEP) {
            if dice.below(200) == 0 || worst.change_at.take_if(|at| *at <= now).is_some() {
                changes.push(now);
            }
            for node in &mut nodes {
                if dice.below(1200 * rarer) == 0 {
                    node.paused_until = now + dice.below(4000);
                }
                if dice.below(2000 * rarer) == 0 {
                    node.cut_until = now + dice.below(3000);
                }
                if now < node.paused_until {
                    continue;
                }
                // Who wakes is asked before it does anything else.
                visit(node, now, &changes, &mut outcome);
                read(node, now, &changes);
                speak(node, now, &mut dice);
                if now >= node.cut_until {
                    if let Some((said, _)) = node.flying.take_if(|(_, due)| *due <= now) {
                        stream.push(said);
                    }
                    outcome.takeovers += hear(node, now, &stream, &mut dice, is_fenced, rarer);
                }
                obey(node, now, &mut dice);
            }
            worst.note(&mut nodes, now, &mut dice);
        }
        outcome.changes = changes.len();
        outcome
    }

    fn node(at: usize, dice: &mut Dice) -> Node {
        let (mut hearing, skew) = (Hearing::new(&format!("n{at}"), 1, LAG), dice.below(1 << 40));
        hearing.begin_anew(0);
        hearing.leases.want(KEY, skew);
        Node {
            hearing,
            skew,
            number: 0,
            flying: None,
            next_word: 0,
            cut_until: 0,
            paused_until: 0,
            heard: VecDeque::new(),
            is_followed: false,
            reads: None,
            outbox: Vec::new(),
            next_beat: 0,
            page: None,
        }
    }

    /// A visitor: what is stored is shown if it may be, else the site is asked.
    fn visit(node: &mut Node, now: u64, changes: &[u64], outcome: &mut Outcome) {
        let is_in_touch = node.hearing.heard_until() > now + node.skew;
        let is_fresh = |page: &Page| {
            let age = now - page.asked;
            (age < SHORT || page.is_lasting) && (age < LAG || is_in_touch)
        };
        if let Some(page) = node.page.as_ref().filter(|page| is_fresh(page)) {
            let owed = changes.iter().filter(|made| **made + LAG + STEP < now).count();
            outcome.stale += usize::from(page.version < owed);
            outcome.hits += usize::from(now - page.asked >= SHORT);
            return;
        }
        let is_lasting = node.is_followed;
        node.page = Some(Page { version: changes.len(), asked: now, is_lasting });
    }

    /// As the reader: what its feed tells.
    fn read(node: &mut Node, now: u64, changes: &[u64]) {
        let Some((epoch, begins, told)) = &mut node.reads else { return };
        if now < *begins {
            return;
        }
        let place = node.hearing.own_sequence();
        let known = match *told {
            Some(known) => known,
            None => {
                // It begins at the present, and what was before may have changed.
                (node.page, node.is_followed) = (None, true);
                changes.len()
            }
        };
        if changes.len() > known {
            node.page = None;
            node.outbox.extend((known..changes.len()).map(|_| (*epoch, "x".to_owned())));
        }
        *told = Some(changes.len());
        if now >= node.next_beat {
            node.next_beat = now + 60;
            node.hearing.leases.read_on(KEY, *epoch, 1, place);
        }
    }

    fn speak(node: &mut Node, now: u64, dice: &mut Dice) {
        if node.flying.is_some() || (now < node.next_word && node.outbox.is_empty()) {
            return;
        }
        node.number += 1;
        let mut said = Said { form: 1, number: node.number, instance: 1, ..Said::default() };
        said.node.clone_from(&node.hearing.leases.own.0);
        said.told_until = node.hearing.own_sequence();
        for (epoch, news) in node.outbox.drain(..) {
            match said.leads.iter_mut().find(|lead| lead.epoch == epoch) {
                Some(lead) => lead.news.push(news),
                None => said.leads.push(Lead {
                    key: KEY.to_owned(),
                    epoch,
                    news: vec![news],
                    ..Lead::default()
                }),
            }
        }
        node.hearing.note_sent(node.number, now + node.skew);
        let spoke = node.hearing.spoke_ticks_ms();
        node.hearing.leases.fill(&mut said, true, spoke, now + node.skew);
        node.flying = Some((said, now + dice.below(60)));
        node.next_word = now + 125 + dice.below(400);
    }

    /// What comes out of the stream; how often this node became the reader.
    fn hear(
        node: &mut Node,
        now: u64,
        stream: &[Said],
        dice: &mut Dice,
        is_fenced: bool,
        many: u64,
    ) -> usize {
        let (heard, mut takeovers) = (node.hearing.sequence().unwrap_or(0), 0);
        for sequence in heard + 1..=(heard + dice.below(4 + many)) {
            let Some(said) = stream.get(sequence as usize - 1) else { break };
            let mut said = said.clone();
            if !is_fenced {
                // As if no epoch were borne.
                let known = node.hearing.leases.known[KEY].epoch;
                let leads = said.leads.iter_mut().filter(|lead| lead.epoch != 0);
                leads.for_each(|lead| lead.epoch = lead.epoch.max(known));
            }
            let taken = node.hearing.take(Arrival { sequence, said: Some(said) }, now + node.skew);
            assert!(!taken.missed, "nothing is ever missing here");
            let due = node.heard.back().map_or(now, |(_, due)| *due).max(now + dice.below(30));
            for (_, word) in taken.words {
                takeovers += usize::from(matches!(word, Word::Ours(_)));
                node.heard.push_back((word, due));
            }
        }
        takeovers
    }

    /// What was heard has its effect some time later.
    fn obey(node: &mut Node, now: u64, dice: &mut Dice) {
        while let Some((word, _)) = node.heard.pop_front_if(|(_, due)| *due <= now) {
            match word {
                Word::Ours(epoch) => node.reads = Some((epoch, now + dice.below(1500), None)),
                Word::Theirs => {
                    if node.reads.take().is_some() {
                        (node.page, node.is_followed) = (None, false);
                    }
                }
                Word::Lost => (node.page, node.is_followed) = (None, false),
                Word::Recovered(..) => (node.page, node.is_followed) = (None, true),
                Word::Told(_) => node.page = None,
                Word::Until(place) => node.hearing.leases.obeyed(KEY, place),
            }
        }
    }

    #[test]
    fn nobody_is_shown_what_is_older_than_a_lag_limit() {
        for seed in 0..25 {
            let Outcome { stale, hits, takeovers, changes } = play(seed, 3, 8000, true);
            assert_eq!(stale, 0, "seed {seed}");
            assert!(changes > 10 && takeovers > 1 && hits > 100, "{changes} {takeovers} {hits}");
        }
    }

    #[test]
    fn a_hundred_nodes_are_no_different() {
        let Outcome { stale, hits, takeovers, changes } = play(1, 100, 1200, true);
        assert_eq!(stale, 0);
        assert!(changes > 2 && takeovers > 0 && hits > 100, "{changes} {takeovers} {hits}");
    }

    #[test]
    fn without_fencing_some_are() {
        let is_harmed = (0..60).any(|seed| play(seed, 3, 8000, false).stale > 0);
        assert!(is_harmed, "a reader that was paused does no harm: what is fencing for?");
    }
}

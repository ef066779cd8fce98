//! Nodes, links and streams, simulated: who says what when, and when who has heard it.
//!
//! Given: the delay of each link, what a push takes a server, how long copies take. Not
//! simulated: losses, and servers' failures; `hearing_tests.rs` and bench/cluster-faults have
//! those. All by a seed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

use cluster::Said;
use cluster::hearing::{Arrival, Hearing};

/// One way between five regions, in milliseconds: Frankfurt, Virginia, Oregon, Tokyo, São Paulo.
/// About half of the round trips that clouds publish; given, not measured.
const WIDE_MS: [[f64; 5]; 5] = [
    [0.25, 45.0, 70.0, 115.0, 100.0],
    [45.0, 0.25, 32.0, 75.0, 58.0],
    [70.0, 32.0, 0.25, 50.0, 88.0],
    [115.0, 75.0, 50.0, 0.25, 128.0],
    [100.0, 58.0, 88.0, 128.0, 0.25],
];
/// The stream that all hear stands in Virginia, which is nearest to all.
const MIDDLE: usize = 1;
/// What NATS adds to a word on the wire: subject, reply, headers, as its protocol writes them.
const FRAME_BYTES: f64 = 190.0;
/// Nodes whose hearing is the real one.
const SAMPLE: usize = 3;
const JITTER: u64 = 10;

/// What is given.
pub(crate) struct Plan {
    pub(crate) lag_us: u64,
    pub(crate) edits_a_second: u64,
    pub(crate) run_us: u64,
    pub(crate) push_us: u64,
    pub(crate) word_us: u64,
    pub(crate) copies_us: u64,
    pub(crate) seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            lag_us: 2_000_000,
            edits_a_second: 10,
            run_us: 12_000_000,
            // As `push` tells: its figures for 10 nodes and for 40 are two equations.
            push_us: 7,
            word_us: 150,
            copies_us: 1_000,
            seed: 1,
        }
    }
}

/// How words travel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One stream, and everybody hears everything: as it is built.
    Flat,
    /// One stream; words without news go to who said them and to a reckoner, which says for all.
    Reckoned,
    /// A stream a region, and one between the regions that a delegate of each speaks in.
    Regional,
    /// Both.
    Both,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [Self::Flat, Self::Reckoned, Self::Regional, Self::Both];

    pub(crate) fn is_regional(self) -> bool {
        matches!(self, Self::Regional | Self::Both)
    }

    fn is_reckoned(self) -> bool {
        matches!(self, Self::Reckoned | Self::Both)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flat => "flat (built)",
            Self::Reckoned => "reckoned",
            Self::Regional => "regional",
            Self::Both => "regional, reckoned",
        })
    }
}

/// What came of it, a second.
pub(crate) struct Found {
    pub(crate) words: f64,
    pub(crate) pushes: f64,
    pub(crate) bytes: f64,
    pub(crate) heard_a_node: f64,
    pub(crate) bytes_a_node: f64,
    /// Cores' worth of work of the stream that has most to do.
    pub(crate) busiest: f64,
    /// The share of looks at which a node was in touch, where hearing is the real one.
    pub(crate) in_touch: Option<f64>,
    everywhere: Vec<u64>,
}

impl Found {
    /// Whether the servers can do it at all: else queues grow without an end.
    pub(crate) fn is_bearable(&self) -> bool {
        self.busiest < 1.0
    }

    pub(crate) fn everywhere(&self, percent: usize) -> Option<u64> {
        let at = (self.everywhere.len() * percent / 100).min(self.everywhere.len().checked_sub(1)?);
        self.everywhere.get(at).copied()
    }
}

/// One order of words, and who hears it.
#[derive(Default)]
struct Stream {
    region: usize,
    /// Regions of those that hear it, one entry each.
    ears: Vec<usize>,
    sequence: u64,
    committed_us: u64,
    busy_until_us: u64,
    words: u64,
    pushes: u64,
}

/// One that says something in a stream: a node, a reckoner or a delegate.
#[derive(Default)]
struct Speaker {
    stream: usize,
    region: usize,
    /// Its place among the stream's ears; none that only speaks.
    ear: usize,
    is_reckoner: bool,
    beats: bool,
    number: u64,
    own_sequence: u64,
    /// Edits to be told.
    news: Vec<usize>,
    acknowledged_us: u64,
    wakes_us: u64,
}

struct Edit {
    made_us: u64,
    known_us: u64,
    streams_left: usize,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Speak(usize),
    Arrive(usize, u64, u64, Vec<usize>),
    Back(usize, u64),
    Sample(usize, u64),
    Relay(usize, Vec<usize>),
    Make,
}

/// The state.
pub(crate) struct World<'a> {
    plan: &'a Plan,
    shape: Shape,
    is_wide: bool,
    now_us: u64,
    dice: u64,
    order: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    streams: Vec<Stream>,
    speakers: Vec<Speaker>,
    nodes: usize,
    edits: Vec<Edit>,
    hearings: Vec<Hearing>,
    /// Words on their way to the sample.
    words: BTreeMap<u64, (Said, usize)>,
    looks: (u64, u64),
    bytes: f64,
}

impl<'a> World<'a> {
    pub(crate) fn play(plan: &'a Plan, nodes: usize, is_wide: bool, shape: Shape) -> Found {
        let mut world = Self {
            plan,
            shape,
            is_wide,
            now_us: 0,
            dice: plan.seed,
            order: 0,
            events: BinaryHeap::new(),
            streams: Vec::new(),
            speakers: Vec::new(),
            nodes,
            edits: Vec::new(),
            hearings: Vec::new(),
            words: BTreeMap::new(),
            looks: (0, 0),
            bytes: 0.0,
        };
        world.people();
        while let Some(Reverse((at, _, event))) = world.events.pop() {
            if at > plan.run_us {
                break;
            }
            world.now_us = at;
            world.take(event);
        }
        world.found()
    }

    /// Puts everybody in place.
    fn people(&mut self) {
        let regions = if self.is_wide { WIDE_MS.len() } else { 1 };
        let home = if self.is_wide { MIDDLE } else { 0 };
        let locals = if self.shape.is_regional() { regions } else { 1 };
        for local in 0..locals {
            let region = if locals > 1 { local } else { home };
            self.streams.push(Stream { region, ..Stream::default() });
        }
        for node in 0..self.nodes {
            let region = node % regions;
            let stream = if locals > 1 { region } else { 0 };
            self.seat(stream, region, false);
        }
        if self.shape.is_reckoned() {
            (0..locals).for_each(|stream| self.seat(stream, self.streams[stream].region, true));
        }
        if locals > 1 {
            self.streams.push(Stream { region: home, ..Stream::default() });
            // The delegate of a region, whatever else it is.
            (0..regions).for_each(|region| self.seat(locals, region, false));
        }
        if self.shape == Shape::Flat {
            for node in 0..SAMPLE.min(self.nodes) {
                let mut hearing = Hearing::new(&format!("n{node}"), 1, self.plan.lag_us / 1000);
                hearing.begin_anew(0);
                self.hearings.push(hearing);
            }
        }
        let edits = self.plan.edits_a_second * self.plan.run_us / 1_000_000;
        for _ in 0..edits {
            // The first seconds are for everybody to be heard.
            let at = self.plan.lag_us + self.below(self.plan.run_us - 2 * self.plan.lag_us);
            self.at(at, Event::Make);
        }
    }

    fn seat(&mut self, stream: usize, region: usize, is_reckoner: bool) {
        let ear = self.streams[stream].ears.len();
        self.streams[stream].ears.push(region);
        let speaker = self.speakers.len();
        let first = self.below(self.plan.lag_us / 8);
        self.speakers.push(Speaker {
            stream,
            region,
            ear,
            is_reckoner,
            beats: true,
            wakes_us: first,
            ..Speaker::default()
        });
        self.at(first, Event::Speak(speaker));
    }

    fn at(&mut self, at_us: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at_us, self.order, event)));
    }

    fn below(&mut self, below: u64) -> u64 {
        self.dice =
            self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.dice >> 33) % below.max(1)
    }

    /// One way, a tenth more or less.
    fn link_us(&mut self, from: usize, to: usize) -> u64 {
        let delay = if self.is_wide { WIDE_MS[from][to] } else { 0.25 };
        let delay = (delay * 1e3) as u64;
        delay + self.below(delay / JITTER)
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Speak(speaker) => self.speak(speaker),
            Event::Arrive(speaker, number, told_until, news) => {
                self.arrive(speaker, number, told_until, news);
            }
            Event::Back(speaker, sequence) => self.speakers[speaker].own_sequence = sequence,
            Event::Sample(node, sequence) => self.sample(node, sequence),
            Event::Relay(speaker, news) => {
                self.speakers[speaker].news.extend(news);
                self.wake(speaker, self.now_us);
            }
            Event::Make => {
                let node = self.below(self.nodes as u64) as usize;
                let streams_left = self.streams.len();
                self.edits.push(Edit { made_us: self.now_us, known_us: 0, streams_left });
                self.speakers[node].news.push(self.edits.len() - 1);
                self.wake(node, self.now_us);
            }
        }
    }

    /// It speaks at this moment, or as soon as its last word is acknowledged.
    fn wake(&mut self, speaker: usize, at_us: u64) {
        let at_us = at_us.max(self.speakers[speaker].acknowledged_us);
        self.speakers[speaker].wakes_us = at_us;
        self.at(at_us, Event::Speak(speaker));
    }

    fn speak(&mut self, at: usize) {
        // It was woken for another moment since.
        if self.speakers[at].wakes_us != self.now_us || !self.speakers[at].beats {
            return;
        }
        if self.speakers[at].acknowledged_us > self.now_us {
            self.wake(at, self.now_us);
            return;
        }
        let to = self.streams[self.speakers[at].stream].region;
        let late = self.link_us(self.speakers[at].region, to);
        let speaker = &mut self.speakers[at];
        speaker.number += 1;
        let (number, told, news) =
            (speaker.number, speaker.own_sequence, std::mem::take(&mut speaker.news));
        // The acknowledgement takes as long back, and copies are made before it.
        speaker.acknowledged_us = self.now_us + 2 * late + self.plan.copies_us;
        if let Some(hearing) = self.hearings.get_mut(at) {
            hearing.note_sent(number, self.now_us / 1000);
        }
        self.at(self.now_us + late, Event::Arrive(at, number, told, news));
        self.wake(at, self.now_us + self.plan.lag_us / 8);
    }

    fn arrive(&mut self, at: usize, number: u64, told_until: u64, news: Vec<usize>) {
        let said = Said {
            form: 1,
            node: format!("n{at}"),
            instance: u64::MAX - at as u64,
            number,
            told_until,
            news: news.iter().map(|edit| purge(*edit)).collect(),
            ..Said::default()
        };
        let bytes = serde_json::to_vec(&said).map_or(0, |bytes| bytes.len()) as f64 + FRAME_BYTES;
        let (which, own_ear) = (self.speakers[at].stream, self.speakers[at].ear);
        let is_quiet =
            self.shape.is_reckoned() && news.is_empty() && !self.speakers[at].is_reckoner;
        let stream = &mut self.streams[which];
        stream.sequence += 1;
        stream.words += 1;
        let sequence = stream.sequence;
        stream.committed_us = stream.committed_us.max(self.now_us + self.plan.copies_us);
        let pushes = if is_quiet { 2 } else { stream.ears.len() as u64 };
        stream.pushes += pushes;
        let begun = stream.committed_us.max(stream.busy_until_us) + self.plan.word_us;
        stream.busy_until_us = begun + pushes * self.plan.push_us;
        let (region, ears) = (stream.region, stream.ears.clone());
        self.bytes += bytes * (pushes + 1) as f64;
        let turn =
            |ear: usize| begun + (1 + if is_quiet { 0 } else { ear as u64 }) * self.plan.push_us;
        let back = turn(own_ear) + self.link_us(region, self.speakers[at].region);
        self.at(back, Event::Back(at, sequence));
        self.words.insert(sequence, (said, self.hearings.len()));
        for (node, to) in ears.iter().enumerate().take(self.hearings.len()) {
            let heard = if node == at { back } else { turn(node) + self.link_us(region, *to) };
            self.at(heard, Event::Sample(node, sequence));
        }
        if !news.is_empty() {
            let heard: Vec<u64> = ears
                .iter()
                .enumerate()
                .map(|(ear, to)| turn(ear) + self.link_us(region, *to))
                .collect();
            self.spread(which, at, &heard, news);
        }
    }

    /// All ears of a stream have heard this by these moments; delegates carry it on.
    fn spread(&mut self, which: usize, speaker: usize, heard: &[u64], news: Vec<usize>) {
        for edit in &news {
            let edit = &mut self.edits[*edit];
            edit.known_us = edit.known_us.max(heard.iter().copied().max().unwrap_or(0));
            edit.streams_left -= 1;
        }
        let middle = self.streams.len() - 1;
        let delegates = self.speakers.len() - middle;
        if middle == 0 {
            return;
        }
        if which != middle {
            // What came from the other regions isn't sent back to them.
            let is_new = |edit: &usize| self.edits[*edit].streams_left == middle;
            let news: Vec<_> = news.into_iter().filter(is_new).collect();
            if !news.is_empty() {
                self.at(heard[0], Event::Relay(delegates + which, news));
            }
            return;
        }
        let from = speaker - delegates;
        for region in (0..middle).filter(|region| *region != from) {
            self.at(heard[region], Event::Relay(region, news.clone()));
        }
    }

    /// A word comes to one whose hearing is the real one. Links keep their order.
    fn sample(&mut self, node: usize, sequence: u64) {
        let now_ms = self.now_us / 1000;
        let next = self.hearings[node].sequence().unwrap_or(0) + 1;
        if sequence != next {
            // What overtook another one waits for it.
            self.at(self.now_us + 100, Event::Sample(node, sequence));
            return;
        }
        let Some((said, left)) = self.words.get_mut(&sequence) else { return };
        let said = said.clone();
        *left -= 1;
        if *left == 0 {
            self.words.remove(&sequence);
        }
        let own = said.node == format!("n{node}");
        let said = if own { Said { instance: 1, ..said } } else { said };
        self.hearings[node].take(Arrival { sequence, said: Some(said) }, now_ms);
        if self.now_us > 2 * self.plan.lag_us {
            self.looks.0 += u64::from(self.hearings[node].heard_until() > now_ms);
            self.looks.1 += 1;
        }
    }

    fn found(mut self) -> Found {
        let seconds = self.plan.run_us as f64 / 1e6;
        let words = self.streams.iter().map(|stream| stream.words).sum::<u64>() as f64 / seconds;
        let pushes = self.streams.iter().map(|stream| stream.pushes).sum::<u64>() as f64 / seconds;
        let work =
            |stream: &Stream| stream.words * self.plan.word_us + stream.pushes * self.plan.push_us;
        let busiest = self.streams.iter().map(work).max().unwrap_or(0);
        self.edits.retain(|edit| edit.streams_left == 0);
        let mut everywhere: Vec<_> =
            self.edits.iter().map(|edit| edit.known_us.saturating_sub(edit.made_us)).collect();
        everywhere.sort_unstable();
        let bytes = self.bytes / seconds;
        let (in_touch, looks) = self.looks;
        Found {
            words,
            pushes,
            bytes,
            heard_a_node: pushes / self.nodes as f64,
            bytes_a_node: bytes / self.nodes as f64,
            busiest: busiest as f64 / seconds / 1e6,
            in_touch: (looks > 0).then(|| in_touch as f64 / looks as f64),
            everywhere,
        }
    }
}

/// As a purge by a tag is told.
fn purge(edit: usize) -> String {
    format!(
        r#"{{"hosts":["shop.example.org"],"purged":{{"host":null,"purge":{{"tags":["post-{edit}"],"soft":false}}}}}}"#
    )
}

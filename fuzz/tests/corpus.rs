//! Every corpus through its target, as it lies there and broken a little.
//!
//! The fuzzer looks for new inputs; this keeps the old ones working, in the time of
//! an ordinary test. The breaking is seeded, so a failure comes again.

use std::path::{Path, PathBuf};

use fuzz::{TARGETS, Target};

/// How often each input is broken.
const BREAKS: u64 = 1000;

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn inputs(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = corpora().join(target.name);
    let entries = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut inputs: Vec<_> = entries
        .map(|entry| entry.expect("the corpus can be listed").path())
        .map(|path| (path.clone(), std::fs::read(path).expect("an input can be read")))
        .collect();
    inputs.sort();
    inputs
}

/// Runs a target; a panic names the input, and the bytes if they were changed.
fn run(target: &Target, path: &Path, input: &[u8]) {
    let outcome = std::panic::catch_unwind(|| (target.body)(input));
    assert!(
        outcome.is_ok(),
        "{} breaks on {}, here as: b\"{}\"",
        target.name,
        path.display(),
        input.escape_ascii()
    );
}

#[test]
fn each_target_has_a_corpus_and_each_corpus_a_target() {
    let mut folders: Vec<_> = std::fs::read_dir(corpora())
        .expect("there are corpora")
        .map(|entry| entry.expect("the corpora can be listed").file_name())
        .collect();
    folders.sort();
    let mut names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    assert_eq!(folders, names);
    for target in TARGETS {
        assert!(inputs(target).len() >= 3, "{} has hardly a corpus", target.name);
    }
}

#[test]
fn corpora_keep_every_promise() {
    for target in TARGETS {
        (target.body)(b"");
        for (path, input) in inputs(target) {
            run(target, &path, &input);
        }
    }
}

#[test]
fn broken_inputs_keep_every_promise() {
    let mut dice = Dice(0x5eed);
    for target in TARGETS {
        let all = inputs(target);
        for (path, input) in &all {
            for _ in 0..BREAKS {
                let (_, other) = &all[dice.below(all.len())];
                run(target, path, &broken(input, other, &mut dice));
            }
        }
    }
}

/// A few changes: a bit flipped, a byte set, a stretch removed or doubled, another
/// input's stretch put in.
fn broken(input: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    const BORDERS: &[u8] = b"\0\r\n \t:;,=\"\\/*-09\x7f\x80\xff";
    let mut bytes = input.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + 1 + dice.below(16)).min(bytes.len());
        match dice.below(5) {
            0 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            1 => bytes.insert(at, BORDERS[dice.below(BORDERS.len())]),
            2 if at < end => drop(bytes.drain(at..end)),
            3 if at < end => {
                let stretch = bytes[at..end].to_vec();
                bytes.splice(at..at, stretch);
            }
            _ => {
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(32)).min(other.len());
                bytes.splice(at..at, other[from..to].to_vec());
            }
        }
    }
    bytes
}

/// xorshift64: the same row of numbers in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

//! The Wick that serves now, after others did: it is no child of the test.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::wick::{Wick, until};

/// The process that serves now; it goes with the test.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Serving(Pid);

impl Serving {
    pub(crate) fn of(id: u32) -> Self {
        Self(Pid::from_raw(id.cast_signed()).expect("a process id"))
    }

    pub(crate) fn is_there(&self) -> bool {
        test_kill_process(self.0).is_ok()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // One that has ended is no failure.
        let _ = kill_process(self.0, Signal::TERM);
    }
}

/// `wick upgrade`; the process that serves from then on.
pub(crate) fn upgrade(state: &str) -> Serving {
    let ended = Wick::run(&["upgrade", "--state", state]).end();
    assert_eq!(ended.told(), "0 ", "{}", ended.output);
    let words: Vec<&str> = ended.output.split_whitespace().collect();
    assert_eq!(words[..2], ["upgraded", "process"], "{}", ended.output);
    Serving::of(words[2].parse().expect("a process id"))
}

/// Ends it, and waits until it is gone.
pub(crate) fn end(serving: Serving) {
    let last = serving.0;
    drop(serving);
    until("the end of the last one", || test_kill_process(last).is_err());
}

//! Exemplars: for each class of times the trace of the last answer in it that was recorded.
//!
//! Invariant: who can't write at once leaves it; only answers that are recorded come here.

use parking_lot::Mutex;

use crate::histogram::BOUNDS;

/// A recorded answer that stands for others of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exemplar {
    /// Its trace.
    pub trace: u128,
    /// How long it took.
    pub took_us: u64,
    /// When it was over, in milliseconds since 1970.
    pub unix_ms: u64,
}

/// One for each class of times, where there was any.
pub type Each = [Option<Exemplar>; BOUNDS + 1];

/// The last of each class.
#[derive(Debug, Default)]
pub struct Exemplars(Mutex<Each>);

impl Exemplars {
    /// Remembers one.
    pub fn note(&self, exemplar: Exemplar) {
        if let Some(mut each) = self.0.try_lock() {
            each[crate::histogram::class(exemplar.took_us)] = Some(exemplar);
        }
    }

    /// All of them.
    #[must_use]
    pub fn each(&self) -> Each {
        *self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_each_class_is_told() {
        let exemplars = Exemplars::default();
        for (trace, took_us) in [(1, 300), (2, 5_000_000), (3, 310), (4, u64::MAX)] {
            exemplars.note(Exemplar { trace, took_us, unix_ms: 7 });
        }
        let told: Vec<u128> = exemplars.each().iter().flatten().map(|it| it.trace).collect();
        assert_eq!(told, [3, 2, 4]);
    }
}

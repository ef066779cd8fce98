//! Counters that many cores can bump without waiting for each other.
//!
//! A counter is a handful of cells, each on cache lines of its own; a thread
//! always bumps the same cell, and reading adds the cells up.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const STRIPES: usize = 8;

/// Two cache lines: neighbouring lines are fetched in pairs on x86.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell(AtomicU64);

/// A number that only grows, or (by [`Counter::sub`]) a level.
#[derive(Debug, Default)]
pub struct Counter {
    cells: [Cell; STRIPES],
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: usize = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
}

impl Counter {
    /// Adds one.
    pub fn bump(&self) {
        self.add(1);
    }

    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        STRIPE.with(|&stripe| self.cells[stripe].0.fetch_add(amount, Ordering::Relaxed));
    }

    /// Takes `amount` off; the sum stays right whichever thread does it.
    pub fn sub(&self, amount: u64) {
        STRIPE.with(|&stripe| self.cells[stripe].0.fetch_sub(amount, Ordering::Relaxed));
    }

    /// The sum over all threads at about this moment.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.cells.iter().fold(0u64, |sum, cell| sum.wrapping_add(cell.0.load(Ordering::Relaxed)))
    }
}

/// One counter of several, as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The counter's name.
    pub name: &'static str,
    /// What it counts: its doc comment.
    pub what: &'static str,
    /// How often that happened.
    pub number: u64,
}

/// Declares a structure of counters and gives it `each`, which tells all of them with their
/// names and their doc comments; so none can be forgotten where they are shown. Fields that are
/// no counters stand behind `and`.
#[macro_export]
macro_rules! counters {
    (
        $(#[$about:meta])*
        $sight:vis struct $name:ident {
            $($(#[doc = $what:literal])+ $counter_sight:vis $counter:ident: $counter_type:ty,)*
        }
        $(and { $($(#[$other_about:meta])* $other_sight:vis $other:ident: $other_type:ty,)* })?
    ) => {
        $(#[$about])*
        $sight struct $name {
            $($(#[doc = $what])+ $counter_sight $counter: $counter_type,)*
            $($($(#[$other_about])* $other_sight $other: $other_type,)*)?
        }

        impl $name {
            /// Each counter, in order.
            $sight fn each(&self) -> impl Iterator<Item = $crate::counter::Count> + use<> {
                [$($crate::counter::Count {
                    name: stringify!($counter),
                    what: concat!($($what),+).trim_ascii(),
                    number: self.$counter.read(),
                },)*]
                .into_iter()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bumps_of_all_threads_add_up_also_when_others_take_off() {
        let counter = std::sync::Arc::new(Counter::default());
        let hands: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                std::thread::spawn(move || (0..1000).for_each(|_| counter.bump()))
            })
            .collect();
        for hand in hands {
            hand.join().expect("a bumping thread does not panic");
        }
        counter.sub(1500);
        assert_eq!(counter.read(), 2500);
    }

    counters! {
        /// Two of them, and something else.
        #[derive(Debug, Default)]
        struct Several {
            /// What happened first,
            /// told on two lines.
            first: Counter,
            /// What happened then.
            second: std::sync::Arc<Counter>,
        } and {
            /// No counter.
            other: bool,
        }
    }

    #[test]
    fn each_counter_is_told_with_its_name_and_its_comment() {
        let several = Several::default();
        several.second.add(3);
        assert!(!several.other);
        let told: Vec<_> =
            several.each().map(|Count { name, what, number }| (name, what, number)).collect();
        let expected = [
            ("first", "What happened first, told on two lines.", 0),
            ("second", "What happened then.", 3),
        ];
        assert_eq!(told, expected);
    }
}

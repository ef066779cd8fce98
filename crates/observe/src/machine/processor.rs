//! The processor: what each core did, and how many wait for one.
//!
//! In: the texts of `/proc/stat` and `/proc/loadavg`. Out: times since the start of the machine,
//! and [`use_between`] two of them.

use super::numbers::numbers;

/// The kernel counts in hundredths of a second, whatever its own ticks are (`USER_HZ`).
pub const TICKS_A_SECOND: u64 = 100;
/// More cores than anybody has.
const CORES_MAX: usize = 1024;

/// What one core did since the machine's start, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTimes {
    /// Work of programs and of the kernel.
    pub busy: u64,
    /// Nothing, or waiting for a disk.
    pub idle: u64,
    /// Wanted to work while the host let others do so.
    pub stolen: u64,
}

/// The cores, in order.
#[must_use]
pub fn cores(stat: &str) -> Vec<CoreTimes> {
    let line = |line: &str| {
        let rest = line
            .strip_prefix("cpu")
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))?;
        let (_, rest) = rest.split_once(' ')?;
        times(rest)
    };
    stat.lines().filter_map(line).take(CORES_MAX).collect()
}

/// user, nice, system, idle, iowait, irq, softirq, steal; guests are counted among users already.
fn times(line: &str) -> Option<CoreTimes> {
    let mut each = [0u64; 8];
    let mut count = 0;
    for (place, number) in each.iter_mut().zip(numbers(line)) {
        *place = number;
        count += 1;
    }
    let [user, nice, system, idle, waiting, irq, soft_irq, stolen] = each;
    let sum = |all: &[u64]| all.iter().fold(0u64, |sum, one| sum.saturating_add(*one));
    (count >= 4).then(|| CoreTimes {
        busy: sum(&[user, nice, system, irq, soft_irq]),
        idle: sum(&[idle, waiting]),
        stolen,
    })
}

/// The share of the time between two looks that each core was busy, from 0 to 1. A core that
/// was switched off in between says 0.
#[must_use]
pub fn use_between(before: &[CoreTimes], now: &[CoreTimes]) -> Vec<f64> {
    let share = |(before, now): (&CoreTimes, &CoreTimes)| {
        let busy = now.busy.saturating_sub(before.busy);
        let stolen = now.stolen.saturating_sub(before.stolen);
        let idle = now.idle.saturating_sub(before.idle);
        let whole = busy.saturating_add(stolen).saturating_add(idle);
        if whole == 0 { 0.0 } else { busy as f64 / whole as f64 }
    };
    before.iter().zip(now).map(share).collect()
}

/// Of `/proc/loadavg`: how many work or wait to, on average over a minute.
#[must_use]
pub fn load(loadavg: &str) -> Option<f64> {
    let load: f64 = loadavg.split_ascii_whitespace().next()?.parse().ok()?;
    load.is_finite().then_some(load)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  4705 150 1120 16250 520 0 17 3 0 0\n\
        cpu0 2000 50 600 8000 500 0 10 3 7 0\ncpu1 2705 100 520 8250 20 0 7 0 0 0\n\
        intr 114930548 113199788 3\nctxt 1990473\nbtime 1062191376\nprocesses 2915\n";

    #[test]
    fn each_core_is_read_and_the_sum_of_them_is_not() {
        let expected = [
            CoreTimes { busy: 2660, idle: 8500, stolen: 3 },
            CoreTimes { busy: 3332, idle: 8270, stolen: 0 },
        ];
        assert_eq!(cores(STAT), expected);
    }

    #[test]
    fn an_old_kernel_has_fewer_numbers_and_garbage_has_no_cores() {
        let old = [CoreTimes { busy: 6, idle: 4, stolen: 0 }];
        for (text, expected) in [
            ("cpu0 1 2 3 4\n", old.as_slice()),
            ("cpu0 1 2 3\n", &[]),
            ("cpu0 1 2 x 4 5\n", &[]),
            ("cpufreq 1 2 3 4\n", &[]),
            ("cpu0\n", &[]),
            ("", &[]),
            ("\0\u{1f600}cpu0 -1 2 3 4", &[]),
        ] {
            assert_eq!(cores(text), expected, "{text:?}");
        }
        let most = format!("cpu0 {0} {0} {0} {0} {0} {0} {0} {0}\n", u64::MAX);
        assert_eq!(cores(&most)[0].busy, u64::MAX);
    }

    #[test]
    fn what_a_core_did_between_two_looks_is_a_share_and_never_more_than_one() {
        let core = |busy, idle, stolen| CoreTimes { busy, idle, stolen };
        for (before, now, expected) in [
            (core(0, 0, 0), core(25, 75, 0), 0.25),
            (core(10, 10, 0), core(20, 10, 10), 0.5),
            (core(10, 10, 0), core(10, 10, 0), 0.0),
            (core(10, 10, 0), core(0, 0, 0), 0.0),
            (core(0, 5, 0), core(9, 0, 0), 1.0),
        ] {
            assert_eq!(use_between(&[before], &[now]), [expected], "{before:?} {now:?}");
        }
        assert!(use_between(&[], &[core(1, 1, 1)]).is_empty());
    }

    #[test]
    fn the_load_is_the_first_number() {
        for (text, expected) in
            [("0.42 0.30 0.25 1/234 5678\n", Some(0.42)), ("NaN 1", None), ("", None), ("x", None)]
        {
            assert_eq!(load(text), expected, "{text:?}");
        }
    }
}

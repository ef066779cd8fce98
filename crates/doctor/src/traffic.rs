//! What a site's visitors wait for, as Wick's history tells it, and what a finding saves of it.
//!
//! In: the last day of the sites that Wick serves on this machine. Out: milliseconds a day, for
//! those findings whose gain can be computed; the others have none, rather than a guess.
//! Invariants: 1. no finding saves more of the origins' work than there was. 2. where the window saw no
//! traffic, what was measured in it isn't extrapolated.

use serde::Serialize;

use crate::budget::buffer_pool_waits;
use crate::finding::Class;
use crate::machine::Machine;

const DAY_SECONDS: f64 = 86_400.0;
/// Fewer requests to the origins than these say nothing of a day.
const REQUESTS_MIN: f64 = 20.0;
/// Fewer seconds don't either.
const SECONDS_MIN: f64 = 60.0;
/// Requests in the window from which on it is held against the day.
const WINDOW_REQUESTS_MIN: f64 = 5.0;
/// The share of a request that PHP compiles for without an opcode cache; `bench/doctor` measures
/// it.
const COMPILING_SHARE: f64 = 0.5;
/// What a connection waits that the kernel dropped: TCP's first time-out (RFC 6298).
const DROPPED_MS: f64 = 1000.0;

/// What was noted of the last day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// For how many seconds of it something was noted.
    pub noted_seconds: f64,
    /// Requests.
    pub requests: f64,
    /// Those of them that an origin worked for.
    pub origin_requests: f64,
    /// How long the origins worked for them.
    pub origin_ms: f64,
    /// How long a request waited for a place at the origin, in the mean; none where that wasn't
    /// noted.
    pub queue_ms: Option<f64>,
    /// How many of the requests came while the machine was looked at, and of those to an origin.
    pub in_window: Option<(f64, f64)>,
}

impl Traffic {
    /// Whether there is enough of it to rank by.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.noted_seconds >= SECONDS_MIN && self.origin_requests >= REQUESTS_MIN
    }

    /// What was counted, as much as a whole day has of it.
    #[must_use]
    pub fn a_day(&self, counted: f64) -> f64 {
        counted * DAY_SECONDS / self.noted_seconds.max(1.0)
    }

    /// How often the window's requests fit into a day's, of which `counted` were noted.
    fn windows(&self, counted: f64, in_window: f64) -> Option<f64> {
        (in_window >= WINDOW_REQUESTS_MIN).then(|| self.a_day(counted) / in_window)
    }
}

/// How a finding's gain is computed.
pub struct Saving {
    /// Whose.
    pub check: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// Milliseconds a day; at most what the origins work, unless they don't work meanwhile.
    compute: fn(&Machine, &Traffic) -> Option<f64>,
    /// Whether it is the origins' time that is saved.
    is_of_origin: bool,
}

/// All that can be computed.
pub const SAVINGS: &[Saving] = &[
    Saving {
        check: "memory_pressure",
        formula: "the origins' time × the share in which all programs waited for memory (full avg60)",
        compute: |machine, traffic| {
            let full = machine.now("psi.memory.full.avg60")? / 100.0;
            Some(traffic.a_day(traffic.origin_ms) * full)
        },
        is_of_origin: true,
    },
    Saving {
        check: "opcache",
        formula: "half of the origins' time: what compiling takes, at least, where nothing is kept",
        compute: |_, traffic| Some(traffic.a_day(traffic.origin_ms) * COMPILING_SHARE),
        is_of_origin: true,
    },
    Saving { check: "children_by_load", formula: QUEUE, compute: queue, is_of_origin: false },
    Saving { check: "pool_saturated", formula: QUEUE, compute: queue, is_of_origin: false },
    Saving { check: "buffer_pool", formula: READS, compute: reads, is_of_origin: true },
    Saving { check: "buffer_pool_hits", formula: READS, compute: reads, is_of_origin: true },
    Saving {
        check: "accept_queue",
        formula: "connections dropped in the window × 1 s, TCP's first time-out, as often as the \
                  window's requests fit into a day's",
        compute: |machine, traffic| {
            let dropped = machine.grown("netstat.TcpExt.ListenDrops")?;
            let (all, _) = traffic.in_window?;
            Some(dropped * DROPPED_MS * traffic.windows(traffic.requests, all)?)
        },
        is_of_origin: false,
    },
    Saving {
        check: "steal",
        formula: "the origins' time × the share that the host kept for others",
        compute: |machine, traffic| {
            let all = machine.grown("cpu.total").filter(|&all| all > 0.0)?;
            Some(traffic.a_day(traffic.origin_ms) * machine.grown("cpu.steal")? / all)
        },
        is_of_origin: true,
    },
];

const QUEUE: &str = "requests to the origins × the mean time that they waited for a place there";
const READS: &str = "reads of the disk in the window × its latency, as often as the window's \
                     requests to the origins fit into a day's";

fn queue(_: &Machine, traffic: &Traffic) -> Option<f64> {
    Some(traffic.a_day(traffic.origin_requests) * traffic.queue_ms?)
}

fn reads(machine: &Machine, traffic: &Traffic) -> Option<f64> {
    let in_window = buffer_pool_waits(machine)? * machine.window_seconds * 1000.0;
    let (_, of_origin) = traffic.in_window?;
    Some(in_window * traffic.windows(traffic.origin_requests, of_origin)?)
}

/// What a check's finding saves on this machine, in milliseconds a day; none where nobody
/// knows, or where it will hurt some other day.
#[must_use]
pub fn saved_ms_a_day(check: &str, class: Class, machine: &Machine) -> Option<f64> {
    if class == Class::Latent {
        return None;
    }
    let traffic = machine.traffic.as_ref().filter(|traffic| traffic.tells())?;
    let saving = SAVINGS.iter().find(|saving| saving.check == check)?;
    let most = match saving.is_of_origin {
        true => traffic.a_day(traffic.origin_ms),
        false => f64::INFINITY,
    };
    let saved = (saving.compute)(machine, traffic)?.min(most).round();
    (saved.is_finite() && saved > 0.0).then_some(saved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a day in which 1,000 of 10,000 requests went to an origin, for 100 ms each.
    fn traffic() -> Traffic {
        Traffic {
            noted_seconds: 43_200.0,
            requests: 10_000.0,
            origin_requests: 1000.0,
            origin_ms: 100_000.0,
            queue_ms: Some(30.0),
            in_window: Some((100.0, 10.0)),
        }
    }

    fn machine(numbers: &[(&str, f64, f64)]) -> Machine {
        let mut machine =
            Machine { window_seconds: 10.0, traffic: Some(traffic()), ..Machine::default() };
        for (name, before, now) in numbers {
            machine.before.insert((*name).into(), *before);
            machine.now.insert((*name).into(), *now);
        }
        machine
    }

    fn saved(check: &str, machine: &Machine) -> Option<f64> {
        saved_ms_a_day(check, Class::Slow, machine)
    }

    #[test]
    fn each_saving_follows_its_formula() {
        for (check, numbers, expected) in [
            ("opcache", &[][..], Some(100_000.0)),
            ("pool_saturated", &[], Some(60_000.0)),
            ("memory_pressure", &[("psi.memory.full.avg60", 0.0, 5.0)], Some(10_000.0)),
            ("memory_pressure", &[], None),
            // 100 reads of 0.2 ms, 200 times a day.
            ("buffer_pool", &[("mysql.Innodb_buffer_pool_reads", 0.0, 100.0)], Some(4000.0)),
            // Never more than all of the origins' time.
            ("buffer_pool", &[("mysql.Innodb_buffer_pool_reads", 0.0, 1e9)], Some(200_000.0)),
            ("accept_queue", &[("netstat.TcpExt.ListenDrops", 1.0, 4.0)], Some(600_000.0)),
            ("steal", &[("cpu.total", 0.0, 100.0), ("cpu.steal", 0.0, 10.0)], Some(20_000.0)),
            ("slow_log", &[], None),
        ] {
            assert_eq!(saved(check, &machine(numbers)), expected, "{check} {numbers:?}");
        }
    }

    #[test]
    fn savings_are_of_checks_that_there_are() {
        let ids: Vec<_> = crate::checks::all().iter().map(|check| check.id).collect();
        assert!(SAVINGS.iter().all(|saving| ids.contains(&saving.check)));
    }

    #[test]
    fn of_little_traffic_nothing_is_extrapolated() {
        let reads: &[_] = &[("mysql.Innodb_buffer_pool_reads", 0.0, 100.0)];
        let with = |traffic| Machine { traffic: Some(traffic), ..machine(reads) };
        let idle_window = Traffic { in_window: Some((100.0, 4.0)), ..traffic() };
        assert_eq!(saved("buffer_pool", &with(idle_window)), None);
        for little in [
            Traffic { noted_seconds: 59.0, ..traffic() },
            Traffic { origin_requests: 19.0, ..traffic() },
        ] {
            assert_eq!(saved("opcache", &with(little)), None, "{little:?}");
        }
        assert_eq!(saved_ms_a_day("opcache", Class::Latent, &machine(&[])), None);
        let nobody = Machine { traffic: None, ..machine(reads) };
        assert_eq!(saved("opcache", &nobody), None);
    }
}

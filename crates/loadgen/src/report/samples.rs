//! Outcomes that nobody has to wait for, for the tests of reports.

use std::time::Duration;

use crate::plan::{Load, Plan, Work};
use crate::report::Summary;
use crate::request::{Mix, Request, Wanted};
use crate::response::Answer;
use crate::run::Outcome;
use crate::schedule::Pattern;
use crate::tally::{FailureKind, Tally, Times};
use crate::target::Target;

pub(crate) fn plan() -> Plan {
    let (target, path) = Target::parse("http://127.0.0.1:81/a").expect("an address");
    let request = Request::new(Wanted::get(path), &target, true).expect("a request");
    Plan {
        target,
        work: Work::Requests(Mix::new(vec![(request, 1.0)]).expect("a weight")),
        load: Load::Open(Pattern::parse("100:10").expect("a pattern")),
        connections: 5,
        keeps: true,
        timeout: Duration::from_secs(1),
        threads: 1,
        visitors: 0,
        protocol: crate::plan::Protocol::Http1,
        verifies: true,
    }
}

/// 990 answers within ten seconds and ten failures; a fiftieth was late by the generator.
pub(crate) fn outcome() -> Outcome {
    let mut tally = Tally::default();
    (tally.begun, tally.late_by_generator) = (1_000, 20);
    for number in 0..990 {
        let latency = Duration::from_micros(1_000 + number * 10);
        let waiting = Duration::from_micros(900);
        let times = Times { latency, service: latency, connect: Duration::ZERO, waiting };
        let status = if number == 7 { 503 } else { 200 };
        let answer = Answer { status, head_bytes: 100, body_bytes: 1_000, keeps: true };
        tally.answer(Duration::from_millis(number * 10), &times, &answer);
    }
    let why = || "<no whole answer>".to_owned();
    tally.fail_many(Duration::from_secs(9), FailureKind::Timeout, 10, why);
    tally.settle();
    Outcome {
        tally,
        time: Duration::from_secs(10),
        cpu: Duration::from_millis(50),
        busiest: 0.05,
        is_stopped: false,
    }
}

pub(crate) fn open() -> Summary {
    Summary::of(&plan(), &outcome())
}

//! Alerts over series of samples, real ones and ones that go to and fro.

use super::*;

/// What happened over samples that were made of each second, as `second kind +` or `-`.
fn story(seconds: u64, sample: impl Fn(u64) -> Sample) -> Vec<String> {
    let mut alerts = Alerts::default();
    let mut told = Vec::new();
    for second in 0..seconds {
        let sample = Sample { seconds: second, ..sample(second) };
        for turn in alerts.look(&sample) {
            let (alert, sign) = match turn {
                Turn::Began(alert) => (alert, '+'),
                Turn::Ended(alert) => (alert, '-'),
            };
            told.push(format!("{second} {}{sign}", alert.kind.name()));
        }
    }
    told
}

fn memory(percent_free: u64) -> Sample {
    Sample { memory_bytes: Some((100, percent_free)), ..Sample::default() }
}

fn site(change: impl FnOnce(&mut SiteSample)) -> Sample {
    let mut site = SiteSample { name: "a".into(), slots: Some((4, 0)), ..SiteSample::default() };
    change(&mut site);
    Sample { sites: vec![site], ..Sample::default() }
}

#[test]
fn what_is_bad_for_a_while_is_told_once_and_its_end_too() {
    let told = story(400, |second| memory(if (100..200).contains(&second) { 2 } else { 50 }));
    assert_eq!(told, ["130 memory+", "260 memory-"]);
    let disk = |second| match second {
        50..300 => Sample { disk_bytes: Some((1000, 49)), ..Sample::default() },
        _ => Sample { disk_bytes: Some((1000, 80)), ..Sample::default() },
    };
    assert_eq!(story(500, disk), ["110 disk+", "360 disk-"]);
}

#[test]
fn what_is_bad_for_a_moment_or_between_the_bounds_is_not_told() {
    assert!(story(500, |second| memory(if second % 30 < 29 { 2 } else { 6 })).is_empty());
    assert!(story(500, |_| memory(7)).is_empty());
    // And not over either while it is only a little better.
    let told = story(500, |second| memory(if second < 40 { 2 } else { 7 }));
    assert_eq!(told, ["30 memory+"]);
}

#[test]
fn who_goes_to_and_fro_is_told_of_rarely() {
    // Every second anything between 0 and 15 % by a generator, over some hours.
    for seed in 1..20u64 {
        let mut state = seed;
        let series: Vec<u64> = (0..20_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % 16
            })
            .collect();
        let told = story(20_000, |second| memory(series[second as usize]));
        assert!(told.is_empty(), "no thirty seconds in a row are bad: {told:?}");
        // Slow waves that cross both bounds are told, once each way.
        let wave = |second: u64| memory((second + seed * 7) % 400 / 20);
        let told = story(4_000, wave);
        assert!(told.len() <= 22, "{told:?}");
        let signs = told.iter().map(|line| line.ends_with('+'));
        assert!(signs.enumerate().all(|(at, is_begun)| is_begun == (at % 2 == 0)), "{told:?}");
    }
}

#[test]
fn failures_are_a_share_of_enough_answers() {
    let failing = |each: u64, failed: u64, until: u64| {
        move |second: u64| Sample {
            answers: second * each,
            failed: second.min(until) * failed,
            ..Sample::default()
        }
    };
    // One of ten, for 100 seconds: from the window with enough answers, plus ten seconds.
    let told = story(400, failing(10, 1, 100));
    assert_eq!(told, ["12 failures+", "275 failures-"]);
    assert!(story(400, failing(100, 1, 400)).is_empty(), "one in a hundred");
    // Nineteen answers a minute, all failed: too few to tell.
    let few = |second: u64| Sample { answers: second / 4, failed: second / 4, ..Sample::default() };
    assert!(story(400, few).is_empty());
    // A restart of the counters is no failure.
    let restart = |second: u64| Sample { answers: second % 50, failed: 0, ..Sample::default() };
    assert!(story(400, restart).is_empty());
}

#[test]
fn an_app_that_fails_now_and_then_is_told_of_once_and_not_at_each_failure() {
    // A page of the app fails: 20 answers a second, of which none to four in turn are errors,
    // as a share of each minute's it wavers by a little around the bound.
    for period in [3, 7, 13, 29] {
        let failed_until = |second: u64| (0..second).map(|at| at / period % 3).sum::<u64>();
        let told = story(2_000, |second| Sample {
            answers: second * 20,
            failed: failed_until(second),
            ..Sample::default()
        });
        assert!(told.len() <= 1, "period {period}: {told:?}");
    }
    // Failing for five seconds of each minute, as a job of the app's may: all the time a twelfth
    // of the last minute's answers, so it is one alert.
    let told = story(2_000, |second| Sample {
        answers: second * 20,
        failed: (second / 60 * 5 + (second % 60).min(5)) * 20,
        ..Sample::default()
    });
    assert_eq!(told, ["11 failures+"]);
}

#[test]
fn an_origin_is_busy_when_all_its_places_are_taken_and_somebody_waits() {
    let told = story(300, |second| {
        site(|site| {
            site.slots = Some((4, 4));
            site.waiting = u64::from((50..150).contains(&second));
        })
    });
    assert_eq!(told, ["80 origin-busy+", "210 origin-busy-"]);
    assert!(story(300, |_| site(|site| site.slots = Some((4, 4)))).is_empty());
}

#[test]
fn a_site_whose_changes_are_lost_is_told_and_forgotten_with_the_site() {
    let told = story(300, |second| match second {
        0..200 => site(|site| site.is_followed = Some(second < 30)),
        _ => Sample::default(),
    });
    assert_eq!(told, ["90 changes-lost+", "200 changes-lost-"]);
    // At a start it takes a moment until they are heard.
    assert!(story(300, |second| site(|site| site.is_followed = Some(second > 20))).is_empty());
    assert!(story(300, |_| site(|site| site.is_followed = None)).is_empty());
}

#[test]
fn a_certificate_is_told_of_two_weeks_before_its_end_or_in_its_last_quarter() {
    const DAY: i64 = 86_400;
    for (life_days, left_days, is_told) in [
        (90, 30, false),
        (90, 15, false),
        (90, 13, true),
        (90, -1, true),
        (6, 3, false),
        (6, 1, true),
        (365, 20, false),
    ] {
        let certificate = CertificateSample {
            names: "a.test".into(),
            begins: 1_000 * DAY,
            ends: (1_000 + life_days) * DAY,
        };
        let sample = Sample {
            unix_seconds: (1_000 + life_days - left_days) * DAY,
            certificates: vec![certificate],
            ..Sample::default()
        };
        let mut alerts = Alerts::default();
        let told = alerts.look(&sample);
        assert_eq!(!told.is_empty(), is_told, "{left_days} of {life_days}: {told:?}");
        assert_eq!(alerts.raised().count(), usize::from(is_told));
    }
    let odd = CertificateSample { names: String::new(), begins: i64::MAX, ends: i64::MIN };
    let sample = Sample { certificates: vec![odd], unix_seconds: i64::MAX, ..Sample::default() };
    assert_eq!(Alerts::default().look(&sample).len(), 1);
}

#[test]
fn every_kind_has_a_name_of_its_own_and_says_what_to_do() {
    for (at, kind) in Kind::ALL.into_iter().enumerate() {
        assert!(kind.fix().len() > 20);
        assert!(Kind::ALL[..at].iter().all(|other| other.name() != kind.name()));
        let json = serde_json::to_string(&kind).expect("JSON");
        assert_eq!(json, format!("\"{}\"", kind.name()));
    }
}

//! The rules: what is bad, and how much better is good.

use std::collections::VecDeque;

use super::{CertificateSample, Finding, Kind, Sample, SiteSample};

/// Over how long failures are counted, and how few answers say nothing.
const WINDOW_SECONDS: u64 = 60;
const ANSWERS_MIN: u64 = 20;
/// In a thousand.
const FAILED_BAD: u64 = 50;
const FAILED_GOOD: u64 = 10;
/// In a hundred of what there is.
const MEMORY_BAD: u64 = 5;
const MEMORY_GOOD: u64 = 10;
const DISK_BAD: u64 = 5;
const DISK_GOOD: u64 = 8;
const DAY_SECONDS: i64 = 86_400;
const CERTIFICATE_SECONDS: i64 = 14 * DAY_SECONDS;

/// Answers and failures of the last while: moment, answers, failed.
#[derive(Debug, Default)]
pub(super) struct Failures(VecDeque<(u64, u64, u64)>);

/// Everything that the rules find; each thing once.
pub(super) fn findings(sample: &Sample, failures: &mut Failures) -> Vec<(Kind, String, Finding)> {
    let mut found = Vec::new();
    let mut find = |kind, subject: &str, finding| found.push((kind, subject.to_owned(), finding));
    find(Kind::Failures, "", failures.look(sample));
    if let Some((all, free)) = sample.memory_bytes {
        find(Kind::Memory, "", share(all, free, MEMORY_BAD, MEMORY_GOOD, "memory"));
    }
    if let Some((all, free)) = sample.disk_bytes {
        find(Kind::Disk, "", share(all, free, DISK_BAD, DISK_GOOD, "the state folder's disk"));
    }
    for site in &sample.sites {
        if let Some((slots, taken)) = site.slots {
            find(Kind::OriginBusy, &site.name, busy(site, slots, taken));
        }
        if let Some(is_followed) = site.is_followed {
            let lost = || Finding::Bad("its changes are not heard".to_owned());
            let finding = if is_followed { Finding::Good } else { lost() };
            find(Kind::ChangesLost, &site.name, finding);
        }
    }
    for certificate in &sample.certificates {
        find(Kind::Certificate, &certificate.names, ending(certificate, sample.unix_seconds));
    }
    found
}

impl Failures {
    fn look(&mut self, sample: &Sample) -> Finding {
        let Sample { seconds, answers, failed, .. } = *sample;
        self.0.push_back((seconds, answers, failed));
        while self.0.len() > 1
            && self
                .0
                .front()
                .is_some_and(|(when, ..)| seconds.saturating_sub(*when) > WINDOW_SECONDS)
        {
            self.0.pop_front();
        }
        // Whoever is asked more often than once a second looks at a shorter while.
        while self.0.len() as u64 > WINDOW_SECONDS + 1 {
            self.0.pop_front();
        }
        let Some(&(_, answers_then, failed_then)) = self.0.front() else { return Finding::Good };
        let all = answers.saturating_sub(answers_then);
        let failed = failed.saturating_sub(failed_then);
        let in_thousand = failed.saturating_mul(1000) / all.max(1);
        match in_thousand {
            FAILED_BAD.. if all >= ANSWERS_MIN => {
                Finding::Bad(format!("{failed} of {all} answers in the last minute failed"))
            }
            0..FAILED_GOOD => Finding::Good,
            _ => Finding::Between,
        }
    }
}

/// How much is left of something.
fn share(all: u64, free: u64, bad: u64, good: u64, what: &str) -> Finding {
    let percent = u128::from(free) * 100 / u128::from(all.max(1));
    if percent < u128::from(bad) {
        return Finding::Bad(format!("{percent} % of {what} are left"));
    }
    if percent >= u128::from(good) { Finding::Good } else { Finding::Between }
}

fn busy(site: &SiteSample, slots: u64, taken: u64) -> Finding {
    match site.waiting {
        0 => Finding::Good,
        waiting if taken >= slots => Finding::Bad(format!(
            "{waiting} requests wait, and all {slots} places at its origin are taken"
        )),
        _ => Finding::Between,
    }
}

/// One of a short life is renewed later than two weeks before its end, so a quarter of its life
/// counts where that is less.
fn ending(certificate: &CertificateSample, now: i64) -> Finding {
    let CertificateSample { begins, ends, .. } = certificate;
    let life = ends.saturating_sub(*begins).max(0);
    let left = ends.saturating_sub(now);
    let bound = CERTIFICATE_SECONDS.min(life / 4);
    match left {
        ..0 => Finding::Bad("its certificate has ended: browsers refuse it".to_owned()),
        left if left < bound => {
            let days = left / DAY_SECONDS;
            Finding::Bad(format!("its certificate ends in {days} days, and there is no new one"))
        }
        _ => Finding::Good,
    }
}

//! What one announce adds: counters told now held against those told before.
//!
//! Pure. Invariants: 1. what is credited is never more than what the counters grew by. 2. in
//! doubt nothing is credited and the counters are taken as the new beginning, so that the
//! next announce counts in full.

use crate::rights::Worth;

/// What was known of the session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) announced: u32,
    pub(crate) was_complete: bool,
}

/// What is told now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) at: u32,
    pub(crate) is_complete: bool,
    pub(crate) has_started: bool,
}

/// By which rule something was credited, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// The counters grew, or stayed.
    #[default]
    Counted,
    /// A new session: its counters are where it begins.
    Began,
    /// A counter fell: the client was started again without saying so.
    Restarted,
    /// An unknown session that doesn't say that it begins: it was away for too long.
    Returned,
}

/// What one announce adds, as told and before it is weighed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    pub(crate) uploaded: u64,
    pub(crate) downloaded: u64,
    pub(crate) seeded_seconds: u32,
    pub(crate) has_completed: bool,
    pub(crate) rule: Rule,
}

/// Holds an announce against what was known. `gap_seconds` is how long seeding may have gone
/// on unseen between two announces.
pub(crate) fn delta(before: Option<Before>, told: Told, gap_seconds: u32) -> Delta {
    let Some(before) = before else {
        let rule = if told.has_started { Rule::Began } else { Rule::Returned };
        return Delta { rule, ..Delta::default() };
    };
    let elapsed = told.at.saturating_sub(before.announced);
    let has_seeded = before.was_complete && told.is_complete && elapsed <= gap_seconds;
    let mut delta = Delta {
        seeded_seconds: if has_seeded { elapsed } else { 0 },
        has_completed: !before.was_complete && told.is_complete,
        ..Delta::default()
    };
    let uploaded = told.uploaded.checked_sub(before.uploaded);
    let downloaded = told.downloaded.checked_sub(before.downloaded);
    match (uploaded, downloaded) {
        (Some(uploaded), Some(downloaded)) => {
            (delta.uploaded, delta.downloaded) = (uploaded, downloaded);
        }
        _ => delta.rule = Rule::Restarted,
    }
    delta
}

/// What bytes are worth. Hundredths that make no whole byte stay in `rest` for the next time.
pub(crate) fn weigh(bytes: u64, hundredths: u16, rest: &mut u8) -> u64 {
    let all = u128::from(bytes) * u128::from(hundredths) + u128::from(*rest);
    *rest = (all % 100) as u8;
    u64::try_from(all / 100).unwrap_or(u64::MAX)
}

/// The better for the user of what they and the torrent are worth. Where neither side of a torrent
/// counts, it does so for nobody.
pub(crate) fn better(user: Worth, torrent: Worth) -> Worth {
    if torrent == Worth::NOTHING {
        return torrent;
    }
    Worth {
        uploaded: user.uploaded.max(torrent.uploaded),
        downloaded: user.downloaded.min(torrent.downloaded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u32 = 3600;

    /// Told bytes, seconds and completion of what came before at 1000, and what is added.
    fn check(name: &str, before: Option<(u64, u64, bool)>, told: Told, expected: Delta) {
        let before = before.map(|(uploaded, downloaded, was_complete)| Before {
            uploaded,
            downloaded,
            announced: 1000,
            was_complete,
        });
        assert_eq!(delta(before, told, HOUR), expected, "{name}");
    }

    fn told(uploaded: u64, downloaded: u64, at: u32, is_complete: bool) -> Told {
        Told { uploaded, downloaded, at, is_complete, has_started: false }
    }

    fn counted(uploaded: u64, downloaded: u64, seeded_seconds: u32) -> Delta {
        Delta { uploaded, downloaded, seeded_seconds, ..Delta::default() }
    }

    #[test]
    fn what_an_announce_adds() {
        let took = Some((5, 7, false));
        let gave = Some((5, 7, true));
        let nothing = |rule| Delta { rule, ..Delta::default() };
        let starts = |told| Told { has_started: true, ..told };
        let completes = Delta { has_completed: true, ..counted(0, 10, 0) };
        check("begins", None, starts(told(0, 0, 2000, false)), nothing(Rule::Began));
        check("begins with sums", None, starts(told(9, 9, 2000, false)), nothing(Rule::Began));
        check("returns", None, told(9, 9, 2000, true), nothing(Rule::Returned));
        check("grows", took, told(9, 17, 2000, false), counted(4, 10, 0));
        check("the same again", took, told(5, 7, 1000, false), counted(0, 0, 0));
        check("upload fell", took, told(4, 70, 2000, false), nothing(Rule::Restarted));
        check("download fell", took, told(50, 6, 2000, false), nothing(Rule::Restarted));
        check("starts once more", took, starts(told(6, 7, 1001, false)), counted(1, 0, 0));
        check("completes", took, told(5, 17, 2000, true), completes);
        check("completed again", gave, told(5, 7, 2000, true), counted(0, 0, 1000));
        check("seeds", gave, told(9, 7, 2000, true), counted(4, 0, 1000));
        check("seeds after a gap", gave, told(9, 7, 9000, true), counted(4, 0, 0));
        check("a clock that went back", gave, told(9, 7, 10, true), counted(4, 0, 0));
        check("lost what it had", gave, told(9, 7, 2000, false), counted(4, 0, 0));
    }

    #[test]
    fn nothing_is_lost_by_rounding() {
        for hundredths in [0, 1, 33, 50, 100, 101, 150, u16::MAX] {
            let (mut rest, mut sum) = (0, 0);
            for bytes in 0..1000 {
                sum += weigh(bytes, hundredths, &mut rest);
            }
            let exact = 499_500 * u64::from(hundredths);
            assert_eq!(sum * 100 + u64::from(rest), exact, "{hundredths}");
        }
        assert_eq!(weigh(u64::MAX, u16::MAX, &mut 99), u64::MAX, "too much is the most");
    }
}

//! Visitors who come first: what they read is not in memory yet, and they write at once.
//!
//! Such a visitor gets the origin's own answer, without the session that was begun for it,
//! while the page is still being looked at in the background. As each write makes all shared
//! pages old, everybody here is the first.

use libtest_mimic::{Failed, Trial};

use crate::browser::Outcome;
use crate::crawl;
use crate::served::Manner;
use crate::specimen::{Site, Specimen};
use crate::walk::Walk;

/// Visitors for each specimen; half of them log in.
const VISITORS: u8 = 8;
/// The same where forms want to be read for some seconds.
const SLOW_VISITORS: u8 = 3;

/// A test for each specimen.
pub(crate) fn trials(specimens: &[Specimen]) -> Vec<Trial> {
    let trial = |specimen: &Specimen| {
        let specimen = specimen.clone();
        Trial::test(format!("first_visitors::{}", specimen.name), move || {
            write_at_once(&specimen).map_err(Failed::from)
        })
    };
    specimens.iter().map(trial).collect()
}

fn write_at_once(specimen: &Specimen) -> Outcome<()> {
    let site = Site::start(specimen, Manner::Plainly)?;
    let visitors = if specimen.login.wait_seconds > 0 { SLOW_VISITORS } else { VISITORS };
    let mut faults = Vec::new();
    for number in 0..visitors {
        let mut walk = Walk::new(crawl::stranger(site.wick.port, 70 + number), specimen);
        let done = match number % 2 {
            0 => walk.log_in(),
            _ => walk.be_guest(&site, &format!("Knave{number}")),
        };
        if let Err(error) = done {
            let heard = walk.client.heard.iter().map(|(target, answer)| {
                format!("{target}: {} {}", answer.status, answer.field("cache-status"))
            });
            let heard = heard.collect::<Vec<_>>().join("\n");
            faults.push(format!("visitor {number}: {error}\n{heard}"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n\n")) }
}

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

/// Visitors who come one after the other; half of them log in.
const VISITORS: u8 = 8;
/// Rounds of visitors who come at once and log in.
const ROUNDS: u8 = 6;
const AT_ONCE: u8 = 4;
/// Guests who come so quickly one after the other that the pages of several of them are
/// looked at in the background.
const GUESTS: u8 = 60;
/// The same where forms want to be read for some seconds.
const SLOW_VISITORS: u8 = 3;
const SLOW_ROUNDS: u8 = 1;

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
    let is_slow = specimen.login.wait_seconds > 0;
    let (visitors, rounds) =
        if is_slow { (SLOW_VISITORS, SLOW_ROUNDS) } else { (VISITORS, ROUNDS) };
    let mut faults = Vec::new();
    for number in 0..visitors {
        let mut walk = Walk::new(crawl::stranger(site.wick.port, 20 + number), specimen);
        let done = match number % 2 {
            0 => walk.log_in(),
            _ => walk.be_guest(&site, &format!("Knave{number}")),
        };
        faults.extend(done.err().map(|error| told(number, &walk, &error)));
    }
    for number in 0..GUESTS {
        let mut walk = Walk::new(crawl::stranger(site.wick.port, 100 + number), specimen);
        match walk.send_first_form("Knave") {
            Ok(None) => break,
            Ok(Some(answer)) if answer.status < 400 => {}
            Ok(Some(answer)) => {
                faults.push(told(number, &walk, &format!("a form was refused: {}", answer.body)));
            }
            Err(error) => faults.push(told(number, &walk, &error)),
        }
    }
    // Now the copies of several visitors of one page are looked at in the same moment.
    for round in 0..rounds {
        let numbers = (0..AT_ONCE).map(|number| 40 + AT_ONCE * round + number);
        std::thread::scope(|scope| {
            let logging_in = |number| {
                let mut walk = Walk::new(crawl::stranger(site.wick.port, number), specimen);
                walk.log_in().map_err(|error| told(number, &walk, &error))
            };
            let all: Vec<_> =
                numbers.map(|number| scope.spawn(move || logging_in(number))).collect();
            for visitor in all {
                faults.extend(
                    visitor.join().unwrap_or_else(|_| Err("a visitor panicked".into())).err(),
                );
            }
        });
    }
    match faults.len() {
        0 => Ok(()),
        count => Err(format!("{count} visitors were refused:\n\n{}", faults.join("\n\n"))),
    }
}

/// What went wrong, with all that this visitor was given.
fn told(number: u8, walk: &Walk<'_>, error: &str) -> String {
    let heard = walk.client.heard.iter().map(|(target, answer)| {
        format!("{target}: {} {}", answer.status, answer.field("cache-status"))
    });
    format!("visitor {number}: {error}\n{}", heard.collect::<Vec<_>>().join("\n"))
}

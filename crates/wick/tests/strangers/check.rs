//! One specimen, as its visitors see it: strangers, a member, a guest.
//!
//! In: the specimen, a browser. Out: its row of the table, and all that is wrong with it.

use std::sync::Arc;

use crate::browser::{Browser, Outcome};
use crate::crawl;
use crate::people;
use crate::served::Manner;
use crate::specimen::{Site, Specimen};
use crate::table::Row;

/// Visits a specimen in all ways; what is wrong does not end the visits.
pub(crate) fn check(specimen: &Specimen, browser: &Arc<Browser>) -> Outcome<(Row, Vec<String>)> {
    let site = Site::start(specimen, Manner::Plainly)?;
    let mut faults = Vec::new();
    let rounds = crawl::three_rounds(&site)?;
    let mut unlikes = rounds.unlike;
    faults.extend(rounds.faults);
    unlikes.extend(crawl::other_tastes(&site)?);
    faults.extend(crawl::never_shared(&site)?);

    let log_in = match people::log_in(&site, browser) {
        Ok(person) => {
            unlikes.extend(people::member_reads(&site, &person)?);
            faults.extend(person.unshared());
            Ok(())
        }
        Err(error) => Err(error),
    };
    let guest = people::be_guest(&site, browser).and_then(|unshared| {
        people::be_first_guest(&site, browser)?;
        Ok(unshared)
    });
    for _ in 0..2 {
        faults.extend(crawl::never_shared(&site)?);
        faults.extend(crawl::shown(&site)?);
    }
    let row = Row {
        specimen: specimen.name.clone(),
        pages: specimen.crawl.len(),
        answers: rounds.answers,
        from_memory: rounds.from_memory,
        log_in: word(log_in.is_ok()),
        guest: word(guest.is_ok()),
        as_origin: word(unlikes.is_empty()),
    };
    faults.extend(log_in.err());
    match guest {
        Ok(unshared) => faults.extend(unshared),
        Err(error) => faults.push(error),
    }
    faults.extend(unlikes);
    if !faults.is_empty() {
        let complaints = site.wick.complaints();
        faults.extend((!complaints.is_empty()).then(|| format!("wick said:\n{complaints}")));
    }
    Ok((row, faults))
}

fn word(is_good: bool) -> &'static str {
    if is_good { "ok" } else { "FAILED" }
}

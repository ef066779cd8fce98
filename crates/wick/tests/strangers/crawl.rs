//! Strangers who read: rounds over all pages of a specimen, compared with the origin.
//!
//! Each round is a new visitor whose cookies are kept through the round, from an address
//! and with a program of its own, before Wick and before the origin alike.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use crate::browser::Outcome;
use crate::client::{Answer, Client, Request};
use crate::page;
use crate::specimen::Site;

/// How long the check of what was fetched first may take in the background.
const SETTLING: Duration = Duration::from_secs(10);
/// Between two looks at something that will come.
const PAUSE: Duration = Duration::from_millis(25);
/// Of a hundred answers, how many have to come from memory.
const FROM_MEMORY_PERCENT: usize = 95;

/// What the rounds came to.
#[derive(Default)]
pub(crate) struct Rounds {
    pub(crate) answers: usize,
    pub(crate) from_memory: usize,
    /// How the answers were made, by `Cache-Status` without its numbers.
    pub(crate) verdicts: BTreeMap<String, usize>,
    /// What kept pages from memory, or should not have come.
    pub(crate) faults: Vec<String>,
    /// Pages that did not read as the origin's.
    pub(crate) unlike: Vec<String>,
}

/// A stranger with a current browser for the desktop, another for each number.
pub(crate) fn stranger(port: u16, number: u8) -> Client {
    Client::new(port, Ipv4Addr::new(127, 0, 0, number), &agent(number))
}

/// A user agent of the same kind for each number.
pub(crate) fn agent(number: u8) -> String {
    format!(
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
         Chrome/1{number:02}.0.0.0 Safari/537.36"
    )
}

/// Three rounds: the first fills the memory, the others are measured.
pub(crate) fn three_rounds(site: &Site) -> Outcome<Rounds> {
    let mut rounds = Rounds::default();
    let mut first = stranger(site.wick.port, 2);
    for target in &site.specimen.crawl {
        let answer = first.read(target)?;
        if answer.status >= 500 {
            rounds.faults.push(format!("{target}: {} at the first visit", answer.status));
        }
    }
    if let Some(last) = site.specimen.crawl.last() {
        // What becomes of the others is what is measured.
        let _ = warm(site, last)?;
    }
    for number in [3, 4] {
        measured_round(site, number, &mut rounds)?;
    }
    if rounds.from_memory * 100 < rounds.answers * FROM_MEMORY_PERCENT {
        let (hits, all) = (rounds.from_memory, rounds.answers);
        let verdicts = &rounds.verdicts;
        let fault = format!("only {hits} of {all} answers came from memory: {verdicts:#?}");
        rounds.faults.insert(0, fault);
    }
    Ok(rounds)
}

/// Visits a page as new strangers do until one gets it from memory; whether that came.
/// Nothing is waited for where strangers don't share the page.
pub(crate) fn warm(site: &Site, target: &str) -> Outcome<bool> {
    if !site.specimen.crawl.iter().any(|shared| shared == target) {
        return Ok(false);
    }
    let bound = Instant::now() + SETTLING;
    loop {
        if stranger(site.wick.port, 5).read(target)?.is_from_memory() {
            return Ok(true);
        }
        if Instant::now() > bound {
            return Ok(false);
        }
        std::thread::park_timeout(PAUSE);
    }
}

fn measured_round(site: &Site, number: u8, rounds: &mut Rounds) -> Outcome<()> {
    let mut ours = stranger(site.wick.port, number);
    let mut theirs = stranger(site.plain.port, number);
    for target in &site.specimen.crawl {
        let (answer, origin) = (ours.read(target)?, theirs.read(target)?);
        if answer.is_html() {
            rounds.answers += 1;
            rounds.from_memory += usize::from(answer.is_from_memory());
            let verdict = answer.field("cache-status").to_owned();
            let verdict = page::comparable(&verdict).join(" ");
            *rounds.verdicts.entry(format!("{target}: {verdict}")).or_default() += 1;
        }
        if answer.is_from_memory() {
            rounds.faults.extend(head_faults(target, &answer, &origin));
        }
        rounds.unlike.extend(unlike(target, &answer, &origin));
    }
    Ok(())
}

/// What a shared answer's head may not say.
fn head_faults(target: &str, answer: &Answer, origin: &Answer) -> Vec<String> {
    let mut faults = Vec::new();
    for line in answer.fields("set-cookie") {
        if !line.starts_with("wick") && !line.starts_with("__Host-wick") {
            faults.push(format!("{target}: a shared page came with Set-Cookie: {line}"));
        }
    }
    let (said, wanted) = (answer.field("cache-control"), origin.field("cache-control"));
    // What the origin itself lets everybody store keeps its own words.
    let is_personal = origin.fields("set-cookie").next().is_some()
        || ["no-store", "private", "no-cache"].iter().any(|word| wanted.contains(word));
    let right = if wanted.contains("no-store") { "no-store" } else { "private, no-cache" };
    if is_personal && said != right {
        faults.push(format!(
            "{target}: a shared page says Cache-Control: {said:?}, wanted {right:?} \
             since the origin says {wanted:?}"
        ));
    }
    faults
}

/// How an answer differs from the origin's in what is read.
pub(crate) fn unlike(target: &str, answer: &Answer, origin: &Answer) -> Option<String> {
    if answer.status != origin.status {
        return Some(format!("{target}: status {}, origin {}", answer.status, origin.status));
    }
    let (ours, theirs) = (page::comparable(&answer.body), page::comparable(&origin.body));
    let difference = page::difference(&ours, &theirs);
    let verdict = answer.field("cache-status");
    (!difference.is_empty()).then(|| format!("{target} ({verdict}): {difference}"))
}

/// Visitors who want other pages: each reads what the origin shows to such a visitor.
pub(crate) fn other_tastes(site: &Site) -> Outcome<Vec<String>> {
    const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) \
                         Chrome/140.0.0.0 Mobile Safari/537.36";
    const BOT: &str = "Mozilla/5.0 (compatible; Lanternbot/1.0; +http://bot.example/)";
    let tastes = [(agent(6), "de"), (PHONE.to_owned(), "en"), (BOT.to_owned(), "en")];
    let mut unlikes = Vec::new();
    for (agent, language) in tastes {
        // Twice, as the second may come from what the first left in memory.
        for number in [6, 7] {
            for target in site.specimen.crawl.iter().take(3) {
                let request = Request::get(target).with("Accept-Language", language);
                let mut ours =
                    Client::new(site.wick.port, Ipv4Addr::new(127, 0, 0, number), &agent);
                let (answer, origin) =
                    (ours.send(&request)?, ours.at(site.plain.port).send(&request)?);
                let found = unlike(target, &answer, &origin);
                unlikes.extend(found.map(|found| format!("as {language}, {agent}: {found}")));
            }
        }
    }
    Ok(unlikes)
}

/// What the specimen hides from strangers and one of them was shown.
pub(crate) fn shown(site: &Site) -> Outcome<Vec<String>> {
    let mut faults = Vec::new();
    for hidden in &site.specimen.never_shown {
        let answer = stranger(site.wick.port, 12).read(&hidden.page)?;
        if answer.body.contains(&hidden.text) {
            let verdict = answer.field("cache-status");
            faults.push(format!("{} shows {:?} ({verdict})", hidden.page, hidden.text));
        }
    }
    Ok(faults)
}

/// Pages that are nobody's but the visitor's: no stranger gets them from memory.
pub(crate) fn never_shared(site: &Site) -> Outcome<Vec<String>> {
    let mut faults = Vec::new();
    let passes = site.specimen.passes.iter().map(|passed| &passed.path);
    for target in site.specimen.never_shared.iter().chain(passes) {
        for number in [8, 9, 10] {
            let answer = stranger(site.wick.port, number).send(&Request::get(target))?;
            if answer.is_from_memory() {
                let verdict = answer.field("cache-status");
                faults.push(format!("{target} must not be shared, and was: {verdict}"));
            }
        }
    }
    Ok(faults)
}

//! What nodes say to each other, as it may come out of a stream, and the pages that they hand on.

use cluster::Said;
use cluster::hearing::{Arrival, Hearing};
use server::page_in_parcel;

const LAG: u64 = 1000;

/// Lines are messages; one that begins with a digit skips as many places of the stream first.
pub(crate) fn run(bytes: &[u8]) {
    let mut hearing = Hearing::new("a", 1, LAG);
    hearing.begin_anew(u64::MAX - 1000);
    let mut sequence = u64::MAX - 1000;
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let ticks_ms = 1 + at as u64;
        hearing.note_sent(ticks_ms, ticks_ms);
        let skipped =
            line.first().filter(|byte| byte.is_ascii_digit()).map_or(0, |byte| byte - b'0');
        let line = line.strip_prefix(&line[..usize::from(skipped > 0)]).unwrap_or(line);
        sequence = sequence.saturating_add(1 + u64::from(skipped));
        let said = Said::read(line);
        let is_own = said.as_ref().is_some_and(|said| said.node == "a" && said.instance == 1);
        let is_known = said.is_some();
        let has_lost = said.as_ref().is_some_and(|said| said.has_lost && !is_own);
        let is_next = said.as_ref().is_some_and(|said| said.form != 1);
        assert!(!is_next || has_lost || is_own, "what may be lost on this version counts as lost");
        let news = said.as_ref().map_or(0, |said| said.news.len());
        let heard = hearing.take(Arrival { sequence, said }, ticks_ms);
        assert!(is_known || heard.missed || sequence == u64::MAX, "what can't be read is missed");
        assert!(!has_lost || heard.missed || sequence == u64::MAX, "what is lost is missed");
        assert!(heard.news.len() <= news && (!is_own || heard.news.is_empty()));
        assert!(hearing.heard_until() <= ticks_ms + LAG, "nothing is heard before it is said");
        assert!(hearing.trusted_until() <= ticks_ms + LAG);
        assert!(hearing.calm("db").until_ms <= ticks_ms, "nobody is known to be calm later");
    }
    let members = hearing.members();
    let said = bytes.len() as u64 + 1;
    assert!(members.iter().all(|member| member.behind_ms <= said), "nobody is behind for longer");
}

/// A page that a node hands on: it is taken whole, whatever came before it, or not at all.
pub(crate) fn run_parcel(bytes: &[u8]) {
    let Some(body) = page_in_parcel(bytes) else { return };
    assert!(body < bytes.len(), "a body is in its parcel, behind what is said of it");
    let later = [b"\n\n", bytes].concat();
    assert_eq!(page_in_parcel(&later), Some(body), "signs of work are no part of it");
    let longer = [bytes, b"\n"].concat();
    assert_eq!(page_in_parcel(&longer), None, "it has an end");
    for end in [0, bytes.len() / 2, bytes.len() - 1] {
        assert_eq!(page_in_parcel(&bytes[..end]), None, "a part of it is none");
    }
}

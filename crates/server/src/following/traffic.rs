//! Traffic: who is asking the origin at this moment.
//!
//! Bound: one entry for each request at the origin.

use policy::strangers::shape;

/// What was written so long after a request may still be its doing.
pub(crate) const TAIL_MS: u64 = changes::noise::TAIL;

/// What was heard so long after a writing may still be its doing: tables are asked for now and then.
const WRITTEN_MS: u64 = 2 * TAIL_MS;

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Somebody reads.
    Reader,
    /// Somebody writes.
    Writer,
    /// A persona reads for everybody.
    Persona,
    /// A persona reads to find out what reading writes; whoever sends it keeps the books.
    Probe,
}

/// The requests at the origin.
#[derive(Default)]
pub(crate) struct Traffic {
    under_way: Vec<(u64, Asker, String)>,
    next: u64,
    last_end_ms: Option<u64>,
    last_written_ms: Option<u64>,
    /// Readings that ended so far.
    reads: u64,
    /// Writes that ever began.
    writes: u64,
}

impl Traffic {
    /// A request goes to the origin; the number is for its end.
    pub(crate) fn begin(&mut self, asker: Asker, target: String) -> u64 {
        self.next += 1;
        self.writes += u64::from(asker == Asker::Writer);
        self.under_way.push((self.next, asker, target));
        self.next
    }

    pub(crate) fn end(&mut self, number: u64, ticks_ms: u64) {
        if let Some(place) = self.under_way.iter().position(|(own, ..)| *own == number) {
            let (_, asker, _) = self.under_way.swap_remove(place);
            self.last_end_ms = Some(ticks_ms);
            match asker {
                Asker::Writer => self.last_written_ms = Some(ticks_ms),
                _ => self.reads += 1,
            }
        }
    }

    /// What all that ask ask for, if that is of one class; and the number of the last of them.
    pub(crate) fn alike(&self) -> Option<(u64, bool, &str)> {
        let (_, asker, first) = self.under_way.first()?;
        let (writes, class) = (*asker == Asker::Writer, shape(first));
        let is_like_it = |(_, asker, target): &(u64, Asker, String)| {
            (*asker == Asker::Writer) == writes && (target == first || shape(target) == class)
        };
        let last = self.under_way.iter().map(|(number, ..)| *number).max()?;
        self.under_way.iter().all(is_like_it).then_some((last, writes, first))
    }

    /// Whether what was begun when this was the last request may still be those requests'
    /// doing, and nobody's else: one of them is there, or nobody is.
    pub(crate) fn is_still_theirs(&self, last: u64) -> bool {
        self.under_way.is_empty() || self.under_way.iter().any(|(own, ..)| *own <= last)
    }

    /// Whether nobody asks, and nobody has for as long as what they did may come late.
    pub(crate) fn is_quiet(&self, ticks_ms: u64) -> bool {
        self.under_way.is_empty() && !is_within(TAIL_MS, self.last_end_ms, ticks_ms)
    }

    /// Whether somebody reads, or did just now, and nobody writes, or did.
    pub(crate) fn was_only_read(&self, ticks_ms: u64) -> bool {
        let is_read = !self.under_way.is_empty() || is_within(TAIL_MS, self.last_end_ms, ticks_ms);
        is_read && !self.has_writer() && !is_within(WRITTEN_MS, self.last_written_ms, ticks_ms)
    }

    /// How many readings have ended so far.
    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }

    /// How many have begun to ask so far.
    pub(crate) fn begun(&self) -> u64 {
        self.next
    }

    pub(crate) fn has_writer(&self) -> bool {
        self.under_way.iter().any(|(_, asker, _)| *asker == Asker::Writer)
    }

    /// What those who read ask for.
    pub(crate) fn read_targets(&self) -> impl Iterator<Item = &str> {
        let is_read = |asker: Asker| asker != Asker::Writer;
        self.under_way.iter().filter(move |(_, asker, _)| is_read(*asker)).map(|(_, _, t)| &**t)
    }

    /// The address that personas ask for, if nobody else asks for anything, and all of them
    /// for addresses of one class.
    pub(crate) fn lone_persona(&self) -> Option<&str> {
        let (_, _, first) = self.under_way.first()?;
        let class = shape(first);
        let is_like_it = |(_, asker, target): &(u64, Asker, String)| {
            *asker == Asker::Persona && shape(target) == class
        };
        self.under_way.iter().all(is_like_it).then_some(first)
    }
}

/// Whether it ended no longer than that ago.
fn is_within(tail_ms: u64, end: Option<u64>, ticks_ms: u64) -> bool {
    end.is_some_and(|end| ticks_ms <= end.saturating_add(tail_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_quiet_a_while_after_the_last_has_gone() {
        let mut traffic = Traffic::default();
        assert!(traffic.is_quiet(0));
        let number = traffic.begin(Asker::Reader, "/a".into());
        assert!(!traffic.is_quiet(90_000));
        traffic.end(number, 10);
        assert!(!traffic.is_quiet(10 + TAIL_MS));
        assert!(traffic.is_quiet(11 + TAIL_MS));
        traffic.end(number, 99_000);
        assert!(traffic.is_quiet(11 + TAIL_MS), "an end is told once");
    }

    #[test]
    fn what_all_ask_for_is_known_and_goes_on_until_others_come_behind_them() {
        let mut traffic = Traffic::default();
        assert_eq!(traffic.alike(), None);
        let first = traffic.begin(Asker::Reader, "/topic/1".into());
        assert_eq!(traffic.alike(), Some((first, false, "/topic/1")));
        let second = traffic.begin(Asker::Persona, "/topic/2".into());
        assert_eq!(traffic.alike(), Some((second, false, "/topic/1")));
        let third = traffic.begin(Asker::Writer, "/topic/3".into());
        assert_eq!(traffic.alike(), None);
        traffic.end(first, 1);
        assert!(traffic.is_still_theirs(second), "one of the two is there");
        traffic.end(second, 2);
        assert!(!traffic.is_still_theirs(second));
        assert_eq!(traffic.alike(), Some((third, true, "/topic/3")));
        traffic.end(third, 3);
        assert!(traffic.is_still_theirs(second), "there is nobody else");
    }

    #[test]
    fn personas_are_alone_if_nobody_else_asks_and_they_ask_for_one_kind_of_page() {
        let mut traffic = Traffic::default();
        assert_eq!(traffic.lone_persona(), None);
        traffic.begin(Asker::Persona, "/topic/1".into());
        traffic.begin(Asker::Persona, "/topic/2".into());
        assert_eq!(traffic.lone_persona(), Some("/topic/1"));
        let other = traffic.begin(Asker::Persona, "/faq".into());
        assert_eq!(traffic.lone_persona(), None);
        traffic.end(other, 0);
        traffic.begin(Asker::Reader, "/topic/1".into());
        assert_eq!(traffic.lone_persona(), None);
    }

    #[test]
    fn it_was_only_read_where_somebody_reads_and_nobody_has_written_just_now() {
        let mut traffic = Traffic::default();
        assert!(!traffic.was_only_read(0), "nobody asks");
        let reader = traffic.begin(Asker::Reader, "/a".into());
        assert!(traffic.was_only_read(5));
        let writer = traffic.begin(Asker::Writer, "/b".into());
        assert!(!traffic.was_only_read(6));
        traffic.end(writer, 10);
        assert!(!traffic.was_only_read(10 + WRITTEN_MS));
        assert!(traffic.was_only_read(11 + WRITTEN_MS));
        assert_eq!(traffic.reads(), 0);
        traffic.end(reader, 5_000);
        assert!(traffic.was_only_read(5_000 + TAIL_MS) && !traffic.was_only_read(5_001 + TAIL_MS));
        assert_eq!(traffic.reads(), 1);
    }
}

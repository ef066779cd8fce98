//! Traffic: who is asking the origin at this moment.
//!
//! Bound: one entry for each request at the origin.

use policy::strangers::shape;

/// What was written so long after a request may still be its doing.
pub(crate) const TAIL_MS: u64 = changes::noise::TAIL;

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
            self.under_way.swap_remove(place);
            self.last_end_ms = Some(ticks_ms);
        }
    }

    /// Whether nobody asks, and nobody has for as long as what they did may come late.
    pub(crate) fn is_quiet(&self, ticks_ms: u64) -> bool {
        self.under_way.is_empty()
            && self.last_end_ms.is_none_or(|end| ticks_ms > end.saturating_add(TAIL_MS))
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
}

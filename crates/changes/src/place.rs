//! Places in what a feed follows, and how far it has told it.

/// A place in what a feed follows: a server's log, mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In MariaDB's.
    Gtid(Gtid),
    /// In MySQL's: the number of one of its files, and the bytes before it in there.
    File(u64, u64),
    /// In PostgreSQL's: the bytes before it.
    Lsn(u64),
    /// Where there is no log, but a feed that looks: its so manieth look that somebody asked for.
    Look {
        /// Which feed.
        feed: u64,
        /// The look.
        number: u64,
    },
}

/// A place in MariaDB's log: places of one domain come in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gtid {
    /// Which of the server's streams of transactions; 0 where nobody made others.
    pub domain: u32,
    /// The server that first wrote it.
    pub server: u32,
    /// Its number.
    pub sequence: u64,
}

impl Gtid {
    /// Reads `@@gtid_binlog_pos` or `@@last_gtid`: `0-1-5,3-1-7`.
    ///
    /// A feed has told everything up to there once, for each of them, a commit of the
    /// same domain with at least that number came.
    #[must_use]
    pub fn list(text: &str) -> Option<Vec<Self>> {
        text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(Self::one).collect()
    }

    fn one(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let domain = parts.next()?.parse().ok()?;
        let server = parts.next()?.parse().ok()?;
        let sequence = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(Self { domain, server, sequence })
    }
}

/// How far a feed has told the log, from its [`Event::Commit`](crate::Event::Commit)s.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// One for each domain, of which a server has a handful, or one for all.
    told: Vec<Place>,
}

impl Progress {
    /// A commit was told.
    pub fn tell(&mut self, place: Place) {
        match self.told.iter_mut().find(|told| told.is_along(place)) {
            Some(told) if place.has_reached(*told) => *told = place,
            Some(_) => {}
            None => self.told.push(place),
        }
    }

    /// Nothing is known any more: the feed was lost.
    pub fn forget(&mut self) {
        self.told.clear();
    }

    /// Whether everything up to `end` was told. A domain of which no commit was heard yet
    /// counts as not told.
    #[must_use]
    pub fn has_reached(&self, end: &[Place]) -> bool {
        end.iter().all(|end| self.told.iter().any(|told| told.has_reached(*end)))
    }
}

impl Place {
    /// `position` in a file of MySQL's log, such as `binlog.000012`.
    pub(crate) fn in_file(name: &str, position: u64) -> Option<Self> {
        let (_, number) = name.rsplit_once('.')?;
        Some(Self::File(number.parse().ok()?, position))
    }

    /// Whether both are on one line, so that one of them comes first.
    fn is_along(self, other: Self) -> bool {
        match (self, other) {
            (Self::Gtid(own), Self::Gtid(other)) => own.domain == other.domain,
            (Self::Lsn(_), Self::Lsn(_)) | (Self::File(..), Self::File(..)) => true,
            (Self::Look { feed: own, .. }, Self::Look { feed: other, .. }) => own == other,
            _ => false,
        }
    }

    fn has_reached(self, end: Self) -> bool {
        self.is_along(end)
            && match (self, end) {
                (Self::Gtid(own), Self::Gtid(end)) => own.sequence >= end.sequence,
                (Self::Lsn(own), Self::Lsn(end)) => own >= end,
                (Self::Look { number: own, .. }, Self::Look { number: end, .. }) => own >= end,
                (Self::File(file, own), Self::File(end_file, end)) => {
                    (file, own) >= (end_file, end)
                }
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_log_are_read() {
        let gtid = |domain, server, sequence| Gtid { domain, server, sequence };
        for (text, expected) in [
            ("", Some(vec![])),
            ("0-1-5", Some(vec![gtid(0, 1, 5)])),
            ("0-1-5, 3-2-7", Some(vec![gtid(0, 1, 5), gtid(3, 2, 7)])),
            ("0-1", None),
            ("0-1-5-9", None),
            ("x", None),
        ] {
            assert_eq!(Gtid::list(text), expected, "{text}");
        }
    }

    /// Places such as `0-1-5,3-1-7`, `log.000002:9` on MySQL, or `@9` on PostgreSQL.
    fn places(text: &str) -> Vec<Place> {
        if let Some((file, position)) = text.split_once(':') {
            return Place::in_file(file, position.parse().expect("a number")).into_iter().collect();
        }
        match text.strip_prefix('@') {
            Some(lsn) => vec![Place::Lsn(lsn.parse().expect("a number"))],
            None => Gtid::list(text).expect("places").into_iter().map(Place::Gtid).collect(),
        }
    }

    #[test]
    fn an_end_is_reached_when_each_domain_is() {
        let mut progress = Progress::default();
        assert!(progress.has_reached(&[]));
        for (told, end, expected) in [
            ("0-1-5", "0-1-5", true),
            ("0-1-4", "0-1-6", false),
            ("0-2-6", "0-1-6", true),
            ("0-2-6", "0-1-6,3-1-1", false),
            ("3-1-9", "0-1-6,3-1-1", true),
            ("@7", "@7", true),
            ("@3", "@7", true),
            ("@7", "@8", false),
            ("@9", "0-1-7", false),
            ("log.000009:400", "log.000009:400", true),
            ("log.000009:400", "log.000009:401", false),
            ("log.000010:4", "log.000009:999", true),
        ] {
            places(told).into_iter().for_each(|place| progress.tell(place));
            assert_eq!(progress.has_reached(&places(end)), expected, "{told} {end}");
        }
        progress.forget();
        assert!(!progress.has_reached(&places("0-1-1")));
    }
}

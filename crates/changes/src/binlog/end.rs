//! Where the log ends, for those who want to read what they wrote.

use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::time::timeout;

use crate::connect::{connect, lost};
use crate::{Address, Gtid, Lost};

/// The most that an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Asks a MariaDB server where its log ends, on a connection that is kept.
///
/// When the answer to an unsafe request has ended, what it wrote is in the log. Whoever
/// reads the end then, and waits until a [`Progress`] has reached it (a millisecond, as
/// a rule), has swept what that request changed.
pub struct LogEnd {
    address: Address,
    connection: Option<Conn>,
}

impl LogEnd {
    /// For the server at `address`; connects when it is first asked.
    #[must_use]
    pub fn new(address: Address) -> Self {
        Self { address, connection: None }
    }

    /// Where the log ends now.
    pub async fn read(&mut self) -> Result<Vec<Gtid>, Lost> {
        // A connection that somebody gave up waiting for isn't used again.
        let kept = self.connection.take();
        let asked = timeout(ANSWER_MAX, async {
            let mut connection = match kept {
                Some(kept) => kept,
                None => connect(&self.address).await?,
            };
            let place: Option<String> = connection
                .query_first("SELECT @@global.gtid_binlog_pos")
                .await
                .map_err(|error| lost(&error))?;
            Ok((connection, place))
        });
        let (connection, place) = asked.await.unwrap_or(Err(Lost::Silent))?;
        self.connection = Some(connection);
        Gtid::list(&place.unwrap_or_default()).ok_or(Lost::Unreadable)
    }
}

/// How far a feed has told the log, from its [`Event::Commit`](crate::Event::Commit)s.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// One for each domain; a server has a handful.
    told: Vec<Gtid>,
}

impl Progress {
    /// A commit was told.
    pub fn tell(&mut self, place: Gtid) {
        match self.told.iter_mut().find(|told| told.domain == place.domain) {
            Some(told) => told.sequence = told.sequence.max(place.sequence),
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
    pub fn has_reached(&self, end: &[Gtid]) -> bool {
        end.iter().all(|end| {
            let is_told = |told: &Gtid| told.domain == end.domain && told.sequence >= end.sequence;
            self.told.iter().any(is_told)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_reached_when_each_domain_is() {
        let list = |text| Gtid::list(text).expect("places");
        let mut progress = Progress::default();
        assert!(progress.has_reached(&[]));
        for (told, end, expected) in [
            ("0-1-5", "0-1-5", true),
            ("0-1-4", "0-1-6", false),
            ("0-2-6", "0-1-6", true),
            ("0-2-6", "0-1-6,3-1-1", false),
            ("3-1-9", "0-1-6,3-1-1", true),
        ] {
            list(told).into_iter().for_each(|place| progress.tell(place));
            assert_eq!(progress.has_reached(&list(end)), expected, "{told} {end}");
        }
        progress.forget();
        assert!(!progress.has_reached(&list("0-1-1")));
    }
}

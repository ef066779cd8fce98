//! A feed of files, and what it tells, in words: `+pages[start.txt]` created, `~` written,
//! `-` deleted.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use changes::{Change, Event, Feed, KeyClass, Lost, Operation};

/// A test that hears nothing ends after so long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Listener(Feed);

impl Listener {
    /// One that follows already.
    pub(crate) async fn at(path: &Path) -> Self {
        let mut own = Self(Feed::files(path.to_owned()));
        own.until(&Event::Recovered).await;
        own
    }

    /// One that may come to nothing.
    pub(crate) fn on(path: &Path) -> Self {
        Self(Feed::files(path.to_owned()))
    }

    pub(crate) async fn next(&mut self) -> Event {
        tokio::time::timeout(PATIENCE, self.0.next()).await.expect("something is told")
    }

    pub(crate) async fn until(&mut self, expected: &Event) {
        while self.next().await != *expected {}
    }

    /// The next reason why nothing is followed.
    pub(crate) async fn lost(&mut self) -> Lost {
        loop {
            if let Event::Lost(lost) = self.next().await {
                return lost;
            }
        }
    }

    /// Everything that is told until nothing happens.
    pub(crate) async fn told(&mut self) -> BTreeSet<String> {
        let mut told = BTreeSet::new();
        // A silence that lay there already says nothing about what was done since.
        let mut silences = 0;
        while silences < 2 {
            match self.next().await {
                Event::Change(change) => drop(told.insert(shown(&change))),
                Event::Commit(_) => {}
                Event::Idle => silences += 1,
                other => drop(told.insert(format!("{other:?}"))),
            }
        }
        told
    }

    /// Waits until all of these were told.
    pub(crate) async fn hears(&mut self, expected: impl IntoIterator<Item = String>) {
        let mut expected: BTreeSet<String> = expected.into_iter().collect();
        while !expected.is_empty() {
            match self.next().await {
                Event::Change(change) => drop(expected.remove(&shown(&change))),
                Event::Lost(lost) => assert!(expected.is_empty(), "{lost}; unheard: {expected:?}"),
                _ => {}
            }
        }
    }
}

fn shown(change: &Change) -> String {
    let sign = match change.operation {
        Operation::Insert => '+',
        Operation::Update => '~',
        Operation::Delete => '-',
        Operation::Schema | Operation::Other => '?',
    };
    assert!(change.columns.is_empty() && change.database.is_empty());
    match &change.key {
        KeyClass::Of(key) => format!("{sign}{}[{key}]", change.table),
        other => format!("{sign}{}{other:?}", change.table),
    }
}

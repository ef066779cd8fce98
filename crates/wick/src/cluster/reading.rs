//! What the server asks of the node where one reads a database for all.

use std::sync::Arc;
use std::time::Duration;

use cluster::Node;
use server::{Beginning, Calm, Reading, Traffic, Word};

pub(super) struct Shared(pub(super) Arc<Node>);

impl Reading for Shared {
    fn want(&self, source: &str, sink: Arc<dyn Fn(Word) + Send + Sync>) -> bool {
        self.0.want(source, Arc::new(move |word| sink(put(word))))
    }

    fn leave(&self, source: &str) {
        self.0.leave(source);
    }

    fn rest(&self, source: &str, rest: Duration) {
        self.0.rest(source, rest);
    }

    fn tell(&self, source: &str, epoch: u64, news: String) {
        self.0.tell_read(source, epoch, news);
    }

    fn place(&self) -> u64 {
        self.0.place()
    }

    fn read_on(&self, source: &str, epoch: u64, begun: u64, place: u64) {
        self.0.read_on(source, epoch, begun, place);
    }

    fn obeyed(&self, source: &str, place: u64) {
        self.0.note_obeyed(source, place);
    }

    fn show_traffic(&self, source: &str, look: Arc<dyn Fn() -> Traffic + Send + Sync>) {
        let look = move || {
            let Traffic { begun, is_quiet } = look();
            cluster::Traffic { begun, is_quiet }
        };
        self.0.show_traffic(source, Arc::new(look));
    }

    fn hush(&self, source: &str, is_wanted: bool) {
        self.0.hush(source, is_wanted);
    }

    fn calm(&self, source: &str) -> Calm {
        let cluster::Calm { since_ms, until_ms, is_now, hushed_by } = self.0.calm(source);
        let (is_hushed, yields) =
            (!hushed_by.is_empty(), hushed_by.iter().any(|other| other.as_str() < self.0.node()));
        Calm { since_ms, until_ms, is_now, is_hushed, yields }
    }

    fn beat(&self) -> Duration {
        // Twice in each word of the node, so that none says what the one before it did.
        self.0.beat() / 2
    }
}

fn put(word: cluster::Word) -> Word {
    match word {
        cluster::Word::Ours(epoch) => Word::Ours(epoch),
        cluster::Word::Theirs => Word::Theirs,
        cluster::Word::Lost => Word::Lost,
        cluster::Word::Recovered(epoch, begun) => Word::Recovered(Beginning { epoch, begun }),
        cluster::Word::Told(news) => Word::Told(news),
        cluster::Word::Until(place) => Word::Until(place),
    }
}

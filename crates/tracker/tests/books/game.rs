//! One game: batches are written to a site while what carries them is cut, and writers die.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base::Clock;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tracker::books::{Contract, Place, Shared, State, Step, Writer};

use crate::cut::{Door, Way};
use crate::ledger::{Ledger, Sums};
use crate::sites::{Site, compare};

/// The seeds to be played.
pub(crate) fn seeds() -> std::ops::Range<u64> {
    let told = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (told("SEED"), told("SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, times) => 1..1 + times.unwrap_or(1),
    }
}

/// Does something until it has waited so often; then it is dropped where it stands.
pub(crate) async fn die_after<T>(waits: usize, work: impl Future<Output = T>) {
    let mut work = pin!(work);
    let mut left = waits;
    let poll = |context: &mut Context<'_>| match work.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending if left == 0 => Poll::Ready(()),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    };
    std::future::poll_fn(poll).await;
}

/// A site, its ledger, and who writes.
pub(crate) struct Game {
    pub(crate) dice: StdRng,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) status: Shared,
    writer: Option<Writer>,
    site: &'static Site,
    place: Place,
}

impl Game {
    pub(crate) fn new(site: &'static Site, place: Place, seed: u64) -> Self {
        let ledger = Arc::new(Ledger::new(seed));
        let mut game = Self {
            dice: StdRng::seed_from_u64(seed),
            ledger,
            status: Shared::default(),
            writer: None,
            site,
            place,
        };
        game.restart();
        game
    }

    /// Everything in memory is gone but what the journal has, which is the ledger here.
    pub(crate) fn restart(&mut self) {
        let contract = Contract::known(self.site.contract).expect("one of ours");
        self.writer = Some(Writer::new(
            self.place.clone(),
            contract,
            Duration::from_secs(60),
            Clock::machine(),
            self.status.clone(),
            self.ledger.clone(),
        ));
    }

    pub(crate) async fn step(&mut self) -> Step {
        self.writer.as_mut().expect("a writer").step().await
    }

    /// An attempt that dies after it waited so often for its database.
    pub(crate) async fn step_and_die(&mut self, waits: usize) {
        let mut writer = self.writer.take().expect("a writer");
        die_after(waits, writer.step()).await;
        drop(writer);
        self.restart();
    }

    /// What was taken is written.
    pub(crate) async fn settle(&mut self) {
        let mut attempts = 0;
        while self.ledger.is_under_way() {
            self.step().await;
            attempts += 1;
            let status = self.status.read();
            assert!(attempts < 100 && status.state != State::Refused, "{status:?}");
        }
    }

    /// A batch whose way is cut somewhere.
    pub(crate) async fn round(&mut self, door: &Door, usual: [usize; 2]) {
        self.ledger.announce();
        let way = if self.dice.random_bool(0.5) { Way::There } else { Way::Back };
        let usual = usual[usize::from(way == Way::Back)];
        // Every third time a commit loses its acknowledgement.
        match self.dice.random_ratio(1, 3) {
            true => door.cut_after_commit(self.dice.random_range(0..11)),
            false => door.cut(way, self.dice.random_range(0..=usual * 6 / 5)),
        }
        self.step().await;
        door.open();
        if self.dice.random_bool(0.3) {
            self.restart();
        }
        self.settle().await;
    }

    /// What stands there is what is owed.
    pub(crate) fn check(&self, ask: impl Fn(&str) -> String) {
        if !self.site.credits.is_empty() {
            let owed = self.ledger.owed();
            let owed: BTreeMap<Vec<u32>, Sums> = owed
                .into_iter()
                .map(|((user, torrent), sums)| (vec![user, torrent], sums))
                .collect();
            compare(self.site.contract, &ask(self.site.credits), &owed);
        }
        let owed = self.ledger.owed_to_users();
        let owed: BTreeMap<Vec<u32>, Sums> =
            owed.into_iter().map(|(user, sums)| (vec![user], sums)).collect();
        compare(self.site.contract, &ask(self.site.users), &owed);
        let status = self.status.read();
        assert_eq!((status.rows_refused, status.rows_without_owner), (0, 0), "{status:?}");
        assert_eq!(status.batches_forgotten, 0);
    }
}

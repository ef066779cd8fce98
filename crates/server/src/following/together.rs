//! Together: other nodes ask what is behind this site's databases, too.
//!
//! What a database tells is somebody's doing, and a node sees those alone who come through it. So
//! each shows the others how many requests it has sent, and what was seen while others asked
//! counts for nothing ([`changes::Learner::calm`]): else what somebody wrote through another node
//! would be taken for what probes did here, and what somebody read there for an edit. Who probes
//! asks the others to keep their readers waiting for a moment, as it does with its own.
//! What one node's page may be for another depends on whether both hear the same of these
//! databases: [`Following::goes_by`].
//! Bound: readers wait because of another node for [`HUSH_MAX`] at most, and then not again for
//! [`PEACE`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Following;
use super::gate::Shut;
use crate::fellows::reading::{Calm, Company, Desk, Traffic};

/// The longest that readers are kept waiting because another node probes.
const HUSH_MAX: Duration = Duration::from_secs(4);
/// After that they aren't for so long.
const PEACE: Duration = Duration::from_secs(15);

/// Databases that other nodes use as well.
#[derive(Default)]
pub(crate) struct Together {
    companies: Mutex<Vec<Company>>,
    /// By source: as whom the beginning is known that this node goes by.
    beginnings: Mutex<BTreeMap<usize, u64>>,
}

/// One of them, until this is dropped.
pub(super) struct Joined {
    following: Arc<Following>,
    company: Company,
}

impl Joined {
    /// From now on others know what is asked here, and this node what they ask.
    pub(super) fn new(following: &Arc<Following>, clock: &Clock, desk: &Desk) -> Self {
        let company = desk.company();
        let (weak, clock) = (Arc::downgrade(following), clock.clone());
        company.show_traffic(Arc::new(move || match weak.upgrade() {
            Some(following) => following.traffic_of_all(clock.now().ticks_ms),
            None => Traffic { begun: 0, is_quiet: true },
        }));
        following.together.companies.lock().push(company.clone());
        following.learner.lock().share(true);
        Self { following: following.clone(), company }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let mut all = self.following.together.companies.lock();
        all.retain(|company| !company.is(&self.company));
        let is_shared = !all.is_empty();
        drop(all);
        self.following.learner.lock().share(is_shared);
    }
}

impl Together {
    /// A source is followed from a beginning on.
    pub(super) fn from(&self, source: usize, beginning: u64) {
        self.beginnings.lock().insert(source, beginning);
    }

    /// It isn't any more.
    pub(super) fn lost(&self, source: usize) {
        self.beginnings.lock().remove(&source);
    }

    /// What is known of all others; none: there can be none.
    pub(super) fn calm(&self) -> Option<Calm> {
        let all = self.companies.lock().clone();
        let calms = all.iter().map(Company::calm);
        calms.reduce(|one, other| Calm {
            since_ms: one.since_ms.max(other.since_ms),
            until_ms: one.until_ms.min(other.until_ms),
            is_now: one.is_now && other.is_now,
            is_hushed: one.is_hushed || other.is_hushed,
            yields: one.yields || other.yields,
        })
    }

    /// Asks the others to be quiet until that is dropped.
    pub(super) fn hush(&self) -> Hush {
        let hush = Hush(self.companies.lock().clone());
        hush.again();
        hush
    }
}

/// The others are asked to be quiet.
pub(super) struct Hush(Vec<Company>);

impl Hush {
    /// Says so once more, at once; they answer how they stand.
    pub(super) fn again(&self) {
        self.0.iter().for_each(|company| company.hush(true));
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        self.0.iter().for_each(|company| company.hush(false));
    }
}

/// The gate, shut because others wish it.
#[derive(Default)]
pub(super) struct Hushed<'a> {
    shut: Option<(Shut<'a>, Instant)>,
    peace_until: Option<Instant>,
}

impl<'a> Hushed<'a> {
    /// Heeds what others wish at this moment; whether the gate is shut because of it.
    pub(super) fn heed(&mut self, following: &'a Following, is_hushed: bool) -> bool {
        let now = Instant::now();
        match &self.shut {
            None if is_hushed && self.peace_until.is_none_or(|until| now > until) => {
                self.shut = Some((following.gate.shut(), now));
            }
            Some((_, since)) if !is_hushed || now > *since + HUSH_MAX => {
                self.peace_until = is_hushed.then(|| now + PEACE);
                self.shut = None;
            }
            _ => {}
        }
        self.shut.is_some()
    }
}

impl Following {
    /// From which beginnings on this site is followed, where one node reads each of its sources
    /// for all, and all of them are heard. Whoever goes by the same ones hears the same.
    pub(crate) fn goes_by(&self) -> Option<u64> {
        let mut all: Vec<u64> = self.together.beginnings.lock().values().copied().collect();
        (self.is_heard() && all.len() == self.sources.len()).then_some(())?;
        all.sort_unstable();
        let bytes: Vec<u8> = all.into_iter().flat_map(u64::to_le_bytes).collect();
        Some(xxhash_rust::xxh3::xxh3_64(&bytes))
    }

    /// Waits until all is obeyed here that this node had heard of these sources; false: it may
    /// never be.
    pub(crate) async fn has_obeyed(&self) -> bool {
        let marks: Vec<_> = self.together.companies.lock().iter().map(Company::obeyed).collect();
        futures_util::future::try_join_all(marks).await.is_ok()
    }

    /// All that is sent to the origin, by visitors, personas and probes.
    fn traffic_of_all(&self, ticks_ms: u64) -> Traffic {
        let is_probing = self.learner.lock().is_probing(ticks_ms);
        // Behind it: a probe is counted once it has begun.
        let probes = self.counts.probes.read();
        let traffic = self.traffic.lock();
        Traffic {
            begun: traffic.begun() + probes,
            is_quiet: !is_probing && traffic.is_quiet(ticks_ms),
        }
    }

    /// Counts what was seen while the others asked for nothing, as far as that is known.
    pub(super) fn take_calm(&self) -> Option<Calm> {
        let calm = self.together.calm()?;
        self.learner.lock().calm(calm.since_ms, calm.until_ms);
        Some(calm)
    }
}

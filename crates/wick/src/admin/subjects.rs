//! What is asked about itself beside the machine: each site's php-fpm and databases.
//!
//! Each site has a task of its own, so that one that doesn't answer holds up nobody. It asks
//! rarely, and once a second while somebody looks on.
//! Invariants: 1. an origin is held only while it is asked. 2. what a server says when it refuses
//! is kept in its own words, never with a password.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use base::Counter;
use changes::{Figures, Gauge, Source};
use observe::machine::php::{Opcache, Pool};
use origin::Origin;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::observing::profile::{Profile, SlowLogFile};
use crate::own_user;

/// The time between two rounds, and of how many rounds one asks when nobody looks on.
const INTERVAL: Duration = Duration::from_secs(1);
const PHP_RARELY: u64 = 5;
const RARELY: u64 = 10;
const VERY_RARELY: u64 = 60;
/// Databases of one site that are asked.
const DATABASES_MAX: usize = 4;

/// What is to be asked of one site.
#[derive(Clone)]
pub(crate) struct Subject {
    /// The site's name, as the server has it.
    pub(crate) name: String,
    pub(crate) origin: Weak<Origin>,
    pub(crate) php: Option<PhpSelf>,
    pub(crate) databases: Vec<Source>,
}

/// How a php-fpm is asked about itself.
#[derive(Clone, Debug)]
pub(crate) struct PhpSelf {
    pub(crate) status_path: PathBuf,
    pub(crate) opcache_script: Option<PathBuf>,
    pub(crate) restarts: Restarts,
    /// Where it notes what slow requests do.
    pub(crate) slow_log: Option<PathBuf>,
}

/// How it is known how often a php-fpm was started again.
#[derive(Clone, Debug)]
pub(crate) enum Restarts {
    /// It isn't ours.
    Unknown,
    /// We do that.
    Counted(Arc<Counter>),
    /// The keeper does; this is its number there.
    Asked(u64),
}

impl Restarts {
    async fn read(&self) -> Option<u64> {
        match self {
            Self::Unknown => None,
            Self::Counted(counter) => Some(counter.read()),
            Self::Asked(id) => own_user::restarts(*id).await,
        }
    }
}

/// What a php-fpm said last.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhpState {
    pub(crate) restarts: Option<u64>,
    pub(crate) pool: Option<Pool>,
    pub(crate) opcache: Option<Opcache>,
}

/// What a database server said last.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct DatabaseState {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// Why it can't be asked at the moment, if it can't.
    pub(crate) lost: Option<String>,
    pub(crate) connections: Option<u64>,
    pub(crate) running: Option<u64>,
    pub(crate) questions: Option<u64>,
    pub(crate) slow: Option<u64>,
    pub(crate) memory_hits: Option<u64>,
    pub(crate) memory_misses: Option<u64>,
}

/// All that is asked, and what it said.
pub(crate) struct Subjects {
    tasks: JoinSet<()>,
    asked: Vec<(String, Arc<Mutex<State>>)>,
    /// How many look on.
    audience: Arc<AtomicUsize>,
    /// Where it is told what slow requests do.
    profile: Arc<Profile>,
}

#[derive(Clone, Default)]
struct State {
    php: Option<PhpState>,
    databases: Vec<DatabaseState>,
}

impl Subjects {
    pub(crate) fn new(audience: Arc<AtomicUsize>, profile: Arc<Profile>) -> Self {
        Self { tasks: JoinSet::new(), asked: Vec::new(), audience, profile }
    }

    /// Asks these from now on, and nobody else.
    pub(crate) fn replace(&mut self, subjects: Vec<Subject>) {
        self.tasks.abort_all();
        while self.tasks.try_join_next().is_some() {}
        self.asked.clear();
        self.profile.keep(|site| subjects.iter().any(|subject| subject.name == site));
        for subject in subjects {
            let state = Arc::<Mutex<State>>::default();
            self.asked.push((subject.name.clone(), state.clone()));
            let audience = self.audience.clone();
            let profile = self.profile.clone();
            self.tasks.spawn(async move { ask_on(subject, &state, &audience, profile).await });
        }
    }

    /// What was last said at a site.
    pub(crate) fn of(&self, name: &str) -> (Option<PhpState>, Vec<DatabaseState>) {
        let Some((_, state)) = self.asked.iter().find(|(known, _)| known == name) else {
            return (None, Vec::new());
        };
        let State { php, databases } = lock(state).clone();
        (php, databases)
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Asks one site for as long as it is polled.
async fn ask_on(
    subject: Subject,
    state: &Mutex<State>,
    audience: &AtomicUsize,
    profile: Arc<Profile>,
) {
    let gauges = subject.databases.iter().filter_map(Gauge::new);
    let mut gauges: Vec<Gauge> = gauges.take(DATABASES_MAX).collect();
    let slow_log = subject.php.as_ref().and_then(|php| php.slow_log.clone());
    let mut slow = slow_log.map(|path| SlowLogFile::new(path, &subject.name, profile.clone()));
    lock(state).php = subject.php.as_ref().map(|_| PhpState::default());
    let mut rounds = tokio::time::interval(INTERVAL);
    rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for round in 0u64.. {
        rounds.tick().await;
        let is_rare = round % RARELY == 0;
        let is_looked_at = audience.load(Ordering::Relaxed) > 0;
        if round % PHP_RARELY == 0 || is_looked_at {
            ask_php(&subject, state, round % PHP_RARELY == 0).await;
        }
        if let Some(slow) = &mut slow {
            slow.look();
        }
        if is_rare {
            let mut databases = Vec::with_capacity(gauges.len());
            for gauge in &mut gauges {
                databases.push(ask_database(gauge).await);
            }
            lock(state).databases = databases;
        }
        if round % VERY_RARELY == 0 {
            for gauge in &mut gauges {
                let told = gauge.statements().await;
                profile.count(&subject.name, gauge.database(), told);
            }
        }
    }
}

async fn ask_php(subject: &Subject, state: &Mutex<State>, with_opcache: bool) {
    let (Some(php), Some(origin)) = (&subject.php, subject.origin.upgrade()) else { return };
    if let Some(restarts) = php.restarts.read().await
        && let Some(php) = &mut lock(state).php
    {
        php.restarts = Some(restarts);
    }
    let Origin::Php(origin) = &*origin else { return };
    let answer = origin.inquire(&php.status_path, "json&full").await;
    // Where all children are busy, what was said last stands: that they are is known.
    if let Ok(None) = answer {
        return;
    }
    let pool = answer.ok().flatten().and_then(|page| Pool::parse(&page));
    if let Some(php) = &mut lock(state).php {
        php.pool = pool;
    }
    let Some(script) = php.opcache_script.as_ref().filter(|_| with_opcache) else { return };
    let answer = origin.inquire(script, "").await;
    let opcache = answer.ok().flatten().and_then(|told| Opcache::parse(&told));
    if let Some(php) = &mut lock(state).php {
        php.opcache = opcache;
    }
}

async fn ask_database(gauge: &mut Gauge) -> DatabaseState {
    let (figures, lost) = match gauge.read().await {
        Ok(figures) => (figures, None),
        Err(lost) => (Figures::default(), Some(lost.to_string())),
    };
    let Figures { connections, running, questions, slow, memory_hits, memory_misses } = figures;
    DatabaseState {
        kind: gauge.kind(),
        name: gauge.database().to_owned(),
        lost,
        connections,
        running,
        questions,
        slow,
        memory_hits,
        memory_misses,
    }
}

//! The watch: once a second it is seen how everything is, for whoever asks.
//!
//! Invariant: nobody who serves a visitor waits for it; it reads counters and files of `/proc`.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base::{Count, Counter};
use bytes::Bytes;
use observe::alerts::{Alerts, Turn};
use observe::history::Mark;
use observe::machine::Meter;
use policy::Verdict;
use server::Server;
use tokio::sync::{mpsc, watch};

use super::alarm::{self, Alarm};
use super::modules::{self, Sight};
use super::now::{Cache, CertificateNow, DiskNow, Now, SiteNow, codings, hits};
use super::subjects::{Subject, Subjects};
use crate::observing::Observing;
use crate::tracker::TrackerNow;

const INTERVAL: Duration = Duration::from_secs(1);

/// What is looked at besides `/proc` and the sites' servers.
pub(crate) struct Watched {
    pub(crate) server: Arc<Server>,
    pub(crate) observing: Arc<Observing>,
    /// The owner's figure.
    pub(crate) memory_bytes: u64,
    pub(crate) log_lost: Option<Arc<Counter>>,
    pub(crate) http3_addresses: usize,
    pub(crate) counters: Arc<AdminCounters>,
    pub(crate) audience: Arc<AtomicUsize>,
    pub(crate) began: Instant,
}

base::counters! {
    /// What the admin listener has been through.
    #[derive(Debug, Default)]
    pub(crate) struct AdminCounters {
        /// Requests to the admin listener.
        pub(crate) requests: Counter,
        /// Those that were refused: by their host, as a page of another site, without the token.
        pub(crate) requests_refused: Counter,
        /// Requests to overrule or to try out that came to nothing.
        pub(crate) acts_refused: Counter,
        /// Connections closed unserved because there were too many.
        pub(crate) connections_refused: Counter,
        /// Streams refused because there were too many.
        pub(crate) streams_refused: Counter,
        /// Alerts that began or ended.
        pub(crate) alerts: Counter,
        /// Those that the owner's program or address could not be told.
        pub(crate) alerts_untold: Counter,
    }
}

/// One look.
pub(crate) struct Look {
    pub(crate) now: Now,
    json: OnceLock<Bytes>,
}

impl Look {
    fn new(now: Now) -> Arc<Self> {
        Arc::new(Self { now, json: OnceLock::new() })
    }

    /// As JSON, made once for all who want it.
    pub(crate) fn json(&self) -> Bytes {
        let make = || Bytes::from(serde_json::to_vec(&self.now).unwrap_or_default());
        self.json.get_or_init(make).clone()
    }
}

/// Everything that a look takes.
pub(crate) struct Watch {
    watched: Watched,
    meter: Meter,
    subjects: Subjects,
    alerts: Alerts,
    alarm: Option<Alarm>,
}

impl Watch {
    pub(crate) fn new(watched: Watched, meter: Meter) -> Self {
        let subjects = Subjects::new(watched.audience.clone(), watched.observing.profile.clone());
        Self { watched, meter, subjects, alerts: Alerts::default(), alarm: None }
    }

    /// Tells alerts by this from now on.
    pub(crate) fn tell_by(&mut self, alarm: Alarm) {
        self.alarm = Some(alarm);
    }

    /// Asks these sites' servers from now on; it must be called on a runtime.
    pub(crate) fn replace(&mut self, subjects: Vec<Subject>) {
        self.subjects.replace(subjects);
    }

    /// How everything is now.
    pub(crate) fn look(&mut self) -> Arc<Look> {
        let Watched {
            server,
            observing,
            memory_bytes,
            log_lost,
            http3_addresses,
            counters,
            began,
            ..
        } = &self.watched;
        let told = server.counters();
        let verdicts: Vec<(Verdict, u64)> =
            Verdict::ALL.iter().map(|&verdict| (verdict, told.of(verdict))).collect();
        let sites = server.site_counts().into_iter().map(|counts| {
            let (php, databases) = self.subjects.of(&counts.name);
            SiteNow::of(counts, php, databases)
        });
        let lives = server.tls().map_or_else(Vec::new, |tls| tls.lives());
        let certificates = lives
            .iter()
            .map(|(names, _, ends)| CertificateNow { names: names.clone(), ends_seconds: *ends });
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut now = Now {
            time_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: began.elapsed().as_secs(),
            answers: verdicts.iter().map(|(_, number)| number).sum(),
            hits: hits(&verdicts),
            connections: server.connections() as u64,
            flights: server.flights() as u64,
            observed: observing.latest(),
            cache: Cache::of(server, *memory_bytes),
            disk: DiskNow::of(server),
            verdicts,
            codings: codings(server),
            counters: told.each().collect::<Vec<Count>>(),
            admin: counters.each().collect(),
            traces: observing.traces().map(|it| it.counters.each().collect()).unwrap_or_default(),
            log_lines_lost: log_lost.as_ref().map_or(0, |lost| lost.read()),
            sites: sites.collect(),
            certificates: certificates.collect(),
            tracker: self.watched.observing.tracker.get().and_then(|it| TrackerNow::of(it)),
            audits: observing.audits().iter().map(|it| it.now()).collect(),
            searches: observing.searches().iter().map(|it| it.now()).collect(),
            machine: self.meter.look(),
            cluster: observing.cluster.get().map(|joint| joint.sum()),
            own_node: observing.cluster.get().map(|joint| joint.standing()),
            modules: Vec::new(),
            alerts: Vec::new(),
        };
        let sight = Sight { server, now: &now, http3_addresses: *http3_addresses };
        now.modules = modules::look(&sight);
        for turn in self.alerts.look(&alarm::sample(&now, &lives)) {
            self.heed(turn);
        }
        now.alerts = self.alerts.raised().cloned().collect();
        Look::new(now)
    }

    /// Marks in the history that somebody is alarmed, and tells who is to be told.
    pub(super) fn heed(&self, turn: Turn) {
        if matches!(turn, Turn::Began(_)) {
            self.watched.observing.mark(Mark::Alert);
        }
        if let Some(alarm) = &self.alarm {
            alarm.tell(turn);
        }
    }

    /// Looks once a second, and tells each look, for as long as this is polled. What comes by
    /// `replaced` is asked from then on.
    pub(crate) async fn run(
        mut self,
        told: watch::Sender<Arc<Look>>,
        mut replaced: mpsc::Receiver<Vec<Subject>>,
    ) {
        let mut rounds = tokio::time::interval(INTERVAL);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = rounds.tick() => {
                    let look = self.look();
                    told.send_replace(look);
                }
                Some(subjects) = replaced.recv() => self.replace(subjects),
            }
        }
    }
}

//! How everything is at a moment: what `/api/now` tells, and what all other numbers are taken of.
//!
//! Invariant: no password, no token, no address that a visitor asked for.

use base::Count;
use observe::alerts::Alert;
use observe::machine::Machine;
use observe::machine::php::{Opcache, Pool};
use policy::Verdict;
use serde::{Serialize, Serializer};
use server::{Memory, Server, SiteCounts};
use wire::Coding;

use super::modules::Module;
use super::subjects::{DatabaseState, PhpState};
use crate::auditing::AuditNow;
use crate::cluster::Sum;
use crate::observing::Latest;
use crate::search::SearchNow;
use crate::tracker::TrackerNow;

/// Everything at one moment.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Now {
    /// Unix time.
    pub(crate) time_ms: u64,
    pub(crate) version: &'static str,
    pub(crate) uptime_seconds: u64,
    /// All answers since the start.
    pub(crate) answers: u64,
    /// Those that memory gave.
    pub(crate) hits: u64,
    /// Connections of visitors.
    pub(crate) connections: u64,
    /// Fetches that others may wait for.
    pub(crate) flights: u64,
    /// What was counted by route, all together.
    pub(crate) observed: Option<Latest>,
    pub(crate) cache: Cache,
    /// What the disk keeps of it; none without one.
    pub(crate) disk: Option<DiskNow>,
    #[serde(serialize_with = "by_verdict")]
    pub(crate) verdicts: Vec<(Verdict, u64)>,
    pub(crate) codings: Vec<CodingNow>,
    #[serde(serialize_with = "by_name")]
    pub(crate) counters: Vec<Count>,
    /// What the admin listener itself has been through.
    #[serde(serialize_with = "by_name")]
    pub(crate) admin: Vec<Count>,
    /// What became of traces; empty where there are none.
    #[serde(serialize_with = "by_name")]
    pub(crate) traces: Vec<Count>,
    /// Lines that the access log could not take.
    pub(crate) log_lines_lost: u64,
    pub(crate) sites: Vec<SiteNow>,
    pub(crate) certificates: Vec<CertificateNow>,
    /// The tracker; none: there is none, or it isn't open yet.
    pub(crate) tracker: Option<TrackerNow>,
    /// The sites' searches.
    pub(crate) searches: Vec<SearchNow>,
    /// The sites' audits of what is stored.
    pub(crate) audits: Vec<AuditNow>,
    pub(crate) machine: Machine,
    /// All nodes of the cluster together; none where this is the only one.
    pub(crate) cluster: Option<Sum>,
    /// How this node stands among them.
    #[serde(skip)]
    pub(crate) own_node: Option<::cluster::Status>,
    /// What may be on or off, and how that is.
    pub(crate) modules: Vec<Module>,
    /// What is bad now.
    pub(crate) alerts: Vec<Alert>,
}

/// Memory: the owner's figure, and what the cache has of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Cache {
    /// The owner's figure.
    pub(crate) memory_bytes: u64,
    /// What of it the cache may hold at the moment.
    pub(crate) limit_bytes: u64,
    pub(crate) used_bytes: u64,
    /// Set aside for bodies on their way into it.
    pub(crate) reserved_bytes: u64,
    pub(crate) pages: u64,
    #[serde(serialize_with = "by_name")]
    pub(crate) counts: Vec<Count>,
}

/// Pages on the disk.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DiskNow {
    pub(crate) pages: u64,
    /// What their files have.
    pub(crate) used_bytes: u64,
    #[serde(serialize_with = "by_name")]
    pub(crate) counts: Vec<Count>,
}

/// What was sent in one content coding.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CodingNow {
    pub(crate) coding: &'static str,
    pub(crate) before_bytes: u64,
    pub(crate) after_bytes: u64,
}

/// One site.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SiteNow {
    pub(crate) name: String,
    /// Requests that may be with its origin at once.
    pub(crate) slots: Option<u64>,
    /// Requests that are.
    pub(crate) slots_taken: Option<u64>,
    /// Requests that wait to be.
    pub(crate) waiting: Option<u64>,
    #[serde(serialize_with = "by_name")]
    pub(crate) origin: Vec<Count>,
    #[serde(serialize_with = "by_name")]
    pub(crate) strangers: Vec<Count>,
    #[serde(serialize_with = "by_name")]
    pub(crate) changes: Vec<Count>,
    /// Whether its changes are heard; none where nobody listens.
    pub(crate) is_followed: Option<bool>,
    pub(crate) purges_widened: u64,
    pub(crate) rates_forgotten: u64,
    pub(crate) php: Option<PhpNow>,
    pub(crate) databases: Vec<DatabaseState>,
}

/// The php-fpm of one site.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PhpNow {
    /// How often it was started again after a crash; none for one that isn't ours.
    pub(crate) restarts: Option<u64>,
    pub(crate) pool: Option<Pool>,
    pub(crate) opcache: Option<Opcache>,
}

/// One certificate.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CertificateNow {
    pub(crate) names: Vec<String>,
    /// The last second of its life, in unix time.
    pub(crate) ends_seconds: i64,
}

impl Cache {
    pub(crate) fn of(server: &Server, memory_bytes: u64) -> Self {
        let Memory { limit_bytes, used_bytes, reserved_bytes, pages } = server.memory();
        let counts = cache_counts(server.memory_counts());
        Self { memory_bytes, limit_bytes, used_bytes, reserved_bytes, pages, counts }
    }
}

impl DiskNow {
    pub(crate) fn of(server: &Server) -> Option<Self> {
        let store::disk::DiskCounts { written, read, damaged, dropped, evicted, carried, failed } =
            server.disk_counts()?;
        let (pages, used_bytes) = server.disk_size();
        let refused = server.disk_reads_refused();
        let counts = [
            ("written", "Pages that were written to the disk.", written),
            ("read", "Pages that were read from the disk and found whole.", read),
            ("damaged", "Pages on the disk that were not as they had been written.", damaged),
            ("dropped", "Pages not written: too many waited, or there was no room.", dropped),
            ("evicted", "Pages that went with the oldest files on the disk.", evicted),
            (
                "carried",
                "Slices that were asked for again and so stayed when theirs went.",
                carried,
            ),
            ("failed", "1 once the disk is no longer used because of an error.", failed),
            ("reads_refused", "Requests that too many waited before for the disk.", refused),
        ];
        let counts = counts.map(|(name, what, number)| Count { name, what, number });
        Some(Self { pages: pages as u64, used_bytes, counts: counts.into() })
    }
}

/// Taken apart, so that one that is new can't be forgotten.
fn cache_counts(counts: store::Counts) -> Vec<Count> {
    let store::Counts {
        evicted,
        evicted_bytes,
        forced,
        too_heavy,
        crowded_out,
        reservations_refused,
    } = counts;
    let count = |name, what, number| Count { name, what, number };
    vec![
        count("evicted", "Things evicted from memory to make room.", evicted),
        count("evicted_bytes", "What those weighed.", evicted_bytes),
        count("forced", "Of those evicted, how many were wanted.", forced),
        count("too_heavy", "Things not stored for their weight.", too_heavy),
        count("crowded_out", "Variants that went because their page had too many.", crowded_out),
        count(
            "reservations_refused",
            "Bodies for which no room was set aside.",
            reservations_refused,
        ),
    ]
}

pub(crate) fn codings(server: &Server) -> Vec<CodingNow> {
    let all = Coding::ALL.into_iter().zip(&server.counters().codings);
    let coding = |(coding, counts): (Coding, &server::CodingCounts)| CodingNow {
        coding: coding.as_str(),
        before_bytes: counts.before_bytes.read(),
        after_bytes: counts.after_bytes.read(),
    };
    all.map(coding).collect()
}

/// Answers that memory gave, here or at another node: fresh, stale, or brought by somebody else's
/// request.
pub(crate) fn hits(verdicts: &[(Verdict, u64)]) -> u64 {
    let is_hit = |verdict: &Verdict| {
        use Verdict::{Collapsed, Fellow, Hit, Stale};
        matches!(verdict, Hit | Stale(_) | Collapsed | Fellow)
    };
    verdicts.iter().filter(|(verdict, _)| is_hit(verdict)).map(|(_, number)| number).sum()
}

impl SiteNow {
    pub(crate) fn of(
        counts: SiteCounts,
        php: Option<PhpState>,
        databases: Vec<DatabaseState>,
    ) -> Self {
        let SiteCounts {
            name,
            origin,
            load,
            strangers,
            changes,
            is_followed,
            purges_widened,
            rates_forgotten,
        } = counts;
        let php =
            php.map(|PhpState { restarts, pool, opcache }| PhpNow { restarts, pool, opcache });
        Self {
            name,
            slots: load.map(|load| load.slots as u64),
            slots_taken: load.map(|load| load.taken as u64),
            waiting: load.map(|load| load.waiting as u64),
            origin,
            strangers,
            changes,
            is_followed,
            purges_widened,
            rates_forgotten,
            php,
            databases,
        }
    }
}

fn by_name<S: Serializer>(counts: &[Count], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|count| (count.name, count.number)))
}

fn by_verdict<S: Serializer>(counts: &[(Verdict, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let given = counts.iter().filter(|(_, number)| *number > 0);
    serializer.collect_map(given.map(|(verdict, number)| (verdict.to_string(), number)))
}

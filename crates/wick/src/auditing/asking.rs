//! What stands against a site's pages: `wick audit status`, `/api/audit`, and the figures of a
//! moment.
//!
//! `wick audit status` reads the files itself, and so it does when no Wick runs.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::audit::{BookError, Report, Standing, rules, standing_report};
use base::Count;
use clap::Args;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{PREFIX, SiteAudit};
use crate::bench::read_duration;
use crate::observing::unix;
use crate::plan::default_state;

/// What is told as new, or fixed, unless something else is asked for.
const SINCE: Duration = Duration::from_secs(24 * 3600);

/// `wick audit status`.
#[derive(Debug, Args)]
pub(crate) struct StatusTyped {
    /// Sites whose names have this in them [default: all].
    #[arg(long, value_name = "NAME", default_value = "")]
    site: String,
    /// New is what was found, and fixed what was mended, within this time.
    #[arg(long, value_name = "TIME", value_parser = read_duration, default_value = "1d")]
    since: Duration,
    /// How it is written to standard output.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: crate::audit::Format,
    /// The state folder of the Wick [default: /var/lib/wick for root, else the user's state
    /// folder].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// A site's audit at one moment: numbers only.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AuditNow {
    pub(crate) site: String,
    pub(crate) pages: i64,
    pub(crate) errors: i64,
    pub(crate) warnings: i64,
    pub(crate) notices: i64,
    #[serde(serialize_with = "by_name")]
    pub(crate) counters: Vec<Count>,
}

fn by_name<S: Serializer>(counts: &[Count], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|count| (count.name, count.number)))
}

impl SiteAudit {
    /// How it is.
    pub(crate) fn now(&self) -> AuditNow {
        let [pages, errors, warnings, notices] =
            [0, 1, 2, 3].map(|at| self.counts[at].load(Ordering::Relaxed));
        let counters = self.counters.each().collect();
        AuditNow { site: self.name.clone(), pages, errors, warnings, notices, counters }
    }
}

/// Groups that are told of one site.
const GROUPS_MAX: usize = 100;
/// The longest time within which something is new: what isn't stored for longer is forgotten.
const SINCE_SECONDS_MAX: u64 = 30 * 24 * 3600;

/// The second since which things are new.
fn since(time: Duration) -> i64 {
    i64::try_from(unix().saturating_sub(time).as_secs()).unwrap_or_default()
}

/// What stands against the pages of these sites, by rule, and by rule and route; new is what was
/// found within these seconds. Addresses are left out unless who asks may see them.
pub(crate) fn told(
    audits: &[Arc<SiteAudit>],
    has_addresses: bool,
    within_seconds: Option<u64>,
) -> Result<Value, String> {
    let within = Duration::from_secs(within_seconds.unwrap_or(SINCE.as_secs()));
    if within.is_zero() || within.as_secs() > SINCE_SECONDS_MAX {
        return Err(format!("since_seconds is a number from 1 to {SINCE_SECONDS_MAX}"));
    }
    let since = since(within);
    let each = audits.iter().map(|audit| {
        let now = audit.now();
        let standing = match audit.path.exists() {
            true => Some(Standing::read(&audit.path)?),
            // Nothing was stored yet.
            false => None,
        };
        let (rules, groups, fixed) = match standing {
            Some(standing) => {
                (standing.rules(since)?, standing.groups(since)?, standing.fixed(since)?)
            }
            None => (Vec::new(), Vec::new(), 0),
        };
        let rules: Vec<Value> = rules.iter().map(|one| rule(one, has_addresses)).collect();
        let shown = groups.iter().take(GROUPS_MAX);
        let shown: Vec<Value> = shown.map(|one| group(one, has_addresses)).collect();
        Ok(json!({
            "now": now,
            "since_seconds": within.as_secs(),
            "fixed": fixed,
            "rules": rules,
            "groups_left": groups.len().saturating_sub(shown.len()),
            "groups": shown,
        }))
    });
    let each: Result<Vec<Value>, BookError> = each.collect();
    each.map(|sites| json!({ "sites": sites, "tells_addresses": has_addresses }))
        .map_err(|error| error.to_string())
}

fn group(one: &::audit::RouteCount, has_addresses: bool) -> Value {
    let rule = rules::rule(&one.rule);
    let mut told = json!({
        "rule": one.rule,
        "severity": one.severity,
        "title": rules::title(&one.rule),
        "why": rule.map_or("", |rule| rule.why),
        "mend": rule.map_or("", |rule| rule.mend),
        "route": one.route,
        "count": one.count,
        "pages": one.pages,
        "new": one.new,
    });
    if has_addresses {
        told["examples"] = json!(one.examples);
    }
    told
}

fn rule(one: &::audit::RuleCount, has_addresses: bool) -> Value {
    let title = rules::rule(&one.rule).map_or("", |rule| rule.title);
    let mut told = json!({
        "rule": one.rule,
        "severity": one.severity,
        "title": title,
        "count": one.count,
        "pages": one.pages,
        "new": one.new,
    });
    if has_addresses {
        told["example"] = Value::from(one.example.as_str());
    }
    told
}

/// The report of `wick audit status`.
pub(crate) fn show(typed: &StatusTyped) -> Result<Report, Box<dyn Error>> {
    let folder = typed.state.clone().unwrap_or_else(default_state).join("audit");
    let none = || {
        format!(
            "nothing is known in {}: write audit = true for a site in wick.toml, or name the \
             state folder by --state",
            folder.display()
        )
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|_| none())?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            name.starts_with(PREFIX) && name.ends_with(".sqlite")
        })
        .collect();
    files.sort();
    let mut sites = Vec::new();
    for file in files {
        let report = Standing::read(&file)?.report(since(typed.since))?;
        if report.site.contains(&typed.site) {
            sites.push(report);
        }
    }
    if sites.is_empty() {
        return Err(none().into());
    }
    Ok(standing_report(sites))
}

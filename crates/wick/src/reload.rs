//! New settings for the running Wick: what changed is made, what didn't goes on.
//!
//! A site whose origin is the same keeps it, with all connections and children; one that
//! changed is started before the old one is left, and the old one ends when the last request
//! through it has its answer. If anything can't be started, everything stays as it was.

use base::amount::show_bytes;
use observe::history::Mark;
use server::{Limits, Line};

use crate::arguments::Serve;
use crate::cluster::ClusterPlan;
use crate::log::AccessLog;
use crate::plan::{Plan, SitePlan};
use crate::run::{RunError, Running, feasible, open_log};
use crate::service::{self, Doing};
use crate::sites::Started;
use crate::sphinx::SphinxPlan;
use crate::tracker::TrackerPlan;

/// How a site of the new settings comes to its origin.
enum Way {
    /// It has the one of this number.
    Keeps(usize),
    Starts(Box<Started>),
}

impl Running {
    /// Reads the settings again and serves by them; says what became of each part.
    pub(crate) async fn reload(&mut self, arguments: &Serve) -> Result<Vec<Line>, RunError> {
        service::tell(Doing::Reloads);
        let told = self.reload_by(arguments).await;
        tokio::spawn(crate::memory::give_back_code_soon());
        service::tell(Doing::Serves);
        told
    }

    async fn reload_by(&mut self, arguments: &Serve) -> Result<Vec<Line>, RunError> {
        let plan = Plan::of(arguments)?;
        self.reloads += 1;
        let certificates = match &self.certificates {
            Some(certificates) => Some(certificates.after(&plan)?),
            None => None,
        };
        let log = self.other_log(&plan)?;
        let ways = self.ways(&plan).await?;
        let mut old: Vec<Option<Started>> = self.started.drain(..).map(Some).collect();
        let mut lines = Vec::new();
        for (site, way) in plan.sites.iter().zip(ways) {
            let (started, told) = match way {
                Way::Starts(started) => (Some(*started), "started"),
                Way::Keeps(index) => (old[index].take(), "its origin goes on"),
            };
            let Some(mut started) = started else { continue };
            started.settle(site);
            let text = format!("{}: {told}", started.config.name);
            lines.push(Line { topic: "site", text });
            self.started.push(started);
        }
        self.companions.settle(&plan.sites, &mut self.started, &self.plan.state);
        self.companions.tell(&self.observing, &self.server);
        self.server.replace_sites(self.started.iter().map(|one| one.config.clone()).collect());
        if let (Some(now), Some(prepared)) = (&mut self.certificates, certificates) {
            now.succeed(prepared);
        }
        self.settle_limits(plan.limits.clone(), &mut lines);
        while self.leaving.try_join_next().is_some() {}
        for started in old.into_iter().flatten() {
            let text = format!("{}: ends with its last answer", started.config.name);
            lines.push(Line { topic: "left", text });
            self.leaving.spawn(started.leave(self.plan.limits.grace));
        }
        lines.extend(self.plan.needing_restart(&plan).map(|text| Line { topic: "later", text }));
        self.settle_tracker(plan.tracker, &mut lines);
        self.settle_sphinx(plan.sphinx, &mut lines);
        self.note_cluster(plan.cluster.as_ref(), &mut lines);
        self.plan.sites = plan.sites;
        self.tell_admin();
        self.observing.mark(Mark::Reload);
        match log {
            Some(log) => {
                (self.plan.access_log, self.plan.access_log_format) =
                    (plan.access_log, plan.access_log_format);
                lines.push(self.change_log(log).await);
            }
            None => self.reopen_log(),
        }
        Ok(lines)
    }

    /// The access log that the plan wants, opened, if it is another than there is.
    fn other_log(&self, plan: &Plan) -> Result<Option<Option<AccessLog>>, RunError> {
        let wanted = |plan: &Plan| (plan.access_log.clone(), plan.access_log_format);
        (wanted(plan) != wanted(&self.plan)).then(|| open_log(plan, &self.lost)).transpose()
    }

    /// Goes on in another log, or in none; what the one before has taken is written.
    async fn change_log(&mut self, log: Option<AccessLog>) -> Line {
        self.server.replace_access(log.as_ref().map(AccessLog::sink));
        if let Some(before) = std::mem::replace(&mut self.log, log) {
            before.finish().await;
        }
        let text = match &self.plan.access_log {
            Some(path) => format!("answers are told to {} from now on", path.display()),
            None => "answers are told nowhere from now on".to_owned(),
        };
        Line { topic: "log", text }
    }

    /// Has the tracker go on by other rules, with all its peers.
    fn settle_tracker(&mut self, plan: Option<TrackerPlan>, lines: &mut Vec<Line>) {
        let fixed = |plan: &Option<TrackerPlan>| plan.as_ref().map(TrackerPlan::fixed);
        if fixed(&plan) != fixed(&self.plan.tracker) {
            let text = "listen, udp, path, mode and the database of [tracker] take effect at the \
                        next start";
            lines.push(Line { topic: "later", text: text.to_owned() });
        }
        if let (Some(tracker), Some(plan)) = (&self.tracker, plan) {
            tracker.settle(&plan);
            let text = "its rules are those of the settings; its peers stay".to_owned();
            lines.push(Line { topic: "tracker", text });
        }
    }

    /// A node is of one cluster, under one name, as long as it lives.
    fn note_cluster(&self, plan: Option<&ClusterPlan>, lines: &mut Vec<Line>) {
        if plan != self.plan.cluster.as_ref() {
            let text = "[cluster] takes effect at the next start".to_owned();
            lines.push(Line { topic: "later", text });
        }
    }

    /// Has all indexes of Sphinx's be made anew, by what the settings say now.
    fn settle_sphinx(&mut self, plan: Option<SphinxPlan>, lines: &mut Vec<Line>) {
        let fixed = |plan: &Option<SphinxPlan>| plan.as_ref().map(SphinxPlan::fixed);
        if fixed(&plan) != fixed(&self.plan.sphinx) {
            let text = "listen of [sphinx] takes effect at the next start, and so does its being \
                        there";
            lines.push(Line { topic: "later", text: text.to_owned() });
        }
        if let (Some(searching), Some(plan)) = (&self.sphinx, plan) {
            searching.settle(&plan, &self.plan.state);
            let text = "its indexes are made anew, and found meanwhile as they were".to_owned();
            lines.push(Line { topic: "sphinx", text });
        }
    }

    /// Bounds clients by other limits, if these are others.
    fn settle_limits(&mut self, limits: Limits, lines: &mut Vec<Line>) {
        if limits == self.plan.limits {
            return;
        }
        self.server.replace_limits(feasible(&limits));
        self.plan.limits = limits;
        let text = "these hold from now on, and for busy connections once they are idle";
        lines.push(Line { topic: "limits", text: text.to_owned() });
    }

    /// Starts what the plan needs and isn't there; all or nothing.
    async fn ways(&self, plan: &Plan) -> Result<Vec<Way>, RunError> {
        let mut is_kept = vec![false; self.plan.sites.len()];
        let mut ways = Vec::new();
        for site in &plan.sites {
            let kept = |(index, old): (usize, &SitePlan)| {
                (!is_kept[index] && old.has_origin_of(site)).then_some(index)
            };
            if let Some(index) = self.plan.sites.iter().enumerate().find_map(kept) {
                is_kept[index] = true;
                ways.push(Way::Keeps(index));
                continue;
            }
            match Started::start(site, &self.plan.state, self.reloads, true).await {
                Ok(started) => ways.push(Way::Starts(Box::new(started))),
                Err(error) => {
                    for way in ways {
                        if let Way::Starts(started) = way {
                            started.stop().await;
                        }
                    }
                    return Err(error.into());
                }
            }
        }
        Ok(ways)
    }

    /// Goes on in a new log file where the old one was moved away.
    pub(crate) fn reopen_log(&self) {
        if let Some(log) = &self.log {
            log.reopen();
        }
    }
}

impl Plan {
    /// As whom it serves.
    fn own(&self) -> (&Option<String>, &Option<String>) {
        (&self.user, &self.group)
    }

    /// What of another plan can't be had without a restart, with what it stays at until then.
    fn needing_restart(&self, other: &Self) -> impl Iterator<Item = String> + use<> {
        let listen = |plan: &Self| format!("{:?}", plan.listen);
        let listen_tls = |plan: &Self| format!("{:?}", plan.listen_tls);
        [
            ("listen", listen(self), listen(other)),
            ("listen_tls", listen_tls(self), listen_tls(other)),
            ("http3", self.http3.to_string(), other.http3.to_string()),
            ("memory", show_bytes(self.memory_bytes), show_bytes(other.memory_bytes)),
            ("disk", format!("{:?}", self.disk_bytes), format!("{:?}", other.disk_bytes)),
            ("threads", self.threads.to_string(), other.threads.to_string()),
            ("state", self.state.display().to_string(), other.state.display().to_string()),
            (
                "proxy_protocol, trusted_proxies or trusted_field",
                format!("{:?}", self.proxies),
                format!("{:?}", other.proxies),
            ),
            ("request_id", self.request_ids.to_string(), other.request_ids.to_string()),
            ("admin, munin or alert_…", format!("{:?}", self.admin), format!("{:?}", other.admin)),
            ("[traces]", format!("{:?}", self.traces), format!("{:?}", other.traces)),
            ("server_timing", self.server_timing.to_string(), other.server_timing.to_string()),
            ("user or group", format!("{:?}", self.own()), format!("{:?}", other.own())),
        ]
        .into_iter()
        .filter(|(_, now, then)| now != then)
        .map(|(name, ..)| format!("{name} takes effect at the next start"))
    }
}

/// The lines for a terminal.
pub(crate) fn told(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("  {}  {}\n", line.topic, line.text)).collect()
}

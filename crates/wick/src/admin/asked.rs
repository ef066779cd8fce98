//! What is asked of everything that was counted, kept and learned: history, routes, findings,
//! the last answers, one address explained.
//!
//! Nothing here is at hand: much is added up, or files are read. So it is done on a thread of
//! its own, for few at once; the others wait, and there are no more than connections.
//! Invariants: 1. nothing changes by being asked for; what may be done stands in
//! [`super::acts`]. 2. no address that a visitor asked for is
//! told where no token has to be shown: answers are then told by their routes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use server::Server;
use tokio::sync::Semaphore;

use crate::auditing;
use crate::cluster::{self, ClusterQuestion};
use crate::doctor;
use crate::observing::asking::{self, LINES_MAX, LogQuestion, Question};
use crate::observing::{Observing, unix};
use crate::run::single_threaded;
use crate::search::SiteSearch;
use crate::tracker::{self, TrackerQuestion};

/// How many are answered at once.
const PLACES: usize = 2;
/// How much history is told where nobody says how much, and by how many points.
const SECONDS: u64 = 3600;
const POINTS: u64 = 600;
/// How many of the last answers are told where nobody says how many.
const LINES: u64 = 200;

/// How long the machine is watched, and how long what was found counts.
const EXAMINED_WINDOW: Duration = Duration::from_secs(2);
const EXAMINED_FOR: Duration = Duration::from_secs(30);

/// What may be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matter {
    History,
    Routes,
    Misses,
    Recent,
    Url,
    Learned,
    Profile,
    Tracker,
    Search,
    Doctor,
    Audit,
    Cluster,
}

impl Matter {
    pub(crate) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/api/history" => Self::History,
            "/api/routes" => Self::Routes,
            "/api/misses" => Self::Misses,
            "/api/recent" => Self::Recent,
            "/api/url" => Self::Url,
            "/api/learned" => Self::Learned,
            "/api/profile" => Self::Profile,
            "/api/tracker" => Self::Tracker,
            "/api/search" => Self::Search,
            "/api/doctor" => Self::Doctor,
            "/api/audit" => Self::Audit,
            "/api/cluster" => Self::Cluster,
            _ => return None,
        })
    }
}

/// Who knows, and who may be told.
pub(crate) struct Asked {
    who: Arc<Knowing>,
    places: Arc<Semaphore>,
}

struct Knowing {
    server: Arc<Server>,
    observing: Arc<Observing>,
    /// Whether only who shows a token comes here.
    is_closed: bool,
    /// What the doctor said last, and when.
    examined: Mutex<Option<(Instant, Value)>>,
}

impl Asked {
    /// Whether nothing new is to come to this node of a cluster.
    pub(crate) fn is_draining(&self) -> bool {
        self.who.observing.cluster.get().is_some_and(|joint| joint.is_draining())
    }

    pub(crate) fn new(server: &Arc<Server>, observing: &Arc<Observing>, is_closed: bool) -> Self {
        let (server, observing) = (server.clone(), observing.clone());
        let who = Arc::new(Knowing { server, observing, is_closed, examined: Mutex::default() });
        Self { who, places: Arc::new(Semaphore::new(PLACES)) }
    }

    #[cfg(test)]
    pub(super) fn observing(&self) -> &Observing {
        &self.who.observing
    }

    /// Whether the question was right, and the answer, or what was wrong with it, as JSON.
    pub(crate) async fn tell(&self, matter: Matter, query: &str) -> (bool, Bytes) {
        let _place = self.places.acquire().await;
        let (who, query) = (self.who.clone(), query.to_owned());
        let work = move || match who.tell(matter, &Wanted::read(&query)) {
            Ok(told) => (true, told),
            Err(wrong) => (false, json!({ "wrong": wrong })),
        };
        // It ends without an answer only when the process does.
        let told = tokio::task::spawn_blocking(work).await;
        let (is_right, told) = told.unwrap_or((false, Value::Null));
        (is_right, told.to_string().into())
    }
}

impl Knowing {
    fn tell(&self, matter: Matter, wanted: &Wanted) -> Result<Value, String> {
        let question = match matter {
            Matter::History => history(wanted, unix().as_secs())?,
            Matter::Routes => Question::Routes {},
            Matter::Misses => Question::Findings {},
            Matter::Profile => Question::Profile {},
            Matter::Recent => return self.recent(wanted),
            Matter::Tracker => return self.tracker(wanted),
            Matter::Search => return Ok(self.search()),
            Matter::Doctor => return self.doctor(),
            Matter::Cluster => return self.cluster(),
            Matter::Audit => {
                let within = wanted.number("since_seconds")?;
                return auditing::told(&self.observing.audits(), self.is_closed, within);
            }
            Matter::Url => {
                let question = server::Question {
                    url: wanted.text("url"),
                    cookies: wanted.text("cookies"),
                    user_agent: wanted.text("user_agent"),
                };
                return told(json!({ "lines": self.server.explain(&question) }));
            }
            Matter::Learned => {
                let sites = self.server.learned();
                return told(json!({ "sites": sites, "may_overrule": self.is_closed }));
            }
        };
        asking::tell(&self.observing, told(question)?)
    }

    /// How each site's search stands; what is looked for only to who shows a token, for visitors
    /// wrote it.
    fn search(&self) -> Value {
        let site = |search: &Arc<SiteSearch>| {
            let mut told = json!(search.now());
            if self.is_closed {
                told["queries"] = json!(search.queries());
            }
            told
        };
        let searches: Vec<Value> = self.observing.searches().iter().map(site).collect();
        json!({ "sites": searches, "tells_queries": self.is_closed })
    }

    /// How this node and all others are; nothing where it is the only one.
    fn cluster(&self) -> Result<Value, String> {
        let Some(joint) = self.observing.cluster.get() else {
            return Ok(json!({ "nodes": [], "sum": null }));
        };
        Ok(cluster::tell(Some(joint), &ClusterQuestion::Status {})?.told)
    }

    /// How the tracker stands; of one user or torrent only to who shows a token.
    fn tracker(&self, wanted: &Wanted) -> Result<Value, String> {
        let number = |name: &str| -> Result<Option<u32>, String> {
            let number = wanted.number(name)?.map(u32::try_from);
            number.transpose().map_err(|_| format!("{name} is a number of the site's database"))
        };
        let wants_suspects = !wanted.text("suspects").is_empty();
        let question = match (number("user")?, number("torrent")?, wanted.text("hash")) {
            (None, None, hash) if hash.is_empty() && !wants_suspects => TrackerQuestion::Status {},
            _ if !self.is_closed => {
                return Err("users and torrents are told where admin_token is set; \
                            \"wick tracker\" tells them on this machine"
                    .to_owned());
            }
            _ if wants_suspects => TrackerQuestion::Suspects {},
            (Some(user), Some(torrent), _) => TrackerQuestion::Explain { user, torrent },
            (Some(id), None, _) => TrackerQuestion::User { id },
            (None, _, hash) => TrackerQuestion::Torrent { hash },
        };
        let tracking = self.observing.tracker.get();
        let answer = tracker::tell(tracking.map(|it| &**it), &question)?;
        Ok(answer.told)
    }

    /// What the machine should change. Whoever asks soon after another is told the same: it
    /// takes seconds, and databases are asked for it.
    fn doctor(&self) -> Result<Value, String> {
        let mut last = self.examined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, report)) = &*last
            && when.elapsed() < EXAMINED_FOR
        {
            return Ok(report.clone());
        }
        let runtime = single_threaded().map_err(|error| error.to_string())?;
        let looked = doctor::report(&self.observing.history, EXAMINED_WINDOW);
        let report = runtime.block_on(looked).map_err(|error| error.to_string())?;
        let report = told(report)?;
        *last = Some((Instant::now(), report.clone()));
        Ok(report)
    }

    fn recent(&self, wanted: &Wanted) -> Result<Value, String> {
        let count = wanted.number("count")?.unwrap_or(LINES);
        let question = Question::Log(LogQuestion {
            why: wanted.text("why"),
            route: wanted.text("route"),
            status: wanted.text("status"),
            after: wanted.number("after")?.unwrap_or(0),
            count: usize::try_from(count).unwrap_or(LINES_MAX),
        });
        let mut answer = asking::tell(&self.observing, told(question)?)?;
        answer["has_paths"] = self.is_closed.into();
        if !self.is_closed {
            let lines = answer["lines"].as_array_mut().into_iter().flatten();
            for line in lines.filter_map(Value::as_object_mut) {
                line.remove("path");
                line.remove("host");
            }
        }
        Ok(answer)
    }
}

fn history(wanted: &Wanted, now: u64) -> Result<Question, String> {
    let to = wanted.number("to")?.unwrap_or(now + 1);
    let from = wanted.number("from")?.unwrap_or(to.saturating_sub(SECONDS));
    let points = wanted.number("points")?.unwrap_or(POINTS).max(1);
    if from >= to {
        return Err(format!("from={from} has to be before to={to}, in seconds since 1970"));
    }
    Ok(Question::History { from, to, step: (to - from).div_ceil(points) })
}

fn told(value: impl serde::Serialize) -> Result<Value, String> {
    serde_json::to_value(value).map_err(|error| error.to_string())
}

/// A query, read as a form of HTML is written.
struct Wanted(Vec<(String, String)>);

impl Wanted {
    fn read(query: &str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).into_owned().collect())
    }

    fn text(&self, name: &str) -> String {
        let mut all = self.0.iter();
        all.find(|(known, _)| known == name).map(|(_, text)| text.clone()).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        match self.text(name).as_str() {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| format!("{name} is a whole number, as in {name}=1789000000")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_history_is_as_long_as_is_asked_for() {
        for (query, expected) in [
            ("", "6401 10001 6"),
            ("from=10&to=130", "10 130 1"),
            ("from=0&to=6000&points=10", "0 6000 600"),
            ("to=4000&points=0", "400 4000 3600"),
            ("from=5&to=5", "from=5 has to be before to=5, in seconds since 1970"),
            ("from=-5", "from is a whole number, as in from=1789000000"),
            ("points=%31e3", "points is a whole number, as in points=1789000000"),
        ] {
            let told = match history(&Wanted::read(query), 10_000) {
                Ok(Question::History { from, to, step }) => format!("{from} {to} {step}"),
                Ok(other) => format!("{other:?}"),
                Err(why) => why,
            };
            assert_eq!(told, expected, "{query}");
        }
    }

    #[test]
    fn a_query_is_read_as_forms_write_it() {
        let wanted = Wanted::read("url=http%3A%2F%2Fa.test%2Fx%3Fy%3D1%26z&cookies=a%3Db+c&url=2");
        assert_eq!(wanted.text("url"), "http://a.test/x?y=1&z");
        assert_eq!(wanted.text("cookies"), "a=b c");
        assert_eq!(wanted.text("none"), "");
    }
}

//! Trying out: one address, asked for now as a stranger asks, for the owner who wants to see.
//!
//! The request takes the road of all requests, so what it finds is what a visitor finds, and
//! what it brings is kept as a visitor's would be. It is no visit: it isn't counted, logged or
//! observed as an answer. What lay in the store before is held beside the answer.
//! Bounds: one at a time, [`PATIENCE`], [`BODY_BYTES_MAX`], [`TEXT_BYTES_MAX`] of it told.
//! Invariant: only sites that are served are asked, each at its own origin, without any cookie.
//! Start at [`Server::try_out`].

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base::{Phase, Phases, task};
use bytes::Bytes;
use http_body_util::BodyExt;
use policy::age_seconds;
use serde::{Deserialize, Serialize};
use store::Key;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};
use wire::h1::Length;
use wire::{Fields, Name, RequestHead};

use crate::Server;
use crate::explain::{Question, read_with};
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline::{self, Turn};
use crate::reply::{Head, Payload, Reply};
use crate::strangers::guests::Reader;

/// For all of it, as whoever asks waits.
const PATIENCE: Duration = Duration::from_secs(30);
/// What is read of a body.
const BODY_BYTES_MAX: usize = 4 << 20;
/// What is told of it, as text.
const TEXT_BYTES_MAX: usize = 32 << 10;
/// What is told around the first difference: before it and from it on.
const BEFORE_BYTES: usize = 48;
const AFTER_BYTES: usize = 160;
/// What browsers send as they open a page.
const NAVIGATION: [(&str, &str); 4] = [
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "none"),
];

/// What is to be tried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TryOut {
    /// The whole address, as in `http://example.org/page?id=1`.
    pub url: String,
    /// The `User-Agent` field; empty: none.
    pub user_agent: String,
    /// The `Accept-Language` field; empty: none.
    pub languages: String,
}

/// What a stranger was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedOut {
    /// The answer's status.
    pub status: u16,
    /// Why it was answered so.
    pub verdict: String,
    /// Why it is not stored; empty: it is, or the origin said nothing.
    pub unstored: &'static str,
    /// Where a redirect leads; it was not followed. Empty: nowhere.
    pub location: String,
    /// The media type; empty: none is told.
    pub content_type: String,
    /// Until the answer's head was there, and until its end, in microseconds.
    pub head_us: u64,
    /// See there.
    pub took_us: u64,
    /// Each phase that it went through, in microseconds.
    pub phases: Vec<(&'static str, u64)>,
    /// Bytes of the body, as far as it was read.
    pub body_bytes: u64,
    /// Whether that is all of it.
    pub is_whole: bool,
    /// The body's beginning, as text.
    pub text: String,
    /// What lay in memory for this stranger before; none: nothing.
    pub stored: Option<Beside>,
}

/// A stored page beside an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Beside {
    /// Its status.
    pub status: u16,
    /// How old it was.
    pub age_seconds: u64,
    /// Bytes of its body.
    pub body_bytes: u64,
    /// Where the two bodies first differ; none: nowhere.
    pub difference: Option<Difference>,
}

/// The first difference between two bodies, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// How many bytes are the same before it.
    pub at_byte: u64,
    /// The line that it stands in, from 1.
    pub line: u64,
    /// What is stored around it.
    pub stored: String,
    /// What was answered there.
    pub answered: String,
}

impl Server {
    /// Asks for an address as a stranger and waits for what comes. It must be called on a
    /// runtime that lasts as long as the server does.
    ///
    /// # Errors
    /// Why it was not asked for, or nothing came, in one sentence.
    pub async fn try_out(self: &Arc<Self>, wanted: TryOut) -> Result<TriedOut, String> {
        let Ok(place) = self.try_outs.clone().try_acquire_owned() else {
            self.counters.try_outs_refused.bump();
            return Err("another page is being asked for: wait for that one".to_owned());
        };
        let head = self.stranger(&wanted)?;
        let scheme = self.scheme_of(&wanted.url);
        let (answer, answered) = oneshot::channel();
        let server = self.clone();
        task::spawn_counted(&self.counters.panics, async move {
            // Whoever waited may have given up; the origin's own deadlines end it then.
            let _ = answer.send(server.go_as_stranger(head, scheme).await);
            drop(place);
        });
        match timeout(PATIENCE, answered).await {
            Ok(Ok(tried)) => Ok(tried),
            Ok(Err(_)) => Err("it ended without an answer: Wick stops, or has a fault".to_owned()),
            Err(_) => Err(format!("nothing whole came within {} s", PATIENCE.as_secs())),
        }
    }

    fn stranger(&self, wanted: &TryOut) -> Result<RequestHead, String> {
        let TryOut { url, user_agent, languages } = wanted;
        let (url, user_agent) = (url.clone(), user_agent.clone());
        let question = Question { url, user_agent, ..Question::default() };
        let mut more = NAVIGATION.to_vec();
        if !languages.is_empty() {
            more.push(("Accept-Language", languages));
        }
        let head = read_with(&question, &more, &self.limits())?;
        match self.sites().find(&head.host) {
            Some(_) => Ok(head),
            None => Err(format!("no site answers for {}", head.host)),
        }
    }

    /// The road, from the head to the end of the body.
    async fn go_as_stranger(
        self: Arc<Self>,
        mut head: RequestHead,
        scheme: &'static str,
    ) -> TriedOut {
        let until = Instant::now() + PATIENCE;
        let peers = peers(&self, &head, scheme);
        let (before, start) = (self.stored_for(&head, scheme), self.clock.now());
        let phases = Arc::new(Phases::default());
        let mut key = Vec::new();
        let reply = match pipeline::depart(&self, &mut head, false, start, &mut key, peers) {
            Turn::Arrived(reply) => reply,
            Turn::Onward(errand) => {
                let noted = Some((phases.clone(), self.own_trace()));
                let (server, length) = (self.clone(), Length::None);
                let journey =
                    Journey::new(server, &errand, head, key, length, None, peers, None, noted);
                pipeline::travel(journey, errand.hash, errand.task).await
            }
        };
        let head_us = self.clock.now().ticks_us.saturating_sub(start.ticks_us);
        let (verdict, unstored) = (reply.verdict.to_string(), reply.unstored);
        let (status, fields) = (reply.status(), fields_of(&reply));
        let (body, is_whole) = read(reply.payload, until).await;
        let took_us = self.clock.now().ticks_us.saturating_sub(start.ticks_us);
        let each = Phase::ALL.iter().filter_map(|phase| Some((phase.word(), phases.read(*phase)?)));
        let text = |name| fields.first(name).map(lossy).unwrap_or_default();
        TriedOut {
            status,
            verdict,
            unstored: unstored.map_or("", |reason| reason.reason()),
            location: text(Name::Location),
            content_type: text(Name::ContentType),
            head_us,
            took_us,
            phases: each.collect(),
            body_bytes: body.len() as u64,
            is_whole,
            text: lossy(&body[..body.len().min(TEXT_BYTES_MAX)]),
            stored: before.and_then(|page| beside(&page, &body, start.ticks_ms)),
        }
    }

    /// What lies in memory for the stranger who sends this.
    fn stored_for(&self, head: &RequestHead, scheme: &str) -> Option<Arc<Page>> {
        let (sites, mut head) = (self.sites(), head.clone());
        let site = sites.find(&head.host)?;
        let reader: Reader = pipeline::read_visitor(site, &mut head);
        let mut text = Vec::new();
        let ignored = &site.rules().key_ignores_query;
        policy::write_key_without(&mut text, scheme, &head.host, &head.target, ignored);
        let key = Key { hash: pipeline::hash(&text), text: &text };
        pipeline::find(self, site, &head, self.clock.now(), &key, &reader).map(|(page, _)| page)
    }
}

/// Who asks: an address that belongs to nobody, as personas have, so that no right of whoever
/// is on this machine goes with it.
pub(crate) fn peers(server: &Server, head: &RequestHead, scheme: &'static str) -> Peers {
    let sites = server.sites();
    let strangers = sites.find(&head.host).and_then(|site| site.strangers.clone());
    let nobody = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
    let address = strangers.map_or(nobody, |strangers| strangers.persona_address());
    let port = if scheme == "https" { 443 } else { 80 };
    let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    Peers::new(SocketAddr::new(address, 40_000), local, scheme)
}

/// Status and date apart, the fields that it is sent with.
pub(crate) fn fields_of(reply: &Reply) -> Fields {
    match &reply.head {
        Head::Stored { page, .. } => {
            page.as_stored().map(|stored| stored.fields()).unwrap_or_default()
        }
        Head::Ready(head) => head.fields.clone(),
    }
}

/// A body as far as it may be read, and whether that is all of it.
pub(crate) async fn read(payload: Payload, until: Instant) -> (Bytes, bool) {
    let cut = |whole: Bytes| {
        let length = whole.len();
        (whole.slice(..length.min(BODY_BYTES_MAX)), length <= BODY_BYTES_MAX)
    };
    let mut body = match payload {
        Payload::None | Payload::Tunnel(_) => return (Bytes::new(), true),
        // It comes as a stream from who delivers it.
        Payload::Sliced(_) => return (Bytes::new(), false),
        Payload::Whole(whole) => return cut(whole),
        Payload::Parts(parts) => return cut(parts.concat().into()),
        Payload::Stream { body, .. } => body,
        Payload::File(stretch) => stretch.into_body(),
    };
    let mut taken = Vec::new();
    loop {
        let frame = match timeout_at(until, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return (taken.into(), true),
            Ok(Some(Err(_))) | Err(_) => return (taken.into(), false),
        };
        let Ok(data) = frame.into_data() else { continue };
        let room = BODY_BYTES_MAX - taken.len();
        taken.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return (taken.into(), false);
        }
    }
}

fn beside(page: &Page, body: &[u8], ticks_ms: u64) -> Option<Beside> {
    // What lies in slices can't be held against what came.
    let stored = page.as_stored().filter(|stored| stored.object.is_none())?;
    Some(Beside {
        status: stored.status,
        age_seconds: age_seconds(&stored.terms, ticks_ms),
        body_bytes: stored.body.len() as u64,
        difference: difference(&stored.body, body),
    })
}

/// Where the bytes of two bodies first differ.
fn difference(stored: &[u8], answered: &[u8]) -> Option<Difference> {
    if stored == answered {
        return None;
    }
    let same = stored.iter().zip(answered).take_while(|(one, other)| one == other).count();
    let part = |body: &[u8]| {
        let from = same.saturating_sub(BEFORE_BYTES);
        lossy(&body[from..body.len().min(same + AFTER_BYTES)])
    };
    Some(Difference {
        at_byte: same as u64,
        line: memchr::memchr_iter(b'\n', &stored[..same]).count() as u64 + 1,
        stored: part(stored),
        answered: part(answered),
    })
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use base::Clock;
    use origin::{FilesOrigin, Origin};

    use super::*;
    use crate::{ServerConfig, SiteConfig};

    #[test]
    fn the_first_difference_is_told_with_what_stands_around_it() {
        for (stored, answered, expected) in [
            ("same", "same", None),
            ("", "", None),
            ("abc\nd 1 e", "abc\nd 2 e", Some((6, 2, "abc\nd 1 e", "abc\nd 2 e"))),
            ("long", "longer", Some((4, 1, "long", "longer"))),
            ("", "new", Some((0, 1, "", "new"))),
        ] {
            let found = difference(stored.as_bytes(), answered.as_bytes());
            let found = found.as_ref();
            let told = found.map(|it| (it.at_byte, it.line, &*it.stored, &*it.answered));
            assert_eq!(told, expected, "{stored} {answered}");
        }
        let long = "é".repeat(1000);
        let told = difference(long.as_bytes(), &long.as_bytes()[1..]).expect("they differ");
        assert!(told.stored.len() < 4 * (BEFORE_BYTES + AFTER_BYTES));
    }

    fn server(folder: &std::path::Path) -> Arc<Server> {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new(folder)));
        site.hosts = vec!["a.test".into()];
        Server::new(ServerConfig { sites: vec![site], ..ServerConfig::default() }, Clock::manual(0))
    }

    async fn ask(server: &Arc<Server>, url: &str) -> Result<TriedOut, String> {
        server.try_out(TryOut { url: url.into(), ..TryOut::default() }).await
    }

    #[tokio::test]
    async fn a_page_is_asked_for_by_the_road_and_counted_as_no_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("page.html"), "<p>A page</p>").expect("ours");
        let server = server(folder.path());
        let tried = ask(&server, "http://a.test/page.html").await.expect("it is there");
        assert_eq!((tried.status, &*tried.text, tried.is_whole), (200, "<p>A page</p>", true));
        assert_eq!(tried.content_type, "text/html; charset=utf-8");
        assert_eq!(tried.body_bytes, 13);
        assert_eq!(server.counters().answers(), 0, "nobody visited");
        let missing = ask(&server, "http://a.test/none").await.expect("an answer all the same");
        assert_eq!(missing.status, 404);
    }

    #[tokio::test]
    async fn only_what_is_served_is_asked_and_one_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let server = server(folder.path());
        for (url, expected) in [
            ("http://b.test/", "no site answers for b.test"),
            ("file:///etc/passwd", "write the whole address"),
            ("http://a.test/\r\nX: y", "control character"),
            ("http://a@a.test/", "invalid"),
        ] {
            let why = ask(&server, url).await.expect_err("it isn't served");
            assert!(why.contains(expected) || expected == "invalid", "{url}: {why}");
        }
        let _taken = server.try_outs.clone().try_acquire_owned().expect("a place");
        let why = ask(&server, "http://a.test/").await.expect_err("another is under way");
        assert!(why.starts_with("another page"), "{why}");
        assert_eq!(server.counters().try_outs_refused.read(), 1);
    }
}

//! Explaining: what would become of a visitor's request now, and from which facts.
//!
//! In: an address and what the visitor's browser would send along. Out: a chain of
//! [`Line`]s, one fact each, that ends with the verdict. The head is read and the page
//! judged by the same functions as on the road.
//! Invariant: nothing is asked of an origin and nothing changes, but that the page's
//! reading is counted, and that what was purged is let go when it is met.

use base::Now;
use base::amount::show_bytes;
use policy::{
    FailReason, MissReason, OwnReason, PassReason, RefuseReason, Verdict, age_seconds, ttl_ms,
};
use serde::{Deserialize, Serialize};
use store::Key;
use wire::RequestHead;
use wire::h1::{HeadLimits, read_head};

use crate::companion;
use crate::files;
use crate::overrule;
use crate::page::{Kind, Page};
use crate::pipeline::{self, Found, Task};
use crate::purge::generations::Standing;
use crate::site::Site;
use crate::strangers::guests::Reader;
use crate::strangers::tell::tell;
use crate::tls::doorway;
use crate::{Limits, Server};

/// What somebody wants explained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// The whole address, as in `http://example.org/page?id=1`.
    pub url: String,
    /// The `Cookie` field that the visitor sends; empty: none.
    pub cookies: String,
    /// The `User-Agent` field; empty: none.
    pub user_agent: String,
}

/// One fact of an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What it is about, in one word.
    pub topic: &'static str,
    /// The fact, on one line.
    pub text: String,
}

impl Server {
    /// What would become of this request, fact by fact.
    #[must_use]
    pub fn explain(&self, question: &Question) -> Vec<Line> {
        let mut lines = Vec::new();
        let verdict = self.tell(question, &mut lines);
        let meaning = match verdict {
            Verdict::Hit => "served from memory",
            Verdict::Stale(_) => "served from memory, and a newer one is fetched",
            Verdict::Miss(_) => "the origin is asked, and its answer kept if it may be shared",
            Verdict::Pass(_) => "the origin is asked, for this visitor alone",
            Verdict::Synthetic(_) => "answered by Wick itself",
            _ => "not served",
        };
        lines.push(Line { topic: "verdict", text: format!("{verdict}: {meaning}") });
        lines
    }

    /// Tells what is known, up to where the verdict is clear.
    fn tell(&self, question: &Question, lines: &mut Vec<Line>) -> Verdict {
        let mut say = |topic, text| lines.push(Line { topic, text });
        let mut head = match read(question, &self.limits()) {
            Ok(head) => head,
            Err(why) => {
                say("request", why);
                return Verdict::Refused(RefuseReason::BadFraming);
            }
        };
        let sites = self.sites();
        let Some(site) = sites.find(&head.host) else {
            say("site", format!("none answers for {}", head.host));
            return Verdict::Refused(RefuseReason::HostUnknown);
        };
        say("site", site.name.clone());
        site.origin.standing().into_iter().for_each(|server| say("origin", server));
        let now = self.clock.now();
        let bearer = head.clone();
        let reader = pipeline::read_visitor(site, &mut head);
        let scheme = self.scheme_of(&question.url);
        if let Some((topic, text, own)) = self.answered_here(site, &head, scheme) {
            say(topic, text.into());
            return Verdict::Synthetic(own);
        }
        let mut key_text = Vec::new();
        let ignored = &site.rules().key_ignores_query;
        policy::write_key_without(&mut key_text, scheme, &head.host, &head.target, ignored);
        say("key", String::from_utf8_lossy(&key_text).into_owned());
        if !site.caches {
            say("store", "not looked at: caching is off for this site".into());
            return Verdict::Pass(PassReason::Off);
        }
        if let Some(strangers) = &site.strangers {
            tell(strangers, &bearer, &reader, now.ticks_ms, &mut say);
            let ruled = overrule::of_request(self, site, &bearer);
            ruled.into_iter().for_each(|line| say(line.topic, line.text));
        }
        if let Some(following) = &site.following {
            following.tell(now.ticks_ms, &mut say);
            following.scope.tell(&head.host, &head.target, &mut say);
        }
        site.alike.tell(&head.host, &head.target, &mut say);
        let key = Key { hash: pipeline::hash(&key_text), text: &key_text };
        say("store", self.stored(site, &head, &key, now, &reader));
        match pipeline::look(self, site, &site.rules(), &head, now, &key, &reader) {
            Found::Fresh { .. } | Found::Ask(Task::Deliver { .. }) => Verdict::Hit,
            Found::StaleButServable { reason, .. } => Verdict::Stale(reason),
            Found::MustNotAsk => Verdict::Failed(FailReason::OnlyIfCached),
            Found::Ask(Task::Pass(reason)) => Verdict::Pass(reason),
            // A look never comes to that.
            // The store's line says what lies there.
            Found::Ask(Task::Recall(why)) => Verdict::Miss(why),
            Found::Ask(Task::Purge) => Verdict::Synthetic(OwnReason::Purge),
            Found::Ask(Task::Companion(_)) => Verdict::Synthetic(OwnReason::Search),
            Found::Ask(Task::Validate { why, .. }) => Verdict::Miss(why),
            Found::Ask(Task::Remake(_)) => Verdict::Miss(MissReason::Swept),
            Found::Ask(Task::Fill(why)) => {
                if pipeline::is_known_private(self, site, &head, now, &key_text, &reader) {
                    let why = "answers to those with a cookie are known not to be shareable";
                    say("marker", why.into());
                    return Verdict::Pass(PassReason::Remembered);
                }
                if files::answers(self, site, &head, now, &key_text) {
                    say("file", "in memory as it lies in the folder".into());
                    return Verdict::Hit;
                }
                Verdict::Miss(why)
            }
        }
    }
}

impl Server {
    /// What the pages for a question lie under. Who has TLS elsewhere, in a proxy before Wick,
    /// asks for https and comes by HTTP.
    pub(crate) fn scheme_of(&self, url: &str) -> &'static str {
        match self.tls.is_some() && url.starts_with("https://") {
            true => "https",
            false => "http",
        }
    }

    /// What Wick answers by itself, whatever is stored.
    fn answered_here(
        &self,
        site: &Site,
        head: &RequestHead,
        scheme: &str,
    ) -> Option<(&'static str, &'static str, OwnReason)> {
        if scheme == "http" && doorway::redirects(self, head) {
            let text = "visitors of this host are sent to HTTPS: ask for https://…";
            return Some(("redirect", text, OwnReason::Https));
        }
        let text = "not looked at: the site's search answers here";
        companion::of_request(site, head).map(|_| ("store", text, OwnReason::Search))
    }

    /// What lies under a key for such a request.
    fn stored(
        &self,
        site: &Site,
        head: &RequestHead,
        key: &Key<'_>,
        now: Now,
        reader: &Reader,
    ) -> String {
        match pipeline::find(self, site, head, now, key, reader) {
            Some((page, standing)) => {
                let is_current =
                    !page.is_for_strangers() || page.is_current(site, key.hash, reader.content);
                describe(&page, standing, is_current, now)
            }
            None => match self.store.variants(key) {
                0 if self.is_on_disk(key.hash) => {
                    "nothing in memory, something on the disk".to_owned()
                }
                0 => "nothing".to_owned(),
                1 => "one variant, for other browsers, languages or request fields".to_owned(),
                many => {
                    format!("{many} variants, all for other browsers, languages or request fields")
                }
            },
        }
    }
}

fn describe(page: &Page, standing: Standing, is_current: bool, now: Now) -> String {
    let stored = match &page.kind {
        Kind::Stored(stored) => stored,
        Kind::PassUntil { ticks_ms } => {
            return match ticks_ms.saturating_sub(now.ticks_ms) {
                0 => "a marker that has run out".to_owned(),
                left => {
                    format!(
                        "a marker: its answers can't be shared; tried again in {}",
                        show_ms(left)
                    )
                }
            };
        }
    };
    let ttl_ms = ttl_ms(&stored.terms, now.ticks_ms);
    let freshness = match (stored.terms.no_cache, ttl_ms) {
        _ if standing == Standing::Swept || !is_current => {
            "something has changed since it was made".to_owned()
        }
        _ if standing != Standing::Good => "stale since a soft purge".to_owned(),
        (true, _) => "to be validated before each use".to_owned(),
        (false, 1..) => format!("fresh for {} more", show_ms(ttl_ms.unsigned_abs())),
        (false, _) => format!("stale for {}", show_ms(ttl_ms.unsigned_abs())),
    };
    let (status, age) = (stored.status, age_seconds(&stored.terms, now.ticks_ms));
    let mut size = show_bytes(stored.length());
    for coded in stored.coded.made() {
        let bytes = show_bytes(coded.body.len() as u64);
        size.push_str(&format!(", {} {bytes}", coded.coding.as_str()));
    }
    format!("a page ({status}, {size}), {age} s old, {freshness}")
}

/// Seconds, rounded up: nothing that lasts is shown as 0.
fn show_ms(milliseconds: u64) -> String {
    format!("{} s", milliseconds.div_ceil(1000))
}

/// The request's head, read as one that comes from a socket.
fn read(question: &Question, limits: &Limits) -> Result<RequestHead, String> {
    read_with(question, &[], limits)
}

/// The same with other fields besides.
pub(crate) fn read_with(
    question: &Question,
    more: &[(&str, &str)],
    limits: &Limits,
) -> Result<RequestHead, String> {
    let Question { url, cookies, user_agent } = question;
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let rest = rest.ok_or("write the whole address, as in http://example.org/page")?;
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (host, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if target.starts_with('/') { "" } else { "/" };
    let mut text = format!("GET {slash}{target} HTTP/1.1\r\nHost: {host}\r\n");
    let own = [("Cookie", cookies.as_str()), ("User-Agent", user_agent)];
    let fields = || own.iter().chain(more);
    for (name, value) in fields() {
        if !value.is_empty() {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    text.push_str("\r\n");
    // Or a value could bring fields of its own.
    let has_control = |text: &str| text.contains(char::is_control);
    if has_control(url) || fields().any(|(_, value)| has_control(value)) {
        return Err("there is a control character in it".to_owned());
    }
    let limits = HeadLimits {
        head_bytes_max: limits.head_bytes_max,
        target_bytes_max: limits.target_bytes_max,
    };
    let mut head = RequestHead::default();
    match read_head(text.as_bytes(), &mut 0, &mut head, &limits) {
        Ok(Some(_)) => Ok(head),
        Ok(None) => Err("it ends in the middle".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base::Clock;
    use bytes::Bytes;
    use origin::{FilesOrigin, Origin};
    use policy::Terms;
    use transform::Effort;
    use wire::{Coding, Codings, Fields, ResponseHead};

    use super::*;
    use crate::coding::coded::Coded;
    use crate::purge::marks::Marks;
    use crate::{ServerConfig, SiteConfig};

    fn server() -> (Arc<Server>, Clock) {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        site.hosts = vec!["a.test".into()];
        let mut uncached = site.clone();
        uncached.hosts = vec!["off.test".into()];
        (uncached.name, uncached.caches) = ("the other".into(), false);
        let config = ServerConfig { sites: vec![site, uncached], ..ServerConfig::default() };
        let clock = Clock::manual(1_000_000);
        (Server::new(config, clock.clone()), clock)
    }

    fn keep(server: &Server, key: &str, page: Page) {
        let key = Key { hash: pipeline::hash(key.as_bytes()), text: key.as_bytes() };
        server.store.insert(&key, Arc::new(page));
    }

    fn check(server: &Server, url: &str, cookies: &str, expected: &str) {
        let question = Question { url: url.into(), cookies: cookies.into(), ..Question::default() };
        let lines = server.explain(&question);
        let lines: Vec<_> =
            lines.iter().map(|line| format!("{} {}", line.topic, line.text)).collect();
        let found = lines.join("\n");
        assert!(found.contains(expected), "{url} {cookies}: no {expected:?} in\n{found}");
    }

    #[test]
    fn a_request_is_read_as_one_from_a_socket() {
        let (server, _) = server();
        check(&server, "http://A.test", "", "key http|a.test|/\n");
        check(&server, "https://a.test?x=1#y", "", "key http|a.test|/?x=1\n");
        check(&server, "http://a.test/x", "", "site site\nkey http|a.test|/x\nstore nothing\n");
        check(
            &server,
            "http://b.test/",
            "",
            "none answers for b.test\nverdict refused(host-unknown)",
        );
        check(&server, "http://off.test/", "", "site the other\n");
        check(&server, "http://off.test/", "", "verdict pass(caching-off)");
        for (url, cookies) in [
            ("/x", ""),
            ("http://", ""),
            ("http://a.test/a b", ""),
            ("http://a.test/\r\nX: y", ""),
            ("http://a.test/", "a=b\r\nX: y"),
            ("http://a@b.test/", ""),
        ] {
            check(&server, url, cookies, "verdict refused(bad-framing): not served");
        }
    }

    #[test]
    fn what_is_stored_is_told_with_its_age_and_judged_as_on_the_road() {
        let (server, clock) = server();
        let head = ResponseHead { status: 200, fields: Fields::default() };
        let terms = Terms {
            lifetime_ms: 60_000,
            must_revalidate: false,
            no_cache: false,
            ..Terms::expired(clock.now().ticks_ms)
        };
        let page = |terms| {
            let (head, body) = (head.clone(), Bytes::from_static(b"12345"));
            Page::stored(head, b"", body, terms, None, Marks::default(), Codings::ALL)
        };
        keep(&server, "http|a.test|/", page(terms));
        let html = Fields::parse(b"content-type: text/html").expect("valid fields");
        let (head, body) = (ResponseHead { status: 200, fields: html }, vec![b'x'; 600].into());
        let coded = Page::stored(head, b"", body, terms, None, Marks::default(), Codings::ALL);
        for (coding, bytes) in [(Coding::Gzip, "of gzip"), (Coding::Brotli, "of br")] {
            let body = Bytes::from_static(bytes.as_bytes());
            let made = Coded::new(200, Fields::new(), coding, Effort::Quick, body);
            coded.as_stored().expect("a page").coded.put(Arc::new(made));
        }
        keep(&server, "http|a.test|/z", coded);
        keep(&server, "http|a.test|/v", page(Terms { no_cache: true, ..terms }));
        let until = clock.now().ticks_ms + 90_000;
        keep(&server, "http|a.test|/m", Page::pass_until(until, None, Marks::default()));
        keep(
            &server,
            "http|a.test|/c credentials",
            Page::pass_until(until, None, Marks::default()),
        );
        clock.advance_ms(19_500);
        check(
            &server,
            "http://a.test/",
            "",
            "store a page (200, 5 B), 19 s old, fresh for 41 s more",
        );
        check(&server, "http://a.test/", "", "\nverdict hit: served from memory");
        check(&server, "http://a.test/z", "", "store a page (200, 600 B, br 5 B, gzip 7 B), 19 s");
        check(&server, "http://a.test/", "a=b", "\nverdict pass(cookie)");
        check(
            &server,
            "http://a.test/v",
            "",
            "to be validated before each use\nverdict miss(no-cache)",
        );
        check(
            &server,
            "http://a.test/m",
            "",
            "a marker: its answers can't be shared; tried again in 71 s",
        );
        check(&server, "http://a.test/m", "", "\nverdict pass(uncacheable-remembered)");
        check(&server, "http://a.test/c", "", "\nverdict miss(uri-miss)");
        check(&server, "http://a.test/c", "a=b", "\nverdict pass(uncacheable-remembered)");
        clock.advance_ms(100_000);
        check(&server, "http://a.test/", "", "stale for 60 s\nverdict miss(expired)");
        check(&server, "http://a.test/m", "", "a marker that has run out\nverdict miss(uri-miss)");
    }
}

//! A stored page is coded once, kept, weighed, and coded better when it is asked for often.

use base::{Clock, Now};
use bytes::Bytes;
use origin::{FilesOrigin, Origin};
use policy::{Terms, Verdict};
use wire::{Codings, Fields, RequestHead, ResponseHead};

use super::*;
use crate::coding::pick::pick;
use crate::journey::Peers;
use crate::purge::marks::Marks;
use crate::serve_stored::{Shown, reply};
use crate::site::Site;
use crate::{ServerConfig, SiteConfig};

const KEY: &[u8] = b"http|a.test|/";

fn server(memory_bytes: u64) -> (Arc<Server>, Arc<Site>) {
    let site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    let config = ServerConfig { sites: vec![site], memory_bytes, ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    let site = server.sites.load().only().expect("there is one").clone();
    (server, site)
}

/// A page of lines that are alike; it is stored.
fn stored_page(server: &Server, lines: usize) -> Arc<Page> {
    let fields = Fields::parse(b"content-type: text/html").expect("valid fields");
    let text: String = (0..lines).map(|n| format!("<p>line {n} of {lines}</p>\n")).collect();
    let (head, body) = (ResponseHead { status: 200, fields }, Bytes::from(text));
    let (terms, marks) = (Terms::expired(0), Marks::default());
    let page = Arc::new(Page::stored(head, KEY, body, terms, None, marks, Codings::ALL));
    server.store.insert(&Key { hash: pipeline::hash(KEY), text: KEY }, page.clone());
    page
}

fn peers() -> Peers {
    let here = ([127, 0, 0, 1], 80).into();
    Peers::new(here, here, "http")
}

/// Asks for the page; what it comes in, and how much effort that was.
fn ask(
    server: &Arc<Server>,
    site: &Arc<Site>,
    page: &Arc<Page>,
    codings: &str,
) -> Option<(Coding, Effort)> {
    let fields = Fields::parse(format!("accept-encoding: {codings}").as_bytes());
    let head = RequestHead { fields: fields.expect("valid fields"), ..RequestHead::default() };
    let now = Now { ticks_ms: 0, ticks_us: 0, unix_ms: 0 };
    let asked = Asked {
        server,
        site,
        codings: site.rules().codings,
        head: &head,
        key: KEY,
        now,
        peers: peers(),
        within: None,
    };
    page.note_asked(now.ticks_ms);
    let answer = reply(page.clone(), &asked, Shown::found(Verdict::Hit, 1));
    server.counters.count(&answer);
    pick(&asked, page).map(|coded| (coded.coding, coded.effort))
}

/// Lets what is made in the background be made.
async fn settle(server: &Server) {
    drop(server.press.behind.acquire().await.expect("the press is never closed"));
}

#[tokio::test]
async fn a_page_that_is_asked_for_often_is_coded_once_more_with_all_effort() {
    let (server, site) = server(64 << 20);
    let page = stored_page(&server, 1000);
    let plain = server.store.used();
    assert_eq!(ask(&server, &site, &page, "gzip, br"), Some((Coding::Gzip, Effort::Quick)));
    let quick = server.store.used();
    assert!(quick > plain);
    for _ in 0..20 {
        ask(&server, &site, &page, "gzip, br");
    }
    settle(&server).await;
    assert_eq!(ask(&server, &site, &page, "gzip, br"), Some((Coding::Brotli, Effort::Best)));
    assert!(server.store.used() > quick);
    assert_eq!(ask(&server, &site, &page, "zstd;q=0.1"), Some((Coding::Zstd, Effort::Quick)));
    settle(&server).await;
    assert_eq!(ask(&server, &site, &page, "zstd"), Some((Coding::Zstd, Effort::Best)));
    assert_eq!(server.store.reserved(), 0);
    let counts = &server.counters.codings[Coding::Gzip.index()];
    let (before, after) = (counts.before_bytes.read(), counts.after_bytes.read());
    assert!(before > 0 && after > 0 && after < before / 4, "{before} {after}");
    server.store.remove(&Key { hash: pipeline::hash(KEY), text: KEY });
    assert_eq!(server.store.used(), 0, "codings go with their page");
}

#[tokio::test]
async fn a_large_page_is_sent_as_it_is_until_it_was_coded_behind() {
    let (server, site) = server(64 << 20);
    let page = stored_page(&server, 10_000);
    assert_eq!(ask(&server, &site, &page, "br"), None);
    settle(&server).await;
    assert_eq!(ask(&server, &site, &page, "br"), Some((Coding::Brotli, Effort::Quick)));
}

#[tokio::test]
async fn a_page_that_left_the_store_is_not_coded_twice() {
    let (server, site) = server(64 << 20);
    let page = stored_page(&server, 100);
    server.store.remove(&Key { hash: pipeline::hash(KEY), text: KEY });
    let fields = Fields::parse(b"accept-encoding: gzip").expect("valid fields");
    let head = RequestHead { fields, ..RequestHead::default() };
    let now = Now { ticks_ms: 0, ticks_us: 0, unix_ms: 0 };
    let asked = Asked {
        server: &server,
        site: &site,
        codings: site.rules().codings,
        head: &head,
        key: KEY,
        now,
        peers: peers(),
        within: None,
    };
    assert!(pick(&asked, &page).is_some(), "it was made, so it is sent");
    assert!(pick(&asked, &page).is_none());
    assert_eq!(server.store.used(), 0);
}

#[tokio::test]
async fn where_there_is_little_memory_nothing_is_coded_with_all_effort() {
    let (server, site) = server(1 << 20);
    let page = stored_page(&server, 1000);
    for _ in 0..50 {
        assert_eq!(ask(&server, &site, &page, "gzip"), Some((Coding::Gzip, Effort::Quick)));
        settle(&server).await;
    }
    assert_eq!(server.counters.codings_put_off.read(), 1);
}

//! A page that was found before a write, and is refreshed after it: it stands in for nobody
//! who asks then, though they wait for that refresh.

use std::io;
use std::sync::Arc;

use base::Clock;
use bytes::Bytes;
use origin::{Dial, HttpOptions, HttpOrigin, Origin};
use policy::purge::Mode;
use policy::{Terms, Verdict};
use store::Key;
use tokio::sync::Notify;
use wire::h1::Length;
use wire::{Codings, Fields, RequestHead, ResponseHead};

use super::refresh_behind;
use crate::journey::{Journey, Peers};
use crate::page::Page;
use crate::pipeline::{self, Turn};
use crate::purge::marks::Marks;
use crate::site::Site;
use crate::{Server, ServerConfig, SiteConfig, carry};

const KEY: &[u8] = b"http|a.test|/";

/// A site whose origin can't be reached, which it says when `word` is given.
fn server(word: &Arc<Notify>) -> Arc<Server> {
    let word = word.clone();
    let dial = Dial::Memory(Arc::new(move || {
        let word = word.clone();
        Box::pin(async move {
            word.notified().await;
            Err(io::ErrorKind::ConnectionRefused.into())
        })
    }));
    let site = SiteConfig::new(Origin::Http(HttpOrigin::new(dial, HttpOptions::default())));
    let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    server.clock.advance_ms(10_000);
    server
}

/// Stale for nine seconds, to be asked about, and good for a minute of an origin's trouble.
fn stale_page(server: &Server) -> Arc<Page> {
    let site = server.sites().only().expect("there is one").clone();
    let terms = Terms {
        lifetime_ms: 1000,
        stale_if_error_seconds: Some(60),
        must_revalidate: false,
        no_cache: false,
        ..Terms::expired(0)
    };
    let marks = Marks::of(site.generations.moment(), "a.test", &Fields::new());
    let head = ResponseHead { status: 200, fields: Fields::new() };
    let body = Bytes::from_static(b"before the write");
    let page = Arc::new(Page::stored(head, KEY, body, terms, None, marks, Codings::NONE));
    let key = Key { hash: pipeline::hash(KEY), text: KEY };
    assert!(carry::insert(server, &site, &key, page.clone(), site.generations.moment()));
    page
}

/// What a visitor is told who asks when this was done between finding a stale page and its
/// refresh, which fails.
async fn told_after(is_done: impl FnOnce(&Server, &Site, &Key<'_>)) -> Verdict {
    let word = Arc::new(Notify::new());
    let server = server(&word);
    let site = server.sites().only().expect("there is one").clone();
    let page = stale_page(&server);
    let peers = Peers::new(([192, 0, 2, 1], 50_000).into(), ([198, 51, 100, 1], 80).into(), "http");
    let head = RequestHead { host: "a.test".into(), target: "/".into(), ..RequestHead::default() };
    let (hash, now) = (pipeline::hash(KEY), server.clock.now());
    is_done(&server, &site, &Key { hash, text: KEY });
    refresh_behind(&server, &site, &head, KEY, hash, &page, peers);
    while server.flights.is_empty() {
        tokio::task::yield_now().await;
    }
    let mut text = Vec::new();
    let mut asks = head.clone();
    let turn = pipeline::set_off(&server, &site, &mut asks, false, now, &mut text, peers, None);
    assert_eq!(text, KEY);
    let errand = match turn {
        Turn::Onward(errand) => errand,
        Turn::Arrived(reply) => return reply.verdict,
    };
    let journey =
        Journey::new(server.clone(), &errand, asks, text, Length::None, None, peers, None, None);
    let visit = tokio::spawn(pipeline::travel(journey, errand.hash, errand.task));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.flights.len(), 1, "the visitor waits with the refresh");
    // Who is left of them may ask once more.
    while !visit.is_finished() {
        word.notify_waiters();
        tokio::task::yield_now().await;
    }
    visit.await.expect("nothing panics").verdict
}

#[tokio::test]
async fn what_was_taken_away_is_not_given_to_who_waits_for_an_older_look() {
    let write = |server: &Server, site: &Site, key: &Key<'_>| {
        site.generations.note_write();
        server.store.remove(key);
    };
    let verdict = told_after(write).await;
    assert!(!matches!(verdict, Verdict::Stale(_)), "after a write: {verdict}");
    let purge = |_: &Server, site: &Site, _: &Key<'_>| site.generations.purge_all(Mode::Hard);
    let verdict = told_after(purge).await;
    assert!(!matches!(verdict, Verdict::Stale(_)), "after a purge: {verdict}");
    let verdict = told_after(|_, _, _| {}).await;
    assert!(matches!(verdict, Verdict::Stale(_)), "with nothing done: {verdict}");
}

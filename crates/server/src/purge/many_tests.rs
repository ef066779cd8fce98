//! Many tagged pages: a purge takes just those that it names, and touches none of the others.
//! What it costs among a million is measured by `bench/purge`.

use base::Clock;
use bytes::Bytes;
use origin::{FilesOrigin, Origin};
use policy::Terms;
use policy::purge::split_address;
use wire::{Codings, Fields, RequestHead, ResponseHead};

use super::generations::Standing;
use super::marks::Marks;
use super::order::PurgeOrder;
use super::*;
use crate::page::Page;
use crate::strangers::guests::Reader;
use crate::{ServerConfig, SiteConfig, carry};

const PAGES: usize = 2_000;

/// Whether a purge means the page of this number.
type IsMeant = fn(usize) -> bool;

fn url(page: usize) -> String {
    format!("http://{}.test/{page}.html", page % 2)
}

/// Whether a page is still there as good as new.
fn is_good(server: &Server, site: &Site, page: usize) -> bool {
    let (host, target) = split_address(&url(page)).expect("an address");
    let text = format!("http|{host}|{target}");
    let key = Key { hash: pipeline::hash(text.as_bytes()), text: text.as_bytes() };
    let head = RequestHead { host, target, ..RequestHead::default() };
    let reader = Reader::of(site, &head.fields, &head.host);
    let found = pipeline::find(server, site, &head, server.clock.now(), &key, &reader);
    matches!(found, Some((_, Standing::Good)))
}

fn filled() -> Arc<Server> {
    let site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    let site = server.sites().only().expect("one site").clone();
    for page in 0..PAGES {
        let groups = (2..11).map(|group| format!(" group-{group}-{}", page % group));
        let tags = format!("xkey: page-{page}{}", groups.collect::<String>());
        let fields = Fields::parse(tags.as_bytes()).expect("a field");
        let (host, target) = split_address(&url(page)).expect("an address");
        let began = site.generations.moment();
        let marks = Marks::of(began, &host, &fields);
        let head = ResponseHead { status: 200, fields };
        let made = Page::stored(
            head.clone(),
            b"",
            Bytes::new(),
            Terms::expired(0),
            None,
            marks,
            Codings::NONE,
        );
        let text = format!("http|{host}|{target}");
        let key = Key { hash: pipeline::hash(text.as_bytes()), text: text.as_bytes() };
        carry::insert(&server, &site, &key, Arc::new(made), began);
    }
    server
}

#[test]
fn a_purge_takes_just_the_pages_that_it_names() {
    let texts = |text: &str| vec![text.to_owned()];
    let order = PurgeOrder::default;
    let cases: [(PurgeOrder, IsMeant); 6] = [
        (PurgeOrder { tags: texts("page-77"), ..order() }, |page| page == 77),
        (PurgeOrder { tags: texts("group-7-3"), ..order() }, |page| page % 7 == 3),
        (PurgeOrder { tags: texts("group-7-3"), soft: true, ..order() }, |page| page % 7 == 3),
        (PurgeOrder { hosts: texts("1.test"), ..order() }, |page| page % 2 == 1),
        (PurgeOrder { urls: texts(&url(5)), ..order() }, |page| page == 5),
        (PurgeOrder { all: true, ..order() }, |_| true),
    ];
    for (order, is_meant) in cases {
        let server = filled();
        let site = server.sites().only().expect("one site").clone();
        let stored = server.store.len();
        assert_eq!(stored, PAGES);
        server.purge(&order).expect("a good order");
        if order.urls.is_empty() {
            assert_eq!(server.store.len(), stored, "no page is visited: {order:?}");
        }
        for page in 0..PAGES {
            assert_eq!(is_good(&server, &site, page), !is_meant(page), "{page}: {order:?}");
        }
        let gone = if order.soft { 0 } else { (0..PAGES).filter(|&page| is_meant(page)).count() };
        assert_eq!(server.store.len(), stored - gone, "what is gone leaves when it is met");
    }
}

//! Pages that the search of one node has found, for the searches of the others: addresses alone.
//!
//! Each node has an index of its own, of what it has read itself. Whoever hears of an address asks
//! for it as a stranger, and takes in what a stranger is given, so nothing private crosses.
//! Bounds: [`ADDRESS_BYTES_MAX`], and [`FOUND_MAX`] at once; how many are told is the teller's
//! affair.

use super::learned::LearnedTold;
use crate::Server;
use crate::companion::{Notice, Noticed};
use crate::site::Site;

/// The longest address that is told.
const ADDRESS_BYTES_MAX: usize = 2048;
/// Addresses that are heard at once.
const FOUND_MAX: usize = 64;

impl Server {
    /// Tells the other nodes that a search has this page now; false if nobody is told.
    pub fn tell_found(&self, scheme: &str, host: &str, target: &str) -> bool {
        if self.fellowship.is_none() {
            return false;
        }
        let Some(site) = self.sites().find(host).cloned() else { return false };
        let address = format!("{scheme}://{host}{target}");
        if address.len() > ADDRESS_BYTES_MAX {
            return false;
        }
        self.tell_learned_of(&site, LearnedTold::found(vec![address]));
        true
    }

    /// Whether there are other nodes to be told.
    #[must_use]
    pub fn has_fellows(&self) -> bool {
        self.fellowship.is_some()
    }

    pub(super) fn hear_found(&self, site: &Site, found: &[String]) {
        let Some(companion) = site.companion() else { return };
        for address in found.iter().take(FOUND_MAX) {
            let Some((scheme, rest)) = address.split_once("://") else { continue };
            let Some(at) = rest.find('/') else { continue };
            let (host, target) = rest.split_at(at);
            let is_its =
                self.sites().find(host).is_some_and(|own| std::ptr::eq(&raw const **own, site));
            if is_its && address.len() <= ADDRESS_BYTES_MAX {
                companion.notice(Notice { scheme, host, target, what: Noticed::Found });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock, Weak};

    use parking_lot::Mutex;
    use store::Key;

    use super::*;
    use crate::companion::{Companion, CompanionAsked, CompanionFuture};
    use crate::fellows::tests::node_beside;
    use crate::page::Page;
    use crate::purge::generations::Moment;
    use crate::purge::marks::Marks;

    const SITES: &[(&str, &[&str])] = &[("one", &["a.test"]), ("two", &["b.test"])];

    #[derive(Default)]
    struct Search(Mutex<Vec<String>>, OnceLock<Weak<Server>>);

    impl Search {
        /// Whether a page is in memory by either scheme when something is told of it.
        fn finds(&self, host: &str, target: &str) -> bool {
            let server = self.1.get().and_then(Weak::upgrade);
            server.is_some_and(|server| {
                policy::SCHEMES.into_iter().any(|scheme| {
                    let text = key(scheme, host, target);
                    let hash = crate::pipeline::hash(&text);
                    server.store.has(&Key { hash, text: &text }, |_| true)
                })
            })
        }
    }

    fn key(scheme: &str, host: &str, target: &str) -> Vec<u8> {
        let mut text = Vec::new();
        policy::write_key_without(&mut text, scheme, host, target, &[]);
        text
    }

    impl Companion for Search {
        fn answers(&self, _: &str) -> bool {
            false
        }

        fn answer(self: Arc<Self>, _: CompanionAsked) -> CompanionFuture {
            Box::pin(std::future::pending())
        }

        fn notice(&self, notice: Notice<'_>) {
            let Notice { scheme, host, target, what } = notice;
            let told = match what {
                Noticed::Found => format!("{scheme} {host} {target}"),
                Noticed::Written => format!("written: {host} {target}"),
                Noticed::Doubted => format!("doubted: {host} {target}"),
                _ => return,
            };
            let is_there = if self.finds(host, target) { " (still there)" } else { "" };
            self.0.lock().push(told + is_there);
        }
    }

    #[test]
    fn what_one_search_found_the_others_hear_of_by_its_address() {
        let search = Arc::<Search>::default();
        let (first, told) = node_beside(SITES, Some(search.clone()));
        assert!(first.tell_found("http", "a.test:8080", "/topic/1?page=2"));
        let news = std::mem::take(&mut *told.0.lock());
        assert_eq!(news.len(), 1);
        assert!(news[0].contains(r#""found":["http://a.test:8080/topic/1?page=2"]"#), "{news:?}");
        assert!(!first.tell_found("http", "a.test", &format!("/{}", "x".repeat(3000))));
        assert!(!first.tell_found("http", "elsewhere.test", "/"));
        first.hear(&news[0]);
        let forged =
            r#"{"hosts":["a.test"],"learned":{"found":["http://b.test/","x","http://c"]}}"#;
        first.hear(forged);
        assert_eq!(*search.0.lock(), ["http a.test:8080 /topic/1?page=2"]);
    }

    #[test]
    fn what_was_written_to_is_told_once_and_not_as_a_doubt_of_each_scheme() {
        let search = Arc::<Search>::default();
        let (server, _told) = node_beside(SITES, Some(search.clone()));
        let site = server.sites().find("a.test").expect("it serves it").clone();
        search.1.set(Arc::downgrade(&server)).expect("once");
        let targets = ["/send".to_owned(), "/topic/1".to_owned()];
        let put = |scheme| {
            let text = key(scheme, "a.test", "/topic/1");
            let key = Key { hash: crate::pipeline::hash(&text), text: &text };
            let marks = Marks::of(Moment::default(), "a.test", &wire::Fields::new());
            server.store.insert(&key, Arc::new(Page::pass_until(u64::MAX, None, marks)));
        };
        policy::SCHEMES.into_iter().for_each(put);
        assert!(search.finds("a.test", "/topic/1"));
        crate::fetch::sweep_targets(&server, &site, "POST", "/send", "a.test", &targets);
        assert_eq!(*search.0.lock(), ["written: a.test /send", "written: a.test /topic/1"]);
    }
}

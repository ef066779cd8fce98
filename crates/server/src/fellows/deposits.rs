//! Deposits: what strangers were given here, laid down for the node that they write to.
//!
//! A copy that strangers may write from lies under its mark, and each value by which a write from
//! it is recognised leads to that mark. Who is sent values that nobody here knows looks for them,
//! and goes on as with a copy of its own: whichever node showed the page, and though it is gone.
//! Whoever carries what is laid down sees to it that only nodes of the cluster can read or make
//! it.
//! Bounds: [`VALUES_MAX`] values of a copy lead to it, and [`LOOKED_FOR_MAX`] of a request are
//! looked for.
//! Invariant: nothing that is found is ever shown to anybody: a copy is only compared.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use align::Request;
use futures_util::future::join_all;
use http::Method;
use wire::{Fields, RequestHead};

use super::learned::LearnedTold;
use super::news::Told;
use crate::Server;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::copies::{Copy, tokens_of};
use crate::strangers::holders::{Bound, Mark, SessionTold};

/// A page with more different tokens is recognised elsewhere by the first ones alone.
const VALUES_MAX: usize = 64;
/// A request has as many that look like tokens, and comes from so many copies.
const LOOKED_FOR_MAX: usize = 16;
const COPIES_MAX: usize = 3;
/// A session that would take more to tell isn't told of.
const SESSION_BYTES_MAX: usize = 32 << 10;

/// Where things lie that other nodes may need when this one is gone.
pub trait Deposits: Send + Sync {
    /// Lays this down under a name, for whichever node looks for it within a day. It never
    /// waits, and may be lost.
    fn lay_down(&self, name: &[u8], content: &[u8]);

    /// Closes what only nodes of this cluster may read; none where that isn't possible.
    fn seal(&self, content: &[u8]) -> Option<String>;

    /// Opens what one of them closed within the last hour; none if none did.
    fn open(&self, sealed: &str) -> Option<Vec<u8>>;

    /// What a node of this cluster laid down last under this name; none where that can't be told
    /// in a second.
    fn find<'a>(
        &'a self,
        name: &'a [u8],
    ) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + 'a>>;
}

impl Server {
    fn deposits(&self, site: &Site) -> Option<&dyn Deposits> {
        self.fellowship.as_ref().filter(|_| !site.is_elsewhere)?.deposits.as_deref()
    }

    /// Lays down a copy that somebody may write from elsewhere; `late` are values by which it is
    /// recognised and that weren't known when it was kept.
    pub(crate) fn lay_down_copy(&self, site: &Site, copy: &Copy, late: &[Vec<u8>]) {
        let Some(deposits) = self.deposits(site) else { return };
        let known = copy.known.iter().map(|value| &**value).chain(late.iter().map(Vec::as_slice));
        let values: Vec<_> =
            known.filter(|value| align::is_strong(value)).take(VALUES_MAX).collect();
        if values.is_empty() {
            return;
        }
        let mark = copy.mark();
        deposits.lay_down(&copy_name(&copy.host, mark), &copy.to_note_with(late));
        for value in values {
            deposits.lay_down(&value_name(&copy.host, value), &mark);
        }
    }

    /// The copies of other nodes that a request's values come from; they are kept here then.
    pub(crate) async fn laid_down(
        &self,
        site: &Site,
        head: &RequestHead,
        body: &[u8],
    ) -> Vec<Arc<Copy>> {
        let (Some(deposits), Some(strangers)) = (self.deposits(site), &site.strangers) else {
            return Vec::new();
        };
        let nothing = Fields::new();
        let is_safe = matches!(head.method, Method::GET | Method::HEAD);
        let fields = if is_safe { &nothing } else { &head.fields };
        let request = Request { target: head.target.as_bytes(), fields, body };
        // A body that is too long has none.
        let mut values = tokens_of(&request).unwrap_or_default();
        values.sort_unstable();
        values.dedup();
        values.truncate(LOOKED_FOR_MAX);
        let names = values.iter().map(|value| value_name(&head.host, value));
        let names: Vec<_> = names.collect();
        let found = join_all(names.iter().map(|name| deposits.find(name))).await;
        let mut marks: Vec<Mark> =
            found.into_iter().flatten().filter_map(|mark| mark.try_into().ok()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks.truncate(COPIES_MAX);
        self.laid_down_as(site, strangers, &head.host, &marks).await
    }

    /// The copies with these marks, as far as they are found; they are kept here then.
    async fn laid_down_as(
        &self,
        site: &Site,
        strangers: &Strangers,
        host: &str,
        marks: &[Mark],
    ) -> Vec<Arc<Copy>> {
        let Some(deposits) = self.deposits(site) else { return Vec::new() };
        let taken = marks.iter().map(|mark| take(deposits, strangers, host, *mark));
        join_all(taken).await.into_iter().flatten().collect()
    }

    /// Tells the other nodes of a session that began, went on under another value, or has less
    /// open than before.
    pub(crate) fn tell_session(&self, site: &Site, bound: &Bound) {
        let Some(deposits) = self.deposits(site) else { return };
        // Numbers and lists of them: nothing that JSON lacks.
        let told = serde_json::to_vec(&bound.told()).unwrap_or_default();
        if told.len() <= SESSION_BYTES_MAX
            && let Some(sealed) = deposits.seal(&told)
        {
            self.tell_fellows(site, || vec![Told::Learned(LearnedTold::of_session(sealed))]);
        }
    }

    /// Another node tells of a session.
    pub(super) fn hear_session(&self, site: &Site, sealed: &str) {
        let (Some(deposits), Some(strangers)) = (self.deposits(site), &site.strangers) else {
            return;
        };
        let told = deposits.open(sealed);
        if let Some(told) = told.and_then(|told| serde_json::from_slice::<SessionTold>(&told).ok())
        {
            strangers.holders.hear(told, self.clock.now().ticks_ms);
        }
    }

    /// Fetches what a session was bound with on other nodes and isn't here.
    pub(crate) async fn fetch_bound(
        &self,
        site: &Site,
        strangers: &Strangers,
        host: &str,
        bound: &Bound,
    ) {
        let marks = bound.elsewhere();
        if !marks.is_empty() {
            bound.note_here(self.laid_down_as(site, strangers, host, &marks).await);
        }
    }
}

/// Keeps the copy with this mark, if it is found.
async fn take(
    deposits: &dyn Deposits,
    strangers: &Strangers,
    host: &str,
    mark: Mark,
) -> Option<Arc<Copy>> {
    let note = deposits.find(&copy_name(host, mark)).await?;
    let mut copy = Copy::from_note(&note).filter(|copy| copy.host == host)?;
    // Its number is this node's to give.
    copy.id = 0;
    strangers.copies.with_id(strangers.copies.keep_again(copy))
}

fn value_name(host: &str, value: &[u8]) -> Vec<u8> {
    [b"value\0", host.as_bytes(), b"\0", value].concat()
}

fn copy_name(host: &str, mark: Mark) -> Vec<u8> {
    [b"copy\0", host.as_bytes(), b"\0", &mark].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use origin::{FilesOrigin, Origin};
    use parking_lot::Mutex;

    use super::*;
    use crate::fellows::{Fellows, Fellowship};
    use crate::strangers::copies::NewCopy;
    use crate::{ServerConfig, SiteConfig, StrangerRules};

    /// A shelf that all nodes of a test share.
    #[derive(Default)]
    struct Shelf(Mutex<HashMap<Vec<u8>, Vec<u8>>>);

    impl Deposits for Shelf {
        fn lay_down(&self, name: &[u8], content: &[u8]) {
            self.0.lock().insert(name.to_vec(), content.to_vec());
        }

        fn seal(&self, content: &[u8]) -> Option<String> {
            Some(format!("sealed {}", String::from_utf8_lossy(content)))
        }

        fn open(&self, sealed: &str) -> Option<Vec<u8>> {
            Some(sealed.strip_prefix("sealed ")?.as_bytes().to_vec())
        }

        fn find<'a>(
            &'a self,
            name: &'a [u8],
        ) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + 'a>> {
            let found = self.0.lock().get(name).cloned();
            Box::pin(std::future::ready(found))
        }
    }

    struct Alone;

    impl Fellows for Alone {
        fn tell(&self, _news: String) {}

        fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::ready(()))
        }
    }

    fn node(shelf: Option<Arc<Shelf>>) -> (Arc<Server>, Arc<Site>) {
        let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
        site.strangers = Some(StrangerRules::default());
        let fellowship = Fellowship {
            fellows: Arc::new(Alone),
            heard_until: Arc::default(),
            lag: std::time::Duration::from_secs(1),
            shield: None,
            deposits: shelf.map(|shelf| shelf as Arc<dyn Deposits>),
        };
        let (sites, fellowship) = (vec![site], Some(fellowship));
        let config = ServerConfig { sites, fellowship, ..ServerConfig::default() };
        let server = Server::new(config, base::Clock::manual(0));
        let site = server.sites().each().into_iter().next().cloned().expect("there is one");
        (server, site)
    }

    fn lay_down((server, site): &(Arc<Server>, Arc<Site>), target: &str, known: &[&str]) {
        let body = format!("<p>{target} {known:?}");
        let new = NewCopy {
            host: "a.test",
            target,
            request: Fields::new(),
            fields: &Fields::parse(b"content-type: text/html").expect("valid"),
            body: body.as_bytes(),
            known: vec![known[0].as_bytes().to_vec()],
            tells_time: false,
            is_settled: true,
            is_part: false,
        };
        let strangers = site.strangers.as_ref().expect("there are");
        let copy = strangers.copies.keep(Copy::new(new));
        let late: Vec<_> = known[1..].iter().map(|value| value.as_bytes().to_vec()).collect();
        server.lay_down_copy(site, &copy, &late);
    }

    async fn found(
        (server, site): &(Arc<Server>, Arc<Site>),
        host: &str,
        body: &str,
    ) -> Vec<String> {
        let fields = Fields::parse(b"content-type: application/x-www-form-urlencoded");
        let head = RequestHead {
            method: Method::POST,
            target: "/comment".to_owned(),
            host: host.to_owned(),
            version: wire::Version::Http11,
            fields: fields.expect("valid"),
        };
        let copies = server.laid_down(site, &head, body.as_bytes()).await;
        let mut targets: Vec<_> = copies.iter().map(|copy| copy.target.clone()).collect();
        targets.sort_unstable();
        targets
    }

    #[tokio::test]
    async fn a_copy_of_one_node_is_found_by_another_by_each_of_its_values() {
        let shelf = Arc::<Shelf>::default();
        let (first, second) = (node(Some(shelf.clone())), node(Some(shelf.clone())));
        lay_down(&first, "/one", &["9f86d081884c7d65", "60303ae22b998861"]);
        lay_down(&first, "/two", &["a3f1c7d2e9b40417"]);
        for (host, body, expected) in [
            ("a.test", "token=9f86d081884c7d65&text=x", &["/one"][..]),
            ("a.test", "token=60303ae22b998861&text=x", &["/one"]),
            ("a.test", "a=60303ae22b998861&b=a3f1c7d2e9b40417", &["/one", "/two"]),
            ("a.test", "token=0000aaaa1111bbbb&text=x", &[]),
            ("a.test", "text=9f86", &[]),
            ("b.test", "token=9f86d081884c7d65&text=x", &[]),
        ] {
            assert_eq!(found(&second, host, body).await, expected, "{host} {body}");
        }
        let strangers = second.1.strangers.as_ref().expect("there are");
        assert_eq!(strangers.copies.size().0, 2, "each is kept once, and known from then on");
        let alone = node(None);
        lay_down(&alone, "/one", &["9f86d081884c7d65"]);
        assert!(found(&alone, "a.test", "token=9f86d081884c7d65").await.is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_read_or_is_of_another_host_is_no_copy() {
        let shelf = Arc::<Shelf>::default();
        let (first, second) = (node(Some(shelf.clone())), node(Some(shelf.clone())));
        let value = "9f86d081884c7d65";
        lay_down(&first, "/one", &[value]);
        let whole = shelf.0.lock().clone();
        for (name, content) in &whole {
            for end in 0..content.len() {
                shelf.0.lock().insert(name.clone(), content[..end].to_vec());
                assert!(found(&second, "a.test", &format!("t={value}")).await.len() < 2);
            }
            shelf.0.lock().insert(name.clone(), content.clone());
        }
        let mark: Mark =
            whole[&value_name("a.test", value.as_bytes())].clone().try_into().expect("a mark");
        let copy = whole[&copy_name("a.test", mark)].clone();
        shelf.lay_down(&value_name("b.test", value.as_bytes()), &mark);
        shelf.lay_down(&copy_name("b.test", mark), &copy);
        assert!(found(&second, "b.test", &format!("t={value}")).await.is_empty());
    }

    #[test]
    fn a_page_of_many_values_lays_down_so_many() {
        let shelf = Arc::<Shelf>::default();
        let values: Vec<_> = (0..1000).map(|at| format!("9f86d081884c{at:04}")).collect();
        let values: Vec<_> = values.iter().map(String::as_str).collect();
        lay_down(&node(Some(shelf.clone())), "/many", &values);
        assert_eq!(shelf.0.lock().len(), 1 + VALUES_MAX);
        lay_down(&node(Some(shelf.clone())), "/none", &["short"]);
        assert_eq!(shelf.0.lock().len(), 1 + VALUES_MAX, "nobody could find it");
    }
}

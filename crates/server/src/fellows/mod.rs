//! Fellows: the other nodes of a cluster, as the road sees them.
//!
//! What makes pages old here is told to them: purges, and writes that came through this node.
//! What they tell makes pages old here. Nobody is asked: a node is *in touch* as long as it
//! has heard all that was told a lag limit ago, which is one number to compare the clock with.
//! Invariants: 1. out of touch nothing is served as fresh that was made longer than a lag limit
//! ago. 2. a write's answer, and a purge's, leaves when what it made old is told, or nobody in
//! touch relies on this node any more. 3. what can't be understood makes all of a site old.
//! Start at [`Server::hear`].

mod deposits;
mod found;
mod learned;
mod news;
mod rates;
pub(crate) mod reading;
pub(crate) mod refusals;
mod sessions;
mod shield;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use policy::purge::{Mode, Purge};
use wire::RequestHead;

pub use self::deposits::{Deposits, Looked, Looking, Untold};
use self::news::{News, Told};
pub use self::reading::{Beginning, Calm, Reading, Traffic, Word};
pub(crate) use self::shield::ask::ask;
#[doc(hidden)]
pub use self::shield::page_in_parcel;
pub use self::shield::{FellowRequest, Shield};
use crate::Server;
use crate::fetch;
use crate::page::Page;
use crate::site::Site;

/// What carries news to the other nodes.
pub trait Fellows: Send + Sync {
    /// Tells all of them, some time soon and in this order.
    fn tell(&self, news: String);
    /// Is over when all that was told before is where nobody in touch can miss it, or nobody
    /// relies on this node any more.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
    /// How sources are read by one node for all; none: each node reads for itself.
    fn reading(&self) -> Option<Arc<dyn Reading>> {
        None
    }
    /// Who may be asked for pages at this moment.
    fn roll(&self) -> Roll {
        Roll::default()
    }
    /// Is over when this node has obeyed all that was told up to there.
    fn obeyed(&self, _place: Place) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(std::future::pending())
    }
}

/// A place in all that nodes tell each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Which stream of news it is.
    pub stream: u64,
    /// How many came before.
    pub sequence: u64,
}

/// Who there is to be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roll {
    /// This node's own name; none: it has a share of nothing.
    pub own: Option<String>,
    /// The others that may be asked, and where.
    pub others: Vec<(String, SocketAddr)>,
    /// Up to where this node has heard at the most; none: something that it told isn't there yet,
    /// so nobody else can know all that it knows.
    pub heard: Option<Place>,
}

/// A server's place among others.
#[derive(Clone)]
pub struct Fellowship {
    /// The way to them.
    pub fellows: Arc<dyn Fellows>,
    /// Until which tick of the server's clock this node is in touch.
    pub heard_until: Arc<AtomicU64>,
    /// For how long it may go on without hearing anything.
    pub lag: Duration,
    /// By what it asks others for pages, and is asked; none: it doesn't, and isn't.
    pub shield: Option<Arc<Shield>>,
    /// Where it lays down what strangers were given, for the node that they write to; none:
    /// nowhere.
    pub deposits: Option<Arc<dyn Deposits>>,
}

impl Fellowship {
    fn is_in_touch(&self, ticks_ms: u64) -> bool {
        ticks_ms < self.heard_until.load(Ordering::Relaxed)
    }
}

impl Server {
    /// Whether a page may be served as fresh as far as other nodes are concerned.
    pub(crate) fn may_trust(&self, page: &Page, ticks_ms: u64) -> bool {
        let Some(fellowship) = &self.fellowship else { return true };
        fellowship.is_in_touch(ticks_ms) || is_young(page, ticks_ms, fellowship.lag)
    }

    /// The same of what bears no date.
    pub(crate) fn is_in_touch(&self, ticks_ms: u64) -> bool {
        self.fellowship.as_ref().is_none_or(|fellowship| fellowship.is_in_touch(ticks_ms))
    }

    /// Out of touch, in which stretch of time: each is as long as the lag limit, so who comes in
    /// the same one may be given what was asked for in it.
    pub(crate) fn stretch_out_of_touch(&self, ticks_ms: u64) -> Option<u64> {
        let fellowship = self.fellowship.as_ref()?;
        let lag_ms = u64::try_from(fellowship.lag.as_millis()).unwrap_or(u64::MAX).max(1);
        (!fellowship.is_in_touch(ticks_ms)).then_some(ticks_ms / lag_ms)
    }

    /// Whether pages of this node may be handed to others.
    pub(crate) fn hands_on(&self) -> bool {
        self.fellowship.as_ref().is_some_and(|fellowship| fellowship.shield.is_some())
    }

    /// Tells the other nodes what was purged here; `host` is none for all of the site's.
    pub(crate) fn tell_purged(&self, site: &Site, purges: &[(Option<&str>, &Purge)]) {
        let purged = |(host, purge): &(Option<&str>, &Purge)| Told::purged(*host, purge);
        self.tell_fellows(site, || purges.iter().map(purged).collect());
    }

    /// Tells them of a write that came through here.
    pub(crate) fn tell_written(&self, site: &Site, head: &RequestHead, targets: &[String]) {
        self.tell_fellows(site, || vec![Told::written(head, targets)]);
    }

    /// Tells them that a page was found changed here though nobody told of a change.
    pub(crate) fn tell_changed(&self, site: &Site) {
        self.tell_fellows(site, || vec![Told::Changed(true)]);
    }

    fn tell_fellows(&self, site: &Site, what: impl FnOnce() -> Vec<Told>) {
        let Some(fellowship) = self.fellowship.as_ref().filter(|_| !site.is_elsewhere) else {
            return;
        };
        let hosts = self.sites().hosts_of(site);
        for told in what() {
            fellowship.fellows.tell(News { hosts: hosts.clone(), told }.write());
        }
    }

    /// Waits until an answer may leave that says that something was made old.
    pub(crate) async fn settled_with_fellows(&self) {
        if let Some(fellowship) = &self.fellowship {
            fellowship.fellows.settled().await;
        }
    }

    /// How a site's sources are read for all nodes, and by which host they know it.
    pub(crate) fn shared_reading(&self, site: &Site) -> Option<(Arc<dyn Reading>, String)> {
        let fellowship = self.fellowship.as_ref().filter(|_| !site.is_elsewhere)?;
        let hosts = self.sites().hosts_of(site);
        let host = hosts.into_iter().next().unwrap_or_else(|| "any-host".to_owned());
        Some((fellowship.fellows.reading()?, host))
    }

    /// Another node tells this. Its sites may have other names and origins: hosts say which
    /// they are.
    pub fn hear(&self, text: &str) {
        let Some(News { hosts, told }) = News::read(text) else { return self.hear_unknown() };
        let sites = self.sites().serving(&hosts);
        match told {
            Told::Purged { host, purge } => {
                self.counters.purges.bump();
                let purge = purge.read();
                for site in &sites {
                    match &purge {
                        Some(purge) => {
                            self.carry_out(site, host.as_deref(), purge);
                        }
                        None => site.generations.purge_all(Mode::Hard),
                    }
                }
            }
            Told::Changed(_) => sites.iter().for_each(|site| {
                site.generations.note_change();
            }),
            Told::Learned(learned) => {
                sites.iter().for_each(|site| self.hear_learned(site, &learned));
            }
            Told::Written(write) => {
                let (host, targets) = (&write.host, &write.targets);
                for site in &sites {
                    fetch::sweep_targets(self, site, &write.method, &write.target, host, targets);
                }
            }
        }
    }

    /// Something may have been missed: nothing that is older is fresh, and what is open of a
    /// session has to be looked up.
    pub fn hear_unknown(&self) {
        let ticks_ms = self.clock.now().ticks_ms;
        for site in self.sites().each() {
            site.generations.note_change();
            if let Some(strangers) = &site.strangers {
                strangers.holders.doubt(ticks_ms);
            }
        }
    }
}

/// Whether it was asked for less than a lag limit ago.
fn is_young(page: &Page, ticks_ms: u64, lag: Duration) -> bool {
    u128::from(ticks_ms.saturating_sub(page.asked_ticks_ms())) < lag.as_millis()
}

#[cfg(test)]
mod learned_tests;
#[cfg(test)]
mod tests {
    use base::Clock;
    use origin::{FilesOrigin, Origin};
    use parking_lot::Mutex;

    use super::*;
    use crate::purge::order::PurgeOrder;
    use crate::{ServerConfig, SiteConfig};

    /// Another node's ears.
    #[derive(Default)]
    pub(super) struct Told(pub(super) Mutex<Vec<String>>);

    impl Fellows for Told {
        fn tell(&self, news: String) {
            self.0.lock().push(news);
        }

        fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            Box::pin(std::future::ready(()))
        }
    }

    pub(super) fn node(sites: &[(&str, &[&str])]) -> (Arc<Server>, Arc<Told>) {
        node_beside(sites, None)
    }

    /// One whose sites all have this companion.
    pub(super) fn node_beside(
        sites: &[(&str, &[&str])],
        companion: Option<Arc<dyn crate::companion::Companion>>,
    ) -> (Arc<Server>, Arc<Told>) {
        node_with(sites, companion, None)
    }

    /// The same with a place where it lays things down.
    pub(super) fn node_with(
        sites: &[(&str, &[&str])],
        companion: Option<Arc<dyn crate::companion::Companion>>,
        deposits: Option<Arc<dyn Deposits>>,
    ) -> (Arc<Server>, Arc<Told>) {
        let site = |(name, hosts): &(&str, &[&str])| {
            let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
            site.name = (*name).to_owned();
            site.hosts = hosts.iter().map(|&host| host.to_owned()).collect();
            site.strangers = Some(crate::StrangerRules::default());
            site.companion.clone_from(&companion);
            site
        };
        let (told, heard_until) = (Arc::<Told>::default(), Arc::<AtomicU64>::default());
        let lag = Duration::from_secs(1);
        let (fellows, shield) = (told.clone(), None);
        let fellowship = Some(Fellowship { fellows, heard_until, lag, shield, deposits });
        let sites = sites.iter().map(site).collect();
        let config = ServerConfig { sites, fellowship, ..ServerConfig::default() };
        (Server::new(config, Clock::manual(0)), told)
    }

    /// Which sites of one node notice that a tag was purged of a site of another.
    fn check(there: &[&str], here: &[(&str, &[&str])], expected: &[&str]) {
        let (teller, told) = node(&[("x", there), ("y", &["y.test"])]);
        let site = teller.sites().each().into_iter().find(|site| site.name == "x").cloned();
        let site = site.expect("it is there");
        let what = policy::purge::What::Tags(vec!["t".to_owned()]);
        let purge = Purge { scope: policy::purge::Scope::Site, what, mode: Mode::Hard };
        teller.carry_out_all(&site, "", &[purge]).expect("it is a good purge");
        let (listener, echo) = node(here);
        let told = told.0.lock().clone();
        assert_eq!(told.len(), 1);
        told.iter().for_each(|news| listener.hear(news));
        let sites = listener.sites();
        let noticed = sites.each().into_iter().filter(|site| site.generations.fence() > 0);
        let noticed: Vec<&str> = noticed.map(|site| site.name.as_str()).collect();
        assert_eq!(noticed, expected, "{there:?} {here:?}");
        assert!(echo.0.lock().is_empty(), "what is heard isn't told again");
    }

    #[test]
    fn a_site_is_known_by_its_hosts_whatever_it_is_called() {
        check(&["a.test"], &[("one", &["a.test"]), ("two", &["b.test"])], &["one"]);
        check(
            &["a.test", "b.test"],
            &[("one", &["a.test"]), ("two", &["b.test"])],
            &["one", "two"],
        );
        check(&["a.test"], &[("one", &["b.test"]), ("rest", &[])], &["rest"]);
        check(&["a.test"], &[("one", &["a.test"]), ("rest", &[])], &["one"]);
        check(&[], &[("one", &["a.test"]), ("rest", &[])], &["one", "rest"]);
        check(&["a.test"], &[("one", &["b.test"])], &[]);
    }

    #[test]
    fn what_is_found_changed_on_one_node_is_old_on_all() {
        let (teller, told) = node(&[("x", &["a.test"])]);
        teller.tell_changed(teller.sites().only().expect("one site"));
        let (listener, _) = node(&[("one", &["a.test"]), ("two", &["b.test"])]);
        told.0.lock().iter().for_each(|news| listener.hear(news));
        let noticed = |site: &&Arc<Site>| site.generations.content() > 0;
        let sites = listener.sites();
        let noticed: Vec<_> = sites.each().into_iter().filter(noticed).collect();
        assert_eq!(noticed.iter().map(|site| &*site.name).collect::<Vec<_>>(), ["one"]);
    }

    #[test]
    fn what_cannot_be_read_makes_all_sites_old() {
        let (node, _) = node(&[("one", &["a.test"]), ("two", &["b.test"])]);
        node.hear("{\"hosts\":[\"a.test\"],\"painted\":{}}");
        assert!(node.sites().each().into_iter().all(|site| site.generations.content() > 0));
    }

    fn app_cookies(node: &Server, site: &str) -> Vec<String> {
        let learned = node.learned().into_iter().find(|learned| learned.name == site);
        let cookies = learned.expect("it is there").cookies.into_iter();
        cookies.filter(|cookie| cookie.is_set).map(|cookie| cookie.name).collect()
    }

    #[test]
    fn which_cookies_are_the_apps_all_nodes_know_and_who_begins_is_told() {
        let hosts: &[(&str, &[&str])] = &[("one", &["a.test"]), ("two", &["b.test"])];
        let ((first, told), (second, echo)) = (node(hosts), node(hosts));
        let note = |kind, key: &str, value: &str| crate::Note {
            site: "one".to_owned(),
            kind,
            key: key.as_bytes().to_vec(),
            value: Some(value.as_bytes().to_vec()),
        };
        let site = |node: &Server| {
            node.sites().each().into_iter().find(|site| site.name == "one").cloned()
        };
        let strangers = site(&first).and_then(|site| site.strangers.clone()).expect("strangers");
        strangers.names.set(b"sid", policy::strangers::Standing::App);
        first.tell_learned(&note("cookie", "sid", "app"));
        // What would make another node less careful stays here.
        first.tell_learned(&note("cookie", "ads", "foreign"));
        first.tell_learned(&note("class", "/page", "shared"));
        let news = std::mem::take(&mut *told.0.lock());
        assert_eq!(
            news,
            [r#"{"hosts":["a.test"],"learned":{"app_cookies":["sid"],"asks":false}}"#]
        );
        news.iter().for_each(|news| second.hear(news));
        assert_eq!(
            (app_cookies(&second, "one"), app_cookies(&second, "two").len()),
            (vec!["sid".to_owned()], 0)
        );
        assert!(echo.0.lock().is_empty(), "what is heard isn't told again");

        let (third, asked) = node(hosts);
        third.ask_learned();
        let asks = asked.0.lock().clone();
        asks.iter().for_each(|news| first.hear(news));
        let answers = told.0.lock().clone();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.iter().for_each(|news| third.hear(news));
        assert_eq!(app_cookies(&third, "one"), ["sid"]);
        assert_eq!(asked.0.lock().len(), asks.len());
    }

    #[test]
    fn an_owners_purge_is_told_of_each_site() {
        let (node, told) = node(&[("one", &["a.test"]), ("two", &["b.test"])]);
        let order = PurgeOrder { all: true, ..PurgeOrder::default() };
        node.purge(&order).expect("it is a good order");
        assert_eq!(told.0.lock().len(), 2);
    }
}

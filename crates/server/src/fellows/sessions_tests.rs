//! Sessions that one node begins and another learns of, by what is told and by what lies on a
//! shelf that stands for NATS.

use std::sync::atomic::Ordering;

use align::Binding;
use http::Method;
use policy::strangers::Jar;
use wire::Fields;

use super::*;
use crate::fellows::deposits::tests::{Shelf, node_that_tells};
use crate::fellows::tests::Told as Heard;

const PAGE: &str = "a.test|/post/1";
const SID: &str = "sid=0123456789abcdef";
const TOKEN: &str = "token=9f86d081884c7d65&text=x";

struct Node {
    server: Arc<Server>,
    site: Arc<Site>,
    tells: Arc<Heard>,
}

impl Node {
    fn new(shelf: &Arc<Shelf>) -> Self {
        let (server, site, tells) = node_that_tells(Some(shelf.clone()));
        Self { server, site, tells }
    }

    fn strangers(&self) -> &Strangers {
        self.site.strangers.as_ref().expect("there are")
    }

    fn begin(&self, set: &str) -> Arc<Bound> {
        let mut jar = Jar::default();
        jar.absorb(&Fields::parse(set.as_bytes()).expect("valid"), 0);
        let (binding, open) = (Binding::default(), vec![PAGE.as_bytes().to_vec()]);
        let now = self.server.clock.now();
        let bound = self.strangers().holders.bind(&jar, binding, Vec::new(), open, now);
        self.server.tell_begun(&self.site, "a.test", &bound);
        bound
    }

    /// The session that a write with these cookies is of, as far as it is found.
    async fn find(&self, cookies: &str, body: &str) -> Option<Arc<Bound>> {
        let (head, body) = (head(Method::POST, cookies), body.as_bytes());
        if !self.server.may_be_of_another_node(&self.site, self.strangers(), &head) {
            return None;
        }
        let found = self.server.session_begun_elsewhere(&self.site, self.strangers(), &head, body);
        found.await
    }

    async fn has_open(&self, cookies: &str) -> bool {
        let found = self.find(cookies, TOKEN).await;
        found.is_some_and(|bound| bound.has_open(PAGE.as_bytes()))
    }

    async fn close(&self, bound: &Arc<Bound>) {
        assert!(bound.close(PAGE.as_bytes()));
        let page = PAGE.as_bytes().to_vec();
        self.server.close_everywhere(&self.site, bound, page).await;
    }

    /// All that it told since this was asked last.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.tells.0.lock())
    }

    fn hear(&self, told: &[String]) {
        told.iter().for_each(|news| self.server.hear(news));
    }

    /// The session as this node knows it by its cookie.
    fn known(&self) -> Option<Arc<Bound>> {
        self.strangers().holders.find(&head(Method::POST, SID).fields, 1)
    }
}

fn head(method: Method, cookies: &str) -> RequestHead {
    let fields = format!("cookie: {cookies}\ncontent-type: application/x-www-form-urlencoded");
    RequestHead {
        method,
        target: "/post/1".to_owned(),
        host: "a.test".to_owned(),
        version: wire::Version::Http11,
        fields: Fields::parse(fields.as_bytes()).expect("valid"),
    }
}

const SET: &str = "set-cookie: sid=0123456789abcdef; path=/";

#[tokio::test]
async fn a_node_that_heard_nothing_finds_a_session_and_what_is_open_of_it() {
    let shelf = Arc::<Shelf>::default();
    let (first, late) = (Node::new(&shelf), Node::new(&shelf));
    let own = first.begin(SET);
    assert!(late.has_open(SID).await);
    let found = late.known().expect("it is known from now on");
    assert!(found.is_heard() && late.strangers().holders.is_sure(&found));
    assert_eq!(found.id, own.id);
    assert!(!late.has_open("sid=0123456789abcdeX").await);

    first.close(&own).await;
    assert!(!Node::new(&shelf).has_open(SID).await, "who begins later finds it closed");
    assert!(found.has_open(PAGE.as_bytes()));
    late.hear(&first.told());
    assert!(!found.has_open(PAGE.as_bytes()), "who was there is told");
}

#[tokio::test]
async fn a_value_that_comes_later_leads_to_the_session_too() {
    let shelf = Arc::<Shelf>::default();
    let first = Node::new(&shelf);
    let own = first.begin(SET);
    let answer = Fields::parse(b"set-cookie: sid=fedcba9876543210; path=/").expect("valid");
    assert!(first.strangers().holders.follow(&own, &answer, first.server.clock.now()));
    first.server.tell_followed(&first.site, "a.test", &own);
    assert!(Node::new(&shelf).has_open("sid=fedcba9876543210").await);
    // Closed before or after, by whichever value.
    first.close(&own).await;
    for cookies in [SID, "sid=fedcba9876543210"] {
        assert!(!Node::new(&shelf).has_open(cookies).await, "{cookies}");
    }
}

#[tokio::test]
async fn what_is_laid_down_or_told_again_opens_nothing() {
    let shelf = Arc::<Shelf>::default();
    let first = Node::new(&shelf);
    let own = first.begin(SET);
    let (begun, lay) = (first.told(), shelf.lies.lock().clone());
    first.close(&own).await;
    // Somebody lays down again all that lay there, and tells again all that was told.
    shelf.lies.lock().extend(lay);
    let late = Node::new(&shelf);
    assert!(!late.has_open(SID).await);
    let late = Node::new(&shelf);
    late.hear(&begun);
    let heard = late.known().expect("it was told");
    assert!(late.server.knows_closed(&late.site, late.strangers(), &heard).await);
    assert!(!heard.has_open(PAGE.as_bytes()));
}

#[tokio::test]
async fn what_is_heard_while_it_is_looked_for_stays_closed() {
    let shelf = Arc::<Shelf>::default();
    let (first, late) = (Node::new(&shelf), Node::new(&shelf));
    let own = first.begin(SET);
    first.told();
    // What it found is of before the closing, of which it hears first.
    let lay = shelf.lies.lock().clone();
    first.close(&own).await;
    late.hear(&first.told());
    *shelf.lies.lock() = lay;
    assert!(!late.has_open(SID).await);
}

#[tokio::test]
async fn after_a_doubt_a_session_is_looked_up_before_it_is_relied_on() {
    let shelf = Arc::<Shelf>::default();
    let (first, second) = (Node::new(&shelf), Node::new(&shelf));
    let own = first.begin(SET);
    second.hear(&first.told());
    let heard = second.known().expect("it was told");
    let knows = |node: &Node, bound: &Arc<Bound>| {
        let (server, site, bound) = (node.server.clone(), node.site.clone(), bound.clone());
        async move {
            let strangers = site.strangers.as_ref().expect("there are");
            server.knows_closed(&site, strangers, &bound).await
        }
    };
    shelf.is_out_of_reach.store(true, Ordering::SeqCst);
    assert!(!knows(&second, &heard).await, "it can't be told");
    assert!(knows(&first, &own).await, "nobody else could close it unheard");
    shelf.is_out_of_reach.store(false, Ordering::SeqCst);
    assert!(knows(&second, &heard).await);
    let looks = shelf.looks.load(Ordering::SeqCst);
    assert!(knows(&second, &heard).await);
    assert_eq!(shelf.looks.load(Ordering::SeqCst), looks, "once is enough");
    // The page is closed by the second, and the first misses that.
    second.close(&heard).await;
    first.server.hear_unknown();
    assert!(own.has_open(PAGE.as_bytes()));
    assert!(knows(&first, &own).await);
    assert!(!own.has_open(PAGE.as_bytes()));
}

#[tokio::test]
async fn what_was_loaded_here_before_the_session_was_known_is_closed_on_all() {
    let shelf = Arc::<Shelf>::default();
    let (first, late) = (Node::new(&shelf), Node::new(&shelf));
    let own = first.begin(SET);
    let (head, page) = (head(Method::GET, SID), PAGE.as_bytes());
    assert!(late.server.note_loaded_unknown(&late.site, late.strangers(), &head, page));
    assert!(!late.has_open(SID).await);
    first.hear(&late.told());
    assert!(!own.has_open(page));
    assert!(!Node::new(&shelf).has_open(SID).await);
}

#[tokio::test]
async fn nothing_is_looked_for_without_need() {
    let shelf = Arc::<Shelf>::default();
    let late = Node::new(&shelf);
    Node::new(&shelf).begin(SET);
    let looks = || shelf.looks.load(Ordering::SeqCst);
    assert!(late.find(SID, "text=hello").await.is_none(), "no token");
    assert!(late.find("sid=short", TOKEN).await.is_none(), "no value that names a session");
    assert_eq!(looks(), 0);
    let cookies: Vec<_> = (0..100).map(|at| format!("c{at}=0123456789abcdef{at}")).collect();
    assert!(late.find(&cookies.join("; "), TOKEN).await.is_none());
    assert!(looks() <= 8, "{}", looks());
    let before = looks();
    late.server.clock.advance_ms(3_600_000);
    assert!(late.find(SID, TOKEN).await.is_none(), "it has heard all for an hour");
    assert_eq!(looks(), before);
    late.server.hear_unknown();
    assert!(late.find(SID, TOKEN).await.is_none(), "no session is as old");
    assert!(looks() > before);
}

#[tokio::test]
async fn a_value_that_leads_to_two_sessions_or_to_nothing_good_names_none() {
    let shelf = Arc::<Shelf>::default();
    let first = Node::new(&shelf);
    let set = |sid: &str| format!("{}; path=/\nset-cookie: test=WP%20Cookie%20check", sid);
    first.begin(&set("set-cookie: sid=0123456789abcdef"));
    first.begin(&set("set-cookie: sid=fedcba9876543210"));
    assert!(!Node::new(&shelf).has_open("test=WP%20Cookie%20check").await);
    assert!(Node::new(&shelf).has_open("sid=fedcba9876543210; test=WP%20Cookie%20check").await);
    assert!(!Node::new(&shelf).has_open("sid=0123456789abcdef; sid=fedcba9876543210").await);
    // Whatever lies there, cut anywhere, is none or the same.
    let whole = shelf.lies.lock().clone();
    for (name, content) in &whole {
        for end in 0..content.len() {
            shelf.lies.lock().insert(name.clone(), content[..end].to_vec());
            drop(Node::new(&shelf).find(SID, TOKEN).await);
        }
        shelf.lies.lock().insert(name.clone(), content.clone());
    }
    shelf.is_out_of_reach.store(true, Ordering::SeqCst);
    assert!(!Node::new(&shelf).has_open(SID).await);
}

#[tokio::test(start_paused = true)]
async fn a_closing_that_nats_does_not_take_is_told_and_laid_down_and_told_again_later() {
    let shelf = Arc::<Shelf>::default();
    let first = Node::new(&shelf);
    let own = first.begin(SET);
    first.told();
    shelf.is_out_of_reach.store(true, Ordering::SeqCst);
    first.close(&own).await;
    assert_eq!(first.told().len(), 1);
    shelf.is_out_of_reach.store(false, Ordering::SeqCst);
    // This one looks before the closing lies there.
    let late = Node::new(&shelf);
    assert!(late.has_open(SID).await);
    tokio::time::sleep(2 * AGAIN_AFTER).await;
    assert!(!Node::new(&shelf).has_open(SID).await);
    late.hear(&first.told());
    assert!(late.known().is_some_and(|bound| !bound.has_open(PAGE.as_bytes())));
}

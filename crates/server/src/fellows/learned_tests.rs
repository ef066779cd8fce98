//! What one node refuses, and what its owner rules there, as the others take it.

use std::sync::Arc;

use bytes::Bytes;
use policy::Terms;
use policy::strangers::{Standing, shape};
use store::Key;
use wire::{Codings, Fields, ResponseHead};

use super::tests::{Told, node};
use crate::overrule::{Act, OverruleOrder, Rule};
use crate::page::Page;
use crate::purge::marks::Marks;
use crate::site::Site;
use crate::strangers::Strangers;
use crate::strangers::guests::Reader;
use crate::strangers::refusal::Refusal;
use crate::{Server, carry, pipeline};

const SITES: &[(&str, &[&str])] = &[("one", &["a.test"]), ("two", &["b.test"])];

fn site(node: &Server, name: &str) -> Arc<Site> {
    let found = node.sites().each().into_iter().find(|site| site.name == name).cloned();
    found.expect("it is there")
}

fn strangers(node: &Server) -> Arc<Strangers> {
    site(node, "one").strangers.clone().expect("they are shared with")
}

fn key(text: &str) -> Key<'_> {
    Key { hash: pipeline::hash(text.as_bytes()), text: text.as_bytes() }
}

/// The node has this page in memory: for strangers, or for everybody.
fn store(node: &Server, text: &str, is_shared: bool) {
    let site = node.sites().find(text.split('|').nth(1).expect("a host")).cloned();
    let site = site.expect("one of them");
    let began = site.generations.moment();
    let terms = Terms { lifetime_ms: 60_000, no_cache: false, ..Terms::expired(0) };
    let head = ResponseHead { status: 200, fields: Fields::new() };
    let marks = Marks::of(began, "a.test", &head.fields);
    let body = Bytes::from_static(b"a page");
    let mut page = Page::stored(head, text.as_bytes(), body, terms, None, marks, Codings::NONE);
    if is_shared {
        let reader = Reader::of(&site, &Fields::new(), "a.test");
        page = page.shared(reader.sharing(&[], began.content, false), None);
    }
    assert!(carry::insert(node, &site, &key(text), Arc::new(page), began));
}

fn has(node: &Server, text: &str) -> bool {
    node.store.has(&key(text), |_| true)
}

/// One refuses a page; what it tells.
fn refuse(node: &Server, told: &Told, target: &str, refusal: Refusal) -> Vec<String> {
    let page = pipeline::hash(format!("a.test|{target}").as_bytes());
    let noted = strangers(node).classes.note_refused(target, page, refusal, 0);
    node.tell_refused(&site(node, "one"), "a.test", target, noted);
    std::mem::take(&mut *told.0.lock())
}

fn is_refused(node: &Server, target: &str) -> bool {
    let page = pipeline::hash(format!("a.test|{target}").as_bytes());
    strangers(node).classes.refusal(target, page, 1).is_some()
}

#[test]
fn a_page_that_one_node_refused_leaves_the_memory_of_all() {
    let ((first, told), (second, echo)) = (node(SITES), node(SITES));
    let pages = ["http|a.test|/topic/1", "https|a.test|/topic/1"];
    let others = ["http|a.test|/topic/2", "http|b.test|/topic/1"];
    pages.iter().chain(&others).for_each(|text| store(&second, text, true));
    store(&second, "http|a.test|/public", false);
    let news = refuse(&first, &told, "/topic/1", Refusal::Type);
    assert_eq!(
        news,
        [concat!(
            r#"{"hosts":["a.test"],"learned":{"app_cookies":[],"refused":[{"page":{"#,
            r#""host":"a.test","target":"/topic/1"},"why":"only HTML, XML and JSON are shared, "#,
            r#"and this is none of them, or not for everybody","for_ms":120000,"times":1}],"asks":false}}"#
        )]
    );
    news.iter().for_each(|news| second.hear(news));
    assert!(is_refused(&second, "/topic/1") && !is_refused(&second, "/topic/2"));
    assert!(!pages.iter().any(|text| has(&second, text)));
    assert!(others.iter().all(|text| has(&second, text)), "they are others");
    let public = refuse(&first, &told, "/public", Refusal::Type);
    public.iter().for_each(|news| second.hear(news));
    assert!(has(&second, "http|a.test|/public"), "the law lets it be stored for everybody");
    assert_eq!(second.counters().refusals_heard.read(), 2);
    assert!(echo.0.lock().is_empty(), "what is heard isn't told again");
}

#[test]
fn a_class_that_one_node_refused_leaves_the_memory_of_all() {
    let ((first, told), (second, _)) = (node(SITES), node(SITES));
    store(&second, "http|a.test|/topic/1", true);
    store(&second, "http|a.test|/about", true);
    let lone = Refusal::Preference { changed: 3, chunks: 9 };
    let news = refuse(&first, &told, "/topic/7", lone);
    news.iter().for_each(|news| second.hear(news));
    assert!(is_refused(&second, "/topic/9") && !is_refused(&second, "/about"));
    assert!(!has(&second, "http|a.test|/topic/1") && has(&second, "http|a.test|/about"));
}

#[test]
fn what_passes_and_what_each_node_knows_is_not_told() {
    let (first, told) = node(SITES);
    for refusal in [
        Refusal::Busy,
        Refusal::Origin("it fails".into()),
        Refusal::Status(503),
        Refusal::Forbidden,
        Refusal::Session,
    ] {
        assert_eq!(refuse(&first, &told, "/topic/1", refusal), [""; 0]);
    }
}

#[test]
fn who_begins_is_told_what_is_refused_once_for_all_who_ask() {
    let ((first, told), (second, asked)) = (node(SITES), node(SITES));
    refuse(&first, &told, "/topic/1", Refusal::Type);
    refuse(&first, &told, "/forgotten/1", Refusal::Preference { changed: 3, chunks: 9 });
    let class = shape("/forgotten/1");
    assert!(strangers(&first).classes.forget_refusal(&class));
    for _ in 0..2 {
        second.ask_learned();
    }
    asked.0.lock().iter().for_each(|news| first.hear(news));
    first.answer_who_asked();
    first.answer_who_asked();
    let answers = std::mem::take(&mut *told.0.lock());
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.iter().for_each(|news| second.hear(news));
    assert!(is_refused(&second, "/topic/1") && !is_refused(&second, "/forgotten/1"));
    // It tells what it heard, too: who found it may be gone.
    let ((third, asks), echo) = (node(SITES), asked);
    echo.0.lock().clear();
    third.ask_learned();
    asks.0.lock().iter().for_each(|news| second.hear(news));
    second.answer_who_asked();
    echo.0.lock().iter().for_each(|news| third.hear(news));
    assert!(is_refused(&third, "/topic/1"));
}

fn order(node: &Server, told: &Told, act: Act, subject: &str) -> (String, Vec<String>) {
    let order = OverruleOrder {
        site: "one".to_owned(),
        act: Some(act),
        subject: subject.to_owned(),
        by: "the owner".to_owned(),
    };
    let said = node.overrule(&order).expect("it may be").remove(0).text;
    (said, std::mem::take(&mut *told.0.lock()))
}

#[test]
fn a_ruling_that_shares_less_holds_on_all_nodes_until_it_is_taken_back_on_one() {
    let ((first, told), (second, echo)) = (node(SITES), node(SITES));
    let class = shape("/topic/1");
    let is_forbidden = |node: &Server| {
        crate::strangers::verify::refused_unseen(&strangers(node), "/topic/7").is_some()
    };
    let (said, news) = order(&first, &told, Act::Rule(Rule::NeverShare), &class);
    assert!(said.ends_with("from now on, on all nodes"), "{said}");
    let fence = site(&second, "one").generations.fence();
    // It may come twice.
    news.iter().chain(&news).for_each(|news| second.hear(news));
    assert!(is_forbidden(&second));
    assert_eq!(site(&second, "one").generations.fence(), fence + 1, "what was shared is gone");
    let rulings = second.learned().remove(0).rulings;
    assert_eq!((rulings.len(), rulings[0].ruling.by.as_str()), (1, "the owner"));

    let (third, asked) = node(SITES);
    third.ask_learned();
    asked.0.lock().iter().for_each(|news| second.hear(news));
    let answers = std::mem::take(&mut *echo.0.lock());
    answers.iter().for_each(|news| third.hear(news));
    assert!(is_forbidden(&third), "{answers:?}");

    let (said, news) = order(&first, &told, Act::TakeBack(Rule::NeverShare), &class);
    assert!(said.ends_with("holds no more on any node"), "{said}");
    news.iter().for_each(|news| second.hear(news));
    assert!(!is_forbidden(&first) && !is_forbidden(&second));
    // The third was away. What it asks with doesn't bring it back.
    asked.0.lock().clear();
    third.ask_learned();
    asked.0.lock().iter().for_each(|news| first.hear(news));
    assert!(!is_forbidden(&first) && is_forbidden(&third));
    asked.0.lock().clear();
    assert_eq!(order(&third, &asked, Act::TakeBack(Rule::NeverShare), &class).1.len(), 1);
}

#[test]
fn a_ruling_that_shares_more_holds_where_it_was_ruled() {
    let ((first, told), (second, _)) = (node(SITES), node(SITES));
    let (_, news) = order(&first, &told, Act::Rule(Rule::AppCookies), "width");
    news.iter().for_each(|news| second.hear(news));
    let (said, news) = order(&first, &told, Act::Rule(Rule::ForeignCookies), "width");
    assert!(said.contains("on this node alone"), "{said}");
    news.iter().for_each(|news| second.hear(news));
    let standing = |node: &Server| strangers(node).names.standing(b"width");
    assert_eq!((standing(&first), standing(&second)), (Standing::Foreign, Standing::Unknown));
    // Nor does it hold where somebody says that it was told.
    let forged = concat!(
        r#"{"hosts":["a.test"],"learned":{"rulings":[{"rule":"foreign_cookies","#,
        r#""subject":"width","by":"x","unix_ms":0}]}}"#
    );
    second.hear(forged);
    assert_eq!(standing(&second), Standing::Unknown);
}

#[test]
fn a_refusal_that_the_owner_wants_tried_again_is_forgotten_on_all_nodes() {
    let ((first, told), (second, _)) = (node(SITES), node(SITES));
    let news = refuse(&first, &told, "/topic/1", Refusal::Preference { changed: 3, chunks: 9 });
    news.iter().for_each(|news| second.hear(news));
    assert!(is_refused(&second, "/topic/1"));
    let (_, news) = order(&first, &told, Act::Forget, &shape("/topic/1"));
    news.iter().for_each(|news| second.hear(news));
    assert!(!is_refused(&first, "/topic/1") && !is_refused(&second, "/topic/1"));
}

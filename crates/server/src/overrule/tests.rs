//! What may be ruled, what it changes at once, and who has the last word.

use std::sync::Arc;

use base::Clock;
use changes::{Column, KeyClass, Operation, Rows, Signature, Source};
use origin::{FilesOrigin, Origin};
use parking_lot::Mutex;
use policy::strangers::{Visitor, shape};
use wire::Fields;

use super::*;
use crate::strangers::refusal::Refusal;
use crate::{FollowRules, ServerConfig, SiteConfig, StrangerRules};

type Kept = Arc<Mutex<Vec<Ruling>>>;

fn site() -> SiteConfig {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    site.name = "forum".into();
    site.strangers = Some(StrangerRules {
        own_cookies: vec!["mine".into()],
        foreign_cookies: vec!["theirs".into()],
        ..StrangerRules::default()
    });
    site.changes = vec![Source::Files("/nowhere".into())];
    site.changes_rules =
        FollowRules { ignored: vec!["visits".parse().expect("a table")], ..FollowRules::default() };
    site
}

fn server(kept: &Kept) -> Arc<Server> {
    let keeper = kept.clone();
    let keep: RulingsKeeper = Box::new(move |all| {
        *keeper.lock() = all.to_vec();
        Ok(())
    });
    let rulings = Rulings::new(kept.lock().clone(), Some(keep));
    let config = ServerConfig { sites: vec![site()], rulings, ..ServerConfig::default() };
    Server::new(config, Clock::manual(7_000))
}

fn the_site(server: &Server) -> Arc<Site> {
    server.sites().only().expect("one").clone()
}

fn order(server: &Server, act: Act, subject: &str) -> Result<(), String> {
    let (subject, by) = (subject.to_owned(), "the test".to_owned());
    let order = OverruleOrder { site: String::new(), act: Some(act), subject, by };
    server.overrule(&order).map(|_| ())
}

fn visitor(server: &Server, cookie: &str) -> Visitor {
    let fields = Fields::parse(format!("cookie: {cookie}=1").as_bytes()).expect("valid");
    the_site(server).strangers.as_ref().expect("shared").names.visitor(&fields)
}

#[test]
fn a_cookie_is_what_was_ruled_at_once_and_after_a_restart_until_that_is_taken_back() {
    let kept = Kept::default();
    let server_now = server(&kept);
    assert_eq!(visitor(&server_now, "width"), Visitor::Unproven);
    order(&server_now, Act::Rule(Rule::ForeignCookies), "width").expect("it may be");
    assert_eq!(visitor(&server_now, "width"), Visitor::Stranger);
    order(&server_now, Act::Rule(Rule::AppCookies), "_ga").expect("it may be");
    assert_eq!(visitor(&server_now, "_ga"), Visitor::Holder);
    let later = server(&kept);
    assert_eq!(visitor(&later, "width"), Visitor::Stranger);
    assert_eq!(visitor(&later, "_ga"), Visitor::Holder);
    let told = later.learned().remove(0).rulings;
    let told: Vec<_> = told.iter().map(|one| (&*one.ruling.by, one.ruling.unix_ms)).collect();
    assert_eq!(told, [("the test", 7_000); 2]);
    order(&later, Act::TakeBack(Rule::ForeignCookies), "width").expect("it was there");
    order(&later, Act::TakeBack(Rule::AppCookies), "_ga").expect("it was there");
    assert_eq!(visitor(&later, "width"), Visitor::Unproven);
    assert_eq!(visitor(&later, "_ga"), Visitor::Stranger);
    assert!(kept.lock().is_empty());
}

#[test]
fn what_the_app_sets_stays_its_own_whatever_was_ruled() {
    let kept = Kept::default();
    let server = server(&kept);
    order(&server, Act::Rule(Rule::ForeignCookies), "sid").expect("nobody knows it yet");
    assert_eq!(visitor(&server, "sid"), Visitor::Stranger);
    let site = the_site(&server);
    let names = &site.strangers.as_ref().expect("shared").names;
    names.learn(&Fields::parse(b"set-cookie: sid=x").expect("valid"));
    assert_eq!(visitor(&server, "sid"), Visitor::Holder);
    let told = server.learned().remove(0).rulings.remove(0);
    assert!(told.beaten.expect("it doesn't hold").starts_with("the app itself sets"));
    let again = order(&server, Act::Rule(Rule::ForeignCookies), "sid").expect_err("refused");
    assert!(again.contains("the app itself sets this cookie"), "{again}");
}

#[test]
fn the_settings_have_the_last_word() {
    let kept = Kept::default();
    let says = |rule, subject: &str| Ruling {
        site: "forum".into(),
        rule,
        subject: subject.into(),
        by: "before".into(),
        unix_ms: 0,
    };
    *kept.lock() = vec![
        says(Rule::ForeignCookies, "mine"),
        says(Rule::AppCookies, "theirs"),
        says(Rule::ChangesHeeded, "visits"),
    ];
    let server = server(&kept);
    assert_eq!(visitor(&server, "mine"), Visitor::Holder);
    assert_eq!(visitor(&server, "theirs"), Visitor::Stranger);
    let told = server.learned().remove(0).rulings;
    let settings: Vec<_> = told.iter().filter_map(|one| one.beaten.as_deref()).collect();
    assert_eq!(settings.len(), 3, "{settings:?}");
    assert!(settings.iter().all(|why| why.starts_with("wick.toml has it in ")), "{settings:?}");
    assert_eq!(is_noise(&server, "visits"), Some(true));
    for (rule, subject) in [
        (Rule::ForeignCookies, "mine"),
        (Rule::AppCookies, "mine"),
        (Rule::AppCookies, "theirs"),
        (Rule::ChangesHeeded, "visits"),
    ] {
        let why = order(&server, Act::Rule(rule), subject).expect_err("refused");
        assert!(why.contains("wick.toml"), "{why}");
    }
}

fn is_noise(server: &Server, table: &str) -> Option<bool> {
    let rows = Rows { database: "site".into(), table: table.into(), key: KeyClass::Plain };
    let columns = [Column::named("views")].into();
    let signature = Signature { rows, operation: Operation::Update, columns };
    the_site(server).following.as_ref().expect("followed").decided(&signature)
}

#[test]
fn a_change_is_what_was_ruled_and_pages_that_it_may_have_touched_are_swept() {
    let server = server(&Kept::default());
    let content = |server: &Server| the_site(server).generations.content();
    let before = content(&server);
    order(&server, Act::Rule(Rule::ChangesIgnored), "posts(views)").expect("it may be");
    assert_eq!((is_noise(&server, "posts"), content(&server)), (Some(true), before));
    order(&server, Act::Rule(Rule::ChangesHeeded), "posts(views)").expect("it may be");
    assert_eq!((is_noise(&server, "posts"), content(&server)), (Some(false), before + 1));
    order(&server, Act::Rule(Rule::ChangesIgnored), "posts(views)").expect("it may be");
    order(&server, Act::TakeBack(Rule::ChangesIgnored), "posts(views)").expect("it was there");
    assert_eq!((is_noise(&server, "posts"), content(&server)), (None, before + 2));
}

#[test]
fn a_class_that_is_never_to_be_shared_is_gone_from_the_store_and_not_tried() {
    let server = server(&Kept::default());
    let site = the_site(&server);
    let strangers = site.strangers.as_ref().expect("shared");
    let fence = site.generations.fence();
    let class = shape("/thread/5");
    order(&server, Act::Rule(Rule::NeverShare), &class).expect("it may be");
    assert_eq!(site.generations.fence(), fence + 1, "all of it was purged");
    let refused = |target| crate::strangers::verify::refused_unseen(strangers, target);
    assert_eq!(refused("/thread/9"), Some(Refusal::Forbidden));
    assert_eq!(refused("/about"), None);
    order(&server, Act::TakeBack(Rule::NeverShare), &class).expect("it was there");
    assert_eq!(refused("/thread/9"), None);
}

#[test]
fn a_refusal_that_is_forgotten_is_tried_again() {
    let server = server(&Kept::default());
    let site = the_site(&server);
    let classes = &site.strangers.as_ref().expect("shared").classes;
    classes.note_refused("/thread/5", 5, Refusal::Asker, 0);
    classes.note_refused("/about", 6, Refusal::Type, 0);
    assert!(
        classes.refusal("/thread/9", 9, 1).is_some() && classes.refusal("/about", 6, 1).is_some()
    );
    order(&server, Act::Forget, &shape("/thread/5")).expect("it was refused");
    assert_eq!(classes.refusal("/thread/9", 9, 1), None);
    assert_eq!(classes.refusal("/thread/5", 5, 1), None);
    assert!(classes.refusal("/about", 6, 1).is_some(), "another class");
    assert!(order(&server, Act::Forget, "/nothing").is_err());
}

#[test]
fn what_cannot_be_meant_is_told() {
    let server = server(&Kept::default());
    for (act, subject, expected) in [
        (Act::Rule(Rule::AppCookies), " ", "say what it is about"),
        (Act::Rule(Rule::AppCookies), "a\nb", "without control characters"),
        (Act::Rule(Rule::AppCookies), "a=b", "is no cookie's name"),
        (Act::Rule(Rule::ChangesHeeded), "a b", "write a table"),
        (Act::TakeBack(Rule::NeverShare), "/x", "nothing was ruled with never_share about /x"),
    ] {
        let why = order(&server, act, subject).expect_err("it is wrong");
        assert!(why.contains(expected), "{subject:?}: {why}");
    }
    let order = OverruleOrder { site: "shop".into(), ..OverruleOrder::default() };
    assert_eq!(server.overrule(&order), Err("no site is called shop; there are: forum".into()));
    let lines = server.overrule(&OverruleOrder::default()).expect("what was ruled");
    assert_eq!(lines[0].text, "nothing");
}

#[test]
fn who_asks_why_is_told_what_was_ruled_about_that_request() {
    let server = server(&Kept::default());
    order(&server, Act::Rule(Rule::ForeignCookies), "width").expect("it may be");
    order(&server, Act::Rule(Rule::NeverShare), &shape("/thread/5")).expect("it may be");
    order(&server, Act::Rule(Rule::AppCookies), "other").expect("it may be");
    let question = crate::Question {
        url: "http://a.test/thread/7".into(),
        cookies: "width=800".into(),
        ..crate::Question::default()
    };
    let lines = server.explain(&question);
    let ruled: Vec<_> = lines.iter().filter(|line| line.topic == "ruled").collect();
    assert_eq!(ruled.len(), 2, "{lines:?}");
    assert_eq!(ruled[0].text, "foreign_cookies = [\"width\"], by the test, 0 s ago");
}

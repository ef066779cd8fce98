//! Several sources of one site: none cuts short what another has to settle. And what follows
//! from a change while a persona asks.

use base::Clock;
use changes::{Change, KeyClass, Operation, Source, Values, noise};
use origin::{FilesOrigin, Origin};

use super::*;
use crate::following::traffic::Asker;
use crate::{ServerConfig, SiteConfig, StrangerRules};

/// A kind of change whose rows can be told apart.
fn vote() -> Change {
    let key = KeyClass::Plain;
    Change { operation: Operation::Insert, key, ..Change::anything("site", "votes") }
}

/// A listener to two sources that are heard by these means, with nothing to settle.
fn listener(means: [Means; 2]) -> Listener {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new("/nowhere")));
    site.strangers = Some(StrangerRules::default());
    site.changes = vec![Source::Other("told".into()); means.len()];
    let config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
    let server = Server::new(config, Clock::manual(0));
    let site = server.sites().only().expect("one site").clone();
    let following = site.following.clone().expect("it has sources");
    let count = means.len();
    let mut listener = Listener::new(server, site, following, count, Omission::Nothing);
    for (index, means) in means.into_iter().enumerate() {
        listener.take(index, Heard::By(means));
        listener.take(index, Heard::Event(Event::Recovered));
        listener.take(index, Heard::Event(Event::Idle));
    }
    listener.settle();
    assert!(listener.due().is_none() && !listener.site.generations.is_settling());
    listener
}

fn change() -> Heard {
    Heard::Event(Event::Change(Change::anything("site", "posts")))
}

#[tokio::test(start_paused = true)]
async fn a_source_that_stands_still_doesnt_speak_for_another_that_moves() {
    let mut listener = listener([Means::Poll, Means::Poll]);
    listener.take(0, change());
    listener.take(1, change());
    listener.take(1, Heard::Event(Event::Idle));
    assert!(listener.due().is_none(), "the first has not come to rest");
    listener.take(0, Heard::Event(Event::Idle));
    assert!(listener.due().is_some());
}

/// Whether a tap beside which only so much is told in each round is restless after many.
async fn is_restless(changes: &[Change], pause: Duration) -> bool {
    let mut listener = listener([Means::Tap, Means::Log]);
    for _ in 0..100 {
        for change in changes {
            listener.take(0, Heard::Event(Event::Change(change.clone())));
            listener.take(0, Heard::Event(Event::Commit(None)));
            let is_restless = listener.ears[0].calm.is_restless();
            assert!(listener.due().is_some() || is_restless, "they can be read at once");
        }
        tokio::time::advance(pause).await;
        listener.settle();
    }
    listener.ears[0].calm.is_restless()
}

#[tokio::test(start_paused = true)]
async fn a_tap_is_restless_where_others_change_a_table_all_the_time() {
    let anything = Change::anything("site", "posts");
    let told = Change { operation: Operation::Insert, ..anything.clone() };
    assert!(is_restless(std::slice::from_ref(&anything), ROUND).await);
    let both = [told.clone(), told.clone(), anything.clone(), told.clone()];
    assert!(is_restless(&both, ROUND).await, "what the app writes hides nothing");
    assert!(!is_restless(&[told], ROUND).await, "those are told apart");
    assert!(!is_restless(&[anything], ROUND / 100).await, "all at once");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_lost_is_waited_for_no_more() {
    let mut listener = listener([Means::Poll, Means::Log]);
    listener.take(0, change());
    assert!(listener.due().is_none());
    for why in [Lost::Disconnected, Lost::Silent] {
        listener.take(0, Heard::Event(Event::Lost(why)));
        assert!(listener.due().is_some());
        listener.take(0, change());
        assert!(listener.due().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_turns_restless_doesnt_end_what_another_has_to_settle() {
    let mut listener = listener([Means::Poll, Means::Log]);
    listener.take(1, change());
    let is_restless = (0..100).any(|_| {
        listener.take(0, change());
        listener.take(0, Heard::Event(Event::Commit(None)));
        listener.ears[0].calm.is_restless()
    });
    assert!(is_restless && !listener.following.is_heard());
    assert!(listener.due().is_some() && listener.site.generations.is_settling());
    listener.settle();
    assert!(listener.due().is_none() && !listener.site.generations.is_settling());
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_a_persona_reads_is_not_looked_for_in_pages_that_dont_show_it() {
    for (key, is_named, is_looked_for) in [
        (KeyClass::of(["_transient_feed_1f3a9c"]), false, true),
        // Posts that begin with the same words are posts all the same.
        (KeyClass::of(["candle-number-8"]), true, false),
        (KeyClass::Plain, false, false),
    ] {
        let mut listener = listener([Means::Log, Means::Log]);
        listener.following.traffic.lock().begin(Asker::Persona, "/".into());
        let change = Change { key, values: Values::named(is_named), ..vote() };
        listener.take(0, Heard::Event(Event::Change(change.clone())));
        let by_reading = listener.settling.as_ref().and_then(|one| one.by_reading.as_ref());
        assert_eq!(by_reading.is_some(), is_looked_for, "{change:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_class_whose_fetch_writes_is_fetched_by_nobody_unasked_until_it_was_probed() {
    let mut listener = listener([Means::Log, Means::Log]);
    let (site, following) = (listener.site.clone(), listener.following.clone());
    let may_ask = |target: &str| following.may_ask_unasked(&site, target);
    let told = || Heard::Event(Event::Change(vote()));
    // While a visitor asks as well it may be the visitor's doing.
    let persona = following.traffic.lock().begin(Asker::Persona, "/like?id=1".into());
    let visitor = following.traffic.lock().begin(Asker::Reader, "/".into());
    listener.take(0, told());
    assert!(may_ask("/like?id=1"));
    following.traffic.lock().end(visitor, 1);
    listener.take(0, told());
    assert!(!may_ask("/like?id=1") && !may_ask("/like?id=2"), "the whole class");
    assert!(may_ask("/topic?id=1"));
    following.traffic.lock().end(persona, 2);
    // Probes that find nothing are an answer too.
    let mut at = 10_000;
    for persona in [noise::Persona::Fresh, noise::Persona::Returning, noise::Persona::Fresh] {
        let mut learner = following.learner.lock();
        learner.probe_began("/like?id=1", &shape("/like?id=1"), persona, at);
        learner.probe_ended(at + 1);
        at += 10;
    }
    following.learner.lock().end_burst();
    assert!(may_ask("/like?id=1"));
}

#[tokio::test(start_paused = true)]
async fn what_a_site_goes_by_is_known_as_long_as_all_is_heard_for_all_nodes() {
    let mut listener = listener([Means::Log, Means::Log]);
    let following = listener.following.clone();
    assert_eq!(following.goes_by(), None, "this node reads both for itself");
    let mut begin = |index, beginning| {
        listener.take(index, Heard::Event(Event::Lost(Lost::Silent)));
        assert_eq!(following.goes_by(), None);
        listener.take(index, Heard::From(beginning));
        assert_eq!(following.goes_by(), None, "nothing was swept yet");
        listener.take(index, Heard::Event(Event::Recovered));
        following.goes_by()
    };
    assert_eq!(begin(0, 7), None, "the other one is its own");
    let first = begin(1, 8);
    assert!(first.is_some());
    let second = begin(0, 9);
    assert!(second.is_some() && second != first);
    assert_eq!(begin(1, 8), second);
    // The same sources, named in another order.
    assert!(begin(0, 8).is_some());
    assert_eq!(begin(1, 9), second);
}

#[tokio::test(start_paused = true)]
async fn a_table_that_changes_with_each_reading_is_no_news_unless_another_changes_beside_it() {
    let mut listener = listener([Means::Poll, Means::Log]);
    let (site, following) = (listener.site.clone(), listener.following.clone());
    let round = |listener: &mut Listener, asker, tables: &[&str]| {
        let (content, usual) = (site.generations.content(), site.generations.usual());
        let number = following.traffic.lock().begin(asker, "/".into());
        following.traffic.lock().end(number, 0);
        for table in tables {
            let change = Change::anything("site", table);
            listener.take(0, Heard::Event(Event::Change(change)));
        }
        listener.take(0, Heard::Event(Event::Commit(None)));
        listener.take(0, Heard::Event(Event::Idle));
        listener.settle();
        (site.generations.content() - content, site.generations.usual() - usual)
    };
    for _ in 0..6 {
        round(&mut listener, Asker::Reader, &["cache"]);
    }
    let (content, usual) = round(&mut listener, Asker::Reader, &["cache"]);
    assert!(content >= 2 && content == usual, "{content} {usual}");
    let (_, usual) = round(&mut listener, Asker::Reader, &["cache", "posts"]);
    assert_eq!(usual, 0, "an edit beside it");
    let (_, usual) = round(&mut listener, Asker::Writer, &["cache"]);
    assert_eq!(usual, 0, "somebody writes");
}

#[tokio::test(start_paused = true)]
async fn what_may_have_changed_once_more_is_swept_and_holds_up_nothing() {
    let mut listener = listener([Means::Poll, Means::Log]);
    let round = |listener: &mut Listener, is_again| {
        let change = Change { is_again, ..Change::anything("site", "posts") };
        listener.take(0, Heard::Event(Event::Change(change)));
        listener.take(0, Heard::Event(Event::Commit(None)));
    };
    round(&mut listener, false);
    assert!(listener.due().is_none(), "others may not be able to read it yet");
    round(&mut listener, true);
    assert!(listener.due().is_some() && listener.site.generations.is_settling());
    let before = listener.site.generations.content();
    listener.settle();
    round(&mut listener, true);
    assert!(listener.site.generations.content() > before + 1 && listener.due().is_some());
    round(&mut listener, false);
    assert!(listener.due().is_none(), "it did change once more");
    listener.take(0, Heard::Event(Event::Idle));
    assert!(listener.due().is_some());
}

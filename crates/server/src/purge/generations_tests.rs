//! What one purge does to one page, and to those that came before and after it.

use super::*;
use crate::pipeline;
use crate::purge::book::BANS_MAX;
use crate::purge::marks::{host_mark, tag_mark};

const TEXT: &[u8] = b"http|a.test|/blog/x";

fn key(text: &[u8]) -> Key<'_> {
    Key { hash: pipeline::hash(text), text }
}

fn page(generations: &Generations) -> Marks {
    let tags = [&b"a"[..], b"b"].iter().map(|tag| tag_mark(tag)).collect();
    Marks::with_tags(generations.moment(), "a.test", tags)
}

/// How a page stands that was there before a purge; one that comes after it stands well.
fn check(purge: impl Fn(&Generations, Mode), is_meant: bool) {
    for (mode, expected) in
        [(Mode::Hard, Standing::Gone), (Mode::Soft, Standing::Softened { since_ticks_ms: 7 })]
    {
        let generations = Generations::default();
        let before = page(&generations);
        assert_eq!(generations.standing(&before, &key(TEXT), 5), Standing::Good);
        purge(&generations, mode);
        let expected = if is_meant { expected } else { Standing::Good };
        assert_eq!(generations.standing(&before, &key(TEXT), 7), expected, "{mode:?}");
        assert_eq!(generations.standing(&before, &key(TEXT), 9), expected, "{mode:?}, again");
        let after = page(&generations);
        assert_eq!(generations.standing(&after, &key(TEXT), 9), Standing::Good);
        generations.purge_marked([tag_mark(b"other")].into_iter(), Mode::Hard);
        assert_eq!(generations.standing(&before, &key(TEXT), 9), expected, "{mode:?}, later");
        assert_eq!(generations.standing(&after, &key(TEXT), 9), Standing::Good);
    }
}

#[test]
fn a_page_goes_with_whatever_it_is_found_under() {
    let marked = |mark: u64, is_meant| {
        check(move |all, mode| all.purge_marked([1, mark, 2].into_iter(), mode), is_meant);
    };
    marked(tag_mark(b"a"), true);
    marked(tag_mark(b"b"), true);
    marked(tag_mark(b"c"), false);
    marked(host_mark("a.test"), true);
    marked(host_mark("a.test:8080"), true);
    marked(host_mark("b.test"), false);
    marked(key(TEXT).hash, true);
    marked(key(b"http|a.test|/blog").hash, false);
    check(Generations::purge_all, true);
}

#[test]
fn beginnings_and_patterns_are_held_against_host_and_target() {
    let banned = |host: Option<&'static str>, ban: Ban, is_meant| {
        check(move |all, mode| all.purge_banned(host, ban.clone(), mode), is_meant);
    };
    let beginning = |text: &str| Ban::Beginning(text.to_owned());
    banned(None, beginning("/blog/"), true);
    banned(Some("a.test:80"), beginning("/blog/"), true);
    banned(Some("b.test"), beginning("/blog/"), false);
    banned(None, beginning("/blog/y"), false);
    banned(None, beginning("blog"), false);
    banned(None, Ban::Exactly("/blog/x".into()), true);
    banned(None, Ban::Exactly("/blog".into()), false);
}

#[test]
fn a_page_that_was_being_made_during_a_purge_is_older() {
    let generations = Generations::default();
    let began = generations.moment();
    generations.purge_marked([tag_mark(b"a")].into_iter(), Mode::Hard);
    let marks = Marks::with_tags(began, "a.test", vec![tag_mark(b"a")]);
    assert_eq!(generations.standing(&marks, &key(TEXT), 1), Standing::Gone);
    let other = Marks::with_tags(began, "a.test", vec![tag_mark(b"b")]);
    assert_eq!(generations.standing(&other, &key(TEXT), 1), Standing::Good);
}

#[test]
fn the_refresh_for_a_soft_purge_is_given_leave_once() {
    let generations = Generations::default();
    let marks = page(&generations);
    marks.refreshed();
    assert!(marks.has_leave(), "it was not for a purge");
    generations.purge_all(Mode::Soft);
    assert!(matches!(
        generations.standing(&marks, &key(TEXT), 1),
        Standing::Softened { since_ticks_ms: 1 }
    ));
    assert!(marks.has_leave());
    marks.refreshed();
    assert!(!marks.has_leave());
}

#[test]
fn names_without_room_purge_everything_and_that_is_counted() {
    let generations = Generations::with_room(10);
    let marks = page(&generations);
    generations.purge_marked(100..110, Mode::Soft);
    generations.purge_marked(100..110, Mode::Soft);
    assert_eq!(generations.standing(&marks, &key(TEXT), 1), Standing::Good);
    assert_eq!(generations.widened.read(), 0);
    generations.purge_marked([1].into_iter(), Mode::Soft);
    assert_eq!(generations.standing(&marks, &key(TEXT), 1), Standing::Gone);
    assert_eq!(generations.widened.read(), 1);
    let after = page(&generations);
    generations.purge_marked(100..110, Mode::Hard);
    assert_eq!(generations.standing(&after, &key(TEXT), 1), Standing::Good, "there is room again");
}

#[test]
fn a_ban_for_which_there_is_no_room_purges_what_is_older() {
    let generations = Generations::default();
    let old = page(&generations);
    let ban = |number: usize| {
        generations.purge_banned(None, Ban::Exactly(format!("/{number}")), Mode::Hard);
    };
    ban(0);
    let young = page(&generations);
    (1..BANS_MAX).for_each(ban);
    // The same again takes no room.
    (1..BANS_MAX).for_each(ban);
    assert_eq!(generations.standing(&old, &key(TEXT), 1), Standing::Good);
    ban(BANS_MAX);
    assert_eq!(generations.standing(&old, &key(TEXT), 1), Standing::Gone);
    assert_eq!(generations.standing(&young, &key(TEXT), 1), Standing::Good);
    assert_eq!(generations.widened.read(), 1);
}

//! What moves the count of content, and which pages are kept after it.

use changes::{Column, KeyClass, Values};

use super::*;

const FEW: Demands = Demands { batches: 3, same: 3, pages: 1, changed: 3, again: 1 };

/// A post in this thread was changed.
fn post(thread: u64) -> Change {
    let mut values = Values::default();
    values.note(Column::named("thread"), &thread.to_string());
    let (operation, key) = (Operation::Update, KeyClass::Plain);
    Change { operation, key, values, ..Change::anything("site", "posts") }
}

struct Stage {
    scope: Scope,
    generations: Generations,
}

impl Stage {
    fn new(demands: Option<Demands>) -> Self {
        Self { scope: Scope::new(demands, Vec::new()), generations: Generations::default() }
    }

    fn change(&self, change: Option<&Change>) {
        self.scope.change(&self.generations, change.map(|change| (0, change)));
    }

    fn settle(&self) {
        self.scope.settle(&self.generations, true, true);
    }

    /// An edit of a thread, after which its page has changed and another has not.
    fn edit(&self, thread: u64) {
        let from = self.generations.content();
        self.change(Some(&post(thread)));
        self.settle();
        self.see(from, thread, Seen::Changed);
        self.see(from, thread + 1, Seen::Same);
    }

    fn see(&self, from: u64, thread: u64, seen: Seen) -> Option<String> {
        let (spelled, route) = route_of("a.test", &format!("/t?id={thread}")).expect("a route");
        let counts = (from, self.generations.content());
        self.scope.observe((&spelled, &route), counts, seen)
    }

    /// Of many pages of other threads, how many are kept from then on, in percent.
    fn kept(&self, from: u64) -> u64 {
        let (_, route) = route_of("a.test", "/t?id=99").expect("a route");
        let to = self.generations.content();
        let page = |number: u64| pipeline::hash(&number.to_le_bytes());
        let is_kept = |number: &u64| self.scope.kept(&route, page(*number), from, to).is_some();
        (0..1000).filter(is_kept).count() as u64 / 10
    }

    fn proved() -> Self {
        let stage = Self::new(Some(FEW));
        (1..=3).for_each(|thread| stage.edit(thread * 10));
        assert_eq!(stage.scope.inner.lock().proofs.proved(), 1);
        stage
    }
}

/// What happens, step by step, between two counts of content after a proof: `edit`, or its
/// `change` and `settle`, with other things between.
fn check(steps: &str, is_kept: bool) {
    let stage = Stage::proved();
    let from = stage.generations.content();
    let schema = Change { operation: Operation::Schema, ..Change::anything("", "") };
    for step in steps.split_whitespace() {
        match step {
            "edit" => {
                stage.change(Some(&post(7)));
                stage.settle();
            }
            "change" => stage.change(Some(&post(7))),
            "change-of-it" => stage.change(Some(&post(99))),
            "elsewhere" => stage.change(Some(&Change { database: "other".into(), ..post(7) })),
            "anything" => stage.change(Some(&Change::anything("site", "posts"))),
            "definition" => stage.change(Some(&schema)),
            "untold" => stage.change(None),
            "sweep" => _ = stage.generations.note_change(),
            "write" => stage.scope.write(&stage.generations, "POST", "/reply"),
            "settle" => stage.settle(),
            "settle-unheard" => stage.scope.settle(&stage.generations, true, false),
            "loss" => stage.scope.doubt(),
            other => panic!("no step is called {other}"),
        }
    }
    assert!(stage.generations.content() > from, "{steps}");
    assert_eq!(stage.kept(from) > 80, is_kept, "{steps}: {} %", stage.kept(from));
}

#[test]
fn only_what_was_told_and_proved_keeps_pages() {
    for (steps, is_kept) in [
        ("edit", true),
        ("edit edit", true),
        ("change change settle", true),
        // It isn't over; it names this very page.
        ("change", false),
        ("change-of-it settle", false),
        // Something else in the same moment, or in none that was told.
        ("change anything settle", false),
        ("change untold settle", false),
        ("change sweep settle", false),
        ("edit sweep", false),
        ("change elsewhere settle", false),
        ("elsewhere settle", false),
        // A write of which nothing was heard yet, and one by an address not proved.
        ("write edit", false),
        ("change write settle", false),
        // What was proved may not be so any more.
        ("change settle-unheard", false),
        ("loss edit", false),
        ("definition settle edit", false),
    ] {
        check(steps, is_kept);
    }
}

#[test]
fn a_write_belongs_to_the_changes_that_were_heard_of_it() {
    let stage = Stage::new(Some(FEW));
    let reply = |thread: u64, pages: bool| {
        let from = stage.generations.content();
        stage.change(Some(&post(thread)));
        stage.scope.write(&stage.generations, "POST", &format!("/reply?id={thread}"));
        stage.settle();
        if pages {
            stage.see(from, thread, Seen::Changed);
            stage.see(from, thread + 1, Seen::Same);
        }
        from
    };
    (1..=3).for_each(|thread| _ = reply(thread * 10, true));
    let from = reply(7, false);
    assert!(stage.kept(from) > 80);
    let proofs = stage.scope.inner.lock().proofs.kept();
    assert_eq!(proofs[0].kind, "POST /reply?id=* + update posts in site");
}

#[test]
fn a_page_that_differs_and_was_kept_ends_the_proof_and_is_told_in_words() {
    let stage = Stage::proved();
    let from = stage.generations.content();
    stage.edit(7);
    let why = stage.see(from, 99, Seen::Changed).expect("it is refuted");
    assert_eq!(
        why,
        "update posts in site changed a page of a.test/t?id=* (1) that it doesn't name"
    );
    let from = stage.generations.content();
    stage.edit(7);
    assert_eq!((stage.kept(from), stage.scope.counts.refuted.read()), (0, 1));
    assert!(stage.scope.news().is_some_and(|kept| kept[0].is_refuted));
    assert!(stage.scope.news().is_none(), "it was noted");
}

#[test]
fn where_the_owner_wants_none_nothing_is_kept() {
    let stage = Stage::new(None);
    let from = stage.generations.content();
    (1..=9).for_each(|thread| stage.edit(thread * 10));
    assert_eq!((stage.kept(from), stage.generations.content()), (0, from + 18));
    let mut said = Vec::new();
    stage.scope.tell("a.test", "/t?id=1", &mut |_, text| said.push(text));
    assert_eq!(said, ["every change sweeps the whole site"]);
}

#[test]
fn rows_with_names_of_authors_are_of_one_kind_and_those_of_programmers_are_not() {
    let signature = |name: &str| {
        let key = KeyClass::Of(name.into());
        Signature::from(&Change { key, ..Change::anything("site", "t") })
    };
    let line = |name: &str, is_named| line(1, signature(name), is_named);
    assert_eq!(line("a-lamp", true), line("a-wick", true));
    assert_eq!(line("blogname", false), "change t[blogname] in site (source 2)");
}

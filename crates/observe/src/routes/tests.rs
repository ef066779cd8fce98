//! Routes as they are learned, and what a flood of paths does to them.

use super::*;

/// Routes with as many requests as were made here.
#[derive(Default)]
struct Story {
    routes: Routes,
    requests: BTreeMap<u16, u64>,
}

impl Story {
    fn ask(&mut self, path: &str) -> String {
        self.ask_of("site", path, true)
    }

    fn ask_of(&mut self, site: &str, path: &str, teaches: bool) -> String {
        let requests = self.requests.clone();
        let weigh = move |number: u16| requests.get(&number).copied().unwrap_or_default();
        let number = self.routes.find(site, path, teaches, &weigh);
        for (from, to) in self.routes.take_moves() {
            let moved = self.requests.remove(&from).unwrap_or_default();
            *self.requests.entry(to).or_default() += moved;
        }
        *self.requests.entry(number).or_default() += 1;
        self.routes.name(number).expect("a number that was given has a name").route.clone()
    }

    fn names(&self) -> Vec<String> {
        let all = self.routes.names.iter().flatten();
        all.map(|name| format!("{}{}", name.site, name.route)).collect()
    }
}

#[test]
fn paths_of_one_kind_have_one_route() {
    let mut story = Story::default();
    for (path, route) in [
        ("/", "/"),
        ("//", "/"),
        ("/thread/123", "/thread/{id}"),
        ("/thread/9/", "/thread/{id}"),
        ("/thread/9/edit", "/thread/{id}/edit"),
        ("/2026/11/hello", "/{date}/{date}/hello"),
        ("/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/h/{rest}"),
        ("*", "/*"),
        ("", "/"),
    ] {
        assert_eq!(story.ask(path), route, "{path}");
    }
}

#[test]
fn more_words_than_an_app_has_are_values_and_their_counts_go_along() {
    let mut story = Story::default();
    let name = |at: usize| {
        format!("{}", (b'a' + (at / 26) as u8) as char) + &"xyz"[at % 3..] + &"q".repeat(at % 26)
    };
    for at in 0..WORDS_MAX {
        let word = name(at);
        assert_eq!(story.ask(&format!("/user/{word}/posts")), format!("/user/{word}/posts"));
    }
    assert_eq!(story.ask("/user/one-more/posts"), "/user/{}/posts");
    assert_eq!(story.ask("/user/another/posts"), "/user/{}/posts");
    assert_eq!(story.ask(&format!("/user/{}/posts", name(3))), "/user/{}/posts");
    assert_eq!(story.names(), ["", "site/user/{}/posts"]);
    assert_eq!(story.requests.values().sum::<u64>(), WORDS_MAX as u64 + 3);
    assert_eq!(story.requests.iter().filter(|(_, count)| **count > 0).count(), 1);
}

#[test]
fn a_word_that_many_ask_for_stays_one_among_values() {
    let mut story = Story::default();
    for _ in 0..200 {
        story.ask("/forum/new");
    }
    for at in 0..WORDS_MAX * 2 {
        story.ask(&format!("/post{}", "x".repeat(at % 40)));
    }
    assert_eq!(story.ask("/forum/new"), "/forum/new");
    assert_eq!(story.ask("/postx"), "/{}");
}

#[test]
fn what_is_not_there_teaches_nothing() {
    let mut story = Story::default();
    assert_eq!(story.ask_of("site", "/wp-login.php", false), "");
    story.ask("/thread/1");
    for at in 0..500 {
        let path = format!("/thread/{}", "z".repeat(at % 47 + 1));
        assert_eq!(story.ask_of("site", &path, false), "");
    }
    assert_eq!(story.ask_of("site", "/thread/9", false), "/thread/{id}");
    assert_eq!(story.names().len(), 2);
}

/// What an attacker sends: words of every depth, on several sites.
fn flood(story: &mut Story, seed: u64, requests: usize) {
    let mut dice = seed;
    let mut roll = move |below: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice % below
    };
    for _ in 0..requests {
        let mut path = String::new();
        for _ in 0..=roll(12) {
            path.push('/');
            // Few words at first, so that each place stays open as long as it can.
            for _ in 0..=roll(3) {
                path.push((b'a' + roll(20) as u8) as char);
            }
        }
        let site = format!("site{}", roll(3));
        story.ask_of(&site, &path, true);
    }
}

#[test]
fn a_flood_of_paths_takes_no_more_than_its_bound_and_keeps_what_people_ask_for() {
    let mut story = Story::default();
    for _ in 0..300 {
        story.ask("/forum/index");
        story.ask("/");
    }
    flood(&mut story, 0x5eed, 20_000);
    assert!(story.names().len() <= ROUTES_MAX + 1);
    assert_eq!(story.requests.values().sum::<u64>(), 20_600, "none is lost");
    fn nodes(node: &Node) -> usize {
        1 + node.children.values().map(nodes).sum::<usize>()
    }
    let nodes: usize = story.routes.sites.values().map(nodes).sum();
    assert!(nodes <= (ROUTES_MAX + 1) * (SEGMENTS_MAX + 1), "{nodes}");
    assert_eq!(story.ask("/forum/index"), "/forum/index");
}

#[test]
fn the_same_requests_make_the_same_routes() {
    let [mut one, mut other] = [Story::default(), Story::default()];
    flood(&mut one, 7, 5000);
    flood(&mut other, 7, 5000);
    assert_eq!(one.names(), other.names());
    let mut third = Story::default();
    flood(&mut third, 8, 5000);
    assert_ne!(one.names(), third.names(), "the flood matters");
}

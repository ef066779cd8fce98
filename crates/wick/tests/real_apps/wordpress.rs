//! WordPress with MariaDB: pretty addresses, comments of guests, a log-in that asks for
//! a cookie that its own page has set.

use crate::apps::{self, PASSWORD, USER};
use crate::edits::{self, Beside};
use crate::new_items::{self, Items};
use crate::person::{GuestHands, Hands};
use crate::search::{self, Sought};
use crate::strangers::{self, Case, LogIn};
use crate::visitor::{Page, Visitor};
use crate::{ready, removed};

const CASE: Case = Case {
    name: "WordPress",
    start: &["/", "/candle-number-1/"],
    pages: [36, 20],
    own: &[],
    log_in: LogIn {
        page: "/wp-login.php",
        // With no-cache, unlike what strangers read.
        is_shared: false,
        mark: "name=\"pwd\"",
        fields: &[("log", USER), ("pwd", PASSWORD), ("wp-submit", "Log In")],
        known_on: "/candle-number-1/",
        proof: "id=\"wpadminbar\"",
    },
    hands: Some(Hands {
        fields: &[("#user_login", USER), ("#user_pass", PASSWORD)],
        button: "#wp-submit",
        proof: "#wpadminbar",
        is_never_kept: false,
    }),
    guest_hands: Some(GuestHands {
        page: "/candle-number-3/",
        fields: &[
            ("#comment", "One for the window, please."),
            ("#author", "Cid"),
            ("#email", "cid@example.org"),
        ],
        proof: "One for the window, please.",
    }),
    guest_page: "/candle-number-3/",
    guest,
};

/// A comment, which everybody then reads.
fn guest(guest: &Visitor, post: Page) {
    const MARK: &str = "id='comment_post_ID'";
    let words = "This one burns well & long.";
    let written =
        [("comment", words), ("author", "Bob"), ("email", "bob@example.org"), ("url", "")];
    let shown = "This one burns well &amp; long.";
    guest.submit(&post, MARK, &written).expect("a guest's comment", shown);
    guest.get("/candle-number-3/").expect("the post with it", shown);
    let found = guest.get("/?s=workshop");
    found.expect("a search", "Workshop 2");
}

#[test]
fn strangers_of_wordpress_are_served_from_memory() {
    let Some(app) = ready(apps::wordpress(&[])) else { return };
    strangers::check(&CASE, &app.folder.root().display().to_string());
    let items = Items {
        page: "/",
        elsewhere: "/candle-number-1/",
        items: "li.wp-block-post",
        date: "time",
    };
    new_items::are_marked(CASE.name, &app.folder.root(), &items);
    let sought = Sought {
        visited: &["/"],
        words: "candle number 7",
        page: "/candle-number-7/",
        write: |guest, word| {
            let post = guest.get("/candle-number-9/");
            let written =
                [("comment", word), ("author", "Dan"), ("email", "dan@example.org"), ("url", "")];
            guest.submit(&post, "id='comment_post_ID'", &written).expect("a comment", word);
            "/candle-number-9/"
        },
        editor: &CASE.log_in,
        edit: edit_candle_9,
    };
    search::is_made(CASE.name, &app.folder.root(), &sought);
    removed(app);
}

#[test]
#[ignore = "it judges nothing: it prints how long edits take until they are found"]
fn edits_of_wordpress_are_timed() {
    let Some(app) = ready(apps::wordpress(&[])) else { return };
    let sought = Sought {
        visited: &["/", "/candle-number-9/"],
        words: "candle",
        page: "/candle-number-7/",
        write: edit_candle_9,
        editor: &CASE.log_in,
        edit: edit_candle_9,
    };
    let beside = Beside {
        database: app.database.as_ref().expect("it has one"),
        statements: |old, new| {
            format!(
                "USE site; UPDATE wp_posts SET post_content = \
                 REPLACE(post_content, '{old}', '{new}') WHERE post_type = 'post';"
            )
        },
    };
    edits::are_timed(CASE.name, &app.folder.root(), &sought, &beside);
    removed(app);
}

/// Writes a word in the place of a post's text, as the editor's script does, and looks at it.
fn edit_candle_9(author: &Visitor, word: &str) -> &'static str {
    const PAGE: &str = "/candle-number-9/";
    let post = author.get(PAGE).expect("the post", "postid-");
    let text = post.text();
    let digits = text.split("postid-").nth(1).unwrap_or_default();
    let id = digits.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    let nonce = author.get("/wp-admin/admin-ajax.php?action=rest-nonce").text();
    let path = format!("/wp-json/wp/v2/posts/{id}?_wpnonce={nonce}");
    let json = format!("{{\"content\":\"<p>{word}</p>\"}}");
    author.post_json(&path, &json).expect("it is saved", word);
    author.get(PAGE).expect("what was written", word);
    PAGE
}

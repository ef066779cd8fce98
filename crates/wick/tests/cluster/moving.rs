//! A PHP site before which there are three Wicks: a stranger's form that one of them showed is
//! sent to another.

use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;

use crate::board::{Node, until_in_touch};
use crate::nats::Nats;
use crate::php::lay_out;
use crate::wick::{self, Wick, until};

/// One whose forms bear a token of their session.
const SPECIMEN: &str = "token-hidden-field";
const PAGE: &str = "/post/1";

struct Moving {
    nodes: Vec<Node>,
    nats: Nats,
    site: String,
    _folder: TempDir,
}

/// Nodes of which each runs the site on its own; data and sessions are the same.
fn moving(count: usize, secret: &str) -> Option<Moving> {
    if !wick::has_php() {
        return None;
    }
    let nats = Nats::start(1)?;
    let folder = lay_out(SPECIMEN);
    let root = folder.path().join(SPECIMEN).display().to_string();
    let site = format!(
        "origin = \"{root}\"\nphp_children = 2\nchanges = \"off\"\nstrangers_fresh = \"1h\"\n"
    );
    let node = |at: usize| Node::start_as(&format!("n{at}"), &site, &nats, secret);
    let nodes: Vec<_> = (0..count).map(node).collect();
    until_in_touch(&nodes);
    Some(Moving { nodes, nats, site, _folder: folder })
}

fn get(node: &Node, cookie: &str) -> String {
    wick::ask(node.address, &format!("GET {PAGE}\nHost: board.test\n{cookie}"))
}

fn token(page: &str) -> String {
    let rest = page.split_once("name=\"token\" value=\"").expect("a form with a token").1;
    rest.split_once('"').expect("its end").0.to_owned()
}

/// The token that a stranger reads at a node, once the page is shared.
fn read(node: &Node) -> String {
    let mut shown = String::new();
    until("strangers share the page", || {
        shown = get(node, "");
        shown.contains("wick; hit")
    });
    assert!(!shown.to_lowercase().contains("set-cookie"), "{shown}");
    token(&shown)
}

/// The same, once it is laid down for the others.
fn read_laid_down(node: &Node) -> String {
    let token = read(node);
    until_laid_down(node);
    token
}

fn until_laid_down(node: &Node) {
    until("it is laid down", || {
        let counts = node.status()["deposits"].clone();
        counts["laid"] != 0 && counts["waiting"] == 0 && counts["lost"] == 0
    });
}

/// Sends the page's form.
fn comment(node: &Node, token: &str, words: &str, more: &str) -> String {
    let body = format!("token={token}&author=Ed&body={words}");
    let request = format!(
        "POST {PAGE} HTTP/1.1\nHost: board.test\nReferer: http://board.test{PAGE}\nContent-Type: \
         application/x-www-form-urlencoded\nContent-Length: {}\n{more}Connection: close\n\n{body}",
        body.len()
    );
    wick::rest(wick::send(node.address, &request))
}

const OWN: &str = "Origin: http://board.test\n";

/// The same until it is written, which a machine that is busy may not come to at once: who asks
/// NATS waits for a second. What is refused has no effect.
fn write(node: &Node, token: &str, words: &str, more: &str) -> String {
    let mut answer = String::new();
    until(words, || {
        answer = comment(node, token, words, more);
        let is_written = answer.starts_with("HTTP/1.1 303");
        if !is_written {
            // Only so many sessions begin in a minute.
            sleep(Duration::from_millis(500));
        }
        is_written
    });
    answer
}

fn cookie(answer: &str) -> String {
    let set = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then_some(value)
    });
    let pair = set.and_then(|set| set.split(';').next());
    format!("Cookie: {}\n", pair.unwrap_or_else(|| unreachable!("no session: {answer}")))
}

fn is_there(node: &Node, words: &str) -> bool {
    get(node, "").contains(words)
}

#[test]
fn a_form_is_sent_to_any_node_though_the_one_that_showed_it_is_gone() {
    let secret = "secret = \"a-secret-of-many-letters\"\n";
    // The last is ended first: a node that can't say goodbye tries for a while.
    let Some(Moving { _folder, nats, mut nodes, .. }) = moving(3, secret) else { return };
    // Read at one, written at another that never had the page.
    let read_token = read_laid_down(&nodes[0]);
    let answer = write(&nodes[1], &read_token, "moved-one", OWN);
    let first = cookie(&answer);
    for node in &nodes {
        until("all show it", || is_there(node, "moved-one"));
    }
    // The page that is still open sends what it was given, and may send it to any node.
    let first_own = format!("{OWN}{first}");
    write(&nodes[2], &read_token, "again", &first_own);
    // It is a session of its own, by which its visitor goes on at any node.
    let own = token(&get(&nodes[2], &first));
    assert_ne!(own, read_token);
    write(&nodes[0], &own, "moved-two", &first_own);
    // Loaded again at one, the page is no stranger's any more at any.
    for node in &nodes {
        until("the page is closed", || {
            comment(node, &read_token, "closed", &first_own).starts_with("HTTP/1.1 403")
        });
    }
    // Whoever else read the same copy gets another one.
    let answer = write(&nodes[2], &read_token, "moved-three", OWN);
    assert_ne!(cookie(&answer), first);

    // What nobody knows, or no page of the site sends, is as the app finds it.
    let unknown = "0123456789abcdef0123456789abcdef";
    let evil = "Origin: http://evil.test\n";
    for (token, origin) in [(unknown, OWN), (&read_token, evil), (&read_token, "")] {
        let answer = comment(&nodes[1], token, "refused", origin);
        assert!(answer.starts_with("HTTP/1.1 403"), "{origin}: {answer}");
    }

    // Read at one that dies.
    let read_token = read_laid_down(&nodes[0]);
    nodes[0].kill();
    write(&nodes[2], &read_token, "outlived", OWN);
    until("another shows it", || is_there(&nodes[1], "outlived"));
    assert!(!is_there(&nodes[1], "refused"));

    // Nothing of it can be read where it lies.
    until("what is told is kept", || nats.keeps("app_cookies"));
    let session = first.trim_end().rsplit_once('=').expect("a cookie").1;
    for secret in [&*read_token, &own, session, "a-secret-of-many-letters"] {
        assert!(!nats.keeps(secret), "{secret}");
    }
}

#[test]
fn a_node_that_begins_later_knows_which_pages_are_still_open() {
    let secret = "secret = \"a-secret-of-many-letters\"\n";
    let Some(Moving { _folder, nats, site, mut nodes }) = moving(2, secret) else { return };
    let read_token = read_laid_down(&nodes[0]);
    let begin = |node: &Node, words: &str| {
        let session = cookie(&write(node, &read_token, words, OWN));
        until_laid_down(node);
        session
    };
    let [open, loaded, loaded_late] =
        ["one", "two", "three"].map(|words| begin(&nodes[0], &format!("begun-{words}")));
    // Of one session the page is loaded again, on a node that didn't begin it.
    until("the other node heard of it", || {
        comment(&nodes[1], &read_token, "heard", &format!("{OWN}{loaded}")).contains(" 303")
    });
    assert_ne!(token(&get(&nodes[1], &loaded)), read_token);

    let late = Node::start_as("late", &site, &nats, secret);
    nodes.push(late);
    until_in_touch(&nodes);
    // Of another one on the new node, before that knows whose it is.
    assert_ne!(token(&get(&nodes[2], &loaded_late)), read_token);
    write(&nodes[2], &read_token, "open-page", &format!("{OWN}{open}"));
    let refuses = |node: &Node, token: &str, session: &str| {
        let answer = comment(node, token, "refused", &format!("{OWN}{session}"));
        assert!(answer.starts_with("HTTP/1.1 403"), "{}: {answer}", node.name);
    };
    refuses(&nodes[2], &read_token, &loaded);
    refuses(&nodes[2], &read_token, &loaded_late);
    refuses(&nodes[2], "0123456789abcdef0123456789abcdef", &open);
    refuses(&nodes[2], &read_token, "Cookie: PHPSESSID=0123456789abcdef0123456789\n");

    // All nodes that were there are replaced, one after another.
    for at in [0, 1] {
        nodes[at].stop();
        nodes[at].begin();
        until_in_touch(&nodes);
    }
    write(&nodes[0], &read_token, "after-an-upgrade", &format!("{OWN}{open}"));
    for session in [&loaded, &loaded_late] {
        refuses(&nodes[1], &read_token, session);
    }
    assert!(is_there(&nodes[0], "open-page") && !is_there(&nodes[0], "refused"));
}

#[test]
fn without_a_secret_a_form_is_sent_to_the_node_that_showed_it() {
    let Some(Moving { _folder, nats: _nats, nodes, .. }) = moving(2, "") else { return };
    let read_token = read(&nodes[0]);
    let answer = comment(&nodes[1], &read_token, "moved", OWN);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    write(&nodes[0], &read_token, "stayed", OWN);
    let status = Wick::run(&["cluster", "status", "--state", &nodes[0].state()]).end();
    assert!(status.output.contains("add secret to [cluster]"), "{}", status.told());
}

//! A PHP site before which there are two Wicks: comments, and a member's own page.
//!
//! `bench/cluster-faults` does this at length, between machines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::board::{LAG, Node, until_in_touch};
use crate::nats::{Nats, Wire};
use crate::wick::{self, until};

/// One in which everybody has a session.
const SPECIMEN: &str = "session-everywhere";
const NOTE: &str = "private-7f3a91";

/// A specimen with its data in a folder that PHP may write to, whichever node runs it.
pub(crate) fn lay_out(specimen: &str) -> TempDir {
    let outer = wick::open_folder();
    let specimens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specimens");
    for part in [specimen, "lib"] {
        let from = specimens.join(part).display().to_string();
        let copied = Command::new("cp").args(["-rL", &from]).arg(outer.path()).status();
        assert!(copied.is_ok_and(|status| status.success()), "{from}");
    }
    let data = outer.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let prepended = outer.path().join("folder.php");
    let text = format!("<?php\nputenv('SPECIMEN_DATA={}');\n", data.display());
    fs::write(&prepended, text).expect("a file");
    let settings = format!("auto_prepend_file = \"{}\"\n", prepended.display());
    fs::write(outer.path().join(specimen).join(".user.ini"), settings).expect("a file");
    outer
}

fn get(node: &Node, cookie: &str) -> String {
    let page = wick::ask(node.address, &format!("GET /post/1\nHost: board.test\n{cookie}"));
    assert!(page.starts_with("HTTP/1.1 200"), "{}: {page}", node.name);
    page
}

/// Sends a form, and gives the head of the answer.
fn post(node: &Node, path: &str, words: &str, cookie: &str) -> String {
    let request = format!(
        "POST {path} HTTP/1.1\nHost: board.test\nContent-Type: application/x-www-form-urlencoded\n\
         Content-Length: {}\n{cookie}Connection: close\n\n{words}",
        words.len()
    );
    let answer = wick::rest(wick::send(node.address, &request));
    assert!(answer.starts_with("HTTP/1.1 303"), "{path}: {answer}");
    answer
}

/// The cookie of a member whose pages show her note.
fn member(node: &Node) -> String {
    let answer = post(node, "/login", "user=ann&password=wonderland", "");
    let set = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then_some(value)
    });
    let pair = set.and_then(|set| set.split(';').next()).expect("a session");
    let cookie = format!("Cookie: {pair}\n");
    let page = get(node, &cookie);
    let token =
        page.split("name=\"token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    post(node, "/note", &format!("token={}&note={NOTE}", token.expect("a token")), &cookie);
    cookie
}

/// Comments, waits for the lag limit, and looks at each node as a stranger and as a member.
fn play(nodes: &[Node], cookies: &[String], told: &mut Vec<(String, Instant)>, at: usize) {
    let comment = format!("comment-{}-", told.len());
    post(&nodes[at], "/post/1", &format!("author=Ed&body={comment}"), "");
    told.push((comment, Instant::now()));
    sleep(LAG + Duration::from_millis(20));
    for (node, cookie) in nodes.iter().zip(cookies) {
        for (visitor, cookie) in [("a stranger", ""), ("a member", cookie.as_str())] {
            let page = get(node, cookie);
            for (comment, since) in told.iter() {
                let age = since.elapsed();
                assert!(page.contains(comment), "{visitor} of {}: {comment}, {age:?}", node.name);
            }
            assert_eq!(page.contains(NOTE), !cookie.is_empty(), "{visitor} of {}", node.name);
        }
    }
}

#[test]
fn a_php_sites_comments_and_members_are_right_on_each_node_whatever_fails() {
    if !wick::has_php() {
        return;
    }
    let Some(mut nats) = Nats::start(1) else { return };
    let folder = lay_out(SPECIMEN);
    let root = folder.path().join(SPECIMEN).display().to_string();
    let site = format!(
        "origin = \"{root}\"\nphp_children = 3\nchanges = \"off\"\nstrangers_fresh = \"1h\"\n"
    );
    let mut nodes: Vec<_> =
        ["n0", "n1"].into_iter().map(|name| Node::start_with(name, &site, &nats)).collect();
    until_in_touch(&nodes);
    for node in &nodes {
        until("strangers share the page", || get(node, "").contains("wick; hit"));
    }
    let cookies: Vec<_> = nodes.iter().map(member).collect();
    let mut told = Vec::new();
    play(&nodes, &cookies, &mut told, 0);
    nodes[1].wires.iter().for_each(Wire::cut);
    play(&nodes, &cookies, &mut told, 1);
    play(&nodes, &cookies, &mut told, 0);
    nodes[1].wires.iter().for_each(Wire::mend);
    until_in_touch(&nodes);
    nats.kill(0);
    play(&nodes, &cookies, &mut told, 0);
    nats.begin(0);
    until_in_touch(&nodes);
    nodes[1].signal(Signal::STOP);
    post(&nodes[0], "/post/1", "author=Ed&body=paused-", "");
    told.push(("paused-".to_owned(), Instant::now()));
    sleep(LAG);
    nodes[1].signal(Signal::CONT);
    play(&nodes, &cookies, &mut told, 0);
    nodes[1].kill();
    nodes[1].begin();
    until_in_touch(&nodes);
    play(&nodes, &cookies, &mut told, 1);
}

//! What somebody visited on one node is found on another, which reads it itself.

use std::io::Write;
use std::net::SocketAddr;

use crate::board::{Node, until_in_touch};
use crate::nats::Nats;
use crate::origin::Origin;
use crate::wick::{ask, until};

fn site() -> Origin {
    Origin::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/");
        let is_member = head.to_ascii_lowercase().contains("cookie: member=");
        let (status, text) = match path {
            "/birds" => ("200 OK", "Zebra finches live in flocks"),
            "/letters" if is_member => ("200 OK", "Zebra letters of a member"),
            _ => ("403 Forbidden", "not for you"),
        };
        let page = format!(
            "<!doctype html><html lang=\"en\"><head><title>{path}</title></head><body><main>\
             <h1>{path}</h1><p>{text}</p></main></body></html>"
        );
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n\
             Cache-Control: max-age=600\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
            page.len()
        );
    })
}

fn get(address: SocketAddr, path: &str, fields: &str) -> String {
    ask(address, &format!("GET {path}\nHost: board.test\nUser-Agent: Mozilla/5.0\n{fields}"))
}

#[test]
fn a_page_that_was_visited_on_one_node_is_found_on_the_other() {
    let Some(nats) = Nats::start(1) else { return };
    let origin = site();
    let settings = format!("origin = \"{}\"\nsearch = true\nsearch_crawl = false\n", origin.url());
    let nodes: Vec<_> =
        ["n0", "n1"].iter().map(|name| Node::start_with(name, &settings, &nats)).collect();
    until_in_touch(&nodes);
    let finds = |node: &Node, path: &str| {
        get(node.address, "/search.json?q=zebra", "").contains(&format!("board.test{path}\""))
    };
    assert!(!nodes.iter().any(|node| finds(node, "/birds")));
    get(nodes[0].address, "/letters", "Cookie: member=1\n");
    get(nodes[0].address, "/birds", "");
    until("the node that was visited finds it", || finds(&nodes[0], "/birds"));
    until("the other one finds it too", || finds(&nodes[1], "/birds"));
    assert!(!nodes.iter().any(|node| finds(node, "/letters")), "it is a member's");
    let asked = origin.heads().iter().filter(|head| head.starts_with("GET /birds ")).count();
    assert!(asked >= 2, "each node has read it: {asked}");
}

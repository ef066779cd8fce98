//! How often one address may ask: of all nodes together about as often as of one.

use crate::board::{Node, Origin, until_in_touch};
use crate::nats::Nats;
use crate::wick::{ask, until};

/// Up to three of one node may go untold: half of the burst of ten, parted by two nodes.
const UNTOLD: u64 = 3;

#[test]
fn what_one_node_lets_through_of_who_asks_much_counts_on_the_other() {
    let Some(nats) = Nats::start(1) else { return };
    let origin = Origin::start();
    let site = format!(
        "origin = \"http://{}\"\nrate = \"1/h\"\nrate_burst = 10\nrate_hits = true\n",
        origin.address
    );
    let secret = "secret = \"a-secret-of-many-letters\"\n";
    let node = |name: &str| Node::behind_a_proxy(name, &site, &nats, secret);
    let nodes = [node("n0"), node("n1")];
    until_in_touch(&nodes);
    let told = |node: &Node, what: &str| node.status()["rates"][what].as_u64().expect("a number");
    let visit = |node: &Node, visitor: &str| {
        let request = format!("GET /page\nHost: board.test\nX-Forwarded-For: {visitor}");
        ask(node.address, &request).starts_with("HTTP/1.1 200")
    };
    // Who asks little is spoken of by nobody.
    assert!(visit(&nodes[0], "192.0.2.1") && visit(&nodes[1], "192.0.2.1"));
    until("both count shares", || nodes.iter().all(|node| told(node, "nodes") == 2));
    let mut visitors = (1..255).map(|number| format!("198.51.100.{number}"));
    // One message may be lost, though seldom: then it is so for the next visitor.
    until("it counts on the other", || {
        let visitor = visitors.next().expect("one of them");
        let [sent, heard] = [told(&nodes[0], "told"), told(&nodes[1], "heard")];
        assert_eq!((0..11).filter(|_| visit(&nodes[0], &visitor)).count(), 10);
        until("it is told", || told(&nodes[0], "told") == sent + 10 - UNTOLD);
        let _ = (0..50).any(|_| told(&nodes[1], "heard") >= heard + 10 - UNTOLD);
        (0..10).filter(|_| visit(&nodes[1], &visitor)).count() as u64 <= UNTOLD
    });
    assert!(visit(&nodes[1], "192.0.2.1"), "others are as free as before");
}

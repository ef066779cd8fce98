//! Several nodes before one name, with a real CA and a real NATS server: one orders, all serve,
//! and the CA is answered by nodes that haven't ordered.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;

use crate::door::Door;
use crate::nats::{Nats, Wire};
use crate::pebble::Pebble;
use crate::running::{Ground, Running};
use crate::visitor::Visitor;
use crate::wick::{Wick, ask, until};

const NAME: &str = "all.wick.test";
const SECRET: &str = "a-secret-of-many-letters";
const LONG: u32 = 7_776_000;

/// What is there but nodes; none where something isn't installed.
struct Stage {
    pebble: Pebble,
    /// Between nodes and the CA.
    wire: Wire,
    nats: Nats,
    door: Door,
    grounds: Vec<Ground>,
}

impl Stage {
    fn of(nodes: usize) -> Option<Self> {
        let door = Door::shut();
        let port = door.port;
        Self::with(nodes, door, (port, 1))
    }

    /// Before such a door, to which the CA comes at these ports for HTTP and for TLS.
    fn with(nodes: usize, door: Door, ports: (u16, u16)) -> Option<Self> {
        let grounds: Vec<_> = (0..nodes).map(|_| Ground::new()).collect();
        let mut pebble = Pebble::new(grounds[0].path())?;
        let nats = Nats::start(1)?;
        pebble.start(ports.0, ports.1, LONG);
        let wire = Wire::to(pebble.address);
        for ground in &grounds {
            ground.site("all", "page");
        }
        Some(Self { pebble, wire, nats, door, grounds })
    }

    /// Its lag limit is longer than this machine keeps anybody from its work, so that nobody takes
    /// over from who is well.
    fn settings(&self, at: usize, secret: &str) -> String {
        let ground = &self.grounds[at];
        format!(
            "acme_directory = \"https://{}/dir\"\nacme_ca_file = {:?}\n[[site]]\nhosts = [\"{NAME}\"]\norigin = {:?}\n[cluster]\nnats = \"nats://{}\"\n\
             node = \"n{at}\"\nlag = \"3s\"\n{secret}\n",
            self.wire.address,
            self.pebble.ca_file,
            ground.path().join("site-all"),
            self.nats.address(0),
        )
    }

    fn fellow(&self, at: usize) -> Running {
        let secret = format!("secret = \"{SECRET}\"");
        self.grounds[at].serve(&self.settings(at, &secret))
    }

    /// What a visitor is shown there, if it is one that the CA has issued.
    fn certificate(&self, node: &Running) -> Option<Vec<u8>> {
        let visitor = Visitor::new(node.tls, NAME, &self.pebble.root()).ok()?;
        Some(visitor.certificate())
    }

    fn issued(&self) -> usize {
        self.pebble.log().matches("Issued certificate").count()
    }

    /// Each of its files is for its owner alone.
    fn is_kept(&self, at: usize) -> bool {
        let file = self.grounds[at].path().join(format!("state/certificates/{NAME}.pem"));
        let mode = |data: fs::Metadata| data.permissions().mode() & 0o777;
        fs::metadata(file).map(mode).is_ok_and(|mode| mode == 0o600)
    }

    fn ordering(&self, at: usize) -> serde_json::Value {
        let state = self.grounds[at].path().join("state").display().to_string();
        let told = Wick::run(&["cluster", "status", "--json", "--state", &state]).end();
        assert!(told.status.success(), "{}", told.told());
        let told: serde_json::Value = serde_json::from_str(&told.output).expect("JSON");
        told["certificates"]["ordering"].clone()
    }
}

fn shows(node: SocketAddr, proof: &str) -> bool {
    ask(node, &format!("GET {proof}\nHost: {NAME}")).starts_with("HTTP/1.1 200 ")
}

#[test]
fn one_node_orders_and_others_answer_the_ca_and_serve_what_it_got() {
    let Some(mut stage) = Stage::of(4) else { return };
    stage.wire.cut();
    let mut nodes = vec![stage.fellow(0), stage.fellow(1), stage.fellow(2)];
    until("one of them orders", || stage.ordering(0).is_string());
    let ordering = stage.ordering(0);
    let others = nodes.iter().enumerate().filter(|(at, _)| ordering != format!("n{at}"));
    let others: Vec<_> = others.map(|(_, node)| node.plain()).collect();
    assert_eq!(others.len(), 2, "{ordering}");
    stage.door.open(&others);
    stage.wire.mend();
    until("all have it", || (0..3).all(|at| stage.is_kept(at)));
    let proof = stage.door.asked();
    let is_shown = || nodes.iter().map(|node| stage.certificate(node)).collect::<Option<Vec<_>>>();
    until("all serve it", || is_shown().is_some());
    let shown = is_shown().expect("they do");
    assert!(shown.iter().all(|other| *other == shown[0]));
    for node in &nodes {
        until("the proof is over", || !shows(node.plain(), &proof));
    }
    assert_eq!(stage.issued(), 1, "{}", stage.pebble.log());

    // Who comes later needs no CA.
    let root = stage.pebble.root();
    stage.pebble.stop();
    let mut late = stage.fellow(3);
    late.wick.line("was got by another node");
    let visitor = Visitor::new(late.tls, NAME, &root).expect("a good certificate");
    assert!(visitor.certificate() == shown[0] && stage.is_kept(3));
    let stored = stage.nats.stored();
    assert!(stored.windows(NAME.len()).any(|part| part == NAME.as_bytes()), "nothing is kept");
    for secret in ["PRIVATE KEY", "key_pkcs8", SECRET] {
        let is_secret = |part: &[u8]| part == secret.as_bytes();
        assert!(!stored.windows(secret.len()).any(is_secret), "NATS knows {secret}");
    }
    nodes.push(late);
    let outputs: Vec<_> = nodes.into_iter().map(|node| node.stop().output).collect();
    for secret in ["PRIVATE KEY", "key_pkcs8", SECRET] {
        assert!(outputs.iter().all(|output| !output.contains(secret)), "{outputs:?}");
    }
    let count = |text: &str| outputs.iter().filter(|output| output.contains(text)).count();
    assert_eq!((count("has issued a certificate"), count("was got by another node")), (1, 3));
}

#[test]
fn a_proof_by_tls_is_shown_by_the_node_that_has_not_ordered_as_well() {
    let door = Door::passage();
    let port = door.port;
    let Some(stage) = Stage::with(2, door, (1, port)) else { return };
    stage.wire.cut();
    let secret = format!("secret = \"{SECRET}\"");
    let node = |at: usize| stage.grounds[at].serve_tls(&stage.settings(at, &secret));
    let nodes = [node(0), node(1)];
    // The CA looks three times, and so at both.
    stage.door.open(&[nodes[0].tls, nodes[1].tls]);
    stage.wire.mend();
    until("both have it", || (0..2).all(|at| stage.is_kept(at)));
    assert_eq!(stage.issued(), 1, "{}", stage.pebble.log());
    let outputs = nodes.map(|node| node.stop().output);
    let count = |text: &str| outputs.iter().filter(|output| output.contains(text)).count();
    assert_eq!((count("is asked for again in"), count("was got by another node")), (0, 1));
}

#[test]
fn a_node_that_dies_while_it_orders_is_followed_by_another_with_the_same_account() {
    let Some(stage) = Stage::of(2) else { return };
    stage.wire.cut();
    let mut nodes = vec![stage.fellow(0), stage.fellow(1)];
    until("one of them orders", || stage.ordering(0).is_string());
    stage.wire.mend();
    // The CA waits at the door from here on.
    let proof = stage.door.asked();
    for node in &nodes {
        until("it shows the proof", || shows(node.plain(), &proof));
    }
    let dying = usize::from(stage.ordering(0) == "n1");
    let other = 1 - dying;
    let gone = nodes.remove(dying);
    gone.wick.signal(Signal::KILL);
    gone.wick.end();
    until("the other one orders", || stage.ordering(other) == format!("n{other}"));
    stage.door.open(&[nodes[0].plain()]);
    nodes[0].wick.line("has issued a certificate for all.wick.test");
    let log = stage.pebble.log();
    assert_eq!(stage.issued(), 1, "{log}");
    assert!(log.contains("There are now 1 accounts in memory"), "{log}");
    assert!(!log.contains("There are now 2 accounts in memory"), "{log}");
    let mut back = stage.fellow(dying);
    back.wick.line("was got by another node");
    let shown = stage.certificate(&back);
    assert!(shown.is_some() && shown == stage.certificate(&nodes[0]));
    back.stop();
}

#[test]
fn without_a_secret_each_node_orders_for_itself_and_says_so() {
    let Some(stage) = Stage::of(2) else { return };
    let mut one = stage.grounds[0].serve(&stage.settings(0, ""));
    stage.door.open(&[one.plain()]);
    one.wick.line("has issued");
    let mut two = stage.grounds[1].serve(&stage.settings(1, ""));
    stage.door.open(&[two.plain()]);
    two.wick.line("has issued");
    assert_eq!(stage.issued(), 2);
    for node in [one, two] {
        let output = node.stop().output;
        let told = output.matches("each node orders certificates for itself").count();
        assert_eq!(told, 1, "{output}");
    }
}

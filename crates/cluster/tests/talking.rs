//! Nodes that talk through a real NATS server.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base::{Clock, Shutdown};
use cluster::{Ears, Node, Run, Settings};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

struct Nats {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Nats {
    /// None where it isn't installed.
    fn start() -> Option<Self> {
        if Command::new("nats-server").arg("-v").stdout(Stdio::null()).status().is_err() {
            eprintln!("SKIPPED: nats-server is not installed (scripts/setup test installs it)");
            return None;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let folder = TempDir::new().expect("a folder");
        let mut nats = Self { folder, port, child: None };
        nats.begin();
        Some(nats)
    }

    fn begin(&mut self) {
        let log = File::create(self.folder.path().join("log")).expect("a log");
        let mut command = Command::new("nats-server");
        command.args(["-a", "127.0.0.1", "-js", "-p", &self.port.to_string(), "-sd"]);
        command.arg(self.folder.path()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "nats-server doesn't listen");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

#[derive(Default)]
struct Listener(Mutex<(Vec<String>, u64)>);

impl Ears for Listener {
    fn hear(&self, news: &str) {
        self.0.lock().expect("nobody panics").0.push(news.to_owned());
    }

    fn missed(&self) {
        self.0.lock().expect("nobody panics").1 += 1;
    }
}

struct Talking {
    node: Arc<Node>,
    ears: Arc<Listener>,
    shutdown: Shutdown,
    work: tokio::task::JoinHandle<()>,
}

fn begin(name: &str, instance: u64, nats: &Nats) -> Talking {
    let address = format!("nats://127.0.0.1:{}", nats.port);
    let lag = Duration::from_millis(400);
    let settings = Settings::new(&address, "test", name, lag, None).expect("good settings");
    let run = Run { instance, is_successor: false };
    let node = Node::new(settings, Clock::machine(), run, Arc::<AtomicU64>::default());
    let (ears, shutdown) = (Arc::<Listener>::default(), Shutdown::default());
    let work = tokio::spawn(node.clone().run(ears.clone(), shutdown.clone()));
    Talking { node, ears, shutdown, work }
}

impl Talking {
    async fn end(self) {
        self.shutdown.begin();
        self.work.await.expect("it ends without a panic");
    }

    fn heard(&self) -> Vec<String> {
        self.ears.0.lock().expect("nobody panics").0.clone()
    }
}

async fn until(what: &str, nodes: &[&Talking], mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        let told: Vec<_> = nodes.iter().map(|one| one.node.status()).collect();
        assert!(begun.elapsed() < PATIENCE, "waited for {what}: {told:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_is_told_is_heard_in_its_order_over_a_server_that_dies() {
    let Some(mut nats) = Nats::start() else { return };
    let (one, two) = (begin("one", 1, &nats), begin("two", 2, &nats));
    let both = [&one, &two];
    let in_touch = || {
        let is_good = |talking: &&Talking| {
            let status = talking.node.status();
            status.is_in_touch && status.members.len() == 1
        };
        both.iter().all(is_good)
    };
    until("both are in touch", &both, in_touch).await;
    let missed = two.ears.0.lock().expect("nobody panics").1;
    let news: Vec<_> = (0..1000).map(|at| format!("news {at}")).collect();
    for (at, text) in news.iter().enumerate() {
        one.node.tell(text.clone());
        if at == 500 {
            one.node.settled().await;
            nats.kill();
        }
    }
    until("out of touch", &both, || !one.node.status().is_in_touch).await;
    one.node.settled().await;
    nats.begin();
    until("all is heard", &both, || two.heard().len() >= news.len()).await;
    assert_eq!(two.heard(), news);
    assert!(one.heard().is_empty(), "one's own words are not news");
    until("both are in touch again", &both, in_touch).await;
    assert_eq!(two.ears.0.lock().expect("nobody panics").1, missed, "nothing was missed");
    one.end().await;
    until("the goodbye is heard", &[&two], || two.node.status().members.is_empty()).await;
    two.end().await;
}

#[tokio::test]
async fn a_run_that_ends_without_goodbye_leaves_doubt() {
    let Some(nats) = Nats::start() else { return };
    let (one, two) = (begin("one", 1, &nats), begin("two", 2, &nats));
    until("they know each other", &[&one, &two], || {
        [&one, &two].iter().all(|talking| talking.node.status().members.len() == 1)
    })
    .await;
    let missed = two.ears.0.lock().expect("nobody panics").1;
    one.work.abort();
    until("it is missing", &[&two], || two.node.status().members[0].is_missing).await;
    assert!(!two.node.status().is_in_touch);
    assert!(two.node.forget("one") && !two.node.forget("three"));
    until("it is forgotten", &[&two], || two.node.status().is_in_touch).await;
    assert_eq!(two.ears.0.lock().expect("nobody panics").1, missed + 1);
    let again = begin("one", 3, &nats);
    until("it is back", &[&two], || two.node.status().members.len() == 1).await;
    again.end().await;
    two.end().await;
}

/// What a node of the next version may say: more in this form, and other things in the next one.
#[tokio::test]
async fn a_node_of_the_next_version_is_heard_as_far_as_it_can_be_and_waited_for() {
    let Some(nats) = Nats::start() else { return };
    let one = begin("one", 1, &nats);
    until("it is in touch", &[&one], || one.node.status().is_in_touch).await;
    let client = async_nats::connect(format!("nats://127.0.0.1:{}", nats.port)).await;
    let stream = async_nats::jetstream::new(client.expect("NATS is there"));
    let say = async |text: &'static str| {
        let taken = stream.publish("wick.test.said.two", text.into()).await.expect("it is sent");
        taken.await.expect("the stream takes it");
    };
    let missed = || one.ears.0.lock().expect("nobody panics").1;
    let before = missed();
    say(r#"{"form":1,"node":"two","instance":9,"number":1,"mood":"good","news":["x"]}"#).await;
    until("what it understands is heard", &[&one], || one.heard() == ["x"]).await;
    assert_eq!(missed(), before, "a field that it doesn't know is nothing to fear");
    say(r#"{"form":2,"node":"two","instance":9,"number":2,"news":[{"kind":"y"}]}"#).await;
    until("what it can't understand is missed", &[&one], || missed() == before + 1).await;
    assert_eq!(one.heard(), ["x"]);
    until("it is waited for", &[&one], || {
        let status = one.node.status();
        !status.is_in_touch && status.members[0].is_missing
    })
    .await;
    say(r#"{"form":2,"node":"two","instance":9,"number":3,"is_goodbye":true}"#).await;
    until("after its goodbye all is well", &[&one], || one.node.status().is_in_touch).await;
    assert_eq!(missed(), before + 2);
    one.end().await;
}

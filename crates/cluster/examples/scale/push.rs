//! What a push costs a real nats-server: processor time of one that many nodes speak through.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base::{Clock, Shutdown};
use cluster::{Ears, Node, Run, Settings};
use tempfile::TempDir;

use crate::Outcome;

const LAG: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(60);
/// What the kernel counts processor time in.
const TICKS_A_SECOND: f64 = 100.0;

/// A server of its own, which goes with it.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Deaf;

impl Ears for Deaf {
    fn hear(&self, _: &str) {}

    fn missed(&self) {}
}

/// Has so many nodes talk for so long, none of them with anything to tell.
pub(crate) fn measure(nodes: u64, seconds: u64) -> Outcome<()> {
    let folder = TempDir::new()?;
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let mut command = Command::new("nats-server");
    command.args(["-a", "127.0.0.1", "-js", "-p", &port.to_string(), "-sd"]).arg(folder.path());
    let server = Server(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
    let begun = Instant::now();
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if begun.elapsed() > PATIENCE {
            return Err("nats-server doesn't listen".into());
        }
        sleep(Duration::from_millis(10));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (before, after, words) = runtime.block_on(talk(&server, port, nodes, seconds))?;
    let (used, words) = ((after - before) / TICKS_A_SECOND, words as f64);
    let pushes = words * nodes as f64;
    println!(
        "{nodes} nodes, {seconds} s: {words:.0} words, {pushes:.0} pushes, {used:.2} s of \
         processor time: {:.2} µs a push with its share of what a word costs",
        used * 1e6 / pushes
    );
    Ok(())
}

async fn talk(server: &Server, port: u16, nodes: u64, seconds: u64) -> Outcome<(f64, f64, u64)> {
    let shutdown = Shutdown::default();
    let mut all = Vec::new();
    let mut works = Vec::new();
    for at in 0..nodes {
        let address = format!("nats://127.0.0.1:{port}");
        let settings = Settings::new(&address, "scale", &format!("n{at}"), LAG, None)?;
        let run = Run { instance: at + 1, is_successor: false };
        let heard = Arc::<AtomicU64>::default();
        let node = Node::new(settings, Clock::machine(), run, heard.clone());
        works.push(tokio::spawn(node.clone().run(Arc::new(Deaf), shutdown.clone())));
        all.push((node, heard));
    }
    let begun = Instant::now();
    while !all
        .iter()
        .all(|(node, heard)| heard.load(Ordering::SeqCst) > 0 && node.status().is_in_touch)
    {
        if begun.elapsed() > PATIENCE {
            return Err("the nodes are never in touch: fewer of them?".into());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let (before, first) = (ticks(server)?, last_word(port).await?);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let (after, last) = (ticks(server)?, last_word(port).await?);
    shutdown.begin();
    for work in works {
        work.await?;
    }
    Ok((before, after, last - first))
}

/// The place of the last word in the stream.
async fn last_word(port: u16) -> Outcome<u64> {
    let client = async_nats::connect(format!("nats://127.0.0.1:{port}")).await?;
    let stream = async_nats::jetstream::new(client).get_stream("WICK_scale").await?;
    Ok(stream.get_info().await?.state.last_sequence)
}

/// Processor time of the server, in ticks.
fn ticks(server: &Server) -> Outcome<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.0.id()))?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let [user, system] =
        [12, 13].map(|at| fields.get(at).and_then(|text| text.parse::<f64>().ok()));
    Ok(user.ok_or("no user time")? + system.ok_or("no system time")?)
}

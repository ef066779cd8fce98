//! Real NATS servers with JetStream on this machine, and wires to them that can be cut.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::wick::until;

/// One server, or three that keep three copies.
pub(crate) struct Nats {
    folder: TempDir,
    ports: Vec<(u16, u16)>,
    running: Vec<Option<Child>>,
}

impl Nats {
    /// Starts so many; none where nats-server isn't installed.
    pub(crate) fn start(count: usize) -> Option<Self> {
        if Command::new("nats-server").arg("-v").stdout(Stdio::null()).status().is_err() {
            eprintln!("SKIPPED: nats-server is not installed (scripts/setup test installs it)");
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder");
        let ports = (0..count).map(|_| (loopback::port(), loopback::port())).collect();
        let mut nats = Self { folder, ports, running: Vec::new() };
        for at in 0..count {
            nats.running.push(None);
            nats.begin(at);
        }
        Some(nats)
    }

    /// Starts one that was killed; what it stored is there.
    pub(crate) fn begin(&mut self, at: usize) {
        let (client, route) = self.ports[at];
        let store = self.folder.path().join(format!("n{at}"));
        let mut conf = format!(
            "server_name: n{at}\nlisten: 127.0.0.1:{client}\njetstream {{ store_dir: {store:?} }}\n"
        );
        if self.ports.len() > 1 {
            let routes = self.ports.iter().map(|(_, route)| format!("nats://127.0.0.1:{route}"));
            let routes: Vec<_> = routes.collect();
            conf += &format!(
                "cluster {{ name: c, listen: 127.0.0.1:{route}, no_advertise: true, routes: [{}] }}\n",
                routes.join(", ")
            );
        }
        let file = self.folder.path().join(format!("n{at}.conf"));
        fs::write(&file, conf).expect("settings can be written");
        let log = fs::File::create(self.folder.path().join(format!("n{at}.log"))).expect("a log");
        let child = Command::new("nats-server")
            .arg("-c")
            .arg(&file)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server starts");
        self.running[at] = Some(child);
        let address = self.address(at);
        until("a NATS server listens", || TcpStream::connect(address).is_ok());
    }

    pub(crate) fn kill(&mut self, at: usize) {
        if let Some(mut child) = self.running[at].take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    pub(crate) fn address(&self, at: usize) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[at].0))
    }

    /// Whether this stands in clear in what the servers keep.
    pub(crate) fn keeps(&self, text: &str) -> bool {
        let kept = Command::new("grep").arg("-rqaF").arg(text).arg(self.folder.path()).status();
        kept.expect("grep is everywhere").success()
    }

    pub(crate) fn len(&self) -> usize {
        self.ports.len()
    }

    /// All bytes that the servers have written: what is told and kept, as it lies with them.
    pub(crate) fn stored(&self) -> Vec<u8> {
        let (mut folders, mut bytes) = (vec![self.folder.path().to_owned()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it can be read").flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    // It may be one that is written beside its place.
                    path => bytes.extend(fs::read(path).unwrap_or_default()),
                }
            }
        }
        bytes
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        (0..self.running.len()).for_each(|at| self.kill(at));
    }
}

/// A wire to a server. Cut, it is silent, as a network is that loses all packets; slow, each
/// piece comes later.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    /// Milliseconds that each piece is late; the most for one that is cut.
    late_ms: Arc<AtomicU64>,
}

const CUT: u64 = u64::MAX;

impl Wire {
    pub(crate) fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let late_ms = Arc::new(AtomicU64::new(0));
        let state = late_ms.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let state = state.clone();
                std::thread::spawn(move || {
                    let Ok(server) = TcpStream::connect(server) else { return };
                    // A wire that breaks is what such wires do.
                    let _ = both_ways(&client, &server, &state);
                });
            }
        });
        Self { address, late_ms }
    }

    pub(crate) fn cut(&self) {
        self.late_ms.store(CUT, Ordering::SeqCst);
    }

    pub(crate) fn mend(&self) {
        self.late_ms.store(0, Ordering::SeqCst);
    }

    pub(crate) fn slow(&self, late: Duration) {
        let late_ms = u64::try_from(late.as_millis()).unwrap_or(0);
        self.late_ms.store(late_ms, Ordering::SeqCst);
    }
}

fn both_ways(client: &TcpStream, server: &TcpStream, late_ms: &Arc<AtomicU64>) -> io::Result<()> {
    let (from, to, late) = (server.try_clone()?, client.try_clone()?, late_ms.clone());
    let back = std::thread::spawn(move || carry(&from, &to, &late));
    carry(client, server, late_ms);
    let _ = back.join();
    Ok(())
}

fn carry(mut from: &TcpStream, mut to: &TcpStream, late_ms: &AtomicU64) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        loop {
            match late_ms.load(Ordering::SeqCst) {
                0 => break,
                CUT => std::thread::sleep(Duration::from_millis(5)),
                late => {
                    std::thread::sleep(Duration::from_millis(late));
                    break;
                }
            }
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

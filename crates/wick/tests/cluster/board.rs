//! A site whose one page says how often it was written to, and who of the nodes shows what.
//!
//! What is claimed: an answer that acknowledges an edit is followed, a lag limit later, by no
//! fresh page on any node that is older than the edit.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::nats::{Nats, Wire};
use crate::wick::{self, Wick, until};

pub(crate) const LAG: Duration = Duration::from_millis(600);

/// An origin without a database that anybody could follow.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    version: Arc<AtomicU64>,
    /// How often it was asked for the page.
    pub(crate) asked: Arc<AtomicU64>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (version, asked) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (own, count) = (version.clone(), asked.clone());
        let has_shown = Arc::<AtomicBool>::default();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (version, asked) = (own.clone(), count.clone());
                let has_shown = has_shown.clone();
                std::thread::spawn(move || answer(&stream, &version, &asked, &has_shown));
            }
        });
        Self { address, version, asked }
    }

    /// Changes the page behind everybody's back.
    pub(crate) fn change(&self) -> u64 {
        self.version.fetch_add(1, Ordering::SeqCst) + 1
    }
}

/// A page that is made for its visitor, without a cookie that would say so.
fn account(is_known: bool) -> String {
    let text = match is_known {
        true => {
            "<h1>Good evening, Ann</h1><p>You have three letters and an open bill of 12.50.</p>"
        }
        false => "<h1>Please log in</h1><form action=\"/login\"><input name=\"user\"></form>",
    };
    let page = format!(
        "<!doctype html><html><head><title>Account</title></head><body>{text}</body></html>"
    );
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nCache-Control: no-cache\r\n\
         Content-Length: {}\r\n\r\n{page}",
        page.len()
    )
}

fn answer(stream: &TcpStream, version: &AtomicU64, asked: &AtomicU64, has_shown: &AtomicBool) {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let (mut first, mut fields) = (String::new(), HashMap::new());
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) < 3 {
                break;
            }
            let (name, value) = line.trim().split_once(": ").unwrap_or(("", ""));
            fields.insert(name.to_lowercase(), value.to_owned());
        }
        let length = fields.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        let _ = std::io::Read::read_exact(&mut reader, &mut body);
        if first.starts_with("GET /account/") {
            // Whoever comes first is known by name.
            let is_known = !has_shown.swap(true, Ordering::SeqCst);
            let page = account(is_known);
            if writer.write_all(page.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        let said = if first.starts_with("POST") {
            format!("v{}", version.fetch_add(1, Ordering::SeqCst) + 1)
        } else {
            asked.fetch_add(1, Ordering::SeqCst);
            let version = version.load(Ordering::SeqCst);
            if first.contains("/slow") {
                std::thread::sleep(3 * LAG);
            }
            format!("v{version}")
        };
        let cookie = if first.contains("/login") { "Set-Cookie: sid=x1\r\n" } else { "" };
        let answer = format!(
            "HTTP/1.1 200 OK\r\n{cookie}Content-Type: text/plain\r\nCache-Control: max-age=3600\r\n\
             Cache-Tag: page\r\nContent-Length: {}\r\n\r\n{said}",
            said.len()
        );
        if writer.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A Wick of the cluster.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
    pub(crate) wires: Vec<Wire>,
    config: String,
    pub(crate) state: TempDir,
    _folder: TempDir,
    wick: Option<Wick>,
}

impl Node {
    pub(crate) fn start(name: &str, origin: &Origin, nats: &Nats) -> Self {
        Self::start_also(name, origin, nats, "")
    }

    /// One whose site has these lines of settings too.
    pub(crate) fn start_also(name: &str, origin: &Origin, nats: &Nats, more: &str) -> Self {
        Self::start_with(name, &format!("origin = \"http://{}\"\n{more}", origin.address), nats)
    }

    /// The same before a site with these settings.
    pub(crate) fn start_with(name: &str, site: &str, nats: &Nats) -> Self {
        Self::start_as(name, site, nats, "")
    }

    /// One with more settings in `[cluster]`.
    pub(crate) fn start_as(name: &str, site: &str, nats: &Nats, more: &str) -> Self {
        Self::start_under("", name, site, nats, more)
    }

    /// The same where what comes from this machine may come for somebody else.
    pub(crate) fn behind_a_proxy(name: &str, site: &str, nats: &Nats, more: &str) -> Self {
        Self::start_under("trusted_proxies = \"127.0.0.1\"\n", name, site, nats, more)
    }

    fn start_under(top: &str, name: &str, site: &str, nats: &Nats, more: &str) -> Self {
        let wires: Vec<_> = (0..nats.len()).map(|at| Wire::to(nats.address(at))).collect();
        let addresses = wires.iter().map(|wire| format!("\"nats://{}\"", wire.address));
        let addresses: Vec<_> = addresses.collect();
        let folder = TempDir::new().expect("a temporary folder");
        let config = folder.path().join("wick.toml");
        let text = format!(
            "{top}[[site]]\n{site}[cluster]\nnats = [{}]\nnode = \"{name}\"\nlag = \"{}ms\"\n{more}",
            addresses.join(", "),
            LAG.as_millis()
        );
        std::fs::write(&config, text).expect("settings can be written");
        let address = loopback::address();
        let state = TempDir::new().expect("a temporary folder");
        let config = config.display().to_string();
        let name = name.to_owned();
        let mut node = Self { name, address, wires, config, state, _folder: folder, wick: None };
        node.begin();
        node
    }

    pub(crate) fn begin(&mut self) {
        let (listen, state) = (self.address.to_string(), self.state());
        let arguments = ["--config", &self.config, "--listen", &listen, "--state", &state];
        self.wick = Some(Wick::serve(&arguments).0);
    }

    /// Takes up these lines of settings for its site.
    pub(crate) fn reload_with(&self, more: &str) {
        let text = std::fs::read_to_string(&self.config).expect("they are there");
        let text = text.replace("[cluster]", &format!("{more}[cluster]"));
        std::fs::write(&self.config, text).expect("settings can be written");
        let reloaded = Wick::run(&["reload", "--state", &self.state()]).end();
        assert!(reloaded.status.success(), "{}", reloaded.told());
    }

    pub(crate) fn state(&self) -> String {
        self.state.path().display().to_string()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.wick.is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.wick.as_ref().expect("it runs").signal(signal);
    }

    /// As a machine dies.
    pub(crate) fn kill(&mut self) {
        if let Some(wick) = self.wick.take() {
            wick.signal(Signal::KILL);
            wick.end();
        }
    }

    /// In good order.
    pub(crate) fn stop(&mut self) -> String {
        self.wick.take().map(|wick| wick.stop().errors).unwrap_or_default()
    }

    /// The version that is shown, and what became of the request.
    pub(crate) fn get(&self) -> Shown {
        get(self.address, "/page")
    }

    /// Writes, and says the version that came of it.
    pub(crate) fn edit(&self) -> u64 {
        let request = "POST /page HTTP/1.1\nHost: board.test\nContent-Length: 1\nConnection: \
                       close\n\nx";
        let answer = wick::rest(wick::send(self.address, request));
        wick::body(&answer).trim().trim_start_matches('v').parse().expect("a version")
    }

    pub(crate) fn purge(&self, request: &str) -> String {
        wick::ask(self.address, request)
    }

    /// What `wick cluster status --json` says.
    pub(crate) fn status(&self) -> serde_json::Value {
        let ended = Wick::run(&["cluster", "status", "--json", "--state", &self.state()]).end();
        assert!(ended.status.success(), "{}", ended.told());
        serde_json::from_str(&ended.output).expect("JSON")
    }

    pub(crate) fn is_in_touch(&self) -> bool {
        self.status()["is_in_touch"] == true
    }
}

/// Asks for a page as a browser does.
pub(crate) fn look(address: SocketAddr, path: &str) -> String {
    let browser = "User-Agent: Mozilla/5.0\nAccept: text/html";
    wick::ask(address, &format!("GET {path}\nHost: board.test\n{browser}"))
}

/// What is shown there.
pub(crate) fn get(address: SocketAddr, path: &str) -> Shown {
    let answer = wick::ask(address, &format!("GET {path}\nHost: board.test"));
    let verdict = answer.lines().find(|line| line.to_lowercase().starts_with("cache-status:"));
    let verdict = verdict.unwrap_or_default().to_owned();
    let version = wick::body(&answer).trim().trim_start_matches('v').parse();
    Shown { version: version.unwrap_or_else(|_| unreachable!("{answer}")), verdict }
}

/// What a visitor saw.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) version: u64,
    pub(crate) verdict: String,
}

impl Shown {
    pub(crate) fn is_hit(&self) -> bool {
        self.verdict.contains("hit")
    }
}

/// Which edits are acknowledged, and since when.
#[derive(Default)]
pub(crate) struct Edits(Vec<(u64, Instant)>);

impl Edits {
    pub(crate) fn note(&mut self, version: u64) {
        self.note_at(version, Instant::now());
    }

    /// One that is told at that moment.
    pub(crate) fn note_at(&mut self, version: u64, told: Instant) {
        self.0.push((version, told));
    }

    /// The least version that a request may show that begins now.
    pub(crate) fn owed(&self) -> u64 {
        let is_due = |at: &Instant| at.elapsed() >= LAG;
        self.0.iter().filter(|(_, at)| is_due(at)).map(|(version, _)| *version).max().unwrap_or(0)
    }

    /// Looks at the page of a node and holds it against what is owed.
    pub(crate) fn look(&self, node: &Node, when: &str) -> Shown {
        let owed = self.owed();
        let shown = node.get();
        assert!(shown.version >= owed, "{when}: {} shows {shown:?}, owed is {owed}", node.name);
        shown
    }
}

/// Waits until each of them is in touch, with all of the others.
pub(crate) fn until_in_touch(nodes: &[Node]) {
    until("all nodes are in touch", || {
        nodes.iter().filter(|node| node.is_running()).all(Node::is_in_touch)
    });
}

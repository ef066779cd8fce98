//! A Wick with a tracker, and announces to it in raw bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::wick::{Ended, PATIENCE, Wick, open_folder, until};

/// It ends with the test.
pub(crate) struct Served {
    pub(crate) wick: Wick,
    pub(crate) address: SocketAddr,
    /// Where it is too, if it was told to be at two addresses.
    pub(crate) second: Option<SocketAddr>,
    /// Where the site is, if there is one.
    pub(crate) site: Option<SocketAddr>,
    pub(crate) folder: TempDir,
}

impl Served {
    /// Serves by a settings file that begins with `top` and has a tracker by `table`.
    pub(crate) fn begin(top: &str, table: &str) -> Self {
        Self::begin_at("127.0.0.1:0", top, table)
    }

    /// The same at another address, or at two, with a comma between.
    pub(crate) fn begin_at(listen: &str, top: &str, table: &str) -> Self {
        let folder = open_folder();
        Self::settings(&folder, listen, top, table);
        let mut wick = Self::run(&folder);
        let site = top.contains("listen =").then(|| address_in(wick.line("listening http://")));
        let address = address_in(wick.line("tracker   http://"));
        let second = listen.contains(',').then(|| address_in(wick.line("tracker   http://")));
        wick.line("Ctrl-C stops it.");
        Self { wick, address, second, site, folder }
    }

    fn run(folder: &TempDir) -> Wick {
        let path = folder.path().join("wick.toml").display().to_string();
        Wick::run(&["serve", "--config", &path, "--threads", "2"])
    }

    /// Kills it where it stands, and serves again by the same settings, at another port.
    pub(crate) fn kill_and_serve(&mut self) {
        self.kill();
        self.serve();
    }

    pub(crate) fn kill(&mut self) {
        self.wick.signal(Signal::KILL);
        until("its end", || self.wick.has_ended());
    }

    /// Serves again after it was killed.
    pub(crate) fn serve(&mut self) {
        self.wick = Self::run(&self.folder);
        self.address = address_in(self.wick.line("tracker   http://"));
        self.wick.line("Ctrl-C stops it.");
    }

    fn settings(folder: &TempDir, listen: &str, top: &str, table: &str) {
        let path = folder.path().join("wick.toml");
        let state = folder.path().join("state");
        let admin = if top.contains("admin =") { "" } else { "admin = \"off\"" };
        let listen = listen.replace(',', "\", \"");
        let text = format!(
            "state = \"{}\"\n{admin}\n{top}\n[tracker]\nlisten = [\"{listen}\"]\n{table}\n",
            state.display()
        );
        std::fs::write(&path, text).expect("the settings are written");
    }

    /// Writes other settings in the place of those that it was begun with.
    pub(crate) fn rewrite(&self, top: &str, table: &str) {
        Self::settings(&self.folder, "127.0.0.1:0", top, table);
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// What `wick` says with these arguments of the running one.
    pub(crate) fn ask(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_wick"))
            .args(arguments)
            .arg("--state")
            .arg(self.state())
            .output()
            .expect("the binary can be run");
        format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    }

    /// Puts users, by their numbers, and a torrent into the tables of a private tracker, and
    /// waits until it has seen them.
    pub(crate) fn enrol(&self, users: &[(u32, impl AsRef<str>)], hash: &str) -> Tables {
        let path = self.state().join("tracker/tracker.sqlite");
        until("its file to be made", || path.exists());
        let tables = rusqlite::Connection::open(path).expect("it is a file of SQLite");
        tables.busy_timeout(PATIENCE).expect("a bound");
        let are_there = "SELECT 1 FROM wick_users, wick_torrents, wick_accounts LIMIT 1";
        until("its tables to be made", || tables.prepare(are_there).is_ok());
        for (id, passkey) in users {
            let sql = "INSERT INTO wick_users (id, passkey) VALUES (?1, ?2)";
            tables.execute(sql, (id, passkey.as_ref())).expect("a user");
        }
        let sql = "INSERT INTO wick_torrents (info_hash) VALUES (unhex(?1))";
        tables.execute(sql, [hash]).expect("a torrent");
        until("the tables to be seen", || {
            self.ask(&["tracker", "torrent", hash]).contains("seeders")
                && self.ask(&["tracker", "status"]).contains(&format!("users      {}", users.len()))
        });
        Tables(tables)
    }

    pub(crate) fn stop(self) -> Ended {
        self.wick.stop()
    }
}

/// The tables of a private tracker.
pub(crate) struct Tables(pub(crate) rusqlite::Connection);

impl Tables {
    /// What a user is credited with: bytes sent, bytes taken.
    pub(crate) fn credit(&self, user: u32) -> (u64, u64) {
        let sql = "SELECT uploaded, downloaded FROM wick_users WHERE id = ?1";
        let both = self.0.query_row(sql, [user], |row| Ok((row.get(0)?, row.get(1)?)));
        let both: (i64, i64) = both.expect("a user");
        (both.0 as u64, both.1 as u64)
    }

    /// How often the torrent was completed, by the site's count.
    pub(crate) fn completed(&self) -> u32 {
        let sql = "SELECT sum(completed) FROM wick_torrents";
        self.0.query_row(sql, [], |row| row.get(0)).expect("a torrent")
    }
}

/// The address in a line that says where something listens.
fn address_in(line: String) -> SocketAddr {
    let text = line.rsplit("http://").next().expect("an address");
    text.trim_end_matches("announce").trim_end_matches('/').parse().expect("with its port")
}

/// The answer to a GET, head and body, of which bytes that are no text are escaped.
pub(crate) fn get(address: SocketAddr, target: &str) -> String {
    try_get(address, target).expect("it answers")
}

/// The same of one that may die.
pub(crate) fn try_get(address: SocketAddr, target: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer.escape_ascii().to_string())
}

/// The query of an announce by the client of this number.
pub(crate) fn query(client: u32, left: u32, more: &str) -> String {
    format!(
        "info_hash={}&peer_id=-TR4040-{client:012}&port={}&uploaded=0&downloaded=0&left={left}{more}",
        "h".repeat(20),
        10_000 + client % 50_000
    )
}

/// A client over UDP that was given an id.
pub(crate) struct UdpClient {
    socket: UdpSocket,
    id: u64,
}

impl UdpClient {
    pub(crate) fn connect(tracker: SocketAddr) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(tracker).expect("an address");
        socket.set_read_timeout(Some(PATIENCE)).expect("a bound");
        let mut client = Self { socket, id: 0 };
        let mut hello = 0x0417_2710_1980_u64.to_be_bytes().to_vec();
        hello.extend_from_slice(&[0; 8]);
        let answer = client.exchange(&hello);
        client.id = u64::from_be_bytes(answer[8..16].try_into().expect("eight bytes"));
        client
    }

    fn exchange(&self, datagram: &[u8]) -> Vec<u8> {
        self.socket.send(datagram).expect("it is sent");
        let mut answer = [0; 2048];
        let length = self.socket.recv(&mut answer).expect("an answer");
        answer[..length].to_vec()
    }

    /// Announces as the client of this number; options may follow.
    pub(crate) fn announce(&self, client: u32, options: &[u8]) -> Vec<u8> {
        self.announce_that(client, [0, 5, 0], 0, options)
    }

    /// The same with its counters (bytes taken, to go, sent) and its event.
    pub(crate) fn announce_that(
        &self,
        client: u32,
        counters: [u64; 3],
        event: u8,
        options: &[u8],
    ) -> Vec<u8> {
        let mut datagram = self.id.to_be_bytes().to_vec();
        datagram.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 9]);
        datagram.extend_from_slice(&[b'h'; 20]);
        datagram.extend_from_slice(format!("-TR4040-{client:012}").as_bytes());
        counters.iter().for_each(|counter| datagram.extend_from_slice(&counter.to_be_bytes()));
        datagram.extend_from_slice(&[0, 0, 0, event]);
        datagram.extend_from_slice(&[0; 8]);
        datagram.extend_from_slice(&[0xff; 4]);
        datagram.extend_from_slice(&(10_000 + client as u16).to_be_bytes());
        datagram.extend_from_slice(options);
        self.exchange(&datagram)
    }
}

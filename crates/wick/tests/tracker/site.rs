//! A private tracker's site in PHP (`specimens/tracker-site`), as a member uses it: sign up, upload,
//! download, announce by the passkey in that torrent, and see the bytes on one's own page, before
//! and after the site's job.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};

use sha1::{Digest, Sha1};
use tempfile::TempDir;
use wire::tracker::bencode::Value;

use crate::daemon;
use crate::mariadb;
use crate::served::{Served, get};
use crate::wick::{PATIENCE, until};

const SITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../specimens/tracker-site");
const TOTALS: &str = "SELECT user_id, u_up_total, u_down_total FROM bb_bt_users ORDER BY user_id";
/// Who serves where root begins.
const USER: &str = "www-data";
const BOUNDARY: &str = "----a-boundary";

/// The site, served by PHP itself as the user that serves where root begins; it ends with the test.
struct Site {
    child: Child,
    address: SocketAddr,
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Site {
    /// None, said aloud, where PHP isn't installed.
    fn begin(folder: TempDir, variables: Vec<(&'static str, String)>) -> Option<Self> {
        if !Path::new("/usr/bin/php").exists() {
            eprintln!("SKIPPED: php is not installed (scripts/setup test installs it)");
            return None;
        }
        for name in ["index.php", "job.php", "metainfo.php", "tables.php"] {
            fs::copy(Path::new(SITE).join(name), folder.path().join(name)).expect("a page");
        }
        let address = loopback::address();
        let mut command = daemon::as_its_user("/usr/bin/php", USER, folder.path());
        command.args(["-S", &address.to_string(), "-t"]).arg(folder.path());
        command.envs(variables.iter().cloned()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("php runs");
        let site = Self { child, address, folder, variables };
        until("PHP to listen", || TcpStream::connect(address).is_ok());
        Some(site)
    }

    /// What runs every quarter of an hour.
    fn run_job(&self) {
        let mut command = daemon::as_its_user("/usr/bin/php", USER, self.folder.path());
        command.arg(self.folder.path().join("job.php")).envs(self.variables.iter().cloned());
        daemon::run(command);
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A member before the site.
struct Member {
    site: SocketAddr,
    session: String,
    /// The address to announce at, with what makes it theirs, and the torrent's name.
    announces: Option<(SocketAddr, String)>,
}

impl Member {
    fn sign_up(site: &Site, name: &str) -> Self {
        let mut member = Self { site: site.address, session: String::new(), announces: None };
        member.post(
            "/",
            "/signup",
            &[("name", None, name.as_bytes()), ("password", None, b"letters")],
        );
        assert!(member.page("/").contains("<h1>Torrents</h1>"));
        member
    }

    /// Head and body of an answer; a session that it begins goes on.
    fn exchange(&mut self, request: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.site).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        stream.write_all(request).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let text = String::from_utf8_lossy(&answer);
        let (head, _) = text.split_once("\r\n\r\n").expect("an answer");
        for line in head.lines() {
            if let Some(cookie) = line.strip_prefix("Set-Cookie: ") {
                cookie.split(';').next().unwrap_or_default().clone_into(&mut self.session);
            }
        }
        answer
    }

    fn get(&mut self, path: &str) -> Vec<u8> {
        let Self { site, session, .. } = self;
        let head = format!("Host: {site}\r\nConnection: close\r\nCookie: {session}");
        let answer = self.exchange(format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes());
        let body = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("an answer") + 4;
        answer[body..].to_vec()
    }

    fn page(&mut self, path: &str) -> String {
        String::from_utf8_lossy(&self.get(path)).into_owned()
    }

    /// Sends a form that stands on a page; each field has a name, perhaps that of a file, a value.
    fn post(&mut self, page: &str, path: &str, fields: &[(&str, Option<&str>, &[u8])]) {
        let shown = self.page(page);
        let token = shown.split("name=\"token\" value=\"").nth(1).expect("a form");
        let token = token.split('"').next().expect("its end").to_owned();
        let mut body = Vec::new();
        for (name, file, value) in fields.iter().chain([&("token", None, token.as_bytes())]) {
            let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
            let head = format!("Content-Disposition: form-data; name=\"{name}\"{file}");
            body.extend_from_slice(format!("--{BOUNDARY}\r\n{head}\r\n\r\n").as_bytes());
            body.extend_from_slice(value);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        let Self { site, session, .. } = self;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {site}\r\nConnection: close\r\nCookie: {session}\r\n\
             Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = self.exchange(&[head.as_bytes(), &body].concat());
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains(" 303 "), "{path}: {answer}");
    }

    /// Loads the torrent of a number down, and knows from it where and what to announce.
    fn download(&mut self, number: u32) {
        let bytes = self.get(&format!("/download?id={number}"));
        let torrent = Value::read(&bytes).expect("it is bencoded");
        let place = torrent.of("announce").and_then(Value::bytes).expect("where to announce");
        let place = String::from_utf8_lossy(place).into_owned();
        let (host, target) =
            place.strip_prefix("http://").expect("HTTP").split_once('/').expect("a path");
        let mut info = Vec::new();
        torrent.of("info").expect("what is shared").write(&mut info);
        let hash = Sha1::digest(&info).iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "%{byte:02x}");
            text
        });
        let target = format!("/{target}&info_hash={hash}");
        self.announces = Some((host.parse().expect("an address"), target));
    }

    fn announce(&self, client: u32, [uploaded, downloaded, left]: [u64; 3], event: &str) -> String {
        let (tracker, target) = self.announces.as_ref().expect("a torrent was loaded");
        get(
            *tracker,
            &format!(
                "{target}&peer_id=-TR4040-{client:012}&port={}&uploaded={uploaded}\
                 &downloaded={downloaded}&left={left}&event={event}",
                10_000 + client
            ),
        )
    }

    fn sees(&mut self, uploaded: u64, downloaded: u64) -> bool {
        let page = self.page("/me");
        page.contains(&format!("<b id=\"up\">{uploaded}</b>"))
            && page.contains(&format!("<b id=\"down\">{downloaded}</b>"))
    }
}

/// A torrent file of one file that is nowhere.
fn torrent() -> Vec<u8> {
    let info = Value::Dictionary(vec![
        (b"length", Value::Number(3000)),
        (b"name", Value::Bytes(b"file.bin")),
        (b"piece length", Value::Number(16_384)),
        (b"pieces", Value::Bytes(&[7; 20])),
    ]);
    let mut written = Vec::new();
    Value::Dictionary(vec![(b"info", info)]).write(&mut written);
    written
}

/// Plays all of it; `totals` tells what stands in the members' rows.
fn play(
    folder: TempDir,
    database: &str,
    mut variables: Vec<(&'static str, String)>,
    totals: impl Fn() -> String,
) {
    let address = loopback::address();
    variables.push(("TRACKER_ANNOUNCE", format!("http://{address}/announce")));
    let Some(site) = Site::begin(folder, variables) else { return };
    let [mut ann, mut ben] = ["ann", "ben"].map(|name| Member::sign_up(&site, name));
    let table = format!(
        "mode = \"private\"\nflush = \"1s\"\ncontract = \"torrentpier3\"\ndatabase = \"{database}\""
    );
    let served = Served::begin_at(&address.to_string(), "", &table);
    ann.post("/", "/upload", &[("file", Some("file.torrent"), &torrent())]);
    [&mut ann, &mut ben].into_iter().for_each(|member| member.download(1));
    until("the torrent to be known", || {
        ann.announce(1, [0, 0, 0], "started").contains("8:completei1e")
    });
    assert!(ben.announce(2, [0, 0, 3000], "started").contains("10:incompletei1e"));
    ben.announce(2, [7, 3000, 0], "completed");
    ann.announce(1, [5000, 0, 0], "stopped");
    until("the members to see it", || ann.sees(5000, 0) && ben.sees(7, 3000));
    assert_eq!(totals(), "1|0|0\n2|0|0", "peers have it until the job runs");
    let page = ben.page("/torrent?id=1");
    assert!(page.contains("<td>ben<td>seeds") && !page.contains("<td>ann"), "{page}");
    site.run_job();
    assert_eq!(totals(), "1|5000|0\n2|7|3000");
    assert!(ann.sees(5000, 0) && ben.sees(7, 3000), "the job changes no sum");
    ben.announce(2, [8, 3000, 0], "stopped");
    until("what came since to be seen", || ben.sees(8, 3000));
    site.run_job();
    assert_eq!(totals(), "1|5000|0\n2|8|3000");
    served.stop();
}

#[test]
fn members_of_a_site_in_sqlite_see_what_their_clients_told() {
    let folder = daemon::folder("site", USER);
    let path = folder.path().join("tracker-site.sqlite");
    let variables = vec![("SPECIMEN_DATA", folder.path().display().to_string())];
    play(folder, &format!("sqlite:{}", path.display()), variables, || {
        let site = rusqlite::Connection::open(&path).expect("the site's file");
        site.busy_timeout(PATIENCE).expect("a bound");
        let mut asked = site.prepare(TOTALS).expect("the site's tables");
        let line = |row: &rusqlite::Row<'_>| {
            let numbers: [i64; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
            Ok(numbers.map(|number| number.to_string()).join("|"))
        };
        let lines: Result<Vec<String>, _> = asked.query_map([], line).expect("rows").collect();
        lines.expect("numbers").join("\n")
    });
}

#[test]
fn members_of_a_site_in_mariadb_see_what_their_clients_told() {
    let Some(server) = mariadb::Server::start(&[]) else { return };
    let socket = server.socket().display().to_string();
    let variables = vec![
        ("SPECIMEN_DB_SOCKET", socket.clone()),
        ("SPECIMEN_DB_NAME", "site".to_owned()),
        ("SPECIMEN_DB_USER", "app".to_owned()),
        ("SPECIMEN_DB_PASSWORD", "app".to_owned()),
    ];
    let database = format!("mysql://app:app@localhost/site?socket={socket}");
    play(daemon::folder("site", USER), &database, variables, || {
        server.ask(&format!("USE site; {TOTALS}")).replace('\t', "|")
    });
}

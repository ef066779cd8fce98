//! A CA that speaks ACME: pebble, by the people of Let's Encrypt, as a process of the test's.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::authority::Authority;
use crate::names;
use crate::wick::until;

const MODULE: &str = "github.com/letsencrypt/pebble/v2/cmd/pebble@v2.10.1";

/// A CA that is not there yet; its addresses are known.
pub(crate) struct Pebble {
    program: PathBuf,
    folder: PathBuf,
    pub(crate) address: SocketAddr,
    management: SocketAddr,
    /// By which the CA itself is known.
    pub(crate) ca_file: PathBuf,
    running: Option<Child>,
    /// The id and the key of accounts that it wants others to be bound to; none: of nobody.
    pub(crate) binding: Option<(&'static str, &'static str)>,
}

/// The program, built if it isn't there; nothing, and a line that says so, without Go.
fn program() -> Option<PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pebble-2.10.1");
        let program = folder.join("pebble");
        if program.exists() {
            return Some(program);
        }
        let built = Command::new("go").args(["install", MODULE]).env("GOBIN", &folder).output();
        match built {
            Ok(output) if output.status.success() => Some(program),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                eprintln!("SKIPPED: pebble can't be built: {why}");
                None
            }
            Err(_) => {
                eprintln!("SKIPPED: go is not installed (scripts/setup test installs it)");
                None
            }
        }
    };
    PROGRAM.get_or_init(build).clone()
}

impl Pebble {
    /// A CA with files in this folder.
    pub(crate) fn new(folder: &Path) -> Option<Self> {
        let folder = folder.join("pebble");
        fs::create_dir(&folder).expect("a folder");
        let ca = Authority::new(&folder);
        ca.pair(&folder, "own", &["127.0.0.1", "localhost"]);
        Some(Self {
            program: program()?,
            address: loopback::address(),
            management: loopback::address(),
            ca_file: ca.file,
            folder,
            running: None,
            binding: None,
        })
    }

    /// As `wick.toml` names it.
    pub(crate) fn settings(&self) -> String {
        let file = self.ca_file.display();
        format!("acme_directory = \"{}\"\nacme_ca_file = \"{file}\"\n", self.directory())
    }

    pub(crate) fn directory(&self) -> String {
        format!("https://{}/dir", self.address)
    }

    /// Starts it. It comes to these ports for proofs, and what it issues lives so long.
    pub(crate) fn start(&mut self, http_port: u16, tls_port: u16, seconds: u32) {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let binding = self.binding.map_or(String::new(), |(id, key)| {
            format!(
                "\"externalAccountBindingRequired\": true,
                 \"externalAccountMACKeys\": {{\"{id}\": \"{key}\"}},"
            )
        });
        let settings = format!(
            "{{\"pebble\": {{{binding} \"listenAddress\": \"{}\", \"managementListenAddress\": \"{}\",
             \"certificate\": {:?}, \"privateKey\": {:?}, \"httpPort\": {http_port},
             \"tlsPort\": {tls_port}, \"retryAfter\": {{\"authz\": 1, \"order\": 1}},
             \"profiles\": {{\"default\": {{\"description\": \"\", \"validityPeriod\": {seconds}}}}}}}}}",
            self.address,
            self.management,
            path("own.pem"),
            path("own.key"),
        );
        fs::write(path("config.json"), settings).expect("the settings are written");
        let log = File::create(path("log")).expect("a log");
        let child = Command::new(&self.program)
            .args(["-config", &path("config.json"), "-dnsserver", &names::serve().to_string()])
            .env("PEBBLE_VA_NOSLEEP", "1")
            // Nothing is believed that was seen before.
            .env("PEBBLE_AUTHZREUSE", "0")
            .stdout(Stdio::from(log.try_clone().expect("a file")))
            .stderr(Stdio::from(log))
            .spawn()
            .expect("pebble can be run");
        self.running = Some(child);
        until("pebble", || std::net::TcpStream::connect(self.management).is_ok());
    }

    /// The certificate by which what it issues is known.
    pub(crate) fn root(&self) -> PathBuf {
        let file = self.folder.join("root.pem");
        let output = Command::new("curl")
            .args(["--silent", "--noproxy", "*", "--cacert", &self.ca_file.display().to_string()])
            .arg(format!("https://{}/roots/0", self.management))
            .output()
            .expect("curl is there");
        assert!(output.stdout.starts_with(b"-----BEGIN"), "no root: {}", self.log());
        fs::write(&file, output.stdout).expect("it is written");
        file
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.running.take() {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.stop();
    }
}

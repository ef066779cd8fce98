//! The built binary, serving a folder on a free port until it is dropped.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use crate::browser::Outcome;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the comparison runs with: Wick that keeps nothing.
const WITHOUT_CACHE: &str = "[[site]]\ncache = false\nphp_children = 4\n";

/// How it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As an owner starts it, with no setting at all.
    Plainly,
    /// As the origin alone would answer.
    WithoutCache,
    /// Without the check of what two personas were given: pages leak, and whoever looks
    /// for leaks must see it.
    TrustingPersonas,
}

/// A running `wick serve`.
pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
    pub(crate) state: TempDir,
}

impl Served {
    /// Serves a folder and waits until it says where it listens.
    pub(crate) fn start(folder: &Path, manner: Manner) -> Outcome<Self> {
        match manner {
            Manner::Plainly => Self::with(folder, "", &[]),
            Manner::WithoutCache => Self::with(folder, WITHOUT_CACHE, &[]),
            Manner::TrustingPersonas => {
                Self::with(folder, "", &[("WICK_TEST_TRUST_PERSONAS", "1")])
            }
        }
    }

    /// The same with settings, as they stand in `wick.toml`, and variables of its process.
    pub(crate) fn with(folder: &Path, settings: &str, variables: &[(&str, &str)]) -> Outcome<Self> {
        let state = TempDir::new().map_err(|error| error.to_string())?;
        // Started by root, it serves as somebody else.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(state.path(), open).map_err(|error| error.to_string())?;
        let complaints = File::create(state.path().join("complaints"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--threads", "2", "--state"]);
        command.arg(state.path().join("state")).arg(folder).envs(variables.iter().copied());
        if !settings.is_empty() {
            let path = state.path().join("wick.toml");
            std::fs::write(&path, settings).map_err(|error| error.to_string())?;
            command.arg("--config").arg(path);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(complaints.map_err(|error| error.to_string())?);
        let mut child = command.spawn().map_err(|error| format!("wick can't be run: {error}"))?;
        let output = child.stdout.take();
        let mut served = Self { child, port: 0, state };
        let (tell, told) = mpsc::channel();
        // Reads to the end, so that Wick never waits for somebody to read.
        std::thread::spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for line in lines.map_while(Result::ok) {
                if let Some(url) = line.trim().strip_prefix("listening ") {
                    // Nobody hears it if the test gave up.
                    let _ = tell.send(url.trim_end_matches('/').to_owned());
                }
            }
        });
        let url = told.recv_timeout(PATIENCE);
        let url = url.map_err(|_| format!("wick did not start: {}", served.complaints()))?;
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok());
        served.port = port.ok_or_else(|| format!("no port in {url}"))?;
        Ok(served)
    }

    /// `http://HOST:PORT`.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it wrote to standard error so far.
    pub(crate) fn complaints(&self) -> String {
        std::fs::read_to_string(self.state.path().join("complaints")).unwrap_or_default()
    }
}

impl Drop for Served {
    /// Politely, so that php-fpm goes too.
    fn drop(&mut self) {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

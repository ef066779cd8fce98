//! A specimen whose tables are in a MariaDB, behind a Wick that follows it.

use std::process::Command;

use tempfile::TempDir;

use crate::browser::Outcome;
use crate::served::Served;
use crate::server::{PASSWORD, Server};
use crate::specimen::{self, Specimen};
use crate::stranger::AGENT;

/// A log that tells every row with the names of its columns.
pub(crate) const LOG: &[&str] = &[
    "--log-bin=log",
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
];

/// How the site's changes are heard of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// By the log, as a user with the right to it.
    ByLog,
    /// As the app's own user, who has no right to a log.
    ByApp,
    /// Not at all.
    Not,
}

/// A running specimen.
pub(crate) struct Site {
    pub(crate) wick: Served,
    pub(crate) specimen: Specimen,
    pub(crate) database: Server,
    _folder: TempDir,
}

impl Site {
    /// Starts a database with these settings, a specimen on it, and Wick before that.
    pub(crate) fn start(name: &str, settings: &[&str], followed: Followed) -> Outcome<Self> {
        Self::start_with(name, settings, followed, "")
    }

    /// The same with more settings of Wick's for the site.
    pub(crate) fn start_with(
        name: &str,
        settings: &[&str],
        followed: Followed,
        more: &str,
    ) -> Outcome<Self> {
        let specimens = specimen::all()?;
        let specimen = specimens.into_iter().find(|specimen| specimen.name == name);
        let specimen = specimen.ok_or_else(|| format!("there is no specimen {name}"))?;
        let database = Server::start(settings).ok_or("there is no MariaDB")?;
        let socket = database.socket().display().to_string();
        let folder = TempDir::new().map_err(|error| error.to_string())?;
        let variables = [
            ("SPECIMEN_DB_SOCKET", socket.as_str()),
            ("SPECIMEN_DB_NAME", "site"),
            ("SPECIMEN_DB_USER", "app"),
            ("SPECIMEN_DB_PASSWORD", "app"),
        ];
        specimen::copy(name, folder.path(), &variables).map_err(|error| error.to_string())?;
        let changes = match followed {
            Followed::ByLog => address("wick", PASSWORD, &socket),
            Followed::ByApp => address("app", "app", &socket),
            Followed::Not => "off".to_owned(),
        };
        let wick = Served::with(&folder.path().join(name), &(settings_of(&changes) + more), &[])?;
        Ok(Self { wick, specimen, database, _folder: folder })
    }

    /// Changes the database behind Wick's back.
    pub(crate) fn ask(&self, statements: &str) -> String {
        self.database.ask(&format!("USE site; {statements}"))
    }
}

/// Wick's settings for a site with this source of changes.
pub(crate) fn settings_of(changes: &str) -> String {
    format!("[[site]]\nphp_children = 4\nchanges = \"{changes}\"\n")
}

/// The address of the database `site` behind a socket.
pub(crate) fn address(user: &str, password: &str, socket: &str) -> String {
    let password = password.replace('%', "%25").replace(':', "%3A").replace('@', "%40");
    format!("mysql://{user}:{password}@localhost/site?socket={socket}")
}

/// How often a site was swept since its Wick began, as Wick counts.
pub(crate) fn sweeps(wick: &Served) -> Outcome<usize> {
    let said = explain(wick, "/");
    let count = said.split("sweeps ").nth(1).and_then(|rest| rest.split(',').next());
    count.and_then(|count| count.parse().ok()).ok_or_else(|| format!("no count of sweeps: {said}"))
}

/// All that Wick says about an address: why it is shared, and how its site is followed.
pub(crate) fn explain(wick: &Served, target: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wick"));
    command
        .args(["explain", "--user-agent", AGENT, "--state"])
        .arg(wick.state.path().join("state"));
    match command.arg(format!("{}{target}", wick.origin())).output() {
        Ok(output) => {
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        }
        Err(error) => format!("wick explain can't be run: {error}"),
    }
}

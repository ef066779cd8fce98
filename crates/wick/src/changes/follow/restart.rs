//! Restarting a database's server, and knowing whether it came back.
//!
//! A connection that was open before is the witness: as long as it lives, so does the old
//! server, whatever the command said.

use std::io::{Read, Seek};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use super::database::Database;

/// How often the server is asked meanwhile.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the old server may live on after a command that restarts it has ended.
const FAREWELL: Duration = Duration::from_secs(10);
/// What packages call their servers.
const UNITS: &[&str] = &["mariadb", "mysql", "mysqld"];
/// The most of what a command said that is shown.
const OUTPUT_BYTES_MAX: u64 = 2000;

/// What restarts the server as its package does it, if that is known.
pub(super) async fn command() -> Option<String> {
    if Path::new("/run/systemd/system").is_dir() {
        for unit in UNITS {
            let mut ask = Command::new("systemctl");
            ask.args(["cat", unit])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            if ask.status().await.is_ok_and(|status| status.success()) {
                return Some(format!("systemctl restart {unit}"));
            }
        }
        return None;
    }
    let unit = UNITS.iter().find(|unit| Path::new("/etc/init.d").join(unit).exists())?;
    Some(format!("service {unit} restart"))
}

/// How a restart ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Restart {
    /// A new server answers.
    Done,
    /// The old one answers, as nothing restarted it; what the command said.
    NotBegun(String),
    /// Nothing answers; what the command said.
    Gone(String),
}

/// Runs the command, and waits for a new server for at most `wait` in all.
pub(super) async fn restart(database: &Database, command: &str, wait: Duration) -> Restart {
    let deadline = Instant::now() + wait;
    let mut witness = database.connect().await.ok();
    let failure = run(command, wait).await.err();
    if failure.is_none() {
        let farewell = deadline.min(Instant::now() + FAREWELL);
        while is_alive(&mut witness).await && Instant::now() < farewell {
            sleep(PAUSE).await;
        }
    }
    if is_alive(&mut witness).await {
        let silent = || format!("\"{command}\" ended and restarted nothing");
        return Restart::NotBegun(failure.unwrap_or_else(silent));
    }
    // A command that failed has given up: whoever else may start the server has a moment.
    let deadline =
        if failure.is_some() { deadline.min(Instant::now() + FAREWELL) } else { deadline };
    while database.connect().await.is_err() {
        if Instant::now() >= deadline {
            let silent = || format!("no answer within {} s", wait.as_secs());
            return Restart::Gone(failure.unwrap_or_else(silent));
        }
        sleep(PAUSE).await;
    }
    Restart::Done
}

async fn is_alive(witness: &mut Option<Conn>) -> bool {
    let Some(connection) = witness else { return false };
    let answer = timeout(PAUSE * 10, connection.query_drop("DO 1")).await;
    // A server that is too busy to answer lives.
    let is_alive = !matches!(answer, Ok(Err(_)));
    if !is_alive {
        *witness = None;
    }
    is_alive
}

/// Runs a command to its end; what it said if it failed.
async fn run(command: &str, wait: Duration) -> Result<(), String> {
    // A file: a server that it leaves behind would hold a pipe open for ever.
    let failed = |error: std::io::Error| format!("\"{command}\" can't be run: {error}");
    let mut said = tempfile::tempfile().map_err(failed)?;
    let output = || said.try_clone().map(Stdio::from).map_err(failed);
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .spawn()
        .map_err(failed)?;
    let ended = timeout(wait, child.wait()).await;
    let mut text = Vec::new();
    let _ = said.rewind().and_then(|()| said.take(OUTPUT_BYTES_MAX).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    match ended {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) if text.is_empty() => Err(format!("\"{command}\" failed ({status})")),
        Ok(Ok(_)) => Err(format!("\"{command}\" failed: {text}")),
        Ok(Err(error)) => Err(failed(error)),
        // It goes on: ending it in the middle might leave the database without a server.
        Err(_) => Err(format!("\"{command}\" has not ended within {} s", wait.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_command_says_is_shown_when_it_fails() {
        for (command, expected) in [
            ("true", Ok(())),
            ("echo why >&2; exit 3", Err("\"echo why >&2; exit 3\" failed: why")),
            ("exit 3", Err("\"exit 3\" failed (exit status: 3)")),
        ] {
            let ended = run(command, Duration::from_secs(60)).await;
            assert_eq!(ended, expected.map_err(str::to_owned));
        }
    }
}

//! The control socket: a door to the running Wick for whoever owns its state folder.
//!
//! `wick serve` makes the socket and takes it away again; `wick explain` and `wick purge` ask
//! through it.
//! What is spoken there stands in the `server` crate.
//! Invariants: 1. Nobody but its owner can ever connect to it. 2. A socket that somebody
//! answers on is replaced by its successor alone; one that was left behind, by anybody.
//! 3. Only what was made here is removed.

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server::{Act, OverruleOrder, PurgeOrder, Question, Rule};
use tokio::net::UnixListener;

use crate::announce::say;
use crate::arguments::{Explain, Overrule, Purge, Reload, Ruled, Upgrade};
use crate::{observing, plan};

/// The socket's name in the state folder.
const NAME: &str = "control.sock";
/// How long the running Wick may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take to start what new settings need.
const RELOAD_PATIENCE: Duration = Duration::from_secs(75);
/// More than any explanation has.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Why there is no conversation; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// Nobody listens.
    #[error(
        "no Wick is running with the state folder {0}: start one with \"wick serve SITE\", \
         or name the folder of the one that runs with --state"
    )]
    NotRunning(PathBuf),
    /// Somebody else listens.
    #[error(
        "another Wick with the state folder {0} answers \"wick explain\", and this one doesn't: \
         give it a folder of its own with --state"
    )]
    Taken(PathBuf),
    /// The socket can't be made.
    #[error(
        "\"wick explain\" won't find this Wick, as {0} can't be made: {1}; \
         name another folder with --state"
    )]
    Listen(PathBuf, io::Error),
    /// The socket can't be used.
    #[error("can't ask the Wick at {0}: {1}; ask as the user that it runs as, or restart it")]
    Ask(PathBuf, io::Error),
    /// It doesn't take the question.
    #[error("the running Wick says: {0}; it may be of another version, so restart it")]
    Refused(String),
    /// What is kept on the disk can't be read.
    #[error("can't read the answers kept in {0}: {1}; ask as the user that Wick runs as")]
    Kept(PathBuf, io::Error),
    /// There is no drawing on the terminal.
    #[error("the terminal can't be used: {0}; \"wick top --once\" shows everything as text")]
    Terminal(io::Error),
    /// It takes the question, and something is wrong with it.
    #[error("{0}: {1}")]
    Wrong(&'static str, String),
}

/// The socket's file; it goes when this is dropped.
pub(crate) struct ControlSocket {
    path: PathBuf,
    /// Its device and number: another Wick may have put its own in the same place since.
    identity: (u64, u64),
}

impl ControlSocket {
    /// Listens in a state folder, also in the place of another Wick that is known to leave. It
    /// must be called on a runtime.
    pub(crate) fn open(
        state: &Path,
        takes_over: bool,
    ) -> Result<(Self, UnixListener), ControlError> {
        let path = state.join(NAME);
        match UnixStream::connect(&path) {
            Ok(_) if takes_over => {}
            Ok(_) => return Err(ControlError::Taken(state.to_owned())),
            Err(error) if is_nobody(&error) => {}
            Err(error) => return Err(ControlError::Listen(path, error)),
        }
        match listen(state, &path) {
            Ok((identity, listener)) => Ok((Self { path, identity }, listener)),
            Err(error) => Err(ControlError::Listen(path, error)),
        }
    }
}

impl ControlSocket {
    /// Whether it is still this one that is found.
    pub(crate) fn is_in_place(&self) -> bool {
        identity(&self.path).is_ok_and(|identity| identity == self.identity)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if self.is_in_place() {
            // If it can't be removed, the next one replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds behind a closed door and moves the socket to its place when only its owner may
/// use it; that replaces what was left there in one step.
fn listen(state: &Path, path: &Path) -> io::Result<((u64, u64), UnixListener)> {
    fs::create_dir_all(state)?;
    let closed = tempfile::Builder::new()
        .prefix(".control-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(state)?;
    let made = closed.path().join("s");
    let listener = UnixListener::bind(&made)?;
    fs::set_permissions(&made, Permissions::from_mode(0o600))?;
    let identity = identity(&made)?;
    fs::rename(&made, path)?;
    Ok((identity, listener))
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Whether there is no socket, or one that nobody listens on.
fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Asked<'a> {
    Explain(&'a Question),
    Purge(&'a PurgeOrder),
    Overrule(&'a OverruleOrder),
    Reload {},
    Upgrade {},
    Observed(&'a observing::asking::Question),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    Lines(Vec<Line>),
    Wrong(String),
    Error(String),
    Observed(serde_json::Value),
}

#[derive(Deserialize)]
pub(crate) struct Line {
    pub(crate) topic: String,
    pub(crate) text: String,
}

/// `wick explain`: asks the running Wick and shows what it says.
pub(crate) fn explain(arguments: &Explain) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let question = Question {
        url: arguments.url.clone(),
        cookies: arguments.cookie.join("; "),
        user_agent: arguments.user_agent.clone().unwrap_or_default(),
    };
    show(ask(&state, &Asked::Explain(&question), PATIENCE)?, "nothing is explained")
}

/// `wick purge`: has the running Wick purge, and shows what it did.
pub(crate) fn purge(arguments: &Purge) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let order = PurgeOrder {
        urls: arguments.urls.clone(),
        tags: arguments.tag.clone(),
        hosts: arguments.host.clone(),
        all: arguments.all,
        soft: arguments.soft,
    };
    show(ask(&state, &Asked::Purge(&order), PATIENCE)?, "nothing was purged")
}

/// `wick overrule`: has the running Wick overrule what it learned, and shows what it did.
pub(crate) fn overrule(arguments: &Overrule) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    let rule = |rule| match arguments.take_back {
        true => Act::TakeBack(rule),
        false => Act::Rule(rule),
    };
    let order = OverruleOrder {
        site: arguments.site.clone().unwrap_or_default(),
        act: arguments.rule.map(|ruled| match ruled {
            Ruled::AppCookies => rule(Rule::AppCookies),
            Ruled::ForeignCookies => rule(Rule::ForeignCookies),
            Ruled::NeverShare => rule(Rule::NeverShare),
            Ruled::ChangesIgnored => rule(Rule::ChangesIgnored),
            Ruled::ChangesHeeded => rule(Rule::ChangesHeeded),
            Ruled::Forget => Act::Forget,
        }),
        subject: arguments.subject.clone().unwrap_or_default(),
        by: "wick overrule".to_owned(),
    };
    show(ask(&state, &Asked::Overrule(&order), PATIENCE)?, "nothing was overruled")
}

/// `wick reload`: has the running Wick read its settings again, and shows what it did.
pub(crate) fn reload(arguments: &Reload) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    show(ask(&state, &Asked::Reload {}, RELOAD_PATIENCE)?, "the settings stay as they were")
}

/// `wick upgrade`: has the binary that is on the disk now take the running one's place.
pub(crate) fn upgrade(arguments: &Upgrade) -> Result<(), ControlError> {
    let state = arguments.state.clone().unwrap_or_else(plan::default_state);
    show(ask(&state, &Asked::Upgrade {}, RELOAD_PATIENCE)?, "the running one serves on")
}

/// `if_wrong` says what was not done.
fn show(answer: Answer, if_wrong: &'static str) -> Result<(), ControlError> {
    match answer {
        Answer::Lines(lines) => {
            say(&table(&lines));
            Ok(())
        }
        Answer::Wrong(why) => Err(ControlError::Wrong(if_wrong, printable(&why))),
        Answer::Error(why) => Err(ControlError::Refused(printable(&why))),
        Answer::Observed(_) => Err(ControlError::Refused("it answers something else".to_owned())),
    }
}

/// Asks the running Wick about what happened.
pub(crate) fn ask_observed<A: DeserializeOwned>(
    state: &Path,
    question: &observing::asking::Question,
) -> Result<A, ControlError> {
    match ask(state, &Asked::Observed(question), PATIENCE)? {
        Answer::Observed(told) => serde_json::from_value(told)
            .map_err(|error| ControlError::Refused(format!("it answers something else: {error}"))),
        answer => {
            show(answer, "nothing is told")?;
            Err(ControlError::Refused("it answers something else".to_owned()))
        }
    }
}

fn ask(state: &Path, question: &Asked<'_>, patience: Duration) -> Result<Answer, ControlError> {
    let (mut stream, path) = connect(state)?;
    let mut exchange = || {
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut text = serde_json::to_vec(question)?;
        text.push(b'\n');
        stream.write_all(&text)?;
        let mut line = String::new();
        BufReader::new((&mut stream).take(ANSWER_BYTES_MAX)).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    exchange().map_err(|error| ControlError::Ask(path, error))
}

/// Comes to the running Wick.
pub(crate) fn connect(state: &Path) -> Result<(UnixStream, PathBuf), ControlError> {
    let path = state.join(NAME);
    match UnixStream::connect(&path) {
        Ok(stream) => Ok((stream, path)),
        Err(error) if is_nobody(&error) => Err(ControlError::NotRunning(state.to_owned())),
        Err(error) => Err(ControlError::Ask(path, error)),
    }
}

/// The lines with their texts below each other.
fn table(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.topic.chars().count()).max().unwrap_or(0);
    let show =
        |line: &Line| format!("{:<width$}  {}\n", printable(&line.topic), printable(&line.text));
    lines.iter().map(show).collect()
}

/// A text that can't move the cursor: parts of it come from visitors.
pub(crate) fn printable(text: &str) -> String {
    let show = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_that_nobody_answers_on_is_replaced_and_another_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        let path = state.join(NAME);
        let (first, listener) = ControlSocket::open(&state, false).expect("a free place");
        let mode = fs::metadata(&path).expect("the socket").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&state).expect("the folder").count(), 1, "the closed door is gone");
        let taken = ControlSocket::open(&state, false).err().expect("it is taken").to_string();
        assert!(taken.contains("another Wick"), "{taken}");

        drop(listener);
        let (second, _listener) = ControlSocket::open(&state, false).expect("nobody answers");
        drop(first);
        assert!(path.exists(), "it is not the first one's any more");
        drop(second);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_successor_is_found_while_the_one_before_still_answers() {
        let state = tempfile::tempdir().expect("a folder");
        let path = state.path().join(NAME);
        let (before, _answers) = ControlSocket::open(state.path(), false).expect("a free place");
        let (successor, _too) = ControlSocket::open(state.path(), true).expect("it takes over");
        assert!(successor.is_in_place() && !before.is_in_place());
        drop(before);
        assert!(path.exists(), "at no moment is there none");
        // If the successor fails, the one before takes its place back.
        drop(successor);
        assert!(!path.exists());
        let (again, _again) = ControlSocket::open(state.path(), false).expect("a free place");
        assert!(again.is_in_place());
    }

    #[test]
    fn a_chain_is_shown_in_two_columns_and_nothing_moves_the_cursor() {
        let line = |topic: &str, text: &str| Line { topic: topic.into(), text: text.into() };
        let lines = [line("site", "/srv/é"), line("verdict", "hit\x1b[2J\n")];
        assert_eq!(table(&lines), "site     /srv/é\nverdict  hit\\u{1b}[2J\\n\n");
        assert_eq!(table(&[]), "");
    }
}

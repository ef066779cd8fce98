//! The keeper: the one process that stays root, and does the few things that only root can.
//!
//! It starts php-fpm for the folders that the settings name, which then runs as their owners, reads
//! the files of certificates that the settings name, and makes the access log that they name. It is asked through a socket that only
//! Wick's user can open, a line of JSON each way.
//! What it does follows from the settings as they stand on the disk, never from what it is asked:
//! who has broken into the process that serves gains nothing here that it didn't have.
//! Invariants: 1. its folder is root's, below `/run`. 2. what was started for a connection ends
//! with it. 3. it ends when the last connection has, or if none comes.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use origin::{Fpm, FpmOptions};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::account::Account;
use super::hand_over;
use crate::arguments::Serve;
use crate::certificates::CertificatePlan;
use crate::plan::{Plan, Source};
use crate::run::{RunError, single_threaded};

/// Where keepers have their folders.
const FOLDER: &str = "/run/wick";
const SOCKET: &str = "keeper";
/// How the keeper is started.
const KEEP_FOR: &str = "--keep-for";
/// What it says once it can be asked.
const READY: &str = "ready";
/// How long it may take for the first to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it is waited for one that is about to end.
const PATIENCE_WITH_ANOTHER: Duration = Duration::from_secs(2);
/// Wicks that may run with one state folder.
const KEEPERS_MAX: u32 = 8;
const STEP: Duration = Duration::from_millis(10);
/// A path or two.
const QUESTION_BYTES_MAX: u64 = 16 << 10;
/// More than any file of certificates or settings has.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Connections: who serves, and who takes its place.
const CONNECTIONS_MAX: usize = 4;
/// More sites with PHP than anybody has on one machine.
const STARTED_MAX: usize = 256;

/// Why there is no keeper.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeeperError {
    #[error("{0} can't be used for what root has to do for Wick: {1}")]
    Folder(PathBuf, io::Error),
    #[error("the process that starts php-fpm did not come up: {0}")]
    Start(String),
}

/// What it is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// Start php-fpm for a site's folder.
    Start { folder: PathBuf, number: u64, database_socket: Option<PathBuf> },
    /// Let requests finish, and stop it.
    Stop(u64),
    /// Tell how often it was started again.
    Restarts(u64),
    /// Read a file.
    Read(PathBuf),
    /// Make the access log.
    Log(PathBuf),
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Started(StartedPhp),
    Done,
    Number(u64),
    Text(String),
    Wrong(String),
}

/// A php-fpm that runs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartedPhp {
    pub(super) id: u64,
    pub(super) socket: PathBuf,
    pub(super) program: PathBuf,
    pub(super) user: Option<String>,
    pub(super) children: usize,
    pub(super) status_path: PathBuf,
    pub(super) opcache_script: Option<PathBuf>,
    pub(super) slow_log: Option<PathBuf>,
}

/// Starts a keeper beside this process; where it is asked.
pub(super) fn launch(state: &Path, account: &Account) -> Result<PathBuf, KeeperError> {
    make(Path::new(FOLDER), 0o755).map_err(|error| KeeperError::Folder(FOLDER.into(), error))?;
    let start = |why: String| KeeperError::Start(why);
    let visitor = format!("{}:{}:{}", account.uid, account.gid, folder_of(state).display());
    // Of a group of its own: what is typed at the terminal is meant for who serves.
    let mut child = Command::new("/proc/self/exe")
        .arg0("wick")
        .args(std::env::args_os().skip(1))
        .args([KEEP_FOR, &visitor])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|error| start(error.to_string()))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        BufReader::new(output).read_line(&mut line).map_err(|error| start(error.to_string()))?;
    }
    let socket = line.trim().strip_prefix(READY).map(|path| PathBuf::from(path.trim()));
    socket.ok_or_else(|| start(line.trim().to_owned()))
}

/// A folder that is root's, and that nobody else can change.
fn make(folder: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(mode).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let data = fs::symlink_metadata(folder)?;
    if !data.is_dir() || data.uid() != 0 {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it isn't a folder of root's"));
    }
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// One for each state folder. Short, since a socket's path has at most 107 bytes.
fn folder_of(state: &Path) -> PathBuf {
    let state = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    Path::new(FOLDER).join(short_name(&state))
}

/// A path's end, for people, and a sum of all of it.
fn short_name(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
    let end: String = text.chars().rev().filter(is_plain).take(14).collect();
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}-{sum:016x}", end.chars().rev().collect::<String>())
}

/// The keeper's life. `keep_for` is whom it is for and where: `33:33:/run/wick/…`.
pub(crate) fn keep(serve: &Serve, keep_for: &str) -> Result<(), RunError> {
    let mut parts = keep_for.splitn(3, ':');
    let mut number = || parts.next().and_then(|number| number.parse::<u32>().ok());
    let (Some(uid), Some(gid)) = (number(), number()) else { return Ok(()) };
    let (folder, lock) = match take_folder(parts.next().unwrap_or_default()) {
        Ok(taken) => taken,
        Err(error) => {
            crate::announce::say(&format!("{error}\n"));
            return Ok(());
        }
    };
    let keeper = Keeper { serve: serve.clone(), visitor: (uid, gid), folder };
    let kept = single_threaded()?.block_on(keeper.listen());
    drop(lock);
    kept.map_err(|error| RunError::System("the socket of the process that starts php-fpm", error))
}

/// A folder that no other keeper has: the same as before, if that one ends in time, since what
/// was left in it is found there.
fn take_folder(name: &str) -> io::Result<(PathBuf, File)> {
    let mut patience = PATIENCE_WITH_ANOTHER;
    for number in 1..=KEEPERS_MAX {
        let folder = match number {
            1 => PathBuf::from(name),
            _ => PathBuf::from(format!("{name}.{number}")),
        };
        make(&folder, 0o711)?;
        let file = File::create(folder.join("lock"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok((folder, file)),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if patience.is_zero() => break,
                Err(TryLockError::WouldBlock) => std::thread::sleep(STEP),
            }
            patience = patience.saturating_sub(STEP);
        }
    }
    Err(io::Error::other("too many Wicks run with this state folder: name another with --state"))
}

struct Keeper {
    serve: Serve,
    visitor: (u32, u32),
    folder: PathBuf,
}

/// What was started for one connection.
#[derive(Default)]
struct Own {
    php: HashMap<u64, Fpm>,
    last: u64,
}

impl Keeper {
    async fn listen(self) -> io::Result<()> {
        // Who serves is told to stop, and with it this ends: PHP may be asked until then.
        let _ignored =
            [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        let path = self.folder.join(SOCKET);
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        chown(&path, Some(self.visitor.0), Some(self.visitor.1))?;
        crate::announce::say(&format!("{READY} {}\n", path.display()));
        let keeper = std::rc::Rc::new(self);
        let local = tokio::task::LocalSet::new();
        local.run_until(keeper.serve_all(listener)).await;
        Ok(())
    }

    async fn serve_all(self: std::rc::Rc<Self>, listener: UnixListener) {
        let first = tokio::time::timeout(PATIENCE, listener.accept()).await;
        let Ok(Ok((stream, _))) = first else { return };
        tokio::task::spawn_local(crate::memory::give_back_code_soon());
        let mut asking = JoinSet::new();
        asking.spawn_local(self.clone().answer_all(stream));
        while !asking.is_empty() {
            tokio::select! {
                Some(_) = asking.join_next() => {}
                accepted = listener.accept(), if asking.len() < CONNECTIONS_MAX => match accepted {
                    Ok((stream, _)) => drop(asking.spawn_local(self.clone().answer_all(stream))),
                    // As at want of descriptors, which others give back.
                    Err(_) => tokio::time::sleep(STEP).await,
                },
            }
        }
    }

    /// Answers one who serves, until it is gone; what it had started goes with it.
    async fn answer_all(self: std::rc::Rc<Self>, stream: UnixStream) {
        let (read, mut write) = stream.into_split();
        let mut lines = tokio::io::BufReader::new(read);
        let mut own = Own::default();
        while let Some(line) = next_line(&mut lines).await {
            let answer = match serde_json::from_str(&line) {
                Ok(question) => self.answer(question, &mut own).await,
                Err(error) => Answer::Wrong(error.to_string()),
            };
            let Ok(mut text) = serde_json::to_vec(&answer) else { return };
            text.push(b'\n');
            if write.write_all(&text).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, question: Question, own: &mut Own) -> Answer {
        match question {
            Question::Start { folder, number, database_socket } => {
                match self.start(&folder, number, database_socket, own).await {
                    Ok(started) => Answer::Started(started),
                    Err(why) => Answer::Wrong(why),
                }
            }
            Question::Stop(id) => {
                if let Some(fpm) = own.php.remove(&id) {
                    fpm.stop().await;
                }
                Answer::Done
            }
            Question::Restarts(id) => match own.php.get(&id) {
                Some(fpm) => Answer::Number(fpm.restarts()),
                None => Answer::Wrong("no such php-fpm was started".to_owned()),
            },
            Question::Read(path) => {
                self.read(&path).map_or_else(|error| Answer::Wrong(error.to_string()), Answer::Text)
            }
            Question::Log(path) => match self.make_log(&path) {
                Ok(()) => Answer::Done,
                Err(why) => Answer::Wrong(why),
            },
        }
    }

    /// Starts php-fpm for a folder, if the settings have a site there.
    async fn start(
        &self,
        folder: &Path,
        number: u64,
        database_socket: Option<PathBuf>,
        own: &mut Own,
    ) -> Result<StartedPhp, String> {
        let plan = Plan::of(&self.serve).map_err(|error| error.to_string())?;
        let is_meant = |site: &&crate::plan::SitePlan| match &site.source {
            Source::Folder(named) => {
                site.php.is_none() && fs::canonicalize(named).is_ok_and(|named| named == folder)
            }
            Source::Http(_) => false,
        };
        let site = plan.sites.iter().find(is_meant);
        let site = site.ok_or_else(|| {
            format!("the settings name no site in {}: reload them once more", folder.display())
        })?;
        if own.php.len() == STARTED_MAX {
            return Err(format!("more than {STARTED_MAX} sites with PHP can't be served"));
        }
        let mut name = short_name(folder);
        if number > 0 {
            name.push_str(&format!(".{number}"));
        }
        let mut options = FpmOptions::new(folder, self.folder.join(name));
        options.children = site.php_children.map(|children| children as usize);
        options.environment = site.environment.clone();
        options.slow_after = site.php_slow;
        options.database_socket = database_socket;
        options.visitor = Some(self.visitor);
        let fpm = Fpm::start(options).await.map_err(|error| error.to_string())?;
        own.last += 1;
        let started = StartedPhp {
            id: own.last,
            socket: fpm.socket().to_owned(),
            program: fpm.program().to_owned(),
            user: fpm.user().map(str::to_owned),
            children: fpm.children(),
            status_path: fpm.status_path().to_owned(),
            opcache_script: fpm.opcache_script().map(Path::to_owned),
            slow_log: fpm.slow_log().map(Path::to_owned),
        };
        own.php.insert(own.last, fpm);
        Ok(started)
    }

    /// Reads the settings, or a file that they name for a certificate or for Sphinx's clients.
    fn read(&self, path: &Path) -> io::Result<String> {
        let is_settings = self.serve.config.as_deref() == Some(path);
        let is_named = || {
            let plan = Plan::of(&self.serve).ok()?;
            let is_named = plan.sites.iter().any(|site| match &site.certificate {
                CertificatePlan::Files(files) => files.chain == path || files.key == path,
                _ => false,
            });
            let sphinx = plan.sphinx.and_then(|sphinx| sphinx.file);
            (is_named || sphinx.as_deref() == Some(path)).then_some(())
        };
        if !is_settings && is_named().is_none() {
            return Err(io::Error::new(ErrorKind::PermissionDenied, "the settings don't name it"));
        }
        let mut text = String::new();
        File::open(path)?.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Makes the log that the settings name, where one was moved away.
    fn make_log(&self, path: &Path) -> Result<(), String> {
        let plan = Plan::of(&self.serve).map_err(|error| error.to_string())?;
        if plan.access_log.as_deref() != Some(path) {
            return Err("the settings don't name it".to_owned());
        }
        hand_over::log(path, self.visitor).map_err(|error| error.to_string())
    }
}

/// The next line, if it is a short one.
async fn next_line(lines: &mut tokio::io::BufReader<OwnedReadHalf>) -> Option<String> {
    let mut line = String::new();
    let read = lines.take(QUESTION_BYTES_MAX).read_line(&mut line).await;
    (read.ok()? > 0 && line.ends_with('\n')).then_some(line)
}

/// Sends a line and reads one.
pub(super) fn exchange(
    stream: &mut BufReader<std::os::unix::net::UnixStream>,
    question: &Question,
) -> io::Result<Answer> {
    let mut text = serde_json::to_vec(question)?;
    text.push(b'\n');
    stream.get_mut().write_all(&text)?;
    let mut line = String::new();
    stream.take(2 * FILE_BYTES_MAX).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

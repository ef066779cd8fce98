//! What who serves asks of the keeper: php-fpm, and files that only root may read.
//!
//! Invariant: a keeper that is gone or doesn't answer is told of once, and what it had to do
//! fails with a word; nothing else does.

use base::complaint::complain;
use std::fs;
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::VARIABLE;
use super::keeper::{Answer, Question, StartedPhp, exchange};

/// How long php-fpm may take to come up, or to let requests finish.
const PATIENCE: Duration = Duration::from_secs(40);

type Connection = Mutex<Option<BufReader<UnixStream>>>;

/// The connection to the keeper, made when it is first needed.
fn connection() -> Option<&'static Connection> {
    static KEEPER: OnceLock<Option<Connection>> = OnceLock::new();
    let connect = || {
        let path = PathBuf::from(std::env::var_os(VARIABLE)?);
        let connected = UnixStream::connect(&path).and_then(|stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => Some(Mutex::new(Some(BufReader::new(stream)))),
            Err(error) => {
                complain(format_args!(
                    "what root does for it at {} is not there: {error}",
                    path.display()
                ));
                None
            }
        }
    };
    KEEPER.get_or_init(connect).as_ref()
}

/// Whether root has started this, and does what it can't.
pub(crate) fn is_kept() -> bool {
    connection().is_some()
}

fn ask(connection: &Connection, question: &Question) -> io::Result<Answer> {
    let gone = || {
        io::Error::new(
            ErrorKind::NotConnected,
            "the process that starts php-fpm is gone: restart Wick",
        )
    };
    let mut held = connection.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = exchange(held.as_mut().ok_or_else(gone)?, question);
    answer.map_err(|error| {
        // What comes late would be taken for the answer to something else.
        *held = None;
        complain(format_args!(
            "the process that starts php-fpm does not answer ({error}); restart Wick"
        ));
        gone()
    })
}

/// A php-fpm that the keeper looks after.
pub(crate) struct KeptPhp {
    started: StartedPhp,
    is_stopped: bool,
}

/// Has php-fpm started for a folder; nothing where there is no keeper.
pub(crate) async fn start_php(
    folder: &Path,
    number: u64,
    database_socket: Option<&Path>,
) -> Option<Result<KeptPhp, String>> {
    let connection = connection()?;
    let question = Question::Start {
        folder: folder.to_owned(),
        number,
        database_socket: database_socket.map(Path::to_owned),
    };
    let asked = tokio::task::spawn_blocking(move || ask(connection, &question)).await;
    Some(match asked {
        Ok(Ok(Answer::Started(started))) => Ok(KeptPhp { started, is_stopped: false }),
        Ok(Ok(Answer::Wrong(why))) => Err(why),
        Ok(Ok(other)) => Err(format!("the process that starts php-fpm says {other:?}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    })
}

impl KeptPhp {
    pub(crate) fn socket(&self) -> &Path {
        &self.started.socket
    }

    pub(crate) fn program(&self) -> &Path {
        &self.started.program
    }

    pub(crate) fn user(&self) -> Option<&str> {
        self.started.user.as_deref()
    }

    pub(crate) fn children(&self) -> usize {
        self.started.children
    }

    pub(crate) fn status_path(&self) -> &Path {
        &self.started.status_path
    }

    pub(crate) fn opcache_script(&self) -> Option<&Path> {
        self.started.opcache_script.as_deref()
    }

    /// By what the keeper is asked how often it was started again.
    pub(crate) fn id(&self) -> u64 {
        self.started.id
    }

    pub(crate) fn slow_log(&self) -> Option<&Path> {
        self.started.slow_log.as_deref()
    }

    /// Lets requests finish, and stops it.
    pub(crate) async fn stop(mut self) {
        self.is_stopped = true;
        let (id, Some(connection)) = (self.started.id, connection()) else { return };
        // One that is gone has stopped it.
        let _ = tokio::task::spawn_blocking(move || ask(connection, &Question::Stop(id))).await;
    }
}

impl Drop for KeptPhp {
    /// For a start that failed half way: whoever waits for php-fpm here would wait for nothing.
    fn drop(&mut self) {
        if let (false, Some(connection)) = (self.is_stopped, connection()) {
            let _ = ask(connection, &Question::Stop(self.started.id));
        }
    }
}

/// How often the keeper started a php-fpm again, by its number; none while nobody can tell.
pub(crate) async fn restarts(id: u64) -> Option<u64> {
    let connection = connection()?;
    let asked = tokio::task::spawn_blocking(move || ask(connection, &Question::Restarts(id))).await;
    match asked {
        Ok(Ok(Answer::Number(restarts))) => Some(restarts),
        _ => None,
    }
}

/// Has the access log made, where only root may; whether that was tried.
pub(crate) fn make_log(path: &Path) -> bool {
    let asked = |connection| ask(connection, &Question::Log(path.to_owned()));
    connection().is_some_and(|connection| matches!(asked(connection), Ok(Answer::Done)))
}

/// Reads a file, by the keeper where only root may.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let Some(connection) = connection() else { return Err(error) };
            match ask(connection, &Question::Read(path.to_owned()))? {
                Answer::Text(text) => Ok(text.into_bytes()),
                Answer::Wrong(why) => Err(io::Error::new(ErrorKind::PermissionDenied, why)),
                _ => Err(error),
            }
        }
        read => read,
    }
}

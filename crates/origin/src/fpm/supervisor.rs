//! Watching over php-fpm: launch, crash, launch again, farewell.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base::{Counter, Shutdown};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::Instant;

use super::FpmError;
use super::configuration::Plan;
use super::left_over;
use crate::Log;

/// How long it may take from launch to listening.
const LAUNCH_PATIENCE: Duration = Duration::from_secs(10);
const LAUNCH_STEP: Duration = Duration::from_millis(5);
/// The pause after the first crash; it doubles with each that follows soon.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Having run this long, it counts as healthy again.
const HEALTHY: Duration = Duration::from_secs(60);
/// How long running requests may take to finish.
const FAREWELL: Duration = Duration::from_secs(10);
/// The most of one line that is kept.
const LINE_BYTES_MAX: u64 = 8 * 1024;

/// The process group of the php-fpm that runs now, to be ended from anywhere.
#[derive(Debug, Default)]
pub(crate) struct Group(AtomicU32);

impl Group {
    pub(crate) fn id(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Acquire)).filter(|id| *id > 0)
    }

    fn set(&self, id: u32) {
        self.0.store(id, Ordering::Release);
    }

    fn pid(&self) -> Option<Pid> {
        self.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    /// Ends master and children at once. Twice is harmless: the id is forgotten.
    pub(crate) fn kill(&self) {
        if let Some(group) = self.pid() {
            // Gone already is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.set(0);
    }

    /// Asks the master to let requests finish and end.
    fn ask_to_finish(&self) {
        if let Some(master) = self.pid() {
            let _ = kill_process(master, Signal::QUIT);
        }
    }
}

/// What it takes to launch php-fpm again and again.
pub(crate) struct Supervisor {
    pub(crate) plan: Plan,
    pub(crate) log: Log,
    pub(crate) restarts: Arc<Counter>,
    pub(crate) process: Arc<Group>,
}

impl Supervisor {
    /// Launches php-fpm and waits until its socket accepts.
    pub(crate) async fn launch(&mut self) -> Result<Child, FpmError> {
        let failed =
            |reason: String| FpmError::Start { program: self.plan.program.clone(), reason };
        // Or the first connection would be to the socket of the one before.
        let _ = std::fs::remove_file(self.plan.socket());
        let mut child = Command::new(&self.plan.program)
            .args(self.plan.arguments())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let id = child.id().unwrap_or(0);
        self.process.set(id);
        let file = left_over::id_file(&self.plan.run_folder);
        if let Err(error) = std::fs::write(&file, id.to_string()) {
            self.log
                .text("wick", format!("{} can't be written: {error}", file.display()).as_bytes());
        }
        let last_words = Arc::new(Mutex::new(String::new()));
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(relay(stderr, self.log.clone(), last_words.clone()));
        }
        let listening = self.listening(&mut child);
        let reason = match tokio::time::timeout(LAUNCH_PATIENCE, listening).await {
            Ok(Ok(())) => return Ok(child),
            Ok(Err(status)) => format!("it ended with {status}: {}", last_words.lock()),
            Err(_) => format!("it did not listen within {} s", LAUNCH_PATIENCE.as_secs()),
        };
        self.process.kill();
        Err(failed(reason))
    }

    /// Waits until the socket accepts; an error if the process ends before.
    async fn listening(&self, child: &mut Child) -> Result<(), String> {
        let socket = self.plan.socket();
        loop {
            if UnixStream::connect(&socket).await.is_ok() {
                return Ok(());
            }
            let ended = tokio::time::timeout(LAUNCH_STEP, child.wait()).await;
            if let Ok(status) = ended {
                // What it said on the way out is still on its way through the pipe.
                tokio::time::sleep(LAUNCH_STEP * 10).await;
                return Err(describe(status));
            }
        }
    }

    /// Launches it again whenever it ends, until the signal to stop.
    pub(crate) async fn keep_alive(mut self, child: Child, stop: Shutdown) {
        let mut running = Some(child);
        let mut pause = FIRST_PAUSE;
        loop {
            let since = Instant::now();
            if let Some(mut child) = running.take() {
                let ended = tokio::select! {
                    status = child.wait() => describe(status),
                    () = stop.begun() => return self.farewell(child).await,
                };
                // Children outlive a master that was killed, and hold on to the socket. Its
                // name goes first: who connected to the dying would be reset, while who
                // finds no socket waits for the next.
                let _ = std::fs::remove_file(self.plan.socket());
                self.process.kill();
                self.log
                    .text("wick", format!("php-fpm ended ({ended}); starting it again").as_bytes());
            }
            if since.elapsed() >= HEALTHY {
                pause = FIRST_PAUSE;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.begun() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            self.restarts.bump();
            match self.launch().await {
                Ok(child) => running = Some(child),
                Err(error) => self.log.text("wick", error.to_string().as_bytes()),
            }
        }
    }

    /// Lets requests finish, then ends whatever is left.
    async fn farewell(&self, mut child: Child) {
        self.process.ask_to_finish();
        let _ = tokio::time::timeout(FAREWELL, child.wait()).await;
        self.process.kill();
        let _ = std::fs::remove_file(self.plan.socket());
        let _ = std::fs::remove_file(left_over::id_file(&self.plan.run_folder));
    }
}

fn describe(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| error.to_string(), |status| status.to_string())
}

/// Logs what php-fpm writes to standard error, line by line, each of bounded length.
async fn relay(stderr: ChildStderr, log: Log, last_words: Arc<Mutex<String>>) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.contains("ERROR") || text.contains("ALERT") {
            last_words.lock().clone_from(&text.to_owned());
        }
        // Start and stop are told by Wick itself; notices would only repeat them.
        if !text.contains("NOTICE: ")
            && !text.is_empty()
            && let Some(text) = shown(text)
        {
            log.text("php-fpm", text.as_bytes());
        }
    }
}

/// What of a message of php-fpm's is logged: nothing that the slow log has anyway, and never the
/// query of a request.
fn shown(text: &str) -> Option<String> {
    if text.contains(" executing too slow (") {
        return None;
    }
    let (before, request) = text.split_once("(request: \"").unwrap_or((text, ""));
    let (asked, behind) = request.rsplit_once("\")").unwrap_or((request, ""));
    Some(match asked.split_once('?') {
        Some((path, _)) => format!("{before}(request: \"{path}\"){behind}"),
        None => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn no_query_of_a_request_is_logged() {
        let script = "[x] WARNING: [pool w] child 1, script '/i.php'";
        for (text, expected) in [
            ("[x] NOTICE: fpm is running, pid 1", Some("[x] NOTICE: fpm is running, pid 1")),
            ("(request: \"GET /i.php?slow=1\") executing too slow (1.0 sec), logging", None),
            (
                "(request: \"GET /i.php?a=hush\") execution timed out (3 sec), terminating",
                Some("(request: \"GET /i.php\") execution timed out (3 sec), terminating"),
            ),
            (
                "(request: \"GET /i.php?a=\")hush\") execution timed out",
                Some("(request: \"GET /i.php\") execution timed out"),
            ),
            ("(request: \"GET /i.php?hush", Some("(request: \"GET /i.php\")")),
            ("(request: \"GET /i.php\") timed out", Some("(request: \"GET /i.php\") timed out")),
        ] {
            let told = shown(&format!("{script} {text}"));
            let expected = expected.map(|text| format!("{script} {text}"));
            assert_eq!(told, expected, "{text}");
        }
    }
}

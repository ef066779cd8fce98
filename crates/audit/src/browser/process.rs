//! Chromium without a window, told what to do over the pipe of its DevTools protocol.
//!
//! Invariants: 1. it has no network: all that it asks for goes to a proxy that has no address,
//! but for what is answered over the pipe. 2. it ends with this process, however that ends, and
//! its profile goes with it. 3. nothing of this process's environment is handed to it but where
//! programs are.
//! Start at [`Chromium::start`].

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::asked::BrowserPlan;
use super::folder::profile;

/// How long its first answer may take: the program is large.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// How long any other may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may take to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// A longer message is no answer.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// Messages that wait to be read.
const MESSAGES_MAX: usize = 1024;
/// Messages that came while an answer was waited for.
const BACKLOG_MAX: usize = 20_000;
/// Lines that it complained by, as far as they are kept.
const WORDS_MAX: usize = 3;
const WORD_BYTES_MAX: u64 = 300;
/// How often it is tried to remove what a process that is just dying may still write.
const REMOVALS_MAX: u32 = 40;
const REMOVAL_REST: Duration = Duration::from_millis(25);

/// The protocol wants its pipe at 3 and 4, which a shell can give it; and the shell is there to
/// remove the profile when this process was killed.
const SHELL: &str = "profile=$1; shift; \"$@\" 3<&0 4>&1 </dev/null >/dev/null; \
                     status=$?; rm -rf -- \"$profile\"; exit $status";
const OPTIONS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=nowhere.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--lang=en",
];

/// Why a page wasn't looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Because of the page; another can be.
    Page(String),
    /// Because of the browser, which has to be started anew.
    Browser(String),
    /// Somebody has had enough.
    Stopped,
}

/// A running Chromium.
pub(super) struct Chromium {
    child: Child,
    out: Option<ChildStdin>,
    heard: mpsc::Receiver<Value>,
    backlog: VecDeque<Value>,
    last_id: u64,
    words: Arc<Mutex<VecDeque<String>>>,
    /// Removed with the browser.
    profile: Option<TempDir>,
}

impl Chromium {
    /// Starts it and waits until it answers.
    pub(super) async fn start(plan: &BrowserPlan) -> Result<Self, Trouble> {
        let unmade = |error: std::io::Error| Trouble::Browser(error.to_string());
        let profile = profile().map_err(unmade)?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SHELL, "sh"]).arg(profile.path()).arg(&plan.program).args(OPTIONS);
        if !plan.has_sandbox {
            command.arg("--no-sandbox");
        }
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env_clear().env("HOME", profile.path()).env("TMPDIR", profile.path());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C is for us alone, who end it then; and all that it started is ended at once.
        command.process_group(0);
        let mut child = command.spawn().map_err(unmade)?;
        let (out, input, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (tell, heard) = mpsc::channel(MESSAGES_MAX);
        let words = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(input) = input {
            tokio::spawn(listen(input, tell));
        }
        if let Some(errors) = errors {
            tokio::spawn(overhear(errors, Arc::clone(&words)));
        }
        let (backlog, profile) = (VecDeque::new(), Some(profile));
        let mut chromium = Self { child, out, heard, backlog, last_id: 0, words, profile };
        let version = chromium.answer(None, "Browser.getVersion", json!({}), START_PATIENCE);
        match version.await {
            Ok(_) => Ok(chromium),
            Err(trouble) => {
                chromium.end().await;
                Err(trouble)
            }
        }
    }

    /// Calls a method, of a page where a session is named, and waits for its answer. What comes
    /// meanwhile waits.
    pub(super) async fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        options: Value,
    ) -> Result<Value, Trouble> {
        self.answer(session, method, options, PATIENCE).await
    }

    async fn answer(
        &mut self,
        session: Option<&str>,
        method: &str,
        options: Value,
        patience: Duration,
    ) -> Result<Value, Trouble> {
        let id = self.send(session, method, options).await?;
        let waited = timeout(patience, self.wait(id)).await;
        let late = || Trouble::Browser(format!("no answer within {} s", patience.as_secs()));
        let mut answer = waited.map_err(|_| late())??;
        match answer.get("error") {
            Some(error) if session.is_some() => Err(Trouble::Page(format!("{method}: {error}"))),
            Some(error) => Err(Trouble::Browser(format!("{method}: {error}"))),
            None => Ok(answer["result"].take()),
        }
    }

    async fn wait(&mut self, id: u64) -> Result<Value, Trouble> {
        loop {
            let Some(message) = self.heard.recv().await else { return Err(self.gone().await) };
            if message["id"] == id {
                return Ok(message);
            }
            if self.backlog.len() >= BACKLOG_MAX {
                return Err(Trouble::Browser("it talks and doesn't answer".to_owned()));
            }
            self.backlog.push_back(message);
        }
    }

    /// Calls a method whose answer comes by [`Chromium::next`], with this number.
    pub(super) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        options: Value,
    ) -> Result<u64, Trouble> {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": options });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let Some(out) = self.out.as_mut() else { return Err(self.gone().await) };
        let sent = timeout(PATIENCE, out.write_all(&bytes)).await;
        match sent {
            Ok(Ok(())) => Ok(self.last_id),
            Ok(Err(_)) => Err(self.gone().await),
            Err(_) => Err(Trouble::Browser("it doesn't listen any more".to_owned())),
        }
    }

    /// What it tells next.
    pub(super) async fn next(&mut self) -> Result<Value, Trouble> {
        if let Some(message) = self.backlog.pop_front() {
            return Ok(message);
        }
        match self.heard.recv().await {
            Some(message) => Ok(message),
            None => Err(self.gone().await),
        }
    }

    /// Forgets what it told of a page that is over.
    pub(super) fn forget(&mut self) {
        self.backlog.clear();
    }

    /// It ended by itself: with what words.
    async fn gone(&mut self) -> Trouble {
        // Its last words are read by another task, which ends with it.
        let ended = timeout(END_PATIENCE, self.child.wait()).await;
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut why = "the browser ended".to_owned();
        if let Ok(Ok(status)) = ended {
            why.push_str(&format!(" by itself ({status})"));
        }
        if !words.is_empty() {
            why.push_str(&format!(": {}", words.join("; ")));
        }
        Trouble::Browser(why)
    }

    /// Closes it, and sees that nothing is left of it.
    pub(super) async fn end(mut self) {
        // It may be gone, or not listen: then it is killed.
        let _ = self.send(None, "Browser.close", json!({})).await;
        self.out = None;
        if timeout(END_PATIENCE, self.child.wait()).await.is_err() {
            self.kill();
            // The kernel needs no patience.
            let _ = self.child.wait().await;
        }
        let Some(profile) = self.profile.take() else { return };
        for _ in 0..REMOVALS_MAX {
            if is_removed(&profile) {
                break;
            }
            tokio::time::sleep(REMOVAL_REST).await;
        }
    }

    /// Ends all of its processes that are still there.
    fn kill(&self) {
        let id = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            // It may be gone already.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let Some(profile) = self.profile.take() else { return };
        self.kill();
        for _ in 0..REMOVALS_MAX {
            if is_removed(&profile) {
                break;
            }
            std::thread::sleep(REMOVAL_REST);
        }
    }
}

/// Whether a profile is gone: the shell may have been quicker.
fn is_removed(profile: &TempDir) -> bool {
    let removed = std::fs::remove_dir_all(profile.path());
    removed.is_ok() || removed.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Takes in messages until the pipe ends.
async fn listen(input: impl AsyncRead + Unpin, tell: mpsc::Sender<Value>) {
    let mut input = BufReader::new(input);
    loop {
        let mut bytes = Vec::new();
        let read = (&mut input).take(MESSAGE_BYTES_MAX).read_until(0, &mut bytes).await;
        if read.is_err() || bytes.pop() != Some(0) {
            return;
        }
        let Ok(message) = serde_json::from_slice(&bytes) else { continue };
        if tell.send(message).await.is_err() {
            return;
        }
    }
}

/// Keeps the last that it complained of.
async fn overhear(errors: impl AsyncRead + Unpin, words: Arc<Mutex<VecDeque<String>>>) {
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        match (&mut errors).take(WORD_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(read) if read > 0 => {}
            _ => return,
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        // That there is no desktop to be asked is no news.
        let tells = ["FATAL", "ERROR", "sandbox"].iter().any(|word| line.contains(word));
        if !tells || line.contains("dbus/") {
            continue;
        }
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() >= WORDS_MAX {
            words.pop_front();
        }
        words.push_back(line);
    }
}

//! Alerts on their way to the owner: to standard error, a program, and an address.
//!
//! Invariants: 1. nobody waits for those who are told: what can't be told soon is left out and
//! counted. 2. the address is never shown, since whoever knows it may write there.

use base::complaint::complain;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use observe::alerts::{Alert, CertificateSample, Sample, SiteSample, Turn};
use policy::{FailReason, Verdict};
use serde::Serialize;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::now::Now;
use super::watch::AdminCounters;
use crate::post::Address;
use crate::settings::Secret;

/// Turns that may wait to be told.
const TURNS_MAX: usize = 16;
/// How long a program or a server may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a server is tried, and the time between.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(20);

/// Who is told besides standard error.
#[derive(Clone, Default, Debug)]
pub(crate) struct AlarmPlan {
    pub(crate) webhook: Option<Webhook>,
    pub(crate) command: Option<PathBuf>,
}

/// An address that takes alerts as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Webhook(Address);

impl Webhook {
    /// Reads `http://…` or `https://…`; none if it is neither, or holds a user's name.
    pub(crate) fn parse(Secret(text): &Secret) -> Option<Self> {
        Address::parse(text).map(Self)
    }

    /// Tells it once; why not, if it wasn't taken.
    async fn tell(&self, told: &str) -> Result<(), String> {
        let Some(origin) = self.0.origin() else { return Err("it is no address".to_owned()) };
        match self.0.post(&origin, told.to_owned(), PATIENCE).await?.status {
            200..300 => Ok(()),
            status => Err(format!("a status of {status}")),
        }
    }
}

/// What a look says to the rules.
pub(crate) fn sample(now: &Now, certificates: &[(Vec<String>, i64, i64)]) -> Sample {
    let machine = &now.machine;
    let (answers, failed) = failures(now);
    let sites = now.sites.iter().map(|site| SiteSample {
        name: site.name.clone(),
        slots: site.slots.zip(site.slots_taken),
        waiting: site.waiting.unwrap_or(0),
        is_followed: site.is_followed,
    });
    let certificates = certificates.iter().map(|(names, begins, ends)| CertificateSample {
        names: names.join(" "),
        begins: *begins,
        ends: *ends,
    });
    Sample {
        seconds: now.uptime_seconds,
        unix_seconds: i64::try_from(now.time_ms / 1000).unwrap_or(i64::MAX),
        answers,
        failed,
        memory_bytes: machine.memory_total_bytes.zip(machine.memory_available_bytes),
        disk_bytes: machine.disk_total_bytes.zip(machine.disk_free_bytes),
        sites: sites.collect(),
        certificates: certificates.collect(),
    }
}

/// All answers, and those that a visitor saw fail: with a status of 500 or more, whether the app
/// gave it itself or Wick did in its place. A client that wanted only what is stored asked for
/// its 504. Both counts are of one moment, or a second of many answers would seem to have failed.
fn failures(now: &Now) -> (u64, u64) {
    let of = |which: fn(&Verdict) -> bool| -> u64 {
        now.verdicts.iter().filter(|(it, _)| which(it)).map(|(_, number)| number).sum()
    };
    let unstored = of(|it| *it == Verdict::Failed(FailReason::OnlyIfCached));
    match &now.observed {
        Some(observed) => (observed.requests, observed.errors.saturating_sub(unstored)),
        // Before the first sample, and where there is no thread for samples.
        None => (now.answers, of(|it| matches!(it, Verdict::Failed(_))).saturating_sub(unstored)),
    }
}

/// An alert as a server or a program is told it.
#[derive(Debug, Serialize)]
struct Told<'a> {
    state: &'static str,
    kind: &'static str,
    subject: &'a str,
    /// All of it in a sentence; chats show this.
    text: String,
}

impl<'a> Told<'a> {
    fn of(turn: &'a Turn) -> Self {
        let (state, alert) = match turn {
            Turn::Began(alert) => ("began", alert),
            Turn::Ended(alert) => ("ended", alert),
        };
        let Alert { kind, subject, what, fix } = alert;
        let about = match subject.as_str() {
            "" => String::new(),
            subject => format!(" ({subject})"),
        };
        let text = match turn {
            Turn::Began(_) => format!("Wick: {}{about}: {what}. What to do: {fix}.", kind.name()),
            Turn::Ended(_) => format!("Wick: {}{about}: it is over.", kind.name()),
        };
        Self { state, kind: kind.name(), subject, text }
    }
}

/// Where turns go to be told.
pub(crate) struct Alarm {
    turns: mpsc::Sender<Turn>,
    counters: Arc<AdminCounters>,
}

impl Alarm {
    /// Tells turns as the owner wants; it must be called on a runtime.
    pub(crate) fn begin(plan: AlarmPlan, counters: Arc<AdminCounters>) -> Self {
        let (turns, mut received) = mpsc::channel(TURNS_MAX);
        let counting = counters.clone();
        tokio::spawn(async move {
            while let Some(turn) = received.recv().await {
                tell(&plan, &turn, &counting).await;
            }
        });
        Self { turns, counters }
    }

    pub(crate) fn tell(&self, turn: Turn) {
        complain(Told::of(&turn).text.trim_start_matches("Wick: "));
        self.counters.alerts.bump();
        if self.turns.try_send(turn).is_err() {
            self.counters.alerts_untold.bump();
        }
    }
}

async fn tell(plan: &AlarmPlan, turn: &Turn, counters: &AdminCounters) {
    let told = Told::of(turn);
    if let Some(program) = &plan.command
        && let Err(why) = run(program, &told).await
    {
        counters.alerts_untold.bump();
        complain(format_args!("the alert_command {} failed: {why}", program.display()));
    }
    let Some(webhook) = &plan.webhook else { return };
    let json = serde_json::to_string(&told).unwrap_or_default();
    let mut result = webhook.tell(&json).await;
    for _ in 1..TRIES {
        if result.is_ok() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        result = webhook.tell(&json).await;
    }
    if let Err(why) = result {
        counters.alerts_untold.bump();
        complain(format_args!("the alert_webhook could not be told: {why}"));
    }
}

async fn run(program: &Path, told: &Told<'_>) -> Result<(), String> {
    let mut child = Command::new(program)
        .env("WICK_ALERT", told.state)
        .env("WICK_ALERT_KIND", told.kind)
        .env("WICK_ALERT_SUBJECT", told.subject)
        .env("WICK_ALERT_TEXT", &told.text)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| error.to_string())?;
    match timeout(PATIENCE, child.wait()).await {
        Err(_) => Err(format!("it did not end within {} s", PATIENCE.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use observe::alerts::Kind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn alert() -> Alert {
        let what = "2 % of memory are left".to_owned();
        Alert { kind: Kind::Memory, subject: String::new(), what, fix: Kind::Memory.fix() }
    }

    fn webhook(text: &str) -> Option<Webhook> {
        Webhook::parse(&Secret(text.to_owned()))
    }

    #[test]
    fn an_address_is_read_and_never_shown() {
        for (text, expected) in [
            ("https://a.test/services/hush", Some(("https://a.test", "/services/hush"))),
            ("http://127.0.0.1:80", Some(("http://127.0.0.1:80", "/"))),
            ("https://a.test/x?token=hush#y", Some(("https://a.test", "/x?token=hush"))),
            ("https://me:hush@a.test/", None),
            ("https://a.test?hush", None),
            ("https://a.test/a b", None),
            ("ftp://a.test/", None),
            ("a.test/hush", None),
            ("https:///hush", None),
        ] {
            let read = webhook(text);
            let parts = read.as_ref().map(|it| (it.0.server.as_str(), it.0.target.as_str()));
            assert_eq!(parts, expected, "{text}");
            assert!(!format!("{read:?}").contains("hush"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_server_is_told_as_json_and_a_refusal_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let server = tokio::spawn(async move {
            let mut heard = Vec::new();
            for status in ["204 No Content", "500 Oh"] {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut request = Vec::new();
                while !request.ends_with(b"}") {
                    assert!(stream.read_buf(&mut request).await.expect("a request") > 0);
                }
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.expect("it listens");
                heard.push(String::from_utf8_lossy(&request).into_owned());
            }
            heard
        });
        let webhook = webhook(&format!("http://{address}/hook?key=1")).expect("an address");
        let turn = Turn::Began(alert());
        let json = serde_json::to_string(&Told::of(&turn)).expect("JSON");
        assert_eq!(webhook.tell(&json).await, Ok(()));
        assert_eq!(webhook.tell(&json).await, Err("a status of 500".to_owned()));
        let heard = server.await.expect("a server").remove(0);
        assert!(heard.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{heard}");
        let text = "\"text\":\"Wick: memory: 2 % of memory are left. What to do: lower";
        assert!(heard.contains(text) && heard.contains("\"state\":\"began\""), "{heard}");
    }

    #[tokio::test]
    async fn a_program_is_told_in_its_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let (program, out) = (folder.path().join("tell"), folder.path().join("out"));
        let script = format!(
            "#!/bin/sh\necho \"$WICK_ALERT $WICK_ALERT_KIND $WICK_ALERT_SUBJECT\" > '{}'\n",
            out.display()
        );
        std::fs::write(&program, script).expect("the program is written");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("it is ours");
        let turn = Turn::Ended(Alert { subject: "a; rm $(x)".into(), ..alert() });
        assert_eq!(run(&program, &Told::of(&turn)).await, Ok(()));
        let told = std::fs::read_to_string(&out).expect("it ran");
        assert_eq!(told, "ended memory a; rm $(x)\n");
        let failed = run(Path::new("/bin/false"), &Told::of(&turn)).await;
        assert_eq!(failed, Err("exit status: 1".to_owned()));
        assert!(run(Path::new("/no/such/program"), &Told::of(&turn)).await.is_err());
    }
}

//! Chromium without a window, told what to do over the pipe of its DevTools protocol.
//!
//! One process serves a whole run; every [`Tab`] has a browser context of its own, so
//! it shares no cookie and no cache with another. Nothing here waits for a time: it
//! waits for an answer, for a page that was loaded, or for a change of the page that
//! is shown, and says what it waited for when that doesn't come. Chromium ends with
//! [`Browser::end`], and with the pipe if the test ends in another way.
//! Start at [`Browser::tab`].

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long anything may take that must happen.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the first answer may take: the program is large.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// How long scripts of a page may go on asking for things before the visitor begins.
const QUIET_PATIENCE: Duration = Duration::from_secs(5);

/// What went wrong, in a sentence.
pub(crate) type Outcome<T> = Result<T, String>;

/// Whether there is a Chromium to start.
pub(crate) fn is_installed() -> bool {
    program().is_some()
}

fn program() -> Option<&'static str> {
    let known = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    known.into_iter().find(|path| Path::new(path).exists())
}

/// A running Chromium.
pub(crate) struct Browser {
    wire: Arc<Wire>,
    child: Mutex<Child>,
    reader: Mutex<Option<JoinHandle<()>>>,
    /// Removed with the browser.
    _profile: TempDir,
}

/// The two ends of the pipe, and what came over it and was not taken yet.
struct Wire {
    out: Mutex<Option<PipeWriter>>,
    last_id: AtomicU64,
    heard: Mutex<Heard>,
    changed: Condvar,
}

#[derive(Default)]
struct Heard {
    answers: HashMap<u64, Value>,
    /// By session: how many documents its main frame has shown.
    documents: HashMap<String, u64>,
    /// By session: the fields of the last document that came over the network.
    heads: HashMap<String, Value>,
    /// Requests under way, with their sessions.
    under_way: HashSet<(String, String)>,
    is_over: bool,
}

impl Browser {
    /// Starts Chromium and waits until it answers.
    pub(crate) fn start() -> Outcome<Self> {
        let program = program().ok_or("Chromium is not installed; see scripts/setup test")?;
        let profile = TempDir::new().map_err(|error| error.to_string())?;
        let (child_in, out) = io::pipe().map_err(|error| error.to_string())?;
        let (input, child_out) = io::pipe().map_err(|error| error.to_string())?;
        // The protocol wants its pipe at 3 and 4, which a shell can give it.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", program]);
        command.args(["--headless", "--remote-debugging-pipe", "--no-first-run"]);
        command.args(["--no-proxy-server", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args(["--disable-background-networking", "--disable-component-update"]);
        command.args(["--disable-sync", "--disable-extensions", "--mute-audio"]);
        // It refuses to hide from root in its sandbox; the pages are our own.
        command.args(["--no-sandbox", "--lang=en-GB"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(child_in).stdout(child_out).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        // Our copies of the child's ends, without which the end of the pipe is not seen.
        drop(command);
        let wire = Arc::new(Wire::new(out));
        let listening = wire.clone();
        let reader = std::thread::spawn(move || listening.listen(input));
        let reader = Mutex::new(Some(reader));
        let browser = Self { wire, child: Mutex::new(child), reader, _profile: profile };
        browser.wire.call(None, "Browser.getVersion", json!({}), START_PATIENCE)?;
        Ok(browser)
    }

    /// A new visitor who was never anywhere, with this user agent, and reads English.
    pub(crate) fn tab(self: &Arc<Self>, agent: &str) -> Outcome<Tab> {
        let made = self.call(None, "Target.createBrowserContext", json!({}))?;
        let context = word(&made, "browserContextId")?;
        let blank = json!({"url": "about:blank", "browserContextId": context});
        let target = word(&self.call(None, "Target.createTarget", blank)?, "targetId")?;
        let attach = json!({"targetId": target, "flatten": true});
        let session = word(&self.call(None, "Target.attachToTarget", attach)?, "sessionId")?;
        let tab = Tab { browser: self.clone(), context, session };
        for domain in ["Page.enable", "Network.enable", "Runtime.enable"] {
            tab.call(domain, json!({}))?;
        }
        let visitor = json!({"userAgent": agent, "acceptLanguage": "en"});
        tab.call("Network.setUserAgentOverride", visitor)?;
        Ok(tab)
    }

    /// Closes it and sees that its process is gone.
    pub(crate) fn end(&self) -> Outcome<()> {
        // It may close the pipe before it has answered.
        let _ = self.call(None, "Browser.close", json!({}));
        *lock(&self.wire.out) = None;
        let status = lock(&self.child).wait();
        if let Some(reader) = lock(&self.reader).take() {
            reader.join().map_err(|_| "the browser's reader panicked")?;
        }
        status.map(|_| ()).map_err(|error| format!("the browser can't be waited for: {error}"))
    }

    fn call(&self, session: Option<&str>, method: &str, options: Value) -> Outcome<Value> {
        self.wire.call(session, method, options, PATIENCE)
    }
}

impl Wire {
    fn new(out: PipeWriter) -> Self {
        let heard = Mutex::new(Heard::default());
        let last_id = AtomicU64::new(0);
        Self { out: Mutex::new(Some(out)), last_id, heard, changed: Condvar::new() }
    }

    fn call(
        &self,
        session: Option<&str>,
        method: &str,
        options: Value,
        patience: Duration,
    ) -> Outcome<Value> {
        let id = self.send(session, method, options)?;
        let mut answer = self.wait(method, patience, |heard| heard.answers.remove(&id))?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(answer["result"].take()),
        }
    }

    fn send(&self, session: Option<&str>, method: &str, options: Value) -> Outcome<u64> {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({"id": id, "method": method, "params": options});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        match lock(&self.out).as_mut().map(|out| out.write_all(&bytes)) {
            Some(Ok(())) => Ok(id),
            _ => Err(format!("{method}: the browser is gone")),
        }
    }

    /// Waits until `take` finds what it looks for.
    fn wait<T>(
        &self,
        what: &str,
        patience: Duration,
        mut take: impl FnMut(&mut Heard) -> Option<T>,
    ) -> Outcome<T> {
        let bound = Instant::now() + patience;
        let mut heard = lock(&self.heard);
        loop {
            if let Some(found) = take(&mut heard) {
                return Ok(found);
            }
            if heard.is_over {
                return Err(format!("the browser ended while this was waited for: {what}"));
            }
            let left = bound.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("waited {} s in vain for: {what}", patience.as_secs()));
            }
            let woken = self.changed.wait_timeout(heard, left);
            heard = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes in messages until the pipe ends.
    fn listen(&self, input: PipeReader) {
        let messages = BufReader::new(input).split(0).map_while(Result::ok);
        for message in messages {
            if let Ok(message) = serde_json::from_slice::<Value>(&message) {
                self.take_in(message);
            }
        }
        lock(&self.heard).is_over = true;
        self.changed.notify_all();
    }

    fn take_in(&self, mut message: Value) {
        let session = message["sessionId"].as_str().map(str::to_owned);
        if let Some(id) = message["id"].as_u64() {
            lock(&self.heard).answers.insert(id, message);
        } else if let Some(session) = session {
            let event = message["params"].take();
            let request = || {
                let id = event["requestId"].as_str().unwrap_or_default();
                (session.clone(), id.to_owned())
            };
            match message["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    lock(&self.heard).under_way.insert(request());
                }
                Some("Network.loadingFinished" | "Network.loadingFailed") => {
                    lock(&self.heard).under_way.remove(&request());
                }
                Some("Page.frameNavigated") if event["frame"]["parentId"].is_null() => {
                    let mut heard = lock(&self.heard);
                    // What the page before still asked for is given up without a word.
                    let own = event["frame"]["loaderId"].as_str();
                    heard.under_way.retain(|(other, id)| *other != session || own == Some(id));
                    *heard.documents.entry(session).or_default() += 1;
                }
                Some("Network.responseReceived") if event["type"] == "Document" => {
                    let head = event["response"]["headers"].clone();
                    lock(&self.heard).heads.insert(session, head);
                }
                // A question to the person would hold everything up: yes.
                Some("Page.javascriptDialogOpening") => {
                    let yes = json!({"accept": true});
                    let _ = self.send(Some(&session), "Page.handleJavaScriptDialog", yes);
                }
                _ => {}
            }
        }
        self.changed.notify_all();
    }
}

/// One visitor's window.
pub(crate) struct Tab {
    browser: Arc<Browser>,
    context: String,
    session: String,
}

impl Drop for Tab {
    fn drop(&mut self) {
        let context = json!({"browserContextId": self.context});
        // It is gone already if the browser is.
        let _ = self.browser.call(None, "Target.disposeBrowserContext", context);
    }
}

impl Tab {
    /// Types an address and waits until the page is there.
    pub(crate) fn open(&self, url: &str) -> Outcome<()> {
        let before = self.documents();
        let answer = self.call("Page.navigate", json!({"url": url}))?;
        if let Some(error) = answer["errorText"].as_str() {
            return Err(format!("{url}: {error}"));
        }
        self.wait_for_document(before, url)
    }

    /// Goes back by one page.
    pub(crate) fn back(&self) -> Outcome<()> {
        let history = self.call("Page.getNavigationHistory", json!({}))?;
        let at = history["currentIndex"].as_u64().unwrap_or(0);
        let entry = at.checked_sub(1).and_then(|at| history["entries"].get(at as usize));
        let entry = entry.filter(|entry| entry["url"] != "about:blank");
        let entry = entry.ok_or("there is no page to go back to")?;
        let before = self.documents();
        self.call("Page.navigateToHistoryEntry", json!({"entryId": entry["id"]}))?;
        self.wait_for_document(before, "the page before")
    }

    /// Writes into a field, as a person would after emptying it.
    pub(crate) fn fill(&self, selector: &str, text: &str) -> Outcome<()> {
        self.wait_for(selector)?;
        let script = format!(
            "{{ const field = document.querySelector({});
               field.focus();
               const kind = Object.getPrototypeOf(field);
               Object.getOwnPropertyDescriptor(kind, 'value').set.call(field, {});
               for (const name of ['input', 'change'])
                 field.dispatchEvent(new Event(name, {{bubbles: true}})); }}",
            json!(selector),
            json!(text)
        );
        self.evaluate(&script, false).map(|_| ())
    }

    /// Clicks, and waits for the page that follows if one does.
    pub(crate) fn click(&self, selector: &str) -> Outcome<()> {
        self.wait_for(selector)?;
        // The window hears of it last, when it is known whether a script keeps the
        // browser from following a link or sending a form.
        let script = format!(
            "(() => {{ const target = document.querySelector({});
               let follows = false;
               const link = target.closest('a[href]');
               const heard = event => {{ follows = !event.defaultPrevented
                 && (event.type === 'submit' || (link !== null && link.hash === '')); }};
               addEventListener('click', heard, {{once: true}});
               addEventListener('submit', heard, {{once: true}});
               target.click();
               removeEventListener('click', heard);
               removeEventListener('submit', heard);
               return follows; }})()",
            json!(selector)
        );
        let before = self.documents();
        if self.evaluate(&script, false)?.as_bool() == Some(true) {
            self.wait_for_document(before, &format!("the page behind a click on {selector}"))?;
        }
        Ok(())
    }

    /// Waits until something on the page matches.
    pub(crate) fn wait_for(&self, selector: &str) -> Outcome<()> {
        self.wait_until(
            &format!("document.querySelector({}) !== null", json!(selector)),
            &format!("an element {selector}"),
        )
    }

    /// Waits until the page shows a text.
    pub(crate) fn wait_for_text(&self, text: &str) -> Outcome<()> {
        self.wait_until(
            &format!("document.body.innerText.includes({})", json!(text)),
            &format!("the text {text:?}"),
        )
    }

    /// What the page shows.
    pub(crate) fn text(&self) -> Outcome<String> {
        self.ask("document.body.innerText")
    }

    /// Where the visitor is.
    pub(crate) fn url(&self) -> Outcome<String> {
        self.ask("location.href")
    }

    /// Names and values of this visitor's cookies for a URL.
    pub(crate) fn cookies(&self, url: &str) -> Outcome<Vec<(String, String)>> {
        let answer = self.call("Network.getCookies", json!({"urls": [url]}))?;
        let cookies = answer["cookies"].as_array().cloned().unwrap_or_default();
        cookies.iter().map(|cookie| Ok((word(cookie, "name")?, word(cookie, "value")?))).collect()
    }

    /// A field of the last document that came over the network.
    pub(crate) fn head_field(&self, name: &str) -> String {
        let heard = lock(&self.browser.wire.heard);
        let fields = heard.heads.get(&self.session).and_then(Value::as_object);
        let mut fields = fields.into_iter().flatten();
        let field = fields.find(|(known, _)| known.eq_ignore_ascii_case(name));
        field.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_owned()
    }

    /// Leaves a picture of the page, for whoever looks into a failure.
    pub(crate) fn screenshot(&self, path: PathBuf) -> Outcome<PathBuf> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"}))?;
        std::fs::write(&path, base64(&word(&answer, "data")?)).map_err(|e| e.to_string())?;
        Ok(path)
    }

    /// Runs a script that gives a text.
    pub(crate) fn ask(&self, script: &str) -> Outcome<String> {
        let value = self.evaluate(script, true)?;
        Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    fn documents(&self) -> u64 {
        lock(&self.browser.wire.heard).documents.get(&self.session).copied().unwrap_or(0)
    }

    fn wait_for_document(&self, before: u64, what: &str) -> Outcome<()> {
        self.browser.wire.wait(what, PATIENCE, |heard| {
            let shown = heard.documents.get(&self.session).copied().unwrap_or(0);
            (shown > before).then_some(())
        })?;
        self.wait_until("document.readyState === 'complete'", &format!("the end of {what}"))?;
        self.wait_for_scripts()
    }

    /// Waits until the page's scripts have what they asked for: a person is not quicker.
    fn wait_for_scripts(&self) -> Outcome<()> {
        // A page that never has enough is visited all the same.
        let _ = self.browser.wire.wait("quiet", QUIET_PATIENCE, |heard| {
            let asks = heard.under_way.iter().any(|(session, _)| *session == self.session);
            (!asks).then_some(())
        });
        // What came is taken in by tasks that stand in line before these.
        let turns = "new Promise(done => setTimeout(() => setTimeout(done)))";
        self.evaluate(turns, true).map(|_| ())
    }

    /// Waits until a condition holds; the page itself watches for what changes it.
    pub(crate) fn wait_until(&self, condition: &str, what: &str) -> Outcome<()> {
        let script = format!(
            "new Promise(done => {{
               const holds = () => {{ try {{ return {condition}; }} catch {{ return false; }} }};
               if (holds()) return done(true);
               const events = ['readystatechange', 'load', 'input'];
               const end = result => {{
                 watcher.disconnect();
                 clearTimeout(bound);
                 for (const name of events) removeEventListener(name, check, true);
                 done(result); }};
               const check = () => holds() && end(true);
               const watcher = new MutationObserver(check);
               watcher.observe(document,
                 {{subtree: true, childList: true, attributes: true, characterData: true}});
               for (const name of events) addEventListener(name, check, true);
               const bound = setTimeout(() => end(false), {}); }})",
            PATIENCE.as_millis() / 2
        );
        if self.evaluate(&script, true)?.as_bool() == Some(true) {
            return Ok(());
        }
        let shown = self.text().unwrap_or_default();
        let url = self.url().unwrap_or_default();
        Err(format!("{url}: waited in vain for {what}; the page shows:\n{shown}"))
    }

    /// Runs a script; one that only looks is run again if its page went away meanwhile.
    fn evaluate(&self, script: &str, only_looks: bool) -> Outcome<Value> {
        let bound = Instant::now() + PATIENCE;
        loop {
            let options =
                json!({"expression": script, "awaitPromise": true, "returnByValue": true});
            match self.call("Runtime.evaluate", options) {
                Ok(mut answer) if answer.get("exceptionDetails").is_none() => {
                    return Ok(answer["result"]["value"].take());
                }
                Ok(answer) => return Err(format!("{}: {script}", answer["exceptionDetails"])),
                Err(error) if only_looks && is_gone(&error) && Instant::now() < bound => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Calls a method of the protocol for this window.
    pub(crate) fn call(&self, method: &str, options: Value) -> Outcome<Value> {
        self.browser.call(Some(&self.session), method, options)
    }
}

/// Whether an error says that the page went away while a script ran in it.
fn is_gone(error: &str) -> bool {
    let gone =
        ["context was destroyed", "Cannot find context", "navigated or closed", "was collected"];
    gone.iter().any(|words| error.contains(words))
}

fn word(value: &Value, name: &str) -> Outcome<String> {
    let found = value[name].as_str().map(str::to_owned);
    found.ok_or_else(|| format!("no {name} in {value}"))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads RFC 4648 §4, which pictures come in.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|b| ALPHABET.iter().position(|&digit| digit == b));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

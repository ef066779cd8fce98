//! One page shown to axe-core: it asks for what it needs, gets it over the pipe, and is judged
//! when nothing more comes.
//!
//! Invariants: 1. only the page itself is ever shown: whatever would lead elsewhere is refused,
//! and frames stay empty. 2. a page takes at most [`PATIENCE`] until it is there and as much to
//! be judged, beside what the site's pace wants.
//! Start at [`examined`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use url::Url;

use super::axe::{SCRIPT, Told};
use super::embeds::{Embeds, Fetched, Fetching, Wanted};
use super::process::{Chromium, Trouble};
use crate::fetch::Answer;
use crate::pace::REST_MAX;
use crate::page::plain;
use crate::visit::Visit;

const PATIENCE: Duration = Duration::from_secs(30);
/// A page whose scripts go on asking for things is judged as it is then.
const SETTLE: Duration = Duration::from_secs(5);
/// How long nothing has to be asked for.
const QUIET: Duration = Duration::from_millis(300);
/// What one page may load.
const REQUESTS_MAX: usize = 500;
/// A page that shows itself anew more often than this is judged as it is.
const SHOWN_MAX: u32 = 3;
/// What is shown; what is only played, sent or kept for later is not.
const KINDS: [&str; 6] = ["Stylesheet", "Image", "Font", "Script", "XHR", "Fetch"];
/// Fields that say how a body was sent, or that nobody here is to keep.
const FIELDS_LEFT_OUT: [&str; 7] = [
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "connection",
    "set-cookie",
    "alt-svc",
    "strict-transport-security",
];

/// Shows a page, and has it judged.
pub(super) async fn examined(
    chromium: &mut Chromium,
    visit: &mut Visit<'_>,
    embeds: &mut Embeds,
    axe: &str,
    url: &Url,
) -> Result<Told, Trouble> {
    let options = json!({ "disposeOnDetach": true });
    let made = chromium.call(None, "Target.createBrowserContext", options).await?;
    let context = json!({ "browserContextId": made["browserContextId"] });
    let told = shown(chromium, visit, embeds, &context, axe, url).await;
    if matches!(told, Err(Trouble::Browser(_))) {
        return told;
    }
    // Its tab goes with it, whatever it is doing.
    let left = chromium.call(None, "Target.disposeBrowserContext", context).await;
    chromium.forget();
    left.and(told)
}

async fn shown(
    chromium: &mut Chromium,
    visit: &mut Visit<'_>,
    embeds: &mut Embeds,
    context: &Value,
    axe: &str,
    url: &Url,
) -> Result<Told, Trouble> {
    let mut blank = context.clone();
    blank["url"] = "about:blank".into();
    let target = chromium.call(None, "Target.createTarget", blank).await?;
    let attach = json!({ "targetId": target["targetId"], "flatten": true });
    let attached = chromium.call(None, "Target.attachToTarget", attach).await?;
    let session = attached["sessionId"].as_str().unwrap_or_default();
    let mut refuse = context.clone();
    refuse["behavior"] = "deny".into();
    chromium.call(None, "Browser.setDownloadBehavior", refuse).await?;
    let still = json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] });
    let size = json!({ "width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false });
    for (method, options) in [
        ("Page.enable", json!({})),
        ("Inspector.enable", json!({})),
        ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }] })),
        ("Emulation.setEmulatedMedia", still),
        ("Emulation.setDeviceMetricsOverride", size),
    ] {
        chromium.call(Some(session), method, options).await?;
    }
    let tree = chromium.call(Some(session), "Page.getFrameTree", json!({})).await?;
    let frame = tree["frameTree"]["frame"]["id"].as_str().unwrap_or_default();
    let mut showing = Showing {
        chromium,
        visit,
        embeds,
        session,
        frame,
        url,
        navigation: 0,
        answer: None,
        waiting: VecDeque::new(),
        flying: FuturesUnordered::new(),
        served: HashMap::new(),
        asked: 0,
        shown: 0,
        loaded: None,
        last: Instant::now(),
    };
    showing.load().await?;
    showing.judge(axe).await
}

/// A page that is being shown.
struct Showing<'s, 'v> {
    chromium: &'s mut Chromium,
    visit: &'s mut Visit<'v>,
    embeds: &'s mut Embeds,
    session: &'s str,
    /// Its main frame.
    frame: &'s str,
    url: &'s Url,
    /// The number by which the browser was sent there.
    navigation: u64,
    /// The number of what is waited for, and its answer.
    answer: Option<(u64, Option<Value>)>,
    /// What isn't asked for yet.
    waiting: VecDeque<Wanted>,
    flying: FuturesUnordered<Fetching>,
    /// Answers that were handed over, by the number of the call.
    served: HashMap<u64, String>,
    asked: usize,
    /// How often the page itself was handed over.
    shown: u32,
    loaded: Option<Instant>,
    /// When something was last asked for or came.
    last: Instant,
}

impl Showing<'_, '_> {
    /// Goes there, and waits until it has what it wants.
    async fn load(&mut self) -> Result<(), Trouble> {
        let there = json!({ "url": plain(self.url) });
        self.navigation = self.send("Page.navigate", there).await?;
        self.until(|showing| {
            let loaded = showing.loaded?;
            let is_idle = showing.waiting.is_empty() && showing.flying.is_empty();
            let quiet = showing.last.max(loaded) + QUIET;
            let settled = loaded + SETTLE;
            Some(if is_idle { quiet.min(settled) } else { settled })
        })
        .await
    }

    /// Has it judged in a world that its own scripts can't reach.
    async fn judge(&mut self, axe: &str) -> Result<Told, Trouble> {
        let world = json!({ "frameId": self.frame, "worldName": "wick" });
        let world = self.ask("Page.createIsolatedWorld", world).await?;
        let world = &world["executionContextId"];
        let with = |expression: &str| json!({ "expression": expression, "contextId": world, "awaitPromise": true, "returnByValue": true });
        self.run(with(axe)).await?;
        let told = self.run(with(SCRIPT)).await?;
        Told::read(told["result"]["value"].as_str().unwrap_or_default()).map_err(Trouble::Page)
    }

    async fn run(&mut self, options: Value) -> Result<Value, Trouble> {
        let ran = self.ask("Runtime.evaluate", options).await?;
        let thrown = &ran["exceptionDetails"];
        let what = thrown["exception"]["description"].as_str().or(thrown["text"].as_str());
        match what {
            Some(what) => Err(Trouble::Page(format!("axe-core broke off: {what}"))),
            None => Ok(ran),
        }
    }

    async fn send(&mut self, method: &str, options: Value) -> Result<u64, Trouble> {
        self.chromium.send(Some(self.session), method, options).await
    }

    /// Calls a method while the page goes on getting what it asks for.
    async fn ask(&mut self, method: &str, options: Value) -> Result<Value, Trouble> {
        let id = self.send(method, options).await?;
        self.answer = Some((id, None));
        self.until(|showing| {
            let is_there = showing.answer.as_ref().is_some_and(|(_, answer)| answer.is_some());
            is_there.then(Instant::now)
        })
        .await?;
        let answer = self.answer.take().and_then(|(_, answer)| answer).unwrap_or_default();
        match answer.get("error") {
            Some(error) => Err(Trouble::Page(format!("{method}: {error}"))),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Serves the page until a moment that `end` tells, as soon as it can.
    async fn until(&mut self, end: impl Fn(&Self) -> Option<Instant>) -> Result<(), Trouble> {
        let mut bound = Instant::now() + PATIENCE;
        loop {
            let end = end(self);
            let now = Instant::now();
            if end.is_some_and(|end| end <= now) {
                return Ok(());
            }
            let has_place = self.flying.len() < self.visit.gate.window();
            let next = (!self.waiting.is_empty() && has_place).then(|| now + self.rest());
            if next.is_some_and(|next| next - now > REST_MAX) {
                return Err(Trouble::Page("the site wants to be left alone".to_owned()));
            }
            let later = bound + SETTLE;
            tokio::select! {
                message = self.chromium.next() => self.hear(&message?).await?,
                Some(fetched) = self.flying.next() => self.serve(fetched).await?,
                () = sleep_until(next.unwrap_or(later)), if next.is_some() => {
                    self.set_off().await?;
                }
                () = sleep_until(end.unwrap_or(later)), if end.is_some() => {}
                () = self.visit.live.stopped() => return Err(Trouble::Stopped),
                () = sleep_until(bound) => return Err(late()),
            }
            if self.visit.is_over() {
                return Err(Trouble::Stopped);
            }
            // What the site wants to rest is no slowness of the page's.
            if next.is_some_and(|next| next > now) {
                bound += now.elapsed();
            }
        }
    }

    /// How long the site is to be left alone.
    fn rest(&self) -> Duration {
        let is_own = self.waiting.front().is_some_and(|one| self.visit.scope.is_own(&one.url));
        if is_own { self.visit.gate.rest() } else { Duration::ZERO }
    }

    async fn hear(&mut self, message: &Value) -> Result<(), Trouble> {
        if let Some(id) = message["id"].as_u64() {
            return self.hear_answer(id, message).await;
        }
        if message["sessionId"] != self.session {
            return Ok(());
        }
        let event = &message["params"];
        match message["method"].as_str() {
            Some("Fetch.requestPaused") => self.wanted(event).await,
            Some("Page.loadEventFired") => self.is_there(),
            // A page that wants to go elsewhere before it is there is judged as far as it came.
            Some("Page.frameStoppedLoading") if event["frameId"] == self.frame => self.is_there(),
            Some("Page.javascriptDialogOpening") => {
                let no = json!({ "accept": false });
                self.send("Page.handleJavaScriptDialog", no).await.map(|_| ())
            }
            Some("Inspector.targetCrashed") => Err(Trouble::Page("its tab crashed".to_owned())),
            _ => Ok(()),
        }
    }

    fn is_there(&mut self) -> Result<(), Trouble> {
        // The blank page before it was there, too.
        if self.shown > 0 && self.loaded.is_none() {
            self.loaded = Some(Instant::now());
        }
        Ok(())
    }

    async fn hear_answer(&mut self, id: u64, message: &Value) -> Result<(), Trouble> {
        if let Some((wanted, answer)) = &mut self.answer
            && *wanted == id
        {
            *answer = Some(message.clone());
            return Ok(());
        }
        if id == self.navigation {
            let error = message["result"]["errorText"].as_str();
            let error = error.or(message["error"]["message"].as_str());
            return error.map_or(Ok(()), |error| Err(Trouble::Page(error.to_owned())));
        }
        match self.served.remove(&id) {
            // Chromium wouldn't have such a head: it is as if the server had broken off.
            Some(request) if message.get("error").is_some() => {
                self.refuse(&request, "Failed").await
            }
            _ => Ok(()),
        }
    }

    /// The page wants something.
    async fn wanted(&mut self, event: &Value) -> Result<(), Trouble> {
        let request = &event["request"];
        let id = event["requestId"].as_str().unwrap_or_default().to_owned();
        let kind = event["resourceType"].as_str().unwrap_or_default();
        let Ok(url) = Url::parse(request["url"].as_str().unwrap_or_default()) else {
            return self.refuse(&id, "BlockedByClient").await;
        };
        if matches!(url.scheme(), "data" | "blob" | "about") {
            let options = json!({ "requestId": id });
            return self.send("Fetch.continueRequest", options).await.map(|_| ());
        }
        if kind == "Document" {
            let is_main = event["frameId"] == self.frame && plain(&url) == plain(self.url);
            // What leads elsewhere is left where it is, as if nobody had clicked.
            if !is_main || request["method"] != "GET" || self.shown >= SHOWN_MAX {
                return self.refuse(&id, "Aborted").await;
            }
        } else if request["method"] != "GET" || !KINDS.contains(&kind) {
            return self.refuse(&id, "BlockedByClient").await;
        }
        self.asked += 1;
        if self.asked > REQUESTS_MAX || !matches!(url.scheme(), "http" | "https") {
            return self.refuse(&id, "BlockedByClient").await;
        }
        self.last = Instant::now();
        let fields = ["referer", "origin"].into_iter().filter_map(|name| {
            let fields = request["headers"].as_object()?;
            let (_, value) = fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
            Some((name, value.as_str()?.to_owned()))
        });
        let is_page = kind == "Document";
        let wanted = Wanted { id, fields: fields.collect(), is_page, url };
        match self.embeds.kept(&wanted.url).filter(|_| !is_page) {
            Some(answer) => self.hand_over(&wanted.id, &answer).await,
            None => {
                self.waiting.push_back(wanted);
                Ok(())
            }
        }
    }

    async fn set_off(&mut self) -> Result<(), Trouble> {
        let Some(wanted) = self.waiting.pop_front() else { return Ok(()) };
        match self.embeds.fetch(self.visit, wanted).await {
            Ok(fetching) => self.flying.push(fetching),
            Err(wanted) if wanted.is_page => {
                return Err(Trouble::Page("it may not be asked for any more".to_owned()));
            }
            Err(wanted) => self.refuse(&wanted.id, "BlockedByClient").await?,
        }
        Ok(())
    }

    /// Something came.
    async fn serve(&mut self, fetched: Fetched) -> Result<(), Trouble> {
        self.last = Instant::now();
        if let Some(gate) = &fetched.gate {
            self.visit.heard(gate, fetched.answer.as_deref());
        }
        self.embeds.keep(&fetched);
        let is_page = fetched.wanted.is_page;
        match fetched.answer {
            Ok(answer) if is_page && answer.status != 200 => {
                Err(Trouble::Page(format!("it answers {} now", answer.status)))
            }
            Ok(answer) => {
                self.shown += u32::from(is_page);
                self.hand_over(&fetched.wanted.id, &answer).await
            }
            Err(error) if is_page => Err(Trouble::Page(error.to_string())),
            Err(_) => self.refuse(&fetched.wanted.id, "Failed").await,
        }
    }

    async fn hand_over(&mut self, id: &str, answer: &Arc<Answer>) -> Result<(), Trouble> {
        let is_plain = |byte: &u8| *byte == b'\t' || (b' '..=b'~').contains(byte);
        let fields = answer.fields.iter().filter_map(|(name, value)| {
            let name = std::str::from_utf8(name).ok()?;
            let is_left_out = FIELDS_LEFT_OUT.iter().any(|one| one.eq_ignore_ascii_case(name));
            let value =
                std::str::from_utf8(value).ok().filter(|it| it.as_bytes().iter().all(is_plain))?;
            (!is_left_out).then(|| json!({ "name": name, "value": value }))
        });
        let options = json!({
            "requestId": id,
            "responseCode": answer.status,
            "responseHeaders": fields.collect::<Vec<Value>>(),
            "body": STANDARD.encode(&answer.body),
        });
        let call = self.send("Fetch.fulfillRequest", options).await?;
        self.served.insert(call, id.to_owned());
        Ok(())
    }

    async fn refuse(&mut self, id: &str, reason: &str) -> Result<(), Trouble> {
        let options = json!({ "requestId": id, "errorReason": reason });
        self.send("Fetch.failRequest", options).await.map(|_| ())
    }
}

fn late() -> Trouble {
    Trouble::Page(format!("it wasn't there within {} s", PATIENCE.as_secs()))
}

/// How long a server wants to be left alone, where its answer is no page.
pub(crate) fn wanted_rest(answer: &Answer) -> Option<Option<Duration>> {
    matches!(answer.status, 429 | 503).then(|| answer.retry_after(SystemTime::now()))
}

//! Replaying: the app is told of the views of a batch.
//!
//! It is asked as its own, from this machine, and nothing that it answers is stored or heeded.
//! What it writes meanwhile is what reading writes, and is learned as such.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{Shutdown, task};
use bytes::Bytes;
use http::Method;
use origin::{Call, OriginError};
use policy::strangers::{Taste, user_agent};
use serde_json::{Value, json};
use tokio::time::{interval, timeout};
use wire::{Fields, Name, RequestHead, Version};

use super::{Batch, Views, ViewsRules, ViewsTo};
use crate::Server;
use crate::following::traffic::Asker;
use crate::gather::gather;
use crate::journey::Peers;
use crate::site::Site;

/// What shows the app that Wick asks.
const SECRET_FIELD: &str = "Wick-Views-Key";
/// Pages that are told of at once.
const CALL_PAGES_MAX: usize = 1000;
/// Pages of a batch that are asked for themselves; views of others are forgotten.
const ASKED_PAGES_MAX: usize = 100;
/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked whether a batch is due.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// An answer says nothing; so much of it is read, so that its connection can be kept.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// An address that belongs to nobody (RFC 2544).
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));

/// What became of a call.
enum Told {
    Taken,
    /// It was surely not taken.
    Refused(String),
    /// Nobody knows.
    Lost(String),
}

impl Server {
    /// Tells the apps of views, of sites whose owners want that, until the signal to stop.
    pub async fn replay_views(self: Arc<Self>, shutdown: Shutdown) {
        let mut looks = interval(LOOK_EVERY);
        while !shutdown.has_begun() {
            tokio::select! {
                _ = looks.tick() => {}
                () = shutdown.begun() => {}
            }
            let ticks_ms = self.clock.now().ticks_ms;
            let sites: Vec<Arc<Site>> = self.sites().each().into_iter().cloned().collect();
            for site in sites {
                let (server, panics) = (self.clone(), self.counters.panics.clone());
                if site.views.is_on() && !site.views.is_sending.swap(true, Ordering::AcqRel) {
                    task::spawn_counted(&panics, async move {
                        let _sending = Sending(&site.views);
                        replay(&server, &site, ticks_ms).await;
                    });
                }
            }
        }
    }

    /// Tells of what was counted since, when nobody is served any more.
    pub async fn replay_last_views(self: Arc<Self>) {
        let sites: Vec<Arc<Site>> = self.sites().each().into_iter().cloned().collect();
        for site in sites {
            replay(&self, &site, u64::MAX).await;
        }
    }
}

/// Given back also where the task that sends panics.
struct Sending<'a>(&'a Views);

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.is_sending.store(false, Ordering::Release);
    }
}

/// Tells one site's app of its views, if a batch is due.
async fn replay(server: &Arc<Server>, site: &Arc<Site>, ticks_ms: u64) {
    let Some(rules) = site.views.rules.load_full() else { return };
    let every_ms = u64::try_from(rules.every.as_millis()).unwrap_or(u64::MAX);
    let pages_max = match rules.to {
        ViewsTo::Call(_) => CALL_PAGES_MAX,
        ViewsTo::Page => ASKED_PAGES_MAX,
    };
    for (number, batch) in site.views.take(ticks_ms, every_ms, pages_max).into_iter().enumerate() {
        let views: u64 = batch.pages.iter().map(|(_, count)| count).sum();
        match &rules.to {
            ViewsTo::Call(target) => {
                let told = call(server, site, &rules, target, &batch).await;
                settle(server, site, batch, views, told);
            }
            ViewsTo::Page if number == 0 => {
                visit(server, site, &batch).await;
                server.counters.views_told.add(views);
            }
            ViewsTo::Page => server.counters.views_lost.add(views),
        }
    }
}

/// What follows from what became of a call.
fn settle(server: &Arc<Server>, site: &Site, batch: Batch, views: u64, told: Told) {
    let why = match told {
        Told::Taken => {
            server.counters.views_told.add(views + batch.others);
            site.views.list.lock().is_failing = false;
            return;
        }
        Told::Refused(why) => {
            server.counters.view_calls_refused.bump();
            site.views.give_back(batch);
            format!("did not take them ({why}); they are told again")
        }
        Told::Lost(why) => {
            server.counters.views_lost.add(views + batch.others);
            format!("may have taken them or not ({why}); they are not told again")
        }
    };
    // Once, until it goes well again.
    let was_failing = std::mem::replace(&mut site.views.list.lock().is_failing, true);
    if !was_failing && let Some(complain) = &server.complaints {
        complain(&format!(
            "{}: views can't be told: the app {why}; it has to answer {} with a status of 2xx",
            site.name,
            match &site.views.rules.load().as_deref() {
                Some(ViewsRules { to: ViewsTo::Call(target), .. }) => target,
                _ => "it",
            }
        ));
    }
}

/// Tells of a batch by one call.
async fn call(
    server: &Arc<Server>,
    site: &Arc<Site>,
    rules: &ViewsRules,
    target: &str,
    batch: &Batch,
) -> Told {
    let views = batch.pages.iter();
    let views: Vec<Value> =
        views.map(|(target, count)| json!({ "target": target, "count": count })).collect();
    let body = json!({ "views": views, "others": batch.others }).to_string();
    let mut fields = Fields::new();
    fields.put(Name::ContentType, "application/json");
    if let Some(secret) = &rules.secret {
        fields.push(SECRET_FIELD, secret.0.clone());
    }
    let head = head(Method::POST, batch, target, fields);
    let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ask(server, site, head, Bytes::from(body), (peer, batch), Asker::Reader).await
}

/// Asks for each page of a batch, as one more stranger.
async fn visit(server: &Arc<Server>, site: &Arc<Site>, batch: &Batch) {
    for (target, _) in &batch.pages {
        let mut fields = Fields::new();
        fields.put(Name::UserAgent, user_agent(&Taste::default()));
        fields.put(Name::Accept, "text/html");
        let head = head(Method::GET, batch, target, fields);
        let address =
            site.strangers.as_ref().map_or(NOBODY, |strangers| strangers.persona_address());
        let peer = SocketAddr::new(address, 0);
        // Whoever fails to count it has one view less.
        let _ = ask(server, site, head, Bytes::new(), (peer, batch), Asker::Persona).await;
    }
}

fn head(method: Method, batch: &Batch, target: &str, fields: Fields) -> RequestHead {
    let (target, host) = (target.to_owned(), batch.host.clone());
    RequestHead { method, target, host, version: Version::Http11, fields }
}

async fn ask(
    server: &Arc<Server>,
    site: &Arc<Site>,
    head: RequestHead,
    body: Bytes,
    (peer, batch): (SocketAddr, &Batch),
    asker: Asker,
) -> Told {
    let Some(Peers { local, .. }) = site.views.list.lock().peers else {
        return Told::Refused("nobody came yet".to_owned());
    };
    let fields = policy::to_origin(&head, peer.ip(), batch.scheme);
    let length = body.len() as u64;
    let call = Call {
        head: RequestHead { fields, ..head },
        body: (length > 0).then(|| wire::body::full(body)),
        body_length: Some(length),
        peer,
        local,
        scheme: batch.scheme,
        is_counted: false,
        early: None,
        phases: None,
    };
    let asked = async {
        let answer = site.ask_as(server, call, asker).await?;
        let status = answer.head.status;
        // Whatever its body is, the head has said it.
        let _ = gather(answer.body, ANSWER_BYTES_MAX).await;
        Ok::<u16, OriginError>(status)
    };
    match timeout(PATIENCE, asked).await {
        Ok(Ok(200..=299)) => Told::Taken,
        Ok(Ok(status)) => Told::Refused(format!("status {status}")),
        Ok(Err(error)) if was_not_asked(&error) => Told::Refused(error.to_string()),
        Ok(Err(error)) => Told::Lost(error.to_string()),
        Err(_) => Told::Lost(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// Whether the app can't have seen the call.
fn was_not_asked(error: &OriginError) -> bool {
    matches!(
        error,
        OriginError::Unreachable(_)
            | OriginError::ConnectTimeout { .. }
            | OriginError::Untrusted(_)
            | OriginError::QueueFull { .. }
            | OriginError::QueueTimeout { .. }
            | OriginError::Forbidden(_)
    )
}

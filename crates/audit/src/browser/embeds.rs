//! What pages want to load, fetched for them: by the same rules, at the same pace and with the
//! same bounds as everything else that an audit asks for.
//!
//! Invariants: 1. nothing but GET is sent, and no cookie; nothing to an address that may do
//! something. 2. a page of the web can't make the machines of this network be asked. 3. what
//! several pages load is asked for once, as far as there is room for it.
//! Start at [`Embeds::fetch`].

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use tokio::sync::OnceCell;
use url::Url;

use crate::errand::asked;
use crate::fetch::{Answer, Client, FetchError, Host};
use crate::gate::Gate;
use crate::outside::is_public;
use crate::page::plain;
use crate::scope::{origin, unfit};
use crate::visit::Visit;

/// What is kept of one site for its other pages.
const KEPT_BYTES_MAX: usize = 32 << 20;
const KEPT_MAX: usize = 2_000;
/// Other sites that are asked.
const HOSTS_MAX: usize = 50;

/// What is asked for on behalf of a page.
pub(super) struct Wanted {
    /// By what the browser knows it.
    pub id: String,
    pub url: Url,
    /// What the browser says of who asks.
    pub fields: Vec<(&'static str, String)>,
    /// Whether it is the page itself.
    pub is_page: bool,
}

/// What came of it.
pub(super) struct Fetched {
    pub wanted: Wanted,
    /// That of the origin, if it is the site's own.
    pub gate: Option<Arc<Gate>>,
    pub answer: Result<Arc<Answer>, FetchError>,
}

pub(super) type Fetching = Pin<Box<dyn Future<Output = Fetched> + Send>>;

/// What the pages of a site load.
#[derive(Default)]
pub(super) struct Embeds {
    kept: HashMap<String, Arc<Answer>>,
    kept_bytes: usize,
    others: HashMap<String, Arc<OnceCell<Host>>>,
}

impl Embeds {
    /// What another page has loaded already.
    pub(super) fn kept(&self, url: &Url) -> Option<Arc<Answer>> {
        self.kept.get(&plain(url)).cloned()
    }

    /// Keeps what other pages may load, too.
    pub(super) fn keep(&mut self, fetched: &Fetched) {
        let Ok(answer) = &fetched.answer else { return };
        let bytes = answer.body.len();
        let has_room = self.kept_bytes + bytes <= KEPT_BYTES_MAX && self.kept.len() < KEPT_MAX;
        // A server that has enough for the moment may have more for the next page.
        let is_lasting = !matches!(answer.status, 429 | 500..);
        if fetched.wanted.is_page || !is_lasting || !has_room {
            return;
        }
        let before = self.kept.insert(plain(&fetched.wanted.url), Arc::clone(answer));
        self.kept_bytes += bytes;
        self.kept_bytes -= before.map_or(0, |before| before.body.len());
    }

    /// Sets off for it; none if it may not be asked for.
    pub(super) async fn fetch(
        &mut self,
        visit: &mut Visit<'_>,
        wanted: Wanted,
    ) -> Result<Fetching, Wanted> {
        if !wanted.is_page && unfit(&wanted.url).is_some() {
            return Err(wanted);
        }
        if visit.scope.is_own(&wanted.url) {
            return own(visit, wanted).await;
        }
        let known = self.others.len();
        let name = origin(&wanted.url);
        if !self.others.contains_key(&name) && known >= HOSTS_MAX {
            return Err(wanted);
        }
        let host = Arc::clone(self.others.entry(name).or_default());
        let (client, is_here) = (visit.client.clone(), visit.is_here);
        let place = visit.live.place().await;
        Ok(Box::pin(async move {
            let answer = other(&client, &host, is_here, &wanted).await.map(Arc::new);
            drop(place);
            Fetched { wanted, gate: None, answer }
        }))
    }
}

/// What is the site's own, as far as `robots.txt` and its owner's word go.
async fn own(visit: &mut Visit<'_>, wanted: Wanted) -> Result<Fetching, Wanted> {
    if visit.robots(&wanted.url).await.is_err() || !visit.scope.allows(&wanted.url) {
        return Err(wanted);
    }
    let Some(host) = visit.host(&wanted.url).await else { return Err(wanted) };
    let (gate, store_first) = (visit.gate_of(&wanted.url, &host), visit.manner().store_first);
    let place = visit.live.place().await;
    Ok(Box::pin(async move {
        let answer = match gate.place().await {
            Some(turn) => {
                turn.begin().await;
                asked(&host, &wanted.url, &wanted.fields, store_first).await.map(Arc::new)
            }
            None => Err(FetchError::Stopped),
        };
        drop(place);
        Fetched { wanted, gate: Some(gate), answer }
    }))
}

async fn other(
    client: &Client,
    host: &OnceCell<Host>,
    is_here: bool,
    wanted: &Wanted,
) -> Result<Answer, FetchError> {
    let host = host.get_or_try_init(|| client.host(&wanted.url)).await?;
    if !is_here && !is_public(host) {
        return Err(FetchError::Connect("it is in a network of its own".to_owned()));
    }
    host.ask(Method::GET, &wanted.url, &wanted.fields).await
}

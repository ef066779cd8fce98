//! What a site's own code may have of Wick: markup rendered, values kept, pages purged.
//!
//! It asks over a local socket that the `wick` crate listens on ([`Server::help`]), or marks
//! blocks of a page that are filled while the page comes ([`blocks`]). All that is kept lies in
//! one store with the owner's figure, which is set aside from the pages' memory.
//! Invariants: 1. nobody is helped who doesn't show the key that Wick gave to this site's PHP,
//! and with it nothing of another site can be read, set or purged. 2. what is asked is bounded:
//! [`TEXTS_MAX`], [`KEYS_MAX`], [`VALUE_BYTES_MAX`]. 3. no lock is held while something is
//! rendered.
//! Start at [`Server::help`].

mod asked;
pub(crate) mod blocks;
mod namespaces;
mod rendering;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::token::Token;
use bytes::Bytes;
use markup::{Renderer, Scratch, Text};
use parking_lot::Mutex;
use policy::purge::{Mode, Purge, Scope, What, split_address};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};
use store::{Key, Reservation, Resident, Store, allocated_bytes};

use self::asked::{Objects, Purges, Render};
use self::namespaces::Namespaces;
use self::rendering::Renderers;
use crate::Server;
use crate::page::Page;
use crate::pipeline;
use crate::site::Site;

/// Texts of one request.
const TEXTS_MAX: usize = 1000;
/// Keys of one request.
const KEYS_MAX: usize = 1000;
/// Bytes of a namespace, and of a key in it.
const NAME_BYTES_MAX: usize = 250;
/// Bytes of a value.
const VALUE_BYTES_MAX: usize = 1 << 20;
/// How long a value is kept that names no time.
const LIFETIME_SECONDS: u64 = 3600;

/// What a site's own code shows; it was given to it with each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppKey(Token);

impl AppKey {
    /// The key of this text; none if it could be guessed.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Token::new(text, 32).map(Self)
    }

    /// Whether this is it.
    pub(crate) fn is(&self, shown: &[u8]) -> bool {
        self.0.is(shown)
    }
}

/// An answer to a site's own code.
#[derive(Debug, PartialEq, Eq)]
pub struct Help {
    /// A status of HTTP.
    pub status: u16,
    /// JSON.
    pub body: String,
}

/// What is kept for apps.
pub(crate) struct App {
    things: Store<Thing>,
    namespaces: Mutex<Namespaces>,
    renderers: Renderers,
    /// What of the pages' memory they take.
    room: Mutex<Option<Reservation<Page>>>,
}

/// Something that is kept: HTML, or a value of the app's.
struct Thing {
    bytes: Bytes,
    until_ticks_ms: u64,
}

impl Resident for Thing {
    fn weight(&self) -> usize {
        // Beside both, the counts of those who hold them.
        allocated_bytes(size_of::<Self>() + 16) + allocated_bytes(self.bytes.len() + 24)
    }

    fn replaces(&self, _older: &Self) -> bool {
        true
    }
}

impl App {
    pub(crate) fn new(memory_bytes: u64) -> Self {
        Self {
            things: Store::new(usize::try_from(memory_bytes).unwrap_or(usize::MAX)),
            namespaces: Mutex::default(),
            renderers: Renderers::default(),
            room: Mutex::default(),
        }
    }

    fn find(&self, text: &[u8], ticks_ms: u64) -> Option<Bytes> {
        let key = Key { hash: pipeline::hash(text), text };
        let found = self.things.find(&key, |thing| ticks_ms < thing.until_ticks_ms)?;
        Some(found.bytes.clone())
    }

    fn keep(&self, text: &[u8], bytes: Bytes, until_ticks_ms: u64) {
        let key = Key { hash: pipeline::hash(text), text };
        // What is too heavy for the owner's figure is made again each time.
        let _ = self.things.insert(&key, Arc::new(Thing { bytes, until_ticks_ms }));
    }

    fn forget(&self, text: &[u8]) {
        self.things.remove(&Key { hash: pipeline::hash(text), text });
    }

    /// Sets as much of the pages' memory aside as is taken; where there is none, nothing is kept.
    fn weigh(&self, pages: &Arc<Store<Page>>) {
        let bytes = self.things.used();
        let mut room = self.room.lock();
        let is_there = match &mut *room {
            Some(room) if bytes > room.bytes() => room.grow(bytes - room.bytes()).is_ok(),
            Some(room) => {
                room.shrink_to(bytes);
                true
            }
            None => {
                *room = pages.reserve(bytes).ok();
                room.is_some()
            }
        };
        if !is_there {
            self.things.clear();
        }
    }
}

impl Server {
    /// Does what an app's code asks for that shows this key.
    ///
    /// `/1/render`, `/1/objects` and `/1/purge`, with JSON as `clients/php` sends it.
    #[must_use]
    pub fn help(&self, key: &[u8], path: &str, body: &[u8]) -> Help {
        self.counters.app_requests.bump();
        let known = self.sites().each().into_iter().find(|site| site.is_app(key)).cloned();
        let Some(site) = known else {
            self.counters.app_refused.bump();
            return Help::wrong(401, "the key isn't that of a site: show what WICK_KEY says");
        };
        let told = |answer: Value| answer.to_string();
        let answer = match path {
            "/1/render" => read(body).and_then(|asked| self.render(&site, &asked)),
            "/1/objects" => read(body).and_then(|asked| self.objects(&site, &asked)).map(told),
            "/1/purge" => read(body).and_then(|asked| self.purge_for(&site, &asked)).map(told),
            _ => return Help::wrong(404, "there are /1/render, /1/objects and /1/purge"),
        };
        self.app.weigh(&self.store);
        match answer {
            Ok(body) => Help { status: 200, body },
            Err(why) => Help::wrong(400, &why),
        }
    }

    /// What is kept for sites' own code: how many things, and the bytes that they take.
    #[must_use]
    pub fn app_size(&self) -> (usize, usize) {
        (self.app.things.len(), self.app.things.used())
    }

    /// `{"html":[…]}`, each text's straight from where it is kept.
    fn render(&self, site: &Site, asked: &Render<'_>) -> Result<String, String> {
        let Render { dialect, texts } = asked;
        if texts.len() > TEXTS_MAX {
            return Err(format!("{} texts are too many: send {TEXTS_MAX} at a time", texts.len()));
        }
        let renderer = self.app.renderers.of(dialect, site.markup.as_ref())?;
        let mut scratch = Scratch::default();
        let html = texts
            .iter()
            .map(|text| Html(self.rendered(&renderer, &mut scratch, Text::Read(text))))
            .collect();
        let answer = Rendered { html };
        serde_json::to_string(&answer).map_err(|error| format!("it can't be told: {error}"))
    }

    /// A text's HTML, as it was kept or is made now.
    fn rendered(&self, renderer: &Renderer, scratch: &mut Scratch, text: Text<'_>) -> Bytes {
        let key = renderer.key(text.as_bytes());
        if let Some(html) = self.app.find(&key.0, 0) {
            self.counters.app_texts_kept.bump();
            return html;
        }
        self.counters.app_texts_rendered.bump();
        let mut html = Vec::new();
        renderer.render_with(scratch, text, &mut html);
        let html = Bytes::from(html);
        self.app.keep(&key.0, html.clone(), u64::MAX);
        html
    }

    fn objects(&self, site: &Site, asked: &Objects<'_>) -> Result<Value, String> {
        asked.check()?;
        let ticks_ms = self.clock.now().ticks_ms;
        let versions = self.versions(site, asked);
        for (name, key, version, value, seconds) in &asked.set {
            // One that was made before its namespace was bumped bears a version that nobody
            // looks for any more.
            let lifetime_ms = seconds.unwrap_or(LIFETIME_SECONDS).saturating_mul(1000);
            let value = Bytes::copy_from_slice(value.as_bytes());
            let until = ticks_ms.saturating_add(lifetime_ms);
            self.app.keep(&place(site, name, version, key), value, until);
        }
        let now = |name: &str| versions[name].as_str().unwrap_or_default();
        for (name, key) in &asked.delete {
            self.app.forget(&place(site, name, now(name), key));
        }
        let got = asked.get.iter().map(|(name, key)| {
            let found = self.app.find(&place(site, name, now(name), key), ticks_ms);
            match &found {
                Some(_) => self.counters.app_objects_found.bump(),
                None => self.counters.app_objects_missed.bump(),
            }
            found.map_or(Value::Null, |value| String::from_utf8_lossy(&value).into())
        });
        let got = got.collect::<Vec<_>>();
        Ok(json!({ "got": got, "versions": versions }))
    }

    /// The versions of all namespaces that are named, once those are bumped that shall be.
    fn versions(&self, site: &Site, asked: &Objects<'_>) -> Map<String, Value> {
        let mut namespaces = self.app.namespaces.lock();
        for name in &asked.bump {
            namespaces.bump(&site.name, name);
        }
        asked
            .names()
            .map(|name| (name.to_owned(), namespaces.version(&site.name, name).to_string().into()))
            .collect()
    }

    fn purge_for(&self, site: &Arc<Site>, asked: &Purges) -> Result<Value, String> {
        let mode = if asked.soft { Mode::Soft } else { Mode::Hard };
        let mut purges = Vec::new();
        for url in &asked.urls {
            let (host, target) = split_address(url).map_err(|wrong| wrong.to_string())?;
            purges.push(Purge { scope: Scope::Host(host), what: What::Url(target), mode });
        }
        if !asked.tags.is_empty() {
            let what = What::Tags(asked.tags.clone());
            purges.push(Purge { scope: Scope::Site, what, mode });
        }
        if asked.all {
            purges.push(Purge { scope: Scope::Site, what: What::Everything, mode });
        }
        if purges.is_empty() {
            return Err("nothing is named that could be purged: name urls, tags or all".to_owned());
        }
        let done = self.carry_out_all(site, "", &purges).map_err(|wrong| wrong.to_string())?;
        Ok(json!({ "purged": purges.len(), "variants": done.variants }))
    }
}

/// What a value is kept under. A hash of markup has no NUL at this place but by one chance in
/// many, and is compared in full all the same.
fn place(site: &Site, name: &str, version: &str, key: &str) -> Vec<u8> {
    // Neither a name nor a key has a NUL in it.
    ["object", &site.name, name, version, key].join("\0").into_bytes()
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, String> {
    // The reader of JSON would look at each text by itself, and not by whole strides.
    let read = match simdutf8::basic::from_utf8(body) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(body),
    };
    read.map_err(|error| format!("the request can't be read: {error}"))
}

/// What was rendered.
#[derive(Serialize)]
struct Rendered {
    html: Vec<Html>,
}

/// HTML that is told as a text.
struct Html(Bytes);

impl Serialize for Html {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match simdutf8::basic::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.serialize_str(&String::from_utf8_lossy(&self.0)),
        }
    }
}

impl Help {
    fn wrong(status: u16, why: &str) -> Self {
        Self { status, body: json!({ "error": why }).to_string() }
    }
}

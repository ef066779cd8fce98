//! The shield before the origin: a page that is missing here, and may be everybody's, is asked
//! of the node that owns its key before the origin is.
//!
//! ```text
//! this node ── wick-fellow: 1 … ──→ the owner: store, flight, or the origin, once for all
//!           ←── page, or "none" ──
//! ```
//!
//! Every node finds the same owner by itself ([`owner`]). Who is asked never asks another node,
//! so there are no loops. Why it is so: `docs/decisions/shield.md`.
//! Invariants: 1. nothing crosses but pages that the owner has in its store for everybody, or
//! for all strangers alike, and a request that bears a cookie or an authorization never does.
//! 2. a page that comes is as new as if this node had asked the origin up to what it has heard:
//! the owner has obeyed all of that before it looks. 3. an owner that is silent for [`SILENCE`]
//! costs that once; then it rests for [`REST`].
//! Start at [`ask::ask`]; the owner's side is [`Server::show_fellow`].

pub(crate) mod ask;
mod owner;
mod parcel;
mod show;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base::Token;
use http::Method;
use http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderValue};
use http::request::Parts;
use origin::{Dial, HttpOptions, HttpOrigin, Origin, SlotLimits, Timeouts};
use parking_lot::Mutex;
use policy::strangers::shape;
use wire::{Fields, RequestHead, Version};

use self::ask::Before;
use super::{Place, Roll};

/// How long a connection to a fellow may take.
const CONNECT: Duration = Duration::from_millis(250);
/// How long a fellow that was asked may say nothing: it says something much more often.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);
/// For how long one that said nothing isn't asked again, in milliseconds.
const REST_MS: u64 = 5000;
/// For how long nothing is asked of an address of a kind that wasn't everybody's.
const UNSHARED_MS: u64 = 60_000;
/// How many such kinds are remembered; past them the oldest knowledge is given up.
const UNSHARED_MAX: usize = 4096;
/// Requests of this node at one fellow at one time, and those that may wait for that.
const REQUESTS_MAX: usize = 128;
const WAITING_MAX: usize = 1024;
/// Fewer letters of a secret could be tried out.
const SECRET_BYTES_MIN: usize = 16;
/// The field by which a fellow says what it is, and how far it has heard.
const FIELD: &str = "wick-fellow";
/// The field by which one whose site's sources are read for all says from which beginnings on it
/// hears them: [`Following::goes_by`](crate::following::Following::goes_by).
const GOES_BY: &str = "wick-fellow-goes-by";
/// What is spoken; one who speaks otherwise is told that there is nothing for it.
const SPEECH: &str = "1";

/// What a node needs to ask others for pages, and to be asked.
pub struct Shield {
    secret: Option<Token>,
    /// The secret as it is shown to fellows.
    shown: Option<String>,
    /// By which keys find their owners; the same on all nodes, and hard to guess for others.
    seed: u64,
    ways: Mutex<HashMap<SocketAddr, Way>>,
    /// Until when nothing is asked for that is of these kinds.
    unshared: Mutex<HashMap<u64, u64>>,
}

/// The way to one fellow.
struct Way {
    origin: Arc<Origin>,
    rests_until: u64,
}

/// How long the body is of the page that a parcel would be taken for; none where it is no page.
/// It exists so that anything can be tried.
#[doc(hidden)]
#[must_use]
pub fn page_in_parcel(bytes: &[u8]) -> Option<usize> {
    let parcel = parcel::read(&bytes::Bytes::copy_from_slice(bytes), 0)?.ok()?;
    Some(parcel.body.len())
}

/// What a fellow wants.
pub struct FellowRequest {
    head: RequestHead,
    scheme: &'static str,
    peer: IpAddr,
    place: Place,
    /// From where on it hears of what is behind the site; none: it follows nothing.
    goes_by: Option<u64>,
}

impl Shield {
    /// One that is shown this secret and shows it; none if that could be guessed.
    #[must_use]
    pub fn new(secret: Option<&str>) -> Option<Self> {
        let token = match secret {
            Some(text) => Some(Token::new(text, SECRET_BYTES_MIN)?),
            None => None,
        };
        Some(Self {
            secret: token,
            shown: secret.map(|text| format!("Bearer {text}")),
            seed: xxhash_rust::xxh3::xxh3_64(secret.unwrap_or_default().as_bytes()),
            ways: Mutex::default(),
            unshared: Mutex::default(),
        })
    }

    /// Reads what a fellow asks for.
    ///
    /// # Errors
    /// It is no fellow; what to tell it.
    pub fn read(&self, parts: &Parts) -> Result<FellowRequest, &'static str> {
        let shown = parts.headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
        let shown = shown.strip_prefix(b"Bearer ").unwrap_or_default();
        if self.secret.as_ref().is_some_and(|secret| !secret.is(shown)) {
            return Err(
                "only nodes of this cluster are answered here: the secret in [cluster] is \
                        another one",
            );
        }
        let spoken = parts.headers.get(FIELD).and_then(|value| value.to_str().ok());
        let wanted = spoken.and_then(said).filter(|_| parts.method == Method::GET);
        let Some((place, scheme, peer)) = wanted else {
            return Err("only nodes of a cluster are answered here, and this is none; sites are \
                        served on other addresses");
        };
        let number = |value: &HeaderValue| u64::from_str_radix(value.to_str().ok()?, 16).ok();
        let goes_by = parts.headers.get(GOES_BY).map(number);
        if goes_by == Some(None) {
            return Err("what it says of what it follows can't be read");
        }
        let own = |name: &str| name == FIELD || name == GOES_BY;
        let mut fields = Fields::new();
        for (name, value) in &parts.headers {
            let stays = *name == AUTHORIZATION || *name == CONNECTION || own(name.as_str());
            if !stays && fields.try_push(name.as_str().as_bytes(), value.as_bytes()).is_err() {
                return Err("a field can't be read");
            }
        }
        let host = parts.headers.get(HOST).and_then(|value| value.to_str().ok());
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let head = RequestHead {
            method: Method::GET,
            target: target.to_owned(),
            host: host.unwrap_or_default().to_owned(),
            version: Version::Http11,
            fields,
        };
        Ok(FellowRequest { head, scheme, peer, place, goes_by: goes_by.flatten() })
    }

    /// Who owns a key, and the way there; none: this node, or nobody who could be asked.
    fn way(&self, roll: &Roll, key: &[u8], ticks_ms: u64) -> Option<(SocketAddr, Arc<Origin>)> {
        let mut ways = self.ways.lock();
        ways.retain(|address, _| roll.others.iter().any(|(_, other)| other == address));
        let is_resting =
            |address: &SocketAddr| ways.get(address).is_some_and(|way| ticks_ms < way.rests_until);
        let address = owner::of(self.seed, roll, key, is_resting)?;
        let way = ways.entry(address).or_insert_with(|| Way {
            origin: Arc::new(Origin::Http(HttpOrigin::new(
                Dial::Tcp(address.to_string()),
                options(),
            ))),
            rests_until: 0,
        });
        Some((address, way.origin.clone()))
    }

    fn rest(&self, address: SocketAddr, ticks_ms: u64) {
        if let Some(way) = self.ways.lock().get_mut(&address) {
            way.rests_until = ticks_ms + REST_MS;
        }
    }

    fn is_unshared(&self, head: &RequestHead, ticks_ms: u64) -> bool {
        self.unshared.lock().get(&kind(head)).is_some_and(|until| ticks_ms < *until)
    }

    fn note_unshared(&self, head: &RequestHead, ticks_ms: u64) {
        let mut unshared = self.unshared.lock();
        if unshared.len() >= UNSHARED_MAX {
            unshared.retain(|_, until| ticks_ms < *until);
            if unshared.len() >= UNSHARED_MAX {
                unshared.clear();
            }
        }
        unshared.insert(kind(head), ticks_ms + UNSHARED_MS);
    }

    fn fields(&self, before: &Before, scheme: &str, peer: IpAddr, fields: &mut Fields) {
        let Place { stream, sequence } = before.place;
        if let Some(goes_by) = before.goes_by {
            fields.push(GOES_BY, format!("{goes_by:x}"));
        }
        let said = format!("{SPEECH} {stream} {sequence} {scheme} {peer}");
        fields.push(FIELD, said);
        if let Some(shown) = &self.shown {
            fields.push("authorization", shown);
        }
    }
}

/// Addresses that differ in what names a page, and are answered by the same code.
fn kind(head: &RequestHead) -> u64 {
    crate::pipeline::hash(format!("{}|{}", head.host, shape(&head.target)).as_bytes())
}

fn options() -> HttpOptions {
    let limits = SlotLimits { slots: REQUESTS_MAX, queue: WAITING_MAX, queue_timeout: SILENCE };
    HttpOptions {
        timeouts: Timeouts { connect: CONNECT, first_byte: SILENCE, idle: SILENCE },
        limits,
        ..HttpOptions::default()
    }
}

/// Reads what [`Shield::fields`] says.
fn said(text: &str) -> Option<(Place, &'static str, IpAddr)> {
    let mut words = text.split(' ');
    (words.next()? == SPEECH).then_some(())?;
    let (stream, sequence) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let scheme = words.next()?;
    let scheme = policy::SCHEMES.into_iter().find(|known| *known == scheme)?;
    let peer = words.next()?.parse().ok()?;
    words.next().is_none().then_some((Place { stream, sequence }, scheme, peer))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    const SECRET: &str = "a-secret-of-many-letters";

    fn read(
        shield: &Shield,
        method: &str,
        fields: &[(&str, &str)],
    ) -> Result<String, &'static str> {
        let mut request = Request::builder().method(method).uri("/a?b=1");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("it is one").into_parts();
        shield.read(&parts).map(|read| {
            let FellowRequest { head, scheme, peer, place, .. } = read;
            assert!(head.fields.all_named("authorization").next().is_none());
            assert!(head.fields.all_named(FIELD).next().is_none());
            format!("{scheme} {} {} {peer} {}", head.host, head.target, place.sequence)
        })
    }

    #[test]
    fn only_who_shows_the_secret_and_speaks_as_fellows_do_is_heard() {
        let shield = Shield::new(Some(SECRET)).expect("it is long enough");
        let bearer = format!("Bearer {SECRET}");
        let good = [("host", "a.test"), ("authorization", &bearer), (FIELD, "1 7 9 https ::1")];
        assert_eq!(read(&shield, "GET", &good), Ok("https a.test /a?b=1 ::1 9".to_owned()));
        assert!(read(&shield, "POST", &good).is_err(), "nothing is written here");
        assert!(read(&shield, "GET", &good[..2]).is_err(), "it says nothing of itself");
        assert!(read(&shield, "GET", &[good[0], good[2]]).is_err(), "it shows nothing");
        for wrong in ["2 7 9 https ::1", "1 7 9 gopher ::1", "1 7 9 https", "1 7 9 https ::1 x"] {
            assert!(read(&shield, "GET", &[good[0], good[1], (FIELD, wrong)]).is_err(), "{wrong}");
        }
        let wrong = ("authorization", "Bearer a-secret-of-many-lettres");
        assert!(read(&shield, "GET", &[good[0], wrong, good[2]]).is_err());
        assert!(Shield::new(Some("short")).is_none());
    }

    #[test]
    fn a_kind_that_is_nobody_elses_is_left_alone_for_a_while() {
        let shield = Shield::new(None).expect("none is needed");
        let head = |target: &str| RequestHead {
            method: Method::GET,
            target: target.to_owned(),
            host: "a.test".to_owned(),
            version: Version::Http11,
            fields: Fields::new(),
        };
        shield.note_unshared(&head("/find?q=one"), 1000);
        assert!(shield.is_unshared(&head("/find?q=two"), 1001));
        assert!(!shield.is_unshared(&head("/news"), 1001));
        assert!(!shield.is_unshared(&head("/find?q=two"), 1000 + UNSHARED_MS));
        (0..2 * UNSHARED_MAX).for_each(|at| shield.note_unshared(&head(&format!("/x{at}y")), 0));
        assert!(shield.unshared.lock().len() <= UNSHARED_MAX);
    }
}

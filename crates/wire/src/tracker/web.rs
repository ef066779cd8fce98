//! What WebTorrent's clients say to a tracker over WebSocket, and what they are told.
//!
//! In: a text message, an object of JSON. Out: [`Said`], or what is wrong with it; what is said
//! back is appended. A client offers connections over WebRTC, the tracker hands each offer to
//! another client, and its answer back: so peers meet that nobody can connect to.
//! Law: none is written. Clients follow the npm package `bittorrent-tracker`, which has twenty
//! bytes as a string of twenty characters, each a byte.
//! Invariants: 1. offers, answers and their names are relayed as they came; nothing here looks
//! into them. 2. of offers and hashes there is a most. 3. nothing of a message is in an error.
//! Start at [`read`].

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::query::{QueryError, SCRAPE_HASHES_MAX};
use super::{Announce, Counts, Event, InfoHash, PeerId, Told};

/// Offers of one announce that are relayed; clients make five, older ones ten.
pub const OFFERS_MAX: usize = 10;
/// Bytes of an offer's name as it is written; twenty, each of which may be escaped.
const OFFER_ID_BYTES_MAX: usize = 256;

/// What a message says.
#[derive(Debug)]
pub enum Said<'a> {
    /// To be counted in; offers may come with it.
    Announce(WebAnnounce<'a>),
    /// What somebody says to an offer.
    Answer(WebAnswer<'a>),
    /// How these torrents stand.
    Scrape(Vec<InfoHash>),
}

/// An announce over WebSocket.
#[derive(Debug)]
pub struct WebAnnounce<'a> {
    /// What it says. It listens nowhere, and its passkey is the connection's.
    pub announce: Announce,
    /// Whether it says how much it sent and took.
    pub has_counters: bool,
    /// Connections that it offers, one to each peer.
    pub offers: Vec<Offer<'a>>,
    /// Offers beyond [`OFFERS_MAX`].
    pub more_offers: usize,
}

/// An offer, or an answer to one, as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<'a> {
    /// A session's description, an object.
    pub description: &'a str,
    /// What the one who offers calls it, a string.
    pub id: &'a str,
}

/// What somebody says to an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebAnswer<'a> {
    /// Of which torrent.
    pub info_hash: InfoHash,
    /// Who answers.
    pub peer_id: PeerId,
    /// Who offered.
    pub to: PeerId,
    /// What they answer.
    pub answer: Offer<'a>,
}

/// What is wrong; the words are for the client's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// It is no object of JSON, or has what it must not have.
    #[error("the message can't be read")]
    Malformed,
    /// It asks for something else.
    #[error("action is neither announce nor scrape")]
    Action,
    /// An announce or a scrape with something wrong.
    #[error("{0}")]
    Query(#[from] QueryError),
    /// Nobody could take it.
    #[error("an offer or an answer is malformed")]
    Offer,
}

/// A message as it is written; values are looked at one by one.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    action: Option<&'a RawValue>,
    #[serde(borrow)]
    info_hash: Option<&'a RawValue>,
    #[serde(borrow)]
    peer_id: Option<&'a RawValue>,
    #[serde(borrow)]
    to_peer_id: Option<&'a RawValue>,
    #[serde(borrow)]
    uploaded: Option<&'a RawValue>,
    #[serde(borrow)]
    downloaded: Option<&'a RawValue>,
    #[serde(borrow)]
    left: Option<&'a RawValue>,
    #[serde(borrow)]
    event: Option<&'a RawValue>,
    #[serde(borrow)]
    numwant: Option<&'a RawValue>,
    #[serde(borrow)]
    offers: Option<Offers<'a>>,
    #[serde(borrow)]
    answer: Option<&'a RawValue>,
    #[serde(borrow)]
    offer_id: Option<&'a RawValue>,
}

/// What a message says.
///
/// # Errors
/// It can't be read, or says what can't be.
pub fn read(text: &str) -> Result<Said<'_>, WebError> {
    let written: Written<'_> = serde_json::from_str(text).map_err(|_| WebError::Malformed)?;
    match written.action.and_then(string).as_deref() {
        Some("announce") if written.answer.is_some() => answer(&written).map(Said::Answer),
        Some("announce") => announce(written).map(Said::Announce),
        Some("scrape") => scrape(written.info_hash).map(Said::Scrape),
        _ => Err(WebError::Action),
    }
}

fn announce(written: Written<'_>) -> Result<WebAnnounce<'_>, WebError> {
    let counter = |value, name| number(value, name).map(|amount| amount.unwrap_or(Some(0)));
    let event = written.event.and_then(string);
    let announce = Announce {
        info_hash: InfoHash(twenty(written.info_hash, "info_hash")?),
        peer_id: PeerId(twenty(written.peer_id, "peer_id")?),
        key: None,
        passkey: None,
        port: 0,
        uploaded: counter(written.uploaded, "uploaded")?.unwrap_or(0),
        downloaded: counter(written.downloaded, "downloaded")?.unwrap_or(0),
        // What isn't known yet is nothing, less than nothing, or infinite, which JSON can't say.
        left: number(written.left, "left")?.flatten().unwrap_or(u64::MAX),
        event: match event.as_deref() {
            Some("started") => Event::Started,
            Some("completed") => Event::Completed,
            Some("stopped") => Event::Stopped,
            Some("paused") => Event::Paused,
            _ => Event::Update,
        },
        peers_wanted: number(written.numwant, "numwant")
            .ok()
            .flatten()
            .flatten()
            .map(|wanted| u32::try_from(wanted).unwrap_or(u32::MAX)),
        told_v4: None,
        told_v6: None,
    };
    let has_counters = written.uploaded.is_some() && written.downloaded.is_some();
    let Offers { first, more } = written.offers.unwrap_or_default();
    let offers = first.into_iter().map(|it| offer(it.offer, it.offer_id)).collect::<Result<_, _>>();
    Ok(WebAnnounce { announce, has_counters, offers: offers?, more_offers: more })
}

fn answer<'a>(written: &Written<'a>) -> Result<WebAnswer<'a>, WebError> {
    Ok(WebAnswer {
        info_hash: InfoHash(twenty(written.info_hash, "info_hash")?),
        peer_id: PeerId(twenty(written.peer_id, "peer_id")?),
        to: PeerId(twenty(written.to_peer_id, "to_peer_id")?),
        answer: offer(written.answer, written.offer_id)?,
    })
}

fn offer<'a>(
    description: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
) -> Result<Offer<'a>, WebError> {
    let description = description.map(RawValue::get).filter(|text| text.starts_with('{'));
    let id = id.map(RawValue::get).filter(|text| text.starts_with('"'));
    let id = id.filter(|text| text.len() <= OFFER_ID_BYTES_MAX);
    let both = description.zip(id).map(|(description, id)| Offer { description, id });
    both.ok_or(WebError::Offer)
}

/// The torrents of a scrape: one, or a list.
fn scrape(value: Option<&RawValue>) -> Result<Vec<InfoHash>, WebError> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if value.get().starts_with('"') {
        return Ok(vec![InfoHash(twenty(Some(value), "info_hash")?)]);
    }
    let list: FirstOf<'_, SCRAPE_HASHES_MAX> =
        serde_json::from_str(value.get()).map_err(|_| QueryError::Twenty("info_hash"))?;
    if list.more > 0 {
        return Err(QueryError::TooMany.into());
    }
    let hash = |value| twenty(Some(value), "info_hash").map(InfoHash);
    Ok(list.first.into_iter().map(hash).collect::<Result<_, _>>()?)
}

/// A string, if it is one.
fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    /// Borrowed where nothing in it is escaped.
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(value.get()).ok().map(|text| text.0)
}

/// Twenty bytes as a string in which each character is one.
fn twenty(value: Option<&RawValue>, name: &'static str) -> Result<[u8; 20], QueryError> {
    let text = string(value.ok_or(QueryError::Missing(name))?).ok_or(QueryError::Twenty(name))?;
    let mut bytes = [0; 20];
    let mut letters = text.chars();
    for place in &mut bytes {
        let byte = letters.next().and_then(|letter| u8::try_from(u32::from(letter)).ok());
        *place = byte.ok_or(QueryError::Twenty(name))?;
    }
    if letters.next().is_some() { Err(QueryError::Twenty(name)) } else { Ok(bytes) }
}

/// A number; none where nothing is said, and none within where it is below nothing.
fn number(value: Option<&RawValue>, name: &'static str) -> Result<Option<Option<u64>>, QueryError> {
    let Some(value) = value else { return Ok(None) };
    let number: serde_json::Number =
        serde_json::from_str(value.get()).map_err(|_| QueryError::Number(name))?;
    if let Some(whole) = number.as_u64() {
        return Ok(Some(Some(whole)));
    }
    // A fraction is cut; what is more than any counter is the most that one can be.
    let float = number.as_f64().ok_or(QueryError::Number(name))?;
    Ok(Some((float >= 0.0).then_some(float as u64)))
}

/// An offer of an announce, as it is written.
#[derive(Deserialize)]
struct WrittenOffer<'a> {
    #[serde(borrow)]
    offer: Option<&'a RawValue>,
    #[serde(borrow)]
    offer_id: Option<&'a RawValue>,
}

/// The first offers of a list, and how many there are besides.
#[derive(Default)]
struct Offers<'a> {
    first: Vec<WrittenOffer<'a>>,
    more: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Offers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, more) = first_of(deserializer, OFFERS_MAX)?;
        Ok(Self { first, more })
    }
}

/// The first values of a list, and how many there are besides.
struct FirstOf<'a, const MAX: usize> {
    first: Vec<&'a RawValue>,
    more: usize,
}

impl<'de: 'a, 'a, const MAX: usize> Deserialize<'de> for FirstOf<'a, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (first, more) = first_of(deserializer, MAX)?;
        Ok(Self { first, more })
    }
}

/// Reads a list of which no more than so many are kept, so that what is held is bounded.
fn first_of<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    max: usize,
) -> Result<(Vec<T>, usize), D::Error> {
    struct Reader<T>(usize, std::marker::PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
        type Value = (Vec<T>, usize);
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let (mut first, mut more) = (Vec::new(), 0);
            while first.len() < self.0 {
                match list.next_element()? {
                    Some(value) => first.push(value),
                    None => return Ok((first, 0)),
                }
            }
            while list.next_element::<IgnoredAny>()?.is_some() {
                more += 1;
            }
            Ok((first, more))
        }
    }
    deserializer.deserialize_seq(Reader(max, std::marker::PhantomData))
}

/// Appends what an announce is answered with.
pub fn put_announce(out: &mut Vec<u8>, hash: &InfoHash, told: &Told, warning: Option<&str>) {
    let Counts { complete, incomplete, downloaded, .. } = told.swarm;
    out.extend_from_slice(b"{\"action\":\"announce\",\"info_hash\":");
    put_binary(out, &hash.0);
    // Bytes take what is written.
    let _ = write!(
        out,
        ",\"interval\":{},\"complete\":{complete},\"incomplete\":{incomplete},\
         \"downloaded\":{downloaded}",
        told.interval
    );
    if let Some(warning) = warning {
        out.extend_from_slice(b",\"warning message\":");
        put_string(out, warning);
    }
    out.push(b'}');
}

/// Appends why not. A client takes heed of it if it names its torrent.
pub fn put_failure(out: &mut Vec<u8>, is_scrape: bool, hash: Option<&InfoHash>, reason: &str) {
    out.extend_from_slice(b"{\"action\":");
    put_string(out, if is_scrape { "scrape" } else { "announce" });
    if let Some(hash) = hash {
        out.extend_from_slice(b",\"info_hash\":");
        put_binary(out, &hash.0);
    }
    out.extend_from_slice(b",\"failure reason\":");
    put_string(out, reason);
    out.push(b'}');
}

/// Appends an offer for whom it is handed to; `from` made it.
pub fn put_offer(out: &mut Vec<u8>, hash: &InfoHash, from: &PeerId, offer: &Offer<'_>) {
    put_relayed(out, "offer", hash, from, offer);
}

/// Appends an answer for whom it is handed to; `from` gave it.
pub fn put_answer(out: &mut Vec<u8>, answer: &WebAnswer<'_>) {
    put_relayed(out, "answer", &answer.info_hash, &answer.peer_id, &answer.answer);
}

fn put_relayed(out: &mut Vec<u8>, what: &str, hash: &InfoHash, from: &PeerId, offer: &Offer<'_>) {
    out.reserve(200 + offer.description.len() + offer.id.len());
    out.extend_from_slice(b"{\"action\":\"announce\",\"info_hash\":");
    put_binary(out, &hash.0);
    out.extend_from_slice(b",\"peer_id\":");
    put_binary(out, &from.0);
    out.extend_from_slice(b",\"offer_id\":");
    out.extend_from_slice(offer.id.as_bytes());
    // Bytes take what is written.
    let _ = write!(out, ",\"{what}\":{}}}", offer.description);
}

/// Appends how torrents stand; those that nobody knows are left out.
pub fn put_scrape(out: &mut Vec<u8>, torrents: &[(InfoHash, Counts)], min_interval: Option<u32>) {
    out.extend_from_slice(b"{\"action\":\"scrape\",\"files\":{");
    for (number, (hash, counts)) in torrents.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        put_binary(out, &hash.0);
        let Counts { complete, incomplete, downloaded, .. } = counts;
        let _ = write!(
            out,
            ":{{\"complete\":{complete},\"incomplete\":{incomplete},\"downloaded\":{downloaded}}}"
        );
    }
    out.push(b'}');
    if let Some(seconds) = min_interval {
        let _ = write!(out, ",\"flags\":{{\"min_request_interval\":{seconds}}}");
    }
    out.push(b'}');
}

/// Bytes as a string of as many characters.
fn put_binary(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    bytes.iter().for_each(|byte| put_letter(out, char::from(*byte)));
    out.push(b'"');
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    text.chars().for_each(|letter| put_letter(out, letter));
    out.push(b'"');
}

fn put_letter(out: &mut Vec<u8>, letter: char) {
    match letter {
        '"' | '\\' => out.extend_from_slice(&[b'\\', letter as u8]),
        '\0'..='\x1f' => {
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        }
        _ => out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

#[cfg(test)]
mod tests;

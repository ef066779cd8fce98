//! An announce or a scrape as it stands in an HTTP request's target.
//!
//! In: the target, as it came. Out: [`Asked`], or what is wrong with it.
//! Law: BEP 3, 7, 21, 23, 48. Parameters come in any order; of one that comes again the first
//! counts; others are passed over. The passkey is a parameter or a segment of the path.
//! Invariant: nothing is kept of the target, and no part of it is in an error.
//! Start at [`read`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Announce, Event, InfoHash, PASSKEY_BYTES_MAX, Passkey, PeerId, percent};

/// Torrents of one scrape.
pub const SCRAPE_HASHES_MAX: usize = 74;
/// The shortest segment of a path that is taken for a passkey.
const SEGMENT_BYTES_MIN: usize = 10;
/// What sites call a passkey in the address that they put into torrents.
const PASSKEY_NAMES: [&[u8]; 6] =
    [b"passkey", b"uk", b"pid", b"torrent_pass", b"authkey", b"auth_key"];

/// What a request asks.
#[derive(Debug)]
pub enum Asked {
    /// To be counted in, and for peers.
    Announce(HttpAnnounce),
    /// How torrents stand.
    Scrape(Scrape),
    /// Neither.
    Other,
}

/// An announce over HTTP.
#[derive(Debug)]
pub struct HttpAnnounce {
    /// What it says.
    pub announce: Announce,
    /// Whether peers are wanted as bytes (BEP 23), which is taken for granted.
    pub compact: bool,
    /// Whether peers' names are left out otherwise.
    pub no_peer_id: bool,
}

/// A scrape.
#[derive(Debug, Default)]
pub struct Scrape {
    /// Of which torrents; at most [`SCRAPE_HASHES_MAX`], none for all.
    pub hashes: Vec<InfoHash>,
    /// By whom.
    pub passkey: Option<Passkey>,
}

/// What is wrong; the words are for the client's user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It isn't there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// It isn't twenty bytes.
    #[error("{0} is not 20 bytes")]
    Twenty(&'static str),
    /// It is no number.
    #[error("{0} is not a number")]
    Number(&'static str),
    /// Nobody could have this one.
    #[error("the passkey is malformed; download the torrent again from the site")]
    Passkey,
    /// Too many torrents at once.
    #[error("at most {SCRAPE_HASHES_MAX} torrents can be scraped at once")]
    TooMany,
}

/// Which kind a path is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Announce,
    Scrape,
}

/// What a target asks.
///
/// # Errors
/// It is an announce or a scrape with something wrong.
pub fn read(target: &[u8]) -> Result<Asked, QueryError> {
    let (path, query) = cut(target, b'?');
    let Some((kind, segment)) = kind_of(path) else { return Ok(Asked::Other) };
    match kind {
        Kind::Announce => announce(segment, query).map(Asked::Announce),
        Kind::Scrape => scrape(segment, query).map(Asked::Scrape),
    }
}

/// The passkey in an announce's path and query, as a UDP client sends them (BEP 41), and as one
/// over WebSocket connects.
///
/// # Errors
/// There is something in its place that can't be one.
pub fn passkey_of(target: &[u8]) -> Result<Option<Passkey>, QueryError> {
    let (path, query) = cut(target, b'?');
    let segment = kind_of(path).and_then(|(_, segment)| segment);
    let mut passkey = None;
    each(query, |name, value| {
        if is_passkey(name) && passkey.is_none() {
            passkey = Some(value);
        }
        Ok(())
    })?;
    secret(passkey, segment)
}

/// Whether a target is of announces, whatever stands in its query.
#[must_use]
pub fn is_announce(target: &[u8]) -> bool {
    kind_of(cut(target, b'?').0).is_some_and(|(kind, _)| kind == Kind::Announce)
}

fn is_passkey(name: &[u8]) -> bool {
    PASSKEY_NAMES.contains(&name)
}

/// Whether a path is of an announce or a scrape, and a segment beside that may be a passkey.
fn kind_of(path: &[u8]) -> Option<(Kind, Option<&[u8]>)> {
    let mut before: &[u8] = b"";
    let mut segments = path.split(|&byte| byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let kind = match segment.strip_suffix(b".php").unwrap_or(segment) {
            b"announce" => Kind::Announce,
            b"scrape" => Kind::Scrape,
            _ => {
                before = segment;
                continue;
            }
        };
        let after = segments.peek().copied().unwrap_or_default();
        let beside = [before, after].into_iter().find(|segment| may_be_passkey(segment));
        return Some((kind, beside));
    }
    None
}

fn may_be_passkey(segment: &[u8]) -> bool {
    (SEGMENT_BYTES_MIN..=PASSKEY_BYTES_MAX).contains(&segment.len())
        && segment.iter().all(u8::is_ascii_alphanumeric)
}

/// The secret from its parameter, or else from the path.
fn secret(written: Option<&[u8]>, segment: Option<&[u8]>) -> Result<Option<Passkey>, QueryError> {
    match written {
        Some(value) => {
            let mut bytes = [0; PASSKEY_BYTES_MAX];
            let length = percent::decode(value, &mut bytes).ok_or(QueryError::Passkey)?;
            Passkey::new(&bytes[..length]).map(Some).ok_or(QueryError::Passkey)
        }
        None => Ok(segment.and_then(Passkey::new)),
    }
}

/// The two sides of the first such byte.
fn cut(text: &[u8], at: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(at, text) {
        Some(place) => (&text[..place], &text[place + 1..]),
        None => (text, b""),
    }
}

/// Each parameter, name and value as they came.
///
/// A client that puts `?` where the address has a query already means `&`: it is seen where it
/// stands in a passkey.
fn each<'a>(
    query: &'a [u8],
    mut take: impl FnMut(&'a [u8], &'a [u8]) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let mut rest = query;
    while !rest.is_empty() {
        let (parameter, beyond) = cut(rest, b'&');
        rest = beyond;
        let (name, mut value) = cut(parameter, b'=');
        let mut second: &[u8] = b"";
        if is_passkey(name) {
            (value, second) = cut(value, b'?');
        }
        take(name, value)?;
        if !second.is_empty() {
            let (name, value) = cut(second, b'=');
            take(name, value)?;
        }
    }
    Ok(())
}

/// The parameters of an announce, as they came.
#[derive(Default)]
struct Written<'a> {
    info_hash: Option<&'a [u8]>,
    peer_id: Option<&'a [u8]>,
    passkey: Option<&'a [u8]>,
    port: Option<&'a [u8]>,
    uploaded: Option<&'a [u8]>,
    downloaded: Option<&'a [u8]>,
    left: Option<&'a [u8]>,
    event: Option<&'a [u8]>,
    peers_wanted: Option<&'a [u8]>,
    compact: Option<&'a [u8]>,
    no_peer_id: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
    ip: Option<&'a [u8]>,
    v4: Option<&'a [u8]>,
    v6: Option<&'a [u8]>,
}

impl<'a> Written<'a> {
    fn take(&mut self, name: &'a [u8], value: &'a [u8]) {
        let place = match name {
            b"info_hash" => &mut self.info_hash,
            b"peer_id" => &mut self.peer_id,
            b"port" => &mut self.port,
            b"uploaded" => &mut self.uploaded,
            b"downloaded" => &mut self.downloaded,
            b"left" => &mut self.left,
            b"event" => &mut self.event,
            b"numwant" => &mut self.peers_wanted,
            b"compact" => &mut self.compact,
            b"no_peer_id" => &mut self.no_peer_id,
            b"key" => &mut self.key,
            b"ip" => &mut self.ip,
            b"ipv4" => &mut self.v4,
            b"ipv6" => &mut self.v6,
            name if is_passkey(name) => &mut self.passkey,
            _ => return,
        };
        place.get_or_insert(value);
    }
}

fn announce(segment: Option<&[u8]>, query: &[u8]) -> Result<HttpAnnounce, QueryError> {
    let mut written = Written::default();
    each(query, |name, value| {
        written.take(name, value);
        Ok(())
    })?;
    let told = |place: Option<&[u8]>| place.and_then(address);
    let (ip, v4, v6) = (told(written.ip), told(written.v4), told(written.v6));
    let announce = Announce {
        info_hash: InfoHash(twenty(written.info_hash, "info_hash")?),
        peer_id: PeerId(twenty(written.peer_id, "peer_id")?),
        key: written.key.filter(|key| !key.is_empty()).map(percent::hash),
        passkey: secret(written.passkey, segment)?,
        port: match written.port {
            Some(text) => u16::try_from(amount(text, "port")?.unwrap_or(0))
                .map_err(|_| QueryError::Number("port"))?,
            None => 0,
        },
        uploaded: counter(written.uploaded, "uploaded")?.unwrap_or(0),
        downloaded: counter(written.downloaded, "downloaded")?.unwrap_or(0),
        // Below nothing stands for what isn't known yet, as before a magnet link's metadata came.
        left: match written.left {
            Some(text) => amount(text, "left")?.unwrap_or(u64::MAX),
            None => u64::MAX,
        },
        event: event(written.event),
        // What is no number says nothing.
        peers_wanted: written
            .peers_wanted
            .and_then(|text| amount(text, "numwant").ok().flatten())
            .map(|wanted| u32::try_from(wanted).unwrap_or(u32::MAX)),
        told_v4: [v4, ip].into_iter().flatten().find_map(only_v4),
        told_v6: [v6, ip].into_iter().flatten().find_map(only_v6),
    };
    Ok(HttpAnnounce {
        announce,
        compact: written.compact != Some(b"0"),
        no_peer_id: written.no_peer_id.is_some_and(|value| value != b"0"),
    })
}

fn scrape(segment: Option<&[u8]>, query: &[u8]) -> Result<Scrape, QueryError> {
    let (mut hashes, mut passkey) = (Vec::new(), None);
    each(query, |name, value| {
        if name == b"info_hash" {
            let hash = percent::twenty(value).ok_or(QueryError::Twenty("info_hash"))?;
            if hashes.len() == SCRAPE_HASHES_MAX {
                return Err(QueryError::TooMany);
            }
            hashes.push(InfoHash(hash));
        } else if is_passkey(name) {
            passkey.get_or_insert(value);
        }
        Ok(())
    })?;
    Ok(Scrape { hashes, passkey: secret(passkey, segment)? })
}

fn twenty(value: Option<&[u8]>, name: &'static str) -> Result<[u8; 20], QueryError> {
    percent::twenty(value.ok_or(QueryError::Missing(name))?).ok_or(QueryError::Twenty(name))
}

/// A number; none where it is below nothing.
fn amount(text: &[u8], name: &'static str) -> Result<Option<u64>, QueryError> {
    let (digits, is_below) = match text {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    let wrong = QueryError::Number(name);
    if digits.is_empty() || digits.len() > 20 {
        return Err(wrong);
    }
    let number = digits.iter().try_fold(0u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    });
    let number = number.ok_or(wrong)?;
    Ok((!is_below).then_some(number))
}

/// A counter that has to be there, as without it every announce would look like a fresh start.
fn counter(value: Option<&[u8]>, name: &'static str) -> Result<Option<u64>, QueryError> {
    amount(value.ok_or(QueryError::Missing(name))?, name)
}

fn event(value: Option<&[u8]>) -> Event {
    match value {
        Some(b"started") => Event::Started,
        Some(b"completed") => Event::Completed,
        Some(b"stopped") => Event::Stopped,
        Some(b"paused") => Event::Paused,
        _ => Event::Update,
    }
}

/// An address, with or without a port; a name is none.
fn address(value: &[u8]) -> Option<IpAddr> {
    // The longest is an IPv6 address in brackets with a port.
    let mut bytes = [0; 56];
    let length = percent::decode(value, &mut bytes)?;
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    let alone = text.parse::<IpAddr>().or_else(|_| text.parse::<SocketAddr>().map(|it| it.ip()));
    alone.ok().map(|address| address.to_canonical())
}

fn only_v4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

fn only_v6(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(_) => None,
    }
}

#[cfg(test)]
mod tests;

//! Cookies: those a visitor sends, those an answer sets, and the jar between the two.
//!
//! Law: RFC 6265 §5.2 (`Set-Cookie` as browsers read it), §5.4 (`Cookie`). A jar lives for
//! one persona on one site, so path, domain and `Secure` are not looked at: of two cookies
//! with one name the later stays, and all are sent.
//! Invariants: 1. reading allocates nothing. 2. a jar holds at most 64 cookies and 16 KiB.
//! Start at [`pairs`] and [`Jar`].

use wire::fields::trim;
use wire::{Fields, Name};

use super::cookie_date;
use crate::digits;

/// Browsers keep 50 to 180 a site; no app is known that sets a stranger more than a dozen.
const JAR_COOKIES_MAX: usize = 64;
/// What the cookies of a jar may come to as a field's value; servers refuse longer fields.
const JAR_BYTES_MAX: usize = 16 * 1024;

/// Name and value of every cookie of a request, in order, over all lines of the field.
///
/// A part without `=` is a name with an empty value, as PHP reads it. Allocates nothing.
pub fn pairs(fields: &Fields) -> impl Iterator<Item = (&[u8], &[u8])> {
    fields.all(Name::Cookie).flat_map(parts).map(split_pair)
}

/// The parts of one `Cookie` line, trimmed, without empty ones.
fn parts(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b';').map(trim).filter(|part| !part.is_empty())
}

fn split_pair(part: &[u8]) -> (&[u8], &[u8]) {
    match part.iter().position(|&byte| byte == b'=') {
        Some(equals) => (trim(&part[..equals]), trim(&part[equals + 1..])),
        None => (part, b""),
    }
}

/// Takes the cookies whose name goes out of a request. The field goes when nothing is left
/// of it; a field of which nothing goes stays as it is, and costs no allocation.
pub fn remove_cookies(fields: &mut Fields, goes: impl Fn(&[u8]) -> bool) {
    if !pairs(fields).any(|(name, _)| goes(name)) {
        return;
    }
    let mut kept = Vec::new();
    for part in fields.all(Name::Cookie).flat_map(parts).filter(|part| !goes(split_pair(part).0)) {
        if !kept.is_empty() {
            kept.extend_from_slice(b"; ");
        }
        kept.extend_from_slice(part);
    }
    if kept.is_empty() {
        fields.remove(Name::Cookie);
    } else {
        fields.set(Name::Cookie, kept);
    }
}

/// One `Set-Cookie` line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetCookie<'a> {
    /// The cookie's name, never empty.
    pub name: &'a [u8],
    /// Its value, quotes included.
    pub value: &'a [u8],
    /// No script may read it.
    pub http_only: bool,
    /// It outlives the browser's session.
    pub persists: bool,
    end: End,
}

/// When a cookie ends by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With the browser.
    Session,
    /// `Max-Age` of zero or less: now.
    Now,
    /// `Max-Age`: some time from now.
    Later,
    /// `Expires`, in seconds since 1970.
    At(i64),
}

impl<'a> SetCookie<'a> {
    /// Reads a field's value. A line without a name sets nothing.
    #[must_use]
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let mut parts = line.split(|&byte| byte == b';');
        let pair = parts.next()?;
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let (name, value) = (trim(&pair[..equals]), trim(&pair[equals + 1..]));
        if name.is_empty() {
            return None;
        }
        let (mut http_only, mut max_age, mut expires) = (false, None, None);
        for (attribute, argument) in parts.map(trim).map(split_pair) {
            // Of two attributes with one name the later holds, but one that can't be read
            // is as if it weren't there.
            if attribute.eq_ignore_ascii_case(b"httponly") {
                http_only = true;
            } else if attribute.eq_ignore_ascii_case(b"max-age") {
                max_age = read_max_age(argument).or(max_age);
            } else if attribute.eq_ignore_ascii_case(b"expires") {
                expires = cookie_date::parse(argument).map(End::At).or(expires);
            }
        }
        // `Max-Age` beats `Expires` wherever it stands.
        let end = max_age.or(expires).unwrap_or(End::Session);
        Some(Self { name, value, http_only, persists: end != End::Session, end })
    }

    /// Whether the line takes the cookie away: it ends now or has ended, or nothing is
    /// left in it. PHP writes `deleted` for an empty value.
    #[must_use]
    pub fn is_removal(&self, unix_seconds: u64) -> bool {
        let has_ended = match self.end {
            End::Now => true,
            End::At(end) => i128::from(end) <= i128::from(unix_seconds),
            End::Session | End::Later => false,
        };
        has_ended || self.value.is_empty() || self.value == b"deleted"
    }
}

/// A whole number with an optional minus; anything else counts as absent (§5.2.2).
fn read_max_age(argument: &[u8]) -> Option<End> {
    match argument.strip_prefix(b"-") {
        Some(number) => digits::read(number).map(|_| End::Now),
        None => digits::read(argument).map(|age| if age == 0 { End::Now } else { End::Later }),
    }
}

/// Every cookie that an answer sets, in order.
pub fn set_cookies(fields: &Fields) -> impl Iterator<Item = SetCookie<'_>> {
    fields.all(Name::SetCookie).filter_map(SetCookie::parse)
}

/// The cookies of one visitor that Wick plays.
#[derive(Clone, Default, Debug)]
pub struct Jar {
    cookies: Vec<Held>,
    bytes: usize,
    overflowed: bool,
}

#[derive(Clone, Debug)]
struct Held {
    name: Box<[u8]>,
    value: Box<[u8]>,
}

impl Jar {
    /// Takes up what an answer sets and removes. What finds no room is not kept.
    pub fn absorb(&mut self, fields: &Fields, unix_seconds: u64) {
        for cookie in set_cookies(fields) {
            self.remove(cookie.name);
            if cookie.is_removal(unix_seconds) {
                continue;
            }
            let bytes = written_bytes(cookie.name, cookie.value);
            if self.cookies.len() >= JAR_COOKIES_MAX || self.bytes + bytes > JAR_BYTES_MAX {
                self.overflowed = true;
                continue;
            }
            self.bytes += bytes;
            self.cookies.push(Held { name: cookie.name.into(), value: cookie.value.into() });
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(at) = self.cookies.iter().position(|held| &*held.name == name) {
            let gone = self.cookies.remove(at);
            self.bytes -= written_bytes(&gone.name, &gone.value);
        }
    }

    /// Whether it holds no cookie.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Whether a cookie was ever left out for want of room: what this visitor is given is
    /// then not what a browser would be given.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Name and value of each cookie, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.cookies.iter().map(|held| (&*held.name, &*held.value))
    }

    /// Whether a cookie of this name is held.
    #[must_use]
    pub fn contains_name(&self, name: &[u8]) -> bool {
        self.iter().any(|(held, _)| held == name)
    }

    /// Appends the cookies as the value of a `Cookie` field.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.bytes);
        for (at, (name, value)) in self.iter().enumerate() {
            let separator: &[u8] = if at == 0 { b"" } else { b"; " };
            for piece in [separator, name, b"=", value] {
                out.extend_from_slice(piece);
            }
        }
    }
}

/// What a cookie takes in a `Cookie` field: `name=value; `.
fn written_bytes(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + 3
}

#[cfg(test)]
#[path = "cookie_tests.rs"]
mod tests;

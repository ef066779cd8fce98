//! Variables: what of a request a page may speak of.
//!
//! `$(NAME)`, `$(NAME{key})`, either with `|default` or `|'default'`. Known are `HTTP_HOST`,
//! `HTTP_REFERER`, `QUERY_STRING{key}`, `HTTP_COOKIE{name}`, `HTTP_ACCEPT_LANGUAGE{tag}`,
//! `HTTP_USER_AGENT{browser|os|version}` and `HTTP_X_…`, a field of that name.
//! Invariant: neither credentials nor all cookies at once can be shown, nor a cookie that is as
//! long as those that sessions are known by: a page that repeats what a visitor sent would else
//! hand scripts what browsers keep from them (`HttpOnly`).

use std::borrow::Cow;

use wire::fields::{split_list, trim};
use wire::{Name, RequestHead};

/// A longer variable is text.
const VARIABLE_BYTES_MAX: usize = 512;

/// PHP's shortest session ids have two more.
const COOKIE_SHOWN_BYTES_MAX: usize = 20;

/// A value shown longer than this is cut: what a request brings can't make pages large.
const SHOWN_BYTES_MAX: usize = 2 << 10;

/// A variable as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable<'a> {
    name: &'a str,
    key: Option<&'a str>,
    default: Option<&'a str>,
}

/// Where a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a page: what is markup is escaped.
    Page,
    /// In an address: what stands for itself only is percent-encoded.
    Address,
}

impl<'a> Variable<'a> {
    /// The variable that a text begins with, and its length.
    pub(super) fn read(text: &'a [u8]) -> Option<(Self, usize)> {
        let text = &text[..text.len().min(VARIABLE_BYTES_MAX)];
        let inner = text.strip_prefix(b"$(")?;
        let name_end =
            inner.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')?;
        let (name, mut rest) = inner.split_at(name_end);
        let mut variable = Variable { name: as_text(name)?, key: None, default: None };
        if let Some(behind) = rest.strip_prefix(b"{") {
            let end = memchr::memchr(b'}', behind)?;
            variable.key = Some(as_text(&behind[..end])?.trim_matches(['\'', '"']));
            rest = &behind[end + 1..];
        }
        if let Some(behind) = rest.strip_prefix(b"|") {
            let (default, behind) = match behind.strip_prefix(b"'") {
                Some(quoted) => {
                    let end = memchr::memchr(b'\'', quoted)?;
                    (&quoted[..end], &quoted[end + 1..])
                }
                None => behind.split_at(memchr::memchr(b')', behind)?),
            };
            variable.default = Some(as_text(default)?);
            rest = behind;
        }
        let rest = rest.strip_prefix(b")")?;
        (!variable.name.is_empty()).then_some((variable, text.len() - rest.len()))
    }

    /// What it stands for; empty: nothing.
    pub(super) fn value(&self, request: &'a RequestHead) -> Cow<'a, [u8]> {
        match self.found(request) {
            Some(value) if !value.is_empty() => value,
            _ => self.default.unwrap_or_default().as_bytes().into(),
        }
    }

    /// Appends the value as it may be shown there.
    pub(super) fn show(&self, request: &'a RequestHead, place: Place, out: &mut Vec<u8>) {
        let is_cookie = self.name.eq_ignore_ascii_case("HTTP_COOKIE");
        let mut value = self.value(request);
        if is_cookie && place == Place::Page && value.len() > COOKIE_SHOWN_BYTES_MAX {
            value = self.default.unwrap_or_default().as_bytes().into();
        }
        for &byte in &value[..value.len().min(SHOWN_BYTES_MAX)] {
            match place {
                Place::Page => push_escaped(out, byte),
                Place::Address => push_encoded(out, byte),
            }
        }
    }

    fn found(&self, request: &'a RequestHead) -> Option<Cow<'a, [u8]>> {
        let fields = &request.fields;
        let name = self.name.to_ascii_uppercase();
        match (name.as_str(), self.key) {
            ("HTTP_HOST", None) => Some(request.host.as_bytes().into()),
            ("HTTP_REFERER", None) => fields.first(Name::Referer).map(Cow::Borrowed),
            ("HTTP_USER_AGENT", None) => fields.first(Name::UserAgent).map(Cow::Borrowed),
            ("HTTP_USER_AGENT", Some(key)) => {
                let agent = fields.first(Name::UserAgent).unwrap_or_default();
                of_browser(&String::from_utf8_lossy(agent), key).map(|it| it.into_bytes().into())
            }
            ("HTTP_ACCEPT_LANGUAGE", None) => fields.first(Name::AcceptLanguage).map(Cow::Borrowed),
            ("HTTP_ACCEPT_LANGUAGE", Some(key)) => {
                let mut taken = fields.all(Name::AcceptLanguage).flat_map(split_list);
                let is_taken = taken.any(|language| {
                    let tag = language.split(|&byte| byte == b';').next().unwrap_or_default();
                    trim(tag).eq_ignore_ascii_case(key.as_bytes())
                });
                is_taken.then(|| b"true"[..].into())
            }
            ("HTTP_COOKIE", Some(key)) => cookie(request, key).map(Cow::Borrowed),
            ("QUERY_STRING", None) => request.query().map(|query| query.as_bytes().into()),
            ("QUERY_STRING", Some(key)) => parameter(request.query()?, key),
            (name, None) => {
                let name = name.strip_prefix("HTTP_X_")?;
                let name = format!("x-{}", name.replace('_', "-"));
                let (_, value) =
                    fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes()))?;
                Some(value.into())
            }
            _ => None,
        }
    }
}

fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn cookie<'a>(request: &'a RequestHead, name: &str) -> Option<&'a [u8]> {
    let pairs = request.fields.all(Name::Cookie).flat_map(|line| line.split(|&byte| byte == b';'));
    pairs
        .filter_map(|pair| {
            let at = memchr::memchr(b'=', pair)?;
            Some((trim(&pair[..at]), trim(&pair[at + 1..])))
        })
        .find(|(own, _)| *own == name.as_bytes())
        .map(|(_, value)| value)
}

/// A query parameter, decoded.
fn parameter<'a>(query: &'a str, key: &str) -> Option<Cow<'a, [u8]>> {
    let value = query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (*decoded(name) == *key.as_bytes()).then_some(value)
    })?;
    Some(decoded(value))
}

fn decoded(text: &str) -> Cow<'_, [u8]> {
    if !text.contains(['%', '+']) {
        return text.as_bytes().into();
    }
    let digit = |byte: Option<&u8>| byte.and_then(|&byte| (byte as char).to_digit(16));
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(&byte) = bytes.get(at) {
        let pair = digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2)));
        match (byte, pair) {
            (b'%', Some((high, low))) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    out.into()
}

/// The specification's words for browsers: of 2001, but templates test for them.
fn of_browser(agent: &str, key: &str) -> Option<String> {
    let has = |word: &str| agent.contains(word);
    let told = match key.to_ascii_lowercase().as_str() {
        "browser" if has("MSIE") || has("Trident/") => "MSIE",
        "browser" if agent.starts_with("Mozilla") => "MOZILLA",
        "os" if has("Windows") => "WIN",
        "os" if has("Mac OS") || has("Macintosh") => "MAC",
        "os" if has("Linux") || has("X11") => "UNIX",
        "browser" | "os" => "OTHER",
        "version" => {
            let behind = agent.split_once("MSIE ").or_else(|| agent.split_once('/'))?.1;
            let end = behind.find(|c: char| !c.is_ascii_digit() && c != '.');
            &behind[..end.unwrap_or(behind.len())]
        }
        _ => return None,
    };
    Some(told.to_owned())
}

fn push_escaped(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'<' => out.extend_from_slice(b"&lt;"),
        b'>' => out.extend_from_slice(b"&gt;"),
        b'&' => out.extend_from_slice(b"&amp;"),
        b'"' => out.extend_from_slice(b"&quot;"),
        b'\'' => out.extend_from_slice(b"&#39;"),
        byte => out.push(byte),
    }
}

fn push_encoded(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    match byte {
        b'-' | b'.' | b'_' | b'~' => out.push(byte),
        byte if byte.is_ascii_alphanumeric() => out.push(byte),
        byte => {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]])
        }
    }
}

/// Appends a text with its variables replaced.
pub(super) fn expand(text: &[u8], request: &RequestHead, place: Place, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'$', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let bytes = match Variable::read(rest) {
            Some((variable, bytes)) => {
                variable.show(request, place, out);
                bytes
            }
            None => {
                out.push(b'$');
                1
            }
        };
        rest = &rest[bytes..];
    }
    out.extend_from_slice(rest);
}

/// Whether a text has a variable in it.
pub(super) fn has_variable(text: &[u8]) -> bool {
    memchr::memchr_iter(b'$', text).any(|at| Variable::read(&text[at..]).is_some())
}

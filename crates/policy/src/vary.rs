//! `Vary`: which of several stored responses a request selects.
//!
//! In: a response's `Vary` and the request it answered. Out: a [`VaryKey`], compact
//! enough to lie beside the page, that says of another request whether it selects it.
//! Law: RFC 9111 §4.1; RFC 9110 §12.5.5.
//! Invariants: 1. what [`VaryKey::of`] was made of, it matches. 2. values are changed
//! only where the law calls the result the same: white space and weights in
//! `Accept-Encoding` (see [`crate::coding`]), white space in `Accept` and
//! `Accept-Language`, lines joined in any other.
//! 3. a field that the origin sees otherwise than the client sent it never selects.

use wire::fields::is_token;
use wire::{Fields, Name};

use crate::coding::CodingSet;
use crate::lscache::VARY_COOKIE_FIELD;
use crate::strangers::pairs;

/// The field names of a `Vary` with one request's values for them.
///
/// One allocation: for each name, in order of the alphabet, the name's length (2
/// bytes), the value's (4 bytes, [`ABSENT`] for none), the name, the value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VaryKey(Box<[u8]>);

/// What stands before the name of one cookie by which a response differs; no field's name has
/// a `=`.
const COOKIE: &[u8] = b"cookie=";

/// The length of a value that is not there, as opposed to one that is empty.
const ABSENT: u32 = u32::MAX;

/// Whether nothing but the origin can say who is to have this response: `*` anywhere,
/// something that is no field name, or a field that we set and the client doesn't see.
#[must_use]
pub fn vary_is_star(response: &Fields) -> bool {
    response.has(Name::Vary) && response.members(Name::Vary).any(is_star)
}

fn is_star(name: &[u8]) -> bool {
    let ours = |name: &[u8]| name.eq_ignore_ascii_case(b"x-real-ip");
    name == b"*"
        || !name.iter().all(|&b| is_token(b))
        || matches!(Name::of(name), Some(Name::XForwardedFor | Name::Forwarded | Name::Via))
        || ours(name)
}

/// Names that are in the primary key already.
fn is_in_the_key(name: &[u8]) -> bool {
    matches!(Name::of(name), Some(Name::Host | Name::XForwardedHost | Name::XForwardedProto))
        || name.eq_ignore_ascii_case(b"x-forwarded-port")
}

impl VaryKey {
    /// The selection that a request made among a response's variants; none if the
    /// response is the same for everybody. A key made of `Vary: *` matches nothing.
    #[must_use]
    pub fn of(response: &Fields, request: &Fields) -> Option<Self> {
        Self::of_all_but(response, request, None)
    }

    /// The same for a response whose coding Wick chooses, having asked for none: then
    /// `Accept-Encoding` says how it is sent, and not which it is. One that came in a coding
    /// all the same was chosen by the origin.
    #[must_use]
    pub fn of_uncoded(response: &Fields, request: &Fields) -> Option<Self> {
        let ours = (!response.has(Name::ContentEncoding)).then_some(Name::AcceptEncoding);
        Self::of_all_but(response, request, ours)
    }

    fn of_all_but(response: &Fields, request: &Fields, left_out: Option<Name>) -> Option<Self> {
        let mut names: Vec<Vec<u8>> = response
            .members(Name::Vary)
            .filter(|name| !is_in_the_key(name))
            .filter(|name| left_out.is_none() || Name::of(name) != left_out)
            .map(<[u8]>::to_ascii_lowercase)
            .collect();
        // Asked before the cookies are among them: a Vary that says `cookie=…` names no field.
        let is_star = names.iter().any(|name| is_star(name));
        // Only `lscache::translate` says that.
        let cookies =
            response.all_named(VARY_COOKIE_FIELD).flat_map(|line| line.split(|&b| b == b','));
        names.extend(cookies.map(|cookie| [COOKIE, cookie].concat()));
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return None;
        }
        if is_star {
            names = vec![b"*".to_vec()];
        }
        let mut text = Vec::new();
        for name in &names {
            push_entry(&mut text, name, request);
        }
        Some(Self(text.into_boxed_slice()))
    }

    /// Whether a request with these fields selects the same variant. Allocates nothing,
    /// unless the request names a coding that hardly anybody has heard of.
    #[must_use]
    pub fn matches(&self, request: &Fields) -> bool {
        self.entries().all(|(name, value)| name != b"*" && selects(name, value, request))
    }

    /// Whether what it was chosen by says nothing of who asked that this request doesn't: it
    /// selects the same variant, or one that was made for somebody who bears no cookie.
    #[must_use]
    pub fn may_teach(&self, request: &Fields) -> bool {
        self.entries().all(|(name, value)| match Name::of(name) {
            Some(Name::Cookie | Name::Authorization) if value.is_none() => true,
            _ if name.starts_with(COOKIE) && value.is_none() => true,
            _ => name != b"*" && selects(name, value, request),
        })
    }

    /// Whether single cookies select: what a 304 says of `Vary` doesn't tell that.
    #[must_use]
    pub fn has_cookies(&self) -> bool {
        self.entries().any(|(name, _)| name.starts_with(COOKIE))
    }

    /// Whether the same field names select.
    #[must_use]
    pub fn same_names_as(&self, other: &Self) -> bool {
        self.entries().map(|(name, _)| name).eq(other.entries().map(|(name, _)| name))
    }

    /// Appends what a request's values for these names come to: equal for two requests
    /// exactly if they select the same variant.
    pub fn write_selection(&self, request: &Fields, out: &mut Vec<u8>) {
        for (name, _) in self.entries() {
            push_entry(out, name, request);
        }
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The key as bytes, for [`VaryKey::from_bytes`].
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A key from what [`VaryKey::as_bytes`] gave; none of anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let key = Self(bytes.into());
        let held =
            |(name, value): (&[u8], Option<&[u8]>)| 6 + name.len() + value.map_or(0, <[u8]>::len);
        let is_whole = key.entries().map(held).sum::<usize>() == bytes.len();
        (is_whole && !bytes.is_empty()).then_some(key)
    }

    fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (name_length, after) = rest.split_first_chunk::<2>()?;
            let (value_length, after) = after.split_first_chunk::<4>()?;
            let value_length = u32::from_le_bytes(*value_length);
            let (name, after) = after.split_at_checked(u16::from_le_bytes(*name_length).into())?;
            let present = value_length != ABSENT;
            let held = if present { value_length as usize } else { 0 };
            let (value, after) = after.split_at_checked(held)?;
            rest = after;
            Some((name, present.then_some(value)))
        })
    }
}

impl std::fmt::Debug for VaryKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.entries().map(|(name, value)| {
            (String::from_utf8_lossy(name), value.map(String::from_utf8_lossy))
        });
        f.debug_map().entries(entries).finish()
    }
}

fn push_entry(out: &mut Vec<u8>, name: &[u8], request: &Fields) {
    // A field name is at most 1024 bytes; a longer one can't be in any request.
    out.extend_from_slice(&(name.len().min(u16::MAX.into()) as u16).to_le_bytes());
    let length_at = out.len();
    out.extend_from_slice(&ABSENT.to_le_bytes());
    out.extend_from_slice(&name[..name.len().min(u16::MAX.into())]);
    let start = out.len();
    let present = match Name::of(name) {
        _ if name.starts_with(COOKIE) => {
            let mut values = cookie_values(name, request).peekable();
            let present = values.peek().is_some();
            out.extend(joined(values));
            present
        }
        Some(Name::AcceptEncoding) => {
            CodingSet::of(request).write(out);
            true
        }
        Some(known) => {
            out.extend(normal(known, request));
            request.has(known)
        }
        None => {
            let Some(name) = std::str::from_utf8(name).ok() else { return };
            let mut lines = request.all_named(name).peekable();
            let present = lines.peek().is_some();
            out.extend(joined(lines));
            present
        }
    };
    if present {
        let length = (out.len() - start) as u32;
        out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    }
}

fn selects(name: &[u8], value: Option<&[u8]>, request: &Fields) -> bool {
    match (Name::of(name), value) {
        _ if name.starts_with(COOKIE) => {
            let mut values = cookie_values(name, request).peekable();
            match value {
                None => values.peek().is_none(),
                Some(value) => values.peek().is_some() && joined(values).eq(value.iter().copied()),
            }
        }
        (Some(Name::AcceptEncoding), Some(value)) => CodingSet::of(request).is_written_as(value),
        (Some(known), None) => !request.has(known),
        (Some(known), Some(value)) => {
            request.has(known) && normal(known, request).eq(value.iter().copied())
        }
        (None, value) => {
            let Some(name) = std::str::from_utf8(name).ok() else { return false };
            let mut lines = request.all_named(name).peekable();
            match value {
                None => lines.peek().is_none(),
                Some(value) => lines.peek().is_some() && joined(lines).eq(value.iter().copied()),
            }
        }
    }
}

/// The values that a request bears for the one cookie that an entry names.
fn cookie_values<'a>(entry: &'a [u8], request: &'a Fields) -> impl Iterator<Item = &'a [u8]> {
    let wanted = entry.get(COOKIE.len()..).unwrap_or_default();
    pairs(request).filter(move |(name, _)| *name == wanted).map(|(_, value)| value)
}

/// A known field's value as it is compared, byte by byte.
fn normal(known: Name, request: &Fields) -> impl Iterator<Item = u8> {
    // Neither field has white space that means anything, apart from quoted strings in
    // parameters of media ranges, which nobody sends and which only get more alike.
    let spaceless = matches!(known, Name::Accept | Name::AcceptLanguage);
    let caseless = known == Name::AcceptLanguage;
    joined(request.all(known))
        .filter(move |byte| !(spaceless && matches!(byte, b' ' | b'\t')))
        .map(move |byte| if caseless { byte.to_ascii_lowercase() } else { byte })
}

/// Lines of one field as one (RFC 9110 §5.3).
fn joined<'a>(lines: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = u8> {
    lines.enumerate().flat_map(|(at, line)| {
        let separator: &[u8] = if at == 0 { b"" } else { b", " };
        separator.iter().chain(line).copied()
    })
}

#[cfg(test)]
#[path = "vary_tests.rs"]
mod tests;

//! Purges that an app sends along with an answer of its own.
//!
//! `X-LiteSpeed-Purge` counts in every answer; `Cache-Group-Invalidation` only in those to
//! requests that may change something (RFC 9875 §3).

use wire::{RequestHead, ResponseHead};

use super::tags::split_text;
use super::{Mode, Purge, Scope, What};

/// Purges of one answer that are heeded; behind them everything is purged instead.
const PURGES_MAX: usize = 1024;

/// What an answer says shall not be used any more.
#[must_use]
pub fn heed(request: &RequestHead, answer: &ResponseHead) -> Vec<Purge> {
    let mut purges = Vec::new();
    for (known, name, value) in answer.fields.iter_known() {
        if known.is_some() || !matches!(name.first(), Some(b'x' | b'X' | b'c' | b'C')) {
            continue;
        }
        let is = |field: &str| name.eq_ignore_ascii_case(field.as_bytes());
        if is("x-litespeed-purge") || is("x-litespeed-purge2") {
            String::from_utf8_lossy(value).split(';').for_each(|part| litespeed(part, &mut purges));
        } else if is("cache-group-invalidation") && !request.method.is_safe() {
            let groups = split_text(value);
            if !groups.is_empty() && answer.status < 400 {
                purges.push(Purge::tags(groups, Mode::Hard));
            }
        }
    }
    if purges.len() > PURGES_MAX {
        return vec![Purge::hard(Scope::Request, What::Everything)];
    }
    purges
}

/// `public,stale,t1,tag=t2,/uri`: nothing private is ever stored, so that part says nothing.
fn litespeed(part: &str, purges: &mut Vec<Purge>) {
    let (mut mode, mut tags) = (Mode::Hard, Vec::new());
    let start = purges.len();
    let mut is_everything = false;
    for (at, word) in part.split(',').map(str::trim).filter(|word| !word.is_empty()).enumerate() {
        match word {
            "private" if at == 0 => return,
            "public" if at == 0 => {}
            "stale" => mode = Mode::Soft,
            "*" => is_everything = true,
            uri if uri.starts_with('/') => {
                let what = match uri.strip_suffix('*') {
                    Some(beginning) => What::Prefix(beginning.to_owned()),
                    None => What::Url(uri.to_owned()),
                };
                purges.push(Purge::hard(Scope::Request, what));
            }
            tag => {
                let tag = tag.strip_prefix("tag=").unwrap_or(tag);
                tags.extend(split_text(tag.as_bytes()));
            }
        }
    }
    if is_everything {
        purges.truncate(start);
        purges.push(Purge::hard(Scope::Request, What::Everything));
    } else if !tags.is_empty() {
        purges.push(Purge::tags(tags, mode));
    }
    purges[start..].iter_mut().for_each(|purge| purge.mode = mode);
}

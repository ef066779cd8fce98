//! Purges by path: what looks like any other request, and is one for a cache.
//!
//! `GET /purge/<path>` is nginx-helper's, `POST …/purge_cache` Cloudflare's, and
//! `POST /service/<id>/purge` Fastly's. An app may have such addresses of its own, so these
//! count only from who may purge, and a browser's GET never does: any page in the world can
//! make a browser send one.

use serde_json::Value;
use wire::{Name, RequestHead};

use super::by_method::beginning;
use super::tags::split_text;
use super::{Mode, Purge, Scope, Unreadable, What, split_address};

const GET_START: &str = "/purge/";

/// What a POST is for.
enum Post<'a> {
    Cloudflare,
    /// With a key in the path, if there is one.
    Fastly(Option<&'a str>),
    FastlyAll,
}

pub(super) fn is_get(head: &RequestHead) -> bool {
    head.target.starts_with(GET_START)
        && ![Name::Cookie, Name::SecFetchMode, Name::Referer].iter().any(|&n| head.fields.has(n))
}

/// Also with `/purge/blog/*`.
pub(super) fn of_get(head: &RequestHead) -> Purge {
    let target = &head.target[GET_START.len() - 1..];
    let what = match beginning(target) {
        Some("/") => What::Everything,
        Some(start) => What::Prefix(start.to_owned()),
        None => What::Url(target.to_owned()),
    };
    Purge::hard(Scope::Request, what)
}

pub(super) fn is_post(head: &RequestHead) -> bool {
    post(head.path()).is_some()
}

fn post(path: &str) -> Option<Post<'_>> {
    let cloudflare = path.strip_prefix("/client/v4").unwrap_or(path).strip_prefix("/zones/");
    if let Some(rest) = cloudflare {
        let (_zone, rest) = rest.split_once('/')?;
        return (rest == "purge_cache").then_some(Post::Cloudflare);
    }
    let (_service, rest) = path.strip_prefix("/service/")?.split_once('/')?;
    match rest {
        "purge" => Some(Post::Fastly(None)),
        "purge_all" => Some(Post::FastlyAll),
        rest => match rest.strip_prefix("purge/") {
            Some(key) if !key.is_empty() && !key.contains('/') => Some(Post::Fastly(Some(key))),
            _ => None,
        },
    }
}

pub(super) fn of_post(head: &RequestHead, body: &[u8]) -> Result<Vec<Purge>, Unreadable> {
    match post(head.path()) {
        Some(Post::Cloudflare) => cloudflare(body),
        Some(Post::FastlyAll) => Ok(vec![Purge::hard(Scope::Site, What::Everything)]),
        Some(Post::Fastly(key)) => fastly(head, key, body),
        None => Err(Unreadable::Nothing("Surrogate-Key")),
    }
}

fn fastly(head: &RequestHead, key: Option<&str>, body: &[u8]) -> Result<Vec<Purge>, Unreadable> {
    let is_soft = head.fields.all_named("fastly-soft-purge").any(|value| value == b"1");
    let mode = if is_soft { Mode::Soft } else { Mode::Hard };
    let mut tags: Vec<String> = key.map(|key| key.to_owned()).into_iter().collect();
    head.fields.all_named("surrogate-key").for_each(|value| tags.extend(split_text(value)));
    if tags.is_empty() {
        tags = texts(&parse(body)?, "surrogate_keys")?
            .iter()
            .flat_map(|text| split_text(text.as_bytes()))
            .collect();
    }
    match tags.is_empty() {
        true => Err(Unreadable::Nothing("Surrogate-Key")),
        false => Ok(vec![Purge::tags(tags, mode)]),
    }
}

fn cloudflare(body: &[u8]) -> Result<Vec<Purge>, Unreadable> {
    let asked = parse(body)?;
    if asked.get("purge_everything").and_then(Value::as_bool) == Some(true) {
        return Ok(vec![Purge::hard(Scope::Site, What::Everything)]);
    }
    let mut purges = Vec::new();
    for file in asked.get("files").and_then(Value::as_array).into_iter().flatten() {
        // With fields that choose a variant, all variants go.
        let address = file.as_str().or_else(|| file.get("url").and_then(Value::as_str));
        let shown = || Unreadable::Address(file.to_string().chars().take(200).collect());
        let (host, target) = split_address(address.ok_or_else(shown)?)?;
        purges.push(Purge::hard(Scope::Host(host), What::Url(target)));
    }
    for prefix in texts(&asked, "prefixes")? {
        let (host, target) = split_address(&format!("http://{prefix}"))?;
        purges.push(Purge::hard(Scope::Host(host), What::Prefix(target)));
    }
    for host in texts(&asked, "hosts")? {
        let (host, _) = split_address(&format!("http://{host}"))?;
        purges.push(Purge::hard(Scope::Host(host), What::Everything));
    }
    let tags = texts(&asked, "tags")?;
    let tags: Vec<String> = tags.iter().flat_map(|tag| split_text(tag.as_bytes())).collect();
    if !tags.is_empty() {
        purges.push(Purge::tags(tags, Mode::Hard));
    }
    match purges.is_empty() {
        true => Err(Unreadable::Body("it names nothing to purge".to_owned())),
        false => Ok(purges),
    }
}

fn parse(body: &[u8]) -> Result<Value, Unreadable> {
    serde_json::from_slice(body).map_err(|error| Unreadable::Body(error.to_string()))
}

/// The texts of a list; none if there is no such list.
fn texts(asked: &Value, name: &'static str) -> Result<Vec<String>, Unreadable> {
    let wrong = || Unreadable::Body(format!("\"{name}\" is no list of texts"));
    match asked.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(all)) => {
            all.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

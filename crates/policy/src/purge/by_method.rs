//! Purges by method: PURGE, BAN and their kin, with fields that say what.

use http::Method;
use wire::RequestHead;

use super::pattern::{self, TagsMeant, Targets};
use super::tags::{TYPO3_PAGE, TYPO3_SITE, split_text};
use super::{Mode, Purge, Scope, Unreadable, What};

/// Methods that are for caches alone.
const METHODS: [&str; 6] = ["PURGE", "BAN", "URIBAN", "PURGEKEYS", "PURGEKEY", "PURGETAGS"];

/// Fields of requests that name tags.
const TAG_FIELDS: [&str; 11] = [
    "xkey-purge",
    "xkey-softpurge",
    "xkey",
    "surrogate-key",
    "cache-tag",
    "cache-tags",
    "purge-cache-tags",
    "x-cache-tags",
    "edge-cache-tag",
    "cache-groups",
    "x-magento-tags-pattern",
];

pub(super) fn is_purge(method: &Method) -> bool {
    METHODS.contains(&method.as_str())
}

/// What the request's fields say, and where they say nothing, its target.
pub(super) fn read(head: &RequestHead) -> Result<Vec<Purge>, Unreadable> {
    let mode = soft_if(is_on(head, "fastly-soft-purge"));
    if let Some(purge) = by_tags(head, mode)? {
        return Ok(vec![purge]);
    }
    if let Some(purge) = of_typo3(head)? {
        return Ok(vec![purge]);
    }
    // The store of Symfony's own cache.
    if is_on(head, "clear-cache") {
        return Ok(vec![Purge { scope: Scope::Request, what: What::Everything, mode }]);
    }
    if let Some(purges) = of_souin(head, mode)? {
        return Ok(purges);
    }
    match head.method.as_str() {
        "PURGEKEYS" | "PURGEKEY" | "PURGETAGS" => Err(Unreadable::Nothing("xkey-purge")),
        "BAN" => ban(head, mode),
        "URIBAN" => Ok(vec![Purge { scope: Scope::Request, what: url(head), mode }]),
        _ => purge(head, mode),
    }
}

fn soft_if(is_soft: bool) -> Mode {
    if is_soft { Mode::Soft } else { Mode::Hard }
}

fn field<'a>(head: &'a RequestHead, name: &'a str) -> Option<&'a str> {
    head.fields.all_named(name).next().and_then(|value| std::str::from_utf8(value).ok())
}

fn is_on(head: &RequestHead, name: &str) -> bool {
    field(head, name).is_some_and(|value| matches!(value, "1" | "true"))
}

fn url(head: &RequestHead) -> What {
    What::Url(head.target.clone())
}

/// Tags that a field of the request names, whatever the method.
fn by_tags(head: &RequestHead, mode: Mode) -> Result<Option<Purge>, Unreadable> {
    for name in TAG_FIELDS {
        let mut values = head.fields.all_named(name).peekable();
        if values.peek().is_none() {
            continue;
        }
        let mode = if name == "xkey-softpurge" { Mode::Soft } else { mode };
        let mut tags = Vec::new();
        for value in values {
            match std::str::from_utf8(value) {
                Ok("*") => return Ok(Some(widened(mode))),
                Ok(text) if pattern::is_expression(text) => match pattern::of_tags(text) {
                    TagsMeant::Exactly(mut exactly) => tags.append(&mut exactly),
                    TagsMeant::Anything => return Ok(Some(widened(mode))),
                },
                _ => tags.append(&mut split_text(value)),
            }
        }
        return match tags.is_empty() {
            true => Err(Unreadable::Nothing(name)),
            false => Ok(Some(Purge::tags(tags, mode))),
        };
    }
    Ok(None)
}

/// Of pages only hashes of their tags are kept: what is no list of tags may be any of them.
fn widened(mode: Mode) -> Purge {
    Purge { scope: Scope::Site, what: What::Everything, mode }
}

fn of_typo3(head: &RequestHead) -> Result<Option<Purge>, Unreadable> {
    let named = |start: &str, text: &str| {
        let tags = split_text(text.as_bytes()).into_iter().map(|tag| format!("{start}{tag}"));
        let tags: Vec<String> = tags.collect();
        match tags.is_empty() {
            true => Err(Unreadable::Nothing("Varnish-Ban-TYPO3-Pid")),
            false => Ok(Some(Purge::tags(tags, Mode::Hard))),
        }
    };
    if let Some(page) = field(head, "varnish-ban-typo3-pid") {
        return named(TYPO3_PAGE, page);
    }
    if !is_on(head, "varnish-ban-all") {
        return Ok(None);
    }
    match field(head, "varnish-ban-typo3-sitename") {
        Some(site) if !site.is_empty() => named(TYPO3_SITE, site),
        _ => Ok(Some(Purge::hard(Scope::Site, What::Everything))),
    }
}

/// `<api>/souin/` with what follows; tags have been looked for already.
fn of_souin(head: &RequestHead, mode: Mode) -> Result<Option<Vec<Purge>>, Unreadable> {
    let rest = head.path().strip_prefix("/souin-api/souin");
    let is_its_own = |rest: &&str| rest.is_empty() || rest.starts_with('/');
    let Some(rest) = rest.filter(is_its_own).filter(|_| head.method.as_str() == "PURGE") else {
        return Ok(None);
    };
    match rest.trim_matches('/') {
        "" => Err(Unreadable::Nothing("Surrogate-Key")),
        "flush" => Ok(Some(vec![widened(mode)])),
        expression => by_pattern(expression, &[Scope::Site], mode).map(Some),
    }
}

fn purge(head: &RequestHead, mode: Mode) -> Result<Vec<Purge>, Unreadable> {
    if let Some(expression) = field(head, "x-ban-regex") {
        return by_pattern(expression, &[Scope::Request], mode);
    }
    if head.target == "/purgeall" {
        return Ok(vec![widened(mode)]);
    }
    let is_pattern = field(head, "x-purge-method").is_some_and(|m| m.eq_ignore_ascii_case("regex"));
    let one = |what| Ok(vec![Purge { scope: Scope::Request, what, mode }]);
    match beginning(&head.target) {
        Some("/" | "") => one(What::Everything),
        // In a target dots, question marks and pluses mean themselves.
        Some(start) if !pattern::is_expression(start) => one(What::Prefix(start.to_owned())),
        _ if is_pattern => by_pattern(&anchored(&head.target), &[Scope::Request], mode),
        _ => one(url(head)),
    }
}

/// What stands before a star at the end: `/blog/.*`, `/blog/*`.
pub(super) fn beginning(target: &str) -> Option<&str> {
    target
        .strip_suffix(".*")
        .or_else(|| target.strip_suffix('*').filter(|start| start.ends_with('/')))
}

/// A target as an expression is meant from its start.
fn anchored(expression: &str) -> String {
    match expression.starts_with('^') {
        true => expression.to_owned(),
        false => format!("^(?:{expression})"),
    }
}

/// `X-Url` and `X-Host` are expressions; `X-Content-Type` would only restrict them.
fn ban(head: &RequestHead, mode: Mode) -> Result<Vec<Purge>, Unreadable> {
    let (host, url) = (field(head, "x-host"), field(head, "x-url"));
    match (host, url) {
        // By the letter everything in which the target is found; it is meant from the start.
        (None, None) if head.target == "/" || head.target == "*" => {
            Ok(vec![Purge { scope: Scope::Request, what: What::Everything, mode }])
        }
        (None, None) => {
            let start = head.target.strip_suffix(".*").unwrap_or(&head.target);
            let what = match start {
                "/" => What::Everything,
                start => What::Prefix(start.to_owned()),
            };
            Ok(vec![Purge { scope: Scope::Request, what, mode }])
        }
        (host, url) => {
            let scopes = host.map_or(vec![Scope::Request], scopes);
            by_pattern(url.unwrap_or(".*"), &scopes, mode)
        }
    }
}

/// The hosts that an expression means; all of them if it isn't a list of names.
fn scopes(expression: &str) -> Vec<Scope> {
    match pattern::of_tags(expression) {
        TagsMeant::Exactly(hosts) => {
            hosts.into_iter().map(|host| Scope::Host(host.to_ascii_lowercase())).collect()
        }
        TagsMeant::Anything => vec![Scope::Site],
    }
}

fn by_pattern(expression: &str, scopes: &[Scope], mode: Mode) -> Result<Vec<Purge>, Unreadable> {
    let all = match pattern::of_targets(expression)? {
        Targets::Everything => vec![What::Everything],
        Targets::Pattern(pattern) => vec![What::Pattern(pattern)],
        Targets::Literal { whole, beginnings } => whole
            .into_iter()
            .map(What::Url)
            .chain(beginnings.into_iter().map(What::Prefix))
            .collect(),
    };
    let one = |what: &What, scope: &Scope| Purge { scope: scope.clone(), what: what.clone(), mode };
    Ok(scopes.iter().flat_map(|scope| all.iter().map(move |what| one(what, scope))).collect())
}

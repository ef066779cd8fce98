//! Purges: a method and a target, fields, and a body; then an address to hold them against.
//!
//! Whatever is understood is something that can be carried out, and what a pattern means is
//! purged, if not more.

use http::Method;
use policy::purge::{
    Asks, Purge, Scope, What, asks, heed, is_for_caches, read, split_address, tags_of,
};
use wire::{Fields, RequestHead, ResponseHead};

use crate::sections::{fields, sections};

const HOST: &str = "a.test";

pub(crate) fn run(input: &[u8]) {
    let [line, lines, body, subject] = sections(input);
    let fields = fields(lines);
    of_answer(&fields);
    let subject = std::str::from_utf8(subject).unwrap_or_default();
    let _ = split_address(subject).map(|(host, target)| {
        assert!(!host.is_empty() && target.starts_with('/') && !target.contains(' '));
    });
    let Some(head) = head(line, &fields) else { return };
    if asks(&head) == Asks::Nothing {
        return;
    }
    let Ok(purges) = read(&head, body) else { return };
    assert!(!purges.is_empty() && purges.len() <= 20_000);
    purges.iter().for_each(check);
    let of_tags = purges.iter().any(|purge| matches!(purge.what, What::Tags(_)));
    if head.method.as_str() == "BAN" && !of_tags {
        never_less(&head, &purges, subject);
    }
}

fn head(line: &[u8], fields: &Fields) -> Option<RequestHead> {
    let (method, target) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let is_target = target.starts_with('/') && target.bytes().all(|b| b > b' ' && b != 0x7f);
    is_target.then_some(())?;
    Some(RequestHead {
        method: Method::from_bytes(method.as_bytes()).ok()?,
        target: target.to_owned(),
        host: HOST.to_owned(),
        fields: fields.clone(),
        ..RequestHead::default()
    })
}

fn check(purge: &Purge) {
    assert!(!purge.to_string().is_empty());
    if let Scope::Host(host) = &purge.scope {
        assert!(!host.is_empty() && !host.contains([',', ' ']), "{host:?}");
    }
    if let What::Tags(tags) = &purge.what {
        assert!(!tags.is_empty());
        for tag in tags {
            assert!(!tag.is_empty() && !tag.contains([',', ' ']), "{tag:?}");
        }
    }
}

/// What the engine finds the expression in is purged.
fn never_less(head: &RequestHead, purges: &[Purge], subject: &str) {
    let url = head.fields.all_named("x-url").next();
    let Some(expression) = url.and_then(|url| std::str::from_utf8(url).ok()) else { return };
    let engine = regex::bytes::RegexBuilder::new(expression)
        .unicode(false)
        .size_limit(1 << 20)
        .nest_limit(64)
        .build();
    let is_target = subject.starts_with('/') && subject.bytes().all(|b| b > b' ' && b != 0x7f);
    let Ok(engine) = engine else { return };
    if !is_target || !engine.is_match(subject.as_bytes()) {
        return;
    }
    let is_purged = purges.iter().any(|purge| match &purge.what {
        What::Url(target) => target == subject,
        What::Prefix(start) => subject.starts_with(start.as_str()),
        What::Pattern(pattern) => pattern.is_found_in(subject.as_bytes()),
        What::Everything => true,
        What::Tags(_) => false,
    });
    assert!(is_purged, "{expression:?} {subject:?} {purges:?}");
}

fn of_answer(fields: &Fields) {
    let answer = ResponseHead { status: 200, fields: fields.clone() };
    for method in [Method::GET, Method::POST] {
        let request = RequestHead { method, host: HOST.to_owned(), ..RequestHead::default() };
        heed(&request, &answer).iter().for_each(check);
    }
    tags_of(fields, |tag| assert!(!tag.is_empty() && !tag.contains(&b',')));
    // No field that Wick itself reads or that a browser needs is taken away.
    for (known, name, _) in fields.iter_known() {
        assert!(known.is_none() || !is_for_caches(name));
    }
}

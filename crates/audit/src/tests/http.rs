//! What an answer's fields say, and what a secure page loads.

use wire::Name;

use super::Notes;

pub(crate) fn run(notes: &mut Notes<'_>) {
    let page = notes.page();
    if page.tree.is_none() {
        return;
    }
    fields(notes);
    cookies(notes);
    if page.url.scheme() == "https" {
        insecure(notes);
    }
}

fn fields(notes: &mut Notes<'_>) {
    let page = notes.page();
    let fields = &page.answer.fields;
    let first = |name: &'static str| {
        let value = fields.all_named(name).next().unwrap_or_default();
        String::from_utf8_lossy(value).trim().to_ascii_lowercase()
    };
    if first("x-content-type-options") != "nosniff" {
        notes.note("header-nosniff", 0, "X-Content-Type-Options is not nosniff");
    }
    let mut policies = fields.all_named("content-security-policy");
    let names_frames =
        policies.any(|value| String::from_utf8_lossy(value).contains("frame-ancestors"));
    if !names_frames && first("x-frame-options").is_empty() {
        notes.note("header-framing", 0, "neither frame-ancestors nor X-Frame-Options is sent");
    }
    if page.url.scheme() == "https" && first("strict-transport-security").is_empty() {
        notes.note("header-hsts", 0, "no Strict-Transport-Security is sent by https");
    }
    let said = fields.text(Name::ContentType).unwrap_or("").to_ascii_lowercase();
    let has_mark = page.answer.body.starts_with(b"\xef\xbb\xbf");
    if !said.contains("charset=") && !has_mark && !says_charset(notes) {
        notes.note("header-charset", 0, "neither Content-Type nor a meta element names a charset");
    }
}

fn says_charset(notes: &Notes<'_>) -> bool {
    let mut elements = notes.page().tree.iter().flat_map(|tree| tree.elements());
    elements.any(|element| {
        element.name() == "meta"
            && (element.attribute("charset").is_some()
                || element
                    .attribute("content")
                    .is_some_and(|said| said.to_ascii_lowercase().contains("charset=")))
    })
}

fn cookies(notes: &mut Notes<'_>) {
    let page = notes.page();
    for line in page.answer.fields.all(Name::SetCookie) {
        let line = String::from_utf8_lossy(line);
        let (name, rest) = line.split_once('=').unwrap_or((&line, ""));
        let has = |flag: &str| {
            rest.split(';').skip(1).any(|part| {
                part.trim().split('=').next().is_some_and(|own| own.eq_ignore_ascii_case(flag))
            })
        };
        let mut lacks = Vec::new();
        if page.url.scheme() == "https" && !has("secure") {
            lacks.push("Secure");
        }
        if !has("samesite") {
            lacks.push("SameSite");
        }
        if !lacks.is_empty() {
            let message = format!("the cookie {} lacks {}", name.trim(), lacks.join(" and "));
            notes.note("cookie-flags", 0, message);
        }
    }
}

fn insecure(notes: &mut Notes<'_>) {
    let page = notes.page();
    let base = page.base();
    for link in page.links() {
        if link.kind == crate::page::LinkKind::Part && link.to.scheme() == "http" {
            notes.note("mixed-content", link.line, format!("{} is loaded", link.to));
        }
    }
    for element in page.tree.iter().flat_map(|tree| tree.elements()) {
        let written = match element.name() {
            "form" => element.said("action"),
            "button" | "input" => element.said("formaction"),
            _ => None,
        };
        let to = written.and_then(|address| base.join(address).ok());
        if let Some(to) = to.filter(|to| to.scheme() == "http") {
            notes.note("form-insecure", element.line(), format!("it is sent to {to}"));
        }
    }
}

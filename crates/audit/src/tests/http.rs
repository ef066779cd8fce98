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
    policies_of_scripts(notes);
    referrer(notes);
    if page.url.scheme() == "https" && first("strict-transport-security").is_empty() {
        notes.note("header-hsts", 0, "no Strict-Transport-Security is sent by https");
    }
    let said = fields.text(Name::ContentType).unwrap_or("").to_ascii_lowercase();
    let has_mark = page.answer.body.starts_with(b"\xef\xbb\xbf");
    if !said.contains("charset=") && !has_mark && !says_charset(notes) {
        notes.note("header-charset", 0, "neither Content-Type nor a meta element names a charset");
    }
}

/// What a `meta` element says in the place of a field.
fn said_by_meta<'a>(
    notes: &Notes<'a>,
    attribute: &'static str,
    name: &'static str,
) -> impl Iterator<Item = &'a str> {
    let elements = notes.page().tree.iter().flat_map(|tree| tree.elements());
    elements.filter_map(move |element| {
        let is_it = element.name() == "meta"
            && element.said(attribute).is_some_and(|it| it.eq_ignore_ascii_case(name));
        element.said("content").filter(|_| is_it)
    })
}

/// Whether a policy says which scripts may run, and whether that is any.
fn policies_of_scripts(notes: &mut Notes<'_>) {
    let sent = notes.page().answer.fields.all_named("content-security-policy");
    let sent = sent.map(|value| String::from_utf8_lossy(value).to_ascii_lowercase());
    let written = said_by_meta(notes, "http-equiv", "content-security-policy");
    let policies: Vec<String> = sent.chain(written.map(str::to_ascii_lowercase)).collect();
    // A field may have several policies; a script has to pass all of them.
    let scripts: Vec<&str> =
        policies.iter().flat_map(|line| line.split(',')).filter_map(of_scripts).collect();
    if scripts.is_empty() {
        notes.note("header-csp", 0, "neither script-src nor default-src is sent");
    } else if let Some(sources) = scripts.iter().find(|_| scripts.iter().all(|it| lets_all(it))) {
        notes.note("csp-unsafe", 0, format!("scripts may come from {sources}"));
    }
}

/// The sources of scripts that a policy names.
fn of_scripts(policy: &str) -> Option<&str> {
    let named = |name: &str| {
        policy.split(';').find_map(|directive| {
            let (own, sources) =
                directive.trim().split_once(char::is_whitespace).unwrap_or((directive.trim(), ""));
            (own == name).then_some(sources.trim())
        })
    };
    named("script-src-elem").or_else(|| named("script-src")).or_else(|| named("default-src"))
}

/// Whether a page's inline scripts run, whoever wrote them: a nonce or a hash takes back what
/// `'unsafe-inline'` says (CSP3 §6.7.3.2).
fn lets_all(sources: &str) -> bool {
    let mut is_unsafe = false;
    for source in sources.split_whitespace() {
        let is_own = ["'nonce-", "'sha256-", "'sha384-", "'sha512-", "'strict-dynamic'"];
        if is_own.iter().any(|own| source.starts_with(own)) {
            return false;
        }
        is_unsafe |= source == "'unsafe-inline'";
    }
    is_unsafe
}

/// Policies that tell other sites more than where a visitor comes from.
fn referrer(notes: &mut Notes<'_>) {
    const TELLS_ALL: [&str; 2] = ["unsafe-url", "no-referrer-when-downgrade"];
    let sent = notes.page().answer.fields.all_named("referrer-policy");
    let sent = sent.map(|value| String::from_utf8_lossy(value).to_ascii_lowercase());
    let written = said_by_meta(notes, "name", "referrer").map(str::to_ascii_lowercase);
    let all: Vec<String> = sent.chain(written).collect();
    // The last that a browser knows counts.
    let last =
        all.iter().flat_map(|line| line.split(',')).map(str::trim).rfind(|it| !it.is_empty());
    if let Some(policy) = last.filter(|policy| TELLS_ALL.contains(policy)) {
        notes.note("header-referrer", 0, format!("Referrer-Policy: {policy}"));
    }
}

/// Whether a cookie is called as sessions are.
fn is_of_session(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    let is_guard = ["csrf", "xsrf"].iter().any(|word| name.contains(word));
    let ends = ["sessid", "sessionid", "session", "_session", "sess", "sid", "auth", "auth_token"];
    !is_guard
        && (ends.iter().any(|end| name.ends_with(end))
            || name.starts_with("wordpress_logged_in")
            || name.starts_with("remember_"))
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
        if is_of_session(name) && !has("httponly") {
            lacks.push("HttpOnly");
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

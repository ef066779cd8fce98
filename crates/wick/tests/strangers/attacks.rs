//! What other sites, and other visitors, try with pages that are shared.
//!
//! A shared page bears the token of a persona, which everybody can read. Each attack sends
//! one request to Wick and the same to the origin alone: it must get no further than there,
//! and what it wanted must not have happened. Each begins with the honest visitor whose
//! request is granted, as otherwise everything is refused and nothing is proved.

use std::net::Ipv4Addr;

use libtest_mimic::{Failed, Trial};

use crate::browser::Outcome;
use crate::client::{Answer, Client, Request};
use crate::crawl;
use crate::page::{self, Form};
use crate::served::Manner;
use crate::specimen::{Site, Specimen};
use crate::walk::Walk;

/// What an attack is called, the specimens that it is tried on, and how it goes.
struct Attack {
    name: &'static str,
    on: &'static [&'static str],
    run: fn(&Site) -> Outcome<()>,
}

/// Specimens with a token that strangers' forms need.
const WITH_TOKENS: &[&str] =
    &["token-hidden-field", "token-each-hit", "field-names", "session-upgraded", "token-by-agent"];

const ATTACKS: [Attack; 6] = [
    Attack { name: "a_form_on_another_site", on: WITH_TOKENS, run: form_on_another_site },
    Attack { name: "a_members_post_with_a_public_token", on: WITH_TOKENS, run: members_post },
    Attack { name: "a_planted_session", on: WITH_TOKENS, run: planted_session },
    Attack { name: "somebody_elses_cookies", on: WITH_TOKENS, run: somebody_elses_cookies },
    Attack {
        name: "claims_about_host_and_address",
        on: &["reflections", "token-by-address", "address-cookie", "variance"],
        run: claims,
    },
    Attack { name: "a_public_token_in_a_link", on: &["token-in-links"], run: token_in_link },
];

/// The words that no page may bear afterwards.
const EVIL: &str = "Jabberwock was here";
/// What the honest visitor writes.
const HONEST: &str = "Callooh, callay";

/// A test for each attack on each specimen.
pub(crate) fn trials(specimens: &[Specimen]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for Attack { name, on, run } in ATTACKS {
        for wanted in on {
            let specimen = specimens.iter().find(|specimen| specimen.name == *wanted).cloned();
            trials.push(Trial::test(format!("attacks::{name}::{wanted}"), move || {
                let specimen = specimen.ok_or("there is no such specimen")?;
                let site = Site::start(&specimen, Manner::Plainly)?;
                run(&site).map_err(Failed::from)
            }));
        }
    }
    trials
}

/// The guest's form on a page from memory, as anybody can read it.
fn public_form(site: &Site) -> Outcome<Form> {
    let target = &site.specimen.guest.page;
    let is_shared = crawl::warm(site, target)?;
    let mut reader = Walk::new(crawl::stranger(site.wick.port, 30), &site.specimen);
    reader.read(target)?;
    match is_shared {
        true => reader.form("body"),
        false => Err(format!("{target} never came from memory, so no token is public")),
    }
}

/// A request that posts the guest's form with evil words.
fn evil_post(site: &Site, form: &Form) -> Request {
    let action = if form.action.is_empty() { &site.specimen.guest.page } else { &form.action };
    Request::form(action, &form.filled(&[("author", "Jabberwock"), ("body", EVIL)]))
}

/// Sees that Wick answers as the origin does, and that no evil words stand anywhere.
fn expect_as_origin(site: &Site, what: &str, by: &Client, request: &Request) -> Outcome<()> {
    let origin = send_at(by, site.plain.port, request)?;
    let answer = send_at(by, site.wick.port, request)?;
    let target = &site.specimen.guest.page;
    let shown = crawl::stranger(site.plain.port, 31).read(target)?;
    if shown.body.contains(EVIL) {
        return Err(format!("{what}: it was granted: {}", answer.head));
    }
    match crawl::unlike(what, &answer, &origin) {
        Some(unlike) => Err(format!("{unlike}\n{}\n{}", request_text(request), answer.head)),
        None => Ok(()),
    }
}

/// The same request to another server, which is told that it comes from its own pages.
fn send_at(by: &Client, port: u16, request: &Request) -> Outcome<Answer> {
    let mut request = request.clone();
    for (_, value) in &mut request.fields {
        *value = value.replace("{origin}", &format!("http://127.0.0.1:{port}"));
    }
    by.at(port).send(&request)
}

fn request_text(request: &Request) -> String {
    format!("{} {} {:?} {}", request.method, request.target, request.fields, request.body)
}

/// An honest guest's comment, which has to be granted.
fn comment_honestly(site: &Site, number: u8) -> Outcome<()> {
    let target = &site.specimen.guest.page;
    let mut guest = Walk::new(crawl::stranger(site.wick.port, number), &site.specimen);
    let answer = guest.comment(target, HONEST)?;
    let shown = crawl::stranger(site.plain.port, 31).read(target)?;
    match shown.body.contains(HONEST) {
        true => Ok(()),
        false => Err(format!("an honest comment was refused: {}\n{}", answer.head, answer.body)),
    }
}

/// Another site posts a form in a stranger's name.
fn form_on_another_site(site: &Site) -> Outcome<()> {
    let form = public_form(site)?;
    let own_page = format!("{{origin}}{}", site.specimen.guest.page);
    let elsewhere = "http://evil.example/page";
    let claims: [(&str, &[(&str, &str)]); 9] = [
        ("nothing", &[]),
        ("a Referer alone", &[("Referer", &own_page)]),
        ("Origin evil", &[("Origin", "http://evil.example"), ("Referer", elsewhere)]),
        ("Origin evil, own Referer", &[("Origin", "http://evil.example"), ("Referer", &own_page)]),
        ("Origin null", &[("Origin", "null"), ("Referer", &own_page)]),
        ("cross-site", &[("Sec-Fetch-Site", "cross-site"), ("Origin", "http://evil.example")]),
        ("cross-site, own Origin", &[("Sec-Fetch-Site", "cross-site"), ("Origin", "{origin}")]),
        ("same-site", &[("Sec-Fetch-Site", "same-site"), ("Origin", "http://127.0.0.1:1")]),
        (
            "same-origin and Origin evil",
            &[("Sec-Fetch-Site", "same-origin"), ("Origin", "http://evil.example")],
        ),
    ];
    for (number, (what, fields)) in (40..).zip(claims) {
        let start = evil_post(site, &form);
        let request = fields.iter().fold(start, |post, (name, value)| post.with(name, value));
        let victim = crawl::stranger(site.wick.port, number);
        expect_as_origin(site, what, &victim, &request)?;
    }
    comment_honestly(site, 50)
}

/// A member's browser posts a form of the same origin that bears the public token.
fn members_post(site: &Site) -> Outcome<()> {
    let mut member = Walk::new(crawl::stranger(site.wick.port, 32), &site.specimen);
    crawl::warm(site, &site.specimen.login.page)?;
    member.log_in()?;
    let form = public_form(site)?;
    let guest_page = site.specimen.guest.page.clone();
    for (what, referer) in
        [("another page", "/about"), ("the shared page", &guest_page), ("the front", "/")]
    {
        let request = evil_post(site, &form)
            .with("Origin", "{origin}")
            .with("Sec-Fetch-Site", "same-origin")
            .with("Referer", &format!("{{origin}}{referer}"));
        expect_as_origin(site, &format!("Referer {what}"), &member.client, &request)?;
    }
    let request = evil_post(site, &form).with("Origin", "{origin}");
    expect_as_origin(site, "no Referer", &member.client, &request)?;
    // With a token of the member's own it is granted.
    let answer = member.comment(&guest_page, HONEST)?;
    match answer.body.contains(HONEST) {
        true => Ok(()),
        false => Err(format!("the member's own comment was refused: {}", answer.head)),
    }
}

/// The name of the cookie that the specimen's session has.
fn session_cookie(site: &Site) -> Outcome<String> {
    let mut visitor = crawl::stranger(site.plain.port, 33);
    visitor.read(&site.specimen.login.page)?;
    let cookie = visitor.jar.iter().find(|(_, value)| value.len() >= 20);
    cookie.map(|(name, _)| name.clone()).ok_or_else(|| "the specimen sets no session".into())
}

/// A session that somebody else chose lies in the victim's jar before the victim comes.
fn planted_session(site: &Site) -> Outcome<()> {
    let name = session_cookie(site)?;
    let form = public_form(site)?;
    let mut victim = crawl::stranger(site.wick.port, 34);
    victim.jar = vec![(name.clone(), "jabberwockjabberwockjabberwock".into())];
    let request = evil_post(site, &form)
        .with("Origin", "{origin}")
        .with("Sec-Fetch-Site", "same-origin")
        .with("Referer", &format!("{{origin}}{}", site.specimen.guest.page));
    expect_as_origin(site, "a made-up session", &victim, &request)?;

    // One that the site gave to the attacker: whoever planted it is a member afterwards only
    // if the origin lets that happen.
    let mut becomes_member = Vec::new();
    for port in [site.plain.port, site.wick.port] {
        let mut attacker = Walk::new(crawl::stranger(site.plain.port, 35), &site.specimen);
        attacker.read(&site.specimen.login.page)?;
        let mut victim = Walk::new(crawl::stranger(port, 35), &site.specimen);
        victim.client.jar.clone_from(&attacker.client.jar);
        let is_member = victim.log_in().is_ok();
        attacker.client.port = port;
        becomes_member.push((is_member, attacker.is_member()?));
    }
    match becomes_member.as_slice() {
        [origin, wick] if origin == wick => Ok(()),
        found => Err(format!("(victim, attacker) are members at the origin, at Wick: {found:?}")),
    }
}

/// A member's cookies in other hands, and other hands without them.
fn somebody_elses_cookies(site: &Site) -> Outcome<()> {
    let specimen = &site.specimen;
    crawl::warm(site, &specimen.login.page)?;
    let mut member = Walk::new(crawl::stranger(site.wick.port, 36), specimen);
    member.log_in()?;
    member.keep_note("brillig")?;
    for target in [&specimen.front, &specimen.guest.page, &specimen.secret.page] {
        let mut thief = Client::new(site.wick.port, Ipv4Addr::new(127, 0, 0, 37), "Thief/1.0");
        let is_bound_to_agent = specimen.name == "token-by-agent";
        if !is_bound_to_agent {
            thief.jar.clone_from(&member.client.jar);
            let answer = thief.clone().read(target)?;
            let origin = thief.at(site.plain.port).read(target)?;
            if let Some(unlike) = crawl::unlike(target, &answer, &origin) {
                return Err(format!("with the member's cookies: {unlike}"));
            }
        }
        // The same address and the same program, but no cookies; and the thief without them.
        for number in [36, 37, 38] {
            let answer = crawl::stranger(site.wick.port, number).read(target)?;
            if answer.body.contains("brillig") || answer.body.contains(&specimen.login.proof) {
                return Err(format!("{target} shows the member's page: {}", answer.head));
            }
        }
    }
    match member.is_member()? {
        true => Ok(()),
        false => Err("the member is logged out".into()),
    }
}

/// Fields by which a visitor says that the request was another one.
fn claims(site: &Site) -> Outcome<()> {
    const CLAIMS: [(&str, &str); 14] = [
        ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-For", "203.0.113.66"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Port", "666"),
        ("X-Forwarded-Server", "evil.example"),
        ("X-Real-IP", "203.0.113.66"),
        ("X-Host", "evil.example"),
        ("Forwarded", "for=203.0.113.66;host=evil.example;proto=https"),
        ("X-Original-URL", "/account?evil.example"),
        ("X-Rewrite-URL", "/account?evil.example"),
        ("X-HTTP-Method-Override", "POST"),
        ("Client-IP", "203.0.113.66"),
        ("Referer", "http://search.example/?q=evil.example+the"),
        ("Host", "evil.example"),
    ];
    // The pages are not in memory yet, so these requests may be what fills it.
    for target in &site.specimen.crawl {
        for (number, (name, value)) in (60..).zip(CLAIMS) {
            let request = Request::get(target).with(name, value);
            crawl::stranger(site.wick.port, number).send(&request)?;
        }
    }
    let shared = crawl::warm(site, &site.specimen.front)?;
    for target in &site.specimen.crawl {
        let mut stranger = crawl::stranger(site.wick.port, 39);
        let origin = stranger.at(site.plain.port).read(target)?;
        let answer = stranger.read(target)?;
        for word in ["evil.example", "203.0.113", "https://127.0.0.1", ":666", "MjAzLjAuMTEz"] {
            let whole = format!("{}\n{}", answer.head, answer.body);
            if whole.contains(word) && !origin.body.contains(word) {
                return Err(format!("{target} repeats {word}: {whole}"));
            }
        }
        if let Some(unlike) = crawl::unlike(target, &answer, &origin) {
            return Err(unlike);
        }
    }
    if shared { Ok(()) } else { Err("nothing ever came from memory".into()) }
}

/// Links that do something, with the token that stands in a shared page.
fn token_in_link(site: &Site) -> Outcome<()> {
    let specimen = &site.specimen;
    crawl::warm(site, &specimen.front)?;
    let shared = crawl::stranger(site.wick.port, 30).read(&specimen.front)?;
    let token = page::attribute_after(&shared.body, "/mark-read?token=")
        .ok_or("the front page bears no link with a token")?;
    let mut member = Walk::new(crawl::stranger(site.wick.port, 32), specimen);
    member.log_in()?;
    for (what, site_field) in
        [("a picture elsewhere", "cross-site"), ("a link here", "same-origin"), ("typed", "none")]
    {
        for path in ["/logout", "/mark-read"] {
            let request = Request::get(&format!("{path}?token={token}"))
                .with("Sec-Fetch-Site", site_field)
                .with("Referer", &format!("{{origin}}{}", specimen.front));
            let what = format!("{path}, {what}");
            expect_as_origin(site, &what, &member.client, &request)?;
            if !member.is_member()? {
                return Err(format!("{what}: the member is logged out"));
            }
        }
    }
    if shared.is_from_memory() { Ok(()) } else { Err("the token was not public".into()) }
}

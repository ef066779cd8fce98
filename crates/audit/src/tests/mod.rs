//! The tests of one page: a table of functions, each of which looks at a page and says what it
//! found.
//!
//! A further test, of whatever crate, is one line of [`PAGE_TESTS`]: its function makes
//! [`Finding`]s of what it found, with the rule's id, its severity, its place and its message.
//! Tests of the whole site are in [`site`].

pub(crate) mod access;
pub(crate) mod caching;
pub(crate) mod code;
pub(crate) mod html;
pub(crate) mod http;
mod language;
pub(crate) mod metadata;
pub(crate) mod site;
mod structured;
pub(crate) mod weight;

use crate::finding::{Finding, Place, Severity};
use crate::kind::{Kind, Tests};
use crate::page::{Page, plain};
use crate::rules::rule;

/// Findings of one rule on one page; the last says how many there were.
const EACH_MAX: usize = 50;

/// What a test writes its findings into.
pub(crate) struct Notes<'a> {
    url: String,
    tests: Tests,
    page: &'a Page<'a>,
    findings: Vec<Finding>,
}

impl<'a> Notes<'a> {
    pub(crate) fn page(&self) -> &'a Page<'a> {
        self.page
    }

    /// Whether a test of this kind says what it has to say.
    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.tests.has(kind)
    }

    /// Notes what a test with a table of its own found.
    pub(crate) fn add(&mut self, rule: String, severity: Severity, place: Place, message: String) {
        let url = self.url.clone();
        self.findings.push(Finding { severity, rule, url, place, message });
    }

    /// Notes a breach of a rule of the table.
    pub(crate) fn note(&mut self, id: &str, line: u64, message: impl Into<String>) {
        if let Some(finding) = finding(id, &self.url, line, message) {
            self.findings.push(finding);
        }
    }
}

/// A finding of a rule of the table.
pub(crate) fn finding(
    id: &str,
    url: &str,
    line: u64,
    message: impl Into<String>,
) -> Option<Finding> {
    let rule = rule(id);
    debug_assert!(rule.is_some(), "{id} is no rule");
    let column = 0;
    Some(Finding {
        severity: rule?.severity,
        rule: id.to_owned(),
        url: url.to_owned(),
        place: Place { line, column },
        message: message.into(),
    })
}

type PageTest = fn(&mut Notes<'_>);

/// Every test of a page; the rules of each are of its kind.
const PAGE_TESTS: &[(Kind, PageTest)] = &[
    (Kind::Http, http::run),
    (Kind::Metadata, metadata::run),
    (Kind::Accessibility, access::run),
    (Kind::Weight, weight::run),
    (Kind::Caching, caching::run),
    (Kind::Code, code::run),
    (Kind::Html, html::run),
];

/// All that these tests of a page say of it.
#[must_use]
pub(crate) fn examine(page: &Page<'_>, tests: Tests) -> Vec<Finding> {
    let mut notes = Notes { url: plain(page.url), tests, page, findings: Vec::new() };
    for (_, test) in PAGE_TESTS.iter().filter(|(kind, _)| tests.has(*kind)) {
        test(&mut notes);
    }
    let mut findings = notes.findings;
    findings.sort();
    findings.dedup();
    bounded(findings)
}

/// Of each rule so many, and one more that says how many are left out.
pub(crate) fn bounded(findings: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    let (mut of_rule, mut more) = (0, 0);
    for finding in findings {
        if kept.last().is_some_and(|last| last.rule == finding.rule) {
            of_rule += 1;
        } else {
            (of_rule, more) = (0, 0);
        }
        if of_rule < EACH_MAX {
            kept.push(finding);
        } else if let Some(last) = kept.last_mut() {
            more += 1;
            last.message = format!("and {} more of this kind on the page", more + 1);
        }
    }
    kept
}

#[cfg(test)]
mod cases {
    use url::Url;

    use super::*;
    use crate::fetch::Answer;

    /// What a page of `https://a.test/` breaks besides what an empty page does.
    #[track_caller]
    fn check(fields: &str, body: &str, rule: &str, expected: &[&str]) {
        let url = Url::parse("https://a.test/").unwrap();
        let fields = format!("content-type: text/html\n{fields}");
        let answer = Answer::page(200, &fields, body);
        let findings = examine(&Page::of(&url, &answer), Tests::ALL);
        let told = findings.iter().filter(|one| one.rule == rule);
        let told: Vec<_> = told.map(|one| one.message.as_str()).collect();
        assert_eq!(told, expected, "{body}");
    }

    #[test]
    fn what_needs_tls_to_be_seen_is_seen() {
        let hsts = ["no Strict-Transport-Security is sent by https"];
        check("", "", "header-hsts", &hsts);
        check("strict-transport-security: max-age=1", "", "header-hsts", &[]);
        let mixed = "<img src=http://b.test/i.png><a href=http://b.test/>ok</a>";
        check("", mixed, "mixed-content", &["http://b.test/i.png is loaded"]);
        check("", "<img src=//b.test/i.png>", "mixed-content", &[]);
        let form = "<form action=http://a.test/x></form><form action=/y></form>";
        check("", form, "form-insecure", &["it is sent to http://a.test/x"]);
        let cookie = "set-cookie: id=secret; path=/; httponly";
        check(cookie, "", "cookie-flags", &["the cookie id lacks Secure and SameSite"]);
        check("set-cookie: id=1; Secure; SameSite=Lax", "", "cookie-flags", &[]);
    }

    #[test]
    fn a_policy_of_scripts_is_looked_for_and_a_nonce_makes_it_safe() {
        let none = ["neither script-src nor default-src is sent"];
        let csp = |policy: &str| format!("content-security-policy: {policy}");
        for (fields, body, rule, expected) in [
            (String::new(), "", "header-csp", &none[..]),
            (csp("frame-ancestors 'self'; img-src *"), "", "header-csp", &none),
            (csp("Default-Src 'self'"), "", "header-csp", &[]),
            (
                String::new(),
                "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">",
                "header-csp",
                &[],
            ),
            (csp("script-src 'self'; default-src 'unsafe-inline'"), "", "csp-unsafe", &[]),
            (csp("script-src 'unsafe-inline' 'nonce-abc'"), "", "csp-unsafe", &[]),
            (csp("script-src 'unsafe-inline', script-src 'self'"), "", "csp-unsafe", &[]),
            (
                csp("default-src * 'unsafe-inline'"),
                "",
                "csp-unsafe",
                &["scripts may come from * 'unsafe-inline'"],
            ),
        ] {
            check(&fields, body, rule, expected);
        }
    }

    #[test]
    fn a_referrer_that_tells_all_and_a_session_that_scripts_read_are_told() {
        let told = ["Referrer-Policy: unsafe-url"];
        check("referrer-policy: no-referrer, unsafe-url", "", "header-referrer", &told);
        check("referrer-policy: unsafe-url, same-origin", "", "header-referrer", &[]);
        check("", "<meta name=referrer content=unsafe-url>", "header-referrer", &told);
        for (name, is_session) in [
            ("PHPSESSID", true),
            ("connect.sid", true),
            ("laravel_session", true),
            ("wordpress_logged_in_7", true),
            ("session_csrf", false),
            ("theme", false),
            ("inside_view", false),
        ] {
            let fields = format!("set-cookie: {name}=1; Secure; SameSite=Lax");
            let told = [format!("the cookie {name} lacks HttpOnly")];
            let told: Vec<&str> = told.iter().filter(|_| is_session).map(String::as_str).collect();
            check(&fields, "", "cookie-flags", &told);
            check(&format!("{fields}; HttpOnly"), "", "cookie-flags", &[]);
        }
    }

    #[test]
    fn a_page_of_much_html_is_told() {
        let body = "<p>text".repeat(200_000);
        check("", &body, "weight-html", &["1367 KiB of HTML"]);
    }

    #[test]
    fn what_one_kind_of_label_names_is_named() {
        for (body, expected) in [
            ("<label>A <input name=a></label>", 0),
            ("<label for=i>A</label><input name=a id=i>", 0),
            ("<input name=a aria-label=A>", 0),
            ("<input type=hidden name=a><input type=submit>", 0),
            ("<div hidden><input name=a></div>", 0),
            ("<select name=a></select><textarea name=a></textarea>", 1),
        ] {
            let of = |kind: &str| format!("the {kind} a has no label");
            let all = [of("select"), of("textarea")];
            let all: Vec<&str> = all.iter().take(expected * 2).map(String::as_str).collect();
            check("", body, "label-missing", &all);
        }
    }

    #[test]
    fn an_image_has_a_size_by_its_attributes_or_its_style() {
        for (html, is_told) in [
            ("<img src=a alt=a width=1>", true),
            ("<img src=a alt=a width=1 height=1>", false),
            ("<img src=a alt=a style='width:1em;height:1em'>", false),
            ("<img src=a alt=a width=1 style='aspect-ratio: 1'>", false),
        ] {
            let told = ["a has no width and height"];
            check("", html, "image-size", if is_told { &told } else { &[] });
        }
    }

    #[test]
    fn what_a_cache_on_the_way_keeps_is_not_judged_by_what_it_says_to_others() {
        let private = "cache-control: private, no-cache";
        let told = ["Cache-Control: private, no-cache"];
        check(private, "", "cache-private", &told);
        for (status, expected) in [
            ("wick; hit; ttl=9", &[][..]),
            ("wick; fwd=uri-miss; stored", &[]),
            ("wick; fwd=bypass; detail=hit-or-miss", &told),
        ] {
            let fields = format!("{private}\ncache-status: {status}");
            check(&fields, "", "cache-private", expected);
        }
    }

    #[test]
    fn findings_of_a_rule_are_bounded_on_a_page() {
        let url = Url::parse("http://a.test/").unwrap();
        let body = "<p><img src=a alt=a>\n".repeat(200);
        let answer = Answer::page(200, "content-type: text/html", &body);
        let findings = examine(&Page::of(&url, &answer), Tests::ALL);
        let told: Vec<_> = findings.iter().filter(|one| one.rule == "image-size").collect();
        assert_eq!(told.len(), EACH_MAX);
        assert_eq!(told[EACH_MAX - 1].message, "and 151 more of this kind on the page");
    }
}

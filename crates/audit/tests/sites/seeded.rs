//! A site on which nothing is to be said, and its twins with one fault each.

use std::collections::BTreeSet;

use crate::server::{Asked, FIELDS, Reply, Served, Site, clean, page, reply};
use audit::rules::RULES;
use audit::{Kind, Live, Plan, Report, Tests};
use url::Url;

fn audit(served: &Served, state: &std::path::Path, change: impl FnOnce(&mut Plan)) -> Report {
    let mut plan = crate::server::plan(served, state);
    change(&mut plan);
    crate::server::audited(&plan, &Live::default())
}

/// What is said of a site, as `rule path: message`.
fn told(site: Site) -> BTreeSet<String> {
    let (served, state) = (Served::begin(site), tempfile::tempdir().expect("a folder"));
    let report = audit(&served, state.path(), |_| {});
    let site = &report.sites[0];
    assert_eq!(site.error, None);
    assert!(site.is_whole, "{:?}", site.notes);
    let origin = served.url();
    let told = |one: &audit::report::Grouped| {
        let finding = &one.finding;
        format!("{} {}: {}", finding.rule, finding.url, finding.message)
            .replace(origin.trim_end_matches('/'), "")
    };
    site.findings.iter().map(told).collect()
}

const CSS: &str = "content-type: text/css\ncache-control: max-age=60";

#[track_caller]
fn check(rule: &str, change: impl FnOnce(&mut Site)) {
    let mut site = clean();
    change(&mut site);
    let told = told(site);
    let rules: BTreeSet<&str> = told.iter().filter_map(|one| one.split(' ').next()).collect();
    assert_eq!(rules, BTreeSet::from([rule]), "{told:#?}");
}

fn put(site: &mut Site, path: &str, reply: Reply) {
    site.pages.insert(path.to_owned(), reply);
}

/// The page `/one` with other fields.
fn with_fields(site: &mut Site, from: &str, to: &str) {
    let fields = FIELDS.replace(from, to);
    assert_ne!(fields, FIELDS);
    let one = site.pages["/one"].clone();
    put(site, "/one", Reply { body: one.body, ..reply(200, &fields, "") });
}

/// The page `/one` with something else in it.
fn with_body(site: &mut Site, from: &str, to: &str) {
    let one = site.pages["/one"].clone();
    let body = String::from_utf8(one.body).expect("it is text");
    let changed = body.replacen(from, to, 1);
    assert_ne!(body, changed);
    put(site, "/one", Reply { body: changed.into(), ..reply(200, FIELDS, "") });
}

fn with_more(site: &mut Site, more: &str) {
    with_body(site, "</main>", &format!("{more}</main>"));
}

#[test]
fn a_clean_site_is_visited_whole_and_nothing_is_said() {
    let (served, state) = (Served::begin(clean()), tempfile::tempdir().expect("a folder"));
    let report = audit(&served, state.path(), |plan| plan.probes = 0);
    let site = &report.sites[0];
    assert!(site.findings.is_empty(), "{:#?}", site.findings);
    assert_eq!((site.pages, site.outside), (6, 1), "{site:#?}");
    let mut asked = served.asked();
    asked.sort();
    let expected = [
        "/",
        "/fed",
        "/feed.xml",
        "/framed",
        "/i.png",
        "/map.xml",
        "/mapped",
        "/moved",
        "/one",
        "/robots.txt",
        "/two",
    ];
    assert_eq!(asked, expected, "each once, and nothing that is forbidden or does something");
}

/// What is done to the clean site.
type Fault = fn(&mut Site);

/// One fault each: the rule that it breaks, and the fault.
const FAULTS: &[(&str, Fault)] = &[
    ("link-broken", |site| with_more(site, "<a href=/gone>Gone</a>")),
    ("link-fragment", |site| with_more(site, "<a href='/two#none'>None</a>")),
    ("link-redirected", |site| put(site, "/moved", reply(301, "location: /one", ""))),
    ("map-broken", |site| drop(site.pages.remove("/mapped"))),
    ("redirect-chain", |site| {
        put(site, "/moved", reply(302, "location: /again", ""));
        put(site, "/again", reply(302, "location: /one", ""));
    }),
    ("redirect-loop", |site| {
        put(site, "/moved", reply(302, "location: /again", ""));
        put(site, "/again", reply(302, "location: /moved", ""));
    }),
    ("header-nosniff", |site| with_fields(site, "nosniff", "no")),
    ("header-framing", |site| with_fields(site, "frame-ancestors", "img-src")),
    ("header-charset", |site| with_fields(site, "; charset=utf-8", "")),
    ("title-missing", |site| with_body(site, "<title>One</title>", "<title> </title>")),
    ("title-duplicate", |site| with_body(site, "<title>One</title>", "<title>Two</title>")),
    ("description-missing", |site| with_body(site, "name=\"description\"", "name=\"about\"")),
    ("canonical-wrong", |site| {
        with_body(site, "</head>", "<link rel=canonical href=/moved></head>");
    }),
    ("hreflang-mutual", |site| {
        with_body(site, "</head>", "<link rel=alternate hreflang=de href=/two></head>");
    }),
    ("header-csp", |site| with_fields(site, "default-src 'self'; ", "")),
    ("csp-unsafe", |site| with_fields(site, "default-src 'self'", "script-src 'unsafe-inline'")),
    ("header-referrer", |site| {
        with_fields(site, "cache-control", "referrer-policy: unsafe-url\ncache-control");
    }),
    ("hreflang-code", |site| {
        with_body(site, "</head>", "<link rel=alternate hreflang=jp href=/one></head>");
    }),
    ("hreflang-default", |site| {
        let both = ["en", "de"]
            .map(|language| format!("<link rel=alternate hreflang={language} href=/one>"));
        with_body(site, "</head>", &format!("{}</head>", both.concat()));
    }),
    ("json-ld-field", |site| {
        let data = "{\"@context\":\"https://schema.org\",\"@type\":\"Recipe\",\"name\":\"A\"}";
        with_more(site, &format!("<script type='application/ld+json'>{data}</script>"));
    }),
    ("json-ld", |site| with_more(site, "<script type='application/ld+json'>{\"a\":}</script>")),
    ("css-syntax", |site| {
        put(site, "/s.css", reply(200, CSS, "a { color red }"));
        with_body(site, "</head>", "<link rel=stylesheet href=/s.css></head>");
    }),
    ("css-property", |site| with_body(site, "</head>", "<style>a { colr: red }</style></head>")),
    ("css-value", |site| with_more(site, "<p style='color: #12'>text</p>")),
    ("js-syntax", |site| with_more(site, "<script>\nif (a) {</script>")),
    ("script-data", |site| with_more(site, "<script type=importmap>{\"imports\"}</script>")),
    ("lang-missing", |site| with_body(site, " lang=\"en\"", "")),
    ("image-size", |site| with_more(site, "<img src=/i.png alt=A>")),
    ("image-alt", |site| with_more(site, "<img src=/i.png width=8 height=8>")),
    ("weight-uncoded", |site| with_more(site, &"<p>text</p>".repeat(200))),
    ("weight-page", |site| {
        let heavy = reply(200, "content-type: image/png\ncache-control: max-age=60", "");
        put(site, "/i.png", Reply { body: vec![7; 4 << 20], ..heavy });
        put(site, "/two", page("Two", "<p>text"));
    }),
    ("label-missing", |site| with_more(site, "<input name=a>")),
    ("link-text", |site| with_more(site, "<a href=/two><i></i></a>")),
    ("button-text", |site| with_more(site, "<button></button>")),
    ("heading-order", |site| with_more(site, "<h4>Deep</h4>")),
    ("heading-first", |site| with_body(site, "<h1>One</h1>", "")),
    ("id-duplicate", |site| with_more(site, "<p id=part>x")),
    ("landmark-main", |site| {
        with_body(site, "<main>", "<div>");
        let one = site.pages["/one"].clone();
        let body = String::from_utf8(one.body.clone()).expect("it is text");
        put(site, "/one", Reply { body: body.replace("</main>", "</div>").into(), ..one });
    }),
    ("frame-title", |site| with_more(site, "<iframe src=/framed></iframe>")),
    ("viewport-zoom", |site| {
        let viewport = "<meta name=viewport content='width=device-width, user-scalable=no'></head>";
        with_body(site, "</head>", viewport);
    }),
    ("html-duplicate-attribute", |site| with_more(site, "<p class=a class=b>text")),
    ("cache-type", |site| put(site, "/i.png", page("Not a picture", "<p>x"))),
    ("cache-differs", |site| {
        let make = |_: &Asked, times: usize| {
            let names = ["Ann", "Ann", "Ann", "Bob"];
            page("One", &format!("<p id=part>Hello {}", names[times.min(4) - 1]))
        };
        site.makers.insert("/one".to_owned(), Box::new(make));
    }),
    ("vary-language", |site| {
        let make = |asked: &Asked, _: usize| {
            let is_french = asked.head.contains("accept-language: fr");
            page("One", if is_french { "<p id=part>Bonjour" } else { "<p id=part>Hello" })
        };
        site.makers.insert("/one".to_owned(), Box::new(make));
    }),
    ("vary-device", |site| {
        let make = |asked: &Asked, _: usize| {
            let is_phone = asked.head.contains("mobile");
            page("One", if is_phone { "<p id=part>Small" } else { "<p id=part>Large" })
        };
        site.makers.insert("/one".to_owned(), Box::new(make));
    }),
];

#[test]
fn each_fault_is_found_and_nothing_else_is_said() {
    for (rule, fault) in FAULTS {
        check(rule, fault);
    }
}

/// Faults that several rules speak of, since strangers are given the same page all the same.
const WASTED: &[(&str, &str, &str)] = &[
    ("cache-no-store", "max-age=60", "no-store"),
    ("cache-private", "max-age=60", "private, max-age=60"),
    ("cache-no-freshness", "max-age=60", "no-transform"),
    ("cache-expired", "max-age=60", "max-age=0"),
    ("cache-malformed", "max-age=60", "max-age=60, x=\"a"),
    ("cache-vary-star", "max-age=60", "max-age=60\nvary: *"),
    ("cache-set-cookie", "max-age=60", "max-age=60\nset-cookie: a=b; SameSite=Lax"),
];

#[test]
fn what_keeps_a_page_from_caches_is_told_by_the_law_and_what_that_wastes() {
    for (rule, from, to) in WASTED {
        let mut site = clean();
        with_fields(&mut site, from, to);
        let told = told(site);
        let rules: BTreeSet<&str> = told.iter().filter_map(|one| one.split(' ').next()).collect();
        assert_eq!(rules, BTreeSet::from([*rule, "cache-wasted"]), "{told:#?}");
    }
}

#[test]
fn every_rule_has_a_fault_that_shows_it() {
    // These need TLS, another host, a browser, an error that is no answer, or much room: unit tests have them.
    const ELSEWHERE: [&str; 10] = [
        "link-failed",
        "link-external",
        "link-external-fragment",
        "mixed-content",
        "form-insecure",
        "header-hsts",
        "cookie-flags",
        "weight-html",
        "cache-other",
        "browser-failed",
    ];
    let own = FAULTS.iter().map(|one| one.0).filter(|rule| !rule.starts_with("html-"));
    let shown = own.chain(WASTED.iter().map(|one| one.0));
    let shown: BTreeSet<&str> = shown.chain(ELSEWHERE).chain(["cache-wasted"]).collect();
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(shown, all);
}

/// What is found on the site, by rule alone.
fn rules(report: &Report) -> Vec<&str> {
    report.sites[0].findings.iter().map(|one| one.finding.rule.as_str()).collect()
}

fn count(served: &Served, target: &str) -> usize {
    served.asked().iter().filter(|one| *one == target).count()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_page_is_asked_for_again_when_retry_after_is_over_and_haste_is_no_fault_of_its_own() {
    let mut site = clean();
    let ready = page("One", "<p id=part>x");
    let busy = reply(429, "retry-after: 1", "");
    let make = move |_: &Asked, times: usize| [&busy, &ready][times.min(2) - 1].clone();
    site.makers.insert("/one".to_owned(), Box::new(make));
    put(&mut site, "/two", reply(429, "retry-after: 0", ""));
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.probes = 0);
    assert_eq!(rules(&report), [""; 0]);
    assert_eq!((count(&served, "/one"), count(&served, "/two")), (2, 3));
}

#[test]
fn what_robots_txt_forbids_altogether_is_not_visited_and_said_so() {
    for (robots, expected) in [
        (reply(200, "", "User-agent: wick\nDisallow: /\n"), "forbids all of"),
        (reply(503, "retry-after: 0", ""), "until it is answered, nothing is allowed"),
    ] {
        let mut site = clean();
        put(&mut site, "/robots.txt", robots);
        let (served, state) = (Served::begin(site), folder());
        let report = audit(&served, state.path(), |_| {});
        let error = report.sites[0].error.clone().expect("it is not audited");
        assert!(error.contains(expected), "{error}");
        assert_eq!(count(&served, "/"), 0);
    }
}

#[test]
fn a_run_tells_what_is_new_and_what_was_mended() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let is_mended = Arc::new(AtomicBool::new(false));
    let (mut site, seen) = (clean(), Arc::clone(&is_mended));
    let make = move |_: &Asked, _: usize| match seen.load(Ordering::Relaxed) {
        false => page("One", "<p id=part><input name=a>"),
        true => page("One", "<p id=part><button></button>"),
    };
    site.makers.insert("/one".to_owned(), Box::new(make));
    let (served, state) = (Served::begin(site), folder());
    let first = audit(&served, state.path(), |plan| plan.probes = 0);
    assert_eq!((rules(&first), first.totals.new), (vec!["label-missing"], 0));
    is_mended.store(true, Ordering::Relaxed);
    let second = audit(&served, state.path(), |plan| plan.probes = 0);
    assert_eq!((rules(&second), second.totals.new), (vec!["button-text"], 1));
    let fixed: Vec<_> = second.sites[0].fixed.iter().map(|one| one.rule.as_str()).collect();
    assert_eq!(fixed, ["label-missing"]);
    let news = audit::report::news(&second);
    let news: Vec<_> = news.lines().map(|line| line.split(" http").next().unwrap_or("")).collect();
    assert_eq!(news, ["new error [button-text]", "fixed error [label-missing]"]);
    let third = audit(&served, state.path(), |plan| plan.probes = 0);
    assert_eq!((third.totals.new, third.totals.fixed), (0, 0));
    assert_eq!(audit::report::news(&third), "");
}

#[test]
fn a_run_of_some_tests_tells_of_their_rules_alone_and_of_the_others_nothing() {
    let mut site = clean();
    let body =
        "<p id=part><a href=/gone>Gone</a><input name=a><p id=two><p id=two><center>x</center>";
    put(&mut site, "/one", page("One", body));
    let (served, state) = (Served::begin(site), folder());
    let all = audit(&served, state.path(), |_| {});
    let expected = ["html-obsolete-element", "id-duplicate", "label-missing", "link-broken"];
    assert_eq!(BTreeSet::from_iter(rules(&all)), BTreeSet::from(expected));
    let only =
        |kinds: &[Kind]| audit(&served, state.path(), |plan| plan.tests = Tests::only(kinds));
    let asked = served.asked().len();
    let links = only(&[Kind::Links]);
    assert_eq!(rules(&links), ["link-broken"]);
    // What wasn't looked for is not gone, and not new when it is looked for again.
    assert_eq!((links.totals.new, links.totals.fixed), (0, 0));
    assert_eq!(links.sites[0].notes, ["Of the tests only these were run: links."]);
    let again = served.asked().len() - asked;
    assert!(again < asked, "{again} of {asked}: nobody was asked as several strangers");
    // Nobody else says it now.
    let html = only(&[Kind::Html]);
    assert!(rules(&html).contains(&"html-duplicate-id"), "{:?}", rules(&html));
    let last = audit(&served, state.path(), |_| {});
    assert_eq!(last.totals.new, 0, "{:?}", last.sites[0].findings);
}

#[test]
fn links_to_other_sites_are_tried_once_and_only_when_wanted() {
    let mut other = Site::default();
    other.pages.insert("/there".to_owned(), reply(200, "", ""));
    other.pages.insert("/busy".to_owned(), reply(429, "", ""));
    let other = Served::begin(other);
    let mut site = clean();
    let more = ["there", "busy", "gone", "logout"]
        .map(|name| format!("<a href=\"{}{name}\">{name}</a>", other.url()))
        .concat();
    // The address of nobody would be waited for.
    let home = page("Home", &format!("{more}<a href=/one>One</a>"));
    put(&mut site, "/", home);
    let (served, state) = (Served::begin(site), folder());
    let quiet = audit(&served, state.path(), |_| {});
    assert_eq!((rules(&quiet), other.asked().len()), (vec![], 0));
    let report = audit(&served, state.path(), |plan| plan.external = 9);
    assert_eq!(rules(&report), ["link-external"]);
    // What isn't there by HEAD may be there by GET.
    assert_eq!(other.asked(), ["/there", "/busy", "/gone", "/gone"]);
}

#[test]
fn places_on_other_sites_are_looked_for_where_a_link_leads_to_one() {
    let mut other = Site::default();
    let body = "<p id=a>A<p id=user-content-b>B";
    other.pages.insert("/page".to_owned(), page("Page", body));
    other.pages.insert("/text".to_owned(), reply(200, "content-type: text/plain", "text"));
    let other = Served::begin(other);
    let mut site = clean();
    let more = ["page#a", "page#b", "page#none", "page#top", "text#L10", "page#:~:text=x"]
        .map(|name| format!("<a href=\"{}{name}\">{name}</a>", other.url()))
        .concat();
    put(&mut site, "/", page("Home", &format!("{more}<a href=/one>One</a>")));
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.external = 9);
    let [found] = &report.sites[0].findings[..] else { panic!("{:#?}", report.sites[0].findings) };
    let expected = format!("{}page has no \"none\"", other.url());
    assert_eq!(
        (&*found.finding.rule, &found.finding.message),
        ("link-external-fragment", &expected)
    );
    assert_eq!(other.asked(), ["/page", "/text"], "each once, whatever places are looked for");
}

#[test]
fn what_a_cache_has_is_asked_of_it_first_and_the_origin_for_the_rest_alone() {
    let mut site = clean();
    let is_kept = |asked: &Asked| asked.head.contains("cache-control: only-if-cached");
    let make = move |asked: &Asked, _: usize| {
        let kept = page("One", "<p id=part>x");
        match is_kept(asked) {
            true => reply(504, "cache-status: a; fwd=uri-miss", ""),
            false => kept,
        }
    };
    site.makers.insert("/one".to_owned(), Box::new(make));
    let mut lone = page("Lone", "<p>x");
    lone.fields.push(("cache-status".to_owned(), "a; hit".to_owned()));
    put(&mut site, "/lone", lone);
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| {
        let kept = vec!["/lone".to_owned(), "/logout?a".to_owned(), "//[".to_owned()];
        plan.stored = Some([(served.url(), kept)].into());
        plan.probes = 0;
    });
    let site = &report.sites[0];
    assert!(site.findings.is_empty(), "{:#?}", site.findings);
    assert_eq!((site.pages, site.from_cache), (7, 1), "{site:#?}");
    assert_eq!((count(&served, "/one"), count(&served, "/lone")), (2, 1));
    assert_eq!(count(&served, "/logout?a"), 0);
    assert!(audit::report::text(&report).contains("1 page came from a cache on the way"));
}

#[test]
fn what_is_not_kept_has_a_price_by_route() {
    let mut site = clean();
    for at in 0..3 {
        let one = page(&format!("Thread {at}"), "<p>x");
        let fields = FIELDS.replace("max-age=60", "private");
        let make = move |_: &Asked, _: usize| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            Reply { body: one.body.clone(), ..reply(200, &fields, "") }
        };
        site.makers.insert(format!("/thread/{at}"), Box::new(make));
    }
    let links: String = (0..3).map(|at| format!("<a href=/thread/{at}>{at}</a>")).collect();
    put(&mut site, "/", page("Home", &format!("{links}<a href=/one>One</a>")));
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.probes = 0);
    let kept = &report.sites[0].cacheability;
    let dear = kept.iter().find(|one| one.verdict == "private").expect("it is told");
    assert_eq!(dear.pages, 3);
    let median = dear.median_ms.expect("it was measured");
    assert!(median >= 20, "{median}");
    assert!(kept.iter().all(|one| one.verdict == "private" || one.median_ms.is_none()), "{kept:?}");
    let text = audit::report::text(&report);
    assert!(
        text.contains(&format!("not 3 of {}: private, {median} ms each", dear.route)),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&audit::report::json(&report)).expect("it is JSON");
    let told = json["sites"][0]["cacheability"].as_array().expect("it is told");
    assert!(told.iter().any(|one| one["median_ms"] == median), "{told:?}");
}

#[test]
fn a_run_is_compared_with_an_earlier_report_where_one_is_named() {
    let mut site = clean();
    let make = |_: &Asked, times: usize| {
        page("One", ["<p id=part><input name=a>", "<p id=part><button></button>"][times.min(2) - 1])
    };
    site.makers.insert("/one".to_owned(), Box::new(make));
    let (served, state) = (Served::begin(site), folder());
    let first = audit(&served, state.path(), |plan| plan.probes = 0);
    let file = state.path().join("deploy.json");
    std::fs::write(&file, audit::report::json(&first)).expect("the folder takes files");
    audit(&served, state.path(), |plan| plan.probes = 0);
    let same = audit(&served, state.path(), |plan| plan.probes = 0);
    assert_eq!((same.totals.new, same.totals.fixed), (0, 0), "it is as in the last run");
    // Another machine knows no last run.
    let other = folder();
    let told = audit(&served, other.path(), |plan| {
        plan.probes = 0;
        plan.baseline = Some(audit::Baseline::read(&file).expect("it is a report"));
    });
    let fixed: Vec<_> = told.sites[0].fixed.iter().map(|one| one.rule.as_str()).collect();
    assert_eq!((rules(&told), fixed), (vec!["button-text"], vec!["label-missing"]));
    assert_eq!((told.totals.new, told.sites[0].is_first), (1, false));
    let text = audit::report::text(&told);
    assert!(text.contains("deploy.json: 1\n") && text.contains("; 1 new, 1 fixed."), "{text}");
    let next = audit(&served, other.path(), |plan| plan.probes = 0);
    assert_eq!((next.totals.new, next.totals.fixed), (0, 0), "the book is of the last run");
}

#[test]
fn other_hosts_are_asked_side_by_side_and_each_by_one_request_at_a_time() {
    let held = || {
        let mut site = Site { holds_after: Some(0), ..Site::default() };
        for path in ["/a", "/b"] {
            site.pages.insert(path.to_owned(), reply(200, "", ""));
        }
        Served::begin(site)
    };
    let (one, other, mut site) = (held(), held(), clean());
    let links = [&one, &other]
        .map(|served| format!("<a href=\"{0}a\">A</a><a href=\"{0}b\">B</a>", served.url()));
    put(&mut site, "/", page("Home", &format!("{}<a href=/one>One</a>", links.concat())));
    let (served, state) = (Served::begin(site), folder());
    let report = std::thread::scope(|scope| {
        // Neither answers before both were asked.
        scope.spawn(|| {
            one.wait_for(1, || {});
            other.wait_for(1, || {});
            assert_eq!(
                (one.asked(), other.asked()),
                (vec!["/a".to_owned()], vec!["/a".to_owned()])
            );
            one.release();
            other.release();
        });
        audit(&served, state.path(), |plan| plan.external = 9)
    });
    assert_eq!(rules(&report), [""; 0]);
    assert_eq!((one.asked(), other.asked().len()), (vec!["/a".to_owned(), "/b".to_owned()], 2));
}

#[test]
fn who_wants_rest_is_left_alone() {
    let mut other = Site::default();
    let busy = reply(429, "retry-after: 3600", "");
    other.pages.insert("/a".to_owned(), busy);
    let (other, mut site) = (Served::begin(other), clean());
    let links = format!("<a href=\"{0}a\">A</a><a href=\"{0}b\">B</a>", other.url());
    put(&mut site, "/", page("Home", &format!("{links}<a href=/one>One</a>")));
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.external = 9);
    assert_eq!((rules(&report), other.asked()), (vec![], vec!["/a".to_owned()]));
    assert!(report.sites[0].notes.iter().any(|note| note.contains("wants rest: 1 link")));
}

#[test]
fn several_sites_are_visited_at_once_and_pages_of_each_are_bounded() {
    let many = || {
        let mut site = Site::default();
        let links: String = (0..30).map(|at| format!("<a href=/p/{at}>{at}</a>")).collect();
        site.pages.insert("/".to_owned(), page("Home", &links));
        for at in 0..30 {
            let one = page(&format!("Page {at}"), "<p>x");
            site.pages.insert(format!("/p/{at}"), one);
        }
        Served::begin(site)
    };
    let (one, other, state) = (many(), many(), folder());
    let report = audit(&one, state.path(), |plan| {
        plan.sites.push(Url::parse(&other.url()).expect("an address"));
        (plan.pages, plan.probes) = (10, 0);
    });
    assert_eq!(report.sites.len(), 2);
    for site in &report.sites {
        assert_eq!((site.pages, site.skipped["--pages"]), (10, 21), "{site:#?}");
    }
}

#[test]
fn who_wants_a_long_rest_is_not_waited_for() {
    let mut site = clean();
    put(&mut site, "/one", reply(503, "retry-after: 7200", ""));
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.probes = 0);
    let site = &report.sites[0];
    assert!(!site.is_whole && site.waiting > 0, "{site:#?}");
    let told = |note: &String| note.contains("wants a long rest, and was left alone");
    assert!(site.notes.iter().any(told), "{:?}", site.notes);
}

#[test]
fn budgets_are_told_in_each_format() {
    use audit::report::Budget;
    let mut site = clean();
    with_more(&mut site, "<input name=a>");
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |plan| plan.probes = 0);
    let budgets = ["label-missing=0", "errors=1", "page-bytes=10"];
    let report = report.within(&budgets.map(|text| Budget::read(text).expect("it can be read")));
    assert!(!report.is_within());
    let heaviest = report.sites[0].heaviest.as_ref().expect("there are pages");
    let page_bytes = heaviest.bytes;
    let text = audit::report::text(&report);
    for line in [
        "Budget: 1 of at most 0 label-missing, OVER.\n".to_owned(),
        "Budget: 1 of at most 1 errors, within.\n".to_owned(),
        format!("Budget: {page_bytes} of at most 10 page-bytes, OVER ({}).\n", heaviest.url),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&audit::report::json(&report)).expect("it is JSON");
    assert_eq!(json["budgets"][0]["is_kept"], false, "{json}");
    assert_eq!(json["budgets"][2]["found"], page_bytes);
    let junit = audit::report::junit(&report);
    assert!(junit.contains("<testsuite name=\"budgets\" tests=\"3\" failures=\"2\""), "{junit}");
    assert!(audit::report::github(&report).contains("::error title=budget::1 of at most 0 label"));
    assert!(audit::report::html(&report).contains("\"is_kept\":false"));
}

#[test]
fn every_format_can_be_read_and_nothing_of_a_site_becomes_markup() {
    let mut site = clean();
    let more = "<p class=a class=b><a href='/x<script>alert(1)</script>&quot;'><i></i></a>";
    with_more(&mut site, more);
    let (served, state) = (Served::begin(site), folder());
    let report = audit(&served, state.path(), |_| {});
    assert!(report.totals.errors > 0);
    let json: serde_json::Value =
        serde_json::from_str(&audit::report::json(&report)).expect("it is JSON");
    assert_eq!(json["sites"][0]["groups"][0]["severity"], "error");
    sarif(&report);
    let junit = audit::report::junit(&report);
    assert!(junit.contains("<failure") && !junit.contains("<script>"), "{junit}");
    let html = audit::report::html(&report);
    assert_eq!(html.matches("<script").count(), 2, "those of the page itself");
    assert!(audit::report::github(&report).starts_with("::error title="));
    assert!(audit::report::text(&report).contains("A link without text [link-text]: 1 page"));
}

/// What SARIF 2.1.0 requires (§3.13, §3.14, §3.19, §3.27), and no rule that isn't described.
fn sarif(report: &Report) {
    let text = audit::report::sarif(report);
    let log: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "wick audit");
    let rules: BTreeSet<&str> = driver["rules"]
        .as_array()
        .expect("rules")
        .iter()
        .map(|rule| rule["id"].as_str().expect("an id"))
        .collect();
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), report.sites[0].findings.len());
    for result in results {
        assert!(result["message"]["text"].is_string(), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("level")));
        assert!(rules.contains(result["ruleId"].as_str().expect("a rule")), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("an address");
        assert!(Url::parse(uri).is_ok(), "{uri}");
        let line = &place["region"]["startLine"];
        assert!(line.is_null() || line.as_u64().expect("a line") > 0, "{result}");
    }
    assert!(rules.contains("html-duplicate-attribute"));
}

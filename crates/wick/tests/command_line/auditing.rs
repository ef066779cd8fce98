//! `audit = true`: what is stored is judged, what is mended is known to be; and an audit whose
//! work is done by `wick audit worker`.

use std::fs;
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use crate::origin::Origin;
use crate::search::{Page, Pages, set, site, visit};
use crate::wick::{Wick, ask, body, open_folder, until};

const ALT: &str = "image-alt";

/// What stands against the site, and what was mended, by rule and path.
fn told(state: &str) -> (Vec<String>, Vec<String>) {
    let ended = Wick::run(&["audit", "status", "--format", "json", "--state", state]).end();
    // Nothing is written before the first page is judged.
    let told: Value = serde_json::from_str(&ended.output).unwrap_or(Value::Null);
    let lines = |name: &str| {
        let all = told["sites"][0][name].as_array().cloned().unwrap_or_default();
        let line = |one: &Value| {
            let url = one["url"].as_str().expect("an address");
            let path = url.splitn(4, '/').nth(3).expect("a path");
            let is_new = if one["is_new"] == true { " new" } else { "" };
            format!("{} /{path}{is_new}", one["rule"].as_str().expect("a rule"))
        };
        all.iter().map(line).filter(|line| line.starts_with(ALT)).collect()
    };
    (lines("findings"), lines("fixed"))
}

#[test]
fn what_is_stored_for_everybody_is_judged_and_what_is_mended_is_known_to_be() {
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One <img src=/a.png width=1 height=1>".into()));
    set(&pages, "/two", Page::Public("Two".into()));
    set(&pages, "/own", Page::Members("Own <img src=/a.png>".into()));
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let state = state.path().display().to_string();
    let admin: SocketAddr = loopback::address();
    let file = folder.path().join("wick.toml");
    let text = format!(
        "admin = \"{admin}\"\n[[site]]\norigin = {:?}\naudit = true\nsearch = true\n\
         search_crawl = false\n",
        origin.url()
    );
    fs::write(&file, text).expect("the folder takes files");
    let file = file.display().to_string();
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &state]);
    let none = Wick::run(&["audit", "status", "--state", &state]).end();
    assert_eq!(none.status.code(), Some(2), "{}", none.output);
    assert!(none.errors.contains("audit = true"), "{}", none.errors);

    visit(address, "/own", "Cookie: member=1\n");
    visit(address, "/two", "");
    visit(address, "/one", "");
    until("the fault is known", || told(&state).0 == ["image-alt /one new"]);
    let api = || -> Value {
        let answer = ask(admin, "GET /api/audit");
        serde_json::from_str(body(&answer)).expect("JSON")
    };
    let found = api();
    assert_eq!(found["sites"][0]["now"]["pages"], 2, "{found}");
    let rules = found["sites"][0]["rules"].as_array().expect("rules").clone();
    let alt = rules.iter().find(|one| one["rule"] == ALT).expect("it is told");
    assert_eq!((&alt["count"], &alt["new"]), (&1.into(), &1.into()), "{found}");
    assert!(alt["example"].is_null(), "addresses are told to who shows a token: {found}");
    assert!(visit(address, "/search", "").contains("<form"), "the search is there beside it");

    set(&pages, "/one", Page::Public("One, mended".into()));
    let purge = ["purge", &format!("http://{address}/one"), "--state", &state];
    assert!(Wick::run(&purge).end().status.success());
    visit(address, "/one", "");
    until("it is known to be mended", || told(&state).1 == ["image-alt /one"]);
    assert_eq!(told(&state).0, [""; 0]);
    let mut module = Value::Null;
    until("a look after that", || {
        let now: Value = serde_json::from_str(body(&ask(admin, "GET /api/now"))).expect("JSON");
        let modules = now["modules"].as_array().cloned().unwrap_or_default();
        module = modules.into_iter().find(|one| one["name"] == "Audit").expect("it is there");
        module["figures"]["judged"].as_u64().expect("a number") >= 3
    });
    assert_eq!(
        (&module["state"], &module["figures"]["pages"]),
        (&"on".into(), &2.into()),
        "{module}"
    );
    wick.stop();
    // It is known when nobody runs, too.
    assert_eq!(told(&state).1, ["image-alt /one"]);
}

/// What a JSON report says of its one site.
fn report_of(options: &[&str]) -> Value {
    let ended = Wick::run(options).end();
    let told: Value = serde_json::from_str(&ended.output).unwrap_or(Value::Null);
    assert!(told["sites"][0]["error"].is_null(), "{}{}", ended.output, ended.errors);
    told["sites"][0].clone()
}

#[test]
fn what_a_running_wick_keeps_is_audited_without_asking_its_origin() {
    let pages = Pages::default();
    set(&pages, "/", Page::Public("Home <a href=/one>One</a> <a href=/new>New</a>".into()));
    set(&pages, "/one", Page::Public("One <img src=/a.png>".into()));
    set(&pages, "/lone", Page::Public("Lone: nobody links to it".into()));
    set(&pages, "/new", Page::Public("New: nobody was there yet".into()));
    let key = "/letter/0123456789abcdef0123456789abcdef";
    set(&pages, key, Page::Public("A letter with a key".into()));
    let origin: Origin = site(&pages);
    let state = open_folder();
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&[&origin.url(), "--state", &kept]);
    for path in ["/", "/one", "/lone", key] {
        visit(address, path, "");
    }
    let asked = |path: &str| {
        let begins = format!("GET {path} ");
        origin.heads().iter().filter(|head| head.starts_with(&begins)).count()
    };
    let before = ["/", "/one", "/lone", key, "/new"].map(asked);
    let url = format!("http://{address}/");
    let own = open_folder();
    let folder = own.path().display().to_string();
    // Its own book beside the state of who is asked would do as well.
    let options = ["audit", &url, "--stored", "--state", &kept, "--format", "json"];
    let site = report_of(&options);
    let after = ["/", "/one", "/lone", key, "/new"].map(asked);
    assert_eq!(after[..4], before[..4], "nothing that is kept is asked for: {:?}", origin.heads());
    assert_eq!((before[4], after[4] > 0), (0, true), "the rest is");
    assert_eq!((&site["pages"], &site["from_cache"]), (&4.into(), &3.into()), "{site}");
    let told = site["notes"].to_string();
    assert!(told.contains("store with which it began: 3."), "{told}");
    let crawled = report_of(&["audit", &url, "--state", &folder, "--format", "json"]);
    assert_eq!(crawled["pages"], 3, "nobody links to the lone one: {crawled}");
    wick.stop();
    let ended = Wick::run(&options).end();
    assert_eq!(ended.status.code(), Some(2), "{}", ended.errors);
    assert!(ended.errors.contains("no Wick is running with the state folder"), "{}", ended.errors);
}

#[test]
fn budgets_and_an_earlier_report_decide_what_a_build_fails_by() {
    let pages = Pages::default();
    set(&pages, "/", Page::Public("Home <img src=/a.png>".into()));
    let origin: Origin = site(&pages);
    let state = open_folder();
    let kept = state.path().display().to_string();
    let url = format!("{}/", origin.url());
    let run = |more: &[&str]| {
        let mut all = vec!["audit", &url, "--state", &kept, "--probes", "0"];
        all.extend(more);
        Wick::run(&all).end()
    };
    let status = |more: &[&str]| {
        let ended = run(more);
        ended.status.code().unwrap_or_else(|| panic!("{}", ended.told()))
    };
    assert_eq!(status(&[]), 1, "a picture that nobody described is an error");
    assert_eq!(status(&["--budget", "errors=99"]), 0, "so many may be");
    assert_eq!(status(&["--budget", "errors=99", "--budget", "image-alt=0"]), 1);
    assert_eq!(status(&["--budget", "errors=99", "--fail-on", "error"]), 1, "both are said");
    let wrong = run(&["--budget", "image-alts=0"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.errors.contains("the nearest is \"image-alt\""), "{}", wrong.errors);

    let deploy = state.path().join("deploy.json");
    let told = run(&["--format", "json"]).output;
    fs::write(&deploy, &told).expect("the folder takes files");
    let deploy = deploy.display().to_string();
    let since = ["--baseline", &deploy, "--fail-on", "new"];
    assert_eq!(status(&since), 0);
    set(&pages, "/", Page::Public("Home <img src=/a.png><img src=/b.png>".into()));
    assert_eq!(status(&[]), 1);
    assert_eq!(status(&["--fail-on", "new"]), 0, "the last run had it");
    assert_eq!(status(&since), 1, "the deploy didn't");
    let elsewhere = ["audit", "http://127.0.0.1:1/", "--state", &kept, "--baseline", &deploy];
    let ended = Wick::run(&elsewhere).end();
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.errors.contains("has no report of http://127.0.0.1:1/"), "{}", ended.errors);
}

#[test]
fn a_worker_that_joins_does_an_audits_work_and_ends_with_it() {
    let pages = Pages::default();
    set(&pages, "/", Page::Public("Home <a href=/one>One</a>".into()));
    set(&pages, "/one", Page::Public("One <img src=/a.png>".into()));
    let origin: Origin = site(&pages);
    let state = open_folder();
    let kept = state.path().display().to_string();
    let token = state.path().join("audit/workers.token").display().to_string();
    let port = loopback::port().to_string();
    let url = format!("{}/", origin.url());
    let audit = ["audit", &url, "--state", &kept, "--workers", &port, "--probes", "0"];
    let audit = Wick::run(&audit);
    until("it listens", || TcpStream::connect(format!("127.0.0.1:{port}")).is_ok());
    let join = format!("http://127.0.0.1:{port}/");
    let worker =
        |token: &str| Wick::run(&["audit", "worker", "--join", &join, "--token-file", token]).end();
    let other = state.path().join("other");
    fs::write(&other, "another-token-than-that\n").expect("the folder takes files");
    let refused = worker(&other.display().to_string());
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.errors.contains("token is not the coordinator's"), "{}", refused.errors);
    let worked = worker(&token);
    assert_eq!(worked.status.code(), Some(0), "{}", worked.errors);
    assert!(worked.errors.contains("addresses of it were asked for here"), "{}", worked.errors);
    let ended = audit.end();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.errors);
    assert!(ended.output.contains("[image-alt]: 1 page"), "{}", ended.output);
    assert!(ended.errors.contains(&format!("wick audit worker --join {join}")), "{}", ended.errors);
    let shown = fs::read_to_string(&token).expect("it was made");
    assert!(!ended.errors.contains(shown.trim()) && !worked.errors.contains(shown.trim()));
}

#[test]
fn what_a_browser_needs_is_said_before_anything_is_asked_for() {
    let state = open_folder();
    let kept = state.path().display().to_string();
    let none = state.path().join("none.js").display().to_string();
    let other = state.path().join("other.js");
    fs::write(&other, "another script").expect("the folder takes files");
    let other = other.display().to_string();
    for (options, expected) in [
        (&["--browser=/no/such/chromium", "--no-sandbox"][..], "--browser=PATH"),
        (&["--browser=sh", "--no-sandbox", "--axe", &none], "--axe FILE"),
        (&["--browser=sh", "--no-sandbox", "--axe", &other], "it says nothing of axe"),
        (&["--axe", &none], "--browser"),
    ] {
        let mut all = vec!["audit", "http://127.0.0.1:1/", "--state", &kept];
        all.extend(options);
        let ended = Wick::run(&all).end();
        assert_eq!(ended.status.code(), Some(2), "{options:?}: {}", ended.errors);
        assert!(ended.errors.contains(expected), "{options:?}: {}", ended.errors);
    }
}

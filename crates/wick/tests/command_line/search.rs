//! A site's search: what was visited is found, and what isn't public any more is not, whatever
//! is asked for and however soon.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tempfile::TempDir;

use crate::origin::Origin;
use crate::serving::{end, upgrade};
use crate::wick::{Wick, ask, body, open_folder, until};

/// How an address is answered.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// To everybody, for ten minutes.
    Public(String),
    /// To each visitor with a session of its own.
    Session(String),
    /// To members, and not marked as theirs; others are refused.
    Members(String),
    /// To members, by `Vary`; to others without its secret.
    ByCookie(String),
    /// To everybody, and not to be found.
    Hidden(String),
    /// The same, told in a field.
    HiddenByField(String),
    /// The same, to each visitor with a session of its own.
    HiddenSession(String),
    /// To everybody, under another address.
    Elsewhere(String, &'static str),
    Gone,
}

pub(crate) type Pages = Arc<Mutex<HashMap<String, Page>>>;

pub(crate) fn answer(status: &str, fields: &str, text: &str, stream: &mut TcpStream) {
    let title = text.split(' ').next().unwrap_or("");
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><title>{title}</title></head><body>\
         <nav>Menu of the site</nav><main><h1>{title}</h1><p>{text}</p></main></body></html>"
    );
    let length = html.len();
    // A visitor who went away is the test's affair.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n{fields}\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{html}"
    );
}

/// An origin with these pages. A POST to one makes it go.
pub(crate) fn site(pages: &Pages) -> Origin {
    let pages = pages.clone();
    let sessions = Mutex::new(0_u64);
    Origin::new(move |head, stream| {
        let line = head.lines().next().unwrap_or("");
        let path = line.split(' ').nth(1).unwrap_or("").to_owned();
        if line.starts_with("POST ") {
            pages.lock().expect("no test panics here").insert(path, Page::Gone);
            return answer("204 No Content", "", "", stream);
        }
        let is_member = head.to_ascii_lowercase().contains("cookie: member=");
        let long = "Cache-Control: max-age=600\r\n";
        let page = pages.lock().expect("no test panics here").get(&path).cloned();
        match page.unwrap_or(Page::Gone) {
            Page::Public(text) => answer("200 OK", long, &text, stream),
            page @ (Page::Session(_) | Page::HiddenSession(_)) => {
                let (text, robots) = match page {
                    Page::HiddenSession(text) => (text, "X-Robots-Tag: none\r\n"),
                    Page::Session(text) => (text, ""),
                    _ => return,
                };
                let mut number = sessions.lock().expect("no test panics here");
                *number += 1;
                let id = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let fields = format!("Set-Cookie: sid={id:032x}; path=/\r\n{robots}");
                answer("200 OK", &fields, &text, stream);
            }
            Page::Members(text) if is_member => answer("200 OK", long, &text, stream),
            Page::Members(_) => answer("403 Forbidden", "", "refused", stream),
            Page::ByCookie(text) => {
                let secret = if is_member { "the secret of" } else { "nothing of" };
                let text = text.replace("the secret of", secret);
                let fields = format!("Vary: Cookie\r\n{long}");
                answer("200 OK", &fields, &text, stream);
            }
            Page::Hidden(text) => {
                let text = format!("{text}<meta name=\"robots\" content=\"noindex\">");
                answer("200 OK", long, &text, stream);
            }
            Page::HiddenByField(text) => {
                answer("200 OK", &format!("X-Robots-Tag: noindex\r\n{long}"), &text, stream);
            }
            Page::Elsewhere(text, to) => {
                let text = format!("{text}<link rel=\"canonical\" href=\"{to}\">");
                answer("200 OK", long, &text, stream);
            }
            Page::Gone => answer("404 Not Found", "", "gone", stream),
        }
    })
}

pub(crate) fn set(pages: &Pages, path: &str, page: Page) {
    pages.lock().expect("no test panics here").insert(path.to_owned(), page);
}

pub(crate) fn settings(folder: &Path, origin: &Origin, lines: &str) -> String {
    let file = folder.join("wick.toml");
    let text = format!("[[site]]\norigin = {:?}\nsearch = true\n{lines}", origin.url());
    fs::write(&file, text).expect("the folder takes files");
    file.display().to_string()
}

pub(crate) fn visit(address: SocketAddr, path: &str, fields: &str) -> String {
    ask(address, &format!("GET {path}\nUser-Agent: Mozilla/5.0\n{fields}"))
}

pub(crate) fn found(address: SocketAddr, query: &str) -> Value {
    let answer = visit(address, &format!("/search.json?q={query}"), "");
    serde_json::from_str(body(&answer)).unwrap_or(Value::Null)
}

/// The addresses that a query brings.
pub(crate) fn paths(address: SocketAddr, query: &str) -> Vec<String> {
    let told = found(address, query);
    let hits = told["hits"].as_array().cloned().unwrap_or_default();
    let base = format!("http://{address}");
    hits.iter()
        .map(|hit| hit["url"].as_str().unwrap_or("").trim_start_matches(&base).to_owned())
        .collect()
}

/// A word that stands on one page only, and is like no other.
fn word(kind: &str, number: usize) -> String {
    let letter = |at: usize| char::from(b'a' + u8::try_from(at % 26).expect("a letter"));
    format!("{kind}{}{}{}", letter(number / 26), letter(number), letter(number * 7 + 3))
}

pub(crate) struct Serving {
    pub(crate) wick: Wick,
    pub(crate) address: SocketAddr,
    pub(crate) state: TempDir,
    folder: TempDir,
}

impl Serving {
    /// Other settings behind the site's, from now on.
    pub(crate) fn reload(&self, origin: &Origin, lines: &str) {
        settings(self.folder.path(), origin, lines);
        let kept = self.state.path().display().to_string();
        let ended = Wick::run(&["reload", "--state", &kept]).end();
        assert!(ended.status.success(), "{}", ended.told());
    }
}

pub(crate) fn serve(origin: &Origin, lines: &str) -> Serving {
    let (folder, state) = (open_folder(), open_folder());
    let file = settings(folder.path(), origin, lines);
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    Serving { wick, address, state, folder }
}

#[test]
fn what_was_visited_is_found_and_shown_in_every_way() {
    let pages = Pages::default();
    set(&pages, "/apples", Page::Public("Apples and <b>pears</b> are fruit & more".into()));
    set(&pages, "/plums", Page::Session("Plums are fruit as well".into()));
    let origin = site(&pages);
    let Serving { wick, address, state, .. } = serve(&origin, "search_crawl = false\n");
    visit(address, "/apples", "");
    visit(address, "/plums", "");
    until("both are found", || paths(address, "fruit").len() == 2);
    assert_eq!(paths(address, "pear"), ["/apples"], "stems");
    assert_eq!(paths(address, "menu"), [""; 0], "what stands around the text");
    let page = visit(address, "/search?q=fruit", "");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    assert!(page.contains("<a href=\"/apples\">Apples</a>"), "{page}");
    assert!(page.contains("are <mark>fruit</mark> &amp; more"), "{page}");
    assert!(page.contains("2 pages found"), "{page}");
    assert!(page.contains("Content-Security-Policy: default-src 'none'"), "{page}");
    let none = visit(address, "/search?q=nothinglikethis", "");
    assert!(none.contains("Nothing was found"), "{none}");
    // What was typed is shown as text.
    let odd = visit(address, "/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E", "");
    assert!(!odd.contains("<script>alert"), "{odd}");
    let blank = visit(address, "/search", "");
    assert!(blank.contains("<form") && !blank.contains("wick-hits"), "{blank}");
    for (path, kind) in [
        ("/search.css", "text/css"),
        ("/search.js", "text/javascript"),
        ("/search.xml", "application/opensearchdescription+xml"),
        ("/search.suggest.json?q=app", "application/x-suggestions+json"),
    ] {
        let answer = visit(address, path, "");
        assert!(answer.contains(&format!("content-type: {kind}")), "{path}: {answer}");
    }
    until("titles are suggested", || {
        visit(address, "/search.suggest.json?q=app", "")
            .ends_with(&format!("[\"app\",[\"Apples\"],[],[\"http://{address}/apples\"]]"))
    });
    // Nobody else's methods, and nobody else's paths.
    assert!(visit(address, "/searching", "").starts_with("HTTP/1.1 404 "));
    let told = |arguments: &[&str]| {
        let kept = state.path().display().to_string();
        Wick::run(&[&["search", "--state", &kept], arguments].concat()).end()
    };
    let status = told(&["status"]).output;
    assert!(status.contains("pages_put") && status.contains("/search"), "{status}");
    let asked = told(&["fruit"]).output;
    assert!(asked.contains("/apples") && asked.contains("/plums"), "{asked}");
    let asked: Value = serde_json::from_str(&told(&["--json", "pears"]).output).expect("JSON");
    assert_eq!(asked["hits"][0]["url"], "/apples");
    wick.stop();
}

#[test]
fn a_feed_of_any_query_costs_a_304_until_something_new_fits() {
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One about gardens".into()));
    set(&pages, "/two", Page::Public("Two about gardens too".into()));
    let origin = site(&pages);
    let Serving { wick, address, .. } = serve(&origin, "search_crawl = false\n");
    visit(address, "/one", "");
    until("it is in the feed", || visit(address, "/search.rss?q=gardens", "").contains("/one<"));
    for kind in ["rss", "atom"] {
        let path = format!("/search.{kind}?q=gardens");
        let first = visit(address, &path, "");
        assert!(first.contains(&format!("content-type: application/{kind}+xml")), "{first}");
        let etag = field(&first, "etag").expect("a tag");
        let again = visit(address, &path, &format!("If-None-Match: {etag}\n"));
        assert!(again.starts_with("HTTP/1.1 304 "), "{again}");
    }
    let etag = field(&visit(address, "/search.atom?q=gardens", ""), "etag").expect("a tag");
    visit(address, "/two", "");
    until("the feed is another", || {
        let again = visit(address, "/search.atom?q=gardens", &format!("If-None-Match: {etag}\n"));
        again.starts_with("HTTP/1.1 200 ") && again.contains("/two")
    });
    wick.stop();
}

pub(crate) fn field(answer: &str, name: &str) -> Option<String> {
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
    line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.trim().to_owned())
}

/// What a search has counted.
pub(crate) fn counter(state: &Path, name: &str) -> u64 {
    let kept = state.display().to_string();
    let told = Wick::run(&["search", "--state", &kept, "--json", "status"]).end().output;
    let told: Value = serde_json::from_str(&told).expect("JSON");
    told[0]["counters"][name].as_u64().expect("a counter")
}

#[test]
fn who_asks_for_a_feed_that_is_as_it_was_makes_nobody_search() {
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One about gardens".into()));
    set(&pages, "/two", Page::Public("Two about houses".into()));
    set(&pages, "/three", Page::Public("Three about gardening and gardens".into()));
    let origin = site(&pages);
    let Serving { wick, address, state, .. } = serve(&origin, "search_crawl = false\n");
    visit(address, "/one", "");
    until("it is found", || paths(address, "gardens") == ["/one"]);
    let feeds = ["/search.rss?q=gardens", "/search.atom?q=gardens", "/search.rss?q=houses"];
    let again = |path: &str, condition: &str| visit(address, path, &format!("{condition}\n"));
    let conditions = |path: &str| {
        let answer = visit(address, path, "");
        let tag = field(&answer, "etag").expect("a tag");
        let since = field(&answer, "last-modified").unwrap_or_default();
        [format!("If-None-Match: {tag}"), format!("If-Modified-Since: {since}")]
    };
    let known: Vec<_> = feeds.iter().map(|path| conditions(path)).collect();
    let searches = counter(state.path(), "searches");
    for (path, conditions) in feeds.iter().zip(&known) {
        for condition in conditions {
            for _ in 0..5 {
                let answer = again(path, condition);
                assert!(answer.starts_with("HTTP/1.1 304 "), "{path} {condition}: {answer}");
                assert!(answer.contains("etag: ") || answer.contains("ETag: "), "{answer}");
            }
        }
        // What is coded has another tag, which is known as well.
        let tag = conditions[0].trim_start_matches("If-None-Match: ").trim_matches('"');
        let coded = format!("Accept-Encoding: gzip\nIf-None-Match: W/\"{tag}-wick\"");
        let answer = again(path, &coded);
        assert!(answer.starts_with("HTTP/1.1 304 ") && answer.contains("-wick\""), "{answer}");
    }
    assert_eq!(counter(state.path(), "searches"), searches, "nobody searched");
    assert_eq!(counter(state.path(), "feeds_unchanged"), 33);
    // What fits another feed leaves this one alone.
    visit(address, "/two", "");
    until("the other feed is another", || again(feeds[2], &known[2][0]).contains("/two<"));
    let searches = counter(state.path(), "searches");
    assert!(again(feeds[0], &known[0][0]).starts_with("HTTP/1.1 304 "));
    assert!(again(feeds[1], &known[1][1]).starts_with("HTTP/1.1 304 "));
    assert_eq!(counter(state.path(), "searches"), searches, "nobody searched");
    // What fits, and what doesn't any more.
    visit(address, "/three", "");
    until("both feeds are others", || {
        again(feeds[0], &known[0][0]).contains("/three<")
            && again(feeds[1], &known[1][1]).contains("/three")
    });
    let known = conditions(feeds[0]);
    set(&pages, "/three", Page::Gone);
    ask(address, "PURGE /three");
    until("it is gone", || {
        let answer = again(feeds[0], &known[0]);
        answer.starts_with("HTTP/1.1 200 ") && !answer.contains("/three<")
    });
    wick.stop();
}

/// Everything that is shown of a query to anybody.
fn surfaces(address: SocketAddr, query: &str) -> Vec<String> {
    ["/search", "/search.json", "/search.suggest.json", "/search.rss", "/search.atom"]
        .iter()
        .map(|path| visit(address, &format!("{path}?q={query}"), ""))
        .collect()
}

/// Whether a page's text or address is in anything that a search for its word shows.
fn leaks(address: SocketAddr, word: &str, path: &str) -> bool {
    let first = &word[..word.len() - 2];
    [word.to_owned(), first.to_owned(), format!("{first}*")].iter().any(|query| {
        surfaces(address, query)
            .iter()
            .any(|shown| shown.contains(path) || shown.contains(&format!("secret of {word}")))
    })
}

/// The name of a kind of pages, and what makes one.
type Kind = (&'static str, fn(String) -> Page);

/// Pages of each kind.
const EACH: usize = 30;

#[test]
fn nothing_is_found_that_is_not_public() {
    let pages = Pages::default();
    let text = |word: &str| format!("{word} and the secret of {word} is told here");
    let kinds: [Kind; 7] = [
        ("pub", Page::Public),
        ("ses", Page::Session),
        ("mem", Page::Members),
        ("coo", Page::ByCookie),
        ("hid", Page::Hidden),
        ("fie", Page::HiddenByField),
        ("hse", Page::HiddenSession),
    ];
    for (kind, page) in kinds {
        for number in 0..EACH {
            set(&pages, &format!("/{kind}/{number}/"), page(text(&word(kind, number))));
        }
    }
    set(&pages, "/alias", Page::Elsewhere(text("aliasword"), "/pub/0/"));
    let origin = site(&pages);
    let Serving { wick, address, .. } = serve(&origin, "search_crawl = false\n");
    visit(address, "/alias", "");
    for (kind, _) in kinds {
        for number in 0..EACH {
            let member = if kind == "mem" { "Cookie: member=1\n" } else { "" };
            visit(address, &format!("/{kind}/{number}/"), member);
            visit(address, &format!("/{kind}/{number}/"), "Cookie: member=1\n");
        }
    }
    for kind in ["pub", "ses", "coo"] {
        for number in 0..EACH {
            let (word, path) = (word(kind, number), format!("/{kind}/{number}/"));
            until(&format!("{word} is found"), || {
                let is_found = paths(address, &word) == [path.clone()];
                // On a busy machine it may not have been found out yet whether it is everybody's,
                // and then only the next who comes, or the crawl, has that tried again.
                if !is_found {
                    visit(address, &path, "");
                }
                is_found
            });
        }
    }
    for number in 0..EACH {
        let word = word("coo", number);
        assert!(!leaks(address, &word, "nowhere"), "what members are given of {word} leaks");
    }
    for kind in ["mem", "hid", "fie", "hse"] {
        for number in 0..EACH {
            let word = word(kind, number);
            assert!(!leaks(address, &word, &format!("/{kind}/{number}/")), "{word} leaks");
        }
    }
    assert!(!leaks(address, "aliasword", "/alias"));
    wick.stop();
}

#[test]
fn what_was_public_is_not_found_once_it_is_revoked() {
    let pages = Pages::default();
    let text = |word: &str| format!("{word} and the secret of {word} is told here");
    for number in 0..EACH {
        set(&pages, &format!("/pub/{number}/"), Page::Public(text(&word("pub", number))));
        set(&pages, &format!("/ses/{number}/"), Page::Session(text(&word("ses", number))));
    }
    let origin = site(&pages);
    let Serving { wick, address, .. } = serve(&origin, "search_crawl = false\n");
    for kind in ["pub", "ses"] {
        for number in 0..EACH {
            visit(address, &format!("/{kind}/{number}/"), "");
        }
    }
    for kind in ["pub", "ses"] {
        for number in 0..EACH {
            let (word, path) = (word(kind, number), format!("/{kind}/{number}/"));
            until(&format!("{word} is found"), || paths(address, &word) == [path.clone()]);
        }
    }
    for number in 0..EACH {
        for kind in ["pub", "ses"] {
            let (word, path) = (word(kind, number), format!("/{kind}/{number}/"));
            let after = match number % 5 {
                0 => Page::Gone,
                1 => Page::Members(text(&word)),
                2 => Page::Hidden(text(&word)),
                3 => Page::HiddenByField(text(&word)),
                _ => Page::Public(format!("{word} and nothing more")),
            };
            // As the app says so, or as somebody writes to the page itself.
            match number % 2 {
                0 => {
                    set(&pages, &path, after);
                    let told = ask(address, &format!("PURGE {path}"));
                    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
                }
                _ => {
                    let told = ask(address, &format!("POST {path}\nContent-Length: 0"));
                    assert!(told.starts_with("HTTP/1.1 204 "), "{told}");
                }
            }
            let shown = surfaces(address, &word);
            let secret = format!("secret of {word}");
            assert!(shown.iter().all(|it| !it.contains(&secret)), "{word}: {shown:?}");
        }
    }
    // What changed and stays public is found by what it says now.
    assert_eq!(paths(address, &word("pub", 4)), ["/pub/4/"]);
    for number in 0..EACH {
        for kind in ["pub", "ses"] {
            let word = word(kind, number);
            let is_changed = number % 10 == 4;
            let path = if is_changed { "nowhere" } else { &*format!("/{kind}/{number}/") };
            assert!(!leaks(address, &word, path), "{word} leaks");
        }
    }
    wick.stop();
}

#[test]
fn the_index_is_there_after_a_restart_and_is_asked_about_before_it_is_shown() {
    let pages = Pages::default();
    set(&pages, "/stays", Page::Public("Stays about harbours".into()));
    set(&pages, "/goes", Page::Public("Goes about harbours".into()));
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let kept = state.path().display().to_string();
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    visit(address, "/stays", "");
    visit(address, "/goes", "");
    until("both are found", || paths(address, "harbours").len() == 2);
    wick.stop();
    set(&pages, "/goes", Page::Gone);
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    until("the index is open", || !paths(address, "harbours").is_empty());
    assert_eq!(paths(address, "harbours"), ["/stays"], "before anybody visited a page");
    wick.stop();
}

#[test]
fn what_the_site_names_is_asked_for_and_what_it_forbids_is_not() {
    let pages = Pages::default();
    set(&pages, "/", Page::Public("Front <a href=/linked>more</a>".into()));
    set(&pages, "/linked", Page::Public("Linked about lighthouses".into()));
    set(&pages, "/named", Page::Public("Named about lighthouses".into()));
    set(&pages, "/forbidden/x", Page::Public("Forbidden about lighthouses".into()));
    let inner = site(&pages);
    let inner_address = inner.address;
    let origin = Origin::new(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("");
        let text = match path {
            "/robots.txt" => "user-agent: *\ndisallow: /forbidden\nsitemap: /maps/all.xml\n",
            "/maps/all.xml" => {
                "<sitemapindex><sitemap><loc>/maps/1.xml</loc></sitemap></sitemapindex>"
            }
            "/maps/1.xml" => {
                "<urlset><url><loc>http://named.test/named</loc></url>\
                 <url><loc>/forbidden/x</loc></url></urlset>"
            }
            other => {
                let answer = ask(inner_address, &format!("GET {other}"));
                let _ = stream.write_all(answer.as_bytes());
                return;
            }
        };
        let length = text.len();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{text}"
        );
    });
    let Serving { wick, address, .. } = serve(&origin, "search_path = \"/find\"\n");
    // Whoever comes first tells by which name the site is known.
    visit(address, "/nothing", "");
    let found = |query: &str| {
        let answer = visit(address, &format!("/find.json?q={query}"), "");
        let told: Value = serde_json::from_str(body(&answer)).unwrap_or(Value::Null);
        told["total"].as_u64().unwrap_or(0)
    };
    until("both pages are found", || found("lighthouses") == 2);
    assert!(visit(address, "/search", "").starts_with("HTTP/1.1 404 "), "that is the app's");
    assert!(!origin.heads().iter().any(|head| head.contains("/forbidden")), "it was obeyed");
    wick.stop();
}

#[test]
fn a_reload_moves_the_search_and_an_upgrade_hands_it_over() {
    let pages = Pages::default();
    set(&pages, "/boats", Page::Public("Boats about harbours".into()));
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let kept = state.path().display().to_string();
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    visit(address, "/boats", "");
    until("it is found", || paths(address, "harbours") == ["/boats"]);
    let order = |what: &str| {
        let ended = Wick::run(&[what, "--state", &kept]).end();
        assert!(ended.status.success(), "{what}: {}", ended.told());
    };
    settings(folder.path(), &origin, "search_crawl = false\nsearch_path = \"/find\"\n");
    order("reload");
    assert!(visit(address, "/find?q=harbours", "").contains("href=\"/boats\""));
    assert!(visit(address, "/search", "").starts_with("HTTP/1.1 404 "), "the app has it again");
    let text = format!("[[site]]\norigin = {:?}\n", origin.url());
    fs::write(&file, text).expect("the folder takes files");
    order("reload");
    assert!(visit(address, "/find", "").starts_with("HTTP/1.1 404 "));
    settings(folder.path(), &origin, "search_crawl = false\n");
    order("reload");
    until("it is found again", || paths(address, "harbours") == ["/boats"]);
    let serving = upgrade(&kept);
    // The one before is gone, or is about to be; its index is the new one's.
    until("the new one finds it", || paths(address, "harbours") == ["/boats"]);
    set(&pages, "/ships", Page::Public("Ships about harbours".into()));
    visit(address, "/ships", "");
    until("the new one takes pages in", || paths(address, "harbours").len() == 2);
    end(serving);
    wick.end();
}

/// What the sitemap names, in order.
fn mapped(address: SocketAddr) -> Vec<String> {
    let answer = visit(address, "/sitemap.xml", "");
    let base = format!("http://{address}");
    let mut all: Vec<String> = body(&answer)
        .split("<loc>")
        .skip(1)
        .filter_map(|rest| rest.split_once("</loc>"))
        .map(|(url, _)| url.trim_start_matches(&base).to_owned())
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn a_site_without_a_sitemap_has_one_of_what_is_public() {
    let pages = Pages::default();
    set(&pages, "/boats?a=1&b=2", Page::Public("Boats about harbours".into()));
    set(&pages, "/ships", Page::Session("Ships about harbours".into()));
    set(&pages, "/members", Page::Members("Members about harbours".into()));
    set(&pages, "/hidden", Page::Hidden("Hidden about harbours".into()));
    let origin = site(&pages);
    let serving = serve(&origin, "search_crawl = false\n");
    let address = serving.address;
    visit(address, "/boats?a=1&b=2", "");
    for path in ["/ships", "/members", "/hidden"] {
        visit(address, path, "Cookie: member=1\n");
        visit(address, path, "");
    }
    until("both are in it", || mapped(address) == ["/boats?a=1&amp;b=2", "/ships"]);
    let answer = visit(address, "/sitemap.xml", "");
    assert!(answer.contains("content-type: application/xml"), "{answer}");
    let etag = field(&answer, "etag").expect("a tag");
    let again = visit(address, "/sitemap.xml", &format!("If-None-Match: {etag}\n"));
    assert!(again.starts_with("HTTP/1.1 304 "), "{again}");
    assert!(visit(address, "/sitemap.xml?part=2", "").starts_with("HTTP/1.1 404 "));
    // What became doubtful isn't named from that moment on.
    set(&pages, "/ships", Page::Members("Ships about harbours".into()));
    ask(address, "PURGE /ships");
    assert_eq!(mapped(address), ["/boats?a=1&amp;b=2"]);
    serving.reload(&origin, "search_crawl = false\nsearch_sitemap = false\n");
    assert!(visit(address, "/sitemap.xml", "").starts_with("HTTP/1.1 404 "), "the app's answer");
    serving.wick.stop();
}

#[test]
fn a_sitemap_of_the_sites_own_is_left_alone() {
    let pages = Pages::default();
    set(&pages, "/boats", Page::Public("Boats about harbours".into()));
    set(&pages, "/sitemap.xml", Page::Public("Of the site itself".into()));
    let origin = site(&pages);
    let serving = serve(&origin, "search_crawl = false\n");
    visit(serving.address, "/boats", "");
    // Once by who looks for one, once or never by visitors.
    until("it was looked for", || origin.heads().iter().any(|head| head.contains("/sitemap.xml")));
    until("it is found", || paths(serving.address, "harbours") == ["/boats"]);
    for _ in 0..3 {
        assert!(visit(serving.address, "/sitemap.xml", "").contains("Of the site itself"));
    }
    serving.wick.stop();
}

#[test]
fn pages_in_other_encodings_are_found_and_links_that_nobody_is_to_follow_are_not_followed() {
    let origin = Origin::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("");
        let (fields, body): (&str, &[u8]) = match path {
            "/" => (
                "Content-Type: text/html\r\nX-Robots-Tag: nofollow\r\n",
                b"<title>Front</title><p>Lighthouses <a href=/behind>behind</a>",
            ),
            "/behind" => ("Content-Type: text/html\r\n", b"<title>Behind</title><p>Lighthouses"),
            "/told" => (
                "Content-Type: text/html; charset=euc-kr\r\n",
                b"<title>\xc7\xd1\xb1\xdb</title><p>\xb5\xee\xb4\xeb",
            ),
            "/says" => (
                "Content-Type: text/html\r\n",
                b"<meta charset=windows-1252><title>Caf\xe9</title><p>Cr\xe8me br\xfbl\xe9e",
            ),
            _ => {
                let _ = write!(
                    stream,
                    "HTTP/1.1 404 None\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                return;
            }
        };
        let length = body.len();
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\n{fields}Cache-Control: max-age=600\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(body);
    });
    let Serving { wick, address, state, .. } = serve(&origin, "");
    visit(address, "/told", "");
    visit(address, "/says", "");
    until("both are found", || {
        paths(address, "%EB%93%B1%EB%8C%80") == ["/told"]
            && paths(address, "cr%C3%A8me+brul%C3%A9e") == ["/says"]
    });
    assert_eq!(found(address, "cr%C3%A8me")["hits"][0]["title"], "Café");
    let kept = state.path().display().to_string();
    let status = || Wick::run(&["search", "--state", &kept, "status"]).end().output;
    until("the crawl is done", || status().contains("is done: asked for"));
    // What the crawl read last is found a moment later.
    until("the front page is found", || paths(address, "lighthouses") == ["/"]);
    assert!(!origin.heads().iter().any(|head| head.starts_with("GET /behind ")));
    wick.stop();
}

//! A site's search beyond its words: fewer pages by what they are, other orders, one hit a topic,
//! words that mean the same, and what is often asked for.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;

use serde_json::Value;

use crate::origin::Origin;
use crate::search::{Page, Pages, Serving, field, found, paths, serve, set, site, visit};
use crate::wick::{Wick, ask, body, until};

/// An origin with these pages, as they stand.
fn shelf(pages: &[(&'static str, &'static str)]) -> Origin {
    let pages: HashMap<&str, &str> = pages.iter().copied().collect();
    Origin::new(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("");
        let is_writing = head.starts_with("POST ");
        let (status, html) = match pages.get(path) {
            Some(html) if !is_writing => ("200 OK", *html),
            _ => (if is_writing { "204 No Content" } else { "404 Not Found" }, ""),
        };
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n\
             Cache-Control: max-age=600\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{html}",
            html.len()
        );
    })
}

const SHELF: &[(&str, &str)] = &[
    (
        "/forum/topic/5",
        "<html lang=en-GB><title>Hats - Board</title><main>Hats at harbours \
         <p>and more <a href='/forum/topic/5?page=2'>2</a></main>",
    ),
    (
        "/forum/topic/5?page=2",
        "<html lang=en-GB><title>Hats - Page 2 - Board</title><main>More of harbours</main>",
    ),
    (
        "/wiki/harbours",
        "<html lang=en><meta property=article:published_time content=2001-02-03>\
         <title>Harbours</title><main>All about harbours</main>",
    ),
    (
        "/wiki/haefen",
        "<html lang=de><meta property=article:published_time content=2002-02-03>\
         <title>Häfen</title><main>Die Häfen heißen dort harbours</main>",
    ),
    ("/%3Cb%3E/x", "<title>Odd</title><main>An odd place for harbours</main>"),
];

fn told(address: SocketAddr, query: &str) -> Value {
    let answer = visit(address, &format!("/search.json?{query}"), "");
    serde_json::from_str(body(&answer)).unwrap_or(Value::Null)
}

fn targets(address: SocketAddr, query: &str) -> Vec<String> {
    let base = format!("http://{address}");
    let told = told(address, query);
    let hits = told["hits"].as_array().cloned().unwrap_or_default();
    hits.iter().map(|hit| hit["url"].as_str().unwrap_or("").replace(&base, "")).collect()
}

fn sorted(mut all: Vec<String>) -> Vec<String> {
    all.sort_unstable();
    all
}

#[test]
fn what_fits_is_narrowed_sorted_and_one_hit_a_topic() {
    let origin = shelf(SHELF);
    let Serving { wick, address, state, .. } = serve(&origin, "search_crawl = false\n");
    for (path, _) in SHELF {
        visit(address, path, "");
    }
    until("all are found", || told(address, "q=harbours")["total"] == 4);
    let all = told(address, "q=harbours");
    let facet = |name: &str, value: &str, count: u64| {
        let values = all["facets"][name].as_array().cloned().unwrap_or_default();
        let wanted = serde_json::json!({ "value": value, "count": count });
        assert!(values.contains(&wanted), "{name} {value}: {all}");
    };
    facet("section", "wiki", 2);
    facet("section", "forum", 1);
    facet("lang", "en", 2);
    facet("lang", "de", 1);
    facet("age", "day", 2);
    for (narrow, expected) in [
        ("section=wiki", &["/wiki/haefen", "/wiki/harbours"][..]),
        ("lang=de", &["/wiki/haefen"]),
        ("lang=en-US&section=wiki", &["/wiki/harbours"]),
        ("age=week&section=wiki", &[]),
        ("lang=xx", &[]),
        ("age=nonsense&lang=de", &["/wiki/haefen"]),
        ("section=wiki&page=2", &[]),
    ] {
        let found = sorted(targets(address, &format!("q=harbours&{narrow}")));
        assert_eq!(found, expected, "{narrow}");
    }
    let newest = targets(address, "q=harbours&sort=newest");
    assert_eq!(newest[2..], ["/wiki/haefen", "/wiki/harbours"], "{newest:?}");
    // One hit stands for its topic, and leads to the others.
    let hits = all["hits"].as_array().cloned().unwrap_or_default();
    let topic = hits.iter().find_map(|hit| hit["topic"].as_str()).expect("a topic").to_owned();
    let each = targets(address, &format!("q=harbours&topic={topic}"));
    assert_eq!(sorted(each), ["/forum/topic/5", "/forum/topic/5?page=2"]);
    let page = visit(address, "/search?q=harbours&lang=de&sort=newest", "");
    for expected in [
        "<strong>Newest first</strong>",
        "<strong lang=\"de\">Deutsch</strong>",
        "href=\"/search?q=harbours&amp;sort=newest\">All</a>",
        "<input type=\"hidden\" name=\"lang\" value=\"de\">",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let odd = visit(address, "/search?q=harbours&section=%22%3E%3Cscript%3E", "");
    assert!(odd.contains("among these pages") && !odd.contains("\"><script>"), "{odd}");
    // A feed has each page by itself, whatever else is asked.
    let feed = visit(address, "/search.rss?q=harbours&section=wiki&sort=none", "");
    assert_eq!(feed.matches("<item>").count(), 5, "{feed}");
    // The owner learns what was missed, and not what somebody was about to write.
    (0..3).for_each(|_| drop(told(address, "q=lighthouse+keepers")));
    told(address, "q=lighth&typing=1");
    let kept = state.path().display().to_string();
    let queries = Wick::run(&["search", "--state", &kept, "--json", "queries"]).end().output;
    let queries: Value = serde_json::from_str(&queries).expect("JSON");
    let missed = serde_json::json!({ "query": "lighthouse keepers", "asked": 3, "missed": 3 });
    let all_missed = queries[0]["missed"].as_array().expect("a list");
    assert!(all_missed.contains(&missed), "{queries}");
    assert!(!queries.to_string().contains("\"lighth\""), "{queries}");
    // After a writing nothing is counted that wasn't asked for again.
    ask(address, "POST /elsewhere\nContent-Length: 0");
    until("it is counted again", || told(address, "q=harbours")["facets"] == all["facets"]);
    wick.stop();
}

#[test]
fn words_that_the_owner_says_mean_the_same_find_each_other_also_in_feeds() {
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One about television".into()));
    set(&pages, "/two", Page::Public("Two about the moving pictures at home".into()));
    let origin = site(&pages);
    let lines =
        "search_crawl = false\nsearch_synonyms = [[\"tv\", \"television\", \"moving pictures\"]]\n";
    let serving = serve(&origin, lines);
    let address = serving.address;
    visit(address, "/one", "");
    until("it is found", || paths(address, "tv") == ["/one"]);
    let feed = visit(address, "/search.rss?q=tv", "");
    assert!(feed.contains("/one<"), "{feed}");
    let tag = field(&feed, "etag").expect("a tag");
    visit(address, "/two", "");
    until("the feed is another", || {
        let again = visit(address, "/search.rss?q=tv", &format!("If-None-Match: {tag}\n"));
        again.starts_with("HTTP/1.1 200 ") && again.contains("/two<")
    });
    assert_eq!(sorted(paths(address, "tv")), ["/one", "/two"]);
    assert!(found(address, "tv")["relaxed"].is_null());
    assert!(!found(address, "%22tv%22")["relaxed"].is_null(), "it is meant as it is written");
    serving.reload(&origin, "search_crawl = false\n");
    assert_eq!(paths(address, "tv"), [""; 0]);
    serving.wick.stop();
}

#[test]
fn of_two_pages_that_fit_alike_the_one_that_is_asked_for_comes_first() {
    let pages = Pages::default();
    for path in ["/one", "/two"] {
        set(&pages, path, Page::Public(format!("Lanterns are lit at {path}")));
    }
    let origin = site(&pages);
    let Serving { wick, address, .. } = serve(&origin, "search_crawl = false\n");
    until("both are found", || {
        visit(address, "/one", "");
        visit(address, "/two", "");
        paths(address, "lanterns").len() == 2
    });
    let last = paths(address, "lanterns").pop().expect("two");
    until("it comes first", || {
        (0..20).for_each(|_| drop(visit(address, &last, "")));
        paths(address, "lanterns").first() == Some(&last)
    });
    wick.stop();
}

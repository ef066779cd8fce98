//! A site whose text a search engine keeps: the same is found and the same isn't, and where the
//! engine is away that is said, and what it lost is read again.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::origin::Origin;
use crate::search::{Page, Pages, Serving, field, paths, serve, set, settings, site, visit};
use crate::wick::{Wick, ask, open_folder, until};

/// Sphinx with a real-time index, which is lost when it is killed.
struct Searchd {
    child: Option<Child>,
    port: u16,
    folder: TempDir,
}

impl Searchd {
    /// None, where it isn't installed.
    fn start() -> Option<Self> {
        if Command::new("searchd").arg("--help").stdout(Stdio::null()).status().is_err() {
            eprintln!("skipped: searchd isn't there; scripts/setup test installs it");
            return None;
        }
        let (folder, port) = (open_folder(), loopback::port());
        let place = folder.path().display();
        let lines = |setting: &str, names: &[&str]| -> String {
            names.iter().map(|name| format!(" {setting} = {name}\n")).collect()
        };
        let text = format!(
            "index pages {{\n type = rt\n path = {place}/pages\n{}{}{} min_infix_len = 2\n}}\n\
             index bare {{\n type = rt\n path = {place}/bare\n rt_field = title\n \
             rt_attr_bigint = sum\n}}\n\
             searchd {{\n listen = 127.0.0.1:{port}:mysql41\n pid_file = {place}/pid\n \
             log = {place}/log\n binlog_path =\n workers = threads\n}}\n",
            lines("rt_field", &["title", "headings", "body", "address"]),
            lines("rt_attr_string", &["url", "host", "language", "section"]),
            lines("rt_attr_string", &["shown_title", "shown_text"])
                + &lines("rt_attr_bigint", &["changed", "seen", "sum", "topic"]),
        );
        fs::write(folder.path().join("sphinx.conf"), text).expect("it can be written");
        let mut searchd = Self { child: None, port, folder };
        searchd.begin();
        Some(searchd)
    }

    fn begin(&mut self) {
        let conf = self.folder.path().join("sphinx.conf");
        let mut command = Command::new("searchd");
        command.args(["--nodetach", "--config"]).arg(conf).stdout(Stdio::null());
        self.child = Some(command.spawn().expect("it begins"));
        until("searchd is there", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The setting of a site whose text is in this index.
    fn setting(&self, index: &str) -> String {
        let port = self.port;
        format!("search_engine = \"sphinxql://wick:hush@127.0.0.1:{port}/{index}\"\n")
    }
}

impl Drop for Searchd {
    fn drop(&mut self) {
        self.kill();
    }
}

fn status(serving: &Serving) -> String {
    let kept = serving.state.path().display().to_string();
    Wick::run(&["search", "--state", &kept, "status"]).end().output
}

fn begin(searchd: &Searchd, pages: &Pages) -> (Origin, Serving) {
    let origin = site(pages);
    let lines = format!("search_crawl = false\n{}", searchd.setting("pages"));
    let serving = serve(&origin, &lines);
    (origin, serving)
}

fn excerpt(address: SocketAddr, query: &str) -> String {
    let told = crate::search::found(address, query);
    told["hits"][0]["excerpt"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn pages_in_an_engine_are_found_by_what_they_say_now_and_not_once_they_are_private() {
    let Some(searchd) = Searchd::start() else { return };
    let pages = Pages::default();
    set(&pages, "/apples", Page::Public("Apples and it's \\ red pears are fruit".into()));
    set(&pages, "/plums", Page::Session("Plums are fruit as well".into()));
    set(&pages, "/club", Page::Members("Club of members who eat fruit".into()));
    let (_origin, serving) = begin(&searchd, &pages);
    let address = serving.address;
    visit(address, "/apples", "");
    visit(address, "/plums", "");
    visit(address, "/club", "Cookie: member=1\n");
    until("both are found", || paths(address, "fruit").len() == 2);
    for (query, expected) in [
        ("%22red+pears%22", vec!["/apples"]),
        ("fruit+-plums", vec!["/apples"]),
        ("title:plums", vec!["/plums"]),
        ("appl*", vec!["/apples"]),
        ("apples+OR+nothing", vec!["/apples"]),
        ("it's", vec!["/apples"]),
        ("members", vec![]),
        ("-fruit", vec![]),
        ("')+OR+id+IN+(1)--+%5C", vec![]),
    ] {
        assert_eq!(paths(address, query), expected, "{query}");
    }
    assert_eq!(
        excerpt(address, "pear*"),
        "Apples\nApples and it&#39;s \\ red <mark>pears</mark> are fruit"
    );
    let page = visit(address, "/search?q=fruit", "");
    assert!(page.contains("<a href=\"/apples\">Apples</a>"), "{page}");
    assert!(visit(address, "/search.suggest.json?q=app", "").contains("[\"Apples\"]"));
    let feed = visit(address, "/search.rss?q=fruit", "");
    assert!(feed.contains("/plums<") && field(&feed, "etag").is_some(), "{feed}");

    set(&pages, "/apples", Page::Public("Apples are quinces now".into()));
    ask(address, "PURGE /apples");
    until("it is found by its new text", || paths(address, "quinces") == ["/apples"]);
    assert_eq!(paths(address, "pears"), [""; 0], "its old text");
    set(&pages, "/plums", Page::Members("Plums are for members".into()));
    ask(address, "PURGE /plums");
    for query in ["plums", "fruit", "title:plums"] {
        assert_eq!(paths(address, query), [""; 0], "what became private");
    }
    let told = status(&serving);
    assert!(told.contains(&format!("sphinxql://127.0.0.1:{}/pages", searchd.port)), "{told}");
    assert!(!told.contains("hush"), "{told}");
    let ended = serving.wick.stop();
    assert!(!ended.told().contains("hush"), "{}", ended.told());
}

#[test]
fn an_engine_that_is_away_is_told_of_and_what_it_lost_is_read_again() {
    let Some(mut searchd) = Searchd::start() else { return };
    let pages = Pages::default();
    set(&pages, "/apples", Page::Public("Apples are fruit".into()));
    set(&pages, "/plums", Page::Public("Plums are fruit".into()));
    let (_origin, serving) = begin(&searchd, &pages);
    let address = serving.address;
    visit(address, "/apples", "");
    until("it is found", || paths(address, "fruit") == ["/apples"]);
    let is_count = |line: &str| line.split_whitespace().eq(["pages", "1"]);
    until("it is counted", || status(&serving).lines().any(is_count));

    searchd.kill();
    let answer = visit(address, "/search?q=fruit", "");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let place = searchd.port.to_string();
    assert!(field(&answer, "retry-after").is_some() && !answer.contains(&place), "{answer}");
    let told = status(&serving);
    let engine = format!("the search engine sphinxql://127.0.0.1:{}/pages is away", searchd.port);
    assert!(told.contains(&engine) && told.contains("start it"), "{told}");
    // What comes meanwhile waits.
    visit(address, "/plums", "");

    searchd.begin();
    until("all is found again", || paths(address, "fruit").len() == 2);
    assert!(!status(&serving).contains("is away"));
    serving.wick.stop();
}

#[test]
fn wick_check_says_which_lines_an_index_needs() {
    let Some(searchd) = Searchd::start() else { return };
    let pages = Pages::default();
    let origin = site(&pages);
    let folder = open_folder();
    for (index, expected) in [
        ("pages", vec!["kept by sphinxql://127.0.0.1:"]),
        ("bare", vec!["has an index bare without headings, body", "rt_attr_bigint = topic\n"]),
        ("nowhere", vec!["has no index nowhere", "CREATE TABLE nowhere (title text indexed"]),
    ] {
        let file = settings(folder.path(), &origin, &searchd.setting(index));
        let told = Wick::run(&["check", "--config", &file]).end().output;
        for part in expected {
            assert!(told.contains(part) && !told.contains("hush"), "{index}: {told}");
        }
        assert_eq!(told.contains("make the index by these lines"), index != "pages", "{told}");
    }
}

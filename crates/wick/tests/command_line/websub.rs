//! A hub (WebSub) is told which feeds of a search have changed, and no others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use crate::search::{Page, Pages, Serving, paths, serve, set, site, visit};
use crate::wick::{open_folder, until};

/// A hub that refuses the first that it is told.
struct Hub {
    address: SocketAddr,
    told: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let told = Arc::<Mutex<Vec<String>>>::default();
        let heard = told.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                let (mut length, mut line) = (0, String::new());
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    let lower = line.to_ascii_lowercase();
                    if let Some(text) = lower.strip_prefix("content-length:") {
                        length = text.trim().parse().expect("a number");
                    }
                    line.clear();
                }
                let mut form = vec![0; length];
                reader.read_exact(&mut form).expect("a form");
                let mut heard = heard.lock().expect("no test panics here");
                heard.push(String::from_utf8(form).expect("text"));
                let status =
                    if heard.len() == 1 { "503 Service Unavailable" } else { "202 Accepted" };
                let fields = "Content-Length: 0\r\nConnection: close";
                // Wick may be gone.
                let _ = write!(stream, "HTTP/1.1 {status}\r\n{fields}\r\n\r\n");
            }
        });
        Self { address, told }
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().expect("no test panics here").clone()
    }
}

#[test]
fn a_hub_is_told_of_feeds_that_have_changed_and_asked_again_where_it_fails() {
    let hub = Hub::start();
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One about gardens".into()));
    set(&pages, "/two", Page::Public("Two about gardens".into()));
    set(&pages, "/three", Page::Public("Three about houses".into()));
    let origin = site(&pages);
    let lines = format!("search_crawl = false\nwebsub = \"http://{}/hub\"\n", hub.address);
    let Serving { wick, address, .. } = serve(&origin, &lines);
    visit(address, "/one", "");
    until("it is found", || paths(address, "gardens") == ["/one"]);
    let feed = visit(address, "/search.rss?q=gardens", "");
    let own = format!("http://{address}/search.rss?q=gardens");
    let named = format!("<http://{}/hub>; rel=\"hub\"", hub.address);
    assert!(feed.contains(&named) && feed.contains(&format!("<{own}>; rel=\"self\"")), "{feed}");
    let element = format!("<atom:link rel=\"hub\" href=\"http://{}/hub\"/>", hub.address);
    assert!(feed.contains(&element), "{feed}");
    let other = visit(address, "/search.atom?q=houses", "");
    assert!(other.contains(&format!("<link rel=\"hub\" href=\"http://{}/hub\"/>", hub.address)));
    assert!(hub.told().is_empty(), "nothing has changed");
    visit(address, "/two", "");
    until("it is told, and told again", || hub.told().len() >= 2);
    let told = form(&own);
    assert_eq!(hub.told(), [told.as_str(), told.as_str()], "of no other feed");
    visit(address, "/three", "");
    let told = form(&format!("http://{address}/search.atom?q=houses"));
    until("the other is told", || hub.told().last() == Some(&told));
    wick.stop();
}

fn form(feed: &str) -> String {
    let feed = feed.replace(':', "%3A").replace('/', "%2F").replace('?', "%3F").replace('=', "%3D");
    format!("hub.mode=publish&hub.url={feed}&hub.topic={feed}")
}

#[test]
fn a_hub_is_told_of_feeds_that_nobody_asked_for_since_the_start() {
    let hub = Hub::start();
    let pages = Pages::default();
    set(&pages, "/one", Page::Public("One about gardens".into()));
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let lines = format!("search_crawl = false\nwebsub = \"http://{}/\"\n", hub.address);
    let file = crate::search::settings(folder.path(), &origin, &lines);
    let kept = state.path().display().to_string();
    let (wick, address) = crate::wick::Wick::serve(&["--config", &file, "--state", &kept]);
    until("the search is open", || visit(address, "/search", "").starts_with("HTTP/1.1 200 "));
    visit(address, "/search.atom?q=gardens", "Host: site.test\n");
    let is_written = || {
        let sites = std::fs::read_dir(state.path().join("search")).expect("it is there");
        let mut files = sites.flatten().map(|site| site.path().join("feeds.json"));
        files.any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains("gardens")))
    };
    until("it is written", is_written);
    wick.stop();
    let (wick, address) = crate::wick::Wick::serve(&["--config", &file, "--state", &kept]);
    until("the search is open", || visit(address, "/search", "").starts_with("HTTP/1.1 200 "));
    visit(address, "/one", "");
    until("it is told", || hub.told().iter().any(|told| told.contains("gardens")));
    wick.stop();
}

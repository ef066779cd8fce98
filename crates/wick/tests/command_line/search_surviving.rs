//! A site's search through damage and kills, and over time: it comes back by itself, and what the
//! site names later is found later.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use serde_json::Value;

use crate::origin::Origin;
use crate::search::{Page, Pages, counter, found, paths, serve, set, settings, site, visit};
use crate::wick::{Wick, ask, open_folder, until};

fn sorted(address: SocketAddr, query: &str) -> Vec<String> {
    let mut all = paths(address, query);
    all.sort_unstable();
    all
}

/// Turns over the bytes of an index's parts where they lie, as they are read; their terms are left
/// alone, so that something is found and can't be read.
fn damage(folder: &Path) -> usize {
    let files = fs::read_dir(folder).expect("the index is there").flatten();
    let is_part = |path: &PathBuf| {
        let ends = ["store", "idx", "pos", "fast", "fieldnorm"];
        path.extension().is_some_and(|end| ends.iter().any(|one| end == *one))
    };
    let parts: Vec<PathBuf> = files.map(|file| file.path()).filter(is_part).collect();
    for part in &parts {
        let turned: Vec<u8> =
            fs::read(part).expect("it can be read").iter().map(|byte| !byte).collect();
        let mut file = fs::OpenOptions::new().write(true).open(part).expect("it can be written");
        file.write_all(&turned).expect("it can be written");
    }
    parts.len()
}

#[test]
fn an_index_that_is_damaged_while_it_serves_is_filled_again_by_itself() {
    let pages = Pages::default();
    set(&pages, "/boats", Page::Public("Boats about harbours".into()));
    set(&pages, "/ships", Page::Session("Ships about harbours".into()));
    let origin = site(&pages);
    let folder = open_folder();
    let file = folder.path().join("rows.jsonl");
    let row = r#"{"address":"/told","title":"Told","text":"of harbours","public":true}"#;
    fs::write(&file, row).expect("the folder takes files");
    let source = format!("[[site.search_source]]\nfile = \"{}\"", file.display());
    let serving = serve(&origin, &format!("search_crawl = false\n{source}\nevery = \"100ms\"\n"));
    let address = serving.address;
    visit(address, "/boats", "");
    visit(address, "/ships", "");
    let all = ["/boats", "/ships", "/told"];
    until("all are found", || sorted(address, "harbours") == all);
    let indexes = fs::read_dir(serving.state.path().join("search")).expect("it is there");
    let damaged: usize = indexes.flatten().map(|index| damage(&index.path().join("terms"))).sum();
    assert!(damaged > 0);
    until("what was damaged is noticed", || {
        drop(paths(address, "harbours"));
        counter(serving.state.path(), "refills") > 0
    });
    until("all are found again", || sorted(address, "harbours") == all);
    assert_eq!(counter(serving.state.path(), "refills"), 1);
    serving.wick.stop();
}

/// A word that only this page has.
fn word(number: usize) -> String {
    let letter = |at: usize| char::from(b'a' + u8::try_from(at % 26).expect("a letter"));
    format!("kiln{}{}{}", letter(number / 26), letter(number), letter(number * 7 + 3))
}

#[test]
fn what_was_found_before_a_kill_is_found_after_it_though_nobody_visits_it() {
    const PAGES: usize = 2000;
    const LOOKED_FOR: usize = 20;
    let pages = Pages::default();
    for number in 0..PAGES {
        set(&pages, &format!("/p/{number}/"), Page::Public(format!("Page of {}", word(number))));
    }
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let kept = state.path().display().to_string();
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    // Until there is nobody to ask any more.
    let visiting = std::thread::spawn(move || {
        for number in (0..PAGES).cycle() {
            let Ok(mut stream) = TcpStream::connect(address) else { return number };
            let asked = write!(
                stream,
                "GET /p/{number}/ HTTP/1.1\r\nHost: {address}\r\nUser-Agent: Mozilla/5.0\r\n\
                 Connection: close\r\n\r\n"
            );
            if asked.and_then(|()| stream.read_to_end(&mut Vec::new())).is_err() {
                return number;
            }
        }
        PAGES
    });
    let is_found =
        |address, number: usize| paths(address, &word(number)) == [format!("/p/{number}/")];
    until("the last of them is found", || is_found(address, LOOKED_FOR));
    let known: Vec<usize> = (0..=LOOKED_FOR).filter(|number| is_found(address, *number)).collect();
    assert!(known.len() > LOOKED_FOR / 2, "{known:?}");
    wick.signal(Signal::KILL);
    drop(wick.end());
    drop(visiting.join());
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    until("the index is open", || is_found(address, LOOKED_FOR));
    for number in known {
        assert!(is_found(address, number), "{number}");
    }
    wick.stop();
}

#[test]
fn what_a_sitemap_names_later_is_found_later() {
    let pages = Pages::default();
    set(&pages, "/first", Page::Public("First about lighthouses".into()));
    set(&pages, "/later", Page::Public("Later about lighthouses".into()));
    let inner = site(&pages);
    let inner_address = inner.address;
    let map = Arc::new(Mutex::new(vec!["/first"]));
    let named = map.clone();
    let origin = Origin::new(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("");
        let text = match path {
            "/robots.txt" => "user-agent: *\nsitemap: /map.xml\n".to_owned(),
            "/map.xml" => {
                let named = named.lock().expect("no test panics here");
                let each = named.iter().map(|page| format!("<url><loc>{page}</loc></url>"));
                format!("<urlset>{}</urlset>", each.collect::<String>())
            }
            other => {
                let answer = ask(inner_address, &format!("GET {other}"));
                let _ = stream.write_all(answer.as_bytes());
                return;
            }
        };
        let length = text.len();
        // A visitor who went away is the test's affair.
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-store\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        );
    });
    let serving = serve(&origin, "search_crawl_every = \"200ms\"\n");
    let address = serving.address;
    visit(address, "/nothing", "");
    until("the first is found", || paths(address, "lighthouses") == ["/first"]);
    map.lock().expect("no test panics here").push("/later");
    until("the later one is found", || sorted(address, "lighthouses") == ["/first", "/later"]);
    // What didn't change isn't asked for in each round.
    let asked = |path: &str| {
        let line = format!("GET {path} ");
        origin.heads().iter().filter(|head| head.starts_with(&line)).count()
    };
    let rounds = asked("/map.xml");
    until("some rounds pass", || asked("/map.xml") > rounds + 2);
    assert_eq!((asked("/first"), asked("/later")), (1, 1));
    serving.wick.stop();
}

/// As if another version of Wick had written the indexes.
fn written_by_another(state: &Path) {
    for index in fs::read_dir(state.join("search")).expect("it is there").flatten() {
        let file = index.path().join("format");
        let format = fs::read_to_string(&file).expect("it says which it is");
        let (_, rest) = format.split_once(' ').expect("a number comes first");
        fs::write(file, format!("0 {rest}")).expect("it can be written");
    }
}

#[test]
fn an_index_of_another_version_is_made_anew_of_what_it_has() {
    let pages = Pages::default();
    for number in 0..40 {
        set(&pages, &format!("/{number}"), Page::Public(format!("About {}", word(number))));
    }
    let origin = site(&pages);
    let (folder, state) = (open_folder(), open_folder());
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let kept = state.path().display().to_string();
    let begin = || Wick::serve(&["--config", &file, "--state", &kept]);
    let (wick, address) = begin();
    (0..40).for_each(|number| drop(visit(address, &format!("/{number}"), "")));
    let are_found = |address| {
        (0..40).for_each(|number| {
            until("it is found", || paths(address, &word(number)) == [format!("/{number}")]);
        });
    };
    are_found(address);
    wick.stop();
    written_by_another(state.path());
    let asked = origin.heads().len();
    let (wick, address) = begin();
    let status = || {
        let told = Wick::run(&["search", "--state", &kept, "--json", "status"]).end().output;
        serde_json::from_str::<Value>(&told).unwrap_or_default()
    };
    until("all of it is there", || {
        let told = status();
        told[0]["pages"] == 40 && told[0]["rebuilding"].is_null()
    });
    let heads = origin.heads();
    let asks_for_pages = heads[asked..].iter().any(|head| head.starts_with("GET /1"));
    assert!(!asks_for_pages, "{:?}", &heads[asked..]);
    assert!(found(address, "about")["rebuilding"].is_null());
    are_found(address);
    wick.stop();
    // Of one that can't be read nothing is left, and each answer says so.
    written_by_another(state.path());
    for index in fs::read_dir(state.path().join("search")).expect("it is there").flatten() {
        fs::write(index.path().join("terms/meta.json"), "damaged").expect("it can be written");
    }
    let (wick, address) = begin();
    until("it says that it isn't whole", || found(address, "about")["rebuilding"].is_object());
    let page = visit(address, "/search?q=about", "");
    assert!(page.contains("find all pages yet"), "{page}");
    let told = status();
    assert!(told[0]["rebuilding"].is_string(), "{told}");
    wick.stop();
}

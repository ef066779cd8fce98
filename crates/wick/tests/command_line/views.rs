//! Views that were served from memory, told to the app: to any origin, and to PHP.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, has_php, open_folder, until};

const KEY: &str = "0123456789abcdef0123456789abcdef";
const PAGE: &str = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Type: text/html\r\n\
                    Content-Length: 5\r\nConnection: close\r\n\r\nhello";

/// Settings with these lines for a site.
fn settings(folder: &Path, lines: &str) -> String {
    let file = folder.join("wick.toml");
    fs::write(&file, format!("[[site]]\n{lines}")).expect("the folder takes files");
    file.display().to_string()
}

fn asked(address: SocketAddr, target: &str, more: &str) -> String {
    ask(address, &format!("GET {target}\nUser-Agent: Mozilla/5.0\n{more}"))
}

#[test]
fn an_origin_is_told_of_hits_by_a_post_that_shows_the_key() {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (heard, refusals) = (told.clone(), Mutex::new(1));
    let origin = Origin::new(move |head, stream| {
        if !head.starts_with("POST /counted ") {
            let _ = stream.write_all(PAGE.as_bytes());
            return;
        }
        let mut left = refusals.lock().expect("no test panics here");
        let status = if *left > 0 { "503 Busy" } else { "204 No Content" };
        *left -= i32::from(*left > 0);
        heard.lock().expect("no test panics here").push(format!("{status}\n{head}"));
        let close = "Content-Length: 0\r\nConnection: close";
        let _ = write!(stream, "HTTP/1.1 {status}\r\n{close}\r\n\r\n");
    });
    let folder = open_folder();
    let lines = format!(
        "origin = {:?}\nviews = \"/counted\"\nviews_every = \"1s\"\nviews_key = \"{KEY}\"\n",
        origin.url()
    );
    let (wick, address) = Wick::serve(&["--config", &settings(folder.path(), &lines)]);
    asked(address, "/a", "");
    for _ in 0..5 {
        assert!(asked(address, "/a", "").contains("; hit;"));
    }
    let calls = || told.lock().expect("no test panics here").clone();
    until("what was refused is told again", || calls().iter().any(|call| call.starts_with("204")));
    let calls = calls();
    assert!(calls[0].starts_with("503"), "{calls:?}");
    for call in &calls {
        assert!(call.contains(&format!("\nwick-views-key: {KEY}")), "{call}");
        assert!(call.to_ascii_lowercase().contains("content-type: application/json"), "{call}");
    }
    let ended = wick.stop();
    assert!(ended.errors.contains("views can't be told: the app did not take them (status 503)"));
    assert!(!ended.errors.contains(KEY) && !ended.output.contains(KEY), "{}", ended.errors);
}

/// The specimen with its data in the folder, and what counts views by the PHP client.
fn lay_out(outer: &Path) -> String {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (root, library) = (outer.join("view-counter"), outer.join("lib"));
    let data = outer.join("data");
    [&root, &library, &data].into_iter().for_each(|path| fs::create_dir(path).expect("a folder"));
    for entry in fs::read_dir(repository.join("specimens/lib")).expect("the library").flatten() {
        fs::copy(entry.path(), library.join(entry.file_name())).expect("a file is copied");
    }
    fs::copy(repository.join("clients/php/wick.php"), root.join("wick.php")).expect("the client");
    let specimen = repository.join("specimens/view-counter/index.php");
    let specimen = fs::read_to_string(specimen).expect("the specimen");
    let shown = data.display();
    let set = format!("putenv('SPECIMEN_DATA={shown}');\nrequire __DIR__ . '/../lib/site.php';");
    let specimen = specimen.replace("require __DIR__ . '/../lib/site.php';", &set);
    fs::write(root.join("index.php"), specimen).expect("a file");
    let read = "<?php\nrequire __DIR__ . '/wick.php';\n\
                $views = wick_views();\n\
                if ($views === null) { exit; }\n\
                file_put_contents(__DIR__ . '/../data/told', json_encode($views) . \"\\n\", FILE_APPEND);\n";
    fs::write(root.join("told.php"), read).expect("a file");
    for folder in [&root, &library, &data] {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("it is ours");
    }
    root.display().to_string()
}

/// What the counter of a post says to somebody with a session, who is counted as well.
fn counter(address: SocketAddr) -> u32 {
    let page = asked(address, "/post/1", "Cookie: PHPSESSID=0123456789abcdef0123456789");
    let (_, rest) = body(&page).split_once("Read ").expect("a count");
    let number = rest.split_once(" times").map(|(number, _)| number.parse());
    number.and_then(Result::ok).expect("a number")
}

#[test]
fn after_fifty_hits_the_counter_in_the_database_says_fifty_more() {
    if !has_php() {
        return;
    }
    let outer = open_folder();
    let root = lay_out(outer.path());
    let lines = "strangers_fresh = \"10m\"\nviews = \"/views\"\nviews_every = \"1s\"\n";
    let file = settings(outer.path(), lines);
    let (wick, address) = Wick::serve(&[&root, "--config", &file]);
    until("the post is shared", || asked(address, "/post/1", "").contains("; hit;"));
    let before = counter(address);
    for _ in 0..50 {
        assert!(asked(address, "/post/1", "").contains("; hit;"));
    }
    let mut looks = 0;
    until("fifty views are told", || {
        looks += 1;
        counter(address) >= before + 50 + looks
    });
    // A visitor can't tell of any.
    let forged = "POST /views\nContent-Length: 0\nWick-Views-Key: guessed";
    let forged = ask(address, forged);
    assert!(!forged.contains(" 204 "), "{forged}");
    wick.stop();
}

#[test]
fn php_reads_what_wick_tells_and_nothing_else() {
    if !has_php() {
        return;
    }
    let outer = open_folder();
    let root = lay_out(outer.path());
    let lines = "strangers = false\nviews = \"/told.php\"\nviews_every = \"1h\"\n";
    let file = settings(outer.path(), lines);
    fs::write(Path::new(&root).join("page.html"), "<p>hello").expect("a file");
    let page = "<?php header('Cache-Control: max-age=600'); echo 'hello';";
    fs::write(Path::new(&root).join("page.php"), page).expect("a file");
    let (wick, address) = Wick::serve(&[&root, "--config", &file]);
    let told = || fs::read_to_string(outer.path().join("data/told")).unwrap_or_default();
    let forged = ask(address, "POST /told.php\nContent-Length: 0\nWick-Views-Key: guessed");
    assert!(forged.starts_with("HTTP/1.1 403 "), "{forged}");
    assert_eq!(told(), "");
    asked(address, "/page.php?id=1", "");
    for robot in ["", "Sec-Fetch-Mode: cors\n", "Sec-Fetch-Mode: navigate\n"] {
        assert!(asked(address, "/page.php?id=1", robot).contains("; hit;"));
    }
    ask(address, "GET /page.php?id=1\nUser-Agent: Somebot/1.0 (crawler)");
    // The first batch comes at once, the last at the stop.
    wick.stop();
    let counts: u64 = told()
        .lines()
        .map(|line| {
            let number = line.trim_start_matches("{\"\\/page.php?id=1\":").trim_end_matches('}');
            number.parse::<u64>().expect("no other views")
        })
        .sum();
    assert_eq!(counts, 2, "{}", told());
}

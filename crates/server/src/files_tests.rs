//! Files of a folder as visitors are given them, while they are written, moved and removed.

use std::fs;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use base::Clock;
use origin::{FilesOrigin, Origin};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wire::{Coding, Codings};

use super::*;
use crate::socket;
use crate::{ServerConfig, SiteConfig};

struct Run {
    folder: TempDir,
    server: Arc<Server>,
    clock: Clock,
}

impl Run {
    fn start() -> Self {
        let (folder, clock) = (TempDir::new().expect("a folder"), Clock::manual(0));
        let config = ServerConfig { sites: vec![site(&folder)], ..ServerConfig::default() };
        let server = Server::new(config, clock.clone());
        Self { folder, server, clock }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).expect("a file can be written");
    }

    /// The answer to a request a moment later; the first of these lines is `METHOD TARGET`.
    async fn ask_bytes(&self, request: &str) -> Vec<u8> {
        self.clock.advance_ms(1);
        let (mut ours, theirs) = tokio::io::duplex(256 << 10);
        let address = "192.0.2.1:5".parse().expect("an address");
        tokio::spawn(self.server.clone().serve_connection(theirs, address, address));
        let (first, fields) = request.split_once('\n').unwrap_or((request, ""));
        let mut text = format!("{first} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n");
        fields.lines().for_each(|line| text += &format!("{line}\r\n"));
        ours.write_all((text + "\r\n").as_bytes()).await.expect("it reads");
        let mut answer = Vec::new();
        ours.read_to_end(&mut answer).await.expect("an answer");
        answer
    }

    async fn ask(&self, request: &str) -> String {
        String::from_utf8(self.ask_bytes(request).await).expect("text")
    }

    /// The body of the answer to a request by TCP, where the kernel sends files.
    async fn take(&self, target: &str, fields: &str) -> (String, Vec<u8>) {
        self.clock.advance_ms(1);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket of ours");
        let address = listener.local_addr().expect("an address");
        let listener = socket::listening(listener).expect("within a runtime");
        let text =
            format!("GET {target} HTTP/1.1\r\nHost: a.test\r\n{fields}Connection: close\r\n\r\n");
        let client = std::thread::spawn(move || {
            let mut stream = std::net::TcpStream::connect(address).expect("a connection");
            stream.write_all(text.as_bytes()).expect("it reads");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("an answer");
            answer
        });
        let (stream, peer) = socket::accept(&listener).await.expect("a connection");
        self.server.clone().serve_connection(stream, peer, address).await;
        let mut answer = client.join().expect("the client");
        let end = memchr::memmem::find(&answer, b"\r\n\r\n").expect("a head") + 4;
        let body = answer.split_off(end);
        (String::from_utf8(answer).expect("a head"), body)
    }

    /// Asks until the file is kept: so young a one isn't.
    async fn keep(&self, target: &str) {
        for _ in 0..500 {
            let answer = self.ask_bytes(&format!("GET {target}")).await;
            if memchr::memmem::find(&answer, b"; stored").is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{target} is never kept");
    }
}

fn site(folder: &TempDir) -> SiteConfig {
    let mut site = SiteConfig::new(Origin::Files(FilesOrigin::new(folder.path())));
    site.hosts = vec!["a.test".into()];
    site.rules.codings = Codings::ALL;
    site
}

fn is_hit(answer: &str) -> bool {
    answer.contains("cache-status: wick; hit; key=\"file|http|a.test|/")
}

#[tokio::test]
async fn a_file_comes_from_memory_dated_now_whatever_its_query() {
    let run = Run::start();
    run.write("a.css", "p{}");
    run.keep("/a.css?ver=1").await;
    run.clock.advance_ms(86_400_000);
    for target in ["/a.css?ver=1", "/a.css?ver=2", "/a.css"] {
        let answer = run.ask(&format!("GET {target}")).await;
        assert!(is_hit(&answer) && answer.ends_with("\r\n\r\np{}"), "{answer}");
        assert!(!answer.contains("\r\nage: ") && !answer.contains("; ttl="), "{answer}");
        assert!(answer.contains("\r\ndate: Fri, 02 Jan 1970 "), "{answer}");
        assert_eq!(answer.matches("\r\ndate: ").count(), 1, "{answer}");
        for field in ["content-type: text/css", "accept-ranges: bytes", "content-length: 3\r\n"] {
            assert!(answer.contains(field), "no {field} in {answer}");
        }
    }
    let etag = run.ask("GET /a.css").await;
    let etag = etag.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag");
    let same = run.ask(&format!("GET /a.css\nIf-None-Match: {etag}")).await;
    assert!(same.starts_with("HTTP/1.1 304 ") && is_hit(&same), "{same}");
    assert!(!same.contains("\r\nage: ") && same.contains("\r\ndate: "), "{same}");
    let part = run.ask("GET /a.css\nRange: bytes=1-1").await;
    assert!(part.starts_with("HTTP/1.1 206 ") && part.ends_with("\r\n\r\n{"), "{part}");
    let head = run.ask("HEAD /a.css").await;
    assert!(is_hit(&head) && head.ends_with("\r\n\r\n"), "{head}");
    let only = run.ask("GET /a.css\nCache-Control: only-if-cached").await;
    assert!(is_hit(&only), "{only}");
}

#[tokio::test]
async fn what_becomes_of_a_file_shows_at_the_next_request() {
    let run = Run::start();
    let at = |name: &str| run.folder.path().join(name);
    run.write("a.js", "one");
    run.keep("/a.js").await;
    run.write("a.js", "two");
    assert!(run.ask("GET /a.js").await.ends_with("\r\n\r\ntwo"));
    run.keep("/a.js").await;
    // Another as long, as old, and under the same name.
    let date = fs::metadata(at("a.js")).and_then(|data| data.modified()).expect("a date");
    run.write("b.js", "six");
    let other = fs::File::options().append(true).open(at("b.js")).expect("it can be opened");
    other.set_modified(date).expect("its time can be set");
    fs::rename(at("b.js"), at("a.js")).expect("it can be moved");
    assert!(run.ask("GET /a.js").await.ends_with("\r\n\r\nsix"));
    run.keep("/a.js").await;
    run.write(".htaccess", "Require all denied");
    assert!(run.ask("GET /a.js").await.starts_with("HTTP/1.1 403 "));
    fs::remove_file(at(".htaccess")).expect("it can be removed");
    run.keep("/a.js").await;
    fs::remove_file(at("a.js")).expect("it can be removed");
    assert!(run.ask("GET /a.js").await.starts_with("HTTP/1.1 404 "));
    fs::create_dir(at("a.js")).expect("a folder can be made");
    run.write("a.js/index.html", "a folder's");
    assert!(run.ask("GET /a.js").await.starts_with("HTTP/1.1 301 "));
}

#[tokio::test]
async fn it_goes_out_in_codings_and_a_compressed_one_put_beside_it_is_found_within_a_second() {
    let run = Run::start();
    run.write("a.js", &"one();".repeat(200));
    run.keep("/a.js").await;
    let coded = run.ask("HEAD /a.js\nAccept-Encoding: br").await;
    assert!(is_hit(&coded) && coded.contains("content-encoding: br"), "{coded}");
    run.write("a.js.br", "what brotli made of it");
    run.clock.advance_ms(1_000);
    let mut beside = String::new();
    for _ in 0..500 {
        beside = run.ask("GET /a.js\nAccept-Encoding: br").await;
        assert!(beside.ends_with("\r\n\r\nwhat brotli made of it"), "{beside}");
        if beside.contains("cache-status: wick; hit; key=\"file.br|http|a.test|/a.js") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for field in ["; hit; ", "content-encoding: br", "vary: Accept-Encoding", "-br\"\r\n"] {
        assert!(beside.contains(field), "no {field} in {beside}");
    }
    let etag = beside.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag");
    let same = run.ask(&format!("GET /a.js\nAccept-Encoding: br\nIf-None-Match: {etag}")).await;
    assert!(same.starts_with("HTTP/1.1 304 ") && same.contains("wick; hit"), "{same}");
    let plain = run.ask("GET /a.js").await;
    assert!(is_hit(&plain) && plain.ends_with("one();") && !plain.contains("-br\""), "{plain}");
    let gzip = run.ask("HEAD /a.js\nAccept-Encoding: gzip").await;
    assert!(is_hit(&gzip) && gzip.contains("content-encoding: gzip"), "{gzip}");
    fs::remove_file(run.folder.path().join("a.js.br")).expect("it can be removed");
    run.clock.advance_ms(1_000);
    let coded = run.ask("HEAD /a.js\nAccept-Encoding: br").await;
    assert!(coded.contains("content-encoding: br") && !coded.contains("-br\""), "{coded}");
}

#[tokio::test]
async fn the_kernel_sends_what_lies_there_whole_and_in_part() {
    let run = Run::start();
    let pattern = |bytes: u32, by: u32| (0..bytes).map(|at| (at / by) as u8).collect::<Vec<u8>>();
    // One that is kept and held open, and one that is too large for that.
    for (name, bytes) in [("kept.bin", 200_000), ("large.bin", 3_000_000)] {
        let (target, path) = (format!("/{name}"), run.folder.path().join(name));
        for by in [3, 7] {
            let lies = pattern(bytes, by);
            fs::write(&path, &lies).expect("a file can be written");
            if bytes == 200_000 {
                run.keep(&target).await;
            }
            let (head, body) = run.take(&target, "").await;
            assert!(head.starts_with("HTTP/1.1 200 ") && body == lies, "{head}");
            assert_eq!(is_hit(&head), bytes == 200_000, "{head}");
            let (head, body) = run.take(&target, "Range: bytes=1000-90000\r\n").await;
            assert!(head.starts_with("HTTP/1.1 206 ") && body == lies[1000..=90_000], "{head}");
            let whole = run.ask_bytes(&format!("GET {target}")).await;
            assert!(whole.ends_with(&lies), "without a socket it is sent as well");
        }
    }
    assert_eq!(run.server.open_files.available_permits(), OPEN_FILES_MAX - 1);
    fs::remove_file(run.folder.path().join("kept.bin")).expect("it can be removed");
    assert!(run.take("/kept.bin", "").await.0.starts_with("HTTP/1.1 404 "));
    assert_eq!(run.server.open_files.available_permits(), OPEN_FILES_MAX, "it was closed");
}

#[tokio::test]
async fn long_text_is_sent_coded_while_its_coding_is_made() {
    let run = Run::start();
    run.write("a.js", &"one();".repeat(30_000));
    run.keep("/a.js").await;
    for request in ["GET /a.js", "HEAD /a.js"] {
        let answer = run.ask_bytes(&format!("{request}\nAccept-Encoding: br")).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(is_hit(&answer) && answer.contains("content-encoding: br"), "{answer}");
        assert!(answer.len() < 10_000, "{} bytes", answer.len());
    }
    assert!(run.ask("GET /a.js").await.len() > 180_000, "who wants it so gets it plain");
}

#[tokio::test]
async fn large_files_and_those_of_other_settings_are_read_anew() {
    let run = Run::start();
    run.write("a.css", "p{}");
    let large = fs::File::create(run.folder.path().join("large.bin")).expect("it can be made");
    large.set_len(FILE_BYTES_MAX + 1).expect("it can be made longer");
    run.keep("/a.css").await;
    // By then it would be kept as well.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let answer = run.ask("GET /large.bin").await;
    assert!(answer.contains("detail=file"), "{}", &answer[..400]);
    run.server.replace_sites(vec![site(&run.folder)]);
    let answer = run.ask("GET /a.css").await;
    assert!(answer.contains("; stored"), "{answer}");
    assert!(is_hit(&run.ask("GET /a.css").await));
}

#[test]
fn a_key_is_made_behind_another_without_its_query() {
    for (request, file) in [
        ("http|a.test|/x.css", "http|a.test|/x.css"),
        ("https|a.test|/x.css?ver=1?2", "https|a.test|/x.css"),
    ] {
        let mut text = request.as_bytes().to_vec();
        let mut key = FileKey::behind(&mut text);
        let show = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
        for _ in 0..2 {
            assert_eq!(show(key.of(None)), format!("file|{file}"));
            assert_eq!(show(key.of(Some(Coding::Gzip))), format!("file.gz|{file}"));
        }
        drop(key);
        assert_eq!(text, request.as_bytes());
    }
}

//! What a browser's own decoders make of what is sent: curl asks, and reads.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use crate::wick::{Wick, open_folder, until};

/// Asks with curl, which decodes; the answer's `Content-Encoding` and the body.
fn fetch(address: SocketAddr, path: &str, coding: &str) -> (String, Vec<u8>) {
    let folder = open_folder();
    let file = folder.path().join("body");
    let output = Command::new("curl")
        .args(["-sS", "--fail", "--compressed", "-H"])
        .arg(format!("Accept-Encoding: {coding}"))
        .args(["-w", "%header{content-encoding}", "-o"])
        .arg(&file)
        .arg(format!("http://{address}{path}"))
        .output()
        .expect("curl can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let body = fs::read(&file).expect("curl wrote what came");
    (String::from_utf8_lossy(&output.stdout).into_owned(), body)
}

#[test]
fn what_is_sent_is_decoded_by_curl_to_what_it_was() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let folder = open_folder();
    let page = (0..4000).map(|n| format!("<p>line {n} of {}</p>\n", n % 7)).collect::<String>();
    fs::write(folder.path().join("page.html"), &page).expect("a file");
    fs::write(folder.path().join("small.css"), "p{}").expect("a file");
    let (wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    for coding in ["gzip", "br", "zstd"] {
        let (sent_as, body) = fetch(address, "/page.html", coding);
        assert_eq!((sent_as.as_str(), body == page.as_bytes()), (coding, true), "{coding}");
    }
    let (sent_as, body) = fetch(address, "/page.html", "identity");
    assert_eq!((sent_as.as_str(), body == page.as_bytes()), ("", true));
    let (sent_as, body) = fetch(address, "/small.css", "gzip");
    assert_eq!((sent_as.as_str(), &body[..]), ("", &b"p{}"[..]));
    let told = wick.stop().output;
    assert!(told.contains("of content were sent as"), "{told}");
}

#[test]
fn a_file_that_lies_there_compressed_is_sent_so_unless_it_is_older() {
    let folder = open_folder();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file can be written");
    };
    write("app.css", &"p{}".repeat(300));
    write("app.css.br", "what brotli made of it");
    write("old.css.gz", "what gzip made of it long ago");
    write("old.css", &"p{}".repeat(300));
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let old = fs::File::options().append(true).open(folder.path().join("old.css.gz"));
    old.and_then(|file| file.set_modified(long_ago)).expect("a file's time can be set");
    let (_wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    let ask = |request: &str| crate::wick::ask(address, request);
    let compressed = ask("GET /app.css\nAccept-Encoding: gzip, br");
    for line in ["content-encoding: br", "content-length: 22", "vary: Accept-Encoding"] {
        assert!(compressed.contains(line), "no {line} in\n{compressed}");
    }
    assert!(
        compressed.ends_with("\r\n\r\nwhat brotli made of it") && compressed.contains("-br\"\r\n")
    );
    let etag = compressed.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag");
    let again = ask(&format!("GET /app.css\nAccept-Encoding: br\nIf-None-Match: {etag}"));
    assert!(again.starts_with("HTTP/1.1 304 ") && again.contains(etag), "{again}");
    let plain = ask("GET /app.css");
    assert!(!plain.contains("content-encoding") && plain.contains("vary: Accept-Encoding"));
    assert!(!plain.contains(etag), "other bytes have another tag");
    let part = ask("GET /app.css\nAccept-Encoding: br\nRange: bytes=0-2");
    assert!(part.starts_with("HTTP/1.1 206 ") && part.ends_with("\r\n\r\np{}"), "{part}");
    let head = ask("HEAD /app.css\nAccept-Encoding: br");
    assert!(head.contains("content-encoding: br") && head.contains("content-length: 22"), "{head}");
    let old = ask("GET /old.css\nAccept-Encoding: gzip");
    assert!(old.contains("content-encoding: gzip") && !old.contains("long ago"), "{old}");
}

#[test]
fn a_file_is_compressed_once_until_it_is_written_again() {
    let folder = open_folder();
    let write = |text: &str| {
        fs::write(folder.path().join("app.js"), text.repeat(2000)).expect("a file can be written");
    };
    write("one();");
    let (_wick, address) = Wick::serve(&[&folder.path().display().to_string()]);
    let fetch = || {
        let answer = crate::wick::ask(address, "GET /app.js\nAccept-Encoding: gzip");
        assert!(answer.contains("content-encoding: gzip"), "{answer}");
        answer.contains("content-length: ")
    };
    // What was written a moment ago is compressed as it is sent, and isn't kept.
    until("the compressed file to be kept", fetch);
    let (sent_as, body) = self::fetch(address, "/app.js", "gzip");
    assert_eq!((sent_as.as_str(), &body[..]), ("gzip", "one();".repeat(2000).as_bytes()));
    write("two();");
    let (_, body) = self::fetch(address, "/app.js", "gzip");
    assert_eq!(&body[..], "two();".repeat(2000).as_bytes(), "an edit shows at once");
    until("the new one to be kept", fetch);
    let (_, body) = self::fetch(address, "/app.js", "gzip");
    assert_eq!(&body[..], "two();".repeat(2000).as_bytes());
}

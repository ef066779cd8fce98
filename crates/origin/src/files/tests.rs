//! A folder on disk, asked as visitors ask.

use std::os::unix::fs::symlink;

use super::*;
use http_body_util::BodyExt;
use tempfile::TempDir;

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it lies in a folder"))
            .and_then(|()| std::fs::write(path, bytes))
            .expect("a file can be written");
    };
    write("style.css", b"body {}");
    write("docs/index.html", b"<p>docs");
    write("data.bin", &(0..200_000u32).map(|n| n as u8).collect::<Vec<_>>());
    write("empty.txt", b"");
    write(".env", b"secret");
    write("bare/readme.md", b"read me");
    write("data/.htaccess", b"Require all denied\n");
    write("data/pages/start.txt", b"secret");
    symlink(folder.path().join("style.css"), folder.path().join("link.css")).expect("a link");
    folder
}

fn request(line: &str) -> RequestHead {
    let (method, target) = line.split_once(' ').expect("a method and a target");
    let method = method.parse().expect("a method");
    RequestHead { method, target: target.to_owned(), ..RequestHead::default() }
}

#[tokio::test]
async fn files_are_answered_whole_and_the_rest_is_refused_or_missing() {
    let folder = folder();
    let files = FilesOrigin::new(folder.path());
    for (line, seen) in [
        ("GET /style.css", "200 text/css; charset=utf-8 7 | 7 body {}"),
        ("HEAD /style.css", "200 text/css; charset=utf-8 7 | 0 "),
        ("GET /link.css", "200 text/css; charset=utf-8 7 | 7 body {}"),
        ("GET /docs/?q", "200 text/html; charset=utf-8 7 | 7 <p>docs"),
        ("GET /empty.txt", "200 text/plain; charset=utf-8 0 | 0 "),
        ("GET /docs?q=1", "301 to /docs/?q=1"),
        ("POST /docs", "308 to /docs/"),
        ("GET /bare/", "404"),
        ("GET /none", "404"),
        ("POST /style.css", "405 GET, HEAD"),
        ("GET /.env", "403"),
        ("GET /data/pages/start.txt", "403"),
        ("GET /data/.htaccess", "403"),
        ("GET /data/none", "403"),
        ("GET /%2e%2e/x", "403"),
    ] {
        assert_eq!(show(&files, line).await, seen, "{line}");
    }
}

async fn show(files: &FilesOrigin, line: &str) -> String {
    let answer = match files.answer(&request(line)) {
        Ok(answer) => answer,
        Err(error) => return error.status().to_string(),
    };
    let field = |name| answer.head.fields.text(name).unwrap_or("-").to_owned();
    let status = answer.head.status;
    match status {
        301 | 308 => format!("{status} to {}", field(Name::Location)),
        405 => format!("{status} {}", field(Name::Allow)),
        404 => format!("{status}"),
        _ => {
            let sizes = format!("{} {}", field(Name::ContentType), field(Name::ContentLength));
            let length = answer.length.expect("a file's length is known");
            let body = answer.body.collect().await.expect("the file can be read").to_bytes();
            assert_eq!(body.len() as u64, length);
            format!("{status} {sizes} | {length} {}", String::from_utf8_lossy(&body))
        }
    }
}

#[tokio::test]
async fn any_stretch_of_a_large_file_can_be_read_from_the_file_that_was_opened() {
    let folder = folder();
    let files = FilesOrigin::new(folder.path());
    let file = files.open("/data.bin").expect("it opens").expect("it exists");
    std::fs::remove_file(folder.path().join("data.bin")).expect("it can be removed");
    for (first, end) in [(0, 200_000), (0, 1), (65_535, 65_537), (199_999, 900_000), (5, 5)] {
        let body = file.body(first, end).collect().await.expect("it can be read").to_bytes();
        let expected: Vec<u8> = (first..end.min(200_000)).map(|n| n as u8).collect();
        assert_eq!(body, expected, "{first}..{end}");
    }
}

#[tokio::test]
async fn a_file_that_shrinks_while_it_is_read_ends_in_an_error() {
    let folder = folder();
    let files = FilesOrigin::new(folder.path());
    let file = files.open("/data.bin").expect("it opens").expect("it exists");
    std::fs::write(folder.path().join("data.bin"), b"short").expect("it can be written");
    let error = file.body(0, 200_000).collect().await.err();
    assert!(matches!(error, Some(wire::BodyError::Ours(_))), "{error:?}");
}

#[test]
fn the_validator_changes_with_the_file() {
    let folder = folder();
    let files = FilesOrigin::new(folder.path());
    let etag = || files.open("/style.css").expect("it opens").expect("it exists").etag;
    let before = etag();
    assert_eq!(before, etag());
    std::fs::write(folder.path().join("style.css"), b"body {color: red}").expect("a write");
    assert_ne!(before, etag());
}

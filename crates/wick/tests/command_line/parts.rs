//! Parts of pages from hosts beside the site's own.

use std::fs;
use std::io::Write;

use crate::origin::Origin;
use crate::wick::{Wick, ask, body, open_folder};

fn answer(stream: &mut std::net::TcpStream, fields: &str, text: &str) {
    let length = text.len();
    // A visitor who went away is the test's affair.
    let _ = write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n{text}");
}

#[test]
fn a_part_comes_from_a_host_that_is_named_and_nothing_of_the_visitor_goes_there() {
    let named = Origin::new(|head, stream| match head {
        head if head.starts_with("GET /moved ") => {
            let _ = stream
                .write_all(b"HTTP/1.1 302 Found\r\nLocation: /part\r\nContent-Length: 0\r\n\r\n");
        }
        head if head.starts_with("GET /nested ") => {
            let fields = "Surrogate-Control: content=\"ESI/1.0\"\r\nContent-Type: text/html\r\n";
            answer(stream, fields, "<esi:include src=\"/part\"/>");
        }
        _ => answer(stream, "Cache-Control: max-age=60\r\nContent-Type: text/html\r\n", "PART"),
    });
    let other = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nOTHER");
    let (here, there) = (named.url(), other.url());
    let include = |src: String| format!("<esi:include src=\"{src}\" onerror=\"continue\"/>|");
    let page = [
        include(format!("{here}/part")),
        include(format!("{here}/moved")),
        include(format!("{there}/part")),
        include(format!("{here}/nested")),
        include(here.replace("http:", "https:") + "/part"),
    ]
    .concat();
    let site = Origin::new(move |_, stream| {
        let fields = "Surrogate-Control: max-age=60, content=\"ESI/1.0\"\r\n\
                      Content-Type: text/html\r\n";
        answer(stream, fields, &page);
    });
    let folder = open_folder();
    let file = folder.path().join("wick.toml");
    let text = format!("[[site]]\norigin = {:?}\nesi_hosts = [{here:?}]\n", site.url());
    fs::write(&file, text).expect("the folder takes files");
    let (wick, address) = Wick::serve(&["--config", &file.display().to_string()]);
    let visit = || {
        let own = "GET /\nUser-Agent: secret-browser\nCookie: sid=0123456789abcdef\n\
                   Authorization: Basic c2VjcmV0";
        body(&ask(address, own)).to_owned()
    };
    for _ in 0..2 {
        let page = visit();
        assert!(!page.contains("OTHER"), "{page}");
        assert_eq!(page.matches("PART").count(), 1, "no redirect and no part of a part: {page}");
        assert!(page.contains("<esi:include src=\"/part\"/>"), "{page}");
    }
    assert!(other.heads().is_empty(), "nobody else is asked");
    let heads = named.heads();
    let parts = heads.iter().filter(|head| head.starts_with("GET /part ")).count();
    assert_eq!(parts, 1, "it is kept as it says itself: {heads:?}");
    for head in &heads {
        let head = head.to_ascii_lowercase();
        for secret in ["cookie", "authorization", "secret", "forwarded", "127.0.0.1;", "referer"] {
            assert!(!head.contains(secret), "{secret} in {head}");
        }
    }
    // What lies there for parts is nobody's page.
    let host = here.trim_start_matches("http://");
    let direct = ask(address, &format!("GET /part\nHost: {host}"));
    assert!(!direct.contains("; hit;"), "{direct}");
    wick.stop();
}

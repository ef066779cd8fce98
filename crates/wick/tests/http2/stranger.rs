//! A stranger who reads a shared page and writes from it, all over HTTP/2.

use crate::specimen::{lay_out, quoted};
use crate::wick::{Wick, has_php, until};
use crate::{output, program};

#[test]
fn a_form_on_a_shared_page_is_sent_over_http2_and_taken() {
    let Some(curl) = program("curl").filter(|_| has_php()) else { return };
    let outer = lay_out();
    let root = outer.path().join("token-hidden-field").display().to_string();
    let (wick, address) = Wick::serve(&[&root]);
    let origin = format!("http://{address}");
    let page = format!("{origin}/post/1");
    let mut shared = String::new();
    until("a page for strangers from memory", || {
        shared = output(&curl, &["-s", "-i", "--http2-prior-knowledge", &page]);
        shared.lines().any(|line| line.starts_with("cache-status: wick; hit"))
    });
    assert!(shared.starts_with("HTTP/2 200"), "{shared}");
    assert!(!shared.contains("\nset-cookie:"), "{shared}");
    let (_, form) = shared.split_once("<form id=\"comment\"").expect("a form");
    let (action, token) = (quoted(form, "action=\""), quoted(form, "name=\"token\" value=\""));
    let jar = outer.path().join("jar").display().to_string();
    let from = [format!("Origin: {origin}"), format!("Referer: {page}")];
    let as_visitor = ["-s", "-i", "--http2-prior-knowledge", "-c", &jar, "-b", &jar];
    assert!(!token.is_empty(), "{form}");
    let (form, url) =
        (format!("token={token}&author=Bob+Frame&body=Words"), format!("{origin}{action}"));
    let sent =
        ["-H", &from[0], "-H", &from[1], "-H", "Sec-Fetch-Site: same-origin", "-d", &form, &url];
    let answer = output(&curl, &[&as_visitor[..], &sent].concat());
    assert!(answer.starts_with("HTTP/2 303"), "{answer}");
    assert!(answer.contains("\nset-cookie:") && answer.contains("detail=bound"), "{answer}");
    let after = output(&curl, &[&as_visitor[..], &[&page]].concat());
    assert!(after.contains("Thank you, Bob Frame"), "{after}");
    // A form without the shared page's token is refused, so the token was what let it through.
    let forged = output(
        &curl,
        &[
            "-s",
            "-i",
            "--http2-prior-knowledge",
            "-d",
            "token=x&author=Eve&body=y",
            &format!("{origin}{action}"),
        ],
    );
    assert!(forged.starts_with("HTTP/2 403"), "{forged}");
    wick.stop();
}

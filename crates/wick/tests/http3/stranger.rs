//! A stranger who reads a shared page and writes from it, all over HTTP/3.

use http::Method;

use crate::specimen::{lay_out, quoted};
use crate::wick::{has_php, until};
use crate::{HOST, Served};

#[test]
fn a_form_on_a_shared_page_is_sent_over_http3_and_taken() {
    if !has_php() {
        return;
    }
    let outer = lay_out();
    let root = outer.path().join("token-hidden-field").display().to_string();
    let served = Served::new(&root, "");
    let client = served.client();
    let mut shared = client.get("/post/1");
    until("a page for strangers from memory", || {
        shared = client.get("/post/1");
        shared.field("cache-status").starts_with("wick; hit")
    });
    assert_eq!((shared.status, shared.field("set-cookie")), (200, ""));
    let page = shared.text();
    let (_, form) = page.split_once("<form id=\"comment\"").expect("a form");
    let (action, token) = (quoted(form, "action=\""), quoted(form, "name=\"token\" value=\""));
    assert!(!token.is_empty(), "{form}");
    let (origin, from) = (format!("https://{HOST}"), format!("https://{HOST}/post/1"));
    let as_browser = [
        ("origin", origin.as_str()),
        ("referer", &from),
        ("sec-fetch-site", "same-origin"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    let text = format!("token={token}&author=Bob+Frame&body=Words");
    let taken = client.ask(Method::POST, action, &as_browser, text.as_bytes()).expect("an answer");
    assert_eq!(taken.status, 303, "{}", taken.field("cache-status"));
    assert!(
        taken.field("cache-status").contains("detail=bound"),
        "{}",
        taken.field("cache-status")
    );
    let cookie = taken.field("set-cookie").split(';').next().expect("a cookie").to_owned();
    let after = client.ask(Method::GET, "/post/1", &[("cookie", &cookie)], b"");
    assert!(after.expect("an answer").text().contains("Thank you, Bob Frame"));
    // A form without the shared page's token is refused, so the token was what let it through.
    let forged = client.ask(Method::POST, action, &as_browser[3..], b"token=x&author=Eve&body=y");
    assert_eq!(forged.expect("an answer").status, 403);
    drop(client);
    served.running.stop();
}

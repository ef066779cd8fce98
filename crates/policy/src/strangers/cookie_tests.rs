//! Tables for cookies: read, removed, parsed and kept.

use super::*;
use crate::written::fields;

/// 2023-11-14.
const NOW: u64 = 1_700_000_000;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_request_names_its_cookies() {
    for (request, expected) in [
        ("", ""),
        ("cookie:", ""),
        ("cookie: ;; ;", ""),
        ("cookie: a=1", "a|1"),
        ("cookie: a=1; b=2;c=3", "a|1 b|2 c|3"),
        ("cookie: a=1\nCookie: b=2", "a|1 b|2"),
        ("cookie: a", "a|"),
        ("cookie: a=", "a|"),
        ("cookie: =1", "|1"),
        ("cookie: a=b=c", "a|b=c"),
        ("cookie:  a = 1 ;\tb=2", "a|1 b|2"),
        ("cookie: a=\"x y\"", "a|\"x y\""),
        ("cookie: mybb[lastvisit]=7", "mybb[lastvisit]|7"),
        ("cookie: a=1; a=2", "a|1 a|2"),
        ("x: a=1", ""),
    ] {
        let fields = fields(request);
        let read: Vec<_> =
            pairs(&fields).map(|(name, value)| format!("{}|{}", text(name), text(value))).collect();
        assert_eq!(read.join(" "), expected, "{request:?}");
    }
}

#[test]
fn cookies_that_go_leave_the_others_as_they_were() {
    for (request, left) in [
        ("cookie: a=1; _ga=2; b=3", "cookie: a=1; b=3"),
        ("cookie: _ga=2; _gid=3", ""),
        ("cookie: _ga=2\ncookie: a=1\ncookie: _gid=1; b", "cookie: a=1; b"),
        ("host: x\ncookie: _ga=2\naccept: y", "host: x\naccept: y"),
        ("cookie:  a=1;;b=2 ;", "cookie:  a=1;;b=2 ;"),
        ("cookie: a = 1 ;_ga", "cookie: a = 1"),
        ("cookie: a=_ga", "cookie: a=_ga"),
        ("host: x", "host: x"),
    ] {
        let mut changed = fields(request);
        remove_cookies(&mut changed, |name| name.starts_with(b"_g"));
        assert_eq!(changed, fields(left), "{request:?}");
    }
}

/// One line as `name|value`, then `http` and `stays`, then `gone` if it is a removal now.
fn check(line: &str, expected: &str) {
    let said = match SetCookie::parse(line.as_bytes()) {
        None => "none".to_owned(),
        Some(cookie) => {
            let mut said = vec![format!("{}|{}", text(cookie.name), text(cookie.value))];
            for (holds, word) in [
                (cookie.http_only, "http"),
                (cookie.persists, "stays"),
                (cookie.is_removal(NOW), "gone"),
            ] {
                said.extend(holds.then(|| word.to_owned()));
            }
            said.join(" ")
        }
    };
    assert_eq!(said, expected, "{line:?}");
}

#[test]
fn set_cookie_is_read_as_browsers_read_it() {
    check("a=1", "a|1");
    check(" a = 1 ; Path=/", "a|1");
    check("a=1; HttpOnly", "a|1 http");
    check("a=1;httponly=whatever;SameSite=Lax;Secure", "a|1 http");
    check("a=b=c; path=/x=y", "a|b=c");
    check("a=\"x y\"", "a|\"x y\"");
    check("a[b]=1", "a[b]|1");
    check("a=1; x-httponly", "a|1");
    check("a=httponly", "a|httponly");
    for nothing in ["", ";", "a", "=1", " = 1", "a; b=1", "; a=1"] {
        check(nothing, "none");
    }
}

#[test]
fn a_cookie_ends_by_max_age_then_by_expires() {
    check("a=1; Max-Age=3600", "a|1 stays");
    check("a=1; max-age=0", "a|1 stays gone");
    check("a=1; Max-Age=-1", "a|1 stays gone");
    check("a=1; Max-Age=99999999999999999999999", "a|1 stays");
    check("a=1; Max-Age=", "a|1");
    check("a=1; Max-Age=-", "a|1");
    check("a=1; Max-Age=1.5", "a|1");
    check("a=1; Max-Age=+5", "a|1");
    check("a=1; Max-Age=\"5\"", "a|1");
    check("a=1; Max-Age=0; Max-Age=5", "a|1 stays");
    check("a=1; Max-Age=5; Max-Age=0", "a|1 stays gone");
    check("a=1; Max-Age=0; Max-Age=x", "a|1 stays gone");
    check("a=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "a|1 stays gone");
    check("a=1; expires=Thu, 01-Jan-1970 00:00:01 GMT", "a|1 stays gone");
    check("a=1; expires=Thu, 01-Jan-2099 00:00:01 GMT", "a|1 stays");
    check("a=1; expires=Tue, 14 Nov 2023 22:13:20 GMT", "a|1 stays gone");
    check("a=1; expires=Tue, 14 Nov 2023 22:13:21 GMT", "a|1 stays");
    check("a=1; expires=soon", "a|1");
    check("a=1; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=5", "a|1 stays");
    check("a=1; Max-Age=0; expires=Thu, 01-Jan-2099 00:00:01 GMT", "a|1 stays gone");
    check("a=1; Max-Age=x; expires=Thu, 01-Jan-1970 00:00:01 GMT", "a|1 stays gone");
}

#[test]
fn nothing_in_it_is_as_good_as_removed() {
    check("a=", "a| gone");
    check("a=; HttpOnly; Max-Age=5", "a| http stays gone");
    check("a=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0", "a|deleted stays gone");
    check("a=deleted", "a|deleted gone");
    check("a=Deleted", "a|Deleted");
}

fn written(jar: &Jar) -> String {
    let mut out = Vec::new();
    jar.write(&mut out);
    text(&out)
}

#[test]
fn a_jar_follows_what_answers_set_and_remove() {
    let mut jar = Jar::default();
    for (answer, holds) in [
        ("x: y", ""),
        ("set-cookie: a=1; Path=/; HttpOnly\nset-cookie: b=2", "a=1; b=2"),
        ("set-cookie: b=3", "a=1; b=3"),
        ("set-cookie: a=; Max-Age=0", "b=3"),
        ("set-cookie: c=x; expires=Thu, 01-Jan-1970 00:00:01 GMT", "b=3"),
        ("set-cookie: nonsense\nset-cookie: d=4\nset-cookie: d=5", "b=3; d=5"),
        ("set-cookie: b=deleted\nset-cookie: d=deleted", ""),
    ] {
        jar.absorb(&fields(answer), NOW);
        assert_eq!(written(&jar), holds, "{answer:?}");
        assert_eq!(jar.is_empty(), holds.is_empty());
    }
    assert!(!jar.overflowed());
    jar.absorb(&fields("set-cookie: a=1\nset-cookie: b=2"), NOW);
    assert!(jar.contains_name(b"b") && !jar.contains_name(b"B") && !jar.contains_name(b"2"));
    assert_eq!(jar.iter().collect::<Vec<_>>(), [(&b"a"[..], &b"1"[..]), (b"b", b"2")]);
}

#[test]
fn a_jar_keeps_no_more_than_it_has_room_for() {
    let mut jar = Jar::default();
    let many: String = (0..70).map(|number| format!("set-cookie: c{number}=1\n")).collect();
    jar.absorb(&fields(&many), NOW);
    assert_eq!(jar.iter().count(), 64);
    assert!(jar.overflowed() && jar.contains_name(b"c63") && !jar.contains_name(b"c64"));

    let mut jar = Jar::default();
    let long = |name: char| format!("set-cookie: {name}={}", "x".repeat(8_000));
    jar.absorb(&fields(&format!("{}\n{}", long('a'), long('b'))), NOW);
    assert!(!jar.overflowed());
    for _ in 0..3 {
        // What replaces a cookie takes its room, not more.
        jar.absorb(&fields(&long('a')), NOW);
    }
    assert!(!jar.overflowed());
    jar.absorb(&fields(&long('c')), NOW);
    assert!(jar.overflowed() && !jar.contains_name(b"c") && jar.contains_name(b"b"));
    assert!(written(&jar).len() <= 16 * 1024);
}

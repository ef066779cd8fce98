//! That a scene fails when it should: each way of being wrong, and what is said of it.

use super::virtually;
use crate::parse;

/// What becomes of a scene of these lines: nothing, or the failure's first line.
fn outcome(lines: &str) -> String {
    let scene = parse::scene(&format!("# A scene.\nlaw: none\n{lines}\n"), None);
    let scene = scene.expect("the test's scene is in the language");
    match virtually(&scene) {
        Ok(_) => "passed".to_owned(),
        Err(broken) => broken.failure.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn a_scene_in_which_all_is_as_it_says_passes() {
    let lines = "origin GET /x -> 200 max-age=10 \"v1\"\nann GET /x -> 200 \"v1\" miss\nann GET /x -> 200 hit kept";
    assert_eq!(outcome(lines), "passed");
}

#[test]
fn a_scene_fails_in_every_way_in_which_it_can_be_wrong() {
    const PAGE: &str = "origin GET /x -> 200 max-age=10 \"v1\"\n";
    for (lines, wanted) in [
        ("ann GET /x -> 200", "3:1: the origin was asked, and nothing says so: GET /x HTTP/1.1"),
        ("origin GET /x -> 200\nsettle", "3:1: the origin was never asked for this: GET /x"),
        (
            "origin GET /x If-Match: a -> 200\nann GET /x -> 200",
            "3:1: the origin's request: the field If-Match is not what was expected",
        ),
        (
            "origin GET /x !Host -> 200\nann GET /x -> 200",
            "3:1: the origin's request: the field Host should not be there",
        ),
        (
            "origin POST /x \"a\" -> 200\nann POST /x \"b\" -> 200",
            "3:1: the origin's request: the body is not what was expected",
        ),
        ("origin GET /x -> stall\nann GET /x -> 200", "4:15: ann would wait for ever"),
        (
            "origin GET /x -> gate a -> 200\ncrowd 3 GET /x -> 200\nopen a",
            "4:19: 3 of 3 in the crowd would wait for ever",
        ),
        (&format!("{PAGE}ann GET /x -> 404"), "4:15: ann: the status is not what was expected"),
        (
            &format!("{PAGE}ann GET /x -> 200 \"v2\""),
            "4:15: ann: the body is not what was expected",
        ),
        (&format!("{PAGE}ann GET /x -> 200 empty"), "4:15: ann: the body is not what was expected"),
        (
            &format!("{PAGE}ann GET /x -> 200 X: y"),
            "4:15: ann: the field X is not what was expected",
        ),
        (
            &format!("{PAGE}ann GET /x -> 200 !Date"),
            "4:15: ann: the field Date should not be there",
        ),
        (
            &format!("{PAGE}ann GET /x -> 200 hit"),
            "4:15: ann: the verdict is not what was expected",
        ),
        (
            &format!("{PAGE}ann GET /x -> 200 miss(expired)"),
            "4:15: ann: the verdict is not what was expected",
        ),
        (&format!("{PAGE}ann GET /x -> 200 closed"), "4:15: ann would wait for ever"),
        (
            &format!("{PAGE}ann GET /x -> 200 \"v\" ..."),
            "4:15: ann: the body is not what was expected",
        ),
        (&format!("{PAGE}ann GET /x -> 200 cut"), "4:15: ann: the message is whole"),
        (&format!("{PAGE}ann GET /x ->>"), "4:1: ann received what no line expects"),
        (
            "origin GET /x -> 200 Content-Length: 9 \"v\" -> close\nann GET /x -> 200 \"v\"",
            "4:15: ann: the message ended before it was whole",
        ),
        ("ann send \"nonsense\\r\\n\\r\\n\" -> 400 kept", "3:32: ann: the connection was closed"),
        ("ann <- 200", "3:1: ann has no connection to listen on"),
    ] {
        assert_eq!(outcome(lines), wanted, "{lines}");
    }
}

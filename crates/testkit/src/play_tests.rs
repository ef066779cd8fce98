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
fn a_line_for_each_request_is_used_where_no_other_is_and_by_whom_it_wants() {
    let lines = "origin GET /x -> 200 \"once\"\n\
                 origin each GET /x -> 200 \"{count}\"\n\
                 origin each GET /x Cookie: a=1 -> 200 \"a's\"\n\
                 ann GET /x -> 200 \"once\"\nann GET /x -> 200 \"1\"\n\
                 ann GET /x Cookie: a=1 -> 200 \"a's\"\nann GET /x -> 200 \"2\"";
    assert_eq!(outcome(lines), "passed");
    let unused = "origin each GET /x -> 200";
    assert_eq!(outcome(unused), "3:1: the origin was never asked for this: GET /x");
}

#[test]
fn a_client_sends_what_it_was_shown_and_the_origin_knows_whose_it_is() {
    let page = "origin each GET /x -> 200 Set-Cookie: id={sid} \"{token}\"\n\
                ann GET /x -> 200 Set-Cookie: id={sid} \"{token}\"\n\
                origin POST /x Cookie: id={sid} \"{token}\" -> 200\n";
    for (line, wanted) in [
        ("ann POST /x Cookie: id={sid} \"{token}\" -> 200", "passed"),
        (
            "ann POST /x Cookie: id={sid} \"other\" -> 200",
            "6:1: the origin's request: the body is not what was expected",
        ),
        (
            // The session began with another address.
            "bob GET /x -> 200\nann POST /x Cookie: id=none \"{token}\" -> 200",
            "7:1: the origin's request: the field Cookie is not what was expected",
        ),
    ] {
        let outcome = outcome(&format!("{page}{line}"));
        // The line is that of the origin's expectation or of the act, whichever is nearer.
        assert_eq!(
            outcome.split_once(' ').map_or("", |o| o.1),
            wanted.split_once(' ').map_or("", |w| w.1),
            "{line}: {outcome}"
        );
    }
}

#[test]
fn a_second_connection_of_one_client_comes_from_its_address() {
    let lines = "origin GET /x X-Forwarded-For: 192.0.2.1 -> 200\n\
                 origin GET /y X-Forwarded-For: 192.0.2.1 -> 200\n\
                 ann GET /x -> 200\nann2 GET /y -> 200";
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

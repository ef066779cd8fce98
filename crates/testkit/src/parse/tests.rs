//! The language, case by case: what a line means, and what is said of a wrong one.

use std::time::Duration;

use super::*;
use crate::scene::{Act, Ending, Exchange, Expected, Stage, Want};

const HEAD: &str = "# A scene.\nlaw: RFC 9111\n";

fn read(lines: &str) -> Result<Scene, ParseError> {
    scene(&format!("{HEAD}{lines}\n"), None)
}

/// The only deed of a scene of one line.
fn deed(line: &str) -> Deed {
    let scene = read(line).expect("the line is in the language");
    assert_eq!(scene.steps.len(), 1, "{line}");
    scene.steps[0].deed.clone()
}

fn exchange(line: &str) -> Exchange {
    match deed(line) {
        Deed::Script(exchange) => exchange,
        other => panic!("{line} is not the origin's: {other:?}"),
    }
}

fn expected(line: &str) -> Vec<Expected> {
    match deed(line) {
        Deed::Act { expected, .. } => expected,
        other => panic!("{line} is not a client's: {other:?}"),
    }
}

/// What is said of wrong lines, the place included.
fn check_error(lines: &str, wanted: &str) {
    let error = read(lines).expect_err(lines).to_string();
    assert_eq!(error, wanted, "{lines}");
}

#[test]
fn the_scene_of_the_design_is_read_whole() {
    let text = concat!(
        "# A stale page is served while one visitor refreshes it.\n",
        "law: RFC 5861 §3\n",
        "site   stale_while_revalidate = 30s\n",
        "origin GET /news -> 200 max-age=10 \"v1\"\n",
        "       GET /news -> gate refill -> 200 max-age=10 \"v2\"\n",
        "ann    GET /news -> 200 \"v1\" miss\n",
        "wait 11s\n",
        "bob    GET /news -> 200 \"v1\" stale\n",
        "open refill; settle\n",
        "cid    GET /news -> 200 \"v2\" hit\n",
    );
    let name = "a-stale-page-is-served-while-one-visitor-refreshes-it";
    let scene = scene(text, Some(name)).expect("it is in the language");
    assert_eq!(scene.law, "RFC 5861 §3");
    assert_eq!(scene.settings[0].value, "30s");
    assert_eq!(scene.steps.len(), 8);
    assert_eq!(scene.steps[3].deed, Deed::Wait(Duration::from_secs(11)));
    assert_eq!(scene.steps[5].deed, Deed::Open("refill".into()));
    assert_eq!(scene.steps[6].deed, Deed::Settle);
    let Deed::Script(second) = &scene.steps[1].deed else { panic!("a second line of the origin") };
    assert_eq!(second.stages[0], Stage::Gate("refill".into()));
    assert_eq!(second.at, Position { line: 5, column: 8 });
}

#[test]
fn an_origin_line_has_what_it_expects_before_the_arrow_and_what_it_does_behind() {
    let line = "origin POST /x If-None-Match: \"v1\" !Cookie \"in\" -> 200 max-age=10, public \
                ETag: W/\"v2\" chunked \"out\" trailer Sum: 1 -> gate g -> bytes 3\nopen g";
    let Deed::Script(exchange) = read(line).expect("in the language").steps[0].deed.clone() else {
        panic!("not the origin's")
    };
    assert_eq!(
        exchange.wants,
        [Want::Field("If-None-Match".into(), "\"v1\"".into()), Want::Absent("Cookie".into())]
    );
    assert_eq!(exchange.body.as_deref(), Some(&b"in"[..]));
    let Stage::Head(200, answer, Ending::Chunks) = &exchange.stages[0] else { panic!("no head") };
    assert_eq!(answer.fields[0], ("Cache-Control".into(), "max-age=10, public".into()));
    assert_eq!(answer.fields[1], ("ETag".into(), "W/\"v2\"".into()));
    assert_eq!(answer.trailers, [("Sum".into(), "1".into())]);
    assert_eq!(exchange.stages[1], Stage::Gate("g".into()));
    assert_eq!(exchange.stages[2], Stage::More(crate::filler::window(0, 3)));
}

#[test]
fn a_line_for_each_request_chooses_by_what_it_wants() {
    let each = exchange("origin each GET /x Cookie: a=1 -> 200 no-store html \"{token}\"");
    assert!(each.is_for_each);
    assert_eq!(each.wants, [Want::Field("Cookie".into(), "a=1".into())]);
    let Stage::Head(200, answer, _) = &each.stages[0] else { panic!("no head") };
    let html = ("Content-Type".to_owned(), "text/html; charset=utf-8".to_owned());
    assert_eq!(answer.fields[1], html);
    let scene = read("origin GET /x -> 200\n       each GET /x -> 200 json").expect("in it");
    let is_for_each = |step: &Step| matches!(&step.deed, Deed::Script(e) if e.is_for_each);
    assert_eq!(scene.steps.iter().map(is_for_each).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_field_that_begins_a_continuation_line_has_the_whole_line() {
    let exchange = exchange("origin GET /x -> 200\n  Expires: Thu, 01 Jan 1970 -> x\n  \"body\"");
    let Stage::Head(_, answer, _) = &exchange.stages[0] else { panic!("no head") };
    assert_eq!(answer.fields, [("Expires".into(), "Thu, 01 Jan 1970 -> x".into())]);
    assert_eq!(answer.body.as_deref(), Some(&b"body"[..]));
}

#[test]
fn an_inline_value_is_one_word_or_several_joined_by_commas() {
    for (line, value) in [
        ("ann GET /x Accept: a, b; q=1 \"body\" ->>", "a, b; q=1"),
        ("ann GET /x X: \"two words\" \"body\" ->>", "\"two words\""),
        ("ann GET /x X: \"body\" ->>", "\"body\""),
        ("ann GET /x X: ->>", ""),
    ] {
        let Deed::Act { act: Act::Request { request, .. }, .. } = deed(line) else {
            panic!("{line} is no request")
        };
        assert_eq!(request.fields[0].1, value, "{line}");
    }
}

#[test]
fn expectations_say_status_body_verdict_and_what_becomes_of_the_connection() {
    let all = expected("ann GET /x -> 103 Link: </a> -> 200 \"a\\r\\n\\x41\" !Age hit closed");
    assert_eq!((all[0].status, all[1].status), (Some(103), Some(200)));
    assert_eq!(all[1].body.as_deref(), Some(&b"a\r\nA"[..]));
    assert_eq!(all[1].verdict, Some(("hit".into(), None)));
    assert!(all[1].closed && !all[1].kept);
    let part = &expected("ann GET /x -> 200 \"one\" ...")[0];
    assert!(part.unfinished && !part.goes_on);
    let rest = &expected("ann <- ... \"two\" cut")[0];
    assert!(rest.goes_on && rest.cut && rest.status.is_none());
    let ranged = &expected("ann GET /x -> 206 bytes 100-199")[0];
    assert_eq!(ranged.body, Some(crate::filler::window(100, 200)));
    assert_eq!(expected("ann GET /x -> 200 empty")[0].body, Some(Vec::new()));
}

#[test]
fn a_crowd_has_a_number_and_a_method_may_begin_the_next_line_of_a_client() {
    let Deed::Act { act: Act::Request { count, .. }, .. } = deed("crowd 100 GET /x ->>") else {
        panic!("no request")
    };
    assert_eq!(count, 100);
    let scene = read("ann GET /a -> 200\n    GET /b -> 200").expect("in the language");
    let targets: Vec<_> = scene.steps.iter().map(|step| format!("{:?}", step.deed)).collect();
    assert!(targets.len() == 2 && targets[1].contains("\"/b\""));
}

#[test]
fn changes_are_steps_and_stages_and_make_a_scene_virtual() {
    for (lines, is_about_changes) in [
        ("change posts", true),
        ("changes heard\nchanges lost", true),
        ("origin GET /x -> change views -> 200", true),
        ("origin GET /x -> 200", false),
    ] {
        let scene = read(lines).expect("in the language");
        assert_eq!(scene.has_changes(), is_about_changes, "{lines}");
        assert_eq!(scene.only_virtual.is_some(), is_about_changes, "{lines}");
    }
    assert_eq!(deed("change posts"), Deed::Change("posts".into()));
}

#[test]
fn a_restart_makes_a_scene_virtual_and_is_none_where_changes_are_told() {
    let scene = read("restart").expect("in the language");
    assert!(scene.has_restarts() && scene.only_virtual.is_some());
    let error = read("change posts\nrestart").expect_err("nothing is heard after it");
    assert_eq!(error.to_string(), "4:1: nothing restarts where changes are told");
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_the_nearest_word() {
    for (lines, wanted) in [
        ("wiat 11s", "3:6: \"11s\" is not what a client does (or did \"wiat\" mean \"wait\"?)"),
        (
            "wait soon",
            "3:6: \"soon\" is not a duration: write a number with ms, s, m, h, d or y, as in 30s",
        ),
        (
            "origin GET /x -> 200 max-ege=1",
            "3:22: \"max-ege\" is not a word of an answer; the nearest is \"max-age\"",
        ),
        (
            "origin GET /x -> gaet a",
            "3:18: \"gaet\" is not a stage of an answer; the nearest is \"gate\"",
        ),
        ("origin each down", "3:13: \"down\" is not a method"),
        ("origin GET /x", "3:12: the origin's answer is missing: \"-> 200 …\""),
        ("origin GET /x -> \"a\"", "3:18: a body can't stand before its head"),
        ("origin GET /x -> 200 -> 200", "3:25: this answer has its head already"),
        ("ann GET /x", "3:9: a request wants \"->\" and what is expected, or \"->>\""),
        (
            "ann GET /x -> 200 hti",
            "3:19: \"hti\" is not a word of an expectation; the nearest is \"hit\"",
        ),
        ("ann GET /x -> hit", "3:15: an expectation wants a status, \"...\" or \"closed\""),
        ("ann GET /x -> 200 \"a", "3:19: the quotes are not closed on this line"),
        ("ann GET /x -> 200 \"a\"b", "3:19: something is glued to a quoted text"),
        ("ann send \"\\q\"", "3:10: an escape is none of \\r \\n \\t \\0 \\\\ \\\" \\xHH"),
        ("ann sned \"a\"", "3:5: \"sned\" is not what a client does; the nearest is \"send\""),
        ("crowd many GET /x ->>", "3:7: \"many\" is not a number from 1 to 10000"),
        ("site stale = 3s", "3:6: \"stale\" is not a setting"),
        ("settle\nsite memory = 3M", "4:1: settings stand before everything that happens"),
        ("open a", "3:1: the gate \"a\" is never waited for"),
        (
            "origin GET /x -> gate refil -> 200\nopen refill",
            "3:1: the gate \"refil\" is never opened; the nearest is \"refill\"",
        ),
        ("change", "3:1: the table that changes is missing"),
        ("change a b", "3:10: \"b\" has no meaning here"),
        ("changes herd", "3:9: \"herd\" is not what becomes of changes; the nearest is \"heard\""),
        ("wait 1s settle", "3:9: \";\" separates two steps of a line"),
        ("  wait 1s", "3:3: an indented line has nothing to go on with"),
        ("Ann GET /x ->>", "3:1: \"Ann\" is not a client's name nor a step"),
    ] {
        check_error(lines, wanted);
    }
}

#[test]
fn a_file_bears_the_name_of_its_sentence_and_names_its_law() {
    for (text, name, wanted) in [
        ("A scene.\n", None, "1:1: the first line is not \"# A sentence.\""),
        ("# A scene\n", None, "1:1: the first line is not \"# A sentence.\""),
        ("# A scene.\n", None, "2:1: no \"law:\" line names the clause"),
        (
            "# A \"No\" isn't A-1.\n",
            Some("other"),
            "1:1: by its sentence this file's name is a-no-isnt-a-1.scene",
        ),
    ] {
        assert_eq!(scene(text, name).expect_err(text).to_string(), wanted);
    }
}

#[test]
fn no_text_makes_the_reader_panic() {
    let seed_text = format!(
        "{HEAD}site memory = 1M\norigin GET /x A: \"b\" -> gate g -> 200 max-age=1 \"v\"\n  X: y\n\
         ann GET /x -> 200 \"v\" hit\nopen g; wait 1s\nann send \"a\\x41\" bytes 3-4 -> 400 closed\n"
    );
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..20_000 {
        let mut bytes = seed_text.clone().into_bytes();
        for _ in 0..4 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = state as usize % bytes.len();
            match state >> 61 {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.insert(at, b'"'),
                2 => bytes[at] = b'\n',
                3 => drop(bytes.remove(at)),
                4 => bytes[at] = b'-',
                _ => bytes[at] = (state >> 32) as u8,
            }
            if bytes.len() < 2 {
                break;
            }
        }
        // Only that it returns matters here.
        let _ = scene(&String::from_utf8_lossy(&bytes), None);
    }
}

//! Lines of `Range` and the bytes that are sent.

use super::*;
use crate::written::fields;

fn shown(selection: &Selection) -> String {
    let one = |range: &RangeInclusive<u64>| format!("{}-{}", range.start(), range.end());
    match selection {
        Selection::Full => "full".to_owned(),
        Selection::Unsatisfiable => "416".to_owned(),
        Selection::Partial(range) => one(range),
        Selection::Several(ranges) => ranges.iter().map(one).collect::<Vec<_>>().join(" "),
    }
}

fn check(range: &str, length: u64, expected: &str) {
    let request = fields(&format!("range: {range}"));
    assert_eq!(shown(&select(&request, &Fields::new(), length)), expected, "{range:?} of {length}");
}

#[test]
fn one_range_selects_its_bytes() {
    for (range, expected) in [
        ("bytes=0-0", "0-0"),
        ("bytes=0-", "0-999"),
        ("bytes=10-19", "10-19"),
        ("BYTES=10-19", "10-19"),
        ("bytes=-1", "999-999"),
        ("bytes=-5000", "0-999"),
        ("bytes=990-5000", "990-999"),
        ("bytes=990-99999999999999999999999", "990-999"),
        ("bytes= 10-19 ,", "10-19"),
        ("bytes=999-999", "999-999"),
    ] {
        check(range, 1000, expected);
    }
}

#[test]
fn a_range_behind_the_end_cannot_be_satisfied() {
    check("bytes=1000-", 1000, "416");
    check("bytes=1000-2000, 5000-", 1000, "416");
    check("bytes=-0", 1000, "416");
    check("bytes=99999999999999999999999-", 1000, "416");
    check("bytes=0-", 0, "416");
    // One that can is enough.
    check("bytes=1000-, 0-1", 1000, "0-1");
}

#[test]
fn what_is_no_range_is_ignored() {
    for range in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=-",
        "bytes=5-4",
        "bytes=a-b",
        "bytes=1-2-3",
        "bytes=1",
        "bytes=0x1-2",
        "bytes=+1-2",
        "bytes=1 - 2",
        "bytes =1-2",
        "lines=1-2",
        "bytes=0-1, 5-4",
        "bytes=0-1; 2-3",
    ] {
        check(range, 1000, "full");
    }
    check("bytes=-5", 0, "full");
    let twice = fields("range: bytes=0-1\nrange: bytes=2-3");
    assert_eq!(select(&twice, &Fields::new(), 1000), Selection::Full);
    assert_eq!(select(&Fields::new(), &Fields::new(), 1000), Selection::Full);
}

#[test]
fn several_ranges_never_overlap() {
    check("bytes=0-1, 500-501", 1000, "0-1 500-501");
    check("bytes=500-501, 0-1", 1000, "500-501 0-1");
    check("bytes=0-500, 400-600", 1000, "0-600");
    check("bytes=0-1, 2-3", 1000, "0-3");
    check("bytes=0-1, 81-82", 1000, "0-82");
    check("bytes=0-1, 82-83", 1000, "0-1 82-83");
    check("bytes=600-700, 0-1, 0-1", 1000, "0-1 600-700");
    check("bytes=0-,0-,0-,0-", 1000, "0-999");
    check("bytes=0-99,50-60,10-20", 1000, "0-99");
}

#[test]
fn too_many_ranges_get_the_whole() {
    let many = |count: u64| {
        let list: Vec<_> = (0..count).map(|at| format!("{}-{}", at * 1000, at * 1000)).collect();
        format!("bytes={}", list.join(","))
    };
    let request = |count| fields(&format!("range: {}", many(count)));
    let at_most = select(&request(RANGES_MAX as u64), &Fields::new(), 1 << 20);
    assert!(matches!(at_most, Selection::Several(parts) if parts.len() == RANGES_MAX));
    let more = select(&request(RANGES_MAX as u64 + 1), &Fields::new(), 1 << 20);
    assert_eq!(more, Selection::Full);
}

#[test]
fn if_range_must_name_what_is_stored_beyond_doubt() {
    const OLD: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const NEW: &str = "Mon, 07 Nov 1994 08:49:37 GMT";
    for (if_range, stored, expected) in [
        ("\"a\"", "etag: \"a\"", "0-1"),
        ("\"a\"", "etag: \"b\"", "full"),
        ("W/\"a\"", "etag: W/\"a\"", "full"),
        ("\"a\"", "etag: W/\"a\"", "full"),
        ("W/\"a\"", "etag: \"a\"", "full"),
        ("\"a\", \"b\"", "etag: \"a\"", "full"),
        ("\"a\"", "", "full"),
        ("OLD", "last-modified: OLD\ndate: NEW", "0-1"),
        ("OLD", "last-modified: OLD\ndate: OLD", "full"),
        ("OLD", "last-modified: OLD", "full"),
        ("NEW", "last-modified: OLD\ndate: NEW", "full"),
        ("OLD", "etag: \"a\"", "full"),
        ("", "etag: \"a\"", "full"),
    ] {
        let expand = |text: &str| text.replace("OLD", OLD).replace("NEW", NEW);
        let request = fields(&format!("range: bytes=0-1\nif-range: {}", expand(if_range)));
        let selection = select(&request, &fields(&expand(stored)), 1000);
        assert_eq!(shown(&selection), expected, "{if_range:?} {stored:?}");
    }
    // Without Range it means nothing.
    let alone = fields("if-range: \"a\"");
    assert_eq!(select(&alone, &fields("etag: \"a\""), 1000), Selection::Full);
}

#[test]
fn parts_are_written_as_the_law_draws_them() {
    let mut out = Vec::new();
    write_content_range(&mut out, &(5..=9), 100);
    out.push(b' ');
    write_unsatisfied_range(&mut out, 100);
    assert_eq!(out, b"bytes 5-9/100 bytes */100");
    out.clear();
    write_part_head(&mut out, b"b", Some(b"a/b"), &(0..=1), 10);
    out.extend_from_slice(b"xy");
    write_parts_end(&mut out, b"b");
    assert_eq!(
        String::from_utf8_lossy(&out),
        "\r\n--b\r\ncontent-type: a/b\r\ncontent-range: bytes 0-1/10\r\n\r\nxy\r\n--b--\r\n"
    );
}

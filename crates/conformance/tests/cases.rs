//! Small documents and the rules they break.
//!
//! A line is a body and the rules, in the order of their places; warnings and infos count
//! only where they are named. What stands around the body is valid.

use conformance::{FINDINGS_MAX, Finding, Severity, check};

fn found(html: &str) -> Vec<Finding> {
    check(html.as_bytes(), Some("utf-8"))
}

fn rules(html: &str) -> Vec<&'static str> {
    let errors = found(html).into_iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.rule).collect()
}

fn body(body: &str) -> String {
    format!("<!DOCTYPE html><html lang=en><head><title>t</title></head><body>{body}</body></html>")
}

fn cases(list: &[(&str, &[&str])]) {
    for (html, expected) in list {
        assert_eq!(rules(&body(html)), *expected, "{html}");
    }
}

#[test]
fn parse_errors_are_told() {
    cases(&[
        ("<p>x &amp; y &lt; z</p>", &[]),
        ("<p>x</b></p>", &["stray-end-tag"]),
        ("<p id=a id=b>x</p>", &["duplicate-attribute"]),
        ("<p>&copy x</p>", &["character-reference-without-semicolon"]),
        ("<p>&unheard;</p>", &["unknown-character-reference"]),
        ("<p>&#0;</p>", &["forbidden-character-reference"]),
        ("<p>a < b</p>", &["bad-tag-start"]),
        ("<p>\0</p>", &["null-character"]),
        ("<p title=\"a\"class=b>x</p>", &["no-space-between-attributes"]),
        ("<p title=a\"b>x</p>", &["unquoted-value"]),
        ("<div><span></div>", &["unclosed-elements"]),
        ("<div>", &["unclosed-element", "eof-with-open-elements"]),
        ("<b><i>x</b></i>", &["misnested-end-tag", "misnested-end-tag"]),
        ("<a href=x><a href=y>z</a></a>", &["a-in-a", "stray-end-tag"]),
        ("</p>", &["no-p-to-close"]),
        ("<div/>x</div>", &["self-closing-non-void"]),
        ("<!-- a <!-- b -->", &["nested-comment"]),
        ("<table>x<tr><td>y</table>", &["text-in-table"]),
        ("<?php ?>", &["processing-instruction"]),
        ("<script async defer src=x></script>", &[]),
    ]);
}

#[test]
fn a_whole_page_is_judged() {
    assert_eq!(rules(&body("")), [""; 0]);
    let no_doctype = "<html lang=en><head><title>t</title></head><body></body></html>";
    assert_eq!(rules(no_doctype), ["doctype-missing"]);
    assert_eq!(rules("<!DOCTYPE html><p>x"), ["child-missing"]);
    assert_eq!(rules("<!DOCTYPE html><title> </title>"), ["empty-title"]);
    assert_eq!(rules(&format!("{}x", body(""))), ["content-after-body"]);
    assert_eq!(rules(&format!("{}<!DOCTYPE html>", body(""))), ["stray-doctype"]);
    let loose = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01 Transitional//EN\"><title>t</title>";
    assert_eq!(rules(loose), ["doctype-quirky"]);
    let late =
        format!("<!DOCTYPE html><!--{}--><meta charset=utf-8><title>t</title>", "x".repeat(1100));
    assert_eq!(rules(&late), ["charset-late"]);
    let twice = "<!DOCTYPE html><title>t</title><meta charset=utf-8><meta charset=utf-8>";
    assert_eq!(rules(twice), ["charset-twice"]);
    let after = |base: &str| format!("<!DOCTYPE html><title>t</title><link rel=icon href=x>{base}");
    assert_eq!(rules(&after("<base href=y>")), ["base-too-late"]);
    assert_eq!(rules(&after("<base target=y>")), [""; 0]);
}

#[test]
fn elements_stand_where_they_may() {
    cases(&[
        ("<p>a <em>b</em></p><ul><li>c</li></ul>", &[]),
        ("<span><div>x</div></span>", &["element-not-allowed"]),
        ("<ul><div>x</div></ul>", &["element-not-allowed"]),
        ("<ul>x</ul>", &["text-not-allowed"]),
        ("<a href=x><div>y</div></a>", &[]),
        ("<span><a href=x><div>y</div></a></span>", &["element-not-allowed"]),
        ("<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>", &["child-missing"]),
        ("<dl><dd>b</dd></dl>", &["element-not-allowed"]),
        ("<dl><div><dt>a</dt><dd>b</dd></div></dl>", &[]),
        ("<a href=x><button>y</button></a>", &["forbidden-descendant"]),
        ("<header><footer>x</footer></header>", &["forbidden-descendant"]),
        ("<x-y><p>z</p></x-y>", &[]),
        ("<thing>x</thing>", &["unknown-element"]),
        ("<center>x</center>", &["obsolete-element"]),
        ("<picture><source srcset=a><img src=b alt=c></picture>", &[]),
        ("<picture><img src=b alt=c><source srcset=a></picture>", &["element-not-allowed"]),
        ("<video src=a><source src=b></video>", &["element-not-allowed"]),
        ("<figure><p>x</p><figcaption>y</figcaption></figure>", &[]),
        ("<details><p>x</p></details>", &["child-missing"]),
        ("<ruby>x<rt>y</rt></ruby>", &[]),
        ("<link rel=icon href=x>", &["link-attributes"]),
        ("<area href=x alt=y>", &["area-without-map"]),
        ("<h1>a</h1><h3>b</h3>", &["heading-level-skipped"]),
    ]);
}

#[test]
fn attributes_are_judged() {
    cases(&[
        ("<p data-x=y hidden>z</p>", &[]),
        ("<p foo=bar>x</p>", &["attribute-not-allowed"]),
        ("<p hidden=true>x</p>", &["bad-value"]),
        ("<p id='a b'>x</p>", &["bad-value"]),
        ("<p id=a>x</p><p id=a>y</p>", &["duplicate-id"]),
        ("<a href='a b'>x</a>", &["bad-value"]),
        ("<a href='http://h:x/'>x</a>", &["bad-value"]),
        ("<a target=_blank>x</a>", &["attribute-missing"]),
        ("<img src=a>", &["alt-missing"]),
        ("<img alt=a>", &["attribute-missing"]),
        ("<img src=a alt=b width=10px>", &["bad-value"]),
        ("<img src=a alt=b srcset='a 100w'>", &["sizes-missing"]),
        ("<p lang=english>x</p>", &["bad-value"]),
        ("<time datetime=yesterday>x</time>", &["bad-value"]),
        ("<time>2024-02-30</time>", &["bad-text"]),
        ("<input type=text checked>", &["attribute-not-allowed"]),
        ("<input autocomplete='section-a email'>", &[]),
        ("<input autocomplete=nonsense>", &["bad-value"]),
        ("<label for=x>a</label><input id=x>", &[]),
        ("<label for=x>a</label>", &["broken-reference"]),
        ("<img src=a alt=b usemap='#m'>", &["broken-reference"]),
        ("<script type=module defer src=a></script>", &["script-attributes"]),
        ("<meter value=3 max=2></meter>", &["numbers-out-of-order"]),
        ("<table><colgroup><col><tr><td>a<td>b</table>", &["row-too-wide"]),
        ("<table><tr><td>a<tr></table>", &["empty-row"]),
        ("<table><colgroup><col><col><tr><td colspan=2>a</table>", &["empty-column"]),
        ("<table><tr><td>a<th colspan=2>b<tr><td>c<td colspan=2>d</table>", &["empty-column"]),
        ("<table><tr><td>a<td colspan=2>b<tr><td>c<td>d<td>e</table>", &[]),
        ("<table><tr><td rowspan=2>a</table>", &["cell-past-group"]),
        ("<p itemprop=a>x</p>", &["microdata"]),
        ("<div itemscope><p itemprop=a>x</p></div>", &[]),
    ]);
}

#[test]
fn aria_is_judged() {
    cases(&[
        ("<div role=button tabindex=0>x</div>", &[]),
        ("<div role=butler>x</div>", &["bad-value"]),
        ("<div role=widget>x</div>", &["bad-value"]),
        ("<div aria-label=x>y</div>", &["name-not-allowed"]),
        ("<div role=checkbox>x</div>", &["aria-required"]),
        ("<div role=tab>x</div>", &["role-out-of-context"]),
        ("<p aria-nothing=x>y</p>", &["attribute-not-allowed"]),
        ("<h2 role=button>x</h2>", &["bad-value"]),
        ("<div aria-hidden=maybe>x</div>", &["bad-value"]),
    ]);
    let findings = found(&body("<nav role=navigation>x</nav>"));
    assert!(findings.iter().any(|finding| finding.rule == "role-redundant"));
    let findings = found(&body("<div aria-labelledby=x role=group>y</div>"));
    assert!(findings.iter().any(|finding| finding.rule == "broken-aria-reference"));
}

#[test]
fn places_are_lines_and_columns() {
    let findings = found("<!DOCTYPE html>\r\n<html lang=en><title>t</title>\r\n<p>é<foo>x</foo>\n");
    let places: Vec<_> = findings.iter().map(|f| (f.rule, f.line, f.column)).collect();
    assert_eq!(places, [("unknown-element", 3, 5)]);
}

#[test]
fn legacy_encodings_and_broken_bytes_are_told() {
    let page = body("<p>\u{fc}</p>").replace('\u{fc}', "X");
    let mut bytes = page.into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'X').unwrap();
    bytes[at] = 0xFC;
    assert_eq!(check(&bytes, Some("utf-8"))[0].rule, "malformed-bytes");
    assert_eq!(check(&bytes, Some("iso-8859-1"))[0].rule, "legacy-encoding");
    assert_eq!(check(&bytes, None)[0].rule, "charset-undeclared");
    assert_eq!(check(&bytes, Some("latin-9"))[0].rule, "unknown-encoding");
}

/// A byte of Shift_JIS or UTF-16 may look like a bracket or a quote and be none.
#[test]
fn legacy_encodings_are_read_as_what_they_are() {
    let rules = |html: &[u8], charset| -> Vec<_> {
        let findings = check(html, charset);
        findings.iter().map(|found| (found.rule, found.line, found.column)).collect()
    };
    let page = body("<p title=\"##\">~</p>\n<foo>x</foo>").into_bytes();
    // The second byte of U+8868 is a backslash, of U+30A2 it is `A`, and of U+58F2 `|`.
    let shift_jis: Vec<u8> = page
        .iter()
        .flat_map(|&byte| match byte {
            b'#' => vec![0x95, b'\\'],
            b'~' => vec![0x94, b'|', 0x83, b'A'],
            byte => vec![byte],
        })
        .collect();
    let expected = [("legacy-encoding", 1, 1), ("unknown-element", 2, 1)];
    assert_eq!(rules(&shift_jis, Some("shift_jis")), expected);
    let page = String::from_utf8(page).unwrap();
    // U+3C3E is `<>` as bytes.
    let wide = |to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        page.replace('~', "\u{3C3E}").encode_utf16().flat_map(to_bytes).collect()
    };
    assert_eq!(rules(&wide(u16::to_be_bytes), Some("utf-16be")), expected);
    let marked = [vec![0xFF, 0xFE], wide(u16::to_le_bytes)].concat();
    assert_eq!(rules(&marked, Some("utf-8")), expected);
    let broken = [&shift_jis[..shift_jis.len() - 14], b"\xFF", &shift_jis[shift_jis.len() - 14..]];
    let broken = rules(&broken.concat(), Some("shift_jis"));
    assert!(broken.contains(&("malformed-bytes", 2, 13)), "{broken:?}");
}

#[test]
fn a_page_whose_warnings_fill_the_list_is_still_valid() {
    let last = |html: &str| found(&body(html)).pop().map(|found| (found.rule, found.severity));
    // Told as an info each.
    let slashes = "<br/>".repeat(FINDINGS_MAX + 1);
    assert_eq!(last(&slashes), Some(("too-many-findings", Severity::Info)));
    let one = format!("{slashes}<foo>x</foo>");
    assert_eq!(last(&one), Some(("too-many-findings", Severity::Error)));
}

/// Work in proportion to the page, whatever it nests: these end at once, or never.
#[test]
fn no_page_takes_time_out_of_proportion() {
    let deep = "<div>".repeat(12_000);
    let formatting: String = (0..4_000).map(|n| format!("<b id=a{n}><p>")).collect();
    let attributes: String = (0..20_000).map(|n| format!(" a{n}")).collect();
    let cells = format!("<table>{}</table>", "<tr><td colspan=1000 rowspan=65000>".repeat(100));
    for html in [deep, formatting, format!("<p{attributes}>"), cells, "<a>".repeat(8_000)] {
        assert!(!check(html.as_bytes(), None).is_empty());
    }
}

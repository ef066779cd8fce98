//! Style sheets: what is told of them, and what isn't.

use conformance::{Severity, Style, check_style};

#[track_caller]
fn check(css: &str, expected: &[&str]) {
    told(css, Style::Sheet, expected);
}

#[track_caller]
fn told(css: &str, style: Style, expected: &[&str]) {
    let found = check_style(css, style);
    let told: Vec<String> = found
        .iter()
        .map(|one| format!("{}:{} {} {}", one.line, one.column, one.rule, one.message))
        .collect();
    assert_eq!(told, expected, "{css}");
}

#[test]
fn what_browsers_take_is_no_mistake() {
    let found = check_style(include_str!("supported.css"), Style::Sheet);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_cannot_be_read_is_told_where_it_stands() {
    for (css, expected) in [
        (
            "a { color red; top: 0 }",
            "1:5 css-syntax “color red;” is no declaration, as there is no colon; it is left out.",
        ),
        (
            "a {\n top: 0 left: 0 }",
            "2:9 css-syntax A semicolon is missing before “left”, so “top” and it are left out.",
        ),
        (
            "..a { top: 0 }",
            "1:1 css-syntax The selector “..a ” can't be read; its rule is left out.",
        ),
        ("{ top: 0 }", "1:1 css-syntax A rule has no selector, and is left out."),
        (
            "a { // b\n top: 0 }",
            "1:5 css-syntax “//” begins no comment in CSS: what follows is left out up to the next “;” or block.",
        ),
        ("@include b;", "1:1 css-syntax Browsers know no “@include”, and leave it out."),
        (
            "a { top: 0 }\n@import 'b.css';",
            "2:1 css-syntax “@import” stands behind other rules, so browsers don't load it.",
        ),
        (
            "a { content: 'b\n; top: 0 }",
            "1:5 css-syntax The value of “content” has a text whose quotes aren't closed on its line; it is left out.",
        ),
        (
            "a { top: 0) }",
            "1:5 css-syntax The value of “top” closes a bracket that isn't open; it is left out.",
        ),
        ("a { top: ; left: 0 }", "1:5 css-syntax The value of “top” is empty; it is left out."),
        ("a { top: 0 /* b }", "1:12 css-syntax The comment that begins here is never closed."),
        ("a { colr: red }", "1:5 css-property Browsers know no property “colr”. Is “color” meant?"),
        (
            "@media all { a { displai: none } }",
            "1:18 css-property Browsers know no property “displai”. Is “display” meant?",
        ),
        ("a { b { c: d } }", "1:9 css-property Browsers know no property “c”, and leave it out."),
        ("a { color: #12 }", "1:5 css-value “color” can't be “#12”, so browsers leave it out."),
        (
            "a { margin: 1px 2px 3px 4px 5px !important }",
            "1:5 css-value “margin” can't be “1px 2px 3px 4px 5px”, so browsers leave it out.",
        ),
        (
            "a { overflow: none }",
            "1:5 css-value “overflow” can't be “none”, so browsers leave it out.",
        ),
    ] {
        check(css, &[expected]);
    }
}

#[test]
fn one_mistake_hides_no_other() {
    check(
        "a { colr: red; top 0; margin: x }\n@b { c }\nd { colr: red }",
        &[
            "1:5 css-property Browsers know no property “colr”. Is “color” meant?",
            "1:16 css-syntax “top 0;” is no declaration, as there is no colon; it is left out.",
            "1:23 css-value “margin” can't be “x”, so browsers leave it out.",
            "2:1 css-syntax Browsers know no “@b”, and leave it out.",
            "3:5 css-property Browsers know no property “colr”. Is “color” meant?",
        ],
    );
}

#[test]
fn a_brace_that_is_missing_is_told_where_the_other_stands() {
    let never = "The “{” that is opened here is never closed: all that follows belongs to it.";
    check("a { top: 0;\nb { left: 0 }", &[&format!("1:3 css-syntax {never}")]);
    check("a { top: 0 } b { c { top: 0 }", &[&format!("1:16 css-syntax {never}")]);
    let lost = "1:5 css-syntax “top: 0” can't be read, and is left out.";
    check("a { top: 0\nb { left: 0 }", &[&format!("1:3 css-syntax {never}"), lost]);
}

#[test]
fn an_attribute_holds_declarations_alone() {
    told("color: red; *zoom: 1; top: 0", Style::Attribute, &[]);
    let expected = ["1:13 css-property Browsers know no property “tpo”. Is “top” meant?"];
    told("color: red; tpo: 0", Style::Attribute, &expected);
}

#[test]
fn no_depth_takes_the_stack_or_the_day() {
    for piece in ["(", "[", "{", "a{", ":is(", "@media x{", "calc(", "a{color:rgb(", "url(", "/*"] {
        let css = format!("a {{ top: 0 }} {}", piece.repeat(50_000));
        let found = check_style(&css, Style::Sheet);
        assert!(!found.is_empty(), "{piece}");
        assert!(found.iter().all(|one| one.severity == Severity::Error), "{found:?}");
    }
    let deep = format!("a {{ width: {}1px{} }}", "calc(".repeat(20), ")".repeat(20));
    check(&deep, &[]);
}

//! Style sheets and scripts, in files and on pages: what browsers drop of them.
//!
//! Places in a file are its own. What stands on a page has the line that it has there; its
//! column is known on other lines than its first.

use std::collections::HashSet;

use conformance::{Script, ScriptFault, Scripts, Severity as Weight, Style, check_style};

use super::Notes;
use crate::finding::{Place, Severity};
use crate::page::tree::Element;
use crate::page::{charset, kind};

/// Types of a `script` element that are JavaScript, beside none (HTML §4.12.1).
const SCRIPTS: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

pub(crate) fn run(notes: &mut Notes<'_>) {
    let answer = notes.page().answer;
    // What is cut ends in the middle of something.
    if answer.status != 200 || answer.is_cut {
        return;
    }
    let kind = kind(answer);
    let text = || conformance::file_text(&answer.body, charset(answer));
    match kind.as_str() {
        "text/css" => styles(notes, &text(), Style::Sheet, None),
        "text/html" => page(notes, false),
        "application/xhtml+xml" => page(notes, true),
        kind if SCRIPTS.contains(&kind) => {
            if let Some(fault) = Scripts::new().check(&text(), Script::File) {
                script(notes, &fault, None, "");
            }
        }
        _ => {}
    }
}

fn page(notes: &mut Notes<'_>, is_xml: bool) {
    let Some(tree) = &notes.page().tree else { return };
    let scripts = Scripts::new();
    // A page that is made by a program says many things again and again.
    let mut known = HashSet::new();
    for element in tree.elements() {
        match element.name() {
            "style" if is_css(element) => {
                if let Some(text) = written(element, is_xml) {
                    styles(notes, &text, Style::Sheet, Some(element.line()));
                }
            }
            "script" if element.attribute("src").is_none() => {
                if let Some(text) = written(element, is_xml) {
                    inline(notes, &scripts, element, &text);
                }
            }
            _ => {}
        }
        for (name, value) in element.attributes() {
            if name == "style" && known.insert((name, value)) {
                styles(notes, value, Style::Attribute, Some(element.line()));
            } else if is_handler(name) && known.insert((name, value)) {
                let what = format!("{name}: ");
                if let Some(fault) = scripts.check(value, Script::Handler) {
                    script(notes, &fault, Some(element.line()), &what);
                }
            }
        }
    }
}

/// What stands in a style sheet or script of the page; none where it isn't text.
fn written(element: Element<'_>, is_xml: bool) -> Option<String> {
    let text = element.raw_text();
    if is_xml { xml_text(&text) } else { Some(text) }
}

/// The text of an element of XHTML that HTML reads as it is written: comments are none of it,
/// sections of CDATA are, and elsewhere references stand for characters (XML 1.0 §2.4). None
/// where elements stand in it, or references that only a DTD knows.
fn xml_text(written: &str) -> Option<String> {
    let (mut text, mut rest) = (String::new(), written);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(section) = rest.strip_prefix("<![CDATA[") {
            let (inside, behind) = section.split_once("]]>")?;
            text.push_str(inside);
            rest = behind;
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            let (inside, behind) = comment.split_once("-->")?;
            // Lines are counted as they are in the page.
            text.extend(inside.chars().filter(|letter| *letter == '\n'));
            rest = behind;
        } else {
            let (name, behind) = rest.strip_prefix('&')?.split_once(';')?;
            text.push(referred(name)?);
            rest = behind;
        }
    }
    text.push_str(rest);
    Some(text)
}

/// The character that a reference of XML stands for.
fn referred(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    })
}

fn inline(notes: &mut Notes<'_>, scripts: &Scripts, element: Element<'_>, text: &str) {
    let said = element.attribute("type").unwrap_or("").trim().to_ascii_lowercase();
    let own = match said.as_str() {
        "module" => Script::Module,
        "importmap" | "speculationrules" | "application/json" => {
            data(notes, element, &said, text);
            return;
        }
        kind if kind.is_empty() || SCRIPTS.contains(&kind) => Script::Classic,
        _ => return,
    };
    if let Some(fault) = scripts.check(text, own) {
        script(notes, &fault, Some(element.line()), "");
    }
}

fn data(notes: &mut Notes<'_>, element: Element<'_>, kind: &str, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) {
        let line = on_page(error.line() as u64, Some(element.line()));
        notes.note("script-data", line, format!("the {kind} is no JSON: {}", kind_of(&error)));
    }
}

/// What is wrong with data, without its place.
pub(crate) fn kind_of(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "it breaks off",
        _ => "there is a mistake in it",
    }
}

fn styles(notes: &mut Notes<'_>, css: &str, style: Style, from: Option<u64>) {
    for found in check_style(css, style) {
        let severity = match found.severity {
            Weight::Error => Severity::Warning,
            Weight::Warning | Weight::Info => Severity::Notice,
        };
        let place = place(found.line, found.column, from);
        notes.add(found.rule.to_owned(), severity, place, found.message);
    }
}

fn script(notes: &mut Notes<'_>, fault: &ScriptFault, from: Option<u64>, what: &str) {
    let place = place(fault.line, fault.column, from);
    let message = format!("{what}{}", fault.message);
    notes.add("js-syntax".to_owned(), Severity::Error, place, message);
}

/// A place in what stands on a page, or in a file.
fn place(line: u32, column: u32, from: Option<u64>) -> Place {
    let is_beside = from.is_some() && line == 1;
    let column = if is_beside { 0 } else { u64::from(column) };
    Place { line: on_page(line.into(), from), column }
}

fn on_page(line: u64, from: Option<u64>) -> u64 {
    from.map_or(line, |from| from + line.saturating_sub(1))
}

fn is_css(style: Element<'_>) -> bool {
    style.said("type").is_none_or(|kind| kind.eq_ignore_ascii_case("text/css"))
}

/// Whether an attribute holds a script: `on` and the name of an event.
fn is_handler(name: &str) -> bool {
    name.strip_prefix("on")
        .is_some_and(|event| event.len() > 2 && event.bytes().all(|byte| byte.is_ascii_lowercase()))
}

#[cfg(test)]
mod cases {
    use url::Url;

    use super::*;
    use crate::fetch::Answer;
    use crate::page::Page;
    use crate::tests::examine;

    #[test]
    fn what_xml_writes_otherwise_is_read_as_xml() {
        for (written, expected) in [
            ("a { b: c }", Some("a { b: c }")),
            ("//<![CDATA[\nif (a < b && c) d();\n//]]>", Some("//\nif (a < b && c) d();\n//")),
            ("a &lt; b &amp;&amp; c &#62; &#x64;", Some("a < b && c > d")),
            ("a\n<!-- b\nc -->d", Some("a\n\nd")),
            ("a && b", None),
            ("a &nbsp; b", None),
            ("a <b> c", None),
            ("<![CDATA[ a", None),
        ] {
            assert_eq!(xml_text(written).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn style_sheets_and_scripts_of_xhtml_are_read() {
        let body = "<html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>A</title>\n\
            <style>/*<![CDATA[*/ a > b { colour: red } /*]]>*/</style>\n\
            <script>//<![CDATA[\nif (1 < 2 && 3) alert(1);\n//]]></script>\n\
            <script>if (1 &lt; 2) alert(1)\nlet = = 1</script></head><body/></html>";
        let answer = Answer::page(200, "content-type: application/xhtml+xml", body);
        let url = Url::parse("http://a.test/").unwrap();
        let told = examine(&Page::of(&url, &answer), crate::kind::Tests::ALL);
        let told = told.iter().filter(|one| matches!(&*one.rule, "css-property" | "js-syntax"));
        let told: Vec<_> = told.map(|one| (&*one.rule, one.place.line)).collect();
        assert_eq!(told, [("js-syntax", 7), ("css-property", 2)]);
    }
}

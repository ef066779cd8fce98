//! The oracle: html5ever's tree of the same text is this reader's tree.
//!
//! Names, order and text are compared; attributes aren't, since copies of formatting
//! elements bear none here. Documents are made of pieces that misnest, from a seed that is
//! always the same; what once differed is in [`KNOWN`]. Where html5ever itself departs from
//! the specification (it forgets `thead` in a place, and lets an end tag reach past a special
//! element of SVG or MathML), more rounds would tell so.

use html5ever::tendril::TendrilSink as _;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

use super::tree::{Kind, NodeId, Space, Tree};
use crate::findings::Findings;

/// Pieces that documents are made of.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "<!DOCTYPE html>", "<html>", "<head>", "</head>", "<body>", "</body>", "</html>", "<title>t</title>",
    "<p>", "</p>", "<div>", "</div>", "<a>", "</a>", "<a href=x>", "<b>", "</b>", "<i>", "</i>", "<b id=q>",
    "<nobr>", "</nobr>", "<em>", "</em>", "<font>", "</font>", "<span>", "</span>", "<x-y>", "</x-y>",
    "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>", "<tbody>", "</tbody>", "<thead>",
    "<caption>", "</caption>", "<colgroup>", "</colgroup>", "<col>", "<ul>", "</ul>", "<li>", "</li>",
    "<dl>", "<dt>", "<dd>", "</dl>", "<h1>", "</h1>", "<h2>", "</h3>", "<form>", "</form>", "<button>",
    "</button>", "<input>", "<input type=hidden>", "<br>", "</br>", "<hr>", "<pre>", "\n", "</pre>",
    "<textarea>\n", "</textarea>", "<script>", "</script>", "<style>a", "</style>", "<!--c-->", "x", " ",
    "<svg>", "</svg>", "<math>", "</math>", "<mi>", "</mi>", "<foreignObject>", "</foreignObject>",
    "<title>", "<desc>", "<path/>", "<annotation-xml>", "<template>", "</template>", "<ruby>", "<rt>", "<rp>",
    "<rb>", "<rtc>", "</ruby>", "<object>", "</object>", "<marquee>", "</marquee>", "<noscript>",
    "</noscript>", "<iframe>", "</iframe>", "<meta>", "<link>", "<base>", "<frameset>", "</frameset>",
    "<frame>", "<plaintext>", "<image>", "&amp;", "&copy", "&notit;", "<![CDATA[y]]>", "</", "<", "<?z>",
    "<p/>", "<xmp>", "</xmp>", "<address>", "</address>", "<section>", "</section>", "<main>", "<area>",
];

/// Documents that once came out otherwise.
const KNOWN: &[&str] = &[
    "<a><div><div></a>",
    "<b><p></b>x</p>",
    "<table><a>x<tr><td></a>y",
    "<p><b><i><u></p>x",
    "<script async defer src=a></script>x",
    "<svg><foreignObject><p></svg>x",
    "<textarea>\r\nx</textarea>",
    "<b><b><b><b><p>x</p>",
    "<i><frameset></frameset></html> <html>",
];

/// So many documents are made.
const ROUNDS: usize = 8_000;

fn theirs(text: &str) -> String {
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() },
        ..ParseOpts::default()
    };
    let dom = parse_document(RcDom::default(), options).one(text);
    let mut out = String::new();
    for child in dom.document.children.borrow().iter() {
        tell_theirs(child, &mut out);
    }
    out
}

fn tell_theirs(node: &Handle, out: &mut String) {
    match &node.data {
        NodeData::Text { contents } => tell_text(&contents.borrow(), out),
        NodeData::Element { name, template_contents, .. } => {
            let space = match &*name.ns {
                "http://www.w3.org/2000/svg" => "svg ",
                "http://www.w3.org/1998/Math/MathML" => "math ",
                _ => "",
            };
            out.push_str(&format!("<{space}{}>", name.local.to_ascii_lowercase()));
            if let Some(contents) = &*template_contents.borrow() {
                for child in contents.children.borrow().iter() {
                    tell_theirs(child, out);
                }
            }
            for child in node.children.borrow().iter() {
                tell_theirs(child, out);
            }
            out.push_str("</>");
        }
        _ => {}
    }
}

fn tell_text(text: &str, out: &mut String) {
    out.push_str(&text.replace("\r\n", "\n").replace('\r', "\n").replace('<', "&lt;"));
}

fn ours(text: &str) -> String {
    let mut findings = Findings::default();
    let tree = super::build::read(text, &mut findings);
    let mut out = String::new();
    for child in tree.children(0) {
        tell_ours(&tree, child, &mut out);
    }
    out
}

fn tell_ours(tree: &Tree<'_>, id: NodeId, out: &mut String) {
    match &tree.node(id).kind {
        Kind::Text(text) => tell_text(text, out),
        Kind::Element(element) => {
            let space = match element.space {
                Space::Svg => "svg ",
                Space::MathMl => "math ",
                Space::Html => "",
            };
            out.push_str(&format!("<{space}{}>", element.label));
            for child in tree.children(id) {
                tell_ours(tree, child, out);
            }
            out.push_str("</>");
        }
        Kind::Document => {}
    }
}

#[test]
fn known_documents_are_read_as_html5ever_reads_them() {
    for text in KNOWN {
        assert_eq!(ours(text), theirs(text), "{text}");
    }
}

#[test]
fn made_up_documents_are_read_as_html5ever_reads_them() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut differing = Vec::new();
    for _ in 0..ROUNDS {
        let count = 2 + next(14);
        let text: String = (0..count).map(|_| PIECES[next(PIECES.len())]).collect();
        // html5ever forgets `thead` where it looks for a table's part within a template.
        let is_known = text.contains("<template>") && text.contains("<thead>");
        if !is_known && ours(&text) != theirs(&text) {
            differing.push(text);
        }
    }
    differing.sort_by_key(String::len);
    let shown: Vec<_> = differing
        .iter()
        .take(12)
        .map(|text| format!("{text}\n  {}\n  {}", ours(text), theirs(text)))
        .collect();
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), shown.join("\n"));
}

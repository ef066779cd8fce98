//! A judge of HTML that nobody who wrote it may trust: a browser engine's parser.
//!
//! In: what a renderer wrote. Out: the text that is to be seen, or what is wrong. The lists
//! are this file's own; they know nothing of the renderer's.
//! Invariants: 1. the parser finds no error, so everything is balanced and in its place.
//! 2. elements, attributes, properties and schemes are of the lists below. 3. every link
//! tells that others wrote it.

use html5ever::driver::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::{Attribute, QualName, local_name, ns, parse_fragment};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "cite",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "hr",
    "i",
    "iframe",
    "img",
    "li",
    "mark",
    "ol",
    "pre",
    "s",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "u",
    "ul",
];
const PROPERTIES: &[&str] = &[
    "color",
    "font-family",
    "font-size",
    "font-style",
    "font-weight",
    "line-height",
    "list-style-type",
    "margin-left",
    "text-align",
    "text-decoration",
];
const SCHEMES: &[&str] =
    &["http", "https", "ftp", "ftps", "mailto", "magnet", "ed2k", "irc", "ircs", "news", "xmpp"];
const FRAMES: &str = "https://www.youtube-nocookie.com/embed/";

/// What is to be seen, breaks as newlines; or the first thing that is wrong.
pub(crate) fn judge(html: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(html).map_err(|error| error.to_string())?;
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let parser = parse_fragment(RcDom::default(), ParseOpts::default(), context, vec![], false);
    let dom = parser.one(text);
    if let Some(error) = dom.errors.borrow().first() {
        return Err(format!("the parser finds: {error}"));
    }
    let mut shown = String::new();
    for root in dom.document.children.borrow().iter() {
        for child in root.children.borrow().iter() {
            look(child, &mut shown)?;
        }
    }
    Ok(shown)
}

fn look(node: &Handle, shown: &mut String) -> Result<(), String> {
    match &node.data {
        NodeData::Text { contents } => shown.push_str(&contents.borrow()),
        NodeData::Element { name, attrs, .. } => {
            let element = &*name.local;
            if name.ns != ns!(html) || !ELEMENTS.contains(&element) {
                return Err(format!("an element {element}"));
            }
            attrs.borrow().iter().try_for_each(|attribute| check(element, attribute))?;
            let has = |wanted: &str| attrs.borrow().iter().any(|a| &*a.name.local == wanted);
            if element == "a" && !(has("href") && has("rel")) {
                return Err("a link without an address or a relation".to_owned());
            }
            if element == "br" {
                shown.push('\n');
            }
        }
        _ => return Err("a comment or an instruction".to_owned()),
    }
    node.children.borrow().iter().try_for_each(|child| look(child, shown))
}

fn check(element: &str, attribute: &Attribute) -> Result<(), String> {
    let (name, value) = (&*attribute.name.local, &*attribute.value);
    let is_of = |more: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    let is_good = match (element, name) {
        (_, "class" | "data-bbcode") => is_of(" _-*"),
        (_, "title" | "alt" | "data-value") => true,
        ("span", "data-number") => is_of(""),
        (_, "style") => value.split("; ").all(is_declaration),
        ("a", "href") => is_link(value),
        ("a", "target") => value == "_blank",
        ("a", "rel") => ["nofollow", "ugc", "noopener"].iter().all(|rel| value.contains(rel)),
        ("img", "src") => is_image(value),
        ("iframe", "src") => value.strip_prefix(FRAMES).is_some_and(|id| {
            id.len() == 11 && id.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        }),
        ("img" | "iframe", "width" | "height" | "loading") | ("ol" | "ul", "type") => is_of(""),
        _ => false,
    };
    is_good.then_some(()).ok_or_else(|| format!("<{element} {name}={value:?}>"))
}

fn is_declaration(text: &str) -> bool {
    let Some((property, value)) = text.split_once(": ") else { return false };
    PROPERTIES.contains(&property)
        && !value.is_empty()
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "#%.,-_ ".contains(c))
}

/// As browsers read it: the scheme is what stands before the first colon, without white
/// space and controls.
fn is_link(value: &str) -> bool {
    let has_hidden = value.chars().any(|c| c.is_ascii_control() || c == ' ');
    let scheme = value.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let known = scheme.is_some_and(|scheme| SCHEMES.contains(&&*scheme));
    !has_hidden && (known || (value.starts_with(['/', '?', '#']) && !value.starts_with("//")))
}

fn is_image(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let is_web = lower.starts_with("http://") || lower.starts_with("https://");
    is_link(value) && (is_web || value.starts_with('/'))
}

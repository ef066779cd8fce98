//! Metadata: `meta`, `link`, `base`, `style` and `script`, and what a page has once.
//!
//! Law: HTML §4.2 and §4.12.1.

use super::attributes::bad_value;
use super::elements::{BOTH, METADATA};
use super::{Look, within};
use crate::encoding::charset_in;
use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::Element;

/// What a page should have once.
#[derive(Default)]
pub(super) struct Metadata {
    charset: Option<usize>,
    content_type: Option<usize>,
    has_description: bool,
    has_base: bool,
    has_main: bool,
    has_resource: bool,
    has_lang: bool,
    has_itemref: bool,
    stray_properties: Vec<usize>,
}

/// Where a `meta` may stand: in the body only with `itemprop` or `property`.
pub(super) fn categories(element: &Element<'_>) -> u8 {
    if element.has("itemprop") || element.has("property") { METADATA | BOTH } else { METADATA }
}

impl Metadata {
    /// Takes an element, if it is one of these.
    pub(super) fn note(&mut self, look: &Look<'_, '_>, findings: &mut Findings) {
        let element = look.element;
        self.has_itemref |= element.has("itemref");
        if element.has("itemprop") && look.within & within::ITEM == 0 {
            self.stray_properties.push(look.at);
        }
        match element.name {
            Name::Html => {
                self.has_lang = element.value("lang").is_some_and(|lang| !lang.is_empty())
            }
            Name::Meta => self.meta(look, findings),
            Name::Base => self.base(look, findings),
            Name::Link => {
                self.has_resource = true;
                link(look, findings);
            }
            Name::Script => {
                self.has_resource = true;
                script(look, findings);
            }
            Name::Style => style(look, findings),
            Name::Main if !element.has("hidden") && look.within & within::HIDDEN == 0 => {
                self.main(look, findings);
            }
            _ => {}
        }
    }

    /// Tells what the page as a whole lacks.
    pub(super) fn judge(self, findings: &mut Findings) {
        if let (Some(at), Some(_)) = (self.charset, self.content_type) {
            findings.error(at, "charset-twice", "A document must not include both a “meta” element with an “http-equiv” attribute whose value is “content-type”, and a “meta” element with a “charset” attribute.");
        }
        // A page that uses `itemref` may make a property of what stands anywhere.
        for at in self.stray_properties.iter().filter(|_| !self.has_itemref) {
            findings.error(*at, "microdata", "The “itemprop” attribute was specified, but the element is not a property of any item.");
        }
        if !self.has_lang {
            findings.warning(0, "lang-missing", "Consider adding a “lang” attribute to the “html” start tag to declare the language of this document.");
        }
    }

    fn main(&mut self, look: &Look<'_, '_>, findings: &mut Findings) {
        if std::mem::replace(&mut self.has_main, true) {
            findings.error(
                look.at,
                "second-main",
                "A document must not include more than one visible “main” element.",
            );
        }
    }

    fn base(&mut self, look: &Look<'_, '_>, findings: &mut Findings) {
        if std::mem::replace(&mut self.has_base, true) {
            findings.error(
                look.at,
                "second-base",
                "A document must not include more than one “base” element.",
            );
        } else if self.has_resource && look.element.has("href") {
            findings.error(look.at, "base-too-late", "The “base” element must come before any “link” or “script” elements in the document.");
        }
        if !look.element.has("href") && !look.element.has("target") {
            missing_one_of(look, &["href", "target"], findings);
        }
    }

    fn meta(&mut self, look: &Look<'_, '_>, findings: &mut Findings) {
        let element = look.element;
        let kinds = ["name", "http-equiv", "charset", "itemprop", "property"];
        if !kinds.iter().any(|kind| element.has(kind)) {
            missing_one_of(look, &kinds, findings);
            return;
        }
        if element.has("charset") {
            self.charset(look, findings);
        }
        let Some(content) = element.value("content") else {
            let needs_content =
                !element.has("charset") && !element.is_word("http-equiv", "content-language");
            if needs_content {
                missing_one_of(look, &["content", "property"], findings);
            }
            return;
        };
        match element.value("http-equiv").unwrap_or("").trim().to_ascii_lowercase().as_str() {
            "content-type" => self.content_type(look, content, findings),
            "content-language" => findings.error(look.at, "content-language", "Using the “meta” element to specify the document-wide default language is obsolete. Consider specifying the language on the root element instead."),
            "x-ua-compatible" if !content.eq_ignore_ascii_case("ie=edge") => {
                findings.error(look.at, "x-ua-compatible", "A “meta” element with an “http-equiv” attribute whose value is “X-UA-Compatible” must have a “content” attribute with the value “IE=edge”.");
            }
            "refresh" => {
                if let (Err(what), Some(attribute)) = (refresh(content), element.attribute("content")) {
                    bad_value(look, attribute, &what, findings);
                }
            }
            _ => {}
        }
        if element.is_word("name", "description")
            && std::mem::replace(&mut self.has_description, true)
        {
            findings.error(look.at, "second-description", "A document must not include more than one “meta” element with its “name” attribute set to the value “description”.");
        }
        if element.is_word("name", "viewport") {
            viewport(look, content, findings);
        }
        if element.has("media") && !element.is_word("name", "theme-color") {
            findings.error(look.at, "media-on-meta", "A “meta” element with a “media” attribute must have a “name” attribute whose value is “theme-color”.");
        }
    }

    fn charset(&mut self, look: &Look<'_, '_>, findings: &mut Findings) {
        if !look.element.is_word("charset", "utf-8") {
            findings.error(look.at, "charset-not-utf-8", "The only allowed value for the “charset” attribute for the “meta” element is “utf-8”.");
        }
        if self.charset.replace(look.at).is_some() {
            findings.error(look.at, "charset-twice", "A document must not include more than one “meta” element with a “charset” attribute.");
        }
        if look.at > 1024 {
            findings.error(
                look.at,
                "charset-late",
                "A “charset” attribute on a “meta” element found after the first 1024 bytes.",
            );
        }
    }

    fn content_type(&mut self, look: &Look<'_, '_>, content: &str, findings: &mut Findings) {
        if self.content_type.replace(look.at).is_some() {
            findings.error(look.at, "charset-twice", "A document must not include more than one “meta” element with a “http-equiv” attribute whose value is “content-type”.");
        }
        let lower = content.trim().to_ascii_lowercase();
        let what = if !lower.starts_with("text/html;") {
            "The legacy encoding declaration did not start with “text/html;”."
        } else if charset_in(lower.as_bytes()) != Some(b"utf-8") {
            "“charset=” must be followed by “utf-8”."
        } else {
            return;
        };
        if let Some(attribute) = look.element.attribute("content") {
            bad_value(look, attribute, what, findings);
        }
    }
}

/// Tells that none of some attributes is there.
pub(super) fn missing_one_of(look: &Look<'_, '_>, names: &[&str], findings: &mut Findings) {
    let list: Vec<_> = names.iter().map(|name| format!("“{name}”")).collect();
    let label = &look.element.label;
    let message = if names.len() == 1 {
        format!("Element “{label}” is missing required attribute {}.", list[0])
    } else {
        format!(
            "Element “{label}” is missing one or more of the following attributes: {}.",
            list.join(", ")
        )
    };
    findings.error(look.at, "attribute-missing", message);
}

/// `N` or `N; url=ADDRESS`.
fn refresh(content: &str) -> Result<(), String> {
    let (seconds, rest) = match content.split_once(';') {
        Some((seconds, rest)) => (seconds, Some(rest)),
        None => (content, None),
    };
    crate::values::natural(seconds.trim())?;
    let Some(rest) = rest else { return Ok(()) };
    let Some(after) = rest.strip_prefix(|c: char| c.is_ascii_whitespace()) else {
        let saw = rest.chars().next().map_or(String::new(), |c| format!(", but saw “{c}” instead"));
        return Err(format!("Expected a space character{saw}."));
    };
    let after = after.trim_start();
    let is_url = after.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("url="));
    if !is_url {
        return Err("Expected “url=”.".to_owned());
    }
    let address = &after[4..];
    if address.starts_with(['"', '\'']) {
        return Err("Unescaped quote at the beginning of the address.".to_owned());
    }
    crate::values::url(address)
}

fn viewport(look: &Look<'_, '_>, content: &str, findings: &mut Findings) {
    let compact: String =
        content.to_ascii_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
    if compact.contains("user-scalable=no") || compact.contains("maximum-scale=1") {
        findings.warning(
            look.at,
            "viewport-fixed",
            "Consider avoiding viewport values that prevent users from resizing documents.",
        );
    }
}

const IN_BODY: &[&str] = &[
    "dns-prefetch",
    "modulepreload",
    "pingback",
    "preconnect",
    "prefetch",
    "preload",
    "prerender",
    "stylesheet",
];

fn link(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    let mut fail = |message: &str| findings.error(look.at, "link-attributes", message);
    let Some(rel) = element.value("rel") else {
        if !element.has("itemprop") && !element.has("property") {
            missing_one_of(look, &["itemprop", "property", "rel"], findings);
        }
        return;
    };
    let rel = rel.to_ascii_lowercase();
    let words: Vec<_> = rel.split_ascii_whitespace().collect();
    let has = |any: &[&str]| any.iter().any(|word| words.contains(word));
    if !element.has("href") && !element.has("imagesrcset") {
        fail("A “link” element must have an “href” or “imagesrcset” attribute, or both.");
    }
    if has(&["preload"]) && !element.has("as") {
        fail(
            "A “link” element with a “rel” attribute that contains the value “preload” must have an “as” attribute.",
        );
    }
    let needs: &[(&str, &[&str])] = &[
        ("as", &["preload", "modulepreload"]),
        ("integrity", &["stylesheet", "preload", "modulepreload"]),
        ("disabled", &["stylesheet"]),
        ("sizes", &["icon", "apple-touch-icon", "apple-touch-icon-precomposed"]),
        ("color", &["mask-icon"]),
        ("imagesrcset", &["preload"]),
        ("imagesizes", &["preload"]),
        ("blocking", &["stylesheet"]),
    ];
    for (attribute, rels) in needs {
        if element.has(attribute) && !has(rels) {
            fail(&format!(
                "A “link” element with a “{attribute}” attribute must have a “rel” attribute that contains {}.",
                rels.join(" or ")
            ));
        }
    }
    if has(&["alternate"])
        && has(&["stylesheet"])
        && element.value("title").is_none_or(str::is_empty)
    {
        fail(
            "A “link” element with a “rel” attribute that contains both the values “alternate” and “stylesheet” must have a “title” attribute with a non-empty value.",
        );
    }
    let is_in_body =
        look.parent != Name::Head && !matches!(look.parent, Name::Noscript | Name::Template);
    if is_in_body && !has(IN_BODY) && !element.has("itemprop") && !element.has("property") {
        fail(
            "A “link” element must not appear as a descendant of a “body” element unless the “link” element has an “itemprop” attribute or has a “rel” attribute whose value contains “dns-prefetch”, “modulepreload”, “pingback”, “preconnect”, “prefetch”, “preload”, “prerender”, or “stylesheet”.",
        );
    }
}

fn style(look: &Look<'_, '_>, findings: &mut Findings) {
    if let Some(kind) = look.element.value("type") {
        if kind.eq_ignore_ascii_case("text/css") {
            findings.warning(
                look.at,
                "type-unneeded",
                "The “type” attribute for the “style” element is not needed and should be omitted.",
            );
        } else {
            findings.error(look.at, "style-type", "The only allowed value for the “type” attribute for the “style” element is “text/css” (with no parameters).");
        }
    }
    let is_in_body = !matches!(
        look.parent,
        Name::Head | Name::Noscript | Name::Template | Name::Svg | Name::Other
    );
    let first = look.tree.child_elements(look.tree.node(look.id).parent).next();
    if is_in_body && first.is_some_and(|(id, _)| id != look.id) {
        findings.error(
            look.at,
            "style-not-first",
            "A “style” element in “body” must be the first child of its parent.",
        );
    }
}

fn is_javascript(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    matches!(
        essence.as_str(),
        "" | "text/javascript"
            | "application/javascript"
            | "application/ecmascript"
            | "application/x-ecmascript"
            | "application/x-javascript"
            | "text/ecmascript"
            | "text/javascript1.0"
            | "text/javascript1.1"
            | "text/javascript1.2"
            | "text/javascript1.3"
            | "text/javascript1.4"
            | "text/javascript1.5"
            | "text/jscript"
            | "text/livescript"
            | "text/x-ecmascript"
            | "text/x-javascript"
    )
}

fn script(look: &Look<'_, '_>, findings: &mut Findings) {
    let element = look.element;
    let kind = element.value("type").unwrap_or("").trim().to_ascii_lowercase();
    let (has_src, is_classic) = (element.has("src"), is_javascript(&kind));
    let mut forbid = |names: &[&str], why: &str| {
        for name in names.iter().filter(|name| element.has(name)) {
            let message = format!("A “script” element {why} must not have the attribute “{name}”.");
            findings.error(look.at, "script-attributes", message);
        }
    };
    if is_classic {
        if !has_src {
            forbid(
                &["defer", "async", "integrity", "fetchpriority", "blocking", "charset"],
                "without “src”",
            );
        }
    } else if kind == "module" {
        forbid(&["defer", "nomodule"], "of “type=module”");
        if !has_src {
            forbid(&["integrity", "fetchpriority", "blocking"], "of “type=module” without “src”");
        }
    } else {
        forbid(
            &[
                "src",
                "async",
                "nomodule",
                "defer",
                "crossorigin",
                "integrity",
                "referrerpolicy",
                "fetchpriority",
                "blocking",
            ],
            "that holds data",
        );
    }
    if element.has("charset") && has_src && !element.is_word("charset", "utf-8") {
        findings.error(look.at, "script-attributes", "The only allowed value for the “charset” attribute for the “script” element is “utf-8”.");
    }
    if element.is_word("language", "javascript") && !kind.is_empty() && kind != "text/javascript" {
        findings.error(look.at, "script-attributes", "A “script” element with the “language=\"JavaScript\"” attribute set must not have a “type” attribute whose value is not “text/javascript”.");
    }
    if is_classic && element.has("type") {
        findings.warning(
            look.at,
            "type-unneeded",
            "The “type” attribute is unnecessary for JavaScript resources.",
        );
    }
}

//! The rules: a tree held against what the specification says of its elements.
//!
//! In: the tree. Out: findings. One walk, parents first: each element knows what its parent
//! may hold ([`elements::Content`], transparent ones resolved) and what it stands within
//! ([`within`]), so that no rule looks upwards for it. What has to be known of the whole
//! page first (ids, headings) is gathered on the way and judged at the end.
//! Start at [`check`].

mod aria;
mod aria_tables;
mod attributes;
mod children;
mod elements;
mod headings;
mod media;
mod metadata;
mod obsolete;
mod references;
mod requirements;
mod table;
mod within;

use crate::findings::Findings;
use crate::read::name::Name;
use crate::read::tree::{Element, Kind, NONE, NodeId, Space, Tree, is_space};
use elements::{BOTH, Content, FLOW, METADATA, PHRASING};
use headings::Headings;
use metadata::Metadata;
use references::References;

/// What an element stands in.
#[derive(Clone, Copy)]
struct Frame {
    id: NodeId,
    name: Name,
    content: Content,
    within: u32,
}

/// What one look at an element has at hand.
pub(crate) struct Look<'t, 'a> {
    pub(crate) tree: &'t Tree<'a>,
    pub(crate) id: NodeId,
    pub(crate) element: &'t Element<'a>,
    pub(crate) at: usize,
    /// Its parent, of whatever vocabulary.
    pub(crate) parent: Name,
    /// What it stands within; see [`within`].
    pub(crate) within: u32,
}

/// Tells what in a tree is against the rules.
pub(crate) fn check(tree: &Tree<'_>, findings: &mut Findings) {
    let mut walk = Walk {
        tree,
        findings,
        references: References::default(),
        headings: Headings::default(),
        metadata: Metadata::default(),
    };
    walk.all();
    let Walk { references, headings, metadata, .. } = walk;
    references.judge(tree, findings);
    headings.judge(findings);
    metadata.judge(findings);
}

struct Walk<'t, 'a, 'f> {
    tree: &'t Tree<'a>,
    findings: &'f mut Findings,
    references: References<'t>,
    headings: Headings,
    metadata: Metadata,
}

impl<'t, 'a> Walk<'t, 'a, '_> {
    fn all(&mut self) {
        let root =
            Frame { id: 0, name: Name::Other, content: Content::Only(&[Name::Html]), within: 0 };
        let mut frames = vec![root];
        let mut at = self.tree.node(0).first;
        while let Some(&parent) = frames.last() {
            if at == NONE {
                frames.pop();
                at = self.tree.node(parent.id).next;
                continue;
            }
            let node = self.tree.node(at);
            match &node.kind {
                Kind::Document => {}
                Kind::Text(text) => self.text(text, node.at as usize, &parent),
                Kind::Element(element) => {
                    if let Some(frame) = self.element(at, element, &parent) {
                        frames.push(frame);
                        at = node.first;
                        continue;
                    }
                }
            }
            at = node.next;
        }
    }

    fn text(&mut self, text: &str, at: usize, parent: &Frame) {
        let holds_none =
            matches!(parent.content, Content::Only(_) | Content::Nothing | Content::Metadata);
        if holds_none && !is_space(text) && parent.id != 0 {
            let label = self.tree.element(parent.id).map_or("", |element| &*element.label);
            let message = format!("Text not allowed in element “{label}” in this context.");
            self.findings.error(at, "text-not-allowed", message);
        }
    }

    /// Judges an element; what its children stand in.
    fn element(&mut self, id: NodeId, element: &'t Element<'a>, parent: &Frame) -> Option<Frame> {
        let at = self.tree.node(id).at as usize;
        let look =
            Look { tree: self.tree, id, element, at, parent: parent.name, within: parent.within };
        self.references.note(&look, self.findings);
        if element.space != Space::Html {
            return Some(self.foreign(&look, parent));
        }
        let spec = elements::spec(element.name);
        let is_custom = element.name == Name::Other && element.label.contains('-');
        let categories = match spec {
            Some(_) if element.name == Name::Meta => metadata::categories(element),
            Some(spec) => spec.categories,
            None if is_custom => BOTH,
            None => self.not_conforming(&look),
        };
        if !allows(parent.content, element.name, categories) {
            self.not_allowed(&look, parent);
        }
        if spec.is_some() {
            attributes::judge(&look, self.findings);
            aria::judge(&look, self.findings);
            requirements::judge(&look, self.findings);
            children::judge(&look, self.findings);
            media::judge(&look, self.findings);
            self.metadata.note(&look, self.findings);
            self.headings.note(&look);
        }
        let own = within::judge(&look, self.findings);
        if element.name == Name::Table {
            table::judge(&look, self.findings);
        }
        Some(Frame {
            id,
            name: element.name,
            content: content_of(
                &look,
                spec.map_or(Content::Transparent, |spec| spec.content),
                parent,
            ),
            within: parent.within | own,
        })
    }

    fn foreign(&mut self, look: &Look<'_, 'a>, parent: &Frame) -> Frame {
        let element = look.element;
        let is_root = matches!(element.name, Name::Svg | Name::Math);
        if is_root && !allows(parent.content, element.name, BOTH) {
            self.not_allowed(look, parent);
        }
        Frame {
            id: look.id,
            name: if is_root { element.name } else { Name::Other },
            content: Content::Anything,
            within: parent.within,
        }
    }

    /// An element that isn't in the table; the categories that it is taken to have.
    fn not_conforming(&mut self, look: &Look<'_, 'a>) -> u8 {
        let label = &look.element.label;
        match obsolete::element(look.element.name) {
            Some(advice) => {
                let message = format!("The “{label}” element is obsolete. {advice}");
                self.findings.error(look.at, "obsolete-element", message);
            }
            None => {
                let message = format!(
                    "The “{label}” element is a completely-unknown element that is not allowed anywhere in any HTML content."
                );
                self.findings.error(look.at, "unknown-element", message);
            }
        }
        METADATA | FLOW | PHRASING
    }

    fn not_allowed(&mut self, look: &Look<'_, 'a>, parent: &Frame) {
        // What the tree construction put there was told as a parse error.
        if look.element.is_implied
            && matches!(look.element.name, Name::Html | Name::Head | Name::Body)
        {
            return;
        }
        let outer = self.tree.element(parent.id).map_or("document", |element| &*element.label);
        let message = format!(
            "Element “{}” not allowed as child of element “{outer}” in this context.",
            look.element.label
        );
        self.findings.error(look.at, "element-not-allowed", message);
    }
}

/// Whether an element may stand where `content` is held.
fn allows(content: Content, name: Name, categories: u8) -> bool {
    let is_script = matches!(name, Name::Script | Name::Template);
    match content {
        Content::Nothing | Content::Text => false,
        Content::Phrasing => categories & PHRASING != 0,
        Content::Flow | Content::Transparent => categories & FLOW != 0,
        Content::Metadata => categories & METADATA != 0,
        Content::Only(names) => is_script || names.contains(&name),
        Content::PhrasingAnd(names) => categories & PHRASING != 0 || names.contains(&name),
        Content::FlowAnd(names) => categories & FLOW != 0 || names.contains(&name),
        Content::Anything => true,
    }
}

/// What an element really holds where it stands.
fn content_of(look: &Look<'_, '_>, content: Content, parent: &Frame) -> Content {
    match look.element.name {
        Name::Noscript if parent.content == Content::Metadata => {
            Content::Only(&[Name::Link, Name::Meta, Name::Style])
        }
        Name::Div if parent.name == Name::Dl => Content::Only(&[Name::Dt, Name::Dd]),
        Name::Div if parent.name == Name::Select || parent.name == Name::Optgroup => parent.content,
        Name::Video | Name::Audio => match parent.content {
            Content::Phrasing | Content::PhrasingAnd(_) => {
                Content::PhrasingAnd(&[Name::Source, Name::Track])
            }
            _ => Content::FlowAnd(&[Name::Source, Name::Track]),
        },
        _ if content != Content::Transparent => content,
        _ => match parent.content {
            Content::PhrasingAnd(_) => Content::Phrasing,
            Content::FlowAnd(_) => Content::Flow,
            Content::Only(_) | Content::Metadata | Content::Nothing | Content::Text => {
                Content::Anything
            }
            other => other,
        },
    }
}

//! A page as a tree, by the parser of a browser engine, with the line of each element.
//!
//! Nodes lie in one row and know each other by number, so the deepest page takes no recursion.
//! Invariant: a tree has at most [`NODES_MAX`] nodes, and takes at most [`LOOKS_MAX`] looks at
//! open elements, of which the parser takes one for each level at each tag; what is behind is
//! left out, and the tree says so.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, parse_document};

/// More than pages have that a browser can still show.
const NODES_MAX: usize = 500_000;
const LOOKS_MAX: u64 = 10_000_000;
/// Bytes that are read before it is looked how much work they were.
const PIECE_BYTES: usize = 1 << 10;

/// The number of a node; the document is 0.
pub(crate) type Id = usize;

#[derive(Debug)]
enum Kind {
    Document,
    Element(QualName, Vec<Attribute>),
    Text(String),
    Other,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    line: u64,
    parent: Option<Id>,
    children: Vec<Id>,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    /// Whether something is left out.
    pub(crate) is_cut: bool,
}

impl Tree {
    /// Reads a page.
    pub(crate) fn of(html: &str) -> Self {
        let mut parser = parse_document(Sink::new(), ParseOpts::default());
        let (mut rest, mut is_cut) = (html, false);
        while !rest.is_empty() && !is_cut {
            let (piece, behind) = rest.split_at(rest.ceil_char_boundary(PIECE_BYTES));
            parser.process(StrTendril::from_slice(piece));
            let sink = &parser.tokenizer.sink.sink;
            is_cut = sink.looks.get() > LOOKS_MAX || sink.is_full();
            rest = behind;
        }
        Self { is_cut, ..parser.finish() }
    }

    /// Every node below one, in the order of the page.
    pub(crate) fn below(&self, top: Id) -> impl Iterator<Item = Id> {
        let mut waiting: Vec<Id> = self.nodes[top].children.iter().rev().copied().collect();
        std::iter::from_fn(move || {
            let next = waiting.pop()?;
            waiting.extend(self.nodes[next].children.iter().rev());
            Some(next)
        })
    }

    /// Every element of the page, in order.
    pub(crate) fn elements(&self) -> impl Iterator<Item = Element<'_>> {
        self.below(0).filter_map(|id| self.element(id))
    }

    /// The first element of a name.
    pub(crate) fn first(&self, name: &str) -> Option<Element<'_>> {
        self.elements().find(|element| element.name() == name)
    }

    fn text_of(&self, id: Id) -> Option<&str> {
        match &self.nodes[id].kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn element(&self, id: Id) -> Option<Element<'_>> {
        match &self.nodes[id].kind {
            Kind::Element(name, attributes) => Some(Element { tree: self, id, name, attributes }),
            _ => None,
        }
    }
}

/// An element of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Element<'a> {
    tree: &'a Tree,
    pub(crate) id: Id,
    name: &'a QualName,
    attributes: &'a [Attribute],
}

impl<'a> Element<'a> {
    pub(crate) fn name(self) -> &'a str {
        &self.name.local
    }

    pub(crate) fn line(self) -> u64 {
        self.tree.nodes[self.id].line
    }

    pub(crate) fn attribute(self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|one| &*one.name.local == name).map(|one| &*one.value)
    }

    /// Its attributes' names and values.
    pub(crate) fn attributes(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.attributes.iter().map(|one| (&*one.name.local, &*one.value))
    }

    /// An attribute that says something.
    pub(crate) fn said(self, name: &str) -> Option<&'a str> {
        self.attribute(name).map(str::trim).filter(|value| !value.is_empty())
    }

    pub(crate) fn elements(self) -> impl Iterator<Item = Element<'a>> {
        let tree = self.tree;
        tree.below(self.id).filter_map(move |id| tree.element(id))
    }

    /// The elements that it stands in, the nearest first.
    pub(crate) fn around(self) -> impl Iterator<Item = Element<'a>> {
        let mut next = self.tree.nodes[self.id].parent;
        std::iter::from_fn(move || {
            let id = next?;
            next = self.tree.nodes[id].parent;
            Some(id)
        })
        .filter_map(move |id| self.tree.element(id))
    }

    /// All text in it, as it stands there.
    pub(crate) fn raw_text(self) -> String {
        let nodes = self.tree.below(self.id);
        nodes.filter_map(|id| self.tree.text_of(id)).collect()
    }

    /// All text in it, with spaces as a browser shows them.
    pub(crate) fn text(self) -> String {
        let mut words = Vec::new();
        for id in self.tree.below(self.id) {
            words.extend(self.tree.text_of(id).unwrap_or("").split_whitespace());
        }
        words.join(" ")
    }
}

struct Sink {
    nodes: RefCell<Vec<Node>>,
    line: Cell<u64>,
    looks: Cell<u64>,
}

/// The name of an element, apart from its tree.
#[derive(Debug)]
struct Name(QualName);

impl ElemName for Name {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl Sink {
    fn new() -> Self {
        let document = Node { kind: Kind::Document, line: 1, parent: None, children: Vec::new() };
        Self { nodes: RefCell::new(vec![document]), line: Cell::new(1), looks: Cell::new(0) }
    }

    fn add(&self, kind: Kind) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { kind, line: self.line.get(), parent: None, children: Vec::new() });
        nodes.len() - 1
    }

    fn is_full(&self) -> bool {
        self.nodes.borrow().len() >= NODES_MAX
    }

    /// Puts something into a parent, before the child at `at` or last.
    fn put(&self, parent: Id, at: Option<usize>, child: NodeOrText<Id>) {
        let child = match child {
            NodeOrText::AppendNode(node) => node,
            NodeOrText::AppendText(text) => {
                let mut nodes = self.nodes.borrow_mut();
                let children = &nodes[parent].children;
                let before = at.unwrap_or(children.len()).checked_sub(1).map(|at| children[at]);
                if let Some(Kind::Text(old)) = before.map(|id| &mut nodes[id].kind) {
                    old.push_str(&text);
                    return;
                }
                drop(nodes);
                self.add(Kind::Text(text.to_string()))
            }
        };
        if self.is_full() {
            return;
        }
        let mut nodes = self.nodes.borrow_mut();
        nodes[child].parent = Some(parent);
        let at = at.unwrap_or(nodes[parent].children.len());
        nodes[parent].children.insert(at, child);
    }
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Tree;
    type ElemName<'a> = Name;

    fn finish(self) -> Tree {
        Tree { nodes: self.nodes.into_inner(), is_cut: false }
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a Id) -> Name {
        self.looks.set(self.looks.get() + 1);
        match &self.nodes.borrow()[*target].kind {
            Kind::Element(name, _) => Name(name.clone()),
            _ => Name(QualName::new(None, Namespace::from(""), LocalName::from(""))),
        }
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Id {
        self.add(Kind::Element(name, attributes))
    }

    fn create_comment(&self, _text: StrTendril) -> Id {
        self.add(Kind::Other)
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Id {
        self.add(Kind::Other)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.put(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        let has_parent = self.nodes.borrow()[*element].parent.is_some();
        match has_parent {
            true => self.append_before_sibling(element, child),
            false => self.append(previous, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    // What a template holds is no part of the page until a script puts it there.
    fn get_template_contents(&self, target: &Id) -> Id {
        let _ = target;
        self.add(Kind::Other)
    }

    fn same_node(&self, one: &Id, other: &Id) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        if let NodeOrText::AppendNode(node) = &child {
            self.remove_from_parent(node);
        }
        let nodes = self.nodes.borrow();
        let Some(parent) = nodes[*sibling].parent else { return };
        let at = nodes[parent].children.iter().position(|child| child == sibling);
        drop(nodes);
        self.put(parent, at, child);
    }

    fn add_attrs_if_missing(&self, target: &Id, more: Vec<Attribute>) {
        if let Kind::Element(_, attributes) = &mut self.nodes.borrow_mut()[*target].kind {
            for one in more {
                if !attributes.iter().any(|old| old.name == one.name) {
                    attributes.push(one);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Id) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(parent) = nodes[*target].parent.take() {
            nodes[parent].children.retain(|child| child != target);
        }
    }

    fn reparent_children(&self, node: &Id, parent: &Id) {
        let mut nodes = self.nodes.borrow_mut();
        let children = std::mem::take(&mut nodes[*node].children);
        for &child in &children {
            nodes[child].parent = Some(*parent);
        }
        nodes[*parent].children.extend(children);
    }

    fn set_current_line(&self, line: u64) {
        self.line.set(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_as_a_browser_reads_it() {
        let tree = Tree::of("<title>a  b</title>\n<p>one<p id=x>two <b>bold\n</b><table><a>moved");
        let names: Vec<_> = tree.elements().map(Element::name).collect();
        let expected = ["html", "head", "title", "body", "p", "p", "b", "a", "table"];
        assert_eq!(names, expected);
        assert_eq!(tree.first("title").unwrap().text(), "a b");
        let second = tree.elements().find(|one| one.attribute("id") == Some("x")).unwrap();
        assert_eq!((second.text().as_str(), second.line()), ("two bold moved", 2));
        let around: Vec<_> = tree.first("b").unwrap().around().map(Element::name).collect();
        assert_eq!(around, ["p", "body", "html"]);
    }

    #[test]
    fn what_a_template_holds_is_not_on_the_page() {
        let tree = Tree::of("<template><img src=x></template><p>y");
        assert!(tree.first("img").is_none() && tree.first("p").is_some());
    }

    #[test]
    fn a_deep_page_takes_neither_recursion_nor_all_day() {
        let tree = Tree::of(&"<div>".repeat(1_000_000));
        assert!(tree.is_cut && tree.elements().count() > 1_000);
        assert!(!Tree::of(&"<p>x".repeat(10_000)).is_cut);
    }
}

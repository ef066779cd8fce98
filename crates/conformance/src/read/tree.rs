//! The tree: a page's elements and texts, by number.
//!
//! Invariants: 1. node 0 is the document. 2. A node has one parent at most, and no chain of
//! parents comes back to itself. 3. Children are linked both ways, so that moving one is
//! cheap however many there are.

use std::borrow::Cow;

use super::name::Name;
use super::token::Attribute;

/// A node's number in its tree.
pub(crate) type NodeId = u32;

/// No node.
pub(crate) const NONE: NodeId = u32::MAX;

/// What vocabulary an element is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Html,
    Svg,
    MathMl,
}

/// An element or a text.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) kind: Kind<'a>,
    /// Where its tag or text begins in the page.
    pub(crate) at: u32,
    pub(crate) parent: NodeId,
    pub(crate) first: NodeId,
    pub(crate) last: NodeId,
    pub(crate) next: NodeId,
    pub(crate) previous: NodeId,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Document,
    Element(Element<'a>),
    /// Some text; neighbours may be texts too.
    Text(Cow<'a, str>),
}

/// An element.
#[derive(Clone, Debug)]
pub(crate) struct Element<'a> {
    pub(crate) name: Name,
    pub(crate) space: Space,
    pub(crate) label: Cow<'a, str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// The tree construction made it; no tag in the page did.
    pub(crate) is_implied: bool,
}

impl<'a> Element<'a> {
    /// An attribute's value.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|attribute| &*attribute.value)
    }

    /// An attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Whether an attribute is there.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    /// Whether a value is this word, in any case.
    pub(crate) fn is_word(&self, name: &str, word: &str) -> bool {
        self.value(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
    }

    /// Whether it is this element of HTML.
    pub(crate) fn is(&self, name: Name) -> bool {
        self.name == name && self.space == Space::Html
    }
}

/// All nodes of a page.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(capacity: usize) -> Tree<'a> {
        let mut tree = Tree { nodes: Vec::with_capacity(capacity) };
        tree.add(Kind::Document, 0);
        tree
    }

    /// Adds a node that has no parent yet.
    pub(crate) fn add(&mut self, kind: Kind<'a>, at: usize) -> NodeId {
        // Each node takes a byte of the page or is one of a bounded number of copies, and a
        // page is shorter than 4 GiB.
        let id = u32::try_from(self.nodes.len()).unwrap_or(NONE - 1);
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.nodes.push(Node {
            kind,
            at,
            parent: NONE,
            first: NONE,
            last: NONE,
            next: NONE,
            previous: NONE,
        });
        id
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id as usize]
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node<'a> {
        &mut self.nodes[id as usize]
    }

    /// The element of a node, if it is one.
    pub(crate) fn element(&self, id: NodeId) -> Option<&Element<'a>> {
        match self.nodes.get(id as usize).map(|node| &node.kind) {
            Some(Kind::Element(element)) => Some(element),
            _ => None,
        }
    }

    pub(crate) fn element_mut(&mut self, id: NodeId) -> Option<&mut Element<'a>> {
        match self.nodes.get_mut(id as usize).map(|node| &mut node.kind) {
            Some(Kind::Element(element)) => Some(element),
            _ => None,
        }
    }

    /// The name of an element of HTML; `Other` for whatever else.
    pub(crate) fn html_name(&self, id: NodeId) -> Name {
        match self.element(id) {
            Some(element) if element.space == Space::Html => element.name,
            _ => Name::Other,
        }
    }

    /// Puts a node, which has no parent, behind the others of `parent`.
    pub(crate) fn append(&mut self, parent: NodeId, child: NodeId) {
        let last = self.node(parent).last;
        if last == NONE {
            self.node_mut(parent).first = child;
        } else {
            self.node_mut(last).next = child;
        }
        let node = self.node_mut(child);
        (node.parent, node.previous, node.next) = (parent, last, NONE);
        self.node_mut(parent).last = child;
    }

    /// Puts a node, which has no parent, before a sibling.
    pub(crate) fn insert_before(&mut self, sibling: NodeId, child: NodeId) {
        let (parent, previous) = (self.node(sibling).parent, self.node(sibling).previous);
        let node = self.node_mut(child);
        (node.parent, node.previous, node.next) = (parent, previous, sibling);
        self.node_mut(sibling).previous = child;
        if previous == NONE {
            self.node_mut(parent).first = child;
        } else {
            self.node_mut(previous).next = child;
        }
    }

    /// Takes a node away from its parent.
    pub(crate) fn detach(&mut self, child: NodeId) {
        let node = self.node_mut(child);
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        if parent == NONE {
            return;
        }
        (node.parent, node.previous, node.next) = (NONE, NONE, NONE);
        if previous == NONE {
            self.node_mut(parent).first = next;
        } else {
            self.node_mut(previous).next = next;
        }
        if next == NONE {
            self.node_mut(parent).last = previous;
        } else {
            self.node_mut(next).previous = previous;
        }
    }

    /// Moves all children of one node behind those of another.
    pub(crate) fn move_children(&mut self, from: NodeId, to: NodeId) {
        while self.node(from).first != NONE {
            let child = self.node(from).first;
            self.detach(child);
            self.append(to, child);
        }
    }

    /// The children of a node.
    pub(crate) fn children(&self, id: NodeId) -> Children<'_, 'a> {
        Children { tree: self, at: self.node(id).first }
    }

    /// The child elements of a node.
    pub(crate) fn child_elements(
        &self,
        id: NodeId,
    ) -> impl Iterator<Item = (NodeId, &Element<'a>)> {
        self.children(id).filter_map(|child| Some((child, self.element(child)?)))
    }

    /// The ancestors of a node, nearest first.
    pub(crate) fn ancestors(&self, id: NodeId) -> impl Iterator<Item = (NodeId, &Element<'a>)> {
        std::iter::successors(Some(self.node(id).parent), |&at| {
            Some(self.nodes.get(at as usize)?.parent)
        })
        .map_while(|at| Some((at, self.element(at)?)))
    }

    /// The nodes within a node, in the page's order.
    pub(crate) fn descendants(&self, root: NodeId) -> Descendants<'_, 'a> {
        Descendants { tree: self, root, at: root }
    }

    /// Whether a node has text that isn't space, at any depth.
    pub(crate) fn has_text(&self, id: NodeId) -> bool {
        self.descendants(id).any(|node| match &self.node(node).kind {
            Kind::Text(text) => !is_space(text),
            _ => false,
        })
    }

    /// The text of a node's own children.
    pub(crate) fn own_text(&self, id: NodeId) -> String {
        self.children(id)
            .filter_map(|child| match &self.node(child).kind {
                Kind::Text(text) => Some(&**text),
                _ => None,
            })
            .collect()
    }
}

/// HTML's white space only.
pub(crate) fn is_space(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C))
}

/// See [`Tree::children`].
pub(crate) struct Children<'t, 'a> {
    tree: &'t Tree<'a>,
    at: NodeId,
}

impl Iterator for Children<'_, '_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.at == NONE {
            return None;
        }
        let at = self.at;
        self.at = self.tree.node(at).next;
        Some(at)
    }
}

/// See [`Tree::descendants`].
pub(crate) struct Descendants<'t, 'a> {
    tree: &'t Tree<'a>,
    root: NodeId,
    at: NodeId,
}

impl Iterator for Descendants<'_, '_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let mut node = self.tree.node(self.at);
        if node.first != NONE {
            self.at = node.first;
            return Some(self.at);
        }
        while self.at != self.root {
            if node.next != NONE {
                self.at = node.next;
                return Some(self.at);
            }
            self.at = node.parent;
            node = self.tree.node(self.at);
        }
        None
    }
}

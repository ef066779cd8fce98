//! Tree construction: tokens become a tree, and what is wrong with their order is told.
//!
//! In: tokens. Out: the [`Tree`] that a browser without scripts makes of them, and each
//! parse error where its token is.
//! Law: HTML §13.2.6. The insertion modes are in `modes.rs`, what repairs misnested
//! elements in `repair.rs`; here are the stack of open elements and how nodes come in.
//! Invariants: 1. the stack is at most [`DEPTH_MAX`] deep, and the list of formatting
//! elements has at most [`FORMATTING_MAX`] entries, so that no page takes time out of
//! proportion to its length. 2. Copies of formatting elements bear no attributes.

use std::borrow::Cow;

use super::name::Name;
use super::token::{Mode, Tag, Token, Tokenizer};
use super::tree::{Element, Kind, NONE, NodeId, Space, Tree};
use crate::findings::Findings;

/// Elements are nested at most so deep, as in browsers; deeper ones stay beside their parent.
pub(crate) const DEPTH_MAX: usize = 512;

/// So many formatting elements are reopened at most.
pub(crate) const FORMATTING_MAX: usize = 48;

/// The insertion modes of §13.2.4.1 but `text`, which the tokenizer's mode tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    Initial,
    BeforeHtml,
    BeforeHead,
    InHead,
    InHeadNoscript,
    AfterHead,
    InBody,
    InTable,
    InTableText,
    InCaption,
    InColumnGroup,
    InTableBody,
    InRow,
    InCell,
    InTemplate,
    AfterBody,
    InFrameset,
    AfterFrameset,
    AfterAfterBody,
    AfterAfterFrameset,
}

/// What a mode did with a token.
pub(crate) enum Step<'a> {
    Done,
    /// The token is for the mode that is set now.
    Again(Token<'a>),
}

/// An entry of the list of active formatting elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Formatting {
    Marker,
    Element {
        node: NodeId,
        /// The element of the tag; the node may be a copy of it.
        origin: NodeId,
    },
}

impl Formatting {
    pub(crate) fn is_node(self, id: NodeId) -> bool {
        matches!(self, Formatting::Element { node, .. } if node == id)
    }
}

/// The state of tree construction.
pub(crate) struct Builder<'a, 'f> {
    pub(crate) tokenizer: Tokenizer<'a>,
    pub(crate) tree: Tree<'a>,
    pub(crate) findings: &'f mut Findings,
    pub(crate) open: Vec<NodeId>,
    pub(crate) formatting: Vec<Formatting>,
    pub(crate) mode: Insertion,
    pub(crate) original: Insertion,
    pub(crate) templates: Vec<Insertion>,
    pub(crate) head: NodeId,
    pub(crate) form: NodeId,
    pub(crate) fosters: bool,
    pub(crate) is_quirky: bool,
    pub(crate) may_frameset: bool,
    pub(crate) skips_newline: bool,
    pub(crate) table_text: Vec<(Cow<'a, str>, usize)>,
    is_too_deep: bool,
}

/// The tree of a page.
pub(crate) fn read<'a>(text: &'a str, findings: &mut Findings) -> Tree<'a> {
    let mut builder = Builder {
        tokenizer: Tokenizer::new(text),
        tree: Tree::new(text.len() / 24 + 16),
        findings,
        open: Vec::new(),
        formatting: Vec::new(),
        mode: Insertion::Initial,
        original: Insertion::InBody,
        templates: Vec::new(),
        head: NONE,
        form: NONE,
        fosters: false,
        is_quirky: false,
        may_frameset: true,
        skips_newline: false,
        table_text: Vec::new(),
        is_too_deep: false,
    };
    loop {
        builder.tokenizer.allows_cdata = builder.is_foreign();
        let token = builder.tokenizer.next(builder.findings);
        let is_end = matches!(token, Token::Eof);
        builder.take(token);
        if is_end {
            return builder.tree;
        }
    }
}

impl<'a> Builder<'a, '_> {
    fn take(&mut self, token: Token<'a>) {
        let mut token = token;
        if std::mem::take(&mut self.skips_newline)
            && let Token::Text { text, at } = &mut token
        {
            let skipped = ["\r\n", "\n", "\r"].into_iter().find(|start| text.starts_with(start));
            if let Some(start) = skipped {
                let rest = match text {
                    Cow::Borrowed(text) => Cow::Borrowed(&text[start.len()..]),
                    Cow::Owned(text) => Cow::Owned(text.split_off(start.len())),
                };
                *text = rest;
                *at += start.len();
            }
            if text.is_empty() {
                return;
            }
        }
        let slash = match &token {
            Token::Start(tag) if tag.is_self_closing => Some((tag.at, tag.name)),
            _ => None,
        };
        let was_open = self.open.len();
        while let Step::Again(same) = self.dispatch(token) {
            token = same;
        }
        if let Some((at, name)) = slash {
            self.judge_slash(at, name, was_open);
        }
    }

    fn judge_slash(&mut self, at: usize, name: Name, was_open: usize) {
        let is_kept_open = self.open.len() > was_open;
        let is_foreign = self.current_element().is_some_and(|element| element.space != Space::Html);
        if name.is_void() {
            self.findings.info(at, "slash-on-void-element", "Trailing slash on void elements has no effect and interacts badly with unquoted attribute values.");
        } else if is_kept_open && !is_foreign {
            self.findings.error(at, "self-closing-non-void", "Self-closing syntax (“/>”) used on a non-void HTML element. Ignoring the slash and treating as a start tag.");
        }
    }

    fn dispatch(&mut self, token: Token<'a>) -> Step<'a> {
        if matches!(token, Token::Comment { .. }) {
            if self.mode == Insertion::InTableText {
                self.flush_table_text();
                self.mode = self.original;
            }
            return Step::Done;
        }
        if self.current_is_raw() {
            return self.raw_text(token);
        }
        if self.is_foreign_token(&token) {
            return self.foreign(token);
        }
        self.by_mode(self.mode, token)
    }

    /// The element whose raw text is being read is the current node.
    fn current_is_raw(&self) -> bool {
        !self.tokenizer.raw_name.is_empty()
    }

    fn raw_text(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => {
                self.insert_text(text, at);
                return Step::Done;
            }
            Token::Eof => {
                let at = self.tokenizer.at;
                let label = self.current_label();
                let message = format!(
                    "End of file seen when expecting text or an end tag; “{label}” is unclosed."
                );
                self.findings.error(at, "eof-with-open-elements", message);
                self.pop();
                self.end_raw();
                return Step::Again(Token::Eof);
            }
            _ => {}
        }
        self.pop();
        self.end_raw();
        Step::Done
    }

    fn end_raw(&mut self) {
        self.tokenizer.raw_name = Cow::Borrowed("");
        self.tokenizer.mode = Mode::Data;
    }

    /// Inserts an element and reads what follows as its raw text.
    pub(crate) fn insert_raw(&mut self, tag: Tag<'a>, mode: Mode) -> Step<'a> {
        let label = tag.label.clone();
        self.insert(tag);
        self.tokenizer.mode = mode;
        self.tokenizer.raw_name = label;
        Step::Done
    }

    pub(crate) fn current(&self) -> NodeId {
        self.open.last().copied().unwrap_or(0)
    }

    pub(crate) fn current_element(&self) -> Option<&Element<'a>> {
        self.tree.element(self.current())
    }

    pub(crate) fn current_name(&self) -> Name {
        self.tree.html_name(self.current())
    }

    pub(crate) fn current_label(&self) -> String {
        self.current_element().map_or_else(String::new, |element| element.label.to_string())
    }

    pub(crate) fn is_foreign(&self) -> bool {
        self.current_element().is_some_and(|element| element.space != Space::Html)
    }

    pub(crate) fn pop(&mut self) -> NodeId {
        self.open.pop().unwrap_or(NONE)
    }

    /// Pops to the first element of this name, and that too.
    pub(crate) fn pop_to(&mut self, name: Name) {
        while let Some(id) = self.open.pop() {
            if self.tree.html_name(id) == name {
                return;
            }
        }
    }

    pub(crate) fn error(&mut self, at: usize, rule: &'static str, message: impl Into<String>) {
        self.findings.error(at, rule, message);
    }

    /// Where a node that is to go into `target` really goes (§13.2.6.1): a parent, and the
    /// sibling it comes before.
    pub(crate) fn place(&self, target: NodeId) -> (NodeId, NodeId) {
        let is_table_part = matches!(
            self.tree.html_name(target),
            Name::Table | Name::Tbody | Name::Tfoot | Name::Thead | Name::Tr
        );
        if !self.fosters || !is_table_part {
            return (target, NONE);
        }
        let last = |name: Name| self.open.iter().rposition(|&id| self.tree.html_name(id) == name);
        match (last(Name::Template), last(Name::Table)) {
            (Some(template), None) => (self.open[template], NONE),
            (Some(template), Some(table)) if template > table => (self.open[template], NONE),
            (_, None) => (self.open[0], NONE),
            (_, Some(table)) => {
                let id = self.open[table];
                let parent = self.tree.node(id).parent;
                if parent == NONE {
                    (self.open[table.saturating_sub(1)], NONE)
                } else {
                    (parent, id)
                }
            }
        }
    }

    pub(crate) fn put(&mut self, place: (NodeId, NodeId), child: NodeId) {
        match place {
            (parent, NONE) => self.tree.append(parent, child),
            (_, before) => self.tree.insert_before(before, child),
        }
    }

    pub(crate) fn insert_text(&mut self, text: Cow<'a, str>, at: usize) {
        if text.is_empty() {
            return;
        }
        let node = self.tree.add(Kind::Text(text), at);
        self.put(self.place(self.current()), node);
    }

    /// Inserts an element of HTML and opens it.
    pub(crate) fn insert(&mut self, tag: Tag<'a>) -> NodeId {
        self.insert_in(tag, Space::Html)
    }

    pub(crate) fn insert_in(&mut self, tag: Tag<'a>, space: Space) -> NodeId {
        let at = tag.at;
        let element = Element {
            name: tag.name,
            space,
            label: tag.label,
            attributes: tag.attributes,
            is_implied: false,
        };
        let node = self.tree.add(Kind::Element(element), at);
        self.put(self.place(self.current()), node);
        self.push(node, at);
        node
    }

    /// Inserts an element that has no tag in the page.
    pub(crate) fn insert_implied(&mut self, name: Name, label: &'static str) -> NodeId {
        let element = Element {
            name,
            space: Space::Html,
            label: Cow::Borrowed(label),
            attributes: Vec::new(),
            is_implied: true,
        };
        let at = self.tokenizer.at;
        let node = self.tree.add(Kind::Element(element), at);
        self.put(self.place(self.current()), node);
        self.push(node, at);
        node
    }

    pub(crate) fn push(&mut self, node: NodeId, at: usize) {
        if self.open.len() >= DEPTH_MAX {
            self.open.pop();
            if !std::mem::replace(&mut self.is_too_deep, true) {
                let message = format!("Elements are nested more than {DEPTH_MAX} deep.");
                self.findings.warning(at, "nested-too-deep", message);
            }
        }
        self.open.push(node);
    }

    /// Whether an element of this name is in a scope that `is_wall` bounds.
    fn in_scope_of(&self, is_name: impl Fn(Name) -> bool, is_wall: impl Fn(Name) -> bool) -> bool {
        for &id in self.open.iter().rev() {
            let Some(element) = self.tree.element(id) else { return false };
            if element.space != Space::Html {
                if is_foreign_wall(element) {
                    return false;
                }
                continue;
            }
            if is_name(element.name) {
                return true;
            }
            if is_wall(element.name) {
                return false;
            }
        }
        false
    }

    pub(crate) fn in_scope(&self, name: Name) -> bool {
        self.in_scope_of(|other| other == name, is_wall)
    }

    pub(crate) fn heading_in_scope(&self) -> bool {
        self.in_scope_of(Name::is_heading, is_wall)
    }

    pub(crate) fn in_button_scope(&self, name: Name) -> bool {
        self.in_scope_of(|other| other == name, |other| other == Name::Button || is_wall(other))
    }

    pub(crate) fn in_list_scope(&self, name: Name) -> bool {
        self.in_scope_of(
            |other| other == name,
            |other| matches!(other, Name::Ol | Name::Ul) || is_wall(other),
        )
    }

    pub(crate) fn in_table_scope(&self, name: Name) -> bool {
        let wall = |other| matches!(other, Name::Html | Name::Table | Name::Template);
        self.open
            .iter()
            .rev()
            .map(|&id| self.tree.html_name(id))
            .find(|&other| other == name || wall(other))
            == Some(name)
    }

    pub(crate) fn is_open(&self, name: Name) -> bool {
        self.open.iter().any(|&id| self.tree.html_name(id) == name)
    }

    /// Generates implied end tags (§13.2.6.3).
    pub(crate) fn imply_ends(&mut self, but: Name) {
        while self.current_name().has_implied_end() && self.current_name() != but {
            self.pop();
        }
    }

    pub(crate) fn imply_all_ends(&mut self) {
        while self.current_name().has_implied_end()
            || matches!(
                self.current_name(),
                Name::Caption
                    | Name::Colgroup
                    | Name::Tbody
                    | Name::Td
                    | Name::Tfoot
                    | Name::Th
                    | Name::Thead
                    | Name::Tr
            )
        {
            self.pop();
        }
    }

    /// The current node isn't what an end tag, written or implied, is for: tells so.
    pub(crate) fn expect_current(&mut self, name: Name, label: &str, at: usize, is_implied: bool) {
        if self.current_name() == name {
            return;
        }
        let open = self.unclosed_above(name);
        let message = if is_implied {
            format!("End tag “{label}” implied, but there were open elements: {open}.")
        } else {
            format!("End tag “{label}” seen, but there were open elements: {open}.")
        };
        self.error(at, "unclosed-elements", message);
    }

    /// The open elements above one, by name, for a message.
    fn unclosed_above(&self, name: Name) -> String {
        let above = self.open.iter().rev().take_while(|&&id| self.tree.html_name(id) != name);
        let labels: Vec<_> = above
            .filter_map(|&id| self.tree.element(id))
            .take(4)
            .map(|element| format!("“{}”", element.label))
            .collect();
        labels.join(", ")
    }

    pub(crate) fn close_p(&mut self, at: usize) {
        if self.in_button_scope(Name::P) {
            self.imply_ends(Name::P);
            self.expect_current(Name::P, "p", at, true);
            self.pop_to(Name::P);
        }
    }

    /// Resets the insertion mode (§13.2.4.1).
    pub(crate) fn reset_mode(&mut self) {
        for (depth, &id) in self.open.iter().enumerate().rev() {
            self.mode = match self.tree.html_name(id) {
                Name::Td | Name::Th if depth > 0 => Insertion::InCell,
                Name::Tr => Insertion::InRow,
                Name::Tbody | Name::Thead | Name::Tfoot => Insertion::InTableBody,
                Name::Caption => Insertion::InCaption,
                Name::Colgroup => Insertion::InColumnGroup,
                Name::Table => Insertion::InTable,
                Name::Template => self.templates.last().copied().unwrap_or(Insertion::InTemplate),
                Name::Head if depth > 0 => Insertion::InHead,
                Name::Body => Insertion::InBody,
                Name::Frameset => Insertion::InFrameset,
                Name::Html if self.head == NONE => Insertion::BeforeHead,
                Name::Html => Insertion::AfterHead,
                _ if depth == 0 => Insertion::InBody,
                _ => continue,
            };
            return;
        }
        self.mode = Insertion::InBody;
    }
}

fn is_wall(name: Name) -> bool {
    matches!(
        name,
        Name::Applet
            | Name::Caption
            | Name::Html
            | Name::Table
            | Name::Td
            | Name::Th
            | Name::Marquee
            | Name::Object
            | Name::Select
            | Name::Template
    )
}

/// Elements of SVG and MathML that bound a scope.
pub(crate) fn is_foreign_wall(element: &Element<'_>) -> bool {
    match element.space {
        Space::Html => false,
        Space::Svg => matches!(element.name, Name::Foreignobject | Name::Desc | Name::Title),
        Space::MathMl => matches!(
            element.name,
            Name::Mi | Name::Mo | Name::Mn | Name::Ms | Name::Mtext | Name::AnnotationXml
        ),
    }
}

//! The insertion mode of a page's body.
//!
//! Law: HTML §13.2.6.4.7. Text and start tags; end tags are in `ends.rs`. Scripting is off,
//! as it is for whoever reads a page without running it.

use super::build::{Builder, Formatting, Insertion, Step};
use super::name::Name;
use super::token::{Mode, Tag, Token};
use super::tree::{NONE, Space, is_space};

impl<'a> Builder<'a, '_> {
    pub(crate) fn in_body(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => {
                self.reconstruct();
                if !is_space(&text) {
                    self.may_frameset = false;
                }
                self.insert_text(text, at);
                Step::Done
            }
            Token::Comment { .. } => Step::Done,
            Token::Doctype(doctype) => self.stray_doctype(&doctype),
            Token::Start(tag) => self.start_in_body(tag),
            Token::End(tag) => self.end_in_body(tag),
            Token::Eof => self.eof_in_body(),
        }
    }

    fn eof_in_body(&mut self) -> Step<'a> {
        if !self.templates.is_empty() {
            return self.by_mode(Insertion::InTemplate, Token::Eof);
        }
        let at = self.tokenizer.at;
        self.tell_unclosed(at, "End of file seen and there were open elements");
        Step::Done
    }

    /// Elements are open that their page has to close.
    pub(crate) fn tell_unclosed(&mut self, at: usize, what: &str) {
        let may_stay = |name: Name| {
            name.has_implied_end()
                || matches!(
                    name,
                    Name::Tbody
                        | Name::Td
                        | Name::Tfoot
                        | Name::Th
                        | Name::Thead
                        | Name::Tr
                        | Name::Body
                        | Name::Html
                )
        };
        let unclosed: Vec<_> =
            self.open.iter().copied().filter(|&id| !may_stay(self.tree.html_name(id))).collect();
        if unclosed.is_empty() {
            return;
        }
        self.error(at, "eof-with-open-elements", format!("{what}."));
        for id in unclosed {
            let Some(element) = self.tree.element(id) else { continue };
            let message = format!("Unclosed element “{}”.", element.label);
            let at = self.tree.node(id).at as usize;
            self.error(at, "unclosed-element", message);
        }
    }

    fn start_in_body(&mut self, tag: Tag<'a>) -> Step<'a> {
        let at = tag.at;
        match tag.name {
            Name::Html => return self.again_html(&tag),
            name if name.belongs_to_head() => {
                return self.in_head(Token::Start(tag));
            }
            Name::Body => return self.again_body(&tag),
            Name::Frameset => return self.frameset_in_body(tag),
            name if name.is_block() => {
                self.close_p(at);
                self.insert(tag);
            }
            name if name.is_heading() => {
                self.close_p(at);
                if self.current_name().is_heading() {
                    self.error(
                        at,
                        "heading-in-heading",
                        "Heading cannot be a child of another heading.",
                    );
                    self.pop();
                }
                self.insert(tag);
            }
            Name::Pre | Name::Listing => {
                self.close_p(at);
                self.insert(tag);
                self.skips_newline = true;
                self.may_frameset = false;
            }
            Name::Form => self.start_form(tag),
            Name::Li => self.start_item(tag, &[Name::Li]),
            Name::Dd | Name::Dt => self.start_item(tag, &[Name::Dd, Name::Dt]),
            Name::Plaintext => {
                self.close_p(at);
                self.insert(tag);
                self.tokenizer.mode = Mode::Plain;
            }
            Name::Button => self.start_button(tag),
            Name::A | Name::Nobr => self.start_a_or_nobr(tag),
            name if name.is_formatting() => {
                self.reconstruct();
                let id = self.insert(tag);
                self.remember(id);
            }
            Name::Applet | Name::Marquee | Name::Object => {
                self.reconstruct();
                self.insert(tag);
                self.formatting.push(Formatting::Marker);
                self.may_frameset = false;
            }
            _ => return self.start_more(tag),
        }
        Step::Done
    }

    fn start_more(&mut self, mut tag: Tag<'a>) -> Step<'a> {
        let at = tag.at;
        match tag.name {
            Name::Table => {
                if !self.is_quirky {
                    self.close_p(at);
                }
                self.insert(tag);
                self.may_frameset = false;
                self.mode = Insertion::InTable;
            }
            Name::Image => {
                self.error(at, "image-element", "Saw a start tag “image”. Use “img”.");
                (tag.name, tag.label) = (Name::Img, "img".into());
                return Step::Again(Token::Start(tag));
            }
            Name::Area | Name::Br | Name::Embed | Name::Img | Name::Keygen | Name::Wbr => {
                self.insert_void(tag);
                self.may_frameset = false;
            }
            Name::Input => self.start_input(tag),
            Name::Param | Name::Source | Name::Track => {
                self.insert(tag);
                self.pop();
            }
            Name::Hr => self.start_rule(tag),
            Name::Textarea => {
                self.skips_newline = true;
                self.may_frameset = false;
                return self.insert_raw(tag, Mode::Rcdata);
            }
            Name::Xmp => {
                self.close_p(at);
                self.reconstruct();
                self.may_frameset = false;
                return self.insert_raw(tag, Mode::Raw);
            }
            Name::Iframe => {
                self.may_frameset = false;
                return self.insert_raw(tag, Mode::Raw);
            }
            Name::Noembed => return self.insert_raw(tag, Mode::Raw),
            Name::Select => self.start_select(tag),
            Name::Option | Name::Optgroup => self.start_option(tag),
            Name::Rb | Name::Rtc => {
                self.start_ruby_part(tag, Name::Other);
            }
            Name::Rp | Name::Rt => {
                self.start_ruby_part(tag, Name::Rtc);
            }
            Name::Math => self.start_foreign(tag, Space::MathMl),
            Name::Svg => self.start_foreign(tag, Space::Svg),
            name if name.is_misplaced_in_body() => {
                return self.stray_start(&tag);
            }
            _ => {
                self.reconstruct();
                self.insert(tag);
            }
        }
        Step::Done
    }

    fn start_input(&mut self, tag: Tag<'a>) {
        if self.in_scope(Name::Select) {
            self.error(tag.at, "input-in-select", "“input” start tag seen in “select”.");
            self.pop_to(Name::Select);
        }
        let is_hidden = is_hidden_input(&tag);
        self.insert_void(tag);
        self.may_frameset &= is_hidden;
    }

    fn start_rule(&mut self, tag: Tag<'a>) {
        self.close_p(tag.at);
        if self.in_scope(Name::Select) {
            self.imply_ends(Name::Other);
            self.option_left_open(tag.at, "hr");
        }
        self.insert(tag);
        self.pop();
        self.may_frameset = false;
    }

    fn start_button(&mut self, tag: Tag<'a>) {
        if self.in_scope(Name::Button) {
            self.error(
                tag.at,
                "button-in-button",
                "“button” start tag seen when “button” was already open.",
            );
            self.imply_ends(Name::Other);
            self.pop_to(Name::Button);
        }
        self.reconstruct();
        self.insert(tag);
        self.may_frameset = false;
    }

    fn insert_void(&mut self, tag: Tag<'a>) {
        self.reconstruct();
        self.insert(tag);
        self.pop();
    }

    fn start_foreign(&mut self, tag: Tag<'a>, space: Space) {
        self.reconstruct();
        let is_closed = tag.is_self_closing;
        self.insert_in(tag, space);
        if is_closed {
            self.pop();
        }
    }

    fn again_body(&mut self, tag: &Tag<'a>) -> Step<'a> {
        self.error(
            tag.at,
            "stray-start-tag",
            "Start tag “body” seen but an element of the same type was already open.",
        );
        let is_body = self.open.get(1).is_some_and(|&id| self.tree.html_name(id) == Name::Body);
        if is_body && !self.is_open(Name::Template) {
            self.may_frameset = false;
            self.merge(1, tag);
        }
        Step::Done
    }

    fn frameset_in_body(&mut self, tag: Tag<'a>) -> Step<'a> {
        self.stray_start(&tag);
        let body = self.open.get(1).copied().unwrap_or(NONE);
        if self.tree.html_name(body) != Name::Body || !self.may_frameset {
            return Step::Done;
        }
        self.tree.detach(body);
        self.open.truncate(1);
        self.insert(tag);
        self.mode = Insertion::InFrameset;
        Step::Done
    }

    fn start_form(&mut self, tag: Tag<'a>) {
        let in_template = self.is_open(Name::Template);
        if self.form != NONE && !in_template {
            self.error(tag.at, "form-in-form", "Saw a “form” start tag, but there was already an active “form” element. Nested forms are not allowed. Ignoring the tag.");
            return;
        }
        self.close_p(tag.at);
        let id = self.insert(tag);
        if !in_template {
            self.form = id;
        }
    }

    /// `li`, and `dd` and `dt`: the one before is closed.
    fn start_item(&mut self, tag: Tag<'a>, siblings: &[Name]) {
        self.may_frameset = false;
        for depth in (0..self.open.len()).rev() {
            let id = self.open[depth];
            let name = self.tree.html_name(id);
            if siblings.contains(&name) {
                let label = self
                    .tree
                    .element(id)
                    .map_or(String::new(), |element| element.label.to_string());
                self.imply_ends(name);
                self.expect_current(name, &label, tag.at, true);
                self.pop_to(name);
                break;
            }
            let is_special = self.is_special(id);
            if is_special && !matches!(name, Name::Address | Name::Div | Name::P) {
                break;
            }
        }
        self.close_p(tag.at);
        self.insert(tag);
    }

    fn start_a_or_nobr(&mut self, tag: Tag<'a>) {
        let name = tag.name;
        if name == Name::A {
            if let Some(id) = self.formatted_since_marker(Name::A) {
                self.error(
                    tag.at,
                    "a-in-a",
                    "An “a” start tag seen with already an active “a” element.",
                );
                self.adopt(Name::A, tag.at);
                self.open.retain(|&open| open != id);
                self.formatting.retain(|entry| !entry.is_node(id));
            }
            self.reconstruct();
        } else {
            self.reconstruct();
            if self.in_scope(Name::Nobr) {
                self.error(
                    tag.at,
                    "nobr-in-nobr",
                    "“nobr” start tag seen when there was an open “nobr” element in scope.",
                );
                self.adopt(Name::Nobr, tag.at);
                self.reconstruct();
            }
        }
        let id = self.insert(tag);
        self.remember(id);
    }

    fn start_select(&mut self, tag: Tag<'a>) {
        if self.in_scope(Name::Select) {
            self.error(tag.at, "select-in-select", "“select” start tag where end tag expected.");
            self.pop_to(Name::Select);
            return;
        }
        self.reconstruct();
        self.insert(tag);
        self.may_frameset = false;
    }

    fn option_left_open(&mut self, at: usize, label: &str) {
        if self.in_scope(Name::Option) || self.in_scope(Name::Optgroup) {
            let message =
                format!("“{label}” start tag seen while an “option” or “optgroup” was open.");
            self.error(at, "option-left-open", message);
        }
    }

    fn start_option(&mut self, tag: Tag<'a>) {
        if self.in_scope(Name::Select) {
            if tag.name == Name::Option {
                self.imply_ends(Name::Optgroup);
                if self.in_scope(Name::Option) {
                    self.error(
                        tag.at,
                        "option-left-open",
                        "“option” start tag seen while an “option” was open.",
                    );
                }
            } else {
                self.imply_ends(Name::Other);
                self.option_left_open(tag.at, "optgroup");
            }
        } else if self.current_name() == Name::Option {
            self.pop();
        }
        self.reconstruct();
        self.insert(tag);
    }

    fn start_ruby_part(&mut self, tag: Tag<'a>, but: Name) {
        if self.in_scope(Name::Ruby) {
            self.imply_ends(but);
            let current = self.current_name();
            if current != Name::Ruby && (but == Name::Other || current != but) {
                let message =
                    format!("Start tag “{}” seen without a “ruby” element being open.", tag.label);
                self.error(tag.at, "ruby-part-outside-ruby", message);
            }
        }
        self.insert(tag);
    }

    pub(crate) fn is_special(&self, id: u32) -> bool {
        self.tree.element(id).is_some_and(|element| match element.space {
            Space::Html => element.name.is_special(),
            _ => super::build::is_foreign_wall(element),
        })
    }
}

/// `<input type=hidden>`, in any case.
pub(crate) fn is_hidden_input(tag: &Tag<'_>) -> bool {
    tag.attributes
        .iter()
        .any(|attribute| attribute.name == "type" && attribute.value.eq_ignore_ascii_case("hidden"))
}

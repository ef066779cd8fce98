//! The insertion modes around a page's body: its beginning, its head and its end.
//!
//! Law: HTML §13.2.6.4, in its order; what stands in the body is in `body.rs`, tables in
//! `tables.rs`.

use std::borrow::Cow;

use super::build::{Builder, Insertion, Step};
use super::name::Name;
use super::quirks;
use super::token::{Doctype, Mode, Tag, Token};
use super::tree::is_space;

impl<'a> Builder<'a, '_> {
    pub(crate) fn by_mode(&mut self, mode: Insertion, token: Token<'a>) -> Step<'a> {
        match mode {
            Insertion::Initial => self.initial(token),
            Insertion::BeforeHtml => self.before_html(token),
            Insertion::BeforeHead => self.before_head(token),
            Insertion::InHead => self.in_head(token),
            Insertion::InHeadNoscript => self.in_head_noscript(token),
            Insertion::AfterHead => self.after_head(token),
            Insertion::InBody => self.in_body(token),
            Insertion::InTable => self.in_table(token),
            Insertion::InTableText => self.in_table_text(token),
            Insertion::InCaption => self.in_caption(token),
            Insertion::InColumnGroup => self.in_column_group(token),
            Insertion::InTableBody => self.in_table_body(token),
            Insertion::InRow => self.in_row(token),
            Insertion::InCell => self.in_cell(token),
            Insertion::InTemplate => self.in_template(token),
            Insertion::AfterBody => self.after_body(token),
            Insertion::InFrameset => self.in_frameset(token),
            Insertion::AfterFrameset => self.after_frameset(token),
            Insertion::AfterAfterBody => self.after_after_body(token),
            Insertion::AfterAfterFrameset => self.after_after_frameset(token),
        }
    }

    pub(crate) fn stray_doctype(&mut self, doctype: &Doctype) -> Step<'a> {
        self.error(doctype.at, "stray-doctype", "Stray doctype.");
        Step::Done
    }

    pub(crate) fn stray_end(&mut self, tag: &Tag<'a>) -> Step<'a> {
        let message = format!("Stray end tag “{}”.", tag.label);
        self.error(tag.at, "stray-end-tag", message);
        Step::Done
    }

    pub(crate) fn stray_start(&mut self, tag: &Tag<'a>) -> Step<'a> {
        let message = format!("Stray start tag “{}”.", tag.label);
        self.error(tag.at, "stray-start-tag", message);
        Step::Done
    }

    /// The token without the space that it begins with; nothing if it is all space.
    fn without_space(token: Token<'a>) -> Option<Token<'a>> {
        let Token::Text { text, at } = token else { return Some(token) };
        let skipped = text
            .bytes()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C))
            .count();
        if skipped == text.len() {
            return None;
        }
        Some(Token::Text { text: cut(text, skipped), at: at + skipped })
    }

    /// Puts the space that a text begins with where the reading is; the rest comes back.
    pub(crate) fn insert_space(&mut self, token: Token<'a>) -> Option<Token<'a>> {
        let Token::Text { text, at } = token else { return Some(token) };
        let skipped = text
            .bytes()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0C))
            .count();
        if skipped == text.len() {
            self.insert_text(text, at);
            return None;
        }
        if skipped > 0 {
            self.insert_text(Cow::Owned(text[..skipped].to_owned()), at);
        }
        Some(Token::Text { text: cut(text, skipped), at: at + skipped })
    }

    fn initial(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = Self::without_space(token) else { return Step::Done };
        self.mode = Insertion::BeforeHtml;
        match token {
            Token::Doctype(doctype) => {
                self.is_quirky = quirks::judge(&doctype, self.findings);
                Step::Done
            }
            token => {
                let at = place_of(&token, self.tokenizer.at);
                let message = match token {
                    Token::Start(_) => {
                        "Start tag seen without seeing a doctype first. Expected “<!DOCTYPE html>”."
                    }
                    Token::End(_) => {
                        "End tag seen without seeing a doctype first. Expected “<!DOCTYPE html>”."
                    }
                    Token::Eof => {
                        "End of file seen without seeing a doctype first. Expected “<!DOCTYPE html>”."
                    }
                    _ => {
                        "Non-space characters found without seeing a doctype first. Expected “<!DOCTYPE html>”."
                    }
                };
                self.error(at, "doctype-missing", message);
                self.is_quirky = true;
                Step::Again(token)
            }
        }
    }

    fn before_html(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = Self::without_space(token) else { return Step::Done };
        match token {
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) if tag.name == Name::Html => {
                self.insert(tag);
                self.mode = Insertion::BeforeHead;
                return Step::Done;
            }
            Token::End(tag)
                if !matches!(tag.name, Name::Head | Name::Body | Name::Html | Name::Br) =>
            {
                return self.stray_end(&tag);
            }
            _ => {}
        }
        self.insert_implied(Name::Html, "html");
        self.mode = Insertion::BeforeHead;
        Step::Again(token)
    }

    fn before_head(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = Self::without_space(token) else { return Step::Done };
        match token {
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(&tag),
            Token::Start(tag) if tag.name == Name::Head => {
                self.head = self.insert(tag);
                self.mode = Insertion::InHead;
                return Step::Done;
            }
            Token::End(tag)
                if !matches!(tag.name, Name::Head | Name::Body | Name::Html | Name::Br) =>
            {
                return self.stray_end(&tag);
            }
            _ => {}
        }
        self.head = self.insert_implied(Name::Head, "head");
        self.mode = Insertion::InHead;
        Step::Again(token)
    }

    /// A second `<html>`.
    pub(crate) fn again_html(&mut self, tag: &Tag<'a>) -> Step<'a> {
        self.stray_start(tag);
        if !self.is_open(Name::Template) {
            self.merge(0, tag);
        }
        Step::Done
    }

    /// Gives an open element the attributes that it doesn't have yet.
    pub(crate) fn merge(&mut self, depth: usize, tag: &Tag<'a>) {
        let Some(&id) = self.open.get(depth) else { return };
        let Some(element) = self.tree.element_mut(id) else { return };
        for attribute in &tag.attributes {
            if !element.has(&attribute.name) {
                element.attributes.push(attribute.clone());
            }
        }
    }

    pub(crate) fn in_head(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = self.insert_space(token) else { return Step::Done };
        match token {
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) => match tag.name {
                Name::Html => return self.again_html(&tag),
                Name::Base | Name::Basefont | Name::Bgsound | Name::Link | Name::Meta => {
                    self.insert(tag);
                    self.pop();
                    return Step::Done;
                }
                Name::Title => return self.insert_raw(tag, Mode::Rcdata),
                Name::Noscript => {
                    self.insert(tag);
                    self.mode = Insertion::InHeadNoscript;
                    return Step::Done;
                }
                Name::Noframes | Name::Style => return self.insert_raw(tag, Mode::Raw),
                Name::Script => return self.insert_raw(tag, Mode::Script),
                Name::Template => return self.begin_template(tag),
                Name::Head => return self.stray_start(&tag),
                _ => return self.leave_head(Token::Start(tag)),
            },
            Token::End(tag) => match tag.name {
                Name::Head => {
                    self.pop();
                    self.mode = Insertion::AfterHead;
                    return Step::Done;
                }
                Name::Template => return self.end_template(&tag),
                Name::Body | Name::Html | Name::Br => return self.leave_head(Token::End(tag)),
                _ => return self.stray_end(&tag),
            },
            _ => {}
        }
        self.leave_head(token)
    }

    fn leave_head(&mut self, token: Token<'a>) -> Step<'a> {
        self.pop();
        self.mode = Insertion::AfterHead;
        Step::Again(token)
    }

    fn begin_template(&mut self, tag: Tag<'a>) -> Step<'a> {
        self.insert(tag);
        self.formatting.push(super::build::Formatting::Marker);
        self.may_frameset = false;
        self.mode = Insertion::InTemplate;
        self.templates.push(Insertion::InTemplate);
        Step::Done
    }

    pub(crate) fn end_template(&mut self, tag: &Tag<'a>) -> Step<'a> {
        if !self.is_open(Name::Template) {
            return self.stray_end(tag);
        }
        self.imply_all_ends();
        self.expect_current(Name::Template, "template", tag.at, false);
        self.close_template();
        Step::Done
    }

    fn close_template(&mut self) {
        self.pop_to(Name::Template);
        self.clear_to_marker();
        self.templates.pop();
        self.reset_mode();
    }

    fn in_head_noscript(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = self.insert_space(token) else { return Step::Done };
        match &token {
            Token::Doctype(doctype) => return self.stray_doctype(doctype),
            Token::Start(tag) => match tag.name {
                Name::Html => return self.again_html(tag),
                Name::Basefont
                | Name::Bgsound
                | Name::Link
                | Name::Meta
                | Name::Noframes
                | Name::Style => {
                    return self.in_head(token);
                }
                Name::Head | Name::Noscript => return self.stray_start(tag),
                _ => {}
            },
            Token::End(tag) => match tag.name {
                Name::Noscript => {
                    self.pop();
                    self.mode = Insertion::InHead;
                    return Step::Done;
                }
                Name::Br => {}
                _ => return self.stray_end(tag),
            },
            _ => {}
        }
        let at = place_of(&token, self.tokenizer.at);
        let message = match &token {
            Token::Start(tag) => format!("Bad start tag “{}” in “noscript” in “head”.", tag.label),
            _ => "Bad content in “noscript” in “head”.".to_owned(),
        };
        self.error(at, "bad-in-head-noscript", message);
        self.pop();
        self.mode = Insertion::InHead;
        Step::Again(token)
    }

    fn after_head(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = self.insert_space(token) else { return Step::Done };
        match token {
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) => match tag.name {
                Name::Html => return self.again_html(&tag),
                Name::Body => {
                    self.insert(tag);
                    self.may_frameset = false;
                    self.mode = Insertion::InBody;
                    return Step::Done;
                }
                Name::Frameset => {
                    self.insert(tag);
                    self.mode = Insertion::InFrameset;
                    return Step::Done;
                }
                Name::Base
                | Name::Basefont
                | Name::Bgsound
                | Name::Link
                | Name::Meta
                | Name::Noframes
                | Name::Script
                | Name::Style
                | Name::Template
                | Name::Title => {
                    return self.head_again(tag);
                }
                Name::Head => return self.stray_start(&tag),
                _ => return self.begin_body(Token::Start(tag)),
            },
            Token::End(tag) => match tag.name {
                Name::Template => return self.end_template(&tag),
                Name::Body | Name::Html | Name::Br => return self.begin_body(Token::End(tag)),
                _ => return self.stray_end(&tag),
            },
            _ => {}
        }
        self.begin_body(token)
    }

    /// What belongs into the head came after it.
    fn head_again(&mut self, tag: Tag<'a>) -> Step<'a> {
        let message = format!("“{}” element between “head” and “body”.", tag.label);
        self.error(tag.at, "between-head-and-body", message);
        let head = self.head;
        self.open.push(head);
        let step = self.in_head(Token::Start(tag));
        self.open.retain(|&id| id != head);
        step
    }

    fn begin_body(&mut self, token: Token<'a>) -> Step<'a> {
        self.insert_implied(Name::Body, "body");
        self.mode = Insertion::InBody;
        Step::Again(token)
    }

    fn in_template(&mut self, token: Token<'a>) -> Step<'a> {
        let mode = match &token {
            Token::Text { .. } | Token::Comment { .. } | Token::Doctype(_) => {
                return self.in_body(token);
            }
            Token::Start(tag) => match tag.name {
                Name::Base
                | Name::Basefont
                | Name::Bgsound
                | Name::Link
                | Name::Meta
                | Name::Noframes
                | Name::Script
                | Name::Style
                | Name::Template
                | Name::Title => {
                    return self.in_head(token);
                }
                Name::Caption | Name::Colgroup | Name::Tbody | Name::Tfoot | Name::Thead => {
                    Insertion::InTable
                }
                Name::Col => Insertion::InColumnGroup,
                Name::Tr => Insertion::InTableBody,
                Name::Td | Name::Th => Insertion::InRow,
                _ => Insertion::InBody,
            },
            Token::End(tag) if tag.name == Name::Template => return self.in_head(token),
            Token::End(tag) => return self.stray_end(tag),
            Token::Eof => {
                if !self.is_open(Name::Template) {
                    return Step::Done;
                }
                let at = self.tokenizer.at;
                self.error(
                    at,
                    "eof-with-open-elements",
                    "End of file seen and there were open elements: “template”.",
                );
                self.close_template();
                return Step::Again(token);
            }
        };
        self.templates.pop();
        self.templates.push(mode);
        self.mode = mode;
        Step::Again(token)
    }

    fn after_body(&mut self, token: Token<'a>) -> Step<'a> {
        match &token {
            Token::Text { text, .. } if is_space(text) => return self.in_body(token),
            Token::Doctype(doctype) => return self.stray_doctype(doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(tag),
            Token::End(tag) if tag.name == Name::Html => {
                self.mode = Insertion::AfterAfterBody;
                return Step::Done;
            }
            Token::Eof => return Step::Done,
            _ => {}
        }
        self.content_after_body(&token);
        self.mode = Insertion::InBody;
        Step::Again(token)
    }

    fn content_after_body(&mut self, token: &Token<'a>) {
        let at = place_of(token, self.tokenizer.at);
        let message = match token {
            Token::Start(tag) => format!("Stray start tag “{}” after the body.", tag.label),
            Token::End(tag) => format!("Stray end tag “{}” after the body.", tag.label),
            _ => "Non-space character after body.".to_owned(),
        };
        self.error(at, "content-after-body", message);
    }

    fn after_after_body(&mut self, token: Token<'a>) -> Step<'a> {
        match &token {
            Token::Text { text, .. } if is_space(text) => return self.in_body(token),
            Token::Doctype(doctype) => return self.stray_doctype(doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(tag),
            Token::Eof => return Step::Done,
            _ => {}
        }
        self.content_after_body(&token);
        self.mode = Insertion::InBody;
        Step::Again(token)
    }

    fn in_frameset(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => self.frameset_text(&text, at),
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) => match tag.name {
                Name::Html => return self.again_html(&tag),
                Name::Frameset => {
                    self.insert(tag);
                }
                Name::Frame => {
                    self.insert(tag);
                    self.pop();
                }
                Name::Noframes => return self.in_head(Token::Start(tag)),
                _ => return self.stray_start(&tag),
            },
            Token::End(tag)
                if tag.name == Name::Frameset && self.current_name() == Name::Frameset =>
            {
                self.pop();
                if self.current_name() != Name::Frameset {
                    self.mode = Insertion::AfterFrameset;
                }
            }
            Token::End(tag) => return self.stray_end(&tag),
            Token::Eof => {
                if self.open.len() > 1 {
                    let at = self.tokenizer.at;
                    self.error(
                        at,
                        "eof-with-open-elements",
                        "End of file seen and there were open elements: “frameset”.",
                    );
                }
            }
            Token::Comment { .. } => {}
        }
        Step::Done
    }

    /// What of a text may stand among frames; the rest is told.
    fn space_of(&mut self, text: &str, at: usize) -> Option<String> {
        if !is_space(text) {
            self.error(at, "text-in-frameset", "Non-space in “frameset”.");
        }
        let is_kept = |c: &char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0C');
        let space: String = text.chars().filter(is_kept).collect();
        (!space.is_empty()).then_some(space)
    }

    fn frameset_text(&mut self, text: &str, at: usize) {
        if let Some(space) = self.space_of(text, at) {
            self.insert_text(Cow::Owned(space), at);
        }
    }

    fn after_frameset(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => self.frameset_text(&text, at),
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(&tag),
            Token::Start(tag) if tag.name == Name::Noframes => {
                return self.in_head(Token::Start(tag));
            }
            Token::Start(tag) => return self.stray_start(&tag),
            Token::End(tag) if tag.name == Name::Html => self.mode = Insertion::AfterAfterFrameset,
            Token::End(tag) => return self.stray_end(&tag),
            Token::Eof | Token::Comment { .. } => {}
        }
        Step::Done
    }

    fn after_after_frameset(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => {
                // Here the space goes the way of the body's, which opens formatting again.
                if let Some(space) = self.space_of(&text, at) {
                    return self.in_body(Token::Text { text: Cow::Owned(space), at });
                }
            }
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(&tag),
            Token::Start(tag) if tag.name == Name::Noframes => {
                return self.in_head(Token::Start(tag));
            }
            Token::Start(tag) => return self.stray_start(&tag),
            Token::End(tag) => return self.stray_end(&tag),
            Token::Eof | Token::Comment { .. } => {}
        }
        Step::Done
    }
}

/// The text from a byte on.
pub(crate) fn cut(text: Cow<'_, str>, from: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[from..]),
        Cow::Owned(mut text) => Cow::Owned(text.split_off(from)),
    }
}

/// Where a token begins.
pub(crate) fn place_of(token: &Token<'_>, end: usize) -> usize {
    match token {
        Token::Doctype(doctype) => doctype.at,
        Token::Start(tag) | Token::End(tag) => tag.at,
        Token::Text { at, .. } | Token::Comment { at } => *at,
        Token::Eof => end,
    }
}

//! The insertion modes of tables.
//!
//! Law: HTML §13.2.6.4.9 to 15. What doesn't belong into a table goes before it, which is
//! an error and told as such.

use super::body::is_hidden_input;
use super::build::{Builder, Formatting, Insertion, Step};
use super::modes::place_of;
use super::name::Name;
use super::token::{Tag, Token};
use super::tree::{NONE, is_space};

impl<'a> Builder<'a, '_> {
    pub(crate) fn in_table(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => {
                let takes_text = matches!(
                    self.current_name(),
                    Name::Table
                        | Name::Tbody
                        | Name::Template
                        | Name::Tfoot
                        | Name::Thead
                        | Name::Tr
                );
                if !takes_text {
                    return self.outside_table(Token::Text { text, at });
                }
                self.original = self.mode;
                self.mode = Insertion::InTableText;
                Step::Again(Token::Text { text, at })
            }
            Token::Doctype(doctype) => self.stray_doctype(&doctype),
            Token::Start(tag) => self.start_in_table(tag),
            Token::End(tag) => match tag.name {
                Name::Table => {
                    if !self.in_table_scope(Name::Table) {
                        return self.stray_end(&tag);
                    }
                    self.pop_to(Name::Table);
                    self.reset_mode();
                    Step::Done
                }
                Name::Body
                | Name::Caption
                | Name::Col
                | Name::Colgroup
                | Name::Html
                | Name::Tbody
                | Name::Td
                | Name::Tfoot
                | Name::Th
                | Name::Thead
                | Name::Tr => self.stray_end(&tag),
                Name::Template => self.end_template(&tag),
                _ => self.outside_table(Token::End(tag)),
            },
            Token::Eof | Token::Comment { .. } => self.in_body(token),
        }
    }

    fn start_in_table(&mut self, tag: Tag<'a>) -> Step<'a> {
        match tag.name {
            Name::Caption => {
                self.clear_to(&[Name::Table]);
                self.formatting.push(Formatting::Marker);
                self.insert(tag);
                self.mode = Insertion::InCaption;
            }
            Name::Colgroup => {
                self.clear_to(&[Name::Table]);
                self.insert(tag);
                self.mode = Insertion::InColumnGroup;
            }
            Name::Col => {
                self.clear_to(&[Name::Table]);
                self.insert_implied(Name::Colgroup, "colgroup");
                self.mode = Insertion::InColumnGroup;
                return Step::Again(Token::Start(tag));
            }
            Name::Tbody | Name::Tfoot | Name::Thead => {
                self.clear_to(&[Name::Table]);
                self.insert(tag);
                self.mode = Insertion::InTableBody;
            }
            Name::Td | Name::Th | Name::Tr => {
                self.clear_to(&[Name::Table]);
                self.insert_implied(Name::Tbody, "tbody");
                self.mode = Insertion::InTableBody;
                return Step::Again(Token::Start(tag));
            }
            Name::Table => {
                self.error(
                    tag.at,
                    "table-in-table",
                    "Start tag for “table” seen but the previous “table” is still open.",
                );
                if !self.in_table_scope(Name::Table) {
                    return Step::Done;
                }
                self.pop_to(Name::Table);
                self.reset_mode();
                return Step::Again(Token::Start(tag));
            }
            Name::Style | Name::Script | Name::Template => return self.in_head(Token::Start(tag)),
            Name::Input if is_hidden_input(&tag) => {
                self.error(tag.at, "start-tag-in-table", "Start tag “input” seen in “table”.");
                self.insert(tag);
                self.pop();
            }
            Name::Form => {
                self.error(tag.at, "start-tag-in-table", "Start tag “form” seen in “table”.");
                if self.form == NONE && !self.is_open(Name::Template) {
                    self.form = self.insert(tag);
                    self.pop();
                }
            }
            _ => return self.outside_table(Token::Start(tag)),
        }
        Step::Done
    }

    /// What doesn't belong into a table is put before it.
    fn outside_table(&mut self, token: Token<'a>) -> Step<'a> {
        let at = place_of(&token, self.tokenizer.at);
        let message = match &token {
            Token::Start(tag) => format!("Start tag “{}” seen in “table”.", tag.label),
            Token::End(tag) => format!("Stray end tag “{}” in “table”.", tag.label),
            _ => "Misplaced non-space characters inside a table.".to_owned(),
        };
        self.error(at, "start-tag-in-table", message);
        self.fosters = true;
        let step = self.in_body(token);
        self.fosters = false;
        step
    }

    pub(crate) fn in_table_text(&mut self, token: Token<'a>) -> Step<'a> {
        if let Token::Text { text, at } = token {
            self.table_text.push((text, at));
            return Step::Done;
        }
        self.flush_table_text();
        self.mode = self.original;
        Step::Again(token)
    }

    pub(crate) fn flush_table_text(&mut self) {
        let texts = std::mem::take(&mut self.table_text);
        if texts.iter().all(|(text, _)| is_space(text)) {
            for (text, at) in texts {
                self.insert_text(text, at);
            }
            return;
        }
        let first = texts.iter().find(|(text, _)| !is_space(text)).map_or(0, |(_, at)| *at);
        self.error(first, "text-in-table", "Misplaced non-space characters inside a table.");
        self.fosters = true;
        for (text, at) in texts {
            self.in_body(Token::Text { text, at });
        }
        self.fosters = false;
    }

    /// Pops to one of these, to `html` or to `template`.
    fn clear_to(&mut self, names: &[Name]) {
        loop {
            let name = self.current_name();
            if names.contains(&name)
                || matches!(name, Name::Html | Name::Template)
                || self.open.len() <= 1
            {
                return;
            }
            self.pop();
        }
    }

    pub(crate) fn in_caption(&mut self, token: Token<'a>) -> Step<'a> {
        match &token {
            Token::End(tag) if tag.name == Name::Caption => {
                if !self.in_table_scope(Name::Caption) {
                    return self.stray_end(tag);
                }
                self.close_caption(tag.at, false);
                Step::Done
            }
            Token::Start(Tag {
                name:
                    Name::Caption
                    | Name::Col
                    | Name::Colgroup
                    | Name::Tbody
                    | Name::Td
                    | Name::Tfoot
                    | Name::Th
                    | Name::Thead
                    | Name::Tr,
                at,
                ..
            })
            | Token::End(Tag { name: Name::Table, at, .. }) => {
                let at = *at;
                if !self.in_table_scope(Name::Caption) {
                    self.error(at, "stray-tag", "Stray tag in “caption”.");
                    return Step::Done;
                }
                self.close_caption(at, true);
                Step::Again(token)
            }
            Token::End(tag)
                if matches!(
                    tag.name,
                    Name::Body
                        | Name::Col
                        | Name::Colgroup
                        | Name::Html
                        | Name::Tbody
                        | Name::Td
                        | Name::Tfoot
                        | Name::Th
                        | Name::Thead
                        | Name::Tr
                ) =>
            {
                self.stray_end(tag)
            }
            _ => self.in_body(token),
        }
    }

    fn close_caption(&mut self, at: usize, is_implied: bool) {
        self.imply_ends(Name::Other);
        self.expect_current(Name::Caption, "caption", at, is_implied);
        self.pop_to(Name::Caption);
        self.clear_to_marker();
        self.mode = Insertion::InTable;
    }

    pub(crate) fn in_column_group(&mut self, token: Token<'a>) -> Step<'a> {
        let Some(token) = self.insert_space(token) else { return Step::Done };
        match token {
            Token::Doctype(doctype) => return self.stray_doctype(&doctype),
            Token::Start(tag) if tag.name == Name::Html => return self.again_html(&tag),
            Token::Start(tag) if tag.name == Name::Col => {
                self.insert(tag);
                self.pop();
                return Step::Done;
            }
            Token::Start(tag) if tag.name == Name::Template => {
                return self.in_head(Token::Start(tag));
            }
            Token::End(tag) if tag.name == Name::Template => return self.end_template(&tag),
            Token::End(tag) if tag.name == Name::Col => return self.stray_end(&tag),
            Token::End(tag)
                if tag.name == Name::Colgroup && self.current_name() == Name::Colgroup =>
            {
                self.pop();
                self.mode = Insertion::InTable;
                return Step::Done;
            }
            Token::End(tag) if tag.name == Name::Colgroup => return self.stray_end(&tag),
            Token::Eof => return self.in_body(Token::Eof),
            token => {
                if self.current_name() == Name::Colgroup {
                    self.pop();
                    self.mode = Insertion::InTable;
                    return Step::Again(token);
                }
                self.error(
                    place_of(&token, 0),
                    "content-in-colgroup",
                    "Stray content in a column group.",
                );
            }
        }
        Step::Done
    }

    pub(crate) fn in_table_body(&mut self, token: Token<'a>) -> Step<'a> {
        const BODIES: &[Name] = &[Name::Tbody, Name::Tfoot, Name::Thead];
        match token {
            Token::Start(tag) if tag.name == Name::Tr => {
                self.clear_to(BODIES);
                self.insert(tag);
                self.mode = Insertion::InRow;
                Step::Done
            }
            Token::Start(tag) if matches!(tag.name, Name::Th | Name::Td) => {
                let message = format!("“{}” start tag in table body.", tag.label);
                self.error(tag.at, "cell-without-row", message);
                self.clear_to(BODIES);
                self.insert_implied(Name::Tr, "tr");
                self.mode = Insertion::InRow;
                Step::Again(Token::Start(tag))
            }
            Token::End(tag) if BODIES.contains(&tag.name) => {
                if !self.in_table_scope(tag.name) {
                    return self.stray_end(&tag);
                }
                self.clear_to(BODIES);
                self.pop();
                self.mode = Insertion::InTable;
                Step::Done
            }
            Token::Start(Tag {
                name:
                    Name::Caption | Name::Col | Name::Colgroup | Name::Tbody | Name::Tfoot | Name::Thead,
                at,
                ..
            })
            | Token::End(Tag { name: Name::Table, at, .. }) => {
                if !BODIES.iter().any(|&body| self.in_table_scope(body)) {
                    self.error(at, "stray-tag", "Stray tag in a table.");
                    return Step::Done;
                }
                self.clear_to(BODIES);
                self.pop();
                self.mode = Insertion::InTable;
                Step::Again(token)
            }
            Token::End(tag)
                if matches!(
                    tag.name,
                    Name::Body
                        | Name::Caption
                        | Name::Col
                        | Name::Colgroup
                        | Name::Html
                        | Name::Td
                        | Name::Th
                        | Name::Tr
                ) =>
            {
                self.stray_end(&tag)
            }
            token => self.in_table(token),
        }
    }

    pub(crate) fn in_row(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Start(tag) if matches!(tag.name, Name::Th | Name::Td) => {
                self.clear_to(&[Name::Tr]);
                self.insert(tag);
                self.mode = Insertion::InCell;
                self.formatting.push(Formatting::Marker);
                Step::Done
            }
            Token::End(tag) if tag.name == Name::Tr => {
                if !self.in_table_scope(Name::Tr) {
                    return self.stray_end(&tag);
                }
                self.close_row();
                Step::Done
            }
            Token::Start(Tag {
                name:
                    Name::Caption
                    | Name::Col
                    | Name::Colgroup
                    | Name::Tbody
                    | Name::Tfoot
                    | Name::Thead
                    | Name::Tr,
                at,
                ..
            })
            | Token::End(Tag { name: Name::Table, at, .. }) => {
                if !self.in_table_scope(Name::Tr) {
                    self.error(at, "stray-tag", "Stray tag in a table row.");
                    return Step::Done;
                }
                self.close_row();
                Step::Again(token)
            }
            Token::End(tag) if matches!(tag.name, Name::Tbody | Name::Tfoot | Name::Thead) => {
                if !self.in_table_scope(tag.name) {
                    return self.stray_end(&tag);
                }
                if !self.in_table_scope(Name::Tr) {
                    return Step::Done;
                }
                self.close_row();
                Step::Again(Token::End(tag))
            }
            Token::End(tag)
                if matches!(
                    tag.name,
                    Name::Body
                        | Name::Caption
                        | Name::Col
                        | Name::Colgroup
                        | Name::Html
                        | Name::Td
                        | Name::Th
                ) =>
            {
                self.stray_end(&tag)
            }
            token => self.in_table(token),
        }
    }

    fn close_row(&mut self) {
        self.clear_to(&[Name::Tr]);
        self.pop();
        self.mode = Insertion::InTableBody;
    }

    pub(crate) fn in_cell(&mut self, token: Token<'a>) -> Step<'a> {
        match &token {
            Token::End(tag) if matches!(tag.name, Name::Td | Name::Th) => {
                if !self.in_table_scope(tag.name) {
                    return self.stray_end(tag);
                }
                self.imply_ends(Name::Other);
                self.expect_current(tag.name, &tag.label, tag.at, false);
                self.pop_to(tag.name);
                self.clear_to_marker();
                self.mode = Insertion::InRow;
                Step::Done
            }
            Token::Start(Tag {
                name:
                    Name::Caption
                    | Name::Col
                    | Name::Colgroup
                    | Name::Tbody
                    | Name::Td
                    | Name::Tfoot
                    | Name::Th
                    | Name::Thead
                    | Name::Tr,
                at,
                ..
            }) => {
                let at = *at;
                self.close_cell(at);
                Step::Again(token)
            }
            Token::End(tag)
                if matches!(
                    tag.name,
                    Name::Body | Name::Caption | Name::Col | Name::Colgroup | Name::Html
                ) =>
            {
                self.stray_end(tag)
            }
            Token::End(tag)
                if matches!(
                    tag.name,
                    Name::Table | Name::Tbody | Name::Tfoot | Name::Thead | Name::Tr
                ) =>
            {
                if !self.in_table_scope(tag.name) {
                    return self.stray_end(tag);
                }
                let at = tag.at;
                self.close_cell(at);
                Step::Again(token)
            }
            _ => self.in_body(token),
        }
    }

    fn close_cell(&mut self, at: usize) {
        self.imply_ends(Name::Other);
        let is_cell = |name| matches!(name, Name::Td | Name::Th);
        if !is_cell(self.current_name()) {
            self.error(
                at,
                "unclosed-elements",
                "A table cell was implicitly closed, but there were open elements.",
            );
        }
        while let Some(id) = self.open.pop() {
            if is_cell(self.tree.html_name(id)) {
                break;
            }
        }
        self.clear_to_marker();
        self.mode = Insertion::InRow;
    }
}

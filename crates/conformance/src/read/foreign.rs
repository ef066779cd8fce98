//! SVG and MathML within a page.
//!
//! Law: HTML §13.2.6.5.

use super::build::{Builder, Step};
use super::name::Name;
use super::token::{Tag, Token};
use super::tree::{Element, Space, is_space};

/// Start tags of HTML that end SVG and MathML.
fn breaks_out(tag: &Tag<'_>) -> bool {
    let has = |name: &str| tag.attributes.iter().any(|attribute| attribute.name == name);
    match tag.name {
        Name::Font => has("color") || has("face") || has("size"),
        name => {
            name.is_heading()
                || matches!(
                    name,
                    Name::B
                        | Name::Big
                        | Name::Blockquote
                        | Name::Body
                        | Name::Br
                        | Name::Center
                        | Name::Code
                        | Name::Dd
                        | Name::Div
                        | Name::Dl
                        | Name::Dt
                        | Name::Em
                        | Name::Embed
                        | Name::Head
                        | Name::Hr
                        | Name::I
                        | Name::Img
                        | Name::Li
                        | Name::Listing
                        | Name::Menu
                        | Name::Meta
                        | Name::Nobr
                        | Name::Ol
                        | Name::P
                        | Name::Pre
                        | Name::Ruby
                        | Name::S
                        | Name::Small
                        | Name::Span
                        | Name::Strong
                        | Name::Strike
                        | Name::Sub
                        | Name::Sup
                        | Name::Table
                        | Name::Tt
                        | Name::U
                        | Name::Ul
                        | Name::Var
                )
        }
    }
}

fn is_mathml_text_point(element: &Element<'_>) -> bool {
    element.space == Space::MathMl
        && matches!(element.name, Name::Mi | Name::Mo | Name::Mn | Name::Ms | Name::Mtext)
}

fn is_html_point(element: &Element<'_>) -> bool {
    match element.space {
        Space::Svg => matches!(element.name, Name::Foreignobject | Name::Desc | Name::Title),
        Space::MathMl => {
            element.name == Name::AnnotationXml
                && (element.is_word("encoding", "text/html")
                    || element.is_word("encoding", "application/xhtml+xml"))
        }
        Space::Html => false,
    }
}

impl<'a> Builder<'a, '_> {
    /// Whether a token is for foreign content (§13.2.6).
    pub(crate) fn is_foreign_token(&self, token: &Token<'a>) -> bool {
        let Some(current) = self.current_element() else { return false };
        if current.space == Space::Html {
            return false;
        }
        match token {
            Token::Eof => false,
            Token::Start(tag) => {
                let stays_mathml = matches!(tag.name, Name::Mglyph | Name::Malignmark);
                let is_svg_in_annotation = current.space == Space::MathMl
                    && current.name == Name::AnnotationXml
                    && tag.name == Name::Svg;
                !((is_mathml_text_point(current) && !stays_mathml)
                    || is_svg_in_annotation
                    || is_html_point(current))
            }
            Token::Text { .. } => !(is_mathml_text_point(current) || is_html_point(current)),
            _ => true,
        }
    }

    pub(crate) fn foreign(&mut self, token: Token<'a>) -> Step<'a> {
        match token {
            Token::Text { text, at } => {
                if !is_space(&text) {
                    self.may_frameset = false;
                }
                self.insert_text(text, at);
                Step::Done
            }
            Token::Doctype(doctype) => self.stray_doctype(&doctype),
            Token::Start(tag) if breaks_out(&tag) => self.break_out(Token::Start(tag)),
            Token::Start(tag) => {
                let space = self.current_element().map_or(Space::Html, |element| element.space);
                let is_closed = tag.is_self_closing;
                self.insert_in(tag, space);
                if is_closed {
                    self.pop();
                }
                Step::Done
            }
            Token::End(tag) if matches!(tag.name, Name::Br | Name::P) => {
                self.break_out(Token::End(tag))
            }
            Token::End(tag) => self.end_foreign(tag),
            Token::Comment { .. } | Token::Eof => Step::Done,
        }
    }

    fn break_out(&mut self, token: Token<'a>) -> Step<'a> {
        if let Token::Start(tag) | Token::End(tag) = &token {
            let message = format!("HTML tag “{}” in a foreign namespace context.", tag.label);
            self.error(tag.at, "html-in-foreign", message);
        }
        loop {
            let stops = self.current_element().is_none_or(|element| {
                element.space == Space::Html
                    || is_html_point(element)
                    || is_mathml_text_point(element)
            });
            if stops {
                break;
            }
            self.pop();
        }
        self.by_mode(self.mode, token)
    }

    fn end_foreign(&mut self, tag: Tag<'a>) -> Step<'a> {
        if !self.current_label().eq_ignore_ascii_case(&tag.label) {
            let message = format!(
                "End tag “{}” did not match the name of the current open element (“{}”).",
                tag.label,
                self.current_label()
            );
            self.error(tag.at, "unclosed-elements", message);
        }
        for depth in (1..self.open.len()).rev() {
            let Some(element) = self.tree.element(self.open[depth]) else { break };
            if element.space == Space::Html {
                return self.by_mode(self.mode, Token::End(tag));
            }
            if element.label.eq_ignore_ascii_case(&tag.label) {
                self.open.truncate(depth);
                return Step::Done;
            }
        }
        Step::Done
    }
}

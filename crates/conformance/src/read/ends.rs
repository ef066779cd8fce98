//! End tags in a page's body.
//!
//! Law: HTML §13.2.6.4.7.

use super::build::{Builder, Insertion, Step};
use super::name::Name;
use super::token::{Tag, Token};
use super::tree::{NONE, Space};

impl<'a> Builder<'a, '_> {
    pub(crate) fn end_in_body(&mut self, tag: Tag<'a>) -> Step<'a> {
        let (name, at) = (tag.name, tag.at);
        match name {
            Name::Template => return self.end_template(&tag),
            Name::Body | Name::Html => {
                if !self.in_scope(Name::Body) {
                    return self.stray_end(&tag);
                }
                let what =
                    format!("End tag for “{}” seen, but there were unclosed elements", tag.label);
                self.tell_unclosed(at, &what);
                self.mode = Insertion::AfterBody;
                if name == Name::Html {
                    return Step::Again(Token::End(tag));
                }
            }
            name if name.ends_as_block() => {
                if !self.in_scope(name) {
                    return self.stray_end(&tag);
                }
                self.imply_ends(Name::Other);
                self.expect_current(name, &tag.label, at, false);
                self.pop_to(name);
            }
            Name::Form => return self.end_form(&tag),
            Name::P => self.end_p(at),
            Name::Li | Name::Dd | Name::Dt => return self.end_item(&tag),
            name if name.is_heading() => return self.end_heading(&tag),
            name if name.is_formatting() => {
                if self.adopt(name, at) {
                    return self.end_any(&tag);
                }
            }
            Name::Applet | Name::Marquee | Name::Object => {
                if !self.in_scope(name) {
                    return self.stray_end(&tag);
                }
                self.imply_ends(Name::Other);
                self.expect_current(name, &tag.label, at, false);
                self.pop_to(name);
                self.clear_to_marker();
            }
            Name::Br => {
                self.error(at, "end-tag-br", "End tag “br”.");
                self.reconstruct();
                self.insert_implied(Name::Br, "br");
                self.pop();
                self.may_frameset = false;
            }
            _ => return self.end_any(&tag),
        }
        Step::Done
    }

    fn end_p(&mut self, at: usize) {
        if !self.in_button_scope(Name::P) {
            self.error(at, "no-p-to-close", "No “p” element in scope but a “p” end tag seen.");
            self.insert_implied(Name::P, "p");
        }
        self.imply_ends(Name::P);
        self.expect_current(Name::P, "p", at, false);
        self.pop_to(Name::P);
    }

    fn end_form(&mut self, tag: &Tag<'a>) -> Step<'a> {
        if self.is_open(Name::Template) {
            if !self.in_scope(Name::Form) {
                return self.stray_end(tag);
            }
            self.imply_ends(Name::Other);
            self.expect_current(Name::Form, "form", tag.at, false);
            self.pop_to(Name::Form);
            return Step::Done;
        }
        let form = std::mem::replace(&mut self.form, NONE);
        if form == NONE || !self.in_scope(Name::Form) || !self.open.contains(&form) {
            return self.stray_end(tag);
        }
        self.imply_ends(Name::Other);
        if self.current() != form {
            self.expect_current(Name::Form, "form", tag.at, false);
        }
        self.open.retain(|&id| id != form);
        Step::Done
    }

    fn end_item(&mut self, tag: &Tag<'a>) -> Step<'a> {
        let name = tag.name;
        let is_there =
            if name == Name::Li { self.in_list_scope(name) } else { self.in_scope(name) };
        if !is_there {
            return self.stray_end(tag);
        }
        self.imply_ends(name);
        self.expect_current(name, &tag.label, tag.at, false);
        self.pop_to(name);
        Step::Done
    }

    fn end_heading(&mut self, tag: &Tag<'a>) -> Step<'a> {
        if !self.heading_in_scope() {
            return self.stray_end(tag);
        }
        self.imply_ends(Name::Other);
        if self.current_name() != tag.name {
            let message = format!("End tag “{}” seen, but there were open elements.", tag.label);
            self.error(tag.at, "unclosed-elements", message);
        }
        while let Some(id) = self.open.pop() {
            if self.tree.html_name(id).is_heading() {
                break;
            }
        }
        Step::Done
    }

    /// Any other end tag.
    pub(crate) fn end_any(&mut self, tag: &Tag<'a>) -> Step<'a> {
        for depth in (0..self.open.len()).rev() {
            let id = self.open[depth];
            let is_it = self
                .tree
                .element(id)
                .is_some_and(|element| element.space == Space::Html && element.label == tag.label);
            if is_it {
                if tag.name != Name::Other {
                    self.imply_ends(tag.name);
                } else if self.current_element().is_none_or(|element| element.label != tag.label) {
                    self.imply_ends(Name::Other);
                }
                if self.current() != id {
                    let message =
                        format!("End tag “{}” seen, but there were open elements.", tag.label);
                    self.error(tag.at, "unclosed-elements", message);
                }
                self.open.truncate(depth);
                return Step::Done;
            }
            if self.is_special(id) {
                return self.stray_end(tag);
            }
        }
        Step::Done
    }
}

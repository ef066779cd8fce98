//! What an origin answered.

use wire::{Body, Fields, Name, ResponseHead, body};

use crate::OpenFile;

/// The head of an answer and the body on its way.
pub struct Answer {
    /// Status and fields as the origin sent them, hop-by-hop fields included.
    pub head: ResponseHead,
    /// The body; dropping it closes the origin's connection unless it was read to its end.
    pub body: Body,
    /// How many bytes `body` will yield if that is known; 0 for an answer to HEAD.
    pub length: Option<u64>,
    /// The file that `body` reads from, if it is one: for 304 and 206 without reading it all.
    pub file: Option<OpenFile>,
}

impl Answer {
    /// A short answer of our own: a redirect, a missing page, a method that is not allowed.
    pub(crate) fn short(status: u16, title: &str, mut fields: Fields, is_head: bool) -> Self {
        let text = format!(
            "<!doctype html>\n<title>{status} {title}</title>\n<h1>{status} {title}</h1>\n"
        );
        fields.put(Name::ContentType, "text/html; charset=utf-8");
        fields.put(Name::ContentLength, text.len().to_string());
        let head = ResponseHead { status, fields };
        if is_head {
            return Self { head, body: body::empty(), length: Some(0), file: None };
        }
        let length = Some(text.len() as u64);
        Self { head, body: body::full(text), length, file: None }
    }

    pub(crate) fn not_found(is_head: bool) -> Self {
        Self::short(404, "Not Found", Fields::new(), is_head)
    }
}

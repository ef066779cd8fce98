//! Templates: what a tag becomes, made ready to be copied.
//!
//! In: the pieces that a dialect's file names. Out: bytes, with the places for the value.
//! Invariants: 1. every element that is opened is closed by the same template. 2. a value is
//! placed only where a value of its kind belongs: an address in `href` or `src`, a colour in
//! a colour. 3. literals are escaped here, values before they come.

use crate::element::{Element, Property};
use crate::escape::escape_typed;
use crate::snippet::Snippet;
use crate::written::{Does, Piece, StyleValue};

/// One tag's HTML.
#[derive(Debug, Default)]
pub(crate) struct Template {
    opening: Vec<Part>,
    closing: Snippet,
    /// The content begins directly in a `pre`, where parsers drop a first newline.
    pub(crate) begins_in_pre: bool,
    /// An `a` is open within.
    pub(crate) is_link: bool,
}

#[derive(Debug)]
enum Part {
    Bytes(Snippet),
    Value,
}

impl Template {
    /// Makes the template ready, or says what is wrong with the file.
    pub(crate) fn new(
        pieces: &[Piece],
        does: Does,
        link_attributes: &[u8],
    ) -> Result<Self, String> {
        let mut writer = Writer { does, link_attributes, parts: Vec::new(), bytes: Vec::new() };
        let mut open = Vec::new();
        for piece in pieces {
            writer.piece(piece)?;
            if piece.text.is_none() && !piece.element.is_void() {
                open.push(piece.element);
            }
        }
        writer.end_bytes();
        let mut closing = Vec::new();
        for element in open.iter().rev() {
            closing.extend_from_slice(format!("</{}>", element.name()).as_bytes());
        }
        let last = pieces.last();
        Ok(Self {
            opening: writer.parts,
            closing: Snippet::new(&closing),
            begins_in_pre: last.is_some_and(|p| p.element == Element::Pre && p.text.is_none()),
            is_link: pieces.iter().any(|piece| piece.element == Element::A),
        })
    }

    /// A template of bytes that are known to be good.
    pub(crate) fn literal(opening: &str, closing: &str) -> Self {
        Self {
            opening: vec![Part::Bytes(Snippet::new(opening.as_bytes()))],
            closing: Snippet::new(closing.as_bytes()),
            begins_in_pre: false,
            is_link: false,
        }
    }

    /// Writes what opens it. `value` is escaped already.
    pub(crate) fn open(&self, value: &[u8], out: &mut Vec<u8>) {
        for part in &self.opening {
            match part {
                Part::Bytes(bytes) => bytes.append_to(out),
                Part::Value => out.extend_from_slice(value),
            }
        }
    }

    /// What closes it.
    pub(crate) fn closing(&self) -> &Snippet {
        &self.closing
    }
}

struct Writer<'a> {
    does: Does,
    link_attributes: &'a [u8],
    parts: Vec<Part>,
    bytes: Vec<u8>,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &Piece) -> Result<(), String> {
        let name = piece.element.name();
        self.write(&format!("<{name}"));
        if let Some(class) = &piece.class {
            self.write(&format!(" class=\"{}\"", class.0));
        }
        self.style(piece)?;
        self.addresses(piece)?;
        if piece.marker.is_some() {
            if self.does != Does::List {
                return Err("`marker` belongs to a tag that does `list`".to_owned());
            }
            self.write(" type=\"");
            self.value();
            self.write("\"");
        }
        for (attribute, number) in [("width", piece.width), ("height", piece.height)] {
            if let Some(number) = number {
                self.write(&format!(" {attribute}=\"{number}\""));
            }
        }
        if piece.lazy {
            self.write(" loading=\"lazy\"");
        }
        for (attribute, text) in [("title", &piece.title), ("alt", &piece.alt)] {
            if let Some(text) = text {
                self.write(&format!(" {attribute}=\""));
                self.text(text);
                self.write("\"");
            }
        }
        self.write(">");
        if let Some(text) = &piece.text {
            if piece.element.is_void() {
                return Err(format!("`{name}` has no content, so it takes no `text`"));
            }
            self.text(text);
            self.write(&format!("</{name}>"));
        }
        Ok(())
    }

    fn style(&mut self, piece: &Piece) -> Result<(), String> {
        for (at, (property, value)) in piece.style.iter().enumerate() {
            self.write(if at == 0 { " style=\"" } else { "; " });
            self.write(&format!("{}: ", property.name()));
            match value {
                StyleValue::Literal(text) => self.write(text),
                StyleValue::Value if fits(self.does, *property) => self.value(),
                StyleValue::Value => {
                    let name = property.name();
                    return Err(format!("this tag's value can't be a `{name}`; write a word"));
                }
            }
        }
        if !piece.style.is_empty() {
            self.write("\"");
        }
        Ok(())
    }

    fn addresses(&mut self, piece: &Piece) -> Result<(), String> {
        let leads = matches!(self.does, Does::Link | Does::Email | Does::Image | Does::Video);
        if piece.href.is_some() {
            if piece.element != Element::A || !leads {
                return Err("`href` belongs to an `a` of a link, an address, an image or a video"
                    .to_owned());
            }
            self.write(" href=\"");
            self.value();
            self.write("\"");
            self.bytes.extend_from_slice(self.link_attributes);
        }
        let shown = match piece.element {
            Element::Img => self.does == Does::Image,
            Element::Iframe => self.does == Does::Video,
            _ => false,
        };
        match (piece.src, shown) {
            (Some(_), true) => {
                self.write(" src=\"");
                self.value();
                self.write("\"");
                Ok(())
            }
            (None, false) if !matches!(piece.element, Element::Img | Element::Iframe) => Ok(()),
            _ => Err("`src = \"{value}\"` belongs to an `img` of an image or an `iframe` of a \
                      video, and those need it"
                .to_owned()),
        }
    }

    fn write(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn text(&mut self, text: &str) {
        for (at, literal) in text.split("{value}").enumerate() {
            if at > 0 {
                self.value();
            }
            escape_typed(literal.as_bytes(), &mut self.bytes);
        }
    }

    fn value(&mut self) {
        self.end_bytes();
        self.parts.push(Part::Value);
    }

    fn end_bytes(&mut self) {
        if !self.bytes.is_empty() {
            self.parts.push(Part::Bytes(Snippet::new(&self.bytes)));
            self.bytes.clear();
        }
    }
}

/// Whether a tag's value is a value of this property.
fn fits(does: Does, property: Property) -> bool {
    match property {
        Property::Color | Property::BackgroundColor => does == Does::Colour,
        Property::FontSize => does == Does::Size,
        Property::FontFamily => does == Does::Font,
        Property::TextAlign | Property::Float => does == Does::Align,
        Property::ListStyleType => does == Does::List,
        _ => false,
    }
}

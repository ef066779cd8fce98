//! The closed lists: which elements and style properties may be written at all.
//!
//! A dialect's file names them; a name that isn't here is an error with line and column, so
//! that no file can ask for a script, a handler or a form.

use serde::Deserialize;

/// An element that a dialect may use.
///
/// None of them changes how a parser reads what follows, but for a table's, whose places
/// `tree.rs` watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Element {
    A,
    B,
    Blockquote,
    Br,
    Cite,
    Code,
    Dd,
    Del,
    Details,
    Div,
    Dl,
    Dt,
    Em,
    Hr,
    I,
    Iframe,
    Img,
    Ins,
    Kbd,
    Li,
    Mark,
    Ol,
    Pre,
    S,
    Small,
    Span,
    Strong,
    Sub,
    Summary,
    Sup,
    Table,
    Td,
    Th,
    Tr,
    Tt,
    U,
    Ul,
}

impl Element {
    /// As it is written in HTML.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Blockquote => "blockquote",
            Self::Br => "br",
            Self::Cite => "cite",
            Self::Code => "code",
            Self::Dd => "dd",
            Self::Del => "del",
            Self::Details => "details",
            Self::Div => "div",
            Self::Dl => "dl",
            Self::Dt => "dt",
            Self::Em => "em",
            Self::Hr => "hr",
            Self::I => "i",
            Self::Iframe => "iframe",
            Self::Img => "img",
            Self::Ins => "ins",
            Self::Kbd => "kbd",
            Self::Li => "li",
            Self::Mark => "mark",
            Self::Ol => "ol",
            Self::Pre => "pre",
            Self::S => "s",
            Self::Small => "small",
            Self::Span => "span",
            Self::Strong => "strong",
            Self::Sub => "sub",
            Self::Summary => "summary",
            Self::Sup => "sup",
            Self::Table => "table",
            Self::Td => "td",
            Self::Th => "th",
            Self::Tr => "tr",
            Self::Tt => "tt",
            Self::U => "u",
            Self::Ul => "ul",
        }
    }

    /// Has no end tag and no content.
    pub(crate) fn is_void(self) -> bool {
        matches!(self, Self::Br | Self::Hr | Self::Img)
    }
}

/// A style property that a dialect may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Property {
    BackgroundColor,
    Color,
    Float,
    FontFamily,
    FontSize,
    FontStyle,
    FontWeight,
    LineHeight,
    ListStyleType,
    MarginLeft,
    TextAlign,
    TextDecoration,
    VerticalAlign,
    WhiteSpace,
}

impl Property {
    /// As it is written in CSS.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BackgroundColor => "background-color",
            Self::Color => "color",
            Self::Float => "float",
            Self::FontFamily => "font-family",
            Self::FontSize => "font-size",
            Self::FontStyle => "font-style",
            Self::FontWeight => "font-weight",
            Self::LineHeight => "line-height",
            Self::ListStyleType => "list-style-type",
            Self::MarginLeft => "margin-left",
            Self::TextAlign => "text-align",
            Self::TextDecoration => "text-decoration",
            Self::VerticalAlign => "vertical-align",
            Self::WhiteSpace => "white-space",
        }
    }
}

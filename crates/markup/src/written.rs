//! A dialect as its file has it.
//!
//! Every value is a closed type, so that the parser itself finds what is wrong and says
//! where: an element that isn't known, a class with a quote in it, a misspelt key.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::element::{Element, Property};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// What people call it. Takes part in nothing.
    #[allow(dead_code, reason = "a file says what it is, and is read by people")]
    pub(crate) name: String,
    pub(crate) form: Form,
    #[serde(default)]
    pub(crate) newlines: Newlines,
    #[serde(default)]
    pub(crate) links: Links,
    #[serde(default)]
    pub(crate) smilies: WrittenSmilies,
    pub(crate) tag: BTreeMap<TagName, WrittenTag>,
}

/// In which form texts come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// As somebody typed it.
    Typed,
    /// As phpBB stores it: HTML's characters escaped, and tags end in a post's uid.
    Stored,
    /// HTML's characters escaped, and tags as they were typed.
    Escaped,
}

impl Form {
    /// Whether entities stand for characters.
    pub(crate) fn is_escaped(self) -> bool {
        self != Self::Typed
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Newlines {
    pub(crate) around_blocks: AroundBlocks,
    /// Two or more newlines become one gap of this class.
    pub(crate) gap_class: Option<Class>,
}

/// What becomes of the newlines before and after a block.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AroundBlocks {
    #[default]
    Keep,
    /// One after it is left out.
    One,
    /// All are left out.
    All,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Links {
    /// Addresses in the text become links.
    pub(crate) auto: bool,
    /// So do addresses of mail.
    pub(crate) mail: bool,
    pub(crate) class: Option<Class>,
    pub(crate) rel: Vec<Rel>,
    pub(crate) new_window: bool,
    pub(crate) schemes: Vec<Scheme>,
    /// Addresses without a host, which lead to the site itself.
    pub(crate) relative: bool,
    /// A shown address that has more characters is shortened in its middle.
    pub(crate) shown_max: usize,
}

impl Default for Links {
    fn default() -> Self {
        Self {
            auto: true,
            mail: false,
            class: None,
            rel: vec![Rel::Nofollow, Rel::Ugc, Rel::Noopener],
            new_window: false,
            schemes: vec![Scheme::Http, Scheme::Https, Scheme::Ftp],
            relative: false,
            shown_max: 0,
        }
    }
}

/// What a link says of the page that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rel {
    External,
    Nofollow,
    Noopener,
    Noreferrer,
    Sponsored,
    Ugc,
}

impl Rel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Nofollow => "nofollow",
            Self::Noopener => "noopener",
            Self::Noreferrer => "noreferrer",
            Self::Sponsored => "sponsored",
            Self::Ugc => "ugc",
        }
    }
}

/// Schemes under which nothing can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scheme {
    Ed2k,
    Ftp,
    Ftps,
    Http,
    Https,
    Irc,
    Ircs,
    Magnet,
    Mailto,
    News,
    Tel,
    Xmpp,
}

impl Scheme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ed2k => "ed2k",
            Self::Ftp => "ftp",
            Self::Ftps => "ftps",
            Self::Http => "http",
            Self::Https => "https",
            Self::Irc => "irc",
            Self::Ircs => "ircs",
            Self::Magnet => "magnet",
            Self::Mailto => "mailto",
            Self::News => "news",
            Self::Tel => "tel",
            Self::Xmpp => "xmpp",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSmilies {
    /// Counts up when the images change under their old names.
    #[allow(dead_code, reason = "is part of the file, whose bytes go into every key")]
    pub(crate) version: u32,
    /// Where the images are: a path of the site, or an address by HTTP.
    pub(crate) folder: String,
    pub(crate) class: Option<Class>,
    pub(crate) boundary: Boundary,
    /// Code to file name.
    pub(crate) images: BTreeMap<String, String>,
}

/// What has to stand around a smiley.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Boundary {
    /// No letter and no digit.
    #[default]
    Word,
    /// White space, the text's end, or a tag.
    Space,
    /// Nothing in particular.
    Free,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenTag {
    pub(crate) does: Does,
    #[serde(default)]
    pub(crate) aliases: Vec<TagName>,
    /// What is written without a value, or, if there is no other, with one.
    pub(crate) html: Option<Vec<Piece>>,
    /// What is written with a value.
    pub(crate) valued: Option<Vec<Piece>>,
    /// Stands by itself: newlines around it, and no tag that is open in the line, cross it.
    #[serde(default)]
    pub(crate) block: bool,
    /// Newlines within stay newlines.
    #[serde(default)]
    pub(crate) keeps_newlines: bool,
    /// Of `verbatim`: newlines become breaks.
    #[serde(default)]
    pub(crate) breaks: bool,
    /// Has a uid in the stored form, as all but phpBB 2's links have.
    #[serde(default = "yes")]
    pub(crate) uid: bool,
    /// Of `image`: what is written where the value is a side, as in `[img=right]`.
    #[serde(default)]
    pub(crate) sides: BTreeMap<Side, Vec<Piece>>,
    /// Of `size`.
    pub(crate) sizes: Option<Sizes>,
}

fn yes() -> bool {
    true
}

/// What kind of tag it is, and so what its value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Does {
    /// Wraps its content; has no value.
    Wrap,
    /// Wraps its content; the value is a title or a name.
    Titled,
    /// Its content is shown as it was written.
    Verbatim,
    Colour,
    Size,
    Font,
    Align,
    Link,
    Email,
    Image,
    Video,
    List,
    Item,
    Table,
    Row,
    Cell,
    /// Stands alone, as a rule or a break does.
    Void,
    /// A span that says what it stands for, for the site to fill; its content stays.
    Placeholder,
    /// The same, and its content is left out: not everybody may read it.
    Withheld,
}

/// Where an image stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Left,
    Center,
    Right,
}

impl Side {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Center => "center",
            Self::Right => "right",
        }
    }
}

/// How a size is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    /// Of a number without a unit.
    pub(crate) unit: Option<Unit>,
    #[serde(default)]
    pub(crate) least: u16,
    #[serde(default)]
    pub(crate) most: u16,
    /// What 1, 2, 3… mean, instead of a unit.
    #[serde(default)]
    pub(crate) steps: Vec<SizeWord>,
    /// Whether CSS's words are sizes.
    #[serde(default)]
    pub(crate) words: bool,
    /// Units that may be written behind the number, each up to its own limit.
    #[serde(default)]
    pub(crate) units: Vec<Unit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Unit {
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "em")]
    Em,
    #[serde(rename = "pt")]
    Point,
    #[serde(rename = "px")]
    Pixel,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Percent => "%",
            Self::Em => "em",
            Self::Point => "pt",
            Self::Pixel => "px",
        }
    }

    /// The most that may be asked for with this unit.
    pub(crate) fn most(self) -> u16 {
        match self {
            Self::Percent => 300,
            Self::Em => 4,
            Self::Point => 48,
            Self::Pixel => 64,
        }
    }
}

/// CSS's absolute and relative sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SizeWord {
    XxSmall,
    XSmall,
    Small,
    Medium,
    Large,
    XLarge,
    XxLarge,
    Smaller,
    Larger,
}

impl SizeWord {
    pub(crate) const ALL: [Self; 9] = [
        Self::XxSmall,
        Self::XSmall,
        Self::Small,
        Self::Medium,
        Self::Large,
        Self::XLarge,
        Self::XxLarge,
        Self::Smaller,
        Self::Larger,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::XxSmall => "xx-small",
            Self::XSmall => "x-small",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
            Self::XLarge => "x-large",
            Self::XxLarge => "xx-large",
            Self::Smaller => "smaller",
            Self::Larger => "larger",
        }
    }
}

/// One element of what a tag becomes. The next one stands within it, unless it has `text`
/// or can't have content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Piece {
    pub(crate) element: Element,
    pub(crate) class: Option<Class>,
    #[serde(default)]
    pub(crate) style: BTreeMap<Property, StyleValue>,
    pub(crate) title: Option<String>,
    pub(crate) alt: Option<String>,
    /// Its whole content; `{value}` stands for the tag's value.
    pub(crate) text: Option<String>,
    pub(crate) href: Option<Given>,
    pub(crate) src: Option<Given>,
    /// The `type` of a list.
    pub(crate) marker: Option<Given>,
    pub(crate) width: Option<u16>,
    pub(crate) height: Option<u16>,
    #[serde(default)]
    pub(crate) lazy: bool,
}

/// The tag's value and nothing else: no file may put something before an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Given {
    #[serde(rename = "{value}")]
    Value,
}

/// A tag's name: up to sixteen small letters, digits, `_` and `-`, or `*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct TagName(pub(crate) String);

impl TryFrom<String> for TagName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let letters = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
        let is_word = (1..=16).contains(&name.len()) && name.bytes().all(letters);
        match is_word || name == "*" {
            true => Ok(Self(name)),
            false => Err(format!(
                "`{name}` can't be a tag's name; write up to 16 small letters, digits, _ and -"
            )),
        }
    }
}

/// Names of classes.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Class(pub(crate) String);

impl TryFrom<String> for Class {
    type Error = String;

    fn try_from(names: String) -> Result<Self, String> {
        let letters = |b: u8| b.is_ascii_alphanumeric() || b"_- ".contains(&b);
        match (1..=64).contains(&names.len()) && names.bytes().all(letters) {
            true => Ok(Self(names)),
            false => Err(format!(
                "`{names}` can't be a class; write up to 64 letters, digits, _, - and spaces"
            )),
        }
    }
}

/// What a style property is set to.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum StyleValue {
    Value,
    Literal(String),
}

impl TryFrom<String> for StyleValue {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let letters = |b: u8| b.is_ascii_alphanumeric() || b"#%.- ".contains(&b);
        match text.as_str() {
            "{value}" => Ok(Self::Value),
            _ if (1..=32).contains(&text.len()) && text.bytes().all(letters) => {
                Ok(Self::Literal(text))
            }
            _ => Err(format!("`{text}` can't be a style; write {{value}}, a word or a number")),
        }
    }
}

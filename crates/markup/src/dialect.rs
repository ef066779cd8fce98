//! Dialects: which tags a forum knows and what they become.
//!
//! In: a file's text, one of `dialects/` or the site's own. Out: a [`Dialect`], or an error
//! that says where the file is wrong. What a file can't ask for is not among the types of
//! `written.rs`.
//! Start at [`Dialect::read`]; the files say themselves what each forum does.

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::address::Address;
use crate::bracket::{Head, Name};
use crate::closers::TAGS_MAX;
use crate::smilies::Smilies;
use crate::snippet::Snippet;
use crate::template::Template;
use crate::written::{AroundBlocks, Does, Form, Links, Piece, Side, Sizes, Written, WrittenTag};

/// The dialects that are compiled in, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("mybb", include_str!("../dialects/mybb.toml")),
    ("phpbb2", include_str!("../dialects/phpbb2.toml")),
    ("phpbb3", include_str!("../dialects/phpbb3.toml")),
    ("smf", include_str!("../dialects/smf.toml")),
    ("torrentpier", include_str!("../dialects/torrentpier.toml")),
    ("vbulletin", include_str!("../dialects/vbulletin.toml")),
];

/// The most names, aliases included, and so half the slots of the table.
const NAMES_MAX: usize = 128;
const SLOTS: usize = 2 * NAMES_MAX;
const EMPTY: u8 = u8::MAX;

/// A forum's way with BBCode, made ready.
#[derive(Debug)]
pub struct Dialect {
    pub(crate) form: Form,
    pub(crate) around_blocks: AroundBlocks,
    pub(crate) gap: Option<Snippet>,
    pub(crate) addresses: Address,
    pub(crate) links_itself: bool,
    pub(crate) links_mail: bool,
    /// What stands in each link behind its address.
    pub(crate) link_attributes: Snippet,
    pub(crate) shown_max: usize,
    pub(crate) smilies: Smilies,
    /// The same for texts in which HTML's characters are escaped.
    pub(crate) escaped_smilies: Smilies,
    pub(crate) tags: Vec<Tag>,
    pub(crate) implicit_item: Template,
    pub(crate) implicit_row: Template,
    pub(crate) implicit_cell: Template,
    slots: Box<[(Name, u8)]>,
    /// Of the file's bytes: whatever is changed in it is another dialect.
    pub(crate) digest: [u8; 32],
}

/// One tag.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) name: Box<[u8]>,
    pub(crate) does: Does,
    pub(crate) plain: Option<Template>,
    pub(crate) valued: Option<Template>,
    pub(crate) sides: Vec<(Side, Template)>,
    pub(crate) is_block: bool,
    pub(crate) keeps_newlines: bool,
    pub(crate) breaks: bool,
    pub(crate) marker_is_type: bool,
    has_uid: bool,
    pub(crate) sizes: Option<Sizes>,
}

/// What is wrong with a dialect's file.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum DialectError {
    /// The file can't be read: what, and where.
    #[error("line {line}, column {column}: {what}")]
    Written {
        /// Counted from one.
        line: usize,
        /// Counted from one, in bytes.
        column: usize,
        /// In a sentence.
        what: String,
    },
    /// A tag asks for something that it can't have.
    #[error("[tag.{tag}]: {what}")]
    Tag {
        /// The tag's name.
        tag: String,
        /// In a sentence.
        what: String,
    },
    /// The smilies can't be used.
    #[error("[smilies]: {0}")]
    Smilies(String),
    /// There is no dialect of this name.
    #[error(
        "there is no dialect `{0}`; write mybb, phpbb2, phpbb3, smf, torrentpier, vbulletin, or a file's path"
    )]
    Unknown(String),
}

impl Dialect {
    /// One of [`BUILT_IN`].
    pub fn built_in(name: &str) -> Result<Self, DialectError> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| DialectError::Unknown(name.to_owned()))?;
        Self::read(text)
    }

    /// Reads a dialect's file.
    pub fn read(text: &str) -> Result<Self, DialectError> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text.as_bytes()[..at];
            let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            DialectError::Written {
                line: 1 + memchr::memchr_iter(b'\n', before).count(),
                column: 1 + at - start,
                what: error.message().to_owned(),
            }
        })?;
        let link_attributes = link_attributes(&written.links);
        let mut slots = vec![(Name::default(), EMPTY); SLOTS].into_boxed_slice();
        let mut tags = Vec::with_capacity(written.tag.len());
        let mut names = 0;
        for (name, tag) in &written.tag {
            let failed = |what: String| DialectError::Tag { tag: name.0.clone(), what };
            if tags.len() == TAGS_MAX {
                return Err(failed(format!("there are more than {TAGS_MAX} tags; leave some out")));
            }
            let id = tags.len() as u8;
            tags.push(Tag::new(&name.0, tag, &link_attributes).map_err(failed)?);
            for name in std::iter::once(name).chain(&tag.aliases) {
                names += 1;
                if names > NAMES_MAX || !fill(&mut slots, Name::of(&name.0), id) {
                    return Err(failed(format!("`{}` is one name too many, or twice", name.0)));
                }
            }
        }
        let smilies = |form| Smilies::new(&written.smilies, form).map_err(DialectError::Smilies);
        let gap = written.newlines.gap_class.as_ref();
        let gap = gap.map(|class| format!("<span class=\"{}\"><br></span>", class.0));
        Ok(Self {
            form: written.form,
            around_blocks: written.newlines.around_blocks,
            gap: gap.map(|gap| Snippet::new(gap.as_bytes())),
            addresses: Address {
                schemes: written.links.schemes.clone(),
                relative: written.links.relative,
            },
            links_itself: written.links.auto,
            links_mail: written.links.mail,
            link_attributes: Snippet::new(&link_attributes),
            shown_max: written.links.shown_max,
            smilies: smilies(Form::Typed)?,
            escaped_smilies: smilies(Form::Escaped)?,
            tags,
            implicit_item: Template::literal("<li>", "</li>"),
            implicit_row: Template::literal("<tr>", "</tr>"),
            implicit_cell: Template::literal("<td>", "</td>"),
            slots,
            digest: Sha256::digest(text).into(),
        })
    }

    /// The tag of this name, if it has the form of a tag here.
    pub(crate) fn find(&self, head: &Head<'_>, form: Form) -> Option<u8> {
        let mut at = slot(head.name);
        loop {
            let (name, tag) = self.slots[at];
            if tag == EMPTY {
                return None;
            }
            if name == head.name {
                let lacks_uid = form == Form::Stored && !head.has_uid;
                return (!lacks_uid || !self.tags[usize::from(tag)].has_uid).then_some(tag);
            }
            at = (at + 1) % SLOTS;
        }
    }
}

impl Tag {
    fn new(name: &str, written: &WrittenTag, link_attributes: &[u8]) -> Result<Self, String> {
        let template = |pieces: &Option<Vec<Piece>>| {
            let pieces = pieces.as_deref();
            pieces.map(|p| Template::new(p, written.does, link_attributes)).transpose()
        };
        let (plain, valued) = (template(&written.html)?, template(&written.valued)?);
        let side = |(side, pieces): (&Side, &Vec<Piece>)| {
            Template::new(pieces, written.does, link_attributes).map(|made| (*side, made))
        };
        let sides = written.sides.iter().map(side).collect::<Result<Vec<_>, _>>()?;
        if !sides.is_empty() && written.does != Does::Image {
            return Err("`sides` belongs to a tag that does `image`".to_owned());
        }
        let needs = match written.does {
            Does::Placeholder | Does::Withheld => None,
            Does::Colour | Does::Size | Does::Font | Does::Align => {
                valued.is_none().then_some("`valued`, the HTML that it becomes with its value")
            }
            _ => plain.is_none().then_some("`html`, what it becomes"),
        };
        if let Some(needs) = needs {
            return Err(format!("write {needs}"));
        }
        if written.does == Does::Size && written.sizes.is_none() {
            return Err("write `sizes`, how a size is told".to_owned());
        }
        let pieces = written.html.iter().chain(&written.valued).flatten();
        Ok(Self {
            name: name.as_bytes().into(),
            does: written.does,
            marker_is_type: pieces.into_iter().any(|piece| piece.marker.is_some()),
            plain,
            valued,
            sides,
            is_block: written.block,
            keeps_newlines: written.keeps_newlines,
            breaks: written.breaks,
            has_uid: written.uid,
            sizes: written.sizes.clone(),
        })
    }
}

/// Whether the name was free.
fn fill(slots: &mut [(Name, u8)], name: Name, tag: u8) -> bool {
    let mut at = slot(name);
    while slots[at].1 != EMPTY {
        if slots[at].0 == name {
            return false;
        }
        at = (at + 1) % SLOTS;
    }
    slots[at] = (name, tag);
    true
}

fn slot(name: Name) -> usize {
    let folded = (name.0 as u64) ^ ((name.0 >> 64) as u64).rotate_left(31);
    // Fibonacci hashing: the upper bits of the product depend on all bits.
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS
}

fn link_attributes(links: &Links) -> Vec<u8> {
    let mut text = String::new();
    if let Some(class) = &links.class {
        text += &format!(" class=\"{}\"", class.0);
    }
    if links.new_window {
        text += " target=\"_blank\"";
    }
    let mut rel: Vec<_> = links.rel.iter().map(|rel| rel.name()).collect();
    // A page that opens in a new window must not reach back into this one.
    if links.new_window && !rel.iter().any(|rel| *rel == "noopener" || *rel == "noreferrer") {
        rel.push("noopener");
    }
    if !rel.is_empty() {
        text += &format!(" rel=\"{}\"", rel.join(" "));
    }
    text.into_bytes()
}

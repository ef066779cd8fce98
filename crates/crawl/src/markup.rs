//! Tags and texts of a page, in their order, by the tokenizer of a browser engine.
//!
//! No tree is made: whoever listens keeps as much of where it is as it needs.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// What comes.
pub enum Event<'a> {
    /// A tag that begins an element.
    Start(&'a Tag),
    /// A tag that ends one, by its name.
    End(&'a str),
    /// A piece of text, without entities.
    Text(&'a str),
}

/// Calls `hear` with all that is in a page.
pub fn walk(text: &str, hear: impl FnMut(Event<'_>)) {
    tokenize(text, false, hear);
}

/// Calls `hear` with all that is in a file of XML, as far as a page's tokenizer reads it.
pub(crate) fn walk_xml(text: &str, hear: impl FnMut(Event<'_>)) {
    tokenize(text, true, hear);
}

fn tokenize(text: &str, is_xml: bool, hear: impl FnMut(Event<'_>)) {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(text));
    let sink = Sink { hear: RefCell::new(hear), is_xml };
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
}

/// The value of a tag's attribute.
#[must_use]
pub fn attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    let is_it = |one: &&html5ever::Attribute| &*one.name.local == name;
    tag.attrs.iter().find(is_it).map(|one| &*one.value)
}

struct Sink<F> {
    hear: RefCell<F>,
    is_xml: bool,
}

impl<F: FnMut(Event<'_>)> TokenSink for Sink<F> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut hear = self.hear.borrow_mut();
        match token {
            Token::TagToken(tag) => match tag.kind {
                TagKind::StartTag => {
                    hear(Event::Start(&tag));
                    if let Some(kind) = raw(&tag.name) {
                        return TokenSinkResult::RawData(kind);
                    }
                }
                TagKind::EndTag => hear(Event::End(&tag.name)),
            },
            Token::CharacterTokens(text) => hear(Event::Text(&text)),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    // Where this is so, `<![CDATA[` begins a text.
    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.is_xml
    }
}

/// Elements whose content has no tags.
fn raw(name: &str) -> Option<RawKind> {
    match name {
        "title" | "textarea" => Some(RawKind::Rcdata),
        "script" => Some(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(RawKind::Rawtext),
        _ => None,
    }
}

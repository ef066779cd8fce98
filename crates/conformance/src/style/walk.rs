//! The walk through a sheet: each rule and each declaration, and what of them can't be read.
//!
//! What stands in a block depends on what opened it, its [`Room`]. A declaration that can't be
//! read is tried as a rule, as browsers do since rules may be nested; so a fault travels as an
//! error until it is known that neither reading works, and is told then.

use cssparser::{
    AtRuleParser, BasicParseErrorKind, CowRcStr, DeclarationParser, ParseError, ParseErrorKind,
    Parser, ParserInput, ParserState, QualifiedRuleParser, RuleBodyItemParser, RuleBodyParser,
    StyleSheetParser, Token,
};
use lightningcss::selector::SelectorList;
use lightningcss::stylesheet::ParserOptions;
use lightningcss::traits::ParseWithOptions;

use super::property;
use crate::findings::Findings;

/// Longer lists of selectors are made by programs.
const SELECTORS_BYTES_MAX: usize = 20_000;
/// What a message shows of a text.
const SHOWN_CHARACTERS: usize = 60;

/// Rules whose block holds rules.
const GROUPS: [&str; 11] = [
    "media",
    "supports",
    "layer",
    "container",
    "scope",
    "starting-style",
    "document",
    "-moz-document",
    "else",
    "when",
    "stylistic",
];
/// Rules whose block holds what are no properties, or declarations that are made for a page.
const DESCRIBED: [&str; 38] = [
    "font-face",
    "page",
    "property",
    "counter-style",
    "font-feature-values",
    "font-palette-values",
    "view-transition",
    "color-profile",
    "viewport",
    "position-try",
    "annotation",
    "character-variant",
    "historical-forms",
    "ornaments",
    "styleset",
    "swash",
    "function",
    "navigation",
    "font",
    "try",
    "top-left-corner",
    "top-left",
    "top-center",
    "top-right",
    "top-right-corner",
    "bottom-left-corner",
    "bottom-left",
    "bottom-center",
    "bottom-right",
    "bottom-right-corner",
    "left-top",
    "left-middle",
    "left-bottom",
    "right-top",
    "right-middle",
    "right-bottom",
    "contents",
    "location",
];
/// Rules without a block.
const STATEMENTS: [&str; 4] = ["charset", "import", "namespace", "layer"];

/// What a block holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Rules, at the top of a sheet or in a group there.
    Rules,
    /// Declarations, and rules that are nested.
    Style,
    /// Moments, and what is so then.
    Keyframes,
    /// What describes a font, a page or the like.
    Described,
}

/// Why something can't be read.
pub(crate) struct Fault(String);

/// What an at-rule is, by its name.
pub(crate) enum AtRule {
    Block(Room),
    Import,
    Statement {
        is_early: bool,
    },
    /// As `@layer`, which may be both.
    Either(Room),
}

/// A walk.
struct Walk<'f> {
    findings: &'f mut Findings,
    /// All of it: what can't be read is a part of it, and has its place by that.
    css: &'f str,
    room: Room,
    /// Whether there was a rule behind which nothing may be imported.
    is_late: bool,
}

type Result<'i, T> = std::result::Result<T, ParseError<'i, Fault>>;

/// Walks through a sheet.
pub(crate) fn sheet(css: &str, findings: &mut Findings) {
    let mut input = ParserInput::new(css);
    let parser = &mut Parser::new(&mut input);
    let mut walk = Walk { findings, css, room: Room::Rules, is_late: false };
    let mut rules = StyleSheetParser::new(parser, &mut walk);
    while let Some(rule) = rules.next() {
        if let Err((error, text)) = rule {
            rules.parser.told(&error, text);
        }
    }
}

/// Walks through a `style` attribute.
pub(crate) fn attribute(css: &str, findings: &mut Findings) {
    let mut input = ParserInput::new(css);
    let parser = &mut Parser::new(&mut input);
    Walk { findings, css, room: Room::Style, is_late: true }.body(parser);
}

impl Walk<'_> {
    /// Walks through what is in a block.
    fn body(&mut self, parser: &mut Parser<'_, '_>) {
        let mut items = RuleBodyParser::new(parser, self);
        while let Some(item) = items.next() {
            if let Err((error, text)) = item {
                items.parser.told(&error, text);
            }
        }
    }

    fn within(&mut self, room: Room, parser: &mut Parser<'_, '_>) {
        let was = std::mem::replace(&mut self.room, room);
        self.body(parser);
        self.room = was;
    }

    /// Tells what couldn't be read, unless it was written so on purpose.
    fn told(&mut self, error: &ParseError<'_, Fault>, text: &str) {
        if is_hack(text) {
            return;
        }
        let at = text.as_ptr().addr().saturating_sub(self.css.as_ptr().addr());
        let shown = cut(text.trim());
        let message = match &error.kind {
            ParseErrorKind::Custom(Fault(message)) => message.clone(),
            _ if text.starts_with("//") => {
                "“//” begins no comment in CSS: what follows is left out up to the next “;” or \
                 block."
                    .to_owned()
            }
            ParseErrorKind::Basic(BasicParseErrorKind::UnexpectedToken(_))
                if self.room == Room::Style && !text.contains(':') =>
            {
                format!("“{shown}” is no declaration, as there is no colon; it is left out.")
            }
            _ => format!("“{shown}” can't be read, and is left out."),
        };
        self.findings.error(at, "css-syntax", message);
    }
}

/// As much of a text as a message shows, of its first line.
pub(crate) fn cut(text: &str) -> &str {
    let line = text.lines().next().unwrap_or("");
    line.char_indices().nth(SHOWN_CHARACTERS).map_or(line, |(end, _)| &line[..end])
}

/// Whether a declaration was made to be read by one old browser alone, as `*zoom: 1`.
fn is_hack(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['*', '+', '#', '!', '$', '&', '^', '%', '~', '=', '.'])
    else {
        return false;
    };
    let rest = rest.trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
    property::is_known(&name.to_ascii_lowercase()) && behind.trim_start().starts_with(':')
}

/// The rest of what a parser may read, and whether a block is in it or a text that isn't closed.
fn rest<'i>(parser: &mut Parser<'i, '_>) -> (&'i str, Parts<'i>) {
    parser.skip_whitespace();
    let from = parser.position();
    let mut parts = Parts::default();
    let mut name: Option<(CowRcStr<'i>, usize)> = None;
    loop {
        let at = parser.position().byte_index();
        let Ok(token) = parser.next_including_whitespace_and_comments() else { break };
        match token {
            Token::CurlyBracketBlock => parts.has_block = true,
            Token::BadString(_) | Token::BadUrl(_) => parts.is_broken = true,
            Token::CloseParenthesis | Token::CloseSquareBracket => parts.is_unbalanced = true,
            Token::Colon => {
                if let Some((name, at)) = name.take()
                    && property::is_known(&name.to_ascii_lowercase())
                {
                    parts.second.get_or_insert((name, at));
                }
            }
            Token::WhiteSpace(_) | Token::Comment(_) => continue,
            _ => {}
        }
        name = match token {
            Token::Ident(ident) => Some((ident.clone(), at)),
            _ => None,
        };
    }
    (parser.slice_from(from), parts)
}

/// Selectors of a nested rule, which may begin with what joins them to the rule around.
fn absolute(text: &str) -> String {
    let mut made = String::with_capacity(text.len() + 8);
    let (mut depth, mut is_first) = (0_usize, true);
    for letter in text.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '>' | '+' | '~' if is_first => made.push('&'),
            _ => {}
        }
        is_first = (is_first && letter.is_whitespace()) || (letter == ',' && depth == 0);
        made.push(letter);
    }
    made
}

/// What is odd in a value.
#[derive(Default)]
struct Parts<'i> {
    has_block: bool,
    is_broken: bool,
    is_unbalanced: bool,
    /// The name of another declaration, where a semicolon is missing before it.
    second: Option<(CowRcStr<'i>, usize)>,
}

impl<'i> DeclarationParser<'i> for Walk<'_> {
    type Declaration = ();
    type Error = Fault;

    fn parse_value<'t>(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i, 't>,
        start: &ParserState,
    ) -> Result<'i, ()> {
        let (value, parts) = rest(input);
        let at = start.position().byte_index();
        if name.starts_with("--") {
            return Ok(());
        }
        let fault = |what: &str| {
            let said = format!("The value of “{}” {what}; it is left out.", cut(&name));
            Err(input.new_custom_error(Fault(said)))
        };
        if parts.has_block {
            return Err(input.new_error(BasicParseErrorKind::QualifiedRuleInvalid));
        } else if parts.is_broken {
            return fault("has a text whose quotes aren't closed on its line");
        } else if parts.is_unbalanced {
            return fault("closes a bracket that isn't open");
        } else if value.is_empty() && self.room != Room::Described {
            return fault("is empty");
        }
        match parts.second {
            Some((second, at)) if name != "filter" => {
                let message = format!(
                    "A semicolon is missing before “{second}”, so “{}” and it are left out.",
                    cut(&name)
                );
                self.findings.error(at, "css-syntax", message);
            }
            _ if matches!(self.room, Room::Style) => {
                property::check(at, &name, value, self.findings);
            }
            _ => {}
        }
        Ok(())
    }
}

impl<'i> QualifiedRuleParser<'i> for Walk<'_> {
    type Prelude = ();
    type QualifiedRule = ();
    type Error = Fault;

    fn parse_prelude<'t>(&mut self, input: &mut Parser<'i, 't>) -> Result<'i, ()> {
        let (text, _) = rest(input);
        if !matches!(self.room, Room::Rules | Room::Style) || text.len() > SELECTORS_BYTES_MAX {
            return Ok(());
        }
        let absolute = absolute(text);
        let read = if self.room == Room::Style { &absolute } else { text };
        if SelectorList::parse_string_with_options(read, ParserOptions::default()).is_err() {
            let shown = cut(text);
            let said = match text.is_empty() {
                true => "A rule has no selector, and is left out.".to_owned(),
                false => format!("The selector “{shown}” can't be read; its rule is left out."),
            };
            return Err(input.new_custom_error(Fault(said)));
        }
        Ok(())
    }

    fn parse_block<'t>(
        &mut self,
        (): (),
        _start: &ParserState,
        input: &mut Parser<'i, 't>,
    ) -> Result<'i, ()> {
        self.is_late = true;
        self.within(Room::Style, input);
        Ok(())
    }
}

impl<'i> AtRuleParser<'i> for Walk<'_> {
    type Prelude = AtRule;
    type AtRule = ();
    type Error = Fault;

    fn parse_prelude<'t>(
        &mut self,
        name: CowRcStr<'i>,
        input: &mut Parser<'i, 't>,
    ) -> Result<'i, AtRule> {
        let lower = name.to_ascii_lowercase();
        rest(input);
        // A group that is nested in a rule holds what that rule holds.
        let group = if self.room == Room::Style { Room::Style } else { Room::Rules };
        let is = |names: &[&str]| names.contains(&lower.as_str());
        Ok(match lower.as_str() {
            "layer" => AtRule::Either(group),
            "import" => AtRule::Import,
            _ if is(&STATEMENTS) => AtRule::Statement { is_early: lower == "charset" },
            _ if is(&GROUPS) => AtRule::Block(group),
            _ if lower.ends_with("keyframes") => AtRule::Block(Room::Keyframes),
            _ if is(&DESCRIBED) || lower.starts_with('-') => AtRule::Either(Room::Described),
            _ => {
                let said = format!("Browsers know no “@{}”, and leave it out.", cut(&name));
                return Err(input.new_custom_error(Fault(said)));
            }
        })
    }

    fn rule_without_block(
        &mut self,
        prelude: AtRule,
        start: &ParserState,
    ) -> std::result::Result<(), ()> {
        match prelude {
            AtRule::Block(_) => return Err(()),
            AtRule::Import if self.is_late => {
                let said = "“@import” stands behind other rules, so browsers don't load it.";
                self.findings.error(start.position().byte_index(), "css-syntax", said);
            }
            AtRule::Statement { is_early: false } => self.is_late = true,
            AtRule::Import | AtRule::Statement { .. } | AtRule::Either(_) => {}
        }
        Ok(())
    }

    fn parse_block<'t>(
        &mut self,
        prelude: AtRule,
        _start: &ParserState,
        input: &mut Parser<'i, 't>,
    ) -> Result<'i, ()> {
        match prelude {
            AtRule::Block(room) | AtRule::Either(room) => {
                self.is_late = true;
                self.within(room, input);
                Ok(())
            }
            AtRule::Import | AtRule::Statement { .. } => {
                Err(input.new_error(BasicParseErrorKind::AtRuleBodyInvalid))
            }
        }
    }
}

impl<'i> RuleBodyItemParser<'i, (), Fault> for Walk<'_> {
    fn parse_declarations(&self) -> bool {
        matches!(self.room, Room::Style | Room::Described)
    }

    fn parse_qualified(&self) -> bool {
        self.room != Room::Described
    }
}

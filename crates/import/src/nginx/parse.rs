//! Directives and their blocks, with included files in place.
//!
//! Invariant: depth and number of directives are bounded.

use std::sync::Arc;

use super::tokens::{Token, Tokens};
use crate::ImportError;
use crate::cursor::Mark;
use crate::found::{Imported, Place};
use crate::library::{Shelf, Source};

/// Blocks within blocks.
const DEPTH_MAX: usize = 32;
/// Directives of all files together.
const DIRECTIVES_MAX: usize = 200_000;

/// Files that only tell PHP or a browser what everybody tells them.
const KNOWN_FILES: &[&str] = &[
    "mime.types",
    "fastcgi_params",
    "fastcgi.conf",
    "fastcgi-php.conf",
    "proxy_params",
    "uwsgi_params",
    "scgi_params",
    "options-ssl-nginx.conf",
];

/// `name words… ;` or `name words… { block }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive {
    pub(super) name: String,
    words: Vec<String>,
    block: Option<Vec<Self>>,
    pub(super) place: Place,
}

impl Directive {
    /// A word behind the name; empty if there is none.
    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    pub(super) fn block(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }

    /// The line as it stood, more or less.
    pub(super) fn quoted(&self) -> String {
        let mut text = self.name.clone();
        // Only the beginning will be shown.
        for word in self.words.iter().take(20) {
            text.push(' ');
            text.extend(word.chars().take(100));
        }
        text
    }

    /// The line without what may be a secret.
    pub(super) fn short(&self) -> String {
        let dots = if self.words.len() > 1 { " …" } else { "" };
        format!("{} {}{dots}", self.name, self.word(0))
    }
}

/// The directives of a file and of those that it includes.
pub(super) fn parse(
    source: &Source,
    shelf: &mut Shelf<'_>,
    imported: &mut Imported,
) -> Result<Vec<Directive>, ImportError> {
    let mut count = 0;
    parse_file(source, shelf, imported, (0, &mut count))
}

fn parse_file(
    source: &Source,
    shelf: &mut Shelf<'_>,
    imported: &mut Imported,
    (depth, count): (usize, &mut usize),
) -> Result<Vec<Directive>, ImportError> {
    let tokens = Tokens::new(source);
    let file: Arc<str> = source.name.as_str().into();
    Parser { tokens, file, shelf, imported, count }.block(depth, None)
}

struct Parser<'a, 'b> {
    tokens: Tokens<'a>,
    file: Arc<str>,
    shelf: &'a mut Shelf<'b>,
    imported: &'a mut Imported,
    count: &'a mut usize,
}

impl Parser<'_, '_> {
    /// Directives up to the end of the block that began at `opened`, or of the file.
    fn block(&mut self, depth: usize, opened: Option<Mark>) -> Result<Vec<Directive>, ImportError> {
        if depth > DEPTH_MAX {
            let what = format!("blocks are more than {DEPTH_MAX} deep: take some out");
            return Err(self.tokens.error(self.tokens.mark(), what));
        }
        let mut directives = Vec::new();
        loop {
            let here = self.tokens.next_mark();
            let name = match (self.tokens.next()?, opened) {
                (Token::Word(name), _) => name,
                (Token::Semicolon, _) => continue,
                (Token::Close, Some(_)) | (Token::End, None) => return Ok(directives),
                (Token::End, Some(opened)) => {
                    let what = "this block is never closed: add a }";
                    return Err(self.tokens.error(opened, what));
                }
                (Token::Close, None) => {
                    let what = "this } closes nothing: take it out, or add a {";
                    return Err(self.tokens.error(here, what));
                }
                (Token::Open, _) => {
                    let what = "a name belongs before this {";
                    return Err(self.tokens.error(here, what));
                }
            };
            *self.count += 1;
            if *self.count > DIRECTIVES_MAX {
                let what = format!("there are more than {DIRECTIVES_MAX} directives");
                return Err(self.tokens.error(here, what));
            }
            let place = Place { file: self.file.clone(), line: here.line };
            let directive = self.directive(name, place, depth, here)?;
            if directive.name == "include" && directive.block.is_none() {
                directives.extend(self.include(&directive, depth)?);
            } else {
                directives.push(directive);
            }
        }
    }

    fn directive(
        &mut self,
        name: String,
        place: Place,
        depth: usize,
        here: Mark,
    ) -> Result<Directive, ImportError> {
        let mut words = Vec::new();
        loop {
            let at = self.tokens.next_mark();
            match self.tokens.next()? {
                Token::Word(word) => words.push(word),
                Token::Semicolon => return Ok(Directive { name, words, block: None, place }),
                Token::Open => {
                    let block = match name.ends_with("_by_lua_block") {
                        true => {
                            self.tokens.skip_foreign()?;
                            Vec::new()
                        }
                        false => self.block(depth + 1, Some(at))?,
                    };
                    return Ok(Directive { name, words, block: Some(block), place });
                }
                Token::Close | Token::End => {
                    let what = format!("\"{name}\" doesn't end: add a semicolon");
                    return Err(self.tokens.error(here, what));
                }
            }
        }
    }

    /// What included files say, here.
    fn include(
        &mut self,
        directive: &Directive,
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let pattern = directive.word(0);
        let name = pattern.rsplit('/').next().unwrap_or(pattern);
        if KNOWN_FILES.contains(&name) {
            return Ok(Vec::new());
        }
        let (place, quoted, count) = (&directive.place, directive.quoted(), &mut *self.count);
        self.shelf.include(pattern, (place, &quoted), self.imported, |source, shelf, imported| {
            parse_file(source, shelf, imported, (depth, count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Library, Nothing};

    fn told(text: &str, library: &dyn Library) -> (String, Imported) {
        let source = Source { name: "n.conf".into(), text: text.into() };
        let mut imported = Imported::default();
        let parsed = parse(&source, &mut Shelf::new(library, &source), &mut imported);
        let show = parsed.map(|directives| show(&directives));
        (show.unwrap_or_else(|error| error.to_string()), imported)
    }

    fn show(directives: &[Directive]) -> String {
        let one = |directive: &Directive| {
            let block = directive.block.as_ref().map(|block| format!("{{{}}}", show(block)));
            format!("{}@{}{}", directive.quoted(), directive.place.line, block.unwrap_or_default())
        };
        directives.iter().map(one).collect::<Vec<_>>().join(";")
    }

    #[test]
    fn blocks_are_read_with_their_lines() {
        for (text, expected) in [
            ("a b;\nc {\n d;\n}\n", "a b@1;c@2{d@3}"),
            ("a {}", "a@1{}"),
            ("x_by_lua_block { local a = {\"}\"} -- }\n } b;", "x_by_lua_block@1{};b@2"),
            ("a {\nb", "n.conf:2:1: \"b\" doesn't end: add a semicolon"),
            ("a {\nb;", "n.conf:1:3: this block is never closed: add a }"),
            ("a;\n }", "n.conf:2:2: this } closes nothing: take it out, or add a {"),
            ("{", "n.conf:1:1: a name belongs before this {"),
        ] {
            assert_eq!(told(text, &Nothing).0, expected, "{text:?}");
        }
        let deep = "a {".repeat(100_000);
        assert!(told(&deep, &Nothing).0.contains("32 deep"));
    }

    /// A file that includes two others, one of which includes the first.
    struct Books;

    impl Library for Books {
        fn find(&self, pattern: &str, within: &str, _: &str) -> Result<Vec<Source>, String> {
            let source = |name: &str, text: &str| Source { name: name.into(), text: text.into() };
            match pattern {
                "*.inc" => Ok(vec![source("a.inc", "a;"), source("b.inc", "include loop;")]),
                "loop" => Ok(vec![source("n.conf", "never;")]),
                "twice" => {
                    let name = format!("{within}+");
                    Ok(vec![source(&name, "include twice; include twice;")])
                }
                _ => Err("there is no such file".into()),
            }
        }
    }

    #[test]
    fn what_is_included_stands_in_place_and_never_within_itself() {
        let (shown, imported) = told("include *.inc; include mime.types; c; include no;", &Books);
        assert_eq!(shown, "a@1;c@1");
        let left: Vec<_> = imported.left.iter().map(|left| left.advice.as_ref()).collect();
        let expected =
            ["it is not read: it includes itself", "it is not read: there is no such file"];
        assert_eq!(left, expected);
        let (_, imported) = told("include twice;", &Books);
        assert!(imported.left.iter().any(|left| left.advice.contains("512 files")));
    }
}

//! Blocks of a Caddyfile, with snippets and included files in place.
//!
//! Invariant: depth, and what imports multiply it to, are bounded.

use std::collections::HashMap;
use std::sync::Arc;

use super::tokens::{self, Word};
use crate::ImportError;
use crate::found::{Imported, Place, Why};
use crate::library::{Shelf, Source};

/// Blocks within blocks.
const DEPTH_MAX: usize = 32;
/// Snippets within snippets.
const IMPORTS_DEPTH_MAX: usize = 8;
/// Lines after all imports.
const LINES_MAX: usize = 100_000;

/// A line and its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directive {
    pub(super) words: Vec<String>,
    pub(super) block: Option<Vec<Self>>,
    pub(super) place: Place,
}

impl Directive {
    pub(super) fn name(&self) -> &str {
        self.word(0)
    }

    /// A word; empty if there is none.
    pub(super) fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    pub(super) fn block(&self) -> &[Self] {
        self.block.as_deref().unwrap_or_default()
    }

    /// The line as it stood, more or less.
    pub(super) fn quoted(&self) -> String {
        let words = self.words.iter().take(20).map(|word| word.chars().take(100).collect());
        words.collect::<Vec<String>>().join(" ")
    }

    /// The line without what may be a secret.
    pub(super) fn short(&self) -> String {
        let dots = if self.words.len() > 2 { " …" } else { "" };
        format!("{} {}{dots}", self.name(), self.word(1))
    }
}

/// All blocks of a file, sites and options, without snippets and imports.
pub(super) fn parse(
    source: &Source,
    shelf: &mut Shelf<'_>,
    imported: &mut Imported,
) -> Result<Vec<Directive>, ImportError> {
    let blocks = blocks(source)?;
    let mut expander =
        Expander { shelf, imported, snippets: HashMap::new(), lines: 0, is_full: false };
    expander.expand(blocks, &[], 0)
}

/// Lines of a block so far, and what opened it, with its brace.
type Open = (Vec<Directive>, Option<(Directive, Word)>);

/// The blocks of one file as they stand.
fn blocks(source: &Source) -> Result<Vec<Directive>, ImportError> {
    let lines = tokens::lines(source)?;
    let file: Arc<str> = source.name.as_str().into();
    let mut lines = lines.into_iter().peekable();
    let wrong = |word: &Word, what: String| ImportError {
        file: source.name.clone(),
        line: word.line,
        column: word.column,
        what,
    };
    // The blocks that are open; the first is the file.
    let mut open: Vec<Open> = vec![(Vec::new(), None)];
    while let Some(mut line) = lines.next() {
        // Addresses of a site may go on after a comma.
        while line.last().is_some_and(|word| word.text.ends_with(',') && !word.is_quoted) {
            match lines.next() {
                Some(next) => line.extend(next),
                None => break,
            }
        }
        let Some(first) = line.first().cloned() else { continue };
        if first.is_close() {
            let (block, opener) = match (open.pop(), line.len()) {
                (Some((block, Some(opener))), 1) => (block, opener.0),
                _ => {
                    let what = "this } closes nothing, or isn't alone on its line";
                    return Err(wrong(&first, what.into()));
                }
            };
            if let Some((outer, _)) = open.last_mut() {
                outer.push(Directive { block: Some(block), ..opener });
            }
            continue;
        }
        let opener = line.pop_if(|word| word.is_open());
        let place = Place { file: file.clone(), line: first.line };
        let words = line.into_iter().map(|word| word.text).collect();
        let directive = Directive { words, block: None, place };
        if let Some(brace) = opener {
            if open.len() > DEPTH_MAX {
                return Err(wrong(&brace, format!("blocks are more than {DEPTH_MAX} deep")));
            }
            open.push((Vec::new(), Some((directive, brace))));
        } else if let Some((block, _)) = open.last_mut() {
            block.push(directive);
        }
    }
    match open.pop() {
        Some((blocks, None)) => Ok(blocks),
        Some((_, Some((_, brace)))) => {
            Err(wrong(&brace, "this block is never closed: add a } on a line of its own".into()))
        }
        None => Ok(Vec::new()),
    }
}

struct Expander<'a, 'b> {
    shelf: &'a mut Shelf<'b>,
    imported: &'a mut Imported,
    snippets: HashMap<String, Vec<Directive>>,
    lines: usize,
    is_full: bool,
}

impl Expander<'_, '_> {
    /// Puts snippets and files where they are imported, and arguments where they are named.
    fn expand(
        &mut self,
        directives: Vec<Directive>,
        arguments: &[String],
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let mut expanded = Vec::new();
        for mut directive in directives {
            self.lines += 1;
            if self.lines > LINES_MAX {
                if !std::mem::replace(&mut self.is_full, true) {
                    let advice = format!("it is not read: there are more than {LINES_MAX} lines");
                    let (place, quoted) = (directive.place.clone(), directive.quoted());
                    self.imported.leave(&place, &quoted, Why::Unknown, advice);
                }
                break;
            }
            for word in &mut directive.words {
                *word = substitute(word, arguments);
            }
            let name = directive.name();
            let snippet = name.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            if let (Some(snippet), Some(block)) = (snippet, &directive.block) {
                self.snippets.insert(snippet.to_owned(), block.clone());
            } else if name == "import" {
                expanded.extend(self.import(&directive, depth)?);
            } else {
                if let Some(block) = directive.block.take() {
                    directive.block = Some(self.expand(block, arguments, depth)?);
                }
                expanded.push(directive);
            }
        }
        Ok(expanded)
    }

    fn import(
        &mut self,
        directive: &Directive,
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let name = directive.word(1);
        let arguments = directive.words.get(2..).unwrap_or_default();
        let why = if depth >= IMPORTS_DEPTH_MAX {
            format!("imports are more than {IMPORTS_DEPTH_MAX} deep")
        } else if let Some(snippet) = self.snippets.get(name).cloned() {
            return self.expand(snippet, arguments, depth + 1);
        } else {
            match self.shelf.find(name) {
                Ok(sources) => return self.files(&sources, arguments, depth),
                Err(why) => why,
            }
        };
        let advice = format!("it is not read: {why}");
        self.imported.leave(&directive.place, &directive.quoted(), Why::Unknown, advice);
        Ok(Vec::new())
    }

    fn files(
        &mut self,
        sources: &[Source],
        arguments: &[String],
        depth: usize,
    ) -> Result<Vec<Directive>, ImportError> {
        let mut expanded = Vec::new();
        for source in sources {
            let blocks = blocks(source)?;
            let (imported, snippets) = (&mut *self.imported, std::mem::take(&mut self.snippets));
            let (lines, is_full) = (self.lines, self.is_full);
            let read = |shelf: &mut Shelf<'_>| {
                let mut inner = Expander { shelf, imported, snippets, lines, is_full };
                let read = inner.expand(blocks, arguments, depth + 1)?;
                Ok((read, inner.snippets, inner.lines, inner.is_full))
            };
            let (read, snippets, lines, is_full) = self.shelf.within(source, read)?;
            (self.snippets, self.lines, self.is_full) = (snippets, lines, is_full);
            expanded.extend(read);
        }
        Ok(expanded)
    }
}

/// Arguments of an import (`{args[0]}`, or `{args.0}` as it was), and defaults of variables
/// of the environment (`{$NAME:default}`).
fn substitute(word: &str, arguments: &[String]) -> String {
    if !word.contains('{') {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    for (at, argument) in arguments.iter().enumerate().take(32) {
        word = word.replace(&format!("{{args[{at}]}}"), argument);
        word = word.replace(&format!("{{args.{at}}}"), argument);
        // Bounded, whatever arguments hold.
        word.truncate(word.char_indices().nth(4096).map_or(word.len(), |(at, _)| at));
    }
    let mut out = String::new();
    let mut rest = word.as_str();
    while let Some(at) = rest.find("{$") {
        let Some(end) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        let name = &rest[at + 2..at + end];
        match name.split_once(':') {
            Some((_, default)) => out.push_str(default),
            None => out.push_str(&rest[at..=at + end]),
        }
        rest = &rest[at + end + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Nothing;

    fn told(text: &str) -> String {
        let source = Source { name: "C".into(), text: text.into() };
        let mut imported = Imported::default();
        let parsed = parse(&source, &mut Shelf::new(&Nothing, &source), &mut imported);
        let left: Vec<_> = imported.left.iter().map(|left| format!(" !{}", left.advice)).collect();
        let shown = parsed.map_or_else(|error| error.to_string(), |directives| show(&directives));
        shown + &left.concat()
    }

    fn show(directives: &[Directive]) -> String {
        let one = |directive: &Directive| {
            let block = directive.block.as_ref().map(|block| format!("{{{}}}", show(block)));
            format!("{}{}", directive.quoted(), block.unwrap_or_default())
        };
        directives.iter().map(one).collect::<Vec<_>>().join(";")
    }

    #[test]
    fn blocks_snippets_and_arguments_are_read() {
        for (text, expected) in [
            ("{\n debug\n}\na.test {\n b c\n d {\n e\n }\n}", "{debug};a.test{b c;d{e}}"),
            ("a.test,\nb.test {\n}", "a.test, b.test{}"),
            ("a.test\nb", "a.test;b"),
            ("(s) {\n x {args[0]}\n}\na {\n import s 1\n import s 2\n}", "a{x 1;x 2}"),
            ("a {\n b {$PORT:80} {$X}\n}", "a{b 80 {$X}}"),
            (
                "(s) {\n import s\n}\na {\n import s\n}",
                "a{} !it is not read: imports are more than 8 deep",
            ),
            ("import none", " !it is not read: there is no such file"),
            ("a {\n b", "C:1:3: this block is never closed: add a } on a line of its own"),
            ("a {\n}}", "C:1:3: this block is never closed: add a } on a line of its own"),
            ("}", "C:1:1: this } closes nothing, or isn't alone on its line"),
        ] {
            assert_eq!(told(text), expected, "{text:?}");
        }
        assert!(told(&"a {\n".repeat(100_000)).contains("32 deep"));
        let bomb = "(s) {\nimport s\nimport s\nimport s\nimport s\nimport s\n}\na {\nimport s\n}";
        assert!(told(bomb).contains("8 deep") || told(bomb).contains("100000 lines"));
    }
}

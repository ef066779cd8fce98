//! The lexer: SQL cut into tokens, byte by byte, in the dialect of the server that wrote it.
//!
//! In: a statement as a log has it, also one that is cut off or broken. Out: [`Token`]s.
//! Invariants: 1. all that may be a literal is one: what has no end is a literal to the
//! end. 2. each token is at least a byte, so that any input comes to an end.
//! Start at [`Tokens::next`].

use memchr::{memchr, memchr2, memmem};

/// A name that is longer is taken for a literal: no server has such names.
const NAME_BYTES_MAX: usize = 256;

/// Whose SQL it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// MySQL's and MariaDB's, without `ANSI_QUOTES`.
    MySql,
    /// PostgreSQL's, with `standard_conforming_strings`.
    Postgres,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word of the language, or a name without quotes.
    Word,
    /// A name in quotes.
    Quoted,
    /// A string, a number or a placeholder.
    Literal,
    /// `(` or `[`.
    Open,
    /// `)` or `]`.
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// Any other sign.
    Operator,
    /// `/*!`, behind which MySQL reads on.
    HintOpen,
    /// `*/` of such a one.
    HintClose,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its bytes.
    pub text: &'a [u8],
    /// Whether blanks or a comment stand before it.
    pub is_spaced: bool,
}

/// The tokens of a statement.
#[derive(Clone, Debug)]
pub struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    dialect: Dialect,
    before: Option<Kind>,
    is_in_hint: bool,
}

/// Signs that are one together; the longest of those that begin alike comes first.
const OPERATORS: &[&[u8]] = &[
    b"<=>", b"->>", b"#>>", b"<=", b">=", b"<>", b"!=", b":=", b"->", b"||", b"&&", b"<<", b">>",
    b"::", b"@>", b"<@", b"#>",
];

impl<'a> Tokens<'a> {
    /// The tokens of `statement`.
    #[must_use]
    pub fn new(statement: &'a [u8], dialect: Dialect) -> Self {
        Self { bytes: statement, at: 0, dialect, before: None, is_in_hint: false }
    }

    /// Where the token ends that was given last.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes over blanks and comments; whether there were any.
    fn skip_blanks(&mut self) -> bool {
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.byte(1) == b'-' && self.begins_comment() => self.skip_line(),
                b'#' if self.dialect == Dialect::MySql => self.skip_line(),
                b'/' if self.byte(1) == b'*' && !self.is_hint() => self.skip_comment(),
                _ => break,
            }
        }
        self.at > start
    }

    /// MySQL wants a blank behind the two dashes, since `5--3` is a number of its own.
    fn begins_comment(&self) -> bool {
        let after = self.bytes.get(self.at + 2);
        self.dialect == Dialect::Postgres || after.is_none_or(|byte| *byte <= b' ')
    }

    fn is_hint(&self) -> bool {
        let (first, second) = (self.byte(2), self.byte(3));
        self.dialect == Dialect::MySql && (first == b'!' || (first == b'M' && second == b'!'))
    }

    fn skip_line(&mut self) {
        let end = memchr(b'\n', &self.bytes[self.at..]);
        self.at = end.map_or(self.bytes.len(), |end| self.at + end);
    }

    /// PostgreSQL's comments lie in one another.
    fn skip_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') if depth == 0 || self.dialect == Dialect::Postgres => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => {
                    self.at += 1;
                    let rest = &self.bytes[self.at..];
                    self.at += memchr2(b'*', b'/', rest).unwrap_or(rest.len());
                }
            }
        }
        self.at = self.bytes.len();
    }

    /// A string from its quote on.
    fn string(&mut self, has_escapes: bool) -> Kind {
        self.quoted(has_escapes);
        Kind::Literal
    }

    /// A name in quotes; one without an end may be anything.
    fn name(&mut self) -> Kind {
        let start = self.at;
        let is_closed = self.quoted(false);
        match is_closed && self.at - start <= NAME_BYTES_MAX {
            true => Kind::Quoted,
            false => Kind::Literal,
        }
    }

    /// Goes to behind the closing quote, which doubled is no end; whether there is one.
    fn quoted(&mut self, has_escapes: bool) -> bool {
        let quote = self.byte(0);
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let found = match has_escapes {
                true => memchr2(quote, b'\\', rest),
                false => memchr(quote, rest),
            };
            let Some(found) = found else {
                self.at = self.bytes.len();
                return false;
            };
            self.at += found;
            if self.byte(0) == b'\\' || self.byte(1) == quote {
                self.at = (self.at + 2).min(self.bytes.len());
            } else {
                self.at += 1;
                return true;
            }
        }
    }

    fn digits(&mut self, are_some: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|byte| are_some(*byte)) {
            self.at += 1;
        }
    }

    /// A number, or a name that begins with digits, as MySQL's may.
    fn number(&mut self) -> Kind {
        let (start, is_mysql) = (self.at, self.dialect == Dialect::MySql);
        let prefix = self.byte(1) | 0x20;
        if self.byte(0) == b'0' && (prefix == b'x' || prefix == b'b') {
            self.at += 2;
            self.digits(|byte| byte.is_ascii_hexdigit());
        } else {
            self.digits(|byte| byte.is_ascii_digit());
            if self.byte(0) == b'.' {
                self.at += 1;
                self.digits(|byte| byte.is_ascii_digit());
            }
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(0) | 0x20 == b'e' && self.byte(1 + sign).is_ascii_digit() {
                self.at += 1 + sign;
                self.digits(|byte| byte.is_ascii_digit());
            }
        }
        let is_whole = !self.bytes[start..self.at].iter().any(|byte| b".+-".contains(byte));
        if is_mysql && is_whole && is_word(self.byte(0)) {
            return self.word();
        }
        Kind::Literal
    }

    /// A word, or the string that it is the beginning of.
    fn word(&mut self) -> Kind {
        let start = self.at;
        self.digits(is_word);
        let word = &self.bytes[start..self.at];
        if self.byte(0) == b'\'' {
            match (self.dialect, word) {
                (_, [b'x' | b'X' | b'b' | b'B' | b'n' | b'N']) => return self.string(false),
                (Dialect::Postgres, [b'e' | b'E']) => return self.string(true),
                (Dialect::MySql, [b'_', ..]) => return self.string(true),
                _ => {}
            }
        }
        let is_unicode = self.byte(0) == b'&' && self.byte(1) == b'\'';
        if is_unicode && self.dialect == Dialect::Postgres && matches!(word, b"u" | b"U") {
            self.at += 1;
            return self.string(false);
        }
        if word.len() > NAME_BYTES_MAX { Kind::Literal } else { Kind::Word }
    }

    /// `$1`, or a string between two of the same tag; else a sign.
    fn dollar(&mut self) -> Kind {
        let rest = &self.bytes[self.at..];
        let tag = rest[1..].iter().take_while(|byte| is_word(**byte) && **byte != b'$').count();
        if rest.get(1 + tag) == Some(&b'$') && !self.byte(1).is_ascii_digit() {
            let (mark, text) = rest.split_at(tag + 2);
            self.at += memmem::find(text, mark).map_or(rest.len(), |end| end + 2 * mark.len());
            return Kind::Literal;
        }
        self.at += 1;
        if !self.byte(0).is_ascii_digit() {
            return Kind::Operator;
        }
        self.digits(|byte| byte.is_ascii_digit());
        Kind::Literal
    }

    fn operator(&mut self) -> Kind {
        let rest = &self.bytes[self.at..];
        let known = OPERATORS.iter().find(|operator| rest.starts_with(operator));
        self.at += known.map_or(1, |operator| operator.len());
        Kind::Operator
    }

    /// Signs that are one byte.
    fn sign(&mut self, kind: Kind) -> Kind {
        self.at += 1;
        kind
    }

    fn hint(&mut self) -> Kind {
        self.at += if self.byte(2) == b'!' { 3 } else { 4 };
        let digits = self.bytes[self.at..].iter().take(6);
        self.at += digits.take_while(|byte| byte.is_ascii_digit()).count();
        self.is_in_hint = true;
        Kind::HintOpen
    }

    fn kind(&mut self, byte: u8, is_spaced: bool) -> Kind {
        let is_mysql = self.dialect == Dialect::MySql;
        // What a dot joins is part of a name.
        let is_joined = !is_spaced
            && matches!(self.before, Some(Kind::Word | Kind::Quoted | Kind::Close | Kind::Dot));
        match byte {
            b'\'' => self.string(is_mysql),
            b'"' if is_mysql => self.string(true),
            b'"' => self.name(),
            b'`' if is_mysql => self.name(),
            b'0'..=b'9' if is_joined && self.before == Some(Kind::Dot) && is_mysql => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_ascii_digit() && !is_joined => self.number(),
            b'.' => self.sign(Kind::Dot),
            b'$' if !is_mysql => self.dollar(),
            b'?' => {
                let is_list = self.byte(1) == b'+' && matches!(self.byte(2), b')' | b']');
                self.at += if is_list { 2 } else { 1 };
                Kind::Literal
            }
            b'(' | b'[' => self.sign(Kind::Open),
            b')' | b']' => self.sign(Kind::Close),
            b',' => self.sign(Kind::Comma),
            b';' => self.sign(Kind::Semicolon),
            b'/' if self.byte(1) == b'*' => self.hint(),
            b'*' if self.byte(1) == b'/' && self.is_in_hint => {
                self.at += 2;
                self.is_in_hint = false;
                Kind::HintClose
            }
            b'@' if !is_mysql => self.operator(),
            byte if is_word(byte) => self.word(),
            _ => self.operator(),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let is_spaced = self.skip_blanks();
        let start = self.at;
        let byte = *self.bytes.get(start)?;
        let kind = self.kind(byte, is_spaced);
        self.before = Some(kind);
        Some(Token { kind, text: &self.bytes[start..self.at], is_spaced })
    }
}

/// Bytes that words are made of; `@` begins a variable of MySQL.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@') || byte >= 0x80
}

/// The statement as it was written, with a `?` for each literal and no comments.
///
/// Errors: none; what is no SQL is cut into tokens all the same.
#[must_use]
pub fn redact(statement: &[u8], dialect: Dialect) -> String {
    let mut told = Vec::with_capacity(statement.len());
    for token in Tokens::new(statement, dialect) {
        // Two dashes that no comment stands between any more would begin one.
        let has_dashes = told.last() == Some(&b'-') && token.text[0] == b'-';
        if has_dashes || (token.is_spaced && !told.is_empty()) {
            told.push(b' ');
        }
        match token.kind {
            Kind::Literal => told.push(b'?'),
            _ => told.extend_from_slice(token.text),
        }
    }
    String::from_utf8_lossy(&told).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, statement: &str, expected: &str) {
        let told: Vec<_> = Tokens::new(statement.as_bytes(), dialect)
            .map(|token| match token.kind {
                Kind::Literal => "?".to_owned(),
                _ => String::from_utf8_lossy(token.text).into_owned(),
            })
            .collect();
        assert_eq!(told.join(" "), expected, "{statement}");
    }

    #[test]
    fn mysql_is_cut_as_mysql_does() {
        let check = |statement, expected| check(Dialect::MySql, statement, expected);
        check("a='it''s \\' not' AND b=\"x\\\"\"", "a = ? AND b = ?");
        check("`a``b`.`c`=0xDEAD or 0b01 or x'ff'", "`a``b` . `c` = ? or ? or ?");
        check("t1.2fa, 2fa, 1e5, 1.5e-3, .5", "t1 . 2fa , 2fa , ? , ? , ?");
        check("5--3 -- gone\n+1 # gone", "? - - ? + ?");
        check("/* a /* b */ c */ d", "c * / d");
        check("/*!40001 SQL_NO_CACHE */ x", "/*!40001 SQL_NO_CACHE */ x");
        check("_utf8mb4'x' @a @@b.c a<=>b", "? @a @@b . c a <=> b");
        check("'open \\", "?");
        check("`open", "?");
        check("a->>'$.b' := ?", "a ->> ? := ?");
    }

    #[test]
    fn postgresql_is_cut_as_postgresql_does() {
        let check = |statement, expected| check(Dialect::Postgres, statement, expected);
        check(r"'a\' || E'b\'c' || U&'\0041'", "? || ? || ?");
        check("$$a'b$$ $t$c$$d$t$ $1 $x", "? ? ? $ x");
        check(r#""a""b"."c"::text"#, r#""a""b" . "c" :: text"#);
        check("a--b\nc /* x /* y */ z */ d", "a c d");
        check("data#>>'{a}' @> 'b'", "data #>> ? @> ?");
        check("12ab", "? ab");
        check("$t$never ends", "?");
    }

    #[test]
    fn what_is_redacted_keeps_its_words() {
        let told =
            redact(b"SELECT  `a` /* secret */ FROM t\nWHERE b='s' AND c IN (1,2)", Dialect::MySql);
        assert_eq!(told, "SELECT `a` FROM t WHERE b=? AND c IN (?,?)");
        assert_eq!(redact(b"a--/**/`b\n`", Dialect::MySql), "a- - `b\n`");
    }
}

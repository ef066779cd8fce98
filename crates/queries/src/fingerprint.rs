//! Fingerprints: what statements that differ in their literals only have in common.
//!
//! In: a statement and its dialect. Out: its fingerprint, in a buffer that is used again,
//! so that nothing is allocated for a query.
//! Invariants: 1. no literal is in it. 2. the fingerprint of a fingerprint is itself.
//! 3. it is not longer than [`FINGERPRINT_BYTES_MAX`] and a token.
//!
//! Words are small letters, blanks and comments single blanks. A list of `IN`, `ARRAY` or
//! `VALUES` is `(?+)` when there are only literals in it; where there is more, literals
//! beside each other are one. Groups that are repeated (rows) are there once. `LIMIT` has
//! one literal. Digits in names stay.

use crate::tokens::{Dialect, Kind, Token, Tokens};

/// What is read of a statement comes to no more.
pub const FINGERPRINT_BYTES_MAX: usize = 4096;
/// Groups in one another of which more is known than that they are there.
const GROUPS_MAX: usize = 64;
/// Signs before a value; nobody writes more.
const SIGNS_MAX: usize = 8;

/// Words behind which a sign belongs to what follows.
const BEFORE_VALUE: &[&[u8]] = &[
    b"and",
    b"between",
    b"by",
    b"case",
    b"default",
    b"div",
    b"else",
    b"from",
    b"having",
    b"in",
    b"interval",
    b"is",
    b"like",
    b"limit",
    b"mod",
    b"not",
    b"offset",
    b"on",
    b"or",
    b"return",
    b"select",
    b"set",
    b"then",
    b"values",
    b"when",
    b"where",
    b"xor",
];
/// Words behind which a group is a list.
const BEFORE_LIST: &[&[u8]] = &[b"in", b"values", b"value", b"array"];

/// Makes fingerprints.
#[derive(Debug, Default)]
pub struct Fingerprinter {
    out: Vec<u8>,
    groups: Vec<Group>,
    state: State,
}

/// What was written last, and what waits.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    before: Option<Kind>,
    /// Where the last token begins in what was written.
    before_at: usize,
    held: Held,
    signs: [u8; SIGNS_MAX],
    signs_count: usize,
    limit: Limit,
    /// The last group that was closed.
    closed: Option<Closed>,
    /// Groups that are open beyond those that are known.
    deep: usize,
}

/// What is written only if no literal follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    #[default]
    Nothing,
    Comma,
    Offset,
}

/// How far a `LIMIT` is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    #[default]
    No,
    Word,
    Literal,
}

/// A group that is open.
#[derive(Clone, Copy, Debug)]
struct Group {
    start: usize,
    is_list: bool,
    has_literal: bool,
    has_other: bool,
    /// The group before it, with only a comma between.
    follows: Option<Closed>,
}

/// A group that was closed.
#[derive(Clone, Copy, Debug)]
struct Closed {
    start: usize,
    end: usize,
    is_list: bool,
}

impl Fingerprinter {
    /// The fingerprint of `statement`.
    pub fn of(&mut self, statement: &[u8], dialect: Dialect) -> &[u8] {
        self.out.clear();
        self.groups.clear();
        self.state = State::default();
        let mut tokens = Tokens::new(statement, dialect);
        while let Some(token) = tokens.next() {
            match token.kind {
                Kind::Word if self.is_value(token.text) && !is_name(&tokens) => self.literal(),
                _ => self.take(token),
            }
            if self.out.len() >= FINGERPRINT_BYTES_MAX {
                break;
            }
        }
        self.release();
        while matches!(self.out.last(), Some(b';' | b' ')) {
            self.out.pop();
        }
        &self.out
    }

    fn take(&mut self, token: Token<'_>) {
        match token.kind {
            Kind::Literal => self.literal(),
            Kind::Word => self.word(token),
            Kind::Operator if matches!(token.text, b"+" | b"-") && self.may_be_sign() => {
                if self.state.signs_count < SIGNS_MAX {
                    self.state.signs[self.state.signs_count] = token.text[0];
                    self.state.signs_count += 1;
                }
            }
            Kind::Open => self.open(token),
            Kind::Close => self.close(token.text[0]),
            Kind::Comma if self.is_after_list_literal() => self.state.held = Held::Comma,
            kind => {
                self.release();
                self.mark_other(kind);
                let text = if kind == Kind::HintOpen { b"/*!" } else { token.text };
                self.write(kind, text);
            }
        }
    }

    /// Whether `+` and `-` here belong to the value behind them.
    fn may_be_sign(&self) -> bool {
        if self.state.signs_count > 0 || self.state.held != Held::Nothing {
            return true;
        }
        match self.state.before {
            None | Some(Kind::Operator | Kind::Open | Kind::Comma | Kind::Semicolon) => true,
            Some(Kind::Word) => BEFORE_VALUE.contains(&self.last_word()),
            _ => false,
        }
    }

    fn last_word(&self) -> &[u8] {
        match self.state.before {
            Some(Kind::Word) => &self.out[self.state.before_at..],
            _ => b"",
        }
    }

    /// Whether a comma here may be followed by a literal that says nothing new.
    fn is_after_list_literal(&self) -> bool {
        let is_in_list = self.state.deep == 0 && self.groups.last().is_some_and(|one| one.is_list);
        let is_literal = self.state.before == Some(Kind::Literal);
        is_literal
            && self.state.held == Held::Nothing
            && (is_in_list || self.state.limit == Limit::Literal)
    }

    fn literal(&mut self) {
        if self.state.held != Held::Nothing {
            self.state.held = Held::Nothing;
            self.state.signs_count = 0;
            return;
        }
        self.state.signs_count = 0;
        if self.state.before == Some(Kind::Literal) {
            return;
        }
        if let Some(group) = self.groups.last_mut().filter(|_| self.state.deep == 0) {
            group.has_literal = true;
        }
        let limit = if self.state.limit == Limit::Word { Limit::Literal } else { Limit::No };
        self.write(Kind::Literal, b"?");
        self.state.limit = limit;
    }

    /// Whether a word is a literal here: `IS NULL` and `NOT NULL` are none.
    fn is_value(&self, text: &[u8]) -> bool {
        let is = |word: &[u8]| text.eq_ignore_ascii_case(word);
        if !is(b"null") && !is(b"true") && !is(b"false") {
            return false;
        }
        let is_tested = matches!(self.last_word(), b"is" | b"not");
        self.state.before != Some(Kind::Dot) && (!is_tested || self.state.signs_count > 0)
    }

    fn word(&mut self, token: Token<'_>) {
        let text = token.text;
        let is_named = self.state.before == Some(Kind::Dot);
        if text.eq_ignore_ascii_case(b"offset")
            && self.state.limit == Limit::Literal
            && self.state.held == Held::Nothing
        {
            self.state.held = Held::Offset;
            return;
        }
        self.release();
        self.mark_other(Kind::Word);
        // A dot and a digit beside it could be a number.
        if is_named && token.is_spaced && text[0].is_ascii_digit() {
            self.out.push(b' ');
        }
        self.write(Kind::Word, text);
        let start = self.state.before_at;
        self.out[start..].make_ascii_lowercase();
        if &self.out[start..] == b"limit" && !is_named {
            self.state.limit = Limit::Word;
        }
    }

    /// Writes what waited, since no literal follows.
    fn release(&mut self) {
        match std::mem::take(&mut self.state.held) {
            Held::Nothing => {}
            Held::Comma => self.write(Kind::Comma, b","),
            Held::Offset => self.write(Kind::Word, b"offset"),
        }
        let (signs, count) = (self.state.signs, std::mem::take(&mut self.state.signs_count));
        for sign in &signs[..count] {
            self.mark_other(Kind::Operator);
            self.write(Kind::Operator, &[*sign]);
        }
    }

    fn mark_other(&mut self, kind: Kind) {
        if let Some(group) = self.groups.last_mut().filter(|_| self.state.deep == 0)
            && kind != Kind::Comma
        {
            group.has_other = true;
        }
    }

    fn open(&mut self, token: Token<'_>) {
        self.release();
        self.mark_other(Kind::Open);
        let is_after_word = matches!(self.state.before, Some(Kind::Word | Kind::Quoted));
        let is_list_word = BEFORE_LIST.contains(&self.last_word());
        let closed = self.state.closed.filter(|closed| {
            self.state.before == Some(Kind::Comma) && self.state.before_at == closed.end
        });
        let is_round = token.text == b"(";
        let has_blank = (is_list_word && is_round) || token.is_spaced || !is_after_word;
        self.write_spaced(Kind::Open, token.text, has_blank);
        if self.groups.len() == GROUPS_MAX {
            self.state.deep += 1;
            return;
        }
        self.groups.push(Group {
            start: self.state.before_at,
            is_list: is_list_word || closed.is_some_and(|closed| closed.is_list),
            has_literal: false,
            has_other: false,
            follows: closed,
        });
    }

    fn close(&mut self, bracket: u8) {
        self.release();
        if self.state.deep > 0 {
            self.state.deep -= 1;
            self.write(Kind::Close, &[bracket]);
            return;
        }
        let Some(group) = self.groups.pop() else {
            self.write(Kind::Close, &[bracket]);
            return;
        };
        if group.is_list && group.has_literal && !group.has_other {
            self.out.truncate(group.start + 1);
            self.out.extend_from_slice(b"?+");
        }
        self.write(Kind::Close, &[bracket]);
        let end = self.out.len();
        let written = &self.out[group.start..end];
        if let Some(before) = group.follows
            && self.out[before.start..before.end] == *written
        {
            self.out.truncate(before.end);
            self.state.before_at = before.end - 1;
            self.state.closed = Some(before);
            return;
        }
        self.state.closed = Some(Closed { start: group.start, end, is_list: group.is_list });
    }

    fn write(&mut self, kind: Kind, text: &[u8]) {
        self.write_spaced(kind, text, true);
    }

    /// Writes a token, with a blank before it where `may_be_spaced` and its place allow.
    fn write_spaced(&mut self, kind: Kind, text: &[u8], may_be_spaced: bool) {
        let is_joined = match (self.state.before, kind) {
            // A comment must neither begin nor end where there was none.
            (None, _) => true,
            (_, Kind::HintOpen | Kind::HintClose) => false,
            (Some(Kind::Open | Kind::Dot), _) => true,
            (_, Kind::Comma | Kind::Close | Kind::Dot | Kind::Semicolon) => true,
            _ => !may_be_spaced,
        };
        if !is_joined {
            self.out.push(b' ');
        }
        self.state.before_at = self.out.len();
        self.state.before = Some(kind);
        self.state.limit = Limit::No;
        self.out.extend_from_slice(text);
    }
}

/// Whether what was read last is a name, since a dot follows.
fn is_name(tokens: &Tokens<'_>) -> bool {
    tokens.clone().next().is_some_and(|next| next.kind == Kind::Dot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, expected: &str) {
        check_in(Dialect::MySql, statement, expected);
    }

    fn check_in(dialect: Dialect, statement: &str, expected: &str) {
        let mut maker = Fingerprinter::default();
        let told = String::from_utf8_lossy(maker.of(statement.as_bytes(), dialect)).into_owned();
        assert_eq!(told, expected, "{statement}");
        let again = String::from_utf8_lossy(maker.of(told.as_bytes(), dialect)).into_owned();
        assert_eq!(again, told, "again: {statement}");
    }

    #[test]
    fn literals_are_gone_and_names_stay() {
        check("SELECT * FROM wp_2_posts WHERE ID = 5", "select * from wp_2_posts where id = ?");
        check("select a from T1 where x='y' and z=-5", "select a from t1 where x = ? and z = ?");
        check("select a-5, a - -5, -a, -(5)", "select a - ?, a - ?, - a, - (?)");
        check("select 'a' 'b', _utf8'c', x'ff', null, true", "select ?, ?, ?, ?, ?");
        check("a is null and b is not null and c = null", "a is null and b is not null and c = ?");
        check("select `A``b`.`C` from d", "select `A``b`.`C` from d");
        check("select count(*), count( * ) from a;", "select count(*), count(*) from a");
        check("update t set a=a+1 where b<=3", "update t set a = a + ? where b <= ?");
        check("/* x */ select /*!40001 SQL_NO_CACHE */ 1 -- y", "select /*! sql_no_cache */ ?");
    }

    #[test]
    fn lists_and_rows_are_one() {
        check("a IN(1, 2,3) and b in ('x')", "a in (?+) and b in (?+)");
        check("a in (1, 2, b)", "a in (?, b)");
        check("(a, b) in ((1,2),(3,4), (5,6))", "(a, b) in ((?, ?))");
        check("insert into t values (1,-2),(3,'4')", "insert into t values (?+)");
        check("insert into t values (1,now()),(2,now())", "insert into t values (?, now())");
        check(
            "insert into t (a,b) values(1,2) on duplicate key update a=values(a)",
            "insert into t (a, b) values (?+) on duplicate key update a = values (a)",
        );
        check("select f(1,2), f (1)", "select f(?, ?), f (?)");
    }

    #[test]
    fn limits_have_one_literal() {
        check("select 1 limit 10, 20", "select ? limit ?");
        check("select 1 limit 10 offset 20;", "select ? limit ?");
        check("(select 1 limit 5), 6", "(select ? limit ?), ?");
        check("select a limit 5 offset x", "select a limit ? offset x");
    }

    #[test]
    fn postgresql_has_its_own_literals() {
        let check = |statement, expected| check_in(Dialect::Postgres, statement, expected);
        check("select $1, $$a$$, E'\\'', \"Name\"::text", "select ?, ?, ?, \"Name\" :: text");
        check("select array[1,2,3], a[1]", "select array[?+], a[?]");
        check("select 1 --gone", "select ?");
        check("execute one(5, 'x')", "execute one(?, ?)");
    }

    #[test]
    fn a_statement_of_any_length_has_a_short_one() {
        let rows: Vec<_> = (0..100_000).map(|row| format!("({row}, 'x', now())")).collect();
        let statement = format!("insert into t values {}", rows.join(", "));
        check(&statement, "insert into t values (?, now())");
        let mut maker = Fingerprinter::default();
        let many = (0..10_000).map(|one| format!("a{one} = {one}")).collect::<Vec<_>>();
        let told = maker.of(many.join(" and ").as_bytes(), Dialect::MySql);
        assert!(told.len() <= FINGERPRINT_BYTES_MAX + 260);
    }
}

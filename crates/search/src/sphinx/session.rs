//! One client of SphinxQL: its statements, what they are answered, and what SHOW META tells then.
//!
//! Invariant: a client sees what it wrote itself; what others wrote it sees within a second.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ask::Ask;
use super::catalogue::{Catalogue, Held};
use super::change;
use super::counters::Figures;
use super::excerpt::{Marking, mark};
use super::mysql::Reply;
use super::ql::{self, Expression, Literal, Named, Select, Statement};
use super::run::{reckon, run};
use super::table::{Cell, Kind, Meta, Row, Table};
use crate::{Query, Search, Word};

/// What a version's answer is where somebody asks for it.
const VERSION: &str = "2.2.11-id64-wick";
const SUGGESTIONS: usize = 5;

/// A client.
pub struct Session {
    catalogue: Arc<Catalogue>,
    figures: Arc<Figures>,
    meta: Meta,
    /// The last search, whose words SHOW META counts when it is asked.
    last: Option<Box<Ask>>,
    /// Indexes that this client wrote to since it last looked.
    written: BTreeSet<String>,
}

impl Session {
    /// A client that just came.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>, figures: Arc<Figures>) -> Self {
        let written = BTreeSet::new();
        Self { catalogue, figures, meta: Meta::default(), last: None, written }
    }

    /// Answers a query: as many replies as it has statements, up to the first that fails.
    /// `now` is in seconds since 1970.
    pub fn answer(&mut self, query: &str, now: i64) -> Vec<Reply> {
        let statements = match ql::read(query) {
            Ok(statements) => statements,
            Err(error) => return vec![self.refuse(error.to_string())],
        };
        let mut replies = Vec::new();
        for statement in statements {
            let reply = self.obey(statement, query, now).unwrap_or_else(|why| self.refuse(why));
            let is_refused = matches!(reply, Reply::Refused { .. });
            replies.push(reply);
            if is_refused {
                break;
            }
        }
        replies
    }

    fn refuse(&mut self, why: String) -> Reply {
        self.meta = Meta { error: Some(why.clone()), ..Meta::default() };
        self.last = None;
        Reply::refused(why)
    }

    fn obey(&mut self, statement: Statement, written: &str, now: i64) -> Result<Reply, String> {
        let done = |rows| Reply::Done { rows, warnings: 0 };
        Ok(match statement {
            Statement::Select(select) if select.indexes.is_empty() => of_server(&select)?,
            Statement::Select(select) => self.search(*select, now)?,
            Statement::Insert { index, columns, rows, replaces } => {
                let held = self.find(&index)?;
                let count = change::insert(&held, &columns, &rows, replaces)?;
                self.written.insert(index);
                done(count)
            }
            Statement::Update { index, values, filter } => {
                self.figures.command_update.bump();
                let held = self.find(&index)?;
                let count = change::update(&held, &values, &filter, &self.catalogue)?;
                self.written.insert(index);
                done(count)
            }
            Statement::Delete { index, filter } => {
                self.figures.command_delete.bump();
                let held = self.find(&index)?;
                let count = change::delete(&held, &filter, &self.catalogue)?;
                self.written.insert(index);
                done(count)
            }
            Statement::Truncate(index) => {
                let held = self.find(&index).ok().filter(|held| held.is_realtime);
                let held = held.ok_or("TRUNCATE RTINDEX requires an existing RT index")?;
                held.index.clear();
                Reply::NOTHING
            }
            Statement::CreateTable(table) => {
                self.catalogue.create(&table, written)?;
                Reply::NOTHING
            }
            Statement::DropTable { name, is_optional } => {
                self.catalogue.drop_table(&name, is_optional)?;
                Reply::NOTHING
            }
            Statement::Describe(index) => match self.find(&index) {
                Ok(held) => Reply::Table(described(&held)),
                Err(why) => Reply::Refused { code: 1146, state: "42S02", why },
            },
            Statement::Snippets { texts, index, query, options } => {
                self.figures.command_excerpt.bump();
                let held = self.held(&index)?;
                let marking = Marking::default().with(&options);
                let rows = texts.iter().map(|text| vec![mark(text, &query, &held, &marking)]);
                Reply::Table(Table::of_texts(&["snippet"], rows.collect()))
            }
            Statement::Keywords { text, index, has_hits } => {
                self.figures.command_keywords.bump();
                Reply::Table(keywords_table(&*self.held(&index)?, &text, has_hits)?)
            }
            Statement::Suggest { text, index, options } => {
                Reply::Table(suggestions(&*self.held(&index)?, &text, &options))
            }
            Statement::Nothing | Statement::Rollback => Reply::NOTHING,
            shown => self.show(&shown, now),
        })
    }

    fn search(&mut self, select: Select, now: i64) -> Result<Reply, String> {
        self.figures.command_search.bump();
        for index in std::mem::take(&mut self.written) {
            if let Some(held) = self.catalogue.find(&index) {
                held.index.commit();
            }
        }
        let not_obeyed = select.options.not_obeyed.join(", ");
        let ask = Box::new(Ask::from(select));
        let outcome = run(&ask, &self.catalogue, now)?;
        self.meta = outcome.meta;
        if !not_obeyed.is_empty() && self.meta.warning.is_none() {
            self.meta.warning = Some(format!("options without effect: {not_obeyed}"));
        }
        self.last = Some(ask);
        Ok(Reply::Table(outcome.table))
    }

    fn find(&self, index: &str) -> Result<Arc<Held>, String> {
        self.catalogue.find(index).ok_or_else(|| format!("no such index '{index}'"))
    }

    fn held(&self, index: &str) -> Result<Arc<Held>, String> {
        let unknown = || format!("unknown local index '{index}' in search request");
        self.catalogue.find(index).ok_or_else(unknown)
    }

    fn show(&mut self, statement: &Statement, now: i64) -> Reply {
        let pairs = |title: [&str; 2], pairs: Vec<(String, String)>, like: Option<&str>| {
            let shown = pairs.into_iter().filter(|(name, _)| is_like(name, like));
            let rows = shown.map(|(name, value)| vec![name, value]).collect();
            Reply::Table(Table::of_texts(&title, rows))
        };
        match statement {
            Statement::ShowMeta => pairs(["Variable_name", "Value"], self.meta(now), None),
            Statement::ShowWarnings => match &self.meta.warning {
                None => Reply::NOTHING,
                Some(warning) => Reply::Table(Table::of_texts(
                    &["Level", "Code", "Message"],
                    vec![vec!["warning".to_owned(), "1000".to_owned(), warning.clone()]],
                )),
            },
            Statement::ShowStatus(like) => {
                self.figures.command_status.bump();
                pairs(["Counter", "Value"], status(&self.figures), like.as_deref())
            }
            Statement::ShowTables(like) => {
                let kind = |held: &Held| if held.is_realtime { "rt" } else { "local" };
                let all = self.catalogue.all();
                let rows = all.iter().map(|held| (held.name.clone(), kind(held).to_owned()));
                pairs(["Index", "Type"], rows.collect(), like.as_deref())
            }
            Statement::ShowVariables(like) => {
                let own = [
                    ("autocommit", "1"),
                    ("collation_connection", "libc_ci"),
                    ("query_log_format", "plain"),
                    ("log_level", "info"),
                    ("max_allowed_packet", "8388608"),
                    ("character_set_client", "utf8"),
                    ("character_set_connection", "utf8"),
                ];
                let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
                pairs(["Variable_name", "Value"], own.to_vec(), like.as_deref())
            }
            Statement::ShowCollation => one_row(
                &["Collation", "Charset", "Id", "Default", "Compiled", "Sortlen"],
                &["utf8_general_ci", "utf8", "33", "Yes", "Yes", "1"],
            ),
            Statement::ShowCharacterSet => one_row(
                &["Charset", "Description", "Default collation", "Maxlen"],
                &["utf8", "UTF-8 Unicode", "utf8_general_ci", "3"],
            ),
            _ => Reply::NOTHING,
        }
    }

    /// What there is to say of the last search. Its words are counted only now.
    fn meta(&mut self, now: i64) -> Vec<(String, String)> {
        if let Some(mut ask) = self.last.take() {
            ask.has_words = true;
            (ask.select.offset, ask.select.limit) = (0, 1);
            self.meta.words = run(&ask, &self.catalogue, now)
                .map(|outcome| outcome.meta.words)
                .unwrap_or_default();
        }
        let meta = &self.meta;
        let mut pairs = Vec::new();
        let mut add = |name: &str, value: String| pairs.push((name.to_owned(), value));
        if let Some(error) = &meta.error {
            add("error", error.clone());
        }
        if let Some(warning) = &meta.warning {
            add("warning", warning.clone());
        }
        add("total", meta.total.to_string());
        add("total_found", meta.total_found.to_string());
        let milliseconds = meta.microseconds / 1000;
        add("time", format!("{}.{:03}", milliseconds / 1000, milliseconds % 1000));
        for (at, (word, documents, hits)) in meta.words.iter().enumerate() {
            add(&format!("keyword[{at}]"), word.clone());
            add(&format!("docs[{at}]"), documents.to_string());
            add(&format!("hits[{at}]"), hits.to_string());
        }
        pairs
    }
}

/// What STATUS tells.
pub(super) fn status(figures: &Figures) -> Vec<(String, String)> {
    figures.each().map(|count| (count.name.to_owned(), count.number.to_string())).collect()
}

/// A text's words: as they stand, as they are indexed, in how many documents, how often.
pub(super) fn keywords(
    held: &Held,
    text: &str,
    has_hits: bool,
) -> Result<Vec<(String, u64, u64)>, String> {
    let tokens = held.index.analyzer().tokens(&held.cleaned(text));
    let mut found = Vec::new();
    for token in tokens {
        let mut counts = (0, 0);
        if has_hits {
            let query = Query::Word(Word::of(&token.text, crate::Form::Exact));
            let search = Search { query, has_words: true, limit: 1, ..Search::default() };
            let answer = held.index.search(&search).map_err(|error| error.to_string())?;
            counts = answer.words.first().map_or((0, 0), |word| (word.documents, word.hits));
        }
        found.push((token.text, counts.0, counts.1));
    }
    Ok(found)
}

fn keywords_table(held: &Held, text: &str, has_hits: bool) -> Result<Table, String> {
    let mut titles = vec!["qpos", "tokenized", "normalized"];
    if has_hits {
        titles.extend(["docs", "hits"]);
    }
    let row = |(at, (word, documents, hits)): (usize, (String, u64, u64))| {
        let mut row = vec![(at + 1).to_string(), word.clone(), word];
        if has_hits {
            row.extend([documents.to_string(), hits.to_string()]);
        }
        row
    };
    let rows = keywords(held, text, has_hits)?.into_iter().enumerate().map(row).collect();
    Ok(Table::of_texts(&titles, rows))
}

/// Words like the last of a text, as Manticore tells them.
fn suggestions(held: &Held, text: &str, options: &[Named]) -> Table {
    let limit = options.iter().find_map(|(name, value)| match value {
        Literal::Int(limit) if name == "limit" => usize::try_from(*limit).ok(),
        _ => None,
    });
    let search = Search {
        query: crate::read_query(text, held.index.shape()),
        relax: true,
        limit: 1,
        ..Search::default()
    };
    let meant = held.index.search(&search).ok().and_then(|found| found.did_you_mean);
    let mut words: Vec<(String, u64)> = meant.into_iter().map(|word| (word, 0)).collect();
    let more = held.index.suggest(text, limit.unwrap_or(SUGGESTIONS));
    words.extend(more.into_iter().map(|one| (one.text, one.documents)));
    words.truncate(limit.unwrap_or(SUGGESTIONS));
    let row = |(word, documents): (String, u64)| {
        let distance = strsim_like(&word, text);
        vec![word, distance.to_string(), documents.to_string()]
    };
    Table::of_texts(&["suggest", "distance", "docs"], words.into_iter().map(row).collect())
}

/// How many letters differ, by place and by length.
fn strsim_like(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).filter(|(one, other)| one == other).count();
    one.chars().count().max(other.chars().count()) - same
}

fn described(held: &Held) -> Table {
    let shape = held.index.shape();
    let mut rows = vec![vec!["id".to_owned(), "bigint".to_owned()]];
    rows.extend(shape.fields.iter().map(|field| vec![field.name.clone(), "field".to_owned()]));
    let kind = |kind: Kind| match kind {
        Kind::Uint => "uint",
        Kind::Timestamp => "timestamp",
        Kind::Bool => "bool",
        Kind::Bigint => "bigint",
        Kind::Float => "float",
        Kind::Text => "string",
        Kind::Multi => "mva",
        Kind::MultiBigint => "mva64",
    };
    let attributes = shape.attributes.iter().zip(&held.kinds);
    rows.extend(
        attributes.map(|(own, own_kind)| vec![own.name.clone(), kind(*own_kind).to_owned()]),
    );
    Table::of_texts(&["Field", "Type"], rows)
}

/// `SELECT 1`, `SELECT @@version_comment`: what concerns no index.
fn of_server(select: &Select) -> Result<Reply, String> {
    let mut table = Table::default();
    let mut cells = Vec::new();
    for column in &select.columns {
        let cell = server_cell(&column.value)?;
        let kind = match cell {
            Cell::Text(_) | Cell::Multi(_) => Kind::Text,
            Cell::Float(_) => Kind::Float,
            Cell::Int(_) | Cell::Id(_) => Kind::Bigint,
        };
        table.columns.push((column.name.clone(), kind));
        cells.push(cell);
    }
    table.rows.push(Row { id: 0, weight: 1, cells });
    Ok(Reply::Table(table))
}

fn server_cell(value: &Expression) -> Result<Cell, String> {
    Ok(match value {
        Expression::Literal(Literal::Int(number)) => Cell::Int(*number),
        Expression::Literal(Literal::Float(number)) => Cell::Float(*number),
        Expression::Literal(Literal::Text(text)) => Cell::Text(text.clone()),
        Expression::System(name) => {
            let name = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
            Cell::Text(match name.as_str() {
                "version" | "version()" | "version_comment" => VERSION.to_owned(),
                "autocommit" => "1".to_owned(),
                "max_allowed_packet" => "8388608".to_owned(),
                _ => String::new(),
            })
        }
        Expression::Binary(left, operator, right) => {
            reckon(&server_cell(left)?, *operator, &server_cell(right)?)
        }
        _ => return Err("a select without FROM has constants only".to_owned()),
    })
}

fn one_row(titles: &[&str], row: &[&str]) -> Reply {
    Reply::Table(Table::of_texts(titles, vec![row.iter().map(|one| (*one).to_owned()).collect()]))
}

/// `%` is anything, `_` any letter.
fn is_like(name: &str, like: Option<&str>) -> bool {
    fn matches(name: &[u8], like: &[u8]) -> bool {
        // Where the last `%` was, and how much of the name it took: no recursion, no power.
        let (mut at, mut of, mut back) = (0, 0, None);
        while at < name.len() {
            match like.get(of) {
                Some(b'%') => {
                    back = Some((at, of));
                    of += 1;
                }
                Some(letter) if *letter == b'_' || letter.eq_ignore_ascii_case(&name[at]) => {
                    at += 1;
                    of += 1;
                }
                _ => match back {
                    Some((from, star)) => {
                        back = Some((from + 1, star));
                        (at, of) = (from + 1, star + 1);
                    }
                    None => return false,
                },
            }
        }
        like[of..].iter().all(|letter| *letter == b'%')
    }
    like.is_none_or(|like| matches(name.as_bytes(), like.as_bytes()))
}

#[cfg(test)]
mod tests;

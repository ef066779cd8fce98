//! Tables that clients make: `CREATE TABLE`, `DROP TABLE`, and what a restart finds of them.

use std::fs;
use std::path::PathBuf;

use base::complaint::complain;

use super::{Catalogue, Held, TABLES_MAX, attribute_kind};
use crate::sphinx::ql::{self, CreateTable, Literal, Statement};
use crate::sphinx::table::Kind;
use crate::{Index, Shape};

const NAME_BYTES_MAX: usize = 64;

impl Catalogue {
    /// Opens the tables that clients made before.
    pub fn reopen(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            if path.extension().is_none_or(|extension| extension != "sql") {
                continue;
            }
            let read = fs::read_to_string(&path).ok().and_then(|text| ql::read(&text).ok());
            let opened = match read.as_deref() {
                Some([Statement::CreateTable(table)]) => self.open(table),
                _ => Err("its statement can't be read".to_owned()),
            };
            if let Err(why) = opened {
                complain(format_args!("the search table {} is not opened: {why}", path.display()));
            }
        }
    }

    /// Makes a table. `written` is its statement.
    ///
    /// # Errors
    /// It is there, its name is none, a type isn't known, or its folder can't be made.
    pub fn create(&self, table: &CreateTable, written: &str) -> Result<(), String> {
        if self.find(&table.name).is_some() {
            let why = format!("table '{}': CREATE TABLE failed: it exists", table.name);
            return if table.is_optional { Ok(()) } else { Err(why) };
        }
        if self.all().len() >= TABLES_MAX {
            return Err(format!("there are {TABLES_MAX} tables already; drop one"));
        }
        self.open(table)?;
        let kept = fs::write(self.statement_of(&table.name), written);
        kept.map_err(|error| format!("table '{}' can't be kept: {error}", table.name))
    }

    /// Ends a table that a client made.
    ///
    /// # Errors
    /// There is none, or it is of the site's own settings.
    pub fn drop_table(&self, name: &str, is_optional: bool) -> Result<(), String> {
        let Some(held) = self.find(name) else {
            let why = format!("DROP TABLE failed: unknown local index '{name}'");
            return if is_optional { Ok(()) } else { Err(why) };
        };
        let statement = self.statement_of(name);
        if !statement.exists() {
            return Err(format!("'{name}' was not made by CREATE TABLE; its settings say it"));
        }
        held.index.clear();
        self.indexes.write().remove(&name.to_lowercase());
        let _ = fs::remove_file(statement);
        // What still searches it has its files open.
        let _ = fs::remove_dir_all(self.folder.join(name.to_lowercase()));
        Ok(())
    }

    fn statement_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.sql", name.to_lowercase()))
    }

    fn open(&self, table: &CreateTable) -> Result<(), String> {
        let name = table.name.to_lowercase();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.len() > NAME_BYTES_MAX || name.is_empty() || !name.bytes().all(is_name) {
            return Err(format!("'{name}' is no table's name; use letters, digits and _"));
        }
        let (shape, kinds) = shape(table)?;
        let folder = self.folder.join(&name);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let (index, _) = Index::open(&folder, shape, self.limits.clone(), self.morphemes.clone())
            .map_err(|error| error.to_string())?;
        let option = |wanted: &str| {
            table.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value)
        };
        let strips_html = option("html_strip").is_some_and(is_on);
        self.hold(Held { kinds, strips_html, ..Held::new(&name, index, true) });
        Ok(())
    }
}

fn is_on(value: &Literal) -> bool {
    match value {
        Literal::Int(number) => *number != 0,
        Literal::Text(text) => text != "0",
        _ => false,
    }
}

fn shape(table: &CreateTable) -> Result<(Shape, Vec<Kind>), String> {
    let mut shape = Shape::new(&table.name.to_lowercase());
    let mut kinds = Vec::new();
    for (name, kind, words) in &table.columns {
        let has = |word: &str| words.iter().any(|own| own == word);
        // Every table has it.
        if name.eq_ignore_ascii_case("id") {
            continue;
        }
        let kind = match kind.as_str() {
            "text" => None,
            // A text that is only kept, unless it is to be found as well.
            "string" => {
                if has("indexed") {
                    shape = shape.field(name, 1.0);
                }
                Some(Kind::Text)
            }
            "int" | "integer" | "uint" => Some(Kind::Uint),
            "bigint" => Some(Kind::Bigint),
            "bool" => Some(Kind::Bool),
            "float" => Some(Kind::Float),
            "timestamp" => Some(Kind::Timestamp),
            "multi" | "mva" => Some(Kind::Multi),
            "multi64" | "mva64" => Some(Kind::MultiBigint),
            "json" => Some(Kind::Text),
            other => return Err(format!("the type {other} of column '{name}' is not known")),
        };
        if let Some(kind) = kind {
            shape = shape.attribute(name, attribute_kind(kind));
            kinds.push(kind);
        } else {
            shape = shape.field(name, 1.0);
            if let Some(field) = shape.fields.last_mut() {
                field.is_stored = words.is_empty() || has("stored");
            }
        }
    }
    let text = |wanted: &str| {
        let found = table.options.iter().find(|(name, _)| name == wanted);
        found.and_then(|(_, value)| match value {
            Literal::Text(text) => Some(text.as_str()),
            _ => None,
        })
    };
    shape.has_stems = text("morphology").is_some_and(|value| !value.is_empty() && value != "none");
    "_".clone_into(&mut shape.word_characters);
    let prefix = text("min_prefix_len").and_then(|length| length.parse().ok());
    let infix = text("min_infix_len").and_then(|length| length.parse().ok());
    for field in &mut shape.fields {
        field.min_prefix = prefix.or(infix).filter(|length: &u8| *length > 0);
    }
    Ok((shape, kinds))
}

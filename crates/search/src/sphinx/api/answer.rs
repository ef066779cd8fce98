//! Answers of the binary API.
//!
//! Law: the forms that searchd 2.2.11 answers in, by the client's version: before 0x114 numbers
//! of 64 bits are cut to 32, before 0x117 texts are empty.

use crate::sphinx::bytes::Out;
use crate::sphinx::table::{Cell, Kind, Meta, Table};

/// How an answer, or one query of it, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// What was asked.
    Ok = 0,
    /// It wasn't obeyed.
    Error = 1,
    /// It may be later.
    Retry = 2,
    /// What was asked, and something to say of it.
    Warning = 3,
}

/// One query's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Of the first index, by name.
    pub fields: Vec<String>,
    /// The matches.
    pub table: Table,
    /// An error in it is all that is sent.
    pub meta: Meta,
}

/// A whole answer: the head with `version`, and the body.
#[must_use]
pub fn whole(status: Status, version: u16, body: &[u8]) -> Vec<u8> {
    let mut out = Out(Vec::with_capacity(8 + body.len()));
    out.0.extend_from_slice(&(status as u16).to_be_bytes());
    out.0.extend_from_slice(&version.to_be_bytes());
    out.count(body.len());
    out.0.extend_from_slice(body);
    out.0
}

/// A command that wasn't obeyed, and why.
#[must_use]
pub fn failed(status: Status, why: &str) -> Vec<u8> {
    let mut out = Out::default();
    out.text(why);
    whole(status, 0, &out.0)
}

impl Answer {
    /// Adds it to a body for a client of `version`.
    pub(crate) fn write(&self, version: u16, out: &mut Out) {
        if let Some(error) = &self.meta.error {
            out.number(Status::Error as u32);
            out.text(error);
            return;
        }
        match &self.meta.warning {
            Some(warning) => {
                out.number(Status::Warning as u32);
                out.text(warning);
            }
            None => out.number(Status::Ok as u32),
        }
        out.count(self.fields.len());
        self.fields.iter().for_each(|field| out.text(field));
        out.count(self.table.columns.len());
        for (name, kind) in &self.table.columns {
            out.text(name);
            out.number(number_of(*kind));
        }
        out.count(self.table.rows.len());
        // Ids are of 64 bits.
        out.number(1);
        for row in &self.table.rows {
            out.large(row.id);
            out.number(row.weight);
            for (cell, (_, kind)) in row.cells.iter().zip(&self.table.columns) {
                write_cell(cell, *kind, version, out);
            }
        }
        out.number(cut(self.meta.total));
        out.number(cut(self.meta.total_found));
        out.number(cut(self.meta.microseconds / 1000));
        out.count(self.meta.words.len());
        for (word, documents, hits) in &self.meta.words {
            out.text(word);
            out.number(cut(*documents));
            out.number(cut(*hits));
        }
    }
}

fn number_of(kind: Kind) -> u32 {
    match kind {
        Kind::Uint => 1,
        Kind::Timestamp => 2,
        Kind::Bool => 4,
        Kind::Float => 5,
        Kind::Bigint => 6,
        Kind::Text => 7,
        Kind::Multi => 0x4000_0001,
        Kind::MultiBigint => 0x4000_0002,
    }
}

fn cut(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as searchd cuts them")]
fn write_cell(cell: &Cell, kind: Kind, version: u16, out: &mut Out) {
    match (cell, kind) {
        (Cell::Id(id), _) if version >= 0x114 => out.large(*id),
        (Cell::Id(id), _) => out.number(*id as u32),
        (Cell::Int(number), Kind::Bigint) if version >= 0x114 => out.large(*number as u64),
        (Cell::Int(number), Kind::Float) => out.number((*number as f32).to_bits()),
        (Cell::Int(number), _) => out.number(*number as u32),
        (Cell::Float(number), _) => out.number((*number as f32).to_bits()),
        (Cell::Text(text), _) if version >= 0x117 => out.text(text),
        (Cell::Text(_), _) => out.number(0),
        // Counted in pieces of 32 bits, both ways.
        (Cell::Multi(numbers), Kind::MultiBigint) => {
            out.count(numbers.len().saturating_mul(2));
            numbers.iter().for_each(|number| out.large(*number as u64));
        }
        (Cell::Multi(numbers), _) => {
            out.count(numbers.len());
            numbers.iter().for_each(|number| out.number(*number as u32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sphinx::table::Row;

    fn answer() -> Answer {
        let cells = vec![
            Cell::Int(-5),
            Cell::Float(1.5),
            Cell::Text("Hello".to_owned()),
            Cell::Multi(vec![1, 2]),
        ];
        let columns = [
            ("big", Kind::Bigint),
            ("rating", Kind::Float),
            ("subject", Kind::Text),
            ("tags", Kind::Multi),
        ];
        Answer {
            fields: vec!["title".to_owned()],
            table: Table {
                columns: columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec(),
                rows: vec![Row { id: 1, weight: 1319, cells }],
            },
            meta: Meta {
                total: 1,
                total_found: 1,
                words: vec![("hello".to_owned(), 3, 3)],
                ..Meta::default()
            },
        }
    }

    /// Against what searchd 2.2.11 sent for the same.
    #[test]
    fn a_result_is_in_searchds_form() {
        let mut out = Out::default();
        answer().write(0x119, &mut out);
        let expected = b"\0\0\0\0\0\0\0\x01\0\0\0\x05title\0\0\0\x04\0\0\0\x03big\0\0\0\x06\
            \0\0\0\x06rating\0\0\0\x05\0\0\0\x07subject\0\0\0\x07\0\0\0\x04tags@\0\0\x01\
            \0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\0\0\x05'\xff\xff\xff\xff\xff\xff\xff\xfb?\xc0\0\0\
            \0\0\0\x05Hello\0\0\0\x02\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\x01\
            \0\0\0\x05hello\0\0\0\x03\0\0\0\x03";
        assert_eq!(out.0.escape_ascii().to_string(), expected.escape_ascii().to_string());
        let mut old = Out::default();
        answer().write(0x113, &mut old);
        assert_eq!(old.0.len(), expected.len() - 4 - 5);
    }

    #[test]
    fn errors_and_warnings_are_said_before_anything_else() {
        let mut out = Out::default();
        let error = Some("index posts: no such filter attribute 'nope'".to_owned());
        Answer { meta: Meta { error, ..Meta::default() }, ..Answer::default() }
            .write(0x119, &mut out);
        assert_eq!(out.0, b"\0\0\0\x01\0\0\0,index posts: no such filter attribute 'nope'");
        let mut warned = answer();
        warned.meta.warning = Some("w".to_owned());
        let mut out = Out::default();
        warned.write(0x119, &mut out);
        assert!(out.0.starts_with(b"\0\0\0\x03\0\0\0\x01w\0\0\0\x01"));
        assert_eq!(failed(Status::Error, "no"), b"\0\x01\0\0\0\0\0\x06\0\0\0\x02no");
    }
}

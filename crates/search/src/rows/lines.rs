//! Rows of a file: on each line an object of JSON.
//!
//! Bound: a line of [`LINE_BYTES_MAX`].

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Map, Value};

use super::Row;
use super::row::{is_so, moment};
use crate::database::{Stop, Trouble};

const LINE_BYTES_MAX: u64 = 4 << 20;

/// All rows of a file.
pub(super) fn all(
    path: &Path,
    stop: &Stop,
    take: &mut dyn FnMut(Row) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let away = |error: std::io::Error| {
        Trouble::Refused(format!(
            "{} can't be read: {error}; name a file that this user may read",
            path.display()
        ))
    };
    let mut file = BufReader::new(File::open(path).map_err(away)?);
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        if stop.has_begun() {
            return Err(Trouble::Stopped);
        }
        line.clear();
        number += 1;
        let read = file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(away)?;
        if read == 0 {
            return Ok(());
        }
        let wrong =
            |why: String| Trouble::Refused(format!("{}, line {number}: {why}", path.display()));
        if read as u64 == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
            return Err(wrong(format!("it is longer than {} MiB", LINE_BYTES_MAX >> 20)));
        }
        if !line.trim_ascii().is_empty() {
            take(row(&line).map_err(wrong)?)?;
        }
    }
}

fn row(line: &[u8]) -> Result<Row, String> {
    let object: Map<String, Value> = serde_json::from_slice(line).map_err(|error| {
        format!("{error}: write an object such as {{\"address\": \"/a\", \"text\": \"words\", \"public\": true}}")
    })?;
    let mut row = Row::default();
    for (name, value) in object {
        let text = match value {
            Value::Null => String::new(),
            Value::String(text) => text,
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => {
                return Err(format!("\"{name}\" is neither a text nor a number"));
            }
        };
        match name.as_str() {
            "address" => row.address = text,
            "title" => row.title = text,
            "text" => row.text = text,
            "language" => row.language = text,
            "changed" => row.changed = moment(&text),
            "public" => row.public = Some(is_so(&text)),
            _ => {
                return Err(format!(
                    "\"{name}\" means nothing here: there are address, title, text, language, \
                     changed and public"
                ));
            }
        }
    }
    if row.address.is_empty() { Err("it has no \"address\"".to_owned()) } else { Ok(row) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Row>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows");
        std::fs::write(&path, text).expect("it takes files");
        let mut rows = Vec::new();
        let mut take = |row| {
            rows.push(row);
            Ok(())
        };
        let told = all(&path, &Stop::default(), &mut take);
        told.map(|()| rows).map_err(|trouble| trouble.to_string())
    }

    #[test]
    fn each_line_is_a_row() {
        let rows = read(
            "{\"address\":\"/a\",\"title\":\"A\",\"text\":\"words\",\"changed\":7,\"public\":true}\n\n\
             {\"address\":\"/b\"}\n{\"address\":\"/c\",\"public\":0,\"changed\":\"2023-11-14\"}",
        );
        let rows = rows.expect("right");
        assert_eq!(rows.len(), 3);
        assert_eq!((rows[0].public, rows[0].changed), (Some(true), Some(7)));
        assert_eq!((rows[1].public, rows[1].address.as_str()), (None, "/b"));
        assert_eq!((rows[2].public, rows[2].changed), (Some(false), Some(1_699_920_000)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("{\"address\":\"/a\"}\n{\"address\":", "line 2: "),
            ("[]", "write an object such as"),
            ("{\"text\":\"a\"}", "line 1: it has no \"address\""),
            ("{\"address\":\"/a\",\"body\":\"a\"}", "\"body\" means nothing here"),
            ("{\"address\":\"/a\",\"text\":[\"a\"]}", "neither a text nor a number"),
        ] {
            let told = read(text).expect_err("it is wrong");
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}

//! Rows of a database: what each column is, its name says.

use super::Row;
use super::row::{is_so, moment};
use crate::database::{Database, Go, Place, Stop, Told, Trouble, ranged, steps};

const NAMES: &str = "address, title, text, language, changed and public";

/// What is done with each row.
type Take<'a> = &'a mut dyn FnMut(Row) -> Result<(), Trouble>;

/// All rows, in ranges where there are any.
pub(super) fn all(
    place: &Place,
    (query, range, step): (&str, Option<&str>, u64),
    stop: &Stop,
    take: Take<'_>,
) -> Result<(), Trouble> {
    let mut database = Database::connect(place, stop)?;
    for (start, end) in steps(&mut database, range, step.max(1))? {
        each(&mut database, &ranged(query, start, end), take)?;
    }
    Ok(())
}

/// Those that have changed since.
pub(super) fn changed(
    place: &Place,
    query: &str,
    since: i64,
    stop: &Stop,
    take: Take<'_>,
) -> Result<(), Trouble> {
    let mut database = Database::connect(place, stop)?;
    each(&mut database, &query.replace("$since", &since.to_string()), take)
}

fn each(database: &mut Database, query: &str, take: Take<'_>) -> Result<(), Trouble> {
    let mut columns = None;
    database.each(query, &mut |told| {
        match told {
            Told::Columns(names) => columns = Some(Columns::of(&names)?),
            Told::Row(row) => {
                if let Some(columns) = &columns {
                    take(columns.row(&row))?;
                }
            }
        }
        Ok(Go::On)
    })
}

/// Where each column is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Columns {
    address: usize,
    title: Option<usize>,
    text: Option<usize>,
    language: Option<usize>,
    changed: Option<usize>,
    public: Option<usize>,
}

impl Columns {
    fn of(names: &[String]) -> Result<Self, Trouble> {
        let (mut columns, mut address) = (Self::default(), None);
        for (at, name) in names.iter().enumerate() {
            let place = match name.to_ascii_lowercase().as_str() {
                "address" => &mut address,
                "title" => &mut columns.title,
                "text" => &mut columns.text,
                "language" => &mut columns.language,
                "changed" => &mut columns.changed,
                "public" => &mut columns.public,
                _ => {
                    return Err(Trouble::Refused(format!(
                        "a column is called {name}, which means nothing here: leave it out, or \
                         name it one of {NAMES}, as in SELECT subject AS title"
                    )));
                }
            };
            *place = Some(at);
        }
        columns.address = address.ok_or_else(|| {
            Trouble::Refused(
                "no column is called address: select where each row is shown, as in \
                 CONCAT('/topic/', id) AS address"
                    .to_owned(),
            )
        })?;
        if columns.public.is_some() && columns.title.is_none() && columns.text.is_none() {
            return Err(Trouble::Refused(
                "there is a column public, and nothing to find: add columns title and text"
                    .to_owned(),
            ));
        }
        Ok(columns)
    }

    fn row(&self, values: &[Option<Vec<u8>>]) -> Row {
        let value = |at: Option<usize>| {
            let bytes = values.get(at?)?.as_deref()?;
            Some(String::from_utf8_lossy(bytes).into_owned())
        };
        Row {
            address: value(Some(self.address)).unwrap_or_default(),
            title: value(self.title).unwrap_or_default(),
            text: value(self.text).unwrap_or_default(),
            language: value(self.language).unwrap_or_default(),
            changed: value(self.changed).and_then(|text| moment(&text)),
            // What isn't known isn't public.
            public: self.public.map(|at| value(Some(at)).is_some_and(|text| is_so(&text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(names: &str) -> Result<Columns, String> {
        let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
        Columns::of(&names).map_err(|trouble| trouble.to_string())
    }

    #[test]
    fn columns_are_known_by_their_names() {
        let columns = told("public Address TEXT").expect("right");
        let (address, text, public) = (1, Some(2), Some(0));
        assert_eq!(columns, Columns { address, text, public, ..Columns::default() });
        let row = columns.row(&[None, Some(b"/a".to_vec()), Some(b"words".to_vec())]);
        assert_eq!((row.address.as_str(), row.public), ("/a", Some(false)));
        for (names, expected) in [
            ("title text", "no column is called address"),
            ("address id", "a column is called id"),
            ("address public", "add columns title and text"),
        ] {
            assert!(told(names).expect_err("it is wrong").contains(expected), "{names}");
        }
    }
}

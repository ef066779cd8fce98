//! Pages of a file of SQLite: the file, and before it the page at which a table begins.

use changes::readers::sqlite_rows;

pub(crate) fn run(input: &[u8]) {
    let Some((&root, file)) = input.split_first() else { return };
    let rows = sqlite_rows(file, root.into());
    // The place of each row's cell takes two bytes of a page, and no page is read twice.
    assert!(rows.is_none_or(|rows| rows.len() <= file.len() / 2));
}

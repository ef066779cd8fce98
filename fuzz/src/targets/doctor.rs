//! Settings files as the doctor reads them, in each of its dialects: lines within the text.

use doctor::settings_file::{Dialect, database_name, lines};

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let count = text.lines().count();
    for dialect in [Dialect::Ini, Dialect::Nginx, Dialect::Apache] {
        for line in lines(dialect, text) {
            assert!((1..=count).contains(&line.number));
            assert!(!line.name.is_empty());
            assert!(text.contains(line.name) && text.contains(line.value));
            assert!(!line.name.contains('\n') && !line.value.contains('\n'));
            assert!(!database_name(line.name).contains('-'));
        }
    }
}

//! Statements of a log: what is read of them is certain, whatever stands around it.

use std::collections::BTreeSet;

use changes::readers::changes_of;
use changes::{Change, KeyClass};

/// The most that one statement may tell: an insert and the update that takes its place,
/// of 64 rows each.
const CHANGES_MAX: usize = 128;
/// What a server writes itself, and ends nowhere else.
const DROPS_TEMPORARY: &str = "DROP /*!40005 TEMPORARY */ TABLE";

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let keys: [Option<&[&str]>; 4] = [None, Some(&[]), Some(&["name"]), Some(&["name", "b"])];
    let read = keys.map(|keys| changes_of(text, "site", keys));
    // Keys decide which rows it is, and nothing else.
    let tables = read.clone().map(|changes| changes.map(without_keys));
    assert!(tables.iter().all(|one| *one == tables[0]), "{read:?}");
    for change in read.iter().flatten().flatten() {
        assert!(class_bytes(&change.key) <= 300, "{change:?}");
    }
    assert!(read.iter().flatten().all(|changes| changes.len() <= CHANGES_MAX), "{read:?}");
    if text.starts_with(DROPS_TEMPORARY) {
        return;
    }
    // What says nothing changes nothing…
    for around in [format!(" \n{text}\n# why\n"), format!("/* why */{text}\n-- why\n;;")] {
        assert_eq!(changes_of(&around, "site", keys[2]), read[2], "{around}");
    }
    // …and of two statements not only one is read.
    let two = format!("{text}\n; DELETE FROM other WHERE name = 'a'");
    assert_eq!(changes_of(&two, "site", keys[2]), None, "{two}");
}

fn without_keys(changes: Vec<Change>) -> BTreeSet<Change> {
    changes.into_iter().map(|change| Change { key: KeyClass::Plain, ..change }).collect()
}

fn class_bytes(key: &KeyClass) -> usize {
    match key {
        KeyClass::Of(class) => class.len(),
        KeyClass::Unknown | KeyClass::Plain => 0,
    }
}

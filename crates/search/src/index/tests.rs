//! An index in a folder: what is put, found, removed and opened again.

use super::*;
use crate::{Search, read_query};

fn document(id: u64, title: &str, text: &str) -> Document {
    let fields = vec![title.to_owned(), String::new(), text.to_owned()];
    Document { id, fields, attributes: Vec::new() }
}

#[test]
fn what_is_put_is_found_and_what_is_removed_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Index::open(folder.path(), Shape::pages(), Limits::default(), None).unwrap();
    let (index, opened) = open();
    assert_eq!(opened, Opened::Fresh);
    index.put(document(1, "Running shoes", "We sell shoes for runners in every size of foot."));
    index.put(document(2, "Hats", "A hat is worn on the head, and not on the foot."));
    index.commit();
    let ids = |text: &str| {
        let query = read_query(text, index.shape());
        let found = index.search(&Search { query, ..Search::default() }).unwrap();
        found.hits.iter().map(|hit| hit.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("foot shoe"), [1]);
    assert_eq!(ids("\"worn on the head\""), [2]);
    assert_eq!(ids("foot -hats"), [1]);
    index.remove(1);
    index.commit();
    assert!(ids("shoes").is_empty());
    assert_eq!(index.get(2).unwrap().fields[0], "Hats");
    drop(index);
    assert_eq!(open().1, Opened::AsItWas);
}

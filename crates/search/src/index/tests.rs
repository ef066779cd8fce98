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

/// A hundred words, some much more frequent than others.
fn words(chance: &mut u64, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        *chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        let (one, other) = (*chance >> 33, *chance >> 48);
        text.push_str(&format!("w{} ", (one % 100) * (other % 100) / 100));
    }
    text
}

#[test]
fn the_best_ten_are_those_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = Index::open(folder.path(), Shape::pages(), Limits::default(), None).unwrap();
    let mut chance = 7;
    for id in 1..=1500 {
        let length = 5 + id as usize % 60;
        index.put(document(id, &words(&mut chance, 3), &words(&mut chance, length)));
        if id % 400 == 0 {
            index.commit();
        }
    }
    index.commit();
    for text in ["w1", "w1 w2", "w0 w7 w12", "w3 w40", "w5 w60 w1 w2", "\"w1 w2\" w0"] {
        let query = read_query(text, index.shape());
        let top = |limit: usize, offset: usize| {
            let search = Search {
                query: query.clone(),
                limit,
                offset,
                max_matches: 10_000,
                relax: false,
                ..Search::default()
            };
            let found = index.search(&search).unwrap();
            let hits: Vec<_> = found.hits.iter().map(|hit| (hit.id, hit.score)).collect();
            (found.total_found, hits)
        };
        let (total, all) = top(10_000, 0);
        assert_eq!(all.len(), total, "{text}");
        assert!(total > 20, "{text}: {total}");
        for (limit, offset) in [(10, 0), (1, 0), (7, 9), (0, 0)] {
            let wanted: Vec<_> = all.iter().skip(offset).take(limit).copied().collect();
            assert_eq!(top(limit, offset), (total, wanted), "{text}");
        }
    }
}

#[test]
fn one_id_is_one_document_however_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) = Index::open(folder.path(), Shape::pages(), Limits::default(), None).unwrap();
    let titles = |index: &Index| {
        let query = read_query("shoes", index.shape());
        let found = index.search(&Search { query, has_fields: true, ..Search::default() }).unwrap();
        found.hits.into_iter().map(|hit| hit.fields[0].clone()).collect::<Vec<_>>()
    };
    index.gather(true);
    index.put(document(1, "first", "shoes"));
    index.put(document(1, "second", "shoes"));
    index.gather(false);
    assert_eq!(titles(&index), ["second"]);
    index.put(document(1, "third", "shoes"));
    index.remove(1);
    index.put(document(1, "fourth", "shoes"));
    index.commit();
    assert_eq!(titles(&index), ["fourth"]);
    index.clear();
    index.put(document(1, "fifth", "shoes"));
    index.commit();
    index.put(document(1, "sixth", "shoes"));
    index.commit();
    assert_eq!(titles(&index), ["sixth"]);
    assert_eq!(index.counts().documents, 1);
}

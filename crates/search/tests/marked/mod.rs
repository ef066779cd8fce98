//! The piece of text that a search shows, with what was found in brackets.

use search::{Index, Search, Snippets, read_query};

/// The first piece of the first hit's field, of so many characters.
pub(crate) fn marked(index: &Index, text: &str, field: usize, characters: usize) -> String {
    let query = read_query(text, index.shape());
    let snippets = Some(Snippets { characters, fragments: 1, fields: vec![field] });
    let found = index.search(&Search { query, snippets, ..Search::default() }).unwrap();
    let fragment = found.hits[0].snippets[0].fragments[0].clone();
    let mut marked = fragment.text.clone();
    for (from, to) in fragment.marks.iter().rev() {
        marked.insert(*to, ']');
        marked.insert(*from, '[');
    }
    marked
}

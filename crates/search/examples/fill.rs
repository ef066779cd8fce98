//! Fills an index with pages of invented words and says what it takes:
//! `fill FOLDER PAGES`. Figures of memory hold for any build, those of time for a release.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use search::{Document, Index, Limits, Search, Shape, Snippets, Value, read_query};

const WORDS_OF_PAGE: u64 = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("fill FOLDER PAGES")?;
    let pages: u64 = arguments.next().ok_or("fill FOLDER PAGES")?.parse()?;
    let (index, opened) = Index::open(Path::new(&folder), Shape::pages(), Limits::default(), None)?;
    println!("{opened:?}, {}", memory());
    let mut chance = 0x2545_F491_4F6C_DD1D_u64;
    let mut highest = 0;
    let begun = Instant::now();
    for id in 1..=pages {
        let mut text = String::new();
        for _ in 0..WORDS_OF_PAGE {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            // Few words are frequent and most are rare, as in a language.
            let word = (1 << (chance % 18)) + (chance >> 32) % (1 << (chance % 18));
            write!(text, "w{word}ing ")?;
        }
        let fields = vec![format!("Page {id}"), String::new(), text];
        let url = Value::Text(format!("https://example.org/{id}"));
        index.put(Document { id, fields, attributes: vec![url] });
        if id % 500 == 0 {
            highest = highest.max(anonymous_kilobytes());
        }
    }
    index.commit();
    println!("{pages} pages in {:?}, at most {highest} kB anonymous", begun.elapsed());
    println!("{:?}, {}", index.counts(), memory());
    let begun = Instant::now();
    for number in 0..1000_u64 {
        let query = read_query(&format!("w{number}ing w{}ing", number / 7), index.shape());
        let snippets = Some(Snippets::default());
        index.search(&Search { query, snippets, ..Search::default() })?;
    }
    println!("1000 searches in {:?}, {}", begun.elapsed(), memory());
    Ok(())
}

fn memory() -> String {
    format!("{} kB anonymous", anonymous_kilobytes())
}

fn anonymous_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}

//! What a dictionary makes of a text: `morphemes LANGUAGE FOLDER TEXT…`, where the folder has the
//! unpacked dictionary, or the package that is unpacked there. `@FILE` in the place of a text tells
//! how long the lines of a file take.

use std::path::Path;
use std::time::Instant;

use search::text::{Chinese, Japanese, Korean, Listed, Morphemes, Pack, Wordlist};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const USAGE: &str = "morphemes ko|ja|zh FOLDER TEXT…";
    let mut arguments = std::env::args().skip(1);
    let language = arguments.next().ok_or(USAGE)?;
    let folder = arguments.next().ok_or(USAGE)?;
    let folder = Path::new(&folder);
    let pack = Pack::of(&language).ok_or(USAGE)?;
    let package = folder.join(pack.file);
    let unpacked = folder.join(pack.code);
    if package.exists() && !unpacked.exists() {
        pack.unpack(&package, &unpacked)?;
    }
    let folder = if unpacked.exists() { &unpacked } else { folder };
    let dictionary = match language.as_str() {
        "ko" => Dictionary::Korean(Box::new(Korean::open(folder)?)),
        "ja" => Dictionary::Unspaced(Box::new(Japanese::open(folder)?)),
        _ => Dictionary::Unspaced(Box::new(Chinese::open(folder)?)),
    };
    for text in arguments {
        match (text.strip_prefix('@'), &dictionary) {
            (Some(file), _) => time(&dictionary, &std::fs::read_to_string(file)?),
            (None, Dictionary::Korean(korean)) => show_korean(korean, &text),
            (None, Dictionary::Unspaced(list)) => show(list.as_ref(), &text),
        }
    }
    Ok(())
}

enum Dictionary {
    Korean(Box<Korean>),
    Unspaced(Box<dyn Wordlist>),
}

fn time(dictionary: &Dictionary, text: &str) {
    let begun = Instant::now();
    let count: usize = (text.lines())
        .map(|line| match dictionary {
            Dictionary::Korean(korean) => korean.analyse(line).len(),
            Dictionary::Unspaced(list) => list.words(line).len(),
        })
        .sum();
    let seconds = begun.elapsed().as_secs_f64();
    let megabytes = text.len() as f64 / 1e6;
    println!(
        "{count} words of {megabytes:.2} MB in {seconds:.3} s: {:.1} MB/s",
        megabytes / seconds
    );
}

fn show_korean(korean: &Korean, text: &str) {
    for one in korean.analyse(text) {
        let parts: Vec<_> =
            one.parts.iter().map(|part| format!("{}/{}", part.text, part.tag)).collect();
        println!("{}/{} {}", &text[one.from..one.to], one.tag, parts.join("+"));
    }
}

fn show(list: &dyn Wordlist, text: &str) {
    let told = |all: Vec<Listed>| {
        let one = |one: &Listed| match &one.term {
            Some(term) => format!("{}/{term}", &text[one.from..one.to]),
            None => format!("\"{}\"", &text[one.from..one.to]),
        };
        all.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    println!("of a document: {}\nof a query: {}", told(list.words(text)), told(list.parts(text)));
}

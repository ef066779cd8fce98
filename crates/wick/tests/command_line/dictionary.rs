//! `wick dict add`: from a file or an index of packages, and nothing else than what is pinned.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::origin::Origin;
use crate::search::{Page, Pages, found, paths, set, settings, site, visit};
use crate::wick::{Wick, open_folder, until};

const PACK: &str = "python_mecab_ko_dic-2.1.1.post2-py3-none-any.whl";
const JAPANESE: &str = "ipadic-1.0.0.tar.gz";
const CHINESE: &str = "jieba-0.42.1.tar.gz";

fn pack(file: &str) -> Option<PathBuf> {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(file);
    if !pack.exists() {
        eprintln!("SKIPPED: no {file} in target/tools; scripts/setup test puts it there");
    }
    pack.exists().then_some(pack)
}

/// An index of packages with this file in it.
fn index(bytes: Vec<u8>) -> Origin {
    Origin::new(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("").to_owned();
        let page = format!(
            "{{\"files\":[{{\"filename\":\"other.whl\",\"url\":\"/other\"}},\
             {{\"filename\":\"{PACK}\",\"url\":\"../../files/{PACK}#sha256=0\"}}]}}"
        );
        let (status, body) = match path.as_str() {
            "/old/python-mecab-ko-dic/" => {
                ("301 Moved\r\nLocation: /simple/python-mecab-ko-dic/", &b""[..])
            }
            "/simple/python-mecab-ko-dic/" => ("200 OK", page.as_bytes()),
            path if path == format!("/files/{PACK}") => ("200 OK", bytes.as_slice()),
            _ => ("404 Not Found", &b"none"[..]),
        };
        let length = body.len();
        // Wick may have seen enough.
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        let _ = stream.write_all(body);
    })
}

fn add(language: &str, state: &Path, more: &[&str]) -> (bool, String) {
    let kept = state.display().to_string();
    let ended = Wick::run(&[&["dict", "add", language, "--state", &kept], more].concat()).end();
    (ended.status.success(), ended.told())
}

#[test]
fn a_dictionary_is_fetched_from_an_index_and_found_by() {
    let Some(pack) = pack(PACK) else { return };
    let index = index(fs::read(pack).expect("it is there"));
    let (folder, state) = (open_folder(), open_folder());
    let (is_good, told) = add("ko", state.path(), &["--index", &format!("{}/old/", index.url())]);
    assert!(is_good, "{told}");
    assert!(state.path().join("dict/ko/LICENSE").exists(), "its licence is kept");
    assert!(!state.path().join("dict/.fetched").exists());
    let pages = Pages::default();
    set(&pages, "/tree", Page::Public("나무는 자란다".into()));
    let origin = site(&pages);
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    visit(address, "/tree", "");
    // Another particle of the same noun.
    let other = "%EB%82%98%EB%AC%B4%EB%A5%BC";
    until("it is found", || paths(address, other) == ["/tree"]);
    assert!(found(address, other)["relaxed"].is_null(), "not for want of anything better");
    wick.stop();
}

#[test]
fn japanese_and_chinese_are_found_by_words_once_their_dictionaries_are_there() {
    let (Some(japanese), Some(chinese)) = (pack(JAPANESE), pack(CHINESE)) else { return };
    let (folder, state) = (open_folder(), open_folder());
    for (language, pack, licence) in [("ja", japanese, "COPYING"), ("zh", chinese, "LICENSE")] {
        let (is_good, told) = add(language, state.path(), &["--from", &pack.display().to_string()]);
        assert!(is_good, "{told}");
        let licence = state.path().join("dict").join(language).join(licence);
        assert!(licence.exists(), "its licence is kept");
    }
    let pages = Pages::default();
    set(&pages, "/printer", Page::Public("新しいプリンターが印刷していた。".into()));
    set(&pages, "/life", Page::Public("他在北京大学研究生命的起源。".into()));
    let origin = site(&pages);
    let file = settings(folder.path(), &origin, "search_crawl = false\n");
    let kept = state.path().display().to_string();
    let (wick, address) = Wick::serve(&["--config", &file, "--state", &kept]);
    visit(address, "/printer", "");
    visit(address, "/life", "");
    for (query, path) in [("印刷したプリンタ", "/printer"), ("起源研究", "/life")] {
        let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        until("it is found", || paths(address, &query) == [path]);
        assert!(found(address, &query)["relaxed"].is_null(), "not for want of anything better");
    }
    wick.stop();
}

#[test]
fn what_is_not_the_dictionary_is_not_unpacked() {
    let state = open_folder();
    let other = state.path().join("other.whl");
    fs::write(&other, "PK").expect("the folder takes files");
    let (is_good, told) = add("ko", state.path(), &["--from", &other.display().to_string()]);
    assert!(!is_good && told.contains("isn't python_mecab_ko_dic"), "{told}");
    let index = index(b"something else".to_vec());
    let (is_good, told) = add("ko", state.path(), &["--index", &format!("{}/simple", index.url())]);
    assert!(!is_good && told.contains("isn't python_mecab_ko_dic"), "{told}");
    let (is_good, told) = add("ko", state.path(), &["--index", &format!("{}/none", index.url())]);
    assert!(!is_good && told.contains("answers 404") && told.contains("--from FILE"), "{told}");
    assert!(!state.path().join("dict/ko").exists());
    // Of another language it is another one.
    let (is_good, told) = add("ja", state.path(), &["--from", &other.display().to_string()]);
    assert!(!is_good && told.contains("isn't ipadic-1.0.0.tar.gz"), "{told}");
    let (is_good, told) = add("zh", state.path(), &["--index", &format!("{}/none", index.url())]);
    assert!(!is_good && told.contains("jieba==0.42.1") && told.contains("dict add zh"), "{told}");
}

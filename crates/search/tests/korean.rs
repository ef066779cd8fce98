//! Korean by morphemes: needs the wheel of the dictionary and Debian's gimp-help-ko, which
//! `scripts/setup test` puts there; without them the tests say that they are skipped.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use search::text::{Korean, Morphemes, Pack};
use search::{Document, Index, Limits, Search, Shape, read_query};

/// Unpacked once for all tests; the folder lives as long as they run.
static DICTIONARY: LazyLock<Option<(tempfile::TempDir, Arc<Korean>)>> = LazyLock::new(|| {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let pack = Pack::of("ko").unwrap();
    let wheel = tools.join(pack.file);
    if !wheel.exists() {
        eprintln!("SKIPPED: no {} in target/tools; scripts/setup test puts it there", pack.file);
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let unpacked = folder.path().join("ko");
    pack.unpack(&wheel, &unpacked).unwrap();
    let korean = Korean::open(&unpacked).unwrap();
    Some((folder, Arc::new(korean)))
});

fn index(folder: &Path, korean: &Arc<Korean>) -> Index {
    let morphemes: Arc<dyn Morphemes> = korean.clone();
    Index::open(folder, Shape::pages(), Limits::default(), Some(morphemes)).unwrap().0
}

fn found(index: &Index, text: &str) -> Vec<u64> {
    let query = read_query(text, index.shape());
    let search = Search { query, limit: 10_000, max_matches: 10_000, ..Search::default() };
    let mut ids: Vec<u64> = index.search(&search).unwrap().hits.iter().map(|hit| hit.id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_sentence_has_its_morphemes() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let check = |text: &str, expected: &str| {
        let all = korean.analyse(text);
        let said: Vec<_> =
            (all.iter()).map(|one| format!("{}/{}", &text[one.from..one.to], one.tag)).collect();
        assert_eq!(said.join(" "), expected, "{text}");
    };
    check(
        "PHP-mecab 한글테스트중입니다. 무궁화꽃이 피었습니다",
        "PHP/SL -/SY mecab/SL 한글/NNG 테스트/NNG 중/NNB 입니다/VCP+EF ./SF \
         무궁화/NNG 꽃/NNG 이/JKS 피/VV 었/EP 습니다/EF",
    );
    check("", "");
    check("   ", "");
    check(" 나무 ", "나무/NNG");
}

#[test]
fn any_text_comes_to_an_end() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    for text in [
        "ㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋㅋ",
        "\u{10FFFF}\u{FFFF}",
        "가\u{301}나",
        "\u{1100}\u{1161}",
    ] {
        let mut behind = 0;
        for one in korean.analyse(text) {
            assert!(one.from >= behind && text.get(one.from..one.to).is_some(), "{text}: {one:?}");
            behind = one.to;
        }
        assert_eq!(behind, text.len(), "{text}");
    }
}

#[test]
fn the_forms_of_a_noun_find_the_same_pages() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let help = PathBuf::from("/usr/share/gimp/2.0/help/ko");
    let Ok(entries) = std::fs::read_dir(&help) else {
        eprintln!("SKIPPED: no gimp-help-ko; scripts/setup test puts it there");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), korean);
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "html"));
    paths.sort();
    // A part of the pages, for the test is built without optimisation.
    for (id, path) in (1..).zip(paths.iter().step_by(5)) {
        let text = without_tags(&std::fs::read_to_string(path).unwrap());
        index.put(Document {
            id,
            fields: vec![String::new(), String::new(), text],
            attributes: vec![],
        });
    }
    index.commit();
    for (noun, particles) in [
        ("레이어", ["를", "는", "에"]),
        ("이미지", ["를", "의", "에서"]),
        ("선택", ["을", "은", "이"]),
    ] {
        let plain = found(&index, noun);
        assert!(plain.len() > 5, "{noun}: {plain:?}");
        for particle in particles {
            let form = format!("{noun}{particle}");
            assert_eq!(found(&index, &form), plain, "{form}");
        }
    }
}

#[test]
fn another_dictionary_is_another_format() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = "무궁화꽃이 피었습니다. 나무는 푸르다.".to_owned();
    let document = Document { id: 1, fields: vec![text], attributes: vec![] };
    let index = index(folder.path(), korean);
    index.put(document.clone());
    index.commit();
    assert_eq!(found(&index, "꽃을"), [1]);
    assert_eq!(found(&index, "나무에"), [1]);
    assert_eq!(found(&index, "피었다"), [1]);
    drop(index);
    let (index, opened) =
        Index::open(folder.path(), Shape::pages(), Limits::default(), None).unwrap();
    assert!(matches!(opened, search::Opened::BegunAnew(_)), "{opened:?}");
    assert!(index.takes_wish_for_sources());
}

#[test]
fn a_damaged_dictionary_is_told_and_nothing_panics() {
    let Some((unpacked, korean)) = &*DICTIONARY else { return };
    let source = unpacked.path().join("ko");
    let folder = tempfile::tempdir().unwrap();
    for name in ["unk.dic", "matrix.bin", "char.bin", "dicrc", "sys.dic"] {
        std::fs::copy(source.join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("sys.dic");
    let mut bytes = std::fs::read(&path).unwrap();
    // Its sizes are right, and what they lead to is not.
    bytes[72..]
        .iter_mut()
        .step_by(7)
        .for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
    std::fs::write(&path, &bytes).unwrap();
    let broken = Korean::open(folder.path()).unwrap();
    drop(broken.analyse("무궁화꽃이 피었습니다. 나무는 푸르다."));
    std::fs::write(&path, &bytes[..1000]).unwrap();
    assert!(Korean::open(folder.path()).is_err());
    assert!(korean.analyse("나무").len() == 1);
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(begin) = rest.find('<') {
        text.push_str(&rest[..begin]);
        text.push(' ');
        let Some(end) = rest[begin..].find('>') else { break };
        rest = &rest[begin + end + 1..];
    }
    text
}

//! Korean by morphemes: needs the wheel of the dictionary, Debian's gimp-help-ko, and what is in
//! its libreoffice-help-ko, which `scripts/setup test` puts there; without them the tests say that
//! they are skipped.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod marked;

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use marked::marked;
use search::text::{Korean, Morphemes, Pack};
use search::{Document, Index, Limits, Search, Shape, read_query};

/// Unpacked once for all tests; the folder lives as long as they run.
static DICTIONARY: LazyLock<Option<(tempfile::TempDir, Arc<Korean>)>> = LazyLock::new(|| {
    let pack = Pack::of("ko").unwrap();
    let wheel = tools().join(pack.file);
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

/// Where `scripts/setup test` puts what is no package.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools")
}

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
    // A genitive whose noun isn't there, and words that only end as it does.
    check("문서의", "문서/NNG 의/JKG");
    check("이 파일의", "이/MM 파일/NNG 의/JKG");
    check("회의", "회의/NNG");
    check("사용자 정의", "사용/NNG 자/XSN 정의/NNG");
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

/// The HTML below a folder, sorted; none where the folder isn't there.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let (mut pages, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = path.path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(end) if end == "html" => pages.push(path),
                _ => {}
            }
        }
    }
    pages.sort();
    pages
}

/// That in a part of these pages the forms of nouns find the same: all would take too long for a
/// test that is built without optimisation.
fn find_the_same(
    korean: &Arc<Korean>,
    pages: &[PathBuf],
    main: fn(&str) -> &str,
    nouns: &[(&str, &[&str])],
) {
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), korean);
    for (id, path) in (1..).zip(pages) {
        let text = without_tags(main(&std::fs::read_to_string(path).unwrap()));
        index.put(Document {
            id,
            fields: vec![String::new(), String::new(), text],
            attributes: vec![],
        });
    }
    index.commit();
    for (noun, particles) in nouns {
        let plain = found(&index, noun);
        assert!(plain.len() > 5, "{noun}: {plain:?}");
        for particle in *particles {
            let form = format!("{noun}{particle}");
            assert_eq!(found(&index, &form), plain, "{form}");
        }
    }
}

#[test]
fn the_forms_of_a_noun_find_the_same_pages() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let pages = pages(Path::new("/usr/share/gimp/2.0/help/ko"));
    if pages.is_empty() {
        eprintln!("SKIPPED: no gimp-help-ko; scripts/setup test puts it there");
        return;
    }
    let some: Vec<PathBuf> = pages.into_iter().step_by(5).collect();
    find_the_same(
        korean,
        &some,
        |html| html,
        &[
            ("레이어", &["를", "는", "에", "의"]),
            ("이미지", &["를", "의", "에서"]),
            ("선택", &["을", "은", "이"]),
        ],
    );
}

#[test]
fn the_forms_of_a_noun_find_the_same_pages_of_an_office() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let pages = pages(&tools().join("libreoffice-help-ko/usr/share/libreoffice/help/ko/text"));
    if pages.is_empty() {
        eprintln!(
            "SKIPPED: no libreoffice-help-ko in target/tools; scripts/setup test puts it there"
        );
        return;
    }
    let some: Vec<PathBuf> = pages.into_iter().step_by(13).collect();
    find_the_same(
        korean,
        &some,
        // What stands in the footer is on all of them.
        |html| {
            let main = html.split_once("id=\"DisplayArea\"").map_or("", |(_, main)| main);
            main.split_once("<footer").map_or(main, |(main, _)| main)
        },
        &[
            ("문서", &["를", "는", "에서", "의"]),
            ("함수", &["를", "는", "로", "의"]),
            ("셀", &["을", "은", "의"]),
            ("텍스트", &["를", "는", "에", "의"]),
        ],
    );
}

#[test]
fn a_snippet_marks_a_noun_whatever_follows_it() {
    let Some((_, korean)) = &*DICTIONARY else { return };
    let folder = tempfile::tempdir().unwrap();
    let index = index(folder.path(), korean);
    let text = "무궁화꽃이 피었습니다. 나무는 푸르고 꽃을 보았다.".to_owned();
    index.put(Document {
        id: 1,
        fields: vec![String::new(), String::new(), text],
        attributes: vec![],
    });
    index.commit();
    let look = |text: &str| marked(&index, text, 2, 100);
    assert_eq!(look("나무에"), "무궁화꽃이 피었습니다. [나무]는 푸르고 꽃을 보았다.");
    assert_eq!(look("꽃은"), "무궁화[꽃]이 피었습니다. 나무는 푸르고 [꽃]을 보았다.");
    assert_eq!(look("무궁화를"), "[무궁화]꽃이 피었습니다. 나무는 푸르고 꽃을 보았다.");
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

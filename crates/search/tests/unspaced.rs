//! Japanese and Chinese by words: needs the packages of their dictionaries, which
//! `scripts/setup test` puts into `target/tools`; without them the tests say that they are skipped.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use search::text::{Chinese, Dictionaries, Japanese, Listed, Pack, Wordlist};
use search::{Document, Index, Limits, Search, Shape, Snippets, Value, read_query};

static UNPACKED: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());
/// Unpacked once for all tests; the folder lives as long as they run.
static JAPANESE: LazyLock<Option<Arc<Japanese>>> =
    LazyLock::new(|| unpacked("ja").then(|| Arc::new(Japanese::open(&folder_of("ja")).unwrap())));
static CHINESE: LazyLock<Option<Arc<Chinese>>> =
    LazyLock::new(|| unpacked("zh").then(|| Arc::new(Chinese::open(&folder_of("zh")).unwrap())));

fn folder_of(code: &str) -> std::path::PathBuf {
    UNPACKED.path().join(code)
}

fn unpacked(code: &str) -> bool {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let pack = Pack::of(code).unwrap();
    let package = tools.join(pack.file);
    if !package.exists() {
        eprintln!("SKIPPED: no {} in target/tools; scripts/setup test puts it there", pack.file);
        return false;
    }
    pack.unpack(&package, &folder_of(code)).unwrap();
    true
}

fn japanese() -> Option<Dictionaries> {
    let japanese = Some(JAPANESE.clone()? as Arc<dyn Wordlist>);
    Some(Dictionaries { japanese, ..Dictionaries::default() })
}

fn chinese() -> Option<Dictionaries> {
    let chinese = Some(CHINESE.clone()? as Arc<dyn Wordlist>);
    Some(Dictionaries { chinese, ..Dictionaries::default() })
}

fn both() -> Option<Dictionaries> {
    Some(Dictionaries { chinese: chinese()?.chinese, ..japanese()? })
}

/// An index of these texts, numbered from 1 on.
fn index(dictionaries: Dictionaries, texts: &[&str]) -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let (index, _) =
        Index::open(folder.path(), Shape::pages(), Limits::default(), dictionaries).unwrap();
    for (id, text) in (1..).zip(texts) {
        let fields = vec![String::new(), String::new(), (*text).to_owned()];
        index.put(Document { id, fields, attributes: vec![] });
    }
    index.commit();
    (folder, index)
}

/// What is found, the best first.
fn ranked(index: &Index, text: &str) -> Vec<u64> {
    let query = read_query(text, index.shape());
    let search = Search { query, limit: 10_000, max_matches: 10_000, ..Search::default() };
    index.search(&search).unwrap().hits.iter().map(|hit| hit.id).collect()
}

fn found(index: &Index, text: &str) -> BTreeSet<u64> {
    ranked(index, text).into_iter().collect()
}

fn check(index: &Index, queries: &[&str], expected: &[u64]) {
    for query in queries {
        let expected: BTreeSet<u64> = expected.iter().copied().collect();
        assert_eq!(found(index, query), expected, "{query}");
    }
}

const JAPANESE_TEXTS: [&str; 7] = [
    "プリンターの設定を変更してください。",
    "新しいプリンタは、印刷が速い。",
    "猫が庭を走っていた。",
    "犬と走れば間に合うでしょう。",
    "画像を保存できませんでした。",
    "保存した画像が見つからない場合は、設定を確認します。",
    "関西国際空港へ行きました。東京都庁は遠い。",
];

fn terms(all: Vec<Listed>) -> String {
    all.into_iter().filter_map(|one| one.term).collect::<Vec<_>>().join("/")
}

/// What MeCab itself makes of these, but for what holds a sentence together.
#[test]
fn japanese_is_taken_apart_as_mecab_does_it() {
    let Some(japanese) = &*JAPANESE else { return };
    for (text, expected) in [
        ("プリンターの設定を変更してください", "プリンタ/設定/変更"),
        ("すもももももももものうち", "すもも/もも/もも"),
        ("走れば間に合う", "走る/間に合う"),
        ("利用者の皆さん", "利用/者/皆さん"),
        ("食べられなかった", "食べる"),
        ("美しかった花", "美しい/花"),
        ("お問い合わせ", "問い合わせ"),
        ("フォントサイズを大きくする", "フォント/サイズ/大きい"),
        ("新しいレイヤーを追加する", "新しい/レイヤ/追加"),
        ("東京都庁へ行きました", "東京/都庁/行く"),
        ("", ""),
    ] {
        assert_eq!(terms(japanese.words(text)), expected, "{text}");
    }
    let long = "長い文章が続く".repeat(3000);
    assert_eq!(japanese.words(&long).len(), 3 * 3000);
}

#[test]
fn japanese_is_found_whatever_follows_a_word() {
    let Some(dictionaries) = japanese() else { return };
    let (_folder, index) = index(dictionaries, &JAPANESE_TEXTS);
    check(&index, &["プリンター", "プリンタ", "プリンターを", "プリンタには", "ﾌﾟﾘﾝﾀｰ"], &[1, 2]);
    check(&index, &["設定", "設定を", "設定する", "設定した"], &[1, 6]);
    check(&index, &["走る", "走った", "走れ", "走らない"], &[3, 4]);
    check(&index, &["画像の保存", "画像を保存する", "保存された画像"], &[5, 6]);
    check(&index, &["行く", "行った"], &[7]);
    check(&index, &["空港", "都庁", "東京"], &[7]);
    // What is written in quotes or left out is what is written.
    check(&index, &["\"画像を保存\"", "画像 -保存した"], &[5]);
}

#[test]
fn chinese_is_found_by_its_words_in_any_order() {
    let Some(dictionaries) = chinese() else { return };
    let list = dictionaries.chinese.clone().unwrap();
    for (text, words, parts) in [
        ("研究生命起源", "研究/生命/起源", "研究/生命/起源"),
        ("北京大学", "北京大学/北京/大学", "北京大学"),
        ("长春市长春药店", "长春市/长春/长春/药店", "长春市/长春/药店"),
        ("我的电脑", "电脑", "电脑"),
    ] {
        assert_eq!(terms(list.words(text)), words, "{text}");
        assert_eq!(terms(list.parts(text)), parts, "{text}");
    }
    let texts = [
        "他在北京大学研究生命的起源。",
        "生命从哪里来？关于起源的研究很多。",
        "海外华人回到了故乡。",
        "中华人民共和国成立了。中华人民。",
        "電腦軟體需要更新。",
        "微信支付失败了，请重试。",
    ];
    let (_folder, index) = index(dictionaries, &texts);
    check(&index, &["北京大学", "大学", "北京", "京大"], &[1]);
    check(&index, &["研究生命起源", "起源研究", "生命的起源"], &[1, 2]);
    check(&index, &["電腦軟體", "更新電腦", "軟體的更新"], &[5]);
    check(&index, &["微信支付", "支付失败怎么办", "支付微信"], &[6]);
    // Where it is a word it comes first, however often it stands elsewhere.
    assert_eq!(ranked(&index, "华人"), [3, 4]);
}

#[test]
fn nothing_is_lost_by_a_dictionary() {
    let Some(dictionaries) = both() else { return };
    let texts = [
        &JAPANESE_TEXTS[..],
        &[
            "北京大学的研究生命起源",
            "東京大学",
            "PCの設定とCPU",
            "ｶﾞｰﾄﾞ か\u{3099}",
            "ภาษาไทย と中文",
        ],
    ]
    .concat();
    let (_one, with) = index(dictionaries, &texts);
    let (_other, without) = index(Dictionaries::default(), &texts);
    for text in &texts {
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for length in 1..=5 {
            for ends in places.windows(length + 1).step_by(2) {
                let query = &text[ends[0]..ends[length]];
                let (more, less) = (found(&with, query), found(&without, query));
                assert!(more.is_superset(&less), "{query}: {more:?} {less:?}");
            }
        }
    }
}

#[test]
fn what_japanese_and_chinese_write_alike_is_found_in_both() {
    let Some(dictionaries) = both() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (index, _) =
        Index::open(folder.path(), Shape::pages(), Limits::default(), dictionaries).unwrap();
    for (id, title, text, language) in [
        (1, "東京大学入学試験", "試験は三月に行われます。", "ja"),
        (2, "北京大学入学考试", "考试在三月举行。", "zh-CN"),
        // Nobody says which it is, or says something wrong.
        (3, "大学", "大学の試験に行った。", "en"),
        (4, "大学", "大学的考试很难，学生很多。", ""),
    ] {
        let fields = vec![title.to_owned(), String::new(), text.to_owned()];
        let attributes = vec![Value::Text(String::new()), Value::Text(language.to_owned())];
        index.put(Document { id, fields, attributes });
    }
    index.commit();
    check(&index, &["大学"], &[1, 2, 3, 4]);
    check(&index, &["大学試験", "試験の大学"], &[1, 3]);
    check(&index, &["大学考试", "考试的大学"], &[2, 4]);
    check(&index, &["行う"], &[1]);
    check(&index, &["行く"], &[3]);
}

#[test]
fn another_form_is_marked_in_an_excerpt() {
    let Some(dictionaries) = japanese() else { return };
    let (_folder, index) = index(dictionaries, &JAPANESE_TEXTS);
    let query = read_query("走る", index.shape());
    let wish = Snippets::default();
    let pieces = index.excerpt(JAPANESE_TEXTS[2], 2, &query, &wish);
    let marked: Vec<&str> = (pieces.iter())
        .flat_map(|piece| piece.marks.iter().map(|(from, to)| &piece.text[*from..*to]))
        .collect();
    assert_eq!(marked, ["走っ"]);
}

#[test]
fn each_dictionary_is_a_format_of_its_own() {
    let (Some(japanese), Some(both)) = (japanese(), both()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let open = |dictionaries: Dictionaries| {
        Index::open(folder.path(), Shape::pages(), Limits::default(), dictionaries).unwrap().1
    };
    drop(open(Dictionaries::default()));
    assert!(matches!(open(Dictionaries::default()), search::Opened::AsItWas));
    assert!(matches!(open(japanese.clone()), search::Opened::BegunAnew(_)));
    assert!(matches!(open(japanese), search::Opened::AsItWas));
    assert!(matches!(open(both), search::Opened::BegunAnew(_)));
}

#[test]
fn damaged_dictionaries_are_told_and_nothing_panics() {
    let folder = tempfile::tempdir().unwrap();
    let told = Chinese::open(folder.path()).err().unwrap().to_string();
    assert!(told.contains("the Chinese dictionary in") && told.contains("dict add zh"), "{told}");
    let told = Japanese::open(folder.path()).err().unwrap().to_string();
    assert!(told.contains("the Japanese dictionary in") && told.contains("dict add ja"), "{told}");
    if JAPANESE.is_none() || CHINESE.is_none() {
        return;
    }
    let spoil = |bytes: &mut [u8]| {
        bytes.iter_mut().step_by(7).for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
    };
    for name in ["unk.dic", "matrix.bin", "char.bin", "sys.dic"] {
        std::fs::copy(folder_of("ja").join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("sys.dic");
    let mut bytes = std::fs::read(&path).unwrap();
    spoil(&mut bytes[72..]);
    std::fs::write(&path, &bytes).unwrap();
    let broken = Japanese::open(folder.path()).unwrap();
    drop(broken.words(JAPANESE_TEXTS[0]));
    std::fs::write(&path, &bytes[..1000]).unwrap();
    assert!(Japanese::open(folder.path()).is_err());
    let path = folder.path().join("words.bin");
    let mut bytes = std::fs::read(folder_of("zh").join("words.bin")).unwrap();
    let whole = bytes.len();
    std::fs::write(&path, &bytes[..whole - 1]).unwrap();
    assert!(Chinese::open(folder.path()).is_err());
    spoil(&mut bytes[24..]);
    std::fs::write(&path, &bytes).unwrap();
    let broken = Chinese::open(folder.path()).unwrap();
    drop((broken.words("北京大学的研究生命起源"), broken.parts("北京大学的研究生命起源")));
}

#[test]
fn licences_are_kept() {
    if JAPANESE.is_some() {
        // It isn't UTF-8 throughout.
        let told = std::fs::read(folder_of("ja").join("COPYING")).unwrap();
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains("Nara Institute of Science"), "{told}");
    }
    if CHINESE.is_some() {
        let told = std::fs::read_to_string(folder_of("zh").join("LICENSE")).unwrap();
        assert!(told.contains("Sun Junyi"), "{told}");
    }
}

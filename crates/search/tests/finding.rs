//! What queries find: a shelf of documents, and lines of a query and the ids it brings.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod marked;

use std::sync::LazyLock;

use marked::marked;
use search::{
    AttributeKind, Document, FacetWish, Filter, FilterKind, Freshness, Group, GroupBy, Index,
    Limits, Popularity, Ranking, Search, Shape, Sort, SortKey, SphinxMode, Value, read_query,
    read_sphinx,
};

/// id, title, text, topic, made at, author, tags.
type Row = (u64, &'static str, &'static str, i64, i64, &'static str, &'static [i64]);

const SHELF: &[Row] = &[
    (1, "Running shoes", "We sell shoes for runners in every size of foot.", 10, 100, "anna", &[1]),
    (2, "Hats", "A hat is worn on the head, and not on the foot.", 10, 300, "bert", &[1, 2]),
    (3, "Schuhe", "Die Häuser der Schuster stehen in der Straße am Fluss.", 11, 200, "anna", &[]),
    (
        4,
        "Settings",
        "The file wick.toml keeps sql_query and C settings of the server.",
        12,
        50,
        "Zoe",
        &[3],
    ),
    (5, "東京都の天気", "今日の東京都は晴れ。京都は雨。", 13, 400, "bert", &[2]),
    (6, "한글 안내", "무궁화꽃이 피었습니다. 나무는 푸르다.", 13, 500, "çelik", &[2, 3]),
    (7, "Order", "alpha beta gamma delta epsilon", 14, 600, "", &[]),
    (8, "Order again", "delta gamma beta alpha zeta", 14, 700, "anna", &[9]),
    (9, "To be", "To be or not to be, that is the question.", 15, 5_000_000, "will", &[]),
];

static SHELVED: LazyLock<(tempfile::TempDir, Index)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), shape(), Limits::default(), None).unwrap().0;
    for (number, row) in SHELF.iter().enumerate() {
        index.put(document(row));
        // In several parts, so that orders and groups go over them.
        if number % 3 == 2 {
            index.commit();
        }
    }
    index.commit();
    (folder, index)
});

fn shape() -> Shape {
    Shape::new("shelf")
        .field("title", 3.0)
        .field("text", 1.0)
        .attribute("topic", AttributeKind::Uint)
        .attribute("made", AttributeKind::Timestamp)
        .attribute("author", AttributeKind::Text)
        .attribute("tags", AttributeKind::Multi)
        .attribute("price", AttributeKind::Float)
}

fn document(row: &Row) -> Document {
    let (id, title, text, topic, made, author, tags) = *row;
    Document {
        id,
        fields: vec![title.to_owned(), text.to_owned()],
        attributes: vec![
            Value::Int(topic),
            Value::Int(made),
            Value::Text(author.to_owned()),
            Value::Multi(tags.to_vec()),
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            Value::Float(id as f64 / 2.0),
        ],
    }
}

fn ids(search: &Search) -> Vec<u64> {
    SHELVED.1.search(search).unwrap().hits.iter().map(|hit| hit.id).collect()
}

/// The ids in their own order: which come, not which come first.
fn sorted(mut ids: Vec<u64>) -> Vec<u64> {
    ids.sort_unstable();
    ids
}

fn site(text: &str, expected: &[u64]) {
    let query = read_query(text, SHELVED.1.shape());
    let found = ids(&Search { query: query.clone(), ..Search::default() });
    assert_eq!(sorted(found), expected, "{text}: {query:?}");
}

fn sphinx(text: &str, expected: &[u64]) {
    let query = read_sphinx(text, SHELVED.1.shape(), SphinxMode::Extended).unwrap();
    let found = ids(&Search { query: query.clone(), ..Search::default() });
    assert_eq!(sorted(found), expected, "{text}: {query:?}");
}

#[test]
fn a_person_finds_by_words() {
    site("foot", &[1, 2]);
    site("FOOT shoe", &[1]);
    site("hat OR shoes", &[1, 2]);
    site("foot -hat", &[1]);
    site("foot NOT hat", &[1]);
    site("title:hats", &[2]);
    site("title:foot", &[]);
    site("\"on the head\"", &[2]);
    site("\"head the on\"", &[]);
    site("(hat | schuhe) foot", &[2]);
    site("to be or not to be", &[9]);
    site("", &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    site("?!?", &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    site("\"", &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    site("((((foot", &[1, 2]);
    site("foot)))", &[1, 2]);
    site("-foot", &[3, 4, 5, 6, 7, 8, 9]);
    site("https://example.org/foot?x=1", &[]);
}

#[test]
fn other_forms_of_a_word_are_found() {
    site("runner", &[1]);
    site("haus", &[3]);
    site("strasse", &[3]);
    site("Straße", &[3]);
    site("=runner", &[]);
    site("=runners", &[1]);
    site("shoos~", &[1]);
    site("hsoes~", &[1]);
    site("sett*", &[4]);
    site("*ings", &[4]);
    site("se*gs", &[4]);
    site("ep?ilon", &[7]);
    site("wick.toml", &[4]);
    site("C", &[4]);
    site("sql_query", &[4]);
}

#[test]
fn two_characters_are_enough() {
    site("東京", &[5]);
    site("京都", &[5]);
    site("東京都", &[5]);
    site("都東", &[]);
    site("雨", &[5]);
    site("晴", &[5]);
    site("나무", &[6]);
    site("꽃", &[6]);
    site("한글", &[6]);
}

#[test]
fn sphinx_operators_mean_what_they_mean_there() {
    sphinx("alpha beta | zeta", &[7, 8]);
    sphinx("alpha !zeta", &[7]);
    sphinx("alpha -(zeta | foo)", &[7]);
    sphinx("\"alpha beta\"", &[7]);
    sphinx("\"beta alpha\"", &[8]);
    sphinx("\"alpha gamma\"~2", &[7, 8]);
    sphinx("\"alpha gamma\"~1", &[]);
    sphinx("\"alpha epsilon zeta nothing\"/2", &[7, 8]);
    sphinx("\"alpha epsilon zeta nothing\"/3", &[]);
    sphinx("\"alpha epsilon zeta nothing\"/0.5", &[7, 8]);
    sphinx("alpha << gamma", &[7]);
    sphinx("gamma << alpha", &[8]);
    sphinx("alpha << \"gamma delta\"", &[7]);
    sphinx("alpha NEAR/3 delta", &[7, 8]);
    sphinx("alpha NEAR/2 delta", &[]);
    sphinx("alpha MAYBE epsilon", &[7, 8]);
    sphinx("^alpha", &[7]);
    sphinx("zeta$", &[8]);
    sphinx("^order$", &[7]);
    sphinx("@title order @text epsilon", &[7]);
    sphinx("@(title,text) hat", &[2]);
    sphinx("@!title shoes", &[1]);
    sphinx("@text[2] beta", &[7]);
    sphinx("@text[3] beta", &[7, 8]);
    sphinx("@title (order again) @* zeta", &[8]);
    sphinx("alp* ~", &[7, 8]);
    sphinx("alpha^2 beta", &[7, 8]);
    sphinx("\\@title", &[]);
    sphinx("", &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn sphinx_says_what_is_wrong() {
    for (text, reason) in [
        ("@nosuch foot", "no field 'nosuch'"),
        ("(foot", "a bracket isn't closed"),
        ("foot)", "unexpected ')'"),
        ("\"foot", "a quote isn't closed"),
        ("| foot", "unexpected '|'"),
    ] {
        let error = read_sphinx(text, &shape(), SphinxMode::Extended).unwrap_err();
        assert!(error.to_string().contains(reason), "{text}: {error}");
    }
    let deep = "(".repeat(10_000);
    assert!(read_sphinx(&deep, &shape(), SphinxMode::Extended).is_err());
    let _ = read_query(&deep, &shape());
    let _ = read_query(&"-".repeat(10_000), &shape());
}

#[test]
fn filters_orders_and_pages() {
    let by = |key, is_descending| vec![Sort { key, is_descending }];
    let filter = |attribute, kind| Filter { attribute, kind, is_excluded: false };
    let all = Search::default();
    let check = |search: Search, expected: &[u64]| assert_eq!(ids(&search), expected, "{search:?}");

    let made = SortKey::Attribute(1);
    check(Search { sort: by(made, true), limit: 3, ..all.clone() }, &[9, 8, 7]);
    check(Search { sort: by(made, false), offset: 2, limit: 2, ..all.clone() }, &[3, 2]);
    check(Search { sort: by(made, false), max_matches: 2, ..all.clone() }, &[4, 1]);
    // By bytes, the empty one first, equal ones by id.
    check(
        Search { sort: by(SortKey::Attribute(2), false), ..all.clone() },
        &[7, 4, 1, 3, 8, 2, 5, 9, 6],
    );
    check(Search { sort: by(SortKey::Attribute(2), true), limit: 4, ..all.clone() }, &[6, 9, 2, 5]);
    let with = |filters| Search { filters, sort: by(SortKey::Id, false), ..all.clone() };
    check(with(vec![filter(Some(0), FilterKind::In(vec![13, 10]))]), &[1, 2, 5, 6]);
    check(with(vec![filter(Some(1), FilterKind::Range(200, 400))]), &[2, 3, 5]);
    check(with(vec![filter(Some(3), FilterKind::In(vec![2]))]), &[2, 5, 6]);
    check(with(vec![filter(Some(4), FilterKind::FloatRange(0.9, 1.5))]), &[2, 3]);
    check(with(vec![filter(Some(2), FilterKind::TextIn(vec!["anna".into()]))]), &[1, 3, 8]);
    check(with(vec![filter(None, FilterKind::In(vec![4, 9, 77]))]), &[4, 9]);
    let mut not = filter(Some(3), FilterKind::In(vec![1, 2, 3]));
    not.is_excluded = true;
    check(with(vec![not]), &[3, 7, 8, 9]);
    let unfit = with(vec![filter(Some(2), FilterKind::In(vec![1]))]);
    assert!(SHELVED.1.search(&unfit).is_err());
    assert!(SHELVED.1.search(&with(vec![filter(Some(99), FilterKind::In(vec![]))])).is_err());
}

#[test]
fn groups_show_their_best_and_how_many_they_are() {
    let within = vec![Sort { key: SortKey::Attribute(1), is_descending: true }];
    let group = Group { by: GroupBy::Attribute(0), within: within.clone() };
    let sort = vec![
        Sort { key: SortKey::GroupCount, is_descending: true },
        Sort { key: SortKey::GroupKey, is_descending: false },
    ];
    let search = Search { group: Some(group), sort, ..Search::default() };
    let found = SHELVED.1.search(&search).unwrap();
    let shown: Vec<_> = (found.hits.iter())
        .map(|hit| (hit.id, hit.group_count, hit.group_key.clone().unwrap()))
        .collect();
    let key = Value::Int;
    let expected = [
        (2, 2, key(10)),
        (6, 2, key(13)),
        (8, 2, key(14)),
        (3, 1, key(11)),
        (4, 1, key(12)),
        (9, 1, key(15)),
    ];
    assert_eq!(shown, expected);
    assert_eq!(found.total_found, 6);

    let by_author = Group { by: GroupBy::Attribute(2), within };
    let sort = vec![Sort { key: SortKey::GroupCount, is_descending: true }];
    let search = Search { group: Some(by_author), sort, limit: 2, ..Search::default() };
    let found = SHELVED.1.search(&search).unwrap();
    let shown: Vec<_> = found.hits.iter().map(|hit| (hit.id, hit.group_count)).collect();
    assert_eq!(shown, [(8, 3), (5, 2)]);
}

#[test]
fn words_that_mean_the_same_are_found_by_each_other() {
    let synonyms: search::Synonyms = [
        vec!["headgear".to_owned(), "hat".to_owned()],
        vec!["Straßenhaus".to_owned(), "Häuser der Schuster".to_owned()],
    ]
    .into();
    let look = |text: &str| {
        let query = read_query(text, SHELVED.1.shape());
        ids(&Search { query, synonyms: synonyms.clone(), ..Search::default() })
    };
    for (text, expected) in [
        ("headgear", &[2][..]),
        ("HEADGEAR foot", &[2]),
        ("foot -headgear", &[1]),
        ("straßenhaus", &[3]),
        ("\"headgear\"", &[]),
        ("=headgear", &[]),
        ("hat", &[2]),
    ] {
        assert_eq!(look(text), expected, "{text}");
    }
    // Whoever asks is told of their own words.
    let query = read_query("headgear nothing shoes", SHELVED.1.shape());
    let search = Search { query, synonyms, relax: true, ..Search::default() };
    let found = SHELVED.1.search(&search).unwrap();
    assert_eq!(found.relaxed.as_deref(), Some("any of the words"));
}

#[test]
fn what_is_new_or_often_asked_for_is_a_little_better_and_no_more() {
    let first = |ranking: Ranking| {
        let query = read_query("delta gamma", SHELVED.1.shape());
        ids(&Search { query, ranking, ..Search::default() })[0]
    };
    let plain = Ranking { has_proximity: false, ..Ranking::default() };
    let fresh = |weight| Some(Freshness { attribute: 1, now: 700, half_life_seconds: 10, weight });
    let popular = |weight| Some(Popularity { attribute: 0, weight });
    assert_eq!(first(Ranking { freshness: fresh(0.2), ..plain.clone() }), 8);
    // Both have the same count.
    assert_eq!(first(Ranking { popularity: popular(0.1), ..plain.clone() }), first(plain.clone()));
    let query = read_query("hat OR question", SHELVED.1.shape());
    let ranking = Ranking { freshness: fresh(0.2), popularity: popular(0.05), ..plain };
    let search = Search { query, ranking, ..Search::default() };
    let boosted = SHELVED.1.search(&search).unwrap();
    let plain =
        Search { ranking: Ranking { has_proximity: false, ..Ranking::default() }, ..search };
    for hit in SHELVED.1.search(&plain).unwrap().hits {
        let other = boosted.hits.iter().find(|other| other.id == hit.id).unwrap();
        let factor = other.score / hit.score;
        assert!((1.0..=1.45).contains(&factor), "{}: {factor}", hit.id);
    }
}

#[test]
fn values_are_counted() {
    let facets = vec![FacetWish { attribute: 2, limit: 2 }, FacetWish { attribute: 3, limit: 9 }];
    let found = SHELVED.1.search(&Search { facets, ..Search::default() }).unwrap();
    let text = |name: &str| Value::Text(name.to_owned());
    assert_eq!(found.facets[0].values, [(text("anna"), 3), (text("bert"), 2)]);
    let int = Value::Int;
    assert_eq!(found.facets[1].values, [(int(2), 3), (int(1), 2), (int(3), 2), (int(9), 1)]);
}

#[test]
fn what_stands_together_and_in_the_title_comes_first() {
    let first = |text: &str| {
        let query = read_query(text, SHELVED.1.shape());
        ids(&Search { query, ..Search::default() })[0]
    };
    assert_eq!(first("order again"), 8);
    assert_eq!(first("epsilon OR zeta OR again"), 8);
}

#[test]
fn less_is_looked_for_where_nothing_is_found_and_it_is_said() {
    let look = |text: &str| {
        let query = read_query(text, SHELVED.1.shape());
        SHELVED.1.search(&Search { query, relax: true, ..Search::default() }).unwrap()
    };
    let check = |text: &str, relaxed: Option<&str>, meant: Option<&str>, ids: &[u64]| {
        let found = look(text);
        let hits: Vec<u64> = sorted(found.hits.iter().map(|hit| hit.id).collect());
        assert_eq!(found.relaxed.as_deref(), relaxed, "{text}");
        assert_eq!(found.did_you_mean.as_deref(), meant, "{text}");
        assert_eq!(hits, ids, "{text}");
    };
    check("foot shoes", None, None, &[1]);
    check("\"shoes foot\"", Some("all of the words, wherever they stand"), None, &[1]);
    check("alpha beta nothing", Some("most of the words"), None, &[7, 8]);
    check("hat nothing", Some("any of the words"), None, &[2]);
    check("quesion", Some("words that are written alike"), Some("question"), &[9]);
    check("hat nothing -foot", None, None, &[]);
    check("qqqqqqqq", None, None, &[]);
}

#[test]
fn a_query_goes_on_by_what_is_there() {
    let suggest = |text: &str| {
        let all = SHELVED.1.suggest(text, 3);
        all.into_iter().map(|one| one.text).collect::<Vec<_>>()
    };
    assert_eq!(suggest("red sh"), ["red shoes"]);
    assert_eq!(suggest("An"), ["Anand"].map(|_| "and".to_owned()));
    assert_eq!(suggest(""), [""; 0]);
    assert_eq!(suggest("foot "), [""; 0]);
    assert_eq!(suggest("東"), ["東京"]);
}

#[test]
fn excerpts_mark_what_was_found() {
    let look = |text: &str| marked(&SHELVED.1, text, 1, 30);
    assert_eq!(look("runner"), "for [runners] in every size of");
    assert_eq!(look("haus"), "Die [Häuser] der Schuster");
    assert_eq!(look("東京都"), "今日の[東京都]は晴れ。[京都]は雨。");
    assert_eq!(look("question"), "to be, that is the [question].");
    assert_eq!(look("ep*"), "alpha beta gamma delta [epsilon]");
}

#[test]
fn words_are_counted_for_who_asks() {
    let query = read_query("=foot =be", SHELVED.1.shape());
    let found = SHELVED.1.search(&Search { query, has_words: true, ..Search::default() }).unwrap();
    let counts: Vec<_> =
        found.words.iter().map(|one| (one.word.as_str(), one.documents, one.hits)).collect();
    assert_eq!(counts, [("foot", 2, 2), ("be", 1, 3)]);
}

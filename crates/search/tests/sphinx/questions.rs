//! Posts that are made up, and what clients ask about them.

use super::clients::Query;

/// A question in one of the protocols.
#[derive(Debug)]
pub(crate) enum Question {
    Sql(String),
    Api(Query),
    /// Words, and the texts in which they are to be marked.
    Excerpts(String, Vec<String>),
}

const WORDS: usize = 400;
const ROWS: usize = 100;

/// The same numbers in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from((self.0 >> 33) % end as u64).expect("small")
    }

    /// A word; the first are the most frequent.
    fn word(&mut self) -> String {
        const BEGINNINGS: [&str; 10] = ["ta", "re", "mo", "li", "su", "ka", "ne", "po", "vi", "du"];
        let number = self.below(WORDS).min(self.below(WORDS)).min(self.below(WORDS));
        let (a, b, c) = (number % 10, number / 10 % 10, number / 100);
        format!("{}{}{}", BEGINNINGS[a], BEGINNINGS[b], ["", "n", "sen", "x2"][c])
    }

    fn words(&mut self, least: usize, more: usize) -> String {
        let count = least + self.below(more);
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// Statements that put `count` posts into `main`, and some newer ones of them into `delta`.
pub(crate) fn posts(count: usize) -> Vec<String> {
    let mut chance = Chance(7);
    let mut row = |id: usize| {
        let (title, body) = (chance.words(1, 5), chance.words(5, 60));
        let (forum, topic) = (chance.below(12) + 1, chance.below(count / 4) + 1);
        let (poster, deleted) = (chance.below(50) + 2, chance.below(20) / 19);
        let tags = [chance.below(9), chance.below(9)];
        let categories = [chance.below(15), chance.below(15), chance.below(15)];
        // Punctuation separates words, and capitals are none.
        let body = body.replacen(' ', ", ", 3).replacen("ta", "Ta", 2);
        format!(
            "({id},'{title}','{body}',{forum},{topic},{poster},{},{deleted},({},{}),({},{},{}),'{title}')",
            1_000_000 + id * 37,
            tags[0],
            tags[1],
            categories[0],
            categories[1],
            categories[2],
        )
    };
    let mut statements = Vec::new();
    let mut add = |index: &str, ids: Vec<usize>| {
        for ids in ids.chunks(ROWS) {
            let rows: Vec<_> = ids.iter().map(|id| row(*id)).collect();
            statements.push(format!(
                "REPLACE INTO {index} (id,title,data,forum_id,topic_id,poster_id,post_time,\
                 deleted,tags,category,subject) VALUES {}",
                rows.join(",")
            ));
        }
    };
    add("main", (1..=count).collect());
    add("delta", (count + 1..count + 1 + count / 20).collect());
    statements
}

/// What a person types, as clients pass it on.
fn typed(chance: &mut Chance) -> String {
    let (a, b, c) = (chance.word(), chance.word(), chance.word());
    match chance.below(14) {
        0 | 1 => a,
        2 | 3 => format!("{a} {b}"),
        4 => format!("{a} | {b}"),
        5 => format!("{a} -{b}"),
        6 => format!("\"{a} {b}\""),
        7 => format!("@title {a}"),
        8 => format!("@(title,data) {a} {b}"),
        9 => format!("{}*", &a[..3]),
        10 => format!("\"{a} {b} {c}\"/2"),
        11 => format!("\"{a} {b}\"~6"),
        12 => format!("{a} << {b}"),
        _ => format!("({a} | {b}) ={c}"),
    }
}

/// `count` questions.
pub(crate) fn questions(count: usize) -> Vec<Question> {
    let mut chance = Chance(11);
    (0..count)
        .map(|at| match at % 3 {
            0 => board(&mut chance),
            1 => tracker(&mut chance),
            _ => wiki(&mut chance),
        })
        .collect()
}

/// As MediaWiki's extension asks: over the binary API, all indexes with a weight each, by name
/// space and category; then for excerpts of what was found.
fn wiki(chance: &mut Chance) -> Question {
    if chance.below(4) == 0 {
        let texts = (0..10).map(|_| chance.words(5, 40)).collect();
        return Question::Excerpts(chance.words(1, 2), texts);
    }
    let mut query = Query {
        text: typed(chance),
        indexes: ["*", "main,delta", "main;delta"][chance.below(3)],
        mode: 4,
        index_weights: vec![("main", 100), ("delta", 10)],
        field_weights: vec![("data", 1), ("title", 100)],
        ..Query::default()
    };
    let mut some = |below: usize| -> Vec<i64> {
        let count = 1 + chance.below(3);
        (0..count).map(|_| i64::try_from(chance.below(below)).expect("small")).collect()
    };
    query.filters.push(("forum_id", [some(12), some(12), vec![1, 2, 3]].concat(), false));
    query.filters.push(("deleted", vec![0], false));
    let categories = some(15);
    match chance.below(3) {
        0 => query.filters.push(("category", categories, false)),
        1 => query.filters.push(("category", categories, true)),
        _ => {}
    }
    Question::Api(query)
}

/// As phpBB asks: over the binary API, the newest index first.
fn board(chance: &mut Chance) -> Question {
    let forums = |chance: &mut Chance| {
        (0..3).map(|_| i64::try_from(chance.below(12) + 1).expect("small")).collect::<Vec<_>>()
    };
    let mut query = Query { indexes: "delta;main", mode: 4, ..Query::default() };
    query.sort =
        [(0, ""), (1, "post_time"), (2, "subject"), (4, "post_time DESC")][chance.below(4)];
    match chance.below(6) {
        0 => query.mode = 5,
        1 => {
            query.mode = 1;
            query.text = chance.words(2, 2);
        }
        2 => {
            query.mode = [0, 2, 3][chance.below(3)];
            query.text = chance.words(1, 2);
        }
        _ => query.text = typed(chance),
    }
    query.filters.push(("deleted", vec![0], false));
    if chance.below(2) == 0 {
        let forums = forums(chance);
        query.filters.push(("forum_id", forums, chance.below(3) == 0));
    }
    if query.mode == 5 {
        let poster = i64::try_from(chance.below(50) + 2).expect("small");
        query.filters.push(("poster_id", vec![poster], false));
    }
    if chance.below(4) == 0 {
        query.range = Some(("post_time", 1_002_000, 1_030_000));
    }
    if chance.below(3) == 0 {
        query.group = "topic_id";
    }
    Question::Api(query)
}

/// As a tracker asks: in SphinxQL, with numbers in quotes.
fn tracker(chance: &mut Chance) -> Question {
    let text = typed(chance).replace('\\', "\\\\");
    let mut statement = format!("SELECT id FROM main WHERE MATCH('{text}')");
    let number = |chance: &mut Chance| chance.below(12) + 1;
    match chance.below(6) {
        0 => {
            let (a, b) = (number(chance), number(chance));
            statement += &format!(" AND forum_id IN ({a},{b})");
        }
        1 => statement += &format!(" AND forum_id NOT IN ({})", number(chance)),
        2 => statement += " AND post_time BETWEEN 1002000 AND 1030000",
        3 => statement += &format!(" AND tags = {}", number(chance) % 9),
        4 => statement += &format!(" AND forum_id <> {}", number(chance)),
        _ => {}
    }
    let order = ["", " ORDER BY id DESC", " ORDER BY post_time ASC, weight() DESC"];
    statement += order[chance.below(3)];
    Question::Sql(statement + " LIMIT 0,20000 OPTION max_matches=20000")
}

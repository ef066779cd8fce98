//! Pages with holes: a page, and behind the first line of dashes the fields of a request.
//!
//! The template doesn't depend on how the page was cut; what stands in it lies in the page;
//! and nothing that the request brings is markup.

use transform::esi::{Compiler, Part, Plan};
use wire::RequestHead;

use crate::cuts::pieces;
use crate::sections::{fields, sections};

/// What a request brings in every place that a page may show.
const SLY: &str = "<sly'\"&";

pub(crate) fn run(input: &[u8]) {
    let [page, request] = sections(input);
    let whole = Compiler::compile(page);
    let mut compiler = Compiler::new();
    pieces(page).for_each(|piece| compiler.write(piece));
    assert_eq!(compiler.finish(), whole);
    // A step takes a few words, and stands for a tag of at least as many bytes.
    assert!(whole.bytes() <= 64 + 32 * page.len());
    let mut fields = fields(request);
    for name in ["cookie", "referer", "accept-language", "user-agent", "x-sly"] {
        fields.push(name, format!("sly={SLY}; a={SLY}"));
    }
    let head = RequestHead {
        target: format!("/sly?sly={SLY}&a={SLY}"),
        host: "a.test".to_owned(),
        fields,
        ..RequestHead::default()
    };
    let plan = whole.plan(page, &head);
    check(page, &plan);
    if whole.is_plain(page.len()) {
        let is_whole = |part: &Part| *part == Part::Text(0..page.len());
        assert!(plan.iter().all(is_whole) && plan.len() <= 1);
    }
    if !contains(page, b"<esi:") && !contains(page, b"<!--esi") && !contains(page, b"</esi:") {
        assert!(whole.is_plain(page.len()));
    }
}

fn check(page: &[u8], plan: &Plan) {
    for part in plan {
        match part {
            Part::Text(range) => assert!(page.get(range.clone()).is_some()),
            // Each `<` stands in the page itself.
            Part::Made(bytes) => assert!(count(bytes, b'<') <= count(page, b'<')),
            Part::Include(include) => {
                // So it does here, where an entity may stand for it, and one begins the tag.
                let own = count(page, b'<') + count(page, b'&');
                assert!(count(include.source.as_bytes(), b'<') < own, "{include:?}");
            }
            Part::Try(attempt, except) => {
                check(page, attempt);
                check(page, except);
            }
        }
    }
}

fn count(text: &[u8], byte: u8) -> usize {
    text.iter().filter(|&&own| own == byte).count()
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

//! The attacks of `suite.rs`, held against a browser engine's parser.
//!
//! A browser itself looks at them in the `markup` test of the `wick` crate.

mod judge;
mod suite;

use judge::judge;
use markup::{BUILT_IN, Dialect, Form, OUTPUT_FACTOR, OUTPUT_SLACK, Options, Renderer, Scratch};
use suite::{ATTACKS, SHOWN};

const FORMS: [Form; 3] = [Form::Typed, Form::Stored, Form::Escaped];
/// How many texts are put together of pieces of the suite, for each dialect and form.
const SPLICES: usize = 150;

/// Every dialect in every form.
fn renderers() -> Vec<(String, Renderer)> {
    let mut all = Vec::new();
    for (name, _) in BUILT_IN {
        for form in FORMS {
            let dialect = Dialect::built_in(name).expect("it is built in");
            let options = Options { form: Some(form), ..Options::default() };
            all.push((format!("{name} {form:?}"), Renderer::new(dialect, options)));
        }
    }
    all
}

/// Renders and judges; gives the text that is to be seen.
fn check(name: &str, renderer: &Renderer, scratch: &mut Scratch, text: &str) -> String {
    let mut html = Vec::new();
    renderer.render_with(scratch, text.as_bytes(), &mut html);
    let most = OUTPUT_FACTOR * text.len() + OUTPUT_SLACK;
    assert!(html.len() <= most, "{name}: {} bytes of {text:?}", html.len());
    let shown = String::from_utf8_lossy(&html).into_owned();
    let judged = judge(&html);
    assert!(judged.is_ok(), "{name}: {judged:?}\nof {text:?}\nin {shown}");
    judged.unwrap_or_default()
}

#[test]
fn no_attack_leaves_the_lists() {
    let mut scratch = Scratch::default();
    for (name, renderer) in renderers() {
        for attack in ATTACKS {
            check(&name, &renderer, &mut scratch, attack);
            for (before, behind) in [
                ("[b]", "[/b]"),
                ("[quote=\"x\"]", "[/quote]"),
                ("[list][*]", "[/list]"),
                ("[url=http://a.test/]", "[/url]"),
                ("[img]", "[/img]"),
                ("[table]", "[/table]"),
            ] {
                check(&name, &renderer, &mut scratch, &format!("{before}{attack}{behind}"));
            }
        }
    }
}

#[test]
fn no_splice_of_attacks_leaves_the_lists() {
    let mut scratch = Scratch::default();
    let mut dice = 0x5eed_u64;
    let mut below = |limit: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice % limit as u64) as usize
    };
    for (name, renderer) in renderers() {
        for _ in 0..SPLICES {
            let mut text = String::new();
            for _ in 0..=below(6) {
                let piece: Vec<char> = ATTACKS[below(ATTACKS.len())].chars().collect();
                let from = below(piece.len());
                let to = from + 1 + below(piece.len() - from);
                text.extend(&piece[from..to]);
            }
            check(&name, &renderer, &mut scratch, &text);
        }
    }
}

#[test]
fn what_is_text_is_shown_as_text() {
    let renderer = Renderer::new(Dialect::built_in("vbulletin").unwrap(), Options::default());
    for (text, expected) in SHOWN {
        assert_eq!(
            check("vbulletin", &renderer, &mut Scratch::default(), text),
            *expected,
            "{text}"
        );
    }
    // Without tags a text is what it was.
    let bare = Dialect::read("name = \"bare\"\nform = \"typed\"\nlinks = { auto = false }\n[tag]")
        .unwrap();
    let bare = Renderer::new(bare, Options::default());
    for attack in ATTACKS {
        let expected = attack.replace(['\0', '\u{1}'], "");
        assert_eq!(check("bare", &bare, &mut Scratch::default(), attack), expected);
    }
}

#[test]
fn the_judge_sees_what_is_wrong() {
    for wrong in [
        "<script>x</script>",
        "<b>",
        "</b>",
        "<b onclick=x>x</b>",
        "<a href=\"javascript:x\" rel=\"nofollow ugc noopener\">x</a>",
        "<a href=\"http://a.test\">x</a>",
        "<img src=\"data:x\">",
        "<!-- x -->",
        "<b><i>x</b></i>",
        "<table>x</table>",
        "<iframe src=\"https://evil.test/\"></iframe>",
        "<span style=\"color: url(x)\">x</span>",
        "<span style=\"behavior: x\">x</span>",
        "<svg></svg>",
        "<a href=\"//evil.test\" rel=\"nofollow ugc noopener\">x</a>",
        "<li><li>x</li></li>",
        "&#0;",
        "<p>x</p>",
    ] {
        assert!(judge(wrong.as_bytes()).is_err(), "{wrong}");
    }
}

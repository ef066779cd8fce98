//! Texts that make other renderers slow: counted, not timed.
//!
//! Each is rendered at two sizes; what is looked at, and what comes out, must grow as the
//! text does and stay below a bound for each byte.

use crate::{BUILT_IN, Dialect, OUTPUT_FACTOR, OUTPUT_SLACK, Options, Renderer};

/// How often a byte may be looked at, all in all.
const LOOKS_MAX: u64 = 20;

/// A text that repeats: before, again and again, in between, again and again, behind.
struct Text(&'static str, &'static str, &'static str, &'static str, &'static str);

const TEXTS: &[Text] = &[
    Text("", "[", "", "", ""),
    Text("", "[/", "", "", ""),
    Text("", "[b", "", "", ""),
    Text("", "[b]", "", "", ""),
    Text("", "[/b]", "", "", ""),
    Text("", "[b]", "x", "[/b]", ""),
    Text("", "[quote]", "x", "[/quote]", ""),
    Text("", "[quote=\"me\"]", "x", "[/quote]", ""),
    Text("", "[quote=\"", "", "", ""),
    Text("", "[quote='[quote=\"", "", "", ""),
    Text("", "[quote=&quot;[quote=&#39;[quote=\"[quote='", "", "", ""),
    Text("", "[quote=a ", "", "", "]"),
    Text("", "[url=", "", "", "]x[/url]"),
    Text("", "[url=http://a.test/", "", "", "]x[/url]"),
    Text("", "[url]", "", "", "[/url]"),
    Text("", "[url]", "http://a.test", "[/url]", ""),
    Text("", "[img]a[url]a[email]a[video]", "", "[/img][/url][/email][/video]", ""),
    Text("", "[IMG]a[img]a[iMg]a", "", "[/img]", ""),
    Text("", "[code]", "", "", "[/code]"),
    Text("", "[code]", "", "[/b]", "[/code]"),
    Text("", "[b][i][u][s]", "", "[/b][/i][/u][/s]", ""),
    Text("", "[b][i][/b][/i]", "", "", ""),
    Text("[b][i][u][s][sub][sup]", "[/b][b]", "x", "[/i][i]", "[/b][/i][/u][/s][/sub][/sup]"),
    Text("[list]", "[*]", "", "", "[/list]"),
    Text("[list][*]", "[b]", "", "[*]", "[/list]"),
    Text("", "[list]", "", "[/list]", ""),
    Text("[b][i][u]", "[*]", "", "", "[/b]"),
    Text("", "[table]", "x", "[/table]", ""),
    Text("[table]", "[td][tr]", "x", "[/td]y[/tr]z", "[/table]"),
    Text("", "http://", "", "", ""),
    Text("", "http://a.test/", "", "", ""),
    Text("", "http://a.test/ ", "", "", ""),
    Text("http://a.test/", "(", "", ")", ""),
    Text("http://a.test/", ".", "", ",", ""),
    Text("", "www.", "", "", ""),
    Text("", "a@", "", "", ""),
    Text("", "a@b", "", "", ""),
    Text("", "a@b.c ", "", "", ""),
    Text("", ":) ", "", ":):)", ""),
    Text("", ":", "", "", ""),
    Text("", "<!-- m -->", "", "", ""),
    Text("", "<!-- s:) --><img ", "", "", ""),
    Text("", "<!-- m --><a href=\"", "", "", ""),
    Text("", "<!-- m --><a href=\"x\">y", "", "", ""),
    Text("", "<br />", "", "<br", ""),
    Text("", "\n", "", "\r", ""),
    Text("", "\n ", "", "[hr]\n\n", ""),
    Text("", "&", "", "&#", ""),
    Text("", "&quot;", "", "\"", ""),
    Text("", "[size=", "", "]", ""),
    Text("", "[b:1a2b3c4d]", "x", "[/b:1a2b3c4d]", ""),
    Text("", "[b:a:a:a:a:a:a", "", "", "]"),
    Text("", "[quote:1a2b3c4d]", "x", "[/quote:1a2b3c4d]", ""),
    Text("", "[hide]", "", "[/hide]", ""),
    Text("", "[attach=1]", "", "[/attach]", ""),
    Text("", "\u{0}", "", "\u{fffd}", ""),
];

impl Text {
    fn of(&self, bytes: usize) -> String {
        let repeated = |part: &str| part.repeat(bytes / 2 / part.len().max(1));
        [self.0, &repeated(self.1), self.2, &repeated(self.3), self.4].concat()
    }
}

#[test]
fn work_and_output_are_linear_whatever_is_written() {
    for (name, file) in BUILT_IN {
        let renderer = Renderer::new(Dialect::read(file).unwrap(), Options::default());
        for text in TEXTS {
            let [small, large] = [30_000, 90_000].map(|bytes| looks(&renderer, &text.of(bytes)));
            let told = format!("{name}: {}…{}… {small} {large}", text.1, text.3);
            assert!(small <= LOOKS_MAX as f64 && large <= LOOKS_MAX as f64, "{told}");
            assert!(large <= small * 1.5 + 1.0, "{told}");
        }
    }
}

/// How often each byte was looked at, on average.
fn looks(renderer: &Renderer, text: &str) -> f64 {
    let mut out = Vec::new();
    let rendered = renderer.render(text.as_bytes(), &mut out);
    let most = OUTPUT_FACTOR * text.len() + OUTPUT_SLACK;
    assert!(out.len() <= most, "{} bytes of {}: {text:.80}", out.len(), text.len());
    rendered.steps as f64 / text.len() as f64
}

#[test]
fn a_million_brackets_and_unclosed_tags() {
    let renderer = Renderer::new(Dialect::built_in("torrentpier").unwrap(), Options::default());
    let texts = [
        "[".repeat(1_000_000),
        "[b][i][quote]".repeat(100_000),
        "[/b]".repeat(100_000),
        // Others' closing tags lie before the one that each opening tag looks for.
        ["[img]", "[/b]", "[/img]"].map(|tag| tag.repeat(20_000)).concat(),
        // Each opening tag might read all others as its address.
        ["[img]a", "[/img]"].map(|tag| tag.repeat(150)).concat().repeat(50),
    ];
    for text in texts {
        let looks = looks(&renderer, &text);
        assert!(looks <= LOOKS_MAX as f64, "{looks}: {text:.40}");
    }
}

#[test]
fn what_would_be_too_much_stays_text_and_is_counted() {
    let renderer = Renderer::new(Dialect::built_in("phpbb3").unwrap(), Options::default());
    let mut out = Vec::new();
    let text = ":) ".repeat(10_000);
    let rendered = renderer.render(text.as_bytes(), &mut out);
    assert!(rendered.too_much > 0);
    assert!(out.len() <= OUTPUT_FACTOR * text.len() + OUTPUT_SLACK);
    assert!(out.starts_with(b"<img") && out.ends_with(b"</a>") | out.ends_with(b":) "));
}

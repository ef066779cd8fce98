//! What of a page is its own text.
//!
//! In: HTML. Out: [`PageText`]: title, headings and blocks of text apart from navigation, as far
//! as the markup says so; what recurs all over the site is left out when a [`Document`] is made.
//! Invariants: 1. text of scripts, styles and hidden elements is never taken. 2. work and room
//! follow from the length of the page: [`TEXT_BYTES_MAX`] and [`LINKS_MAX`] bound what is kept.

use html5ever::tokenizer::Tag;
use url::Url;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::address::{language_of, may_be_paged, section_of, topic_of};
use super::blocks::Blocks;
use crate::{AttributeKind, Document, Shape, Value};
use crawl::date;
use crawl::markup::{Event, attribute, walk};

/// What of a page is taken at most.
const TEXT_BYTES_MAX: usize = 512 << 10;
const LINKS_MAX: usize = 2000;
/// What marks a page's main part must hold so much of its text to be believed.
const MAIN_SHARE: usize = 8;

/// Where a page's attributes are in [`shape`]: some of [`Shape::pages`]'s, then these. The code of
/// its language, such as `en`.
pub const SHAPE_LANGUAGE: usize = 1;
/// When it was changed.
pub const SHAPE_CHANGED: usize = 3;
/// About how often it was asked for lately.
pub const SHAPE_HITS: usize = 5;
/// The first part of its path.
pub const SHAPE_SECTION: usize = 6;
/// By which host it was read, where a site keeps them apart.
pub const SHAPE_HOST: usize = 7;
/// The hash of its text.
pub const SHAPE_SUM: usize = 8;
/// What all pages of one topic have in common; of what has one page, the hash of its text.
pub const SHAPE_TOPIC: usize = 9;

/// The shape of a site's pages as they are read from the site itself.
#[must_use]
pub fn shape() -> Shape {
    Shape::pages()
        .attribute("host", AttributeKind::Text)
        .attribute("sum", AttributeKind::Bigint)
        .attribute("topic", AttributeKind::Bigint)
}

/// What of a page is text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// The title.
    pub title: String,
    /// Headings, a line each.
    pub headings: String,
    /// The language that it says it is in; empty: none.
    pub language: String,
    /// When it was changed or published, in seconds since 1970, if it says so.
    pub changed: Option<i64>,
    /// What it calls its canonical address.
    pub canonical: Option<String>,
    /// Whether it is not to be found.
    pub is_noindex: bool,
    /// Whether its links are not to be followed.
    pub is_nofollow: bool,
    /// Where it leads.
    pub links: Vec<Link>,
    blocks: Vec<String>,
    title_end: Option<usize>,
}

/// A link of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// As it is written.
    pub to: String,
    /// Whether it is to be followed.
    pub is_followed: bool,
}

impl PageText {
    /// Reads a page.
    #[must_use]
    pub fn of(html: &str) -> Self {
        let mut reading = Reading::default();
        walk(html, |event| reading.hear(event));
        reading.finish()
    }

    /// The hashes of its blocks, and of the end of its title.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        let end = self.title_end.map(|at| title_hash(&self.title[at..]));
        self.blocks.iter().map(|block| xxh3_64(block.as_bytes())).chain(end)
    }

    /// As a document, without what recurs on the site. `url` is what it is known by.
    #[must_use]
    pub fn document(&self, url: &str, host: &str, blocks: &Blocks, seen: i64) -> Document {
        let own: Vec<&str> = self
            .blocks
            .iter()
            .filter(|block| !blocks.is_common(xxh3_64(block.as_bytes())))
            .map(String::as_str)
            .collect();
        // Pages that are alike all over have no other text.
        let text = if own.is_empty() { self.blocks.join("\n") } else { own.join("\n") };
        let title = match self.title_end {
            Some(at) if blocks.is_common(title_hash(&self.title[at..])) => &self.title[..at],
            _ => &self.title,
        };
        let known = Known {
            url,
            host,
            language: &self.language,
            kind: "",
            changed: self.changed.unwrap_or(seen),
            seen,
            topic: self.topic(target_of(url)),
        };
        document_of([title, &self.headings, &text], &known)
    }

    /// Of which topic it is one of several pages, if it is.
    fn topic(&self, target: &str) -> Option<i64> {
        // By which name the site is known doesn't matter here.
        let base = Url::parse(&format!("http://own.invalid{target}")).ok()?;
        let links = self.links.iter().filter(|link| may_be_paged(&link.to));
        let targets = links.filter_map(|link| base.join(&link.to).ok());
        let targets: Vec<String> = targets
            .map(|url| format!("{}?{}", url.path(), url.query().unwrap_or_default()))
            .collect();
        topic_of(target, &self.title, targets.iter().map(String::as_str))
    }
}

/// Path and query of what a document is known by.
fn target_of(url: &str) -> &str {
    match url.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => url,
    }
}

/// What is known of a document beside its text.
pub(crate) struct Known<'a> {
    pub(crate) url: &'a str,
    pub(crate) host: &'a str,
    pub(crate) language: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) changed: i64,
    pub(crate) seen: i64,
    /// What it has in common with other pages of its topic.
    pub(crate) topic: Option<i64>,
}

/// A document of [`shape`], of its title, headings and text.
pub(crate) fn document_of(text: [&str; 3], known: &Known<'_>) -> Document {
    let address = known.url.rsplit_once("//").map_or(known.url, |(_, rest)| rest);
    let address = address.replace(|one: char| !one.is_alphanumeric(), " ");
    let sum = xxh3_64(text.join("\0").as_bytes());
    let fields = text.into_iter().map(str::to_owned).chain([address]).collect();
    let attributes = vec![
        Value::Text(known.url.to_owned()),
        Value::Text(language_of(known.language)),
        Value::Text(known.kind.to_owned()),
        Value::Int(known.changed.max(0)),
        Value::Int(known.seen),
        Value::Int(0),
        Value::Text(section_of(target_of(known.url))),
        Value::Text(known.host.to_owned()),
        Value::Int(sum.cast_signed()),
        Value::Int(known.topic.unwrap_or(sum.cast_signed())),
    ];
    Document { id: Document::id_of(known.url), fields, attributes }
}

/// The text of a piece of HTML, a line for each of its blocks.
pub(crate) fn plain_text(html: &str) -> String {
    PageText::of(html).blocks.join("\n")
}

fn title_hash(end: &str) -> u64 {
    xxh3_64_with_seed(end.as_bytes(), 1)
}

/// A block and where it stands.
struct Block {
    text: String,
    is_aside: bool,
    is_main: bool,
}

/// An element whose end is awaited: how many of its name are open.
struct Awaited {
    name: String,
    depth: usize,
}

#[derive(Default)]
struct Reading {
    page: PageText,
    blocks: Vec<Block>,
    taken: usize,
    current: String,
    aside: Option<Awaited>,
    /// What is nobody's to read.
    hidden: Option<Awaited>,
    main: Option<Awaited>,
    heading: Option<String>,
    raw: Option<Raw>,
    json: String,
    modified: Option<i64>,
    published: Option<i64>,
    first_time: Option<i64>,
}

/// Elements whose text isn't the page's.
#[derive(Clone, Copy, PartialEq)]
enum Raw {
    Title,
    Json,
    Other,
}

impl Reading {
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(name) => self.end(name),
            Event::Text(text) => self.text(text),
        }
    }

    fn start(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        self.raw = match name {
            "title" if self.page.title.is_empty() => Some(Raw::Title),
            "script" if attribute(tag, "type").is_some_and(|it| it.contains("ld+json")) => {
                Some(Raw::Json)
            }
            "script" | "style" | "textarea" | "iframe" | "noembed" | "noframes" | "xmp"
            | "title" => Some(Raw::Other),
            _ => None,
        };
        match name {
            "html" => self.page.language = attribute(tag, "lang").unwrap_or("").to_owned(),
            "meta" => self.meta(tag),
            "link" => self.link(tag),
            "a" => self.anchor(tag),
            "time" => {
                let written = attribute(tag, "datetime").and_then(date::unix);
                self.first_time = self.first_time.or(written);
            }
            _ => {}
        }
        for awaited in [&mut self.aside, &mut self.hidden, &mut self.main] {
            if let Some(open) = awaited.as_mut().filter(|open| open.name == name) {
                open.depth += 1;
            }
        }
        if is_void(name) || tag.self_closing {
            self.break_at(name);
            return;
        }
        self.break_at(name);
        let open = || Some(Awaited { name: name.to_owned(), depth: 1 });
        if self.hidden.is_none() && is_hidden(tag) {
            self.hidden = open();
        }
        let role = attribute(tag, "role").unwrap_or("");
        if self.main.is_none() && (name == "main" || role == "main") {
            self.main = open();
        }
        if self.aside.is_none() && is_aside(name, role, self.main.is_some()) {
            self.aside = open();
        }
        if matches!(name, "h1" | "h2" | "h3") {
            self.heading = Some(String::new());
        }
    }

    fn end(&mut self, name: &str) {
        self.raw = None;
        self.break_at(name);
        for awaited in [&mut self.aside, &mut self.hidden, &mut self.main] {
            if let Some(open) = awaited.as_mut().filter(|open| open.name == name) {
                open.depth -= 1;
                if open.depth == 0 {
                    *awaited = None;
                }
            }
        }
        if matches!(name, "h1" | "h2" | "h3")
            && let Some(heading) = self.heading.take()
            && self.aside.is_none()
        {
            push_line(&mut self.page.headings, heading.trim());
        }
    }

    fn text(&mut self, text: &str) {
        match self.raw {
            Some(Raw::Title) => return push_words(&mut self.page.title, text),
            Some(Raw::Json) if self.json.len() < TEXT_BYTES_MAX => return self.json.push_str(text),
            Some(_) => return,
            None => {}
        }
        if self.hidden.is_some() || self.taken > TEXT_BYTES_MAX {
            return;
        }
        push_words(&mut self.current, text);
        if let Some(heading) = &mut self.heading {
            push_words(heading, text);
        }
    }

    /// A tag of this name ends the block before it, unless it stands within words.
    fn break_at(&mut self, name: &str) {
        if is_inline(name) {
            return;
        }
        let text = self.current.trim();
        if !text.is_empty() {
            self.taken += text.len();
            let (is_aside, is_main) = (self.aside.is_some(), self.main.is_some());
            self.blocks.push(Block { text: text.to_owned(), is_aside, is_main });
        }
        self.current.clear();
    }

    fn meta(&mut self, tag: &Tag) {
        let Some(content) = attribute(tag, "content") else { return };
        let name = attribute(tag, "name").or_else(|| attribute(tag, "property")).unwrap_or("");
        match name.to_ascii_lowercase().as_str() {
            "robots" => {
                self.page.is_noindex |= is_noindex(content);
                self.page.is_nofollow |= says(content, "nofollow");
            }
            "article:published_time" | "date" | "dc.date" => self.published = date::unix(content),
            "article:modified_time" | "og:updated_time" | "last-modified" => {
                self.modified = date::unix(content);
            }
            "og:title" if self.page.title.is_empty() => {
                push_words(&mut self.page.title, content);
            }
            _ => {}
        }
    }

    fn link(&mut self, tag: &Tag) {
        let rel = attribute(tag, "rel").unwrap_or("");
        let is_canonical =
            rel.split_ascii_whitespace().any(|one| one.eq_ignore_ascii_case("canonical"));
        if is_canonical && self.page.canonical.is_none() {
            self.page.canonical = attribute(tag, "href").map(str::to_owned);
        }
    }

    fn anchor(&mut self, tag: &Tag) {
        let Some(to) = attribute(tag, "href") else { return };
        if self.page.links.len() < LINKS_MAX && to.len() < 2048 {
            let rel = attribute(tag, "rel").unwrap_or("");
            let is_followed = !rel.split_ascii_whitespace().any(|one| one == "nofollow");
            self.page.links.push(Link { to: to.to_owned(), is_followed });
        }
    }

    fn finish(mut self) -> PageText {
        self.break_at("html");
        let length = |keep: fn(&Block) -> bool| {
            self.blocks.iter().filter(|it| keep(it)).map(|it| it.text.len()).sum::<usize>()
        };
        let all = length(|_| true);
        let main = length(|block| block.is_main && !block.is_aside);
        let apart = length(|block| !block.is_aside);
        let keep: fn(&Block) -> bool = if main > 0 && main * MAIN_SHARE >= all {
            |block| block.is_main && !block.is_aside
        } else if apart > 0 {
            |block| !block.is_aside
        } else {
            |_| true
        };
        let kept = self.blocks.into_iter().filter(keep);
        self.page.blocks = kept.map(|block| block.text).collect();
        let told = |key: &str| {
            let (_, rest) = self.json.split_once(&format!("\"{key}\""))?;
            date::unix(rest.split('"').nth(1)?)
        };
        self.page.changed = self
            .modified
            .or_else(|| told("dateModified"))
            .or(self.published)
            .or_else(|| told("datePublished"))
            .or(self.first_time);
        self.page.title = self.page.title.trim().to_owned();
        if self.page.title.is_empty() {
            let first = self.page.headings.lines().next().unwrap_or("");
            self.page.title = first.to_owned();
        }
        self.page.title_end = title_end(&self.page.title);
        self.page
    }
}

/// Where the last part of a title begins, which is often the site's name.
fn title_end(title: &str) -> Option<usize> {
    let ends = [" - ", " | ", " – ", " — ", " » ", " · ", " :: "];
    ends.iter().filter_map(|end| title.rfind(end)).max().filter(|&at| at > 0)
}

/// Whether a value of the robots meta or of `X-Robots-Tag` says that a page isn't to be found.
pub(super) fn is_noindex(value: &str) -> bool {
    says(value, "noindex")
}

/// Whether it says this, or `none`, which is all of it.
fn says(value: &str, what: &str) -> bool {
    value
        .split([',', ':'])
        .map(str::trim)
        .any(|one| one.eq_ignore_ascii_case(what) || one.eq_ignore_ascii_case("none"))
}

fn is_aside(name: &str, role: &str, is_main: bool) -> bool {
    matches!(name, "nav" | "aside" | "footer" | "select" | "button" | "menu")
        || (name == "header" && !is_main)
        || matches!(role, "navigation" | "contentinfo" | "search" | "complementary")
        || (role == "banner" && !is_main)
}

fn is_hidden(tag: &Tag) -> bool {
    let style = attribute(tag, "style").unwrap_or("");
    matches!(&*tag.name, "template" | "noscript" | "svg" | "math" | "datalist")
        || attribute(tag, "hidden").is_some()
        || attribute(tag, "aria-hidden") == Some("true")
        || style.replace(' ', "").contains("display:none")
}

fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

/// What stands within words and sentences.
fn is_inline(name: &str) -> bool {
    matches!(
        name,
        "a" | "abbr"
            | "acronym"
            | "b"
            | "bdi"
            | "bdo"
            | "big"
            | "cite"
            | "code"
            | "data"
            | "del"
            | "dfn"
            | "em"
            | "font"
            | "i"
            | "img"
            | "ins"
            | "kbd"
            | "label"
            | "mark"
            | "q"
            | "rp"
            | "rt"
            | "ruby"
            | "s"
            | "samp"
            | "small"
            | "span"
            | "strike"
            | "strong"
            | "sub"
            | "sup"
            | "time"
            | "tt"
            | "u"
            | "var"
            | "wbr"
            | "input"
            | "link"
            | "meta"
    )
}

/// Appends a text with its white space made single spaces.
fn push_words(out: &mut String, text: &str) {
    for letter in text.chars() {
        match letter.is_whitespace() || letter.is_control() {
            true if out.is_empty() || out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(letter),
        }
    }
}

fn push_line(out: &mut String, line: &str) {
    if !line.is_empty() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
    }
}

/// Whether an answer's field `X-Robots-Tag` says that the page isn't to be found. What is said to
/// one robot by its name holds here only if it is said to all.
#[must_use]
pub fn says_noindex(x_robots_tag: &str) -> bool {
    is_for_all(x_robots_tag) && is_noindex(x_robots_tag)
}

/// The same of its links: that nobody is to follow them.
#[must_use]
pub fn says_nofollow(x_robots_tag: &str) -> bool {
    is_for_all(x_robots_tag) && says(x_robots_tag, "nofollow")
}

fn is_for_all(x_robots_tag: &str) -> bool {
    x_robots_tag
        .split_once(':')
        .is_none_or(|(name, _)| name.contains(',') || name.trim().eq_ignore_ascii_case("wick"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        let page = PageText::of(html);
        page.document("/x", "", &Blocks::default(), 0).fields[2].clone()
    }

    #[test]
    fn text_is_what_a_reader_reads_and_not_what_stands_around_it() {
        for (html, expected) in [
            ("<p>One</p><p>two <b>th</b>ree</p>", "One\ntwo three"),
            ("<nav><a href=/>Home</a></nav><p>Text", "Text"),
            ("<div role=navigation><div>In</div>Menu</div><p>Text</p>", "Text"),
            ("<nav>only this</nav>", "only this"),
            ("<script>var a = '<p>no</p>'</script><style>p{}</style>yes", "yes"),
            ("<p>a &amp; b &lt;c&gt; &eacute;</p>", "a & b <c> é"),
            ("<div hidden>no</div><p style='display: none'>no</p>yes", "yes"),
            ("<p>Before</p><main><p>Main text</p></main><p>After", "Main text"),
            ("<noscript>no</noscript><template>no</template>yes", "yes"),
            ("<p>unclosed <i>words", "unclosed words"),
            ("<header>Site</header><article><p>Text</p></article>", "Text"),
            ("a<br>b<hr>c", "a\nb\nc"),
            ("", ""),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn what_a_page_says_of_itself_is_read() {
        let page = PageText::of(
            "<html lang=ko><head><title> A  title - Site</title>\
             <link rel='canonical' href='/canon'>\
             <script type=application/ld+json>{\"dateModified\": \"1970-01-02\"}</script>\
             <meta property=article:published_time content=1970-01-01></head>\
             <body><h1>Head <em>ing</em></h1><a href=/a>x</a><a rel=nofollow href=/b>y</a>",
        );
        assert_eq!((page.title.as_str(), page.language.as_str()), ("A title - Site", "ko"));
        assert_eq!(page.canonical.as_deref(), Some("/canon"));
        assert_eq!((page.changed, page.headings.as_str()), (Some(86_400), "Head ing"));
        let links: Vec<_> = page.links.iter().map(|it| (it.to.as_str(), it.is_followed)).collect();
        assert_eq!(links, [("/a", true), ("/b", false)]);
        assert!(!page.is_noindex);
    }

    #[test]
    fn a_page_that_wants_not_to_be_found_says_so_in_several_ways() {
        for (value, is_nofollow) in [
            ("noindex", false),
            ("NOINDEX, nofollow", true),
            ("none", true),
            ("index,NoFollow", true),
        ] {
            let page =
                PageText::of(&format!("<a href=/a>a</a><meta name=robots content='{value}'>"));
            assert_eq!(page.is_nofollow, is_nofollow, "{value}");
        }
        for value in ["noindex", "NOINDEX, nofollow", "none", "follow,noindex"] {
            assert!(PageText::of(&format!("<meta name=robots content='{value}'>")).is_noindex);
            assert!(says_noindex(value), "{value}");
        }
        for value in ["index", "all", "nofollow", ""] {
            assert!(!PageText::of(&format!("<meta name=Robots content='{value}'>")).is_noindex);
            assert!(!says_noindex(value), "{value}");
        }
        for (value, expected) in [
            ("nofollow", true),
            ("noindex, NOFOLLOW", true),
            ("none", true),
            ("wick: nofollow", true),
            ("googlebot: nofollow", false),
            ("noindex", false),
        ] {
            assert_eq!(says_nofollow(value), expected, "{value}");
        }
        assert!(!says_noindex("googlebot: noindex"));
        assert!(says_noindex("wick: noindex"));
    }

    #[test]
    fn what_recurs_is_left_out_and_the_sites_name_with_it() {
        let mut blocks = Blocks::default();
        let page = |n: u32| {
            PageText::of(&format!("<title>Page {n} | Shop</title><div>Menu</div><p>Text {n}</p>"))
        };
        for n in 0..8 {
            blocks.note(u64::from(n), page(n).hashes());
        }
        let made = page(9).document("/p/9", "", &blocks, 5);
        assert_eq!(made.fields[..3], ["Page 9", "", "Text 9"]);
        assert_eq!(made.fields[3].trim(), "p 9");
        let other = page(10).document("/p/9", "", &blocks, 6);
        assert_ne!(made.attributes[SHAPE_SUM], other.attributes[SHAPE_SUM]);
        for (name, at) in [
            ("language", SHAPE_LANGUAGE),
            ("changed", SHAPE_CHANGED),
            ("hits", SHAPE_HITS),
            ("section", SHAPE_SECTION),
            ("host", SHAPE_HOST),
            ("sum", SHAPE_SUM),
            ("topic", SHAPE_TOPIC),
        ] {
            assert_eq!(shape().attribute_at(name), Some(at), "{name}");
        }
    }

    #[test]
    fn a_page_without_end_is_read_in_bounds() {
        let deep = "<div>".repeat(100_000) + "text";
        assert_eq!(text(&deep), "text");
        let long = "<p>word</p>".repeat(200_000);
        assert!(text(&long).len() < 2 * TEXT_BYTES_MAX);
    }
}

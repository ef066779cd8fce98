//! How long comparing and translating take, page by page:
//! `cargo run -p align --release --example timing`.
//!
//! Pages are made by a seeded generator after the manner of a forum's topic: rows with
//! links that bear tokens, counters, times, forms, data in a script. Each pair is measured
//! over many rounds, since the clock tells milliseconds; the percentiles are those of the
//! pages, not of the rounds.

use align::{Binding, Document, Kind, Request, compare};
use base::Clock;
use wire::Fields;

const PAGES: u64 = 100;
const ROUNDS: u64 = 20;

fn main() {
    println!("milliseconds a page, over {PAGES} pages of each size, {ROUNDS} rounds each");
    println!("{:>9} {:>22} {:>8} {:>8} {:>8}", "bytes", "", "median", "p99", "most");
    for rows in [10, 70, 150] {
        for (name, shape) in [
            ("tokens", Shape::Tokens),
            ("rows moved", Shape::Moved),
            ("another page", Shape::Other),
        ] {
            measure(rows, name, shape);
        }
    }
    translate();
    give_up();
}

/// What the second copy is like.
#[derive(Clone, Copy)]
enum Shape {
    /// Another session's.
    Tokens,
    /// Another session's, with every row in another place.
    Moved,
    /// Other texts altogether: the most that there is to do.
    Other,
}

fn measure(rows: u64, name: &str, shape: Shape) {
    let clock = Clock::machine();
    let mut bytes = 0;
    let mut times: Vec<f64> = Vec::new();
    for seed in 1..=PAGES {
        let old = page(seed, seed * 1000, rows, false);
        let (content, moved) = match shape {
            Shape::Tokens => (seed, false),
            Shape::Moved => (seed, true),
            Shape::Other => (seed + PAGES, false),
        };
        let new = page(content, seed * 1000 + 1, rows, moved);
        bytes += old.len();
        let start_ms = clock.now().ticks_ms;
        for _ in 0..ROUNDS {
            let (old, new) = (read(&old), read(&new));
            std::hint::black_box(compare(&old, &new).map(|comparison| comparison.spans.len()).ok());
        }
        times.push((clock.now().ticks_ms - start_ms) as f64 / ROUNDS as f64);
    }
    times.sort_by(f64::total_cmp);
    let bytes = bytes / PAGES as usize;
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100 - 1]);
    let most = times.last().copied().unwrap_or_default();
    println!("{bytes:>9} {name:>22} {median:>8.2} {p99:>8.2} {most:>8.2}");
}

/// A binding made and a form translated, as at a visitor's first write.
fn translate() {
    let clock = Clock::machine();
    let (old, new) = (read(&page(1, 1, 150, false)), read(&page(1, 2, 150, false)));
    let Ok(comparison) = compare(&old, &new) else { return };
    let known: Vec<&[u8]> = comparison.strong_values().collect();
    let fields = Fields::parse(b"content-type: application/x-www-form-urlencoded\n");
    let fields = fields.unwrap_or_default();
    let body = [b"message=hello&form_token=", known[0], b"&x=1"].concat();
    let request = Request { target: b"/post", fields: &fields, body: &body };
    let start_ms = clock.now().ticks_ms;
    for _ in 0..ROUNDS * 10 {
        let Ok(binding) = Binding::new(&old, &new, known.iter().copied()) else { return };
        std::hint::black_box(binding.translate(&request).map(|found| found.replaced).ok());
    }
    let took = (clock.now().ticks_ms - start_ms) as f64 / (ROUNDS * 10) as f64;
    println!("binding a page of {} bytes and translating a form: {took:.2} ms", old.text().len());
}

/// Two copies that are all one skeleton: what the limit of work allows before it bites.
fn give_up() {
    let clock = Clock::machine();
    let lines = |every: usize| -> Vec<u8> {
        (0..1900).flat_map(|at| if at % every == 0 { *b"<b>\n" } else { *b"<i>\n" }).collect()
    };
    let (old, new) = (read(&lines(7)), read(&lines(11)));
    let start_ms = clock.now().ticks_ms;
    let is_given_up = (0..ROUNDS).all(|_| compare(&old, &new).is_err());
    let took = (clock.now().ticks_ms - start_ms) as f64 / ROUNDS as f64;
    println!("the most work before a comparison is given up ({is_given_up}): {took:.2} ms");
}

fn read(body: &[u8]) -> Document {
    Document::new(Kind::Html, &Fields::new(), body).expect("the pages are short")
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn token(&mut self) -> String {
        format!("{:016x}{:016x}", self.below(u64::MAX), self.below(u64::MAX))
    }

    fn sentence(&mut self, words: u64) -> String {
        const WORDS: [&str; 16] = [
            "lamp", "oil", "winter", "harbour", "glass", "bridge", "letter", "market", "kettle",
            "copper", "evening", "window", "music", "boat", "bread", "cheese",
        ];
        let words: Vec<_> = (0..words).map(|_| WORDS[self.below(16) as usize]).collect();
        words.join(" ")
    }
}

fn page(content: u64, session: u64, rows: u64, moved: bool) -> Vec<u8> {
    let (mut content, mut session) = (Dice(content * 77 + 1), Dice(session * 99 + 7));
    // The first numbers of near seeds are near as well.
    for _ in 0..20 {
        content.below(2);
        session.below(2);
    }
    let (sid, key) = (session.token(), session.token());
    let mut posts: Vec<String> = (0..rows)
        .map(|row| {
            let (author, title) = (content.sentence(1), content.sentence(5));
            format!(
                "<div id=\"p{row}\" class=\"post\">\n\t<h3><a href=\"./topic?p={row}&amp;sid={sid}\">\
                 {title}</a></h3>\n\t<p class=\"author\">by <a href=\"./user?u={row}&amp;sid={sid}\">\
                 {author}</a> <time>9:{:02}</time> <span>{} views</span></p>\n\t<div class=\"text\">{}\
                 <br>\n{}</div>\n\t<form method=\"post\" action=\"/like?sid={sid}\"><input \
                 type=\"hidden\" name=\"key\" value=\"{key}\"></form>\n</div>\n",
                row % 60,
                row * 17 + session.below(50),
                content.sentence(25),
                content.sentence(15),
            )
        })
        .collect();
    if moved {
        for at in (1..posts.len()).rev() {
            posts.swap(at, session.below(at as u64 + 1) as usize);
        }
    }
    let data: Vec<String> = (0..rows)
        .map(|row| format!("{{\"id\":{row},\"title\":\"{}\"}}", content.sentence(3)))
        .collect();
    format!(
        "<!DOCTYPE html><html><head><title>Topic</title><meta name=\"csrf\" content=\"{key}\"></head>\
         <body>\n{}<script>var data = {{\"items\":[{}],\"token\":\"{key}\"}};</script></body></html>\n",
        posts.concat(),
        data.join(","),
    )
    .into_bytes()
}

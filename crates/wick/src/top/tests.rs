//! Whole screens of `wick top`, as somebody sees them.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::*;
use crate::observing::asking::LogLine;
use crate::observing::overview::{Counted, Past, ReasonTold, RouteTold};

fn counted(requests: u64, hits: u64, errors: u64, times: &[(u64, u64)]) -> Counted {
    let origin_us = (requests - hits) * 40_000;
    Counted { requests, hits, errors, origin_us, times: times.to_vec() }
}

fn route(name: &str, counts: Counted) -> RouteTold {
    RouteTold { site: "/srv/site".into(), route: name.into(), counts }
}

/// What a site of some life says `seconds` after the first answer.
fn told(seconds: u64) -> Overview {
    let (busy, slow) = (1000 + seconds * 50, 100 + seconds * 2);
    let line = |path: &str, status, took_us| LogLine {
        method: "GET".into(),
        path: path.into(),
        status,
        took_us,
        verdict: "miss(uri-miss)".into(),
        ..LogLine::default()
    };
    Overview {
        time_ms: 1_789_000_000_000 + seconds * 1000,
        version: "1.2.3".into(),
        uptime_seconds: 90_000 + seconds,
        resident_bytes: 34 << 20,
        memory_bytes: 64 << 20,
        cache_bytes: 20 << 20,
        pages: 1234,
        connections: 12,
        slots: 8,
        slots_taken: 3,
        waiting: 1,
        all: counted(busy + slow, busy - 20, 4, &[(104, busy), (45_056, slow)]),
        routes: vec![
            route("/thread/{id}", counted(busy, busy - 20, 0, &[(104, busy)])),
            route("/search", counted(slow, 0, 4, &[(45_056, slow)])),
        ],
        reasons: vec![
            ReasonTold { why: "hit".into(), requests: busy - 20, origin_us: 0 },
            ReasonTold { why: "pass(cookie)".into(), requests: 40, origin_us: 1_600_000 },
        ],
        slowest: vec![line("/search", 502, 2_345_000), line("/thread/5", 200, 81_000)],
        past: Past {
            requests: (0..60).collect(),
            hits: vec![50; 60],
            errors: [vec![0; 59], vec![1]].concat(),
            p99_us: vec![0; 60],
        },
        ..Overview::default()
    }
}

/// The screen after these keys, and what it looks like.
fn drawn(
    size: (u16, u16),
    keys: &str,
    trouble: Option<&str>,
    has_colours: bool,
) -> (Vec<String>, ratatui::buffer::Buffer) {
    let (mut watching, mut controls) = (Watching::default(), Controls::default());
    (0..=10).for_each(|seconds| watching.add(clean(told(seconds))));
    for letter in keys.chars() {
        let code =
            if letter == '\n' { event::KeyCode::Enter } else { event::KeyCode::Char(letter) };
        controls.press(event::KeyEvent::new(code, event::KeyModifiers::NONE), 2);
    }
    let view = View::of(&watching, &controls);
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("it is memory");
    let draw = |frame: &mut ratatui::Frame<'_>| {
        screen::draw(frame, &view, &controls, trouble, Theme { has_colours });
    };
    terminal.draw(draw).expect("it is memory");
    let buffer = terminal.backend().buffer().clone();
    let row = |row: &[ratatui::buffer::Cell]| -> String {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    };
    let width = usize::from(size.0).max(1);
    (buffer.content().chunks(width).map(row).collect(), buffer)
}

fn check(size: (u16, u16), keys: &str, expected: &str) {
    let (lines, _) = drawn(size, keys, None, true);
    let text = lines.join("\n");
    assert_eq!(text, expected.trim_matches('\n'), "\n{text}\n");
}

#[test]
fn a_small_terminal_has_all_of_it() {
    check(
        (80, 24),
        "",
        r"
 Wick 1.2.3  up 1 d 1 h  12 connections                               last 10 s
 Requests 52/s               ▇▇████████  Answers  1 620, 4 of them 5xx
 Hits     96.1 %             ██████████  Workers  3 of 8 busy, 1 wait
 p50 p99  107 µs / 47.1 ms               Memory   34.0 MiB of 64.0 MiB
 5xx      0.0/s                       █  Cache    20.0 MiB, 1 234 pages

 2 routes, since the start    REQUESTS▼   REQ/S    HITS   ORIGIN      P99    5XX
 /thread/{id}                     1 500      50  98.6 %   800 ms   107 µs      0
 /search                            120     2.0   0.0 %   4.80 s  47.1 ms      4







 Reasons            REQUESTS   ORIGIN  Slowest of the last 5 minutes
 hit                   1 480     0 µs   2.35 s 502 GET /search miss(uri-miss)
 pass(cookie)             40   1.60 s  81.0 ms 200 GET /thread/5 miss(uri-miss)




r req h hits o origin p p99 e 5xx w window / filter ␣ pause ? help q quit
",
    );
}

#[test]
fn another_order_the_last_minute_and_a_filter_are_told_in_the_headings() {
    let (lines, _) = drawn((80, 24), "ow", None, true);
    let expected = [
        " 2 routes, last minute         REQUESTS   REQ/S    HITS  ORIGIN▼      P99    5XX",
        " /search                             20     2.0   0.0 %   800 ms  47.1 ms      0",
        " /thread/{id}                       500      50 100.0 %     0 µs   107 µs      0",
    ];
    assert_eq!(lines[6..9], expected);
    let (lines, _) = drawn((80, 24), "/SEAR\n", None, true);
    assert!(lines[6].starts_with(" 1 route /SEAR, since"), "{}", lines[6]);
    assert!(lines[7].starts_with(" /search ") && lines[8].is_empty(), "{lines:?}");
    let (lines, _) = drawn((80, 24), "/sea", None, true);
    assert_eq!(lines[23], "/sea   Enter keeps the filter, Esc clears it");
}

#[test]
fn a_low_one_has_the_routes_and_a_wide_one_the_median() {
    check(
        (60, 12),
        "",
        r"
 Wick 1.2.3  up 1 d 1 h  12 connections           last 10 s
 Requests 52/s                 Answers  1 620, 4 of them 5xx
 Hits     96.1 %               Workers  3 of 8 busy, 1 wait
 p50 p99  107 µs / 47.1 ms     Memory   34.0 MiB of 64.0 MiB
 5xx      0.0/s                Cache    20.0 MiB, 1 234 page

 2 rout…  REQUESTS▼   REQ/S    HITS   ORIGIN      P99    5XX
 /threa…      1 500      50  98.6 %   800 ms   107 µs      0
 /search        120     2.0   0.0 %   4.80 s  47.1 ms      4


? help q quit r req h hits o origin p p99 e 5xx w window / f
",
    );
    let (lines, _) = drawn((120, 30), "", None, true);
    assert!(lines[6].ends_with("  ORIGIN      P50      P99    5XX"), "{}", lines[6]);
}

#[test]
fn trouble_and_a_pause_are_told_at_the_top() {
    let (lines, _) = drawn((80, 24), "", Some("no Wick is running: it is tried again"), true);
    assert!(lines[0].ends_with(" no Wick is running: it is tried again"), "{}", lines[0]);
    assert!(lines[7].starts_with(" /thread/{id} "), "what was told last stays: {}", lines[7]);
    let (lines, _) = drawn((80, 24), " ", None, true);
    assert!(lines[0].ends_with(" paused"), "{}", lines[0]);
    let (lines, _) = drawn((80, 24), "?", None, true);
    assert!(lines[7].contains(" r   sort by requests"), "{}", lines[7]);
}

#[test]
fn no_size_is_too_small_and_none_too_large() {
    for size in [(1, 1), (5, 3), (19, 7), (39, 18), (80, 1), (1, 80), (300, 100)] {
        for keys in ["", "?", "/x", "w "] {
            drawn(size, keys, Some("trouble"), false);
        }
    }
}

#[test]
fn only_the_sixteen_colours_are_used_or_none() {
    let is_of_sixteen = |colour| !matches!(colour, Color::Rgb(..) | Color::Indexed(_));
    let (_, buffer) = drawn((80, 24), "", Some("trouble"), true);
    assert!(buffer.content().iter().all(|cell| is_of_sixteen(cell.fg) && is_of_sixteen(cell.bg)));
    assert!(buffer.content().iter().any(|cell| cell.fg == Color::LightRed));
    let (_, buffer) = drawn((80, 24), "", Some("trouble"), false);
    let is_plain = |colour| colour == Color::Reset;
    assert!(buffer.content().iter().all(|cell| is_plain(cell.fg) && is_plain(cell.bg)));
}

#[test]
fn what_visitors_wrote_moves_no_cursor() {
    let mut overview = told(0);
    overview.slowest[0].path = "/\x1b[2J\n".into();
    overview.routes[0].route = "/\x07".into();
    let cleaned = clean(overview);
    assert_eq!(cleaned.slowest[0].path, "/\\u{1b}[2J\\n");
    assert_eq!(cleaned.routes[0].route, "/\\u{7}");
}

#[test]
fn a_wick_that_was_started_anew_begins_anew_here_too() {
    let mut watching = Watching::default();
    (0..100).for_each(|seconds| watching.add(told(seconds)));
    let view = View::of(&watching, &Controls::default());
    assert_eq!((view.head.now_seconds, view.head.rate), (Some(10), 52.0));
    let minute = watching.minute().expect("it was told").all();
    assert_eq!(minute.counts.requests, 60 * 52);
    watching.add(Overview { uptime_seconds: 1, ..told(100) });
    let view = View::of(&watching, &Controls::default());
    assert_eq!(view.head.now_seconds, None);
}

#[test]
fn a_route_that_is_told_for_the_first_time_counts_from_zero_only_if_all_were_told() {
    let rate = |untold| {
        let mut watching = Watching::default();
        watching.add(Overview { routes: Vec::new(), routes_untold: untold, ..told(0) });
        watching.add(told(10));
        View::of(&watching, &Controls::default()).rows[0].rate
    };
    assert_eq!((rate(0), rate(3)), (150.0, 0.0));
}

#[test]
fn once_it_is_plain_text() {
    let mut watching = Watching::default();
    watching.add(told(0));
    let text = plain::text(&View::of(&watching, &Controls::default()));
    let expected = r"
wick        1.2.3, up 1 d 1 h
requests    1 100 since the start, 0.0/s
hits        89.0 %
p50, p99    107 µs, 47.1 ms
5xx         4
workers     3 of 8 busy, 1 wait
memory      34.0 MiB of 64.0 MiB
cache       20.0 MiB, 1 234 pages
connections 12

route          requests     hits   origin      p50      p99    5xx
/thread/{id}      1 000   98.0 %   800 ms   107 µs   107 µs      0
/search             100    0.0 %   4.00 s  47.1 ms  47.1 ms      4

reason                           requests   origin
hit                                   980     0 µs
pass(cookie)                           40   1.60 s

slowest of the last 5 minutes
  2.35 s  502  miss(uri-miss)         GET /search
 81.0 ms  200  miss(uri-miss)         GET /thread/5
";
    assert_eq!(text.trim_end(), expected.trim(), "\n{text}");
}

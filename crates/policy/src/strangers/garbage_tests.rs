//! Nothing that anybody can send makes a decision about strangers panic.
//!
//! The same seeds each time; fields, targets and lines are mixed of what real ones are made
//! of and of bytes at random. What has to hold whatever comes is asserted on the way.

use wire::{Fields, Name, ResponseHead};

use super::browser::{head_for_strangers, strip_own_etags, without_sessions};
use super::constancy::{Constancy, Wish};
use super::cookie::{Jar, SetCookie, pairs, remove_cookies, set_cookies};
use super::errand::{Errand, errand, write_background_key};
use super::same_origin::{Origin, origin_of, own_referer};
use super::shape::{forbidden_verb, is_named_after, may_set_preference, names_session, shape};
use super::taste::{languages, taste, user_agent};
use super::visitor::{Standing, Visitor, is_known_foreign, visitor};
use crate::generator::Generator;

impl Generator {
    /// Pieces and bytes at random, so many at most.
    fn bytes(&mut self, pieces_max: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..self.next(pieces_max) {
            match self.next(8) {
                0 => bytes.push(self.next(256) as u8),
                1 => bytes.extend_from_slice(self.0.to_string().as_bytes()),
                _ => bytes.extend_from_slice(self.pick(PIECES).as_bytes()),
            }
        }
        bytes
    }

    fn text(&mut self, pieces_max: usize) -> String {
        String::from_utf8_lossy(&self.bytes(pieces_max)).into_owned()
    }

    fn many_fields(&mut self) -> Fields {
        let mut fields = Fields::new();
        for _ in 0..self.next(8) {
            let name = self.pick(NAMES);
            let value = match self.next(3) {
                0 => self.pick(WHOLES).as_bytes().to_vec(),
                _ => self.bytes(10),
            };
            // What is no field can't arrive, so it is left out here as well.
            let _ = fields.try_push(name.as_bytes(), &value);
        }
        fields
    }
}

const NAMES: &[&str] = &[
    "cookie",
    "cookie",
    "set-cookie",
    "set-cookie",
    "authorization",
    "origin",
    "referer",
    "sec-fetch-site",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "x-requested-with",
    "x-pjax",
    "hx-target",
    "x-other",
    "accept",
    "accept-language",
    "user-agent",
    "cache-control",
    "pragma",
    "expires",
    "date",
    "vary",
    "etag",
    "if-none-match",
    "if-modified-since",
    "connection",
];

/// Values that some decision knows as a whole.
const WHOLES: &[&str] = &[
    "same-origin",
    "none",
    "http://a.test",
    "http://a.test/x?y",
    "null",
    "navigate",
    "document",
    "text/html,*/*;q=0.8",
    "a=1; Path=/; HttpOnly",
    "_ga=1; _gid=2",
    "de-DE,de;q=0.9,en;q=0.8",
];

const PIECES: &[&str] = &[
    "a=1",
    "_ga=1",
    "sid=0123456789",
    "; Max-Age=0",
    "; Expires=Thu, 01-Jan-1970 00:00:01 GMT",
    "http://a.test/",
    "?action=",
    "&sid=0123456789",
    "&do=",
    "&lang=de",
    "_ga",
    "PHPSESSID",
    "sid",
    "a",
    "=",
    "=",
    ";",
    "; ",
    ",",
    ", ",
    "\"",
    "\\",
    "W/",
    "\"wk-1\"",
    "*",
    " ",
    "\t",
    "Max-Age",
    "Expires",
    "HttpOnly",
    "-1",
    "0",
    "1",
    "deleted",
    "Thu, 01-Jan-1970 00:00:01 GMT",
    "Thu, 01 Jan 1970 00:00:01 GMT",
    "Jan",
    ":",
    "http://",
    "a.test",
    ":80",
    "null",
    "same-origin",
    "none",
    "navigate",
    "document",
    "text/html",
    "*/*",
    "de",
    "en-US",
    "q=0.5",
    "Mobile",
    "Android",
    "bot",
    "Tablet PC",
    "no-store",
    "private",
    "no-cache",
    "cookie",
    "/",
    "/",
    "?",
    "?",
    "&",
    "&",
    "%",
    "%41",
    "%C3",
    ".",
    ".php",
    "-",
    "_",
    "delete",
    "edit",
    "action",
    "title",
    "lang",
    "Add",
    "é",
    "…",
    "\u{10ffff}",
];

#[test]
fn no_field_makes_a_decision_about_strangers_panic() {
    let mut generator = Generator(0x5EED_0003);
    let (mut strangers, mut backgrounds, mut same, mut kept) = (0, 0, 0, 0);
    for _ in 0..20_000 {
        let fields = generator.many_fields();
        let unix_seconds = generator.next(usize::MAX) as u64;

        let mut jar = Jar::default();
        jar.absorb(&fields, unix_seconds);
        let mut written = Vec::new();
        jar.write(&mut written);
        assert!(written.len() <= 16 * 1024);
        assert!(jar.is_empty() || set_cookies(&fields).next().is_some());
        let mut sent = Fields::new();
        sent.put(Name::Cookie, &written);
        assert!(pairs(&sent).eq(jar.iter()), "{fields:?}");
        kept += usize::from(!jar.is_empty());

        let mut cleaned = fields.clone();
        remove_cookies(&mut cleaned, is_known_foreign);
        assert!(!pairs(&cleaned).any(|(name, _)| is_known_foreign(name)), "{fields:?}");
        let foreign_only = |name: &[u8]| match is_known_foreign(name) {
            true => Standing::Foreign,
            false => Standing::App,
        };
        if visitor(&fields, foreign_only) == Visitor::Stranger {
            strangers += 1;
            assert!(pairs(&cleaned).next().is_none(), "{fields:?}");
        }

        same += usize::from(origin_of(&fields, "http", "a.test") == Origin::Same);
        assert!(own_referer(&fields, "a.test").is_none_or(|it| it.starts_with('/')));
        backgrounds += usize::from(errand(&fields) == Errand::Background);
        let mut key = Vec::new();
        let fit = write_background_key(&mut key, &fields, "a.test");
        assert!(key.is_empty() != fit && key.len() < 4096);

        let taste = taste(&fields);
        assert!(!user_agent(&taste).is_empty());
        assert!(languages(&fields).len() <= 40);
        assert_eq!(taste.has_languages(), !languages(&fields).is_empty());
        check_fields_for_browsers(fields);
    }
    let reached = [strangers, backgrounds, same, kept];
    assert!(reached.iter().all(|count| *count > 50), "{reached:?}");
}

fn check_fields_for_browsers(fields: Fields) {
    let mut constancy = Constancy::default();
    constancy.note(1, Wish::of(&fields));
    assert!(!constancy.is_obeyed(Wish::of(&fields)));
    let mut to_origin = fields.clone();
    strip_own_etags(&mut to_origin);
    let mut again = to_origin.clone();
    strip_own_etags(&mut again);
    assert_eq!(again, to_origin);
    let answer = ResponseHead { status: 200, fields };
    let all = [head_for_strangers(&answer, b"W/\"wk-1\""), without_sessions(&answer.fields)];
    for told in all {
        assert!(!told.has(Name::SetCookie) && told.has(Name::Vary));
        let control: Vec<_> = told.all(Name::CacheControl).collect();
        assert!(control == [&b"no-store"[..]] || control == [&b"private, no-cache"[..]]);
    }
}

#[test]
fn no_target_makes_a_decision_panic() {
    let mut generator = Generator(0x5EED_0004);
    let (mut forbidden, mut sessions, mut preferences) = (0, 0, 0);
    for _ in 0..20_000 {
        let pieces = if generator.next(50) == 0 { 400 } else { 12 };
        let target = format!("/{}", generator.text(pieces));
        let class = shape(&target);
        assert!(class.len() <= 512, "{target:?}");
        forbidden += usize::from(forbidden_verb(&target).is_some());
        preferences += usize::from(may_set_preference(&target));
        let is_app = |name: &[u8]| is_named_after(name, b"x_a");
        sessions += usize::from(names_session(&target, is_app));
    }
    let reached = [forbidden, preferences, sessions];
    assert!(reached.iter().all(|count| *count > 50), "{reached:?}");
}

#[test]
fn no_cookie_line_makes_the_reader_panic() {
    let mut generator = Generator(0x5EED_0005);
    let mut removals = 0;
    for _ in 0..20_000 {
        let line = generator.bytes(12);
        if let Some(cookie) = SetCookie::parse(&line) {
            assert!(!cookie.name.is_empty());
            removals += usize::from(cookie.is_removal(generator.next(usize::MAX) as u64));
        }
        let _ = super::cookie_date::parse(&line);
    }
    assert!(removals > 500, "{removals}");
}

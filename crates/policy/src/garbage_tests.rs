//! Nothing that anybody can send makes a decision panic.
//!
//! A small generator, always started with the same seeds, mixes what fields are made of
//! with bytes at random; every decision is asked about the result.

use base::Now;
use http::Method;
use wire::{Fields, RequestHead, ResponseHead};

use crate::generator::Generator;
use crate::{
    Admission, Rules, VaryKey, Verdict, add_validators, admit, age_seconds, cache_status,
    clean_for_store, evaluate, invalidated, judge, may_serve_on_error, not_modified_fields, plan,
    range, refreshed, to_client, to_origin, write_primary_key,
};

impl Generator {
    fn fields(&mut self) -> Fields {
        let mut fields = Fields::new();
        for _ in 0..self.next(8) {
            let name = self.pick(NAMES);
            let mut value = Vec::new();
            for _ in 0..self.next(6) {
                match self.next(8) {
                    0 => value.push(self.next(256) as u8),
                    1 => value.extend_from_slice(self.0.to_string().as_bytes()),
                    _ => value.extend_from_slice(self.pick(PIECES).as_bytes()),
                }
            }
            // What is no field can't arrive, so it is left out here as well.
            let _ = fields.try_push(name.as_bytes(), &value);
        }
        fields
    }
}

const NAMES: &[&str] = &[
    "cache-control",
    "cdn-cache-control",
    "wick-cache-control",
    "expires",
    "date",
    "age",
    "last-modified",
    "etag",
    "vary",
    "pragma",
    "connection",
    "cookie",
    "set-cookie",
    "authorization",
    "range",
    "if-range",
    "if-none-match",
    "if-modified-since",
    "if-match",
    "accept-encoding",
    "accept-language",
    "location",
    "content-location",
    "content-type",
    "te",
    "upgrade",
    "forwarded",
    "x-a",
    "x_forwarded_for",
];

const PIECES: &[&str] = &[
    "max-age",
    "s-maxage",
    "no-cache",
    "no-store",
    "private",
    "public",
    "must-understand",
    "stale-while-revalidate",
    "min-fresh",
    "max-stale",
    "only-if-cached",
    "=",
    "=",
    ",",
    ", ",
    ";",
    "\"",
    "\\",
    "W/",
    "*",
    "bytes=",
    "-",
    "0",
    "1",
    "99999999999999999999",
    " ",
    "\t",
    "gzip",
    "q=0",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "GMT",
    ":",
    "/",
    "//",
    "..",
    "http:",
    "?",
    "#",
    "x-a",
    "é",
    "accept-encoding",
    "text/html",
    "websocket",
    "h2c",
    "trailers",
    "?0",
    "(",
    ")",
    ".5",
];

#[test]
fn no_field_makes_a_decision_panic_and_decisions_agree() {
    let mut generator = Generator(0x5EED_0001);
    let rules = Rules {
        stale_while_revalidate_seconds: Some(30),
        stale_if_error_seconds: Some(u32::MAX),
        ..Rules::default()
    };
    let mut stored = 0;
    for _ in 0..20_000 {
        let request = RequestHead {
            method: if generator.next(4) == 0 { Method::POST } else { Method::GET },
            target: format!("/{}", generator.pick(PIECES)),
            host: generator.pick(&["", "a.test", "[::1]:80"]).to_owned(),
            fields: generator.fields(),
            ..RequestHead::default()
        };
        let status = [200, 200, 204, 206, 301, 304, 404, 500, 999][generator.next(9)];
        let response = ResponseHead { status, fields: generator.fields() };
        let ticks_ms = generator.next(usize::MAX) as u64;
        let now = Now { ticks_ms, ticks_us: ticks_ms, unix_ms: generator.next(usize::MAX) as u64 };

        let _ = plan(&request, generator.next(2) == 0);
        let asked = generator.next(usize::MAX) as u64;
        if let Admission::Store(terms) = admit(&request, &response, asked, now, &rules) {
            stored += 1;
            let later = ticks_ms.saturating_add(generator.next(1 << 40) as u64);
            let _ = judge(&terms, &request.fields, later, &rules);
            let _ = may_serve_on_error(&terms, &request.fields, later, &rules);
            assert!(age_seconds(&terms, later) <= 1 << 31);
            let key = VaryKey::of(&response.fields, &request.fields);
            assert!(key.is_none_or(|key| key.matches(&request.fields)), "{response:?} {request:?}");
        }
        let kept = clean_for_store(&response);
        let mut again = refreshed(&kept, &request.fields);
        let _ = evaluate(&request.fields, status, &kept);
        let _ = not_modified_fields(&kept);
        add_validators(&mut again, &kept);
        let length = generator.next(3000) as u64;
        let selection = range::select(&request.fields, &kept, length);
        if let range::Selection::Several(parts) = selection {
            let bytes: u64 = parts.iter().map(|part| part.end() - part.start() + 1).sum();
            assert!(bytes <= length, "{parts:?}");
        }
        for target in invalidated(&request, &response, "http") {
            assert!(target.starts_with('/'), "{target}");
        }
        let peer = core::net::IpAddr::from([127, 0, 0, 1]);
        let _ = (to_origin(&request, peer, "http"), to_client(&response.fields));
        let mut out = Vec::new();
        write_primary_key(&mut out, "http", &request.host, &request.target);
        cache_status::write(&mut out, Verdict::Hit, Some(generator.0.cast_signed()), Some(status));
    }
    assert!(stored > 500, "the generator must reach the inner decisions too: {stored}");
}

#[test]
fn dates_of_any_bytes_are_read_or_refused() {
    let mut generator = Generator(0x5EED_0002);
    let legal = [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ];
    for _ in 0..20_000 {
        let mut text = generator.pick(&legal).as_bytes().to_vec();
        for _ in 0..=generator.next(3) {
            let at = generator.next(text.len());
            match generator.next(3) {
                0 => text[at] = generator.next(256) as u8,
                1 => text[at] = b'0' + generator.next(10) as u8,
                _ => text.truncate(at.max(1)),
            }
        }
        if let Some(seconds) = crate::date::parse(&text)
            && let Ok(seconds) = u64::try_from(seconds)
        {
            let mut written = Vec::new();
            crate::date::write(&mut written, seconds);
            assert_eq!(crate::date::parse(&written), Some(seconds as i64));
        }
    }
}

//! Admission: what was made for one person is never stored, whatever else is said.
//!
//! The input is the request's fields, the response's fields and the status.

use base::clock::Now;
use policy::{Admission, Rules, admit, age_seconds, effective, judge};
use wire::{Name, RequestHead, ResponseHead};

use crate::sections::{fields, sections};

pub(crate) fn run(input: &[u8]) {
    let [request, response, status] = sections(input);
    let request =
        RequestHead { target: "/".to_owned(), fields: fields(request), ..Default::default() };
    let status = std::str::from_utf8(status).ok().and_then(|text| text.trim().parse().ok());
    let status = status.filter(|status| (200..=999).contains(status)).unwrap_or(200);
    let response = ResponseHead { status, fields: fields(response) };
    let rules = Rules::default();
    let now = Now { ticks_ms: 10_000_000, ticks_us: 10_000_000_000, unix_ms: 1_760_000_000_000 };
    let Admission::Store(terms) = admit(&request, &response, now.ticks_ms - 50, now, &rules) else {
        return;
    };
    let (directives, _) = effective(&response.fields, rules.esi);
    assert!(!directives.private && !directives.malformed);
    assert!(!directives.no_store || directives.must_understand);
    assert!(!response.fields.has(Name::SetCookie));
    assert!(!policy::vary_is_star(&response.fields));
    assert!(status != 206 && status != 304);

    // A stored response can be judged at any later time, and never grows younger.
    let mut last_age = 0;
    for later_ms in [0, 999, 60_000, 4_000_000_000, u64::MAX / 4] {
        let ticks_ms = now.ticks_ms + later_ms;
        let _ = judge(&terms, &request.fields, ticks_ms, &rules);
        let age = age_seconds(&terms, ticks_ms);
        assert!(age >= last_age, "{age} after {last_age}");
        last_age = age;
    }
}

//! LSCache: what LiteSpeed's plugins say to their cache, for sites whose owners want it heeded.
//!
//! The plugins do nothing unless a cache says that it is there ([`announcement`]); then their
//! answers say in fields of their own for how long they are for everybody, and by which cookies
//! they differ. [`translate`] says that in the words that are obeyed here.
//! Invariants: 1. what can't be obeyed is not kept: a page that differs by more than cookies, a
//! directive that isn't known. 2. a page differs by the plugins' own cookie, said or not.

use wire::Fields;

use crate::surrogate::lscache_directives;

/// The field by which a cache says that it is there; a proxy before the server does, too.
pub const ANNOUNCEMENT_FIELD: &str = "x-lscache";

/// By which cookies an answer differs, in the words of this cache; see [`crate::VaryKey`].
pub const VARY_COOKIE_FIELD: &str = "wick-vary-cookie";

/// For how long an answer is for everybody, likewise; see [`crate::effective`].
pub(crate) const KEEPING_FIELD: &str = "wick-lscache-control";

/// The cookie by which the plugins tell who is logged in, and as what.
const VARY_COOKIE: &str = "_lscache_vary";

const CONTROL: &str = "x-litespeed-cache-control";
const VARY: &str = "x-litespeed-vary";

/// What is announced: that answers are kept and purged, and whether pages are put together. Not
/// that crawlers are: nothing here answers them as they expect.
#[must_use]
pub fn announcement(has_esi: bool) -> &'static str {
    if has_esi { "on,esi" } else { "on" }
}

/// Says in an answer's fields what the plugins said in theirs.
pub fn translate(fields: &mut Fields) {
    // What an app says in these names isn't for it to say.
    let is_ours = |name: &[u8]| {
        [KEEPING_FIELD, VARY_COOKIE_FIELD]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own.as_bytes()))
    };
    fields.retain(|_, name, _| !is_ours(name));
    if fields.all_named(CONTROL).next().is_none() {
        return;
    }
    let cookies = cookies_of(fields);
    if let Some(said) = keeping(fields, cookies.is_some()) {
        fields.push(KEEPING_FIELD, said);
    }
    if let Some(cookies) = cookies {
        fields.push(VARY_COOKIE_FIELD, cookies);
    }
}

/// What is said of keeping an answer; none: nothing.
fn keeping(fields: &Fields, is_by_cookies: bool) -> Option<String> {
    let (mut is_public, mut seconds) = (false, None);
    for (name, value) in lscache_directives(fields, CONTROL) {
        match name.as_str() {
            "public" => is_public = true,
            // `shared` is for several visitors who are one to the app: not known here.
            "private" | "shared" => return Some("private".to_owned()),
            "no-cache" | "no-store" => return Some("no-store".to_owned()),
            "max-age" | "s-maxage" => seconds = Some(value.parse::<u32>().unwrap_or(0)),
            _ => {}
        }
    }
    match (is_public, seconds) {
        (true, Some(_)) if !is_by_cookies => Some("no-store".to_owned()),
        (true, Some(seconds)) => Some(format!("public, max-age={seconds}")),
        _ => None,
    }
}

/// The cookies that an answer differs by; none if it differs by something else as well.
fn cookies_of(fields: &Fields) -> Option<String> {
    let mut cookies = vec![VARY_COOKIE.to_owned()];
    for (name, value) in lscache_directives(fields, VARY) {
        let is_cookie =
            name == "cookie" && !value.is_empty() && value.bytes().all(wire::fields::is_token);
        if !is_cookie {
            return None;
        }
        cookies.push(value);
    }
    Some(cookies.join(","))
}

#[cfg(test)]
mod tests {
    use wire::Name;

    use super::*;
    use crate::surrogate::Esi;
    use crate::written::fields;

    fn check(answer: &str, expected: &str) {
        let mut answer = fields(answer);
        translate(&mut answer);
        let said = answer.all_named(KEEPING_FIELD).next().unwrap_or_default();
        let said = String::from_utf8_lossy(said).into_owned();
        let cookies = answer.all_named(VARY_COOKIE_FIELD).next().unwrap_or_default();
        assert_eq!(format!("{said} by {}", String::from_utf8_lossy(cookies)), expected);
    }

    #[test]
    fn what_plugins_say_is_said_in_our_words() {
        check("x-litespeed-cache-control: public,max-age=9", "public, max-age=9 by _lscache_vary");
        check(
            "x-litespeed-cache-control: public, max-age=9\nx-litespeed-vary: cookie=a,cookie=b",
            "public, max-age=9 by _lscache_vary,a,b",
        );
        check("x-litespeed-cache-control: private,max-age=9", "private by _lscache_vary");
        check("x-litespeed-cache-control: public,shared,max-age=9", "private by _lscache_vary");
        check("x-litespeed-cache-control: no-cache", "no-store by _lscache_vary");
        check("x-litespeed-cache-control: esi=on", " by _lscache_vary");
        check("cache-control: no-cache", " by ");
    }

    #[test]
    fn what_cannot_be_obeyed_is_not_kept() {
        check(
            "x-litespeed-cache-control: public,max-age=9\nx-litespeed-vary: cookie=a,value=mobile",
            "no-store by ",
        );
        check("x-litespeed-cache-control: public,max-age=x", "public, max-age=0 by _lscache_vary");
        check("wick-vary-cookie: a\nx-litespeed-vary: cookie=b", " by ");
    }

    #[test]
    fn our_own_word_stands_before_theirs() {
        let mut answer = fields(
            "wick-cache-control: max-age=1\nx-litespeed-cache-control: public,max-age=9\n\
             cache-control: no-store",
        );
        translate(&mut answer);
        assert_eq!(crate::effective(&answer, Esi::Asked).0.max_age, Some(1));
        answer.remove(Name::WickCacheControl);
        assert_eq!(crate::effective(&answer, Esi::Asked).0.max_age, Some(9));
    }
}

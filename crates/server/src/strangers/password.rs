//! Passwords: whether one is sent with a request, which may make a member of its sender.
//!
//! Fields may be called anything, so what counts is what the page's form calls its password.
//! Invariant: in doubt one is sent.

use std::sync::Arc;

use align::password_fields;
use memchr::memmem;
use policy::strangers::own_referer;
use wire::RequestHead;

use super::Strangers;
use super::copies::Copy;

/// Words in names of fields that scripts send.
const WORDS: [&[u8]; 2] = [b"pass", b"pwd"];

/// Whether a body that comes from these pages, as they were given to strangers, bears a password.
pub(super) fn is_sent(body: &[u8], pages: &[Arc<Copy>]) -> bool {
    bears_word(body)
        || pages.iter().any(|copy| match copy.body() {
            Some(text) => password_fields(&text).iter().any(|name| is_borne(body, name)),
            None => true,
        })
}

/// Whether a holder's body from a page of their own may bear one: names may be others there, and
/// there may be a form that no stranger was given.
pub(super) fn may_be_sent(strangers: &Strangers, head: &RequestHead, body: &[u8]) -> bool {
    let from = own_referer(&head.fields, &head.host);
    let copy = from.and_then(|from| strangers.copies.of_page(&head.host, from));
    let text = copy.and_then(|copy| copy.body());
    bears_word(body) || text.is_none_or(|text| !password_fields(&text).is_empty())
}

fn bears_word(body: &[u8]) -> bool {
    let body = body.to_ascii_lowercase();
    WORDS.iter().any(|word| memmem::find(&body, word).is_some())
}

/// A name may be written in several ways; its longest part of letters and digits is in all.
fn is_borne(body: &[u8], name: &[u8]) -> bool {
    let parts = name.split(|byte| !byte.is_ascii_alphanumeric());
    let telling = parts.max_by_key(|part| part.len()).unwrap_or_default();
    memmem::find(body, telling).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_borne_in_any_writing_and_none_is_borne_by_all() {
        assert!(is_borne(b"user%5Bsecret%5D=x", b"user[secret]"));
        assert!(is_borne(b"f12ab=x", b"f12ab") && !is_borne(b"body=x", b"f12ab"));
        assert!(is_borne(b"anything", b""), "in doubt it is");
        assert!(is_sent(b"userPassword=x", &[]) && !is_sent(b"body=words", &[]));
    }
}

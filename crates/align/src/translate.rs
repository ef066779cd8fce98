//! Translation: what a visitor sends, having read one copy, as the other copy would have
//! sent it.
//!
//! In: a [`Binding`] and a [`Request`]. Out: the request's parts with the values exchanged,
//! how many were, and which of the old copy's values had no counterpart.
//! Invariant: what holds none of the old copy's values comes out byte for byte.

use std::borrow::Cow;

use wire::Fields;

use crate::binding::{Binding, Exchanged};
use crate::request::{self, BODY_BYTES_MAX, BodyTooLong, Exchange, Request};

/// A request in the values of the other copy.
#[derive(Clone, Debug)]
pub struct Translated<'a> {
    /// The target.
    pub target: Cow<'a, [u8]>,
    /// The fields; `Content-Length` is the old body's.
    pub fields: Cow<'a, Fields>,
    /// The body.
    pub body: Cow<'a, [u8]>,
    /// How many values and names were exchanged.
    pub replaced: usize,
    /// The old copy's values that stand in the request and have no counterpart, each once.
    pub missing: Vec<Vec<u8>>,
}

impl Binding {
    /// Translates a request.
    ///
    /// # Errors
    /// The body is longer than [`BODY_BYTES_MAX`].
    pub fn translate<'a>(&self, request: &Request<'a>) -> Result<Translated<'a>, BodyTooLong> {
        if request.body.len() > BODY_BYTES_MAX {
            return Err(BodyTooLong);
        }
        let mut translation = Translation { binding: self, replaced: 0, missing: Vec::new() };
        let target = request::target(request.target, &mut translation);
        let fields = request::fields(request.fields, &mut translation);
        let body = request::body(request, &mut translation);
        let Translation { replaced, mut missing, .. } = translation;
        missing.sort_unstable();
        missing.dedup();
        Ok(Translated {
            target: target.map_or(Cow::Borrowed(request.target), Cow::Owned),
            fields: fields.map_or(Cow::Borrowed(request.fields), Cow::Owned),
            body: body.map_or(Cow::Borrowed(request.body), Cow::Owned),
            replaced,
            missing,
        })
    }
}

struct Translation<'a> {
    binding: &'a Binding,
    replaced: usize,
    missing: Vec<Vec<u8>>,
}

impl Translation<'_> {
    fn count(&mut self, exchanged: Exchanged) -> Option<Vec<u8>> {
        self.replaced += exchanged.replaced;
        self.missing.extend(exchanged.missing);
        exchanged.value
    }
}

impl Exchange for Translation<'_> {
    fn name(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.count(self.binding.exchange_name(name))
    }

    fn value(&mut self, name: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        self.count(self.binding.exchange_value(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Document, Kind};

    const OLD: &str = "<form><input name=key value='9f86d081884c7d65'><input name=f1a>\
        <input name=step value=3><a href='/?b=ab%2Fcd12%3D%3D'>";
    const NEW: &str = "<form><input name=key value='60303ae22b998861'><input name=g2b>\
        <input name=step value=4><a href='/?b=ef%2Fgh34%3D%3D'>";

    /// Target, fields and body in; the same out, then how many were exchanged.
    fn check(target: &str, fields: &str, body: &str, expected: [&str; 3], replaced: usize) {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let binding = Binding::new(&read(OLD), &read(NEW), []).expect("hardly any work");
        let fields = Fields::parse(fields.as_bytes()).expect("the fields are well formed");
        let request = Request { target: target.as_bytes(), fields: &fields, body: body.as_bytes() };
        let found = binding.translate(&request).expect("a short body");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut lines = Vec::new();
        found.fields.render(&mut lines);
        let lines = text(&lines).replace("\r\n", "\n");
        assert_eq!([text(&found.target), lines, text(&found.body)], expected, "{target} {body}");
        assert_eq!(found.replaced, replaced, "{target} {body}");
        assert!(found.missing.is_empty());
    }

    #[test]
    fn targets() {
        let check = |old: &str, new: &str, replaced: usize| {
            check(old, "", "", [new, "", ""], replaced);
        };
        check("/p/9f86d081884c7d65/x", "/p/60303ae22b998861/x", 1);
        check("/?key=9f86d081884c7d65&step=3", "/?key=60303ae22b998861&step=4", 2);
        check("/?b=ab/cd12%3D=", "/?b=ef%2Fgh34%3D%3D", 1);
        check("/?steps=3&f1a=3", "/?steps=3&g2b=3", 1);
        check("/?a=1", "/?a=1", 0);
    }

    #[test]
    fn urlencoded_forms() {
        let fields = "content-type: application/x-www-form-urlencoded\n";
        let check = |old: &str, new: &str, replaced: usize| {
            check("/", fields, old, ["/", fields, new], replaced);
        };
        check("key=9f86d081884c7d65&f1a=a+b", "key=60303ae22b998861&g2b=a+b", 2);
        check("to=%2F%3Fk%3D9f86d081884c7d65", "to=%2F%3Fk%3D60303ae22b998861", 1);
        check("step=3&stop=3&f1a%5B0%5D=1", "step=4&stop=3&g2b%5B0%5D=1", 2);
    }

    #[test]
    fn json() {
        let fields = "content-type: application/json\n";
        let check = |old: &str, new: &str, replaced: usize| {
            check("/", fields, old, ["/", fields, new], replaced);
        };
        check(
            r#"{"key": "9f86d081884c7d65", "b":"ab\/cd12==", "step":3}"#,
            r#"{"key": "60303ae22b998861", "b":"ef/gh34==", "step":4}"#,
            3,
        );
        check(r#"{"f1a":{"x":3}}"#, r#"{"g2b":{"x":3}}"#, 1);
    }

    #[test]
    fn multipart_forms() {
        let fields = "content-type: multipart/form-data; boundary=b\n";
        let body = "--b\r\nContent-Disposition: form-data; name=\"f1a\"\r\n\r\n\
            9f86d081884c7d65\r\n--b--\r\n";
        let expected = body.replace("f1a", "g2b").replace("9f86d081884c7d65", "60303ae22b998861");
        check("/", fields, body, ["/", fields, &expected], 2);
    }

    #[test]
    fn fields_of_the_application() {
        let fields = "X-CSRF-Token: 9f86d081884c7d65\nCookie: a=9f86d081884c7d65\n";
        let expected = "X-CSRF-Token: 60303ae22b998861\nCookie: a=9f86d081884c7d65\n";
        check("/", fields, "", ["/", expected, ""], 1);
    }

    #[test]
    fn an_empty_binding_changes_nothing() {
        let fields =
            Fields::parse(b"x-a: 1\ncontent-type: application/json\n").expect("well formed");
        let request =
            Request { target: b"/%61?b=%63", fields: &fields, body: b"{ \"\\u0061\" : 1 }" };
        let found = Binding::default().translate(&request).expect("a short body");
        assert!(matches!(found.target, Cow::Borrowed(_)));
        assert!(matches!(found.fields, Cow::Borrowed(_)));
        assert!(matches!(found.body, Cow::Borrowed(_)));
        assert_eq!((found.replaced, found.missing.len()), (0, 0));
    }

    #[test]
    fn a_value_without_a_counterpart_is_told_once() {
        let read = |body: &str| {
            Document::new(Kind::Html, &Fields::new(), body.as_bytes()).expect("a short page")
        };
        let known = [&b"9f86d081884c7d65"[..]];
        let binding = Binding::new(&read(OLD), &read("<p>Closed"), known).expect("little work");
        let fields = Fields::new();
        let request = Request {
            target: b"/?a=9f86d081884c7d65&b=9f86d081884c7d65",
            fields: &fields,
            body: b"",
        };
        let found = binding.translate(&request).expect("a short body");
        assert_eq!(found.missing, [known[0].to_vec()]);
    }

    #[test]
    fn too_long_a_body_is_refused() {
        let body = vec![b'x'; BODY_BYTES_MAX + 1];
        let fields = Fields::new();
        let request = Request { target: b"/", fields: &fields, body: &body };
        assert!(Binding::default().translate(&request).is_err());
    }
}

//! Urlencoded forms and queries.
//!
//! Law: the WHATWG URL standard; `;` separates as well, as some applications write it.

use super::{Exchange, pieces};
use crate::escape::percent::{self, Place};

/// The form with what was exchanged; none if nothing was.
pub(super) fn rewrite(form: &[u8], exchange: &mut dyn Exchange) -> Option<Vec<u8>> {
    let mut is_changed = false;
    let mut out = Vec::with_capacity(form.len());
    for piece in pieces(form, |byte| matches!(byte, b'&' | b';')) {
        if matches!(piece, b"&" | b";") {
            out.extend_from_slice(piece);
            continue;
        }
        let equals = memchr::memchr(b'=', piece);
        let (raw_name, rest) = piece.split_at(equals.unwrap_or(piece.len()));
        let name = percent::decode(raw_name, Place::Form);
        match exchange.name(&name) {
            Some(new) => {
                is_changed = true;
                out.extend_from_slice(&percent::encode(&new, Place::Form));
            }
            None => out.extend_from_slice(raw_name),
        }
        let Some(raw_value) = rest.strip_prefix(b"=") else { continue };
        out.push(b'=');
        match exchange.value(&name, &percent::decode(raw_value, Place::Form)) {
            Some(new) => {
                is_changed = true;
                out.extend_from_slice(&percent::encode(&new, Place::Form));
            }
            None => out.extend_from_slice(raw_value),
        }
    }
    is_changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::super::samples::Recorder;
    use super::*;

    fn check(form: &str, seen: &str, expected: &str) {
        let mut recorder = Recorder::default();
        let found = rewrite(form.as_bytes(), &mut recorder);
        let found = found.map_or(form.to_owned(), |f| String::from_utf8_lossy(&f).into_owned());
        assert_eq!((recorder.0.join(" | ").as_str(), found.as_str()), (seen, expected), "{form}");
    }

    #[test]
    fn names_and_values_are_read_and_only_exchanged_ones_are_spelled_anew() {
        check("a=1&old=%31", "a | a=1 | old | old=1", "a=1&n%22e+w=%31");
        check("a=old;b=%6f", "a | a=old | b | b=o", "a=n%22e+w%26%2F;b=%6f");
        check("a%5B%5D=x+y", "a[] | a[]=x y", "a%5B%5D=x+y");
    }

    #[test]
    fn odd_forms_stay_as_they_are() {
        for form in ["", "&&", "a", "=", "a==b", "&=&;", "%"] {
            assert_eq!(rewrite(form.as_bytes(), &mut Recorder::default()), None, "{form}");
        }
        check("a==old", "a | a==old", "a==old");
    }
}

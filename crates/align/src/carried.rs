//! Carried values: what a request might have taken from a stored copy.
//!
//! An index leads from the strong values of stored copies to those copies. What is to be
//! looked up in it is told here: each name and value of the request, plain, and each word
//! in them.

use crate::request::{self, BODY_BYTES_MAX, BodyTooLong, Exchange, Request};
use crate::unit;

/// Shorter ones are in no index.
const VALUE_BYTES_MIN: usize = 4;
/// Longer ones are no token.
const VALUE_BYTES_MAX: usize = 400;

/// Calls `see` with each name, value and word of the request that may be in an index; the
/// same one may come several times. For safe methods give only the target.
///
/// # Errors
/// The body is longer than [`BODY_BYTES_MAX`]; nothing was told then.
pub fn for_each_carried(
    request: &Request<'_>,
    see: &mut dyn FnMut(&[u8]),
) -> Result<(), BodyTooLong> {
    if request.body.len() > BODY_BYTES_MAX {
        return Err(BodyTooLong);
    }
    let mut seer = Seer { see };
    request::target(request.target, &mut seer);
    request::fields(request.fields, &mut seer);
    request::body(request, &mut seer);
    Ok(())
}

struct Seer<'a> {
    see: &'a mut dyn FnMut(&[u8]),
}

impl Seer<'_> {
    fn tell(&mut self, value: &[u8]) {
        let lengths = VALUE_BYTES_MIN..=VALUE_BYTES_MAX;
        if lengths.contains(&value.len()) {
            (self.see)(value);
        }
        for run in value.chunk_by(|a, b| unit::is_word(*a) == unit::is_word(*b)) {
            if lengths.contains(&run.len()) && run.len() < value.len() && unit::is_word(run[0]) {
                (self.see)(run);
            }
        }
    }
}

impl Exchange for Seer<'_> {
    fn name(&mut self, name: &[u8]) -> Option<Vec<u8>> {
        self.tell(name);
        None
    }

    fn value(&mut self, _: &[u8], value: &[u8]) -> Option<Vec<u8>> {
        self.tell(value);
        None
    }
}

#[cfg(test)]
mod tests {
    use wire::Fields;

    use super::*;

    #[test]
    fn names_values_and_words_are_told() {
        let fields = Fields::parse(b"x-token: t0ken\ncontent-type: application/json\n");
        let fields = fields.expect("well formed");
        let request = Request {
            target: b"/page?field=a%2Fb%3Dlong&k=1",
            fields: &fields,
            body: b"{\"name\":\"v\\u0061lue and\"}",
        };
        let mut found = Vec::new();
        let mut see = |value: &[u8]| found.push(String::from_utf8_lossy(value).into_owned());
        for_each_carried(&request, &mut see).expect("a short body");
        assert_eq!(
            found,
            ["page", "field", "a/b=long", "long", "t0ken", "name", "value and", "value"]
        );
    }
}

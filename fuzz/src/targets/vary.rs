//! Vary keys: the fields of a response, of the request it answered and of another request.

use policy::{VaryKey, vary_is_star};

use crate::sections::{fields, sections, values};

pub(crate) fn run(input: &[u8]) {
    let [vary, first, second] = sections(input);
    let response = values("vary", vary);
    let (first, second) = (fields(first), fields(second));
    let (Some(key), Some(other)) =
        (VaryKey::of(&response, &first), VaryKey::of(&response, &second))
    else {
        assert!(VaryKey::of(&response, &first).is_none());
        assert!(VaryKey::of(&response, &second).is_none());
        return;
    };
    assert!(key.same_names_as(&other));
    if vary_is_star(&response) {
        assert!(!key.matches(&first) && !other.matches(&first));
        return;
    }
    assert!(key.matches(&first) && other.matches(&second));
    assert_eq!(key.matches(&second), other.matches(&first));
    let selection = |request| {
        let mut out = Vec::new();
        key.write_selection(request, &mut out);
        out
    };
    assert_eq!(key.matches(&second), selection(&first) == selection(&second));
}

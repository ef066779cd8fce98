//! `Cache-Control` in requests and in responses: each line of the input a line of the field.

use policy::{RequestDirectives, ResponseDirectives};
use wire::Fields;

use crate::sections::values;

const FIELD: &str = "cache-control";

pub(crate) fn run(input: &[u8]) {
    let asked = values(FIELD, input);
    let directives = ResponseDirectives::of(&asked);
    let request = RequestDirectives::of(&asked);

    // The order of lines says nothing.
    let mut backwards = Fields::new();
    let lines: Vec<_> = asked.iter().map(|(_, value)| value.to_vec()).collect();
    for line in lines.iter().rev() {
        backwards.push(FIELD, line);
    }
    assert_eq!(directives, ResponseDirectives::of(&backwards));
    assert_eq!(request, RequestDirectives::of(&backwards));

    // Nothing on one line can hide what stands on another.
    let mut stricter = asked.clone();
    stricter.push(FIELD, "no-store, private, max-age=0");
    let expected =
        ResponseDirectives { no_store: true, private: true, max_age: Some(0), ..directives };
    assert_eq!(ResponseDirectives::of(&stricter), expected);
    let expected = RequestDirectives { no_store: true, max_age: Some(0), ..request };
    if !asked.is_empty() {
        assert_eq!(RequestDirectives::of(&stricter), expected);
    }

    // What nobody knows changes nothing.
    let mut longer = asked;
    longer.push(FIELD, "surprise=\"no-store, private\"");
    assert_eq!(ResponseDirectives::of(&longer), directives);
}

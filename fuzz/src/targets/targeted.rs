//! Targeted cache control: each line of the input a line of `CDN-Cache-Control`.

use policy::surrogate::Esi;
use policy::{ResponseDirectives, effective};

use crate::sections::values;

pub(crate) fn run(input: &[u8]) {
    let mut fields = values("cdn-cache-control", input);
    fields.push("cache-control", "private");
    let general = ResponseDirectives::of(&fields);
    let (directives, is_targeted) = effective(&fields, Esi::Off);

    // Either the targeted field holds whole or the general one does.
    if !is_targeted {
        assert_eq!(directives, general);
    }
    // Our own targeted field goes before any other's.
    let mut ours = fields.clone();
    ours.push("wick-cache-control", "max-age=7");
    let (own, is_targeted) = effective(&ours, Esi::Off);
    assert!(is_targeted);
    assert_eq!(own, ResponseDirectives { max_age: Some(7), ..Default::default() });

    // One line that is no dictionary spoils the field, whatever stood before it.
    fields.push("cdn-cache-control", "=");
    assert_eq!(effective(&fields, Esi::Off), (general, false));
}

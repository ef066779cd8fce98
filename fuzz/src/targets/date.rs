//! Dates: what was read and is written again reads the same.

use policy::date::{parse, write};

/// The last second that four digits of year can name; the leap second after it is read, too.
const LAST: i64 = 253_402_300_799;

pub(crate) fn run(input: &[u8]) {
    let Some(seconds) = parse(input) else { return };
    assert!((-62_200_000_000..=LAST + 1).contains(&seconds), "{seconds}");
    let Ok(after_1970) = u64::try_from(seconds) else { return };
    let mut written = Vec::new();
    write(&mut written, after_1970);
    assert_eq!(parse(&written), Some(seconds.min(LAST)));
}

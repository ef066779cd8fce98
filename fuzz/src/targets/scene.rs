//! Scene files: any text is a scene or has an error at a place that exists.

use testkit::parse;

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Err(error) = parse::scene(text, None) {
        let lines = text.lines().count().max(2);
        assert!((1..=lines).contains(&(error.at.line as usize)), "{error}");
        assert!(error.at.column >= 1, "{error}");
    }
}

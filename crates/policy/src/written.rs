//! Fields as tests write them and read them.

use wire::Fields;

/// Lines of text as fields.
pub(crate) fn fields(text: &str) -> Fields {
    Fields::parse(text.as_bytes()).expect("valid fields")
}

/// Fields in a line, each with `|` behind it.
pub(crate) fn rendered(fields: &Fields) -> String {
    let mut out = Vec::new();
    fields.render(&mut out);
    String::from_utf8(out).expect("text").replace("\r\n", "|")
}

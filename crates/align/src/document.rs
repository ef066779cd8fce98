//! A document: one copy of a page, cut into chunks that can be compared.
//!
//! In: what kind of text it is, the response's fields, the body. The `X-` fields of a
//! response stand in front as meta tags, since some apps hand out their tokens there.
//! A document owns its text; a chunk is twelve bytes, and there is no string for any.

use wire::Fields;

use crate::chunk::{self, Chunk};
use crate::class;
use crate::{escape, tag};

/// A longer document is not compared: pages are a hundredth of this.
pub const DOCUMENT_BYTES_MAX: usize = 8 << 20;

/// How near to the moment of the fetch a number must be to tell the time.
const NEAR_SECONDS: u64 = 120;

/// What a body is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A page or a fragment of one. What begins with `{` or `[` is read as a script all
    /// the same: apps send JSON under any type.
    Html,
    /// A feed, a map of the site.
    Xml,
    /// JSON or JavaScript.
    Script,
    /// Lines.
    Text,
}

/// The document is longer, or has more chunks, than is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the document is too long to be compared")]
pub struct TooLong;

/// One copy of a page.
#[derive(Clone, Debug)]
pub struct Document {
    text: Vec<u8>,
    chunks: Vec<Chunk>,
}

impl Document {
    /// Reads a copy. The body has no content coding any more.
    ///
    /// # Errors
    /// The document is longer than [`DOCUMENT_BYTES_MAX`], or has over 262,144 chunks.
    pub fn new(kind: Kind, fields: &Fields, body: &[u8]) -> Result<Self, TooLong> {
        let mut text = meta_tags(fields);
        let markup_bytes = text.len();
        if body.len() > DOCUMENT_BYTES_MAX || markup_bytes > DOCUMENT_BYTES_MAX - body.len() {
            return Err(TooLong);
        }
        text.extend_from_slice(body);
        let is_data = matches!(body.trim_ascii_start(), [b'{' | b'[', ..]);
        let kind = if kind == Kind::Html && is_data { Kind::Script } else { kind };
        let chunks = chunk::cut(&text, kind, markup_bytes).ok_or(TooLong)?;
        Ok(Self { text, chunks })
    }

    /// The whole text: a line of markup for each `X-` field, then the body. Places in a
    /// comparison count from its start.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// How many chunks there are.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Whether a form of this page tells the time at which it was made: an input whose
    /// value holds a Unix time near to that of the fetch. Such a form may want to have been
    /// open for a while before it is sent.
    #[must_use]
    pub fn tells_time(&self, fetched_unix_seconds: u64) -> bool {
        let is_near = |seconds: u64| seconds.abs_diff(fetched_unix_seconds) < NEAR_SECONDS;
        self.chunks
            .iter()
            .map(|chunk| self.bytes(*chunk))
            .filter(|bytes| tag::name(bytes).eq_ignore_ascii_case(b"input"))
            .flat_map(tag::attributes)
            .filter(|attribute| attribute.is("value"))
            .any(|attribute| class::unix_times(attribute.value).any(is_near))
    }

    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn bytes(&self, chunk: Chunk) -> &[u8] {
        &self.text[chunk.start as usize..chunk.end as usize]
    }
}

/// The `X-` fields as meta tags; what PHP says about itself is the same everywhere.
fn meta_tags(fields: &Fields) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in fields.iter() {
        let is_extension = name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(b"x-"));
        if !is_extension || name.eq_ignore_ascii_case(b"x-powered-by") {
            continue;
        }
        text.extend_from_slice(b"<meta name=\"");
        text.extend_from_slice(&escape::entity::encode(name));
        text.extend_from_slice(b"\" content=\"");
        text.extend_from_slice(&escape::entity::encode(value));
        text.extend_from_slice(b"\">\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(fields: &str, body: &str) -> Document {
        let fields = Fields::parse(fields.as_bytes()).expect("the fields are well formed");
        Document::new(Kind::Html, &fields, body.as_bytes()).expect("the page is short")
    }

    #[test]
    fn extension_fields_stand_in_front_as_meta_tags() {
        let page = document("X-CSRF: a\"b\nDate: x\nx-powered-by: PHP\n", "{\"a\":1}");
        let text = String::from_utf8_lossy(page.text());
        assert_eq!(text, "<meta name=\"X-CSRF\" content=\"a&quot;b\">\n{\"a\":1}");
        assert_eq!(page.chunk_count(), 2);
    }

    #[test]
    fn an_input_near_the_fetch_tells_the_time() {
        let check = |body: &str, expected: bool| {
            assert_eq!(document("", body).tells_time(1_700_000_100), expected, "{body}");
        };
        check("<input type=hidden name=creation_time value=1700000000>", true);
        check("<INPUT value='a-1700000000-b'>", true);
        check("<input value=1600000000>", false);
        check("<input value=11700000000>", false);
        check("<input value=x name=1700000000>", false);
        check("<p>1700000000</p>", false);
    }

    #[test]
    fn too_long_a_body_is_refused() {
        let body = vec![b'x'; DOCUMENT_BYTES_MAX + 1];
        assert!(Document::new(Kind::Html, &Fields::new(), &body).is_err());
        assert!(Document::new(Kind::Html, &Fields::new(), &body[1..]).is_ok());
    }
}

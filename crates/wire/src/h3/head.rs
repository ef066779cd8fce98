//! A request's head: a block read into what is the same for HTTP/2 and HTTP/3.

use crate::decoded::HeadReader;
use crate::h1::{HeadError, HeadLimits};
use crate::qpack::{BlockError, decode};
use crate::{RequestHead, Version};

/// Reads a request's block of fields into `head`. Whether a body follows is known later: its
/// framing is for [`crate::decoded::read_framing`].
///
/// # Errors
/// [`BlockError::Broken`] ends the connection, the others are for its client to know.
pub fn read_head(
    block: &[u8],
    reader: &mut HeadReader,
    head: &mut RequestHead,
    limits: &HeadLimits,
) -> Result<(), BlockError<HeadError>> {
    reader.begin(head, Version::Http3);
    decode(block, limits.head_bytes_max, |name, value| reader.take(head, name, value))?;
    reader.end_fields(head, limits).map_err(BlockError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qpack::encode;

    #[test]
    fn a_block_is_a_head_or_says_what_is_wrong() {
        let long = format!(":method=GET\n:scheme=https\n:path=/\nx={}", "y".repeat(400));
        for (text, expected) in [
            (
                ":method=GET\n:scheme=https\n:authority=a\n:path=/x?y\nb=c",
                "GET a /x?y [\"b: c\", \"host: a\"]",
            ),
            (":method=GET\n:scheme=ftp\n:path=/\nhost=a", "the scheme is neither http nor https"),
            (":method=CONNECT\n:authority=a:80", "CONNECT is for proxies"),
            (":method=GET\n:path=/\n:path=/", "a pseudo-field is there twice"),
            (&long, "TooLarge"),
        ] {
            let mut block = Vec::new();
            let fields = text.split('\n').filter_map(|line| line.split_once('='));
            encode(fields.map(|(name, value)| (name, value.as_bytes())), &mut block);
            let (mut reader, mut head) = (HeadReader::default(), RequestHead::default());
            let limits = HeadLimits { head_bytes_max: 500, ..HeadLimits::default() };
            let shown = match read_head(&block, &mut reader, &mut head, &limits) {
                Ok(()) => {
                    format!("{} {} {} {:?}", head.method, head.host, head.target, head.fields)
                }
                Err(BlockError::Refused(error)) => error.to_string(),
                Err(error) => format!("{error:?}"),
            };
            assert_eq!(shown, expected, "{text}");
        }
    }
}

//! What php-fpm sends: records, the head within them, and name-value pairs.

use wire::fastcgi::{
    CONTENT_BYTES_MAX, CgiHead, HeadError, HeadReader, Record, RecordError, RecordReader,
    decode_params, encode_param,
};

use crate::cuts::pieces;

/// The same records, and the same error, however the bytes were cut.
pub(crate) fn run_records(input: &[u8]) {
    let whole = read_records([input]);
    assert_eq!(whole, read_records(pieces(input)));
    assert!(whole.0.iter().all(|record| record.content.len() <= CONTENT_BYTES_MAX));
}

fn read_records<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Record>, Option<RecordError>) {
    let mut reader = RecordReader::default();
    let mut records = Vec::new();
    for part in parts {
        reader.push(part);
        loop {
            match reader.next_record() {
                Ok(Some(record)) => records.push(record),
                Ok(None) => break,
                Err(error) => return (records, Some(error)),
            }
        }
    }
    (records, None)
}

/// The same head, ending at the same byte, however the bytes were cut.
pub(crate) fn run_head(input: &[u8]) {
    let whole = read_head([input]);
    assert_eq!(whole, read_head(pieces(input)));
    if let Ok(Some((head, _))) = whole {
        assert!((200..=999).contains(&head.head.status));
    }
}

/// The head and how many bytes it took.
fn read_head<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Option<(CgiHead, usize)>, HeadError> {
    let mut reader = HeadReader::default();
    let mut taken = 0;
    for part in parts {
        if let Some((head, belonging)) = reader.push(part)? {
            return Ok(Some((head, taken + belonging)));
        }
        taken += part.len();
    }
    Ok(None)
}

/// What was read and is written again reads the same, and is never longer.
pub(crate) fn run_params(input: &[u8]) {
    let Some(pairs) = decode_params(input) else { return };
    let mut written = Vec::new();
    for (name, value) in &pairs {
        encode_param(&mut written, name, value);
    }
    assert!(written.len() <= input.len());
    assert_eq!(decode_params(&written), Some(pairs));
}

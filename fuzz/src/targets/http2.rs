//! What HTTP/2 brings: frames however they are cut, and blocks of fields, one after the other.

use wire::h2::{FRAME_BYTES_MAX, Fault, Frame, PREFACE, Reader, settings};
use wire::hpack::{BlockError, Decoder, push_field};

/// What of one head is gathered.
const BLOCK_BYTES_MAX: usize = 300;
/// What the fields of one block may come to.
const FIELDS_BYTES_MAX: usize = 2_000;

/// What comes behind the preface: the same frames come out whole and byte by byte.
pub(crate) fn run_frames(input: &[u8]) {
    let begun = [&PREFACE[..], input].concat();
    let whole = frames(std::iter::once(&begun[..]));
    assert_eq!(whole, frames(begun.chunks(1)));
}

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<Fault>) {
    let (mut reader, mut seen) = (Reader::new(BLOCK_BYTES_MAX), Vec::new());
    for piece in pieces {
        let mut rest = piece;
        loop {
            match reader.next(&mut rest) {
                Ok(Some(frame)) => {
                    check(frame);
                    seen.push(format!("{frame:?}"));
                }
                Ok(None) => break,
                Err(fault) => return (seen, Some(fault)),
            }
        }
        assert!(rest.is_empty());
    }
    (seen, None)
}

fn check(frame: Frame<'_>) {
    match frame {
        Frame::Data { stream, bytes, window_bytes, .. } => {
            assert!(stream != 0 && bytes.len() <= window_bytes && window_bytes <= FRAME_BYTES_MAX);
        }
        Frame::Head { stream, block, is_continued, .. } => {
            assert!(stream != 0);
            assert!(block.len() <= if is_continued { BLOCK_BYTES_MAX } else { FRAME_BYTES_MAX });
        }
        // It only must not fail.
        Frame::Settings(payload) => drop(settings(payload).count()),
        _ => {}
    }
}

/// Blocks of one connection, each behind a byte that says how long it is: none comes to more
/// than it may, what is read doesn't depend on what is made of it, and fields can be written
/// again.
pub(crate) fn run_fields(input: &[u8]) {
    let (mut decoder, mut indifferent) = (Decoder::default(), Decoder::default());
    let mut rest = input;
    while let Some((&length, behind)) = rest.split_first() {
        let (block, next) = behind.split_at(behind.len().min(usize::from(length)));
        rest = next;
        let (mut bytes, mut fields) = (0, Vec::new());
        let read: Result<(), BlockError<()>> =
            decoder.decode(block, FIELDS_BYTES_MAX, |name, value| {
                bytes += name.len() + value.len() + 32;
                fields.push((name.to_vec(), value.to_vec()));
                Ok(())
            });
        assert!(bytes <= FIELDS_BYTES_MAX);
        let refused = indifferent.decode(block, FIELDS_BYTES_MAX, |_, _| Err(()));
        let is_broken = |read: &Result<(), BlockError<()>>| read == &Err(BlockError::Broken);
        assert_eq!(is_broken(&read), is_broken(&refused));
        if is_broken(&read) {
            return;
        }
        let mut again = Vec::new();
        for (name, value) in &fields {
            push_field(&mut again, name, value);
        }
        let mut seen = Vec::new();
        let read: Result<(), BlockError<()>> =
            Decoder::default().decode(&again, usize::MAX, |name, value| {
                seen.push((name.to_vec(), value.to_vec()));
                Ok(())
            });
        let lower = |(name, value): (Vec<u8>, Vec<u8>)| (name.to_ascii_lowercase(), value);
        assert_eq!((read, seen), (Ok(()), fields.into_iter().map(lower).collect()));
    }
}

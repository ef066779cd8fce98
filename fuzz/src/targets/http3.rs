//! What HTTP/3 brings: frames however they are cut, and blocks of fields.

use bytes::Bytes;
use wire::RequestHead;
use wire::decoded::{HeadReader, read_framing};
use wire::h1::HeadLimits;
use wire::h3::{Frames, Step, check_settings, read_head};
use wire::qpack::{BlockError, decode, encode};

/// A block, and what can be written of it again.
pub(crate) fn run_head(input: &[u8]) {
    let limits = HeadLimits::default();
    let (mut fields, mut bytes) = (Vec::new(), 0);
    let read: Result<(), BlockError<()>> = decode(input, limits.head_bytes_max, |name, value| {
        bytes += name.len() + value.len() + 32;
        fields.push((name.to_vec(), value.to_vec()));
        Ok(())
    });
    assert!(bytes <= limits.head_bytes_max);
    if read.is_ok() {
        let named: Option<Vec<_>> = fields
            .iter()
            .map(|(name, value)| Some((std::str::from_utf8(name).ok()?, value.as_slice())))
            .collect();
        if let Some(named) = named {
            let (mut again, mut seen) = (Vec::new(), Vec::new());
            encode(named.into_iter(), &mut again);
            let read: Result<(), BlockError<()>> = decode(&again, usize::MAX, |name, value| {
                seen.push((name.to_vec(), value.to_vec()));
                Ok(())
            });
            assert_eq!((read, seen), (Ok(()), fields));
        }
    }
    let (mut reader, mut head) = (HeadReader::default(), RequestHead::default());
    let read = read_head(input, &mut reader, &mut head, &limits);
    let has_body = input.len().is_multiple_of(2);
    if read.is_ok()
        && let Err(error) = read_framing(&head, has_body)
    {
        assert!((400..=599).contains(&error.status()));
    }
}

/// A stream: the same steps come out whole and byte by byte.
pub(crate) fn run_frames(input: &[u8]) {
    let whole = steps(std::iter::once(input));
    assert_eq!(whole, steps(input.chunks(1)));
    for (_, payload) in &whole {
        // It only must not fail.
        let _ = check_settings(Bytes::copy_from_slice(payload));
    }
}

/// Each frame's kind, length and payload as far as it came.
fn steps<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<((u64, u64), Vec<u8>)> {
    let (mut frames, mut seen) = (Frames::default(), Vec::new());
    for piece in pieces {
        let mut bytes = Bytes::copy_from_slice(piece);
        while let Some(step) = frames.next(&mut bytes) {
            match step {
                Step::Begins(kind, length) => seen.push(((kind, length), Vec::new())),
                Step::Payload(piece) => {
                    let (_, payload) = seen.last_mut().expect("one has begun");
                    assert!(!piece.is_empty());
                    payload.extend_from_slice(&piece);
                }
                Step::Ends => {
                    let ((_, length), payload) = seen.last().expect("one has begun");
                    assert_eq!(*length, payload.len() as u64);
                }
            }
        }
        assert!(bytes.is_empty());
    }
    seen
}

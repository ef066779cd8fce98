//! What a loaded server sends: answers of HTTP/1.1, one after the other.

use bytes::BytesMut;
use httparse::Header;
use loadgen::response::{
    Answer, HEAD_BYTES_MAX, Memo, ResponseError, ResponseReader, Step, Witness,
};

use crate::cuts::pieces;

/// The same answers with the same bodies, and the same end, however the bytes were cut.
pub(crate) fn run(input: &[u8]) {
    // The first byte says which of the answers are to HEAD.
    let (heads, text) = input.split_first().map_or((0, input), |(first, rest)| (*first, rest));
    let whole = read([text], heads);
    assert_eq!(whole, read(pieces(text), heads));
    for (answer, body, _) in &whole.0 {
        assert!((200..1000).contains(&answer.status));
        assert_eq!(answer.body_bytes, body.len() as u64);
        assert!(answer.head_bytes > 0);
    }
    let taken = whole.0.iter().map(|(answer, ..)| answer.head_bytes + answer.body_bytes);
    assert!(taken.sum::<u64>() <= text.len() as u64);
}

#[derive(Default)]
struct Seen {
    fields: usize,
    body: Vec<u8>,
}

impl Witness for Seen {
    fn fields(&mut self, fields: &[Header<'_>]) {
        self.fields = fields.len();
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

type Read = (Vec<(Answer, Vec<u8>, usize)>, Option<ResponseError>);

fn read<'a>(parts: impl IntoIterator<Item = &'a [u8]>, heads: u8) -> Read {
    let is_head = |number: usize| heads >> (number % 8) & 1 == 1;
    let (mut answers, mut buffer, mut seen) = (Vec::new(), BytesMut::new(), Seen::default());
    let (mut reader, mut memo) = (ResponseReader::new(is_head(0)), Memo::default());
    for part in parts {
        buffer.extend_from_slice(part);
        loop {
            match reader.read(&mut buffer, &mut memo, &mut seen) {
                Ok(Step::More) => break,
                Ok(Step::Whole(answer)) => {
                    let Seen { fields, body } = std::mem::take(&mut seen);
                    answers.push((answer, body, fields));
                    reader = ResponseReader::new(is_head(answers.len()));
                }
                Err(error) => return (answers, Some(error)),
            }
            if buffer.is_empty() {
                break;
            }
        }
        assert!(buffer.len() <= HEAD_BYTES_MAX + part.len(), "what is unread is bounded");
    }
    match reader.end(&buffer) {
        Ok(answer) => {
            answers.push((answer, seen.body, seen.fields));
            (answers, None)
        }
        Err(error) => (answers, Some(error)),
    }
}

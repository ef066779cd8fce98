//! Bodies in content codings, read as a browser reads them.

use std::io::Read;

use wire::{Coding, Name};

use crate::message::{Received, State};

/// The body of a whole message without its content coding; none where it has none, or one that
/// it isn't truly in.
#[must_use]
pub fn decoded(message: &Received) -> Option<Vec<u8>> {
    let name = message.fields.first(Name::ContentEncoding)?;
    if !matches!(message.state, State::Whole(_)) {
        return None;
    }
    let (body, mut out) = (&message.body[..], Vec::new());
    let read = match Coding::of(name)? {
        Coding::Gzip => flate2::read::GzDecoder::new(body).read_to_end(&mut out),
        Coding::Brotli => brotli::Decompressor::new(body, 4096).read_to_end(&mut out),
        Coding::Zstd => {
            zstd::stream::read::Decoder::new(body).and_then(|mut body| body.read_to_end(&mut out))
        }
    };
    read.ok().map(|_| out)
}

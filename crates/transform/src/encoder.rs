//! The three coders behind one face.
//!
//! A whole body is coded by [`compress`], one that comes in pieces by an [`Encoder`]. Both
//! write into memory, so all that can fail is want of memory.

use std::io::{self, Write};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use wire::Coding;
use zstd::stream::raw::CParameter;

use crate::effort::{Effort, level, window_bits};

/// The window of a stream: what lies further back is not looked for. It bounds what a stream
/// holds.
const STREAM_WINDOW_BITS: u32 = 16;
/// Brotli gathers so much before it works.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// The whole body in this coding.
///
/// # Errors
/// There is no memory for it.
pub fn compress(coding: Coding, effort: Effort, body: &[u8]) -> io::Result<Vec<u8>> {
    let level = level(coding, effort, body.len());
    // What is coded is hardly ever larger than a half.
    let out = Vec::with_capacity(body.len() / 3 + 64);
    match coding {
        Coding::Gzip => {
            let mut encoder = GzEncoder::new(out, gzip_level(level));
            encoder.write_all(body)?;
            encoder.finish()
        }
        Coding::Brotli => {
            let parameters = brotli_parameters(level, window_bits(body.len()), body.len());
            let mut encoder =
                brotli::CompressorWriter::with_params(out, BROTLI_BUFFER_BYTES, &parameters);
            encoder.write_all(body)?;
            Ok(encoder.into_inner())
        }
        Coding::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(out, level)?;
            encoder.set_parameter(CParameter::WindowLog(window_bits(body.len())))?;
            encoder.set_pledged_src_size(Some(body.len() as u64))?;
            encoder.write_all(body)?;
            encoder.finish()
        }
    }
}

/// A body that is coded while it comes.
pub struct Encoder(Inner);

enum Inner {
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// One that takes little time and memory: see [`crate::stream_bytes`].
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(coding: Coding) -> io::Result<Self> {
        let level = stream_level(coding);
        Ok(Self(match coding {
            Coding::Gzip => Inner::Gzip(GzEncoder::new(Vec::new(), gzip_level(level))),
            Coding::Brotli => {
                let parameters = brotli_parameters(level, STREAM_WINDOW_BITS, 0);
                let encoder = brotli::CompressorWriter::with_params(
                    Vec::new(),
                    BROTLI_BUFFER_BYTES,
                    &parameters,
                );
                Inner::Brotli(Box::new(encoder))
            }
            Coding::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), level)?;
                encoder.set_parameter(CParameter::WindowLog(STREAM_WINDOW_BITS))?;
                Inner::Zstd(encoder)
            }
        }))
    }

    /// Takes a piece in. What is ready can be had by [`Encoder::take`].
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Inner::Gzip(encoder) => encoder.write_all(piece),
            Inner::Brotli(encoder) => encoder.write_all(piece),
            Inner::Zstd(encoder) => encoder.write_all(piece),
        }
    }

    /// Makes everything that was taken in ready, so that a reader can read as far.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Gzip(encoder) => encoder.flush(),
            Inner::Brotli(encoder) => encoder.flush(),
            Inner::Zstd(encoder) => encoder.flush(),
        }
    }

    /// How many bytes are ready and were not taken yet.
    #[must_use]
    pub fn ready_bytes(&self) -> usize {
        match &self.0 {
            Inner::Gzip(encoder) => encoder.get_ref().len(),
            Inner::Brotli(encoder) => encoder.get_ref().len(),
            Inner::Zstd(encoder) => encoder.get_ref().len(),
        }
    }

    /// What is ready and was not taken yet.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(match &mut self.0 {
            Inner::Gzip(encoder) => encoder.get_mut(),
            Inner::Brotli(encoder) => encoder.get_mut(),
            Inner::Zstd(encoder) => encoder.get_mut(),
        })
    }

    /// The rest, with the end of the coding.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self.0 {
            Inner::Gzip(encoder) => encoder.finish(),
            Inner::Brotli(encoder) => Ok(encoder.into_inner()),
            Inner::Zstd(encoder) => encoder.finish(),
        }
    }
}

fn stream_level(coding: Coding) -> i32 {
    match coding {
        Coding::Gzip => 2,
        Coding::Brotli => 2,
        Coding::Zstd => 1,
    }
}

fn gzip_level(level: i32) -> Compression {
    Compression::new(level.unsigned_abs())
}

fn brotli_parameters(level: i32, window_bits: u32, bytes: usize) -> BrotliEncoderParams {
    BrotliEncoderParams {
        quality: level,
        lgwin: window_bits as i32,
        size_hint: bytes,
        ..BrotliEncoderParams::default()
    }
}

//! Whatever is coded, decoded, is what it was.

use std::io::Read;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use wire::Coding;

use crate::{Effort, Encoder, compress};

/// Of any bytes, such as those that something has come of so far.
fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut piece) = (Vec::new(), [0; 4096]);
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
        Coding::Zstd => Box::new(zstd::stream::read::Decoder::new(bytes).expect("a decoder")),
    };
    while let Ok(count @ 1..) = reader.read(&mut piece) {
        out.extend_from_slice(&piece[..count]);
    }
    out
}

/// Bytes that repeat themselves here and there, as pages do.
fn page(random: &mut StdRng, length: usize) -> Vec<u8> {
    let mut page: Vec<u8> = Vec::with_capacity(length);
    while page.len() < length {
        let left = length - page.len();
        let count = random.random_range(1..=left.min(300));
        if page.is_empty() || random.random_bool(0.4) {
            page.extend((0..count).map(|_| random.random::<u8>()));
        } else {
            let from = random.random_range(0..page.len());
            let end = (from + count).min(page.len());
            page.extend_from_within(from..end);
        }
    }
    page
}

#[test]
fn a_whole_body_comes_back_and_is_smaller_where_it_repeats_itself() {
    let mut random = StdRng::seed_from_u64(7);
    for length in [0, 1, 499, 4_000, 70_000, 300_000] {
        let body = page(&mut random, length);
        for coding in Coding::ALL {
            for effort in [Effort::Quick, Effort::Best] {
                let coded = compress(coding, effort, &body).expect("there is memory");
                assert_eq!(decoded(coding, &coded), body, "{coding:?} {effort:?} {length}");
                assert!(length < 4_000 || coded.len() < length, "{coding:?} {effort:?} {length}");
            }
        }
    }
}

#[test]
fn a_body_in_pieces_comes_back_however_it_is_cut() {
    for seed in 0..40 {
        let mut random = StdRng::seed_from_u64(seed);
        let length = random.random_range(0..60_000);
        let body = page(&mut random, length);
        for coding in Coding::ALL {
            let mut encoder = Encoder::new(coding).expect("there is memory");
            let (mut coded, mut rest) = (Vec::new(), &body[..]);
            while !rest.is_empty() {
                let count = random.random_range(1..=rest.len().min(9_000));
                encoder.write(&rest[..count]).expect("there is memory");
                rest = &rest[count..];
                if random.random_bool(0.3) {
                    encoder.flush().expect("there is memory");
                    coded.extend(encoder.take());
                    let so_far = body.len() - rest.len();
                    assert_eq!(decoded(coding, &coded), body[..so_far], "{coding:?} {seed}");
                }
            }
            coded.extend(encoder.take());
            coded.extend(encoder.finish().expect("there is memory"));
            assert_eq!(decoded(coding, &coded), body, "{coding:?} {seed}");
        }
    }
}

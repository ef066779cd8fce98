//! What browsers' clients send to a tracker over WebSocket: frames, and the messages in them.

use wire::tracker::web::{self, OFFERS_MAX, Said, WebAnswer};
use wire::tracker::{Counts, InfoHash, PeerId, Told};
use wire::websocket::{self, FrameError, Heard, Reader};

use crate::cuts::pieces;

const MESSAGE_BYTES_MAX: usize = 4096;

/// What is heard, and why it ended.
fn heard<'a>(all: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<FrameError>) {
    let (mut reader, mut told) = (Reader::new(MESSAGE_BYTES_MAX), Vec::new());
    for mut bytes in all {
        loop {
            match reader.read(&mut bytes) {
                Ok(Some(heard)) => {
                    if let Heard::Text(text) = heard {
                        assert!(text.len() <= MESSAGE_BYTES_MAX, "a message is bounded");
                    }
                    told.push(format!("{heard:?}"));
                }
                Ok(None) => break,
                Err(error) => return (told, Some(error)),
            }
        }
        assert!(bytes.is_empty(), "all that came is taken");
    }
    (told, None)
}

/// Frames: however they are cut the same is heard, and what a client could have masked comes back.
pub(crate) fn run_frames(input: &[u8]) {
    assert_eq!(heard(std::iter::once(input)), heard(pieces(input)), "a cut changes nothing");
    let mut out = Vec::new();
    websocket::put_text(&mut out, input);
    // As a client sends it: with a mask, here of zeros.
    let head_bytes = out.len() - input.len();
    out[1] |= 0x80;
    out.splice(head_bytes..head_bytes, [0; 4]);
    let (told, error) = heard(pieces(&out));
    match std::str::from_utf8(input) {
        _ if input.len() > MESSAGE_BYTES_MAX => assert_eq!(error, Some(FrameError::TooLarge)),
        Ok(text) => assert_eq!(told, [format!("{:?}", Heard::Text(text))]),
        Err(_) => assert_eq!(error, Some(FrameError::NotUtf8)),
    }
}

/// Messages: what is read of one is bounded, and what is handed on of it is JSON of the same.
pub(crate) fn run_messages(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let twenty = |from: usize| {
        let mut bytes = [0; 20];
        bytes.iter_mut().zip(input.iter().skip(from)).for_each(|(to, byte)| *to = *byte);
        bytes
    };
    let (hash, peer_id) = (InfoHash(twenty(0)), PeerId(twenty(7)));
    let is_json = |put: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        let text = std::str::from_utf8(&out).expect("what is said is text");
        // An answer's words are others, but it is an object that can be read.
        assert!(!matches!(web::read(text), Err(web::WebError::Malformed)), "{text}");
    };
    match web::read(text) {
        Ok(Said::Announce(said)) => {
            assert!(said.offers.len() <= OFFERS_MAX, "offers are bounded");
            assert!(said.announce.passkey.is_none() && said.announce.port == 0);
            for offer in &said.offers {
                is_json(&|out| web::put_offer(out, &said.announce.info_hash, &peer_id, offer));
            }
        }
        Ok(Said::Answer(said)) => {
            let mut out = Vec::new();
            web::put_answer(&mut out, &said);
            // Whom it is for is not told; with that it is what it was.
            let text = String::from_utf8(out).expect("what is said is text");
            let again = text.replacen('{', "{\"to_peer_id\":\"--------------------\",", 1);
            let expected = WebAnswer { to: PeerId([b'-'; 20]), ..said };
            let is_same = |read: &_| matches!(read, Ok(Said::Answer(read)) if *read == expected);
            assert!(is_same(&web::read(&again)), "{again}: {expected:?}");
        }
        Ok(Said::Scrape(hashes)) => {
            let torrents: Vec<_> = hashes.iter().map(|it| (*it, Counts::default())).collect();
            is_json(&|out| web::put_scrape(out, &torrents, Some(7)));
        }
        Err(wrong) => is_json(&|out| web::put_failure(out, false, None, &wrong.to_string())),
    }
    is_json(&|out| web::put_failure(out, true, Some(&hash), text));
    is_json(&|out| web::put_announce(out, &hash, &Told::default(), Some(text)));
}

//! Bodies in pieces, with and without pauses, read by another decoder.

use std::io::Read;

use base::Clock;
use futures_util::{FutureExt, StreamExt, stream};
use http_body_util::StreamBody;

use super::*;
use crate::ServerConfig;

/// What a reader makes of these bytes, whole or not.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut out) = (flate2::read::GzDecoder::new(bytes), Vec::new());
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = reader.read(&mut piece) {
        out.extend_from_slice(&piece[..count]);
    }
    out
}

fn server(memory_bytes: u64) -> Arc<Server> {
    Server::new(ServerConfig { memory_bytes, ..ServerConfig::default() }, Clock::manual(0))
}

type Piece = Result<Frame<Bytes>, BodyError>;

fn body(pieces: Vec<Piece>) -> Body {
    StreamBody::new(stream::iter(pieces)).boxed_unsync()
}

fn data(text: &str) -> Piece {
    Ok(Frame::data(Bytes::from(text.to_owned())))
}

fn coded(server: &Arc<Server>, body: Body) -> Body {
    encoded(server, Coding::Gzip, body).unwrap_or_else(|_| body_of_nothing())
}

fn body_of_nothing() -> Body {
    wire::body::empty()
}

#[tokio::test]
async fn what_has_come_can_be_read_before_the_origin_goes_on() {
    let server = server(64 << 20);
    let first = stream::iter([data("<p>the beginning</p>"), data("<p>and more</p>")]);
    let endless = StreamBody::new(first.chain(stream::pending())).boxed_unsync();
    let mut coded = coded(&server, endless);
    let mut sent = Vec::new();
    while let Some(frame) = coded.frame().now_or_never() {
        let frame = frame.expect("it goes on").expect("nothing fails");
        sent.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    assert_eq!(decoded(&sent), b"<p>the beginning</p><p>and more</p>");
}

#[tokio::test]
async fn trailers_come_behind_the_end_and_all_is_counted() {
    let server = server(64 << 20);
    let page = "a page ".repeat(20_000);
    let trailers = Ok(Frame::trailers(http::HeaderMap::new()));
    let whole = coded(&server, body(vec![data(&page), data(""), data("end"), trailers]));
    let whole = whole.collect().await.expect("nothing fails");
    assert!(whole.trailers().is_some());
    let bytes = whole.to_bytes();
    assert_eq!(decoded(&bytes), format!("{page}end").into_bytes());
    let counts = &server.counters.codings[Coding::Gzip.index()];
    assert_eq!(counts.before_bytes.read(), page.len() as u64 + 3);
    assert_eq!(counts.after_bytes.read(), bytes.len() as u64);
    assert_eq!(server.memory().reserved_bytes, 0);
}

#[tokio::test]
async fn a_body_that_fails_has_no_end() {
    let server = server(64 << 20);
    let broken = Err(BodyError::Origin("it broke".into()));
    let mut coded = coded(&server, body(vec![data("half"), broken]));
    let mut frames = Vec::new();
    while let Some(frame) = coded.frame().await {
        frames.push(frame);
    }
    assert_eq!(frames.len(), 1);
    assert!(matches!(&frames[0], Err(BodyError::Origin(_))));
}

#[tokio::test]
async fn where_there_is_no_room_for_another_an_answer_stays_as_it_is() {
    let small = server(256 << 10);
    let refused = encoded(&small, Coding::Gzip, body(vec![data("as it is")])).err();
    let same = refused.expect("there is no room").collect().await.expect("nothing fails");
    assert_eq!(&same.to_bytes()[..], b"as it is");
    assert_eq!(small.counters.codings_put_off.read(), 1);
    let large = server(1 << 30);
    let streams: Vec<_> =
        (0..100).filter_map(|_| encoded(&large, Coding::Zstd, body_of_nothing()).ok()).collect();
    assert_eq!((streams.len(), large.counters.codings_put_off.read()), (64, 36));
    drop(streams);
    assert!(encoded(&large, Coding::Zstd, body_of_nothing()).is_ok());
}

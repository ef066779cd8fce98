//! Streams that go one way: a client's settings, its part of a table that isn't there, and
//! what nobody knows.
//!
//! Law: RFC 9114 §6.2, §7.2; RFC 9204 §4.2.
//! Invariant: of what comes here only settings are held, and those are short.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use quinn::{ReadError, RecvStream, SendStream, VarInt};
use wire::h3::{
    Code, Frames, Number, SettingsError, Step, check_settings, frame, push_settings, stream,
};

use crate::http3::Hall;
use crate::streams::allowance::Excess;

const CHUNK_BYTES_MAX: usize = 4 << 10;
/// A client's settings; a dozen bytes are usual.
const SETTINGS_BYTES_MAX: u64 = 1 << 10;
/// All that a client may say of a table that has no room: that it has none (RFC 9204 §4.3.1).
const NO_CAPACITY: u8 = 0b0010_0000;

/// Opens our control stream; none if the connection has ended.
pub(crate) async fn begin(hall: &Hall) -> Option<SendStream> {
    let mut control = hall.connection.open_uni().await.ok()?;
    let mut settings = Vec::new();
    push_settings(&mut settings, hall.server().limits().head_bytes_max);
    control.write_all(&settings).await.ok()?;
    Some(control)
}

/// Reads one stream of the client's to its end.
pub(crate) async fn listen(hall: Arc<Hall>, mut recv: RecvStream) {
    let (mut kind, mut chunk) = (Number::default(), Bytes::new());
    let kind = loop {
        if let Some(kind) = kind.take(&mut chunk) {
            break kind;
        }
        match recv.read_chunk(CHUNK_BYTES_MAX, true).await {
            Ok(Some(more)) => chunk = more.bytes,
            // It may end before it says what it is.
            _ => return hall.note(Excess::Idle),
        }
    };
    let first = |seen: &AtomicBool| !seen.swap(true, Ordering::Relaxed);
    let end = match kind {
        stream::CONTROL if first(&hall.has_control) => obey(&hall, &mut recv, chunk).await,
        stream::ENCODER if first(&hall.has_encoder) => {
            let is_nothing = |bytes: &Bytes| bytes.iter().all(|&byte| byte == NO_CAPACITY);
            let code = Code::EncoderStream;
            skip(&mut recv, chunk, |bytes| is_nothing(bytes).then_some(()).ok_or(code)).await
        }
        stream::DECODER if first(&hall.has_decoder) => skip(&mut recv, chunk, |_| Ok(())).await,
        stream::CONTROL | stream::ENCODER | stream::DECODER | stream::PUSH => {
            Err(Code::StreamCreation)
        }
        _ => {
            hall.note(Excess::Idle);
            // It fails if all has come.
            let _ = recv.stop(VarInt::from_u32(Code::StreamCreation.number()));
            return;
        }
    };
    if let Err(code) = end {
        hall.fail(code);
    }
}

/// Lets all pass that comes, if it may.
async fn skip(
    recv: &mut RecvStream,
    mut chunk: Bytes,
    check: impl Fn(&Bytes) -> Result<(), Code>,
) -> Result<(), Code> {
    loop {
        check(&chunk)?;
        match next(recv).await? {
            Some(more) => chunk = more,
            None => return Ok(()),
        }
    }
}

/// Reads the client's control stream.
async fn obey(hall: &Hall, recv: &mut RecvStream, mut chunk: Bytes) -> Result<(), Code> {
    let (mut frames, mut settings) = (Frames::default(), None);
    let mut has_settings = false;
    loop {
        let Some(step) = frames.next(&mut chunk) else {
            match next(recv).await? {
                Some(more) => chunk = more,
                None => return Ok(()),
            }
            continue;
        };
        match step {
            Step::Begins(frame::SETTINGS, length) if !has_settings => {
                if length > SETTINGS_BYTES_MAX {
                    return Err(Code::ExcessiveLoad);
                }
                (has_settings, settings) = (true, Some(Vec::new()));
            }
            Step::Begins(..) if !has_settings => return Err(Code::MissingSettings),
            Step::Begins(frame::DATA | frame::HEADERS, _)
            | Step::Begins(frame::SETTINGS | frame::PUSH_PROMISE, _) => {
                return Err(Code::FrameUnexpected);
            }
            Step::Begins(kind, _) if frame::is_of_http2(kind) => return Err(Code::FrameUnexpected),
            // It promises no pushes, takes none back, and asks for no more of them: so what it
            // says of them, and of what it will do next, changes nothing.
            Step::Begins(..) => hall.note(Excess::Idle),
            Step::Payload(piece) => {
                if let Some(settings) = &mut settings {
                    settings.extend_from_slice(&piece);
                }
            }
            Step::Ends => {
                let checked = settings.take().map(|settings| check_settings(settings.into()));
                match checked {
                    None | Some(Ok(())) => {}
                    Some(Err(SettingsError::Cut)) => return Err(Code::Frame),
                    Some(Err(SettingsError::Wrong)) => return Err(Code::Settings),
                }
            }
        }
    }
}

/// What comes next on a stream that must not end; none if the connection has.
async fn next(recv: &mut RecvStream) -> Result<Option<Bytes>, Code> {
    match recv.read_chunk(CHUNK_BYTES_MAX, true).await {
        Ok(Some(chunk)) => Ok(Some(chunk.bytes)),
        Ok(None) | Err(ReadError::Reset(_)) => Err(Code::ClosedCriticalStream),
        Err(_) => Ok(None),
    }
}

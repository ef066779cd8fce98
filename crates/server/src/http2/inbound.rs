//! What a client's frames mean: requests, their bodies, windows, and the end.
//!
//! Law: RFC 9113 §5.1, §5.1.1, §6, §8.1. Each frame that brings nothing is counted.

use base::Now;
use tokio::io::{AsyncRead, AsyncWrite};
use wire::Version;
use wire::h1::{Framing, HeadError, HeadLimits, Length};
use wire::h2::{self, Code, Fault, Frame, Setting};
use wire::hpack::BlockError;

use crate::http2::hall::Trailers;
use crate::http2::stream::{Sender, Taker};
use crate::http2::{Connection, End, GOODBYE, MALFORMED_MAX, Parting};
use crate::streams::allowance::Excess;
use crate::streams::answer::Rest;
use crate::streams::{Answer, Received, upload};

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Does what a frame asks for.
    pub(super) fn take(&mut self, frame: Frame<'_>, now: &mut Option<Now>) -> Result<(), End> {
        match frame {
            Frame::Head { stream, block, ends_stream, is_continued, depends_on_itself } => {
                if is_continued {
                    self.note(Excess::Idle)?;
                }
                if stream <= self.last_stream {
                    return self.take_trailers(stream, block, ends_stream);
                }
                let now = *now.get_or_insert_with(|| self.reception.server.clock.now());
                self.take_head(stream, block, ends_stream, depends_on_itself, now)
            }
            Frame::Data { stream, bytes, window_bytes, ends_stream } => {
                if bytes.is_empty() && !ends_stream {
                    self.note(Excess::Idle)?;
                }
                self.check_begun(stream)?;
                Ok(self.hall.take_data(stream, bytes, window_bytes, ends_stream)?)
            }
            Frame::WindowUpdate { stream, bytes } => {
                self.note(Excess::Idle)?;
                self.check_begun(stream)?;
                Ok(self.hall.take_window(stream, bytes)?)
            }
            Frame::Reset { stream } => {
                self.note(Excess::Resets)?;
                self.check_begun(stream)?;
                self.hall.take_reset(stream);
                Ok(())
            }
            Frame::Settings(payload) => {
                self.note(Excess::Idle)?;
                for setting in h2::settings(payload) {
                    let Setting::Window(bytes) = setting?;
                    self.hall.take_first_window(bytes)?;
                }
                self.hall.say(h2::push_settings_ack);
                Ok(())
            }
            Frame::Ping(said) => {
                self.note(Excess::Idle)?;
                self.hall.say(|text| h2::push_ping(text, true, said));
                Ok(())
            }
            Frame::PingAck(said) => {
                if said == GOODBYE && self.parting == Parting::Asked {
                    self.parting = Parting::Agreed;
                    self.hall.say(|text| h2::push_goaway(text, self.last_stream, Code::NoError));
                    return Ok(());
                }
                self.note(Excess::Idle)
            }
            Frame::GoAway => {
                self.parting = Parting::Agreed;
                self.note(Excess::Idle)
            }
            Frame::Faulty { stream, code } => {
                self.note(Excess::Idle)?;
                self.check_begun(stream).map_err(|_| Fault(code))?;
                self.hall.reset(stream, code);
                Ok(())
            }
            Frame::HeadGoesOn { is_continued: false } => Ok(()),
            Frame::HeadGoesOn { .. } | Frame::SettingsAck | Frame::Other => self.note(Excess::Idle),
        }
    }

    /// Counts what asks for nothing; too much of it ends the connection.
    fn note(&mut self, what: Excess) -> Result<(), End> {
        let clock = &self.reception.server.clock;
        let allowance = match what {
            Excess::Resets => &mut self.resets,
            Excess::Idle => &mut self.idle,
        };
        match allowance.take(|| clock.now().ticks_ms) {
            true => Ok(()),
            false => Err(End::Fault(Code::EnhanceYourCalm)),
        }
    }

    /// A frame that can't begin a stream is for one that was begun, or for all.
    fn check_begun(&self, stream: u32) -> Result<(), Fault> {
        let is_ours = stream != 0 && stream.is_multiple_of(2);
        if is_ours || stream > self.last_stream {
            return Err(Fault(Code::Protocol));
        }
        Ok(())
    }

    /// Fields behind a request's body: nobody reads them, but they end it.
    fn take_trailers(&mut self, stream: u32, block: &[u8], ends_stream: bool) -> Result<(), End> {
        let bytes_max = self.limits.head_bytes_max;
        let read = self.decoder.decode(block, bytes_max, |name, _| match name.first() {
            Some(b':') => Err(()),
            _ => Ok(()),
        });
        if read == Err(BlockError::Broken) {
            return Err(End::Fault(Code::Compression));
        }
        match self.hall.take_trailers(stream, ends_stream && read.is_ok()) {
            Trailers::Taken => Ok(()),
            Trailers::Malformed => self.note_malformed(),
            Trailers::TooLate if stream == self.last_stream => Err(End::Fault(Code::StreamClosed)),
            // It may be one that was passed over, which can't be begun any longer.
            Trailers::TooLate => Err(End::Fault(Code::Protocol)),
        }
    }

    /// Takes a request in: answers it, or keeps the future that will.
    fn take_head(
        &mut self,
        stream: u32,
        block: &[u8],
        ends_stream: bool,
        depends_on_itself: bool,
        now: Now,
    ) -> Result<(), End> {
        if stream.is_multiple_of(2) {
            return Err(End::Fault(Code::Protocol));
        }
        self.last_stream = stream;
        let read = self.read_head(block, ends_stream)?;
        if depends_on_itself || matches!(read, Err(HeadError::Message(_))) {
            return self.refuse(stream);
        }
        let server = &self.reception.server;
        let is_late = self.parting == Parting::Agreed;
        if is_late || self.answers.len() >= self.limits.streams_max as usize {
            // Or its client has reset streams that are still under way at an origin.
            server.counters.streams_refused.bump();
            self.hall.reset(stream, Code::RefusedStream);
            return Ok(());
        }
        if !ends_stream {
            let left = match read {
                Ok(Framing { length: Length::Known(bytes), .. }) => Some(bytes),
                Ok(Framing { length: Length::None, .. }) => Some(0),
                _ => None,
            };
            self.hall.enter(stream, left, false);
        }
        let sender = Sender::new(self.hall.clone(), stream);
        let taker = (!ends_stream).then(|| Taker::new(self.hall.clone(), stream));
        match self.reception.receive(read, taker, sender, &mut self.scratch, now) {
            Received::Arrived(answering, reply, unread) => {
                let seen = reply.seen();
                let rest = answering.begin_now(reply, now, &mut self.block);
                self.reception.observe(&self.scratch, now, seen);
                self.answers.extend(finish(rest, unread));
            }
            Received::Onward(answer) => {
                if ends_stream {
                    self.hall.enter(stream, None, true);
                }
                self.answers.push(answer);
            }
        }
        Ok(())
    }

    /// Reads a request's head; the outer error ends the connection.
    fn read_head(
        &mut self,
        block: &[u8],
        ends_stream: bool,
    ) -> Result<Result<Framing, HeadError>, End> {
        let limits = HeadLimits {
            head_bytes_max: self.limits.head_bytes_max,
            target_bytes_max: self.limits.target_bytes_max,
        };
        let (head, reader) = (&mut self.scratch.head, &mut self.scratch.reader);
        reader.begin(head, Version::Http2);
        let take = |name: &[u8], value: &[u8]| reader.take(head, name, value);
        Ok(match self.decoder.decode(block, limits.head_bytes_max, take) {
            Ok(()) => reader.end(head, !ends_stream, &limits),
            Err(BlockError::Broken) => return Err(End::Fault(Code::Compression)),
            Err(BlockError::TooLarge) => Err(HeadError::TooLarge),
            Err(BlockError::Refused(error)) => Err(error),
        })
    }

    /// Ends a stream whose request is malformed.
    fn refuse(&mut self, stream: u32) -> Result<(), End> {
        self.hall.reset(stream, Code::Protocol);
        self.note_malformed()
    }

    fn note_malformed(&mut self) -> Result<(), End> {
        self.malformed += 1;
        match self.malformed > MALFORMED_MAX {
            true => Err(End::Fault(Code::EnhanceYourCalm)),
            false => Ok(()),
        }
    }
}

/// The future that sends what could not be sent at once, and reads what nobody wants.
fn finish(rest: Option<Rest<Sender>>, unread: Option<Taker>) -> Option<Answer> {
    match (rest, unread) {
        (None, None) => None,
        (Some(rest), None) => Some(Box::pin(rest.send())),
        (rest, Some(unread)) => Some(Box::pin(async move {
            if let Some(rest) = rest {
                rest.send().await;
            }
            upload::drain(unread).await;
        })),
    }
}

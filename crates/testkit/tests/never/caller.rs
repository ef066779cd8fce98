//! A client's connection to Wick: requests out, responses in, every way to end badly seen.

use std::time::Duration;

use testkit::message::{Received, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::stage::Stage;

/// Longer than all of Wick's time-outs in a row.
const PATIENCE: Duration = Duration::from_secs(900);

/// One connection.
pub(crate) struct Caller {
    io: DuplexStream,
    input: Vec<u8>,
    ended: bool,
}

/// What became of a request.
pub(crate) enum Got {
    /// A response; its state says whether it is whole or was visibly cut.
    Response(Received),
    /// The connection ended before a head had come.
    Nothing,
}

impl Caller {
    pub(crate) fn new(io: DuplexStream) -> Self {
        Self { io, input: Vec::new(), ended: false }
    }

    /// Sends bytes; `false` when nobody takes them.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        self.io.write_all(bytes).await.is_ok()
    }

    /// Whether another request may be sent here.
    pub(crate) fn is_open(&self) -> bool {
        !self.ended
    }

    /// The final response to a request with this method, as far as it ever comes.
    pub(crate) async fn response(&mut self, stage: &Stage, method: &str) -> Got {
        let got = self.wait(stage, method, |message| message.state != State::Unfinished).await;
        if let Got::Response(message) = &got
            && let State::Whole(bytes) = message.state
        {
            self.input.drain(..bytes);
            self.ended |= message.fields.has_member(wire::Name::Connection, "close");
        }
        got
    }

    /// The same as soon as its head is there; [`Caller::response`] still gives it whole.
    pub(crate) async fn head(&mut self, stage: &Stage, method: &str) -> Got {
        self.wait(stage, method, |_| true).await
    }

    async fn wait(
        &mut self,
        stage: &Stage,
        method: &str,
        is_enough: impl Fn(&Received) -> bool,
    ) -> Got {
        loop {
            match Received::response(&self.input, method, self.ended) {
                Err(reason) => {
                    let shown = testkit::story::shown(&self.input);
                    stage.complain(format!("what came is not HTTP: {reason}\n{shown}"));
                    return Got::Nothing;
                }
                Ok(Some(Received { status: 100..200, state: State::Whole(bytes), .. })) => {
                    self.input.drain(..bytes);
                    continue;
                }
                Ok(Some(message)) if self.ended || is_enough(&message) => {
                    return Got::Response(message);
                }
                Ok(None) if self.ended => return Got::Nothing,
                Ok(_) => {}
            }
            self.read(stage).await;
        }
    }

    async fn read(&mut self, stage: &Stage) {
        match tokio::time::timeout(PATIENCE, self.io.read_buf(&mut self.input)).await {
            Ok(Ok(bytes)) if bytes > 0 => {}
            Ok(_) => self.ended = true,
            Err(_) => {
                stage.complain("a client would wait for ever");
                self.ended = true;
            }
        }
    }
}

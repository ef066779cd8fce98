//! Of a turn, what is for connections that speak WebSocket.

use base::clock::Now;
use wire::websocket::{code, put_close, put_text};

use super::{OUT_BYTES_MAX, Turns, keep};
use crate::serve::web::ASK_MS;
use crate::serve::web::mail::Letter;

/// Bytes that have left and are still in a buffer whose rest waits.
const LEFT_BYTES_MAX: usize = 32 << 10;

impl Turns {
    /// Answers what such a connection has sent: the bytes of the scratch from here to there.
    pub(super) fn talk(&mut self, at: usize, from: usize, filled: usize, now: Now) {
        let Some(connection) = self.connections.get_mut(at) else { return };
        let Some(web) = connection.web.as_mut() else { return };
        if connection.out.capacity() == 0 {
            connection.out = self.spares.pop().unwrap_or_default();
        }
        let before = connection.out.len();
        let (bytes, out) = (&self.scratch[from..filled], &mut connection.out);
        let goes_on = web.take(bytes, &self.service, now, &mut self.desk, out);
        connection.ends |= !goes_on;
        // One that is at no torrent has no longer than a request has.
        if web.is_placed() {
            connection.due_ms = now.ticks_ms + ASK_MS;
        }
        if connection.ends || connection.out.len() > before {
            self.note(at);
        } else if connection.out.is_empty() {
            let out = std::mem::take(&mut connection.out);
            keep(&mut self.spares, out);
        }
    }

    /// Hands over what clients of any thread wrote to those of this one.
    pub(super) fn deliver(&mut self) {
        for Letter { connection: at, serial, text } in self.mailbox.take() {
            let reader = self
                .connections
                .get_mut(at)
                .filter(|it| !it.ends && it.web.as_ref().is_some_and(|web| web.is(serial)));
            let Some(connection) = reader else {
                self.service.counters.web_dropped.bump();
                continue;
            };
            if connection.sent > LEFT_BYTES_MAX {
                connection.out.drain(..connection.sent);
                connection.sent = 0;
            }
            if connection.out.len() - connection.sent + text.len() > OUT_BYTES_MAX {
                // It doesn't read; what waits for it goes with it.
                self.service.counters.web_slow.bump();
                (connection.ends, connection.sent) = (true, connection.out.len());
            } else {
                put_text(&mut connection.out, &text);
            }
            self.note(at);
        }
    }

    /// Asks a client that is late whether it is there; false if there is nothing to ask.
    pub(super) fn ask(&mut self, at: usize, now: Now) -> bool {
        let Some(connection) = self.connections.get_mut(at) else { return false };
        let Some(web) = connection.web.as_mut().filter(|web| web.is_placed()) else { return false };
        if connection.ends || !web.ask(&mut connection.out) {
            return false;
        }
        connection.due_ms = now.ticks_ms + ASK_MS;
        self.note(at);
        true
    }

    /// Ends all such connections, so that their clients come again, to whoever is here then.
    pub(super) fn dismiss(&mut self) {
        let mut dismissed = Vec::new();
        for (at, connection) in &mut self.connections {
            if connection.web.is_some() && !connection.ends {
                put_close(&mut connection.out, code::GOING_AWAY);
                connection.ends = true;
                dismissed.push(at);
            }
        }
        dismissed.into_iter().for_each(|at| self.note(at));
    }
}

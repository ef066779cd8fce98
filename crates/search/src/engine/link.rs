//! A connection to an engine, for a thread that may wait.

use std::time::Duration;

use changes::{Address, Lost, connect};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row, Value};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::Trouble;

/// So long an engine may take to let us in.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// What an engine takes in one statement, unless it is told otherwise, is half of this.
const PACKET_BYTES: usize = 16 << 20;
/// For so long a connection may be silent, so far as we are concerned.
const SILENT_SECONDS: usize = 3600;
/// An engine's words are cut here.
const WORDS_MAX: usize = 300;

/// A row of an answer: its cells in the order of the columns, as text.
pub(super) type Cells = Vec<String>;

pub(super) struct Link {
    conn: Option<Conn>,
    runtime: Option<Runtime>,
}

impl Link {
    pub(super) fn connect(address: &Address) -> Result<Self, Trouble> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Trouble::Away(format!("the system gives no runtime: {error}")))?;
        // Engines tell neither by variables.
        let options = connect::options(address)
            .max_allowed_packet(Some(PACKET_BYTES))
            .wait_timeout(Some(SILENT_SECONDS));
        let conn = runtime.block_on(async {
            match timeout(CONNECT_MAX, Conn::new(options)).await {
                Ok(connected) => connected.map_err(|error| trouble(&error)),
                Err(_) => Err(silent(CONNECT_MAX)),
            }
        })?;
        Ok(Self { conn: Some(conn), runtime: Some(runtime) })
    }

    /// The rows of a statement's answer.
    pub(super) fn ask(
        &mut self,
        statement: &str,
        patience: Duration,
    ) -> Result<Vec<Cells>, Trouble> {
        let (Some(conn), Some(runtime)) = (&mut self.conn, &self.runtime) else {
            return Err(Trouble::Away("the connection ended".to_owned()));
        };
        let asked = async {
            match timeout(patience, conn.query::<Row, _>(statement)).await {
                Ok(rows) => rows.map_err(|error| trouble(&error)),
                Err(_) => Err(silent(patience)),
            }
        };
        let rows = runtime.block_on(asked)?;
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            let within = runtime.enter();
            drop(self.conn.take());
            drop(within);
            // Whoever lets go of it may be on a runtime of their own, where nobody may wait.
            runtime.shutdown_background();
        }
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Double(number) => number.to_string(),
        Value::NULL | Value::Date(..) | Value::Time(..) => String::new(),
    }
}

fn silent(patience: Duration) -> Trouble {
    Trouble::Away(format!("it doesn't answer within {} s", patience.as_secs()))
}

/// What an error means, in the engine's words or ours: the driver's may repeat what was sent.
fn trouble(error: &mysql_async::Error) -> Trouble {
    if let mysql_async::Error::Server(server) = error {
        let message = &server.message[..server.message.floor_char_boundary(WORDS_MAX)];
        let words = format!("{message} ({})", server.code);
        return match server.code {
            // It has too many connections, or asks for a login.
            1040 | 1044 | 1045 | 1053 => Trouble::Away(words),
            _ => Trouble::Refused(words),
        };
    }
    Trouble::Away(match connect::lost(error) {
        Lost::Impossible(why) => why,
        Lost::Disconnected => "it can't be reached".to_owned(),
        lost => lost.to_string(),
    })
}

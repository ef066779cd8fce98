//! PostgreSQL.

use changes::{Address, connect};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::{Row, Trouble, put_value, words};

const MANNERS: &str = "SET lock_timeout = '5s'; SET timezone = 'UTC'; \
    SET idle_in_transaction_session_timeout = '60s'";

pub(crate) struct Link {
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Link {
    pub(super) async fn connect(address: &Address) -> Result<Self, Trouble> {
        let config = connect::postgres_options(address, "wick tracker");
        let (client, connection) = config.connect(NoTls).await.map_err(|error| trouble(&error))?;
        // Its end is known to whoever asks next.
        let driver = tokio::spawn(async move { drop(connection.await) });
        let mut link = Self { client, driver };
        link.run(MANNERS).await?;
        Ok(link)
    }

    pub(super) async fn run(&mut self, statement: &str) -> Result<u64, Trouble> {
        let answer = self.client.simple_query(statement).await.map_err(|error| trouble(&error))?;
        let changed = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::CommandComplete(rows) => *rows,
            _ => 0,
        };
        Ok(answer.iter().map(changed).sum())
    }

    pub(super) async fn ask(&mut self, question: &str) -> Result<Vec<Row>, Trouble> {
        let answer = self.client.simple_query(question).await.map_err(|error| trouble(&error))?;
        let mut values = Vec::new();
        let row = |message| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            for at in 0..row.len() {
                let value = row.try_get(at).ok().flatten().map(decoded);
                put_value(&mut values, value.as_deref());
            }
            Some(Row::take(&mut values))
        };
        Ok(answer.into_iter().filter_map(row).collect())
    }
}

/// A value as bytes; those of `bytea` are written in hexadecimal.
fn decoded(text: &str) -> Vec<u8> {
    let Some(digits) = text.strip_prefix("\\x") else { return text.as_bytes().to_vec() };
    super::super::registry::hexadecimal(digits.as_bytes()).unwrap_or_default()
}

fn trouble(error: &tokio_postgres::Error) -> Trouble {
    let Some(server) = error.as_db_error() else {
        let source = std::error::Error::source(error);
        return match source.map(ToString::to_string) {
            Some(words) if words == "password missing" => {
                Trouble::Login("it asks for a password and there is none".to_owned())
            }
            _ => Trouble::Away("it can't be reached".to_owned()),
        };
    };
    let code = server.code().code();
    let words = words(code, server.message());
    match code {
        // Deadlocks, lost races, locks that aren't given.
        "40001" | "40P01" | "55P03" => Trouble::Busy(words),
        // A row that it points at is missing; a number or a text that doesn't fit.
        "23503" | "22003" | "22001" => Trouble::Row(words),
        "53300" => Trouble::Away(words),
        // A wrong password; a user who may not; a database that isn't there.
        "28P01" | "28000" | "3D000" => Trouble::Login(words),
        "42501" => Trouble::Right(words),
        _ if code.starts_with("57P") || code.starts_with("08") => Trouble::Away(words),
        _ => Trouble::Refused(words),
    }
}

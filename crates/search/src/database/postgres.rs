//! PostgreSQL.

use std::pin::pin;

use changes::{Address, connect};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::{Go, SILENCE_MAX, Stop, Take, Told, Trouble, within, words};

pub(super) struct Link {
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
        let config = connect::postgres_options(address, "wick search");
        let (client, connection) = config.connect(NoTls).await.map_err(|error| trouble(&error))?;
        // Its end is known to whoever asks next.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { client, driver })
    }

    pub(super) async fn each(
        &mut self,
        query: &str,
        stop: &Stop,
        take: Take<'_>,
    ) -> Result<(), Trouble> {
        let asked =
            async { self.client.simple_query_raw(query).await.map_err(|error| trouble(&error)) };
        let mut answer = pin!(within(SILENCE_MAX, stop, asked).await?);
        loop {
            let next = async { answer.next().await.transpose().map_err(|error| trouble(&error)) };
            let told = match within(SILENCE_MAX, stop, next).await? {
                None => return Ok(()),
                Some(SimpleQueryMessage::RowDescription(columns)) => {
                    Told::Columns(columns.iter().map(|column| column.name().to_owned()).collect())
                }
                Some(SimpleQueryMessage::Row(row)) => {
                    let value = |at| row.try_get(at).ok().flatten().map(|text: &str| text.into());
                    Told::Row((0..row.len()).map(value).collect())
                }
                Some(_) => continue,
            };
            if take(told)? == Go::NoFurther {
                return Ok(());
            }
        }
    }
}

fn trouble(error: &tokio_postgres::Error) -> Trouble {
    let Some(server) = error.as_db_error() else {
        let source = std::error::Error::source(error);
        return match source.map(ToString::to_string) {
            Some(words) if words == "password missing" => {
                Trouble::Refused("its database asks for a password; write sql_pass".to_owned())
            }
            _ => Trouble::Away("it can't be reached".to_owned()),
        };
    };
    let code = server.code().code();
    let words = words(code, server.message());
    match code {
        "28P01" | "28000" | "3D000" => Trouble::Refused(format!(
            "its database lets nobody in like this: {words}; correct sql_user, sql_pass or sql_db"
        )),
        "40001" | "40P01" | "55P03" | "53300" => Trouble::Away(words),
        _ if code.starts_with("57P") || code.starts_with("08") => Trouble::Away(words),
        _ => Trouble::Refused(format!("its database refuses a query: {words}")),
    }
}

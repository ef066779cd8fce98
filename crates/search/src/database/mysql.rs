//! MariaDB and MySQL.

use changes::{Address, Lost, connect};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Value};

use super::{CONNECT_MAX, Go, SILENCE_MAX, Stop, Take, Told, Trouble, within, words};

pub(super) struct Link(Conn);

impl Link {
    pub(super) async fn connect(address: &Address) -> Result<Self, Trouble> {
        let options = connect::options(address).db_name(Some(&address.database));
        Conn::new(options).await.map(Self).map_err(|error| trouble(&error))
    }

    pub(super) async fn each(
        &mut self,
        query: &str,
        stop: &Stop,
        take: Take<'_>,
    ) -> Result<(), Trouble> {
        let asked = async { self.0.query_iter(query).await.map_err(|error| trouble(&error)) };
        let mut result = within(SILENCE_MAX, stop, asked).await?;
        if let Some(columns) = result.columns() {
            let names = columns.iter().map(|column| column.name_str().into_owned());
            if take(Told::Columns(names.collect()))? == Go::NoFurther {
                return Ok(());
            }
        }
        loop {
            let next = async { result.next().await.map_err(|error| trouble(&error)) };
            let Some(row) = within(SILENCE_MAX, stop, next).await? else { return Ok(()) };
            if take(Told::Row(row.unwrap().into_iter().map(bytes).collect()))? == Go::NoFurther {
                return Ok(());
            }
        }
    }

    pub(super) async fn end(self) {
        // It is over in any case.
        let _ = tokio::time::timeout(CONNECT_MAX / 10, self.0.disconnect()).await;
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Bytes(bytes) => Some(bytes),
        Value::Int(number) => Some(number.to_string().into_bytes()),
        Value::UInt(number) => Some(number.to_string().into_bytes()),
        Value::Float(number) => Some(number.to_string().into_bytes()),
        Value::Double(number) => Some(number.to_string().into_bytes()),
        // Without prepared statements these come as bytes.
        Value::NULL | Value::Date(..) | Value::Time(..) => None,
    }
}

fn trouble(error: &mysql_async::Error) -> Trouble {
    let mysql_async::Error::Server(server) = error else {
        return match connect::lost(error) {
            Lost::Impossible(why) => Trouble::Refused(why),
            Lost::Disconnected => Trouble::Away("it can't be reached".to_owned()),
            lost => Trouble::Away(lost.to_string()),
        };
    };
    let words = words(&server.code.to_string(), &server.message);
    match server.code {
        // Too many connections; it shuts down; the statement or the connection was ended; others
        // have a lock.
        1040 | 1053 | 1205 | 1213 | 1317 | 1927 | 4031 => Trouble::Away(words),
        1044 | 1045 | 1049 | 1698 => Trouble::Refused(format!(
            "its database lets nobody in like this: {words}; correct sql_user, sql_pass or sql_db"
        )),
        _ => Trouble::Refused(format!("its database refuses a query: {words}")),
    }
}

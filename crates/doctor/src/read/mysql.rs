//! MariaDB and MySQL: variables, status, and a few questions about tables and users.
//!
//! Invariant: only SELECT and SHOW are sent, and none runs longer than a second on the server.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};
use tokio::time::timeout;

use changes::{Address, Door};

use super::{PATIENCE, Root, pairs, root_at};
use crate::machine::{Counters, Machine, Unseen};

/// Where packages put the socket.
const SOCKETS: &[&str] =
    &["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

const NOT_SYSTEM: &str =
    "table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')";

/// What is asked about tables and users, by the name that the answer gets.
const FACTS: &[(&str, &str)] = &[
    (
        "innodb_bytes",
        "SELECT SUM(data_length + index_length) FROM information_schema.tables \
         WHERE engine = 'InnoDB'",
    ),
    (
        "myisam_tables",
        "SELECT COUNT(*) FROM information_schema.tables WHERE engine = 'MyISAM' AND ",
    ),
    ("tables", "SELECT COUNT(*) FROM information_schema.tables"),
    (
        "transaction_seconds",
        "SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) \
         FROM information_schema.innodb_trx",
    ),
    (
        "hosts_by_name",
        "SELECT COUNT(*) FROM mysql.user WHERE host NOT REGEXP '^[0-9a-f.:%/_]*$' \
         AND host <> 'localhost'",
    ),
];

/// A server, and the connection to it.
pub(super) struct Server {
    address: Address,
    connection: Option<Conn>,
    /// It didn't answer in time once, and isn't waited for again.
    is_lost: bool,
}

impl Server {
    pub(super) fn new(address: Address) -> Self {
        Self { address, connection: None, is_lost: false }
    }

    async fn connection(&mut self) -> Result<&mut Conn, String> {
        if self.is_lost {
            return Err("no answer in time".to_owned());
        }
        if self.connection.is_none() {
            self.is_lost = true;
            let options = changes::connect::options(&self.address);
            let connected = timeout(PATIENCE, Conn::new(options)).await;
            let mut connection = connected
                .map_err(|_| "no answer".to_owned())?
                .map_err(|error| changes::connect::lost(&error).to_string())?;
            // One of the two is an error: MariaDB and MySQL call it differently.
            for bound in ["SET max_statement_time = 1", "SET max_execution_time = 1000"] {
                let _ = connection.query_drop(bound).await;
            }
            self.connection = Some(connection);
            self.is_lost = false;
        }
        self.connection.as_mut().ok_or_else(|| "no connection".to_owned())
    }

    async fn rows(&mut self, query: &str) -> Result<Vec<Row>, String> {
        let asked = self.connection().await?.query(query);
        match timeout(PATIENCE, asked).await {
            Ok(rows) => rows.map_err(|error| changes::connect::lost(&error).to_string()),
            Err(_) => {
                self.connection = None;
                self.is_lost = true;
                Err("no answer in time".to_owned())
            }
        }
    }

    async fn pairs(&mut self, query: &str) -> Result<Vec<(String, String)>, String> {
        let rows = self.rows(query).await?;
        Ok(rows.iter().filter_map(|row| Some((word(row, 0)?, word(row, 1)?))).collect())
    }
}

/// The socket of a server that runs here.
pub(super) fn find(root: &Root, machine: &mut Machine) -> Option<Address> {
    if root.is_recorded() {
        return None;
    }
    let server =
        machine.processes.iter().find(|one| one.name == "mariadbd" || one.name == "mysqld");
    let named = server.and_then(|server| {
        let words = server.title.split(' ');
        words.filter_map(|word| word.strip_prefix("--socket=")).next_back().map(str::to_owned)
    });
    let usual = SOCKETS.iter().map(|&path| path.to_owned());
    let found = named.into_iter().chain(usual).find(|path| root.at(path).exists());
    if found.is_none() && server.is_some() {
        machine.unseen.push(Unseen {
            what: "the database's settings and statistics".into(),
            cure: "its socket isn't where packages put it: name it, as in --mysql \
                   'mysql://root@localhost/?socket=/PATH'"
                .into(),
        });
    }
    found.map(|path| root_at(path.into()))
}

/// What counts.
pub(super) async fn count(
    root: &Root,
    server: Option<&mut Server>,
    machine: &mut Machine,
    counters: &mut Counters,
) {
    let status = match server {
        None => {
            let text = root.recorded("mysql-status.tsv").unwrap_or_default();
            pairs(&text).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
        Some(server) => match server.pairs("SHOW GLOBAL STATUS").await {
            Ok(status) => status,
            Err(why) => {
                machine.unseen.push(unseen(&server.address.door, &why));
                return;
            }
        },
    };
    for (name, value) in status {
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        counters.extend(number.map(|number| (format!("mysql.{name}"), number)));
    }
}

/// What is set.
pub(super) async fn read(root: &Root, server: Option<&mut Server>, machine: &mut Machine) {
    let Some(server) = server else {
        for file in ["mysql-variables.tsv", "mysql-facts.tsv"] {
            for (name, value) in pairs(&root.recorded(file).unwrap_or_default()) {
                machine.settings.insert(format!("mysql.{name}"), value.to_owned());
            }
        }
        return;
    };
    // That it can't be asked was said when it was asked first.
    let Ok(variables) = server.pairs("SHOW GLOBAL VARIABLES").await else { return };
    let wanted = |name: &str| !name.contains("password") && !name.contains("secret");
    for (name, value) in variables.into_iter().filter(|(name, _)| wanted(name)) {
        machine.settings.insert(format!("mysql.{name}"), value);
    }
    for (name, query) in FACTS {
        let query = match query.ends_with("AND ") {
            true => format!("{query}{NOT_SYSTEM}"),
            false => (*query).to_owned(),
        };
        match server.rows(&query).await {
            Ok(rows) => {
                let answer = rows.first().and_then(|row| word(row, 0)).unwrap_or_default();
                machine.settings.insert(format!("mysql.fact.{name}"), answer);
            }
            Err(why) => machine.unseen.push(Unseen {
                what: format!("the database's {}", name.replace('_', " ")),
                cure: format!("{why}: give a login that may read information_schema and mysql.user with --mysql"),
            }),
        }
    }
}

fn unseen(door: &Door, why: &str) -> Unseen {
    Unseen {
        what: "the database's settings and statistics".into(),
        cure: format!(
            "{door}: {why}: run as root, or name a login with --mysql mysql://USER:PASSWORD@HOST/"
        ),
    }
}

/// A column as text, whatever its type.
fn word(row: &Row, column: usize) -> Option<String> {
    match row.as_ref(column)? {
        mysql_async::Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        mysql_async::Value::Int(number) => Some(number.to_string()),
        mysql_async::Value::UInt(number) => Some(number.to_string()),
        mysql_async::Value::Double(number) => Some(number.to_string()),
        _ => None,
    }
}

//! MariaDB and MySQL: variables, status, and a few questions about tables and users.
//!
//! Invariants: 1. only SELECT and SHOW are sent, and none runs longer than a second on the server.
//! 2. nothing is asked that opens tables, or pushes out what is kept of those in use: a look
//! would find its own traces, and the site would pay for it.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Row};
use tokio::time::{Instant, timeout_at};

use changes::{Address, Door};

use super::{Root, pairs, root_at};
use crate::machine::{Machine, Unseen};

/// Where packages put the socket.
const SOCKETS: &[&str] =
    &["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// What is asked about tables and users, by the name that the answer gets; the first of several
/// questions counts that this server has tables for.
const FACTS: &[(&str, &[&str])] = &[
    (
        "innodb_bytes",
        &[
            "SELECT SUM(file_size) FROM information_schema.innodb_sys_tablespaces",
            "SELECT SUM(file_size) FROM information_schema.innodb_tablespaces",
        ],
    ),
    (
        "tables",
        &["SELECT COUNT(*) FROM information_schema.tables WHERE table_schema NOT IN \
           ('information_schema', 'performance_schema', 'sys')"],
    ),
    (
        "transaction_seconds",
        &["SELECT COALESCE(MAX(TIMESTAMPDIFF(SECOND, trx_started, NOW())), 0) \
           FROM information_schema.innodb_trx"],
    ),
    (
        "hosts_by_name",
        &["SELECT COUNT(*) FROM mysql.user WHERE host NOT REGEXP '^[0-9a-f.:%/_]*$' \
           AND host <> 'localhost'"],
    ),
];

/// It reads the definition of every table, and keeps it in place of others.
const MYISAM: &[&str] =
    &["SELECT COUNT(*) FROM information_schema.tables WHERE engine = 'MyISAM' \
    AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"];

/// What was written to temporary tables and sorts on disk, where it is counted at all.
const TEMPORARY_BYTES: &str = "SELECT CAST(COALESCE(SUM(sum_number_of_bytes_write), 0) AS CHAR) \
    FROM performance_schema.file_summary_by_event_name WHERE event_name IN \
    ('wait/io/file/sql/io_cache', 'wait/io/file/aria/MAD', 'wait/io/file/aria/MAI', \
    'wait/io/file/innodb/innodb_temp_file', 'wait/io/file/innodb/temp_file')";

/// A server, and the connection to it.
pub(super) struct Server {
    address: Address,
    connection: Option<Conn>,
    /// Whether it counts what goes to files, as far as it said.
    is_counting: bool,
    /// It didn't answer in time once, and isn't waited for again.
    is_lost: bool,
}

impl Server {
    pub(super) fn new(address: Address) -> Self {
        Self { address, connection: None, is_counting: false, is_lost: false }
    }

    async fn connection(&mut self, until: Instant) -> Result<&mut Conn, String> {
        if self.is_lost {
            return Err("no answer in time".to_owned());
        }
        if self.connection.is_none() {
            self.is_lost = true;
            let options = changes::connect::options(&self.address);
            let connected = timeout_at(until, Conn::new(options)).await;
            let mut connection = connected
                .map_err(|_| "no answer in time".to_owned())?
                .map_err(|error| changes::connect::lost(&error).to_string())?;
            // One of the two is an error: MariaDB and MySQL call it differently.
            for bound in ["SET max_statement_time = 1", "SET max_execution_time = 1000"] {
                let _ = timeout_at(until, connection.query_drop(bound)).await;
            }
            self.connection = Some(connection);
            self.is_lost = false;
        }
        self.connection.as_mut().ok_or_else(|| "no connection".to_owned())
    }

    async fn rows(&mut self, query: &str, until: Instant) -> Result<Vec<Row>, String> {
        let asked = self.connection(until).await?.query(query);
        match timeout_at(until, asked).await {
            Ok(rows) => rows.map_err(|error| changes::connect::lost(&error).to_string()),
            Err(_) => {
                self.connection = None;
                self.is_lost = true;
                Err("no answer in time".to_owned())
            }
        }
    }

    async fn pairs(
        &mut self,
        query: &str,
        until: Instant,
    ) -> Result<Vec<(String, String)>, String> {
        let rows = self.rows(query, until).await?;
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

/// What counts, as far as it is told until then.
pub(super) async fn count(root: &Root, server: Option<&mut Server>, until: Instant) -> Machine {
    let mut seen = Machine::default();
    let status = match server {
        None => {
            let text = root.recorded("mysql-status.tsv").unwrap_or_default();
            pairs(&text).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        }
        Some(server) => match server.pairs("SHOW GLOBAL STATUS", until).await {
            Ok(mut status) => {
                if server.is_counting
                    && let Ok(rows) = server.rows(TEMPORARY_BYTES, until).await
                {
                    let bytes = rows.first().and_then(|row| word(row, 0));
                    status.extend(bytes.map(|bytes| ("temporary_bytes".to_owned(), bytes)));
                }
                status
            }
            Err(why) => {
                seen.unseen.push(unseen(&server.address.door, &why));
                return seen;
            }
        },
    };
    for (name, value) in status {
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        seen.now.extend(number.map(|number| (format!("mysql.{name}"), number)));
    }
    seen
}

/// What is set.
pub(super) async fn read(root: &Root, server: Option<&mut Server>, until: Instant) -> Machine {
    let mut seen = Machine::default();
    let Some(server) = server else {
        for file in ["mysql-variables.tsv", "mysql-facts.tsv"] {
            for (name, value) in pairs(&root.recorded(file).unwrap_or_default()) {
                seen.settings.insert(format!("mysql.{name}"), value.to_owned());
            }
        }
        return seen;
    };
    let variables = match server.pairs("SHOW GLOBAL VARIABLES", until).await {
        Ok(variables) => variables,
        Err(why) => {
            seen.unseen.push(unseen(&server.address.door, &why));
            return seen;
        }
    };
    let wanted = |name: &str| !name.contains("password") && !name.contains("secret");
    for (name, value) in variables.into_iter().filter(|(name, _)| wanted(name)) {
        seen.settings.insert(format!("mysql.{name}"), value);
    }
    server.is_counting = seen.is_on("mysql.performance_schema") == Some(true);
    for (name, queries) in FACTS {
        fact(server, &mut seen, name, queries, until).await;
    }
    let tables = seen.number("mysql.fact.tables").unwrap_or(0.0);
    let places = seen.number("mysql.table_definition_cache").unwrap_or(f64::INFINITY);
    let is_dictionary = !seen.is_mariadb() && seen.database_version() >= (8, 0);
    if tables <= places || is_dictionary {
        fact(server, &mut seen, "myisam_tables", MYISAM, until).await;
    } else {
        seen.unseen.push(Unseen {
            what: "the database's myisam tables".into(),
            cure: format!(
                "to look at {tables} tables would push those in use out of table_definition_cache \
                 ({places}): ask at a quiet time, {}",
                MYISAM.concat()
            ),
        });
    }
    seen
}

async fn fact(
    server: &mut Server,
    seen: &mut Machine,
    name: &str,
    queries: &[&str],
    until: Instant,
) {
    let mut last = Err("no question".to_owned());
    for query in queries {
        last = server.rows(query, until).await;
        if last.is_ok() {
            break;
        }
    }
    match last {
        Ok(rows) => {
            let answer = rows.first().and_then(|row| word(row, 0)).unwrap_or_default();
            seen.settings.insert(format!("mysql.fact.{name}"), answer);
        }
        Err(why) => seen.unseen.push(Unseen {
            what: format!("the database's {}", name.replace('_', " ")),
            cure: format!(
                "{why}: give a login that may read information_schema (PROCESS) and mysql.user with \
                 --mysql"
            ),
        }),
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

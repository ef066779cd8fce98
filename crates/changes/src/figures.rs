//! Figures: how busy a database server is, asked as who follows it.
//!
//! Invariants: 1. nothing is asked that would need a right, or a lock. 2. One connection, which
//! is opened again after it was lost. 3. An error holds no password.
//! Start at [`Gauge::read`].

use std::collections::HashMap;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::time::timeout;

use crate::postgres::Connection;
use crate::statements::{self, Statement};
use crate::{Address, Lost, Source, connect, postgres};

/// How long a server may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The names by which MariaDB and MySQL have what [`Figures`] hold.
const MYSQL: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', \
    'Threads_running', 'Questions', 'Slow_queries', 'Innodb_buffer_pool_reads', \
    'Innodb_buffer_pool_read_requests', 'Uptime')";

/// How busy a server is; numbers without another word count since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Connections, at this moment.
    pub connections: Option<u64>,
    /// Those that work, at this moment.
    pub running: Option<u64>,
    /// Statements, or transactions for PostgreSQL.
    pub questions: Option<u64>,
    /// Statements that took long; MariaDB and MySQL only.
    pub slow: Option<u64>,
    /// Reads that memory answered.
    pub memory_hits: Option<u64>,
    /// Reads that went to the disk.
    pub memory_misses: Option<u64>,
}

/// Asks one server again and again.
pub struct Gauge {
    address: Address,
    connection: Option<Open>,
    is_postgres: bool,
}

enum Open {
    MySql(Conn),
    PostgreSql(Connection),
}

impl Gauge {
    /// For a source that is a server; none for others.
    #[must_use]
    pub fn new(source: &Source) -> Option<Self> {
        let (address, is_postgres) = match source {
            Source::MySql(address) => (address.clone(), false),
            Source::PostgreSql(address) => (address.clone(), true),
            Source::Sqlite(_) | Source::Files(_) | Source::Other(_) => return None,
        };
        Some(Self { address, connection: None, is_postgres })
    }

    /// What it is by name: `MariaDB or MySQL`, `PostgreSQL`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_postgres { "PostgreSQL" } else { "MariaDB or MySQL" }
    }

    /// The database's name.
    #[must_use]
    pub fn database(&self) -> &str {
        &self.address.database
    }

    /// How busy the server is now.
    ///
    /// # Errors
    /// It can't be asked at the moment; the next time it is tried anew.
    pub async fn read(&mut self) -> Result<Figures, Lost> {
        let mut open = self.open().await?;
        let asked = async {
            match &mut open {
                Open::MySql(connection) => of_mysql(connection).await,
                Open::PostgreSql(connection) => postgres::figures(connection).await,
            }
        };
        let figures = timeout(ANSWER_MAX, asked).await.unwrap_or(Err(Lost::Silent))?;
        self.connection = Some(open);
        Ok(figures)
    }

    /// Where the time of its database goes: the dearest kinds of statements, as the server counts
    /// them.
    ///
    /// # Errors
    /// It counts none, this user may not ask, or it can't be asked at the moment.
    pub async fn statements(&mut self) -> Result<Vec<Statement>, Lost> {
        let mut open = self.open().await?;
        let database = self.address.database.as_str();
        let asked = async {
            match &mut open {
                Open::MySql(connection) => statements::of_mysql(connection, database).await,
                Open::PostgreSql(connection) => postgres::figures::statements(connection).await,
            }
        };
        let told = timeout(ANSWER_MAX, asked).await.unwrap_or(Err(Lost::Silent));
        // Who says no is still there.
        if matches!(told, Ok(_) | Err(Lost::Refused { .. } | Lost::Impossible(_))) {
            self.connection = Some(open);
        }
        told
    }

    async fn open(&mut self) -> Result<Open, Lost> {
        Ok(match self.connection.take() {
            Some(open) => open,
            None if self.is_postgres => Open::PostgreSql(Connection::open(&self.address).await?),
            None => Open::MySql(connect::connect(&self.address).await?),
        })
    }
}

async fn of_mysql(connection: &mut Conn) -> Result<Figures, Lost> {
    let rows: Result<Vec<(String, String)>, _> = connection.query(MYSQL).await;
    Ok(figures(&rows.map_err(|error| connect::lost(&error))?))
}

/// The figures among a server's variables.
fn figures(rows: &[(String, String)]) -> Figures {
    let all: HashMap<String, u64> = rows
        .iter()
        .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.parse().ok()?)))
        .collect();
    let of = |name: &str| all.get(name).copied();
    let misses = of("innodb_buffer_pool_reads");
    let reads = of("innodb_buffer_pool_read_requests");
    Figures {
        connections: of("threads_connected"),
        running: of("threads_running"),
        questions: of("questions"),
        slow: of("slow_queries"),
        memory_hits: reads.map(|reads| reads.saturating_sub(misses.unwrap_or(0))),
        memory_misses: misses,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_known_by_their_names_and_others_are_left() {
        let row = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let rows = [
            row("Threads_running", "3"),
            row("QUESTIONS", "400"),
            row("Slow_queries", "x"),
            row("Innodb_buffer_pool_reads", "10"),
            row("Innodb_buffer_pool_read_requests", "100"),
            row("Other", "9"),
        ];
        let expected = Figures {
            running: Some(3),
            questions: Some(400),
            memory_hits: Some(90),
            memory_misses: Some(10),
            ..Figures::default()
        };
        assert_eq!(figures(&rows), expected);
        assert_eq!(figures(&[]), Figures::default());
    }

    #[tokio::test]
    async fn a_server_that_is_not_there_is_an_error_without_its_password() {
        for address in ["mysql://u:hush@127.0.0.1:1/d", "postgres://u:hush@127.0.0.1:1/d"] {
            let source = address.parse().expect("a source");
            let mut gauge = Gauge::new(&source).expect("a server");
            assert_eq!(gauge.database(), "d");
            let lost = gauge.read().await.expect_err("nobody listens");
            assert!(!format!("{lost} {lost:?}").contains("hush"), "{lost:?}");
        }
        assert!(Gauge::new(&Source::Files("/a".into())).is_none());
    }
}

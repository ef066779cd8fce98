//! Rungs: how well a server's changes can be followed with the rights that there are,
//! and what one rung more would take.
//!
//! In: a server's settings and a user's rights. Out: [`Standing`], with lines that an
//! owner can copy as they are.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use crate::connect::{connect, lost};
use crate::{Address, Lost, Source, postgres};

/// How well changes can be followed, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Not at all: pages are fresh for as long as one is willing to be wrong.
    Nothing,
    /// [`Feed::poll`](crate::Feed::poll), [`Feed::poll_postgres`](crate::Feed::poll_postgres):
    /// which table, within a second.
    Poll,
    /// [`Feed::binlog`](crate::Feed::binlog), [`Feed::postgres`](crate::Feed::postgres): each
    /// row, at once.
    Log,
}

/// What an owner should know before giving the right to read the log.
pub const WARNING: &str = "whoever may read the log sees every row that is written in any \
    of this server's databases, password hashes included";

/// Where one stands, and what lies between here and the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What is possible now.
    pub rung: Rung,
    /// Statements for the server's administrator that are missing for the best.
    pub grants: Vec<String>,
    /// Lines that are missing for it in the server's settings: in the section `[mysqld]`
    /// of MariaDB's and MySQL's, in `postgresql.conf` of PostgreSQL's.
    pub settings: Vec<String>,
    /// Whether those lines need a restart of the server.
    pub needs_restart: bool,
}

/// Asks a source that is a server where its user stands; none for a source that isn't one.
pub async fn standing_of(source: &Source) -> Option<Result<Standing, Lost>> {
    match source {
        Source::MySql(address) => Some(standing(address).await),
        Source::PostgreSql(address) => Some(postgres::standing(address).await),
        Source::Sqlite(_) | Source::Files(_) | Source::Other(_) => None,
    }
}

/// Asks the MariaDB or MySQL server at `address` where its user stands.
pub async fn standing(address: &Address) -> Result<Standing, Lost> {
    let mut connection = connect(address).await?;
    let facts = ask(&mut connection, &address.database).await.map_err(|error| lost(&error))?;
    Ok(stand(&facts.unwrap_or_default(), &address.database))
}

/// What a server says about itself and about a user.
#[derive(Debug, Default)]
struct Facts {
    is_mariadb: bool,
    user: String,
    has_log: bool,
    server_id: u32,
    format: String,
    image: String,
    metadata: String,
    grants: Vec<String>,
    sees_tables: bool,
}

async fn ask(connection: &mut Conn, database: &str) -> mysql_async::Result<Option<Facts>> {
    const ABOUT: &str = "SELECT VERSION(), CURRENT_USER(), @@global.log_bin, @@global.server_id, \
        @@global.binlog_format, @@global.binlog_row_image";
    type About = (String, String, u8, u32, String, String);
    let about: Option<About> = connection.query_first(ABOUT).await?;
    let Some((version, user, has_log, server_id, format, image)) = about else { return Ok(None) };
    // Old servers don't know the word.
    let metadata: Option<String> =
        connection.query_first("SELECT @@global.binlog_row_metadata").await.unwrap_or_default();
    let grants = connection.query("SHOW GRANTS").await?;
    let tables: Option<u64> = connection
        .exec_first(
            "SELECT COUNT(*) FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = ? OR ? = '' AND TABLE_TYPE = 'BASE TABLE'",
            (database, database),
        )
        .await?;
    Ok(Some(Facts {
        is_mariadb: version.contains("MariaDB"),
        user,
        has_log: has_log != 0,
        server_id,
        format,
        image,
        metadata: metadata.unwrap_or_default(),
        grants,
        sees_tables: tables.is_some_and(|tables| tables > 0),
    }))
}

fn stand(facts: &Facts, database: &str) -> Standing {
    let user = account(&facts.user);
    let mut grants = Vec::new();
    // MariaDB tells where its log ends to everybody; MySQL wants a right for that.
    let rights: &[&str] = match facts.is_mariadb {
        true => &["REPLICATION SLAVE"],
        false => &["REPLICATION SLAVE", "REPLICATION CLIENT"],
    };
    let missing: Vec<&str> =
        rights.iter().copied().filter(|right| !is_granted(&facts.grants, right)).collect();
    if !missing.is_empty() {
        grants.push(format!("GRANT {} ON *.* TO {user};", missing.join(", ")));
    }
    if !facts.sees_tables && !database.is_empty() {
        let database = database.replace('`', "``");
        grants.push(format!("GRANT SELECT ON `{database}`.* TO {user};"));
    }
    let wanted = [
        ("binlog_format", "ROW", &facts.format),
        ("binlog_row_image", "FULL", &facts.image),
        ("binlog_row_metadata", "FULL", &facts.metadata),
    ];
    let mut settings = Vec::new();
    if !facts.has_log {
        settings.push("log_bin".to_owned());
        settings.push(format!("server_id = {}", facts.server_id.max(1)));
        settings.push("binlog_expire_logs_seconds = 86400".to_owned());
    }
    let wrong = wanted.iter().filter(|(_, value, now)| !now.eq_ignore_ascii_case(value));
    settings.extend(wrong.map(|(name, value, _)| format!("{name} = {value}")));
    let rung = match facts {
        _ if facts.has_log && missing.is_empty() => Rung::Log,
        _ if facts.sees_tables => Rung::Poll,
        _ => Rung::Nothing,
    };
    Standing { rung, grants, settings, needs_restart: !facts.has_log }
}

/// Whether a right for the whole server is among `SHOW GRANTS`.
fn is_granted(grants: &[String], right: &str) -> bool {
    grants.iter().any(|grant| {
        let grant = grant.to_ascii_uppercase();
        let Some((rights, _)) = grant.split_once(" ON *.* TO ") else { return false };
        let rights = rights.trim_start_matches("GRANT ");
        // MariaDB has another name for the one, too.
        let is_it =
            |own: &str| own == right || right == "REPLICATION CLIENT" && own == "BINLOG MONITOR";
        rights == "ALL PRIVILEGES" || rights.split(',').map(str::trim).any(is_it)
    })
}

/// `user@host` as a statement writes it.
fn account(user: &str) -> String {
    let (name, host) = user.rsplit_once('@').unwrap_or((user, "%"));
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
    format!("{}@{}", quoted(name), quoted(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(grants: &[&str]) -> Facts {
        Facts {
            is_mariadb: true,
            user: "wick@localhost".to_owned(),
            has_log: true,
            server_id: 3,
            format: "ROW".to_owned(),
            image: "FULL".to_owned(),
            metadata: "FULL".to_owned(),
            grants: grants.iter().map(|&grant| grant.to_owned()).collect(),
            sees_tables: true,
        }
    }

    fn check(facts: &Facts, rung: Rung, grants: &[&str], settings: &[&str]) {
        let standing = stand(facts, "site");
        assert_eq!(standing.rung, rung, "{facts:?}");
        assert_eq!(standing.grants, grants, "{facts:?}");
        assert_eq!(standing.settings, settings, "{facts:?}");
        assert_eq!(standing.needs_restart, !facts.has_log);
    }

    #[test]
    fn nothing_is_missing_on_the_highest_rung() {
        for grant in [
            "GRANT REPLICATION SLAVE ON *.* TO `wick`@`localhost` IDENTIFIED BY PASSWORD '*0'",
            "GRANT RELOAD, REPLICATION SLAVE ON *.* TO `wick`@`localhost`",
            "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",
        ] {
            check(&facts(&[grant]), Rung::Log, &[], &[]);
        }
    }

    #[test]
    fn a_missing_right_is_told_as_the_line_that_gives_it() {
        let grant = "GRANT REPLICATION SLAVE ON *.* TO 'wick'@'localhost';";
        for own in ["GRANT USAGE ON *.* TO `w`@`h`", "GRANT ALL PRIVILEGES ON `site`.* TO `w`@`h`"]
        {
            check(&facts(&[own]), Rung::Poll, &[grant], &[]);
        }
        let blind = Facts { sees_tables: false, user: "o'k@%".to_owned(), ..facts(&[]) };
        let grants = [
            "GRANT REPLICATION SLAVE ON *.* TO 'o''k'@'%';",
            "GRANT SELECT ON `site`.* TO 'o''k'@'%';",
        ];
        check(&blind, Rung::Nothing, &grants, &[]);
        let mysql =
            Facts { is_mariadb: false, ..facts(&["GRANT REPLICATION SLAVE ON *.* TO `w`@`h`"]) };
        check(&mysql, Rung::Poll, &["GRANT REPLICATION CLIENT ON *.* TO 'wick'@'localhost';"], &[]);
    }

    #[test]
    fn missing_settings_are_told_as_lines() {
        let right = ["GRANT REPLICATION SLAVE ON *.* TO `w`@`h`"];
        let mixed =
            Facts { format: "MIXED".to_owned(), metadata: "NO_LOG".to_owned(), ..facts(&right) };
        check(&mixed, Rung::Log, &[], &["binlog_format = ROW", "binlog_row_metadata = FULL"]);
        let none = Facts { has_log: false, ..facts(&right) };
        let lines = ["log_bin", "server_id = 3", "binlog_expire_logs_seconds = 86400"];
        check(&none, Rung::Poll, &[], &lines);
    }
}

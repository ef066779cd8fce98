//! Identities: whether two machines ask the same server, whatever they call it.
//!
//! One address may lead to another server on each machine (`127.0.0.1` does), and copies of one
//! database are each ahead of or behind the other. So a server is known by what it says of
//! itself; and one that is reached without leaving the machine by the machine as well, since a
//! copy of a server's folder says the same of itself.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;

use mysql_async::prelude::Queryable;

use crate::connect::{connect, lost};
use crate::{Address, Door, Lost, Source, postgres};

/// What no two machines that run have in common, and no machine over a restart.
const MACHINE: &str = "/proc/sys/kernel/random/boot_id";

/// Which server and database a source is, in 16 hexadecimal digits; none for a source that isn't
/// a server, which is each machine's own, and where the machine can't be told from others.
///
/// # Errors
/// Why the server doesn't say it.
pub async fn identity_of(source: &Source) -> Result<Option<String>, Lost> {
    let (address, told) = match source {
        Source::MySql(address) => (address, mysql(address).await?),
        Source::PostgreSql(address) => (address, postgres::identity(address).await?),
        Source::Sqlite(_) | Source::Files(_) | Source::Other(_) => return Ok(None),
    };
    let machine = match is_here(&address.door) {
        false => String::new(),
        true => match fs::read_to_string(MACHINE) {
            Ok(machine) => machine,
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(digits(&told, &machine, &address.database)))
}

fn digits(told: &[String], machine: &str, database: &str) -> String {
    // Its seed is no secret and always the same; nodes that hash otherwise only fail to share.
    let mut hasher = DefaultHasher::new();
    (told, machine, database).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn is_here(door: &Door) -> bool {
    match door {
        Door::Socket(_) => true,
        Door::Tcp(host, _) => {
            let is_loopback = host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
            is_loopback || host.eq_ignore_ascii_case("localhost")
        }
    }
}

async fn mysql(address: &Address) -> Result<Vec<String>, Lost> {
    let mut connection = connect(address).await?;
    type About = (String, u32, String, u32, String);
    let about: Option<About> = connection
        .query_first(
            "SELECT @@global.hostname, @@global.port, @@global.datadir, @@global.server_id, VERSION()",
        )
        .await
        .map_err(|error| lost(&error))?;
    let (host, port, folder, server_id, version) = about.ok_or(Lost::Unreadable)?;
    let mut told = vec![host, port.to_string(), folder, server_id.to_string(), version];
    // MySQL has the one, newer MariaDBs the other; who doesn't know a word says an error.
    for name in ["server_uuid", "server_uid"] {
        let question = format!("SELECT @@global.{name}");
        match connection.query_first::<String, _>(question).await {
            Ok(value) => told.extend(value),
            Err(mysql_async::Error::Server(_)) => {}
            Err(error) => return Err(lost(&error)),
        }
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_way_out_of_the_machine_is_the_machines() {
        for (address, expected) in [
            ("mysql://a@127.0.0.1/d", true),
            ("mysql://a@localhost/d", true),
            ("mysql://a@[::1]/d", true),
            ("mysql://a@h/d?socket=/run/m.sock", true),
            ("mysql://a@db.test/d", false),
            ("mysql://a@10.0.0.9/d", false),
        ] {
            let address: Address = address.parse().expect("an address");
            assert_eq!(is_here(&address.door), expected, "{address:?}");
        }
    }

    #[test]
    fn another_server_machine_or_database_is_another() {
        let told = |text: &str| vec![text.to_owned()];
        let one = digits(&told("a"), "m", "d");
        assert_eq!((one.len(), &one), (16, &digits(&told("a"), "m", "d")));
        let others = [
            digits(&told("b"), "m", "d"),
            digits(&told("a"), "n", "d"),
            digits(&told("a"), "m", "e"),
        ];
        assert!(others.iter().all(|other| *other != one));
    }
}

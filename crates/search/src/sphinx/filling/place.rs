//! Where the database of a source is, as a `sphinx.conf` says it.

use std::path::{Path, PathBuf};

use changes::{Address, Door};

use crate::database::Place;
use crate::sphinx::conf::{Source, SourceKind};

/// Where MariaDB and MySQL listen for `localhost`, by distribution, as their own clients do.
const SOCKETS: [&str; 3] =
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// The place.
pub(super) fn place_of(source: &Source) -> Place {
    match source.kind {
        SourceKind::MySql => Place::MySql(mysql_address(source)),
        SourceKind::Postgres => Place::Postgres(postgres_address(source)),
        SourceKind::Sqlite => Place::Sqlite(PathBuf::from(&source.database)),
    }
}

fn mysql_address(source: &Source) -> Address {
    let named = source.socket.as_ref().map(PathBuf::from);
    // `localhost` is the socket unless a port is written, as for MySQL's own clients.
    let usual = || {
        let is_local = source.host == "localhost" && source.port.is_none_or(|port| port == 3306);
        let there = SOCKETS.iter().map(PathBuf::from).find(|path| path.exists());
        there.filter(|_| is_local)
    };
    let tcp = || Door::Tcp(host(source), source.port.unwrap_or(3306));
    address(source, named.or_else(usual).map_or_else(tcp, Door::Socket))
}

fn postgres_address(source: &Source) -> Address {
    let port = source.port.unwrap_or(5432);
    let folder = source.socket.clone().or_else(|| {
        // As in libpq, a host that is a path is the socket's folder.
        Some(source.host.clone()).filter(|host| host.starts_with('/'))
    });
    let door = match folder {
        Some(folder) => Door::Socket(Path::new(&folder).join(format!(".s.PGSQL.{port}"))),
        None => Door::Tcp(host(source), port),
    };
    address(source, door)
}

/// An address that isn't looked up: `localhost` may be one that nobody listens on.
fn host(source: &Source) -> String {
    if source.host == "localhost" { "127.0.0.1".to_owned() } else { source.host.clone() }
}

fn address(source: &Source, door: Door) -> Address {
    Address {
        door,
        user: source.user.clone(),
        password: source.password.clone(),
        database: source.database.clone(),
    }
}

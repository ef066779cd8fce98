//! Connecting to a MariaDB or MySQL server, and what its errors mean; how a PostgreSQL is reached.
//!
//! Invariant: an error that leaves this crate holds the server's words or ours, never
//! the driver's, which may repeat what was sent.

use std::time::Duration;

use mysql_async::{Conn, DriverError, OptsBuilder};
use tokio::time::timeout;

pub use crate::postgres::postgres_options;
use crate::{Address, Door, Lost};

/// How long a server may take to let us in.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A connection to the server at `address`, with no database in use.
pub(crate) async fn connect(address: &Address) -> Result<Conn, Lost> {
    match timeout(CONNECT_MAX, Conn::new(options(address))).await {
        Ok(connected) => connected.map_err(|error| lost(&error)),
        Err(_) => Err(Lost::Disconnected),
    }
}

/// How the server at `address` is reached, with no database in use.
pub fn options(address: &Address) -> OptsBuilder {
    let password = address.password.reveal();
    let options = OptsBuilder::default()
        .user(Some(&address.user))
        .pass((!password.is_empty()).then_some(password))
        .prefer_socket(false);
    match &address.door {
        Door::Socket(path) => options.socket(Some(path.to_string_lossy())),
        Door::Tcp(host, port) => options.ip_or_hostname(host).tcp_port(*port),
    }
}

/// What an error means for who listens.
pub fn lost(error: &mysql_async::Error) -> Lost {
    match error {
        mysql_async::Error::Server(error) => {
            Lost::Refused { code: error.code.to_string(), message: error.message.clone() }
        }
        mysql_async::Error::Io(_) => Lost::Disconnected,
        // MySQL also asks users that it doesn't know for a login of any kind.
        mysql_async::Error::Driver(DriverError::UnknownAuthPlugin { name }) => {
            Lost::Impossible(format!(
                "the server wants a login by {name}, which Wick doesn't have; MySQL also says so \
                 to a user that it doesn't know. Give the user one by caching_sha2_password"
            ))
        }
        mysql_async::Error::Driver(DriverError::ConnectionClosed) => Lost::Disconnected,
        _ => Lost::Unreadable,
    }
}

//! Addresses of databases: `mysql://user:password@host:port/database?socket=…`, and the
//! same for `postgres://`.
//!
//! Invariant: neither an address nor an error about one prints a password.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Secret;

/// Where servers listen unless told otherwise.
const MYSQL_PORT: u16 = 3306;
const POSTGRES_PORT: u16 = 5432;

/// Where a server of databases is, and as whom it is asked.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// The way to it.
    pub door: Door,
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: Secret,
    /// The site's database; empty for all of the server's.
    pub database: String,
}

/// The way to a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// A Unix socket.
    Socket(PathBuf),
    /// A host and a port.
    Tcp(String, u16),
}

/// Why a text is no address; it never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It begins otherwise.
    #[error("a database's address begins with mysql://, mariadb:// or postgres://")]
    Scheme,
    /// There is nobody to log in as.
    #[error("a database's address names a user: mysql://user:password@host/database")]
    User,
    /// The port is no number.
    #[error("the port in a database's address is a number up to 65535")]
    Port,
    /// A `%` without two hexadecimal digits after it.
    #[error("a % in a database's address stands before two hexadecimal digits")]
    Escape,
    /// A word after `?` that means nothing here.
    #[error("after the ? of a database's address only socket=/PATH may stand")]
    Parameter,
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Scheme)?;
        let port = match scheme {
            "mysql" | "mariadb" => MYSQL_PORT,
            "postgres" | "postgresql" => POSTGRES_PORT,
            _ => return Err(AddressError::Scheme),
        };
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, place) = rest.rsplit_once('@').ok_or(AddressError::User)?;
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        if user.is_empty() {
            return Err(AddressError::User);
        }
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        let mut door = tcp(host, port)?;
        for parameter in parameters.split('&').filter(|one| !one.is_empty()) {
            match parameter.split_once('=') {
                Some(("socket", path)) if !path.is_empty() => {
                    door = Door::Socket(decode(path)?.into())
                }
                _ => return Err(AddressError::Parameter),
            }
        }
        let password = Secret::new(decode(password)?);
        Ok(Self { door, user: decode(user)?, password, database: decode(database)? })
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { door, user, password: _, database } = self;
        write!(formatter, "{user}@{door}/{database}")
    }
}

impl fmt::Display for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(formatter, "{}", path.display()),
            Self::Tcp(host, port) => write!(formatter, "{host}:{port}"),
        }
    }
}

impl Door {
    /// A socket at `path`.
    #[must_use]
    pub fn socket(path: &Path) -> Self {
        Self::Socket(path.to_owned())
    }
}

fn tcp(host: &str, default: u16) -> Result<Door, AddressError> {
    // An IPv6 address stands in brackets, and its colons are no port's.
    let port_at = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    let (name, port) = match port_at {
        Some(at) => (&host[..at], host[at + 1..].parse().map_err(|_| AddressError::Port)?),
        None => (host, default),
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let name = if name.is_empty() { "localhost" } else { name };
    Ok(Door::Tcp(decode(name)?, port))
}

fn decode(text: &str) -> Result<String, AddressError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let digit = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(AddressError::Escape) };
        bytes.push(high << 4 | low);
    }
    String::from_utf8(bytes).map_err(|_| AddressError::Escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(&str, &str), AddressError>) {
        let read = text.parse::<Address>();
        let shown = read.map(|read| (format!("{read:?}"), read.password.reveal().to_owned()));
        let expected = expected.map(|(shown, password)| (shown.to_owned(), password.to_owned()));
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn addresses_are_read_and_shown_without_the_password() {
        check("mysql://wick:s3cret@db.example/site", Ok(("wick@db.example:3306/site", "s3cret")));
        check(
            "mysql://wick@localhost/site?socket=/run/my.sock",
            Ok(("wick@/run/my.sock/site", "")),
        );
        check("mariadb://w:a%40b%3Ac@[::1]:3307", Ok(("w@::1:3307/", "a@b:c")));
        check("mysql://w:a@b@host/x", Ok(("w@host:3306/x", "a@b")));
        check("mysql://w@/x", Ok(("w@localhost:3306/x", "")));
        check("postgres://w:p@h/x", Ok(("w@h:5432/x", "p")));
    }

    #[test]
    fn what_is_no_address_says_why() {
        check("redis://a@b/c", Err(AddressError::Scheme));
        check("mysql://host/site", Err(AddressError::User));
        check("mysql://:x@host/site", Err(AddressError::User));
        check("mysql://a@b:port/c", Err(AddressError::Port));
        check("mysql://a:%zz@b/c", Err(AddressError::Escape));
        check("mysql://a:é%@b/c", Err(AddressError::Escape));
        check("mysql://a@b/c?tls=yes", Err(AddressError::Parameter));
        check("mysql://a@b/c?socket=", Err(AddressError::Parameter));
    }
}

//! Sources: where a site keeps what its pages are made of, as an owner writes it.
//!
//! Invariant: neither a source nor an error about one prints a password.

use std::path::PathBuf;
use std::str::FromStr;

use crate::{Address, AddressError};

/// Where a site keeps what its pages are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// MariaDB or MySQL.
    MySql(Address),
    /// PostgreSQL.
    PostgreSql(Address),
    /// A file of SQLite.
    Sqlite(PathBuf),
    /// A folder of files, with all that is below it; or a single file.
    Files(PathBuf),
    /// Another, by the name that the app has for it: it can't be followed.
    Other(String),
}

/// Why a text is no source; it never repeats a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It begins otherwise.
    #[error(
        "write mysql://user:password@host/database, postgres://user:password@host/database, \
         sqlite:/path/to/file or files:/path/to/folder"
    )]
    Scheme,
    /// A path that depends on where one stands.
    #[error("write the whole path, from its first /")]
    Path,
    /// The address of a server is wrong.
    #[error(transparent)]
    Address(#[from] AddressError),
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let (scheme, rest) = text.split_once(':').ok_or(SourceError::Scheme)?;
        match scheme {
            "mysql" | "mariadb" => Ok(Self::MySql(text.parse()?)),
            "postgres" | "postgresql" => Ok(Self::PostgreSql(text.parse()?)),
            "sqlite" => path(rest).map(Self::Sqlite),
            "files" => path(rest).map(Self::Files),
            _ => Err(SourceError::Scheme),
        }
    }
}

fn path(text: &str) -> Result<PathBuf, SourceError> {
    // "sqlite:///srv/site.db" is what many write.
    let path = PathBuf::from(text.strip_prefix("//").unwrap_or(text));
    if path.is_absolute() { Ok(path) } else { Err(SourceError::Path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read() {
        for (text, expected) in [
            ("mysql://a:b@h/d", Ok("MySql(a@h:3306/d)")),
            ("postgres://a:b@h/d", Ok("PostgreSql(a@h:5432/d)")),
            ("postgresql://a@h:1/d", Ok("PostgreSql(a@h:1/d)")),
            ("sqlite:/srv/a.db", Ok("Sqlite(\"/srv/a.db\")")),
            ("sqlite:///srv/a.db", Ok("Sqlite(\"/srv/a.db\")")),
            ("files:/srv/wiki", Ok("Files(\"/srv/wiki\")")),
            ("files:wiki", Err(SourceError::Path)),
            ("sqlite://wiki", Err(SourceError::Path)),
            ("redis://a", Err(SourceError::Scheme)),
            ("auto", Err(SourceError::Scheme)),
            ("mysql://h/d", Err(SourceError::Address(AddressError::User))),
        ] {
            let read = text.parse::<Source>().map(|source| format!("{source:?}"));
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
    }
}

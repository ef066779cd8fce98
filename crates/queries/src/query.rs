//! One execution of a query, as a log tells it.

use crate::tokens::Dialect;

/// One execution. What a log doesn't tell is zero, empty or `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query<'a> {
    /// The statement, without the semicolon at its end.
    pub statement: &'a [u8],
    /// Whose SQL it is.
    pub dialect: Dialect,
    /// Whether it is a command of the protocol, such as `Ping`, and no SQL.
    pub is_command: bool,
    /// How long it took, in nanoseconds.
    pub nanoseconds: u64,
    /// How long it waited for locks, in nanoseconds.
    pub lock_nanoseconds: u64,
    /// Rows that it answered with.
    pub rows_sent: u64,
    /// Rows that it looked at.
    pub rows_examined: u64,
    /// Seconds since 1970 in UTC.
    pub unix_seconds: Option<i64>,
    /// The user.
    pub user: &'a [u8],
    /// The client's host.
    pub host: &'a [u8],
    /// The database in use.
    pub database: &'a [u8],
    /// What it had to do.
    pub marks: Marks,
    /// The plan, as the log has it.
    pub plan: &'a [u8],
    /// Whom it was for.
    pub whose: Whose<'a>,
}

/// Whom an execution was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Nobody knows: it is from a log, or a server's counts.
    #[default]
    Unknown,
    /// One of several requests.
    Unsure,
    /// A request of this route.
    Route(&'a str),
}

/// What is remarkable in how a query was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A table was read from end to end.
    pub full_scan: bool,
    /// Rows were sorted apart.
    pub sort: bool,
    /// A temporary table was made.
    pub temporary: bool,
    /// …on the disk.
    pub on_disk: bool,
}

impl Marks {
    /// What either has.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            full_scan: self.full_scan || other.full_scan,
            sort: self.sort || other.sort,
            temporary: self.temporary || other.temporary,
            on_disk: self.on_disk || other.on_disk,
        }
    }
}

impl<'a> Query<'a> {
    /// An execution of which only the statement is known.
    #[must_use]
    pub fn new(statement: &'a [u8], dialect: Dialect) -> Self {
        Self {
            statement,
            dialect,
            is_command: false,
            nanoseconds: 0,
            lock_nanoseconds: 0,
            rows_sent: 0,
            rows_examined: 0,
            unix_seconds: None,
            user: b"",
            host: b"",
            database: b"",
            marks: Marks::default(),
            plan: b"",
            whose: Whose::Unknown,
        }
    }
}

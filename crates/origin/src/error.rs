//! Why no answer came, whose fault it is, and whether asking again is safe.

use wire::BodyError;

/// Who has to act for the error to go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The visitor.
    Client,
    /// The origin, or whoever runs it.
    Origin,
    /// Wick, its limits or its machine.
    Ours,
}

/// A path that is never served, whether it exists or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `..` in the path, also percent-encoded.
    #[error("the path climbs out of its folder")]
    Traversal,
    /// A NUL byte in the path.
    #[error("the path holds a NUL byte")]
    Nul,
    /// No `/` at its start.
    #[error("the target is not a path")]
    NotAPath,
    /// A name that begins with a dot, outside `/.well-known/`.
    #[error("dot files are not served")]
    DotFile,
    /// PHP below a folder that visitors upload to.
    #[error("PHP in an upload folder is not run")]
    UploadedScript,
    /// A file that holds PHP source but would not be run.
    #[error("PHP source is not served as text")]
    Source,
    /// A `.htaccess` of the site denies it to everybody, or can't be read.
    #[error("denied to everybody by a .htaccess")]
    Denied,
    /// The file's permissions keep us out.
    #[error("the file may not be read")]
    Permission,
    /// Neither a file nor a folder: a socket, a device, a pipe.
    #[error("not a regular file")]
    NotRegular,
}

/// Why there is no answer. The message is for the log; visitors get one by the status.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// No connection could be made.
    #[error("the origin can't be reached: {0}")]
    Unreachable(String),
    /// No connection within the time allowed.
    #[error("the origin accepted no connection within {seconds} s")]
    ConnectTimeout {
        /// The time allowed.
        seconds: u64,
    },
    /// A connection, and a certificate that doesn't show that this is the origin.
    #[error("the origin can't be trusted: {0}")]
    Untrusted(String),
    /// A connection, and then silence.
    #[error("the origin sent no answer within {seconds} s")]
    FirstByteTimeout {
        /// The time allowed.
        seconds: u64,
    },
    /// The connection ended before the head of the answer was whole.
    #[error("the origin closed the connection before it answered: {0}")]
    Reset(String),
    /// What came is not an answer.
    #[error("the origin's answer makes no sense: {0}")]
    Malformed(String),
    /// The origin wants to speak another protocol, which nobody asked for.
    #[error("the origin switches protocols, which is not supported")]
    Upgrade,
    /// As many requests wait as may wait.
    #[error("{waiting} requests are waiting for the origin already")]
    QueueFull {
        /// How many.
        waiting: usize,
    },
    /// As many tunnels as there may be.
    #[error("{tunnels} connections to the origin speak another protocol already")]
    TunnelsFull {
        /// How many.
        tunnels: usize,
    },
    /// No connection became free in time.
    #[error("no connection to the origin became free within {seconds} s")]
    QueueTimeout {
        /// The time allowed.
        seconds: u64,
    },
    /// The visitor's address has asked for more than it may in this time.
    #[error("this address asks too often")]
    TooOften {
        /// When it may ask again.
        retry_seconds: u32,
    },
    /// The visitor's address has as many requests with the origin as it may.
    #[error("{under_way} requests of this address are with the origin already")]
    TooManyAtOnce {
        /// How many.
        under_way: usize,
    },
    /// The path is never served.
    #[error("{0}")]
    Forbidden(#[from] Refusal),
    /// The request itself can't be sent on.
    #[error("the request can't be sent to the origin: {0}")]
    Unsendable(String),
    /// The request's body broke off, stopped coming or is too large.
    #[error(transparent)]
    Client(BodyError),
    /// A file or a limit of our own failed.
    #[error("{0}")]
    Ours(String),
}

impl OriginError {
    /// Who has to act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Forbidden(_) | Self::Unsendable(_) => Fault::Client,
            Self::TooOften { .. } | Self::TooManyAtOnce { .. } => Fault::Client,
            Self::Client(
                BodyError::Client(_) | BodyError::ClientIdle { .. } | BodyError::TooLarge { .. },
            ) => Fault::Client,
            Self::Client(_) | Self::Ours(_) => Fault::Ours,
            Self::QueueFull { .. } | Self::QueueTimeout { .. } | Self::TunnelsFull { .. } => {
                Fault::Ours
            }
            _ => Fault::Origin,
        }
    }

    /// Whether it says something about this visitor's address alone, and nothing about what
    /// others would be answered.
    #[must_use]
    pub fn is_of_the_visitor(&self) -> bool {
        matches!(self, Self::TooOften { .. } | Self::TooManyAtOnce { .. })
    }

    /// Whether the origin can't have seen the request, so that sending it again does it once.
    #[must_use]
    pub fn is_retry_safe(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::ConnectTimeout { .. }
                | Self::Untrusted(_)
                | Self::QueueFull { .. }
                | Self::QueueTimeout { .. }
                | Self::TunnelsFull { .. }
                | Self::TooOften { .. }
                | Self::TooManyAtOnce { .. }
        )
    }

    /// The status that tells a visitor.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Forbidden(Refusal::Nul | Refusal::NotAPath) | Self::Unsendable(_) => 400,
            Self::Forbidden(_) => 403,
            Self::Client(BodyError::TooLarge { .. }) => 413,
            Self::Client(BodyError::Client(_)) => 400,
            Self::Client(BodyError::ClientIdle { .. }) => 408,
            Self::Client(_) | Self::Ours(_) => 500,
            Self::TooOften { .. } | Self::TooManyAtOnce { .. } => 429,
            Self::QueueFull { .. } | Self::QueueTimeout { .. } | Self::TunnelsFull { .. } => 503,
            Self::ConnectTimeout { .. } | Self::FirstByteTimeout { .. } => 504,
            Self::Unreachable(_)
            | Self::Untrusted(_)
            | Self::Reset(_)
            | Self::Malformed(_)
            | Self::Upgrade => 502,
        }
    }

    /// Seconds for a `Retry-After` field, where one makes sense.
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u32> {
        match self {
            Self::TooOften { retry_seconds } => Some(*retry_seconds),
            Self::TooManyAtOnce { .. } => Some(1),
            _ => (self.status() == 503).then_some(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_knows_its_status_its_fault_and_whether_to_try_again() {
        let too_large = OriginError::Client(BodyError::TooLarge { limit: 1 });
        let silent = OriginError::Client(BodyError::ClientIdle { seconds: 30 });
        for (error, status, fault, retry) in [
            (OriginError::Unreachable(String::new()), 502, Fault::Origin, true),
            (OriginError::Untrusted(String::new()), 502, Fault::Origin, true),
            (OriginError::ConnectTimeout { seconds: 5 }, 504, Fault::Origin, true),
            (OriginError::FirstByteTimeout { seconds: 60 }, 504, Fault::Origin, false),
            (OriginError::Reset(String::new()), 502, Fault::Origin, false),
            (OriginError::QueueFull { waiting: 9 }, 503, Fault::Ours, true),
            (OriginError::TooOften { retry_seconds: 3 }, 429, Fault::Client, true),
            (OriginError::TooManyAtOnce { under_way: 9 }, 429, Fault::Client, true),
            (Refusal::DotFile.into(), 403, Fault::Client, false),
            (Refusal::Denied.into(), 403, Fault::Client, false),
            (Refusal::Nul.into(), 400, Fault::Client, false),
            (too_large, 413, Fault::Client, false),
            (silent, 408, Fault::Client, false),
        ] {
            assert_eq!(error.status(), status, "{error}");
            assert_eq!(error.fault(), fault, "{error}");
            assert_eq!(error.is_retry_safe(), retry, "{error}");
            let says_when = error.retry_after_seconds().is_some();
            assert_eq!(says_when, matches!(status, 429 | 503), "{error}");
        }
    }
}

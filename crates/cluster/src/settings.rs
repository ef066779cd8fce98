//! How a node finds the others, held against what can be.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::ServerAddr;

/// Bytes of a name: it is part of subjects and of a stream's name.
const NAME_BYTES_MAX: usize = 64;
/// The least lag limit: a node speaks five times in it.
const LAG_MIN: Duration = Duration::from_millis(200);
/// The most: beyond it nobody would believe a page.
const LAG_MAX: Duration = Duration::from_secs(60);

/// Copies of a stream where there are servers for them.
const COPIES: usize = 3;

/// What a node runs on.
#[derive(Clone, PartialEq)]
pub struct Settings {
    /// Where the NATS servers are.
    pub(crate) servers: Vec<ServerAddr>,
    /// The cluster's name: several may share NATS servers.
    pub name: String,
    /// This node's name, which no other of the cluster has.
    pub node: String,
    /// For how long a node may go on without hearing its own words.
    pub lag: Duration,
    /// A file with what the NATS servers want to see.
    pub credentials: Option<PathBuf>,
    /// At which address other nodes may ask this one for pages; none: at none.
    pub listen: Option<SocketAddr>,
    /// What all nodes know and nobody else does; none: nothing is laid down for other nodes. It is
    /// never shown.
    pub secret: Option<String>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, node, lag, credentials, listen, secret, .. } = self;
        let (shown, secret) = (self.shown(), secret.as_ref().map(|_| "…"));
        write!(
            f,
            "Settings {{ {shown}, {name:?}, {node:?}, {lag:?}, {credentials:?}, {listen:?}, \
             {secret:?} }}"
        )
    }
}

/// What is wrong with them, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// No address.
    #[error("no address of a NATS server: write nats = \"nats://127.0.0.1:4222\"")]
    NoServer,
    /// One that can't be read. It isn't repeated: it may bear a password.
    #[error("address {0} of the NATS servers can't be read: write it as nats://HOST:4222")]
    Server(usize),
    /// A name that can't be one.
    #[error("\"{0}\" is no name of a {1}: use letters, digits, - and _, at most 64 of them")]
    Name(String, &'static str),
    /// A lag limit that can't be held.
    #[error("a lag limit is between 200ms and 60s")]
    Lag,
}

impl Settings {
    /// Holds them against what can be; `servers` are separated by commas.
    ///
    /// # Errors
    /// What is wrong, and what to do.
    pub fn new(
        servers: &str,
        name: &str,
        node: &str,
        lag: Duration,
        credentials: Option<PathBuf>,
    ) -> Result<Self, SettingsError> {
        let texts = servers.split(',').map(str::trim).filter(|text| !text.is_empty());
        let servers = texts
            .enumerate()
            .map(|(at, text)| text.parse().map_err(|_| SettingsError::Server(at + 1)))
            .collect::<Result<Vec<ServerAddr>, _>>()?;
        if servers.is_empty() {
            return Err(SettingsError::NoServer);
        }
        for (text, what) in [(name, "cluster"), (node, "node")] {
            let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if text.is_empty() || text.len() > NAME_BYTES_MAX || !text.bytes().all(is_fit) {
                return Err(SettingsError::Name(text.to_owned(), what));
            }
        }
        if !(LAG_MIN..=LAG_MAX).contains(&lag) {
            return Err(SettingsError::Lag);
        }
        let (name, node) = (name.to_owned(), node.to_owned());
        Ok(Self { servers, name, node, lag, credentials, listen: None, secret: None })
    }

    /// The servers' addresses, without what must not be seen.
    #[must_use]
    pub fn shown(&self) -> String {
        let shown: Vec<_> = self
            .servers
            .iter()
            .map(|server| format!("{}://{}:{}", server.scheme(), server.host(), server.port()))
            .collect();
        shown.join(", ")
    }

    /// How many copies NATS keeps of what it is given.
    pub(crate) fn copies(&self) -> usize {
        if self.servers.len() >= COPIES { COPIES } else { 1 }
    }

    /// The stream's name.
    pub(crate) fn stream(&self) -> String {
        format!("WICK_{}", self.name)
    }

    /// What this node speaks under.
    pub(crate) fn subject(&self) -> String {
        format!("wick.{}.said.{}", self.name, self.node)
    }

    /// What all nodes speak under.
    pub(crate) fn subjects(&self) -> String {
        format!("wick.{}.said.*", self.name)
    }

    /// What this node says under beside the stream.
    pub(crate) fn aside(&self) -> String {
        format!("wick.{}.aside.{}", self.name, self.node)
    }

    /// What all nodes say under there.
    pub(crate) fn asides(&self) -> String {
        format!("wick.{}.aside.*", self.name)
    }

    /// What all nodes tell of themselves under.
    pub(crate) fn figures(&self) -> String {
        format!("wick.{}.figures", self.name)
    }

    /// The name of the stream of what is laid down. No cluster's name makes another stream's of it.
    pub(crate) fn kept_stream(&self) -> String {
        format!("WICKKEPT_{}", self.name)
    }

    /// What all that is laid down lies under.
    pub(crate) fn kept_subjects(&self) -> String {
        format!("wick.{}.kept", self.name)
    }

    /// Where the nodes' names are kept.
    pub(crate) fn bucket(&self) -> String {
        format!("wick-{}", self.name)
    }

    /// Where lies what all nodes keep together.
    pub(crate) fn kept_bucket(&self) -> String {
        format!("wick_kept-{}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(servers: &str, node: &str, lag_ms: u64, expected: Result<&str, SettingsError>) {
        let lag = Duration::from_millis(lag_ms);
        let found = Settings::new(servers, "shop", node, lag, None);
        let found = found.map(|settings| settings.shown());
        assert_eq!(found, expected.map(str::to_owned), "{servers} {node} {lag_ms}");
    }

    #[test]
    fn what_can_be_is_taken_and_no_password_is_shown() {
        check("nats://127.0.0.1:4222", "a", 2000, Ok("nats://127.0.0.1:4222"));
        check("a.test, tls://b.test", "a-1", 200, Ok("nats://a.test:4222, tls://b.test:4222"));
        check("nats://me:secret@a.test", "a", 2000, Ok("nats://a.test:4222"));
        check("", "a", 2000, Err(SettingsError::NoServer));
        check("a.test,nats://:x:", "a", 2000, Err(SettingsError::Server(2)));
        check("a.test", "a.b", 2000, Err(SettingsError::Name("a.b".to_owned(), "node")));
        check("a.test", "", 2000, Err(SettingsError::Name(String::new(), "node")));
        check("a.test", "a", 199, Err(SettingsError::Lag));
        check("a.test", "a", 60_001, Err(SettingsError::Lag));
    }
}

//! What is loaded: one host, found once.
//!
//! In: an address as a person writes it, `http://HOST[:PORT]/PATH`, `https://…`, or
//! `unix:/run/app.sock:/PATH`. Out: where to connect, what stands in `Host`, and the path.
//! Invariants: 1. A name is looked up once, so that a run never moves to another server.
//! 2. Whether a target is this machine is decided by its address, not by its name.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use url::{Host, Url};

/// An address that can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not one that is understood.
    #[error(
        "\"{0}\" is not an address: write http://HOST/PATH, https://HOST/PATH or unix:/SOCKET:/PATH"
    )]
    Form(String),
    /// Nobody knows the name.
    #[error("the name {host} was not found: {error}")]
    Unknown {
        /// The name.
        host: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Several addresses of one run have to be of one host.
    #[error("{0} is on another host than {1}: a run loads one host; start one for each")]
    Elsewhere(String, String),
}

/// Where connections go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// By TCP.
    Tcp(SocketAddr),
    /// By a Unix socket.
    Unix(PathBuf),
}

/// A host to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where connections go.
    pub endpoint: Endpoint,
    /// The name in the address, without a port; `localhost` for a Unix socket.
    pub host: String,
    /// What stands in `Host`.
    pub authority: String,
    /// Whether TLS is spoken.
    pub is_tls: bool,
}

impl Target {
    /// Reads an address and looks its name up; the second is its path and query.
    ///
    /// # Errors
    /// It is no address, or its name isn't known.
    pub fn parse(text: &str) -> Result<(Self, String), TargetError> {
        let wrong = || TargetError::Form(text.to_owned());
        if let Some(rest) = text.strip_prefix("unix:") {
            let (socket, path) = rest.split_once(":/").unwrap_or((rest, ""));
            if !socket.starts_with('/') {
                return Err(wrong());
            }
            // The same reading of a path as that of other addresses.
            let url = Url::parse(&format!("http://localhost/{path}")).map_err(|_| wrong())?;
            let target = Self {
                endpoint: Endpoint::Unix(PathBuf::from(socket)),
                host: "localhost".to_owned(),
                authority: "localhost".to_owned(),
                is_tls: false,
            };
            return Ok((target, path_of(&url)));
        }
        // ab takes an address without its path; a name alone is taken as http, as curl does.
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let url = Url::parse(&whole).map_err(|_| wrong())?;
        let is_tls = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        let (host, address) = match url.host().ok_or_else(wrong)? {
            Host::Ipv4(ip) => (ip.to_string(), SocketAddr::new(IpAddr::V4(ip), port)),
            Host::Ipv6(ip) => (format!("[{ip}]"), SocketAddr::new(IpAddr::V6(ip), port)),
            Host::Domain(name) => (name.to_owned(), look_up(name, port)?),
        };
        let authority = url.port().map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        let endpoint = Endpoint::Tcp(address);
        Ok((Self { endpoint, host, authority, is_tls }, path_of(&url)))
    }

    /// The path and query of another address of the same host, or of a path alone.
    ///
    /// # Errors
    /// It is no address, or one of another host.
    pub fn path_here(&self, text: &str) -> Result<String, TargetError> {
        let scheme = if self.is_tls { "https" } else { "http" };
        let base = format!("{scheme}://{}/", self.authority);
        let joined = Url::parse(&base).and_then(|base| base.join(text));
        let url = joined.map_err(|_| TargetError::Form(text.to_owned()))?;
        let base = Url::parse(&base).map_err(|_| TargetError::Form(base))?;
        if url.origin() != base.origin() {
            return Err(TargetError::Elsewhere(text.to_owned(), self.authority.clone()));
        }
        Ok(path_of(&url))
    }

    /// The path and query of another whole address, as a person writes it, of the same host.
    ///
    /// # Errors
    /// It is no address, or one of another host.
    pub fn another(&self, text: &str) -> Result<String, TargetError> {
        if text.starts_with('/') {
            return self.path_here(text);
        }
        let (other, path) = Self::parse(text)?;
        let is_same = |socket: &Endpoint| match (&self.endpoint, socket) {
            // A name may have other addresses the next time; the first one counts.
            (Endpoint::Tcp(_), Endpoint::Tcp(_)) => true,
            (own, other) => own == other,
        };
        let names = (&self.authority, self.is_tls) == (&other.authority, other.is_tls);
        if names && is_same(&other.endpoint) {
            return Ok(path);
        }
        Err(TargetError::Elsewhere(text.to_owned(), self.authority.clone()))
    }

    /// Whether requests stay on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        match &self.endpoint {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp(address) => address.ip().to_canonical().is_loopback(),
        }
    }

    /// Where connections go, to be shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match &self.endpoint {
            Endpoint::Unix(path) => format!("unix:{}", path.display()),
            Endpoint::Tcp(address) => address.to_string(),
        }
    }
}

fn path_of(url: &Url) -> String {
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{}{query}", url.path())
}

fn look_up(name: &str, port: u16) -> Result<SocketAddr, TargetError> {
    let unknown = |error| TargetError::Unknown { host: name.to_owned(), error };
    let mut found = (name, port).to_socket_addrs().map_err(unknown)?;
    found.next().ok_or_else(|| unknown(std::io::Error::other("it has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match Target::parse(text) {
            Ok((target, path)) => {
                let here = if target.is_here() { "here" } else { "elsewhere" };
                let tls = if target.is_tls { "tls " } else { "" };
                format!("{tls}{} {} {path} {here}", target.shown(), target.authority)
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn addresses_are_read_and_placed() {
        check("http://127.0.0.1:8080/a?b=1#c", "127.0.0.1:8080 127.0.0.1:8080 /a?b=1 here");
        check("https://[::1]/", "tls [::1]:443 [::1] / here");
        check("127.8.8.8", "127.8.8.8:80 127.8.8.8 / here");
        check("http://192.0.2.7/", "192.0.2.7:80 192.0.2.7 / elsewhere");
        check("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]:80 [::ffff:127.0.0.1] / here");
        check("http://0.0.0.0/", "0.0.0.0:80 0.0.0.0 / elsewhere");
        check("unix:/run/app.sock:/x?y", "unix:/run/app.sock localhost /x?y here");
        check("unix:/run/app.sock", "unix:/run/app.sock localhost / here");
        for wrong in ["ftp://a/", "unix:app.sock", "http://", "http://a b/"] {
            let error = Target::parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("is not an address: write http://"), "{error}");
        }
    }

    #[test]
    fn other_addresses_have_to_be_of_the_same_host() {
        let (target, _) = Target::parse("http://127.0.0.1:81/").expect("an address");
        let path = |text| target.path_here(text).map_err(|error| error.to_string());
        assert_eq!(path("/a b"), Ok("/a%20b".to_owned()));
        assert_eq!(path("http://127.0.0.1:81/c?d"), Ok("/c?d".to_owned()));
        let elsewhere = path("http://127.0.0.1:82/").expect_err("another port");
        assert!(elsewhere.contains("on another host than 127.0.0.1:81"), "{elsewhere}");
        assert!(path("//example.org/").is_err());
        let another = |text| target.another(text).map_err(|error| error.to_string());
        assert_eq!(another("127.0.0.1:81/e"), Ok("/e".to_owned()));
        assert_eq!(another("http://127.0.0.1:81/c?d"), Ok("/c?d".to_owned()));
        assert_eq!(another("/f"), Ok("/f".to_owned()));
        for elsewhere in ["https://127.0.0.1:81/", "127.0.0.1:82/", "unix:/run/app.sock:/"] {
            assert!(another(elsewhere).expect_err(elsewhere).contains("on another host than"));
        }
    }
}

//! `searchd`: where it listens. What else it says is how searchd does its work.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::sections::{ConfError, Section};
use super::{Conf, Remark};
use crate::sphinx::Protocol;

/// What searchd listens on where nothing is said of it.
const BINARY_PORT: u16 = 9312;

/// A port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where; every address of the machine is `0.0.0.0`.
    pub address: SocketAddr,
    /// What is spoken there.
    pub protocol: Protocol,
}

/// Why a line is no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHeard {
    /// It names a Unix socket.
    Socket,
    /// It is no address.
    Unreadable,
}

impl fmt::Display for NotHeard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Socket => SOCKET,
            Self::Unreadable => {
                "is no address: write 127.0.0.1:9312, or 127.0.0.1:9306:mysql41 for SphinxQL"
            }
        })
    }
}

const SOCKET: &str = "Unix sockets aren't listened on; clients come to the ports";

/// Reads `9312`, `localhost:9312`, `127.0.0.1:9306:mysql41` or `[::1]:9306:mysql41`.
///
/// # Errors
/// It is a Unix socket, or no address.
pub fn read_listen(text: &str) -> Result<Listen, NotHeard> {
    let text = text.trim();
    if text.starts_with('/') {
        return Err(NotHeard::Socket);
    }
    let named = |word: &str| match word {
        "mysql41" | "mysql" | "mysql41_vip" => Some(Protocol::MySql),
        "sphinx" | "sphinx_vip" => Some(Protocol::Binary),
        _ => None,
    };
    let (place, protocol) = match text.rsplit_once(':') {
        Some((place, word)) if named(word).is_some() => (place, named(word)),
        _ => (text, None),
    };
    let protocol = protocol.unwrap_or(Protocol::Binary);
    let every = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let address = if let Ok(port) = place.parse() {
        SocketAddr::new(every, port)
    } else if let Ok(address) = place.parse() {
        address
    } else if let Some(port) = place.strip_prefix("localhost:") {
        let port = port.parse().map_err(|_| NotHeard::Unreadable)?;
        SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)
    } else if let Ok(host) = place.parse() {
        SocketAddr::new(host, BINARY_PORT)
    } else if place == "localhost" {
        SocketAddr::new(Ipv4Addr::LOCALHOST.into(), BINARY_PORT)
    } else {
        return Err(NotHeard::Unreadable);
    };
    Ok(Listen { address, protocol })
}

pub(super) fn read(section: &Section, conf: &mut Conf) -> Result<(), ConfError> {
    for value in section.all("listen") {
        match read_listen(&value.text) {
            Ok(listen) => conf.listen.push(listen),
            Err(NotHeard::Socket) => {
                let (line, key) = (value.line, value.key.clone());
                conf.remarks.push(Remark { line, key, why: SOCKET });
            }
            Err(why @ NotHeard::Unreadable) => {
                let what = format!("{} {why}", value.text);
                return Err(ConfError { line: value.line, what });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_searchd_reads_them() {
        for (text, expected) in [
            ("9312", "0.0.0.0:9312 Binary"),
            ("9306:mysql41", "0.0.0.0:9306 MySql"),
            ("localhost:9306:mysql41", "127.0.0.1:9306 MySql"),
            ("localhost", "127.0.0.1:9312 Binary"),
            ("192.168.1.5", "192.168.1.5:9312 Binary"),
            ("192.168.1.5:5000:sphinx", "192.168.1.5:5000 Binary"),
            ("[::1]:9306:mysql41", "[::1]:9306 MySql"),
        ] {
            let read = read_listen(text).map(|one| format!("{} {:?}", one.address, one.protocol));
            assert_eq!(read, Ok(expected.to_owned()), "{text}");
        }
        assert_eq!(read_listen("/run/s:mysql41"), Err(NotHeard::Socket));
        for text in ["", "here:there", "99999", "1.2.3.4:99999"] {
            assert_eq!(read_listen(text), Err(NotHeard::Unreadable), "{text}");
        }
    }
}

//! Where an engine is: `sphinxql://HOST:PORT/INDEX`.

use std::fmt;
use std::str::FromStr;

use changes::Address;

/// Where engines listen for SphinxQL.
const PORT: u16 = 9306;
/// Whom an engine is told that we are, if it is to be told nothing else; most ask nobody.
const USER: &str = "wick";

/// An engine, and the index that is ours there. Nothing prints its password.
#[derive(Clone, PartialEq, Eq)]
pub struct EngineAddress {
    pub(super) address: Address,
    pub(super) index: String,
}

/// Why a text is no such address; it never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "that is no search engine's address: write \"sphinxql://HOST:9306/INDEX\" (with \
     USER:PASSWORD@ before HOST if it asks for that), INDEX being of small letters, digits and _"
)]
pub struct NoEngineAddress;

impl FromStr for EngineAddress {
    type Err = NoEngineAddress;

    fn from_str(text: &str) -> Result<Self, NoEngineAddress> {
        let rest = text.strip_prefix("sphinxql://").ok_or(NoEngineAddress)?;
        let (login, place) = rest.rsplit_once('@').unwrap_or((USER, rest));
        let (host, index) = place.split_once('/').ok_or(NoEngineAddress)?;
        // An IPv6 address stands in brackets, and its colons are no port's.
        let has_port = host.rfind(':').is_some_and(|at| !host[at..].contains(']'));
        let port = if has_port { String::new() } else { format!(":{PORT}") };
        let is_part = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'_';
        let is_index = index.starts_with(|one: char| one.is_ascii_lowercase());
        if host.is_empty() || host.contains('?') || !is_index || !index.bytes().all(is_part) {
            return Err(NoEngineAddress);
        }
        let address = format!("mysql://{login}@{host}{port}").parse();
        Ok(Self { address: address.map_err(|_| NoEngineAddress)?, index: index.to_owned() })
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sphinxql://{}/{}", self.address.door, self.index)
    }
}

impl fmt::Debug for EngineAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_the_password() {
        for (text, expected) in [
            ("sphinxql://127.0.0.1:9306/site", "sphinxql://127.0.0.1:9306/site"),
            ("sphinxql://search/site_2", "sphinxql://search:9306/site_2"),
            ("sphinxql://w:hu@sh@search/site", "sphinxql://search:9306/site"),
            ("sphinxql://[::1]/site", "sphinxql://::1:9306/site"),
            ("sphinxql://[::1]:9307/site", "sphinxql://::1:9307/site"),
        ] {
            let read: EngineAddress = text.parse().expect(text);
            assert_eq!((read.to_string(), format!("{read:?}")), (expected.into(), expected.into()));
        }
        let read: EngineAddress = "sphinxql://w:hush@search/site".parse().expect("an address");
        assert_eq!(read.address.password.reveal(), "hush");
    }

    #[test]
    fn what_is_no_address_says_what_to_write() {
        for text in [
            "",
            "http://search/site",
            "mysql://a:hush@search/site",
            "sphinxql://search",
            "sphinxql://search/",
            "sphinxql:///site",
            "sphinxql://search:port/site",
            "sphinxql://search:99999/site",
            "sphinxql://search/site`; DROP",
            "sphinxql://search/Site",
            "sphinxql://search/1",
            "sphinxql://a:hush@search?socket=/x/site",
            "sphinxql://a:%zz@search/site",
        ] {
            let wrong = text.parse::<EngineAddress>().expect_err(text).to_string();
            assert!(wrong.contains("sphinxql://HOST:9306/INDEX") && !wrong.contains("hush"));
        }
    }
}

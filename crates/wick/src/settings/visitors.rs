//! What settings say about visitors and the proxies before us: rates, networks, fields.

use std::fmt;
use std::time::Duration;

use base::network::Network;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::amount;

/// How often something may be: `"20/s"`, or `"off"` for no bound; the time between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Often(pub Option<Duration>);

/// Networks: one, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Networks(pub Vec<Network>);

/// The name of the field that trusted proxies set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum TrustedFieldName {
    /// And `X-Forwarded-Proto`.
    #[serde(rename = "X-Forwarded-For")]
    XForwardedFor,
    /// The standard's.
    Forwarded,
}

impl<'de> Deserialize<'de> for Often {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |text: &str| match text {
            "off" => Ok(None),
            rate => base::amount::parse_rate(rate).map(Some),
        };
        amount(deserializer, "a rate such as \"20/s\", or \"off\"", read).map(Self)
    }
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = Networks;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a network such as \"10.0.0.0/8\", or a list of them")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Networks, E> {
                text.parse().map(|network| Networks(vec![network])).map_err(E::custom)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Networks, A::Error> {
                let mut networks = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    networks.push(text.parse().map_err(de::Error::custom)?);
                }
                Ok(Networks(networks))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::settings::parse;

    fn wrong(text: &str) -> String {
        parse(text, Path::new("wick.toml")).expect_err("the settings are wrong").to_string()
    }

    #[test]
    fn proxies_are_named_by_their_networks() {
        let read = |text| parse(text, Path::new("wick.toml")).expect("the settings are right");
        let networks = |text| read(text).trusted_proxies.map_or(0, |networks| networks.0.len());
        assert_eq!(networks("trusted_proxies = \"127.0.0.1\"\n"), 1);
        assert_eq!(networks("trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n"), 2);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_what_to_write() {
        for (text, expected) in [
            ("proxy_protocol = \"10.0.0.1/8\"\n", "wick.toml:1:18: \"10.0.0.1/8\" has an address"),
            ("proxy_protocol = [\"lan\"]\n", "\"lan\" is not a network: write one as in"),
            ("proxy_protocol = true\n", "a network such as \"10.0.0.0/8\", or a list of them"),
            ("trusted_field = \"Via\"\n", "expected `X-Forwarded-For` or `Forwarded`"),
            ("[limits]\nrate = \"20\"\n", "wick.toml:2:8: \"20\" is not a rate"),
            ("[limits]\nrate = true\n", "a rate such as \"20/s\", or \"off\""),
        ] {
            assert!(wrong(text).contains(expected), "{}", wrong(text));
        }
    }
}

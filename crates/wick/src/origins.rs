//! The setting `origin`, read: a folder, an HTTP origin, or several of those, and the
//! settings of how they are checked.
//!
//! A server is written as its address, or as a table with a weight and a limit beside it.

use std::fmt;

use origin::HttpServer;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

/// More servers than anybody puts behind one Wick.
const SERVERS_MAX: usize = 64;
/// The largest weight; shares finer than this are not worth telling apart.
const WEIGHT_MAX: u32 = 1000;

/// What the owner wrote for `origin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginSetting {
    /// A folder or an address.
    One(String),
    /// HTTP servers, at least one.
    Servers(Vec<HttpServer>),
}

impl<'de> Deserialize<'de> for OriginSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = OriginSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a folder, an origin such as \"http://127.0.0.1:3000\", or a list of origins")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OriginSetting, E> {
        if text.contains("://") {
            address(text)?;
        }
        Ok(OriginSetting::One(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OriginSetting, A::Error> {
        Ok(OriginSetting::Servers(vec![Written::read(map)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OriginSetting, A::Error> {
        let mut servers: Vec<HttpServer> = Vec::new();
        while let Some(OneServer(server)) = list.next_element()? {
            if servers.iter().any(|other| other.address == server.address) {
                let address = server.address;
                return Err(de::Error::custom(format!(
                    "{address} is there twice: name it once, with a weight = … for its share"
                )));
            }
            if servers.len() == SERVERS_MAX {
                return Err(de::Error::custom(format!("write at most {SERVERS_MAX} origins")));
            }
            servers.push(server);
        }
        if servers.is_empty() {
            return Err(de::Error::custom(
                "an empty list names no origin: write one, as in \"http://127.0.0.1:3000\"",
            ));
        }
        Ok(OriginSetting::Servers(servers))
    }
}

/// One of a list.
struct OneServer(HttpServer);

impl<'de> Deserialize<'de> for OneServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneReader;
        impl<'de> Visitor<'de> for OneReader {
            type Value = OneServer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "an origin such as \"http://127.0.0.1:3000\", or a table as in \
                     { url = \"http://127.0.0.1:3000\", weight = 2 }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneServer, E> {
                if !text.contains("://") {
                    return Err(E::custom(format!(
                        "\"{text}\" is no HTTP origin: a list names those alone, and a folder \
                         stands without a list"
                    )));
                }
                address(text).map(OneServer)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<OneServer, A::Error> {
                Written::read(map).map(OneServer)
            }
        }
        deserializer.deserialize_any(OneReader)
    }
}

fn address<E: de::Error>(text: &str) -> Result<HttpServer, E> {
    let server = HttpServer::at(text);
    server.check().map_err(E::custom)?;
    Ok(server)
}

/// A server as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    url: Address,
    weight: Option<Weight>,
    connections: Option<std::num::NonZeroUsize>,
}

impl Written {
    fn read<'de, A: MapAccess<'de>>(map: A) -> Result<HttpServer, A::Error> {
        let written = Self::deserialize(MapAccessDeserializer::new(map))?;
        let Address(mut server) = written.url;
        if let Some(Weight(weight)) = written.weight {
            server.weight = weight;
        }
        server.connections = written.connections.map(usize::from);
        Ok(server)
    }
}

struct Address(HttpServer);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        address(&String::deserialize(deserializer)?).map(Self)
    }
}

struct Weight(u32);

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            weight @ 1..=WEIGHT_MAX => Ok(Self(weight)),
            weight => Err(de::Error::custom(format!(
                "{weight} is no weight: write a number from 1 to {WEIGHT_MAX}"
            ))),
        }
    }
}

/// The path that checks ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HealthPath(pub(crate) String);

impl<'de> Deserialize<'de> for HealthPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let is_path = text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic());
        match is_path && !text.contains('#') {
            true => Ok(Self(text)),
            false => Err(de::Error::custom(format!(
                "\"{text}\" is no path to ask an origin for: write one as in \"/health\""
            ))),
        }
    }
}

/// The status that checks expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HealthStatus(pub(crate) u16);

impl<'de> Deserialize<'de> for HealthStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u16::deserialize(deserializer)? {
            status @ 200..=599 => Ok(Self(status)),
            status => Err(de::Error::custom(format!(
                "{status} is no status of an answer: write a number from 200 to 599"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings;

    fn read(value: &str) -> Result<OriginSetting, String> {
        let text = format!("[[site]]\norigin = {value}\n");
        let settings = settings::parse(&text, Path::new("wick.toml"));
        let mut settings = settings.map_err(|error| error.to_string())?;
        settings.site.remove(0).origin.ok_or_else(|| "there is none".to_owned())
    }

    #[test]
    fn a_folder_an_origin_and_several_are_read() {
        let one = |text: &str| Ok(OriginSetting::One(text.to_owned()));
        assert_eq!(read("\"/srv\""), one("/srv"));
        assert_eq!(read("\"https://a\""), one("https://a"));
        let servers = |servers: &[(&str, u32, Option<usize>)]| {
            let server = |&(address, weight, connections): &(&str, u32, Option<usize>)| {
                HttpServer { weight, connections, ..HttpServer::at(address) }
            };
            Ok(OriginSetting::Servers(servers.iter().map(server).collect()))
        };
        let two = servers(&[("http://a", 1, None), ("https://b:1", 1, None)]);
        assert_eq!(read("[\"http://a\", \"https://b:1\"]"), two);
        let mixed = servers(&[("http://a", 1, None), ("http://b", 3, Some(20))]);
        let table = "{ url = \"http://b\", weight = 3, connections = 20 }";
        assert_eq!(read(&format!("[\"http://a\", {table}]")), mixed);
        assert_eq!(read(table), servers(&[("http://b", 3, Some(20))]));
    }

    #[test]
    fn what_is_no_origin_is_told_with_its_place_and_the_cure() {
        for (value, told) in [
            ("\"ftp://a\"", "2:10: \"ftp://a\" is not an origin: write http://HOST:PORT or"),
            ("\"http://a/b\"", "2:10: \"http://a/b\" has a path"),
            ("[]", "2:10: an empty list names no origin: write one"),
            ("[\"/srv\", \"http://a\"]", "2:11: \"/srv\" is no HTTP origin: a list names those"),
            ("[\"http://a\", \"http://b:0\"]", "2:23: \"http://b:0\" names no usable port"),
            ("[\"http://a\", \"http://a\"]", "2:10: http://a is there twice: name it once"),
            ("[\"http://a\", 1]", "2:23: invalid type: integer `1`, expected an origin such as"),
            ("7", "2:10: invalid type: integer `7`, expected a folder, an origin such as"),
            ("[{ url = \"http://a\", weight = 0 }]", "2:40: 0 is no weight: write a number from 1"),
            ("[{ url = \"http://a\", connections = 0 }]", "2:45: invalid value: integer `0`"),
            ("[{ url = \"x\" }]", "2:19: \"x\" is not an origin"),
            (
                "[{ url = \"http://a\", wieght = 2 }]",
                "2:31: there is no setting \"wieght\" here; did you mean \"weight\"?",
            ),
            ("[{ weight = 2 }]", "2:11: missing field `url`"),
        ] {
            let error = read(value).expect_err("it is no origin");
            assert!(error.starts_with(&format!("wick.toml:{told}")), "{value}: {error}");
        }
    }

    #[test]
    fn how_origins_are_checked_is_read_or_refused_with_the_cure() {
        for (line, told) in [
            ("origin_health = \"/health?full=1\"", ""),
            ("origin_health = \"health\"", "2:17: \"health\" is no path to ask an origin for"),
            ("origin_health = \"/a b\"", "2:17: \"/a b\" is no path"),
            ("origin_health_status = 204", ""),
            ("origin_health_status = 99", "2:24: 99 is no status of an answer: write a number"),
            ("origin_connections = 0", "2:22: invalid value: integer `0`, expected a nonzero"),
            ("origin_ca = 1", "2:13: invalid type"),
        ] {
            let text = format!("[[site]]\n{line}\n");
            let error = settings::parse(&text, Path::new("wick.toml")).err();
            let shown = error.map(|error| error.to_string()).unwrap_or_default();
            let expected =
                if told.is_empty() { String::new() } else { format!("wick.toml:{told}") };
            assert_eq!(shown.is_empty(), told.is_empty(), "{line}: {shown}");
            assert!(shown.starts_with(&expected), "{line}: {shown}");
        }
    }
}

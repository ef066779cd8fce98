//! The setting `changes`, read: `"auto"`, `"off"`, `"tap"`, one source or a list of them.
//!
//! Invariant: no error repeats the text, which may hold a password.

use std::fmt;

use changes::{Door, Source, SourceError};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};

use super::ChangesPlan;

/// How a tap before a database is written that the app's settings don't tell of.
const TAPPED: &str = "a tap stands before a socket: write \
    tap:mysql://user:password@localhost/database?socket=/path/to/socket, or \"tap\" alone";

/// More places than any app keeps its content in.
const SOURCES_MAX: usize = 16;

impl<'de> Deserialize<'de> for ChangesPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = ChangesPlan;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"auto\", \"off\", \"tap\", a source such as \"files:/srv/wiki\", or a list of sources")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ChangesPlan, E> {
        match text {
            "auto" => Ok(ChangesPlan::Auto),
            "off" => Ok(ChangesPlan::Off),
            "tap" => Ok(ChangesPlan::Tap(None)),
            _ if text.starts_with("tap:") => tapped(&text["tap:".len()..]),
            _ => match text.parse() {
                Ok(source) => Ok(ChangesPlan::Given(vec![source])),
                Err(error @ SourceError::Scheme) => {
                    Err(E::custom(format!("{error}; or \"auto\", \"off\" or \"tap\"")))
                }
                Err(error) => Err(E::custom(error)),
            },
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ChangesPlan, A::Error> {
        let mut sources = Vec::new();
        while let Some(OneSource(source)) = list.next_element()? {
            if sources.len() == SOURCES_MAX {
                return Err(de::Error::custom(format!("write at most {SOURCES_MAX} sources")));
            }
            sources.push(source);
        }
        if sources.is_empty() {
            return Err(de::Error::custom(
                "an empty list names nothing: write \"off\" to follow no changes",
            ));
        }
        Ok(ChangesPlan::Given(sources))
    }
}

/// A tap before a database with this address.
fn tapped<E: de::Error>(address: &str) -> Result<ChangesPlan, E> {
    match address.parse() {
        Ok(Source::MySql(address)) if matches!(address.door, Door::Socket(_)) => {
            Ok(ChangesPlan::Tap(Some(address)))
        }
        Ok(_) | Err(SourceError::Scheme | SourceError::Path) => Err(E::custom(TAPPED)),
        Err(error @ SourceError::Address(_)) => Err(E::custom(error)),
    }
}

/// One of a list.
struct OneSource(Source);

impl<'de> Deserialize<'de> for OneSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneReader;
        impl Visitor<'_> for OneReader {
            type Value = OneSource;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a source such as \"files:/srv/wiki\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<OneSource, E> {
                text.parse().map(OneSource).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(OneReader)
    }
}

//! `esi`: how pages are put together from parts.

use std::fmt;

use origin::HttpServer;
use policy::surrogate::Esi;
use serde::Deserialize;
use serde::de::{self, Deserializer};

/// How pages are put together from parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EsiSetting(pub Esi);

impl<'de> Deserialize<'de> for EsiSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = EsiSetting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or \"asked\"")
            }
            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<EsiSetting, E> {
                Ok(EsiSetting(if is_on { Esi::Always } else { Esi::Off }))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<EsiSetting, E> {
                match word {
                    "asked" => Ok(EsiSetting(Esi::Asked)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A host that parts of pages may come from: `https://HOST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EsiHost(pub String);

impl<'de> Deserialize<'de> for EsiHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let host = text.strip_suffix('/').unwrap_or(&text).to_ascii_lowercase();
        HttpServer::at(&host).check().map_err(|error| {
            de::Error::custom(format!(
                "{error}; a host that parts come from is named as in \"https://cdn.example.org\""
            ))
        })?;
        Ok(Self(host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_parts_are_named_with_their_scheme_and_without_a_path() {
        #[derive(Deserialize)]
        struct Some {
            hosts: Vec<EsiHost>,
        }
        let read = |text: &str| toml::from_str::<Some>(text);
        let some = read("hosts = [\"https://CDN.example.org/\"]").expect("a host");
        assert_eq!(some.hosts, [EsiHost("https://cdn.example.org".into())]);
        for wrong in ["cdn.example.org", "https://a/b", "ftp://a", "https://u@a"] {
            let error = read(&format!("hosts = [{wrong:?}]")).err().expect("it is none");
            assert!(error.to_string().contains("https://cdn.example.org"), "{error}");
        }
    }

    #[test]
    fn esi_is_on_or_off_or_asked_for() {
        #[derive(Deserialize)]
        struct One {
            esi: EsiSetting,
        }
        for (value, expected) in
            [("true", Esi::Always), ("false", Esi::Off), ("\"asked\"", Esi::Asked)]
        {
            let one: One = toml::from_str(&format!("esi = {value}")).expect("a setting");
            assert_eq!(one.esi, EsiSetting(expected));
        }
        let error = toml::from_str::<One>("esi = \"yes\"").err().expect("no such word");
        assert!(error.to_string().contains("true, false or \"asked\""), "{error}");
    }
}

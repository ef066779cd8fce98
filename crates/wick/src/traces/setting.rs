//! `[traces]` as an owner writes it.

use serde::Deserialize;
use serde::de::{self, Deserializer};
use server::TraceRules;

use crate::post::Address;
use crate::settings::TraceSettings;

/// Where OTLP has its traces (OTLP/HTTP, default paths).
const PATH: &str = "v1/traces";
/// How many are recorded where nobody says.
const SHARE: f64 = 0.01;

/// `otlp`: a collector's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collector(pub(crate) Address);

/// `sample`: a share of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

/// What is served.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TracesPlan {
    pub(crate) collector: Collector,
    pub(crate) rules: TraceRules,
}

impl TracesPlan {
    /// None where no collector is named.
    pub(crate) fn of(settings: TraceSettings) -> Option<Self> {
        let rules = TraceRules::new(settings.sample.map_or(SHARE, |share| share.0));
        settings.otlp.map(|collector| Self { collector, rules })
    }
}

impl Collector {
    /// Reads the address of a collector, or of its traces.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let Address { server, target } = Address::parse(text)?;
        let base = target.trim_end_matches('/');
        let is_whole = base.ends_with(&format!("/{PATH}"));
        let target = if is_whole { base.to_owned() } else { format!("{base}/{PATH}") };
        (!target.contains('?')).then_some(Self(Address { server, target }))
    }
}

impl<'de> Deserialize<'de> for Collector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // It may have a key in it, so it isn't repeated.
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(
                "this is no collector's address: write http://HOST:4318 or https://HOST, where \
                 OTLP over HTTP is spoken",
            )
        })
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Share;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a share from 0 to 1, such as 0.01 for one request in a hundred")
            }
            fn visit_f64<E: de::Error>(self, share: f64) -> Result<Share, E> {
                let wrong = || E::invalid_value(de::Unexpected::Float(share), &self);
                (0.0..=1.0).contains(&share).then_some(Share(share)).ok_or_else(wrong)
            }
            fn visit_i64<E: de::Error>(self, share: i64) -> Result<Share, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(share), &self);
                (0..=1).contains(&share).then_some(Share(share as f64)).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::settings::parse;

    #[test]
    fn a_collector_is_named_with_or_without_its_path() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", Some(("http://127.0.0.1:4318", "/v1/traces"))),
            ("http://127.0.0.1:4318/", Some(("http://127.0.0.1:4318", "/v1/traces"))),
            ("https://a.test/otlp/", Some(("https://a.test", "/otlp/v1/traces"))),
            ("https://a.test/otlp/v1/traces", Some(("https://a.test", "/otlp/v1/traces"))),
            ("http://me:hush@a.test", None),
            ("http://a.test/?key=hush", None),
            ("grpc://127.0.0.1:4317", None),
            ("127.0.0.1:4318", None),
        ] {
            let read = Collector::parse(text);
            let parts = read.as_ref().map(|it| (it.0.server.as_str(), it.0.target.as_str()));
            assert_eq!(parts, expected, "{text}");
        }
    }

    #[test]
    fn settings_are_read_and_a_wrong_one_is_told_with_its_place() {
        let read = |text: &str| {
            let settings = parse(&format!("[traces]\n{text}\n"), Path::new("wick.toml"));
            settings.map(|settings| TracesPlan::of(settings.traces)).map_err(|it| it.to_string())
        };
        assert_eq!(read(""), Ok(None));
        let rules = |text: &str| read(text).map(|plan| plan.map(|plan| plan.rules));
        let otlp = "otlp = \"http://127.0.0.1:4318\"";
        assert_eq!(rules(otlp), Ok(Some(TraceRules::new(0.01))));
        for (share, number) in [("1", 1.0), ("0", 0.0), ("0.25", 0.25)] {
            assert_eq!(
                rules(&format!("{otlp}\nsample = {share}")),
                Ok(Some(TraceRules::new(number)))
            );
        }
        for (text, place, cure) in [
            ("otlp = \"tcp://hush\"", "2:8: ", "write http://HOST:4318"),
            ("sample = 2", "2:10: ", "a share from 0 to 1"),
            ("sample = \"1%\"", "2:10: ", "a share from 0 to 1"),
            ("sample = nan", "2:10: ", "a share from 0 to 1"),
            ("otpl = \"\"", "2:1: ", "did you mean \"otlp\"?"),
        ] {
            let told = read(text).expect_err("it is wrong");
            assert!(told.starts_with(&format!("wick.toml:{place}")), "{told}");
            assert!(told.contains(cure) && !told.contains("hush"), "{told}");
        }
    }
}

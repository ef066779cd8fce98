//! `[sphinx]`, as an owner writes it.

use std::fmt;
use std::path::PathBuf;

use search::sphinx::conf::{Listen, read_listen};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::{OneOrMany, Seconds};

/// `[sphinx]`: answers clients of Sphinx's. Being there, even empty, it begins.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SphinxSettings {
    /// Sphinx's own settings file, whose indexes are made of its sources and found by their names,
    /// as in `"/etc/sphinxsearch/sphinx.conf"`. Default: none; then there are only the tables that
    /// clients make.
    pub(crate) conf: Option<PathBuf>,
    /// Where clients come to, one or a list, as in `"127.0.0.1:9312"` for the binary API and
    /// `"127.0.0.1:9306:mysql41"` for SphinxQL; neither asks who comes. Default: the ports that
    /// `listen` of that file names, else those two; on this machine alone, whatever the file says.
    pub(crate) listen: Option<OneOrMany<SphinxPort>>,
    /// How often each index is made anew from its sources; less often where that would take more
    /// than a twentieth of the time. Default: `1m`.
    pub(crate) every: Option<Seconds>,
}

/// An address with what is spoken there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SphinxPort(pub(crate) Listen);

impl<'de> Deserialize<'de> for SphinxPort {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = SphinxPort;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address such as \"127.0.0.1:9312\" or \"127.0.0.1:9306:mysql41\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SphinxPort, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Str(text), &self);
                read_listen(text).map(SphinxPort).map_err(wrong)
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

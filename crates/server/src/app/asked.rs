//! What an app's code asks for, as it comes.

use std::borrow::Cow;

use serde::Deserialize;

use super::{KEYS_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};

/// Texts to be rendered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Render<'a> {
    /// A dialect by its name, or `site` for the site's own.
    #[serde(borrow)]
    pub(super) dialect: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) texts: Vec<Cow<'a, str>>,
}

/// A namespace and a key in it.
type Place<'a> = (Cow<'a, str>, Cow<'a, str>);
/// The same, the namespace's version when the value began to be made, the value, and for how
/// many seconds it is kept.
type Setting<'a> = (Cow<'a, str>, Cow<'a, str>, Cow<'a, str>, Cow<'a, str>, Option<u64>);

/// Values to be kept, forgotten and found: first namespaces are bumped, then values set and
/// deleted, then found.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Objects<'a> {
    #[serde(borrow)]
    pub(super) bump: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) set: Vec<Setting<'a>>,
    #[serde(borrow)]
    pub(super) delete: Vec<Place<'a>>,
    #[serde(borrow)]
    pub(super) get: Vec<Place<'a>>,
}

/// Pages to be purged.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Purges {
    /// Whole addresses.
    pub(super) urls: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) all: bool,
    pub(super) soft: bool,
}

impl Objects<'_> {
    /// Whether everything is within its bounds; if not, what is to be done.
    pub(super) fn check(&self) -> Result<(), String> {
        let count = self.bump.len() + self.set.len() + self.delete.len() + self.get.len();
        if count > KEYS_MAX {
            return Err(format!("{count} keys are too many: send {KEYS_MAX} at a time"));
        }
        let keys = self.set.iter().flat_map(|(_, key, version, ..)| [key, version]);
        let keys = keys.chain(self.delete.iter().chain(&self.get).map(|(_, key)| key));
        for name in self.names().chain(keys.map(|key| &**key)) {
            if name.len() > NAME_BYTES_MAX || name.contains('\0') {
                return Err(format!(
                    "a namespace or key has more than {NAME_BYTES_MAX} bytes, or a NUL: hash it"
                ));
            }
        }
        match self.set.iter().find(|(_, _, _, value, _)| value.len() > VALUE_BYTES_MAX) {
            Some((name, key, ..)) => Err(format!(
                "the value of \"{key}\" in \"{name}\" has more than {VALUE_BYTES_MAX} bytes: \
                 keep it in parts"
            )),
            None => Ok(()),
        }
    }

    /// The namespaces that are named, some of them more than once.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let set = self.set.iter().map(|(name, ..)| name);
        let places = self.delete.iter().chain(&self.get).map(|(name, _)| name);
        self.bump.iter().chain(set).chain(places).map(|name| &**name)
    }
}

//! The folders of an app that keeps its content in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Source;

/// Which folders hold content; no other is watched.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Folders {
    /// Paths from the folder of the settings.
    #[serde(default)]
    beside: Vec<PathBuf>,
    /// The setting that names the folder of all data, from the site's folder.
    base: Option<String>,
    /// Settings that name a folder each, and its name in `base` where they don't.
    #[serde(default)]
    below: BTreeMap<String, PathBuf>,
}

impl Folders {
    /// Those that are there: one, and the others.
    pub(super) fn sources(
        &self,
        values: &BTreeMap<String, String>,
        site: &Path,
        settings: &Path,
    ) -> Option<(Source, Vec<PathBuf>)> {
        let value = |name: &String| values.get(name).filter(|value| !value.is_empty());
        let base = self.base.as_ref().and_then(value).map(|base| site.join(base));
        let named = self.below.iter().filter_map(|(name, own)| match (value(name), &base) {
            (Some(folder), _) => Some(site.join(folder)),
            (None, Some(base)) => Some(base.join(own)),
            (None, None) => None,
        });
        let beside = self.beside.iter().filter_map(|own| Some(settings.parent()?.join(own)));
        let mut folders = named.chain(beside).filter(|folder| folder.is_dir()).map(plain);
        Some((Source::Files(folders.next()?), folders.collect()))
    }
}

/// Without the steps that lead nowhere: `./data/pages` is `data/pages`.
fn plain(path: PathBuf) -> PathBuf {
    use std::path::Component;
    path.components().filter(|step| *step != Component::CurDir).collect()
}

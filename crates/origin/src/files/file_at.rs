//! Which file a path stands for, without opening it: what says whether one that was read still
//! lies there.

use std::fs;
use std::path::{Path, PathBuf};

use wire::{Coding, Codings};

use super::open_file::beside;
use crate::ground::Ground;
use crate::path::SitePath;
use crate::script::{self, Layout, Target};
use crate::stamp::Stamp;

/// A file that a path stands for, as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAt {
    pub(super) path: PathBuf,
    /// By what another would be known that lies there later.
    pub stamp: Stamp,
}

impl FileAt {
    /// The file that `path` stands for, given as sent, without its query.
    pub(crate) fn find(path: &str, layout: &Layout, ground: &dyn Ground) -> Option<Self> {
        match script::resolve(&SitePath::parse(path).ok()?, layout, ground).ok()? {
            Target::File(path) => {
                let data = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
                Some(Self { stamp: Stamp::of(&data), path })
            }
            Target::Script(_) | Target::Slash(_) | Target::Missing => None,
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Those of these codings in which the same content lies beside it and is no older, each
    /// with the stamp of that file.
    #[must_use]
    pub fn beside(&self, codings: Codings) -> Vec<(Coding, Stamp)> {
        let found = |coding| {
            let data =
                fs::metadata(beside(&self.path, coding)).ok().filter(fs::Metadata::is_file)?;
            let stamp = Stamp::of(&data);
            (!stamp.is_older_than(&self.stamp)).then_some((coding, stamp))
        };
        codings.iter().filter_map(found).collect()
    }
}

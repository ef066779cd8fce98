//! The owner's own certificates: read at the start, and again when their files change.
//!
//! Invariant: a pair of files that can't be used replaces nothing; it is told once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base::complaint::complain;
use server::Identity;

use super::showcase::Showcase;
use super::told;
use crate::own_user;

/// How often the files are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Where a certificate and its key lie; it may be one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

/// Why a certificate can't be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OwnError {
    /// The system.
    #[error("can't read {0}: {1}; name a file that this user may read")]
    Unreadable(PathBuf, std::io::Error),
    /// The contents.
    #[error("{0} (key: {1}): {2}")]
    Wrong(PathBuf, PathBuf, server::IdentityError),
}

/// When the files were last written, as far as that can be seen.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Files {
    /// Reads both.
    pub(crate) fn read(&self) -> Result<Identity, OwnError> {
        let read = |path: &Path| {
            own_user::read(path).map_err(|error| OwnError::Unreadable(path.to_owned(), error))
        };
        let (chain, key) = (read(&self.chain)?, read(&self.key)?);
        Identity::read(&chain, &key)
            .map_err(|error| OwnError::Wrong(self.chain.clone(), self.key.clone(), error))
    }

    fn stamp(&self) -> Stamp {
        [&self.chain, &self.key].map(|path| {
            let data = fs::metadata(path).ok()?;
            Some((data.modified().ok()?, data.len()))
        })
    }
}

/// One pair of files, and what is to be shown of it.
pub(crate) struct Watched {
    /// Its place in the showcase.
    pub(crate) place: usize,
    pub(crate) files: Files,
    stamp: Stamp,
}

impl Watched {
    /// Files as they are now.
    pub(crate) fn new(place: usize, files: Files) -> Self {
        let stamp = files.stamp();
        Self { place, files, stamp }
    }
}

/// Shows what the files become, for as long as the server runs.
pub(crate) async fn watch(mut all: Vec<Watched>, showcase: Arc<Showcase>) {
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !all.is_empty() {
        look.tick().await;
        for one in &mut all {
            let stamp = one.files.stamp();
            if stamp == one.stamp {
                continue;
            }
            one.stamp = stamp;
            match one.files.read() {
                Ok(identity) => {
                    let until = told::day(identity.facts().not_after);
                    complain(format_args!(
                        "{} was read again, good until {until}",
                        one.files.chain.display()
                    ));
                    showcase.replace(one.place, Arc::new(identity), true);
                }
                Err(error) => complain(format_args!("the certificate stays as it was: {error}")),
            }
        }
    }
}

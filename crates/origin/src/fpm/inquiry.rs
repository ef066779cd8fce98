//! By what our php-fpm is asked about itself: its status page, and a script that tells of the
//! opcode cache, which only a script can.
//!
//! Invariant: the script lies outside every site, where its readers can't write.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::configuration::pool_name;

/// Where the pool's status page is. No request of a visitor's leads there, since what those run
/// is named after a file of the site.
pub(crate) const STATUS_PATH: &str = "/wick-status";

/// Where scripts lie that another user than ours has to read.
const SHARED_FOLDER: &str = "/run/wick";

const SCRIPT: &str = "<?php\n\
    // Written by wick: what the opcode cache says of itself.\n\
    $status = function_exists('opcache_get_status') ? @opcache_get_status(false) : false;\n\
    echo json_encode($status, JSON_PARTIAL_OUTPUT_ON_ERROR);\n";

/// The script that tells of the opcode cache; it goes when this is dropped.
pub(crate) struct OpcacheScript {
    path: PathBuf,
}

impl OpcacheScript {
    /// Writes it where `user` can read it, which is our own if none is named.
    pub(crate) fn write(run_folder: &Path, user: Option<&str>) -> io::Result<Self> {
        let folder = match user {
            None => run_folder,
            Some(_) => {
                let shared = Path::new(SHARED_FOLDER);
                DirBuilder::new().recursive(true).mode(0o755).create(shared)?;
                shared
            }
        };
        // The same name at each start, so that what a killed Wick left is replaced.
        let path = folder.join(format!("opcache-{}.php", pool_name(run_folder)));
        let mut file = tempfile::Builder::new().prefix(".opcache-").tempfile_in(folder)?;
        // Whatever the mask for new files takes away.
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.write_all(SCRIPT.as_bytes())?;
        file.persist(&path).map_err(|error| error.error)?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OpcacheScript {
    fn drop(&mut self) {
        // One that can't be removed tells nobody anything.
        let _ = fs::remove_file(&self.path);
    }
}

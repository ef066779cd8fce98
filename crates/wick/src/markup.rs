//! A site's own dialect of markup, from the file that the owner names.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ::markup::{Dialect, Options, Renderer};

/// No dialect that anybody writes comes near.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A dialect made ready.
#[derive(Clone)]
pub(crate) struct OwnMarkup(Arc<Renderer>);

impl OwnMarkup {
    /// Reads the dialect's file; what is wrong with it is told with its place.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let file = fs::File::open(path).map_err(|error| error.to_string())?;
        let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
        let bytes = read.map_err(|error| error.to_string())?;
        if bytes as u64 > FILE_BYTES_MAX {
            return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
        }
        let dialect = Dialect::read(&text).map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(Renderer::new(dialect, Options::default()))))
    }

    pub(crate) fn renderer(&self) -> Arc<Renderer> {
        self.0.clone()
    }
}

impl fmt::Debug for OwnMarkup {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // All that it depends on.
        formatter.debug_tuple("OwnMarkup").field(&self.0.key(b"")).finish()
    }
}

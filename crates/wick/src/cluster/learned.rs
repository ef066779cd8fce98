//! What is noted of a site is told to the other nodes as well, where it is for all.

use std::sync::{Arc, OnceLock, Weak};

use server::{Note, Notes, Server, StoredNote};

/// Keeps notes, and tells them on.
pub(super) struct Shared {
    kept: Arc<dyn Notes>,
    server: OnceLock<Weak<Server>>,
}

impl Shared {
    pub(super) fn new(kept: Arc<dyn Notes>) -> Arc<Self> {
        Arc::new(Self { kept, server: OnceLock::new() })
    }

    /// From here on notes are told by this server.
    pub(super) fn tell_by(&self, server: &Arc<Server>) {
        // There is one server, so it is set once.
        let _ = self.server.set(Arc::downgrade(server));
    }
}

impl Notes for Shared {
    fn load(&self, site: &str) -> Vec<StoredNote> {
        self.kept.load(site)
    }

    fn write(&self, note: Note) {
        if let Some(server) = self.server.get().and_then(Weak::upgrade) {
            server.tell_learned(&note);
        }
        self.kept.write(note);
    }

    fn write_heard(&self, note: Note) {
        self.kept.write(note);
    }
}

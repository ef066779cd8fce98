//! Notes: what was learned about a site and is worth knowing after a restart.
//!
//! The road learns, and hands each fact to whoever keeps notes; how they are kept is
//! no concern of this crate. A note is a hint: the road must come to no harm when one is
//! missing, old or wrong, as a keeper that is busy drops what it can't take.
//! Invariant: writing a note never waits and never fails. Reading happens at the start only.

/// A fact to keep, or to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The site that it was learned about: its [`crate::SiteConfig::name`].
    pub site: String,
    /// What kind of fact it is; one word. Each kind has a bound of its own.
    pub kind: &'static str,
    /// What it is about. A second note of this site, kind and key replaces the first.
    pub key: Vec<u8>,
    /// What was learned; `None`: whatever was noted holds no more.
    pub value: Option<Vec<u8>>,
}

/// A fact that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNote {
    /// What kind of fact it is. It may be one that this version doesn't know.
    pub kind: String,
    /// What it is about.
    pub key: Vec<u8>,
    /// What was learned. Another version may have written it: read it with doubt.
    pub value: Vec<u8>,
    /// When it was learned, in milliseconds since 1970 by the clock of that time.
    pub written_unix_ms: u64,
}

/// Keeps notes.
pub trait Notes: Send + Sync + 'static {
    /// All that is kept about a site, oldest first; nothing if it can't be read. This may
    /// wait for a disk, so it is for the start.
    fn load(&self, site: &str) -> Vec<StoredNote>;

    /// Takes a note, or drops and counts it if too many wait already. Never waits.
    fn write(&self, note: Note);

    /// Takes one that another node told, as [`Notes::write`] does: it isn't told on.
    fn write_heard(&self, note: Note) {
        self.write(note);
    }
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNotes;

impl Notes for NoNotes {
    fn load(&self, _site: &str) -> Vec<StoredNote> {
        Vec::new()
    }

    fn write(&self, _note: Note) {}
}

//! Keeping: what is learned about strangers, noted for the next start.
//!
//! Kinds of notes: `cookie` (a name; its value says whose it is), `class` (an address of a
//! class that was shared), `refused` (an address and why), `wishes` (how many pages wished
//! what), `copy` (a page that may still be open somewhere), `noise` (what reading writes, one
//! note of all), `scope` (what was proved about changes and pages, one note of all).
//! A note that can't be read is as good as none.

use std::sync::Arc;

use policy::scope::KeptClaim;
use policy::strangers::{Constancy, Standing};
use wire::Fields;

use super::Strangers;
use super::copies::Copy;
use super::refusal::Refusal;
use crate::notes::{Note, Notes, StoredNote};
use crate::overrule::Rulings;

const COOKIE: &str = "cookie";
const APP: &[u8] = b"app";
const CLASS: &str = "class";
const WISHES: &str = "wishes";
const COPY: &str = "copy";
const NOISE: &str = "noise";
const SCOPE: &str = "scope";

/// Where a site's notes go.
#[derive(Clone)]
pub(crate) struct Keeping {
    notes: Arc<dyn Notes>,
    /// What was decided over what is learned, which whoever rules keeps.
    rulings: Arc<Rulings>,
    site: String,
}

impl Keeping {
    pub(crate) fn new(notes: Arc<dyn Notes>, rulings: &Arc<Rulings>, site: &str) -> Self {
        Self { notes, rulings: rulings.clone(), site: site.to_owned() }
    }

    /// Whether it was ruled that this kind of change is noise, or that it is not.
    pub(crate) fn is_noise(&self, signature: &changes::Signature) -> Option<bool> {
        self.rulings.is_noise(&self.site, signature)
    }

    pub(crate) fn load(&self) -> Vec<StoredNote> {
        self.notes.load(&self.site)
    }

    pub(crate) fn note_noise(&self, state: &changes::noise::State) {
        // It is made of texts and numbers, so it can always be written.
        if let Ok(text) = serde_json::to_vec(state) {
            self.write(NOISE, b"", &text);
        }
    }

    pub(crate) fn note_proofs(&self, kept: Vec<KeptClaim>) {
        let told =
            kept.into_iter().map(|one| (one.kind, one.shape, one.candidates, one.is_refuted));
        // As above.
        if let Ok(text) = serde_json::to_vec(&told.collect::<Vec<NotedClaim>>()) {
            self.write(SCOPE, b"", &text);
        }
    }

    fn forget(&self, kind: &'static str, key: &[u8]) {
        let (site, key) = (self.site.clone(), key.to_vec());
        self.notes.write(Note { site, kind, key, value: None });
    }

    fn write(&self, kind: &'static str, key: &[u8], value: &[u8]) {
        self.notes.write(Note {
            site: self.site.clone(),
            kind,
            key: key.to_vec(),
            value: Some(value.to_vec()),
        });
    }
}

/// The cookie that was seen to be the app's, if that is what was noted.
pub(crate) fn app_cookie(note: &Note) -> Option<String> {
    let is_it = note.kind == COOKIE && note.value.as_deref() == Some(APP);
    is_it.then(|| String::from_utf8(note.key.clone()).ok()).flatten()
}

/// What was learned about noise before the last stop.
pub(crate) fn noise_of(learned: &[StoredNote]) -> Option<changes::noise::State> {
    let noted = learned.iter().find(|note| note.kind == NOISE)?;
    serde_json::from_slice(&noted.value).ok()
}

/// Kind, shape, candidates, and whether it was refuted.
type NotedClaim = (String, String, Vec<(String, String, usize)>, bool);

/// What was proved about changes and pages before the last stop.
pub(crate) fn proofs_of(learned: &[StoredNote]) -> Vec<KeptClaim> {
    let noted = learned.iter().find(|note| note.kind == SCOPE);
    let noted: Vec<NotedClaim> =
        noted.and_then(|note| serde_json::from_slice(&note.value).ok()).unwrap_or_default();
    let claim =
        |(kind, shape, candidates, is_refuted)| KeptClaim { kind, shape, candidates, is_refuted };
    noted.into_iter().map(claim).collect()
}

impl Strangers {
    /// Whether the owner keeps this target from being shared, by settings or by a ruling.
    pub(super) fn forbids(&self, target: &str) -> bool {
        let Keeping { rulings, site, .. } = &self.keeping;
        self.rules.forbids(target) || rulings.forbids(site, target)
    }

    /// Takes over what was learned before the last stop, and what was ruled.
    pub(super) fn recall(&self, learned: &[StoredNote]) {
        for note in learned {
            match note.kind.as_str() {
                COOKIE => match note.value.as_slice() {
                    APP => self.names.set(&note.key, Standing::App),
                    b"foreign" => self.names.set(&note.key, Standing::Foreign),
                    _ => {}
                },
                CLASS => {
                    if let Ok(target) = std::str::from_utf8(&note.key) {
                        let page = crate::pipeline::hash(&note.key);
                        // It begins, so nothing is refused yet.
                        let _ = self.classes.note_shared(target, page, 0);
                    }
                }
                WISHES => {
                    if let Some(counts) = wishes(&note.value) {
                        *self.constancy.lock() = Constancy::restore(counts);
                    }
                }
                COPY => {
                    if let Some(copy) = Copy::from_note(&note.value) {
                        self.copies.keep(copy);
                    }
                    // It is noted again at the next stop, under its new number.
                    self.keeping.forget(COPY, &note.key);
                }
                // Another version's.
                _ => {}
            }
        }
        self.names.rule(|| self.keeping.rulings.cookies(&self.keeping.site));
    }

    /// Learns the names of cookies that an answer sets.
    pub(crate) fn note_cookies(&self, answer: &Fields) {
        for name in self.names.learn(answer) {
            self.keeping.write(COOKIE, &name, APP);
        }
    }

    /// Another node saw the app set this cookie.
    pub(crate) fn hear_app_cookie(&self, name: &str) {
        if self.names.is_set(name.as_bytes()) {
            return;
        }
        self.names.set(name.as_bytes(), Standing::App);
        let (site, key) = (self.keeping.site.clone(), name.as_bytes().to_vec());
        let value = Some(APP.to_vec());
        self.keeping.notes.write_heard(Note { site, kind: COOKIE, key, value });
    }

    /// Notes that a page was the same for the bearer of unknown cookies.
    pub(crate) fn note_the_same(&self, request: &Fields, page: u64, visitor: u64) {
        for name in self.names.was_the_same(request, page, visitor) {
            self.keeping.write(COOKIE, &name, b"foreign");
        }
    }

    /// A page was found shareable here; why it isn't all the same, where another node said so.
    pub(crate) fn note_shared(
        &self,
        target: &str,
        page: u64,
        ticks_ms: u64,
    ) -> Result<(), Arc<Refusal>> {
        let is_new = !self.classes.is_shared(target);
        self.classes.note_shared(target, page, ticks_ms)?;
        if is_new {
            self.keeping.write(CLASS, target.as_bytes(), b"shared");
            let counts = self.constancy.lock().summary();
            self.keeping.write(WISHES, b"", &counts.map(u32::to_le_bytes).concat());
        }
        Ok(())
    }

    /// Notes the copies, so that pages that are open now can be written from after a
    /// restart. It is for the stop: copies come and go too quickly to note each.
    pub(crate) fn note_copies(&self) {
        for (id, note) in self.copies.notes() {
            self.keeping.write(COPY, &id.to_le_bytes(), &note);
        }
    }
}

fn wishes(value: &[u8]) -> Option<[u32; 4]> {
    let mut counts = [0; 4];
    if value.len() != 16 {
        return None;
    }
    for (count, bytes) in counts.iter_mut().zip(value.chunks_exact(4)) {
        *count = u32::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(counts)
}

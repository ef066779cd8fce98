//! What the owner decided about changes; every default needs no thought.

use std::time::Duration;

use changes::{Pattern, Signature};
use policy::scope::Demands;

/// The owner's rules about following changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowRules {
    /// How long pages shared among strangers are fresh while all sources are heard.
    pub fresh: Duration,
    /// How much has to be seen before a change sweeps only the pages that it touched; none:
    /// every change sweeps the whole site.
    pub scope: Option<Demands>,
    /// Kinds of change that sweep nothing, whatever was learned.
    pub ignored: Vec<Pattern>,
    /// Kinds of change that sweep, whatever was learned and whatever else is ignored.
    pub heeded: Vec<Pattern>,
}

impl Default for FollowRules {
    fn default() -> Self {
        Self {
            fresh: Duration::from_secs(6 * 3600),
            scope: None,
            ignored: Vec::new(),
            heeded: Vec::new(),
        }
    }
}

impl FollowRules {
    /// Whether the owner has decided that this kind is noise or is not; none: what was
    /// learned counts.
    pub(crate) fn is_noise(&self, signature: &Signature) -> Option<bool> {
        let is_any = |patterns: &[Pattern]| patterns.iter().any(|one| one.fits(signature));
        if is_any(&self.heeded) {
            return Some(false);
        }
        is_any(&self.ignored).then_some(true)
    }
}

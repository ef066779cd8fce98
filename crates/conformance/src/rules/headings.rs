//! Headings: no level is left out on the way down.
//!
//! Law: HTML §4.3.11 (headings and outlines).

use super::{Look, within};
use crate::findings::Findings;
use crate::read::name::Name;

/// The headings of a page.
#[derive(Default)]
pub(super) struct Headings {
    seen: Vec<(usize, u32)>,
    empty: Vec<(usize, String)>,
}

impl Headings {
    /// Takes an element, if it is a heading.
    pub(super) fn note(&mut self, look: &Look<'_, '_>) {
        let element = look.element;
        if look.within & within::HIDDEN != 0 || element.has("hidden") {
            return;
        }
        let own = match element.name {
            Name::H1 => 1,
            Name::H2 => 2,
            Name::H3 => 3,
            Name::H4 => 4,
            Name::H5 => 5,
            Name::H6 => 6,
            _ => 0,
        };
        let role = element.value("role").unwrap_or("").trim().to_ascii_lowercase();
        let level = match (own, role.as_str()) {
            (0, "heading") | (1.., "" | "heading") => element
                .value("aria-level")
                .and_then(|level| level.trim().parse().ok())
                .unwrap_or(own),
            _ => return,
        };
        if level == 0 {
            return;
        }
        self.seen.push((look.at, level));
        let has_image = look.tree.descendants(look.id).any(|id| {
            look.tree
                .element(id)
                .is_some_and(|element| matches!(element.name, Name::Img | Name::Svg | Name::Object))
        });
        if !look.tree.has_text(look.id) && !has_image && !element.has("aria-label") {
            self.empty.push((look.at, element.label.to_string()));
        }
    }

    /// Tells levels that were left out.
    pub(super) fn judge(self, findings: &mut Findings) {
        for pair in self.seen.windows(2) {
            let ((_, before), (at, level)) = (pair[0], pair[1]);
            if level > before.saturating_add(1) {
                let message = format!(
                    "A heading of level {level} follows one of level {before}, skipping {} heading level(s).",
                    level - before - 1
                );
                findings.error(at, "heading-level-skipped", message);
            }
        }
        for (at, label) in self.empty {
            findings.warning(at, "empty-heading", format!("Empty heading “{label}”."));
        }
        if !self.seen.is_empty() && self.seen.iter().all(|(_, level)| *level != 1) {
            let at = self.seen[0].0;
            findings.warning(at, "no-top-heading", "This document has heading elements but none of them has a computed heading level of 1.");
        }
    }
}

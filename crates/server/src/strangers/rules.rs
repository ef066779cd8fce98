//! What the owner decided about strangers; every default needs no thought.

/// The owner's rules about sharing pages with strangers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrangerRules {
    /// How long a shared page is fresh, in milliseconds.
    pub fresh_ms: u64,
    /// How long after that it is served while a new one is made, in milliseconds.
    pub stale_ms: u64,
    /// One in so many refreshed pages is compared again as if it were new.
    pub sample: u32,
    /// Cookies that are the app's whether or not it was seen to set them.
    pub own_cookies: Vec<String>,
    /// Cookies that no server reads.
    pub foreign_cookies: Vec<String>,
    /// Paths, ended by `*` where a beginning is meant, that are never shared.
    pub never: Vec<String>,
    /// Paths whose `no-store` and `private` say nothing.
    pub ignore_no_store: Vec<String>,
    /// The most that copies kept for binding may take, in bytes.
    pub copies_bytes: usize,
    /// Shares whatever one persona was sent. It exists so that tests can show what the
    /// comparison is for.
    pub trust_personas: bool,
}

impl Default for StrangerRules {
    fn default() -> Self {
        Self {
            fresh_ms: 10_000,
            stale_ms: 600_000,
            sample: 16,
            own_cookies: Vec::new(),
            foreign_cookies: Vec::new(),
            never: Vec::new(),
            ignore_no_store: Vec::new(),
            copies_bytes: 8 << 20,
            trust_personas: false,
        }
    }
}

impl StrangerRules {
    /// Whether the owner keeps this target from being shared.
    pub(crate) fn forbids(&self, target: &str) -> bool {
        self.never.iter().any(|pattern| fits(pattern, target))
    }

    /// Whether the owner says that this target's wish not to be stored means nothing.
    pub(crate) fn overrides_wish(&self, target: &str) -> bool {
        self.ignore_no_store.iter().any(|pattern| fits(pattern, target))
    }
}

/// Whether a path, or a beginning with a `*` behind it, is of this target.
pub(crate) fn fits(pattern: &str, target: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => target.starts_with(start),
        None => {
            target.split_once('?').map_or(target, |(path, _)| path) == pattern || target == pattern
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_path_a_target_or_a_beginning() {
        for (pattern, target, expected) in [
            ("/a", "/a", true),
            ("/a", "/a?b=1", true),
            ("/a", "/ab", false),
            ("/a*", "/ab", true),
            ("/a?b=1", "/a?b=1", true),
            ("/a?b=1", "/a?b=2", false),
        ] {
            assert_eq!(fits(pattern, target), expected, "{pattern} {target}");
        }
    }
}

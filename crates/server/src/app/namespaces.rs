//! Namespaces of apps' values, each with a version: a bump makes all values in it unfindable.
//!
//! Bound: [`NAMES_MAX`]; when there would be more, all of them are bumped.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

const NAMES_MAX: usize = 10_000;

#[derive(Debug)]
pub(super) struct Namespaces {
    versions: HashMap<String, u64>,
    /// Of all that are not named there.
    others: u64,
    last: u64,
}

impl Default for Namespaces {
    /// What an app remembers of an earlier process names no version of this one.
    fn default() -> Self {
        let first = RandomState::new().build_hasher().finish() >> 1;
        Self { versions: HashMap::new(), others: first, last: first }
    }
}

impl Namespaces {
    pub(super) fn version(&self, site: &str, name: &str) -> u64 {
        self.versions.get(&key(site, name)).copied().unwrap_or(self.others)
    }

    pub(super) fn bump(&mut self, site: &str, name: &str) {
        self.last += 1;
        if self.versions.len() >= NAMES_MAX {
            self.versions.clear();
            self.others = self.last;
        } else {
            self.versions.insert(key(site, name), self.last);
        }
    }
}

fn key(site: &str, name: &str) -> String {
    format!("{site}\0{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_of_a_name_ever_comes_again() {
        let mut names = Namespaces::default();
        let mut before = HashMap::new();
        for at in 0..3 * NAMES_MAX {
            let name = (at % (NAMES_MAX + 7)).to_string();
            let old = names.version("a", &name);
            names.bump("a", &name);
            let new = names.version("a", &name);
            assert!(new > old && before.insert(name, new).is_none_or(|old| new > old), "{at}");
            assert!(names.versions.len() <= NAMES_MAX);
        }
    }

    #[test]
    fn a_bump_is_for_one_site_and_one_name() {
        let mut names = Namespaces::default();
        let first = names.version("a", "x");
        names.bump("a", "x");
        assert_ne!(names.version("a", "x"), first);
        assert_eq!(names.version("b", "x"), first);
        assert_eq!(names.version("a", "y"), first);
    }
}

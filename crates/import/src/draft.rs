//! A site that is being read, until it is known what it is made of.

use crate::abilities::Abilities;
use crate::found::{Imported, Place, Section, Value, Why};

/// A text and where it was said.
pub(crate) type Said = (String, Place);

/// What is known of a site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// Settings other than its origin.
    pub(crate) section: Section,
    /// Its folder.
    pub(crate) root: Option<Said>,
    /// Its php-fpm.
    pub(crate) php: Option<Said>,
    /// Its HTTP origins, as `http://…`.
    pub(crate) proxies: Vec<Said>,
    /// It does nothing but lead elsewhere, or refuse.
    pub(crate) is_elsewhere: bool,
}

impl Draft {
    /// One that begins here.
    pub(crate) fn at(place: &Place) -> Self {
        let section = Section { place: Some(place.clone()), ..Section::default() };
        Self { section, ..Self::default() }
    }

    /// Whether anything is known that could be served.
    pub(crate) fn has_origin(&self) -> bool {
        self.root.is_some() || !self.proxies.is_empty()
    }

    /// Makes a site of it, if it can be one.
    pub(crate) fn finish(mut self, imported: &mut Imported, abilities: Abilities, quoted: &str) {
        let Some(place) = self.section.place.clone() else { return };
        if self.is_elsewhere {
            return;
        }
        self.proxies.retain(|(address, place)| {
            let is_known = abilities.origins || !address.starts_with("https:");
            if !is_known {
                let advice = "https:// origins are not supported yet: name the origin's plain \
                              http port";
                imported.leave(place, address, Why::Cannot, advice);
            }
            is_known
        });
        if let Some((first, at)) = self.proxies.first().cloned() {
            let mut value = Value::Text(first);
            if self.proxies.len() > 1 && abilities.origins {
                value = Value::List(self.proxies.iter().map(|(text, _)| text.clone()).collect());
            } else {
                for (other, at) in self.proxies.iter().skip(1) {
                    let advice = "a site has one origin: only the first is asked";
                    imported.leave(at, other, Why::Cannot, advice);
                }
            }
            self.section.set("origin", value, &at);
            if let Some((php, at)) = &self.php {
                let advice = "a site has one origin: whatever is at its front answers for all of \
                              it; give the PHP a host name of its own";
                imported.leave(at, php, Why::Cannot, advice);
            }
            imported.sites.push(self.section);
            return;
        }
        let Some((root, at)) = self.root.take() else {
            let advice = "nothing here says where the pages come from: add a [[site]] with \
                          origin = \"/folder\" or \"http://…\"";
            imported.leave(&place, quoted, Why::Cannot, advice);
            return;
        };
        if !crate::address::is_plain_path(&root) {
            let advice = "write the folder's whole path as origin = \"/folder\" of a [[site]]";
            imported.leave(&at, &root, Why::Cannot, advice);
            return;
        }
        self.section.set("origin", Value::Text(root), &at);
        match self.php {
            Some((php, at)) => {
                self.section.set("php", Value::Text(php), &at);
                self.section
                    .note("php", "leave it out, and Wick starts and sizes a php-fpm itself");
            }
            None => self.section.note("origin", "if there is PHP in it, Wick starts a php-fpm"),
        }
        imported.sites.push(self.section);
    }
}

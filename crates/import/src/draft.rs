//! A site that is being read, until it is known what it is made of.

use crate::found::{Imported, Place, Section, Value, Why};

/// Origins that a site may have.
const SERVERS_MAX: usize = 64;

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
    pub(crate) fn finish(mut self, imported: &mut Imported, quoted: &str) {
        let Some(place) = self.section.place.clone() else { return };
        if self.is_elsewhere {
            return;
        }
        for (other, at) in self.proxies.iter().skip(SERVERS_MAX) {
            imported.leave(at, other, Why::Cannot, "a site has at most 64 origins");
        }
        self.proxies.truncate(SERVERS_MAX);
        if let Some((first, at)) = self.proxies.first().cloned() {
            self.section.set("origin", Value::Text(first), &at);
            if self.proxies.len() > 1 {
                self.section.remove("origin");
                self.proxies.iter().for_each(|(one, at)| self.section.add("origin", one, at));
                self.section.note("origin", "they share their sessions, or visitors lose them");
            }
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

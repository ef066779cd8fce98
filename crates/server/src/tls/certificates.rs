//! Which certificate a visitor is shown: by the name that they ask for.
//!
//! The whole table is replaced at once, so a handshake reads one pointer and never waits.
//! Who asks for a name that nobody here has gets no certificate, and so no connection: what
//! else is served on this machine is nobody's business. Who names none gets the first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::challenges::Challenges;
use super::identity::Identity;

/// What is shown to visitors of some names.
#[derive(Clone, Debug)]
pub struct Served {
    /// In lower case and without a port.
    pub names: Vec<String>,
    /// Their certificate with its key.
    pub identity: Arc<Identity>,
    /// Whether visitors of these names who come by HTTP are sent to HTTPS.
    pub redirects: bool,
    /// Whether it is shown for names that nobody else has, too.
    pub is_for_any: bool,
}

/// One state of all certificates.
#[derive(Debug, Default)]
struct Table {
    /// By name; those with a star without it, as in `.example.org`.
    named: HashMap<String, Arc<CertifiedKey>>,
    first: Option<Arc<CertifiedKey>>,
    any: Option<Arc<CertifiedKey>>,
    redirected: HashSet<String>,
    /// The names of each, and the first and the last second of its life.
    lives: Vec<(Vec<String>, i64, i64)>,
}

/// All certificates, and what is shown to a CA that checks whose a name is.
#[derive(Debug, Default)]
pub(crate) struct Certificates {
    table: ArcSwap<Table>,
    pub(crate) challenges: Challenges,
}

impl Certificates {
    /// Shows these from now on. Of two for one name the first is shown.
    pub(crate) fn replace(&self, served: &[Served]) {
        let mut table = Table::default();
        for Served { names, identity, redirects, is_for_any } in served {
            let key = &identity.key;
            let facts = identity.facts();
            table.lives.push((names.clone(), facts.not_before, facts.not_after));
            table.first.get_or_insert_with(|| key.clone());
            if *is_for_any {
                table.any.get_or_insert_with(|| key.clone());
            }
            for name in names {
                table.named.entry(name.clone()).or_insert_with(|| key.clone());
                if *redirects {
                    table.redirected.insert(name.clone());
                }
            }
        }
        // What a certificate is for besides its site's names.
        for Served { identity, .. } in served {
            for name in &identity.facts().names {
                let name = name.strip_prefix('*').unwrap_or(name);
                table.named.entry(name.to_owned()).or_insert_with(|| identity.key.clone());
            }
        }
        self.table.store(Arc::new(table));
    }

    /// Whether visitors of this name who come by HTTP are sent to HTTPS.
    pub(crate) fn redirects(&self, name: &str) -> bool {
        self.table.load().redirected.contains(name)
    }

    /// The names of each that is shown, and the first and the last second of its life in unix
    /// time.
    pub(crate) fn lives(&self) -> Vec<(Vec<String>, i64, i64)> {
        self.table.load().lives.clone()
    }

    fn find(&self, name: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let table = self.table.load();
        let Some(name) = name else { return table.first.clone() };
        let by_star = || name.find('.').and_then(|dot| table.named.get(&name[dot..]));
        table.named.get(name).or_else(by_star).or(table.any.as_ref()).cloned()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if super::is_challenge(hello.alpn()) {
            return self.challenges.certificate(hello.server_name()?);
        }
        self.find(hello.server_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::identity::tests::identity;

    fn served(names: &[&str], certificate: &[&str], is_for_any: bool) -> Served {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let identity = Arc::new(identity(certificate));
        Served { names, identity, redirects: !is_for_any, is_for_any }
    }

    #[test]
    fn a_name_is_shown_the_nearest_certificate_and_another_name_none() {
        let certificates = Certificates::default();
        assert!(certificates.find(None).is_none() && certificates.find(Some("a.test")).is_none());
        let mut all = vec![
            served(&["a.test"], &["a.test", "more.test"], false),
            served(&["b.test"], &["b.test", "*.b.test"], false),
            served(&["x.b.test", "a.test"], &["x.b.test"], false),
        ];
        let check = |all: &[Served], name: Option<&str>, expected: Option<usize>| {
            certificates.replace(all);
            let found = certificates.find(name);
            let place = |key: Arc<CertifiedKey>| {
                all.iter().position(|served| Arc::ptr_eq(&served.identity.key, &key))
            };
            assert_eq!(found.and_then(place), expected, "{name:?}");
        };
        for (name, expected) in [
            (Some("a.test"), Some(0)),
            (Some("more.test"), Some(0)),
            (Some("b.test"), Some(1)),
            (Some("y.b.test"), Some(1)),
            (Some("x.b.test"), Some(2)),
            (Some("z.y.b.test"), None),
            (Some("c.test"), None),
            (Some("test"), None),
            (None, Some(0)),
        ] {
            check(&all, name, expected);
        }
        all.push(served(&[], &["other.test"], true));
        check(&all, Some("c.test"), Some(3));
        check(&all, Some("y.b.test"), Some(1));
        assert!(certificates.redirects("a.test") && !certificates.redirects("more.test"));
    }
}

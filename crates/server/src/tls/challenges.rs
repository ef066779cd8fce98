//! What is shown to a CA that checks whose a name is: by HTTP (RFC 8555 §8.3) and by TLS
//! (RFC 8737).
//!
//! Invariants: 1. at most [`CHALLENGES_MAX`] of each at a time. 2. each goes with the
//! [`Shown`] that it was shown for.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::RwLock;
use rustls::sign::CertifiedKey;

use super::identity::Identity;

/// More names than are checked at one time.
const CHALLENGES_MAX: usize = 64;

/// What is shown at the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Challenges {
    shelves: Arc<RwLock<Shelves>>,
}

#[derive(Debug, Default)]
struct Shelves {
    /// By token.
    proofs: HashMap<String, Bytes>,
    /// By name.
    certificates: HashMap<String, Arc<CertifiedKey>>,
}

/// Something that is shown until this is dropped.
#[derive(Debug)]
pub struct Shown {
    challenges: Challenges,
    what: What,
}

#[derive(Debug)]
enum What {
    Proof(String),
    Certificate(String),
}

impl Challenges {
    /// Shows a proof under its token; nothing if there are too many.
    pub(crate) fn show_proof(&self, token: &str, proof: &str) -> Option<Shown> {
        let mut shelves = self.shelves.write();
        if shelves.proofs.len() >= CHALLENGES_MAX {
            return None;
        }
        shelves.proofs.insert(token.to_owned(), Bytes::copy_from_slice(proof.as_bytes()));
        Some(Shown { challenges: self.clone(), what: What::Proof(token.to_owned()) })
    }

    /// Shows a certificate that says who answers for a name; nothing if there are too many.
    pub(crate) fn show_certificate(&self, name: &str, identity: &Identity) -> Option<Shown> {
        let mut shelves = self.shelves.write();
        if shelves.certificates.len() >= CHALLENGES_MAX {
            return None;
        }
        shelves.certificates.insert(name.to_owned(), identity.key.clone());
        Some(Shown { challenges: self.clone(), what: What::Certificate(name.to_owned()) })
    }

    /// What is shown under a token.
    pub(crate) fn proof(&self, token: &str) -> Option<Bytes> {
        self.shelves.read().proofs.get(token).cloned()
    }

    /// What is shown for a name.
    pub(crate) fn certificate(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        self.shelves.read().certificates.get(name).cloned()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let mut shelves = self.challenges.shelves.write();
        match &self.what {
            What::Proof(token) => drop(shelves.proofs.remove(token)),
            What::Certificate(name) => drop(shelves.certificates.remove(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::identity::tests::identity;

    #[test]
    fn what_is_shown_goes_when_it_is_no_longer_wanted_and_there_is_never_too_much() {
        let challenges = Challenges::default();
        let identity = identity(&["a.test"]);
        let proof = challenges.show_proof("t", "t.key").expect("room");
        let certificate = challenges.show_certificate("a.test", &identity).expect("room");
        assert_eq!(challenges.proof("t").as_deref(), Some(&b"t.key"[..]));
        assert!(challenges.proof("a.test").is_none() && challenges.proof("").is_none());
        assert!(challenges.certificate("a.test").is_some());
        drop((proof, certificate));
        assert!(challenges.proof("t").is_none() && challenges.certificate("a.test").is_none());
        let show = |number: usize| challenges.show_proof(&number.to_string(), "");
        let all: Vec<_> = (0..CHALLENGES_MAX).map_while(show).collect();
        assert_eq!(all.len(), CHALLENGES_MAX);
        assert!(show(CHALLENGES_MAX).is_none());
        drop(all);
        assert!(show(CHALLENGES_MAX).is_some());
    }
}

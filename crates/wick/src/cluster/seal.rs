//! What goes through NATS and is for the nodes alone: sealed by a key that is made of the secret
//! in `[cluster]`.
//!
//! AES-256-GCM with a nonce by chance. The key is drawn from the secret slowly (PBKDF2), so that
//! one that a person made up isn't found by trying. What is sealed for one purpose opens for no
//! other, nor in a cluster of another name.
//! Invariants: 1. what wasn't sealed by the secret, or not for this purpose, doesn't open. 2. the
//! secret itself goes nowhere: what nodes show each other ([`shown`]) opens nothing.

use std::fmt;
use std::num::NonZeroU32;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};

use crate::settings::Secret;

/// Some hundredths of a second, once at a start.
const ROUNDS: NonZeroU32 = NonZeroU32::new(100_000).expect("it isn't zero");
const KEY_BYTES: usize = 32;

/// By which things are sealed and opened.
pub(crate) struct Seal(LessSafeKey);

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

/// What is drawn from the secret for one use, in a cluster of this name.
fn drawn(Secret(secret): &Secret, cluster: &str, what: &str) -> [u8; KEY_BYTES] {
    let salt = format!("wick cluster {cluster} {what} 1");
    let mut drawn = [0; KEY_BYTES];
    let algorithm = PBKDF2_HMAC_SHA256;
    pbkdf2::derive(algorithm, ROUNDS, salt.as_bytes(), secret.as_bytes(), &mut drawn);
    drawn
}

/// What nodes show each other in the clear where they ask for pages.
pub(super) fn shown(secret: &Secret, cluster: &str) -> String {
    drawn(secret, cluster, "shown").iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Seal {
    /// The seal of a cluster of this name.
    pub(crate) fn of(secret: &Secret, cluster: &str) -> Option<Self> {
        // A key of this length is always one.
        let key = UnboundKey::new(&AES_256_GCM, &drawn(secret, cluster, "sealed")).ok()?;
        Some(Self(LessSafeKey::new(key)))
    }

    /// Seals something for a purpose; none if it is longer than anything can be.
    pub(crate) fn seal(&self, purpose: &str, plain: &[u8]) -> Option<Vec<u8>> {
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = plain.to_vec();
        let purpose = Aad::from(purpose.as_bytes());
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, purpose, &mut sealed).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// What was sealed for this purpose.
    pub(crate) fn open(&self, purpose: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut rest = rest.to_vec();
        let purpose = Aad::from(purpose.as_bytes());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        Some(self.0.open_in_place(nonce, purpose, &mut rest).ok()?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(secret: &str, cluster: &str) -> Seal {
        Seal::of(&Secret(secret.to_owned()), cluster).expect("a key")
    }

    #[test]
    fn only_who_has_the_secret_opens_and_only_for_the_purpose() {
        let own = seal("a-secret-of-many-letters", "shop");
        let sealed = own.seal("key of a.test", b"PRIVATE").expect("it is sealed");
        assert_eq!(own.open("key of a.test", &sealed).as_deref(), Some(&b"PRIVATE"[..]));
        let same = seal("a-secret-of-many-letters", "shop");
        assert!(same.open("key of a.test", &sealed).is_some());
        assert!(own.open("key of b.test", &sealed).is_none());
        assert!(seal("a-secret-of-many-letters", "forum").open("key of a.test", &sealed).is_none());
        assert!(seal("a-secret-of-more-letters", "shop").open("key of a.test", &sealed).is_none());
        assert!(!sealed.windows(7).any(|part| part == b"PRIVATE"));
        assert_ne!(own.seal("key of a.test", b"PRIVATE"), Some(sealed), "no two are alike");
    }

    #[test]
    fn what_is_shown_in_the_clear_is_the_same_on_all_nodes_and_not_the_secret() {
        let of = |secret: &str, cluster: &str| shown(&Secret(secret.to_owned()), cluster);
        let own = of("a-secret-of-many-letters", "shop");
        assert_eq!((own.len(), &own), (64, &of("a-secret-of-many-letters", "shop")));
        assert_ne!(own, of("a-secret-of-many-letters", "forum"));
        assert_ne!(own, of("a-secret-of-more-letters", "shop"));
    }

    #[test]
    fn what_was_changed_or_cut_opens_nothing() {
        let own = seal("a-secret-of-many-letters", "shop");
        let sealed = own.seal("x", b"plain").expect("it is sealed");
        for at in 0..sealed.len() {
            let mut other = sealed.clone();
            other[at] ^= 1;
            assert!(own.open("x", &other).is_none(), "{at}");
            assert!(own.open("x", &sealed[..at]).is_none(), "{at}");
        }
    }
}

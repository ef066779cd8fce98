//! Seal: what goes through NATS and is for the nodes alone can be read, and made, by them alone.
//!
//! The cluster's secret is stretched once, so that one that a person made up isn't found by
//! trying. What comes of it names things, so that nobody else knows what a name means, and closes
//! parcels: `form | salt | sealed content`, each by a key of its own that its salt makes
//! (AES-256-GCM). What it is for is sealed with it; a parcel that ages has the seconds since 1970
//! before its content.
//! Invariants: 1. a parcel is opened only for what it was closed for, and only as it was closed.
//! 2. one that ages and is older than it may be is none, so nobody can bring it back. 3. the secret
//! itself goes nowhere: what nodes show each other ([`Seal::shown`]) opens nothing.

use std::fmt;
use std::time::Duration;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{hmac, pbkdf2};

/// So much later than this node's clock another's may be.
const SKEW: Duration = Duration::from_secs(300);
/// How often the secret is stretched: who has parcels and no secret has to do it for each guess.
const ROUNDS: std::num::NonZeroU32 = std::num::NonZeroU32::new(100_000).expect("it isn't zero");
/// The first byte of a parcel; a later form has another.
const FORM: u8 = 1;
const SALT_BYTES: usize = 32;
const TIME_BYTES: usize = 8;
const NAME_BYTES: usize = 16;
/// What stands before a purpose, and before no name.
const PURPOSE: &str = "for ";

/// The keys of one cluster.
pub struct Seal {
    names: hmac::Key,
    parcels: hmac::Key,
    shown: String,
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

impl Seal {
    /// The keys that this secret makes for the cluster of this name. It takes some hundredths of a
    /// second.
    #[must_use]
    pub fn new(secret: &str, cluster: &str) -> Self {
        let mut stretched = [0; 32];
        let salt = format!("wick cluster {cluster}");
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, ROUNDS, salt.as_bytes(), secret.as_bytes(), &mut stretched);
        let root = hmac::Key::new(hmac::HMAC_SHA256, &stretched);
        let key = |what: &str| hmac::Key::new(hmac::HMAC_SHA256, &made(&root, what.as_bytes()));
        let shown = hex(&made(&root, b"shown"));
        Self { names: key("names"), parcels: key("parcels"), shown }
    }

    /// What nodes show each other in the clear where they ask for pages.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Seals something for a purpose; none where the system has no random bytes.
    #[must_use]
    pub fn seal(&self, purpose: &str, plain: &[u8]) -> Option<Vec<u8>> {
        self.sealed(&format!("{PURPOSE}{purpose}"), plain.to_vec())
    }

    /// What was sealed for this purpose, however long ago.
    #[must_use]
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        self.opened(&format!("{PURPOSE}{purpose}"), sealed)
    }

    /// What others see of a name: letters and digits that say nothing.
    pub(crate) fn name(&self, name: &[u8]) -> String {
        hex(&made(&self.names, name)[..NAME_BYTES])
    }

    /// Closes a parcel for a name that was made by [`Seal::name`]; none where the system has no
    /// random bytes.
    pub(crate) fn close(&self, name: &str, content: &[u8], unix_seconds: u64) -> Option<Vec<u8>> {
        let mut plain = Vec::with_capacity(TIME_BYTES + content.len() + AES_256_GCM.tag_len());
        plain.extend_from_slice(&unix_seconds.to_le_bytes());
        plain.extend_from_slice(content);
        self.sealed(name, plain)
    }

    /// Opens a parcel that was found under this name; none if it isn't one of this cluster, for
    /// this name and of this time; `kept` is how old it may be.
    pub(crate) fn open_young(
        &self,
        name: &str,
        parcel: &[u8],
        unix_seconds: u64,
        kept: Duration,
    ) -> Option<Vec<u8>> {
        let opened = self.opened(name, parcel)?;
        let (time, content) = opened.split_first_chunk::<TIME_BYTES>()?;
        let closed = u64::from_le_bytes(*time);
        let is_of_now = closed <= unix_seconds.saturating_add(SKEW.as_secs())
            && unix_seconds < closed.saturating_add(kept.as_secs());
        is_of_now.then(|| content.to_vec())
    }

    fn sealed(&self, what_for: &str, mut plain: Vec<u8>) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).ok()?;
        let key = self.key(&salt)?;
        key.seal_in_place_append_tag(nonce(), Aad::from(what_for), &mut plain).ok()?;
        Some([&[FORM], &salt[..], &plain].concat())
    }

    fn opened(&self, what_for: &str, parcel: &[u8]) -> Option<Vec<u8>> {
        let (&form, rest) = parcel.split_first()?;
        let (salt, sealed) = rest.split_at_checked(SALT_BYTES).filter(|_| form == FORM)?;
        let mut sealed = sealed.to_vec();
        let plain = self.key(salt)?.open_in_place(nonce(), Aad::from(what_for), &mut sealed);
        plain.ok().map(|plain| plain.to_vec())
    }

    /// The key of one parcel: no two have the same salt, so each key closes one.
    fn key(&self, salt: &[u8]) -> Option<LessSafeKey> {
        let key = UnboundKey::new(&AES_256_GCM, &made(&self.parcels, salt)).ok()?;
        Some(LessSafeKey::new(key))
    }
}

fn made(key: &hmac::Key, of: &[u8]) -> [u8; 32] {
    let mut made = [0; 32];
    made.copy_from_slice(hmac::sign(key, of).as_ref());
    made
}

/// Bytes as text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that a text was made of; none if it was made of none.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some((digit(high)? << 4) | digit(low)?)).collect()
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a-secret-of-many-letters";
    const NOW: u64 = 1_800_000_000;
    const KEPT: Duration = Duration::from_secs(3600);

    #[test]
    fn a_parcel_is_opened_as_it_was_closed_and_otherwise_not() {
        let (seal, same) = (Seal::new(SECRET, "wick"), Seal::new(SECRET, "wick"));
        let name = seal.name(b"a token");
        assert_eq!(name, same.name(b"a token"), "all nodes find it");
        assert_ne!(name, seal.name(b"a tokem"));
        let parcel = seal.close(&name, b"a page", NOW).expect("there are random bytes");
        assert_eq!(same.open_young(&name, &parcel, NOW, KEPT).as_deref(), Some(&b"a page"[..]));
        assert!(memchr(&parcel, b"a page").is_none(), "it is in clear");
        assert_ne!(seal.close(&name, b"a page", NOW), Some(parcel.clone()));
        for at in 0..parcel.len() {
            let mut forged = parcel.clone();
            forged[at] ^= 1;
            assert_eq!(same.open_young(&name, &forged, NOW, KEPT), None, "byte {at}");
            assert_eq!(same.open_young(&name, &parcel[..at], NOW, KEPT), None, "cut at {at}");
        }
        for (secret, cluster) in [("another-secret-of-letters", "wick"), (SECRET, "shop")] {
            let other = Seal::new(secret, cluster);
            assert_ne!(other.name(b"a token"), name);
            assert_eq!(other.open_young(&name, &parcel, NOW, KEPT), None, "{secret} {cluster}");
        }
    }

    #[test]
    fn a_parcel_is_none_under_another_name_nor_at_another_time() {
        let seal = Seal::new(SECRET, "wick");
        let (name, other) = (seal.name(b"one"), seal.name(b"two"));
        let parcel = seal.close(&name, b"a page", NOW).expect("there are random bytes");
        let is_opened = |name: &str, now| seal.open_young(name, &parcel, now, KEPT).is_some();
        assert!(!is_opened(&other, NOW), "moved to another name");
        let kept = KEPT.as_secs();
        assert!(is_opened(&name, NOW + kept - 1) && !is_opened(&name, NOW + kept));
        let skew = SKEW.as_secs();
        assert!(is_opened(&name, NOW - skew) && !is_opened(&name, NOW - skew - 1));
    }

    #[test]
    fn only_who_has_the_secret_opens_and_only_for_the_purpose() {
        let own = Seal::new(SECRET, "shop");
        let sealed = own.seal("key of a.test", b"PRIVATE").expect("there are random bytes");
        assert_eq!(own.open("key of a.test", &sealed).as_deref(), Some(&b"PRIVATE"[..]));
        assert!(own.open("key of b.test", &sealed).is_none());
        assert!(own.open_young("key of a.test", &sealed, NOW, KEPT).is_none());
        assert!(Seal::new(SECRET, "forum").open("key of a.test", &sealed).is_none());
        assert!(Seal::new("another-secret", "shop").open("key of a.test", &sealed).is_none());
        assert!(memchr(&sealed, b"PRIVATE").is_none(), "it is in clear");
        assert_ne!(own.seal("key of a.test", b"PRIVATE"), Some(sealed), "no two are alike");
        // What nodes show each other is the same on all of them, and not the secret.
        assert_eq!((own.shown().len(), own.shown()), (64, Seal::new(SECRET, "shop").shown()));
        assert_ne!(own.shown(), Seal::new(SECRET, "forum").shown());
        assert_ne!(own.shown(), Seal::new("another-secret", "shop").shown());
    }

    #[test]
    fn text_is_read_as_it_was_written_and_other_text_not() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        for text in ["0", "0g", "000", "ä0", "+1"] {
            assert_eq!(unhex(text), None, "{text}");
        }
    }

    fn memchr(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
        bytes.windows(wanted.len()).position(|window| window == wanted)
    }
}

//! Seal: what is laid down for other nodes can be read, and made, by them alone.
//!
//! The cluster's secret is stretched once. What comes of it names things, so that nobody else
//! knows what a name means, and closes parcels: `form | salt | sealed (seconds since 1970 |
//! content)`, each by a key of its own that its salt makes. The name is sealed with it.
//! Invariants: 1. a parcel is opened only under the name that it was closed for, and only as it
//! was closed. 2. one that is older than it may be is none, so nobody can bring it back.

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

/// The keys of one cluster.
pub(crate) struct Seal {
    names: hmac::Key,
    parcels: hmac::Key,
}

impl Seal {
    /// The keys that this secret makes for the cluster of this name.
    pub(crate) fn new(secret: &str, cluster: &str) -> Self {
        let mut stretched = [0; 32];
        let salt = format!("wick cluster {cluster}");
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, ROUNDS, salt.as_bytes(), secret.as_bytes(), &mut stretched);
        let root = hmac::Key::new(hmac::HMAC_SHA256, &stretched);
        let key = |what: &str| hmac::Key::new(hmac::HMAC_SHA256, &made(&root, what.as_bytes()));
        Self { names: key("names"), parcels: key("parcels") }
    }

    /// What others see of a name: letters and digits that say nothing.
    pub(crate) fn name(&self, name: &[u8]) -> String {
        hex(&made(&self.names, name)[..NAME_BYTES])
    }

    /// Closes a parcel for a name that was made by [`Seal::name`]; none where the system has no
    /// random bytes.
    pub(crate) fn close(&self, name: &str, content: &[u8], unix_seconds: u64) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).ok()?;
        let mut sealed = Vec::with_capacity(TIME_BYTES + content.len() + AES_256_GCM.tag_len());
        sealed.extend_from_slice(&unix_seconds.to_le_bytes());
        sealed.extend_from_slice(content);
        self.key(&salt)?.seal_in_place_append_tag(nonce(), Aad::from(name), &mut sealed).ok()?;
        Some([&[FORM], &salt[..], &sealed].concat())
    }

    /// Opens a parcel that was found under this name; none if it isn't one of this cluster, for
    /// this name and of this time; `kept` is how old it may be.
    pub(crate) fn open(
        &self,
        name: &str,
        parcel: &[u8],
        unix_seconds: u64,
        kept: Duration,
    ) -> Option<Vec<u8>> {
        let (&form, rest) = parcel.split_first()?;
        let (salt, sealed) = rest.split_at_checked(SALT_BYTES).filter(|_| form == FORM)?;
        let mut sealed = sealed.to_vec();
        let opened = self.key(salt)?.open_in_place(nonce(), Aad::from(name), &mut sealed).ok()?;
        let (time, content) = opened.split_first_chunk::<TIME_BYTES>()?;
        let closed = u64::from_le_bytes(*time);
        let is_of_now = closed <= unix_seconds.saturating_add(SKEW.as_secs())
            && unix_seconds < closed.saturating_add(kept.as_secs());
        is_of_now.then(|| content.to_vec())
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
        assert_eq!(same.open(&name, &parcel, NOW, KEPT).as_deref(), Some(&b"a page"[..]));
        assert!(memchr(&parcel, b"a page").is_none(), "it is in clear");
        assert_ne!(seal.close(&name, b"a page", NOW), Some(parcel.clone()));
        for at in 0..parcel.len() {
            let mut forged = parcel.clone();
            forged[at] ^= 1;
            assert_eq!(same.open(&name, &forged, NOW, KEPT), None, "byte {at}");
            assert_eq!(same.open(&name, &parcel[..at], NOW, KEPT), None, "cut at {at}");
        }
        for (secret, cluster) in [("another-secret-of-letters", "wick"), (SECRET, "shop")] {
            let other = Seal::new(secret, cluster);
            assert_ne!(other.name(b"a token"), name);
            assert_eq!(other.open(&name, &parcel, NOW, KEPT), None, "{secret} {cluster}");
        }
    }

    #[test]
    fn a_parcel_is_none_under_another_name_nor_at_another_time() {
        let seal = Seal::new(SECRET, "wick");
        let (name, other) = (seal.name(b"one"), seal.name(b"two"));
        let parcel = seal.close(&name, b"a page", NOW).expect("there are random bytes");
        let is_opened = |name: &str, now| seal.open(name, &parcel, now, KEPT).is_some();
        assert!(!is_opened(&other, NOW), "moved to another name");
        let kept = KEPT.as_secs();
        assert!(is_opened(&name, NOW + kept - 1) && !is_opened(&name, NOW + kept));
        let skew = SKEW.as_secs();
        assert!(is_opened(&name, NOW - skew) && !is_opened(&name, NOW - skew - 1));
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

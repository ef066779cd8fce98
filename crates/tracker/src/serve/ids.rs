//! Connection ids: by which a client over UDP shows that it can be reached where it says it is.
//!
//! An id is a keyed hash of the client's address and of a stretch of time; nothing is kept for it.
//! It is good in the stretch in which it was given and in the next, so for 60 to 120 seconds
//! (BEP 15: a client uses one for a minute).
//! Invariants: 1. an id is good for one address and port. 2. whoever has the key, also another
//! process in the place of this one, takes the ids that were given before.

use std::hash::Hasher;
use std::net::{IpAddr, SocketAddr};

use siphasher::sip::SipHasher24;

/// Seconds of a stretch.
const STRETCH_SECONDS: u64 = 60;

/// What ids are made with.
pub struct ConnectionIds {
    key: [u8; 16],
}

impl std::fmt::Debug for ConnectionIds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ConnectionIds(…)")
    }
}

impl ConnectionIds {
    /// Those of a key that nobody else knows.
    #[must_use]
    pub fn new(key: [u8; 16]) -> Self {
        Self { key }
    }

    /// The id for a client at this moment.
    pub(crate) fn give(&self, client: SocketAddr, unix_seconds: u64) -> u64 {
        self.hash(client, unix_seconds / STRETCH_SECONDS)
    }

    /// Whether a client was given this id of late.
    pub(crate) fn is_good(&self, id: u64, client: SocketAddr, unix_seconds: u64) -> bool {
        let stretch = unix_seconds / STRETCH_SECONDS;
        // A guess is as good as any other, so there is nothing to be learned from the time that
        // comparing takes.
        id == self.hash(client, stretch) || id == self.hash(client, stretch.wrapping_sub(1))
    }

    fn hash(&self, client: SocketAddr, stretch: u64) -> u64 {
        let mut text = [0; 26];
        text[..8].copy_from_slice(&stretch.to_le_bytes());
        let address = match client.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        text[8..24].copy_from_slice(&address.octets());
        text[24..].copy_from_slice(&client.port().to_le_bytes());
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&text);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_good_for_a_minute_or_two_at_one_place() {
        let ids = ConnectionIds::new([7; 16]);
        let client = "10.0.0.1:6881".parse().expect("an address");
        let id = ids.give(client, 6000);
        for (address, seconds, expected) in [
            ("10.0.0.1:6881", 6000, true),
            ("10.0.0.1:6881", 6119, true),
            ("10.0.0.1:6881", 6120, false),
            ("10.0.0.1:6881", 5999, false),
            ("10.0.0.1:6882", 6000, false),
            ("10.0.0.2:6881", 6000, false),
            ("[::ffff:10.0.0.1]:6881", 6000, true),
            ("[2001:db8::1]:6881", 6000, false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(ids.is_good(id, address, seconds), expected, "{address} {seconds}");
        }
        assert!(!ConnectionIds::new([8; 16]).is_good(id, client, 6000), "another key");
        assert!(ids.is_good(ids.give(client, 0), client, 0), "at the beginning of time");
    }
}

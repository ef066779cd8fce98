//! Whom the site's own tables turn away: ranges of IPv4 addresses, and clients by how their
//! names begin.
//!
//! Law: what overlaps is joined, so a look is a search by halves however long the list is.

use std::net::IpAddr;

use wire::tracker::PeerId;

/// The lists of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denied {
    /// First and last of each, in order and apart.
    addresses: Vec<(u32, u32)>,
    clients: Vec<Vec<u8>>,
}

impl Denied {
    /// Of ranges, first and last, and of beginnings of peer ids. A range that ends before it
    /// begins is none, and neither is a beginning of no bytes: it would be everybody's.
    #[must_use]
    pub fn new(mut ranges: Vec<(u32, u32)>, mut clients: Vec<Vec<u8>>) -> Self {
        ranges.retain(|(first, last)| first <= last);
        ranges.sort_unstable();
        let mut addresses: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match addresses.last_mut() {
                Some(before) if first <= before.1 => before.1 = before.1.max(last),
                _ => addresses.push((first, last)),
            }
        }
        clients.retain(|start| !start.is_empty());
        Self { addresses, clients }
    }

    /// Whether somebody from there is turned away.
    #[must_use]
    pub fn denies_address(&self, from: IpAddr) -> bool {
        let IpAddr::V4(from) = from.to_canonical() else { return false };
        let from = u32::from(from);
        let after = self.addresses.partition_point(|(first, _)| *first <= from);
        after.checked_sub(1).is_some_and(|at| from <= self.addresses[at].1)
    }

    /// Whether a client of this name is.
    #[must_use]
    pub fn denies_client(&self, peer_id: &PeerId) -> bool {
        self.clients.iter().any(|start| peer_id.0.starts_with(start))
    }

    /// How many ranges and beginnings there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        (self.addresses.len(), self.clients.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_denied_by_ranges_in_any_order() {
        let number = |text: &str| u32::from(text.parse::<std::net::Ipv4Addr>().expect(text));
        let range = |first, last| (number(first), number(last));
        let denied = Denied::new(
            vec![
                range("200.0.0.0", "200.0.0.255"),
                range("10.0.0.0", "10.255.255.255"),
                range("10.1.0.0", "10.1.0.9"),
                range("10.200.0.0", "11.0.0.1"),
                range("9.9.9.9", "9.9.9.9"),
                range("8.0.0.9", "8.0.0.1"),
                range("255.255.255.255", "255.255.255.255"),
            ],
            Vec::new(),
        );
        assert_eq!(denied.counts(), (4, 0));
        for (from, expected) in [
            ("9.9.9.8", false),
            ("9.9.9.9", true),
            ("10.1.0.10", true),
            ("::ffff:11.0.0.1", true),
            ("11.0.0.2", false),
            ("8.0.0.5", false),
            ("0.0.0.0", false),
            ("200.0.0.255", true),
            ("200.0.1.0", false),
            ("255.255.255.255", true),
            ("2a00::1", false),
        ] {
            assert_eq!(denied.denies_address(from.parse().expect(from)), expected, "{from}");
        }
    }

    #[test]
    fn clients_are_denied_by_how_their_names_begin_and_nothing_denies_nobody() {
        let denied = Denied::new(Vec::new(), vec![b"-BAD1".to_vec(), Vec::new()]);
        assert!(denied.denies_client(&PeerId(*b"-BAD123-abcdefghijkl")));
        assert!(!denied.denies_client(&PeerId(*b"-BAD023-abcdefghijkl")));
        assert!(!Denied::default().denies_address("1.2.3.4".parse().expect("an address")));
    }
}

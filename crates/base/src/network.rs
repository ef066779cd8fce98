//! Addresses as limits see them: networks that the owner names, and what one visitor has.
//!
//! Start at [`Network`] for settings and at [`Block`] for counting.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network, as in `10.0.0.0/8` or `2001:db8::/32`; an address alone is one of a single host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// As IPv6; IPv4 stands in its mapped form, 96 bits longer.
    bits: u128,
    mask: u128,
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It reads as nothing of the kind.
    #[error("\"{0}\" is not a network: write one as in \"10.0.0.0/8\", or an address")]
    Unreadable(String),
    /// Bits are set behind the length, so that something else was probably meant.
    #[error("\"{0}\" has an address within the network: write \"{1}\", or the address alone")]
    HostBits(String, Network),
}

impl Network {
    /// Whether an address is of this network.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        mapped(address) & self.mask == self.bits
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError::Unreadable(text.to_owned());
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let (whole, before) = if address.is_ipv4() { (32, 96) } else { (128, 0) };
        let length: u32 = match length {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|&length| length <= whole).ok_or_else(wrong)?
            }
            Some(_) => return Err(wrong()),
            None => whole,
        };
        let mask = u128::MAX.checked_shl(128 - before - length).unwrap_or(0);
        let bits = mapped(address);
        let network = Self { bits: bits & mask, mask };
        if network.bits != bits {
            return Err(NetworkError::HostBits(text.to_owned(), network));
        }
        Ok(network)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.mask.leading_ones();
        let address = Ipv6Addr::from_bits(self.bits);
        match address.to_ipv4_mapped().filter(|_| length >= 96) {
            Some(address) => write!(f, "{address}/{}", length - 96),
            None => write!(f, "{address}/{length}"),
        }
    }
}

fn mapped(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// What one visitor may have of addresses: one of IPv4, 2⁶⁴ of IPv6 (a /64, RFC 6177).
///
/// An IPv4 address is the same one in whichever form of IPv6 it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u64);

impl Block {
    /// The block that an address is of.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        /// Where translators keep the addresses of IPv4 (RFC 6052 §2.1).
        const TRANSLATED: u128 = 0x0064_ff9b << 96;
        /// Of a part of IPv6 that is given to nobody (RFC 4291 §2.4).
        const IPV4: u64 = 1 << 32;
        let bits = match address.to_canonical() {
            IpAddr::V4(address) => return Self(IPV4 | u64::from(address.to_bits())),
            IpAddr::V6(address) => address.to_bits(),
        };
        if bits >> 32 == TRANSLATED >> 32 {
            return Self(IPV4 | u64::from(Ipv4Addr::from_bits(bits as u32).to_bits()));
        }
        Self((bits >> 64) as u64)
    }

    /// The block as a number, for other machines.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }

    /// The block of such a number.
    #[must_use]
    pub fn numbered(number: u64) -> Self {
        Self(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_network_holds_its_addresses_in_either_form() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.1.2.3", "::a00:1"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "8.8.8.8", "2001:db8::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::2"),
            ("::/0", "1.2.3.4", ""),
            ("::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1"),
        ] {
            let network: Network = network.parse().expect("a network");
            assert!(network.holds(address(inside)), "{network} and {inside}");
            assert!(outside.is_empty() || !network.holds(address(outside)), "{network}, {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused_with_what_to_write() {
        for text in
            ["", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/+8", "10.0.0/8", "::/129", "host", "*"]
        {
            let error = text.parse::<Network>().expect_err("no network").to_string();
            assert!(error.contains("10.0.0.0/8"), "{text}: {error}");
        }
        for (text, meant) in [("10.0.0.1/8", "10.0.0.0/8"), ("2001:db8::1/32", "2001:db8::/32")] {
            let error = text.parse::<Network>().expect_err("an address in it").to_string();
            assert!(error.contains(&format!("write \"{meant}\"")), "{error}");
        }
    }

    #[test]
    fn a_block_is_what_one_visitor_has() {
        for (one, other, is_same) in [
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("192.0.2.1", "64:ff9b::192.0.2.1", true),
            ("64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2", false),
            ("2001:db8::1", "2001:db8::ffff:1:2:3", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::1", "0.0.0.1", false),
        ] {
            let (one, other) = (Block::of(address(one)), Block::of(address(other)));
            assert_eq!(one == other, is_same, "{one:?} {other:?}");
        }
    }
}

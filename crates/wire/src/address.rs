//! Addresses as text.
//!
//! The library's formatter takes its time over padding that nobody asks for, and a request
//! to an origin names two addresses several times.

use std::io::Write as _;
use std::net::IpAddr;

/// Appends an address; IPv4 in IPv6 is shown as IPv4.
pub fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            for (place, byte) in address.octets().into_iter().enumerate() {
                if place > 0 {
                    out.push(b'.');
                }
                push_byte(out, byte);
            }
        }
        // Writing to memory can't fail.
        IpAddr::V6(address) => drop(write!(out, "{address}")),
    }
}

fn push_byte(out: &mut Vec<u8>, byte: u8) {
    if byte >= 100 {
        out.push(b'0' + byte / 100);
    }
    if byte >= 10 {
        out.push(b'0' + byte / 10 % 10);
    }
    out.push(b'0' + byte % 10);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_everybody_writes_them() {
        for text in ["0.9.10.99", "100.109.200.255", "::1", "2001:db8::7"] {
            let mut out = Vec::new();
            push_address(&mut out, text.parse().expect("an address"));
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
        let mut out = Vec::new();
        push_address(&mut out, "::ffff:192.0.2.1".parse().expect("an address"));
        assert_eq!(out, b"192.0.2.1");
    }
}

//! Where a client is: what its socket shows, what it tells, and where nobody may be sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use wire::tracker::Announce;

use crate::refusal::Refusal;
use crate::rules::Rules;

/// Both addresses of one announce.
pub(crate) type Addresses = (Option<SocketAddrV4>, Option<SocketAddrV6>);

/// Where the client of an announce may be found.
pub(crate) fn of(announce: &Announce, from: IpAddr, rules: &Rules) -> Result<Addresses, Refusal> {
    let port = announce.port;
    if port == 0 || rules.denied_ports.iter().any(|range| range.contains(&port)) {
        return Err(Refusal::Port { port });
    }
    let from = from.to_canonical();
    if rules.denied_addresses.iter().any(|network| network.holds(from)) {
        return Err(Refusal::Address);
    }
    let (mut v4, mut v6) = match from {
        IpAddr::V4(v4) => (Some(v4), None),
        IpAddr::V6(v6) => (None, Some(v6)),
    };
    if rules.believes_told_addresses {
        let told_v6 = announce.told_v6.map(|told| IpAddr::V6(told).to_canonical());
        v4 = announce.told_v4.filter(|told| may_be_told(IpAddr::V4(*told), rules)).or(v4);
        match told_v6.filter(|told| may_be_told(*told, rules)) {
            Some(IpAddr::V6(told)) => v6 = Some(told),
            Some(IpAddr::V4(told)) => v4 = v4.or(Some(told)),
            None => {}
        }
    }
    let v4 = v4.filter(|v4| rules.allows_private_addresses || is_routed_v4(*v4));
    let v6 = v6.filter(|v6| rules.allows_private_addresses || is_routed_v6(*v6));
    if v4.is_none() && v6.is_none() {
        return Err(Refusal::Address);
    }
    Ok((v4.map(|v4| SocketAddrV4::new(v4, port)), v6.map(|v6| SocketAddrV6::new(v6, port, 0, 0))))
}

/// How others come to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// At its address.
    Address,
    /// Through the tracker alone: it listens nowhere.
    Relay,
}

/// Where a client of an announce is that others reach so.
pub(crate) fn by(
    reach: Reach,
    announce: &Announce,
    from: IpAddr,
    rules: &Rules,
) -> Result<Addresses, Refusal> {
    match reach {
        Reach::Address => of(announce, from, rules),
        Reach::Relay => only_seen(from, rules),
    }
}

/// Where a client is that listens nowhere: by port 0, which nobody is told.
fn only_seen(from: IpAddr, rules: &Rules) -> Result<Addresses, Refusal> {
    let from = from.to_canonical();
    if rules.denied_addresses.iter().any(|network| network.holds(from)) {
        return Err(Refusal::Address);
    }
    Ok(match from {
        IpAddr::V4(v4) => (Some(SocketAddrV4::new(v4, 0)), None),
        IpAddr::V6(v6) => (None, Some(SocketAddrV6::new(v6, 0, 0, 0))),
    })
}

fn may_be_told(told: IpAddr, rules: &Rules) -> bool {
    !told.is_unspecified() && !rules.denied_addresses.iter().any(|network| network.holds(told))
}

fn is_routed_v4(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    !(first == 0
        || first >= 240
        || is_shared
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation())
}

fn is_routed_v6(ip: Ipv6Addr) -> bool {
    // 2000::/3 is all that is given out; 2001:db8::/32 of it is for books.
    ip.segments()[0] & 0xe000 == 0x2000 && ip.segments()[..2] != [0x2001, 0xdb8]
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::tracker::{Event, InfoHash, PeerId};

    fn check(from: &str, told: &str, rules: &Rules, expected: &str) {
        let announce = Announce {
            info_hash: InfoHash([0; 20]),
            peer_id: PeerId([0; 20]),
            key: None,
            passkey: None,
            port: 6881,
            uploaded: 0,
            downloaded: 0,
            left: 0,
            event: Event::Update,
            peers_wanted: None,
            told_v4: told.parse().ok(),
            told_v6: told.parse().ok(),
        };
        let found = match of(&announce, from.parse().unwrap(), rules) {
            Ok((v4, v6)) => [v4.map(|v4| v4.ip().to_string()), v6.map(|v6| v6.ip().to_string())]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            Err(refusal) => refusal.to_string(),
        };
        assert_eq!(found, expected, "{from} told {told}");
    }

    #[test]
    fn clients_are_where_their_sockets_show_unless_the_rules_believe_them() {
        let strict = Rules::default();
        let refused = Refusal::Address.to_string();
        let refused = refused.as_str();
        let trusting = Rules { believes_told_addresses: true, ..Rules::default() };
        let local = Rules { allows_private_addresses: true, ..Rules::default() };
        let denied =
            Rules { denied_addresses: vec!["8.8.8.0/24".parse().unwrap()], ..Rules::default() };
        for (from, told, rules, expected) in [
            ("1.2.3.4", "", &strict, "1.2.3.4"),
            ("::ffff:1.2.3.4", "", &strict, "1.2.3.4"),
            ("1.2.3.4", "5.6.7.8", &strict, "1.2.3.4"),
            ("1.2.3.4", "5.6.7.8", &trusting, "5.6.7.8"),
            ("1.2.3.4", "2a00::1", &trusting, "1.2.3.4 2a00::1"),
            ("2a00::1", "1.2.3.4", &trusting, "1.2.3.4 2a00::1"),
            ("1.2.3.4", "0.0.0.0", &trusting, "1.2.3.4"),
            ("10.0.0.1", "", &strict, refused),
            ("127.0.0.1", "", &strict, refused),
            ("127.0.0.1", "", &local, "127.0.0.1"),
            ("100.64.0.1", "", &strict, refused),
            ("fe80::1", "", &strict, refused),
            ("8.8.8.8", "", &denied, refused),
            ("8.8.9.8", "", &denied, "8.8.9.8"),
        ] {
            check(from, told, rules, expected);
        }
    }
}

//! The network: bytes that came and went, and connections that wait to be accepted.
//!
//! In: the texts of `/proc/net/dev`, `/proc/net/netstat` and `/proc/net/tcp{,6}`. Out: sums
//! since the machine's start, and the length of queues at this moment.

use super::numbers::numbers;

/// What moved since the machine's start, over all interfaces but the loop back to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkTraffic {
    /// Bytes that came.
    pub received_bytes: u64,
    /// Bytes that went.
    pub sent_bytes: u64,
}

impl NetworkTraffic {
    /// Of the text of `/proc/net/dev`; none if it isn't such a text.
    #[must_use]
    pub fn parse(dev: &str) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for line in dev.lines() {
            let Some((name, rest)) = line.split_once(':') else { continue };
            let each: Vec<u64> = numbers(rest).take(9).collect();
            let &[received, _, _, _, _, _, _, _, sent] = each.as_slice() else { continue };
            let so_far = sum.get_or_insert_default();
            if name.trim() != "lo" {
                so_far.received_bytes = so_far.received_bytes.saturating_add(received);
                so_far.sent_bytes = so_far.sent_bytes.saturating_add(sent);
            }
        }
        sum
    }
}

/// Of `/proc/net/netstat`: how often a connection found the queue of a listener full, since the
/// machine's start and of all programs.
#[must_use]
pub fn listen_overflows(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let place = lines.next()?.split(' ').position(|name| name == "ListenOverflows")?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}

/// Connections that wait to be accepted at the listeners on these ports, of the text of
/// `/proc/net/tcp` or `tcp6`. Listeners stand first there; whatever comes behind them is not
/// looked at, so that a beginning of the text is enough.
#[must_use]
pub fn waiting(tcp: &str, ports: &[u16]) -> u64 {
    let listeners = tcp.lines().skip(1).map_while(listener);
    let ours = listeners.filter(|(port, _)| ports.contains(port));
    ours.fold(0, |sum: u64, (_, waiting)| sum.saturating_add(waiting))
}

/// The port of a listener and its queue; none for any other connection.
fn listener(line: &str) -> Option<(u16, u64)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (_, port) = words.next()?.rsplit_once(':')?;
    let state = words.nth(1)?;
    let (_, queue) = words.next()?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let queue = u64::from_str_radix(queue, 16).ok()?;
    (state == "0A").then_some((port, queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n    \
        lo: 5000      50    0    0    0     0          0         0     5000      50    0    0\n  \
        eth0: 1234567   1000    0    0    0     0          0         0   765432     900    0    0\n\
        wlan0:1 1 0 0 0 0 0 0 2 1 0 0\n";

    #[test]
    fn interfaces_are_added_up_without_the_loop() {
        let expected = NetworkTraffic { received_bytes: 1_234_568, sent_bytes: 765_434 };
        assert_eq!(NetworkTraffic::parse(DEV), Some(expected));
        let alone = "lo: 1 1 0 0 0 0 0 0 2 1\n";
        assert_eq!(NetworkTraffic::parse(alone), Some(NetworkTraffic::default()));
        for text in ["", "eth0: 1 2 3", "eth0 1 1 0 0 0 0 0 0 2", ":::", "eth0: x"] {
            assert_eq!(NetworkTraffic::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn overflows_are_found_by_their_name() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 42 43\n\
            IpExt: InNoRoutes\nIpExt: 0\n";
        assert_eq!(listen_overflows(text), Some(42));
        for text in [
            "",
            "TcpExt: a b\nTcpExt: 1 2\n",
            "TcpExt: ListenOverflows\n",
            "TcpExt: ListenOverflows\nTcpExt: x\n",
        ] {
            assert_eq!(listen_overflows(text), None, "{text:?}");
        }
    }

    #[test]
    fn those_who_wait_at_our_listeners_are_counted() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
        let line = |port: &str, state: &str, queue: &str| {
            format!("   0: 0100007F:{port} 00000000:0000 {state} 00000000:{queue} 00:00000000\n")
        };
        let text = [
            head,
            &line("1F90", "0A", "00000003"),
            &line("0050", "0A", "00000007"),
            &line("1F90", "0A", "00000010"),
            &line("1F90", "01", "000000FF"),
            &line("1F90", "0A", "000000FF"),
        ]
        .concat();
        for (ports, expected) in
            [(&[8080][..], 19), (&[80], 7), (&[80, 8080], 26), (&[443], 0), (&[], 0)]
        {
            assert_eq!(waiting(&text, ports), expected, "{ports:?}");
        }
        for text in ["", head, "x\n1: :: 0A", "x\n1: 0:1F90 0 0A 0:FFFFFFFFFFFFFFFFF", "\0\n\0"] {
            assert_eq!(waiting(text, &[8080]), 0, "{text:?}");
        }
    }
}

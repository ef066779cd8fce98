//! The network: queues, drops, ports.

use super::{Check, Verdict, View, advice, fine, percent, unseen};
use crate::finding::{Change, Class, Confidence, Place};

const SOURCE: &str = "kernel Documentation/networking/ip-sysctl";

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 43,
        id: "accept_queue",
        class: Class::Refusing,
        needs: "/proc/net/netstat at both ends of the window",
        formula: "ListenOverflows or ListenDrops > 1/s → min(backlog, somaxconn) is too small",
        source: SOURCE,
        judge: accept,
    },
    Check {
        number: 44,
        id: "syn_backlog",
        class: Class::Refusing,
        needs: "/proc/net/netstat at both ends of the window",
        formula: "TCPReqQFullDoCookies > 1/s without an attack → twice tcp_max_syn_backlog",
        source: SOURCE,
        judge: syn,
    },
    Check {
        number: 45,
        id: "conntrack",
        class: Class::Refusing,
        needs: "nf_conntrack_count and nf_conntrack_max",
        formula: "count > 85 % of max",
        source: "kernel Documentation/networking/nf_conntrack-sysctl",
        judge: conntrack,
    },
    Check {
        number: 46,
        id: "softnet",
        class: Class::Slow,
        needs: "/proc/net/softnet_stat at both ends of the window",
        formula: "dropped, or squeezed, > 10 a minute",
        source: "kernel Documentation/networking/scaling; netdata",
        judge: softnet,
    },
    Check {
        number: 47,
        id: "retransmits",
        class: Class::Slow,
        needs: "10,000 segments sent in the window",
        formula: "RetransSegs ÷ OutSegs > 2 % → try BBR, and compare",
        source: "RFC 9438; kernel tcp_bbr; the threshold is ours",
        judge: retransmits,
    },
    Check {
        number: 48,
        id: "slow_start_after_idle",
        class: Class::Slow,
        needs: "net.ipv4.tcp_slow_start_after_idle",
        formula: "fine if 1; if 0, not judged: a try from where visitors are has to gain",
        source: "RFC 5681 §4.1",
        judge: idle,
    },
    Check {
        number: 49,
        id: "ports",
        class: Class::Refusing,
        needs: "/proc/net/sockstat, /proc/net/tcp, ip_local_port_range",
        formula: "TIME_WAIT to one address and port (a database's, an origin's) > 50 % of the ports → \
                  keep connections, or a Unix socket; visitors' don't count",
        source: SOURCE,
        judge: ports,
    },
];

pub(super) fn sysctl(view: &View<'_>, name: &str, new: f64) -> Change {
    let old = view.machine.set(&format!("kernel.{name}")).map(str::to_owned);
    Change { place: Place::Kernel, name: name.to_owned(), old, new: format!("{new:.0}") }
}

fn accept(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let rate = machine
        .rate("netstat.TcpExt.ListenOverflows")?
        .max(machine.rate("netstat.TcpExt.ListenDrops").unwrap_or(0.0));
    if rate <= 1.0 {
        return fine(format!("{rate:.1} connections a second found a queue full"));
    }
    let found = advice(format!("{rate:.0} connections a second find a program's queue full"))
        .gain("visitors don't wait a second for their next try");
    match machine.number("kernel.net.core.somaxconn") {
        Some(most) if most < 4096.0 => found
            .fix(format!("somaxconn {most} is below what kernels have since 5.4, and cuts every \
                          backlog; then restart who listens"))
            .change(sysctl(view, "net.core.somaxconn", 4096.0))
            .found(),
        _ => found
            .fix("see with \"ss -ltn\" whose Recv-Q is at its Send-Q, and raise the backlog of that one")
            .found(),
    }
}

fn syn(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let rate = machine.rate("netstat.TcpExt.TCPReqQFullDoCookies")?;
    if rate <= 1.0 {
        return fine(format!("{rate:.1} cookies a second are sent for want of room"));
    }
    let now = machine.number("kernel.net.ipv4.tcp_max_syn_backlog")?;
    // Cookies that come back are of visitors; those of an attack don't.
    let returned = machine.rate("netstat.TcpExt.SyncookiesRecv").unwrap_or(0.0);
    if returned < rate / 2.0 {
        return fine(
            "cookies are sent, and hardly any come back: that is an attack, and cookies are \
                     the answer to it",
        );
    }
    advice(format!(
        "{rate:.0} cookies a second are sent for want of room, and {returned:.0} come back"
    ))
    .gain("connections keep their options, such as large windows")
    .sure(Confidence::Medium)
    .fix("twice as much room")
    .change(sysctl(view, "net.ipv4.tcp_max_syn_backlog", now * 2.0))
    .found()
}

fn conntrack(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let most =
        machine.number("kernel.net.netfilter.nf_conntrack_max").filter(|&most| most > 0.0)?;
    let count = machine.now("conntrack.count")?;
    if count <= most * 0.85 {
        return fine(format!("{} of the table is used", percent(count / most)));
    }
    // An entry takes some 320 bytes of the kernel's memory.
    advice(format!("{count} of {most} connections are tracked; further ones are dropped"))
        .gain("nobody is dropped without a word")
        .fix(
            "twice as many, at 320 bytes each; or track none to the ports that everybody may reach",
        )
        .change(sysctl(view, "net.netfilter.nf_conntrack_max", most * 2.0))
        .found()
}

fn softnet(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let dropped = machine.rate("softnet.dropped")? * 60.0;
    let squeezed = machine.rate("softnet.squeezed")? * 60.0;
    if dropped <= 10.0 && squeezed <= 10.0 {
        return fine(format!(
            "{dropped:.0} packets a minute dropped, {squeezed:.0} rounds cut short"
        ));
    }
    let found = advice(format!(
        "{dropped:.0} packets a minute are dropped, {squeezed:.0} rounds cut short"
    ))
    .gain("packets aren't sent twice")
    .sure(if machine.window_seconds >= 60.0 { Confidence::High } else { Confidence::Low });
    let double = |name: &str| {
        let now = machine.number(&format!("kernel.{name}")).filter(|&now| now > 0.0)?;
        Some(sysctl(view, name, now * 2.0))
    };
    let backlog = (dropped > 10.0).then(|| double("net.core.netdev_max_backlog")).flatten();
    let budget = (squeezed > 10.0).then(|| double("net.core.netdev_budget")).flatten();
    found.fix("twice as much room for one round").changes(backlog).changes(budget).found()
}

fn retransmits(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let sent = machine.grown("netstat.Tcp.OutSegs")?;
    let again = machine.grown("netstat.Tcp.RetransSegs")?;
    if sent < 10_000.0 {
        return unseen(format!("only {sent} segments were sent in the window: use a longer one"));
    }
    let share = again / sent;
    if share <= 0.02 {
        return fine(format!("{} of segments were sent twice", percent(share)));
    }
    if machine.set("kernel.net.ipv4.tcp_congestion_control") == Some("bbr") {
        return fine(format!("{} of segments were sent twice, and BBR bears that", percent(share)));
    }
    advice(format!("{} of segments were sent twice", percent(share)))
        .gain("visitors on lossy networks get pages sooner")
        .sure(Confidence::Low)
        .fix("try sysctl net.ipv4.tcp_congestion_control=bbr for a day, and compare")
        .revert("sysctl net.ipv4.tcp_congestion_control=cubic")
        .found()
}

fn idle(view: &View<'_>) -> Option<Verdict> {
    // What it changes happens on the way to visitors, so nothing on this machine can measure it.
    let now = view.machine.number("kernel.net.ipv4.tcp_slow_start_after_idle")?;
    let how = "a try from where visitors are tells: on a machine as far away, wick bench -c 1 --think \
               5s --save one.json URL, then with the other value the same with --compare one.json; \
               keep 0 only if that gains";
    match now == 1.0 {
        true => fine(format!("it is as the kernel has it. Whether 0 gains isn't known: {how}")),
        false => {
            unseen(format!("it is 0; whether that gains, or loses packets, isn't known: {how}"))
        }
    }
}

fn ports(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let all = machine.now("sockets.tcp.tw")?;
    let range = machine.set("kernel.net.ipv4.ip_local_port_range")?;
    let mut ends = range.split_ascii_whitespace().map_while(|word| word.parse::<f64>().ok());
    let ports = (ends.next().zip(ends.next()).map(|(first, last)| last - first + 1.0))?.max(1.0);
    if all <= ports * 0.5 {
        return fine(format!("{all} connections wait in TIME_WAIT, and there are {ports} ports"));
    }
    // Those of visitors wait too, but each has a port of its own at the other end.
    let most = machine.now("sockets.waiting.most")?;
    let port = machine.now("sockets.waiting.port").unwrap_or(0.0);
    let evidence = format!(
        "{most} connections that were made to one address, port {port}, wait in TIME_WAIT, of {ports} \
         that may be made to it at once"
    );
    if most <= ports * 0.5 {
        return fine(format!("{evidence}; the others of {all} are visitors'"));
    }
    advice(evidence)
        .gain("connections to the origin or the database never fail for want of a port")
        .sure(Confidence::Medium)
        .fix(
            "keep connections open (keepalive in nginx' upstream, persistent ones in PHP), or use a \
             Unix socket; no sysctl mends it",
        )
        .found()
}

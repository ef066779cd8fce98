//! The kernel: memory, pressure, the network's counts, limits, sysctl.

use std::collections::BTreeMap;

use super::Root;
use crate::machine::{Counters, Machine};

/// What of sysctl advice is about.
const SYSCTLS: &[&str] = &[
    "fs.file-max",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_recycle",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_wmem",
    "net.netfilter.nf_conntrack_max",
    "vm.overcommit_memory",
    "vm.swappiness",
];

/// What counts.
pub(super) fn count(root: &Root, counters: &mut Counters) {
    let text = |path: &str| root.text(path).unwrap_or_default();
    for line in text("proc/meminfo").lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let unit = if rest.trim_end().ends_with("kB") { 1024.0 } else { 1.0 };
        put(counters, &format!("meminfo.{name}"), first(rest).map(|number| number * unit));
    }
    for line in text("proc/vmstat").lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        put(counters, &format!("vmstat.{name}"), first(rest));
    }
    for path in ["proc/net/netstat", "proc/net/snmp"] {
        tables(&text(path), counters);
    }
    softnet(&text("proc/net/softnet_stat"), counters);
    for what in ["memory", "io", "cpu"] {
        pressure(what, &text(&format!("proc/pressure/{what}")), counters);
    }
    processor(&text("proc/stat"), counters);
    sockets(&text("proc/net/sockstat"), counters);
    waiting(root, counters);
    put(counters, "uptime", first(&text("proc/uptime")));
    killed(root, counters);
    put(counters, "loadavg", first(&text("proc/loadavg")));
    let conntrack = text("proc/sys/net/netfilter/nf_conntrack_count");
    put(counters, "conntrack.count", first(&conntrack));
    let files = text("proc/sys/fs/file-nr");
    put(counters, "files.open", first(&files));
    cgroup(root, counters);
}

/// What is set.
pub(super) fn read(root: &Root, machine: &mut Machine) {
    let mut set = |name: &str, path: &str| {
        if let Some(text) = root.text(path) {
            machine.settings.insert(format!("kernel.{name}"), text.trim().to_owned());
        }
    };
    for name in SYSCTLS {
        set(name, &format!("proc/sys/{}", name.replace('.', "/")));
    }
    set("clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource");
    set("version", "proc/sys/kernel/osrelease");
}

fn put(counters: &mut Counters, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        counters.insert(name.to_owned(), value);
    }
}

fn first(text: &str) -> Option<f64> {
    let number: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// Lines of names, each followed by one of numbers.
fn tables(text: &str, counters: &mut Counters) {
    let mut lines = text.lines();
    while let (Some(names), Some(numbers)) = (lines.next(), lines.next()) {
        let (Some((table, names)), Some((_, numbers))) =
            (names.split_once(':'), numbers.split_once(':'))
        else {
            continue;
        };
        let pairs = names.split_ascii_whitespace().zip(numbers.split_ascii_whitespace());
        for (name, number) in pairs {
            put(counters, &format!("netstat.{table}.{name}"), first(number));
        }
    }
}

/// One line a core, in hexadecimal: processed, dropped, squeezed.
fn softnet(text: &str, counters: &mut Counters) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().skip(1);
        for name in ["softnet.dropped", "softnet.squeezed"] {
            let number = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            let Some(number) = number else { break };
            *counters.entry(name.into()).or_default() += number as f64;
        }
    }
}

fn pressure(what: &str, text: &str, counters: &mut Counters) {
    for line in text.lines() {
        let Some((kind, rest)) = line.split_once(' ') else { continue };
        for word in rest.split_ascii_whitespace() {
            let Some((name, number)) = word.split_once('=') else { continue };
            put(counters, &format!("psi.{what}.{kind}.{name}"), first(number));
        }
    }
}

fn processor(text: &str, counters: &mut Counters) {
    let cores = text.lines().filter(|line| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    put(counters, "cpu.cores", Some(cores.count() as f64).filter(|&cores| cores > 0.0));
    let Some(all) = text.lines().find_map(|line| line.strip_prefix("cpu ")) else { return };
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are counted among users.
    let each: Vec<f64> = all.split_ascii_whitespace().take(8).map_while(first).collect();
    put(counters, "cpu.total", Some(each.iter().sum::<f64>()).filter(|_| each.len() >= 4));
    put(counters, "cpu.steal", each.get(7).copied());
}

fn sockets(text: &str, counters: &mut Counters) {
    let Some(line) = text.lines().find_map(|line| line.strip_prefix("TCP:")) else { return };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    for pair in words.chunks_exact(2) {
        put(counters, &format!("sockets.tcp.{}", pair[0]), first(pair[1]));
    }
}

/// State `TIME_WAIT` in /proc/net/tcp.
const TIME_WAIT: &str = "06";

/// How many connections that were made from here to one address and port wait in `TIME_WAIT`, and
/// to which port: of the pair that has most. Visitors' wait at a port of ours, and each has a
/// port of its own: they take none from anybody.
fn waiting(root: &Root, counters: &mut Counters) {
    let range = root.text("proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_ascii_whitespace().map_while(|word| word.parse::<u32>().ok());
    let (Some(low), Some(high)) = (ends.next(), ends.next()) else { return };
    // So few in all are few to anybody: the long list isn't read then.
    let all = counters.get("sockets.tcp.tw").copied().unwrap_or(0.0);
    if all <= f64::from(high.saturating_sub(low)) * 0.25 {
        return;
    }
    let mut each: BTreeMap<String, u32> = BTreeMap::new();
    let mut was_read = false;
    for path in ["proc/net/tcp", "proc/net/tcp6"] {
        was_read |= root.each_line(path, |line| {
            let mut words = line.split_ascii_whitespace().skip(1);
            let (Some(local), Some(remote)) = (words.next(), words.next()) else { return };
            let is_ours = port(local).is_some_and(|port| (low..=high).contains(&port));
            if words.next() == Some(TIME_WAIT) && is_ours {
                *each.entry(remote.to_owned()).or_default() += 1;
            }
        });
    }
    let Some((remote, most)) = each.iter().max_by_key(|(_, count)| **count) else {
        put(counters, "sockets.waiting.most", was_read.then_some(0.0));
        return;
    };
    put(counters, "sockets.waiting.most", Some(f64::from(*most)));
    put(counters, "sockets.waiting.port", port(remote).map(f64::from));
}

/// The port of `ADDRESS:PORT` in hexadecimal.
fn port(socket: &str) -> Option<u32> {
    u32::from_str_radix(socket.rsplit_once(':')?.1, 16).ok()
}

/// How long ago the kernel last killed somebody for memory, as its log tells.
fn killed(root: &Root, counters: &mut Counters) {
    let (Some(kills), Some(&uptime)) =
        (counters.get("vmstat.oom_kill").copied(), counters.get("uptime"))
    else {
        return;
    };
    if kills <= 0.0 {
        return;
    }
    let last = root.kernel_log().and_then(|log| last_kill(&log));
    put(counters, "oom.seconds_ago", last.map(|at| (uptime - at).max(0.0)));
}

/// The second of the last kill: a record is `priority,number,microseconds,flags;text`.
fn last_kill(log: &str) -> Option<f64> {
    let kills = log.lines().filter(|line| line.contains("Killed process"));
    let times = kills.filter_map(|line| {
        let (head, _) = line.split_once(';')?;
        head.split(',').nth(2)?.trim().parse::<f64>().ok()
    });
    times.reduce(f64::max).map(|us| us / 1e6)
}

/// The limit of the cgroup that we are in.
fn cgroup(root: &Root, counters: &mut Counters) {
    let own = root.text("proc/self/cgroup").unwrap_or_default();
    put(counters, "cgroup.memory.max", allowed(root, &own));
}

/// What memory a cgroup allows, of either version, by the text of a `/proc/PID/cgroup`.
pub(super) fn allowed(root: &Root, cgroup: &str) -> Option<f64> {
    let path_of = |controller: &str| {
        cgroup.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|one| one == controller).then(|| path.to_owned())
        })
    };
    let read = |path: &str| first(&root.text(path)?);
    // Each folder above may be the narrower one; a container sees its own as the topmost.
    let narrowest = |mount: &str, path: Option<String>, file: &str| {
        let path = path.unwrap_or_default();
        let mut folder = path.trim_matches('/');
        let mut least: Option<f64> = None;
        loop {
            let found = read(&format!("{mount}/{folder}/{file}"));
            least = match (least, found) {
                (Some(least), Some(found)) => Some(least.min(found)),
                (least, found) => least.or(found),
            };
            if folder.is_empty() {
                return least;
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    };
    let second = narrowest("sys/fs/cgroup", path_of(""), "memory.max");
    let first_version =
        narrowest("sys/fs/cgroup/memory", path_of("memory"), "memory.limit_in_bytes");
    // "No limit" of version 1 is a number that no machine has.
    second.or(first_version).filter(|&bytes| bytes > 0.0 && bytes < 1e16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_network_are_read() {
        let mut counters = Counters::new();
        tables(
            "TcpExt: SyncookiesSent ListenOverflows\nTcpExt: 3 7\nIpExt: A\nIpExt: x\n",
            &mut counters,
        );
        assert_eq!(counters.get("netstat.TcpExt.ListenOverflows"), Some(&7.0));
        assert_eq!(counters.len(), 2);
    }

    #[test]
    fn a_limit_of_a_folder_above_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        write("proc/self/cgroup", "0::/system.slice/wick.service\n");
        write("sys/fs/cgroup/system.slice/wick.service/memory.max", "max\n");
        write("sys/fs/cgroup/system.slice/memory.max", "1048576\n");
        let mut counters = Counters::new();
        cgroup(&Root::new(folder.path()), &mut counters);
        assert_eq!(counters.get("cgroup.memory.max"), Some(&1_048_576.0));
    }

    #[test]
    fn connections_that_wait_are_counted_by_whom_they_were_made_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let proc = folder.path().join("proc");
        std::fs::create_dir_all(proc.join("net")).expect("a folder");
        std::fs::create_dir_all(proc.join("sys/net/ipv4")).expect("a folder");
        std::fs::write(proc.join("sys/net/ipv4/ip_local_port_range"), "32768\t32787\n")
            .expect("a file");
        // Three to a database, one that lasts, and many visitors of port 443.
        let mut text = String::from("  sl  local_address rem_address   st\n");
        for number in 0..3 {
            text += &format!("   {number}: 0100007F:800{number} 0100007F:0CEA 06 0\n");
        }
        text += "   3: 0100007F:8004 0100007F:0CEA 01 0\n";
        for number in 0..9 {
            text += &format!("   9: 0100007F:01BB 0A00000A:A00{number} 06 0\n");
        }
        std::fs::write(proc.join("net/tcp"), text).expect("a file");
        let mut counters = Counters::from([("sockets.tcp.tw".to_owned(), 12.0)]);
        waiting(&Root::new(folder.path()), &mut counters);
        let told = |name: &str| counters.get(&format!("sockets.waiting.{name}")).copied();
        assert_eq!((told("most"), told("port")), (Some(3.0), Some(3306.0)));
        let mut few = Counters::from([("sockets.tcp.tw".to_owned(), 4.0)]);
        waiting(&Root::new(folder.path()), &mut few);
        assert_eq!(few.len(), 1, "the list isn't read for so few");
    }

    #[test]
    fn the_last_kill_is_found_in_the_kernels_log() {
        let log = "6,1,100,-;booted\n3,7,2000000,-;Out of memory: Killed process 9 (php)\n\
                   3,9,5000000,-;Memory cgroup out of memory: Killed process 11 (php)\n SUB=x\n";
        assert_eq!(last_kill(log), Some(5.0));
        assert_eq!(last_kill("6,1,100,-;booted\n"), None);
    }

    #[test]
    fn cores_and_stolen_time_are_read() {
        let mut counters = Counters::new();
        processor("cpu  1 2 3 4 5 6 7 8 9 9\ncpu0 1\ncpu1 1\nintr 9\n", &mut counters);
        assert_eq!(counters["cpu.total"], 36.0);
        assert_eq!((counters["cpu.steal"], counters["cpu.cores"]), (8.0, 2.0));
        softnet("0000 0000000a 00000001 0\n0000 00000001 00000000 0\n", &mut counters);
        assert_eq!((counters["softnet.dropped"], counters["softnet.squeezed"]), (11.0, 1.0));
    }
}

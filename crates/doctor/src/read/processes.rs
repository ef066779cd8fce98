//! Processes: who runs here, what each holds of memory for itself, its descriptors, its unit.

use std::collections::BTreeMap;

use super::{Root, kernel, wick};
use crate::machine::{Machine, Process, Unseen};

/// Programs that advice is about. Of all others only their memory is added up.
const WATCHED: &[&str] =
    &["mariadbd", "mysqld", "postgres", "apache2", "httpd", "nginx", "wick", "redis-server"];
/// Processes that are looked at in full, most.
const WATCHED_MAX: usize = 2000;

/// Reads every process that can be seen.
pub(super) fn read(root: &Root, machine: &mut Machine) {
    let page_bytes = rustix::param::page_size() as u64;
    let mut hidden = 0;
    let pids = root.names("proc").unwrap_or_default();
    for pid in pids.iter().filter_map(|name| name.parse::<u32>().ok()) {
        let Some(name) = root.text(&format!("proc/{pid}/comm")) else { continue };
        let name = name.trim().to_owned();
        let is_php = name.starts_with("php-fpm");
        if !(is_php || WATCHED.contains(&name.as_str())) || machine.processes.len() >= WATCHED_MAX {
            machine.others_bytes += unshared(root, pid).unwrap_or(0) * page_bytes;
            continue;
        }
        let process = process(root, pid, name);
        hidden += u32::from(process.private_bytes.is_none());
        machine.processes.push(process);
    }
    if hidden > 0 {
        machine.unseen.push(Unseen {
            what: format!("the memory and descriptors of {hidden} processes"),
            cure: "they belong to other users: run as root".into(),
        });
    }
}

/// How long a process has had a processor, in seconds.
pub(super) fn processor_seconds(root: &Root, pid: u32) -> Option<f64> {
    let text = root.text(&format!("proc/{pid}/schedstat"))?;
    let nanoseconds: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}

/// How long PHP's children have had a processor, in seconds, by process id: what they do, however
/// many others want the machine meanwhile.
#[must_use]
pub fn php_seconds(root: &Root) -> BTreeMap<u32, f64> {
    let pids = root.names("proc").unwrap_or_default();
    let pids = pids.iter().filter_map(|name| name.parse::<u32>().ok());
    let children = pids.filter_map(|pid| {
        let is_php = root.text(&format!("proc/{pid}/comm"))?.starts_with("php-fpm");
        Some((pid, is_php.then(|| processor_seconds(root, pid))??))
    });
    children.collect()
}

fn process(root: &Root, pid: u32, name: String) -> Process {
    let text = |file: &str| root.text(&format!("proc/{pid}/{file}"));
    let title = text("cmdline").unwrap_or_default().replace('\0', " ").trim().to_owned();
    let parent = text("stat").and_then(|stat| {
        let (_, rest) = stat.rsplit_once(") ")?;
        rest.split_ascii_whitespace().nth(1)?.parse().ok()
    });
    let open = root.names(&format!("proc/{pid}/fd")).map(|names| names.len() as u64);
    let most = text("limits").and_then(|limits| {
        let rest = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        rest.split_ascii_whitespace().next()?.parse().ok()
    });
    let unit = text("cgroup").and_then(|cgroup| {
        let last = cgroup.lines().find_map(|line| line.rsplit('/').next())?;
        last.ends_with(".service").then(|| last.to_owned())
    });
    let allowed = text("cgroup").and_then(|cgroup| kernel::allowed(root, &cgroup));
    let planned = (name == "wick").then(|| wick::memory_bytes(root, &title)).flatten();
    Process {
        pid,
        parent: parent.unwrap_or(0),
        name,
        title,
        private_bytes: text("smaps_rollup").and_then(|rollup| private(&rollup)),
        descriptors: open.zip(most),
        unit,
        allowed_bytes: allowed.map(|bytes| bytes as u64),
        planned_bytes: planned,
    }
}

/// What a process shares with nobody.
pub(super) fn private(rollup: &str) -> Option<u64> {
    let lines = rollup.lines().filter(|line| line.starts_with("Private_"));
    let each = lines.map(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok());
    let each: Vec<u64> = each.collect::<Option<_>>()?;
    (!each.is_empty()).then(|| each.iter().fold(0u64, |sum, kib| sum.saturating_add(kib << 10)))
}

/// Pages in memory that are no part of a file or shared: quick to read, and good enough for
/// those that nothing is advised for.
fn unshared(root: &Root, pid: u32) -> Option<u64> {
    let statm = root.text(&format!("proc/{pid}/statm"))?;
    let mut words = statm.split_ascii_whitespace().skip(1);
    let resident: u64 = words.next()?.parse().ok()?;
    let shared: u64 = words.next()?.parse().ok()?;
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_memory_is_the_sum_of_its_lines() {
        for (rollup, expected) in [
            ("Rss: 9 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n", Some(3 << 10)),
            ("Rss: 9 kB\n", None),
            ("Private_Clean: x kB\n", None),
            ("", None),
        ] {
            assert_eq!(private(rollup), expected, "{rollup:?}");
        }
    }
}

//! Disks: how full each file system is, and whether anything turns.

use std::path::Path;

use super::{Root, pairs};
use crate::machine::{Counters, FileSystem, Machine};

/// Kinds that hold nobody's data.
const UNREAL: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fuse.lxcfs",
    "fusectl",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nsfs",
    "overlay-ro",
    "proc",
    "pstore",
    "ramfs",
    "rpc_pipefs",
    "securityfs",
    "squashfs",
    "sysfs",
    "tracefs",
];
/// Over a network a look may hang for minutes.
const DISTANT: &[&str] = &["nfs", "nfs4", "cifs", "fuse.sshfs", "9p", "ceph", "glusterfs"];

/// Reads what is mounted, and each disk's kind.
pub(super) fn read(root: &Root, machine: &mut Machine) {
    machine.file_systems = match root.is_recorded() {
        true => recorded(&root.recorded("file_systems").unwrap_or_default()),
        false => mounted(&root.text("proc/mounts").unwrap_or_default()),
    };
    let turns: Vec<bool> = disks(root)
        .iter()
        .filter_map(|name| root.text(&format!("sys/block/{name}/queue/rotational")))
        .map(|text| text.trim() == "1")
        .collect();
    if !turns.is_empty() {
        let answer = if turns.contains(&true) { "1" } else { "0" };
        machine.settings.insert("kernel.rotational".into(), answer.into());
    }
}

/// What the disks wrote since the machine's start.
pub(super) fn count(root: &Root, counters: &mut Counters) {
    let disks = disks(root);
    let text = root.text("proc/diskstats").unwrap_or_default();
    let mut written: Option<f64> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // Of partitions it is counted in their disk; a sector has 512 bytes here, whatever it has.
        if !words.get(2).is_some_and(|name| disks.iter().any(|disk| disk == name)) {
            continue;
        }
        let sectors = words.get(9).and_then(|word| word.parse::<f64>().ok());
        written = sectors.map(|sectors| written.unwrap_or(0.0) + sectors * 512.0).or(written);
    }
    counters.extend(written.map(|bytes| ("disks.written_bytes".to_owned(), bytes)));
}

/// Whole disks; what lies on others of them is counted there.
pub(super) fn disks(root: &Root) -> Vec<String> {
    const UPON_OTHERS: &[&str] = &["loop", "ram", "dm-", "sr", "zram", "md", "nbd"];
    let mut names = root.names("sys/block").unwrap_or_default();
    names.retain(|name| !UPON_OTHERS.iter().any(|kind| name.starts_with(kind)));
    names
}

fn mounted(mounts: &str) -> Vec<FileSystem> {
    let mut found: Vec<FileSystem> = Vec::new();
    for line in mounts.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let &[device, place, kind, options, ..] = words.as_slice() else { continue };
        let is_read_only = options.split(',').any(|option| option == "ro");
        if UNREAL.contains(&kind) || DISTANT.contains(&kind) || is_read_only {
            continue;
        }
        let place = place.replace("\\040", " ");
        // What is mounted in several places is one.
        let is_known =
            device.starts_with('/') && found.iter().any(|one| same_device(&one.place, &place));
        let Some(found_one) = sizes(&place, kind).filter(|_| !is_known) else { continue };
        found.push(found_one);
    }
    found
}

fn same_device(one: &str, other: &str) -> bool {
    let device = |path: &str| rustix::fs::stat(Path::new(path)).ok().map(|stat| stat.st_dev);
    device(one).is_some() && device(one) == device(other)
}

fn sizes(place: &str, kind: &str) -> Option<FileSystem> {
    let told = rustix::fs::statvfs(Path::new(place)).ok()?;
    let bytes =
        (told.f_blocks.saturating_mul(told.f_frsize), told.f_bavail.saturating_mul(told.f_frsize));
    (bytes.0 > 0).then(|| FileSystem {
        place: place.to_owned(),
        kind: kind.to_owned(),
        bytes,
        inodes: (told.f_files, told.f_favail),
    })
}

/// `PLACE<tab>KIND BYTES FREE INODES FREE`, a line for each.
fn recorded(text: &str) -> Vec<FileSystem> {
    pairs(text)
        .filter_map(|(place, rest)| {
            let (kind, numbers) = rest.split_once(' ')?;
            let each: Vec<u64> =
                numbers.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
            let &[bytes, free, inodes, inodes_free] = each.as_slice() else { return None };
            Some(FileSystem {
                place: place.into(),
                kind: kind.into(),
                bytes: (bytes, free),
                inodes: (inodes, inodes_free),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_root_that_is_counted_once() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/a / ext4 rw 0 0\nproc /proc proc rw 0 0\n";
        let found = mounted(mounts);
        assert_eq!(found.len(), 1);
        assert!(found[0].bytes.0 >= found[0].bytes.1);
    }

    #[test]
    fn a_recording_is_read() {
        let found = recorded("/\text4 100 9 50 40\n/x\tbroken\n");
        let expected = FileSystem {
            place: "/".into(),
            kind: "ext4".into(),
            bytes: (100, 9),
            inodes: (50, 40),
        };
        assert_eq!(found, [expected]);
    }
}

//! What disks say of themselves (SMART), by Debian's smartctl.
//!
//! Invariants: 1. a disk that sleeps isn't woken. 2. whoever isn't done in time is ended. 3. only as
//! root, since disks tell nobody else.

use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{Root, disks};
use crate::machine::{Disk, Machine};

const PROGRAMS: &[&str] = &["usr/sbin/smartctl", "usr/local/sbin/smartctl", "usr/bin/smartctl"];
/// More disks than that aren't asked.
const DISKS_MAX: usize = 16;
/// Sectors that were replaced, errors that couldn't be mended, sectors that can't be read: of
/// disks that fail, three of four have one of these beforehand (Backblaze, 2016).
const BAD_SECTORS: &[u64] = &[5, 187, 197, 198];

/// Asks every disk, until then.
pub(super) async fn read(root: &Root, until: Instant) -> Machine {
    let mut machine = Machine::default();
    let mut names = disks::disks(root);
    names.truncate(DISKS_MAX);
    let why_not = |why: &str| Some(why.to_owned());
    if root.is_recorded() {
        for name in names {
            let Some(text) = root.recorded(&format!("smart-{name}.json")) else { continue };
            machine.disks.push(told(name, text.as_bytes()));
        }
        return machine;
    }
    // Disks of a virtual machine are files of its host's.
    names.retain(|name| !name.starts_with("vd") && !name.starts_with("xvd"));
    let program = PROGRAMS.iter().map(|path| root.at(path)).find(|path| path.exists());
    machine.disks_unseen = match (&program, rustix::process::geteuid().is_root()) {
        _ if names.is_empty() => why_not("there are none but those of a virtual machine"),
        (None, _) => why_not("it takes smartctl: apt-get install smartmontools"),
        (_, false) => why_not("disks tell it to root alone"),
        _ => None,
    };
    let (Some(program), None) = (program, &machine.disks_unseen) else { return machine };
    let mut asked = JoinSet::new();
    for name in names {
        let mut command = Command::new(&program);
        command.args(["--json", "--nocheck=standby", "-H", "-A"]).arg(format!("/dev/{name}"));
        command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        asked.spawn(async move {
            match timeout_at(until, command.output()).await {
                // Its status is bits of what is wrong: what it prints counts.
                Ok(Ok(output)) => told(name, &output.stdout),
                Ok(Err(error)) => Disk::unseen(name, format!("smartctl can't be run: {error}")),
                Err(_) => Disk::unseen(name, "smartctl didn't answer in time".into()),
            }
        });
    }
    while let Some(disk) = asked.join_next().await {
        machine.disks.extend(disk);
    }
    machine.disks.sort_by(|one, other| one.name.cmp(&other.name));
    machine
}

/// What smartctl printed about a disk.
fn told(name: String, json: &[u8]) -> Disk {
    let Ok(said) = serde_json::from_slice::<Value>(json) else {
        return Disk::unseen(name, "smartctl answers nothing that can be read".into());
    };
    let has_passed = said.pointer("/smart_status/passed").and_then(Value::as_bool);
    let table = said.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    let sectors = table.map(|table| {
        let bad = table.iter().filter(|one| {
            one.get("id").and_then(Value::as_u64).is_some_and(|id| BAD_SECTORS.contains(&id))
        });
        // Some makers keep other numbers in the upper half.
        let counts = bad.filter_map(|one| one.pointer("/raw/value")?.as_u64());
        counts.fold(0, |sum: u64, count| sum.saturating_add(count & 0xffff_ffff))
    });
    let nvme = said.get("nvme_smart_health_information_log");
    let number = |key: &str| nvme?.get(key)?.as_u64();
    let mut disk = Disk {
        name,
        has_passed,
        bad_sectors: sectors.or_else(|| number("media_errors")),
        worn_percent: number("percentage_used"),
        warning: number("critical_warning").filter(|&bits| bits > 0),
        unseen: None,
    };
    if has_passed.is_none() && disk.bad_sectors.is_none() && disk.worn_percent.is_none() {
        let message = said.pointer("/smartctl/messages/0/string").and_then(Value::as_str);
        disk.unseen = Some(message.unwrap_or("it tells nothing of itself").to_owned());
    }
    disk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disks_say_of_themselves_is_read() {
        let ata = br#"{"smart_status":{"passed":true},"ata_smart_attributes":{"table":[
            {"id":5,"raw":{"value":8}},{"id":9,"raw":{"value":40000}},
            {"id":197,"raw":{"value":4294967298}}]}}"#;
        let disk = told("sda".into(), ata);
        assert_eq!(
            (disk.has_passed, disk.bad_sectors, disk.worn_percent),
            (Some(true), Some(10), None)
        );
        let nvme = br#"{"smart_status":{"passed":false},"nvme_smart_health_information_log":
            {"critical_warning":4,"percentage_used":103,"media_errors":0}}"#;
        let disk = told("nvme0n1".into(), nvme);
        assert_eq!((disk.has_passed, disk.bad_sectors), (Some(false), Some(0)));
        assert_eq!((disk.worn_percent, disk.warning), (Some(103), Some(4)));
    }

    #[tokio::test]
    async fn disks_are_asked_at_once_and_none_is_waited_for() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: disks answer root alone");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["sys/block/sda", "sys/block/sdb", "sys/block/vda", "usr/sbin"] {
            std::fs::create_dir_all(folder.path().join(path)).expect("a folder");
        }
        let program = folder.path().join("usr/sbin/smartctl");
        let script = "#!/bin/sh\ncase \"$*\" in *sdb) exec sleep 1000;; \
            *) echo '{\"smart_status\":{\"passed\":true}}'; exit 4;; esac\n";
        std::fs::write(&program, script).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("its mode");
        // Long enough for one that answers, however busy this machine is.
        let until = Instant::now() + std::time::Duration::from_secs(5);
        let machine = read(&Root::new(folder.path()), until).await;
        let [first, second] = machine.disks.as_slice() else { panic!("{machine:?}") };
        assert_eq!((first.name.as_str(), first.has_passed), ("sda", Some(true)));
        assert_eq!(second.unseen.as_deref(), Some("smartctl didn't answer in time"));
        std::fs::remove_file(program).expect("it was there");
        let machine = read(&Root::new(folder.path()), until).await;
        assert!(machine.disks_unseen.is_some_and(|why| why.contains("smartmontools")));
    }

    #[test]
    fn what_a_disk_does_not_say_is_told_in_smartctls_words() {
        let none = br#"{"smartctl":{"exit_status":2,"messages":[
            {"string":"Device is in STANDBY mode, exit(2)","severity":"information"}]}}"#;
        let disk = told("sda".into(), none);
        assert_eq!(disk.unseen.as_deref(), Some("Device is in STANDBY mode, exit(2)"));
        assert!(told("sda".into(), b"{").unseen.is_some());
    }
}

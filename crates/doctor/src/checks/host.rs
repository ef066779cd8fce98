//! The host: files, clock, processor, disks.

use std::collections::BTreeSet;

use base::amount::show_bytes;

use super::{Advice, Check, Verdict, View, advice, each, fine, percent, unseen};
use crate::finding::{Change, Class, Confidence, Place};
use crate::machine::{Backup, Disk};

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 50,
        id: "open_files",
        class: Class::Refusing,
        needs: "/proc/PID/fd and limits (as root)",
        formula: "a program has > 60 % of its limit open",
        source: "systemd.exec(5), LimitNOFILE",
        judge: files,
    },
    Check {
        number: 51,
        id: "clock_source",
        class: Class::Slow,
        needs: "/sys/devices/system/clocksource",
        formula: "neither tsc nor kvm-clock, nor another that is read without a system call",
        source: "kernel Documentation/timers/timekeeping",
        judge: clock,
    },
    Check {
        number: 52,
        id: "steal",
        class: Class::Slow,
        needs: "/proc/stat at both ends of the window",
        formula: "steal > 5 % of all processor time",
        source: "kernel /proc/stat",
        judge: steal,
    },
    Check {
        number: 53,
        id: "disk",
        class: Class::Danger,
        needs: "what is mounted",
        formula: "space or inodes < 10 % free",
        source: "statvfs(3)",
        judge: disk,
    },
    Check {
        number: 62,
        id: "disk_health",
        class: Class::Danger,
        needs: "what disks say of themselves (smartctl, as root)",
        formula: "a disk fails its own test, NVMe warns, or sectors were replaced or can't be read; \
                  worn ≥ 90 %",
        source: "smartctl(8); NVMe SMART log; Backblaze on attributes 5, 187, 197 and 198",
        judge: health,
    },
    Check {
        number: 63,
        id: "backups",
        class: Class::Danger,
        needs: "backups, or what makes them",
        formula: "where a folder is named (--backups), has dumps of three days or more, or a timer \
                  goes off for them: the last > 7 days ago; else not judged",
        source: "the threshold is ours",
        judge: backups,
    },
];

/// A backup that isn't made once a week isn't made.
const BACKUP_SECONDS: u64 = 7 * 86_400;
/// What NVMe's warnings mean, by their bits.
const WARNINGS: &[&str] = &[
    "its spare is used up",
    "it is too hot or too cold",
    "it errs too often",
    "it can only be read",
    "its memory is without power",
];

fn files(view: &View<'_>) -> Option<Verdict> {
    let known = view.machine.processes.iter().filter(|one| one.descriptors.is_some());
    known.clone().next()?;
    let mut told = BTreeSet::new();
    let mut found = Vec::new();
    for process in known {
        let Some((open, most)) = process.descriptors else { continue };
        if open as f64 <= most as f64 * 0.6 || !told.insert((&process.name, &process.unit)) {
            continue;
        }
        let change = process.unit.clone().map(|unit| Change {
            place: Place::Unit(unit),
            name: "LimitNOFILE".into(),
            old: Some(most.to_string()),
            new: (most.saturating_mul(4)).max(65_536).to_string(),
        });
        found.push(
            advice(format!(
                "{} (process {}) has {open} of {most} files open",
                process.name, process.pid
            ))
            .about(process.name.clone())
            .gain("it never refuses a connection for want of a file")
            .fix("a higher limit in its unit, which counts from its next start")
            .changes(change),
        );
    }
    each(found, "no program has more than 60 % of its files open")
}

fn clock(view: &View<'_>) -> Option<Verdict> {
    let source = view.machine.set("kernel.clocksource")?;
    let quick = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
    if quick.contains(&source) {
        return fine(format!("{source} is read without a system call"));
    }
    advice(format!("the clock is {source}, which takes a system call each time"))
        .gain("PHP and databases look at the clock thousands of times a second")
        .fix(
            "see why the kernel left tsc (dmesg | grep -i clocksource); on virtual machines it is \
              the host's to mend",
        )
        .found()
}

fn steal(view: &View<'_>) -> Option<Verdict> {
    let all = view.machine.grown("cpu.total").filter(|&all| all > 0.0)?;
    let share = view.machine.grown("cpu.steal")? / all;
    if share <= 0.05 {
        return fine(format!("the host kept {} of the time for others", percent(share)));
    }
    advice(format!("the host kept {} of the time for other machines", percent(share)))
        .gain("that share of every answer's time")
        .fix("ask for another host, or for a machine with processors of its own")
        .found()
}

fn disk(view: &View<'_>) -> Option<Verdict> {
    view.machine.file_systems.first()?;
    let mut found = Vec::new();
    for one in &view.machine.file_systems {
        let share = |(all, free): (u64, u64)| (all > 0).then(|| free as f64 / all as f64);
        let (space, inodes) = (share(one.bytes), share(one.inodes));
        if space.is_none_or(|free| free >= 0.1) && inodes.is_none_or(|free| free >= 0.1) {
            continue;
        }
        found.push(
            advice(format!(
                "{} has {} of space free ({}) and {} of inodes",
                one.place,
                percent(space.unwrap_or(1.0)),
                show_bytes(one.bytes.1),
                inodes.map_or("enough".into(), percent)
            ))
            .about(one.place.clone())
            .gain("a database on a full disk stops, and may not start again")
            .fix("see what grew: du -x --max-depth=2, old logs and binary logs first"),
        );
    }
    each(found, "every file system has a tenth free")
}

fn health(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if let Some(why) = &machine.disks_unseen {
        return unseen(why.clone());
    }
    machine.disks.first()?;
    let found: Vec<Advice> = machine.disks.iter().filter_map(ill).collect();
    if !found.is_empty() {
        return each(found, "");
    }
    let silent = machine.disks.iter().filter_map(|one| Some((&one.name, one.unseen.as_ref()?)));
    let silent: Vec<String> = silent.map(|(name, why)| format!("{name}: {why}")).collect();
    let well = machine.disks.iter().filter(|one| one.unseen.is_none());
    let well: Vec<&str> = well.map(|one| one.name.as_str()).collect();
    match well.is_empty() {
        true => unseen(silent.join("; ")),
        false => {
            let silent = silent.iter().map(String::as_str);
            let all: Vec<&str> = well.into_iter().chain(silent).collect();
            fine(format!("well by what they say: {}", all.join(", ")))
        }
    }
}

/// What is wrong with a disk.
fn ill(disk: &Disk) -> Option<Advice> {
    let bits = disk.warning.unwrap_or(0);
    let warnings = WARNINGS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    let mut seen: Vec<String> = warnings.map(|(_, words)| (*words).to_owned()).collect();
    if disk.has_passed == Some(false) {
        seen.insert(0, "it fails its own test".into());
    }
    let is_failing = !seen.is_empty() || bits > 0;
    let (bad, worn) = (disk.bad_sectors.unwrap_or(0), disk.worn_percent.unwrap_or(0));
    if bad > 0 {
        seen.push(format!("{bad} of its sectors were replaced or can't be read"));
    }
    if worn >= 90 {
        seen.push(format!("{worn} % of what it may be written is used up"));
    }
    if seen.is_empty() && !is_failing {
        return None;
    }
    let class = if is_failing || bad > 0 { Class::Danger } else { Class::Latent };
    let found = advice(format!("{}: {}", disk.name, seen.join(", ")))
        .about(disk.name.clone())
        .class(class)
        .sure(if is_failing { Confidence::High } else { Confidence::Medium })
        .gain("what is on it isn't lost with it")
        .fix("see that there is a backup that can be read, then replace the disk (smartctl -a tells all)");
    Some(found)
}

fn backups(view: &View<'_>) -> Option<Verdict> {
    let all = &view.machine.backups;
    let told = |one: &Backup| match one.age_seconds {
        Some(seconds) => format!("{}: {:.1} days ago", one.place, seconds as f64 / 86_400.0),
        None => format!("{}: nobody knows when", one.place),
    };
    let habits = all.iter().filter(|one| one.is_habit);
    let Some(newest) = habits.min_by_key(|one| one.age_seconds.unwrap_or(u64::MAX)) else {
        let seen: Vec<String> = all.iter().map(told).collect();
        let seen = if seen.is_empty() { "none was seen".into() } else { seen.join("; ") };
        return unseen(format!(
            "{seen}: whether they are made regularly, here or elsewhere, can't be known; name where \
             they lie with --backups"
        ));
    };
    if newest.age_seconds.is_some_and(|seconds| seconds <= BACKUP_SECONDS) {
        return fine(format!("the last was made in time ({})", told(newest)));
    }
    let evidence = match newest.age_seconds {
        Some(_) => format!("the last backup was made too long ago ({})", told(newest)),
        None => format!("there is no backup in {}", newest.place),
    };
    let (class, sure) = match newest.is_told {
        true => (Class::Danger, Confidence::Medium),
        // Whoever once made dumps here may have them made by others now.
        false => (Class::Latent, Confidence::Low),
    };
    advice(evidence)
        .class(class)
        .gain("what is lost with a disk, or by a mistake, is a day's work and not all of it")
        .sure(sure)
        .fix(
            "see why it isn't made any more, and try to read one back; where backups lie elsewhere \
             now, say where with --backups",
        )
        .found()
}

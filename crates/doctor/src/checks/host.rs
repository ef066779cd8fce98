//! The host: files, clock, processor, disks.

use std::collections::BTreeSet;

use base::amount::show_bytes;

use super::{Check, Verdict, View, advice, each, fine, percent};
use crate::finding::{Change, Class, Place};

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
    each(found, "every file system has a tenth free; SMART and the age of backups aren't looked at")
}

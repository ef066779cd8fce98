//! Memory: does everything fit, is anything killed, does anybody wait for it.

use base::amount::show_bytes;

use super::innodb::buffer_pool_change;
use super::php::opcache_change;
use super::pools::children_changes;
use super::{Check, Verdict, View, advice, fine, percent, unseen};
use crate::finding::{Class, Confidence};

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 1,
        id: "joint_memory",
        class: Class::Danger,
        needs: "the machine's memory",
        formula: "database + connections + children × p95 private memory + opcode cache + tmpfs + \
                  Wick + others ≤ 0.9 × min(memory, cgroup)",
        source: "kernel smaps_rollup, MariaDB memory allocation; the threshold is ours",
        judge: joint,
    },
    Check {
        number: 2,
        id: "out_of_memory",
        class: Class::Danger,
        needs: "/proc/meminfo and /proc/vmstat",
        formula: "oom_kill grows in the window, or since a start less than 30 min ago; \
                  MemAvailable < 10 % of MemTotal",
        source: "kernel /proc/vmstat oom_kill, /proc/meminfo",
        judge: killed,
    },
    Check {
        number: 3,
        id: "memory_pressure",
        class: Class::Refusing,
        needs: "/proc/pressure/memory",
        formula: "avg60 of some > 10 %, or of full > 1 %",
        source: "kernel PSI; the threshold is ours",
        judge: pressure,
    },
    Check {
        number: 4,
        id: "swapping",
        class: Class::Slow,
        needs: "/proc/vmstat at both ends of the window",
        formula: "pswpin > 10/s over the window",
        source: "kernel /proc/vmstat; the threshold is ours",
        judge: swapping,
    },
    Check {
        number: 5,
        id: "temporary_files",
        class: Class::Slow,
        needs: "what the database wrote to temporary files",
        formula: "fine where tmpdir is a tmpfs, or < 1 temporary table a second is on disk; else not \
                  judged: nothing counts what share of all writes they are",
        source: "MariaDB tmpdir",
        judge: temporary_files,
    },
];

fn joint(view: &View<'_>) -> Option<Verdict> {
    let budget = view.budget;
    view.machine.memory_bytes()?;
    let (now, spendable) = (show_bytes(budget.now_bytes()), show_bytes(budget.spendable_bytes));
    if budget.fits_now {
        return fine(format!("all that is set comes to {now} at most, of {spendable} to be had"));
    }
    let mut parts: Vec<_> = budget.parts.iter().filter(|part| part.now_bytes > 0).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.now_bytes));
    let parts: Vec<String> = parts
        .iter()
        .take(5)
        .map(|part| format!("{} {}", part.name, show_bytes(part.now_bytes)))
        .collect();
    let found = advice(format!(
        "all that is set may come to {now}, of {spendable} to be had: {}",
        parts.join(", ")
    ))
    .gain("nothing is killed, and nothing swaps, when all of it is wanted at once")
    .sure(Confidence::Medium);
    if !budget.is_solvent {
        return found
            .fix(
                "what can't be made smaller takes it all: move something to another machine, or \
                  give this one more memory",
            )
            .found();
    }
    found
        .fix(format!("sizes that come to {} together", show_bytes(budget.advised_bytes())))
        .changes(children_changes(view))
        .changes(buffer_pool_change(view))
        .changes(opcache_change(view))
        .found()
}

fn killed(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let kills = machine.grown("vmstat.oom_kill")?;
    let since_start = machine.now("vmstat.oom_kill")?;
    let is_young = machine.now("uptime").is_some_and(|seconds| seconds < 1800.0);
    if kills > 0.0 || (is_young && since_start > 0.0) {
        return advice(format!(
            "the kernel killed {} processes for lack of memory in the last minutes",
            kills.max(since_start)
        ))
        .gain("requests and transactions that die today are answered")
        .fix("make everything fit (joint_memory); until then stop what isn't needed")
        .found();
    }
    let (available, total) =
        (machine.now("meminfo.MemAvailable")?, machine.now("meminfo.MemTotal")?);
    let share = available / total.max(1.0);
    if share < 0.1 {
        return advice(format!(
            "{} of memory is available ({})",
            percent(share),
            show_bytes(available as u64)
        ))
        .gain("the next burst of requests doesn't end in a kill")
        .fix("make everything fit (joint_memory), or add memory")
        .found();
    }
    let earlier = match since_start > 0.0 {
        true => format!(" ({since_start} kills since the machine's start, at a time nobody knows)"),
        false => String::new(),
    };
    fine(format!("{} of memory is available, and nothing was killed{earlier}", percent(share)))
}

fn pressure(view: &View<'_>) -> Option<Verdict> {
    let some = view.machine.now("psi.memory.some.avg60")?;
    let full = view.machine.now("psi.memory.full.avg60").unwrap_or(0.0);
    if some <= 10.0 && full <= 1.0 {
        return fine(format!("programs waited for memory {some:.1} % of the last minute"));
    }
    advice(format!(
        "programs waited for memory {some:.1} % of the last minute, all at once {full:.1} %"
    ))
    .gain("that share of every answer's time")
    .sure(Confidence::Medium)
    .fix("make everything fit (joint_memory), or add memory")
    .found()
}

fn swapping(view: &View<'_>) -> Option<Verdict> {
    let rate = view.machine.rate("vmstat.pswpin")?;
    if rate <= 10.0 {
        return fine(format!("{rate:.1} pages a second come back from swap"));
    }
    advice(format!("{rate:.0} pages a second come back from swap"))
        .gain("each of them was a wait for the disk in somebody's request")
        .sure(if view.machine.window_seconds >= 60.0 { Confidence::High } else { Confidence::Low })
        .fix("make everything fit (joint_memory); a lower swappiness only moves the wait")
        .found()
}

fn temporary_files(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let tmpdir = machine.set("mysql.tmpdir").filter(|path| !path.is_empty())?;
    let place = tmpdir.split(':').next().unwrap_or(tmpdir);
    let holder = machine
        .file_systems
        .iter()
        .filter(|one| std::path::Path::new(place).starts_with(&one.place))
        .max_by_key(|one| one.place.len());
    if holder.is_some_and(|one| one.kind == "tmpfs") {
        return fine(format!("{place} is in memory already"));
    }
    if machine.rate("mysql.Created_tmp_disk_tables")? < 1.0 {
        return fine("the database makes less than one temporary table a second on disk");
    }
    unseen("what share of all writes temporary files are isn't counted by the kernel")
}

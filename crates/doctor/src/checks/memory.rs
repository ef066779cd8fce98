//! Memory: does everything fit, is anything killed, does anybody wait for it.

use base::amount::show_bytes;

use super::innodb::buffer_pool_change;
use super::php::opcache_change;
use super::pools::children_changes;
use super::{Advice, Check, Verdict, View, advice, each, fine, percent, unseen};
use crate::finding::{Class, Confidence};
use crate::temporary::{self, Owner, Writes};

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 1,
        id: "joint_memory",
        class: Class::Danger,
        needs: "the machine's memory",
        formula: "database + connections + children × p95 private memory + opcode cache + tmpfs + \
                  Wick (its memory setting) + others ≤ 0.9 × min(memory, cgroup); the database's and \
                  php-fpm's parts ≤ 0.9 × MemoryMax of their units",
        source: "kernel smaps_rollup, MariaDB memory allocation; the threshold is ours",
        judge: joint,
    },
    Check {
        number: 2,
        id: "out_of_memory",
        class: Class::Danger,
        needs: "/proc/meminfo and /proc/vmstat",
        formula: "a kill in the last 30 min (as root by the kernel's log, else in the window or since a \
                  start no longer ago); MemAvailable < 10 % of MemTotal",
        source: "kernel /proc/vmstat oom_kill, /dev/kmsg, /proc/meminfo",
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
        needs: "what a database wrote to temporary files in the window, and what the disks wrote",
        formula: "written to temporary files > 1 % of what the disks wrote, and disks are waited \
                  for (io some avg60 > 5 %, or they turn) → a tmpfs for a minute of it, within \
                  joint_memory",
        source: "MariaDB tmpdir; kernel tmpfs and vm.dirty_expire_centisecs; the thresholds are ours",
        judge: temporary_files,
    },
];

/// A kill that is longer ago is no news.
const KILL_SECONDS: f64 = 1800.0;

fn joint(view: &View<'_>) -> Option<Verdict> {
    let mut found = units(view);
    match whole(view)? {
        Verdict::Found(mut advice) => {
            advice.append(&mut found);
            Some(Verdict::Found(advice))
        }
        other if found.is_empty() => Some(other),
        _ => Some(Verdict::Found(found)),
    }
}

/// Units whose cgroup allows less than what is set for them may come to.
fn units(view: &View<'_>) -> Vec<Advice> {
    let short = view.budget.units.iter().filter(|unit| unit.now_bytes > unit.spendable_bytes);
    let told = short.map(|unit| {
        advice(format!(
            "{} may come to {}, and its cgroup (MemoryMax) allows {}",
            unit.name,
            show_bytes(unit.now_bytes),
            show_bytes(unit.limit_bytes)
        ))
        .about(unit.name.clone())
        .gain("it isn't killed within its own unit when all of it is wanted at once")
        .sure(Confidence::Medium)
        .fix(format!(
            "{}, or a larger MemoryMax (systemctl edit), as far as the machine has it",
            unit.smaller
        ))
    });
    told.collect()
}

fn whole(view: &View<'_>) -> Option<Verdict> {
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
    // The start is as long ago as the last kill may be.
    let since = ["oom.seconds_ago", "uptime"].into_iter().find_map(|name| machine.now(name));
    let is_late = since.is_some_and(|seconds| seconds < KILL_SECONDS);
    if kills > 0.0 || (is_late && since_start > 0.0) {
        let when = match machine.now("oom.seconds_ago") {
            Some(seconds) => format!(", the last {:.0} min ago", seconds / 60.0),
            None => " in the last minutes".to_owned(),
        };
        let since = if kills > 0.0 { kills } else { since_start };
        return advice(format!("the kernel killed {since} processes for lack of memory{when}"))
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
    let earlier = match (since_start > 0.0, machine.now("oom.seconds_ago")) {
        (false, _) => "nothing was killed".to_owned(),
        (true, Some(seconds)) => format!("the last kill is {:.1} h ago", seconds / 3600.0),
        (true, None) => format!(
            "nothing was killed in the window ({since_start} kills since the machine's start, at a \
             time that root alone can read)"
        ),
    };
    fine(format!("{} of memory is available, and {earlier}", percent(share)))
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
    let written = temporary::written(machine);
    let tmpdir = machine.set("mysql.tmpdir").filter(|path| !path.is_empty());
    if written.is_empty()
        && let Some(tmpdir) = tmpdir.filter(|path| temporary::is_in_memory(machine, path))
    {
        return fine(format!("{tmpdir} is in memory already"));
    }
    let bytes: f64 = written.iter().map(|one| one.bytes).sum();
    let is_told = written.iter().any(|one| one.owner == Owner::Database) || !machine.has_database();
    if !is_told && !tmpdir.is_some_and(|path| temporary::is_in_memory(machine, path)) {
        return unseen(
            "this database doesn't count what it writes to temporary files: performance_schema=ON \
             would",
        );
    }
    if written.is_empty() {
        return None;
    }
    let disks = machine.grown("disks.written_bytes")?;
    let (wrote, of) = (show_bytes(bytes as u64), show_bytes(disks as u64));
    if bytes <= disks * temporary::SHARE_MIN {
        return fine(format!("{wrote} went to temporary files, and the disks wrote {of}"));
    }
    if !temporary::is_waited_for(machine) {
        return fine(format!(
            "{wrote} went to temporary files, and the disks wrote {of}, but nobody waits for \
             them: Linux keeps such files in memory, and a tmpfs would do no more"
        ));
    }
    let found = written.iter().filter(|one| one.bytes > disks * temporary::SHARE_MIN);
    each(found.map(|one| temporary_of(view, one, disks)).collect(), "each of them writes little")
}

fn temporary_of(view: &View<'_>, one: &Writes, disks: f64) -> Advice {
    // One folder for all: the budget has one size for them together.
    let folder = "/var/lib/tmpfs";
    let (who, setting) = match one.owner {
        Owner::Database => ("the database", "[mysqld] tmpdir"),
        Owner::Php => ("PHP", "php.ini of php-fpm: upload_tmp_dir"),
        Owner::Postgres => ("PostgreSQL", ""),
    };
    let found = advice(format!(
        "{who} wrote {} or more to temporary files in {:.0} s, in which the disks wrote {}; programs waited \
         for disks {:.0} % of the last minute",
        show_bytes(one.bytes as u64),
        view.machine.window_seconds,
        show_bytes(disks as u64),
        view.machine.now("psi.io.some.avg60").unwrap_or(0.0)
    ))
    .about(who)
    .gain(
        "the disks write less while they are waited for; where memory is free and they aren't, such \
         files stay in memory anyway, and nothing is gained (1.04 times in bench/doctor)",
    )
    .sure(Confidence::Low);
    match (one.owner, view.budget.tmpfs_bytes) {
        (Owner::Postgres, _) => found.fix(
            "see which queries sort and join so much (wick queries), and give those connections more \
             work_mem; PostgreSQL's manual warns of tablespaces in memory",
        ),
        (_, None) => found.fix(
            "there is no memory for a tmpfs: see joint_memory; which queries write so much, tells \
             wick queries",
        ),
        (_, Some(bytes)) => found
            .fix(format!(
                "first see whether fewer queries need them (wick queries). Else in /etc/fstab \
                 \"tmpfs {folder} tmpfs size={}M,mode=1777,nosuid,nodev 0 0\", mkdir {folder}, mount \
                 {folder}, {setting} = {folder}, and a restart; what doesn't fit in fails, so watch \
                 df {folder}",
                bytes >> 20
            ))
            .revert(format!("take {setting} out, restart, umount {folder}, and its line of /etc/fstab")),
    }
}

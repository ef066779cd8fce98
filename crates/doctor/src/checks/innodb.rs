//! InnoDB: its buffer pool, its log, its disks.

use base::amount::show_bytes;

use super::database::change;
use super::{Check, Verdict, View, advice, fine, percent, unseen};
use crate::budget::{buffer_pool_free, buffer_pool_waits};
use crate::finding::{Change, Class, Confidence};

const MIB: f64 = 1_048_576.0;

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 25,
        id: "buffer_pool",
        class: Class::Slow,
        needs: "the status of MariaDB or MySQL",
        formula: "grow within joint_memory when < 2 % is free and reads/s × latency > 5 %; shrink \
                  when > 20 % is free after 7 days",
        source: "MySQL manual, InnoDB buffer pool",
        judge: buffer_pool,
    },
    Check {
        number: 26,
        id: "buffer_pool_hits",
        class: Class::Slow,
        needs: "1000 read requests to InnoDB in the window",
        formula: "1 − reads ÷ read_requests < 90 %",
        source: "mysqltuner",
        judge: hits,
    },
    Check {
        number: 27,
        id: "redo_capacity",
        class: Class::Slow,
        needs: "Innodb_os_log_written over the window, or of a day",
        formula: "one hour of log, 100 MB to 16 GB; found below half of it",
        source: "MySQL manual, innodb_redo_log_capacity",
        judge: redo,
    },
    Check {
        number: 28,
        id: "log_buffer",
        class: Class::Slow,
        needs: "the status of MariaDB or MySQL",
        formula: "log_waits ÷ log_write_requests > 1e-6",
        source: "MySQL manual, innodb_log_buffer_size",
        judge: log_buffer,
    },
    Check {
        number: 29,
        id: "ssd",
        class: Class::Slow,
        needs: "/sys/block, and the variables of MariaDB or MySQL",
        formula: "on SSD: flush_neighbors 0 (MariaDB from 10.4 sees to that itself), io_capacity ≥ 2000",
        source: "MySQL and MariaDB manuals, innodb_flush_neighbors, innodb_io_capacity",
        judge: ssd,
    },
    Check {
        number: 30,
        id: "durability",
        class: Class::Danger,
        needs: "innodb_flush_log_at_trx_commit, fsync of PostgreSQL",
        formula: "1; 2 is offered where commits wait for disks; never 0; never applied unasked",
        source: "MySQL manual, innodb_flush_log_at_trx_commit; PostgreSQL manual, fsync",
        judge: durability,
    },
];

/// What the budget says about the buffer pool, where that is another size.
pub(super) fn buffer_pool_change(view: &View<'_>) -> Option<Change> {
    let (now, advised) = view.budget.buffer_pool?;
    (now != advised).then(|| change(view, "innodb_buffer_pool_size", advised))
}

fn buffer_pool(view: &View<'_>) -> Option<Verdict> {
    let (now, advised) = view.budget.buffer_pool?;
    let free = buffer_pool_free(view.machine)?;
    let waits = buffer_pool_waits(view.machine);
    let evidence = format!(
        "{} with {} free, and {} of the time it waits for reads",
        show_bytes(now),
        percent(free),
        waits.map_or("an unknown share".into(), percent)
    );
    if !view.budget.fits_now {
        return fine(format!("{evidence}; its size is part of joint_memory"));
    }
    if advised == now {
        let is_short = free < 0.02 && waits.is_some_and(|share| share > 0.05);
        return match is_short {
            true => advice(evidence)
                .gain("fewer waits for the disk")
                .sure(view.database_confidence())
                .fix(
                    "it is too small, and there is no memory for a larger one: add some, or see \
                      which queries read so much (wick queries)",
                )
                .found(),
            false => fine(evidence),
        };
    }
    let found = advice(evidence).sure(view.database_confidence());
    let found = match advised > now {
        true => {
            found.gain("fewer waits for the disk").fix("as large as the data, within the budget")
        }
        false => found
            .class(Class::Latent)
            .gain(format!("{} for those who lack it", show_bytes(now - advised)))
            .fix("what was used in a week, and a little more"),
    };
    found.changes(buffer_pool_change(view)).found()
}

fn hits(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if let (Some(hit), Some(read)) =
        (machine.grown("postgres.blocks_hit"), machine.grown("postgres.blocks_read"))
        && hit + read >= 1000.0
    {
        return judge_hits("PostgreSQL's shared buffers", hit / (hit + read));
    }
    let requests = machine.grown("mysql.Innodb_buffer_pool_read_requests")?;
    let reads = machine.grown("mysql.Innodb_buffer_pool_reads")?;
    if requests < 1000.0 {
        return unseen(format!(
            "only {requests} read requests came in the window: use a longer one"
        ));
    }
    judge_hits("the buffer pool", 1.0 - reads / requests)
}

fn judge_hits(who: &str, share: f64) -> Option<Verdict> {
    if share >= 0.9 {
        return fine(format!("{who} had {} of what was asked for", percent(share)));
    }
    advice(format!("{who} had {} of what was asked for in the window", percent(share)))
        .gain("each miss is a read of the disk")
        .sure(Confidence::Medium)
        .fix("see which queries read so much (wick queries), and whether buffer_pool finds memory")
        .found()
}

fn redo(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let now = machine.size("mysql.innodb_redo_log_capacity").or_else(|| {
        let each = machine.size("mysql.innodb_log_file_size")?;
        Some(each * machine.number("mysql.innodb_log_files_in_group").unwrap_or(1.0) as u64)
    })?;
    let uptime = machine.now("mysql.Uptime").unwrap_or(0.0);
    // A window of seconds says nothing of an hour; a day of the server's life does.
    let hourly = match uptime >= 86_400.0 {
        true => machine.now("mysql.Innodb_os_log_written").map(|bytes| bytes / uptime * 3600.0),
        false if machine.window_seconds >= 60.0 => {
            machine.rate("mysql.Innodb_os_log_written").map(|bytes| bytes * 3600.0)
        }
        false => None,
    };
    let Some(hourly) = hourly else {
        return unseen(
            "how much an hour writes isn't known before a day has passed, or with \
                       --window 60s",
        );
    };
    let wanted = hourly.clamp(100.0 * MIB, 16.0 * 1024.0 * MIB);
    let evidence = format!(
        "an hour writes {} of log, and it holds {}",
        show_bytes(hourly as u64),
        show_bytes(now)
    );
    if now as f64 >= wanted / 2.0 {
        return fine(evidence);
    }
    let name = match machine.set("mysql.innodb_redo_log_capacity") {
        Some(_) => "innodb_redo_log_capacity",
        None => "innodb_log_file_size",
    };
    let bytes = (wanted / (64.0 * MIB)).ceil() * 64.0 * MIB;
    advice(evidence)
        .gain("pages are written once an hour rather than many times")
        .sure(view.database_confidence())
        .fix("an hour of log; a start after a crash takes longer by it")
        .changes([change(view, name, bytes)])
        .found()
}

fn log_buffer(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let waits = machine.now("mysql.Innodb_log_waits")?;
    let writes = machine.now("mysql.Innodb_log_write_requests").filter(|&writes| writes > 0.0)?;
    let share = waits / writes;
    if share <= 1e-6 || waits < 10.0 {
        return fine(format!("{waits} of {writes} writes waited for it"));
    }
    let now = machine.size("mysql.innodb_log_buffer_size")?;
    if now >= 256 << 20 {
        return advice(format!(
            "{waits} of {writes} writes waited although it has {}",
            show_bytes(now)
        ))
        .fix("large transactions are the cause: write in smaller ones")
        .gain("commits don't wait for each other")
        .found();
    }
    advice(format!("{waits} of {writes} writes waited for a buffer of {}", show_bytes(now)))
        .gain("commits don't wait for each other")
        .sure(view.database_confidence())
        .fix("twice as much")
        .changes([change(view, "innodb_log_buffer_size", now * 2)])
        .found()
}

fn ssd(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let capacity = machine.number("mysql.innodb_io_capacity")?;
    if machine.set("kernel.rotational")? == "1" {
        return fine(
            "a disk here says that it turns, so neighbours are written together and in measure",
        );
    }
    let sees_itself = machine.is_mariadb() && machine.database_version() >= (10, 4);
    let neighbours = machine.number("mysql.innodb_flush_neighbors").unwrap_or(0.0) > 0.0;
    let mut changes = Vec::new();
    if neighbours && !sees_itself {
        changes.push(change(view, "innodb_flush_neighbors", 0));
    }
    if capacity < 2000.0 {
        changes.push(change(view, "innodb_io_capacity", 2000));
    }
    if changes.is_empty() {
        return fine(format!("nothing turns here, and innodb_io_capacity is {capacity}"));
    }
    advice(format!(
        "nothing turns here, yet innodb_io_capacity is {capacity} and flush_neighbors {}",
        if neighbours { "on" } else { "off" }
    ))
    .gain("pages are written in the background before somebody has to wait for it")
    .sure(Confidence::Medium)
    .fix("what an SSD does with ease")
    .changes(changes)
    .found()
}

fn durability(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if machine.is_on("postgres.fsync") == Some(false) {
        return advice(
            "fsync is off in PostgreSQL: a crash of the machine may cost the whole database",
        )
        .gain("the database outlives a crash")
        .fix("fsync = on; synchronous_commit = off is as quick and loses a second at most")
        .found();
    }
    let commit = match machine.number("mysql.innodb_flush_log_at_trx_commit") {
        Some(commit) => commit,
        None => {
            machine.set("postgres.fsync")?;
            return fine("fsync is on in PostgreSQL");
        }
    };
    if commit == 0.0 {
        return advice(
            "innodb_flush_log_at_trx_commit is 0: a crash of the server alone loses a second \
                       of what was confirmed",
        )
        .gain("what was confirmed outlives a crash of the database")
        .fix(
            "2 costs nearly nothing more; 1 also outlives a crash of the machine. It is yours to \
                  choose, so it isn't applied",
        )
        .found();
    }
    let commits = machine.rate("mysql.Com_commit").unwrap_or(0.0);
    let waits = machine.now("psi.io.some.avg60").unwrap_or(0.0);
    if commit == 1.0 && commits > 50.0 && waits > 10.0 {
        return advice(format!("{commits:.0} commits a second each wait for the disk, and programs wait \
                               for it {waits:.0} % of the time"))
            .class(Class::Slow)
            .gain("a commit takes microseconds instead of the disk's milliseconds")
            .sure(Confidence::Medium)
            .fix("innodb_flush_log_at_trx_commit = 2 if you can bear that a crash of the machine loses a \
                  second of what was confirmed; it is yours to choose, so it isn't applied")
            .found();
    }
    fine(format!("innodb_flush_log_at_trx_commit is {commit}, and commits don't wait for long"))
}

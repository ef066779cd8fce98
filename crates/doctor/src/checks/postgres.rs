//! PostgreSQL's own: its memory, its checkpoints, its vacuum, its planner.
//!
//! What it has in common with MariaDB and MySQL (connections, transactions, the slow log,
//! durability, hits) is judged beside theirs. What is a setting is applied by `ALTER SYSTEM`, for which
//! the login of `--postgres` has to be one that may.

use base::amount::show_bytes;

use super::{Check, Verdict, View, advice, each, fine, percent, unseen};
use crate::finding::{Change, Class, Confidence, Place};

const MIB: u64 = 1 << 20;
/// What is the default, and too little for any database larger than it.
const BUFFERS_DEFAULT: u64 = 128 * MIB;
const BUFFERS_MOST: u64 = 16 << 30;
const WAL_MOST: u64 = 16 << 30;

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 56,
        id: "postgres_buffers",
        class: Class::Slow,
        needs: "PostgreSQL's settings and statistics (--postgres)",
        formula: "shared_buffers is at the default although < 99 % was found there and the data is \
                  larger → a quarter of the memory, as far as joint_memory leaves it",
        source: "PostgreSQL manual, shared_buffers",
        judge: buffers,
    },
    Check {
        number: 57,
        id: "postgres_checkpoints",
        class: Class::Slow,
        needs: "PostgreSQL's settings and statistics (--postgres)",
        formula: "of 10 checkpoints or more, > 30 % because max_wal_size was full → twice, at most \
                  16 GB",
        source: "PostgreSQL manual, WAL configuration; the threshold is ours",
        judge: checkpoints,
    },
    Check {
        number: 58,
        id: "postgres_temporary_files",
        class: Class::Slow,
        needs: "PostgreSQL's statistics over the window (--postgres)",
        formula: "> 1 a second → queries; work_mem is taken by each sort of each connection",
        source: "PostgreSQL manual, work_mem; the threshold is ours",
        judge: temporary_files,
    },
    Check {
        number: 59,
        id: "postgres_vacuum",
        class: Class::Latent,
        needs: "PostgreSQL's settings and statistics (--postgres)",
        formula: "autovacuum off; the oldest transaction id > 1.2 × autovacuum_freeze_max_age; \
                  > 30 % of the rows of a table of 10,000 dead",
        source: "PostgreSQL manual, routine vacuuming; the thresholds are ours",
        judge: vacuum,
    },
    Check {
        number: 60,
        id: "postgres_planner",
        class: Class::Slow,
        needs: "PostgreSQL's settings (--postgres), /sys/block",
        formula: "random_page_cost ≥ 4 on SSD; effective_cache_size larger than the memory",
        source: "PostgreSQL manual, planner cost constants",
        judge: planner,
    },
    Check {
        number: 61,
        id: "postgres_slots",
        class: Class::Danger,
        needs: "PostgreSQL's settings and pg_replication_slots (--postgres)",
        formula: "a replication slot that nobody reads, with max_slot_wal_keep_size unlimited",
        source: "PostgreSQL manual, replication slots",
        judge: slots,
    },
];

/// A change of a setting.
pub(super) fn change(view: &View<'_>, name: &str, new: impl ToString) -> Change {
    let old = view.machine.set(&format!("postgres.{name}")).map(str::to_owned);
    Change { place: Place::Postgres, name: name.to_owned(), old, new: new.to_string() }
}

fn buffers(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let now = machine.size("postgres.shared_buffers")?;
    let hit = machine.grown("postgres.blocks_hit")?;
    let asked = hit + machine.grown("postgres.blocks_read")?;
    let data = machine.now("postgres.data_bytes")? as u64;
    let evidence = format!("{} for {} of data", show_bytes(now), show_bytes(data));
    if now > BUFFERS_DEFAULT || data <= now {
        return fine(evidence);
    }
    if asked < 1000.0 {
        return unseen(format!("{evidence}; only {asked} blocks were asked for in the window"));
    }
    let evidence = format!("{evidence}, which had {} of what was asked for", percent(hit / asked));
    if hit / asked >= 0.99 {
        return fine(evidence);
    }
    let left = view.budget.spendable_bytes.saturating_sub(view.budget.advised_bytes());
    let wanted = (view.budget.limit_bytes / 4).min(data).min(BUFFERS_MOST).min(now + left);
    let wanted = wanted / (64 * MIB) * 64 * MIB;
    let found = advice(evidence).gain("fewer reads of the disk").sure(Confidence::Medium);
    if !view.budget.is_solvent || wanted <= now {
        return found.fix("there is no memory for more (joint_memory)").found();
    }
    found
        .fix("a quarter of the memory, as far as it goes; it takes a restart")
        .change(change(view, "shared_buffers", format!("{}MB", wanted / MIB)))
        .found()
}

fn checkpoints(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let asked = machine.now("postgres.checkpoints_req")?;
    let all = asked + machine.now("postgres.checkpoints_timed")?;
    let now = machine.size("postgres.max_wal_size")?;
    if all < 10.0 {
        return unseen(format!("there were only {all} checkpoints so far"));
    }
    let evidence = format!(
        "{} of {all} checkpoints came because max_wal_size ({}) was full",
        percent(asked / all),
        show_bytes(now)
    );
    if asked / all <= 0.3 || now >= WAL_MOST {
        return fine(evidence);
    }
    advice(evidence)
        .gain("pages are written once for many changes, and whole pages to the log more seldom")
        .sure(Confidence::Medium)
        .fix("twice as much: a start after a crash takes longer by it, and so much of the disk")
        .change(change(view, "max_wal_size", format!("{}MB", (now * 2).min(WAL_MOST) / MIB)))
        .found()
}

fn temporary_files(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let rate = machine.rate("postgres.temp_files")?;
    if rate <= 1.0 {
        return fine(format!("{rate:.1} sorts a second go to the disk"));
    }
    let size = machine.size("postgres.work_mem").map_or("unknown".into(), show_bytes);
    advice(format!("{rate:.1} sorts or joins a second go to the disk; work_mem is {size}"))
        .gain("sorting and grouping stay in memory")
        .sure(Confidence::Medium)
        .fix(
            "find them with wick queries: an index often makes the sort needless. A larger work_mem \
             only for those (SET LOCAL work_mem), since each sort of each connection takes it",
        )
        .found()
}

fn vacuum(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let is_on = machine.is_on("postgres.autovacuum")?;
    let mut found = Vec::new();
    if !is_on {
        found.push(
            advice(
                "autovacuum is off: dead rows stay, and some day the server stops to save itself",
            )
            .class(Class::Danger)
            .gain("tables stay as large as what is in them")
            .fix("turn it on")
            .change(change(view, "autovacuum", "on")),
        );
    }
    let age = machine.now("postgres.oldest_xid");
    let most = machine.number("postgres.autovacuum_freeze_max_age");
    if let (Some(age), Some(most)) = (age, most)
        && age > most * 1.2
    {
        found.push(
            advice(format!(
                "the oldest transaction id is {age:.0} old, {most:.0} is when it should be frozen"
            ))
            .about("freezing")
            .class(Class::Danger)
            .gain("at two thousand million the server takes no writes any more")
            .fix(
                "see what holds it (long_transactions, replication slots, prepared transactions), \
                 then VACUUM (FREEZE) the oldest tables",
            ),
        );
    }
    if let Some(share) = machine.now("postgres.dead_share").filter(|&share| share > 0.3) {
        found.push(
            advice(format!("{} of the rows of a table are dead", percent(share)))
                .about("dead rows")
                .gain("each scan walks past them")
                .sure(Confidence::Medium)
                .fix(
                    "VACUUM (ANALYZE) it now (pg_stat_user_tables, n_dead_tup), and set \
                     autovacuum_vacuum_scale_factor = 0.05 for it",
                ),
        );
    }
    each(found, "autovacuum is on, and keeps up")
}

fn planner(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let cost = machine.number("postgres.random_page_cost")?;
    let cached = machine.size("postgres.effective_cache_size")?;
    let memory = machine.memory_bytes()?;
    let mut found = Vec::new();
    if cost >= 4.0 && machine.set("kernel.rotational") == Some("0") {
        found.push(
            advice(format!("random_page_cost is {cost}, and nothing turns here"))
                .about("random_page_cost")
                .gain("indexes are used where they are quicker")
                .sure(Confidence::Medium)
                .fix("what PostgreSQL's manual says of SSD")
                .change(change(view, "random_page_cost", "1.1")),
        );
    }
    if cached > memory {
        found.push(
            advice(format!(
                "effective_cache_size is {}, of {} of memory",
                show_bytes(cached),
                show_bytes(memory)
            ))
            .about("effective_cache_size")
            .class(Class::Latent)
            .gain("the planner doesn't take the disk for memory")
            .fix("half of the memory, which is what the page cache comes to")
            .change(change(
                view,
                "effective_cache_size",
                format!("{}MB", memory / 2 / MIB),
            )),
        );
    }
    each(found, format!("random_page_cost is {cost}, effective_cache_size {}", show_bytes(cached)))
}

fn slots(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let unread = machine.now("postgres.slots_unread")?;
    let is_unbound = machine.number("postgres.max_slot_wal_keep_size")? < 0.0;
    if unread == 0.0 || !is_unbound {
        return fine(match unread == 0.0 {
            true => "every replication slot is read, or there is none",
            false => "what a slot keeps has a bound (max_slot_wal_keep_size)",
        });
    }
    advice(format!(
        "{unread} replication slots are read by nobody, and all that is written is kept for them"
    ))
    .gain("the disk doesn't fill")
    .fix("let who owns it connect again, or SELECT pg_drop_replication_slot('name'); and bound it")
    .change(change(view, "max_slot_wal_keep_size", "4GB"))
    .found()
}

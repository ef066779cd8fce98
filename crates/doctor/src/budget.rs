//! One budget for all memory: the database, PHP's children, the opcode cache, tmpfs, Wick and
//! everybody else together, so that no two pieces of advice spend the same byte.
//!
//! In: a [`Machine`]. Out: what each part has now and what it should have.
//! Invariants: 1. what is advised is never more than nine tenths of the machine's memory, or of
//! its cgroup's; where that can't be had, nothing is advised. 2. what was advised, once applied,
//! is advised again: a second run has nothing to say.

use serde::Serialize;

use crate::machine::{Machine, Pool};
use crate::{temporary, trial};

/// The share of memory that may be planned for; the rest is the page cache's and the kernel's.
const SHARE: f64 = 0.9;
/// The least of a buffer pool that a database is of use with.
const BUFFER_POOL_MIN: u64 = 32 << 20;
/// A buffer pool is resized in such pieces.
const PIECE: u64 = 128 << 20;
/// Connections beside those of PHP's children: of people, jobs and backups.
const OTHER_CONNECTIONS: u64 = 10;
/// The part of them.
const DEFINITIONS: &str = "definitions of tables";
/// What the definition of a table takes, as kept by the server and by InnoDB: 20 KiB in MariaDB
/// 10.11 for one of 11 columns and 4 indexes, and half as much again to be safe.
const TABLE_DEFINITION_BYTES: u64 = 32 << 10;
/// Children for a core, at most: beyond it they only wait for each other.
const CHILDREN_PER_CORE: f64 = 16.0;

/// What memory one part has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Whose.
    pub name: String,
    /// What it may come to as it is set now.
    pub now_bytes: u64,
    /// What it should come to.
    pub advised_bytes: u64,
}

/// The children of one pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Children {
    /// Of which PHP.
    pub version: String,
    /// Of which pool.
    pub pool: String,
    /// `pm.max_children` now.
    pub now: u64,
    /// What it should be.
    pub advised: u64,
    /// What one has for itself, at the 95th percentile.
    pub each_bytes: u64,
    /// The same with what its connection to the database takes there.
    #[serde(skip)]
    cost_bytes: u64,
}

/// The whole plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// The machine's memory, or what its cgroup allows.
    pub limit_bytes: u64,
    /// What of it may be planned for.
    pub spendable_bytes: u64,
    /// Everybody's part.
    pub parts: Vec<Part>,
    /// The buffer pool of MariaDB or MySQL.
    pub buffer_pool: Option<(u64, u64)>,
    /// PHP's children.
    pub children: Vec<Children>,
    /// The opcode cache.
    pub opcache: Option<(u64, u64)>,
    /// Places for definitions of tables in MariaDB or MySQL.
    pub definitions: Option<(u64, u64)>,
    /// A tmpfs for temporary files, where one would help and fits.
    pub tmpfs_bytes: Option<u64>,
    /// Whether everything fits, if only by becoming smaller.
    pub is_solvent: bool,
    /// Whether how things are set now fits.
    pub fits_now: bool,
}

impl Budget {
    /// What everything may come to as it is set now.
    #[must_use]
    pub fn now_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.now_bytes).sum()
    }

    /// What everything may come to as it is advised.
    #[must_use]
    pub fn advised_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.advised_bytes).sum()
    }

    /// What nobody is given; nothing where not even all there is fits.
    #[must_use]
    pub fn left_bytes(&self) -> u64 {
        match self.is_solvent {
            true => self.spendable_bytes.saturating_sub(self.advised_bytes()),
            false => 0,
        }
    }

    /// Of a pool.
    #[must_use]
    pub fn children_of(&self, pool: &Pool) -> Option<&Children> {
        self.children.iter().find(|one| one.version == pool.version && one.pool == pool.name)
    }

    /// Solves it.
    #[must_use]
    pub fn of(machine: &Machine) -> Self {
        let Some(limit_bytes) = machine.memory_bytes() else { return Self::default() };
        let spendable_bytes = (limit_bytes as f64 * SHARE) as u64;
        let per_thread = per_connection_bytes(machine);
        let mut children = children(machine, per_thread);
        let opcache = opcache(machine);
        let mut parts = fixed(machine, &children, per_thread);
        let fixed: u64 = parts.iter().map(|part| part.now_bytes).sum();
        let (opcache_now, opcache_wanted) = opcache.unwrap_or((0, 0));
        let pool_now = machine
            .has_database()
            .then(|| machine.size("mysql.innodb_buffer_pool_size"))
            .flatten()
            .filter(|&bytes| bytes > 0);

        let all_children: u64 = children.iter().map(|one| one.now * one.cost_bytes).sum();
        let now = fixed + opcache_now + pool_now.unwrap_or(0) + all_children;
        let mut pool_advised = pool_now;
        let mut opcache_advised = opcache_now;
        let mut is_solvent = false;
        // A larger opcode cache is worth more than what it takes from others, where it fits.
        for wanted in [opcache_wanted, opcache_now] {
            let rest = spendable_bytes.checked_sub(fixed + wanted);
            is_solvent =
                rest.is_some_and(|rest| share_out(machine, rest, &mut children, &mut pool_advised));
            if is_solvent {
                opcache_advised = wanted;
                break;
            }
            children.iter_mut().for_each(|one| one.advised = one.now);
            pool_advised = pool_now;
        }
        let part = |name: &str, now_bytes, advised_bytes| Part {
            name: name.into(),
            now_bytes,
            advised_bytes,
        };
        if opcache.is_some() {
            parts.push(part("opcode cache", opcache_now, opcache_advised));
        }
        if let (Some(now), Some(advised)) = (pool_now, pool_advised) {
            parts.push(part("buffer pool", now, advised));
        }
        for one in &children {
            let name = format!("{} children of pool {}", one.advised, one.pool);
            parts.push(part(&name, one.now * one.cost_bytes, one.advised * one.cost_bytes));
        }
        let mut budget = Self {
            limit_bytes,
            spendable_bytes,
            parts,
            buffer_pool: pool_now.zip(pool_advised),
            children,
            opcache: opcache.map(|(now, _)| (now, opcache_advised)),
            definitions: None,
            tmpfs_bytes: None,
            is_solvent,
            fits_now: now <= spendable_bytes,
        };
        budget.spend_rest(machine);
        budget
    }

    /// What is still left goes to definitions of tables that lack a place, then to a tmpfs that
    /// fits as a whole.
    fn spend_rest(&mut self, machine: &Machine) {
        if let Some((now, wanted)) = definitions(machine) {
            let more = wanted.saturating_sub(now).min(self.left_bytes() / TABLE_DEFINITION_BYTES);
            self.definitions = Some((now, now + more));
            self.parts.iter_mut().filter(|part| part.name == DEFINITIONS).for_each(|part| {
                part.advised_bytes += more * TABLE_DEFINITION_BYTES;
            });
        }
        let wanted = temporary::tmpfs_wanted(machine);
        self.tmpfs_bytes = wanted.filter(|&bytes| bytes <= self.left_bytes());
        self.parts.extend(self.tmpfs_bytes.map(|bytes| Part {
            name: "a tmpfs for temporary files".into(),
            now_bytes: 0,
            advised_bytes: bytes,
        }));
    }
}

/// Places for definitions of tables: now, and as many as there are tables and a tenth, where all
/// are taken.
fn definitions(machine: &Machine) -> Option<(u64, u64)> {
    let now = machine.number("mysql.table_definition_cache").filter(|&now| now >= 1.0)?;
    let tables = machine.number("mysql.fact.tables")?;
    let is_full = machine.now("mysql.Open_table_definitions")? >= now * 0.95;
    let wanted = if is_full && tables > now { (tables * 1.1).ceil() } else { now };
    Some((now as u64, wanted as u64))
}

/// What a connection may take in MariaDB or MySQL beside the buffer pool.
fn per_connection_bytes(machine: &Machine) -> u64 {
    let buffers =
        ["sort_buffer_size", "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size"];
    let each = buffers.iter().chain(&["thread_stack"]);
    each.filter_map(|name| machine.size(&format!("mysql.{name}"))).sum()
}

/// Pools whose children were seen; of others nobody knows what a child takes.
fn children(machine: &Machine, per_connection: u64) -> Vec<Children> {
    let known = machine.pools.iter().filter_map(|pool| {
        let each_bytes = machine.child_bytes(&pool.name)?;
        let now = pool.children_max()?;
        let (version, name) = (pool.version.clone(), pool.name.clone());
        let cost_bytes = each_bytes + per_connection;
        Some(Children { version, pool: name, now, advised: now, each_bytes, cost_bytes })
    });
    known.collect()
}

/// The opcode cache as it is and as it is needed: half as much again as is used, where it is
/// nearly full.
fn opcache(machine: &Machine) -> Option<(u64, u64)> {
    let megabytes = machine.number("php.opcache.memory_consumption")?;
    let now = (megabytes.clamp(0.0, 1e6) as u64) << 20;
    let used = machine.now("opcache.memory_usage.used_memory");
    let Some(used) = used else { return Some((now, now)) };
    let restarts = machine.now("opcache.opcache_statistics.oom_restarts").unwrap_or(0.0);
    let wanted = ((used * 1.5) as u64).div_ceil(8 << 20) * (8 << 20);
    let is_tight = now > 0 && (used > now as f64 * 0.9 || restarts > 0.0);
    Some((now, if is_tight { now.max(wanted) } else { now }))
}

/// What nobody here decides about.
fn fixed(machine: &Machine, children: &[Children], per_connection: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut add = |name: &str, bytes: u64| {
        if bytes > 0 {
            parts.push(Part { name: name.into(), now_bytes: bytes, advised_bytes: bytes });
        }
    };
    let private = |wanted: &dyn Fn(&str, &str) -> bool| -> u64 {
        let each = machine.processes.iter().filter(|one| wanted(&one.name, one.title.trim()));
        each.filter_map(|one| one.private_bytes).sum()
    };
    let is_planned =
        |title: &str| children.iter().any(|one| title == format!("php-fpm: pool {}", one.pool));
    add("Wick", private(&|name, _| name == "wick"));
    add(
        "PHP outside known pools",
        private(&|name, title| name.starts_with("php-fpm") && !is_planned(title)),
    );
    let is_other = |name: &str| {
        name != "wick" && !name.starts_with("php-fpm") && name != "mariadbd" && name != "mysqld"
    };
    let database = private(&|name, _| name == "mariadbd" || name == "mysqld");
    let others = private(&|name, _| is_other(name)) + machine.others_bytes;
    add("other programs", if machine.has_database() { others } else { others + database });
    let jit = trial::jit_is_on(machine).filter(|&is_on| is_on);
    let jit = jit.and_then(|_| machine.size("php.opcache.jit_buffer_size"));
    add("PHP's JIT", jit.unwrap_or(0));
    let memory_file_systems = machine.file_systems.iter().filter(|one| one.kind == "tmpfs");
    add("tmpfs", memory_file_systems.map(|one| one.bytes.0.saturating_sub(one.bytes.1)).sum());
    if machine.has_database() {
        let caches = ["key_buffer_size", "innodb_log_buffer_size", "aria_pagecache_buffer_size"];
        let caches = caches.iter().filter_map(|name| machine.size(&format!("mysql.{name}"))).sum();
        add("the database's other caches", caches);
        // As many as there are tables may be kept at once.
        let tables = machine.number("mysql.fact.tables").unwrap_or(0.0);
        let places = machine.number("mysql.table_definition_cache").unwrap_or(0.0);
        let definitions = tables.min(places).max(0.0) as u64;
        add(DEFINITIONS, definitions.saturating_mul(TABLE_DEFINITION_BYTES));
        // Where PHP's children are known their connections are counted with them.
        let peak = machine.now("mysql.Max_used_connections").unwrap_or(0.0) as u64;
        let connections =
            if children.is_empty() { peak.max(OTHER_CONNECTIONS) } else { OTHER_CONNECTIONS };
        add("other connections to the database", connections.saturating_mul(per_connection));
    }
    let shared = machine.size("postgres.shared_buffers").unwrap_or(0);
    let sorts = machine.size("postgres.work_mem").unwrap_or(0);
    let clients = machine.now("postgres.connections").unwrap_or(0.0) as u64;
    add("PostgreSQL", shared.saturating_add(sorts.saturating_mul(clients)));
    parts
}

/// Shares `rest` out; whether it is enough.
fn share_out(
    machine: &Machine,
    rest: u64,
    children: &mut [Children],
    pool: &mut Option<u64>,
) -> bool {
    let total = |children: &[Children], pool: Option<u64>| -> u64 {
        pool.unwrap_or(0)
            + children.iter().map(|one| one.advised.saturating_mul(one.cost_bytes)).sum::<u64>()
    };
    if total(children, *pool) <= rest {
        grow(machine, rest - total(children, *pool), children, pool);
        return true;
    }
    let now: Vec<u64> = children.iter().map(|one| one.now).collect();
    let needed: Vec<u64> = children.iter().map(|one| needed(machine, one).min(one.now)).collect();
    let least = vec![1; children.len()];
    let pool_now = *pool;
    let pool_needed = pool_now.map(|now| now.min((now / 2).max(PIECE)));
    let pool_least = pool_now.map(|now| now.min(BUFFER_POOL_MIN));
    // Between what is set and what is needed first, then between that and the least.
    for (low, high, pool_low, pool_high) in
        [(&needed, &now, pool_needed, pool_now), (&least, &needed, pool_least, pool_needed)]
    {
        let cost = |counts: &[u64], pool: Option<u64>| -> u64 {
            let each = children.iter().zip(counts);
            pool.unwrap_or(0) + each.map(|(one, count)| count * one.cost_bytes).sum::<u64>()
        };
        let (bottom, top) = (cost(low, pool_low), cost(high, pool_high));
        if bottom > rest {
            continue;
        }
        let share = ((rest - bottom) as f64 / (top - bottom).max(1) as f64).min(1.0);
        for (one, (low, high)) in children.iter_mut().zip(low.iter().zip(high)) {
            one.advised = low + (high.saturating_sub(*low) as f64 * share) as u64;
        }
        if let (Some(low), Some(high)) = (pool_low, pool_high) {
            let bytes = low + (high.saturating_sub(low) as f64 * share) as u64;
            *pool = Some(whole_pieces(bytes).max(low.min(bytes)));
        }
        return total(children, *pool) <= rest;
    }
    false
}

/// Down to a size that the server keeps as it is: it rounds others up.
fn whole_pieces(bytes: u64) -> u64 {
    let piece = if bytes >= PIECE { PIECE } else { 1 << 20 };
    bytes / piece * piece
}

/// Children that were at work at once, and a third more; half of those that may be, where
/// nobody counted.
fn needed(machine: &Machine, children: &Children) -> u64 {
    match machine.now(&format!("fpm.{}.max active processes", children.pool)) {
        Some(active) => ((active.max(1.0) * 1.3).ceil() as u64).max(2),
        None => children.now.div_ceil(2),
    }
}

/// What is left goes to those who lack it: pools without a free child, then the database.
fn grow(machine: &Machine, mut left: u64, children: &mut [Children], pool: &mut Option<u64>) {
    let cores = machine.now("cpu.cores").unwrap_or(1.0);
    for one in children.iter_mut() {
        let wanted = children_wanted(machine, one).min((cores * CHILDREN_PER_CORE) as u64);
        let more = wanted.saturating_sub(one.now).min(left / one.cost_bytes.max(1));
        one.advised = one.now + more;
        left -= more * one.cost_bytes;
    }
    if let Some(now) = *pool {
        let wanted = buffer_pool_wanted(machine, now);
        // So large a piece is left out where there isn't all of it.
        let more = wanted.saturating_sub(now).min(left);
        let grown = whole_pieces(now + more);
        *pool = Some(if wanted < now { wanted } else { grown.max(now) });
    }
}

/// Little's law with a third to spare where times are known; half as many again where not.
fn children_wanted(machine: &Machine, children: &Children) -> u64 {
    let counter = |name: &str| format!("fpm.{}.{name}", children.pool);
    if !is_saturated(machine, &children.pool) {
        return children.now;
    }
    let rate = machine.rate(&counter("accepted conn"));
    let seconds = machine.now(&counter("request_us")).map(|us| us / 1e6);
    let by_load = rate.zip(seconds).map_or(0.0, |(rate, seconds)| 1.3 * rate * seconds);
    ((children.now as f64 * 1.5).max(by_load).min(1e6)).ceil() as u64
}

/// Whether requests found no child of a pool free, since it began or by its log.
#[must_use]
pub(crate) fn is_saturated(machine: &Machine, pool: &str) -> bool {
    ["listen queue", "max children reached", "log.children_max_reached"]
        .iter()
        .any(|name| machine.now(&format!("fpm.{pool}.{name}")).is_some_and(|times| times > 0.0))
}

/// How much of the buffer pool is free, from 0 to 1.
#[must_use]
pub(crate) fn buffer_pool_free(machine: &Machine) -> Option<f64> {
    let total = machine.now("mysql.Innodb_buffer_pool_pages_total").filter(|&total| total > 0.0)?;
    Some(machine.now("mysql.Innodb_buffer_pool_pages_free")? / total)
}

/// The share of time that reads which missed the buffer pool wait for the disk.
#[must_use]
pub(crate) fn buffer_pool_waits(machine: &Machine) -> Option<f64> {
    let turns = machine.set("kernel.rotational") == Some("1");
    let seconds = if turns { 0.008 } else { 0.0002 };
    Some(machine.rate("mysql.Innodb_buffer_pool_reads")? * seconds)
}

fn buffer_pool_wanted(machine: &Machine, now: u64) -> u64 {
    let Some(free) = buffer_pool_free(machine) else { return now };
    let data = machine.number("mysql.fact.innodb_bytes").unwrap_or(0.0);
    if free < 0.02 && buffer_pool_waits(machine).is_some_and(|share| share > 0.05) {
        // The data with a tenth of room, or twice what there is where nobody knows.
        let wanted = if data > 0.0 { (data * 1.1) as u64 } else { now.saturating_mul(2) };
        return wanted.div_ceil(PIECE).saturating_mul(PIECE).max(now);
    }
    let days = machine.now("mysql.Uptime").unwrap_or(0.0) / 86_400.0;
    if free > 0.2 && days > 7.0 && now > 2 * PIECE {
        let used = (now as f64 * (1.0 - free) * 1.15) as u64;
        return (used.div_ceil(PIECE) * PIECE).min(now);
    }
    now
}

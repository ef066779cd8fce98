//! One budget for all memory: the database, PHP's children, the opcode cache, tmpfs, Wick and
//! everybody else together, so that no two pieces of advice spend the same byte.
//!
//! In: a [`Machine`]. Out: what each part has now and what it should have.
//! Invariants: 1. what is advised is never more than nine tenths of the machine's memory, or of
//! its cgroup's; where that can't be had, nothing is advised. 2. what was advised, once applied,
//! is advised again: a second run has nothing to say.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::machine::{Machine, Pool, Process};
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
/// Children for a core, at most, where it isn't known what a request takes of it: beyond that they
/// only wait for each other.
const CHILDREN_PER_CORE: f64 = 16.0;
/// And at least, as a Wick starts them.
const CHILDREN_PER_CORE_MIN: f64 = 2.0;
/// Requests in the window from which on what they take of a processor says something.
const REQUESTS_MIN: f64 = 50.0;

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
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// By what it is counted.
    #[serde(skip)]
    pub(crate) counted: Pool,
    /// Why it shouldn't be more, where more were wanted.
    #[serde(skip)]
    pub(crate) bound: Option<Bound>,
}

/// What keeps a pool from having as many children as it wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// There is no memory for them.
    Memory,
    /// A request takes such a share of a processor.
    Processor(f64),
    /// There are [`CHILDREN_PER_CORE`].
    Cores,
}

/// A unit of systemd whose cgroup allows less than the machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitRoom {
    /// Its name.
    pub(crate) name: String,
    /// What its cgroup allows.
    pub(crate) limit_bytes: u64,
    /// What of that may be planned for.
    pub(crate) spendable_bytes: u64,
    /// What is set for it may come to.
    pub(crate) now_bytes: u64,
    /// How to make that less.
    pub(crate) smaller: &'static str,
}

/// The whole plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
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
    /// The opcode cache of the first php-fpm.
    pub opcache: Option<(u64, u64)>,
    /// Those of others, by what their pools bear.
    #[serde(skip)]
    pub(crate) opcaches: Vec<(String, u64, u64)>,
    /// Units that may come to have too little.
    #[serde(skip)]
    pub(crate) units: Vec<UnitRoom>,
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

    /// The plan as one php-fpm sees it.
    #[must_use]
    pub(crate) fn of_php(&self, version: &str) -> Self {
        let own = self.opcaches.iter().find(|(name, ..)| name == version);
        let mut budget = self.clone();
        if let Some((_, now, advised)) = own {
            budget.opcache = Some((*now, *advised));
        }
        budget
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
            opcaches: other_opcaches(machine).map(|(php, now, _)| (php, now, now)).collect(),
            units: units(machine, per_thread),
            definitions: None,
            tmpfs_bytes: None,
            is_solvent,
            fits_now: now <= spendable_bytes,
        };
        budget.spend_rest(machine);
        budget
    }

    /// What is still left goes to definitions of tables that lack a place, then to opcode caches of
    /// further php-fpm's, then to a tmpfs that fits as a whole.
    fn spend_rest(&mut self, machine: &Machine) {
        if let Some((now, wanted)) = definitions(machine) {
            let more = wanted.saturating_sub(now).min(self.left_bytes() / TABLE_DEFINITION_BYTES);
            self.definitions = Some((now, now + more));
            self.parts.iter_mut().filter(|part| part.name == DEFINITIONS).for_each(|part| {
                part.advised_bytes += more * TABLE_DEFINITION_BYTES;
            });
        }
        for (php, now, wanted) in other_opcaches(machine) {
            if wanted - now > self.left_bytes() {
                continue;
            }
            let name = opcode_cache_of(&php);
            self.parts.iter_mut().filter(|part| part.name == name).for_each(|part| {
                part.advised_bytes += wanted - now;
            });
            self.opcaches.iter_mut().filter(|one| one.0 == php).for_each(|one| one.2 = wanted);
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
        let each_bytes = machine.child_bytes(pool)?;
        let now = pool.children_max()?;
        let (version, name) = (pool.version.clone(), pool.name.clone());
        let cost_bytes = each_bytes + per_connection;
        let (advised, counted) = (now, pool.clone());
        Some(Children {
            version,
            pool: name,
            now,
            advised,
            each_bytes,
            cost_bytes,
            counted,
            bound: None,
        })
    });
    known.collect()
}

/// Opcode caches of all php-fpm's but the first: now, and as they are needed.
fn other_opcaches(machine: &Machine) -> impl Iterator<Item = (String, u64, u64)> {
    let others = machine.phps().into_iter().skip(1);
    others.filter_map(|php| {
        let (now, wanted) = opcache(&machine.of_php(php))?;
        Some((php.to_owned(), now, wanted))
    })
}

fn opcode_cache_of(php: &str) -> String {
    format!("opcode cache of PHP {php}")
}

/// Units of the database and of php-fpm's whose cgroup allows less than the machine has: what is
/// set for them, and what they may have.
fn units(machine: &Machine, per_connection: u64) -> Vec<UnitRoom> {
    let Some(all) = machine.memory_bytes() else { return Vec::new() };
    let room = |process: &Process, now_bytes, smaller| {
        let limit_bytes = process.allowed_bytes.filter(|&bytes| bytes < all)?;
        let spendable_bytes = (limit_bytes as f64 * SHARE) as u64;
        let name = process.unit.clone().unwrap_or_else(|| process.name.clone());
        Some(UnitRoom { name, limit_bytes, spendable_bytes, now_bytes, smaller })
    };
    let mut units = Vec::new();
    if let Some(process) = machine.database_process().filter(|_| machine.has_database()) {
        let pool = machine.size("mysql.innodb_buffer_pool_size").unwrap_or(0);
        let peak = machine.now("mysql.Max_used_connections").unwrap_or(0.0) as u64;
        let connections = peak.max(OTHER_CONNECTIONS).saturating_mul(per_connection);
        let now_bytes = pool.saturating_add(database_caches(machine)).saturating_add(connections);
        units.extend(room(process, now_bytes, "a smaller innodb_buffer_pool_size"));
    }
    for php in machine.phps() {
        let own = machine.of_php(php);
        let master = own.pools.iter().find_map(|pool| pool.master);
        let Some(process) = own.processes.iter().find(|one| Some(one.pid) == master) else {
            continue;
        };
        let children: u64 = own
            .pools
            .iter()
            .filter_map(|pool| own.child_bytes(pool)?.checked_mul(pool.children_max()?))
            .sum();
        let cache = opcache(&own).map_or(0, |(now, _)| now);
        units.extend(room(
            process,
            children.saturating_add(cache),
            "fewer children (pm.max_children)",
        ));
    }
    units
}

/// What of a database's memory has a size of its own, beside the buffer pool.
fn database_caches(machine: &Machine) -> u64 {
    let caches = ["key_buffer_size", "innodb_log_buffer_size", "aria_pagecache_buffer_size"];
    caches.iter().filter_map(|name| machine.size(&format!("mysql.{name}"))).sum()
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
    let private = |wanted: &dyn Fn(&str) -> bool| -> u64 {
        let each = machine.processes.iter().filter(|one| wanted(&one.name));
        each.filter_map(|one| one.private_bytes).sum()
    };
    // A cache that isn't full yet will be.
    let wicks = machine.processes.iter().filter(|one| one.name == "wick");
    let wicks = wicks.map(|one| one.private_bytes.max(one.planned_bytes).unwrap_or(0));
    add("Wick", wicks.sum());
    let planned: BTreeSet<u32> = children
        .iter()
        .flat_map(|one| machine.children_of(&one.counted))
        .map(|child| child.pid)
        .collect();
    let other_php = machine.processes.iter().filter(|one| one.name.starts_with("php-fpm"));
    let other_php = other_php.filter(|one| !planned.contains(&one.pid));
    add("PHP outside known pools", other_php.filter_map(|one| one.private_bytes).sum());
    for (php, now, _) in other_opcaches(machine) {
        add(&opcode_cache_of(&php), now);
    }
    let is_other = |name: &str| {
        name != "wick" && !name.starts_with("php-fpm") && name != "mariadbd" && name != "mysqld"
    };
    let database = private(&|name| name == "mariadbd" || name == "mysqld");
    let others = private(&is_other) + machine.others_bytes;
    add("other programs", if machine.has_database() { others } else { others + database });
    let jit = trial::jit_is_on(machine).filter(|&is_on| is_on);
    let jit = jit.and_then(|_| machine.size("php.opcache.jit_buffer_size"));
    add("PHP's JIT", jit.unwrap_or(0));
    let memory_file_systems = machine.file_systems.iter().filter(|one| one.kind == "tmpfs");
    add("tmpfs", memory_file_systems.map(|one| one.bytes.0.saturating_sub(one.bytes.1)).sum());
    if machine.has_database() {
        add("the database's other caches", database_caches(machine));
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
    match machine.now(&children.counted.counter("max active processes")) {
        Some(active) => ((active.max(1.0) * 1.3).ceil() as u64).max(2),
        None => children.now.div_ceil(2),
    }
}

/// What is left goes to those who lack it: pools without a free child, then the database.
fn grow(machine: &Machine, mut left: u64, children: &mut [Children], pool: &mut Option<u64>) {
    for one in children.iter_mut() {
        let wanted = children_wanted(machine, one);
        let (most, bound) = children_most(machine, &one.counted);
        let useful = wanted.min(most).saturating_sub(one.now);
        let room = left.min(unit_room(machine, &one.counted));
        let more = useful.min(room / one.cost_bytes.max(1));
        one.advised = one.now + more;
        one.bound = match () {
            () if one.advised >= wanted => None,
            () if more < useful => Some(Bound::Memory),
            () => Some(bound),
        };
        left -= more * one.cost_bytes;
    }
    if let Some(now) = *pool {
        let wanted = buffer_pool_wanted(machine, now);
        let unit = machine.database_process().and_then(|one| one.unit.as_ref());
        let unit = units(machine, per_connection_bytes(machine))
            .into_iter()
            .find(|one| Some(&one.name) == unit);
        let room =
            unit.map_or(u64::MAX, |unit| unit.spendable_bytes.saturating_sub(unit.now_bytes));
        // So large a piece is left out where there isn't all of it.
        let more = wanted.saturating_sub(now).min(left).min(room);
        let grown = whole_pieces(now + more);
        *pool = Some(if wanted < now { wanted } else { grown.max(now) });
    }
}

/// What the unit of a pool's php-fpm has left for further children.
fn unit_room(machine: &Machine, pool: &Pool) -> u64 {
    let process = machine.processes.iter().find(|one| Some(one.pid) == pool.master);
    let name = process.and_then(|one| one.unit.as_ref());
    let unit = units(machine, 0).into_iter().find(|one| Some(&one.name) == name);
    unit.map_or(u64::MAX, |unit| unit.spendable_bytes.saturating_sub(unit.now_bytes))
}

/// The most children of a pool that do any good, and why.
fn children_most(machine: &Machine, pool: &Pool) -> (u64, Bound) {
    let cores = machine.now("cpu.cores").unwrap_or(1.0);
    match processor_share(machine, pool) {
        Some(share) => {
            let most = (cores / share).max(cores * CHILDREN_PER_CORE_MIN);
            (most.ceil() as u64, Bound::Processor(share))
        }
        None => ((cores * CHILDREN_PER_CORE) as u64, Bound::Cores),
    }
}

/// The share of its time in which a request has a processor: what the children had of one in the
/// window, of the time that requests took.
fn processor_share(machine: &Machine, pool: &Pool) -> Option<f64> {
    let beginning = pool.counter("child.");
    let children = machine.now.range(beginning.clone()..);
    let children = children.take_while(|(name, _)| name.starts_with(&beginning));
    let (mut seconds, mut requests) = (0.0, 0.0);
    for child in children.filter_map(|(name, _)| name.strip_suffix(".cpu_seconds")) {
        if let (Some(had), Some(answered)) = (
            machine.grown(&format!("{child}.cpu_seconds")),
            machine.grown(&format!("{child}.requests")),
        ) {
            seconds += had;
            requests += answered;
        }
    }
    let took = machine.now(&pool.counter("request_mean_us"))? / 1e6 * requests;
    // Of a few nobody knows how typical they are; one that takes no processor at all was too short.
    (requests >= REQUESTS_MIN && took > 0.0).then(|| (seconds / took).clamp(0.02, 1.0))
}

/// Little's law with a third to spare where times are known; half as many again where not.
fn children_wanted(machine: &Machine, children: &Children) -> u64 {
    let pool = &children.counted;
    if !is_saturated(machine, pool) {
        return children.now;
    }
    let rate = machine.rate(&pool.counter("accepted conn"));
    let seconds = machine.now(&pool.counter("request_us")).map(|us| us / 1e6);
    let by_load = rate.zip(seconds).map_or(0.0, |(rate, seconds)| 1.3 * rate * seconds);
    ((children.now as f64 * 1.5).max(by_load).min(1e6)).ceil() as u64
}

/// Whether requests found no child of a pool free, since it began or by its log.
#[must_use]
pub(crate) fn is_saturated(machine: &Machine, pool: &Pool) -> bool {
    ["listen queue", "max children reached", "log.children_max_reached"]
        .iter()
        .any(|name| machine.now(&pool.counter(name)).is_some_and(|times| times > 0.0))
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

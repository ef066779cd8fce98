//! What holds for any machine: advice never spends more memory than there is, never contradicts
//! itself, php-fpm starts with it, and a second run has nothing to say about what was applied.
//!
//! Machines are drawn from seeds; one that breaks a promise prints its seed.

use doctor::checks::{Examination, examine};
use doctor::{Budget, Change, Machine, Place, Pool, Process};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const SEEDS: u64 = 3000;
const MIB: u64 = 1 << 20;

/// A machine that may be far too small for what is set on it, or idle, or full.
fn machine(seed: u64) -> Machine {
    let mut dice = StdRng::seed_from_u64(seed);
    let mut machine = Machine { window_seconds: 60.0, ..Machine::default() };
    let total = (256 * MIB) << dice.random_range(0..9);
    let mut count = |name: &str, value: f64| {
        machine.now.insert(name.into(), value);
    };
    count("meminfo.MemTotal", total as f64);
    count("meminfo.MemAvailable", total as f64 * dice.random_range(0.0..1.0));
    count("cpu.cores", f64::from(dice.random_range(1..64)));
    if dice.random_bool(0.3) {
        count("cgroup.memory.max", total as f64 * dice.random_range(0.05..1.5));
    }
    machine.before.insert("disks.written_bytes".into(), 0.0);
    machine.now.insert("disks.written_bytes".into(), dice.random_range(0.0..1e10));
    machine.now.insert("psi.io.some.avg60".into(), dice.random_range(0.0..10.0));
    machine.others_bytes = dice.random_range(0..total / 4);
    if dice.random_bool(0.8) {
        database(&mut machine, &mut dice, total);
    }
    for name in ["www", "shop"].iter().take(dice.random_range(0..=2)) {
        pool(&mut machine, &mut dice, name);
    }
    if dice.random_bool(0.7) {
        let megabytes = dice.random_range(8..512u64);
        machine.settings.insert("php.opcache.memory_consumption".into(), megabytes.to_string());
        machine.settings.insert("php.opcache.enable".into(), "1".into());
        let used = (megabytes * MIB) as f64 * dice.random_range(0.1..1.0);
        machine.now.insert("opcache.memory_usage.used_memory".into(), used);
        let restarts = f64::from(dice.random_range(0..2));
        machine.now.insert("opcache.opcache_statistics.oom_restarts".into(), restarts);
    }
    machine
}

fn database(machine: &mut Machine, dice: &mut StdRng, total: u64) {
    let mut set = |name: &str, value: u64| {
        machine.settings.insert(format!("mysql.{name}"), value.to_string());
    };
    set("innodb_buffer_pool_size", dice.random_range(5 * MIB..total * 2));
    set("sort_buffer_size", dice.random_range(0..8 * MIB));
    set("join_buffer_size", dice.random_range(0..4 * MIB));
    set("max_connections", dice.random_range(10..1000));
    set("table_open_cache", dice.random_range(10..8000));
    set("open_files_limit", dice.random_range(100..100_000));
    set("thread_cache_size", dice.random_range(0..200));
    set("innodb_io_capacity", dice.random_range(100..5000));
    set("innodb_log_buffer_size", dice.random_range(MIB..400 * MIB));
    set("innodb_log_file_size", dice.random_range(MIB..4096 * MIB));
    set("long_query_time", dice.random_range(0..11));
    set("table_definition_cache", dice.random_range(400..4000));
    set("fact.tables", dice.random_range(0..1_000_000));
    set("fact.innodb_bytes", dice.random_range(0..total * 4));
    let on = |dice: &mut StdRng| if dice.random_bool(0.5) { "ON" } else { "OFF" };
    for name in ["slow_query_log", "skip_name_resolve", "query_cache_type", "log_bin"] {
        machine.settings.insert(format!("mysql.{name}"), on(dice).into());
    }
    machine.settings.insert("mysql.version".into(), "10.11.6-MariaDB".into());
    machine.settings.insert("kernel.rotational".into(), "0".into());
    for name in
        ["Innodb_buffer_pool_reads", "Opened_tables", "Select_full_join", "Aria_pagecache_writes"]
    {
        let name = format!("mysql.{name}");
        machine.before.insert(name.clone(), 0.0);
        machine.now.insert(name, f64::from(dice.random_range(0..50_000)));
    }
    machine.now.insert("mysql.Open_table_definitions".into(), dice.random_range(300.0..4000.0));
    let pages = 10_000.0;
    machine.now.insert("mysql.Innodb_buffer_pool_pages_total".into(), pages);
    let free = pages * [0.0, 0.01, 0.5][dice.random_range(0..3)];
    machine.now.insert("mysql.Innodb_buffer_pool_pages_free".into(), free);
    machine.now.insert("mysql.Uptime".into(), f64::from(dice.random_range(0..2_000_000)));
    machine.now.insert("mysql.Max_used_connections".into(), f64::from(dice.random_range(1..500)));
    machine.now.insert("mysql.Innodb_os_log_written".into(), dice.random_range(0.0..1e12));
}

fn pool(machine: &mut Machine, dice: &mut StdRng, name: &str) {
    let mut pool = Pool { version: "8.2".into(), name: name.into(), ..Pool::default() };
    let mut set = |name: &str, value: String| drop(pool.settings.insert(name.into(), value));
    let most: u64 = dice.random_range(1..400);
    let spare = dice.random_range(1..=most);
    let least = dice.random_range(1..=spare);
    set("pm.max_children", most.to_string());
    set("pm", ["static", "dynamic", "ondemand"][dice.random_range(0..3)].into());
    set("pm.max_spare_servers", spare.to_string());
    set("pm.min_spare_servers", least.to_string());
    set("pm.start_servers", dice.random_range(least..=spare).to_string());
    set("listen", "/run/php/a.sock".into());
    machine.pools.push(pool);
    for child in 0..dice.random_range(0..5) {
        let (requests, size) = (
            format!("fpm.{name}.child.{child}.requests"),
            format!("fpm.{name}.child.{child}.private_bytes"),
        );
        for (counters, least) in [(&mut machine.before, 0), (&mut machine.now, 500)] {
            let answered = f64::from(dice.random_range(least..least + 500));
            counters.insert(requests.clone(), answered);
            counters.insert(size.clone(), dice.random_range(1e6..1e9));
        }
        machine.processes.push(Process {
            title: format!("php-fpm: pool {name}"),
            name: "php-fpm8.2".into(),
            private_bytes: Some(dice.random_range(2 * MIB..300 * MIB)),
            ..Process::default()
        });
    }
    if dice.random_bool(0.5) {
        for (counter, most) in
            [("max active processes", 400), ("max children reached", 3), ("listen queue", 2)]
        {
            let value = f64::from(dice.random_range(0..most));
            machine.now.insert(format!("fpm.{name}.{counter}"), value);
        }
    }
}

fn look(machine: &Machine) -> (Budget, Examination) {
    let budget = Budget::of(machine);
    let examination = examine(machine, &budget);
    (budget, examination)
}

fn changes(examination: &Examination) -> Vec<Change> {
    examination.findings.iter().flat_map(|finding| finding.fix.changes.clone()).collect()
}

/// The machine with what was advised. Whoever is reloaded counts from zero.
fn applied(mut machine: Machine, changes: &[Change]) -> Machine {
    for Change { place, name, new, .. } in changes {
        match place {
            Place::Kernel => drop(machine.settings.insert(format!("kernel.{name}"), new.clone())),
            Place::Php(_) => drop(machine.settings.insert(format!("php.{name}"), new.clone())),
            Place::Database => drop(machine.settings.insert(format!("mysql.{name}"), new.clone())),
            Place::Pool(_, pool) => {
                let wanted = machine.pools.iter_mut().filter(|one| one.name == *pool);
                wanted.for_each(|one| drop(one.settings.insert(name.clone(), new.clone())));
            }
            Place::Postgres => {
                drop(machine.settings.insert(format!("postgres.{name}"), new.clone()))
            }
            Place::Unit(_) => (),
        }
    }
    let keeps = |name: &String| !name.starts_with("fpm.") && !name.starts_with("mysql.");
    machine.now.retain(|name, _| keeps(name));
    machine.before.retain(|name, _| keeps(name));
    machine
}

#[test]
fn no_advice_spends_more_than_there_is() {
    let (mut shrunk, mut defined, mut with_tmpfs) = (0, 0, 0);
    for seed in 0..SEEDS {
        let machine = machine(seed);
        let (budget, examination) = look(&machine);
        let limit = machine.memory_bytes().expect("it has memory") as f64 * 0.9;
        if budget.is_solvent {
            assert!(budget.advised_bytes() as f64 <= limit, "seed {seed}: {budget:?}");
            shrunk += u32::from(!budget.fits_now);
        } else {
            assert!(!budget.fits_now, "seed {seed}");
            let sizes =
                ["pm.max_children", "innodb_buffer_pool_size", "opcache.memory_consumption"];
            let told = changes(&examination);
            assert!(!told.iter().any(|one| sizes.contains(&one.name.as_str())), "seed {seed}");
        }
        defined += u32::from(budget.definitions.is_some_and(|(now, advised)| now < advised));
        with_tmpfs += u32::from(budget.tmpfs_bytes.is_some());
        // What is advised without the budget's leave isn't memory.
        for change in changes(&examination) {
            if change.name == "innodb_buffer_pool_size" {
                let bytes: u64 = change.new.parse().expect("a number");
                assert_eq!(
                    Some(bytes),
                    budget.buffer_pool.map(|(_, advised)| advised),
                    "seed {seed}"
                );
            }
            if change.name == "table_definition_cache" {
                let places = budget.definitions.map(|(_, advised)| advised.to_string());
                assert_eq!(Some(change.new), places, "seed {seed}");
            }
        }
    }
    assert!(shrunk > SEEDS as u32 / 10, "hardly any machine was too small: {shrunk}");
    assert!(defined > 20 && with_tmpfs > 20, "hardly anything was given: {defined}, {with_tmpfs}");
}

#[test]
fn no_two_pieces_of_advice_touch_one_setting() {
    for seed in 0..SEEDS {
        let (_, examination) = look(&machine(seed));
        let mut all: Vec<_> =
            changes(&examination).into_iter().map(|one| (one.place, one.name)).collect();
        all.sort();
        let told = all.len();
        all.dedup();
        assert_eq!(told, all.len(), "seed {seed}");
    }
}

#[test]
fn php_starts_with_what_is_advised() {
    for seed in 0..SEEDS {
        let before = machine(seed);
        let advised = changes(&look(&before).1);
        for pool in applied(before, &advised).pools {
            let number = |name: &str| pool.settings[name].parse::<u64>().expect("a number");
            let (most, least, max) = (
                number("pm.max_children"),
                number("pm.min_spare_servers"),
                number("pm.max_spare_servers"),
            );
            assert!(most >= 1, "seed {seed}");
            if pool.settings["pm"] == "dynamic" {
                let start = number("pm.start_servers");
                let starts = 1 <= least && least <= start && start <= max && max <= most;
                assert!(starts, "seed {seed}: {:?}", pool.settings);
            }
        }
    }
}

#[test]
fn a_second_run_has_nothing_to_say_about_what_was_applied() {
    for seed in 0..SEEDS {
        let before = machine(seed);
        let first = changes(&look(&before).1);
        let after = applied(before, &first);
        let second = changes(&look(&after).1);
        let again = second.iter().find(|change| {
            first.iter().any(|one| one.place == change.place && one.name == change.name)
        });
        assert!(again.is_none(), "seed {seed}: {again:?} after {first:?}");
    }
}

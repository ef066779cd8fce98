//! Databases: connections, tables, what is logged.

use super::{Advice, Check, Verdict, View, advice, each, fine, percent, unseen};
use crate::finding::{Change, Class, Confidence, Place};

pub(super) const CHECKS: &[Check] = &[
    Check {
        number: 31,
        id: "connections",
        class: Class::Refusing,
        needs: "the status of a database",
        formula: "the most at once > 85 % of max_connections",
        source: "mysqltuner; MySQL manual, max_connections",
        judge: connections,
    },
    Check {
        number: 32,
        id: "temporary_tables",
        class: Class::Slow,
        needs: "1000 temporary tables of MariaDB or MySQL",
        formula: "on disk > 25 % → queries; tmp_table_size ≤ max_heap_table_size",
        source: "mysqltuner; MySQL manual, internal temporary tables",
        judge: temporary_tables,
    },
    Check {
        number: 33,
        id: "table_caches",
        class: Class::Slow,
        needs: "Opened_tables over the window",
        formula: "opens > 1/s and all places taken → twice, as far as open_files_limit goes; \
                  the same of definitions → table_definition_cache ≥ tables",
        source: "MySQL manual, table_open_cache, table_definition_cache",
        judge: table_caches,
    },
    Check {
        number: 34,
        id: "database_files",
        class: Class::Latent,
        needs: "open_files_limit, and how many are open",
        formula: "limit ≥ max(10 + connections + 2 × cache, 5 × connections); use ≤ 85 %",
        source: "MySQL manual, open_files_limit",
        judge: files,
    },
    Check {
        number: 35,
        id: "thread_cache",
        class: Class::Slow,
        needs: "100 connections to MariaDB or MySQL",
        formula: "1 − Threads_created ÷ Connections ≤ 50 %",
        source: "mysqltuner; MySQL manual, thread_cache_size",
        judge: threads,
    },
    Check {
        number: 36,
        id: "full_joins",
        class: Class::Slow,
        needs: "Select_full_join over the window",
        formula: "> 0 → queries; never a larger join_buffer_size",
        source: "MySQL manual, Select_full_join",
        judge: full_joins,
    },
    Check {
        number: 37,
        id: "query_cache",
        class: Class::Slow,
        needs: "the variables of MariaDB or MySQL",
        formula: "query_cache_type is off, or there is none; MySQL 8: nor a line for it in a my.cnf",
        source: "MariaDB query cache; removed from MySQL 8.0",
        judge: query_cache,
    },
    Check {
        number: 38,
        id: "long_transactions",
        class: Class::Latent,
        needs: "information_schema.innodb_trx, or pg_stat_activity",
        formula: "the oldest > 60 s; bad > 3600 s",
        source: "MySQL manual, purge; PostgreSQL manual, vacuum",
        judge: transactions,
    },
    Check {
        number: 39,
        id: "name_resolution",
        class: Class::Latent,
        needs: "mysql.user",
        formula: "skip_name_resolve where all grants are by address or localhost",
        source: "MySQL manual, skip_name_resolve",
        judge: names,
    },
    Check {
        number: 40,
        id: "myisam",
        class: Class::Latent,
        needs: "information_schema.tables",
        formula: "any table of a site is MyISAM",
        source: "MySQL manual, converting tables to InnoDB",
        judge: myisam,
    },
    Check {
        number: 41,
        id: "slow_log",
        class: Class::Latent,
        needs: "the variables of a database",
        formula: "on, from 1 s or less, with extended fields (MariaDB: log_slow_verbosity, MySQL from \
                  8.0.14: log_slow_extra)",
        source: "MariaDB slow query log; MySQL manual, log_slow_extra; PostgreSQL manual, \
                 log_min_duration_statement",
        judge: slow_log,
    },
    Check {
        number: 42,
        id: "binlog_expiry",
        class: Class::Latent,
        needs: "the variables of MariaDB or MySQL",
        formula: "where there is a binary log, it expires",
        source: "MySQL manual, binlog_expire_logs_seconds",
        judge: binlog,
    },
];

/// A change of a variable.
pub(super) fn change(view: &View<'_>, name: &str, new: impl ToString) -> Change {
    let old = view.machine.set(&format!("mysql.{name}")).map(str::to_owned);
    Change { place: Place::Database, name: name.to_owned(), old, new: new.to_string() }
}

fn connections(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if let (Some(now), Some(most)) =
        (machine.now("postgres.connections"), machine.number("postgres.max_connections"))
        && now > most * 0.85
    {
        return advice(format!("PostgreSQL has {now} of {most} connections"))
            .gain("nobody is refused")
            .fix("a pooler such as pgbouncer rather than more: each takes a process and work_mem")
            .found();
    }
    let most = machine.number("mysql.max_connections").filter(|&most| most > 0.0)?;
    let peak = machine.now("mysql.Max_used_connections")?;
    if peak <= most * 0.85 {
        return fine(format!("{peak} of {most} were the most at once"));
    }
    let found = advice(format!("{peak} of {most} connections were in use at once"))
        .gain("no page says \"Too many connections\" in a burst")
        .sure(view.database_confidence());
    if view.machine.pools.iter().any(|pool| pool.children_max().is_some()) {
        return found
            .fix(
                "as many as PHP's children may open are in database_slots; who else holds \
                  connections, shows SHOW PROCESSLIST",
            )
            .found();
    }
    found
        .fix("a third more")
        .changes([change(view, "max_connections", (most * 1.3).ceil())])
        .found()
}

fn temporary_tables(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let all = machine.now("mysql.Created_tmp_tables")?;
    let on_disk = machine.now("mysql.Created_tmp_disk_tables")?;
    let (size, heap) =
        (machine.size("mysql.tmp_table_size")?, machine.size("mysql.max_heap_table_size")?);
    if size > heap {
        return advice(format!(
            "tmp_table_size {size} is above max_heap_table_size {heap}, which counts"
        ))
        .class(Class::Latent)
        .gain("what is set is what counts")
        .fix("the same for both")
        .changes([change(view, "tmp_table_size", heap)])
        .found();
    }
    if all < 1000.0 {
        return unseen(format!("only {all} temporary tables were made so far"));
    }
    let share = on_disk / all;
    if share <= 0.25 {
        return fine(format!("{} of {all} temporary tables were on disk", percent(share)));
    }
    advice(format!("{} of {all} temporary tables were on disk", percent(share)))
        .gain("sorting and grouping stay in memory")
        .sure(view.database_confidence())
        .fix(
            "see which queries make them (wick queries): most sort or group long texts, which no \
              larger tmp_table_size helps",
        )
        .found()
}

fn table_caches(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let rate = machine.rate("mysql.Opened_tables")?;
    let now = machine.number("mysql.table_open_cache")?;
    let open = machine.now("mysql.Open_tables").unwrap_or(now);
    let is_short = rate > 1.0 && open >= now * 0.95;
    let found = is_short.then(|| open_tables(view, rate, now)).into_iter();
    let found: Vec<Advice> = found.chain(definitions(view)).collect();
    let definitions = match machine.number("mysql.table_definition_cache") {
        Some(most) => format!(", and {most} definitions may be kept"),
        None => String::new(),
    };
    each(found, format!("{rate:.1} tables a second are opened, {open} of {now} are{definitions}"))
}

fn open_tables(view: &View<'_>, rate: f64, now: f64) -> Advice {
    let machine = view.machine;
    let files = machine.number("mysql.open_files_limit").unwrap_or(0.0);
    let connections = machine.number("mysql.max_connections").unwrap_or(0.0);
    let room = ((files - connections - 10.0) / 2.0).max(0.0);
    let wanted = (now * 2.0).min(room).floor();
    let found = advice(format!(
        "{rate:.1} tables a second are opened, since all of {now} places are taken"
    ))
    .gain("queries don't wait for tables to be opened")
    .sure(view.database_confidence());
    match wanted > now {
        true => found.fix("twice as many").change(change(view, "table_open_cache", wanted)),
        false => found.fix("first a higher open_files_limit (database_files)"),
    }
}

/// A cache of definitions that is full and smaller than there are tables, so that one takes
/// another's place. One that is full after a dump of all tables lacks nothing.
fn definitions(view: &View<'_>) -> Option<Advice> {
    let machine = view.machine;
    let now = machine.number("mysql.table_definition_cache")?;
    let tables = machine.number("mysql.fact.tables")?;
    let open = machine.now("mysql.Open_table_definitions")?;
    let rate = machine.rate("mysql.Opened_table_definitions")?;
    if now >= tables || open < now * 0.95 || rate <= 1.0 {
        return None;
    }
    let found = advice(format!(
        "{tables} tables have {now} places for their definitions, all of which are taken: \
         {rate:.1} a second are read from their files"
    ))
    .about("definitions")
    .gain("no table's definition is read from its file again")
    .sure(view.database_confidence());
    let (_, advised) = view.budget.definitions?;
    Some(match advised as f64 > now {
        true => found
            .fix("as many as there are tables and a tenth, as far as memory allows")
            .change(change(view, "table_definition_cache", advised)),
        false => found.fix("there is no memory for more: see joint_memory"),
    })
}

fn files(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let limit = machine.number("mysql.open_files_limit").filter(|&limit| limit > 0.0)?;
    let connections = machine.number("mysql.max_connections")?;
    let cache = machine.number("mysql.table_open_cache")?;
    let wanted = (10.0 + connections + 2.0 * cache).max(5.0 * connections);
    let open = machine.now("mysql.Open_files").unwrap_or(0.0);
    if limit >= wanted && open <= limit * 0.85 {
        return fine(format!("{open} of {limit} are open, and {wanted} may be wanted"));
    }
    let wanted = wanted.max(open * 2.0).ceil();
    let found = advice(format!("{open} of {limit} are open, and {wanted} may be wanted"))
        .gain("no query fails for want of a file")
        .fix("a limit of the unit, which the server takes as its own");
    let server =
        machine.processes.iter().find(|one| one.name == "mariadbd" || one.name == "mysqld");
    let unit = server.and_then(|server| server.unit.clone());
    let change = unit.map(|unit| Change {
        place: Place::Unit(unit),
        name: "LimitNOFILE".into(),
        old: Some(limit.to_string()),
        new: wanted.to_string(),
    });
    found.changes(change).found()
}

fn threads(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if machine.set("mysql.thread_handling") == Some("pool-of-threads") {
        return fine("a pool of threads serves the connections");
    }
    let connections = machine.now("mysql.Connections")?;
    let made = machine.now("mysql.Threads_created")?;
    if connections < 100.0 {
        return unseen(format!("only {connections} connections came so far"));
    }
    let hits = 1.0 - made / connections;
    let now = machine.number("mysql.thread_cache_size")?;
    if hits > 0.5 {
        return fine(format!("{} of connections found a thread", percent(hits)));
    }
    let wanted = machine.now("mysql.Max_used_connections").unwrap_or(0.0).clamp(16.0, 256.0);
    let found =
        advice(format!("{} of connections found a thread, of {now} that are kept", percent(hits)))
            .gain("a connection is made without a new thread")
            .sure(view.database_confidence());
    match wanted > now {
        true => found
            .fix("as many as are in use at once")
            .changes([change(view, "thread_cache_size", wanted)])
            .found(),
        false => found.fix("let PHP keep its connections for a request: it opens several").found(),
    }
}

fn full_joins(view: &View<'_>) -> Option<Verdict> {
    let grown = view.machine.grown("mysql.Select_full_join")?;
    if grown == 0.0 {
        return fine("no join went through a whole table in the window");
    }
    advice(format!(
        "{grown} times a join went through a whole table in {:.0} s",
        view.machine.window_seconds
    ))
    .gain("an index makes such a query quicker by the size of the table")
    .sure(Confidence::Medium)
    .fix(
        "find them with wick queries and give them an index; a larger join_buffer_size only \
              takes memory of each connection",
    )
    .found()
}

fn query_cache(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    machine.set("mysql.version")?;
    let Some(kind) = machine.set("mysql.query_cache_type") else {
        return each(query_cache_lines(view), "this server has none");
    };
    let size = machine.size("mysql.query_cache_size").unwrap_or(0);
    if size == 0 || ["OFF", "0"].contains(&kind.to_ascii_uppercase().as_str()) {
        return fine("it is off");
    }
    advice(format!(
        "it is {kind} with {size} bytes, and each write to a table empties it under one lock"
    ))
    .gain("queries on several cores don't wait for each other")
    .fix("turn it off; pages are better kept by Wick")
    .changes([change(view, "query_cache_type", "OFF"), change(view, "query_cache_size", 0)])
    .found()
}

/// What MySQL 8 doesn't know: unless such a line begins with `loose-`, it doesn't start with it.
fn query_cache_lines(view: &View<'_>) -> Vec<Advice> {
    let machine = view.machine;
    if machine.is_mariadb() || machine.database_version() < (8, 0) {
        return Vec::new();
    }
    let lines = machine.directives.iter().filter(|one| one.name.starts_with("mysqld.query_cache_"));
    let told = lines.map(|line| {
        let name = line.name.trim_start_matches("mysqld.");
        advice(format!(
            "{}:{} sets {name}, which is gone since MySQL 8.0: but for loose- before it the server \
             doesn't start with it",
            line.file, line.line
        ))
        .about(name)
        .class(Class::Latent)
        .gain("the server starts, also when that file is read next")
        .fix("drop the option")
        .revert("write the line again")
    });
    told.collect()
}

fn transactions(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let mysql = machine.number("mysql.fact.transaction_seconds");
    let seconds = mysql.into_iter().chain(machine.now("postgres.transaction_seconds"));
    let oldest = seconds.reduce(f64::max)?;
    if oldest <= 60.0 {
        return fine(format!("the oldest transaction is {oldest:.0} s old"));
    }
    let class = if oldest > 3600.0 { Class::Slow } else { Class::Latent };
    advice(format!(
        "a transaction has been open for {oldest:.0} s: what it may still want to see is \
                    kept, and every query walks past it"
    ))
    .class(class)
    .gain("old rows are removed again")
    .fix(
        "find whose it is (information_schema.innodb_trx or pg_stat_activity), end it, and mend \
              what leaves it open",
    )
    .found()
}

fn names(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let is_skipped = machine.is_on("mysql.skip_name_resolve")?;
    if is_skipped || machine.is_on("mysql.skip_networking") == Some(true) {
        return fine("nobody's address is looked up");
    }
    if machine
        .set("mysql.bind_address")
        .is_some_and(|address| ["127.0.0.1", "::1", "localhost"].contains(&address))
    {
        return fine("only this machine can connect, whose name is known");
    }
    let by_name = machine.number("mysql.fact.hosts_by_name")?;
    if by_name > 0.0 {
        return fine(format!(
            "{by_name} users may come from hosts by name, so names are looked up"
        ));
    }
    advice("each new connection over the network waits for a name server, although no user is bound to \
            a name")
        .gain("the database answers while a name server doesn't")
        .fix("look up no names")
        .changes([change(view, "skip_name_resolve", "ON")])
        .found()
}

fn myisam(view: &View<'_>) -> Option<Verdict> {
    let tables = view.machine.number("mysql.fact.myisam_tables")?;
    if tables == 0.0 {
        return fine("no table of a site is MyISAM");
    }
    advice(format!(
        "tables that are MyISAM: {tables}; a write locks all of one, and a crash may break it"
    ))
    .gain("reads don't wait for writes")
    .sure(Confidence::Medium)
    .fix("after a backup, for each: ALTER TABLE name ENGINE=InnoDB")
    .revert("ALTER TABLE name ENGINE=MyISAM")
    .found()
}

fn slow_log(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if let Some(ms) = machine.number("postgres.log_min_duration_statement")
        && !(0.0..=1000.0).contains(&ms)
    {
        return advice("PostgreSQL doesn't log statements that take a second")
            .gain("slow queries are known before visitors tell of them")
            .fix("log what takes a second or more")
            .change(super::postgres::change(view, "log_min_duration_statement", "1s"))
            .found();
    }
    let Some(is_on) = machine.is_on("mysql.slow_query_log") else {
        machine.set("postgres.log_min_duration_statement")?;
        return fine("PostgreSQL logs statements that take a second");
    };
    let seconds = machine.number("mysql.long_query_time").unwrap_or(10.0);
    let is_terse = machine.set("mysql.log_slow_verbosity").is_some_and(str::is_empty);
    let is_plain = machine.is_on("mysql.log_slow_extra") == Some(false);
    if is_on && seconds <= 1.0 && !is_terse && !is_plain {
        return fine(format!("queries of {seconds} s are logged"));
    }
    let mut changes = Vec::new();
    if !is_on {
        changes.push(change(view, "slow_query_log", "ON"));
    }
    if seconds > 1.0 {
        changes.push(change(view, "long_query_time", 1));
    }
    if is_terse {
        changes.push(change(view, "log_slow_verbosity", "query_plan,explain"));
    }
    if is_plain {
        changes.push(change(view, "log_slow_extra", "ON"));
    }
    if is_on && seconds <= 1.0 {
        return advice("the slow log tells times and rows only, not how a query found them")
            .gain(
                "which queries walk through whole tables, and why, is known; wick queries reads it",
            )
            .fix("log plans too")
            .changes(changes)
            .found();
    }
    let state = if is_on { format!("begins at {seconds} s") } else { "is off".into() };
    advice(format!("the slow log {state}"))
        .gain("slow queries are known before visitors tell of them; wick queries reads it")
        .fix("log what takes a second or more")
        .changes(changes)
        .found()
}

fn binlog(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    if machine.is_on("mysql.log_bin")? {
        let days = machine.number("mysql.expire_logs_days").unwrap_or(0.0);
        let seconds = machine.number("mysql.binlog_expire_logs_seconds").unwrap_or(0.0);
        if days <= 0.0 && seconds <= 0.0 {
            let name = match machine.set("mysql.binlog_expire_logs_seconds") {
                Some(_) => ("binlog_expire_logs_seconds", 604_800),
                None => ("expire_logs_days", 7),
            };
            return advice("the binary log is kept for ever")
                .gain("the disk doesn't fill")
                .fix("a week, unless a replica or a backup wants more")
                .changes([change(view, name.0, name.1)])
                .found();
        }
        return fine("the binary log expires");
    }
    fine("there is no binary log")
}

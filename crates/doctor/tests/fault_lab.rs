//! The fault lab: a tuned host of which nothing is found, and one fault after the other put in.
//!
//! A host is a recorded tree, made here: files as the kernel and packages write them, answers
//! of the database and php-fpm as they give them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use doctor::checks::{self, Examination};
use doctor::read::{Options, look};
use doctor::{Budget, Class, Machine};

/// A recorded tree: paths and texts.
#[derive(Clone)]
struct Host(BTreeMap<String, String>);

impl Host {
    /// A machine of 8 GiB with nginx, php-fpm and MariaDB, all as they should be.
    fn tuned() -> Self {
        let mut host = Self(BTreeMap::new());
        host.kernel();
        host.programs();
        host.database();
        host
    }

    /// The same with PostgreSQL instead of MariaDB.
    fn with_postgresql() -> Self {
        let mut host = Self(BTreeMap::new());
        host.kernel();
        host.programs();
        for (path, count) in [("recorded", "1000"), ("later/recorded", "100000")] {
            let status = PG_STATUS.replace("@hit", count).replace("@files", "60");
            let read = if path == "recorded" { "1000" } else { "1100" };
            host.put(&format!("{path}/postgres-status.tsv"), status.replace("@read", read));
        }
        host.put(PG_SETTINGS_FILE, PG_SETTINGS);
        host
    }

    fn put(&mut self, path: &str, text: impl Into<String>) {
        self.0.insert(path.to_owned(), text.into());
    }

    fn kernel(&mut self) {
        self.put(
            "proc/meminfo",
            "MemTotal: 8388608 kB\nMemFree: 999999 kB\nMemAvailable: 4194304 kB\nSwapTotal: 0 kB\n",
        );
        self.put("proc/vmstat", "pswpin 0\npswpout 0\noom_kill 0\n");
        self.put("proc/loadavg", "0.50 0.40 0.30 1/200 999\n");
        self.put("proc/uptime", "900000.00 1.0\n");
        let calm = "some avg10=0.00 avg60=0.10 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n";
        for what in ["memory", "io", "cpu"] {
            self.put(&format!("proc/pressure/{what}"), calm);
        }
        self.put(
            "proc/stat",
            "cpu  1000 0 1000 8000 0 0 0 10 0 0\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\n",
        );
        self.put(
            "later/proc/stat",
            "cpu  1100 0 1100 9000 0 0 0 11 0 0\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\n",
        );
        self.put("proc/net/netstat", NETSTAT.replace('@', "5"));
        self.put("proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 100000 100\n");
        self.put("later/proc/net/snmp", "Tcp: OutSegs RetransSegs\nTcp: 120000 110\n");
        self.put("proc/net/softnet_stat", "0000ffff 00000000 00000001 00000000\n");
        self.put(
            "proc/net/sockstat",
            "sockets: used 100\nTCP: inuse 20 orphan 0 tw 50 alloc 30 mem 3\n",
        );
        for (name, value) in [
            ("net/core/somaxconn", "4096"),
            ("net/core/netdev_max_backlog", "1000"),
            ("net/core/netdev_budget", "300"),
            ("net/ipv4/tcp_max_syn_backlog", "512"),
            ("net/ipv4/ip_local_port_range", "32768\t60999"),
            ("net/ipv4/tcp_slow_start_after_idle", "1"),
            ("net/ipv4/tcp_congestion_control", "cubic"),
            ("net/netfilter/nf_conntrack_max", "262144"),
            ("net/netfilter/nf_conntrack_count", "900"),
            ("vm/swappiness", "60"),
        ] {
            self.put(&format!("proc/sys/{name}"), format!("{value}\n"));
        }
        self.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        self.put("sys/block/nvme0n1/queue/rotational", "0\n");
        self.put("proc/diskstats", DISKS.replace("@sectors", "1000000"));
        self.put("later/proc/diskstats", DISKS.replace("@sectors", "1400000"));
        self.put("recorded/smart-nvme0n1.json", SMART);
        self.put("recorded/backups.tsv", "/var/backups\t50000 habit\n/etc/cron.d/backup\t- once\n");
        self.put("recorded/file_systems", "/\text4 100000000000 50000000000 6000000 5000000\n");
        self.put("etc/sysctl.d/10-own.conf", "kernel.panic = 10\n");
    }

    fn programs(&mut self) {
        self.process(
            100,
            "php-fpm8.2",
            "php-fpm: master process (/etc/php/8.2/fpm/php-fpm.conf)",
            8,
            10,
        );
        for pid in 101..=120 {
            self.process(pid, "php-fpm8.2", "php-fpm: pool www", 40, 1);
        }
        self.process(200, "mariadbd", "/usr/sbin/mariadbd", 2500, 2);
        self.process(300, "nginx", "nginx: worker process", 10, 2);
        self.process(400, "wick", "/usr/bin/wick serve --config /etc/wick/wick.toml", 100, 2);
        self.put("etc/php/8.2/fpm/pool.d/www.conf", POOL);
        self.put("etc/nginx/sites-enabled/site", "server {\n  root /srv/site;\n}\n");
        self.put("recorded/php.json", PHP);
        self.put("lib/systemd/system/phpsessionclean.timer", "[Timer]\n");
        self.put("var/lib/php/sessions/sess_1", "");
        let status = |accepted: &str, requests: &str| {
            STATUS.replace("@accepted", accepted).replace("@requests", requests)
        };
        self.put("recorded/fpm-www.json", status("100000", "5000"));
        self.put("later/recorded/fpm-www.json", status("100100", "5200"));
    }

    fn process(&mut self, pid: u32, name: &str, title: &str, private_mib: u64, files: u32) {
        let folder = format!("proc/{pid}");
        self.put(&format!("{folder}/comm"), format!("{name}\n"));
        self.put(&format!("{folder}/cmdline"), title.replace(' ', "\0"));
        self.put(&format!("{folder}/stat"), format!("{pid} ({name}) S 1 1 1 0 -1\n"));
        let kib = private_mib << 10;
        // What it shares is large, so that whoever counts RSS is found out.
        self.put(
            &format!("{folder}/smaps_rollup"),
            format!("Rss: {} kB\nShared_Dirty: 500000 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: {kib} kB\n", kib + 500_000),
        );
        self.put(
            &format!("{folder}/limits"),
            "Max open files            1024                 524288               files\n",
        );
        self.put(&format!("{folder}/cgroup"), format!("0::/system.slice/{name}.service\n"));
        for file in 0..files {
            self.put(&format!("{folder}/fd/{file}"), "");
        }
    }

    fn database(&mut self) {
        self.put("recorded/mysql-variables.tsv", VARIABLES);
        self.put("recorded/mysql-facts.tsv", FACTS);
        self.put("recorded/mysql-status.tsv", MYSQL.replace("@n", "1000000").replace("@few", "10"));
        self.put(
            "later/recorded/mysql-status.tsv",
            MYSQL.replace("@n", "1010000").replace("@few", "11"),
        );
    }

    fn without(mut self, path: &str) -> Self {
        self.0.remove(path).expect(path);
        self
    }

    /// Puts a fault in: `from` becomes `to` in a file, or all of it where `from` is empty.
    fn with(mut self, path: &str, from: &str, to: &str) -> Self {
        if from.is_empty() {
            self.put(path, to);
            return self;
        }
        let text = self.0.get_mut(path).expect(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        *text = text.replace(from, to);
        self
    }

    fn examine(&self) -> Examination {
        Lab::of(self.clone()).examine(&[])
    }
}

/// A host whose tree is written once, and faults that are put in and taken out again.
struct Lab {
    folder: tempfile::TempDir,
    host: Host,
}

impl Lab {
    fn of(host: Host) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &Host(BTreeMap::new()), &host);
        Self { folder, host }
    }

    fn examine(&self, edits: &[Edit]) -> Examination {
        let mut host = self.host.clone();
        for (path, from, to) in edits {
            host = match to {
                &GONE => host.without(path),
                to => host.with(path, from, to),
            };
        }
        write(self.folder.path(), &self.host, &host);
        let examination = examine(self.folder.path());
        write(self.folder.path(), &host, &self.host);
        examination
    }

    /// Those of these faults that aren't found, or with much else.
    fn missed(&self, faults: &[Fault], others_max: usize) -> Vec<String> {
        let missed = faults.iter().filter_map(|(id, edits)| {
            let found = self.examine(edits).findings;
            let found: Vec<_> = found.iter().map(|finding| finding.id).collect();
            let is_found = found.contains(id) && found.len() <= 1 + others_max;
            (!is_found).then(|| format!("{id} by {edits:?}: {found:?}"))
        });
        missed.collect()
    }
}

/// Makes the tree of one host that of another.
fn write(folder: &Path, from: &Host, to: &Host) {
    for (path, text) in to.0.iter().filter(|(path, text)| from.0.get(*path) != Some(text)) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    for path in from.0.keys().filter(|path| !to.0.contains_key(*path)) {
        std::fs::remove_file(folder.join(path)).expect("it is there");
    }
}

fn examine(root: &Path) -> Examination {
    let machine = read(root);
    checks::examine(&machine, &Budget::of(&machine))
}

fn read(root: &Path) -> Machine {
    let window = Duration::from_secs(100);
    let options =
        Options { root: root.to_owned(), window, mysql: None, postgres: None, backups: None };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(look(&options)).expect("a machine")
}

const NETSTAT: &str =
    "TcpExt: ListenOverflows ListenDrops TCPReqQFullDoCookies SyncookiesRecv\nTcpExt: @ @ @ @\n";

const POOL: &str = "[www]\nuser = www-data\nlisten = /run/php/php8.2-fpm.sock\npm = static\n\
    pm.max_children = 20\npm.status_path = /status\nslowlog = /var/log/slow.log\n\
    request_slowlog_timeout = 5s\nrequest_terminate_timeout = 60s\n";

const STATUS: &str = r#"{"pool":"www","accepted conn":@accepted,"listen queue":0,
    "max listen queue":3,"max active processes":9,"max children reached":0,"processes":[
    {"pid":101,"requests":@requests,"request duration":80000,"last request memory":6291456},
    {"pid":102,"requests":@requests,"request duration":120000,"last request memory":8388608}]}"#;

/// A disk and its partition, whose writes are the disk's.
const DISKS: &str = " 259 0 nvme0n1 900 0 50000 100 900 0 @sectors 900 0 500 1000\n \
    259 1 nvme0n1p1 900 0 50000 100 900 0 @sectors 900 0 500 1000\n 7 0 loop0 9 0 9 9 0 0 0 0 0 9 9\n";

const SMART: &str = r#"{"smart_status":{"passed":true},"nvme_smart_health_information_log":
    {"critical_warning":0,"available_spare":100,"percentage_used":3,"media_errors":0}}"#;

const PHP: &str = r#"{"version":"8.2.0","realpath_cache_bytes":900000,
    "extensions":["Core","Zend OPcache","mysqli"],
    "set":{"opcache.enable":"1","opcache.memory_consumption":"128",
    "opcache.max_accelerated_files":"10000","opcache.interned_strings_buffer":"8",
    "opcache.validate_timestamps":"1","opcache.jit":"off","opcache.jit_buffer_size":"0",
    "realpath_cache_size":"4096K","memory_limit":"128M","session.save_handler":"files",
    "session.save_path":"","session.gc_probability":"0"},
    "opcache":{"opcache_enabled":true,"cache_full":false,
    "memory_usage":{"used_memory":60000000,"free_memory":70000000,"wasted_memory":0,
    "current_wasted_percentage":0.5},
    "interned_strings_usage":{"buffer_size":8388608,"used_memory":3000000},
    "opcache_statistics":{"num_cached_keys":3000,"max_cached_keys":16229,"oom_restarts":0}}}"#;

const VARIABLES: &str = "version\t10.11.6-MariaDB\ninnodb_buffer_pool_size\t2147483648\n\
    sort_buffer_size\t2097152\njoin_buffer_size\t262144\nread_buffer_size\t131072\n\
    read_rnd_buffer_size\t262144\nthread_stack\t299008\nmax_connections\t151\n\
    innodb_log_file_size\t536870912\ninnodb_log_buffer_size\t16777216\n\
    innodb_flush_neighbors\t1\ninnodb_io_capacity\t2000\ninnodb_flush_log_at_trx_commit\t1\n\
    tmp_table_size\t16777216\nmax_heap_table_size\t16777216\ntable_open_cache\t2000\n\
    open_files_limit\t32768\nthread_cache_size\t151\nquery_cache_type\tOFF\n\
    query_cache_size\t1048576\nskip_name_resolve\tON\nslow_query_log\tON\n\
    long_query_time\t1.000000\nlog_slow_verbosity\tquery_plan,explain\nlog_bin\tOFF\n\
    expire_logs_days\t10\ntmpdir\t/tmp\nkey_buffer_size\t16777216\naria_block_size\t8192\n\
    table_definition_cache\t400\nperformance_schema\tOFF\n";

const FACTS: &str = "fact.innodb_bytes\t1500000000\nfact.myisam_tables\t0\nfact.tables\t300\n\
    fact.transaction_seconds\t2\nfact.hosts_by_name\t0\n";

const MYSQL: &str = "Uptime\t400000\nInnodb_buffer_pool_read_requests\t@n\n\
    Innodb_buffer_pool_reads\t@few\nInnodb_buffer_pool_pages_total\t131072\n\
    Innodb_buffer_pool_pages_free\t20000\nInnodb_os_log_written\t20000000000\n\
    Innodb_log_waits\t0\nInnodb_log_write_requests\t9000000\nCom_commit\t@n\n\
    Max_used_connections\t40\nCreated_tmp_tables\t50000\nCreated_tmp_disk_tables\t3000\n\
    Opened_tables\t500\nOpen_tables\t400\nOpen_files\t60\nConnections\t90000\n\
    Threads_created\t60\nSelect_full_join\t7\nOpen_table_definitions\t290\n\
    Opened_table_definitions\t900\nAria_pagecache_writes\t@few\n";

const PG_STATUS: &str = "blocks_hit\t@hit\nblocks_read\t@read\ntemp_files\t@files\ntemp_bytes\t@files000\nconnections\t20\n\
    transaction_seconds\t1\ndata_bytes\t900000000\noldest_xid\t150000000\ndead_share\t0.1\n\
    slots_unread\t0\ncheckpoints_req\t20\ncheckpoints_timed\t400\n";

const PG_SETTINGS: &str = "server_version\t15.5\nshared_buffers\t134217728\nwork_mem\t4194304\n\
    max_connections\t100\nlog_min_duration_statement\t1000\nfsync\ton\nmax_wal_size\t1073741824\n\
    random_page_cost\t1.1\neffective_cache_size\t4294967296\nautovacuum\ton\n\
    autovacuum_freeze_max_age\t200000000\nmax_slot_wal_keep_size\t-1\n";

const PG_LATER: &str = "later/recorded/postgres-status.tsv";
const PG_SETTINGS_FILE: &str = "recorded/postgres-settings.tsv";

const PG_FAULTS: &[Fault] = &[
    ("postgres_buffers", &[(PG_LATER, "blocks_read\t1100", "blocks_read\t9000")]),
    ("postgres_checkpoints", &[(PG_LATER, "checkpoints_req\t20", "checkpoints_req\t300")]),
    ("postgres_temporary_files", &[(PG_LATER, "temp_files\t60", "temp_files\t6000")]),
    ("postgres_vacuum", &[(PG_SETTINGS_FILE, "autovacuum\ton", "autovacuum\toff")]),
    ("postgres_vacuum", &[(PG_LATER, "oldest_xid\t150000000", "oldest_xid\t900000000")]),
    ("postgres_vacuum", &[(PG_LATER, "dead_share\t0.1", "dead_share\t0.6")]),
    ("postgres_planner", &[(PG_SETTINGS_FILE, "random_page_cost\t1.1", "random_page_cost\t4")]),
    ("postgres_planner", &[(PG_SETTINGS_FILE, "4294967296", "68719476736")]),
    ("postgres_slots", &[(PG_LATER, "slots_unread\t0", "slots_unread\t2")]),
    (
        "temporary_files",
        &[
            (PG_LATER, "temp_bytes\t60000", "temp_bytes\t90000000"),
            ("proc/pressure/io", "avg60=0.10", "avg60=20.00"),
        ],
    ),
    ("connections", &[(PG_LATER, "connections\t20", "connections\t95")]),
    ("database_slots", &[(PG_SETTINGS_FILE, "max_connections\t100", "max_connections\t24")]),
    ("slow_log", &[(PG_SETTINGS_FILE, "statement\t1000", "statement\t-1")]),
    ("durability", &[(PG_SETTINGS_FILE, "fsync\ton", "fsync\toff")]),
    ("long_transactions", &[(PG_LATER, "transaction_seconds\t1", "transaction_seconds\t700")]),
];

#[test]
fn each_fault_of_a_postgresql_is_found_and_hardly_anything_else() {
    let lab = Lab::of(Host::with_postgresql());
    assert_eq!(lab.examine(&[]).findings, []);
    let missed = lab.missed(PG_FAULTS, 1);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), PG_FAULTS.len(), missed.join("\n"));
}

#[test]
fn of_a_tuned_host_nothing_is_found() {
    let examination = Host::tuned().examine();
    assert_eq!(examination.findings, []);
    let unjudged: Vec<_> = examination.unseen.iter().map(|one| one.id).collect();
    assert!(examination.fine.len() >= 56, "only these weren't judged: {unjudged:?}");
}

/// A path, what is replaced in it (all of it, if that is empty), and by what.
type Edit = (&'static str, &'static str, &'static str);
/// A fault: its check, and what makes it.
type Fault = (&'static str, &'static [Edit]);
/// In place of a text: the file isn't there.
const GONE: &str = "\0";

const VARIABLES_FILE: &str = "recorded/mysql-variables.tsv";
const FACTS_FILE: &str = "recorded/mysql-facts.tsv";
const LATER: &str = "later/recorded/mysql-status.tsv";
const POOL_FILE: &str = "etc/php/8.2/fpm/pool.d/www.conf";
const PHP_FILE: &str = "recorded/php.json";
const LATER_POOL: &str = "later/recorded/fpm-www.json";
const SYSCTL: &str = "etc/sysctl.d/10-own.conf";
const CNF: &str = "etc/mysql/mariadb.conf.d/60-own.cnf";

const GROWN: &str = "Rss: 900000 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 44032 kB\n";
/// More than a hundredth of the ten sectors that the disks write meanwhile.
const UPLOAD: &str =
    "an upload that somebody sends, and that takes its time to become as long as this";

const FAULTS: &[Fault] = &[
    ("joint_memory", &[(POOL_FILE, "max_children = 20", "max_children = 200")]),
    ("joint_memory", &[(VARIABLES_FILE, "2147483648", "8589934592")]),
    (
        "joint_memory",
        &[("proc/self/cgroup", "", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "", "3221225472\n")],
    ),
    ("out_of_memory", &[("later/proc/vmstat", "", "pswpin 0\noom_kill 1\n")]),
    ("out_of_memory", &[("proc/meminfo", "MemAvailable: 4194304", "MemAvailable: 400000")]),
    ("memory_pressure", &[("proc/pressure/memory", "avg60=0.10", "avg60=14.00")]),
    ("swapping", &[("later/proc/vmstat", "", "pswpin 5000\noom_kill 0\n")]),
    (
        "temporary_files",
        &[
            (LATER, "pagecache_writes\t11", "pagecache_writes\t20011"),
            ("proc/pressure/io", "avg60=0.10", "avg60=20.00"),
        ],
    ),
    (
        "temporary_files",
        &[
            (LATER, "pagecache_writes\t11", "pagecache_writes\t20011"),
            ("sys/block/nvme0n1/queue/rotational", "0", "1"),
        ],
    ),
    // Of a MySQL.
    (
        "temporary_files",
        &[
            ("recorded/mysql-status.tsv", "Aria_pagecache_writes\t10", "temporary_bytes\t1000"),
            (LATER, "Aria_pagecache_writes\t11", "temporary_bytes\t90000000"),
            ("sys/block/nvme0n1/queue/rotational", "0", "1"),
        ],
    ),
    (
        "temporary_files",
        &[
            ("tmp/phpAb3Xyz", "", ""),
            ("later/tmp/phpAb3Xyz", "", UPLOAD),
            ("proc/pressure/io", "avg60=0.10", "avg60=20.00"),
            ("later/proc/diskstats", "1400000", "1000010"),
        ],
    ),
    (
        "session_folder",
        &[
            ("lib/systemd/system/phpsessionclean.timer", "", GONE),
            (PHP_FILE, "\"session.save_path\":\"\"", "\"session.save_path\":\"/srv/sessions\""),
            ("srv/sessions/sess_1", "", ""),
        ],
    ),
    ("opcache", &[(PHP_FILE, "\"opcache.enable\":\"1\"", "\"opcache.enable\":\"0\"")]),
    ("opcache", &[(PHP_FILE, "\"Zend OPcache\",", "")]),
    ("opcache_memory", &[(PHP_FILE, "60000000", "130000000")]),
    ("opcache_keys", &[(PHP_FILE, "\"num_cached_keys\":3000", "\"num_cached_keys\":16000")]),
    ("opcache_strings", &[(PHP_FILE, "\"used_memory\":3000000", "\"used_memory\":8200000")]),
    (
        "opcache_waste",
        &[(PHP_FILE, "\"current_wasted_percentage\":0.5", "\"current_wasted_percentage\":12.5")],
    ),
    (
        "opcache_timestamps",
        &[("etc/nginx/sites-enabled/site", "/srv/site", "/srv/site/current/public")],
    ),
    ("realpath_cache", &[(PHP_FILE, "900000", "4100000")]),
    ("xdebug", &[(PHP_FILE, "\"mysqli\"", "\"xdebug\"")]),
    ("children_by_memory", &[(POOL_FILE, "max_children = 20", "max_children = 300")]),
    ("children_by_load", &[(LATER_POOL, "100100", "130000")]),
    ("pool_saturated", &[(LATER_POOL, "\"max children reached\":0", "\"max children reached\":4")]),
    (
        "pool_saturated",
        &[(
            "var/log/php8.2-fpm.log",
            "",
            "NOTICE: ready to handle connections\nWARNING: [pool www] server reached pm.max_children setting (20), consider raising it\n",
        )],
    ),
    ("database_slots", &[(VARIABLES_FILE, "max_connections\t151", "max_connections\t25")]),
    ("pool_socket", &[(POOL_FILE, "/run/php/php8.2-fpm.sock", "127.0.0.1:9000")]),
    ("pool_socket", &[(LATER_POOL, "\"max listen queue\":3", "\"max listen queue\":400")]),
    ("pool_mode", &[(POOL_FILE, "pm = static", "pm = dynamic")]),
    ("max_requests", &[(POOL_FILE, "pm = static", "pm = static\npm.max_requests = 20")]),
    // Two hundred requests, and a MiB and a half more in each hundred.
    (
        "max_requests",
        &[("later/proc/101/smaps_rollup", "", GROWN), ("later/proc/102/smaps_rollup", "", GROWN)],
    ),
    (
        "max_requests",
        &[
            (POOL_FILE, "pm = static", "pm = static\npm.max_requests = 100000"),
            ("later/proc/101/smaps_rollup", "", GROWN),
            ("later/proc/102/smaps_rollup", "", GROWN),
        ],
    ),
    ("slow_requests", &[(POOL_FILE, "request_slowlog_timeout = 5s\n", "")]),
    ("slow_requests", &[(POOL_FILE, "request_terminate_timeout = 60s\n", "")]),
    ("memory_limit", &[(LATER_POOL, "8388608", "128000000")]),
    (
        "buffer_pool",
        &[
            (LATER, "pages_free\t20000", "pages_free\t0"),
            (LATER, "pool_reads\t11", "pool_reads\t90000"),
            (FACTS_FILE, "1500000000", "4000000000"),
        ],
    ),
    ("buffer_pool_hits", &[(LATER, "pool_reads\t11", "pool_reads\t5000")]),
    ("redo_capacity", &[(VARIABLES_FILE, "536870912", "33554432")]),
    ("log_buffer", &[(LATER, "log_waits\t0", "log_waits\t900")]),
    ("ssd", &[(VARIABLES_FILE, "io_capacity\t2000", "io_capacity\t200")]),
    ("ssd", &[(VARIABLES_FILE, "10.11.6-MariaDB", "5.7.44-log")]),
    ("durability", &[(VARIABLES_FILE, "trx_commit\t1", "trx_commit\t0")]),
    (
        "durability",
        &[
            (LATER, "Com_commit\t1010000", "Com_commit\t1100000"),
            ("proc/pressure/io", "avg60=0.10", "avg60=40.00"),
        ],
    ),
    ("connections", &[(LATER, "Max_used_connections\t40", "Max_used_connections\t150")]),
    ("temporary_tables", &[(LATER, "disk_tables\t3000", "disk_tables\t30000")]),
    (
        "temporary_tables",
        &[(VARIABLES_FILE, "tmp_table_size\t16777216", "tmp_table_size\t33554432")],
    ),
    (
        "table_caches",
        &[
            (LATER, "Opened_tables\t500", "Opened_tables\t5000"),
            (LATER, "Open_tables\t400", "Open_tables\t2000"),
        ],
    ),
    (
        "table_caches",
        &[
            (FACTS_FILE, "fact.tables\t300", "fact.tables\t5000"),
            (LATER, "Open_table_definitions\t290", "Open_table_definitions\t400"),
            (LATER, "Opened_table_definitions\t900", "Opened_table_definitions\t9000"),
        ],
    ),
    ("database_files", &[(VARIABLES_FILE, "open_files_limit\t32768", "open_files_limit\t1024")]),
    (
        "thread_cache",
        &[
            (LATER, "Threads_created\t60", "Threads_created\t80000"),
            (VARIABLES_FILE, "thread_cache_size\t151", "thread_cache_size\t0"),
        ],
    ),
    ("full_joins", &[(LATER, "Select_full_join\t7", "Select_full_join\t70")]),
    ("query_cache", &[(VARIABLES_FILE, "query_cache_type\tOFF", "query_cache_type\tON")]),
    ("long_transactions", &[(FACTS_FILE, "transaction_seconds\t2", "transaction_seconds\t7200")]),
    ("name_resolution", &[(VARIABLES_FILE, "skip_name_resolve\tON", "skip_name_resolve\tOFF")]),
    ("myisam", &[(FACTS_FILE, "myisam_tables\t0", "myisam_tables\t12")]),
    ("slow_log", &[(VARIABLES_FILE, "slow_query_log\tON", "slow_query_log\tOFF")]),
    ("slow_log", &[(VARIABLES_FILE, "long_query_time\t1.0", "long_query_time\t10.0")]),
    ("slow_log", &[("recorded/postgres-settings.tsv", "", "log_min_duration_statement\t-1\n")]),
    (
        "binlog_expiry",
        &[
            (VARIABLES_FILE, "log_bin\tOFF", "log_bin\tON"),
            (VARIABLES_FILE, "expire_logs_days\t10", "expire_logs_days\t0"),
        ],
    ),
    (
        "accept_queue",
        &[(
            "later/proc/net/netstat",
            "",
            "TcpExt: ListenOverflows ListenDrops TCPReqQFullDoCookies SyncookiesRecv\nTcpExt: 5000 5000 5 5\n",
        )],
    ),
    (
        "syn_backlog",
        &[(
            "later/proc/net/netstat",
            "",
            "TcpExt: ListenOverflows ListenDrops TCPReqQFullDoCookies SyncookiesRecv\nTcpExt: 5 5 5000 4000\n",
        )],
    ),
    ("conntrack", &[("proc/sys/net/netfilter/nf_conntrack_count", "900", "250000")]),
    ("softnet", &[("later/proc/net/softnet_stat", "", "0000ffff 00001000 00000001 00000000\n")]),
    ("retransmits", &[("later/proc/net/snmp", "120000 110", "120000 1100")]),
    ("ports", &[("proc/net/sockstat", "tw 50", "tw 20000")]),
    (
        "clock_source",
        &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc", "hpet")],
    ),
    ("steal", &[("later/proc/stat", "0 0 0 11 0 0", "0 0 0 310 0 0")]),
    ("disk", &[("recorded/file_systems", "50000000000", "5000000000")]),
    ("disk", &[("recorded/file_systems", "6000000 5000000", "6000000 50000")]),
    ("disk_health", &[("recorded/smart-nvme0n1.json", "true", "false")]),
    ("disk_health", &[("recorded/smart-nvme0n1.json", "warning\":0", "warning\":1")]),
    ("disk_health", &[("recorded/smart-nvme0n1.json", "errors\":0", "errors\":7")]),
    ("disk_health", &[("recorded/smart-nvme0n1.json", "used\":3", "used\":94")]),
    ("backups", &[("recorded/backups.tsv", "50000 habit", "950000 habit")]),
    ("backups", &[("recorded/backups.tsv", "50000 habit", "- told")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_tw_recycle = 1\n")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_tw_reuse = 1\n")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_fin_timeout=15\n")]),
    ("folklore", &[(SYSCTL, "", "net/ipv4/tcp_max_tw_buckets = 1440\n")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_timestamps = 0\n")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_sack = 0\n")]),
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_rmem = 4096 87380 16777216\n")]),
    ("folklore", &[(SYSCTL, "", "net.core.somaxconn = 1024\n")]),
    ("folklore", &[(SYSCTL, "", "vm.swappiness = 10\n")]),
    ("folklore", &[(CNF, "", "[mysqld]\nquery-cache-size = 256M\n")]),
    ("folklore", &[(CNF, "", "[mysqld]\njoin_buffer_size = 32M\n")]),
    (
        "folklore",
        &[(CNF, "", "[mysqld]\ninnodb_buffer_pool_size = 2G\ninnodb_log_file_size = 512M\n")],
    ),
];

#[test]
fn each_fault_is_found_and_hardly_anything_else() {
    let missed = Lab::of(Host::tuned()).missed(FAULTS, 2);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), FAULTS.len(), missed.join("\n"));
}

/// What looks like a fault and is none.
const NO_FAULTS: &[Fault] = &[
    // Much is written, and nobody waits for a disk.
    ("temporary_files", &[(LATER, "pagecache_writes\t11", "pagecache_writes\t20011")]),
    // It is in memory already.
    (
        "temporary_files",
        &[
            (LATER, "pagecache_writes\t11", "pagecache_writes\t20011"),
            ("sys/block/nvme0n1/queue/rotational", "0", "1"),
            ("recorded/file_systems", "/\text4", "/tmp\ttmpfs 900 800 0 0\n/\text4"),
        ],
    ),
    // One child of two met a larger page.
    ("max_requests", &[("later/proc/101/smaps_rollup", "", GROWN)]),
    // They grow, and end before they have doubled.
    (
        "max_requests",
        &[
            (POOL_FILE, "pm = static", "pm = static\npm.max_requests = 1000"),
            ("later/proc/101/smaps_rollup", "", GROWN),
            ("later/proc/102/smaps_rollup", "", GROWN),
        ],
    ),
    // A recipe that does no harm.
    ("max_requests", &[(POOL_FILE, "pm = static", "pm = static\npm.max_requests = 500")]),
    // Many tables, few of which are used.
    ("table_caches", &[(FACTS_FILE, "fact.tables\t300", "fact.tables\t50000")]),
    // All were opened once, for a dump.
    (
        "table_caches",
        &[
            (FACTS_FILE, "fact.tables\t300", "fact.tables\t50000"),
            (LATER, "Open_table_definitions\t290", "Open_table_definitions\t400"),
        ],
    ),
];

#[test]
fn what_only_looks_like_a_fault_is_fine() {
    let lab = Lab::of(Host::tuned());
    for (id, edits) in NO_FAULTS {
        let examination = lab.examine(edits);
        assert_eq!(examination.findings, [], "{id} by {edits:?}");
        assert!(examination.fine.iter().any(|one| one.id == *id), "{id}: {examination:?}");
    }
}

/// What nobody can know is neither a fault nor fine.
const UNKNOWN: &[Fault] = &[
    ("backups", &[("recorded/backups.tsv", "50000 habit", "50000000 once")]),
    ("disk_health", &[("recorded/smart-nvme0n1.json", SMART, "{}")]),
    // Neither counter is there.
    ("temporary_files", &[(LATER, "Aria_pagecache_writes", "Nothing")]),
    // Young children grow, whatever they run.
    (
        "max_requests",
        &[
            ("recorded/fpm-www.json", "5000", "50"),
            ("later/proc/101/smaps_rollup", "", GROWN),
            ("later/proc/102/smaps_rollup", "", GROWN),
        ],
    ),
];

#[test]
fn what_can_not_be_known_is_said_to_be_unknown() {
    let lab = Lab::of(Host::tuned());
    for (id, edits) in UNKNOWN {
        let examination = lab.examine(edits);
        assert_eq!(examination.findings, [], "{id} by {edits:?}");
        assert!(examination.unseen.iter().any(|one| one.id == *id), "{id}: {examination:?}");
    }
}

#[test]
fn a_program_that_has_most_of_its_files_open_is_found() {
    let mut host = Host::tuned();
    for file in 2..700 {
        host.put(&format!("proc/300/fd/{file}"), "");
    }
    let found = host.examine().findings;
    assert_eq!((found.len(), found[0].id, found[0].subject.as_str()), (1, "open_files", "nginx"));
    assert_eq!(
        found[0].fix.changes[0].to_string(),
        "unit nginx.service: LimitNOFILE=65536  (now 1024)"
    );
}

#[test]
fn pools_of_a_php_fpm_that_does_not_run_are_left_alone() {
    let mut host = Host::tuned().with(POOL_FILE, "request_slowlog_timeout = 5s\n", "");
    assert_eq!(host.clone().examine().findings.len(), 1);
    for pid in 100..=120 {
        host.0.retain(|path, _| !path.starts_with(&format!("proc/{pid}/")));
    }
    assert_eq!(host.examine().findings, []);
}

#[test]
fn php_within_apache_is_found() {
    let mut host = Host::tuned();
    host.put(
        "etc/apache2/mods-enabled/php8.2.load",
        "LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so\n",
    );
    host.put(
        "etc/apache2/mods-enabled/mpm_prefork.conf",
        "<IfModule mpm_prefork_module>\nMaxRequestWorkers 150\n</IfModule>\n",
    );
    for pid in 500..510 {
        host.process(pid, "apache2", "/usr/sbin/apache2 -k start", 60, 20);
    }
    let found = host.examine().findings;
    assert!(found.iter().any(|one| one.id == "mod_php" && one.class == Class::Danger), "{found:?}");
}

#[test]
fn what_decides_over_durability_is_never_applied() {
    let faults = [("trx_commit\t1", "trx_commit\t0"), ("io_capacity\t2000", "io_capacity\t200")];
    for (from, to) in faults {
        let found = Host::tuned().with(VARIABLES_FILE, from, to).examine().findings;
        let changes = found.iter().flat_map(|finding| &finding.fix.changes);
        assert!(!changes.into_iter().any(|change| change.name.contains("flush_log")));
    }
}

#[test]
fn a_machine_without_anything_is_told_what_could_not_be_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options {
        root: folder.path().to_owned(),
        window: Duration::ZERO,
        mysql: None,
        postgres: None,
        backups: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let seen = runtime.expect("a runtime").block_on(look(&options));
    assert!(seen.expect_err("no machine").to_string().contains("/proc"));
}

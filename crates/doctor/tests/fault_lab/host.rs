//! Recorded hosts: a tuned one, what is put into it, and how it is examined.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use doctor::checks::{self, Examination};
use doctor::read::{Options, look};
use doctor::{Budget, Machine};

use crate::faults::{Edit, Fault, GONE, PG_SETTINGS_FILE};

/// What the cgroup of the database's unit allows.
pub(crate) const UNIT_MAX: &str = "sys/fs/cgroup/system.slice/mariadbd.service/memory.max";

/// A recorded tree: paths and texts.
#[derive(Clone)]
pub(crate) struct Host(pub(crate) BTreeMap<String, String>);

impl Host {
    /// A machine of 8 GiB with nginx, php-fpm and MariaDB, all as they should be.
    pub(crate) fn tuned() -> Self {
        let mut host = Self(BTreeMap::new());
        host.kernel();
        host.programs();
        host.database();
        host
    }

    /// The same with PostgreSQL instead of MariaDB.
    pub(crate) fn with_postgresql() -> Self {
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

    pub(crate) fn put(&mut self, path: &str, text: impl Into<String>) {
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

    pub(crate) fn process(
        &mut self,
        pid: u32,
        name: &str,
        title: &str,
        private_mib: u64,
        files: u32,
    ) {
        let folder = format!("proc/{pid}");
        self.put(&format!("{folder}/comm"), format!("{name}\n"));
        self.put(&format!("{folder}/cmdline"), title.replace(' ', "\0"));
        let parent = if title.starts_with("php-fpm: pool") { 100 } else { 1 };
        self.put(&format!("{folder}/stat"), format!("{pid} ({name}) S {parent} 1 1 0 -1\n"));
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
    pub(crate) fn with(mut self, path: &str, from: &str, to: &str) -> Self {
        if from.is_empty() {
            self.put(path, to);
            return self;
        }
        let text = self.0.get_mut(path).expect(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        *text = text.replace(from, to);
        self
    }

    pub(crate) fn examine(&self) -> Examination {
        Lab::of(self.clone()).examine(&[])
    }
}

/// A host whose tree is written once, and faults that are put in and taken out again.
pub(crate) struct Lab {
    folder: tempfile::TempDir,
    host: Host,
}

impl Lab {
    pub(crate) fn of(host: Host) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &Host(BTreeMap::new()), &host);
        Self { folder, host }
    }

    pub(crate) fn examine(&self, edits: &[Edit]) -> Examination {
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

    /// What is found of each of these faults: whether it is, and what else.
    pub(crate) fn tried<'a>(&self, faults: &'a [Fault]) -> Vec<Tried<'a>> {
        let tried = faults.iter().map(|fault| {
            let found = self.examine(fault.1).findings;
            let is_found = found.iter().any(|finding| finding.id == fault.0);
            let others = found.iter().map(|finding| finding.id).filter(|id| *id != fault.0);
            Tried { fault, is_found, others: others.collect() }
        });
        tried.collect()
    }

    /// Those of these faults that aren't found, or with much else.
    pub(crate) fn missed(&self, faults: &[Fault], others_max: usize) -> Vec<String> {
        let tried = self.tried(faults).into_iter();
        let missed = tried.filter(|one| !one.is_found || one.others.len() > others_max);
        missed
            .map(|one| format!("{} by {:?}: {:?}", one.fault.0, one.fault.1, one.others))
            .collect()
    }
}

/// What came of a fault.
pub(crate) struct Tried<'a> {
    pub(crate) fault: &'a Fault,
    pub(crate) is_found: bool,
    /// What else was found: what the fault brings with it, or a false alarm.
    pub(crate) others: Vec<&'static str>,
}

impl Tried<'_> {
    /// As a line of a table.
    pub(crate) fn line(&self) -> String {
        let edits = self.fault.1.iter().map(|(path, from, to)| {
            let short = |text: &str| text.split('\n').next().unwrap_or("").trim().replace('|', "/");
            let what = match (*to == GONE, from.is_empty()) {
                (true, _) => "isn't there".to_owned(),
                (_, true) => format!("is \"{}\"", short(to)),
                _ => format!("\"{}\" for \"{}\"", short(to), short(from)),
            };
            format!("{path}: {what}")
        });
        let edits: Vec<String> = edits.collect();
        let found = if self.is_found { "yes" } else { "NO" };
        let others = if self.others.is_empty() { "–".into() } else { self.others.join(", ") };
        format!("| `{}` | {} | {found} | {others} |", self.fault.0, edits.join("; "))
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
    let options = Options::at(root.to_owned(), window);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(look(&options)).expect("a machine")
}

const NETSTAT: &str =
    "TcpExt: ListenOverflows ListenDrops TCPReqQFullDoCookies SyncookiesRecv\nTcpExt: @ @ @ @\n";

pub(crate) const POOL: &str = "[www]\nuser = www-data\nlisten = /run/php/php8.2-fpm.sock\npm = static\n\
    pm.max_children = 20\npm.status_path = /status\nslowlog = /var/log/slow.log\n\
    request_slowlog_timeout = 5s\nrequest_terminate_timeout = 60s\n";

pub(crate) const STATUS: &str = r#"{"pool":"www","accepted conn":@accepted,"listen queue":0,
    "max listen queue":3,"max active processes":9,"max children reached":0,"processes":[
    {"pid":101,"requests":@requests,"request duration":80000,"last request memory":6291456},
    {"pid":102,"requests":@requests,"request duration":120000,"last request memory":8388608}]}"#;

/// A disk and its partition, whose writes are the disk's.
const DISKS: &str = " 259 0 nvme0n1 900 0 50000 100 900 0 @sectors 900 0 500 1000\n \
    259 1 nvme0n1p1 900 0 50000 100 900 0 @sectors 900 0 500 1000\n 7 0 loop0 9 0 9 9 0 0 0 0 0 9 9\n";

pub(crate) const SMART: &str = r#"{"smart_status":{"passed":true},"nvme_smart_health_information_log":
    {"critical_warning":0,"available_spare":100,"percentage_used":3,"media_errors":0}}"#;

pub(crate) const PHP: &str = r#"{"version":"8.2.0","realpath_cache_bytes":900000,
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

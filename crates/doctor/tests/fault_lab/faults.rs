//! The faults: what makes each, what only looks like one, and what nobody can know.

use crate::host::{SMART, UNIT_MAX};

/// A path, what is replaced in it (all of it, if that is empty), and by what.
pub(crate) type Edit = (&'static str, &'static str, &'static str);
/// A fault: its check, and what makes it.
pub(crate) type Fault = (&'static str, &'static [Edit]);
/// In place of a text: the file isn't there.
pub(crate) const GONE: &str = "\0";

pub(crate) const VARIABLES_FILE: &str = "recorded/mysql-variables.tsv";
pub(crate) const FACTS_FILE: &str = "recorded/mysql-facts.tsv";
pub(crate) const LATER: &str = "later/recorded/mysql-status.tsv";
pub(crate) const POOL_FILE: &str = "etc/php/8.2/fpm/pool.d/www.conf";
pub(crate) const PHP_FILE: &str = "recorded/php.json";
pub(crate) const LATER_POOL: &str = "later/recorded/fpm-www.json";
pub(crate) const SYSCTL: &str = "etc/sysctl.d/10-own.conf";
pub(crate) const CNF: &str = "etc/mysql/mariadb.conf.d/60-own.cnf";

/// Twelve connections to a database's port that wait, and one that lasts.
const DATABASE_SOCKETS: &str = "  sl  local_address rem_address   st\n\
    0: 0100007F:8000 0100007F:0CEA 06\n1: 0100007F:8001 0100007F:0CEA 06\n\
    2: 0100007F:8002 0100007F:0CEA 06\n3: 0100007F:8003 0100007F:0CEA 06\n\
    4: 0100007F:8004 0100007F:0CEA 06\n5: 0100007F:8005 0100007F:0CEA 06\n\
    6: 0100007F:8006 0100007F:0CEA 06\n7: 0100007F:8007 0100007F:0CEA 06\n\
    8: 0100007F:8008 0100007F:0CEA 06\n9: 0100007F:8009 0100007F:0CEA 06\n\
    10: 0100007F:800A 0100007F:0CEA 06\n11: 0100007F:800B 0100007F:0CEA 06\n\
    12: 0100007F:800C 0100007F:0CEA 01\n";
/// Twelve of visitors.
const VISITORS_SOCKETS: &str = "  sl  local_address rem_address   st\n\
    0: 0A00000A:01BB 01010101:A000 06\n1: 0A00000A:01BB 01010101:A001 06\n\
    2: 0A00000A:01BB 01010101:A002 06\n3: 0A00000A:01BB 01010101:A003 06\n\
    4: 0A00000A:01BB 01010101:A004 06\n5: 0A00000A:01BB 01010101:A005 06\n\
    6: 0A00000A:01BB 01010101:A006 06\n7: 0A00000A:01BB 01010101:A007 06\n\
    8: 0A00000A:01BB 01010101:A008 06\n9: 0A00000A:01BB 01010101:A009 06\n\
    10: 0A00000A:01BB 01010101:A00A 06\n11: 0A00000A:01BB 01010101:A00B 06\n";

const GROWN: &str = "Rss: 900000 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: 44032 kB\n";
/// More than a hundredth of the ten sectors that the disks write meanwhile.
const UPLOAD: &str =
    "an upload that somebody sends, and that takes its time to become as long as this";

pub(crate) const FAULTS: &[Fault] = &[
    ("joint_memory", &[(POOL_FILE, "max_children = 20", "max_children = 200")]),
    ("joint_memory", &[(VARIABLES_FILE, "2147483648", "8589934592")]),
    (
        "joint_memory",
        &[("proc/self/cgroup", "", "0::/a\n"), ("sys/fs/cgroup/a/memory.max", "", "3221225472\n")],
    ),
    ("joint_memory", &[("etc/wick/wick.toml", "", "memory = \"8G\"\n")]),
    ("joint_memory", &[(UNIT_MAX, "", "2147483648\n")]),
    ("out_of_memory", &[("later/proc/vmstat", "", "pswpin 0\noom_kill 1\n")]),
    (
        "out_of_memory",
        &[
            ("proc/vmstat", "oom_kill 0", "oom_kill 3"),
            ("dev/kmsg", "", "3,7,899000000000,-;Out of memory: Killed process 9 (mariadbd)\n"),
        ],
    ),
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
    (
        "opcache_timestamps",
        &[("etc/apache2/sites-enabled/site.conf", "", "DocumentRoot \"/srv/site/current\"\n")],
    ),
    (
        "opcache_timestamps",
        &[("etc/wick/wick.toml", "", "[[site]]\norigin = \"/srv/site/current/public\"\n")],
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
    ("pool_socket", &[(POOL_FILE, "pm = static", "pm = static\nlisten.backlog = 65535")]),
    (
        "pool_socket",
        &[
            (POOL_FILE, "pm = static", "pm = static\nlisten.backlog = 1024"),
            ("proc/sys/net/core/somaxconn", "4096", "128"),
        ],
    ),
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
    (
        "query_cache",
        &[
            (VARIABLES_FILE, "10.11.6-MariaDB", "8.0.36"),
            (VARIABLES_FILE, "query_cache_type\tOFF\nquery_cache_size\t1048576\n", ""),
            (VARIABLES_FILE, "innodb_flush_neighbors\t1", "innodb_flush_neighbors\t0"),
            (CNF, "", "[mysqld]\nquery_cache_type = 0\n"),
        ],
    ),
    ("long_transactions", &[(FACTS_FILE, "transaction_seconds\t2", "transaction_seconds\t7200")]),
    ("name_resolution", &[(VARIABLES_FILE, "skip_name_resolve\tON", "skip_name_resolve\tOFF")]),
    ("myisam", &[(FACTS_FILE, "myisam_tables\t0", "myisam_tables\t12")]),
    ("slow_log", &[(VARIABLES_FILE, "slow_query_log\tON", "slow_query_log\tOFF")]),
    ("slow_log", &[(VARIABLES_FILE, "long_query_time\t1.0", "long_query_time\t10.0")]),
    (
        "slow_log",
        &[(VARIABLES_FILE, "log_slow_verbosity\tquery_plan,explain", "log_slow_verbosity\t")],
    ),
    (
        "slow_log",
        &[(VARIABLES_FILE, "log_slow_verbosity\tquery_plan,explain", "log_slow_extra\tOFF")],
    ),
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
    (
        "ports",
        &[
            ("proc/net/sockstat", "tw 50", "tw 12"),
            ("proc/sys/net/ipv4/ip_local_port_range", "60999", "32787"),
            ("proc/net/tcp", "", DATABASE_SOCKETS),
        ],
    ),
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
    ("folklore", &[(SYSCTL, "", "net.ipv4.tcp_wmem = 4096 65536 16777216\n")]),
    ("folklore", &[(SYSCTL, "", "net.core.rmem_max = 16777216\n")]),
    ("folklore", &[(SYSCTL, "", "net.core.wmem_max = 33554432\n")]),
    ("folklore", &[(SYSCTL, "", "net.core.somaxconn = 1024\n")]),
    ("folklore", &[(SYSCTL, "", "vm.swappiness = 10\n")]),
    ("folklore", &[(CNF, "", "[mysqld]\nquery-cache-size = 256M\n")]),
    ("folklore", &[(CNF, "", "[mysqld]\njoin_buffer_size = 32M\n")]),
    (
        "folklore",
        &[(CNF, "", "[mysqld]\ninnodb_buffer_pool_size = 2G\ninnodb_log_file_size = 512M\n")],
    ),
];

pub(crate) const PG_LATER: &str = "later/recorded/postgres-status.tsv";
pub(crate) const PG_SETTINGS_FILE: &str = "recorded/postgres-settings.tsv";

pub(crate) const PG_FAULTS: &[Fault] = &[
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

/// What looks like a fault and is none.
pub(crate) const NO_FAULTS: &[Fault] = &[
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
    // What waits is visitors', of whom each has a port of its own.
    (
        "ports",
        &[
            ("proc/net/sockstat", "tw 50", "tw 12"),
            ("proc/sys/net/ipv4/ip_local_port_range", "60999", "32787"),
            ("proc/net/tcp", "", VISITORS_SOCKETS),
        ],
    ),
    // Some were killed, hours ago.
    (
        "out_of_memory",
        &[
            ("proc/vmstat", "oom_kill 0", "oom_kill 3"),
            ("dev/kmsg", "", "3,7,890000000000,-;Out of memory: Killed process 9 (mariadbd)\n"),
        ],
    ),
    // A line that MariaDB knows.
    ("query_cache", &[(CNF, "", "[mysqld]\nquery_cache_type = 0\n")]),
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

/// What nobody can know is neither a fault nor fine.
pub(crate) const UNKNOWN: &[Fault] = &[
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

//! What php-fpm and its opcode cache say of themselves.
//!
//! In: the JSON of a pool's status page (`pm.status_path`, with `?json&full`) and of PHP's
//! `opcache_get_status`. Out: numbers.
//! Invariant: addresses that visitors asked for, which the page lists too, are not taken along.

use serde::{Deserialize, Serialize};

/// Children that are told one by one.
const CHILDREN_MAX: usize = 256;

/// The state of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Seconds since the pool began.
    #[serde(rename(deserialize = "start since"))]
    pub started_seconds: u64,
    /// Requests that it took.
    #[serde(rename(deserialize = "accepted conn"))]
    pub accepted: u64,
    /// Connections that wait for a child.
    #[serde(rename(deserialize = "listen queue"))]
    pub queue: u64,
    /// The most that ever did.
    #[serde(rename(deserialize = "max listen queue"))]
    pub queue_max: u64,
    /// Children without a request.
    #[serde(rename(deserialize = "idle processes"))]
    pub idle: u64,
    /// Children with one, but for the one that tells this.
    #[serde(rename(deserialize = "active processes"))]
    pub active: u64,
    /// All children.
    #[serde(rename(deserialize = "total processes"))]
    pub total: u64,
    /// The most that ever had a request at once.
    #[serde(rename(deserialize = "max active processes"))]
    pub active_max: u64,
    /// How often no further child could be made.
    #[serde(rename(deserialize = "max children reached"))]
    pub children_max_reached: u64,
    /// Requests that took longer than `request_slowlog_timeout`.
    #[serde(rename(deserialize = "slow requests"), default)]
    pub slow: u64,
    /// The children.
    #[serde(rename(deserialize = "processes"), default)]
    pub children: Vec<Child>,
}

/// One child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Child {
    /// Its process id.
    pub pid: u64,
    /// `Idle`, `Running`, `Reading headers`, `Finishing`, …
    pub state: String,
    /// Requests that it had.
    pub requests: u64,
    /// How long its request takes, or its last one took, in microseconds.
    #[serde(rename(deserialize = "request duration"))]
    pub request_us: u64,
    /// The most memory that the last one took, in bytes.
    #[serde(rename(deserialize = "last request memory"), default)]
    pub last_memory_bytes: u64,
}

impl Pool {
    /// Of the page's JSON; none if it isn't such a page.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let mut pool: Self = serde_json::from_slice(json).ok()?;
        // A place of a child that is only just being made.
        pool.children.retain(|child| child.pid > 0);
        pool.children.truncate(CHILDREN_MAX);
        // Who answers this is no visitor's.
        if pool.active > 0 {
            pool.active -= 1;
            pool.idle = pool.idle.saturating_add(1);
        }
        Some(pool)
    }
}

/// The state of PHP's opcode cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Opcache {
    /// Memory with scripts in it.
    pub used_bytes: u64,
    /// Memory for more.
    pub free_bytes: u64,
    /// Memory with scripts in it that have changed since: it is free again after a restart.
    pub wasted_bytes: u64,
    /// Scripts.
    pub scripts: u64,
    /// Names of them.
    pub keys: u64,
    /// The most names that there may be.
    pub keys_max: u64,
    /// Looks that found a script.
    pub hits: u64,
    /// Looks that found none.
    pub misses: u64,
    /// Restarts because memory or names were used up.
    pub restarts: u64,
    /// Whether it takes no more scripts.
    pub is_full: bool,
}

#[derive(Deserialize)]
struct OpcacheStatus {
    #[serde(default)]
    cache_full: bool,
    memory_usage: OpcacheMemory,
    opcache_statistics: OpcacheStatistics,
}

#[derive(Deserialize)]
struct OpcacheMemory {
    used_memory: u64,
    free_memory: u64,
    wasted_memory: u64,
}

#[derive(Deserialize)]
struct OpcacheStatistics {
    num_cached_scripts: u64,
    num_cached_keys: u64,
    max_cached_keys: u64,
    hits: u64,
    misses: u64,
    #[serde(default)]
    oom_restarts: u64,
    #[serde(default)]
    hash_restarts: u64,
}

impl Opcache {
    /// Of the JSON of `opcache_get_status(false)`; none where that is `false`, since the cache
    /// is switched off or not there.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let status: OpcacheStatus = serde_json::from_slice(json).ok()?;
        let OpcacheStatus { cache_full, memory_usage: memory, opcache_statistics: counts } = status;
        Some(Self {
            used_bytes: memory.used_memory,
            free_bytes: memory.free_memory,
            wasted_bytes: memory.wasted_memory,
            scripts: counts.num_cached_scripts,
            keys: counts.num_cached_keys,
            keys_max: counts.max_cached_keys,
            hits: counts.hits,
            misses: counts.misses,
            restarts: counts.oom_restarts.saturating_add(counts.hash_restarts),
            is_full: cache_full,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PHP 8.2 writes it, made shorter.
    const PAGE: &str = r#"{"pool":"wick-1","process manager":"static","start time":1700000000,
        "start since":61,"accepted conn":12,"listen queue":1,"max listen queue":2,
        "listen queue len":1024,"idle processes":3,"active processes":1,"total processes":4,
        "max active processes":2,"max children reached":0,"slow requests":0,"processes":[
        {"pid":31330,"state":"Idle","start time":1700000000,"start since":61,"requests":5,
        "request duration":1234,"request method":"GET","request uri":"/secret?token=hush",
        "content length":0,"user":"-","script":"/srv/index.php","last request cpu":812.35,
        "last request memory":2097152},
        {"pid":31331,"state":"Running","start time":1700000000,"start since":61,"requests":7,
        "request duration":99,"request method":"GET","request uri":"-","content length":0,
        "user":"-","script":"-","last request cpu":0.00,"last request memory":0},
        {"pid":0,"state":"(null)","requests":0,"request duration":40207812397}]}"#;

    #[test]
    fn a_pool_is_read_without_what_visitors_asked_for() {
        let pool = Pool::parse(PAGE.as_bytes()).expect("a page");
        assert_eq!((pool.idle, pool.active, pool.total, pool.accepted), (4, 0, 4, 12));
        assert_eq!((pool.queue, pool.queue_max, pool.started_seconds), (1, 2, 61));
        assert_eq!(pool.children.len(), 2, "one is only being made");
        assert_eq!(pool.children[0].last_memory_bytes, 2_097_152);
        assert_eq!((pool.children[1].state.as_str(), pool.children[1].request_us), ("Running", 99));
        let shown = serde_json::to_string(&pool).expect("it can be written");
        assert!(shown.contains("\"queue_max\":2") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn the_opcode_cache_is_read() {
        let json = r#"{"opcache_enabled":true,"cache_full":false,"restart_pending":false,
            "memory_usage":{"used_memory":10,"free_memory":20,"wasted_memory":3,
            "current_wasted_percentage":0.5},"interned_strings_usage":{"buffer_size":1},
            "opcache_statistics":{"num_cached_scripts":5,"num_cached_keys":6,"max_cached_keys":7,
            "hits":8,"start_time":1,"last_restart_time":0,"oom_restarts":1,"hash_restarts":2,
            "manual_restarts":4,"misses":9,"blacklist_misses":0,"opcache_hit_rate":47.1}}"#;
        let expected = Opcache {
            used_bytes: 10,
            free_bytes: 20,
            wasted_bytes: 3,
            scripts: 5,
            keys: 6,
            keys_max: 7,
            hits: 8,
            misses: 9,
            restarts: 3,
            is_full: false,
        };
        assert_eq!(Opcache::parse(json.as_bytes()), Some(expected));
    }

    #[test]
    fn what_is_no_such_page_is_nothing() {
        let deep = "[".repeat(100_000);
        for text in
            ["", "false", "null", "[]", "{}", "File not found.\n", "{\"start since\":-1}", &deep]
        {
            assert_eq!(Pool::parse(text.as_bytes()), None);
            assert_eq!(Opcache::parse(text.as_bytes()), None);
        }
    }
}

//! The memory governor: the owner's figure holds for the process, not only for the cache.
//!
//! The store weighs what it holds by the allocator's size classes, but an allocator
//! also strands memory between them. So the resident size is looked at again and
//! again, and the store's limit is lowered by what the process is over its ceiling,
//! or raised back slowly once it is below.
//! Invariant: the limit never exceeds the owner's figure and never falls below half.

use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use server::Server;

/// What the process may use beside the cache: code, stacks, connections.
const BESIDE_BYTES: u64 = 16 << 20;
/// How often the resident size is looked at.
const INTERVAL: Duration = Duration::from_millis(250);
/// By how much of the figure the limit is raised at a time.
const RAISE_SHARE: u64 = 64;

/// Watches over the resident size until the signal to stop.
pub(crate) async fn govern(server: Arc<Server>, memory_bytes: u64, shutdown: Shutdown) {
    let mut limit = memory_bytes;
    let mut tick = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            _ = tick.tick() => {}
            () = shutdown.begun() => return,
        }
        let Some(resident) = resident_bytes() else { return };
        let next = next_limit(limit, memory_bytes, resident);
        if next != limit {
            limit = next;
            server.set_memory_limit(limit);
        }
    }
}

/// The limit that follows from the present one and the resident size.
fn next_limit(limit: u64, memory: u64, resident: u64) -> u64 {
    let ceiling = memory + BESIDE_BYTES;
    if resident > ceiling {
        limit.saturating_sub(resident - ceiling).max(memory / 2)
    } else if resident + memory / RAISE_SHARE < ceiling {
        (limit + memory / RAISE_SHARE).min(memory)
    } else {
        limit
    }
}

/// The process's resident set, in bytes; `None` where the system doesn't tell.
pub(crate) fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    #[test]
    fn the_limit_falls_by_the_excess_and_rises_slowly() {
        assert_eq!(next_limit(64 * M, 64 * M, 70 * M), 64 * M);
        assert_eq!(next_limit(64 * M, 64 * M, 90 * M), 54 * M);
        assert_eq!(next_limit(54 * M, 64 * M, 75 * M), 55 * M);
        assert_eq!(next_limit(54 * M, 64 * M, 80 * M), 54 * M);
        assert_eq!(next_limit(40 * M, 64 * M, 500 * M), 32 * M);
    }

    #[test]
    fn the_resident_size_is_told() {
        assert!(resident_bytes().is_some_and(|bytes| bytes > M));
    }
}

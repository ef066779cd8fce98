//! The memory governor: the owner's figure holds for the process, not only for the cache.
//!
//! The store weighs what it holds by the allocator's size classes, but an allocator
//! also strands memory between them, and connections and bodies on their way take
//! theirs. So the resident size is looked at again and again, and the store's limit is
//! lowered by what the process is over its ceiling, or raised back by steps. What a cache
//! costs beside its pages shows only once pages come and go, so the last third of
//! the figure is given by steps as well.
//! Invariant: the limit never exceeds the owner's figure and never falls below half.
//! Start at [`govern`]; the arithmetic is in [`Governor::look`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use base::Shutdown;
use server::Server;
use tokio::time::Instant;

/// What the process may use beside the figure: code, stacks, connections. The promise is
/// 24 MiB; the rest is for what happens between two looks.
const BESIDE_BYTES: u64 = 6 << 20;
/// How often to look while the cache changes: it can fill at hundreds of megabytes a second.
const BUSY_INTERVAL: Duration = Duration::from_millis(10);
/// How often while it doesn't.
const IDLE_INTERVAL: Duration = Duration::from_millis(200);
/// After this the allocator has given back what was evicted (see `.cargo/config.toml`).
/// Who looks earlier and lowers the limit by the same excess again, halves the cache.
const SETTLE: Duration = Duration::from_millis(700);
/// The share of the figure that the cache gets in steps.
const LAST_SHARE: u64 = 3;
/// The share of the figure that is a step.
const STEP_SHARE: u64 = 256;

/// When what the start needed is over.
const STARTED: Duration = Duration::from_secs(2);

/// Gives back the memory of the code that ran until now, a little later: a start and a change
/// of the settings run much that is not run again for long, and deep in the stack.
pub(crate) async fn give_back_code_soon() {
    tokio::time::sleep(STARTED).await;
    // What can't be given back stays, and nothing is worse for it.
    let _bytes = resident::give_back_stack();
    let _bytes = tokio::task::spawn_blocking(resident::give_back_code).await;
}

/// Watches over the resident size until the signal to stop.
pub(crate) async fn govern(server: Arc<Server>, memory_bytes: u64, shutdown: Shutdown) {
    let Ok(meter) = Meter::open() else { return };
    let mut governor = Governor::new(memory_bytes);
    let mut cached_before = 0;
    loop {
        let Ok(resident) = meter.resident_bytes() else { return };
        let memory = server.memory();
        let cached = memory.used_bytes + memory.reserved_bytes;
        let limit = governor.look(Instant::now(), cached, resident);
        if limit != memory.limit_bytes {
            server.set_memory_limit(limit);
        }
        let is_busy = cached != cached_before;
        cached_before = cached;
        tokio::select! {
            () = tokio::time::sleep(if is_busy { BUSY_INTERVAL } else { IDLE_INTERVAL }) => {}
            () = shutdown.begun() => return,
        }
    }
}

/// The store's limit and what it follows from.
struct Governor {
    /// The owner's figure.
    memory: u64,
    limit: u64,
    /// When the limit was last lowered, and for which resident size.
    lowered: Option<(Instant, u64)>,
}

impl Governor {
    fn new(memory: u64) -> Self {
        Self { memory, limit: memory - memory / LAST_SHARE, lowered: None }
    }

    /// The limit that follows from what the cache and the process hold now.
    fn look(&mut self, now: Instant, cached: u64, resident: u64) -> u64 {
        let ceiling = self.memory + BESIDE_BYTES;
        let step = self.memory / STEP_SHARE;
        let unsettled = self.lowered.filter(|(when, _)| now - *when < SETTLE);
        // Until it has settled, only what came on top of an excess is another one.
        let bearable = unsettled.map_or(ceiling, |(_, resident)| resident.max(ceiling));
        if resident > bearable {
            let lower = self.limit.saturating_sub(resident - bearable);
            self.limit = lower.max(self.memory / 2);
            self.lowered = Some((now, resident));
        } else if unsettled.is_none() && resident + step < ceiling {
            let given = (self.memory - self.memory / LAST_SHARE).max(cached + step);
            self.limit = (self.limit + step).min(given).min(self.memory);
        }
        self.limit
    }
}

/// Reads the process's resident size, from a file that stays open.
pub(crate) struct Meter {
    statm: File,
    page_bytes: u64,
}

impl Meter {
    pub(crate) fn open() -> io::Result<Self> {
        let page_bytes = rustix::param::page_size() as u64;
        Ok(Self { statm: File::open("/proc/self/statm")?, page_bytes })
    }

    /// The resident set: the second number of the line, in pages.
    pub(crate) fn resident_bytes(&self) -> io::Result<u64> {
        let mut line = [0; 128];
        let length = self.statm.read_at(&mut line, 0)?;
        std::str::from_utf8(&line[..length])
            .ok()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|pages| pages.parse::<u64>().ok())
            .map(|pages| pages * self.page_bytes)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1 << 20;

    #[test]
    fn the_limit_gives_way_to_an_excess_once_and_comes_back_by_steps() {
        let mut governor = Governor::new(64 * M);
        let start = Instant::now();
        let step = 64 * M / STEP_SHARE;
        let first = 64 * M - 64 * M / LAST_SHARE;
        for (ms, cached, resident, limit) in [
            // Nothing presses: all but the last share, and that only as it is filled.
            (0, 0, 6 * M, first),
            (10, first - M, 60 * M, first),
            (20, first, 63 * M, first + step),
            (30, first + step, 61 * M, first + 2 * step),
            (40, first + step, 70 * M, first + 2 * step),
            // An excess is taken off once; what comes on top of it as well.
            (50, first, 72 * M, first - 2 * M + 2 * step),
            (60, first - 2 * M, 72 * M, first - 2 * M + 2 * step),
            (70, first - 2 * M, 73 * M, first - 3 * M + 2 * step),
            (80, first - 3 * M, 64 * M, first - 3 * M + 2 * step),
            // The allocator had its time: still too much, so again; or back by steps.
            (770, first - 3 * M, 71 * M, first - 4 * M + 2 * step),
            (1470, first - 4 * M, 70 * M, first - 4 * M + 2 * step),
            (1480, first - 4 * M, 64 * M, first - 4 * M + 3 * step),
            (1490, 20 * M, 64 * M, first - 4 * M + 4 * step),
            (1500, 64 * M, 500 * M, 32 * M),
        ] {
            let now = start + Duration::from_millis(ms);
            assert_eq!(governor.look(now, cached, resident), limit, "at {ms} ms");
        }
    }

    #[test]
    fn the_resident_size_is_told_again_and_again() {
        let meter = Meter::open().expect("Linux has /proc");
        let before = meter.resident_bytes().expect("the file can be read");
        let filled = vec![7u8; 32 << 20];
        let after = meter.resident_bytes().expect("the file can be read");
        assert!(before > M && after > before + 16 * M, "{before} {after} {}", filled.len());
    }
}

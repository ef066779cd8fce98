//! How much memory millions of sessions take, and how much CPU announces, checkpoints and a
//! start do.
//!
//! `cargo run --release -p tracker --example millions [FOLDER [STORY…]]`
//!
//! Of a private tracker with its journal in a folder, and with batches taken as a database
//! would. Each story is a process of its own; CPU is the thread's that announces, its share of
//! the kernel's work for the journal with it.

mod crowd;
mod machine;

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use base::Clock;
use tracker::{Mode, Rules, Tracker};
use wire::tracker::Peers;

use crowd::{Crowd, mixed};
use machine::{cpu_ns, kernel_ns, process_cpu_seconds, say};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const STORIES: [&str; 5] = ["cached", "minute", "one-swarm", "millions", "start"];
/// Announces that are made ready before they are timed.
const TURN: u64 = 256;
/// Announces that are flushed together: what comes in one turn of the service.
const BURST: usize = 32;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let told = arguments.next().map(PathBuf::from);
    let temporary = std::env::temp_dir().join(format!("millions-{}", std::process::id()));
    let folder = told.as_ref().unwrap_or(&temporary);
    let stories: Vec<String> = arguments.collect();
    let result = match &stories[..] {
        [only] => tell(only, folder),
        some => STORIES
            .iter()
            .filter(|story| some.is_empty() || some.iter().any(|told| told == *story))
            .try_for_each(|story| run(story, folder)),
    };
    if told.is_none() {
        let _ = std::fs::remove_dir_all(folder);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A story in a process of its own.
fn run(story: &str, folder: &Path) -> io::Result<()> {
    let status = Command::new(std::env::current_exe()?).arg(folder).arg(story).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{story} failed"))) }
}

fn tell(story: &str, folder: &Path) -> io::Result<()> {
    println!("{story}");
    let millions = Crowd { sessions: 8_000_000, torrents: 400_000, users: 500_000, a_second: 5000 };
    let folder_of = |name: &str| {
        let folder = folder.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        folder
    };
    match story {
        // All that is touched fits the nearest caches.
        "cached" => {
            let crowd = Crowd { sessions: 2000, torrents: 50, users: 500, a_second: 50_000 };
            let stage = Stage::begin(&folder_of(story), crowd)?;
            stage.fill();
            stage.announce("an announce", 2_000_000, |at| at % 2000);
        }
        "minute" => {
            let crowd =
                Crowd { sessions: 120_000, torrents: 12_000, users: 20_000, a_second: 2000 };
            let stage = Stage::begin(&folder_of(story), crowd)?;
            stage.fill();
            let ns = stage.announce("an announce", 1_200_000, |at| at % 120_000);
            say("of a core at an announce a minute", format!("{:.2} %", 2000.0 * ns / 1e7));
            stage.checkpoint()?;
        }
        "one-swarm" => {
            let crowd = Crowd { sessions: 1_000_000, torrents: 1, users: 300_000, a_second: 5000 };
            let stage = Stage::begin(&folder_of(story), crowd)?;
            stage.fill();
            stage.announce("an announce", 1_000_000, |at| mixed(at, 20) % 1_000_000);
        }
        "millions" => {
            let stage = Stage::begin(&folder_of("state"), millions)?;
            stage.fill();
            stage.announce("an announce of anybody", 2_000_000, |at| mixed(at, 20) % 8_000_000);
            stage.checkpoint()?;
            stage.announce("an announce of anybody", 500_000, |at| mixed(at, 21) % 8_000_000);
            println!("  {:?}", stage.tracker.status());
        }
        "start" => {
            let stage = Stage::begin(&folder.join("state"), millions)?;
            stage.announce("an announce of anybody", 2_000_000, |at| mixed(at, 22) % 8_000_000);
            stage.checkpoint()?;
            println!("  {:?}", stage.tracker.status());
        }
        other => return Err(io::Error::other(format!("no story {other}; {STORIES:?}"))),
    }
    Ok(())
}

/// A tracker and whom it serves.
struct Stage {
    tracker: Tracker,
    crowd: Crowd,
    clock: Clock,
    /// Seconds of the story, not of the clock.
    second: Cell<u64>,
}

impl Stage {
    /// Opens a folder, and registers all.
    fn begin(folder: &Path, crowd: Crowd) -> io::Result<Self> {
        let rules = Rules {
            mode: Mode::Private,
            allows_private_addresses: true,
            gap_seconds: 0,
            ..Rules::default()
        };
        let clock = Clock::machine();
        let began = Instant::now();
        let (tracker, loaded) = Tracker::open(folder, rules, clock.now())?;
        if loaded.sessions > 0 {
            let (wall, cpu) = (began.elapsed().as_secs_f64(), process_cpu_seconds());
            say("opened the folder", format!("{wall:.2} s, {cpu:.2} of CPU"));
            println!("  {loaded:?}");
        }
        let stage = Self { tracker, crowd, clock, second: Cell::new(0) };
        stage.crowd.register(&stage.tracker);
        say("torrents and users registered", String::new());
        Ok(stage)
    }

    fn fill(&self) {
        let name = format!("{} sessions began, each", self.crowd.sessions);
        self.announce_all(&name, self.crowd.sessions, 0, |at| at);
    }

    fn announce(&self, name: &str, count: u64, session: impl Fn(u64) -> u64) -> f64 {
        self.announce_all(name, count, 1, session)
    }

    /// Announces, and says what each took.
    fn announce_all(
        &self,
        name: &str,
        count: u64,
        round: u64,
        session: impl Fn(u64) -> u64,
    ) -> f64 {
        let mut peers = Peers::default();
        let (mut spent, mut told, mut in_kernel) = (0, 0, 0);
        for turn in 0..count.div_ceil(TURN) {
            let announces: Vec<_> = (turn * TURN..((turn + 1) * TURN).min(count))
                .map(|at| self.crowd.announce(session(at), round + turn * TURN / (1 << 20)))
                .collect();
            let kernel_began = kernel_ns();
            let began = cpu_ns();
            for burst in announces.chunks(BURST) {
                let together: Vec<_> = burst.iter().map(|(announce, _)| announce.clone()).collect();
                self.tracker.foresee(&together);
                for (announce, from) in burst {
                    peers.v4.clear();
                    peers.v6.clear();
                    // Refusals are in the counts at the end.
                    let _ = self.tracker.announce(announce, *from, self.clock.now(), &mut peers);
                    told += peers.v4.len() / 6 + peers.v6.len() / 18;
                }
                let _ = self.tracker.flush_journal();
            }
            spent += cpu_ns() - began;
            in_kernel += kernel_ns().saturating_sub(kernel_began);
            let second = turn * TURN / self.crowd.a_second;
            while self.second.get() < second {
                self.second.set(self.second.get() + 1);
                self.second_over();
            }
        }
        self.second.set(0);
        let ns = spent as f64 / count as f64;
        let peers = told as f64 / count as f64;
        let kernel = in_kernel as f64 / count as f64 / 1000.0;
        let user = (ns / 1000.0 - kernel).max(0.0);
        say(name, format!("{user:.2} µs, {kernel:.2} in the kernel, {peers:.1} peers"));
        ns
    }

    /// What goes on beside announces: a tick a second, and once a minute the database.
    fn second_over(&self) {
        self.tracker.tick(self.clock.now());
        if !self.second.get().is_multiple_of(60) {
            return;
        }
        while let Some(batch) = self.tracker.take_batch(self.clock.now()) {
            self.tracker.written(batch.number);
        }
    }

    fn checkpoint(&self) -> io::Result<()> {
        let began = Instant::now();
        self.tracker.checkpoint(self.clock.now())?;
        say("a checkpoint", format!("{:.2} s", began.elapsed().as_secs_f64()));
        Ok(())
    }
}

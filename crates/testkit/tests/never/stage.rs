//! The stage of a simulation: a Wick in this process, its time, and what was seen to go wrong.
//!
//! One current-thread runtime plays a seed. Time is tokio's paused clock, which jumps to
//! the next timer whenever nobody has anything to do; [`tick`] carries Wick's own clock
//! along. So an hour costs nothing and the same seed plays the same way again.
//! Start at [`play`]; [`hunt`] plays many seeds.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base::{Clock, Shutdown, task};
use rand::SeedableRng;
use rand::rngs::StdRng;
use server::{Server, ServerConfig};
use testkit::dates::{HOST, START_UNIX_MS};
use testkit::world::World;
use tokio::io::DuplexStream;
use tokio::task::JoinSet;
use wire::Coding;

/// How far Wick's clock may lag behind the timers.
const TICK: Duration = Duration::from_millis(50);
/// What a pipe holds; small, so that writers wait in the middle of a body.
const PIPE_BYTES: usize = 4 << 10;

/// Everything that the actors of one simulation share. Clones are the same stage.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) server: Arc<Server>,
    pub(crate) world: World,
    complaint: Arc<Mutex<Option<String>>>,
}

/// How often each verdict was given, over all seeds: what never happened was not tested.
pub(crate) type Tally = BTreeMap<String, u64>;

/// What a seed comes to.
pub(crate) type Outcome = Result<Tally, Box<Complaint>>;

/// Why a seed failed, with its story.
pub(crate) struct Complaint {
    pub(crate) what: String,
    pub(crate) story: Vec<String>,
}

impl Stage {
    /// A stage whose time is `clock`'s.
    pub(crate) fn new(config: ServerConfig, clock: Clock) -> Self {
        let server = Server::new(config, clock.clone());
        Self { server, world: World::new(clock, false, HOST), complaint: Arc::default() }
    }

    /// Says that something happened that must not; the first complaint counts.
    pub(crate) fn complain(&self, what: impl Into<String>) {
        let what = what.into();
        self.world.tell("checker", &what);
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
    }

    /// Whether somebody has complained: the rest of the simulation is of no interest.
    pub(crate) fn is_over(&self) -> bool {
        self.complaint.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What was complained of, if anything was.
    pub(crate) fn outcome(&self) -> Outcome {
        let complaint = self.complaint.lock().unwrap_or_else(PoisonError::into_inner).take();
        match complaint {
            Some(what) => Err(Box::new(Complaint { what, story: self.world.story.all() })),
            None => {
                let counters = self.server.counters();
                let verdicts =
                    counters.verdicts().map(|(verdict, count)| (verdict.to_string(), count));
                let codings = Coding::ALL.into_iter().zip(&counters.codings);
                let sent = codings.map(|(coding, counts)| {
                    (format!("sent as {}", coding.as_str()), counts.after_bytes.read())
                });
                Ok(verdicts.chain(sent.filter(|(_, bytes)| *bytes > 0)).collect())
            }
        }
    }

    /// Opens a client's connection to Wick.
    pub(crate) fn connect(&self, number: usize) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let last = u8::try_from(number % 250 + 1).unwrap_or(1);
        let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)), 50_000);
        let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 80);
        let panics = self.server.counters().panics.clone();
        task::spawn_counted(&panics, self.server.clone().serve_connection(theirs, peer, local));
        ours
    }

    /// Starts what must run beside every server.
    pub(crate) fn keep_house(&self) {
        let panics = self.server.counters().panics.clone();
        task::spawn_counted(&panics, self.server.clone().housekeeping(Shutdown::default()));
    }

    /// What must hold at every moment and at every end.
    pub(crate) fn look_after(&self) {
        if self.server.counters().panics.read() > 0 {
            self.complain("a task of Wick's panicked");
        }
    }

    /// Waits for all actors.
    pub(crate) async fn until_done(&self, mut actors: JoinSet<()>) {
        while let Some(ended) = actors.join_next().await {
            if let Err(error) = ended {
                self.complain(format!("an actor of the simulation failed: {error}"));
            }
        }
        self.look_after();
    }
}

/// Plays one simulation on a runtime of its own, in virtual time.
pub(crate) fn play<F>(config: ServerConfig, act: impl FnOnce(Stage) -> F) -> Outcome
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing that could be missing");
    let stage = Stage::new(config, Clock::manual(START_UNIX_MS));
    runtime.block_on(async {
        tokio::spawn(tick(stage.world.clock.clone()));
        stage.keep_house();
        act(stage.clone()).await;
    });
    stage.outcome()
}

/// Carries Wick's clock along with the timers.
async fn tick(clock: Clock) {
    loop {
        tokio::time::sleep(TICK).await;
        clock.advance_ms(TICK.as_millis() as u64);
    }
}

/// The dice of one actor.
pub(crate) fn dice(seed: u64, actor: u64) -> StdRng {
    StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(actor))
}

/// Plays seeds until one fails; `SEED=n` plays that one, and `SEEDS=n` makes the run so
/// many times as long. Every verdict that begins with one of `wanted` must have been given.
///
/// # Errors
/// The first seed that failed; its story and how to play it again are printed.
pub(crate) fn hunt(
    count: u64,
    wanted: &[&str],
    play: impl Fn(u64) -> Outcome,
) -> Result<(), String> {
    let read = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let only = read("SEED");
    let seeds = match only {
        Some(seed) => seed..seed + 1,
        None => 0..count * read("SEEDS").unwrap_or(1),
    };
    let mut total = Tally::new();
    for seed in seeds {
        match play(seed) {
            Ok(tally) => {
                tally
                    .into_iter()
                    .for_each(|(word, count)| *total.entry(word).or_default() += count);
            }
            Err(complaint) => return Err(tell(seed, &complaint)),
        }
    }
    println!("{total:#?}");
    for word in wanted {
        let is_given = total.keys().any(|verdict| verdict.starts_with(word));
        assert!(is_given || only.is_some(), "no seed came to a verdict {word}");
    }
    Ok(())
}

fn tell(seed: u64, complaint: &Complaint) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    let (story, what) = (complaint.story.join("\n"), &complaint.what);
    eprintln!("{story}\n\n{what}");
    eprintln!("again: SEED={seed} cargo test -p testkit --test never {name}");
    format!("seed {seed}: {what}")
}

/// The first seed that a checker complains of, with the complaint: for checkers that are
/// shown a lie, and must see it.
pub(crate) fn first_seen(count: u64, play: impl Fn(u64) -> Outcome) -> Option<(u64, String)> {
    (0..count).find_map(|seed| play(seed).err().map(|complaint| (seed, complaint.what)))
}

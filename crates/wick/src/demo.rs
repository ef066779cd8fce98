//! `wick demo`: a real PHP site before and behind Wick, with the numbers.
//!
//! Both times the same php-fpm runs the same site and the same visitors ask for the
//! same pages; the only difference is that the first time nothing is stored. A run
//! with failures has no ratio.

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use server::Listener;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::announce::{say, url};
use crate::arguments::Demo;
use crate::figures::{Side, grouped, table, void};
use crate::load::Load;
use crate::plan::{Plan, SitePlan};
use crate::processor;
use crate::run::{RunError, Running, listen_to_signals, single_threaded};
use crate::settings::SiteSettings;
use crate::signals::Signals;
use crate::sites::SiteError;

/// Visitors at one time.
const VISITORS: usize = 16;
/// The pages that are asked for in turn.
const PATHS: [&str; 4] = ["/", "/thread/1", "/thread/2", "/thread/3"];
/// Load before the measurement, so that PHP's opcode cache and ours are filled.
const WARM_UP: Duration = Duration::from_millis(500);
/// How long answers in flight may take at the end: somebody waits at the keyboard.
const GRACE: Duration = Duration::from_secs(2);
/// How many ports are tried before giving up.
const PORTS_MAX: u16 = 50;
/// How often a port that was just found free may turn out taken.
const START_TRIES_MAX: u32 = 5;

/// Runs the demo and serves on until Ctrl-C.
pub(crate) fn run(demo: &Demo) -> Result<(), RunError> {
    if !demo.site.join("index.php").is_file() {
        let why = "there is no index.php in it; run the demo from Wick's own folder, \
                   or name a folder with a PHP site: wick demo FOLDER";
        return Err(SiteError::Folder(demo.site.clone(), why.into()).into());
    }
    single_threaded()?.block_on(async {
        let mut signals = listen_to_signals()?;
        let scratch = Scratch::new()?;
        show(demo, &scratch, &mut signals).await
    })
}

async fn show(demo: &Demo, scratch: &Scratch, signals: &mut Signals) -> Result<(), RunError> {
    // A wrong address is told before anything is measured.
    free_address(demo.listen)?;
    let time = Duration::from_secs(demo.seconds.clamp(1, 600));
    say(&format!("\nThe PHP site in {}, before and behind Wick:\n", demo.site.display()));
    let (visitors, pages, seconds) = (VISITORS, PATHS.len(), time.as_secs());
    say(&format!("{visitors} visitors ask for {pages} pages in turn, {seconds} s each way.\n\n"));

    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut before = Running::start(plan(demo, scratch, any_port, "before"), false).await?;
    let plain = measure("before", &before, time, signals).await;
    before.stop(signals).await;
    let plain = plain?;

    let mut behind = start_behind(demo, scratch).await?;
    let shown = match measure("behind Wick", &behind, time, signals).await {
        Ok(fast) => serve_on(demo, &behind, [plain, fast], signals).await,
        Err(error) => Err(error),
    };
    behind.stop(signals).await;
    shown
}

/// Tells the result and stays, if that is wanted.
async fn serve_on(
    demo: &Demo,
    behind: &Running,
    sides: [Side; 2],
    signals: &mut Signals,
) -> Result<(), RunError> {
    say(&table(&sides));
    let void = void(&sides);
    if demo.once {
        return void.map_or(Ok(()), |why| Err(RunError::Void(why)));
    }
    if let Some(why) = void {
        say(&format!("The measurement is void: {why}.\n"));
    }
    let address = url(behind.addresses[0]);
    if behind.addresses[0] != demo.listen {
        say(&format!("\n{} is taken, so the next free port is used.\n", demo.listen));
    }
    say(&format!("\n  Open       {address}\n"));
    say(&format!("  Ask why    curl -sD- -o /dev/null {address}thread/1\n"));
    say("  Stop       Ctrl-C\n");
    signals.stop().await;
    say("\nStopping.\n");
    Ok(())
}

/// Starts the caching side on the next free port; another program may take the very port
/// that was found a moment ago, so one is looked for a few times.
async fn start_behind(demo: &Demo, scratch: &Scratch) -> Result<Running, RunError> {
    let mut tries = START_TRIES_MAX;
    loop {
        let listen = free_address(demo.listen)?;
        tries -= 1;
        match Running::start(plan(demo, scratch, listen, "behind"), true).await {
            Err(RunError::Listen(_, error))
                if tries > 0 && error.kind() == io::ErrorKind::AddrInUse => {}
            started => return started,
        }
    }
}

/// The address that was asked for, or the next with a free port.
fn free_address(wanted: SocketAddr) -> Result<SocketAddr, RunError> {
    let first = wanted.port();
    for port in first..=first.saturating_add(PORTS_MAX) {
        let address = SocketAddr::new(wanted.ip(), port);
        match Listener::probe(address) {
            Ok(()) => return Ok(address),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(error) => return Err(RunError::Listen(address, error)),
        }
    }
    Err(RunError::Listen(wanted, io::ErrorKind::AddrInUse.into()))
}

fn plan(demo: &Demo, scratch: &Scratch, listen: SocketAddr, name: &str) -> Plan {
    let mut site = SitePlan::of(&demo.site.to_string_lossy(), &SiteSettings::default());
    let data = scratch.0.join("data").display().to_string();
    site.environment = vec![("BOARD_DATA".into(), data)];
    let mut plan = Plan::for_site(site, listen, scratch.0.join(name));
    plan.limits.grace = GRACE;
    plan
}

/// Puts load on a server, with a line of progress on a terminal, until it is over or
/// somebody has had enough.
async fn measure(
    what: &str,
    running: &Running,
    time: Duration,
    signals: &mut Signals,
) -> Result<Side, RunError> {
    let answered = Arc::new(AtomicU64::new(0));
    let (address, groups) = (running.addresses[0], running.php_groups());
    let (sender, result) = oneshot::channel();
    let (runtime, counted, server) = (single_threaded()?, answered.clone(), running.server.clone());
    // The load has a thread of its own, so that its processor time can be told from Wick's.
    let load = std::thread::Builder::new().name("load".into()).spawn(move || {
        runtime.block_on(async {
            let mut sender = sender;
            let fetches = || server.counters().fetches.read();
            tokio::select! {
                side = run_load(address, &groups, time, &counted, fetches) => {
                    // Nobody listens any more if the demo was stopped in the same moment.
                    let _ = sender.send(side);
                }
                () = sender.closed() => {}
            }
        });
    });
    let load = load.map_err(|error| RunError::System("a thread", error))?;
    let side = tokio::select! {
        side = result => side.map_err(|_| RunError::System("the load", io::Error::other("it broke off"))),
        () = progress(what, time, &answered) => Err(RunError::Interrupted),
        () = signals.stop() => Err(RunError::Interrupted),
    };
    if load.join().is_err() {
        return Err(RunError::System("the load", io::Error::other("it panicked")));
    }
    if io::stdout().is_terminal() {
        say("\r\x1b[K");
    }
    let side = side?;
    let pages = grouped(side.answers() as f64);
    say(&format!("  {what:<12} {} {pages:>12} pages\n", bar(1.0)));
    Ok(side)
}

async fn run_load(
    address: SocketAddr,
    groups: &[u32],
    time: Duration,
    answered: &AtomicU64,
    fetches: impl Fn() -> u64,
) -> Side {
    let host = address.to_string();
    let load = Load { host: &host, paths: &PATHS, visitors: VISITORS };
    let dial = async || {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    let warm_up = load.run(&dial, WARM_UP, &AtomicU64::new(0)).await;
    let spent = || {
        let php: Duration = groups.iter().map(|&group| processor::of_group(group)).sum();
        (processor::of_process() + php).saturating_sub(processor::of_thread())
    };
    let start = (spent(), fetches());
    let mut measured = load.run(&dial, time, answered).await;
    let processor = spent().saturating_sub(start.0);
    let made_by_php = fetches() - start.1;
    // What fails while warming up fails the measurement too.
    for (what, count) in warm_up.failures {
        *measured.failures.entry(what).or_default() += count;
    }
    Side { measured, processor, made_by_php }
}

/// Shows how far it is; never ends.
async fn progress(what: &str, time: Duration, answered: &AtomicU64) {
    if !io::stdout().is_terminal() {
        return std::future::pending().await;
    }
    let start = tokio::time::Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    loop {
        tick.tick().await;
        let pages = grouped(answered.load(Ordering::Relaxed) as f64);
        let share = start.elapsed().saturating_sub(WARM_UP).as_secs_f64() / time.as_secs_f64();
        say(&format!("\r\x1b[K  {what:<12} {} {pages:>12} pages", bar(share.min(1.0))));
    }
}

fn bar(share: f64) -> String {
    format!("[{:<24}]", "#".repeat((share * 24.0) as usize))
}

/// A folder of the demo's own that goes when the demo ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, RunError> {
        let folder = tempfile::Builder::new()
            .prefix("wick-demo-")
            .tempdir()
            .map_err(|error| RunError::System("a temporary folder", error))?
            .keep();
        let scratch = Self(folder);
        let data = scratch.0.join("data");
        let made = std::fs::create_dir(&data).and_then(|()| open_to_all(&scratch.0, &data));
        made.map_err(|error| RunError::System("a temporary folder", error))?;
        Ok(scratch)
    }
}

/// PHP may run as another user than Wick; the data are made up, and only here.
fn open_to_all(folder: &Path, data: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o711))?;
    std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o1777))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("wick: {} could not be removed: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_gives_way_to_the_next_free_one() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let wanted = taken.local_addr().expect("an address");
        let found = free_address(wanted).expect("one of the next ports is free");
        assert!(found.port() > wanted.port() && found.ip() == wanted.ip());
        let foreign = free_address("192.0.2.1:8080".parse().expect("an address"));
        assert!(
            foreign
                .is_err_and(|error| error.to_string().contains("not an address of this machine"))
        );
    }
}

//! `wick demo`: a real PHP site before and behind Wick, with the numbers.
//!
//! Both times the same php-fpm runs the same site and the same visitors ask for the
//! same pages; the only difference is that the first time nothing is stored. A run
//! with failures has no ratio.

mod apps;
mod exhibit;
mod forms;
mod log_in;
mod measure;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::complaint::complain;
use server::Listener;

use crate::announce::{say, url};
use crate::arguments::Demo;
use crate::figures::{Side, table, void};
use crate::plan::{Plan, SitePlan};
use crate::run::{Begin, End, RunError, Running, listen_to_signals, single_threaded};
use crate::settings::SiteSettings;
use crate::signals::Signals;

use exhibit::Exhibit;
use measure::{VISITORS, measure};

/// How long answers in flight may take at the end: somebody waits at the keyboard.
const GRACE: Duration = Duration::from_secs(2);
/// How many ports are tried before giving up.
const PORTS_MAX: u16 = 50;
/// How often a port that was just found free may turn out taken.
const START_TRIES_MAX: u32 = 5;

/// Runs the demo and serves on until Ctrl-C.
pub(crate) fn run(demo: &Demo) -> Result<(), RunError> {
    single_threaded()?.block_on(async {
        let mut signals = listen_to_signals()?;
        // A wrong address is told before anything is installed or measured.
        free_address(demo.listen)?;
        let scratch = Scratch::new()?;
        let exhibit = Exhibit::of(demo, &scratch.0.join("data"))?;
        show(demo, &exhibit, &scratch, &mut signals).await
    })
}

async fn show(
    demo: &Demo,
    exhibit: &Exhibit,
    scratch: &Scratch,
    signals: &mut Signals,
) -> Result<(), RunError> {
    let time = Duration::from_secs(demo.seconds.clamp(1, 600));
    say(&format!("\n{}, before and behind Wick:\n", exhibit.title));
    let (visitors, pages, seconds) = (VISITORS, exhibit.paths.len(), time.as_secs());
    say(&format!("{visitors} visitors ask for {pages} pages in turn, {seconds} s each way.\n\n"));

    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut before =
        Running::start(plan(exhibit, scratch, any_port, "before"), Begin::default()).await?;
    let plain = measure("before", &before, exhibit, time, signals).await;
    before.stop(signals, End::Stop).await;
    let plain = plain?;

    let mut behind = start_behind(demo, exhibit, scratch).await?;
    let shown = match measure("behind Wick", &behind, exhibit, time, signals).await {
        Ok(fast) => serve_on(demo, exhibit, &behind, [plain, fast], signals).await,
        Err(error) => Err(error),
    };
    behind.stop(signals, End::Stop).await;
    shown
}

/// Tells the result and stays, if that is wanted.
async fn serve_on(
    demo: &Demo,
    exhibit: &Exhibit,
    behind: &Running,
    sides: [Side; 2],
    signals: &mut Signals,
) -> Result<(), RunError> {
    say(&table(&sides));
    let logged_in = log_in(exhibit, behind.addresses[0]).await?;
    let void = void(&sides);
    if demo.once {
        logged_in.map_err(RunError::Demo)?;
        return void.map_or(Ok(()), |why| Err(RunError::Void(why)));
    }
    if let Err(why) = logged_in {
        say(&format!("{why}.\n"));
    }
    if let Some(why) = void {
        say(&format!("The measurement is void: {why}.\n"));
    }
    let address = url(behind.addresses[0]);
    if behind.addresses[0] != demo.listen {
        say(&format!("\n{} is taken, so the next free port is used.\n", demo.listen));
    }
    let of = |path: &str| format!("{address}{}", path.trim_start_matches('/'));
    say(&format!("\n  Open       {address}\n"));
    if let Some(log_in) = exhibit.log_in {
        let page = of(log_in.page);
        say(&format!("  Log in     {page}   as {}, {}\n", log_in.user, log_in.password));
    }
    let other = exhibit.paths.get(1).copied().unwrap_or_default();
    say(&format!("  Ask why    curl -sD- -o /dev/null '{}'\n", of(other)));
    say("  Stop       Ctrl-C\n");
    signals.stop().await;
    say("\nStopping.\n");
    Ok(())
}

/// Logs in as a visitor would, where somebody is known to the site; the inner result says
/// what came of it.
async fn log_in(exhibit: &Exhibit, address: SocketAddr) -> Result<Result<(), String>, RunError> {
    let Some(log_in) = exhibit.log_in else { return Ok(Ok(())) };
    let checked = tokio::task::spawn_blocking(move || log_in.check(address)).await;
    let checked = checked
        .map_err(|_| RunError::System("a log-in", io::Error::other("it panicked")))?
        .map_err(|why| format!("Logging in through Wick failed: {why}"));
    if checked.is_ok() {
        say(&format!("\n  Logging in through Wick works: the site knows {}.\n", log_in.user));
    }
    Ok(checked)
}

/// Starts the caching side on the next free port; another program may take the very port
/// that was found a moment ago, so one is looked for a few times.
async fn start_behind(
    demo: &Demo,
    exhibit: &Exhibit,
    scratch: &Scratch,
) -> Result<Running, RunError> {
    let mut tries = START_TRIES_MAX;
    loop {
        let listen = free_address(demo.listen)?;
        tries -= 1;
        match Running::start(
            plan(exhibit, scratch, listen, "behind"),
            Begin { caches: true, ..Begin::default() },
        )
        .await
        {
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

fn plan(exhibit: &Exhibit, scratch: &Scratch, listen: SocketAddr, name: &str) -> Plan {
    let mut site = SitePlan::of(&exhibit.root.to_string_lossy(), &SiteSettings::default());
    site.environment = exhibit.environment.clone();
    let mut plan = Plan::for_site(site, listen, scratch.0.join(name));
    plan.limits.grace = GRACE;
    plan
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
            complain(format_args!("{} could not be removed: {error}", self.0.display()));
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

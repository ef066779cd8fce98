//! `wick demo`: a real PHP site before and behind Wick, with the numbers.
//!
//! Both times the same php-fpm runs the same site and the same visitors ask for the
//! same pages; the only difference is that the first time nothing is stored.

use std::io::{self, IsTerminal, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::arguments::Demo;
use crate::load::{self, Measured};
use crate::plan::{Plan, SitePlan};
use crate::run::{RunError, Running, single_threaded, stop_signal};
use crate::settings::SiteSettings;
use crate::sites::SiteError;

/// Visitors at one time.
const VISITORS: usize = 16;
/// The pages that are asked for in turn.
const PATHS: [&str; 4] = ["/", "/thread/1", "/thread/2", "/thread/3"];

/// Runs the demo and serves on until Ctrl-C.
pub(crate) fn run(demo: &Demo) -> Result<(), RunError> {
    if !demo.site.join("index.php").is_file() {
        let why = "there is no index.php in it; run the demo from Wick's own folder, \
                   or name a folder with a PHP site: wick demo FOLDER";
        return Err(SiteError::Folder(demo.site.clone(), why.into()).into());
    }
    let folder = Scratch::new()?;
    single_threaded()?.block_on(show(demo, &folder))
}

async fn show(demo: &Demo, scratch: &Scratch) -> Result<(), RunError> {
    let time = Duration::from_secs(demo.seconds.clamp(1, 600));
    println!("A PHP site ({}) before and behind Wick.\n", demo.site.display());
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));

    let mut before = Running::start(plan(demo, scratch, any_port, "before"), false).await?;
    let plain = measure("before: each page made by PHP", before.addresses[0], time).await;
    before.stop().await;

    let mut behind = Running::start(plan(demo, scratch, demo.listen, "behind"), true).await?;
    let address = behind.addresses[0];
    let fast = measure("behind Wick", address, time).await;

    print_table(&plain, &fast);
    println!("\nThe board is at  http://{address}/");
    println!("Why a page was fast or slow:  curl -sD- -o /dev/null http://{address}/thread/1");
    if !demo.once {
        println!("It stays up until Ctrl-C.");
        stop_signal().await?;
        println!("\nStopping.");
    }
    behind.stop().await;
    Ok(())
}

fn plan(demo: &Demo, scratch: &Scratch, listen: SocketAddr, name: &str) -> Plan {
    let mut site = SitePlan::of(&demo.site.to_string_lossy(), &SiteSettings::default());
    let data = scratch.0.join("data").display().to_string();
    site.environment = vec![("BOARD_DATA".into(), data)];
    Plan::for_site(site, listen, scratch.0.join(name))
}

/// Puts load on a server, with a line of progress on a terminal.
async fn measure(what: &str, address: SocketAddr, time: Duration) -> Measured {
    let paths = Arc::new(PATHS.map(str::to_owned).to_vec());
    let warm_up = Duration::from_millis(500);
    load::run(address, paths.clone(), VISITORS, warm_up, Arc::default()).await;
    let answered = Arc::new(AtomicU64::new(0));
    let progress = tokio::spawn(progress(what.to_owned(), time, answered.clone()));
    let measured = load::run(address, paths, VISITORS, time, answered).await;
    progress.abort();
    let shown = format!("{what}: {:.0} pages/s", measured.rate());
    if io::stdout().is_terminal() { println!("\r{shown:<70}") } else { println!("{shown}") }
    measured
}

async fn progress(what: String, time: Duration, answered: Arc<AtomicU64>) {
    if !io::stdout().is_terminal() {
        return;
    }
    let start = tokio::time::Instant::now();
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    loop {
        tick.tick().await;
        let pages = answered.load(Ordering::Relaxed);
        let elapsed = start.elapsed().min(time);
        let bar = (elapsed.as_secs_f64() / time.as_secs_f64() * 20.0) as usize;
        print!("\r{what}: [{:<20}] {pages} pages", "#".repeat(bar));
        // A terminal that went away is noticed by the next line that matters.
        let _ = io::stdout().flush();
    }
}

fn print_table(plain: &Measured, fast: &Measured) {
    let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    println!("\n{:<22}{:>16}{:>16}", "", "before", "behind Wick");
    let rate = |measured: &Measured| format!("{:.0}", measured.rate());
    println!("{:<22}{:>16}{:>16}", "pages a second", rate(plain), rate(fast));
    for (name, share) in [("median latency", 0.5), ("99 % are below", 0.99)] {
        let cells = (ms(plain.percentile(share)), ms(fast.percentile(share)));
        println!("{name:<22}{:>16}{:>16}", cells.0, cells.1);
    }
    println!("{:<22}{:>16}{:>16}", "failures", plain.failures, fast.failures);
    println!("\nThat is {:.0} times as many pages.", fast.rate() / plain.rate().max(1e-9));
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

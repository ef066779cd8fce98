//! `wick check`: what `wick serve` would do, tried out without serving.
//!
//! Trying is better than looking: php-fpm is started in a folder of its own and stopped
//! again, origins are called, folders are written to. Everything that is wrong is told,
//! not only the first of it.

use std::iter::repeat;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::amount::show_bytes;
use origin::{Origin, OriginError};
use search::try_engine;
use server::{Http3Listener, Listener};
use tokio::net::{TcpStream, UnixStream};

use crate::admin;
use crate::announce::{self, say};
use crate::arguments::Serve;
use crate::certificates;
use crate::changes;
use crate::cluster;
use crate::disk;
use crate::listening::{explain_http3, explain_listen};
use crate::own_user;
use crate::plan::{Plan, SitePlan};
use crate::run::{RunError, single_threaded};
use crate::sites::Started;
use crate::sphinx;
use crate::tracker::{TrackerPlan, Tracking};

/// How long an origin may take to accept.
const PATIENCE: Duration = Duration::from_secs(3);

/// Says what `wick serve` with these arguments would do, and what is wrong.
pub(crate) fn run(serve: &Serve) -> Result<(), RunError> {
    let serve = &settings_file_as_config(serve);
    let plan = Plan::of(serve)?;
    let mut wrong = Vec::new();
    say_machine(&plan, &mut wrong);
    say_user(&plan, &mut wrong);
    single_threaded()?.block_on(async {
        for site in &plan.sites {
            say_site(site, &mut wrong).await?;
            certificates::check::check(&plan, site, &mut wrong).await;
            changes::check(site, serve, &mut wrong).await;
        }
        if let Some(tracker) = &plan.tracker {
            say_tracker(tracker, &mut wrong).await;
        }
        if let Some(sphinx) = &plan.sphinx {
            sphinx::check(sphinx, &mut wrong).await;
        }
        Ok::<(), RunError>(())
    })?;
    if wrong.is_empty() {
        say("\nEverything is in order.\n");
        return Ok(());
    }
    say("\nWrong:\n");
    wrong.iter().for_each(|problem| say(&format!("  - {problem}\n")));
    let things = if wrong.len() == 1 {
        "one thing is".into()
    } else {
        format!("{} things are", wrong.len())
    };
    Err(RunError::Check(things))
}

/// `wick check wick.toml` is what a person types.
fn settings_file_as_config(serve: &Serve) -> Serve {
    let mut serve = serve.clone();
    let is_file = serve.site.as_ref().is_some_and(|site| Path::new(site).is_file());
    if is_file && serve.config.is_none() {
        serve.config = serve.site.take().map(PathBuf::from);
    }
    serve
}

/// What holds for all sites.
fn say_machine(plan: &Plan, wrong: &mut Vec<String>) {
    let (plain, tls) = (plan.listen.iter(), plan.listen_tls.iter());
    for (&address, way) in plain.zip(repeat("")).chain(tls.zip(repeat(", HTTPS"))) {
        let state = match Listener::probe(address) {
            Ok(()) => "free",
            Err(error) => {
                wrong.push(explain_listen(address, &error));
                "can't be had"
            }
        };
        say(&format!("listen      {address} ({state}{way})\n"));
    }
    if let Some(address) = plan.admin.address {
        say(&format!("admin       {}\n", announce::url(address)));
    }
    let probed = [admin::probe(&plan.admin), cluster::probe(plan)];
    wrong.extend(probed.into_iter().filter_map(Result::err).map(|error| error.to_string()));
    for &address in plan.listen_tls.iter().filter(|_| plan.http3) {
        match Http3Listener::bind(address) {
            Ok(_) => say(&format!("listen      {address} over UDP (free, HTTP/3)\n")),
            Err(error) => wrong.push(explain_http3(address, &error)),
        }
    }
    say(&format!("memory      {} for the cache\n", show_bytes(plan.memory_bytes)));
    say(&format!("threads     {}\n", plan.threads));
    say(&format!("state       {}\n", plan.state.display()));
    if let Err(error) = try_to_write(&plan.state) {
        wrong.push(format!(
            "{} can't be written to ({error}): choose another with --state",
            plan.state.display()
        ));
    }
    if let Some(bytes) = plan.disk_bytes {
        let folder = disk::folder(&plan.state);
        let held = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let held: u64 = held.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
        let (bytes, held) = (show_bytes(bytes), show_bytes(held));
        say(&format!("disk        {bytes} for pages, of which {held} are used\n"));
        if let Err(error) = try_to_write(&folder) {
            wrong.push(disk::explain(&folder, &error));
        }
    }
    let Some(log) = plan.access_log.as_ref().filter(|log| *log != Path::new("-")) else { return };
    say(&format!("access log  {}\n", log.display()));
    let parent = log.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Err(error) = tempfile::tempfile_in(parent.unwrap_or(Path::new("."))) {
        wrong.push(RunError::AccessLog(log.display().to_string(), error).to_string());
    }
}

/// As whom it would serve. All else is tried as whoever runs this, and root may do anything.
fn say_user(plan: &Plan, wrong: &mut Vec<String>) {
    let (who, obstacles) = own_user::foresee(plan);
    if let Some(who) = who {
        say(&format!("user        {who}\n"));
    }
    wrong.extend(obstacles);
}

/// Whether a folder can be written to, or made if it isn't there; leaves nothing behind.
fn try_to_write(folder: &Path) -> std::io::Result<()> {
    let absolute = std::path::absolute(folder)?;
    let there = absolute.ancestors().find(|ancestor| ancestor.exists());
    tempfile::tempdir_in(there.unwrap_or(Path::new("/"))).map(drop)
}

async fn say_site(site: &SitePlan, wrong: &mut Vec<String>) -> Result<(), RunError> {
    let hosts = if site.hosts.is_empty() { "any host".into() } else { site.hosts.join(", ") };
    say(&format!("\nsite        {hosts}\n"));
    let scratch = tempfile::tempdir().map_err(|error| RunError::System("a folder", error))?;
    match Started::start(site, scratch.path(), 0, site.caches).await {
        Ok(started) => {
            started.found.iter().for_each(|line| say(&format!("  {line}\n")));
            if let Origin::Http(origin) = &*started.config.origin {
                for (address, tried) in origin.try_out().await {
                    match tried {
                        Ok(spoken) => say(&format!("  spoken    {spoken} with {address}\n")),
                        Err(error @ OriginError::Untrusted(_)) => {
                            wrong.push(format!("{address}: {error}"));
                        }
                        Err(error) => wrong.push(format!(
                            "{address} does not answer ({error}): start it, or correct the address"
                        )),
                    }
                }
            }
            started.stop().await;
        }
        Err(error) => {
            say(&format!("  {}\n", site.source.shown()));
            wrong.push(error.to_string());
            return Ok(());
        }
    }
    if let Some(php) = &site.php
        && let Some(problem) = call(php).await
    {
        wrong.push(format!("{php} does not answer ({problem}): start it, or correct the address"));
    }
    if !site.caches {
        say("  cache     off\n");
    }
    if site.audits {
        say("  audit     of what is stored; wick audit status\n");
    }
    if let Some(search) = &site.search {
        say(&format!("  search    on {}\n", search.path));
        if let Some(engine) = search.engine.clone() {
            say(&format!("            kept by {engine}\n"));
            let tried = tokio::task::spawn_blocking(move || try_engine(&engine)).await;
            wrong.extend(tried.ok().and_then(Result::err).map(|why| why.to_string()));
        }
        for rows in &search.rows {
            say(&format!("            and rows of source {}\n", rows.name));
        }
    }
    Ok(())
}

/// Where the tracker would be, and what its books are.
async fn say_tracker(tracker: &TrackerPlan, wrong: &mut Vec<String>) {
    say("\n");
    for &address in &tracker.listen {
        let state = match Tracking::probe(address, tracker.udp) {
            Ok(()) => "free",
            Err(error) => {
                wrong.push(error.to_string());
                "can't be had"
            }
        };
        say(&format!("tracker     {address} ({state})\n"));
    }
    if let Some(room) = tracker.scarce_udp_room() {
        say(&format!("  udp       {room}\n"));
    }
    let Some(books) = &tracker.books else { return };
    let state = match books.try_out(tracker.rules.node.is_some()).await {
        Ok(()) => "has what it needs",
        Err(why) => {
            wrong.push(format!("the tracker's database: {why}"));
            "can't be used"
        }
    };
    let place = if books.database.is_none() { "a file of our own" } else { "the database" };
    say(&format!("  books     {place} ({state}), contract {}\n", books.contract));
}

/// What happens when a socket that somebody else serves is called; nothing if all is well.
async fn call(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once(':')?;
    let called = async {
        match scheme {
            "unix" => UnixStream::connect(rest).await.map(drop),
            _ => TcpStream::connect(rest).await.map(drop),
        }
    };
    match tokio::time::timeout(PATIENCE, called).await {
        Ok(result) => result.err().map(|error| error.to_string()),
        Err(_) => Some(format!("nothing within {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_is_called_and_what_is_wrong_is_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        assert_eq!(call(&format!("tcp:{address}")).await, None);
        drop(listener);
        assert!(call(&format!("tcp:{address}")).await.is_some());
        assert!(call("unix:/nowhere/at/all").await.is_some());
        assert_eq!(call("").await, None, "nothing to call");
    }

    #[test]
    fn a_folder_that_is_not_there_yet_is_tried_in_its_parent() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(try_to_write(&folder.path().join("a/b")).is_ok());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
        assert!(try_to_write(Path::new("/proc/none")).is_err());
    }
}

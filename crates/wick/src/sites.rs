//! Sites at work: what SITE turns out to be, and the PHP that it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use origin::{
    Dial, FilesOrigin, Fpm, FpmError, FpmOptions, HttpOptions, HttpOrigin, HttpServer, Log, Origin,
    PhpAddressError, PhpOptions, PhpOrigin, ServersError, TlsSettings,
};
use server::{PartHost, SiteConfig, ViewsRules, ViewsSecret};

use crate::admin::{PhpSelf, Restarts, Subject};
use crate::app;
use crate::changes::tap::{self, TapError};
use crate::markup::OwnMarkup;
use crate::own_user::{self, KeptPhp};
use crate::plan::{SitePlan, Source};

/// How deep PHP is looked for in a folder: apps keep an index.php at the top.
const PHP_DEPTH_MAX: usize = 2;
/// How often it is looked whether an origin that nobody is sent to any more is left.
const LEAVE_INTERVAL: Duration = Duration::from_millis(20);
/// How many names are looked at before a folder is taken for one without PHP.
const PHP_NAMES_MAX: usize = 10_000;

/// Why a site can't be served; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    /// The folder can't be used.
    #[error("can't serve {0}: {1}")]
    Folder(PathBuf, String),
    /// The origin's servers can't be used.
    #[error(transparent)]
    Servers(#[from] ServersError),
    /// PHP's address is wrong.
    #[error(transparent)]
    PhpAddress(#[from] PhpAddressError),
    /// php-fpm can't be started.
    #[error(transparent)]
    Fpm(#[from] FpmError),
    /// php-fpm can't be started by who may.
    #[error("{0}")]
    Kept(String),
    /// The owner wants a tap, and none can stand.
    #[error(transparent)]
    Tap(#[from] TapError),
}

/// A site whose origin is ready.
pub(crate) struct Started {
    pub(crate) config: SiteConfig,
    /// What was found, for the person at the terminal.
    pub(crate) found: Vec<String>,
    /// What its own PHP knows Wick by.
    own_key: Option<ViewsSecret>,
    fpm: Option<Php>,
    /// What its PHP goes to for its database. It goes last: PHP may ask until it has ended.
    tap: Option<tap::Standing>,
    /// Looks after the origin's health.
    watch: Option<Watch>,
}

/// A php-fpm that was started for a site.
enum Php {
    /// By this process.
    Own(Fpm),
    /// By the one that stayed root.
    Kept(KeptPhp),
}

impl Php {
    async fn start(
        plan: &SitePlan,
        folder: &Path,
        state: &Path,
        number: u64,
        database_socket: Option<&Path>,
    ) -> Result<Self, SiteError> {
        if let Some(kept) = own_user::start_php(folder, number, database_socket).await {
            return kept.map(Self::Kept).map_err(SiteError::Kept);
        }
        let mut options = FpmOptions::new(folder, run_folder(state, folder, number));
        options.children = plan.php_children.map(|children| children as usize);
        options.environment = plan.environment.clone();
        options.slow_after = plan.php_slow;
        options.database_socket = database_socket.map(Path::to_owned);
        Ok(Self::Own(Fpm::start(options).await?))
    }

    fn socket(&self) -> &Path {
        match self {
            Self::Own(fpm) => fpm.socket(),
            Self::Kept(kept) => kept.socket(),
        }
    }

    fn children(&self) -> usize {
        match self {
            Self::Own(fpm) => fpm.children(),
            Self::Kept(kept) => kept.children(),
        }
    }

    /// By what it is asked how it is.
    fn subject(&self) -> PhpSelf {
        match self {
            Self::Own(fpm) => PhpSelf {
                status_path: fpm.status_path().to_owned(),
                opcache_script: fpm.opcache_script().map(Path::to_owned),
                slow_log: fpm.slow_log().map(Path::to_owned),
                restarts: Restarts::Counted(fpm.restarts_counter()),
            },
            Self::Kept(kept) => PhpSelf {
                status_path: kept.status_path().to_owned(),
                opcache_script: kept.opcache_script().map(Path::to_owned),
                slow_log: kept.slow_log().map(Path::to_owned),
                restarts: Restarts::Asked(kept.id()),
            },
        }
    }

    /// What a person is told of it.
    fn told(&self) -> String {
        let (program, user) = match self {
            Self::Own(fpm) => (fpm.program(), fpm.user()),
            Self::Kept(kept) => (kept.program(), kept.user()),
        };
        let user = user.map_or_else(String::new, |user| format!(", running as {user}"));
        format!("php-fpm   {} (ours, {} children{user})", program.display(), self.children())
    }

    async fn stop(self) {
        match self {
            Self::Own(fpm) => fpm.stop().await,
            Self::Kept(kept) => kept.stop().await,
        }
    }
}

/// A task that ends with this.
struct Watch(tokio::task::AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What is in a folder.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Php,
    Plain,
}

impl Started {
    /// Makes a site's origin, starting php-fpm if it needs one. `number` tells those apart that
    /// are started for one folder by one process.
    pub(crate) async fn start(
        plan: &SitePlan,
        state: &Path,
        number: u64,
        caches: bool,
    ) -> Result<Self, SiteError> {
        let caches = caches && plan.caches;
        let mut tap = None;
        let (app_key, own_key, variables) = app::introduce();
        let (origin, found, fpm) = match &plan.source {
            Source::Http(servers) => {
                let origin = http(plan, servers)?;
                let found = servers.iter().map(|server| format!("origin    {}", server.address));
                (Origin::Http(origin), found.collect(), None)
            }
            Source::Folder(folder) => {
                let folder = readable(folder)?;
                match look(&folder)? {
                    Content::Plain if tap::address(plan) != Ok(None) => {
                        return Err(TapError::NoPhp(folder).into());
                    }
                    Content::Plain => {
                        let found = format!("files     {} (no PHP in it)", folder.display());
                        (Origin::Files(FilesOrigin::new(folder)), vec![found], None)
                    }
                    Content::Php => {
                        let told;
                        (tap, told) = tap_before(plan, caches).await?;
                        let (origin, mut found, fpm) =
                            php(plan, &folder, (state, number), tap.as_ref(), variables).await?;
                        found.extend(told);
                        (origin, found, fpm)
                    }
                }
            }
        };
        let mut config = SiteConfig::new(origin);
        config.caches = caches;
        config.part_hosts = part_hosts(plan)?;
        config.app_key = app_key;
        config.tap = tap.as_ref().map(tap::Standing::handle);
        let watched = config.origin.clone();
        let watch = tokio::spawn(async move { watched.watch().await });
        let watch = Some(Watch(watch.abort_handle()));
        let own_key = Some(own_key);
        let mut started = Self { config, own_key, found, fpm, tap, watch };
        started.settle(plan);
        Ok(started)
    }

    /// Serves a plan that has the same origin ([`SitePlan::has_origin_of`]).
    pub(crate) fn settle(&mut self, plan: &SitePlan) {
        let config = &mut self.config;
        config.name = name(plan);
        config.hosts = plan.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        config.rules = plan.rules.clone();
        config.defence = plan.defence.clone();
        config.mark_new = plan.mark_new.clone();
        config.markup = plan.markup.as_ref().map(OwnMarkup::renderer);
        config.strangers = plan.strangers.clone();
        config.purge_token = plan.purge_token.clone();
        config.views = plan.views.clone().map(|rules| ViewsRules {
            secret: rules.secret.or_else(|| self.own_key.clone()),
            ..rules
        });
        config.changes = crate::changes::sources(plan);
        config.changes_rules = plan.changes_rules.clone();
    }

    /// Stops once no request is on its way to it any more, or when the grace is over. Nothing
    /// sends new ones.
    pub(crate) async fn leave(mut self, grace: Duration) {
        // It has a hold on the origin too.
        self.watch = None;
        let is_left = async {
            while Arc::strong_count(&self.config.origin) > 1 {
                tokio::time::sleep(LEAVE_INTERVAL).await;
            }
        };
        // Whatever takes longer is cut off, as at the end.
        let _ = tokio::time::timeout(grace, is_left).await;
        self.stop().await;
    }

    /// What of it is asked how it is.
    pub(crate) fn subject(&self, plan: &SitePlan) -> Subject {
        let ours = self.fpm.as_ref().map(Php::subject);
        let theirs = plan.php_status.as_ref().map(|path| PhpSelf {
            status_path: path.clone(),
            opcache_script: None,
            slow_log: None,
            restarts: Restarts::Unknown,
        });
        Subject {
            name: self.config.name.clone(),
            origin: Arc::downgrade(&self.config.origin),
            php: ours.or(theirs),
            databases: self.config.changes.clone(),
        }
    }

    /// The process group of the php-fpm that was started for the site, if any.
    pub(crate) fn php_group(&self) -> Option<u32> {
        match &self.fpm {
            Some(Php::Own(fpm)) => fpm.process_id(),
            _ => None,
        }
    }

    /// Stops what was started for the site.
    pub(crate) async fn stop(self) {
        // Or php-fpm would wait for connections that are only kept.
        self.config.origin.retire();
        if let Some(fpm) = self.fpm {
            fpm.stop().await;
        }
        drop(self.tap);
    }
}

/// What learned facts are kept under: where the pages come from and whom they are for.
fn name(plan: &SitePlan) -> String {
    let source = match &plan.source {
        // As it was typed: a link to the newest release stays the same site.
        Source::Folder(folder) => std::path::absolute(folder)
            .unwrap_or_else(|_| folder.clone())
            .components()
            .collect::<PathBuf>()
            .to_string_lossy()
            .into_owned(),
        // A server more or less leaves it the same site.
        Source::Http(_) => plan.source.shown(),
    };
    let mut hosts: Vec<_> = plan.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
    // The order in the settings file says nothing about the site.
    hosts.sort_unstable();
    if hosts.is_empty() { source } else { format!("{source} {}", hosts.join(",")) }
}

/// HTTP servers, none of which is called yet.
fn http(plan: &SitePlan, servers: &[HttpServer]) -> Result<HttpOrigin, ServersError> {
    let mut options = HttpOptions { timeouts: plan.timeouts, ..HttpOptions::default() };
    options.limits.slots = plan.http.connections;
    options.tunnels = plan.http.tunnels;
    options.check = plan.http.check.clone();
    options.http2 = plan.http.http2;
    let origin = HttpOrigin::of(servers, &plan.http.tls, options)?;
    Ok(origin.with_log(Log::standard_error()))
}

/// The longest that a host of somebody else may take for the first byte of a part.
const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections to one of them at once.
const PART_CONNECTIONS: usize = 32;

/// The hosts beside its own that parts of a site's pages may come from.
fn part_hosts(plan: &SitePlan) -> Result<Vec<PartHost>, ServersError> {
    let host = |address: &String| {
        let mut timeouts = plan.timeouts;
        timeouts.first_byte = timeouts.first_byte.min(PART_TIMEOUT);
        let mut options = HttpOptions { timeouts, is_public_only: true, ..HttpOptions::default() };
        options.limits.slots = PART_CONNECTIONS;
        let server = [HttpServer::at(address)];
        let origin = HttpOrigin::of(&server, &TlsSettings::default(), options)?;
        let origin = Origin::Http(origin.with_log(Log::standard_error()));
        let (scheme, authority) = address.split_once("://").unwrap_or(("http", address));
        let authority = authority.to_owned();
        Ok(PartHost { is_tls: scheme == "https", authority, origin: Arc::new(origin) })
    };
    plan.esi_hosts.iter().map(host).collect()
}

/// The tap that the owner wants, and what is to be said of it. One that can't stand is done
/// without.
async fn tap_before(
    plan: &SitePlan,
    caches: bool,
) -> Result<(Option<tap::Standing>, Option<String>), TapError> {
    let Some(address) = tap::address(plan)?.filter(|_| caches) else { return Ok((None, None)) };
    let door = &address.door;
    Ok(match tap::stand(&address).await {
        Ok(standing) => {
            let told = format!("tap       what PHP says to the database at {door} is heard");
            (Some(standing), Some(told))
        }
        Err(error) => {
            let told =
                format!("tap       none stands before {door} ({error}): PHP goes there itself");
            (None, Some(told))
        }
    })
}

/// A folder with PHP in it: by a php-fpm that is named, or by our own.
async fn php(
    plan: &SitePlan,
    folder: &Path,
    (state, number): (&Path, u64),
    tap: Option<&tap::Standing>,
    variables: Vec<(String, String)>,
) -> Result<(Origin, Vec<String>, Option<Php>), SiteError> {
    let site = format!("php       {}", folder.display());
    if let Some(address) = &plan.php {
        let dial = PhpOrigin::parse_address(address)?;
        // Connections are kept only if somebody says how many children there are for us alone:
        // a kept connection holds a child that others may be waiting for.
        let options = match plan.php_children {
            Some(children) => {
                PhpOptions { is_restarted: false, ..PhpOptions::for_children(children as usize) }
            }
            None => PhpOptions::default(),
        };
        let options = PhpOptions { timeouts: plan.timeouts, variables, ..options };
        let found = vec![site, format!("php-fpm   {address} (not ours)")];
        return Ok((Origin::Php(PhpOrigin::new(folder, dial, options)), found, None));
    }
    let fpm = Php::start(plan, folder, state, number, tap.map(tap::Standing::socket)).await?;
    let php = PhpOptions::for_children(fpm.children());
    let php = PhpOptions { timeouts: plan.timeouts, variables, ..php };
    let origin = PhpOrigin::new(folder, Dial::Unix(fpm.socket().to_owned()), php);
    let ours = fpm.told();
    let found = vec![site, ours];
    Ok((Origin::Php(origin), found, Some(fpm)))
}

/// The folder's real path, if it is a folder that we may look into.
fn readable(folder: &Path) -> Result<PathBuf, SiteError> {
    let wrong = |why: &str| SiteError::Folder(folder.to_owned(), why.to_owned());
    let real = fs::canonicalize(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            wrong("there is no such folder; is the path right? (an origin begins with http:// or https://)")
        }
        _ => wrong(&format!("{error}; let this user read it")),
    })?;
    if !real.is_dir() {
        return Err(wrong("it is a file; name the folder that it is in"));
    }
    Ok(real)
}

/// What kind of site is in a folder.
fn look(folder: &Path) -> Result<Content, SiteError> {
    let wrong = |why: String| SiteError::Folder(folder.to_owned(), why);
    let mut names = PHP_NAMES_MAX;
    let is_empty = fs::read_dir(folder)
        .map_err(|error| wrong(format!("{error}; let this user read it")))?
        .next()
        .is_none();
    if is_empty {
        return Err(wrong("the folder is empty; put the site into it first".into()));
    }
    let has_php = has_php(folder, PHP_DEPTH_MAX, &mut names);
    Ok(if has_php { Content::Php } else { Content::Plain })
}

fn has_php(folder: &Path, depth: usize, names: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        *names = names.saturating_sub(1);
        if *names == 0 {
            return false;
        }
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("php")) {
            return true;
        }
        if depth > 0 && path.is_dir() {
            folders.push(path);
        }
    }
    folders.iter().any(|folder| has_php(folder, depth - 1, names))
}

/// Where php-fpm for a site's folder has its socket.
fn run_folder(state: &Path, folder: &Path, number: u64) -> PathBuf {
    let mut name = folder_name(folder);
    if number > 0 {
        name.push_str(&format!(".{number}"));
    }
    state.join("php").join(name)
}

/// A folder's path as one name, so that two sites never share a run folder.
pub(crate) fn folder_name(folder: &Path) -> String {
    let text = folder.to_string_lossy();
    let name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let tail: String = name.chars().rev().take(40).collect::<String>().chars().rev().collect();
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}-{sum:016x}", tail.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SiteSettings;

    fn told(folder: &Path) -> String {
        readable(folder).and_then(|real| look(&real)).expect_err("not a site").to_string()
    }

    #[test]
    fn what_a_folder_holds_is_found_out_and_what_is_wrong_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(told(folder.path()).contains("the folder is empty"));
        assert!(told(&folder.path().join("x")).contains("no such folder"));
        fs::write(folder.path().join("index.html"), "x").expect("a file");
        assert!(told(&folder.path().join("index.html")).contains("it is a file"));
        assert_eq!(look(folder.path()).expect("a site"), Content::Plain);
        fs::create_dir(folder.path().join("app")).expect("a folder");
        fs::write(folder.path().join("app/index.php"), "x").expect("a file");
        assert_eq!(look(folder.path()).expect("a site"), Content::Php);
    }

    #[test]
    fn a_site_is_named_by_its_source_and_its_hosts_in_any_order() {
        let named = |source: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
            name(&SitePlan::of(source, &SiteSettings { hosts, ..SiteSettings::default() }))
        };
        assert_eq!(named("http://127.0.0.1:3000", &[]), "http://127.0.0.1:3000");
        assert_eq!(named("/usr/./lib/", &["b.test", "A.test"]), "/usr/lib a.test,b.test");
        assert_eq!(named("/usr/lib", &["a.test", "b.test"]), "/usr/lib a.test,b.test");
    }

    #[test]
    fn two_folders_never_share_a_name() {
        let (one, two) = (folder_name(Path::new("/a/b")), folder_name(Path::new("/a-b")));
        assert!(one != two && one.starts_with("a-b-"));
    }
}

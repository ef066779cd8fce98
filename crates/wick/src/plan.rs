//! What will be run: the command line and the settings file made into decisions.
//!
//! Flags win over the file, the file over the defaults. Nothing is started or opened
//! here, so that `wick check` can tell the same story.

mod rules;

use base::amount::show_bytes;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use origin::{HealthCheck, HttpServer, TlsSettings};
use policy::Rules;
use policy::claims::TrustedField;
use server::{
    DefenceRules, FollowRules, Limits, MarkNewRules, Proxies, PurgeToken, StrangerRules, ViewsRules,
};

use crate::admin::{AdminPlan, AdminPlanError, AdminWritten, StatusPath};
use crate::arguments::Serve;
use crate::certificates::{AcmePlan, Binding, CertificatePlan, CertificateSetting, check_plan};
use crate::changes::ChangesPlan;
use crate::cluster::{ClusterPlan, ClusterPlanError};
use crate::log::LogFormat;
use crate::markup::OwnMarkup;
use crate::origins::OriginSetting;
use crate::search::{self, SearchError, SearchPlan};
use crate::settings::{
    self, LimitSettings, Networks, OneOrMany, Settings, SettingsError, SiteSettings,
    TrackerSettings, TrustedFieldName, ViewsError, views_rules,
};
use crate::sphinx::SphinxPlan;
use crate::traces::TracesPlan;
use crate::tracker::TrackerPlan;
use rules::{
    copies_bytes, defence_rules, follow_rules, health_check, limits, mark_new_rules, set,
    stranger_rules, whole_seconds,
};

/// Memory for the cache when nobody says otherwise.
const MEMORY_BYTES: u64 = 64 << 20;
/// Of these, what may be kept for sites' own code.
const APP_MEMORY_BYTES: u64 = 8 << 20;
/// In less there would be hardly a page.
const DISK_BYTES_MIN: u64 = 16 << 20;
/// Connections to an HTTP server when nobody says otherwise.
const CONNECTIONS: usize = 256;
/// Connections to HTTP servers that speak another protocol.
const TUNNELS: usize = 1024;

/// Everything that was decided.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// Whether HTTP/3 is spoken where HTTPS is.
    pub(crate) http3: bool,
    /// How certificates are got.
    pub(crate) acme: AcmePlan,
    pub(crate) memory_bytes: u64,
    /// Of these, what may be kept for sites' own code.
    pub(crate) app_memory_bytes: u64,
    /// What stored pages may take on the disk; none: nothing.
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) state: PathBuf,
    /// As whom to serve, if root has started it.
    pub(crate) user: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) access_log: Option<PathBuf>,
    pub(crate) access_log_format: LogFormat,
    pub(crate) limits: Limits,
    pub(crate) proxies: Proxies,
    pub(crate) request_ids: bool,
    pub(crate) admin: AdminPlan,
    pub(crate) server_timing: bool,
    /// Who is told of traces; none: nobody.
    pub(crate) traces: Option<TracesPlan>,
    /// The tracker; none: there is none.
    pub(crate) tracker: Option<TrackerPlan>,
    /// Clients of Sphinx's; none: they aren't answered.
    pub(crate) sphinx: Option<SphinxPlan>,
    /// The other nodes; none: it is the only one.
    pub(crate) cluster: Option<ClusterPlan>,
    pub(crate) sites: Vec<SitePlan>,
}

/// One site, and where it comes from.
#[derive(Debug)]
pub(crate) struct SitePlan {
    pub(crate) hosts: Vec<String>,
    pub(crate) source: Source,
    pub(crate) certificate: CertificatePlan,
    /// Whether visitors who come by HTTP are sent to HTTPS.
    pub(crate) redirects: bool,
    pub(crate) php: Option<String>,
    pub(crate) php_children: Option<u32>,
    /// After how long it is noted where a request is in PHP of ours; none: never.
    pub(crate) php_slow: Option<Duration>,
    /// Where a php-fpm that isn't ours tells of itself.
    pub(crate) php_status: Option<PathBuf>,
    /// Variables for our own php-fpm's scripts.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) caches: bool,
    pub(crate) rules: Rules,
    pub(crate) defence: DefenceRules,
    pub(crate) mark_new: MarkNewRules,
    /// The dialect of its own markup.
    pub(crate) markup: Option<OwnMarkup>,
    pub(crate) strangers: Option<StrangerRules>,
    pub(crate) changes: ChangesPlan,
    pub(crate) changes_rules: FollowRules,
    /// The folder in which logins of our own to databases are kept, if any.
    pub(crate) logins: Option<PathBuf>,
    pub(crate) purge_token: Option<PurgeToken>,
    pub(crate) views: Option<ViewsRules>,
    /// How it is searched; none: it isn't.
    pub(crate) search: Option<SearchPlan>,
    /// Whether what is stored of it is audited.
    pub(crate) audits: bool,
    /// Hosts beside its own that parts of its pages come from.
    pub(crate) esi_hosts: Vec<String>,
    pub(crate) timeouts: origin::Timeouts,
    pub(crate) http: HttpPlan,
}

/// How a site's HTTP servers are used, if those make its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpPlan {
    /// Requests at once at each of them.
    pub(crate) connections: usize,
    /// Connections to all of them that speak another protocol.
    pub(crate) tunnels: usize,
    pub(crate) tls: TlsSettings,
    /// Whether those with TLS may choose HTTP/2.
    pub(crate) http2: bool,
    pub(crate) check: Option<HealthCheck>,
}

/// SITE, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A folder.
    Folder(PathBuf),
    /// HTTP servers, at least one.
    Http(Vec<HttpServer>),
}

/// A plan that can't be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanError {
    /// The settings file is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Neither the command line nor the file names a site.
    #[error(
        "there is no site to serve: name a folder or an origin, as in \
         \"wick serve /var/www/site\" or \"wick serve http://127.0.0.1:3000\""
    )]
    NoSite,
    /// A `[[site]]` without `origin`.
    #[error(
        "site number {0} in the settings file has no origin: add origin = \"/folder\" or \"http://…\""
    )]
    NoOrigin(usize),
    /// A SITE, and no way to know which of the file's sites it is.
    #[error(
        "the settings file has several sites: leave \"{0}\" out to serve them, or name a file with one"
    )]
    Ambiguous(String),
    /// php-fpm was named for something that has no PHP.
    #[error(
        "php-fpm is for a folder with PHP in it, and {0} is an origin of its own: leave --php (php = …) out"
    )]
    PhpForOrigin(String),
    /// What is said of HTTP origins was said of a folder.
    #[error("{0} is for HTTP origins, and {1} is a folder: leave it out")]
    ForHttpOnly(&'static str, String),
    /// A tap, and PHP that nobody can lead to it.
    #[error(
        "changes = \"tap\" is only for PHP that Wick starts itself, and {0} is not: write \
         changes = \"auto\", or name the site's folder as origin and leave php = … (--php) out"
    )]
    TapWithoutPhp(String),
    /// A token that anybody could try out.
    #[error(
        "the purge_token of site number {0} in the settings file is shorter than 8 characters: \
         write a longer one, such as \"openssl rand -hex 16\" makes"
    )]
    ShortToken(usize),
    /// Views that can't be told.
    #[error("site number {0} in the settings file: {1}")]
    Views(usize, ViewsError),
    /// A search that can't be.
    #[error("site number {0} in the settings file: {1}")]
    Search(usize, SearchError),
    /// Two sites would put their pages into one index.
    #[error(
        "two sites have {0} as their search_engine, and one's pages would be found on the other: \
         make an index for each"
    )]
    EngineTwice(String),
    /// A certificate that nobody could ever see.
    #[error(
        "site number {0} in the settings file has a certificate, and nobody listens for HTTPS: \
         add listen_tls = [\"0.0.0.0:443\", \"[::]:443\"] at the top of the file"
    )]
    NotListening(usize),
    /// A key alone.
    #[error(
        "site number {0} in the settings file has a certificate_key and no certificate: add \
         certificate = \"/path/fullchain.pem\""
    )]
    KeyAlone(usize),
    /// A certificate for any name.
    #[error(
        "no certificate can be got for a site that answers for any host: name its hosts (\
         --domain example.org, or hosts = [\"example.org\"]), or write certificate = \
         \"/path/fullchain.pem\" or \"off\" for it"
    )]
    NoName,
    /// What no CA issues for.
    #[error(
        "no certificate can be got for {0}: write a name that leads here from everywhere, or \
         certificate = \"/path/fullchain.pem\" or \"off\" for that site"
    )]
    BadName(String),
    /// An id without its key, or the other way.
    #[error(
        "acme_eab_key_id and acme_eab_hmac_key belong together: write both, as the CA gives them, \
         or neither"
    )]
    HalfBinding,
    /// Listening for nobody.
    #[error("listen_tls is there and every site has certificate = \"off\": take one of them out")]
    AllOff,
    /// The admin listener can't be had as it is written.
    #[error(transparent)]
    Admin(#[from] AdminPlanError),
    /// Nowhere.
    #[error("listen is an empty list: name an address, or add listen_tls")]
    NowhereToListen,
    /// The page for when an origin is out can't be had.
    #[error("can't read the busy_page {0}: {1}")]
    BusyPage(PathBuf, String),
    /// The file of a dialect can't be used.
    #[error("the dialect in {0}, named by markup, can't be used: {1}")]
    Markup(PathBuf, String),
    /// Two sites claim one host.
    #[error("two sites answer for the host {0}: take it out of one of them")]
    HostTwice(String),
    /// Too little room on the disk.
    #[error(
        "{} is too little for pages on the disk: write disk = \"16M\" (--disk 16M) or more, or leave it out",
        show_bytes(*.0)
    )]
    DiskTooSmall(u64),
    /// A tracker that can't be as it is written.
    #[error("in [tracker]: {0}")]
    Tracker(String),
    /// Clients of Sphinx's can't be answered as it is written.
    #[error("in [sphinx]: {0}")]
    Sphinx(String),
    /// The other nodes can't be found as it is written.
    #[error("in [cluster]: {0}")]
    Cluster(#[from] ClusterPlanError),
    /// Two sites that both answer for any host.
    #[error("more than one site has no hosts: give all of them but one hosts = [\"name\"]")]
    TwoForAnyHost,
}

impl Plan {
    /// One site, everything else by default.
    pub(crate) fn for_site(site: SitePlan, listen: SocketAddr, state: PathBuf) -> Self {
        Self {
            listen: vec![listen],
            listen_tls: Vec::new(),
            http3: true,
            acme: AcmePlan::default(),
            memory_bytes: MEMORY_BYTES,
            app_memory_bytes: APP_MEMORY_BYTES,
            disk_bytes: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            state,
            user: None,
            group: None,
            access_log: None,
            access_log_format: LogFormat::default(),
            limits: Limits::default(),
            proxies: Proxies::default(),
            request_ids: false,
            admin: AdminPlan::default(),
            server_timing: false,
            traces: None,
            tracker: None,
            sphinx: None,
            cluster: None,
            sites: vec![site],
        }
    }

    /// Reads the settings file, if one is named, and decides.
    pub(crate) fn of(serve: &Serve) -> Result<Self, PlanError> {
        let mut settings = match &serve.config {
            Some(path) => settings::read(path)?,
            None => Settings::default(),
        };
        let has_more = settings.tracker.is_some() || settings.sphinx.is_some();
        let mut sites = sites(serve, &mut settings.site, &settings.limits, has_more)?;
        let (listen, listen_tls) = addresses(serve, &settings, sites.is_empty())?;
        let acme = acme(&mut settings)?;
        check_plan(&sites, &listen_tls, &acme)?;
        let memory_bytes =
            serve.memory.or(settings.memory.map(|bytes| bytes.0)).unwrap_or(MEMORY_BYTES);
        let app_memory_bytes = settings.app_memory.map_or(APP_MEMORY_BYTES, |bytes| bytes.0);
        let disk_bytes = serve.disk.or(settings.disk.map(|bytes| bytes.0));
        if let Some(bytes) = disk_bytes.filter(|&bytes| bytes < DISK_BYTES_MIN) {
            return Err(PlanError::DiskTooSmall(bytes));
        }
        for strangers in sites.iter_mut().filter_map(|site| site.strangers.as_mut()) {
            strangers.copies_bytes = copies_bytes(memory_bytes);
        }
        let state = serve.state.clone().or(settings.state).unwrap_or_else(default_state);
        sites.iter_mut().for_each(|site| site.logins = Some(state.clone()));
        let request_ids = settings.request_id.unwrap_or(false);
        sites.iter_mut().for_each(|site| site.defence.request_id = request_ids);
        let proxies =
            proxies(settings.proxy_protocol, settings.trusted_proxies, settings.trusted_field);
        let admin = AdminPlan::of(AdminWritten {
            admin: settings.admin,
            token: settings.admin_token,
            token_file: settings.admin_token_file,
            host: settings.admin_host,
            munin: settings.munin,
            webhook: settings.alert_webhook,
            command: settings.alert_command,
        })?;
        let threads = serve.threads.map(usize::from).or(settings.threads);
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let cluster = settings.cluster.map(ClusterPlan::of).transpose()?;
        let mut tracker = tracker(settings.tracker)?;
        if let (Some(tracker), Some(cluster)) = (&mut tracker, &cluster) {
            tracker.join(&cluster.node.node);
        }
        Ok(Self {
            listen,
            listen_tls,
            http3: settings.http3.unwrap_or(true),
            acme,
            memory_bytes,
            app_memory_bytes,
            disk_bytes,
            threads: threads.unwrap_or_else(cores).clamp(1, 256),
            state,
            user: serve.user.clone().or(settings.user),
            group: settings.group,
            access_log: serve.access_log.clone().or(settings.access_log),
            access_log_format: settings.access_log_format.unwrap_or_default(),
            limits: limits(&settings.limits),
            proxies,
            request_ids,
            admin,
            server_timing: settings.server_timing.unwrap_or(false),
            traces: TracesPlan::of(settings.traces),
            tracker,
            sphinx: settings.sphinx.map(SphinxPlan::of).transpose().map_err(PlanError::Sphinx)?,
            cluster,
            sites,
        })
    }
}

/// How certificates are got.
fn acme(settings: &mut Settings) -> Result<AcmePlan, PlanError> {
    Ok(AcmePlan {
        directories: settings.acme_directory.take().unwrap_or_default(),
        email: settings.acme_email.take(),
        binding: match (settings.acme_eab_key_id.take(), settings.acme_eab_hmac_key.take()) {
            (Some(id), Some(key)) => Some(Binding { id, key }),
            (None, None) => None,
            _ => return Err(PlanError::HalfBinding),
        },
        ca_file: settings.acme_ca_file.take(),
    })
}

fn tracker(written: Option<TrackerSettings>) -> Result<Option<TrackerPlan>, PlanError> {
    written.map(TrackerPlan::of).transpose().map_err(PlanError::Tracker)
}

/// Whose word about visitors counts.
fn proxies(
    introducing: Option<Networks>,
    trusted: Option<Networks>,
    field: Option<TrustedFieldName>,
) -> Proxies {
    let networks = |named: Option<Networks>| named.map(|named| named.0).unwrap_or_default();
    Proxies {
        introducing: networks(introducing),
        trusted: networks(trusted),
        field: match field {
            Some(TrustedFieldName::Forwarded) => TrustedField::Forwarded,
            _ => TrustedField::XForwarded,
        },
    }
}

impl SitePlan {
    /// Whether what was started for the other serves this one too: the same program answers,
    /// by the same means.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let taps = |plan: &Self| matches!(plan.changes, ChangesPlan::Tap(_));
        let same_tap = !taps(self) && !taps(other) || self.changes == other.changes;
        let php = (&self.php, self.php_children, self.php_slow);
        (&self.source, php, &self.environment, self.timeouts, self.caches)
            == (
                &other.source,
                (&other.php, other.php_children, other.php_slow),
                &other.environment,
                other.timeouts,
                other.caches,
            )
            && self.http == other.http
            && self.esi_hosts == other.esi_hosts
            && same_tap
    }

    /// A site by what was typed for SITE and what was written about it.
    pub(crate) fn of(source: &str, site: &SiteSettings) -> Self {
        let mut rules = Rules {
            stale_while_revalidate_seconds: site.stale_while_revalidate.map(whole_seconds),
            stale_if_error_seconds: site.stale_if_error.map(whole_seconds),
            key_ignores_query: site.ignore_query.clone(),
            hsts_seconds: site.hsts.map(whole_seconds),
            ..Rules::default()
        };
        set(&mut rules.heuristic, site.heuristic);
        set(&mut rules.refresh_early, site.refresh_early);
        set(&mut rules.early_hints, site.early_hints);
        set(&mut rules.lscache, site.lscache);
        set(&mut rules.suggest_parts, site.suggest_parts);
        set(&mut rules.codings, site.compression.map(|chosen| chosen.0));
        set(&mut rules.esi, site.esi.map(|chosen| chosen.0));
        set(&mut rules.heuristic_seconds_max, site.heuristic_max.map(whole_seconds));
        set(&mut rules.negative_seconds_max, site.negative_max.map(whole_seconds));
        set(&mut rules.pass_memory_seconds, site.pass_memory.map(whole_seconds));
        let mut timeouts = origin::Timeouts::default();
        set(&mut timeouts.connect, site.connect_timeout.map(|time| time.0));
        set(&mut timeouts.first_byte, site.first_byte_timeout.map(|time| time.0));
        set(&mut timeouts.idle, site.origin_idle_timeout.map(|time| time.0));
        Self {
            hosts: site.hosts.clone(),
            source: Source::of(source),
            certificate: CertificatePlan::of(site),
            redirects: site.https_redirect.unwrap_or(true),
            php: site.php.clone(),
            php_children: site.php_children,
            php_slow: site.php_slow.map(|time| time.0),
            php_status: site.php_status.clone().map(|StatusPath(path)| path),
            environment: Vec::new(),
            caches: site.cache.unwrap_or(true),
            rules,
            defence: defence_rules(site),
            mark_new: mark_new_rules(site),
            markup: None,
            strangers: site.strangers.unwrap_or(true).then(|| stranger_rules(site)),
            changes: site.changes.clone().unwrap_or_default(),
            changes_rules: follow_rules(site),
            logins: None,
            purge_token: site.purge_token.as_ref().and_then(|token| PurgeToken::new(&token.0)),
            views: None,
            search: None,
            audits: site.audit.unwrap_or(false),
            esi_hosts: site.esi_hosts.iter().map(|host| host.0.clone()).collect(),
            timeouts,
            http: HttpPlan {
                connections: site.origin_connections.map_or(CONNECTIONS, usize::from),
                tunnels: site.origin_tunnels.map_or(TUNNELS, usize::from),
                tls: TlsSettings { ca: site.origin_ca.clone(), name: site.origin_name.clone() },
                http2: site.origin_http2.unwrap_or(true),
                check: health_check(site),
            },
        }
    }
}

/// The largest page that is held for when an origin is out.
const BUSY_PAGE_BYTES_MAX: u64 = 1 << 20;

/// The page that visitors are shown while a site's origin is out.
fn busy_page(path: &Path) -> Result<Vec<u8>, PlanError> {
    let wrong = |why: String| PlanError::BusyPage(path.to_owned(), why);
    let file = std::fs::File::open(path);
    let file =
        file.map_err(|error| wrong(format!("{error}; name a file that this user may read")))?;
    let mut page = Vec::new();
    let read = file.take(BUSY_PAGE_BYTES_MAX + 1).read_to_end(&mut page);
    read.map_err(|error| wrong(format!("{error}; name a file of HTML")))?;
    if page.len() as u64 > BUSY_PAGE_BYTES_MAX {
        return Err(wrong("it is larger than 1M; take pictures out of it".to_owned()));
    }
    Ok(page)
}

/// What holds for each site that says nothing else.
fn inherit(site: &mut SiteSettings, limits: &LimitSettings) {
    site.rate = site.rate.or(limits.rate);
    site.rate_burst = site.rate_burst.or(limits.rate_burst);
    site.rate_hits = site.rate_hits.or(limits.rate_hits);
    site.concurrency = site.concurrency.or(limits.concurrency);
}

/// The sites that the command line and the file name together.
fn sites(
    serve: &Serve,
    written: &mut Vec<SiteSettings>,
    limits: &LimitSettings,
    has_more: bool,
) -> Result<Vec<SitePlan>, PlanError> {
    if let Some(site) = &serve.site {
        // What the file says about its only site holds for this one too.
        if written.len() > 1 {
            return Err(PlanError::Ambiguous(site.clone()));
        }
        let mut only = written.pop().unwrap_or_default();
        only.origin = Some(OriginSetting::One(site.clone()));
        written.push(only);
    }
    if !serve.domain.is_empty() {
        match written.as_mut_slice() {
            [only] => only.hosts.clone_from(&serve.domain),
            [] => {}
            _ => return Err(PlanError::Ambiguous(format!("--domain {}", serve.domain[0]))),
        }
    }
    let mut sites = Vec::new();
    for (at, site) in written.iter_mut().enumerate() {
        inherit(site, limits);
        let source = match site.origin.clone().ok_or(PlanError::NoOrigin(at + 1))? {
            OriginSetting::One(text) => Source::of(&text),
            OriginSetting::Servers(servers) => Source::Http(servers),
        };
        let has_file = matches!(site.certificate, Some(CertificateSetting::File(_)));
        if site.certificate_key.is_some() && !has_file {
            return Err(PlanError::KeyAlone(at + 1));
        }
        site.php = serve.php.clone().or(site.php.take());
        fits(&source, site)?;
        let mut plan = SitePlan { source, ..SitePlan::of("", site) };
        let is_tapped = matches!(plan.changes, ChangesPlan::Tap(_));
        if is_tapped && (plan.php.is_some() || matches!(plan.source, Source::Http(_))) {
            return Err(PlanError::TapWithoutPhp(plan.php.unwrap_or(plan.source.shown())));
        }
        if site.purge_token.is_some() && plan.purge_token.is_none() {
            return Err(PlanError::ShortToken(at + 1));
        }
        let has_own_key = matches!(plan.source, Source::Folder(_));
        plan.views = views_rules(site, has_own_key).map_err(|why| PlanError::Views(at + 1, why))?;
        plan.search = search::rules(site).map_err(|why| PlanError::Search(at + 1, why))?;
        if let Some(path) = &site.markup {
            let read = OwnMarkup::read(path);
            plan.markup = Some(read.map_err(|why| PlanError::Markup(path.clone(), why))?);
        }
        if let Some(path) = &site.busy_page {
            plan.defence.busy_page = Some(busy_page(path)?.into());
        }
        sites.push(plan);
    }
    if sites.is_empty() && !has_more {
        return Err(PlanError::NoSite);
    }
    if sites.iter().filter(|site| site.hosts.is_empty()).count() > 1 {
        return Err(PlanError::TwoForAnyHost);
    }
    let mut hosts: Vec<_> = sites.iter().flat_map(|site| &site.hosts).collect();
    hosts.sort_unstable_by_key(|host| host.to_ascii_lowercase());
    let twice = hosts.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(pair[1]));
    twice.map_or(Ok(()), |pair| Err(PlanError::HostTwice(pair[0].clone())))?;
    an_index_each(&sites)?;
    Ok(sites)
}

/// No two sites put their pages into one index of an engine.
fn an_index_each(sites: &[SitePlan]) -> Result<(), PlanError> {
    let engines = sites.iter().filter_map(|site| site.search.as_ref()?.engine.as_ref());
    let mut engines: Vec<String> = engines.map(ToString::to_string).collect();
    engines.sort_unstable();
    let twice = engines.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map_or(Ok(()), |pair| Err(PlanError::EngineTwice(pair[0].clone())))
}

/// Whether all that is said of a site can be said of where it comes from.
fn fits(source: &Source, site: &SiteSettings) -> Result<(), PlanError> {
    match source {
        Source::Http(_) if site.php.is_some() => Err(PlanError::PhpForOrigin(source.shown())),
        Source::Http(_) => Ok(()),
        Source::Folder(_) => {
            let told = [
                ("origin_health", site.origin_health.is_some()),
                ("origin_ca", site.origin_ca.is_some()),
                ("origin_name", site.origin_name.is_some()),
            ];
            match told.iter().find(|(_, is_set)| *is_set) {
                Some((name, _)) => Err(PlanError::ForHttpOnly(name, source.shown())),
                None => Ok(()),
            }
        }
    }
}

/// Where to listen for HTTP and for HTTPS.
fn addresses(
    serve: &Serve,
    written: &Settings,
    is_without_sites: bool,
) -> Result<(Vec<SocketAddr>, Vec<SocketAddr>), PlanError> {
    if is_without_sites {
        return Ok((Vec::new(), Vec::new()));
    }
    // Somebody who names a domain wants it to be found.
    let everywhere = |port| {
        let all =
            [SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), (Ipv6Addr::UNSPECIFIED, port).into()];
        if serve.domain.is_empty() { Vec::new() } else { all.to_vec() }
    };
    let chosen = |typed: &[SocketAddr], written: Option<&OneOrMany<SocketAddr>>, default| match (
        typed, written,
    ) {
        ([], None) => default,
        ([], Some(written)) => written.to_vec(),
        (typed, _) => typed.to_vec(),
    };
    let tls = chosen(&serve.listen_tls, written.listen_tls.as_ref(), everywhere(443));
    let default = match everywhere(80) {
        none if none.is_empty() => vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))],
        all => all,
    };
    let plain = chosen(&serve.listen, written.listen.as_ref(), default);
    match plain.is_empty() && tls.is_empty() {
        true => Err(PlanError::NowhereToListen),
        false => Ok((plain, tls)),
    }
}

impl Source {
    fn of(text: &str) -> Self {
        if text.contains("://") {
            Self::Http(vec![HttpServer::at(text)])
        } else {
            Self::Folder(PathBuf::from(text))
        }
    }

    /// As it was written; of several servers the first.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Http(servers) => {
                servers.first().map_or(String::new(), |first| first.address.clone())
            }
        }
    }
}

/// Root's state is the machine's; everybody else's is their own.
pub(crate) fn default_state() -> PathBuf {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if is_root {
        return PathBuf::from("/var/lib/wick");
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    match (variable("XDG_STATE_HOME"), variable("HOME")) {
        (Some(state), _) => Path::new(&state).join("wick"),
        (None, Some(home)) => Path::new(&home).join(".local/state/wick"),
        (None, None) => std::env::temp_dir().join("wick"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(file: &str, serve: Serve) -> Result<Plan, PlanError> {
        let folder = tempfile::tempdir().expect("a folder for the settings");
        let path = folder.path().join("wick.toml");
        std::fs::write(&path, file).expect("the settings are written");
        Plan::of(&Serve { config: Some(path), ..serve })
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_defaults() {
        let file = "memory = \"10M\"\nthreads = 3\n[[site]]\norigin = \"http://a:1\"\n";
        let made = plan(file, Serve { memory: Some(5), ..Serve::default() }).expect("a good plan");
        assert_eq!((made.memory_bytes, made.threads), (5, 3));
        assert_eq!(made.listen, ["127.0.0.1:8080".parse().expect("an address")]);
        assert_eq!(made.sites[0].source, Source::Http(vec![HttpServer::at("http://a:1")]));
        let site = Serve { site: Some("/srv".into()), ..Serve::default() };
        let made = plan(file, site).expect("a good plan");
        assert_eq!(made.sites[0].source, Source::Folder("/srv".into()));
    }

    #[test]
    fn a_plan_without_a_site_or_with_an_unclear_one_says_what_to_do() {
        let told = |file: &str| plan(file, Serve::default()).expect_err("no plan").to_string();
        assert!(told("").contains("wick serve /var/www/site"));
        assert!(told("[[site]]\nhosts = [\"a\"]\n").contains("site number 1"));
        let two = "[[site]]\norigin = \"/a\"\n[[site]]\norigin = \"/b\"\n";
        assert!(told(two).contains("more than one site has no hosts"));
        let both = "[[site]]\norigin = \"/a\"\nhosts = [\"x\"]\n[[site]]\norigin = \"/b\"\nhosts = [\"X\"]\n";
        assert!(told(both).contains("two sites answer for the host"));
        let php = "[[site]]\norigin = \"http://a\"\nphp = \"tcp:b:1\"\n";
        assert!(told(php).contains("http://a is an origin of its own"));
        let folder = "[[site]]\norigin = \"/a\"\norigin_ca = \"/ca.pem\"\n";
        assert!(told(folder).contains("origin_ca is for HTTP origins, and /a is a folder"));
        let tapped = "[[site]]\norigin = \"http://a\"\nchanges = \"tap\"\n";
        assert!(told(tapped).contains("http://a is not: write changes = \"auto\""));
        let tapped = "[[site]]\norigin = \"/a\"\nphp = \"tcp:b:1\"\nchanges = \"tap\"\n";
        assert!(told(tapped).contains("tcp:b:1 is not: write"));
        let short = "[[site]]\norigin = \"/a\"\npurge_token = \"short\"\n";
        let said = told(short);
        assert!(said.contains("shorter than 8") && !said.contains("\"short\""), "{said}");
        let named = Serve { site: Some("/srv".into()), ..Serve::default() };
        let unclear = plan(two, named).expect_err("no plan").to_string();
        assert!(unclear.contains("leave \"/srv\" out"), "{unclear}");
    }

    #[test]
    fn a_file_with_nothing_but_a_tracker_is_a_plan() {
        let made = plan("[tracker]\n", Serve::default()).expect("a good plan");
        assert!(made.sites.is_empty() && made.listen.is_empty() && made.tracker.is_some());
        let made = plan("[sphinx]\n", Serve::default()).expect("a good plan");
        assert!(made.sites.is_empty() && made.listen.is_empty() && made.sphinx.is_some());
        let told = plan("[tracker]\ninterval = 0\n", Serve::default()).expect_err("no plan");
        assert!(told.to_string().starts_with("in [tracker]: interval is nothing"), "{told}");
        let told = plan("[tracker]\nlistn = \"x\"\n", Serve::default()).expect_err("no plan");
        assert!(
            told.to_string().contains("wick.toml:2:1: there is no setting \"listn\""),
            "{told}"
        );
    }

    #[test]
    fn what_the_file_says_of_its_only_site_holds_for_the_one_on_the_command_line() {
        let file = "[[site]]\ncache = false\nignore_query = [\"utm_source\"]\n";
        let named = Serve { site: Some("/srv".into()), ..Serve::default() };
        let site = plan(file, named).expect("a good plan").sites.remove(0);
        assert_eq!(site.source, Source::Folder("/srv".into()));
        assert!(!site.caches && site.rules.key_ignores_query == ["utm_source"]);
    }
}

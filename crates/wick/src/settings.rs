//! `wick.toml`: what the owner wrote.
//!
//! Every field is optional and every default is good; a key that does not exist
//! is an error with its line, its column and the nearest name that does.
//! The doc comments are the owner's manual: `docs/settings.md` is made from them.
//! What the server runs on is made from this in [`crate::plan`].

mod cluster;
mod esi;
mod marking;
mod search_source;
mod sphinx;
mod tracker;
mod views;
mod visitors;

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer};

use changes::Pattern;
use wire::{Coding, Codings};

use crate::admin::{AdminSetting, StatusPath};
use crate::certificates::{BindingKey, CertificateSetting, Directories};
use crate::changes::ChangesPlan;
use crate::log::LogFormat;
use crate::origins::{HealthPath, HealthStatus, OriginSetting};
use crate::search::{EngineSetting, Hub, SearchPath};
use crate::traces::{Collector, Share};

pub(crate) use cluster::ClusterSettings;
pub(crate) use esi::{EsiHost, EsiSetting};
pub(crate) use marking::{ClassName, Selector};
pub(crate) use search_source::{RowDatabase, SearchSourceSettings};
pub(crate) use sphinx::SphinxSettings;
pub(crate) use tracker::TrackerSettings;
pub(crate) use views::{ViewsError, ViewsSetting, rules as views_rules};
pub(crate) use visitors::{Networks, Often, TrustedFieldName};

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Addresses to listen on; one, or a list. Default: `127.0.0.1:8080`.
    pub(crate) listen: Option<OneOrMany<SocketAddr>>,
    /// Addresses to listen on for HTTPS; one, or a list. Default: none; with `--domain` port 443
    /// of all addresses.
    pub(crate) listen_tls: Option<OneOrMany<SocketAddr>>,
    /// Whether HTTP/3 is spoken too wherever HTTPS is, on the same port over UDP; visitors are
    /// told by `Alt-Svc`. A firewall must let UDP through to that port. Default: `true`.
    pub(crate) http3: Option<bool>,
    /// Where certificates are got for the hosts of sites that have none of their own: the
    /// directory of a CA that speaks ACME, or a list of which the next is asked when one fails.
    /// Whoever uses this agrees to the CA's terms. Default:
    /// `https://acme-v02.api.letsencrypt.org/directory`.
    pub(crate) acme_directory: Option<Directories>,
    /// An address at which the CA may tell you something. Default: none.
    pub(crate) acme_email: Option<String>,
    /// The id of the key by which an account at the first of those CAs is bound to yours, where it
    /// wants that (external account binding). Default: none.
    pub(crate) acme_eab_key_id: Option<String>,
    /// That key itself, as the CA writes it (base64url). Default: none.
    pub(crate) acme_eab_hmac_key: Option<BindingKey>,
    /// The certificates (PEM) by which a private CA itself is known. Default: none; public CAs are
    /// known.
    pub(crate) acme_ca_file: Option<PathBuf>,
    /// The most that the cache may make the process use. Default: `64M`.
    pub(crate) memory: Option<Bytes>,
    /// What of that may be taken by what is kept for sites' own code: rendered markup, and values
    /// that it sets. Default: `8M`.
    pub(crate) app_memory: Option<Bytes>,
    /// What stored pages may take on the disk, in the folder `disk` of the state folder, so that
    /// they outlive a restart; at least `16M`. Bodies that are too large for memory are kept there
    /// alone. Default: nothing is kept there.
    pub(crate) disk: Option<Bytes>,
    /// Where Wick keeps what it must not lose. Default: `/var/lib/wick` for root, for others the
    /// user's state folder.
    pub(crate) state: Option<PathBuf>,
    /// As whom to serve when root starts it. php-fpm still runs as the owner of each site's folder.
    /// Default: `wick`, or `www-data` where there is no such user; `root` stays root.
    pub(crate) user: Option<String>,
    /// The group of that user that comes first. Default: its own.
    pub(crate) group: Option<String>,
    /// Serving threads. Default: one for each core.
    pub(crate) threads: Option<usize>,
    /// A line for each answer goes to this file, or to standard error for `"-"`. Default: no log.
    pub(crate) access_log: Option<PathBuf>,
    /// How such a line looks: `"wick"`, `"combined"` as of Apache and nginx, or `"json"`.
    /// Default: `"wick"`, which says what became of the request and how long it took.
    pub(crate) access_log_format: Option<LogFormat>,
    /// Proxies whose connections begin with a header of the PROXY protocol, version 1 or 2, as in
    /// `["10.0.0.0/8"]`; one that comes without is closed. Default: none.
    pub(crate) proxy_protocol: Option<Networks>,
    /// Proxies whose fields tell the visitor's address and scheme: the rightmost address that is
    /// not of these networks. They must set `X-Forwarded-For` and `X-Forwarded-Proto` themselves.
    /// Default: none; what anybody says there is dropped.
    pub(crate) trusted_proxies: Option<Networks>,
    /// Which fields they set: `"X-Forwarded-For"`, with `X-Forwarded-Proto`, or `"Forwarded"`.
    /// Default: `X-Forwarded-For`.
    pub(crate) trusted_field: Option<TrustedFieldName>,
    /// Whether each request is given an `X-Request-Id`, which the origin and the visitor are told
    /// and the access log's formats `wick` and `json` show; that of a trusted proxy stays.
    /// Default: `false`.
    pub(crate) request_id: Option<bool>,
    /// Where Wick tells how it is: a page for its owner, `/metrics` for Prometheus, and JSON. An
    /// address, or `"off"`; one that others can reach needs `admin_token`. Default:
    /// `127.0.0.1:9180`, if nothing else has that port.
    pub(crate) admin: Option<AdminSetting>,
    /// What has to be shown there, at least 16 characters: as a bearer token by programs, and in
    /// browsers as the password of any user. Default: none; whoever is on this machine may look.
    pub(crate) admin_token: Option<Secret>,
    /// A file that holds it. Default: none.
    pub(crate) admin_token_file: Option<PathBuf>,
    /// The name that browsers find it by, where a proxy stands before it. Default: none; they come
    /// by an IP address or `localhost`.
    pub(crate) admin_host: Option<String>,
    /// Where munin's server asks, as in `"127.0.0.1:4949"`: this machine's addresses only.
    /// Default: nowhere.
    pub(crate) munin: Option<SocketAddr>,
    /// An address that is told, by a POST of JSON, when one of a few things begins and when it
    /// ends: failing requests, a busy origin, a certificate that ends, changes that aren't heard,
    /// memory, the disk. Default: none; standard error is told.
    pub(crate) alert_webhook: Option<Secret>,
    /// A program that is run for the same, which finds it in `WICK_ALERT` (`began` or `ended`),
    /// `WICK_ALERT_KIND`, `WICK_ALERT_SUBJECT` and `WICK_ALERT_TEXT`. Default: none.
    pub(crate) alert_command: Option<PathBuf>,
    /// Whether answers tell in `Server-Timing`, which browsers show, what became of the request
    /// and where its time went. Default: `false`.
    pub(crate) server_timing: Option<bool>,
    /// Traces of some requests, for a collector.
    pub(crate) traces: TraceSettings,
    /// A BitTorrent tracker.
    pub(crate) tracker: Option<TrackerSettings>,
    /// Clients of Sphinx's.
    pub(crate) sphinx: Option<SphinxSettings>,
    /// Other Wicks that serve the same sites.
    pub(crate) cluster: Option<ClusterSettings>,
    /// Bounds on what a client may do.
    pub(crate) limits: LimitSettings,
    /// The sites, in order.
    pub(crate) site: Vec<SiteSettings>,
}

/// `[traces]`: which requests are recorded, and who is told of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TraceSettings {
    /// The collector that is told, by OTLP over HTTP, as in `"http://127.0.0.1:4318"`; `/v1/traces`
    /// is asked there. Then origins find a `traceparent` in every request. Default: none; there are
    /// no traces.
    pub(crate) otlp: Option<Collector>,
    /// The share of requests that are recorded: `0.01` is one in a hundred, `1` all of them. Where
    /// a trusted proxy names a trace, it has decided. Default: `0.01`.
    pub(crate) sample: Option<Share>,
}

/// `[limits]`: bounds on what one client may take.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LimitSettings {
    /// The largest request head. Default: `64K`.
    pub(crate) head: Option<Bytes>,
    /// The largest request body. Default: `1G`.
    pub(crate) body: Option<Bytes>,
    /// Time for a whole request head. Default: `15s`.
    pub(crate) head_timeout: Option<Seconds>,
    /// How long a connection may wait for its next request. Default: `60s`.
    pub(crate) idle_timeout: Option<Seconds>,
    /// How long a request body may pause. Default: `30s`.
    pub(crate) body_timeout: Option<Seconds>,
    /// How long a client may take nothing of its answer. Default: `60s`.
    pub(crate) write_timeout: Option<Seconds>,
    /// How long nothing may move on a connection that went on in another protocol, such as
    /// WebSocket. Default: `10m`.
    pub(crate) tunnel_timeout: Option<Seconds>,
    /// The slowest that a request body may come, or an answer be taken, in bytes a second; only
    /// the time in which the client is waited for counts. Default: `100`.
    pub(crate) min_rate: Option<Bytes>,
    /// How long a client may be slower than that at first. Default: `30s`.
    pub(crate) min_rate_after: Option<Seconds>,
    /// Connections at one time. Default: `20000`.
    pub(crate) connections: Option<usize>,
    /// Connections of one address at one time; an IPv6 address counts as its /64, here and
    /// below. Programs on this machine are not counted. Default: `2000`.
    pub(crate) connections_per_address: Option<usize>,
    /// How often one address may ask for what a site's memory and files don't answer, as in
    /// `"20/s"` or `"300/m"`; more is answered 429. Counted for each site; programs on this
    /// machine are not. Default: `off`.
    pub(crate) rate: Option<Often>,
    /// How many such requests may come at once before the rate counts. Default: `100`.
    pub(crate) rate_burst: Option<u32>,
    /// Whether what memory and files answer counts too. Default: `false`.
    pub(crate) rate_hits: Option<bool>,
    /// Requests of one address that may be with a site's origin at once, or wait for it; more
    /// are answered 429. Default: `64`.
    pub(crate) concurrency: Option<usize>,
    /// How long answers in flight may take at a stop. Default: `30s`.
    pub(crate) grace: Option<Seconds>,
    /// How long answers, event streams and connections in another protocol, such as WebSocket,
    /// may go on after `wick upgrade` in the process that was replaced. Default: `1h`.
    pub(crate) upgrade_grace: Option<Seconds>,
}

/// One `[[site]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SiteSettings {
    /// Host names that this site answers for, as in `["example.org"]`. Default: any host.
    pub(crate) hosts: Vec<String>,
    /// Where HTTPS is listened for: this site's certificate with those that lead to its CA
    /// (`"/path/fullchain.pem"`), read again when it changes; `"auto"` gets one from the CA for
    /// each of `hosts` and renews it, `"off"` is for a site without. Default: `auto`.
    pub(crate) certificate: Option<CertificateSetting>,
    /// The key of that certificate. Default: it is in the same file.
    pub(crate) certificate_key: Option<PathBuf>,
    /// Whether visitors who come by HTTP are sent to HTTPS, once there is a certificate that
    /// browsers take. Default: `true`.
    pub(crate) https_redirect: Option<bool>,
    /// How long browsers that came by HTTPS shall come by nothing else, as in `"1y"`. It can't be
    /// taken back before. Default: they are told nothing.
    pub(crate) hsts: Option<Seconds>,
    /// A folder, or an origin that speaks HTTP: `"http://127.0.0.1:3000"`, or `https://…`, whose
    /// certificate is verified and which may choose HTTP/2, or `h2c://…`, which speaks HTTP/2
    /// without TLS. Several servers that make the same pages stand in a list, each as
    /// an address or as `{ url = "http://10.0.0.2:3000", weight = 2, connections = 100 }`; those
    /// share their sessions among themselves, since a visitor's requests go to any of them.
    /// Default: what the command line names.
    pub(crate) origin: Option<OriginSetting>,
    /// Requests at once at each HTTP origin, each with a connection of its own where HTTP/1.1 is
    /// spoken. Default: `256`.
    pub(crate) origin_connections: Option<NonZeroUsize>,
    /// Connections at once that go on in another protocol, such as WebSocket. Default: `1024`.
    pub(crate) origin_tunnels: Option<NonZeroUsize>,
    /// Whether `https://` origins are asked in HTTP/2 if they offer it. WebSocket and the like
    /// go over HTTP/1.1 all the same. Default: `true`.
    pub(crate) origin_http2: Option<bool>,
    /// A PEM file with the certificates of who may have signed an `https://` origin's own, for
    /// one whom the system doesn't know. Default: those that the system trusts.
    pub(crate) origin_ca: Option<PathBuf>,
    /// The name that the certificate of an `https://` origin has to be for, where its address is
    /// an IP address or an inner name. Default: the host in its address.
    pub(crate) origin_name: Option<String>,
    /// A path that each HTTP origin is asked for now and then; one that fails twice gets no
    /// requests until it answers twice. Default: none; requests find out who fails.
    pub(crate) origin_health: Option<HealthPath>,
    /// The time between two such checks. Default: `5s`.
    pub(crate) origin_health_every: Option<Seconds>,
    /// How long one may take. Default: `2s`.
    pub(crate) origin_health_timeout: Option<Seconds>,
    /// The status that one has to be answered with. Default: any from 200 to 399.
    pub(crate) origin_health_status: Option<HealthStatus>,
    /// A php-fpm that runs already: `unix:PATH` or `tcp:HOST:PORT`. Default: Wick starts its own.
    pub(crate) php: Option<String>,
    /// The `pm.status_path` of that php-fpm, for the admin page and `/metrics`. Default: it isn't
    /// asked; that of a php-fpm which Wick starts is known.
    pub(crate) php_status: Option<StatusPath>,
    /// After how many seconds a request's place in PHP is noted once, by php-fpm's slow log:
    /// `/api/profile` adds these up. A php-fpm that Wick starts does that, if it may trace its
    /// children; each such look stops a child for some milliseconds. Default: never.
    pub(crate) php_slow: Option<Seconds>,
    /// Children of the php-fpm that Wick starts. With `php`: how many children that one has for
    /// Wick alone; connections to it are then kept. Default: as many as fit the free memory;
    /// with `php`, none are kept.
    pub(crate) php_children: Option<u32>,
    /// Whether answers are stored and shared at all. Default: `true`.
    pub(crate) cache: Option<bool>,
    /// Whether pages that the app makes for one visitor at a time are shared among strangers,
    /// once comparing them has shown that they can be. Default: `true`.
    pub(crate) strangers: Option<bool>,
    /// How long a page that is shared among strangers is fresh. Default: `10s`.
    pub(crate) strangers_fresh: Option<Seconds>,
    /// How long after that it is served while a new one is made. Default: `10m`.
    pub(crate) strangers_stale: Option<Seconds>,
    /// One in so many pages that are made anew is compared again as if it were new.
    /// Default: `16`.
    pub(crate) strangers_sample: Option<u32>,
    /// Where changes are heard of that don't come through Wick: `"mysql://user:password@host/name"`,
    /// `"postgres://…"`, `"sqlite:/path/to/file"`, `"files:/path/to/folder"`, or a list of these;
    /// `"auto"` means what the app's own settings name, `"off"` nothing. `"tap"` means the MariaDB
    /// or MySQL that they name, heard by what PHP says to it as well: for PHP that Wick starts, and
    /// apps that say `localhost` without a socket of their own; where the app's settings aren't
    /// found, `"tap:mysql://user:password@localhost/name?socket=/path"`, to which PHP's `localhost`
    /// leads then. Default: `auto`.
    pub(crate) changes: Option<ChangesPlan>,
    /// How long a page that is shared among strangers is fresh while changes are heard of.
    /// Default: `6h`.
    pub(crate) changes_fresh: Option<Seconds>,
    /// What a change sweeps: `"site"` means all pages, `"proved"` only those that it touches,
    /// where many changes of its kind were seen to leave all others of their shape as they are
    /// (for databases whose log tells rows). What was proved goes on being tested, and ends with
    /// the first page that differs; until that is found pages may be old. Default: `site`.
    pub(crate) changes_scope: Option<ChangesScope>,
    /// Kinds of change that change no page, whatever Wick has learned: tables, rows of one whose
    /// keys begin alike, or updates of nothing but certain columns, as in
    /// `["visits", "options[cache_*]", "posts(views)"]`. Default: what reading was seen to write.
    pub(crate) changes_ignored: Vec<Pattern>,
    /// Kinds of change, written likewise, that do change pages, whatever Wick has learned.
    /// Default: none.
    pub(crate) changes_heeded: Vec<Pattern>,
    /// Addresses that are never shared among strangers: a path, or the beginning of an address
    /// with a `*` behind it, as in `["/contact", "/forum/search*"]`. Default: none.
    pub(crate) never_share: Vec<String>,
    /// Addresses, written likewise, whose `no-store` and `private` say nothing even where those
    /// of other pages do. Default: none.
    pub(crate) ignore_no_store: Vec<String>,
    /// Cookies that are the app's though it was never seen to set them. Default: none; every
    /// cookie that the app sets is known to be its own.
    pub(crate) app_cookies: Vec<String>,
    /// Cookies that only scripts in browsers read. Default: those of well-known services, and
    /// those that were found to change no page.
    pub(crate) foreign_cookies: Vec<String>,
    /// What somebody who is not on this machine must show to purge pages, at least 8 characters;
    /// who comes through a proxy on this machine too. Default: none; nobody else may purge.
    pub(crate) purge_token: Option<Secret>,
    /// Whether a page that is asked for all the time is made anew shortly before it is stale,
    /// so that nobody is served a stale one. Default: `true`.
    pub(crate) refresh_early: Option<bool>,
    /// Compression of answers: `true` is zstd, br and gzip, a list such as `["gzip", "br"]` only
    /// these, and `false` leaves it to the origin. Default: `true`.
    pub(crate) compression: Option<Compression>,
    /// Whether browsers that must wait for a page are told at once what it will need (`103 Early
    /// Hints`): preloads, stylesheets and connections that its last answer for everybody named.
    /// Over HTTP/2 and HTTP/3 only. Default: `false`.
    pub(crate) early_hints: Option<bool>,
    /// Pages put together from parts (ESI): `"asked"` means those that ask for it by
    /// `Surrogate-Control`, `true` looks through every page of HTML or XML, and `false` leaves both
    /// to others. It needs `compression`: what the origin has compressed has no parts. Default:
    /// `asked`.
    pub(crate) esi: Option<EsiSetting>,
    /// Hosts beside its own that parts of pages may come from, as in
    /// `["https://cdn.example.org"]`. They are told nothing of the visitor, and what they send is
    /// kept by what it says itself. A name has to lead to a public address; one within your
    /// network is named by that address. Default: none.
    pub(crate) esi_hosts: Vec<EsiHost>,
    /// Whether `wick explain` shall know where members' copies of a page differ, and propose which
    /// parts would make one page of them. For that a few copies are compared in memory; a copy is
    /// kept for a minute at most, never written, and nothing that differs is shown. Default:
    /// `true`.
    pub(crate) suggest_parts: Option<bool>,
    /// Whether plugins for LiteSpeed's cache (LSCache) are told that there is one, by `X-LSCACHE`,
    /// and obeyed: `X-LiteSpeed-Cache-Control` says for how long a page is for everybody, and
    /// `X-LiteSpeed-Vary` by which cookies it differs, always by `_lscache_vary`. Their tags and
    /// purges are obeyed without it. Default: `false`.
    pub(crate) lscache: Option<bool>,
    /// Query parameters that don't choose the page, as in `["utm_source", "fbclid"]`: two
    /// addresses that differ only in these are one page. Default: none.
    pub(crate) ignore_query: Vec<String>,
    /// How long a stale page may be served while a new one is fetched. Default: what the page
    /// itself allows.
    pub(crate) stale_while_revalidate: Option<Seconds>,
    /// How long a stale page may be served while the origin fails. Default: what the page
    /// itself allows.
    pub(crate) stale_if_error: Option<Seconds>,
    /// Whether a page that names no lifetime gets a tenth of its age as one. Default: `true`.
    pub(crate) heuristic: Option<bool>,
    /// The longest such lifetime. Default: `1h`.
    pub(crate) heuristic_max: Option<Seconds>,
    /// The longest that an error page is kept, even if it says longer. Default: `1m`.
    pub(crate) negative_max: Option<Seconds>,
    /// How long it is remembered that a URL's answers can't be shared. Default: `2m`.
    pub(crate) pass_memory: Option<Seconds>,
    /// How often one address may ask, for this site. Default: that of `[limits]`.
    pub(crate) rate: Option<Often>,
    /// How often before that counts. Default: that of `[limits]`.
    pub(crate) rate_burst: Option<u32>,
    /// Whether what memory and files answer counts too. Default: that of `[limits]`.
    pub(crate) rate_hits: Option<bool>,
    /// Requests of one address that may be with this origin at once. Default: that of `[limits]`.
    pub(crate) concurrency: Option<usize>,
    /// A file of HTML that visitors are shown, with status 503, while the origin is out or too
    /// many wait for it; read again by `wick reload`. Default: a sentence of Wick's.
    pub(crate) busy_page: Option<PathBuf>,
    /// Whether answers get `X-Content-Type-Options: nosniff`, `X-Frame-Options: SAMEORIGIN` and
    /// `Referrer-Policy: strict-origin-when-cross-origin` where the app doesn't set these.
    /// Default: `false`.
    pub(crate) security_headers: Option<bool>,
    /// A CSS selector of items with a date, as in `"li.comment"`, that browsers shall mark where
    /// they are newer than the visitor's last visit. A small script does it, so that one page
    /// serves everybody. Default: none are marked, unless the app asks for it by the field
    /// `X-Wick-Since`; then `[data-wick-since]`.
    pub(crate) mark_new: Option<Selector>,
    /// The same for what bears the date within such an item, as in `"time"`: in `data-wick-since`,
    /// `datetime`, `data-time`, `title` or its text. Default: the item itself.
    pub(crate) mark_new_date: Option<Selector>,
    /// The class that a new item gets. Default: `wick-new`.
    pub(crate) mark_new_class: Option<ClassName>,
    /// What a new item looks like, in CSS; `""` leaves that to the class.
    /// Default: `box-shadow:inset 3px 0 #d97706`.
    pub(crate) mark_new_style: Option<String>,
    /// Whether the app is told how often pages were viewed that it didn't see, for its counters:
    /// `"/wick-views.php"` means by a POST of JSON to that path (`clients/php` reads it), `"page"`
    /// by asking for each viewed page once, at most a hundred a time. Robots and scripts are not
    /// counted; what was not told yet is lost with a `kill -9`. Default: it isn't told.
    pub(crate) views: Option<ViewsSetting>,
    /// How often. Default: `60s`.
    pub(crate) views_every: Option<Seconds>,
    /// What such a POST shows in the field `Wick-Views-Key`, at least 16 characters. Default: with
    /// PHP in a folder, what its variable `WICK_KEY` says; an HTTP origin needs one.
    pub(crate) views_key: Option<Secret>,
    /// A file that holds it. Default: none.
    pub(crate) views_key_file: Option<PathBuf>,
    /// The file (TOML) of the site's own dialect of BBCode, which its code calls `site`. Default:
    /// none; those that are built in have names of their own.
    pub(crate) markup: Option<PathBuf>,
    /// Whether pages are audited as they are stored for everybody, with at most 2 % of one core's
    /// time: `wick audit status` and the dashboard tell what is wrong, new and fixed. Default:
    /// `false`.
    pub(crate) audit: Option<bool>,
    /// Whether the site is searched: its public pages, as Wick reads them passing and asks for
    /// them by the site's sitemaps and links. The index is in the state folder. Default: `false`.
    pub(crate) search: Option<bool>,
    /// The path of the search, which the app then doesn't see; `.json`, `.rss`, `.atom` and
    /// others are behind it. Default: `/search`.
    pub(crate) search_path: Option<SearchPath>,
    /// A file of HTML that results are shown in, with `{{head}}`, `{{form}}` and `{{results}}` in
    /// their places (also `{{query}}`, `{{title}}`, `{{path}}`); read again by `wick reload`.
    /// Default: a page of Wick's.
    pub(crate) search_template: Option<PathBuf>,
    /// Whether pages are asked for that nobody visits, one at a time, as `robots.txt` allows it.
    /// Without it, pages that were visited are still read again after something was written.
    /// Default: `true`.
    pub(crate) search_crawl: Option<bool>,
    /// How often `robots.txt`, sitemaps and the first page are read again for that, and what they
    /// name that is new or, by its `lastmod`, has changed. Default: `1h`.
    pub(crate) search_crawl_every: Option<Seconds>,
    /// Whether there is a `/sitemap.xml` of the pages that are found, where the site has none: its
    /// origin answers 404 there, and `robots.txt` names no other. Default: `true`.
    pub(crate) search_sitemap: Option<bool>,
    /// A hub (WebSub) that feeds of the search name, and that is told which of them have changed,
    /// as in `"https://hub.example.org/"`. Default: none; readers ask for themselves.
    pub(crate) websub: Option<Hub>,
    /// Words that mean the same, each list being one meaning, as in
    /// `[["tv", "television"], ["nyc", "new york"]]`: who looks for one word of a list finds the
    /// others as well. Forms of a word need none. Default: none.
    pub(crate) search_synonyms: Option<Vec<Vec<String>>>,
    /// The memory that the writer of the index fills before it writes, at least `15M`, beside
    /// `memory`; it takes effect at the next start. Default: `15000000`.
    pub(crate) search_memory: Option<Bytes>,
    /// The memory that queries may take of which feeds are asked for, beside `memory`: `8M` is
    /// enough for eight thousand, `95M` for a hundred thousand. A feed whose query had to go is
    /// searched for again when it is asked for. It takes effect at the next start. Default:
    /// `8388608`.
    pub(crate) search_feeds_memory: Option<Bytes>,
    /// A search engine that keeps the text instead of the index in the state folder, one for all
    /// nodes: Manticore, or Sphinx with a real-time index, as in
    /// `"sphinxql://search.example.org:9306/site"`. What it can't do is said in
    /// [search.md](search.md#a-search-engine-elsewhere). Default: none.
    pub(crate) search_engine: Option<EngineSetting>,
    /// Rows that are found beside pages; see below.
    pub(crate) search_source: Vec<SearchSourceSettings>,
    /// Time for a connection to the origin. Default: `5s`.
    pub(crate) connect_timeout: Option<Seconds>,
    /// Time for the origin's first byte. Default: `60s`.
    pub(crate) first_byte_timeout: Option<Seconds>,
    /// How long the origin may pause in the middle of an answer. Default: `60s`.
    pub(crate) origin_idle_timeout: Option<Seconds>,
}

/// A size: `"64M"`, or a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub u64);

/// A duration: `"30s"`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub Duration);

/// The content codings that answers are sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compression(pub Codings);

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// One value or a list of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected an address such as \"127.0.0.1:8080\", or a list of them")]
pub(crate) enum OneOrMany<T> {
    /// `listen = "a"`.
    One(T),
    /// `listen = ["a", "b"]`.
    Many(Vec<T>),
}

impl<T: Clone> OneOrMany<T> {
    /// All of them.
    pub(crate) fn to_vec(&self) -> Vec<T> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::Many(many) => many.clone(),
        }
    }
}

/// A settings file that can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// It can't be read.
    #[error("can't read {path}: {source}; name a file that this user may read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It says something that Wick doesn't understand.
    #[error("{path}:{line}:{column}: {what}")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// One sentence.
        what: String,
    },
}

/// Reads and checks a settings file.
pub(crate) fn read(path: &Path) -> Result<Settings, SettingsError> {
    let text = crate::own_user::read(path)
        .and_then(|text| String::from_utf8(text).map_err(std::io::Error::other))
        .map_err(|source| SettingsError::Unreadable { path: path.to_owned(), source })?;
    parse(&text, path)
}

/// Checks the text of a settings file; `path` is for messages.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Settings, SettingsError> {
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = &text[..offset.min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SettingsError::Wrong {
            path: path.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            what: explain(error.message()),
        }
    })
}

/// Turns "unknown field `x`, expected one of `a`, `b`" into a hint a person can use.
fn explain(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let [unknown, known @ ..] = names.as_slice() else { return message.to_owned() };
    if !message.starts_with("unknown field") || known.is_empty() {
        return message.to_owned();
    }
    let nearest = known.iter().max_by(|a, b| {
        let closeness = |name: &&&str| strsim::jaro_winkler(unknown, name);
        closeness(a).total_cmp(&closeness(b))
    });
    match nearest {
        Some(name) => format!("there is no setting \"{unknown}\" here; did you mean \"{name}\"?"),
        None => message.to_owned(),
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        amount(deserializer, "a size such as \"64M\"", base::amount::parse_bytes).map(Self)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        amount(deserializer, "a duration such as \"30s\"", base::amount::parse_duration).map(Self)
    }
}

/// What a change sweeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangesScope {
    #[default]
    Site,
    Proved,
}

impl<'de> Deserialize<'de> for Compression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> de::Visitor<'de> for Reader {
            type Value = Compression;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a list such as [\"zstd\", \"br\", \"gzip\"]")
            }
            fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<Compression, E> {
                Ok(Compression(if is_on { Codings::ALL } else { Codings::NONE }))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Compression, A::Error> {
                let mut codings = Codings::NONE;
                while let Some(name) = list.next_element::<String>()? {
                    let coding = Coding::of(name.as_bytes()).ok_or_else(|| {
                        let what =
                            "is no content coding of Wick's: write \"zstd\", \"br\" or \"gzip\"";
                        de::Error::custom(format!("\"{name}\" {what}"))
                    })?;
                    codings = codings.with(coding);
                }
                Ok(Compression(codings))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a string or a whole number with one of the floor's readers.
fn amount<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    deserializer: D,
    expected: &'static str,
    read: fn(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    struct Reader<T, E> {
        expected: &'static str,
        read: fn(&str) -> Result<T, E>,
    }
    impl<T, E: fmt::Display> de::Visitor<'_> for Reader<T, E> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }
        fn visit_str<F: de::Error>(self, text: &str) -> Result<T, F> {
            (self.read)(text).map_err(de::Error::custom)
        }
        fn visit_i64<F: de::Error>(self, number: i64) -> Result<T, F> {
            (self.read)(&number.to_string()).map_err(de::Error::custom)
        }
    }
    deserializer.deserialize_any(Reader { expected, read })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        parse(text, Path::new("wick.toml")).expect_err("the settings are wrong").to_string()
    }

    #[test]
    fn a_full_file_is_read() {
        let settings = parse(
            "listen = [\"127.0.0.1:1\", \"[::1]:2\"]\nmemory = \"128M\"\n[limits]\nbody = 1024\n\
             [[site]]\nhosts = [\"a\"]\norigin = \"http://127.0.0.1:3000\"\nstale_if_error = \"1h\"\n",
            Path::new("wick.toml"),
        )
        .expect("the settings are right");
        assert_eq!(settings.listen.map(|listen| listen.to_vec().len()), Some(2));
        assert_eq!(settings.memory, Some(Bytes(128 << 20)));
        assert_eq!(settings.limits.body, Some(Bytes(1024)));
        assert_eq!(settings.site[0].stale_if_error, Some(Seconds(Duration::from_secs(3600))));
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_nearest_name() {
        assert_eq!(
            wrong("memory = \"1M\"\n\nlisten_on = \"x\"\n"),
            "wick.toml:3:1: there is no setting \"listen_on\" here; did you mean \"listen\"?"
        );
        assert_eq!(
            wrong("[[site]]\n  stale_if_eror = \"1h\"\n"),
            "wick.toml:2:3: there is no setting \"stale_if_eror\" here; did you mean \"stale_if_error\"?"
        );
    }

    #[test]
    fn a_wrong_value_is_told_with_its_place_and_what_is_wanted() {
        assert!(wrong("memory = \"lots\"\n").contains("wick.toml:1:10: \"lots\" is not a size"));
        assert!(wrong("listen = \"8080\"\n").contains("expected an address such as"));
        assert!(wrong("memory = true\n").contains("a size such as \"64M\""));
        assert!(wrong("memory = \n").starts_with("wick.toml:1:"));
    }

    #[test]
    fn compression_is_on_or_off_or_a_list_of_codings() {
        for (value, expected) in [
            ("true", Codings::ALL),
            ("false", Codings::NONE),
            ("[]", Codings::NONE),
            ("[\"gzip\"]", Codings::NONE.with(Coding::Gzip)),
            ("[\"gzip\", \"br\", \"zstd\"]", Codings::ALL),
        ] {
            let text = format!("[[site]]\ncompression = {value}\n");
            let settings = parse(&text, Path::new("wick.toml")).expect("the settings are right");
            assert_eq!(settings.site[0].compression, Some(Compression(expected)), "{value}");
        }
        let unknown = wrong("[[site]]\ncompression = [\"gzip\", \"brotli\"]\n");
        assert!(unknown.contains("wick.toml:2:15: \"brotli\" is no content coding"), "{unknown}");
        let other = wrong("[[site]]\ncompression = \"gzip\"\n");
        assert!(other.starts_with("wick.toml:2:15: ") && other.contains("true, false"), "{other}");
    }

    #[test]
    fn a_wrong_source_of_changes_is_told_with_its_place_and_never_repeated() {
        for (value, expected) in [
            ("\"redis://u:hush@h/d\"", "2:11: write mysql://user:password@host/database, "),
            ("\"mysql://hush:hush\"", "2:11: a database's address names a user: mysql://user:"),
            ("\"mysql://u:hush@h:port/d\"", "2:11: the port in a database's address is "),
            ("\"mysql://u:hush%@h/d\"", "2:11: a % in a database's address stands before "),
            ("\"mysql://u:hush@h/d?tls=hush\"", "2:11: after the ? of a database's address "),
            ("\"files:hush\"", "2:11: write the whole path, from its first /"),
            ("\"on\"", "2:11: write mysql://"),
            ("[\"files:/a\", \"mysql://hush\"]", "2:24: a database's address names a user"),
            ("[\"files:/a\", \"auto\"]", "2:24: write mysql://"),
            ("[]", "2:11: an empty list names nothing: write \"off\" to follow no changes"),
            ("true", "2:11: invalid type: boolean `true`, expected \"auto\", \"off\", \"tap\", "),
            ("{ a = \"hush\" }", "2:11: invalid type: map, expected \"auto\", \"off\", \"tap\", "),
            ("\"tap:mysql://u:hush@h/d\"", "2:11: a tap stands before a socket: write tap:mysql"),
            ("\"tap:files:/hush\"", "2:11: a tap stands before a socket: write tap:mysql"),
            ("\"tap:mysql://hush\"", "2:11: a database's address names a user"),
            ("[\"tap\"]", "2:12: write mysql://"),
            ("mysql://u:hush@h/d", "2:"),
            ("\"mysql://u:hush@h/d", "2:"),
        ] {
            let told = wrong(&format!("[[site]]\nchanges = {value}\n"));
            assert!(told.starts_with(&format!("wick.toml:{expected}")), "{value}: {told}");
            assert!(!told.contains("hush"), "{value}: {told}");
        }
        let many = vec!["\"files:/a\""; 17].join(", ");
        assert!(wrong(&format!("[[site]]\nchanges = [{many}]\n")).contains("at most 16 sources"));
    }

    #[test]
    fn sources_of_changes_are_read_and_shown_without_the_password() {
        for (value, expected) in [
            ("\"auto\"", "Auto"),
            ("\"off\"", "Off"),
            ("\"tap\"", "Tap(None)"),
            ("\"tap:mysql://u:hush@h/d?socket=/s\"", "Tap(Some(u@/s/d))"),
            ("\"mysql://u:hush@h/d\"", "Given([MySql(u@h:3306/d)])"),
            ("[\"sqlite:/a\", \"files:/b\"]", "Given([Sqlite(\"/a\"), Files(\"/b\")])"),
        ] {
            let text = format!("[[site]]\nchanges = {value}\n");
            let settings = parse(&text, Path::new("wick.toml")).expect("the settings are right");
            let shown = format!("{:?}", settings.site[0].changes.as_ref().expect("it is set"));
            assert_eq!(shown, expected);
            assert!(!format!("{settings:?}").contains("hush"));
        }
    }
}

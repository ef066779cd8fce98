//! `[tracker]`, as an owner writes it.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{self, Deserializer};
use tracker::Mode;
use tracker::serve::{Mount, ScrapeRule};

use super::{Networks, OneOrMany, Seconds, Secret};

/// `[tracker]`: a BitTorrent tracker. Being there, even empty, it begins one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TrackerSettings {
    /// Addresses to listen on for announces over HTTP, and over UDP on the same ports; one, or a
    /// list. Default: `127.0.0.1:2710`.
    pub(crate) listen: Option<OneOrMany<SocketAddr>>,
    /// Whether clients may announce over UDP. Default: `true`.
    pub(crate) udp: Option<bool>,
    /// Whether clients may announce over WebSocket too, at the addresses of `listen`, as those in
    /// browsers do; such clients meet through the tracker (WebTorrent). Default: `false`.
    pub(crate) webtorrent: Option<bool>,
    /// The path at which the sites' own listeners take announces too, as in `"/announce"` or
    /// `"/bt/announce.php"`, and scrapes beside it. Default: none; they are the sites'.
    pub(crate) path: Option<AnnouncePath>,
    /// Who may announce: `"open"` is anybody, any torrent; `"private"` is users with passkeys,
    /// and the torrents that the site has. Default: `open`.
    pub(crate) mode: Option<TrackerMode>,
    /// The database in which torrents and users are, and to which what they did is credited, as in
    /// `"mysql://user:password@host/name"`, `"postgres://…"` or `"sqlite:/path/to/file"`. Default:
    /// none for an open tracker; for a private one a file of SQLite in the state folder.
    pub(crate) database: Option<Secret>,
    /// What that database's tables mean: `"wick"`, `"xbt"`, `"xbt2019"`, `"torrentpier3"`,
    /// `"gazelle"`, `"unit3d"`, or the path of a file that says it. Default: `wick`.
    pub(crate) contract: Option<String>,
    /// Whether a row is written for each announce to the site's table for that, as to `announces`
    /// of UNIT3D, which grows quickly; where XBT's sites want it `xbt_config` says so. Default:
    /// `false`.
    pub(crate) log_announces: Option<bool>,
    /// What a site's requests to `/<push_secret>/update` bear, by which it tells what changed:
    /// Gazelle's `TRACKER_SECRET`; 16 letters and digits or more. Default: none is taken.
    pub(crate) push_secret: Option<Secret>,
    /// How often credits are written to the database. Default: `60s`.
    pub(crate) flush: Option<Seconds>,
    /// How often clients are to announce. Default: `30m`.
    pub(crate) interval: Option<Seconds>,
    /// How far that may stretch while more announces come than `busy_above`. Default: `1h`.
    pub(crate) interval_max: Option<Seconds>,
    /// Announces a second above which it stretches; `0` is never. Default: `0`.
    pub(crate) busy_above: Option<u32>,
    /// How much longer than `interval` one is at most, by the dice, so that clients don't come
    /// all at once. Default: `2m`.
    pub(crate) jitter: Option<Seconds>,
    /// Before which time clients are asked not to announce again. Default: `15m`.
    pub(crate) min_interval: Option<Seconds>,
    /// Peers in an answer where a client doesn't say how many. Default: `50`.
    pub(crate) numwant: Option<u32>,
    /// Peers in an answer at most. Default: `200`.
    pub(crate) numwant_max: Option<u32>,
    /// Who may ask how torrents stand: `"on"` is whoever may announce, `"off"` nobody.
    /// Default: `on`.
    pub(crate) scrape: Option<Scraping>,
    /// Torrents that may be asked about at once, up to 74. Default: `74`.
    pub(crate) scrape_max: Option<usize>,
    /// Such questions that are answered in one second, of all clients together; the rest is asked
    /// to come later. `0` is no bound. Default: `0`.
    pub(crate) scrapes_per_second: Option<u32>,
    /// How long clients are asked to leave between two such questions. Default: they are asked
    /// nothing.
    pub(crate) scrape_interval: Option<Seconds>,
    /// A file of info hashes, 40 hexadecimal digits in a line: on an open tracker only these are
    /// tracked. Read again when it changes. Default: all are.
    pub(crate) allow: Option<PathBuf>,
    /// A file of the same kind: these are not tracked. Default: none.
    pub(crate) deny: Option<PathBuf>,
    /// Only clients whose peer ids begin so may come, as in `["-qB4", "-TR"]`. Default: all.
    pub(crate) clients_allow: Vec<String>,
    /// Clients whose peer ids begin so may not, whatever `clients_allow` says. Default: none.
    pub(crate) clients_deny: Vec<String>,
    /// Networks whose clients may not announce, and to which nobody is sent, as in
    /// `["192.0.2.0/24"]`. Default: none.
    pub(crate) addresses_deny: Option<Networks>,
    /// Ports that nobody may announce, as in `[25, "6881-6889"]`. Default: none.
    pub(crate) ports_deny: Vec<Ports>,
    /// Proxies before the tracker's own addresses whose `X-Forwarded-For` tells where a client is:
    /// the rightmost address that is not of these networks. Default: none.
    pub(crate) trusted_proxies: Option<Networks>,
    /// Whether a client is believed that says where it is (`ip`, `ipv4`, `ipv6`). Default: `false`.
    pub(crate) believe_addresses: Option<bool>,
    /// Whether addresses that the Internet doesn't route, such as `192.168.0.1`, are handed out.
    /// Default: `true` where only this machine's or such addresses are listened on.
    pub(crate) private_addresses: Option<bool>,
    /// Whether the tracker tries to connect to each client where it announces from, to know who
    /// can be reached from outside; `wick tracker torrent` tells. Default: `false`.
    pub(crate) check_ports: Option<bool>,
    /// Whether clients are told the address that they come from. Default: `true`.
    pub(crate) tell_address: Option<bool>,
    /// Peers at one time, of all torrents together. Default: `16000000`.
    pub(crate) peers: Option<u32>,
    /// Torrents at one time. Default: `2000000`.
    pub(crate) torrents: Option<u32>,
    /// Clients of one user at one torrent. Default: `200`.
    pub(crate) clients_per_user: Option<u16>,
    /// Connections over HTTP at one time. Default: `20000`.
    pub(crate) connections: Option<usize>,
    /// How long such a connection may rest, or a request take to come. Default: `30s`.
    pub(crate) idle_timeout: Option<Seconds>,
}

/// `mode`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TrackerMode {
    Open,
    Private,
}

impl From<TrackerMode> for Mode {
    fn from(mode: TrackerMode) -> Self {
        match mode {
            TrackerMode::Open => Self::Open,
            TrackerMode::Private => Self::Private,
        }
    }
}

/// `scrape`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scraping {
    On,
    Off,
}

impl From<Scraping> for ScrapeRule {
    fn from(scraping: Scraping) -> Self {
        match scraping {
            Scraping::On => Self::On,
            Scraping::Off => Self::Off,
        }
    }
}

/// One of `ports_deny`: a port, or the first and the last of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ports(pub(crate) RangeInclusive<u16>);

impl<'de> Deserialize<'de> for Ports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Ports;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a port such as 25, or the first and last of several, as in \"6881-6889\"",
                )
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ports, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
                let port = u16::try_from(number).map_err(|_| wrong())?;
                Ok(Ports(port..=port))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Ports, E> {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                let both = first.trim().parse().ok().zip(last.trim().parse().ok());
                let range = both.filter(|(first, last)| first <= last);
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                range.map(|(first, last): (u16, u16)| Ports(first..=last)).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// `path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnnouncePath(pub(crate) Mount);

impl<'de> Deserialize<'de> for AnnouncePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = AnnouncePath;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path that ends in \"announce\" or \"announce.php\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<AnnouncePath, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                Mount::at(text).map(AnnouncePath).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

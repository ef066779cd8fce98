//! What was decided about the tracker.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use changes::{Source, SourceError};
use tracker::books::{self, Contract, ContractError, Dialect, KNOWN, Place};
use tracker::serve::{Mount, ScrapeRule, ServeRules, UDP_BUFFER_BYTES, udp_room};
use tracker::{Clients, Mode, Rules};
use wire::tracker::InfoHash;
use wire::tracker::query::SCRAPE_HASHES_MAX;

use super::lists::Lists;
use crate::settings::{OneOrMany, Seconds, Secret, TrackerSettings};

/// Where trackers have been found since XBT.
const PORT: u16 = 2710;
/// The file of our own, where no database is named.
const FILE: &str = "tracker.sqlite";
/// Whoever guesses it may add users.
const PUSH_SECRET_BYTES_MIN: usize = 16;
/// The longest beginning of a peer id: all of it.
const PEER_ID_BYTES: usize = 20;

/// A tracker.
#[derive(Debug)]
pub(crate) struct TrackerPlan {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) udp: bool,
    /// Where the sites' listeners take announces.
    pub(crate) mount: Option<Mount>,
    pub(crate) rules: Rules,
    /// From which files of theirs come.
    pub(crate) lists: Lists,
    pub(crate) serve: ServeRules,
    /// Where torrents and users are, and what its tables mean; none: nobody is accounted for.
    pub(crate) books: Option<BooksPlan>,
}

/// The database that is credited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BooksPlan {
    /// None: a file of our own.
    pub(crate) database: Option<Secret>,
    pub(crate) contract: String,
    pub(crate) flush: Duration,
    /// Whether each announce has a row there.
    pub(crate) logs_announces: bool,
    /// What a site's pushes bear.
    pub(crate) push_secret: Option<Secret>,
}

impl BooksPlan {
    /// Whether all that is named is there, and fits together; else what to write.
    fn is_right(&self) -> Result<(), String> {
        let place = self.place(Path::new(""))?;
        let contract = self.contract()?;
        if !contract.servers.contains(&place.dialect()) {
            let kept: Vec<String> = contract.servers.iter().map(Dialect::to_string).collect();
            return Err(format!(
                "database is in {}, and the contract {} is kept in {}: name another of the two",
                place.dialect(),
                self.contract,
                kept.join(", ")
            ));
        }
        let is_fit = |secret: &Secret| {
            secret.0.len() >= PUSH_SECRET_BYTES_MIN
                && secret.0.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        if !self.push_secret.as_ref().is_none_or(is_fit) {
            return Err(format!(
                "push_secret is guessed too easily: write {PUSH_SECRET_BYTES_MIN} letters and \
                 digits or more, the same as the site's TRACKER_SECRET"
            ));
        }
        Ok(())
    }

    /// Where torrents and users are; the file of our own is in `folder`.
    pub(crate) fn place(&self, folder: &Path) -> Result<Place, String> {
        let Some(written) = &self.database else { return Ok(Place::Sqlite(folder.join(FILE))) };
        let source =
            written.0.parse().map_err(|error: SourceError| format!("database: {error}"))?;
        match source {
            Source::MySql(address) | Source::PostgreSql(address) if address.database.is_empty() => {
                Err("database names none: write mysql://user:password@host/name".to_owned())
            }
            Source::MySql(address) => Ok(Place::MySql(address)),
            Source::PostgreSql(address) => Ok(Place::Postgres(address)),
            Source::Sqlite(path) => Ok(Place::Sqlite(path)),
            Source::Files(_) | Source::Other(_) => {
                Err("database: torrents and users are in a database, not in files: write \
                     mysql://…, postgres://… or sqlite:/…"
                    .to_owned())
            }
        }
    }

    /// Whether a database that is named is there and has what the contract asks for, also where
    /// several nodes write into it; else what to do.
    pub(crate) async fn try_out(&self, is_shared: bool) -> Result<(), String> {
        if self.database.is_none() {
            return Ok(());
        }
        let (place, contract) = (self.place(Path::new(""))?, self.contract()?);
        books::check(&place, &contract, is_shared).await.map_err(|trouble| trouble.to_string())
    }

    /// One of ours by its name, or the owner's by its path.
    pub(crate) fn contract(&self) -> Result<Contract, String> {
        let named = &self.contract;
        let is_ours = KNOWN.iter().any(|(known, _)| known == named);
        let read = match std::fs::read_to_string(named) {
            _ if is_ours => Contract::known(named),
            Ok(text) => Contract::read(&text),
            Err(error) if named.contains(['/', '.']) => {
                return Err(format!("the contract {named} can't be read: {error}"));
            }
            Err(_) => Err(ContractError::Unknown(named.clone())),
        };
        let mut contract = read.map_err(|error| match error {
            ContractError::Unknown(_) => error.to_string(),
            _ => format!("the contract {named}: {error}"),
        })?;
        if self.logs_announces && !contract.log_announces() {
            return Err(format!(
                "log_announces is true, and the contract {named} has no table for a row of each \
                 announce: leave it out, or name a contract with [[logs]]"
            ));
        }
        Ok(contract)
    }
}

impl TrackerPlan {
    /// What the settings come to, with the files that they name.
    pub(crate) fn of(written: TrackerSettings) -> Result<Self, String> {
        let listen = written
            .listen
            .as_ref()
            .map_or_else(|| vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))], OneOrMany::to_vec);
        let mut rules = rules(&written, &listen)?;
        let mut lists = Lists::new(written.allow.clone(), written.deny.clone());
        lists.read(&mut rules)?;
        let serve = serve_rules(&written)?;
        if listen.is_empty() && written.path.is_none() {
            return Err("the tracker listens nowhere: name an address in listen, or a path at \
                        which the sites take announces"
                .to_owned());
        }
        let has_books = rules.mode == Mode::Private || written.database.is_some();
        let books = BooksPlan {
            database: written.database,
            contract: written.contract.unwrap_or_else(|| "wick".to_owned()),
            flush: written.flush.map_or(Duration::from_secs(60), |time| time.0),
            logs_announces: written.log_announces.unwrap_or(false),
            push_secret: written.push_secret,
        };
        books.is_right()?;
        let books = has_books.then_some(books);
        let mount = written.path.map(|path| path.0);
        Ok(Self { listen, udp: written.udp.unwrap_or(true), mount, rules, lists, serve, books })
    }

    /// What to say where the system holds fewer datagrams than may come while another process
    /// takes over.
    pub(crate) fn scarce_udp_room(&self) -> Option<String> {
        let address = self.listen.first().filter(|_| self.udp)?;
        let bytes = udp_room(*address).ok().filter(|bytes| *bytes < UDP_BUFFER_BYTES)?;
        Some(format!(
            "{} KiB of datagrams wait while an upgrade or a busy moment lasts; more need root, or: \
             sysctl -w net.core.rmem_max={UDP_BUFFER_BYTES}",
            bytes / 1024
        ))
    }

    /// It is one of several whose nodes have names, where they have one ledger: a private tracker's
    /// must be in a database that all of them reach.
    pub(crate) fn join(&mut self, node: &str) {
        let is_shared = |books: &BooksPlan| {
            books.place(Path::new("")).is_ok_and(|place| place.dialect() != Dialect::Sqlite)
        };
        if self.rules.mode == Mode::Open || self.books.as_ref().is_some_and(is_shared) {
            self.rules.node = Some(node.to_owned());
        }
    }

    /// What takes effect only with a restart, for comparison.
    pub(crate) fn fixed(&self) -> String {
        let Self { listen, udp, mount, rules, books, .. } = self;
        format!("{listen:?} {udp} {mount:?} {:?} {books:?}", rules.mode)
    }
}

fn rules(written: &TrackerSettings, listen: &[SocketAddr]) -> Result<Rules, String> {
    let mut rules = Rules::default();
    let seconds = |place: &mut u32, time: Option<Seconds>| {
        if let Some(Seconds(time)) = time {
            *place = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        }
    };
    rules.mode = written.mode.map_or(Mode::Open, Into::into);
    seconds(&mut rules.interval_seconds, written.interval);
    seconds(&mut rules.jitter_seconds, written.jitter);
    seconds(&mut rules.min_interval_seconds, written.min_interval);
    rules.interval_seconds_max = rules.interval_seconds_max.max(rules.interval_seconds);
    seconds(&mut rules.interval_seconds_max, written.interval_max);
    if rules.interval_seconds == 0 {
        return Err("interval is nothing: write one such as \"30m\"".to_owned());
    }
    if rules.interval_seconds_max < rules.interval_seconds {
        return Err("interval_max is less than interval: write more".to_owned());
    }
    // A shorter interval than usual, written alone, is not to contradict the default beside it.
    if written.min_interval.is_none() {
        rules.min_interval_seconds = rules.min_interval_seconds.min(rules.interval_seconds);
    }
    if written.jitter.is_none() {
        rules.jitter_seconds = rules.jitter_seconds.min(rules.interval_seconds / 15);
    }
    if rules.min_interval_seconds > rules.interval_seconds {
        return Err("min_interval is more than interval: write less".to_owned());
    }
    set(&mut rules.announces_per_second_calm, written.busy_above);
    set(&mut rules.peers_default, written.numwant);
    set(&mut rules.peers_max, written.numwant_max);
    set(&mut rules.sessions_max, written.peers);
    set(&mut rules.torrents_max, written.torrents);
    set(&mut rules.peers_of_user_max, written.clients_per_user);
    rules.peers_default = rules.peers_default.min(rules.peers_max);
    rules.clients = Clients {
        only: beginnings(&written.clients_allow, "clients_allow")?,
        denied: beginnings(&written.clients_deny, "clients_deny")?,
    };
    if let Some(networks) = &written.addresses_deny {
        rules.denied_addresses.clone_from(&networks.0);
    }
    rules.denied_ports = written.ports_deny.iter().map(|ports| ports.0.clone()).collect();
    set(&mut rules.believes_told_addresses, written.believe_addresses);
    set(&mut rules.checks_ports, written.check_ports);
    rules.allows_private_addresses = written
        .private_addresses
        .unwrap_or_else(|| listen.iter().all(|address| is_private(address.ip())));
    Ok(rules)
}

fn serve_rules(written: &TrackerSettings) -> Result<ServeRules, String> {
    let scrape = written.scrape.map_or(ScrapeRule::On, Into::into);
    let mut rules = ServeRules { scrape, ..ServeRules::default() };
    set(&mut rules.scrape_torrents_max, written.scrape_max);
    if !(1..=SCRAPE_HASHES_MAX).contains(&rules.scrape_torrents_max) {
        return Err(format!("scrape_max is a number from 1 to {SCRAPE_HASHES_MAX}"));
    }
    set(&mut rules.scrapes_per_second_max, written.scrapes_per_second);
    rules.scrape_interval =
        written.scrape_interval.map(|time| u32::try_from(time.0.as_secs()).unwrap_or(u32::MAX));
    if let Some(networks) = &written.trusted_proxies {
        rules.proxies.clone_from(&networks.0);
    }
    set(&mut rules.tells_address, written.tell_address);
    set(&mut rules.connections_max, written.connections);
    set(&mut rules.webtorrent, written.webtorrent);
    set(&mut rules.idle, written.idle_timeout.map(|time| time.0));
    Ok(rules)
}

fn set<T>(place: &mut T, written: Option<T>) {
    if let Some(value) = written {
        *place = value;
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_private() || address.is_link_local()
        }
        IpAddr::V6(address) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

fn beginnings(written: &[String], name: &str) -> Result<Vec<Vec<u8>>, String> {
    let read = |text: &String| match text.len() {
        1..=PEER_ID_BYTES => Ok(text.clone().into_bytes()),
        _ => Err(format!(
            "{name} has \"{text}\": write how peer ids begin, 1 to {PEER_ID_BYTES} letters, as in \
             \"-qB4\""
        )),
    };
    written.iter().map(read).collect()
}

/// The info hash that a text stands for.
pub(crate) fn hash(text: &str) -> Option<InfoHash> {
    let bytes = text.as_bytes();
    if bytes.len() != 40 || !text.is_ascii() {
        return None;
    }
    let mut hash = [0; 20];
    for (place, pair) in hash.iter_mut().zip(bytes.chunks_exact(2)) {
        let digit = |byte: u8| (byte as char).to_digit(16);
        *place = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(InfoHash(hash))
}

/// The folder of what a tracker must not lose.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("tracker")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> Result<TrackerPlan, String> {
        TrackerPlan::of(toml::from_str(text).map_err(|error| error.to_string())?)
    }

    #[test]
    fn a_table_that_says_nothing_is_an_open_tracker_of_this_machine() {
        let plan = planned("").expect("it is right");
        assert_eq!(plan.listen, ["127.0.0.1:2710".parse().expect("an address")]);
        assert!(plan.udp && plan.mount.is_none() && plan.books.is_none());
        assert!(plan.rules.allows_private_addresses, "there are no others here");
        let open = planned("listen = [\"0.0.0.0:2710\", \"[::]:2710\"]").expect("it is right");
        assert!(!open.rules.allows_private_addresses);
        let private = planned("mode = \"private\"").expect("it is right");
        assert!(private.books.is_some_and(|books| books.contract == "wick"));
    }

    #[test]
    fn what_contradicts_itself_is_told_with_what_to_write() {
        for (text, expected) in [
            ("interval = \"10m\"\nmin_interval = \"11m\"", "min_interval is more than interval"),
            ("interval_max = \"1m\"", "interval_max is less than interval"),
            ("interval = 0", "interval is nothing"),
            ("listen = []", "listens nowhere"),
            ("clients_deny = [\"\"]", "clients_deny has \"\": write how peer ids begin"),
            ("ports_deny = [\"9-7\"]", "as in \"6881-6889\""),
            ("ports_deny = [65536]", "as in \"6881-6889\""),
            ("addresses_deny = [\"10.0.0.1/8\"]", "has an address within the network"),
            ("scrape_max = 75", "scrape_max is a number from 1 to 74"),
            ("allow = \"/no/such/file\"", "the list /no/such/file: "),
            ("path = \"/tracker\"", "a path that ends in \"announce\""),
            ("mode = \"closed\"", "open"),
            ("contract = \"xbt2018\"", "there is no contract `xbt2018`; there are wick, xbt, "),
            ("contract = \"/no/such.toml\"", "the contract /no/such.toml can't be read: "),
            ("contract = \"gazelle\"", "is kept in MariaDB or MySQL: name another of the two"),
            ("database = \"mysql://host/site\"", "database: a database's address names a user"),
            ("database = \"mysql://a:b@host\"", "database names none: write mysql://"),
            ("database = \"files:/srv\"", "write mysql://…, postgres://… or sqlite:/…"),
            ("log_announces = true", "the contract wick has no table for a row of each announce"),
            ("push_secret = \"secret\"", "push_secret is guessed too easily: write 16 letters"),
        ] {
            let told = planned(text).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
        let denied = "addresses_deny = [\"10.0.0.0/8\"]\nports_deny = [25, \"6881-6889\"]";
        let rules = planned(denied).expect("it is right").rules;
        assert_eq!(rules.denied_ports, [25..=25, 6881..=6889]);
        assert!(rules.denied_addresses[0].holds(Ipv4Addr::new(10, 1, 2, 3).into()));
        let short = planned("interval = \"60s\"").expect("the others follow");
        assert_eq!((short.rules.min_interval_seconds, short.rules.jitter_seconds), (60, 4));
    }
}

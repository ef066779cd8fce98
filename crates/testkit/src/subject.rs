//! What a scene is played to: a Wick in this process, or any running server.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base::amount::{parse_bytes, parse_duration, parse_rate};
use base::network::Network;
use changes::Source;
use origin::{Dial, HttpOptions, HttpOrigin, Origin};
use policy::claims::TrustedField;
use policy::surrogate::Esi;
use server::{DefenceRules, PurgeToken, Rate, ServerConfig, SiteConfig, StrangerRules};
use tokio::io::DuplexStream;
use tokio::net::{TcpListener, TcpStream};
use wire::{Coding, Codings};

use crate::house::{House, Kept};
use crate::scene::{Position, Scene, Setting};
use crate::simulated_origin::SimulatedOrigin;
use crate::story::Failure;
use crate::stream::{AnyStream, PIPE_BYTES};
use crate::world::World;

/// One refreshed page in so many is compared anew.
const NEVER_COMPARED_AGAIN: u32 = 1_000_000;

/// What clients connect to.
pub(crate) enum Subject {
    /// A Wick in this process.
    InHouse(Box<House>),
    /// A server at this address.
    Running(String),
}

impl Subject {
    /// A Wick with the scene's settings, whose origin is the simulated one.
    ///
    /// Must be called within the scene's runtime.
    pub(crate) fn in_house(
        scene: &Scene,
        world: &World,
        simulated: &SimulatedOrigin,
    ) -> Result<Self, Failure> {
        let mut config = configured(scene, simulated)?;
        let disk = scene.settings.iter().find(|setting| setting.name == "disk");
        let kept = disk.map(|setting| Ok((setting, bytes(setting)?))).transpose()?;
        let kept =
            kept.map(|(setting, bytes)| Kept::new(bytes).map_err(|error| lost(setting.at, &error)));
        let feed = simulated.database().take_feed().filter(|_| scene.has_changes());
        let name = config.sites[0].name.clone();
        if feed.is_some() {
            // Never opened: the feed is made here.
            config.sites[0].changes.push(Source::Other("told".to_owned()));
        }
        let house = House::begin(config, kept.transpose()?, world);
        let house = house.map_err(|error| lost(Position::default(), &error))?;
        if let Some(feed) = feed {
            let listener = house.server();
            house.spawn(async move { listener.follow_feeds(&name, vec![feed]).await });
        }
        Ok(Self::InHouse(Box::new(house)))
    }

    /// Stops Wick and begins another, which has what was on its disk.
    pub(crate) async fn restart(
        &self,
        scene: &Scene,
        world: &World,
        simulated: &SimulatedOrigin,
        at: Position,
    ) -> Result<(), Failure> {
        match self {
            Self::InHouse(house) => {
                let begun = house.restart(configured(scene, simulated)?, world).await;
                begun.map_err(|error| lost(at, &error))
            }
            Self::Running(_) => Err(Failure::new(at, "a running server isn't begun anew")),
        }
    }

    /// Opens the connection of the client with this number; of a local one from here.
    pub(crate) async fn connect(&self, number: usize, is_local: bool) -> io::Result<AnyStream> {
        let house = match self {
            Self::Running(address) => {
                let stream = TcpStream::connect(address.as_str()).await?;
                stream.set_nodelay(true)?;
                return Ok(Box::new(stream));
            }
            Self::InHouse(house) => house,
        };
        let last = u8::try_from(number.clamp(1, 250)).unwrap_or(250);
        let address = if is_local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::new(192, 0, 2, last) };
        Ok(Box::new(house.connect(address)))
    }

    /// What went wrong inside, though no client saw it.
    pub(crate) fn failure(&self, at: Position) -> Option<Failure> {
        match self {
            Self::InHouse(house) if house.server().counters().panics.read() > 0 => {
                Some(Failure::new(at, "a task of Wick's panicked"))
            }
            _ => None,
        }
    }
}

fn lost(at: Position, error: &io::Error) -> Failure {
    Failure::new(at, format!("Wick can't be begun: {error}"))
}

/// What a Wick is begun with that has the scene's settings.
fn configured(scene: &Scene, simulated: &SimulatedOrigin) -> Result<ServerConfig, Failure> {
    let mut options = HttpOptions::default();
    let dial = Dial::Memory(memory_dial(simulated.clone()));
    for setting in &scene.settings {
        set_origin(&mut options, setting)?;
    }
    let mut site = SiteConfig::new(Origin::Http(HttpOrigin::new(dial, options)));
    // Nothing is left to dice.
    site.rules.refresh_early = false;
    let mut config = ServerConfig::default();
    for setting in &scene.settings {
        set(&mut site, &mut config, setting)?;
    }
    config.sites.push(site);
    Ok(config)
}

fn memory_dial(simulated: SimulatedOrigin) -> origin::MemoryDial {
    Arc::new(move || {
        let simulated = simulated.clone();
        Box::pin(async move { open_pipe(simulated) })
    })
}

fn open_pipe(simulated: SimulatedOrigin) -> io::Result<DuplexStream> {
    if simulated.is_down() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    tokio::spawn(simulated.serve(Box::new(ours)));
    Ok(theirs)
}

/// Where a running server finds its origin.
pub struct OriginPort {
    address: SocketAddr,
}

impl OriginPort {
    /// An origin that will listen at `address`.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// Serves `simulated` here until the returned task is aborted. While the origin
    /// is down its port is closed, so that connections are refused.
    pub(crate) fn serve(&self, simulated: SimulatedOrigin) -> tokio::task::JoinHandle<()> {
        let address = self.address;
        tokio::spawn(async move {
            loop {
                simulated.until_down(false).await;
                let listener = match TcpListener::bind(address).await {
                    Ok(listener) => listener,
                    Err(_) => {
                        // The port of the scene before is just being given back.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    }
                };
                accept(&listener, &simulated).await;
            }
        })
    }
}

async fn accept(listener: &TcpListener, simulated: &SimulatedOrigin) {
    loop {
        tokio::select! {
            () = simulated.until_down(true) => return,
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    // Without it a scene's small writes would wait for each other.
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(simulated.clone().serve(Box::new(stream)));
                }
            }
        }
    }
}

fn wrong(setting: &Setting) -> Failure {
    let message = format!("\"{}\" is no value for {}", setting.value, setting.name);
    Failure::new(setting.at, message)
}

fn duration(setting: &Setting) -> Result<Duration, Failure> {
    parse_duration(&setting.value).map_err(|_| wrong(setting))
}

fn seconds(setting: &Setting) -> Result<u32, Failure> {
    u32::try_from(duration(setting)?.as_secs()).map_err(|_| wrong(setting))
}

fn bytes(setting: &Setting) -> Result<u64, Failure> {
    parse_bytes(&setting.value).map_err(|_| wrong(setting))
}

/// `off`, or content codings with `|` between them.
fn codings(setting: &Setting) -> Result<Codings, Failure> {
    let names = setting.value.split('|').filter(|name| *name != "off");
    names.map(|name| Coding::of(name.as_bytes()).ok_or_else(|| wrong(setting))).collect()
}

fn esi(setting: &Setting) -> Result<Esi, Failure> {
    match setting.value.as_str() {
        "on" => Ok(Esi::Always),
        "asked" => Ok(Esi::Asked),
        "off" => Ok(Esi::Off),
        _ => Err(wrong(setting)),
    }
}

fn network(setting: &Setting) -> Result<Network, Failure> {
    setting.value.parse().map_err(|_| wrong(setting))
}

/// The settings that are the origin's.
fn set_origin(options: &mut HttpOptions, setting: &Setting) -> Result<(), Failure> {
    match setting.name.as_str() {
        "origin_first_byte" => options.timeouts.first_byte = duration(setting)?,
        "origin_idle" => options.timeouts.idle = duration(setting)?,
        _ => {}
    }
    Ok(())
}

/// What is shared with strangers where a scene says no more: nothing is left to dice.
fn plain_strangers() -> StrangerRules {
    StrangerRules { sample: NEVER_COMPARED_AGAIN, ..StrangerRules::default() }
}

/// The settings of what is shared with strangers; any of them switches it on.
fn set_strangers(rules: &mut StrangerRules, setting: &Setting) -> Result<(), Failure> {
    let milliseconds = || duration(setting).map(|time| time.as_millis() as u64);
    match (setting.name.as_str(), setting.value.as_str()) {
        ("strangers", "on") => {}
        ("strangers_fresh", _) => rules.fresh_ms = milliseconds()?,
        ("strangers_stale", _) => rules.stale_ms = milliseconds()?,
        ("strangers_sample", value) => rules.sample = value.parse().map_err(|_| wrong(setting))?,
        _ => return Err(wrong(setting)),
    }
    Ok(())
}

/// The settings of what one visitor may take; a rate has a burst of one unless it is set behind.
fn set_defence(rules: &mut DefenceRules, setting: &Setting) -> Result<(), Failure> {
    let number = || setting.value.parse().map_err(|_| wrong(setting));
    match setting.name.as_str() {
        "rate" => {
            let interval = parse_rate(&setting.value).map_err(|_| wrong(setting))?;
            rules.rate = Some(Rate::new(interval, 1));
        }
        "rate_burst" => {
            let burst = number()?;
            rules.rate = rules.rate.map(|rate| rate.with_burst(burst));
        }
        "security_headers" => {
            rules.security_headers = setting.value.parse().map_err(|_| wrong(setting))?;
        }
        "rate_hits" => rules.rate_hits = setting.value.parse().map_err(|_| wrong(setting))?,
        _ => rules.concurrency = number()? as usize,
    }
    Ok(())
}

/// The settings that are the site's or the server's.
fn set(site: &mut SiteConfig, config: &mut ServerConfig, setting: &Setting) -> Result<(), Failure> {
    let (rules, limits) = (&mut site.rules, &mut config.limits);
    match setting.name.as_str() {
        "hosts" => site.hosts.extend(setting.value.split('|').map(str::to_owned)),
        "stale_while_revalidate" => rules.stale_while_revalidate_seconds = Some(seconds(setting)?),
        "stale_if_error" => rules.stale_if_error_seconds = Some(seconds(setting)?),
        "heuristic" => rules.heuristic = setting.value.parse().map_err(|_| wrong(setting))?,
        "heuristic_max" => rules.heuristic_seconds_max = seconds(setting)?,
        "negative_max" => rules.negative_seconds_max = seconds(setting)?,
        "pass_memory" => rules.pass_memory_seconds = seconds(setting)?,
        "refresh_early" => {
            rules.refresh_early = setting.value.parse().map_err(|_| wrong(setting))?
        }
        "compression" => rules.codings = codings(setting)?,
        "esi" => rules.esi = esi(setting)?,
        "lscache" => rules.lscache = setting.value.parse().map_err(|_| wrong(setting))?,
        name if name == "strangers" || name.starts_with("strangers_") => {
            set_strangers(site.strangers.get_or_insert_with(plain_strangers), setting)?;
        }
        "purge_token" => {
            site.purge_token = Some(PurgeToken::new(&setting.value).ok_or_else(|| wrong(setting))?);
        }
        "proxy_protocol" => config.proxies.introducing.push(network(setting)?),
        "trusted_proxies" => config.proxies.trusted.push(network(setting)?),
        "trusted_field" if setting.value == "Forwarded" => {
            config.proxies.field = TrustedField::Forwarded;
        }
        "trusted_field" => return Err(wrong(setting)),
        "request_id" => {
            config.request_ids = setting.value.parse().map_err(|_| wrong(setting))?;
            site.defence.request_id = config.request_ids;
        }
        "traces" => {
            let share = setting.value.parse().map_err(|_| wrong(setting))?;
            config.traces = Some(server::TraceRules::new(share));
        }
        "server_timing" => {
            config.server_timing = setting.value.parse().map_err(|_| wrong(setting))?;
        }
        "rate" | "rate_burst" | "rate_hits" | "concurrency" | "security_headers" => {
            set_defence(&mut site.defence, setting)?;
        }
        "mark_new" if setting.value != "?" => {
            site.mark_new.everywhere = true;
            site.mark_new.marks.items.clone_from(&setting.value);
        }
        "busy_page" if setting.value != "?" => {
            site.defence.busy_page = Some(setting.value.clone().into());
        }
        "busy_page" | "mark_new" => return Err(wrong(setting)),
        "head_bytes_max" => limits.head_bytes_max = bytes(setting)? as usize,
        "target_bytes_max" => limits.target_bytes_max = bytes(setting)? as usize,
        "body_bytes_max" => limits.body_bytes_max = bytes(setting)?,
        "head_timeout" => limits.head_timeout = duration(setting)?,
        "idle_timeout" => limits.idle_timeout = duration(setting)?,
        "body_timeout" => limits.body_timeout = duration(setting)?,
        "min_rate" => limits.slowest.bytes_a_second = bytes(setting)?,
        "min_rate_after" => limits.slowest.after = duration(setting)?,
        "write_timeout" => limits.write_timeout = duration(setting)?,
        "memory" => config.memory_bytes = bytes(setting)?,
        // Begun with its folder.
        "disk" => drop(bytes(setting)?),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::SETTINGS;

    #[test]
    fn every_setting_of_the_language_takes_effect_or_refuses_its_value() {
        for name in SETTINGS.iter().filter(|name| **name != "hosts") {
            let setting =
                Setting { at: Position::default(), name: (*name).into(), value: "?".into() };
            let dial = Dial::Memory(Arc::new(|| {
                Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) })
            }));
            let origin = HttpOrigin::new(dial, HttpOptions::default());
            let mut site = SiteConfig::new(Origin::Http(origin));
            let refused = set_origin(&mut HttpOptions::default(), &setting).is_err()
                || set(&mut site, &mut ServerConfig::default(), &setting).is_err();
            assert!(refused, "{name} is in the language and does nothing");
        }
    }
}

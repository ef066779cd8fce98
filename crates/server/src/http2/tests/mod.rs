//! HTTP/2 as a client sees it: before an origin in memory, in time that a test moves.
//!
//! [`road`]: the same answers as over HTTP/1.1. [`frames`]: what no well-made client sends.
//! [`limits`]: those who send too much, take nothing, or go away.

mod frames;
mod limits;
mod origin;
mod raw;
mod road;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::origin::{Dial, HttpOptions, HttpOrigin, Origin};
use base::{Clock, Shutdown};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{Method, Request, Response};
use parking_lot::Mutex;
use tokio::io::DuplexStream;

use crate::{Limits, Observed, Observer, Server, ServerConfig, SiteConfig};

/// What a socket between two processes holds.
const PIPE_BYTES: usize = 64 << 10;
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 50_000);
const LOCAL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 80);

/// A server before the origin of [`origin`].
struct Rig {
    server: Arc<Server>,
    clock: Clock,
    shutdown: Shutdown,
    lines: Arc<Mutex<Vec<String>>>,
    told: Arc<Told>,
    asked: origin::Asked,
}

/// What an observer is told: what was answered, bytes of the body, and the phases.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Observer for Told {
    fn answered(&self, answer: &Observed<'_>) {
        let mut line = format!("{} {} {} ", answer.method, answer.path, answer.verdict);
        line += &format!("{} {}", answer.bytes, answer.site());
        let phases = answer.phases.map(base::Phases::all).unwrap_or_default();
        for (phase, time) in base::Phase::ALL.iter().zip(phases).filter(|(_, time)| *time > 0) {
            // Time stands still but for what a test lets go by.
            let is_long = if time >= 1000 { "!" } else { "" };
            line += &format!(" {}{is_long}", phase.word());
        }
        self.0.lock().push(line);
    }

    fn tell(&self, _question: serde_json::Value) -> Result<serde_json::Value, String> {
        Err("nobody asks".to_owned())
    }
}

impl Rig {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(set: impl FnOnce(&mut Limits)) -> Self {
        let asked = origin::Asked::default();
        let dial = Dial::Memory(origin::dial(asked.clone()));
        let site = SiteConfig::new(Origin::Http(HttpOrigin::new(dial, HttpOptions::default())));
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let log = lines.clone();
        let mut config = ServerConfig { sites: vec![site], ..ServerConfig::default() };
        config.access = Some(Arc::new(move |line| {
            let told = format!("{} {} {} {}", line.method, line.path, line.status, line.verdict);
            log.lock().push(told);
        }));
        let told = Arc::<Told>::default();
        config.observer = Some(told.clone());
        set(&mut config.limits);
        let (clock, shutdown) = (Clock::manual(1_700_000_000_000), Shutdown::default());
        let server = Server::new(config, clock.clone());
        tokio::spawn(server.clone().housekeeping(shutdown.clone()));
        Self { server, clock, shutdown, lines, told, asked }
    }

    /// A connection's client end.
    fn connect(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        tokio::spawn(self.server.clone().serve_connection(theirs, PEER, LOCAL));
        ours
    }

    /// A client on a connection of its own.
    async fn client(&self) -> SendRequest<Bytes> {
        let begun = h2::client::handshake(self.connect()).await;
        let (client, connection) = begun.expect("a connection");
        tokio::spawn(async move {
            // How it ends is for the test to see in its answers.
            let _ = connection.await;
        });
        client.ready().await.expect("a stream")
    }

    /// Lets both clocks go on.
    async fn pass(&self, time: Duration) {
        const STEP: Duration = Duration::from_millis(250);
        let mut left = time;
        while !left.is_zero() {
            let step = left.min(STEP);
            self.clock.advance_ms(step.as_millis() as u64);
            tokio::time::sleep(step).await;
            left -= step;
        }
    }
}

/// A request for a path with these fields.
fn request(method: Method, path: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("http://example.test{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

/// Asks without a body.
fn ask(
    client: &mut SendRequest<Bytes>,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
) -> ResponseFuture {
    let (answer, _) =
        client.send_request(request(method, path, fields), true).expect("a stream is free");
    answer
}

/// The whole of an answer: its head, its body, its trailers as lines.
async fn whole(answer: ResponseFuture) -> Result<(Response<()>, Bytes, String), h2::Error> {
    let (head, mut incoming) = answer.await?.into_parts();
    let mut body = Vec::new();
    while let Some(piece) = incoming.data().await {
        let piece = piece?;
        incoming.flow_control().release_capacity(piece.len())?;
        body.extend_from_slice(&piece);
    }
    let mut trailers = String::new();
    for (name, value) in incoming.trailers().await?.iter().flatten() {
        trailers += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
    }
    Ok((Response::from_parts(head, ()), body.into(), trailers))
}

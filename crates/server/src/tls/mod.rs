//! TLS on the visitors' side: from an accepted socket to a connection on the road.
//!
//! rustls speaks TLS 1.2 and 1.3; which certificate is shown is decided in [`certificates`],
//! and what is spoken inside by [`serve`], by the name that was agreed on (ALPN, RFC 7301).
//! What comes by plain HTTP although its name has TLS is seen to in [`doorway`].
//! Invariants: 1. a handshake is over within the time for a head. 2. no key is ever logged.

mod certificates;
mod challenges;
pub(crate) mod doorway;
mod identity;
mod staple;

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::task::Poll;

use bytes::Bytes;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::NoServerSessionStorage;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

pub use certificates::Served;
pub use challenges::Shown;
pub use identity::{Facts, Identity, IdentityError};
pub use staple::{Inquiry, StapleError, StapleLife};

use crate::Server;
use crate::connection;
use crate::http2;
use crate::journey::Peers;
use crate::watch::Place;
use certificates::Certificates;

/// What may be agreed on, the dearest first.
const PROTOCOLS: [&[u8]; 4] = [HTTP2, b"http/1.1", b"http/1.0", CHALLENGE];
const HTTP2: &[u8] = b"h2";
/// What is agreed on over QUIC, and nothing else.
const HTTP3: &[u8] = b"h3";
/// By which a CA checks whose a name is; nothing is spoken inside (RFC 8737 §3).
const CHALLENGE: &[u8] = b"acme-tls/1";

/// TLS, as all connections share it.
#[derive(Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// The same for QUIC.
    quic: Arc<ServerConfig>,
    certificates: Arc<Certificates>,
    /// Where visitors of plain HTTP are sent; 0: nowhere yet.
    port: AtomicU16,
}

impl Tls {
    /// TLS without a certificate yet.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn new() -> Result<Arc<Self>, rustls::Error> {
        let certificates = Arc::<Certificates>::default();
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(certificates.clone());
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        // Sessions are resumed by tickets, whose keys change every six hours; none is kept here.
        config.ticketer = ring::Ticketer::new()?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        let quic = Arc::new(Self::for_quic(certificates.clone())?);
        let (config, port) = (Arc::new(config), AtomicU16::new(0));
        Ok(Arc::new(Self { config, quic, certificates, port }))
    }

    /// QUIC knows TLS 1.3 only. No request is taken before the handshake is over (0-RTT): who
    /// records one could send it again (RFC 8470).
    fn for_quic(certificates: Arc<Certificates>) -> Result<ServerConfig, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_no_client_auth()
            .with_cert_resolver(certificates);
        config.alpn_protocols = vec![HTTP3.to_vec()];
        config.max_early_data_size = 0;
        config.ticketer = ring::Ticketer::new()?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(config)
    }

    /// How QUIC is spoken.
    pub(crate) fn quic(&self) -> Arc<ServerConfig> {
        self.quic.clone()
    }

    /// Shows these certificates from now on; connections that are open stay as they are.
    pub fn serve(&self, served: &[Served]) {
        self.certificates.replace(served);
    }

    /// The names of each certificate that is shown, and the first and the last second of its life
    /// in unix time.
    #[must_use]
    pub fn lives(&self) -> Vec<(Vec<String>, i64, i64)> {
        self.certificates.lives()
    }

    /// Tells on which port visitors find TLS.
    pub(crate) fn set_port(&self, port: u16) {
        self.port.store(port, Ordering::Relaxed);
    }

    /// Shows a CA a proof by HTTP; nothing if too many are shown already.
    #[must_use]
    pub fn show_proof(&self, token: &str, proof: &str) -> Option<Shown> {
        self.certificates.challenges.show_proof(token, proof)
    }

    /// Shows a CA a certificate by TLS; nothing if too many are shown already.
    #[must_use]
    pub fn show_certificate(&self, name: &str, identity: &Identity) -> Option<Shown> {
        self.certificates.challenges.show_certificate(name, identity)
    }
}

/// Whether a CA checks whose a name is: then that is all it offers.
fn is_challenge<'a>(offered: Option<impl Iterator<Item = &'a [u8]>>) -> bool {
    offered.is_some_and(|mut offered| offered.next() == Some(CHALLENGE) && offered.next().is_none())
}

/// Serves one connection from its first byte of TLS to its end.
pub(crate) fn serve<S>(
    server: Arc<Server>,
    tls: Arc<Tls>,
    io: S,
    peers: Peers,
) -> impl Future<Output = ()> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    // Taken before the task begins, so that nobody is missed when connections are counted.
    let place = server.watches.enter();
    let peers = Peers { scheme: "https", ..peers };
    shake_hands(server, tls, io, peers, place)
}

async fn shake_hands<S>(server: Arc<Server>, tls: Arc<Tls>, io: S, peers: Peers, place: Place)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let late_at = server.clock.now().ticks_ms + server.limits().head_timeout.as_millis() as u64;
    place.set(late_at);
    // Boxed, so that what only the handshake needs is gone when it is over.
    let mut handshake = Box::pin(TlsAcceptor::from(tls.config.clone()).accept(io));
    let agreed = poll_fn(|context| match handshake.as_mut().poll(context) {
        Poll::Ready(agreed) => Poll::Ready(agreed.ok()),
        Poll::Pending => place.poll_fired(context).map(|()| None),
    })
    .await;
    drop(handshake);
    // On the heap, or the futures of the connection would each hold it once more.
    let Some(stream) = agreed.map(Box::new) else {
        server.counters.handshakes_failed.bump();
        return;
    };
    // Here, and nowhere else, it is decided what is spoken inside.
    match stream.get_ref().1.alpn_protocol() {
        Some(CHALLENGE) => {}
        Some(HTTP2) => {
            Box::pin(http2::serve(server, stream, peers, place, Bytes::new())).await;
        }
        _ => connection::serve_at(place, server, stream, peers).await,
    }
}

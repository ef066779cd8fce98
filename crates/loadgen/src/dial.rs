//! Opening connections, over TCP, Unix sockets, TLS and QUIC; and closing those of QUIC.
//!
//! The end of a socket says nothing to who is at the other end of QUIC: a server would keep what
//! it holds of a connection until its idle timeout. So each is closed by name at the end.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quinn::VarInt;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::plan::{Plan, Protocol};
use crate::target::Endpoint;

/// What is spoken over.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

/// Why no connection came about.
#[derive(Debug)]
pub(crate) enum DialError {
    Connect(io::Error),
    Tls(io::Error),
}

/// How connections to a target are opened.
pub(crate) struct Dialer {
    endpoint: Endpoint,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    quic: Option<Quic>,
}

/// How QUIC begins, and what has begun.
struct Quic {
    config: quinn::ClientConfig,
    host: String,
    /// Sockets with a connection each, also while it is being opened.
    open: RefCell<Vec<quinn::Endpoint>>,
}

/// The end of a connection with which nothing is wrong (RFC 9114 §8.1).
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// What closes connections may be told again for so long, to who didn't hear it.
const CLOSING_MAX: Duration = Duration::from_millis(500);

impl Dialer {
    pub(crate) fn new(plan: &Plan) -> io::Result<Self> {
        let target = &plan.target;
        let host = target.host.trim_matches(['[', ']']).to_owned();
        let tls = match target.is_tls {
            false => None,
            true => {
                let name = ServerName::try_from(host.clone()).map_err(io::Error::other)?;
                Some((TlsConnector::from(Arc::new(config(plan)?)), name))
            }
        };
        let quic = match plan.protocol {
            Protocol::Http3 => {
                let config = QuicClientConfig::try_from(config(plan)?).map_err(io::Error::other)?;
                let config = quinn::ClientConfig::new(Arc::new(config));
                Some(Quic { config, host, open: RefCell::default() })
            }
            _ => None,
        };
        Ok(Self { endpoint: target.endpoint.clone(), tls, quic })
    }

    /// Whether anybody is there; a connection of QUIC is to be held until it is closed.
    pub(crate) async fn knock(&self) -> Result<Option<quinn::Connection>, DialError> {
        match self.quic {
            Some(_) => self.dial_quic().await.map(|(_, connection)| Some(connection)),
            None => self.dial().await.map(|_| None),
        }
    }

    /// A connection of QUIC, with a socket of its own.
    pub(crate) async fn dial_quic(
        &self,
    ) -> Result<(quinn::Endpoint, quinn::Connection), DialError> {
        let refuse = |why: &str| DialError::Connect(io::Error::other(why));
        let (Some(quic), Endpoint::Tcp(address)) = (&self.quic, &self.endpoint) else {
            return Err(refuse("HTTP/3 goes over UDP, to an address"));
        };
        let here: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let endpoint = quinn::Endpoint::client(here).map_err(DialError::Connect)?;
        let connecting = endpoint
            .connect_with(quic.config.clone(), *address, &quic.host)
            .map_err(|error| refuse(&error.to_string()))?;
        {
            let mut open = quic.open.borrow_mut();
            open.retain(|endpoint| endpoint.open_connections() > 0);
            open.push(endpoint.clone());
        }
        match connecting.await {
            Ok(connection) => Ok((endpoint, connection)),
            // Alerts of TLS have codes of their own (RFC 9001 §4.8).
            Err(quinn::ConnectionError::TransportError(error)) => {
                Err(DialError::Tls(io::Error::other(error)))
            }
            Err(error) => Err(DialError::Connect(error.into())),
        }
    }

    /// Tells all servers that nothing comes any more. What isn't heard is told again, until the
    /// connection's time is over or [`CLOSING_MAX`] is.
    pub(crate) async fn close(&self) {
        let Some(quic) = &self.quic else { return };
        let open = quic.open.take();
        open.iter().for_each(|endpoint| endpoint.close(H3_NO_ERROR, b""));
        let idle = async {
            for endpoint in &open {
                endpoint.wait_idle().await;
            }
        };
        // Who hears nothing within that time has an idle timeout of its own.
        let _ = tokio::time::timeout(CLOSING_MAX, idle).await;
    }

    pub(crate) async fn dial(&self) -> Result<Box<dyn Stream>, DialError> {
        let plain: Box<dyn Stream> = match &self.endpoint {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address).await.map_err(DialError::Connect)?;
                stream.set_nodelay(true).map_err(DialError::Connect)?;
                if let Some((connector, name)) = &self.tls {
                    let stream = connector.connect(name.clone(), stream).await;
                    return Ok(Box::new(stream.map_err(DialError::Tls)?));
                }
                Box::new(stream)
            }
            Endpoint::Unix(path) => Box::new(connect_unix(path).await?),
        };
        Ok(plain)
    }
}

async fn connect_unix(path: &Path) -> Result<UnixStream, DialError> {
    UnixStream::connect(path).await.map_err(DialError::Connect)
}

fn config(plan: &Plan) -> io::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let mut config = if plan.verifies {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        let trusting = Arc::new(Trusting(provider));
        builder.dangerous().with_custom_certificate_verifier(trusting).with_no_client_auth()
    };
    // A server that speaks only others ends the handshake (RFC 7301 §3.2).
    let protocol: &[u8] = match plan.protocol {
        Protocol::Http1 => b"http/1.1",
        Protocol::Http2 => b"h2",
        Protocol::Http3 => b"h3",
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}

/// Believes every certificate: for servers of one's own, when asked to.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

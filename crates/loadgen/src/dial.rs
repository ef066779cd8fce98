//! Opening connections, over TCP, Unix sockets and TLS.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

use crate::plan::Plan;
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
#[derive(Clone)]
pub(crate) struct Dialer {
    endpoint: Endpoint,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Dialer {
    pub(crate) fn new(plan: &Plan) -> io::Result<Self> {
        let target = &plan.target;
        let tls = match target.is_tls {
            false => None,
            true => {
                let name = target.host.trim_matches(['[', ']']).to_owned();
                let name = ServerName::try_from(name).map_err(io::Error::other)?;
                Some((TlsConnector::from(Arc::new(config(plan)?)), name))
            }
        };
        Ok(Self { endpoint: target.endpoint.clone(), tls })
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
    let protocol: &[u8] = if plan.is_http2 { b"h2" } else { b"http/1.1" };
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

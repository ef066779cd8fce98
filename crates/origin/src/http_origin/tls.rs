//! TLS towards a server: whom it has to show itself to be, and whose word is taken for it.
//!
//! Law: RFC 9110 §4.3.4 (verification). RFC 7301 (ALPN). TLS 1.2 and 1.3.
//! Invariant: no setting makes an unverified certificate good enough.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::member::{Speech, Tongue};
use crate::dial::Stream;
use crate::timeouts::{seconds, within};
use crate::{OriginError, Timeouts};

/// What an owner says about TLS towards the origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// Certificates whose word is taken, in PEM; none: those that the system trusts.
    pub ca: Option<PathBuf>,
    /// The name that the certificate has to be for; none: the host of the address.
    pub name: Option<String>,
}

/// Settings of TLS that can't be used; the message holds the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The system has no list, or none that can be read.
    #[error(
        "no certificates are trusted on this machine ({0}), so no https origin can be verified: \
         install the package ca-certificates, or name a file with origin_ca"
    )]
    NoRoots(String),
    /// The owner's file can't be read.
    #[error("the certificates in {0} can't be read ({1}): name a PEM file in origin_ca")]
    Ca(PathBuf, String),
    /// A name that no certificate can be for.
    #[error("\"{0}\" is no name that a certificate can be for: write a host name in origin_name")]
    Name(String),
    /// The cryptography doesn't work as it should.
    #[error("TLS can't be set up: {0}")]
    Ours(String),
}

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";
/// TLS sessions that are kept to go on with; as many as rustls keeps by itself.
const SESSIONS: usize = 256;

/// One for each offer of protocols.
#[derive(Clone)]
struct Connectors {
    http1: TlsConnector,
    choice: TlsConnector,
}

/// Whom to trust, for all of a site's servers.
#[derive(Clone)]
pub(crate) struct Trust {
    connectors: Connectors,
    name: Option<String>,
}

impl Trust {
    pub(crate) fn new(settings: &TlsSettings) -> Result<Self, TlsError> {
        let roots = match &settings.ca {
            Some(path) => roots_of(path)?,
            None => roots_of_the_system()?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Ours(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![HTTP1.to_vec()];
        let mut choice = config.clone();
        choice.alpn_protocols.insert(0, HTTP2.to_vec());
        // Each has sessions of its own to go on with: one is for one protocol.
        choice.resumption = Resumption::in_memory_sessions(SESSIONS);
        let connector = |config| TlsConnector::from(Arc::new(config));
        let connectors = Connectors { http1: connector(config), choice: connector(choice) };
        Ok(Self { connectors, name: settings.name.clone() })
    }

    /// TLS towards the server with this host.
    pub(crate) fn towards(&self, host: &str) -> Result<Tls, TlsError> {
        let name = self.name.as_deref().unwrap_or(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        let wrong = |_| TlsError::Name(name.to_owned());
        let name = ServerName::try_from(bare).map_err(wrong)?;
        Ok(Tls { connectors: self.connectors.clone(), name })
    }
}

fn roots_of(path: &Path) -> Result<RootCertStore, TlsError> {
    let wrong = |why: String| TlsError::Ca(path.to_owned(), why);
    let mut roots = RootCertStore::empty();
    let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    for certificate in all {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("there is none in it".to_owned())) } else { Ok(roots) }
}

fn roots_of_the_system() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    let why = found.errors.first().map_or("there is no list of them".to_owned(), |e| e.to_string());
    Err(TlsError::NoRoots(why))
}

/// TLS towards one server.
pub(crate) struct Tls {
    connectors: Connectors,
    name: ServerName<'static>,
}

impl Tls {
    /// Makes a stream one that nobody on the way can read, and agrees what is spoken on it.
    pub(crate) async fn connect(
        &self,
        stream: Stream,
        timeouts: &Timeouts,
        speech: Speech,
    ) -> Result<(TlsStream<Stream>, Tongue), OriginError> {
        let name = self.name.clone();
        let connector = match speech {
            Speech::Http1 => &self.connectors.http1,
            Speech::Chosen | Speech::Http2 => &self.connectors.choice,
        };
        match within(timeouts.connect, connector.connect(name, stream)).await {
            Some(Ok(stream)) => {
                let tongue = match stream.get_ref().1.alpn_protocol() {
                    Some(HTTP2) => Tongue::Http2,
                    // A server that chooses nothing knows nothing of choosing.
                    _ => Tongue::Http1,
                };
                Ok((stream, tongue))
            }
            Some(Err(error)) => Err(self.explain(&error)),
            None => Err(OriginError::ConnectTimeout { seconds: seconds(timeouts.connect) }),
        }
    }

    /// What went wrong, and what to do about it.
    fn explain(&self, error: &io::Error) -> OriginError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let wanted = self.name.to_str();
        let Some(rustls::Error::InvalidCertificate(wrong)) = inner else {
            return OriginError::Unreachable(format!("no TLS with {wanted}: {error}"));
        };
        OriginError::Untrusted(match wrong {
            CertificateError::NotValidForName => {
                format!(
                    "its certificate is not for {wanted}; set origin_name to the name it is for"
                )
            }
            CertificateError::NotValidForNameContext { presented, .. } => {
                let names: Vec<_> = presented.iter().map(|name| plain(name)).collect();
                let names = match names.is_empty() {
                    true => "no name at all".to_owned(),
                    false => names.join(", "),
                };
                format!(
                    "its certificate is for {names}, and not for {wanted}; set origin_name to \
                     the name that it should be for"
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {wanted} has expired: it has to be renewed there")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!(
                    "the certificate of {wanted} is not valid yet: is this machine's clock right?"
                )
            }
            CertificateError::UnknownIssuer => format!(
                "nobody whom this machine trusts has signed the certificate of {wanted}; name \
                 who did in origin_ca"
            ),
            other => format!("the certificate of {wanted} is not good: {other}"),
        })
    }
}

/// `DnsName("a.test")` as `a.test`.
fn plain(presented: &str) -> &str {
    presented
        .split_once('(')
        .map_or(presented, |(_, rest)| rest.trim_end_matches(')'))
        .trim_matches('"')
}

//! HTTPS to a CA: one request a connection, for that is a handful in two months.
//!
//! Bounds: [`PATIENCE`] for an answer from the dialling to its last byte, [`ANSWER_BYTES_MAX`]
//! bytes of it.

use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{HOST, HeaderValue};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use instant_acme::{BodyWrapper, BytesResponse, HttpClient};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::exchange::exchange;

/// For one request and its answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// More than any chain of certificates has.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A client that knows which CAs to believe.
#[derive(Clone)]
pub(crate) struct Client {
    connector: TlsConnector,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The file of a private CA.
    #[error("acme_ca_file can't be used: {0}: {1}; name a file with the CA's certificates as PEM")]
    CaFile(PathBuf, String),
    /// The library.
    #[error("TLS can't be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("{0:?} is no address of a CA")]
    Address(String),
    #[error("can't connect to {0}: {1}")]
    Connect(String, io::Error),
    #[error("{0} broke off: {1}")]
    Broken(String, String),
    #[error("{0} did not answer within {1} s")]
    Late(String, u64),
}

impl Client {
    /// A client that believes the CAs that Mozilla does, and those in this file.
    pub(crate) fn new(ca_file: Option<&Path>) -> Result<Self, ClientError> {
        let mut roots = RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        if let Some(file) = ca_file {
            let wrong = |why: String| ClientError::CaFile(file.to_owned(), why);
            let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
            let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text).flatten().collect();
            if certificates.is_empty() {
                return Err(wrong("there is no certificate in it".to_owned()));
            }
            for certificate in certificates {
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { connector: TlsConnector::from(Arc::new(config)) })
    }

    async fn ask(
        self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Result<Response<Full<Bytes>>, RequestError> {
        let uri = request.uri().clone();
        let wrong = || RequestError::Address(uri.to_string());
        let (host, name) = host(&uri).ok_or_else(wrong)?;
        let asked = self.exchange(request, &uri, host, name);
        match timeout(PATIENCE, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(RequestError::Late(host.to_owned(), PATIENCE.as_secs())),
        }
    }

    async fn exchange(
        &self,
        request: Request<BodyWrapper<Bytes>>,
        uri: &Uri,
        host: &str,
        name: ServerName<'static>,
    ) -> Result<Response<Full<Bytes>>, RequestError> {
        let unreachable = |error| RequestError::Connect(host.to_owned(), error);
        let port = uri.port_u16().unwrap_or(443);
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((plain, port)).await.map_err(unreachable)?;
        let stream = self.connector.connect(name, stream).await.map_err(unreachable)?;
        let broken = |error: String| RequestError::Broken(host.to_owned(), error);
        let request = in_origin_form(request, uri);
        let answer = exchange(stream, request, ANSWER_BYTES_MAX).await;
        let (head, body) = answer.map_err(broken)?;
        Ok(Response::from_parts(head, Full::new(body.map_err(broken)?)))
    }
}

/// The host of an https address, as it is written and as a certificate names it.
fn host(uri: &Uri) -> Option<(&str, ServerName<'static>)> {
    if uri.scheme_str() != Some("https") {
        return None;
    }
    let host = uri.host()?;
    let plain = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, ServerName::try_from(plain).ok()?))
}

fn in_origin_form(request: Request<BodyWrapper<Bytes>>, uri: &Uri) -> Request<BodyWrapper<Bytes>> {
    let (mut head, body) = request.into_parts();
    let target = uri.path_and_query().and_then(|target| target.as_str().parse().ok());
    head.uri = target.unwrap_or_default();
    if let Some(host) = uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok()) {
        head.headers.insert(HOST, host);
    }
    Request::from_parts(head, body)
}

impl HttpClient for Client {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, instant_acme::Error>> + Send>> {
        let client = self.clone();
        Box::pin(async move {
            let answer = client.ask(request).await;
            answer
                .map(BytesResponse::from)
                .map_err(|error| instant_acme::Error::Other(error.into()))
        })
    }
}

//! Asking for a page: HTTP/1.1 over TCP or TLS, with connections that are used again.
//!
//! Invariants: 1. a host's name is looked up once, so that a run never moves to another server.
//! 2. an answer takes at most [`PATIENCE`], [`BODY_BYTES_MAX`] sent and [`PLAIN_BYTES_MAX`]
//! plain bytes; what is longer is cut, and says so. 3. nothing but GET and HEAD is sent.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;
use wire::{Fields, Name};

/// For one answer, from the dialling to its last byte.
const PATIENCE: Duration = Duration::from_secs(30);
const BODY_BYTES_MAX: usize = 8 << 20;
const PLAIN_BYTES_MAX: u64 = 16 << 20;
/// Connections that wait to be used again, of one host.
const IDLE_MAX: usize = 8;
/// Who asks.
pub(crate) const AGENT: &str = concat!("wick-audit/", env!("CARGO_PKG_VERSION"));

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub fields: Fields,
    /// Its body without content coding.
    pub body: Vec<u8>,
    /// How many bytes of the body were sent.
    pub sent_bytes: u64,
    /// Whether the body is longer than what was read, or not as its coding says.
    pub is_cut: bool,
    /// How long it took.
    pub took: Duration,
}

impl Answer {
    /// How long the server wants not to be asked.
    pub(crate) fn retry_after(&self, now: std::time::SystemTime) -> Option<Duration> {
        let said = self.fields.text(Name::RetryAfter)?.trim();
        if let Ok(seconds) = said.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let moment = httpdate::parse_http_date(said).ok()?;
        Some(moment.duration_since(now).unwrap_or_default())
    }

    /// Whether a cache on the way says that it had it: by `Cache-Status` (RFC 9211 §2.1), or by an
    /// `Age`, which who makes a page doesn't send (RFC 9111 §5.1).
    pub(crate) fn is_from_cache(&self) -> bool {
        let mut status = self.fields.all_named("cache-status");
        let says_hit = status.any(|line| {
            let line = String::from_utf8_lossy(line);
            line.split([';', ',']).any(|part| part.trim() == "hit")
        });
        let age = self.fields.all_named("age").next();
        let age = age.and_then(|age| String::from_utf8_lossy(age).trim().parse::<u64>().ok());
        says_hit || age.is_some_and(|age| age > 0)
    }

    pub(crate) fn says_noindex(&self) -> bool {
        let mut said = self.fields.all_named("x-robots-tag");
        said.any(|value| String::from_utf8_lossy(value).to_ascii_lowercase().contains("noindex"))
    }

    /// An answer for tests.
    #[cfg(test)]
    pub(crate) fn page(status: u16, fields: &str, body: &str) -> Self {
        let fields = Fields::parse(fields.as_bytes()).unwrap();
        let sent_bytes = body.len() as u64;
        Self { status, fields, body: body.into(), sent_bytes, ..Self::default() }
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum FetchError {
    /// Its name is unknown, or nobody listens.
    #[error("can't connect: {0}")]
    Connect(String),
    /// It doesn't show that it is who it should be.
    #[error("TLS fails: {0}")]
    Tls(String),
    /// It broke off, or sent what is no HTTP.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// Nobody waits for it any more.
    #[error("the audit was stopped")]
    Stopped,
    /// The worker that asked for it is gone, or too slow. That says nothing of the site.
    #[error("the worker that asked for it was lost")]
    Lost,
    /// It took too long.
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Late,
}

/// What all hosts are asked with.
#[derive(Clone)]
pub(crate) struct Client {
    tls: TlsConnector,
}

impl Client {
    /// A client that believes the CAs that this machine does.
    ///
    /// # Errors
    /// TLS can't be set up.
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { tls: TlsConnector::from(Arc::new(config)) })
    }

    /// Finds a host by an address on it.
    pub(crate) async fn host(&self, url: &Url) -> Result<Host, FetchError> {
        let refused = |error: std::io::Error| FetchError::Connect(error.to_string());
        let missing = || FetchError::Connect("the address names no host".to_owned());
        let written = url.host_str().ok_or_else(missing)?;
        let name = written.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().ok_or_else(missing)?;
        let found = tokio::net::lookup_host((name.as_str(), port)).await.map_err(refused)?;
        let addresses: Vec<SocketAddr> = found.collect();
        if addresses.is_empty() {
            return Err(FetchError::Connect(format!("{name} has no address")));
        }
        self.host_at(url, addresses)
    }

    /// A host whose addresses somebody has found.
    pub(crate) fn host_at(
        &self,
        url: &Url,
        addresses: Vec<SocketAddr>,
    ) -> Result<Host, FetchError> {
        let missing = || FetchError::Connect("the address names no host".to_owned());
        let written = url.host_str().ok_or_else(missing)?;
        let name = written.trim_matches(['[', ']']).to_owned();
        let authority =
            url.port().map_or_else(|| written.to_owned(), |port| format!("{written}:{port}"));
        let tls = match url.scheme() == "https" {
            false => None,
            true => {
                let name = ServerName::try_from(name)
                    .map_err(|error| FetchError::Tls(error.to_string()))?;
                Some((self.tls.clone(), name))
            }
        };
        Ok(Host { addresses, authority, tls, idle: Mutex::default() })
    }
}

/// A host that is asked.
pub(crate) struct Host {
    pub(crate) addresses: Vec<SocketAddr>,
    authority: String,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    idle: Mutex<Vec<SendRequest<Full<Bytes>>>>,
}

impl Host {
    /// Whether it is this machine, by its address and not by its name.
    pub(crate) fn is_here(&self) -> bool {
        self.addresses.iter().all(|address| address.ip().to_canonical().is_loopback())
    }

    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Asks; fields are added to those that each request has.
    pub(crate) async fn ask(
        &self,
        method: Method,
        url: &Url,
        fields: &[(&'static str, String)],
    ) -> Result<Answer, FetchError> {
        let began = Instant::now();
        let asked = timeout(PATIENCE, self.exchange(&method, url, fields)).await;
        let mut answer = asked.unwrap_or(Err(FetchError::Late))?;
        answer.took = began.elapsed();
        Ok(answer)
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &Url,
        fields: &[(&'static str, String)],
    ) -> Result<Answer, FetchError> {
        loop {
            let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.dial().await?,
            };
            let request = request(method, url, &self.authority, fields)?;
            let sent = match sender.ready().await {
                Ok(()) => sender.send_request(request).await,
                Err(error) => Err(error),
            };
            match sent {
                Ok(response) => return self.receive(sender, response).await,
                // A server may end an idle connection whenever it wants (RFC 9112 §9.3.1).
                Err(_) if is_kept => {}
                Err(error) => return Err(FetchError::Broken(error.to_string())),
            }
        }
    }

    /// A connection.
    pub(crate) async fn dial(&self) -> Result<SendRequest<Full<Bytes>>, FetchError> {
        let refused = |error: std::io::Error| FetchError::Connect(error.to_string());
        let stream = TcpStream::connect(&self.addresses[..]).await.map_err(refused)?;
        stream.set_nodelay(true).map_err(refused)?;
        match &self.tls {
            None => begin(stream).await,
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await;
                begin(stream.map_err(|error| FetchError::Tls(error.to_string()))?).await
            }
        }
    }

    async fn receive(
        &self,
        sender: SendRequest<Full<Bytes>>,
        response: http::Response<hyper::body::Incoming>,
    ) -> Result<Answer, FetchError> {
        let broken = |error: hyper::Error| FetchError::Broken(error.to_string());
        let (head, mut body) = response.into_parts();
        let mut fields = Fields::new();
        for (name, value) in &head.headers {
            // What hyper took and we don't is a field that says nothing.
            let _ = fields.try_push(name.as_str().as_bytes(), value.as_bytes());
        }
        let (mut sent, mut is_cut) = (Vec::new(), false);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            sent.extend_from_slice(&data);
            if sent.len() >= BODY_BYTES_MAX {
                is_cut = true;
                break;
            }
        }
        if !is_cut {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_MAX {
                idle.push(sender);
            }
        }
        let sent_bytes = sent.len() as u64;
        let (body, is_whole) = plain(&fields, sent);
        let status = head.status.as_u16();
        let took = Duration::ZERO;
        Ok(Answer { status, fields, body, sent_bytes, is_cut: is_cut || !is_whole, took })
    }
}

async fn begin<S>(stream: S) -> Result<SendRequest<Full<Bytes>>, FetchError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| FetchError::Broken(error.to_string());
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // Whoever waits for an answer is told how it ended; nobody else wants to know.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

fn request(
    method: &Method,
    url: &Url,
    authority: &str,
    fields: &[(&'static str, String)],
) -> Result<Request<Full<Bytes>>, FetchError> {
    let mut request = Request::builder()
        .method(method)
        .uri(target(url))
        .header("host", authority)
        .header("accept", "*/*")
        .header("accept-encoding", "gzip, br");
    for (name, value) in fields {
        request = request.header(*name, value.as_str());
    }
    let names = |name: &str| fields.iter().any(|(own, _)| *own == name);
    if !names("user-agent") {
        request = request.header("user-agent", AGENT);
    }
    request.body(Full::default()).map_err(|error| FetchError::Broken(error.to_string()))
}

/// The path and query of an address.
#[must_use]
pub(crate) fn target(url: &Url) -> String {
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{}{query}", url.path())
}

/// A body without its coding, and whether all of it could be read.
fn plain(fields: &Fields, sent: Vec<u8>) -> (Vec<u8>, bool) {
    let coding = fields.text(Name::ContentEncoding).unwrap_or("").trim().to_ascii_lowercase();
    let mut out = Vec::new();
    let read = match coding.as_str() {
        "gzip" | "x-gzip" => {
            flate2::read::MultiGzDecoder::new(&sent[..]).take(PLAIN_BYTES_MAX).read_to_end(&mut out)
        }
        "br" => {
            brotli::Decompressor::new(&sent[..], 4096).take(PLAIN_BYTES_MAX).read_to_end(&mut out)
        }
        _ => return (sent, true),
    };
    let is_whole = read.is_ok_and(|bytes| (bytes as u64) < PLAIN_BYTES_MAX);
    (out, is_whole)
}

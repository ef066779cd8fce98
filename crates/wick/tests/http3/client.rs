//! A client of HTTP/3, on a runtime of its own.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use h3::client::SendRequest;
use http::{HeaderMap, Method, Request};
use hyper::body::{Buf, Bytes};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::runtime::Runtime;

use crate::HOST;

/// The longest that anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection of QUIC, on which nothing was said.
pub(crate) struct Raw {
    runtime: Runtime,
    endpoint: quinn::Endpoint,
    pub(crate) quic: quinn::Connection,
}

/// An answer that came whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    fields: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A connection on which HTTP/3 is spoken.
pub(crate) struct Client {
    pub(crate) raw: Raw,
    requests: SendRequest<h3_quinn::OpenStreams, Bytes>,
}

impl Raw {
    pub(crate) fn connect(address: SocketAddr, ca_file: &Path) -> Result<Self, String> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let config = trusting(ca_file);
        let (endpoint, quic) = runtime.block_on(async {
            let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let endpoint = quinn::Endpoint::client(here).expect("a port");
            let connecting = endpoint.connect_with(config, address, HOST).expect("a name");
            let quic = tokio::time::timeout(PATIENCE, connecting).await.expect("in time");
            quic.map(|quic| (endpoint, quic)).map_err(|error| error.to_string())
        })?;
        Ok(Self { runtime, endpoint, quic })
    }

    /// Does something, but not for ever.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("in time") })
    }

    /// Sends these bytes on a stream that ends with them; how stream or connection ends: an
    /// answer, `reset 0x…` or `closed 0x…`.
    pub(crate) fn outcome(&self, bytes: &[u8]) -> String {
        self.wait(async {
            let Ok((mut send, mut recv)) = self.quic.open_bi().await else {
                return closed(&self.quic).await;
            };
            // Either fails if the answer is faster.
            let _ = (send.write_all(bytes).await, send.finish());
            match recv.read_to_end(1 << 20).await {
                Ok(answer) => format!("{} bytes", answer.len()),
                Err(quinn::ReadToEndError::Read(quinn::ReadError::Reset(code))) => {
                    format!("reset {:#x}", code.into_inner())
                }
                Err(_) => closed(&self.quic).await,
            }
        })
    }

    /// The same on a stream that goes one way and doesn't end.
    pub(crate) fn outcome_one_way(&self, bytes: &[u8]) -> String {
        self.wait(async {
            let mut send = self.quic.open_uni().await.expect("a stream");
            let _ = send.write_all(bytes).await;
            closed(&self.quic).await
        })
    }

    /// How the connection ends.
    pub(crate) fn end(&self) -> String {
        self.wait(closed(&self.quic))
    }
}

async fn closed(quic: &quinn::Connection) -> String {
    match quic.closed().await {
        quinn::ConnectionError::ApplicationClosed(close) => {
            format!("closed {:#x}", close.error_code.into_inner())
        }
        error => error.to_string(),
    }
}

fn trusting(ca_file: &Path) -> quinn::ClientConfig {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca_file).expect("a file") {
        roots.add(certificate.expect("a certificate")).expect("a CA");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("it is there")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h3".to_vec()];
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(config).expect("a suite")))
}

impl Client {
    pub(crate) fn connect(address: SocketAddr, ca_file: &Path) -> Result<Self, String> {
        let raw = Raw::connect(address, ca_file)?;
        let requests = raw.wait(async {
            let connection = h3_quinn::Connection::new(raw.quic.clone());
            let (mut driver, requests) = h3::client::new(connection).await.expect("settings");
            tokio::spawn(async move { poll_fn(|context| driver.poll_close(context)).await });
            requests
        });
        Ok(Self { raw, requests })
    }

    /// Asks for a path and reads the answer to its end.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        fields: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, String> {
        self.raw.wait(self.begin(request(method, path, fields), Bytes::copy_from_slice(body)))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], b"").expect("an answer")
    }

    /// So many requests at once.
    pub(crate) fn get_at_once(&self, paths: impl Iterator<Item = String>) -> Vec<Answer> {
        let answers = paths.map(|path| self.begin(request(Method::GET, &path, &[]), Bytes::new()));
        let answers = self.raw.wait(join_all(answers));
        answers.into_iter().map(|answer| answer.expect("an answer")).collect()
    }

    async fn begin(&self, request: Request<()>, body: Bytes) -> Result<Answer, String> {
        let mut requests = self.requests.clone();
        let wrong = |error: h3::error::StreamError| error.to_string();
        let mut stream = requests.send_request(request).await.map_err(wrong)?;
        if !body.is_empty() {
            stream.send_data(body).await.map_err(wrong)?;
        }
        stream.finish().await.map_err(wrong)?;
        let (head, ()) = stream.recv_response().await.map_err(wrong)?.into_parts();
        let mut body = Vec::new();
        while let Some(mut piece) = stream.recv_data().await.map_err(wrong)? {
            body.extend_from_slice(&piece.copy_to_bytes(piece.remaining()));
        }
        Ok(Answer { status: head.status.as_u16(), fields: head.headers, body })
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.raw.quic.close(0x100u32.into(), b"");
        let idle = self.raw.endpoint.wait_idle();
        // A server that is gone hears nothing.
        let _ = self
            .raw
            .runtime
            .block_on(async { tokio::time::timeout(Duration::from_secs(1), idle).await });
    }
}

fn request(method: Method, path: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder().method(method).uri(format!("https://{HOST}{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).expect("a request")
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", |value| value.to_str().expect("it is text"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

//! A server of HTTP/3, which answers each request with what was asked and keeps how its
//! connections ended. `/never` isn't answered, and of `/half` not all is sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use h3::error::{ConnectionError, StreamError};
use h3::server::RequestResolver;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A running server; it ends with the process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    ended: Mutex<UnboundedReceiver<ConnectionError>>,
}

impl Server {
    /// `heard` is told each request's method and target, before it is answered.
    pub(crate) fn start(heard: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let endpoint = {
            let _guard = runtime.enter();
            let here = SocketAddr::from(([127, 0, 0, 1], 0));
            quinn::Endpoint::server(config(), here).expect("a port is free")
        };
        let address = endpoint.local_addr().expect("it is bound");
        let (end, ended) = unbounded_channel();
        let heard: Arc<dyn Fn(&str) + Send + Sync> = Arc::new(heard);
        std::thread::spawn(move || {
            runtime.block_on(async {
                while let Some(incoming) = endpoint.accept().await {
                    let (heard, end) = (Arc::clone(&heard), end.clone());
                    tokio::spawn(async move {
                        // Who is stopped may be gone before its handshake is over.
                        let Ok(connection) = incoming.await else { return };
                        let _ = end.send(serve(connection, heard).await);
                    });
                }
            });
        });
        Self { address, ended: Mutex::new(ended) }
    }

    /// How so many connections ended; waits until they have.
    pub(crate) fn ended(&self, count: usize) -> Vec<ConnectionError> {
        let mut ended = self.ended.lock().expect("nobody panicked");
        (0..count).map(|_| ended.blocking_recv().expect("the server runs")).collect()
    }
}

fn config() -> quinn::ServerConfig {
    let names = vec!["localhost".to_owned()];
    let pair = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![pair.cert.der().clone()], key.into())
        .expect("they belong together");
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let tls = QuicServerConfig::try_from(tls).expect("a cipher for first packets");
    quinn::ServerConfig::with_crypto(Arc::new(tls))
}

/// Answers until the connection ends, and tells how it does.
async fn serve(
    connection: quinn::Connection,
    heard: Arc<dyn Fn(&str) + Send + Sync>,
) -> ConnectionError {
    let connection = h3_quinn::Connection::new(connection);
    let mut connection = match h3::server::Connection::<_, Bytes>::new(connection).await {
        Ok(connection) => connection,
        Err(error) => return error,
    };
    loop {
        match connection.accept().await {
            Ok(Some(request)) => {
                let heard = Arc::clone(&heard);
                // A client that is stopped takes no answer any more.
                tokio::spawn(async move { drop(answer(request, &*heard).await) });
            }
            // A client may say before it closes that it has no more requests.
            Ok(None) => {}
            Err(error) => return error,
        }
    }
}

async fn answer(
    request: RequestResolver<h3_quinn::Connection, Bytes>,
    heard: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), StreamError> {
    let (request, mut stream) = request.resolve_request().await?;
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let told = format!("{} {target}", request.method());
    heard(&told);
    if target == "/never" {
        std::future::pending::<()>().await;
    }
    let answer = http::Response::builder().status(203).body(()).expect("an answer");
    stream.send_response(answer).await?;
    stream.send_data(Bytes::from(told)).await?;
    if target == "/half" {
        std::future::pending::<()>().await;
    }
    stream.finish().await
}

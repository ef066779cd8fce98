//! Asks for one page again and again over HTTP/3, and says how often it came.
//!
//! ```text
//! bench-quic ADDRESS PATH BODY_BYTES CONNECTIONS STREAMS SECONDS
//! 12345 requests in 5.001 s
//! ```
//! Each connection has so many requests under way all the time. An answer that is not a page of
//! that many bytes, or a connection that breaks, ends the run with an error.
//! Start at [`visit`]; what is sent and read is in [`message`].

mod anybody;
mod message;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Connection, Endpoint};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

/// More than any page that is asked for.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// What is asked for, and how.
struct Wanted {
    request: Vec<u8>,
    body_bytes: usize,
    until: Instant,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, path, body_bytes, connections, streams, seconds] = arguments.as_slice() else {
        return Err("usage: ADDRESS PATH BODY_BYTES CONNECTIONS STREAMS SECONDS".into());
    };
    let address: SocketAddr = address.parse()?;
    let endpoint = endpoint()?;
    let (connections, streams): (usize, usize) = (connections.parse()?, streams.parse()?);
    let mut open = Vec::new();
    for _ in 0..connections {
        let connection = endpoint.connect(address, &address.ip().to_string())?.await?;
        let mut control = connection.open_uni().await?;
        control.write_all(message::CONTROL).await?;
        // A control stream that ends is an error, and a dropped one ends.
        open.push((connection, control));
    }
    let start = Instant::now();
    let wanted = Arc::new(Wanted {
        request: message::request(&address.to_string(), path),
        body_bytes: body_bytes.parse()?,
        until: start + Duration::from_secs_f64(seconds.parse()?),
    });
    let mut visits = JoinSet::new();
    for (connection, _) in &open {
        for _ in 0..streams {
            visits.spawn(visit(connection.clone(), wanted.clone()));
        }
    }
    let mut requests = 0;
    while let Some(visit) = visits.join_next().await {
        requests += visit??;
    }
    println!("{requests} requests in {:.3} s", start.elapsed().as_secs_f64());
    for (connection, _) in open {
        connection.close(message::NO_ERROR.into(), b"");
    }
    endpoint.wait_idle().await;
    Ok(())
}

/// One request after the other.
async fn visit(connection: Connection, wanted: Arc<Wanted>) -> Result<u64, Failure> {
    let mut requests = 0;
    while Instant::now() < wanted.until {
        let (mut send, mut receive) = connection.open_bi().await?;
        send.write_all(&wanted.request).await?;
        send.finish()?;
        let answer = receive.read_to_end(ANSWER_BYTES_MAX).await?;
        match message::body_bytes(&answer) {
            Some(bytes) if bytes == wanted.body_bytes => requests += 1,
            found => return Err(format!("a body of {found:?} bytes").into()),
        }
    }
    Ok(requests)
}

fn endpoint() -> Result<Endpoint, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(anybody::Anybody(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h3".to_vec()];
    let mut endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let config = QuicClientConfig::try_from(config)?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(config)));
    Ok(endpoint)
}

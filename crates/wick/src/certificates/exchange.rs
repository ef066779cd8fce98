//! One request and its answer, over a connection of their own.

use bytes::Bytes;
use http::{Request, response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

/// Sends a request over a stream that leads to its host. The answer's head, and its body, or why
/// there is none: it broke off, or is longer than `bytes_max`.
pub(super) async fn exchange<S, B>(
    stream: S,
    request: Request<B>,
    bytes_max: usize,
) -> Result<(response::Parts, Result<Bytes, String>), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
    B: Body + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let told = |error: hyper::Error| error.to_string();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
    let exchange = async {
        let (head, body) = sender.send_request(request).await.map_err(told)?.into_parts();
        let body = Limited::new(body, bytes_max).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes);
        Ok((head, body.map_err(|error| error.to_string())))
    };
    tokio::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // It may end with the last byte of the answer.
        _ = connection => exchange.await,
    }
}

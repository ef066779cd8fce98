//! The socket that sites' own code asks over: markup rendered, values kept, pages purged.
//!
//! It has a name and no file, so PHP of any user reaches it wherever the state folder is, and
//! nothing is left behind; who asks shows the key of its site. PHP learns both with each request,
//! in variables that no visitor can set. What is asked is carried out by [`Server::help`].
//! Bounds: [`CONNECTIONS_MAX`], others wait to be accepted; [`HEAD_BYTES_MAX`] and
//! [`BODY_BYTES_MAX`] a request; [`HEAD_TIMEOUT`] and [`BODY_TIMEOUT`] for one to come.
//! Why it is so: `docs/decisions/help-for-apps.md`.

use std::convert::Infallible;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener as StdListener};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use base::complaint::complain;
use base::{Shutdown, task};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use server::{AppKey, Help, Server, ViewsSecret};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at once: more than there are children of most php-fpm.
const CONNECTIONS_MAX: usize = 256;
const HEAD_BYTES_MAX: usize = 16 << 10;
const BODY_BYTES_MAX: usize = 8 << 20;
/// How long a head may take, and a connection rest before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it is not accepted after the system could not, for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The name of this process's socket. An `@` is how a NUL is written, by which such names begin.
static NAME: LazyLock<String> = LazyLock::new(|| format!("@wick-{:032x}", rand::random::<u128>()));

/// A key for one site's code, and the variables that tell it with where to ask.
pub(crate) fn introduce() -> (Option<AppKey>, ViewsSecret, Vec<(String, String)>) {
    let key = format!("{:032x}", rand::random::<u128>());
    let (own, shown) = (AppKey::new(&key), ViewsSecret(key.clone()));
    let variables = [("WICK_SOCKET", NAME.clone()), ("WICK_KEY", key)];
    (own, shown, variables.map(|(name, value)| (name.to_owned(), value)).into())
}

/// Listens and answers until the signal to stop; sites are served without it too. It must be
/// called on a runtime.
pub(crate) fn begin(server: &Arc<Server>, shutdown: &Shutdown) {
    match listen() {
        Ok(listener) => drop(tokio::spawn(serve(listener, server.clone(), shutdown.clone()))),
        Err(error) => {
            complain(format_args!("sites' own code gets no help from Wick: {error}"));
        }
    }
}

fn listen() -> io::Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(NAME.trim_start_matches('@'))?;
    let listener = StdListener::bind_addr(&address)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}

async fn serve(listener: UnixListener, server: Arc<Server>, shutdown: Shutdown) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let next = async || {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        Ok::<_, io::Error>((place, listener.accept().await?.0))
    };
    loop {
        let accepted = tokio::select! {
            accepted = next() => accepted,
            () = shutdown.begun() => return,
        };
        let Ok((place, stream)) = accepted else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let own = server.clone();
        task::spawn_counted(&server.counters().panics, async move {
            converse(stream, own).await;
            drop(place);
        });
    }
}

async fn converse(stream: UnixStream, server: Arc<Server>) {
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(answer(&server, request).await) }
    });
    // How a connection ended is its client's business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(server: &Server, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    if head.method != Method::POST {
        return told(405, r#"{"error":"only POST"}"#.to_owned());
    }
    let shown = head.headers.get(AUTHORIZATION).map_or(&b""[..], HeaderValue::as_bytes);
    let key = shown.strip_prefix(b"Bearer ").unwrap_or_default();
    let body = timeout(BODY_TIMEOUT, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let Ok(Ok(body)) = body else {
        let why = format!(
            r#"{{"error":"a request is whole within 10 s, and has at most {BODY_BYTES_MAX} bytes"}}"#
        );
        return told(413, why);
    };
    let Help { status, body } = server.help(key, head.uri.path(), &body.to_bytes());
    told(status, body)
}

fn told(status: u16, json: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(json)));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

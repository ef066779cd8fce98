//! The listener for other nodes, which ask here for pages that this one owns.
//!
//! What is asked and answered stands in `server/src/fellows/shield`; here it goes over HTTP/1.1.
//! An answer's head leaves at once, and a newline as often as [`BEAT`] as long as the page is
//! being made: so who asked can tell an owner that is at work from one that is gone.
//! Bounds: [`CONNECTIONS_MAX`], others wait to be accepted; [`HEAD_BYTES_MAX`] a request, and
//! [`HEAD_TIMEOUT`] for it to come.
//! Invariant: nobody but nodes of the cluster is answered anything but 403.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use base::{Shutdown, task};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use server::Server;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{sleep, timeout};

/// Connections at once: as many as several fellows' requests at one time.
const CONNECTIONS_MAX: usize = 1024;
const HEAD_BYTES_MAX: usize = 256 << 10;
/// How long a head may take, and a connection rest before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// How often something is said while a page is being made.
const BEAT: Duration = Duration::from_millis(100);
/// How long it is not accepted after the system could not, and how often a taken address is
/// tried again.
const PAUSE: Duration = Duration::from_millis(50);

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// Listens and answers until the signal to stop. It must be called on a runtime.
pub(super) fn begin(server: &Arc<Server>, address: SocketAddr, shutdown: &Shutdown) {
    let (server, shutdown) = (server.clone(), shutdown.clone());
    drop(tokio::spawn(async move {
        let listener = tokio::select! {
            listener = listener(address) => listener,
            () = shutdown.begun() => return,
        };
        serve(listener, server, shutdown).await;
    }));
}

/// The address, which a predecessor may still have for a moment.
async fn listener(address: SocketAddr) -> TcpListener {
    let mut is_told = false;
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(error) => {
                if !is_told && error.kind() != io::ErrorKind::AddrInUse {
                    is_told = true;
                    complain(format_args!(
                        "cluster: can't listen on {address} ({error}); other nodes ask the origin \
                         for the pages of this one"
                    ));
                }
                sleep(PAUSE).await;
            }
        }
    }
}

async fn serve(listener: TcpListener, server: Arc<Server>, shutdown: Shutdown) {
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
            sleep(PAUSE).await;
            continue;
        };
        let (own, shutdown) = (server.clone(), shutdown.clone());
        task::spawn_counted(&server.counters().panics, async move {
            converse(stream, own, shutdown).await;
            drop(place);
        });
    }
}

async fn converse(stream: TcpStream, server: Arc<Server>, shutdown: Shutdown) {
    // Small answers must not wait for each other; without it they come a little later.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let server = server.clone();
        async move { Ok::<_, Infallible>(answer(&server, request)) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    // How a connection ended is the other node's business.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = shutdown.begun() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

fn answer(server: &Arc<Server>, request: Request<Incoming>) -> Answer {
    let (parts, _) = request.into_parts();
    let read = match server.shield() {
        Some(shield) => shield.read(&parts),
        None => Err("this node hands no pages on"),
    };
    let wanted = match read {
        Ok(wanted) => wanted,
        Err(why) => {
            server.note_no_fellow();
            let text = Full::new(Bytes::from(format!("{why}\n"))).boxed_unsync();
            return answered(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text);
        }
    };
    let (tell, told) = oneshot::channel();
    let own = server.clone();
    // Of its own: what was begun for one fellow is finished for all, though that one is gone.
    task::spawn_counted(&server.counters().panics, async move {
        // Who asked may be gone.
        let _ = tell.send(own.show_fellow(wanted).await);
    });
    let pieces = stream::unfold(Some(told), |told| async move {
        let mut told = told?;
        match timeout(BEAT, &mut told).await {
            Ok(Ok(page)) => Some((Ok::<_, Infallible>(Frame::data(page)), None)),
            // It panicked, which was counted; what ends without a page is none.
            Ok(Err(_)) => None,
            Err(_) => Some((Ok(Frame::data(Bytes::from_static(b"\n"))), Some(told))),
        }
    });
    answered(StatusCode::OK, "application/x-wick-page", StreamBody::new(pieces).boxed_unsync())
}

fn answered(
    status: StatusCode,
    kind: &'static str,
    body: UnsyncBoxBody<Bytes, Infallible>,
) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

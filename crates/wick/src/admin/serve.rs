//! The admin listener's connections and its router.
//!
//! Invariants: 1. few connections at once, small heads, and time-outs: nothing that somebody
//! does here costs visitors anything. 2. nothing is answered before the [`Guard`] was asked.
//! 3. no answer lets another site read it, and none is kept but the page's own files, which are
//! validated.
//! Start at [`Admin::answer`].

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use observe::metrics::Format;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::acts::{Act, Acting};
use super::asked::{Asked, Matter};
use super::guard::{Guard, HEALTH, Refusal};
use super::metrics;
use super::page::{PageFile, SECURITY_POLICY};
use super::stream::Streams;
use super::watch::{AdminCounters, Look};

/// Connections at once.
const CONNECTIONS_MAX: usize = 32;
/// The largest head.
const HEAD_BYTES_MAX: usize = 16 << 10;
const FIELDS_MAX: usize = 64;
/// How long a head may take, and how long a connection may rest before it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);
/// How long somebody may take nothing of an answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long it is not accepted after the system could not, for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What all connections share.
pub(crate) struct Admin {
    pub(crate) guard: Guard,
    pub(crate) looks: watch::Receiver<Arc<Look>>,
    pub(crate) streams: Streams,
    pub(crate) counters: Arc<AdminCounters>,
    pub(crate) asked: Asked,
    pub(crate) acting: Acting,
}

/// Serves what comes to `listener`, for as long as this is polled.
pub(crate) async fn serve(listener: TcpListener, admin: Arc<Admin>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            admin.counters.connections_refused.bump();
            continue;
        };
        let admin = admin.clone();
        tokio::spawn(async move {
            converse(stream, admin, HEAD_TIMEOUT).await;
            drop(place);
        });
    }
}

/// One connection, from its first byte to its end.
pub(super) async fn converse(stream: TcpStream, admin: Arc<Admin>, head_timeout: Duration) {
    let milliseconds = u32::try_from(WRITE_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    // A system that can't do that closes such connections later.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(stream.as_fd(), milliseconds);
    let _ = stream.set_nodelay(true);
    let peer = stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let service = service_fn(move |request: http::Request<Incoming>| {
        let admin = admin.clone();
        async move {
            let (head, body) = request.into_parts();
            Ok::<_, Infallible>(match Act::at(head.uri.path()) {
                Some(act) if head.method == Method::POST => admin.act(act, &head, peer, body).await,
                _ => admin.respond(&head).await,
            })
        }
    });
    // How a connection ended is its client's business.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(FIELDS_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Admin {
    /// Does what a request asks for, if it may.
    pub(crate) async fn act<B>(
        &self,
        act: Act,
        head: &Parts,
        peer: IpAddr,
        body: B,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if self.guard.refuses(head).is_some() {
            return self.answer(head);
        }
        self.counters.requests.bump();
        let has_token = self.guard.token.is_some();
        let (status, done) = self.acting.act(act, head, peer, has_token, body).await;
        if status != StatusCode::OK {
            self.counters.acts_refused.bump();
        }
        let mut answer = typed("application/json", done.to_string().into());
        *answer.status_mut() = status;
        dressed(answer, head)
    }

    /// The answer to a request, whatever body it has; for some files are read, or much is added
    /// up, elsewhere.
    pub(crate) async fn respond(&self, head: &Parts) -> Response<Body> {
        let is_look = matches!(head.method, Method::GET | Method::HEAD);
        let matter = Matter::at(head.uri.path()).filter(|_| is_look);
        let Some(matter) = matter.filter(|_| self.guard.refuses(head).is_none()) else {
            return self.answer(head);
        };
        self.counters.requests.bump();
        let (is_right, json) = self.asked.tell(matter, head.uri.query().unwrap_or("")).await;
        let mut answer = typed("application/json", json);
        if !is_right {
            *answer.status_mut() = StatusCode::BAD_REQUEST;
        }
        dressed(answer, head)
    }

    /// The answer by the last look.
    pub(crate) fn answer(&self, head: &Parts) -> Response<Body> {
        self.counters.requests.bump();
        let answer = match self.guard.refuses(head) {
            Some(refusal) => {
                self.counters.requests_refused.bump();
                refused(refusal)
            }
            None => self.route(head),
        };
        dressed(answer, head)
    }

    fn route(&self, head: &Parts) -> Response<Body> {
        let path = head.uri.path();
        let file = PageFile::at(path);
        if Act::at(path).is_some() {
            return not_allowed("POST", "Only POST.\n");
        }
        let is_known = file.is_some()
            || Matter::at(path).is_some()
            || [HEALTH, "/metrics", "/api/now", "/api/stream"].contains(&path);
        if !is_known {
            return text(StatusCode::NOT_FOUND, "There is nothing here.\n");
        }
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return not_allowed("GET, HEAD", "Only GET and HEAD.\n");
        }
        if let Some(file) = file {
            return page_file(file, head);
        }
        match path {
            HEALTH if self.asked.is_draining() => {
                text(StatusCode::SERVICE_UNAVAILABLE, "draining\n")
            }
            HEALTH => text(StatusCode::OK, "ok\n"),
            "/metrics" => {
                let fields = head.headers.get_all(header::ACCEPT).iter();
                let accept: Vec<&str> = fields.filter_map(|value| value.to_str().ok()).collect();
                let format = Format::wanted(&accept.join(","));
                let page = metrics::page(&self.looks.borrow().now).finish(format);
                let mut answer = typed(format.content_type(), page.into());
                answer.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
                answer
            }
            "/api/now" => typed("application/json", self.looks.borrow().json()),
            _ => match self.streams.begin(self.looks.clone()) {
                Some(body) => {
                    let mut answer = Response::new(body.boxed_unsync());
                    let kind = HeaderValue::from_static("text/event-stream");
                    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
                    answer
                }
                None => {
                    self.counters.streams_refused.bump();
                    text(StatusCode::SERVICE_UNAVAILABLE, "Too many look on already.\n")
                }
            },
        }
    }
}

/// With the fields that all answers have.
fn dressed(mut answer: Response<Body>, head: &Parts) -> Response<Body> {
    let fields = answer.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let own = HeaderValue::from_static("same-origin");
    fields.insert("cross-origin-resource-policy", own.clone());
    fields.insert("cross-origin-opener-policy", own);
    let none = HeaderValue::from_static("no-store");
    fields.entry(header::CACHE_CONTROL).or_insert(none);
    if head.method == Method::HEAD {
        *answer.body_mut() = full(Bytes::new());
    }
    answer
}

fn full(content: Bytes) -> Body {
    Full::new(content).boxed_unsync()
}

fn typed(content_type: &'static str, content: Bytes) -> Response<Body> {
    let mut answer = Response::new(full(content));
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

fn text(status: StatusCode, sentence: &'static str) -> Response<Body> {
    let mut answer = typed("text/plain; charset=utf-8", Bytes::from_static(sentence.as_bytes()));
    *answer.status_mut() = status;
    answer
}

fn not_allowed(allowed: &'static str, sentence: &'static str) -> Response<Body> {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, sentence);
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

fn refused(refusal: Refusal) -> Response<Body> {
    let mut answer = text(refusal.status(), refusal.sentence());
    if refusal == Refusal::Token {
        let ways = HeaderValue::from_static("Basic realm=\"Wick\", charset=\"UTF-8\", Bearer");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, ways);
    }
    answer
}

fn page_file(file: &'static PageFile, head: &Parts) -> Response<Body> {
    let tag = file.tag();
    let known = head.headers.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = known.filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
    let is_known = tags.any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    });
    let mut answer = match is_known {
        true => {
            let mut answer = Response::new(full(Bytes::new()));
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        }
        false => typed(file.content_type, Bytes::from_static(file.content)),
    };
    let fields = answer.headers_mut();
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        fields.insert(header::ETAG, tag);
    }
    answer
}

//! One of the servers that make a site's pages: its connections, and how well it is.
//!
//! Invariants: 1. A request is sent a second time only if the server can't have seen it, or
//! if it is idempotent, without a body, and met a kept connection that closed without an
//! answer. 2. Connections never outnumber the slots.

use std::sync::Arc;

use base::Phase;
use hyper::client::conn::http1;
use parking_lot::Mutex;

use super::exchange::{Connection, Failure, Got, Outgoing, exchange};
use super::health::Health;
use super::tls::Tls;
use super::upload::Upload;
use super::{HttpServer, convert, explain};
use crate::dial::Stream;
use crate::pool::Pool;
use crate::slots::Slots;
use crate::stopwatch::timed;
use crate::timeouts::within;
use crate::{Counters, Dial, OriginError, Timeouts};

/// The most bytes that the head of an answer may have.
const HEAD_BYTES_MAX: usize = 256 * 1024;

/// How to come to a server.
pub(crate) struct Road {
    pub(crate) dial: Dial,
    /// For requests that name no host.
    pub(crate) authority: String,
    pub(crate) tls: Option<Tls>,
}

/// One server.
pub(crate) struct Member {
    /// As its owner calls it.
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) slots: Slots,
    pub(crate) pool: Pool<Connection>,
    pub(crate) health: Mutex<Health>,
    pub(crate) road: Road,
    timeouts: Timeouts,
    counters: Arc<Counters>,
}

impl Member {
    pub(crate) fn new(
        server: &HttpServer,
        road: Road,
        slots: Slots,
        pool: Pool<Connection>,
        timeouts: Timeouts,
        counters: Arc<Counters>,
    ) -> Self {
        let (name, weight) = (server.address.clone(), server.weight);
        let health = Mutex::default();
        Self { name, weight, slots, pool, health, road, timeouts, counters }
    }

    /// Sends a request, over a kept connection if there is one.
    pub(crate) async fn send(&self, outgoing: &mut Outgoing) -> Result<Got, Failure> {
        if let Some(connection) = self.kept().await {
            self.counters.reuses.bump();
            match self.exchange(connection, outgoing).await {
                Err(failure)
                    if failure.is_stale && (failure.is_unsent || outgoing.is_repeatable) =>
                {
                    self.counters.stale_retries.bump();
                }
                result => return result,
            }
        }
        let connection = timed(&outgoing.phases, Phase::Connect, self.connect()).await;
        let connection = connection.map_err(Failure::unsent)?;
        self.exchange(connection, outgoing).await
    }

    pub(crate) async fn exchange(
        &self,
        connection: Connection,
        outgoing: &mut Outgoing,
    ) -> Result<Got, Failure> {
        exchange(connection, outgoing, &self.road.authority, self.timeouts.first_byte).await
    }

    /// A kept connection that is ready for a request.
    async fn kept(&self) -> Option<Connection> {
        while let Some(mut connection) = self.pool.take() {
            // Ready as soon as its task has seen the end of the last answer; a task
            // that finds the connection closed says so instead of becoming ready.
            let ready = within(self.timeouts.connect, connection.ready()).await;
            if matches!(ready, Some(Ok(()))) {
                return Some(connection);
            }
        }
        None
    }

    /// A new connection.
    pub(crate) async fn connect(&self) -> Result<Connection, OriginError> {
        let stream = self.road.dial.connect(&self.timeouts, false).await?;
        self.counters.connects.bump();
        match &self.road.tls {
            None => greet(stream).await,
            Some(tls) => {
                let stream = tls.connect(stream, &self.timeouts).await?;
                greet(stream).await
            }
        }
    }

    /// Whether it can be connected to.
    pub(crate) async fn call(&self) -> Result<(), OriginError> {
        let stream: Stream = self.road.dial.connect(&self.timeouts, false).await?;
        match &self.road.tls {
            None => Ok(()),
            Some(tls) => tls.connect(stream, &self.timeouts).await.map(drop),
        }
    }
}

/// Speaks HTTP/1.1 over a stream.
async fn greet<S>(stream: S) -> Result<Connection, OriginError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (connection, task) = http1::Builder::new()
        .max_headers(convert::FIELDS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .handshake::<_, Upload>(hyper_util::rt::TokioIo::new(stream))
        .await
        .map_err(|error| OriginError::Unreachable(explain(&error)))?;
    // Its errors reach whoever uses the connection; alone they mean that it is gone.
    drop(tokio::spawn(async move { drop(task.with_upgrades().await) }));
    Ok(connection)
}

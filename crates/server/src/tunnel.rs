//! Tunnels: visitors who go on in another protocol, such as WebSocket.
//!
//! Such a request is asked of the origin for its visitor alone. It takes no part in what
//! strangers share, nor in what is learned from visits: it may last for days, and what the
//! app writes meanwhile is heard of like any change behind our back.
//! Invariants: 1. no more than [`BUFFER_BYTES`] lie here in each direction. 2. a tunnel in
//! which nothing moves ends after `limits.tunnel_timeout`, and at the stop all end at once;
//! where another process takes this one's place they go on for `limits.upgrade_grace`.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use origin::{OriginError, Tunnel, Upgrading};
use policy::{PassReason, Verdict};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, copy_bidirectional_with_sizes};
use wire::ResponseHead;

use crate::Server;
use crate::fetch::note_changes;
use crate::journey::Journey;
use crate::reply::{Reply, Told};
use crate::watch::Watch;

/// What is read of one side before the other has taken it.
const BUFFER_BYTES: usize = 8 << 10;

/// Asks the origin to switch.
pub(crate) async fn open(mut journey: Journey) -> Reply {
    journey.server.counters.fetches.bump();
    let mut call = journey.call();
    let peer = journey.peers.peer.ip();
    call.head.fields = policy::to_origin_upgrading(&journey.head, peer, journey.peers.scheme);
    let verdict = Verdict::Pass(PassReason::Upgrade);
    // On the visitor's account until it is open; how many may be open has a bound of its own.
    let seat = call.is_counted.then(|| journey.site.defence.enter(peer, journey.now().ticks_ms));
    let _seat = match seat.transpose() {
        Ok(seat) => seat,
        Err(error) => return Reply::failed(&error, &journey.key),
    };
    match journey.site.origin.upgrade(call).await {
        Err(error) => Reply::failed(&error, &journey.key),
        Ok(Upgrading::Answered(answer)) => {
            note_changes(&journey, &answer.head);
            let told = Told::fetched(verdict, answer.head.status, None);
            Reply::passed(answer, &journey, &told)
        }
        Ok(Upgrading::Switched(head, tunnel)) => {
            match policy::to_client_switched(&journey.head.fields, &head.fields) {
                None => Reply::failed(&OriginError::Upgrade, &journey.key),
                Some(fields) => {
                    let told = Told::fetched(verdict, head.status, None);
                    let head = ResponseHead { status: head.status, fields };
                    Reply::switched(head, tunnel, &told, &journey.key)
                }
            }
        }
    }
}

/// Carries bytes both ways until both sides are done, one of them is lost, nothing moves any
/// more, or the server stops. `early` is what the visitor sent before it knew.
pub(crate) async fn carry<S>(
    server: &Server,
    watch: &Watch,
    io: &mut S,
    early: &[u8],
    mut tunnel: Tunnel,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    server.counters.tunnels.bump();
    let mut visitor = Noted { io, server, watch };
    visitor.note();
    // Nothing is lost that the peers' own protocol doesn't know how to lose.
    watch.set_idle(true);
    let carried = async {
        tunnel.write_all(early).await?;
        copy_bidirectional_with_sizes(&mut visitor, &mut tunnel, BUFFER_BYTES, BUFFER_BYTES).await
    };
    tokio::select! {
        biased;
        () = poll_fn(|context| watch.poll_fired(context)) => {}
        // However it ended, the connection is over.
        _ = carried => {}
    }
}

/// The visitor's side, where each byte that moves is a sign of life of both.
struct Noted<'a, S> {
    io: &'a mut S,
    server: &'a Server,
    watch: &'a Watch,
}

impl<S> Noted<'_, S> {
    fn note(&self) {
        let limit_ms = self.server.limits().tunnel_timeout.as_millis() as u64;
        self.watch.set(self.server.clock.now().ticks_ms + limit_ms);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<'_, S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut *self.io).poll_read(context, buffer))?;
        self.note();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<'_, S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.io).poll_write(context, bytes))?;
        self.note();
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.io).poll_write_vectored(context, slices))?;
        self.note();
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(context)
    }
}

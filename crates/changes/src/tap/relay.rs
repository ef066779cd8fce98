//! The relay: each connection to the tap gets one to the server, and bytes pass.
//!
//! Invariants: 1. Bytes pass in the order in which they came, and unchanged. 2. They are read
//! before they are passed on, and what they tell is told before. 3. Who connects while too
//! many do waits, as at the server's own door. 4. A statement whose client has gone is
//! listened to until the server has answered it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Shared;
use super::conversation::{Conversation, Counts, Heard};
use super::door::connect_as;
use super::passing::Saying;
use super::transaction::Transaction;

/// Connections at a time; servers allow 151 unless told otherwise.
const CONNECTIONS_MAX: usize = 1024;
/// Read at a time.
const BUFFER_BYTES: usize = 16 << 10;
/// How long to rest when the system gives out no more connections.
const REST: Duration = Duration::from_millis(50);

/// Takes connections until it is aborted; they end with it.
pub(super) async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            Some(ended) = running.join_next() => {
                if ended.is_err() {
                    shared.hearers.slip();
                }
            }
            (client, permit) = take(&listener, &room) => {
                let shared = shared.clone();
                running.spawn(async move {
                    pass(client, &shared).await;
                    drop(permit);
                });
            }
        }
    }
}

async fn take(
    listener: &UnixListener,
    room: &Arc<Semaphore>,
) -> (UnixStream, Option<tokio::sync::OwnedSemaphorePermit>) {
    // It is never closed.
    let permit = room.clone().acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((client, _)) => return (client, permit),
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Passes one connection on until it ends. A server that can't be reached is, to the client,
/// one that hangs up.
async fn pass(mut client: UnixStream, shared: &Shared) {
    let Ok(mut server) = connect_as(&client, &shared.server).await else { return };
    let saying = Mutex::new(Saying::opened(&shared.passing));
    let listening = Listening { shared, heard: Mutex::default(), saying };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let upwards = async {
        up(from_client, to_server, &listening).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = down(from_server, to_client, &listening) => {}
        () = upwards => {}
    }
    listening.tell(Conversation::end).await;
}

async fn up(mut client: ReadHalf<'_>, mut server: WriteHalf<'_>, listening: &Listening<'_>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count @ 1..) = client.read(&mut buffer).await {
        let bytes = &buffer[..count];
        listening.tell(|conversation| conversation.client(bytes)).await;
        if server.write_all(bytes).await.is_err() {
            break;
        }
    }
    // The server sees the end and hangs up when it has done what it was told.
    let _ = server.shutdown().await;
}

async fn down(mut server: ReadHalf<'_>, mut client: WriteHalf<'_>, listening: &Listening<'_>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut takes_more = true;
    while let Ok(count @ 1..) = server.read(&mut buffer).await {
        let bytes = &buffer[..count];
        listening.tell(|conversation| conversation.server(bytes)).await;
        takes_more = takes_more && client.write_all(bytes).await.is_ok();
        if !takes_more && !listening.heard.lock().matters() {
            break;
        }
    }
}

/// One connection, listened to.
struct Listening<'a> {
    shared: &'a Shared,
    heard: Mutex<State>,
    saying: Mutex<Saying>,
}

#[derive(Default)]
struct State {
    conversation: Conversation,
    transaction: Transaction,
    counts: Counts,
    is_unreadable: bool,
}

impl State {
    /// Whether what the server says matters although nobody reads it any more.
    fn matters(&self) -> bool {
        self.is_unreadable || self.conversation.awaits()
    }
}

impl Listening<'_> {
    /// Hears, and tells what there is to tell.
    async fn tell(&self, hear: impl FnOnce(&mut Conversation) -> Vec<Heard>) {
        let is_watched = self.shared.passing.witness().is_some();
        let (heard, said) = {
            let mut state = self.heard.lock();
            state.conversation.tell_said(is_watched);
            let heard = hear(&mut state.conversation);
            let said = state.conversation.take_said();
            let now = state.conversation.counts();
            let before = std::mem::replace(&mut state.counts, now);
            if before != now {
                self.shared.hearers.count(before, now);
            }
            (heard, said)
        };
        self.saying.lock().hear(said, &self.shared.passing);
        for heard in heard {
            self.tell_one(heard).await;
        }
    }

    async fn tell_one(&self, heard: Heard) {
        let ended = match heard {
            Heard::Ended(ended) => ended,
            Heard::Reset => return self.heard.lock().transaction.forget(),
            Heard::Unreadable => {
                self.heard.lock().is_unreadable = true;
                return self.shared.hearers.lose();
            }
        };
        let (own, is_lasting) = self.shared.tables.changes(&ended).await;
        let told = {
            let transaction = &mut self.heard.lock().transaction;
            transaction.take(&ended.act, own, is_lasting, ended.outcome)
        };
        if !told.is_empty() {
            self.shared.hearers.tell(&told);
        }
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        if self.heard.get_mut().is_unreadable {
            self.shared.hearers.regain();
        }
    }
}

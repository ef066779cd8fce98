//! The way to the others: one NATS JetStream stream, and a bucket with the nodes' names.
//!
//! What fails is tried again, without an end; meanwhile the node is out of touch by itself, as
//! nothing comes back. NATS's client finds its servers again on its own; the consumer is made
//! anew behind the last message that was heard.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};
use async_nats::jetstream::stream::{DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context, ErrorCode, kv};
use async_nats::{Client, ConnectOptions, HeaderMap};
use base::Shutdown;
use base::complaint::complain;
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use crate::aside;
use crate::deposits;
use crate::figures;
use crate::hearing::Arrival;
use crate::node::{Ears, Node};
use crate::said::Said;
use crate::settings::Settings;

/// How long messages stay in the stream: a node that was away longer takes it that anything may
/// have changed.
const KEPT: Duration = Duration::from_secs(600);
/// Bytes that they may take there.
const KEPT_BYTES: i64 = 256 << 20;
/// How long one answer of NATS is waited for.
const ANSWER: Duration = Duration::from_secs(2);
/// The rest after a failure.
const AGAIN_AFTER: Duration = Duration::from_millis(250);

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Speaks and hears until the signal, and then says goodbye.
pub(crate) async fn hold(node: Arc<Node>, ears: Arc<dyn Ears>, shutdown: Shutdown) {
    let mut client = None;
    while !shutdown.has_begun() {
        let held = tokio::select! {
            held = once(&node, ears.as_ref(), &mut client, &shutdown) => held,
            // Not before the goodbye is said, which `once` does.
            () = late(&shutdown) => return,
        };
        if let Err(error) = held {
            tell_failure(&node, &error.to_string());
            tokio::select! {
                () = sleep(AGAIN_AFTER) => {}
                () = shutdown.begun() => {}
            }
        }
    }
}

async fn late(shutdown: &Shutdown) {
    shutdown.begun().await;
    sleep(ANSWER).await;
}

fn tell_failure(node: &Node, error: &str) {
    if node.note_error(Some(error.to_owned())) {
        let servers = node.settings.shown();
        complain(format_args!(
            "cluster: the other nodes can't be told or heard by {servers} ({error}); pages are \
             fresh for seconds until they are"
        ));
    }
}

/// Finds the stream, and goes on in both directions until something fails.
async fn once(
    node: &Arc<Node>,
    ears: &dyn Ears,
    kept: &mut Option<Client>,
    shutdown: &Shutdown,
) -> Result<(), Failure> {
    let client = match kept {
        Some(client) => client.clone(),
        None => {
            let client = kept.insert(connect(&node.settings).await?).clone();
            *node.client.lock() = Some(client.clone());
            client
        }
    };
    let context = jetstream::new(client.clone());
    let stream = stream(node, &context).await?;
    let names = within("the nodes' names", names(node, &context)).await?;
    let subscription = within("the stream", follow(node, ears, &client, &stream)).await?;
    tokio::select! {
        ended = hear(node, ears, subscription) => ended,
        ended = speak(node, &context, &names, shutdown) => ended,
        ended = aside::converse(node, ears, &client) => ended,
        ended = figures::exchange(node, &client) => ended,
        () = deposits::carry(node, &context) => Ok(()),
    }
}

/// What one step comes to, in bounded time.
pub(crate) async fn within<T>(
    what: &str,
    step: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match timeout(2 * ANSWER, step).await {
        Ok(done) => done.map_err(|error| format!("{what}: {error}").into()),
        Err(_) => Err(format!("{what}: no answer").into()),
    }
}

pub(crate) async fn connect(settings: &Settings) -> Result<Client, Failure> {
    let mut options = ConnectOptions::new()
        .name(format!("wick {}", settings.node))
        .connection_timeout(ANSWER)
        .ping_interval(Duration::from_secs(2))
        .reconnect_delay_callback(|_| AGAIN_AFTER);
    if let Some(file) = &settings.credentials {
        let wrong = |error| format!("{}: {error}", file.display());
        options = options.credentials_file(file).await.map_err(wrong)?;
    }
    Ok(options.connect(settings.servers.clone()).await?)
}

/// The stream of all that is said; made by the node that comes first.
async fn stream(node: &Node, context: &Context) -> Result<Stream, Failure> {
    let settings = &node.settings;
    let with = |num_replicas| jetstream::stream::Config {
        name: settings.stream(),
        subjects: vec![settings.subjects()],
        retention: RetentionPolicy::Limits,
        discard: DiscardPolicy::Old,
        storage: StorageType::File,
        max_age: KEPT,
        max_bytes: KEPT_BYTES,
        duplicate_window: Duration::from_secs(120),
        num_replicas,
        ..jetstream::stream::Config::default()
    };
    made(context, with, replicas(node)).await
}

/// A stream with so many copies; with one where the servers are no cluster.
pub(crate) async fn made(
    context: &Context,
    with: impl Fn(usize) -> jetstream::stream::Config,
    replicas: usize,
) -> Result<Stream, Failure> {
    match context.get_or_create_stream(with(replicas)).await {
        Err(error) if replicas > 1 && is_alone(&error) => {
            Ok(context.get_or_create_stream(with(1)).await?)
        }
        made => Ok(made?),
    }
}

/// Whether the server says that it has no others to keep copies.
fn is_alone(error: &CreateStreamError) -> bool {
    let CreateStreamErrorKind::JetStream(told) = error.kind() else { return false };
    told.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED
}

pub(crate) fn replicas(node: &Node) -> usize {
    node.settings.copies()
}

/// A bucket that keeps the last value of each key; made by the node that comes first.
pub(crate) async fn bucket(
    context: &Context,
    name: &str,
    replicas: usize,
) -> Result<kv::Store, Failure> {
    // A bucket is a stream. The client's own way to make one asks the server for more than those
    // before 2.10 say.
    let with = |num_replicas| jetstream::stream::Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        max_messages_per_subject: 1,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        num_replicas,
        ..jetstream::stream::Config::default()
    };
    if context.get_key_value(name).await.is_err() {
        made(context, with, replicas).await?;
    }
    Ok(context.get_key_value(name).await?)
}

/// The names of all nodes that didn't say goodbye; this one's is put there.
async fn names(node: &Node, context: &Context) -> Result<kv::Store, Failure> {
    let names = bucket(context, &node.settings.bucket(), replicas(node)).await?;
    names.put(node.settings.node.as_str(), env!("CARGO_PKG_VERSION").into()).await?;
    let mut keys = names.keys().await?;
    while let Some(key) = keys.next().await {
        node.note_known(&key?);
    }
    Ok(names)
}

/// Goes on behind what was heard; where that isn't there any more all may have changed.
async fn follow(
    node: &Node,
    ears: &dyn Ears,
    client: &Client,
    stream: &Stream,
) -> Result<push::Ordered, Failure> {
    let info = stream.get_info().await?;
    // One that is made anew counts from 1 again.
    node.note_stream(info.created.unix_timestamp_nanos() as u64);
    let state = info.state;
    let behind = match node.sequence() {
        Some(last)
            if (state.first_sequence.saturating_sub(1)..=state.last_sequence).contains(&last) =>
        {
            last
        }
        // The first time too: what is on the disk is from before.
        _ => {
            node.begin_anew(state.last_sequence, ears);
            state.last_sequence
        }
    };
    let consumer = stream
        .create_consumer(push::OrderedConfig {
            deliver_subject: client.new_inbox(),
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: behind + 1 },
            ..push::OrderedConfig::default()
        })
        .await?;
    Ok(consumer.messages().await?)
}

async fn hear(
    node: &Node,
    ears: &dyn Ears,
    mut subscription: push::Ordered,
) -> Result<(), Failure> {
    // This node's own words are among them: that nothing comes is a failure.
    loop {
        let next = timeout(ANSWER + 2 * node.settings.lag, subscription.next()).await;
        let next = next.map_err(|_| "nothing comes out of the stream")?;
        let Some(message) = next.transpose()? else { break };
        let info = message.info()?;
        let said = Said::read(&message.payload);
        let arrival = Arrival { sequence: info.stream_sequence, said };
        node.take(arrival, ears);
    }
    Err("the stream ended".into())
}

/// Says what there is to say, and something often enough.
async fn speak(
    node: &Node,
    context: &Context,
    names: &kv::Store,
    shutdown: &Shutdown,
) -> Result<(), Failure> {
    loop {
        let is_leaving = shutdown.has_begun();
        let said = node.next_said(is_leaving);
        say(node, context, &said).await?;
        node.note_error(None);
        for gone in &said.gone {
            names.delete(gone).await?;
        }
        if said.is_goodbye {
            names.delete(node.settings.node.as_str()).await?;
            return Ok(());
        }
        if node.name_goes.swap(false, Ordering::AcqRel) {
            names.put(node.settings.node.as_str(), env!("CARGO_PKG_VERSION").into()).await?;
        }
        if node.has_words() {
            continue;
        }
        tokio::select! {
            () = node.waits.notified() => {}
            () = sleep(node.beat()) => {}
            () = shutdown.begun(), if !is_leaving => {}
        }
    }
}

/// Says one message until the stream has taken it. It is the same message each time: NATS
/// knows by its name that it has it already.
async fn say(node: &Node, context: &Context, said: &Said) -> Result<(), Failure> {
    let bytes = bytes::Bytes::from(said.to_bytes());
    let name = format!("{}-{}", said.instance, said.number);
    loop {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", name.as_str());
        let subject = node.settings.subject();
        let taken = async {
            let publish = context.publish_with_headers(subject, headers, bytes.clone());
            publish.await?.await.map_err(Failure::from)
        };
        match timeout(ANSWER, taken).await {
            Ok(Ok(_)) => break,
            Ok(Err(error)) => tell_failure(node, &error.to_string()),
            Err(_) => tell_failure(node, "no answer"),
        }
        sleep(AGAIN_AFTER).await;
    }
    node.note_said();
    Ok(())
}

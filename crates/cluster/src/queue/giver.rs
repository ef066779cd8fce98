//! Who gives work, hears who would take it, and is brought what came of it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{ConsumerErrorKind, Stream};
use async_nats::jetstream::{ErrorCode, Message};
use async_nats::{HeaderMap, RequestErrorKind, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::pieces::Pieces;
use super::{
    AGAIN_AFTER, ANSWER, BROUGHT, Corner, HELLO, NUMBER, Place, QueueError, SILENCE, number,
    purpose,
};
use crate::link::{self, Failure};
use crate::settings::Settings;

/// Messages that are read at once.
const BATCH: usize = 32;
/// How long nothing may come before it is asked again.
const WAIT: Duration = Duration::from_secs(2);
/// What came and wasn't looked at yet.
const ARRIVALS: usize = 64;
/// The field that a refusal for want of the secret has.
pub(super) const REFUSED: &str = "Wick-Refused";

/// Who gives work.
pub struct Giver {
    place: Arc<Place>,
    arrivals: mpsc::Receiver<Arrival>,
    /// They end with it.
    _reading: JoinSet<()>,
}

/// What comes to who gives.
pub enum Arrival {
    /// Somebody would take work, and asks.
    Asked(Question),
    /// What came of a piece of work; none if it can't be read.
    Brought(u64, Option<Vec<u8>>),
    /// Nothing comes any more.
    Ended(QueueError),
}

/// What somebody asks, to be answered.
pub struct Question {
    /// What they say.
    pub content: Vec<u8>,
    reply: async_nats::Subject,
    place: Arc<Place>,
}

impl Question {
    /// Answers; an answer that gets lost is asked for again.
    pub async fn answer(self, content: &[u8]) {
        if let Some(sealed) = self.place.seal.seal("answer", content) {
            let _ = self.place.client.publish(self.reply, sealed.into()).await;
        }
    }
}

impl Giver {
    /// Takes the queue: whatever another left in it is gone.
    ///
    /// # Errors
    /// NATS isn't reached, or somebody is there who gives.
    pub async fn open(settings: Settings, secret: &str) -> Result<Self, QueueError> {
        let place = Arc::new(Place::reach(settings, secret).await?);
        place.find_nobody().await?;
        let failed = |error: Failure| place.unreached(error);
        // Who takes is answered before the stream is gone: without both it would be over.
        let hellos = place.client.subscribe(place.subject(HELLO)).await;
        let hellos = hellos.map_err(|error| failed(error.into()))?;
        let consumer = link::within("the queue", place.make()).await.map_err(failed)?;
        let (tell, arrivals) = mpsc::channel(ARRIVALS);
        let mut reading = JoinSet::new();
        reading.spawn(hear(Arc::clone(&place), hellos, tell.clone()));
        reading.spawn(gather(Arc::clone(&place), consumer, tell));
        Ok(Self { place, arrivals, _reading: reading })
    }

    /// Gives a piece of work, which no other has the number of.
    ///
    /// # Errors
    /// NATS has been gone for a while.
    pub async fn give(
        &self,
        number: u64,
        corner: Corner,
        content: &[u8],
    ) -> Result<(), QueueError> {
        let sealed = self.place.seal.seal(&purpose("work", number), content);
        let sealed = sealed.ok_or(QueueError::TooLarge(content.len()))?;
        let headers = [(NUMBER, number.to_string())];
        self.place.send(corner.as_str(), &number.to_string(), &headers, sealed.into()).await
    }

    /// What comes next. Whoever stops waiting loses nothing.
    pub async fn next(&mut self) -> Arrival {
        match self.arrivals.recv().await {
            Some(arrival) => arrival,
            // Whoever reads says why it ends before it does.
            None => std::future::pending().await,
        }
    }

    /// Takes the queue away; who asks is heard on.
    ///
    /// # Errors
    /// NATS doesn't do it.
    pub async fn take_away(&self) -> Result<(), QueueError> {
        let gone = timeout(ANSWER, self.place.context.delete_stream(self.place.stream())).await;
        match gone {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(self.place.unreached(error)),
            Err(_) => Err(self.place.unreached("no answer")),
        }
    }
}

impl Place {
    /// Asks whether somebody gives already. Who doesn't answer is put off.
    async fn find_nobody(&self) -> Result<(), QueueError> {
        let asked = self.client.request(self.subject(HELLO), Bytes::new());
        match timeout(ANSWER, asked).await {
            Ok(Ok(_)) => Err(QueueError::Taken(self.settings.name.clone())),
            Ok(Err(error)) if error.kind() != RequestErrorKind::NoResponders => {
                Err(self.unreached(error))
            }
            _ => Ok(()),
        }
    }

    async fn make(&self) -> Result<PullConsumer, Failure> {
        match self.context.delete_stream(self.stream()).await {
            Err(error) if !error.to_string().contains("not found") => return Err(error.into()),
            _ => {}
        }
        let copies = self.settings.copies();
        let stream = link::made(&self.context, |copies| self.config(copies), copies).await?;
        for corner in [Corner::Any, Corner::Here] {
            self.consumer(&stream, corner.as_str(), corner.as_str().to_owned()).await?;
        }
        self.consumer(&stream, BROUGHT, format!("{BROUGHT}-{}", self.fresh())).await
    }

    async fn consumer(
        &self,
        stream: &Stream,
        what: &str,
        name: String,
    ) -> Result<PullConsumer, Failure> {
        let config = pull::Config {
            durable_name: Some(name),
            filter_subject: self.subject(what),
            ack_policy: AckPolicy::Explicit,
            ack_wait: SILENCE,
            ..pull::Config::default()
        };
        Ok(stream.create_consumer(config).await?)
    }
}

/// Hands on what is asked; who doesn't know the secret is told so.
async fn hear(place: Arc<Place>, mut hellos: Subscriber, tell: mpsc::Sender<Arrival>) {
    while let Some(message) = hellos.next().await {
        let Some(reply) = message.reply else { continue };
        let arrival = match place.seal.open("hello", &message.payload) {
            Some(content) => Arrival::Asked(Question { content, reply, place: Arc::clone(&place) }),
            None => {
                let mut headers = HeaderMap::new();
                headers.insert(REFUSED, "another secret");
                let refused = place.client.publish_with_headers(reply, headers, Bytes::new());
                // They ask again.
                let _ = refused.await;
                continue;
            }
        };
        if tell.send(arrival).await.is_err() {
            return;
        }
    }
}

/// Reads what is brought, until the consumer is gone.
async fn gather(place: Arc<Place>, consumer: PullConsumer, tell: mpsc::Sender<Arrival>) {
    let mut pieces = Pieces::default();
    let name = consumer.cached_info().name.clone();
    loop {
        // Why nothing could be read is asked, since NATS tells it in many ways.
        if read(&place, &consumer, &mut pieces, &tell).await.is_ok() {
            continue;
        }
        let known =
            place.context.get_consumer_from_stream::<pull::Config, _, _>(&name, place.stream());
        if let Ok(Err(told)) = timeout(ANSWER, known).await
            && let ConsumerErrorKind::JetStream(told) = told.kind()
            && matches!(
                told.error_code(),
                ErrorCode::CONSUMER_NOT_FOUND | ErrorCode::STREAM_NOT_FOUND
            )
        {
            let ended = QueueError::PutOff(place.settings.name.clone());
            // Nobody may wait for it any more.
            let _ = tell.send(Arrival::Ended(ended)).await;
            return;
        }
        sleep(AGAIN_AFTER).await;
    }
}

async fn read(
    place: &Place,
    consumer: &PullConsumer,
    pieces: &mut Pieces,
    tell: &mpsc::Sender<Arrival>,
) -> Result<(), Failure> {
    let mut batch = consumer.batch().max_messages(BATCH).expires(WAIT).messages().await?;
    while let Some(message) = batch.next().await {
        let message = message?;
        if let Some((number, sealed)) = taken(pieces, &message) {
            let content =
                sealed.and_then(|sealed| place.seal.open(&purpose("brought", number), &sealed));
            tell.send(Arrival::Brought(number, content)).await?;
        }
        // It is in memory now; if this process ends, the work is given anew by its successor.
        message.ack().await?;
    }
    Ok(())
}

/// What is whole with this message.
fn taken(pieces: &mut Pieces, message: &Message) -> Option<(u64, Option<Vec<u8>>)> {
    let headers = message.headers.as_ref()?;
    let number = number(Some(headers))?;
    let mut piece = headers.get(super::taker::PIECE)?.as_str().split('/');
    let mark = piece.next()?;
    let (at, count): (usize, usize) = (piece.next()?.parse().ok()?, piece.next()?.parse().ok()?);
    let whole = pieces.take(mark, at, at + 1 == count, message.payload.clone())?;
    Some((number, whole))
}

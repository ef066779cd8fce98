//! Who takes work, and brings what came of it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::RequestErrorKind;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{AckKind, Message};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::giver::REFUSED;
use super::pieces::cut;
use super::{
    ANSWER, BROUGHT, CONTENT_BYTES_MAX, Corner, HELLO, NUMBER, Place, QueueError, SAYING, number,
    purpose,
};
use crate::link::Failure;
use crate::settings::Settings;

/// How long work is waited for before it is looked whether there is anybody.
const WAIT: Duration = Duration::from_secs(2);
/// The field that says which piece of what was brought a message is.
pub(super) const PIECE: &str = "Wick-Piece";

/// Who takes work.
pub struct Taker {
    place: Arc<Place>,
}

/// A piece of work that was taken.
pub struct Taken {
    /// What there is to do.
    pub content: Vec<u8>,
    /// How often it was taken, this time included.
    pub times: u64,
    number: u64,
    message: Message,
    place: Arc<Place>,
}

impl Taker {
    /// Finds the NATS servers; whether there is a queue is seen by asking.
    ///
    /// # Errors
    /// They aren't reached.
    pub async fn reach(settings: Settings, secret: &str) -> Result<Self, QueueError> {
        Ok(Self { place: Arc::new(Place::reach(settings, secret).await?) })
    }

    /// Where the NATS servers are.
    #[must_use]
    pub fn shown(&self) -> String {
        self.place.settings.shown()
    }

    /// Asks who gives; none if nobody is there, or doesn't answer.
    ///
    /// # Errors
    /// They have another secret.
    pub async fn ask(&self, content: &[u8]) -> Result<Option<Vec<u8>>, QueueError> {
        let Some(sealed) = self.place.seal.seal("hello", content) else { return Ok(None) };
        let asked = self.place.client.request(self.place.subject(HELLO), sealed.into());
        let Ok(Ok(answer)) = timeout(ANSWER, asked).await else { return Ok(None) };
        if answer.headers.is_some_and(|headers| headers.get(REFUSED).is_some()) {
            return Err(QueueError::Secret);
        }
        Ok(self.place.seal.open("answer", &answer.payload))
    }

    /// Whether it is certain that there is neither who gives nor a queue.
    pub async fn is_gone(&self) -> bool {
        let asked = self.place.client.request(self.place.subject(HELLO), Bytes::new());
        let is_alone = matches!(
            timeout(ANSWER, asked).await,
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders
        );
        let stream = timeout(ANSWER, self.place.context.get_stream(self.place.stream())).await;
        is_alone && matches!(stream, Ok(Err(error)) if error.to_string().contains("not found"))
    }

    /// Takes work; none if there was none for a while.
    ///
    /// # Errors
    /// There is no queue, or it isn't reached.
    pub async fn take(&self, corner: Corner) -> Result<Option<Taken>, QueueError> {
        let taken = timeout(WAIT + 2 * ANSWER, self.fetch(corner)).await;
        match taken {
            Ok(taken) => taken.map_err(|error| self.place.unreached(error)),
            Err(_) => Err(self.place.unreached("no answer")),
        }
    }

    async fn fetch(&self, corner: Corner) -> Result<Option<Taken>, Failure> {
        let (context, stream) = (&self.place.context, self.place.stream());
        let consumer =
            context.get_consumer_from_stream::<pull::Config, _, _>(corner.as_str(), stream).await?;
        let mut batch = consumer.batch().max_messages(1).expires(WAIT).messages().await?;
        let Some(message) = batch.next().await.transpose()? else { return Ok(None) };
        let times = u64::try_from(message.info()?.delivered).unwrap_or(1);
        let Some(number) = number(message.headers.as_ref()) else {
            message.ack().await?;
            return Ok(None);
        };
        let content = self.place.seal.open(&purpose("work", number), &message.payload);
        let Some(content) = content else {
            // It is none of this queue's.
            message.ack().await?;
            return Ok(None);
        };
        let place = Arc::clone(&self.place);
        Ok(Some(Taken { content, times, number, message, place }))
    }
}

impl Taken {
    /// Says again and again that it is being done. It doesn't end.
    pub async fn hold(&self) {
        loop {
            sleep(SAYING).await;
            // What isn't heard gives the work to another, which costs its being done twice.
            let _ = self.message.ack_with(AckKind::Progress).await;
        }
    }

    /// Brings what came of it; from then on nobody else does it.
    ///
    /// # Errors
    /// It is too large, or NATS has been gone for a while: another does it.
    pub async fn bring(self, content: &[u8]) -> Result<(), QueueError> {
        let number = self.number;
        let sealed = self.place.seal.seal(&purpose(BROUGHT, number), content);
        let sealed = sealed.filter(|sealed| sealed.len() <= CONTENT_BYTES_MAX);
        let sealed = Bytes::from(sealed.ok_or(QueueError::TooLarge(content.len()))?);
        let (mark, pieces) = (self.place.fresh(), cut(&sealed));
        let count = pieces.len();
        for (at, piece) in pieces.into_iter().enumerate() {
            // The last one has the work's name: of two bringings NATS takes the first.
            let is_last = at + 1 == count;
            let name = if is_last { format!("b{number}") } else { format!("{mark}-{at}") };
            let headers = [(NUMBER, number.to_string()), (PIECE, format!("{mark}/{at}/{count}"))];
            self.place.send(BROUGHT, &name, &headers, piece).await?;
        }
        // Unheard, it is done once more and brought for nothing.
        let _ = self.message.ack().await;
        Ok(())
    }
}

//! A node of the cluster: what the rest of the program holds.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{Client, jetstream};
use base::complaint::complain;
use base::{Clock, Counter, Shutdown};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use crate::calm::{Asks, Calm, Traffic};
use crate::deposits::{Deposits, Untold};
use crate::figures::{Figures, Look};
use crate::hearing::{Arrival, Hearing};
use crate::lags::Lags;
use crate::lease::Word;
use crate::link;
use crate::outbox::Outbox;
use crate::roll::Place;
use crate::said::{FORM, Said};
use crate::seal::Seal;
use crate::settings::Settings;
use crate::status::Status;

/// Times that a node speaks within a lag limit.
const WORDS_A_LAG: u32 = 8;

/// Who obeys what others tell.
pub trait Ears: Send + Sync {
    /// Another node tells this.
    fn hear(&self, news: &str);
    /// Something may have been missed: all that is older may have changed.
    fn missed(&self);
    /// Another node says this beside the stream ([`Node::say_aside`]).
    fn hear_aside(&self, _bytes: &[u8]) {}
}

/// Where the words about a source go to.
pub type Sink = Arc<dyn Fn(Word) + Send + Sync>;

/// This process among the others.
pub struct Node {
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    run: Run,
    /// Until which tick this node is in touch; whoever looks at each request has it too.
    heard_until: Arc<AtomicU64>,
    pub(crate) inner: Mutex<Inner>,
    /// Something waits to be said.
    pub(crate) waits: Notify,
    /// How many things that were told the stream has.
    pub(crate) acknowledged: watch::Sender<u64>,
    /// Up to where all that was heard is obeyed.
    pub(crate) obeyed: watch::Sender<Place>,
    pub(crate) draining: AtomicBool,
    told: Counter,
    heard: Counter,
    missed: Counter,
    lags: Lags,
    error: Mutex<Option<String>>,
    /// Whether its name must be written anew.
    pub(crate) name_goes: AtomicBool,
    sinks: Mutex<HashMap<String, Sink>>,
    /// What is to be said beside the stream.
    pub(crate) aside: Mutex<VecDeque<Vec<u8>>>,
    pub(crate) aside_waits: Notify,
    /// The way to NATS, once it was found.
    pub(crate) client: Mutex<Option<Client>>,
    /// What it lays down for the others; none without a secret.
    pub(crate) deposits: Option<Deposits>,
    asking: Mutex<BTreeMap<String, Asking>>,
    pub(crate) figures: Figures,
}

/// What this node asks of what is behind a source.
pub type Asked = Arc<dyn Fn() -> Traffic + Send + Sync>;

struct Asking {
    look: Asked,
    hushes: bool,
}

/// Which run of a node this process is.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// A number that no other run has, and never 0.
    pub instance: u64,
    /// Whether the run before is still there and says goodbye itself.
    pub is_successor: bool,
}

pub(crate) struct Inner {
    pub(crate) outbox: Outbox,
    pub(crate) hearing: Hearing,
    /// Which stream it is that is heard; another one has another number.
    pub(crate) stream: u64,
    /// The last number given out.
    pub(crate) number: u64,
    /// That of the last message in which something is told.
    pub(crate) told_number: u64,
    /// What the stream may not have yet, and how many things are told with it.
    unsaid: Option<(Said, u64)>,
}

impl Node {
    /// One that speaks once [`Node::run`] runs. `heard_until` is moved on as it hears.
    #[must_use]
    pub fn new(
        settings: Settings,
        clock: Clock,
        run: Run,
        heard_until: Arc<AtomicU64>,
    ) -> Arc<Self> {
        let lag_ms = u64::try_from(settings.lag.as_millis()).unwrap_or(u64::MAX);
        let hearing = Hearing::new(&settings.node, run.instance, lag_ms);
        let deposits = Deposits::of(&settings, &clock);
        Arc::new(Self {
            settings,
            clock,
            run,
            heard_until,
            inner: Mutex::new(Inner {
                outbox: Outbox::default(),
                hearing,
                stream: 0,
                number: 0,
                told_number: 0,
                unsaid: None,
            }),
            waits: Notify::new(),
            acknowledged: watch::Sender::new(0),
            obeyed: watch::Sender::default(),
            draining: AtomicBool::new(false),
            told: Counter::default(),
            heard: Counter::default(),
            missed: Counter::default(),
            lags: Lags::default(),
            error: Mutex::new(None),
            name_goes: AtomicBool::new(false),
            sinks: Mutex::default(),
            aside: Mutex::default(),
            aside_waits: Notify::new(),
            client: Mutex::default(),
            asking: Mutex::default(),
            figures: Figures::default(),
            deposits,
        })
    }

    /// Tells all others.
    pub fn tell(&self, news: String) {
        self.inner.lock().outbox.put(news);
        self.told.bump();
        self.waits.notify_one();
    }

    /// Returns when all that was told until now is where nobody in touch can miss it, or when
    /// nobody trusts any more that this node has told all.
    pub async fn settled(&self) {
        let count = self.inner.lock().outbox.put_count();
        let mut acknowledged = self.acknowledged.subscribe();
        loop {
            let until = self.inner.lock().hearing.trusted_until();
            let left_ms = until.saturating_sub(self.clock.now().ticks_ms);
            if left_ms == 0 || *acknowledged.borrow_and_update() >= count {
                return;
            }
            tokio::select! {
                _ = acknowledged.changed() => {}
                () = sleep(Duration::from_millis(left_ms)) => {}
            }
        }
    }

    /// By what is sealed that is for the nodes alone; none: the cluster has no secret, and this
    /// node lays nothing down for the others.
    #[must_use]
    pub fn cluster_seal(&self) -> Option<&Arc<Seal>> {
        self.deposits.as_ref().map(|deposits| &deposits.seal)
    }

    /// Lays this down under a name, for whichever node looks for it within a day. It never
    /// waits, and may be lost.
    pub fn lay_down(&self, name: &[u8], content: &[u8]) {
        if let Some(deposits) = &self.deposits {
            deposits.lay_down(name, content);
        }
    }

    /// The same at once; whether NATS has it, which is waited for for a second at most.
    pub async fn lay_down_surely(&self, name: &[u8], content: &[u8]) -> bool {
        let client = self.client.lock().clone();
        let (Some(deposits), Some(client)) = (&self.deposits, client) else { return false };
        deposits.lay_down_surely(&jetstream::new(client), name, content).await
    }

    /// What a node laid down last under this name; none where nothing lies there.
    ///
    /// # Errors
    /// It can't be told within a second, or at all without a secret.
    pub async fn find(&self, name: &[u8]) -> Result<Option<Vec<u8>>, Untold> {
        self.deposits.as_ref().ok_or(Untold)?.find(name).await
    }

    /// Closes what only nodes of this cluster may read, to tell it; none without a secret.
    #[must_use]
    pub fn seal(&self, content: &[u8]) -> Option<String> {
        self.deposits.as_ref()?.seal(content)
    }

    /// Opens what one of them closed within the last hour; none if none did.
    #[must_use]
    pub fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        self.deposits.as_ref()?.open(sealed)
    }

    /// Tells all others that a node is gone for good; false if none of that name is known.
    pub fn forget(&self, node: &str) -> bool {
        let mut inner = self.inner.lock();
        let is_known = inner.hearing.members().iter().any(|member| member.node == node);
        if is_known {
            inner.outbox.put_gone(node.to_owned());
        }
        drop(inner);
        self.waits.notify_one();
        is_known
    }

    /// Wants a source that one node reads for all, by the name that all have for it; `sink` hears
    /// of it. False: somebody here wants it already.
    pub fn want(&self, source: &str, sink: Sink) -> bool {
        let ticks_ms = self.clock.now().ticks_ms;
        let is_taken = self.inner.lock().hearing.leases.want(source, ticks_ms);
        if is_taken {
            self.sinks.lock().insert(source.to_owned(), sink);
        }
        is_taken
    }

    /// Wants it no more.
    pub fn leave(&self, source: &str) {
        self.inner.lock().hearing.leases.leave(source);
        self.sinks.lock().remove(source);
        self.asking.lock().remove(source);
        self.waits.notify_one();
    }

    /// Shows the others what is asked here of what is behind a source, until it is left.
    pub fn show_traffic(&self, source: &str, look: Asked) {
        self.asking.lock().insert(source.to_owned(), Asking { look, hushes: false });
    }

    /// Whether the others shall be quiet for a while.
    pub fn hush(&self, source: &str, hushes: bool) {
        if let Some(asking) = self.asking.lock().get_mut(source) {
            asking.hushes = hushes;
        }
        self.waits.notify_one();
    }

    /// When the others asked what is behind a source for nothing.
    #[must_use]
    pub fn calm(&self, source: &str) -> Calm {
        self.inner.lock().hearing.calm(source)
    }

    fn hushes(&self) -> bool {
        self.asking.lock().values().any(|asking| asking.hushes)
    }

    fn asks(&self) -> Vec<Asks> {
        let asking = self.asking.lock();
        let said = |(key, Asking { look, hushes }): (&String, &Asking)| {
            let Traffic { begun, is_quiet } = look();
            Asks { key: key.clone(), begun, is_quiet, hushes: *hushes }
        };
        asking.iter().map(said).collect()
    }

    /// As its reader: it can't be read from here, so another shall, and this node waits so long
    /// before it tries again.
    pub fn rest(&self, source: &str, rest: Duration) {
        let until = self.clock.now().ticks_ms + u64::try_from(rest.as_millis()).unwrap_or(0);
        self.inner.lock().hearing.leases.rest(source, until);
        self.waits.notify_one();
    }

    /// As its reader by `epoch`, tells all others what was heard of it.
    pub fn tell_read(&self, source: &str, epoch: u64, news: String) {
        self.inner.lock().outbox.put_read(source, epoch, news);
        self.told.bump();
        self.waits.notify_one();
    }

    /// As its reader: following it has begun so often, zero if it isn't followed now; and all is
    /// told that was heard of it when [`Node::place`] was that.
    pub fn read_on(&self, source: &str, epoch: u64, begun: u64, place: u64) {
        self.inner.lock().hearing.leases.read_on(source, epoch, begun, place);
    }

    /// All is obeyed that was heard before [`Word::Until`] with this place.
    pub fn note_obeyed(&self, source: &str, place: u64) {
        // What follows from it is noted with the next message, when what that tells is obeyed too.
        self.inner.lock().hearing.leases.obeyed(source, place);
    }

    /// The place in the stream up to which it has come for sure; zero: not known.
    #[must_use]
    pub fn place(&self) -> u64 {
        self.inner.lock().hearing.own_sequence()
    }

    /// Speaks and hears until the signal to stop, and says goodbye then.
    pub async fn run(self: Arc<Self>, ears: Arc<dyn Ears>, shutdown: Shutdown) {
        link::hold(self, ears, shutdown).await;
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.clock.now().ticks_ms;
        let inner = self.inner.lock();
        let until = inner.hearing.heard_until();
        Status {
            node: self.settings.node.clone(),
            cluster: self.settings.name.clone(),
            servers: self.settings.shown(),
            is_in_touch: until > now,
            lag_ms: u64::try_from(self.settings.lag.as_millis()).unwrap_or(u64::MAX),
            in_touch_for_ms: until.cast_signed().wrapping_sub(now.cast_signed()),
            told: self.told.read(),
            heard: self.heard.read(),
            missed: self.missed.read(),
            heard_back: self.lags.read(),
            listen: self.settings.listen,
            is_draining: self.is_draining(),
            waiting: inner.outbox.len(),
            members: inner.hearing.members(),
            readings: inner.hearing.leases.readings(),
            error: self.error.lock().clone(),
            deposits: self.deposits.as_ref().map(Deposits::counts),
        }
    }

    /// Tells the others once a second what `look` says of this node.
    pub fn show_figures(&self, look: Look) {
        self.figures.set_own(look);
    }

    /// What another node said of itself last, and how many milliseconds ago.
    #[must_use]
    pub fn figures_of(&self, node: &str) -> Option<(u64, String)> {
        self.figures.of(node, self.ticks_ms())
    }

    pub(crate) fn ticks_ms(&self) -> u64 {
        self.clock.now().ticks_ms
    }

    /// Its name.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.settings.node
    }

    /// How often it speaks at least.
    #[must_use]
    pub fn beat(&self) -> Duration {
        self.settings.lag / WORDS_A_LAG
    }

    /// The message that the stream may not have yet, or the next one, with all that waits and has
    /// room in it.
    pub(crate) fn next_said(&self, is_leaving: bool) -> Said {
        let mut inner = self.inner.lock();
        if let Some((said, _)) = &inner.unsaid {
            return said.clone();
        }
        inner.number += 1;
        let mut said = Said {
            form: FORM,
            node: self.settings.node.clone(),
            instance: self.run.instance,
            is_successor: self.run.is_successor,
            number: inner.number,
            ..Said::default()
        };
        inner.outbox.fill(&mut said);
        // Until now the only leads are those with news of what is read for all.
        if !said.news.is_empty() || !said.leads.is_empty() || said.has_lost {
            inner.told_number = said.number;
        }
        said.is_draining = self.is_draining();
        let listen = self.settings.listen.filter(|_| !said.is_draining && !is_leaving);
        said.listen = listen.map(|address| address.to_string());
        let is_all_told = inner.outbox.is_empty();
        if is_all_told {
            said.told_until = inner.hearing.own_sequence();
            said.is_goodbye = is_leaving;
        }
        let gone_out = inner.outbox.gone_out();
        let ticks_ms = self.clock.now().ticks_ms;
        let spoke_ms = inner.hearing.spoke_ticks_ms();
        // Behind the place that is said: what was begun before it was heard is counted.
        said.asks = Some(self.asks());
        inner.hearing.leases.fill(&mut said, is_all_told, spoke_ms, ticks_ms);
        inner.unsaid = Some((said.clone(), gone_out));
        inner.hearing.note_sent(said.number, ticks_ms);
        said
    }

    pub(crate) fn has_words(&self) -> bool {
        !self.inner.lock().outbox.is_empty()
    }

    /// The stream has what was last to be said.
    pub(crate) fn note_said(&self) {
        if let Some((_, gone_out)) = self.inner.lock().unsaid.take() {
            self.acknowledged.send_replace(gone_out);
        }
    }

    pub(crate) fn note_known(&self, node: &str) {
        self.inner.lock().hearing.note_known(node);
    }

    pub(crate) fn sequence(&self) -> Option<u64> {
        self.inner.lock().hearing.sequence()
    }

    /// This is the stream that is heard from now on.
    pub(crate) fn note_stream(&self, stream: u64) {
        self.inner.lock().stream = stream;
    }

    pub(crate) fn begin_anew(&self, behind: u64, ears: &dyn Ears) {
        let (words, stream) = {
            let mut inner = self.inner.lock();
            (inner.hearing.begin_anew(behind), inner.stream)
        };
        self.missed.bump();
        ears.missed();
        self.pass_on(words);
        self.obeyed.send_replace(Place { stream, sequence: behind });
    }

    fn pass_on(&self, words: Vec<(String, Word)>) {
        for (source, word) in words {
            let sink = self.sinks.lock().get(&source).cloned();
            if let Some(sink) = sink {
                sink(word);
            }
        }
    }

    /// Has a message obeyed; only then it counts as heard.
    pub(crate) fn take(&self, arrival: Arrival, ears: &dyn Ears) {
        let (heard, place) = {
            let mut inner = self.inner.lock();
            let ticks_ms = self.clock.now().ticks_ms;
            let heard = inner.hearing.take(arrival, ticks_ms);
            if let Some(milliseconds) = inner.hearing.take_returned_after_ms() {
                self.lags.note(milliseconds);
            }
            let sequence = inner.hearing.sequence().unwrap_or(0);
            (heard, Place { stream: inner.stream, sequence })
        };
        // Who waits for it wants to know. Two who ask at once would answer each other for ever.
        if heard.is_asked_for_quiet && !self.hushes() {
            self.waits.notify_one();
        }
        if heard.own_name_goes {
            self.name_goes.store(true, Ordering::Release);
        }
        if heard.has_twin {
            complain(format_args!(
                "cluster: another Wick calls itself {} too; give each a node of its own in [cluster]",
                self.settings.node
            ));
        }
        if heard.missed {
            self.missed.bump();
            ears.missed();
        }
        for news in &heard.news {
            self.heard.bump();
            ears.hear(news);
        }
        self.pass_on(heard.words);
        self.obeyed.send_replace(place);
        let until = self.inner.lock().hearing.heard_until();
        self.heard_until.store(until, Ordering::SeqCst);
    }

    /// What keeps it from speaking or hearing; whether all was well before.
    pub(crate) fn note_error(&self, error: Option<String>) -> bool {
        std::mem::replace(&mut *self.error.lock(), error).is_none()
    }
}

//! Certificates that all nodes of a cluster have together: one orders, all serve, and a CA is
//! answered by whichever node it asks.
//!
//! What is kept lies in the cluster's bucket (certificates with their keys, accounts, and how the
//! last try went), what passes is told through its stream (proofs, and of whom something was
//! kept); both are sealed by the secret in `[cluster]`. Whose turn it is to order is decided as it
//! is for sources that one node reads for all, by a claim in the stream.
//! Bounds: [`FOREIGN_MAX`] proofs of other nodes, [`FOREIGN_LIFE`] each; [`CHANGED_MAX`] names to
//! be looked at, past which all are; [`PATIENCE`] for the others to hear of a proof.
//! Invariants: 1. no key and no account leaves this node in the clear. 2. no proof is shown, and
//! nothing is served, that wasn't sealed by the secret. Start at [`Fellows::turn`]; why it is so:
//! `docs/decisions/certificates-of-many-nodes.md`.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base::complaint::complain;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cluster::{KeepError, Node, Seal, Word};
use ring::digest::{SHA256, digest};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use server::{Shown, Tls};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::proof::Proof;

/// By which name nodes claim that it is their turn.
pub(crate) const TURN: &str = "certificates";
/// How news of certificates begins; no other news does.
const NEWS: &str = "certificates ";
/// How long the others may take to hear of a proof before the CA is told to look.
const PATIENCE: Duration = Duration::from_secs(5);
/// Proofs of other nodes that are shown; there is one order at a time.
const FOREIGN_MAX: usize = 32;
/// How long one is shown whose node never says that it is over.
const FOREIGN_LIFE: Duration = Duration::from_secs(300);
/// Names that others have kept something of, until somebody looks.
const CHANGED_MAX: usize = 1024;
/// Between two tries where an earlier keeper of this process still has its turn.
const LOOK: Duration = Duration::from_millis(10);

/// What nodes tell each other of certificates.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum News {
    /// A CA is about to look for this.
    Show(Proof),
    /// It has looked.
    Hide { name: String, token: String },
    /// Something was kept of this name.
    Kept { name: String },
    /// What is shown at the moment? Who tells may have missed it.
    Ask {},
}

/// How the tries went since a certificate was got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Tries {
    /// Setbacks of each kind.
    pub(crate) unheard: u32,
    pub(crate) refused: u32,
    /// The second of unix time before which nobody tries again.
    pub(crate) not_before: i64,
}

/// Of which names others have kept something.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// Of any.
    pub(crate) all: bool,
    pub(crate) names: BTreeSet<String>,
}

/// The way to the other nodes.
pub(crate) struct Fellows {
    node: Arc<Node>,
    seal: Arc<Seal>,
    tls: Arc<Tls>,
    /// What this node has all others show.
    own: Mutex<Vec<Proof>>,
    /// What is shown here for others, by name.
    foreign: Mutex<HashMap<String, Foreign>>,
    changed: Mutex<Changed>,
    waits: Notify,
    is_other_secret_told: AtomicBool,
    /// Whether the last that was kept, or asked for, could not be.
    is_failing: AtomicBool,
}

struct Foreign {
    token: String,
    since: Instant,
    /// Shown until it goes.
    _shown: Shown,
}

/// That it is this node's turn to order, until it is dropped.
pub(crate) struct Turn {
    node: Arc<Node>,
    /// Zero: it isn't.
    epoch: watch::Receiver<u64>,
}

/// That all nodes show a proof, until it is dropped.
pub(crate) struct Spread {
    fellows: Arc<Fellows>,
    name: String,
    token: String,
}

/// Whether news is of certificates.
pub(crate) fn is_news(text: &str) -> bool {
    text.starts_with(NEWS)
}

impl Fellows {
    /// `tls` is the server's.
    pub(crate) fn new(node: Arc<Node>, seal: Arc<Seal>, tls: Arc<Tls>) -> Arc<Self> {
        Arc::new(Self {
            node,
            seal,
            tls,
            own: Mutex::default(),
            foreign: Mutex::default(),
            changed: Mutex::default(),
            waits: Notify::new(),
            is_other_secret_told: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
        })
    }

    /// Another node tells this. False: it is of something else.
    pub(crate) fn hear(&self, text: &str) -> bool {
        let Some(sealed) = text.strip_prefix(NEWS) else { return false };
        let opened = STANDARD.decode(sealed).ok().and_then(|sealed| self.open(TURN, &sealed));
        match opened.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(News::Show(proof)) => self.show_foreign(&proof),
            Some(News::Hide { name, token }) => {
                let mut foreign = locked(&self.foreign);
                if foreign.get(&name).is_some_and(|shown| shown.token == token) {
                    foreign.remove(&name);
                }
            }
            Some(News::Kept { name }) => self.note_changed(Some(name)),
            Some(News::Ask {}) => {
                locked(&self.own).iter().for_each(|proof| self.tell(&News::Show(proof.clone())));
            }
            // A later version may tell more; what it keeps is looked at.
            None => self.note_changed(None),
        }
        true
    }

    /// Something may have been missed, as it is when a node begins.
    pub(crate) fn missed(&self) {
        self.note_changed(None);
        self.tell(&News::Ask {});
    }

    fn show_foreign(&self, proof: &Proof) {
        let mut foreign = locked(&self.foreign);
        foreign.retain(|_, shown| shown.since.elapsed() < FOREIGN_LIFE);
        // First, since what goes takes with it what is shown of its name.
        foreign.remove(&proof.name);
        if foreign.len() >= FOREIGN_MAX {
            return complain("too many proofs of other nodes at a time; a CA may ask here in vain");
        }
        match proof.show(&self.tls) {
            Ok(shown) => {
                let (token, since) = (proof.token.clone(), Instant::now());
                let shown = Foreign { token, since, _shown: shown };
                foreign.insert(proof.name.clone(), shown);
            }
            Err(why) => complain(format_args!(
                "another node's proof for {} can't be shown here: {why}",
                proof.name
            )),
        }
    }

    fn note_changed(&self, name: Option<String>) {
        let mut changed = locked(&self.changed);
        match name.filter(|_| changed.names.len() < CHANGED_MAX) {
            Some(name) => _ = changed.names.insert(name),
            None => *changed = Changed { all: true, ..Changed::default() },
        }
        drop(changed);
        self.waits.notify_one();
    }

    /// Of what there is news, if there is any; that is forgotten then.
    pub(crate) fn take_changed(&self) -> Changed {
        std::mem::take(&mut locked(&self.changed))
    }

    /// Is over when there is news.
    pub(crate) async fn changed(&self) {
        loop {
            let waits = self.waits.notified();
            let changed = { locked(&self.changed).has_any() };
            if changed {
                return;
            }
            waits.await;
        }
    }

    /// Has every node show a proof, and waits until those that are there do.
    pub(crate) async fn show(self: &Arc<Self>, proof: &Proof) -> Spread {
        let Proof { name, token, .. } = proof.clone();
        locked(&self.own).push(proof.clone());
        self.tell(&News::Show(proof.clone()));
        let spread = Spread { fellows: self.clone(), name, token };
        if !self.node.heard_by_all(PATIENCE).await {
            complain(format_args!(
                "not all nodes have heard within {} s of the proof for {}; if the CA asks one \
                 that hasn't, the order fails and is tried again",
                PATIENCE.as_secs(),
                proof.name
            ));
        }
        spread
    }

    /// Waits until it is this node's turn to order.
    pub(crate) async fn turn(&self) -> Turn {
        let (tell, epoch) = watch::channel(0);
        let sink = Arc::new(move |word| match word {
            Word::Ours(epoch) => _ = tell.send_replace(epoch),
            Word::Theirs => _ = tell.send_replace(0),
            _ => {}
        });
        while !self.node.want(TURN, sink.clone()) {
            sleep(LOOK).await;
        }
        let mut turn = Turn { node: self.node.clone(), epoch };
        // The sink is kept as long as it is wanted.
        let _ = turn.epoch.wait_for(|epoch| *epoch != 0).await;
        turn
    }

    /// The certificate that is kept of a name, with its key.
    pub(crate) async fn certificate(&self, name: &str) -> Result<Option<String>, KeepError> {
        self.kept(&format!("certificate.{name}")).await
    }

    /// Keeps one for all nodes, and tells them.
    pub(crate) async fn keep_certificate(&self, name: &str, text: &str) -> Result<(), KeepError> {
        self.keep(&format!("certificate.{name}"), &text).await?;
        self.tell(&News::Kept { name: name.to_owned() });
        Ok(())
    }

    /// How the last tries of a name went, on whichever node.
    pub(crate) async fn tries(&self, name: &str) -> Result<Tries, KeepError> {
        Ok(self.kept(&format!("tries.{name}")).await?.unwrap_or_default())
    }

    /// The same, to be known by all.
    pub(crate) async fn keep_tries(&self, name: &str, tries: Tries) -> Result<(), KeepError> {
        self.keep(&format!("tries.{name}"), &tries).await
    }

    /// The account that all nodes have at a CA.
    pub(crate) async fn account(&self, directory: &str) -> Result<Option<String>, KeepError> {
        let account: Option<String> = self.kept(&account_key(directory)).await?;
        Ok(account.filter(|text| !text.is_empty()))
    }

    /// The same from now on; an empty one is none.
    pub(crate) async fn keep_account(&self, directory: &str, text: &str) -> Result<(), KeepError> {
        self.keep(&account_key(directory), &text).await
    }

    /// Something could be kept and asked for, or not; what begins to fail is told once.
    pub(crate) fn note(&self, failure: Option<&KeepError>) {
        let was_failing = self.is_failing.swap(failure.is_some(), Ordering::Relaxed);
        if let Some(error) = failure.filter(|_| !was_failing) {
            complain(format_args!(
                "cluster: the other nodes' certificates can't be asked for or kept ({error}); this \
                 node serves those that it has, and orders none until they can"
            ));
        }
    }

    async fn keep(&self, key: &str, value: &impl Serialize) -> Result<(), KeepError> {
        let wrong = || KeepError::Refused("this can't be sealed".to_owned());
        let text = serde_json::to_vec(value).map_err(|_| wrong())?;
        self.node.keep(key, self.seal.seal(key, &text).ok_or_else(wrong)?).await
    }

    async fn kept<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, KeepError> {
        let Some(sealed) = self.node.kept(key).await? else { return Ok(None) };
        let opened = self.open(key, &sealed);
        Ok(opened.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    fn open(&self, purpose: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let opened = self.seal.open(purpose, sealed);
        if opened.is_none() && !self.is_other_secret_told.swap(true, Ordering::Relaxed) {
            complain(
                "cluster: what another node keeps of certificates was sealed by another secret; \
                 write the same secret in [cluster] on all nodes",
            );
        }
        opened
    }

    fn tell(&self, news: &News) {
        let text = serde_json::to_vec(news).unwrap_or_default();
        // It is short, so it can always be sealed.
        let sealed = self.seal.seal(TURN, &text).unwrap_or_default();
        self.node.tell(format!("{NEWS}{}", STANDARD.encode(sealed)));
    }
}

impl Changed {
    pub(crate) fn has_any(&self) -> bool {
        self.all || !self.names.is_empty()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.all || self.names.contains(name)
    }
}

impl Turn {
    /// Keeps the turn, and is over when it is lost: another node may order from then on.
    pub(crate) async fn keep(&self) {
        let mut epoch = self.epoch.clone();
        let own = *epoch.borrow_and_update();
        while own != 0 && *epoch.borrow() == own {
            self.node.read_on(TURN, own, 1, self.node.place());
            tokio::select! {
                () = sleep(self.node.beat() / 2) => {}
                changed = epoch.changed() => if changed.is_err() { return },
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.node.leave(TURN);
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        let (name, token) = (std::mem::take(&mut self.name), std::mem::take(&mut self.token));
        locked(&self.fellows.own).retain(|proof| proof.token != token);
        self.fellows.tell(&News::Hide { name, token });
    }
}

/// An address has letters that no key may have.
fn account_key(directory: &str) -> String {
    let digest = digest(&SHA256, directory.as_bytes());
    let digits: Vec<_> = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("account.{}", digits.concat())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use base::Clock;
    use cluster::{Run, Settings};

    use super::super::proof::Way;
    use super::*;

    fn fellows(secret: &str) -> Arc<Fellows> {
        let lag = Duration::from_secs(1);
        let settings = Settings::new("a.test", "c", "a", lag, None).expect("they are good");
        let run = Run { instance: 1, is_successor: false };
        let node = Node::new(settings, Clock::manual(0), run, Arc::new(AtomicU64::new(0)));
        let seal = Seal::new(secret, "c");
        Fellows::new(node, Arc::new(seal), Tls::new().expect("TLS"))
    }

    fn sealed(by: &Fellows, news: &News) -> String {
        let text = serde_json::to_vec(news).expect("it can be written");
        format!("{NEWS}{}", STANDARD.encode(by.seal.seal(TURN, &text).expect("it is sealed")))
    }

    fn proof(way: Way, name: &str, token: &str) -> Proof {
        let text = format!("{token}.thumb");
        Proof { way, name: name.to_owned(), token: token.to_owned(), text }
    }

    fn shown(fellows: &Fellows) -> Vec<(String, String)> {
        let foreign = locked(&fellows.foreign);
        let shown = foreign.iter().map(|(name, shown)| (name.clone(), shown.token.clone()));
        let mut shown: Vec<_> = shown.collect();
        shown.sort();
        shown
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|&(name, token)| (name.to_owned(), token.to_owned())).collect()
    }

    #[test]
    fn a_proof_is_shown_from_when_it_is_told_until_it_is_over() {
        let [teller, listener] = [(); 2].map(|()| fellows("a-secret-of-many-letters"));
        let hear = |news: News| assert!(listener.hear(&sealed(&teller, &news)));
        hear(News::Show(proof(Way::Http, "a.test", "one")));
        hear(News::Show(proof(Way::Tls, "b.test", "two")));
        assert_eq!(shown(&listener), pairs(&[("a.test", "one"), ("b.test", "two")]));
        hear(News::Show(proof(Way::Tls, "b.test", "three")));
        // Of a proof that gave way to another one.
        hear(News::Hide { name: "b.test".to_owned(), token: "two".to_owned() });
        hear(News::Hide { name: "a.test".to_owned(), token: "one".to_owned() });
        assert_eq!(shown(&listener), pairs(&[("b.test", "three")]));
        (0..2 * FOREIGN_MAX).for_each(|at| {
            hear(News::Show(proof(Way::Http, &format!("{at}.test"), "x")));
        });
        assert_eq!(shown(&listener).len(), FOREIGN_MAX);
    }

    #[test]
    fn nothing_is_shown_that_the_secret_did_not_seal_and_no_other_news_is_taken() {
        let listener = fellows("a-secret-of-many-letters");
        let news = News::Show(proof(Way::Http, "a.test", "one"));
        let plain = serde_json::to_string(&news).expect("it can be written");
        let stranger = sealed(&fellows("a-secret-of-other-letters"), &news);
        for text in
            [stranger, format!("{NEWS}{plain}"), format!("{NEWS}{}", STANDARD.encode(plain))]
        {
            assert!(listener.hear(&text), "it is of certificates");
            assert!(shown(&listener).is_empty(), "{text}");
        }
        assert!(!listener.hear(r#"{"hosts":["a.test"],"purged":{}}"#));
    }

    #[test]
    fn who_begins_is_told_what_is_shown_at_the_moment() {
        let [begins, other] = [(); 2].map(|()| fellows("a-secret-of-many-letters"));
        let waiting = || other.node.status().waiting;
        let ask = || assert!(other.hear(&sealed(&begins, &News::Ask {})));
        ask();
        assert_eq!(waiting(), 0);
        locked(&other.own).push(proof(Way::Http, "a.test", "one"));
        ask();
        assert_eq!(waiting(), 1);
        begins.missed();
        assert_eq!(begins.node.status().waiting, 1, "who may have missed something asks");
    }

    #[test]
    fn of_what_others_keep_is_known_what_changed_and_past_a_bound_all() {
        let [teller, listener] = [(); 2].map(|()| fellows("a-secret-of-many-letters"));
        let keep = |name: &str| {
            assert!(listener.hear(&sealed(&teller, &News::Kept { name: name.to_owned() })));
        };
        keep("a.test");
        let changed = listener.take_changed();
        assert!(changed.has("a.test") && !changed.has("b.test") && changed.has_any());
        assert!(!listener.take_changed().has_any());
        (0..=CHANGED_MAX).for_each(|at| keep(&format!("{at}.test")));
        let changed = listener.take_changed();
        assert!(changed.all && changed.names.is_empty());
        listener.missed();
        assert!(listener.take_changed().has("a.test"));
    }
}

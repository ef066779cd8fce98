//! A coordinator's desk, where workers come by a queue: what goes into it, and what comes out.
//!
//! Nothing of the queue itself: bytes go out and come in. A page is put into the queue only where
//! a worker is there to take it at once, so that a site's pace is kept to as where workers ask.
//! Invariants: 1. no more is away than the workers that are there have hands for. 2. what is away
//! counts once, and is given anew when it was away too long while there were workers. 3. pages of
//! the coordinator's own machine go to workers beside it alone.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;

use super::hands::{Hello, Welcome, unpack};
use super::{Crew, HANDS, Handed, VERSION};
use crate::fetch::FetchError;

/// A worker that hasn't been heard for so long is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// The queue gives work to another when its worker is gone; what is away for so long was lost by
/// the queue.
const AWAY_MAX: Duration = Duration::from_secs(600);

/// A piece of work for the queue.
#[derive(Debug)]
pub struct Errand {
    /// By what it is known; no other has it.
    pub number: u64,
    /// Whether only workers beside the coordinator may take it.
    pub is_for_here: bool,
    /// What there is to do.
    pub content: Vec<u8>,
}

/// What a coordinator knows of its queue.
pub struct Desk {
    crew: Arc<Crew>,
    machine: String,
    polls: FuturesUnordered<oneshot::Receiver<Handed>>,
    handed: VecDeque<Handed>,
    /// For how long each piece of work has been away.
    away: HashMap<u64, Duration>,
    workers: HashMap<String, Member>,
}

struct Member {
    is_here: bool,
    silent: Duration,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            crew: Arc::default(),
            machine: super::machine(),
            polls: FuturesUnordered::new(),
            handed: VecDeque::new(),
            away: HashMap::new(),
            workers: HashMap::new(),
        }
    }
}

impl Desk {
    /// Who does an audit's work.
    #[must_use]
    pub fn crew(&self) -> &Arc<Crew> {
        &self.crew
    }

    /// The next piece of work, as soon as there are hands for it. Whoever stops waiting loses
    /// nothing.
    pub async fn next(&mut self) -> Errand {
        loop {
            if let Some(handed) = self.handed.pop_front() {
                self.away.insert(handed.lease, Duration::ZERO);
                let is_for_here = self.crew.refuses(false);
                let content = serde_json::to_vec(&handed).unwrap_or_default();
                return Errand { number: handed.lease, is_for_here, content };
            }
            while self.polls.len() + self.away.len() < self.hands() {
                self.polls.push(self.crew.ask_for_long());
            }
            match self.polls.next().await {
                Some(Ok(handed)) => self.handed.push_back(handed),
                Some(Err(_)) => {}
                // There are no hands until somebody is heard.
                None => std::future::pending().await,
            }
        }
    }

    /// A worker says who it is.
    pub fn hello(&mut self, said: &[u8]) -> Vec<u8> {
        serde_json::to_vec(&self.welcome(said)).unwrap_or_default()
    }

    fn welcome(&mut self, said: &[u8]) -> Welcome {
        let Some(hello) = serde_json::from_slice::<Hello>(said).ok() else {
            return Welcome::Refused(super::another_version());
        };
        if hello.version != VERSION {
            return Welcome::Refused(super::another_version());
        }
        let is_here = hello.machine == self.machine;
        if self.crew.is_closed() || self.crew.refuses(is_here) {
            self.leave(&hello.worker);
            let refused = || Welcome::Refused(super::ELSEWHERE.to_owned());
            return if self.crew.is_closed() { Welcome::Over } else { refused() };
        }
        let member = Member { is_here, silent: Duration::ZERO };
        if self.workers.insert(hello.worker.clone(), member).is_none() {
            self.crew.join(&hello.worker);
        }
        Welcome::In { is_here }
    }

    /// What came of a piece of work; none if it can't be read.
    pub fn brought(&mut self, number: u64, packed: Option<&[u8]>) {
        let outcome = packed.and_then(unpack).unwrap_or(Err(FetchError::Lost));
        self.away.remove(&number);
        self.crew.done(number, outcome);
    }

    /// Looks who is gone, and what is lost; so much time has passed since the last look.
    pub fn look(&mut self, passed: Duration) {
        let gone: Vec<String> = self
            .workers
            .iter_mut()
            .filter_map(|(name, member)| {
                member.silent += passed;
                (member.silent > SILENCE).then(|| name.clone())
            })
            .collect();
        gone.iter().for_each(|name| self.leave(name));
        if self.hands() == 0 {
            return self.take_back();
        }
        let mut lost = Vec::new();
        let crew = &self.crew;
        self.away.retain(|number, away| {
            *away += passed;
            let is_lost = *away > AWAY_MAX;
            if is_lost {
                lost.push(*number);
            }
            !is_lost && crew.has_leased(*number)
        });
        lost.into_iter().for_each(|number| self.brought(number, None));
    }

    /// So much may be away.
    fn hands(&self) -> usize {
        let can = |member: &&Member| !self.crew.refuses(member.is_here);
        self.workers.values().filter(can).count() * HANDS
    }

    fn leave(&mut self, name: &str) {
        if self.workers.remove(name).is_some() {
            self.crew.leave(name);
        }
    }

    /// Nobody is there to do what would be asked for.
    fn take_back(&mut self) {
        for mut poll in std::mem::take(&mut self.polls) {
            if let Ok(handed) = poll.try_recv() {
                self.handed.push_back(handed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::{Manner, Outcome, Taken};
    use crate::kind::Tests;
    use crate::workers::hands::Hands;

    fn packed(status: u16) -> Vec<u8> {
        super::super::hands::pack(&Ok(Taken { status, ..Taken::default() }))
    }

    async fn send(crew: Arc<Crew>, page: usize) -> Outcome {
        let url = format!("http://a.test/{page}");
        crew.slot()
            .await
            .run(url, Vec::new(), Manner { tests: Tests::ALL, store_first: false })
            .await
    }

    #[tokio::test]
    async fn a_page_goes_out_when_a_worker_is_there_and_counts_once() {
        let (mut desk, hands) = (Desk::default(), Hands::new().unwrap());
        let run = tokio::spawn(send(Arc::clone(desk.crew()), 1));
        tokio::task::yield_now().await;
        let early = tokio::time::timeout(Duration::from_millis(1), desk.next()).await;
        assert!(early.is_err(), "nobody is there");
        let welcome = Hands::heard(&desk.hello(&hands.hello()));
        assert_eq!(welcome, Welcome::In { is_here: true });
        let errand = desk.next().await;
        assert!(!errand.is_for_here && desk.crew().workers() == 1);
        desk.brought(errand.number, Some(&packed(200)));
        desk.brought(errand.number, Some(&packed(500)));
        assert_eq!(run.await.unwrap().map(|taken| taken.status), Ok(200));
        assert_eq!(desk.crew().late(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_as_long_as_nobody_is_there_and_what_the_queue_lost_is_given_anew() {
        let (mut desk, hands) = (Desk::default(), Hands::new().unwrap());
        desk.hello(&hands.hello());
        let lost = tokio::spawn(send(Arc::clone(desk.crew()), 1));
        let first = desk.next().await;
        desk.look(SILENCE * 2);
        assert_eq!(desk.crew().workers(), 0);
        (0..100).for_each(|_| desk.look(AWAY_MAX));
        tokio::time::sleep(AWAY_MAX * 100).await;
        assert!(!lost.is_finished(), "it is in the queue");
        let mut passed = Duration::ZERO;
        while passed <= AWAY_MAX {
            desk.hello(&hands.hello());
            desk.look(SILENCE / 2);
            passed += SILENCE / 2;
        }
        assert_eq!(lost.await.unwrap(), Err(FetchError::Lost));
        desk.brought(first.number, Some(&packed(200)));
        assert_eq!(desk.crew().late(), 1, "it counts no more");
    }

    #[tokio::test]
    async fn who_is_elsewhere_or_of_another_version_is_told_why_not() {
        let (mut desk, mut hands) = (Desk::default(), Hands::new().unwrap());
        hands.machine = "another".to_owned();
        assert_eq!(Hands::heard(&desk.hello(&hands.hello())), Welcome::In { is_here: false });
        desk.crew().stay_here();
        let told = Hands::heard(&desk.hello(&hands.hello()));
        assert!(matches!(&told, Welcome::Refused(why) if why.contains("own machine")), "{told:?}");
        assert_eq!(desk.crew().workers(), 0);
        let other = br#"{"version":"0.0.1/1","machine":"","worker":"a"}"#;
        for said in [&other[..], b"something else"] {
            let told = Hands::heard(&desk.hello(said));
            assert!(matches!(&told, Welcome::Refused(why) if why.contains("version")), "{told:?}");
        }
        let here = Hands::new().unwrap();
        desk.hello(&here.hello());
        tokio::spawn(send(Arc::clone(desk.crew()), 1));
        assert!(desk.next().await.is_for_here);
        desk.crew().close();
        assert_eq!(Hands::heard(&desk.hello(&here.hello())), Welcome::Over);
    }

    #[tokio::test]
    async fn no_more_is_away_than_there_are_hands_for() {
        let (mut desk, hands) = (Desk::default(), Hands::new().unwrap());
        desk.hello(&hands.hello());
        for page in 0..HANDS + 5 {
            tokio::spawn(send(Arc::clone(desk.crew()), page));
        }
        let mut first = None;
        for _ in 0..HANDS {
            first = Some(desk.next().await);
        }
        let more = tokio::time::timeout(Duration::from_millis(1), desk.next()).await;
        assert!(more.is_err());
        desk.brought(first.unwrap().number, Some(&packed(200)));
        desk.next().await;
    }
}

//! Certificates from a CA: got when there is none, got anew when their time comes, and tried
//! again when a CA fails.
//!
//! One name after the other, each with a certificate of its own, so that one name that does
//! not lead here spoils none of the others. Where other nodes have them too it is done in turn
//! ([`in_turn`](super::in_turn)).
//! Bounds: one order at a time; pauses by [`schedule`]; a CA is asked for its wishes (ARI,
//! RFC 9773) once in [`ASK_INTERVAL_SECONDS`] and name.

use std::sync::Arc;
use std::time::Duration;

use base::complaint::complain;
use instant_acme::{Account, CertificateIdentifier, Error};
use rustls::pki_types::CertificateDer;
use server::Identity;

use super::Binding;
use super::client::Client;
use super::fellows::{Fellows, Tries};
use super::issue::{self, IssueError, Stage};
use super::proof::Way;
use super::schedule::{self, Setback};
use super::shelf::{self, Lying, Shelf};
use super::showcase::Showcase;
use super::told;

/// Between two questions whether a certificate shall be got anew.
const ASK_INTERVAL_SECONDS: i64 = 6 * 3600;
/// The longest sleep: a machine may sleep too, and its clock may be set.
pub(super) const SLEEP_SECONDS_MAX: i64 = 3600;

/// What all names have in common.
pub(crate) struct Keeper {
    pub(crate) client: Client,
    pub(crate) shelf: Shelf,
    pub(crate) showcase: Arc<Showcase>,
    pub(crate) directories: Vec<String>,
    pub(crate) email: Option<String>,
    /// For the first of them.
    pub(crate) binding: Option<Binding>,
    /// Those that are possible here, the first to be tried first.
    pub(crate) ways: Vec<Way>,
    /// The other nodes, where all have their certificates together.
    pub(crate) fellows: Option<Arc<Fellows>>,
}

/// A certificate that was got just now, and the same as it is kept, with its key.
pub(super) struct Got {
    pub(super) lying: Lying,
    pub(super) text: String,
}

/// One name.
pub(crate) struct Kept {
    pub(crate) name: String,
    /// Its place in the showcase.
    place: usize,
    pub(super) lying: Option<Lying>,
    /// When it is got, or got anew.
    pub(super) due: i64,
    /// When the CA is asked whether that fits.
    ask_at: i64,
    /// Not before then, whatever a CA wishes.
    earliest: i64,
    /// Setbacks of each kind since it was got.
    unheard: u32,
    refused: u32,
}

impl Kept {
    /// A name, with the certificate that there is from earlier.
    pub(crate) fn new(name: String, place: usize, lying: Option<Lying>) -> Self {
        let renewal = |lying: &Lying| schedule::renewal(lying.identity.facts(), rand::random());
        let due = lying.as_ref().map_or(0, renewal);
        let ask_at = if lying.is_some() { 0 } else { i64::MAX };
        Self { name, place, lying, due, ask_at, earliest: 0, unheard: 0, refused: 0 }
    }

    /// The same with a certificate that was got just now.
    fn got(&mut self, lying: Lying) {
        let earliest = told::now() + schedule::shortest(lying.identity.facts());
        *self = Self::new(std::mem::take(&mut self.name), self.place, Some(lying));
        self.earliest = earliest;
    }

    fn next(&self) -> i64 {
        self.due.min(self.ask_at)
    }

    /// How the tries went.
    pub(super) fn tries(&self) -> Tries {
        let Self { unheard, refused, due, .. } = *self;
        Tries { unheard, refused, not_before: due }
    }

    /// They went so, on whichever node, and nobody tries again before that.
    pub(super) fn adopt(&mut self, tries: Tries) {
        (self.unheard, self.refused) = (tries.unheard, tries.refused);
        self.due = tries.not_before;
    }

    /// What they come to after a setback.
    pub(super) fn after(&self, setback: Setback) -> Tries {
        let mut tries = self.tries();
        let times = match setback {
            Setback::Unheard => &mut tries.unheard,
            Setback::Refused => &mut tries.refused,
        };
        *times = times.saturating_add(1);
        let pause = schedule::pause(setback, *times, rand::random());
        tries.not_before = told::now() + pause.as_secs().max(1).cast_signed();
        tries
    }
}

impl Keeper {
    /// Keeps all of them for as long as the server runs.
    pub(crate) async fn keep(self, mut all: Vec<Kept>) {
        // When it is looked at what the other nodes have of all.
        let mut look_at = if self.fellows.is_some() { 0 } else { i64::MAX };
        loop {
            if let Some(fellows) = &self.fellows {
                self.look_around(fellows, &mut all, &mut look_at).await;
            }
            let now = told::now();
            let Some(one) = all.iter_mut().min_by_key(|one| one.next()) else { return };
            let next = one.next().min(look_at);
            let wait = next.saturating_sub(now).min(SLEEP_SECONDS_MAX);
            if wait > 0 {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs(wait.unsigned_abs())) => {}
                    () = self.heard_news() => {}
                }
            } else if one.due <= now {
                match &self.fellows {
                    Some(fellows) => self.renew_in_turn(fellows, one).await,
                    None => self.renew(one).await,
                }
            } else if one.ask_at <= now {
                self.heed_wishes(one).await;
            }
        }
    }

    /// Is over when other nodes have told something.
    async fn heard_news(&self) {
        match &self.fellows {
            Some(fellows) => fellows.changed().await,
            None => std::future::pending().await,
        }
    }

    async fn renew(&self, one: &mut Kept) {
        match self.order(one).await {
            Ok(got) => self.take(one, got),
            Err(setback) => self.put_off(one, setback),
        }
    }

    /// Serves a certificate that a CA has issued, and keeps it.
    pub(super) fn take(&self, one: &mut Kept, got: Got) {
        let until = told::day(got.lying.identity.facts().not_after);
        let (ca, name) = (told::host(&got.lying.directory).to_owned(), one.name.clone());
        self.begin_to_serve(one, got);
        complain(format_args!("{ca} has issued a certificate for {name}, good until {until}"));
    }

    /// The same of one that another node has got.
    pub(super) fn take_from_others(&self, one: &mut Kept, got: Got) {
        let until = told::day(got.lying.identity.facts().not_after);
        let name = one.name.clone();
        self.begin_to_serve(one, got);
        complain(format_args!(
            "the certificate for {name}, good until {until}, was got by another node"
        ));
    }

    fn begin_to_serve(&self, one: &mut Kept, Got { lying, text }: Got) {
        if let Err(error) = self.shelf.keep_certificate(&one.name, &text) {
            // It serves until the next start, which asks for another.
            complain(format_args!("the certificate for {} can't be kept: {error}", one.name));
        }
        self.showcase.replace(one.place, lying.identity.clone(), true);
        one.got(lying);
    }

    pub(super) fn put_off(&self, one: &mut Kept, setback: Setback) {
        one.adopt(one.after(setback));
        let seconds = one.due - told::now();
        complain(format_args!(
            "the certificate for {} is asked for again in {seconds} s",
            one.name
        ));
    }

    /// Asks one CA after the other for a certificate.
    pub(super) async fn order(&self, one: &Kept) -> Result<Got, Setback> {
        let mut setback = Setback::Unheard;
        for directory in &self.directories {
            match self.get(one, directory).await {
                Ok(got) => return Ok(got),
                Err(error) => {
                    if error.is_forgotten() {
                        self.forget_account(directory).await;
                    }
                    if error.setback() == Setback::Refused {
                        setback = Setback::Refused;
                    }
                    let (ca, why) = (told::host(directory), told::words(&error.to_string()));
                    complain(format_args!("no certificate for {} from {ca}: {why}", one.name));
                }
            }
        }
        Err(setback)
    }

    /// Gets a certificate.
    async fn get(&self, one: &Kept, directory: &str) -> Result<Got, IssueError> {
        let account = self.account(directory).await?;
        // What failed in one way is tried in the other.
        let way = self.ways.get(one.refused as usize % self.ways.len().max(1));
        let way = *way.ok_or(IssueError::NoWay)?;
        let stage = Stage { tls: &self.showcase.tls, fellows: self.fellows.as_ref() };
        let issued = issue::issue(&account, &one.name, way, &stage).await?;
        let identity =
            Identity::read(issued.chain.as_bytes(), issued.key.as_bytes()).map_err(|error| {
                IssueError::Ours(format!("what it has issued can't be used: {error}"))
            })?;
        let text = shelf::text(directory, &issued.chain, &issued.key);
        let lying = Lying { identity: Arc::new(identity), directory: directory.to_owned() };
        Ok(Got { lying, text })
    }

    /// The account at a CA; a new one where there is none.
    async fn account(&self, directory: &str) -> Result<Account, IssueError> {
        let account = match self.known_account(directory).await? {
            Some(account) => account,
            None => {
                let is_first = self.directories.first().is_some_and(|first| first == directory);
                let binding = self.binding.as_ref().filter(|_| is_first);
                let (client, shelf, email) = (&self.client, &self.shelf, self.email.as_deref());
                issue::new_account(client, shelf, directory, email, binding).await?
            }
        };
        self.share_account(directory).await?;
        Ok(account)
    }

    async fn known_account(&self, directory: &str) -> Result<Option<Account>, IssueError> {
        self.fetch_account(directory).await?;
        issue::known_account(&self.client, &self.shelf, directory).await
    }

    /// Moves the renewal to when the CA wants it, if it has a wish.
    async fn heed_wishes(&self, one: &mut Kept) {
        one.ask_at = told::now() + ASK_INTERVAL_SECONDS;
        let Some(Lying { identity, directory }) = &one.lying else { return };
        let certificate = CertificateDer::from(identity.certificate());
        let Ok(identifier) = CertificateIdentifier::try_from(&certificate) else { return };
        let account = match &self.fellows {
            None => self.account(directory).await.map(Some),
            // Whose turn it is makes one.
            Some(_) => self.known_account(directory).await,
        };
        let Ok(Some(account)) = account else { return };
        match account.renewal_info(&identifier).await {
            Ok((wish, _)) => {
                let window = wish.suggested_window;
                let (start, end) = (window.start.unix_timestamp(), window.end.unix_timestamp());
                let wanted = schedule::renewal_within(start, end, rand::random());
                // A wish for a time when it has ended helps nobody.
                one.due = wanted.min(schedule::latest(identity.facts())).max(one.earliest);
            }
            // It has no wishes: two thirds of a life it is.
            Err(Error::Unsupported(_)) => one.ask_at = i64::MAX,
            Err(_) => {}
        }
    }
}

//! Certificates from a CA: got when there is none, got anew when their time comes, and tried
//! again when a CA fails.
//!
//! One name after the other, each with a certificate of its own, so that one name that does
//! not lead here spoils none of the others.
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
use super::issue::{self, IssueError, Way};
use super::schedule::{self, Setback};
use super::shelf::{Lying, Shelf};
use super::showcase::Showcase;
use super::told;

/// Between two questions whether a certificate shall be got anew.
const ASK_INTERVAL_SECONDS: i64 = 6 * 3600;
/// The longest sleep: a machine may sleep too, and its clock may be set.
const SLEEP_SECONDS_MAX: i64 = 3600;

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
}

/// One name.
pub(crate) struct Kept {
    pub(crate) name: String,
    /// Its place in the showcase.
    place: usize,
    lying: Option<Lying>,
    /// When it is got, or got anew.
    due: i64,
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
}

impl Keeper {
    /// Keeps all of them for as long as the server runs.
    pub(crate) async fn keep(self, mut all: Vec<Kept>) {
        loop {
            let now = told::now();
            let Some(one) = all.iter_mut().min_by_key(|one| one.next()) else { return };
            let wait = one.next().saturating_sub(now).min(SLEEP_SECONDS_MAX);
            if wait > 0 {
                tokio::time::sleep(Duration::from_secs(wait.unsigned_abs())).await;
            } else if one.due <= now {
                self.renew(one).await;
            } else {
                self.heed_wishes(one).await;
            }
        }
    }

    /// Asks one CA after the other for a certificate.
    async fn renew(&self, one: &mut Kept) {
        let mut setback = Setback::Unheard;
        for directory in &self.directories {
            let ca = told::host(directory);
            match self.get(one, directory).await {
                Ok(identity) => {
                    let until = told::day(identity.facts().not_after);
                    let name = &one.name;
                    complain(format_args!(
                        "{ca} has issued a certificate for {name}, good until {until}"
                    ));
                    self.showcase.replace(one.place, identity.clone(), true);
                    one.got(Lying { identity, directory: directory.clone() });
                    return;
                }
                Err(error) => {
                    if error.is_forgotten() {
                        self.shelf.forget_account(directory);
                    }
                    if error.setback() == Setback::Refused {
                        setback = Setback::Refused;
                    }
                    let why = told::words(&error.to_string());
                    complain(format_args!("no certificate for {} from {ca}: {why}", one.name));
                }
            }
        }
        let times = match setback {
            Setback::Unheard => &mut one.unheard,
            Setback::Refused => &mut one.refused,
        };
        *times = times.saturating_add(1);
        let pause = schedule::pause(setback, *times, rand::random());
        let seconds = pause.as_secs().max(1);
        one.due = told::now() + seconds as i64;
        complain(format_args!(
            "the certificate for {} is asked for again in {seconds} s",
            one.name
        ));
    }

    /// Gets a certificate and keeps it.
    async fn get(&self, one: &Kept, directory: &str) -> Result<Arc<Identity>, IssueError> {
        let account = self.account(directory).await?;
        // What failed in one way is tried in the other.
        let way = self.ways.get(one.refused as usize % self.ways.len().max(1));
        let way = *way.ok_or(IssueError::NoWay)?;
        let issued = issue::issue(&account, &one.name, way, &self.showcase.tls).await?;
        let identity =
            Identity::read(issued.chain.as_bytes(), issued.key.as_bytes()).map_err(|error| {
                IssueError::Ours(format!("what it has issued can't be used: {error}"))
            })?;
        if let Err(error) =
            self.shelf.keep_certificate(&one.name, directory, &issued.chain, &issued.key)
        {
            // It serves until the next start, which asks for another.
            complain(format_args!("the certificate for {} can't be kept: {error}", one.name));
        }
        Ok(Arc::new(identity))
    }

    async fn account(&self, directory: &str) -> Result<Account, IssueError> {
        let is_first = self.directories.first().is_some_and(|first| first == directory);
        let binding = self.binding.as_ref().filter(|_| is_first);
        issue::account(&self.client, &self.shelf, directory, self.email.as_deref(), binding).await
    }

    /// Moves the renewal to when the CA wants it, if it has a wish.
    async fn heed_wishes(&self, one: &mut Kept) {
        one.ask_at = told::now() + ASK_INTERVAL_SECONDS;
        let Some(Lying { identity, directory }) = &one.lying else { return };
        let certificate = CertificateDer::from(identity.certificate());
        let Ok(identifier) = CertificateIdentifier::try_from(&certificate) else { return };
        let Ok(account) = self.account(directory).await else { return };
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

//! Taking pages in: from what was stored, from files that were sent, and of what became doubtful.
//!
//! One page at a time of each kind, so that the machine is left to visitors; what is asked of the
//! origin here is followed by a rest as long.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use ::crawl::{bears_secret, canonical, targets_within};
use ::search::site::{
    PageText, SHAPE_HITS, SHAPE_SUM, SHAPE_TOPIC, decoded, says_nofollow, says_noindex,
};
use ::search::{Document, Value};
use server::{Given, PublicPage, Unread};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use super::finding::number_of;
use super::{Event, Kept, Links, Place, SiteSearch, unix, unpoisoned};

/// How long one page may take to come.
pub(super) const READ_PATIENCE: Duration = Duration::from_secs(30);
/// Larger pages are cut: what is behind is not looked for.
const HTML_BYTES_MAX: usize = 2 << 20;
/// Pages in an index; no more are taken in.
pub(super) const PAGES_MAX: u64 = 500_000;
/// How often it is looked whether the index is open.
const OPENING: Duration = Duration::from_millis(20);
const REST_MAX: Duration = Duration::from_secs(5);
/// What couldn't be had is asked for again after this, and twice as long each time: what is written
/// to again and again is found soon after the last time, and what never can be had costs little.
const PAUSE: Duration = Duration::from_millis(100);
const TRIES_MAX: u32 = 12;
/// So many wait for that.
const LATER_MAX: usize = 4096;
/// Of a page's links so many are looked at.
const LINKS_MAX: usize = 256;

/// What became of a page.
pub(super) enum Taken {
    /// It is, or will be, in the index as this document.
    In(Box<Document>),
    /// It isn't to be found; another address is, if it names one.
    Out(Option<String>),
}

/// Takes in what was stored, for as long as there is a search.
pub(super) async fn take_stored(search: Weak<SiteSearch>, mut events: mpsc::Receiver<Event>) {
    while let Some(event) = events.recv().await {
        let Some(search) = opened(&search).await else { return };
        let Some(server) = search.server() else { continue };
        match event {
            // Whoever was given such an address may have it alone; one that the site itself leads
            // to, the crawl has found.
            Event::Stored(place, ..) | Event::File(place)
                if bears_secret(&place.target) && !search.has(&place).await => {}
            Event::Stored(place, handle, number) => {
                match server.public_page(&handle) {
                    Some(page) => search.take_visited(&server, place, page, number).await,
                    // It was written to since, which nobody may tell of again; or had to go.
                    None => {
                        let tries = u32::from(!handle.mark().is_gone());
                        search.put(&search.doubts, Doubt { place, tries });
                    }
                }
            }
            Event::File(place) => {
                // One that can't be read isn't found.
                let _ = search.read(&place, READ_PATIENCE).await;
            }
        }
    }
}

/// The search once its index is open: what comes before waits.
pub(super) async fn opened(search: &Weak<SiteSearch>) -> Option<Arc<SiteSearch>> {
    loop {
        let owned = search.upgrade()?;
        if owned.index().is_some() {
            return Some(owned);
        }
        drop(owned);
        sleep(OPENING).await;
    }
}

/// An address to be looked at.
pub(super) struct Doubt {
    pub(super) place: Place,
    /// How often it was asked for and couldn't be had, or wasn't everybody's as far as was known
    /// then. Of what was never asked for, only what the index has is.
    pub(super) tries: u32,
}

impl Doubt {
    /// How long it is left alone.
    fn pause(&self) -> Duration {
        PAUSE * 2_u32.saturating_pow(self.tries.saturating_sub(1))
    }
}

/// Doubts that are left alone for a while, by when that ends and the number of each; one of each
/// address.
#[derive(Default)]
struct Later {
    doubts: BTreeMap<(Instant, u64), Doubt>,
    number: u64,
}

impl Later {
    /// One that is waiting waits on: what was told of its page since says nothing new.
    fn put(&mut self, doubt: Doubt) {
        let is_there = self.doubts.values().any(|other| other.place == doubt.place);
        if is_there || doubt.tries > TRIES_MAX || self.doubts.len() >= LATER_MAX {
            return;
        }
        self.number += 1;
        self.doubts.insert((Instant::now() + doubt.pause(), self.number), doubt);
    }

    /// It is read now: what was tried before it was told of counts no more.
    fn forget(&mut self, place: &Place) {
        self.doubts.retain(|_, other| other.place != *place);
    }

    fn due(&mut self) -> Option<Doubt> {
        let first = self.doubts.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }

    /// The next that is due, or that comes to be looked at now; none at the end.
    async fn next(&mut self, doubts: &mut mpsc::Receiver<Doubt>) -> Option<Doubt> {
        loop {
            if let Some(due) = self.due() {
                return Some(due);
            }
            let next = self.doubts.first_key_value().map(|((due, _), _)| *due);
            let come = match next {
                None => doubts.recv().await,
                Some(due) => match timeout_at(due, doubts.recv()).await {
                    Ok(come) => come,
                    Err(_) => continue,
                },
            }?;
            if come.tries == 0 {
                return Some(come);
            }
            self.put(come);
        }
    }
}

/// Reads again what became doubtful, if it is in the index; and again later what couldn't be had
/// or wasn't everybody's: that takes some visits to find out, or the end of somebody's writing.
pub(super) async fn look_into_doubts(search: Weak<SiteSearch>, mut doubts: mpsc::Receiver<Doubt>) {
    let mut later = Later::default();
    while let Some(Doubt { place, tries }) = later.next(&mut doubts).await {
        let Some(search) = opened(&search).await else { return };
        if tries == 0 && !search.has(&place).await {
            continue;
        }
        later.forget(&place);
        let began = Instant::now();
        // Until then it stays in doubt, and is asked for before it is shown.
        let read = search.read(&place, READ_PATIENCE).await;
        if read.is_err_and(|unread| !matches!(unread, Unread::Status(..))) {
            later.put(Doubt { place, tries: tries + 1 });
        }
        drop(search);
        sleep(began.elapsed().min(REST_MAX)).await;
    }
}

impl SiteSearch {
    /// Whether a page is in the index.
    pub(super) async fn has(&self, place: &Place) -> bool {
        let Some(index) = self.index() else { return false };
        let id = Document::id_of(&self.url_of(&place.host, &place.target));
        // Where nobody can tell, it is better read once more.
        let found =
            tokio::task::spawn_blocking(move || index.get(id).map_or(true, |it| it.is_some()));
        found.await.unwrap_or(false)
    }

    /// Asks for a page as a stranger and takes it in, or out.
    pub(super) async fn read(
        self: &Arc<Self>,
        place: &Place,
        patience: Duration,
    ) -> Result<Taken, Unread> {
        let server = self.server().ok_or(Unread::Failed { retry_after: None })?;
        let since = self.standings.number();
        let read = server.read_public(place.scheme, &place.host, &place.target, patience).await;
        match read {
            Ok(page) => {
                let taken = self.take(place.clone(), page, since).await;
                Ok(taken.unwrap_or(Taken::Out(None)))
            }
            Err(open @ (Unread::Failed { .. } | Unread::Changing(_))) => Err(open),
            Err(gone) => {
                self.take_out(&place.host, &place.target);
                Err(gone)
            }
        }
    }

    /// Takes a page in, or out if it says that it is not to be found; neither if something else
    /// was told of its address since that notice.
    pub(super) async fn take(
        self: &Arc<Self>,
        place: Place,
        page: PublicPage,
        since: u64,
    ) -> Option<Taken> {
        let search = self.clone();
        // It takes a moment of work, and may wait for the disk.
        tokio::task::spawn_blocking(move || search.look_at(&place, page, since)).await.ok()
    }

    fn look_at(&self, place: &Place, page: PublicPage, since: u64) -> Taken {
        self.counters.pages_read.bump();
        let base = format!("{}://{}{}", place.scheme, place.host, place.target);
        let read = page_text(&Given::of(&page.fields, page.body.clone()));
        let url = self.url_of(&place.host, &place.target);
        let id = Document::id_of(&url);
        // From here on one at a time: or what is older could be put behind what is newer.
        let mut blocks = unpoisoned(&self.blocks);
        // What a source says of an address is what is found of it.
        if self.rows.has(id) || !self.standings.is_newest(id, since, page.mark.as_ref()) {
            return Taken::Out(None);
        }
        let is_page = !is_for_programs(&place.target);
        let Some(text) = read.filter(|text| is_page && !text.is_noindex) else {
            self.take_out(&place.host, &place.target);
            return Taken::Out(None);
        };
        if let Some(written) = &text.canonical {
            let named = canonical(written, &base, &self.hosts);
            let own = canonical(&place.target, &base, &self.hosts);
            if named != own {
                self.take_out(&place.host, &place.target);
                return Taken::Out(named);
            }
        }
        blocks.note(id, text.hashes());
        let mut document = text.document(&url, &self.host_of(&place.host), &blocks, unix());
        let sum = sum_of(&document.attributes);
        let Some(index) = self.index() else { return Taken::Out(None) };
        let before = index.get(document.id).ok().flatten();
        let of_before = |at| before.as_ref().map_or(0, |before| number_of(&before.attributes, at));
        let hits = of_before(SHAPE_HITS);
        document.attributes[SHAPE_HITS] = Value::Int(hits);
        let is_calm = before.is_some() && of_before(SHAPE_SUM) == sum;
        let topic = number_of(&document.attributes, SHAPE_TOPIC);
        let is_same = is_calm && of_before(SHAPE_TOPIC) == topic;
        match is_calm {
            true => self.standings.note_calm(id),
            false if before.is_some() => self.standings.note_change(id),
            false => {}
        }
        if !is_same && index.documents() < PAGES_MAX {
            index.put(document.clone());
            self.counters.pages_put.bump();
            self.tell_links(&index, place, &text);
        }
        if let Some(vouch) = page.vouch {
            self.standings.put(document.id, vouch, sum, &place.host, (page.mark, hits));
        }
        Taken::In(Box::new(document))
    }

    /// Takes a page out of the index.
    pub(super) fn take_out(&self, host: &str, target: &str) {
        let id = Document::id_of(&self.url_of(host, target));
        self.standings.remove(id);
        if self.rows.has(id) {
            return;
        }
        if let Some(index) = self.index() {
            index.remove(id);
            self.counters.pages_removed.bump();
        }
    }

    /// Tells the crawl where a page leads to that nobody has read.
    fn tell_links(&self, index: &Kept, place: &Place, text: &PageText) {
        if !self.plan().crawls {
            return;
        }
        let mut targets = links_of(place, text);
        targets.truncate(LINKS_MAX);
        let id_of = |to: &String| Document::id_of(&self.url_of(&place.host, to));
        let ids: Vec<u64> = targets.iter().map(id_of).collect();
        let Ok(known) = index.known(&ids) else { return };
        targets.retain(|to| !known.contains(&id_of(to)));
        if !targets.is_empty() {
            self.put(&self.links, Links { host: place.host.clone(), targets });
        }
    }
}

/// Whether what stands there is for programs, whatever its type says: origins that answer any
/// path have something there, too.
fn is_for_programs(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or(target);
    matches!(path, "/robots.txt" | "/sitemap.xml") || path.starts_with("/.well-known/")
}

/// Where a page leads to on its own host.
pub(super) fn links_of(place: &Place, text: &PageText) -> Vec<String> {
    let base = format!("{}://{}{}", place.scheme, place.host, place.target);
    let followed = text.links.iter().filter(|link| link.is_followed && !text.is_nofollow);
    targets_within(followed.map(|link| link.to.as_str()), &base)
}

/// The text of a page, with what its fields say of it; none where it isn't text.
pub(super) fn page_text(given: &Given) -> Option<PageText> {
    let html = &given.body[..given.body.len().min(HTML_BYTES_MAX)];
    let mut text = PageText::of(&decoded(html, &given.content_type)?);
    text.is_noindex |= given.robots.iter().any(|wish| says_noindex(wish));
    text.is_nofollow |= given.robots.iter().any(|wish| says_nofollow(wish));
    Some(text)
}

/// The hash of the text that a document is of.
pub(super) fn sum_of(attributes: &[Value]) -> i64 {
    number_of(attributes, SHAPE_SUM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(target: &str, tries: u32) -> Doubt {
        let (host, target) = ("a.test".to_owned(), target.to_owned());
        Doubt { place: Place { scheme: "https", host, target }, tries }
    }

    /// When each of so many tries is made of a page that can't be had, and what comes meanwhile.
    async fn tries(news: &[(u64, u32)], count: usize) -> Vec<u64> {
        let (told, mut doubts) = mpsc::channel(8);
        let news = news.to_vec();
        tokio::spawn(async move {
            let began = Instant::now();
            for (at, tries) in news {
                tokio::time::sleep_until(began + Duration::from_millis(at)).await;
                told.send(doubt("/a", tries)).await.expect("somebody listens");
            }
            std::future::pending::<()>().await;
        });
        let (mut later, began, mut all) = (Later::default(), Instant::now(), Vec::new());
        while all.len() < count {
            let Doubt { place, tries } = later.next(&mut doubts).await.expect("one of them");
            later.forget(&place);
            all.push(u64::try_from(began.elapsed().as_millis()).expect("a short time"));
            later.put(Doubt { place, tries: tries + 1 });
        }
        all
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_told_anew_is_read_at_once_and_often_and_what_fails_ever_more_seldom() {
        assert_eq!(tries(&[(0, 0)], 6).await, [0, 100, 300, 700, 1500, 3100]);
        let edits = [(0, 0), (1000, 0), (2000, 0)];
        let read = [0, 100, 300, 700, 1000, 1100, 1300, 1700, 2000, 2100, 2300];
        assert_eq!(tries(&edits, read.len()).await, read);
        // What whoever reads it brings about isn't news.
        let own = [(0, 0), (400, 1), (800, 1)];
        assert_eq!(tries(&own, 6).await, [0, 100, 300, 700, 1500, 3100]);
    }
}

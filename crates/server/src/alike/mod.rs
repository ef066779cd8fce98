//! Alike: whether what holders of a session are given agrees but for a few spots.
//!
//! ```text
//! an answer to a holder ─ of a class that is asked for often? ─ kept as it passes, in memory
//!     the same page for another holder, soon ─ both compared, behind everybody's back
//!         → a verdict about the class: where they differ, and how much. The copies go.
//! ```
//!
//! What comes of it is told to the owner who asks ([`Alike::tell`]) and has no other effect.
//! Invariants: 1. no copy is written anywhere, shown, or kept for longer than [`WAIT_MS`] or
//! past a change of the site. 2. a verdict has names of elements that both copies, and a
//! stranger's where there is one, have in common; nothing of what differs ([`verdict`]).
//! Bounds: [`COPIES_MAX`] copies of [`PAGE_BYTES_MAX`] a site, out of the store's own limit;
//! [`CLASSES_MAX`] classes. What is more is let be, and counted.
//! Start at [`look_at`].

mod passing;
mod verdict;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use align::Kind;
use bytes::Bytes;
use origin::Answer;
use parking_lot::Mutex;
use policy::strangers::{Errand, Standing, Visitor, errand, pairs, shape};
use store::Reservation;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::Name;

use self::verdict::Class;
use crate::esi;
use crate::journey::Journey;
use crate::page::Page;
use crate::pipeline;
use crate::strangers::persona;
use crate::strangers::verify::{may_be_page, refused_unseen};

/// Larger pages are not compared here.
const PAGE_BYTES_MAX: usize = 256 << 10;
/// Copies of one site that are here or on their way.
const COPIES_MAX: usize = 6;
/// Of these, such as wait for another holder's.
const WAITING_MAX: usize = 4;
/// How long one waits.
const WAIT_MS: u64 = 60_000;
/// Classes of addresses that are remembered; the least asked for goes.
const CLASSES_MAX: usize = 64;
/// A class that is asked for less often is not looked at.
const ASKS_MIN: u32 = 3;
/// So many pairs of a class are compared as they come…
const EAGER_PAIRS: u32 = 4;
/// …and later one in so long.
const REST_MS: u64 = 10 * 60_000;

/// What one site knows of its holders' pages.
pub(crate) struct Alike {
    places: Arc<Semaphore>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    classes: HashMap<u64, Class>,
    waiting: Vec<Copy>,
}

/// Whose copy of which page.
#[derive(Clone)]
struct Whose {
    class: u64,
    page: u64,
    holder: Holder,
    /// The site's count of writes and changes when it was asked for.
    content: u64,
}

/// Who two holders must be to be two people: an address of their own, and no cookie in common
/// that could name them.
#[derive(Clone)]
struct Holder {
    address: IpAddr,
    /// Of values that are long enough to name somebody.
    values: Vec<u64>,
}

/// One holder's copy, which waits for another's.
struct Copy {
    whose: Whose,
    since_ms: u64,
    body: Bytes,
    /// What it takes of the memory, and of the number of copies.
    _room: Room,
}

/// Room for one copy.
struct Room {
    bytes: Reservation<Page>,
    _place: OwnedSemaphorePermit,
}

/// What an answer is wanted for.
enum Wanted {
    First,
    Second(Copy),
}

/// A shorter value is no session's.
const VALUE_BYTES_MIN: usize = 16;

impl Default for Alike {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(COPIES_MAX)), known: Mutex::default() }
    }
}

/// Looks at an answer that goes to its holder alone; it goes on as it came.
pub(crate) fn look_at(journey: &Journey, hash: u64, answer: Answer) -> Answer {
    if !is_of_use(journey, &answer) {
        return answer;
    }
    let site = &journey.site;
    let Some(holder) = Holder::of(journey) else { return answer };
    let class = class_of(&journey.head.host, &journey.head.target);
    let whose = Whose { class, page: hash, holder, content: site.generations.content() };
    let Some(wanted) = site.alike.wanted(&whose, journey.now().ticks_ms) else { return answer };
    match passing::room(journey) {
        Some(room) => passing::keep(journey, hash, answer, whose, wanted, room),
        None => {
            journey.server.counters.alike_left_out.bump();
            answer
        }
    }
}

/// Whether it is a whole page that somebody with a session went to.
fn is_of_use(journey: &Journey, answer: &Answer) -> bool {
    let head = &answer.head;
    let forbids = |of: &Arc<crate::strangers::Strangers>| {
        journey.reader.visitor != Visitor::Holder
            || refused_unseen(of, &journey.head.target).is_some()
    };
    journey.site.rules().suggest_parts
        && journey.bears_credentials()
        && journey.within.is_none()
        && journey.head.method == http::Method::GET
        && head.status == 200
        && answer.file.is_none()
        && answer.length.is_none_or(|length| length <= PAGE_BYTES_MAX as u64)
        && may_be_page(head.status, &head.fields)
        && persona::kind(&head.fields) == Some(Kind::Html)
        && errand(&journey.head.fields) == Errand::Navigation
        && !esi::is_wanted(&journey.site, head)
        && !journey.site.strangers.as_ref().is_some_and(forbids)
}

/// The class of an address, in a number.
fn class_of(host: &str, target: &str) -> u64 {
    pipeline::hash(&[host.as_bytes(), b"|", shape(target).as_bytes()].concat())
}

impl Holder {
    fn of(journey: &Journey) -> Option<Self> {
        let fields = &journey.head.fields;
        // What services and notices put into every browser names nobody.
        let is_own = |name: &[u8]| {
            let strangers = journey.site.strangers.as_ref();
            strangers.is_none_or(|known| known.names.standing(name) == Standing::App)
        };
        let cookies = pairs(fields).filter(|(name, _)| is_own(name)).map(|(_, value)| value);
        let values = cookies.chain(fields.all(Name::Authorization));
        let mut values: Vec<u64> =
            values.filter(|value| value.len() >= VALUE_BYTES_MIN).map(pipeline::hash).collect();
        values.sort_unstable();
        (!values.is_empty()).then(|| Self { address: journey.peers.peer.ip(), values })
    }

    /// Whether both are surely two people: cookies of one that are made anew with each answer
    /// are told by the address, which programs on this machine share.
    fn is_another(&self, other: &Self) -> bool {
        let is_shared = |value: &u64| other.values.binary_search(value).is_ok();
        let is_elsewhere = self.address != other.address || self.address.is_loopback();
        is_elsewhere && !self.values.iter().any(is_shared)
    }
}

impl Alike {
    /// What an answer to this holder is wanted for, if for anything.
    fn wanted(&self, whose: &Whose, ticks_ms: u64) -> Option<Wanted> {
        let mut known = self.known.lock();
        known.forget_old(ticks_ms, whose.content);
        let class = known.class(whose.class);
        class.asks = class.asks.saturating_add(1);
        if class.asks < ASKS_MIN || ticks_ms < class.next_ms {
            return None;
        }
        match known.waiting.iter().position(|copy| copy.whose.page == whose.page) {
            Some(at) if known.waiting[at].whose.holder.is_another(&whose.holder) => {
                Some(Wanted::Second(known.waiting.swap_remove(at)))
            }
            Some(_) => None,
            None => (known.waiting.len() < WAITING_MAX).then_some(Wanted::First),
        }
    }

    /// A copy waits for another holder's.
    fn wait(&self, copy: Copy) {
        let mut known = self.known.lock();
        known.forget_old(copy.since_ms, copy.whose.content);
        let is_there = known.waiting.iter().any(|other| other.whose.page == copy.whose.page);
        if !is_there && known.waiting.len() < WAITING_MAX {
            known.waiting.push(copy);
        }
    }

    /// Two copies of a page of this class were compared.
    fn note(&self, class: u64, found: verdict::Verdict, ticks_ms: u64) {
        let mut known = self.known.lock();
        let class = known.class(class);
        class.note(found);
        if class.pairs() >= EAGER_PAIRS {
            class.next_ms = ticks_ms + REST_MS;
        }
    }

    /// Lets go what waited for too long; called now and then.
    pub(crate) fn forget_old(&self, ticks_ms: u64, content: u64) {
        self.known.lock().forget_old(ticks_ms, content);
    }

    /// Says what was found out about pages like this.
    pub(crate) fn tell(&self, host: &str, target: &str, say: &mut dyn FnMut(&'static str, String)) {
        if let Some(class) = self.known.lock().classes.get(&class_of(host, target)) {
            class.tell(say);
        }
    }
}

impl Known {
    fn class(&mut self, class: u64) -> &mut Class {
        if self.classes.len() >= CLASSES_MAX && !self.classes.contains_key(&class) {
            let least = self.classes.iter().min_by_key(|(_, known)| known.asks);
            let least = least.map(|(&number, _)| number);
            least.and_then(|number| self.classes.remove(&number));
            // What was asked for long ago counts for less than what is asked for now.
            self.classes.values_mut().for_each(|known| known.asks /= 2);
        }
        self.classes.entry(class).or_default()
    }

    fn forget_old(&mut self, ticks_ms: u64, content: u64) {
        self.waiting.retain(|copy| {
            ticks_ms.saturating_sub(copy.since_ms) < WAIT_MS && copy.whose.content == content
        });
    }
}

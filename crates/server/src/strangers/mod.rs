//! Strangers: pages that an app makes for one visitor at a time, shared among all who
//! have no session yet.
//!
//! A *stranger* bears no cookie of the app. What the law doesn't let be stored is fetched
//! again by *personas*, disposable visitors; if all that differs between two of them is a
//! token, a counter or a time, every stranger is served one of those copies, without its
//! cookies. A session begins when the stranger first writes: [`bind`].
//!
//! Invariants: 1. what is shared was made for a persona, never for a visitor. 2. a persona
//! serves one fill. 3. a minted session is handed to one visitor. 4. a visitor with a
//! cookie of the app is neither given a shared copy nor ever the source of one.
//! Start at [`welcome`] (an answer that can't be stored by the law) and [`bind`].

pub(crate) mod again;
pub(crate) mod age;
pub(crate) mod bind;
pub(crate) mod brief;
pub(crate) mod classes;
pub(crate) mod copies;
mod data;
pub(crate) mod errors;
pub(crate) mod evidence;
pub(crate) mod fill;
pub(crate) mod guests;
pub(crate) mod holders;
mod keeping;
pub(crate) mod minting;
pub(crate) mod names;
mod password;
pub(crate) mod persona;
mod preference;
pub(crate) mod proving;
pub(crate) mod refusal;
pub(crate) mod reloaded;
pub(crate) mod remake;
pub(crate) mod rules;
pub(crate) mod scripts;
pub(crate) mod tell;
pub(crate) mod tracking;
pub(crate) mod verify;
pub(crate) mod welcome;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};

use base::Counter;
use parking_lot::Mutex;
use policy::strangers::{Constancy, taste};

use self::age::AgedSessions;
use self::classes::Classes;
use self::copies::Copies;
use self::holders::Holders;
pub(crate) use self::keeping::{Keeping, app_cookie, noise_of, proofs_of};
use self::minting::Minting;
use self::names::Names;
use self::preference::Fronts;
use self::reloaded::Reloaded;
pub use self::rules::StrangerRules;
use crate::StoredNote;
use crate::fellows::refusals::Recent;
use crate::journey::Journey;

/// What one site has learned about sharing with strangers.
pub(crate) struct Strangers {
    pub(crate) rules: StrangerRules,
    pub(crate) names: Names,
    pub(crate) classes: Classes,
    pub(crate) copies: Copies,
    pub(crate) holders: Holders,
    pub(crate) reloaded: Reloaded,
    pub(crate) minting: Minting,
    pub(crate) aged: AgedSessions,
    pub(crate) constancy: Mutex<Constancy>,
    pub(crate) fronts: Fronts,
    pub(crate) places: fill::Places,
    pub(crate) scripts: scripts::Scripts,
    pub(crate) counts: Counts,
    /// What was refused last, for nodes that begin.
    pub(crate) recent: Recent,
    keeping: keeping::Keeping,
    dice: AtomicU64,
}

base::counters! {
    /// What happened around strangers since the start.
    #[derive(Debug, Default)]
    pub(crate) struct Counts {
        /// Pages that were found shareable.
        pub(crate) shared: Counter,
        /// Pages that were not, for whatever reason.
        pub(crate) refused: Counter,
        /// Requests that personas sent.
        pub(crate) persona_requests: Counter,
        /// Sessions begun at a stranger's write.
        pub(crate) bound: Counter,
        /// Values of a copy that had no counterpart in the visitor's own.
        pub(crate) unaligned: Counter,
        /// Shared pages that turned out personal and were withdrawn.
        pub(crate) alarms: Counter,
    }
}

impl Strangers {
    /// Whether a robot or a program asks for a page that browsers may share and it may not, since
    /// it was given another one: then its answer says nothing about theirs.
    pub(crate) fn shares_with_browsers(&self, journey: &Journey) -> bool {
        let (head, ticks_ms) = (&journey.head, journey.now().ticks_ms);
        let page = welcome::page_hash(journey);
        self.classes.odd_refusal(page, &taste(&head.fields), ticks_ms).is_some()
            && self.classes.refusal(&head.target, page, ticks_ms).is_none()
    }

    pub(crate) fn new(
        rules: StrangerRules,
        keeping: keeping::Keeping,
        learned: &[StoredNote],
    ) -> Self {
        let copies = Copies::new(rules.copies_bytes);
        let strangers = Self {
            names: Names::new(&rules.own_cookies, &rules.foreign_cookies),
            rules,
            classes: Classes::default(),
            copies,
            holders: Holders::default(),
            reloaded: Reloaded::default(),
            minting: Minting::default(),
            aged: AgedSessions::default(),
            constancy: Mutex::default(),
            fronts: Fronts::default(),
            places: fill::Places::default(),
            scripts: scripts::Scripts::default(),
            counts: Counts::default(),
            recent: Recent::default(),
            keeping,
            dice: AtomicU64::new(0),
        };
        strangers.recall(learned);
        strangers
    }

    /// A number that nobody can foresee.
    pub(crate) fn throw(&self) -> u64 {
        let throw = self.dice.fetch_add(1, Ordering::Relaxed);
        crate::pipeline::hash(&throw.to_le_bytes())
    }

    /// An address that belongs to nobody, for a persona: of those for measuring networks
    /// (RFC 2544). They are many, since to an app that keeps a row for each address an
    /// address that came before is no new visitor.
    pub(crate) fn persona_address(&self) -> IpAddr {
        let [second, c, d, ..] = self.throw().to_le_bytes();
        IpAddr::V4(Ipv4Addr::new(198, 18 + (second & 1), c, d.clamp(1, 254)))
    }
}

//! What a page holds of itself in codings.
//!
//! Each is made once and swapped in whole; who reads it takes a reference and no lock.
//! Invariant: a slot is filled before its page is stored, or within `Store::amend`, so that
//! the page's weight is what the store counts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use policy::representation::encode_fields;
use store::allocated_bytes;
use transform::Effort;
use wire::{Coding, Codings, Fields, ResponseHead};

use crate::page::BYTES_OVERHEAD;
use crate::render;

/// A page in one coding, ready for the wire.
#[derive(Debug)]
pub(crate) struct Coded {
    pub(crate) coding: Coding,
    pub(crate) effort: Effort,
    /// Status line and fields, as [`crate::page::Stored::head`] has them.
    pub(crate) head: Box<[u8]>,
    pub(crate) body: Bytes,
}

impl Coded {
    /// The page that these are status and fields of, in this coding.
    pub(crate) fn new(
        status: u16,
        mut fields: Fields,
        coding: Coding,
        effort: Effort,
        body: Bytes,
    ) -> Self {
        encode_fields(&mut fields, coding);
        let head = render::stored_head(&ResponseHead { status, fields }, body.len() as u64);
        Self { coding, effort, head: head.into_boxed_slice(), body }
    }

    pub(crate) fn weight(&self) -> usize {
        allocated_bytes(size_of::<Self>() + 2 * size_of::<usize>())
            + allocated_bytes(self.head.len())
            + allocated_bytes(self.body.len())
            + BYTES_OVERHEAD
    }
}

/// A page in all codings that were made of it.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// There once the first was made: most pages come and go without.
    slots: OnceLock<Box<[ArcSwapOption<Coded>; Coding::COUNT]>>,
    /// Set while one is made behind everybody's back.
    pressing: AtomicBool,
    /// There was no room for one: no more are made.
    given_up: AtomicBool,
    /// There was no room to make one with all effort: that isn't tried again.
    is_good_enough: AtomicBool,
}

impl Slots {
    /// The first of these codings that was made.
    pub(crate) fn first_of(&self, codings: Codings) -> Option<Arc<Coded>> {
        let slots = self.slots.get()?;
        codings.iter().find_map(|coding| slots[coding.index()].load_full())
    }

    /// All that were made.
    pub(crate) fn made(&self) -> impl Iterator<Item = Arc<Coded>> {
        self.slots
            .get()
            .into_iter()
            .flat_map(|slots| slots.iter())
            .filter_map(ArcSwapOption::load_full)
    }

    pub(crate) fn put(&self, coded: Arc<Coded>) {
        self.slots.get_or_init(Box::default)[coded.coding.index()].store(Some(coded));
    }

    /// What all of them weigh.
    pub(crate) fn weight(&self) -> usize {
        let slots = self.slots.get().map_or(0, |slots| allocated_bytes(size_of_val(&**slots)));
        slots + self.made().map(|coded| coded.weight()).sum::<usize>()
    }

    /// Claims the right to make one; whoever gets `true` must call [`Slots::pressed`].
    pub(crate) fn claim(&self) -> bool {
        !self.pressing.swap(true, Ordering::AcqRel)
    }

    /// Gives the claim back.
    pub(crate) fn pressed(&self) {
        self.pressing.store(false, Ordering::Release);
    }

    pub(crate) fn be_content(&self) {
        self.is_good_enough.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_good_enough(&self) -> bool {
        self.is_good_enough.load(Ordering::Relaxed)
    }

    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

//! Reservations: memory of bodies that are still arriving counts against the limit too.

use crate::memory::{Resident, Store};

/// No more memory may be set aside now: what wanted it goes on without being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("bodies that are being fetched already fill their share of the memory limit")]
pub struct NoRoom;

/// Bytes set aside within a store's limit, until it is dropped.
///
/// Drop it just before the body is inserted: else the body counts twice for a moment
/// and that much more is evicted.
pub struct Reservation<T: Resident> {
    store: Store<T>,
    bytes: usize,
}

impl<T: Resident> Reservation<T> {
    /// Called by the store once the budget has granted `bytes`.
    pub(crate) fn granted(store: Store<T>, bytes: usize) -> Self {
        Self { store, bytes }
    }

    /// How many bytes are set aside.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets `more` bytes aside as well.
    ///
    /// # Errors
    /// [`NoRoom`]: reservations have reached their share of the limit; this one stays as it was.
    pub fn grow(&mut self, more: usize) -> Result<(), NoRoom> {
        self.store.set_aside(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Gives back all but `bytes`; never takes more.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.store.give_back(surplus);
        self.bytes -= surplus;
    }
}

impl<T: Resident> Drop for Reservation<T> {
    fn drop(&mut self) {
        self.store.give_back(self.bytes);
    }
}

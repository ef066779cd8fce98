//! The crowd: how many of something each visitor has at this moment: requests with an
//! origin, or connections.
//!
//! Bound: one entry for each visitor that has any.
//! Invariant: a seat is free again when it is dropped, however that came.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use base::network::Block;
use parking_lot::Mutex;

/// Who is here.
#[derive(Default)]
pub(crate) struct Crowd {
    seats: Mutex<HashMap<Block, usize>>,
}

/// One of what is counted.
#[derive(Debug)]
pub(crate) struct Seat {
    crowd: Arc<Crowd>,
    visitor: Block,
}

impl Crowd {
    /// One more of this visitor, unless there are so many already.
    ///
    /// # Errors
    /// How many there are.
    pub(crate) fn enter(self: &Arc<Self>, visitor: Block, at_once: usize) -> Result<Seat, usize> {
        let mut seats = self.seats.lock();
        let taken = seats.entry(visitor).or_default();
        if *taken >= at_once {
            let under_way = *taken;
            if under_way == 0 {
                seats.remove(&visitor);
            }
            return Err(under_way);
        }
        *taken += 1;
        Ok(Seat { crowd: self.clone(), visitor })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Entry::Occupied(mut entry) = self.crowd.seats.lock().entry(self.visitor) {
            *entry.get_mut() -= 1;
            if *entry.get() == 0 {
                entry.remove();
            }
        }
    }
}

impl std::fmt::Debug for Crowd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Crowd({})", self.seats.lock().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_visitor_has_so_many_seats_and_gets_them_back() {
        let crowd = Arc::new(Crowd::default());
        let [ann, bob] = ["192.0.2.1", "192.0.2.2"]
            .map(|address| Block::of(address.parse().expect("an address")));
        let mut seats: Vec<_> = (0..2).map(|_| crowd.enter(ann, 2).expect("a seat")).collect();
        assert_eq!(crowd.enter(ann, 2).err(), Some(2));
        assert!(crowd.enter(bob, 2).is_ok());
        seats.pop();
        assert!(crowd.enter(ann, 2).is_ok());
        seats.clear();
        assert!(crowd.enter(ann, 0).is_err());
        assert!(crowd.seats.lock().is_empty(), "somebody is counted who has left");
    }
}

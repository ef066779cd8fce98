//! Letters between threads: what a client of one sends to a client of another.
//!
//! Each thread has one mailbox, into which all may put letters, and wakes when one is put into an
//! empty one. Bound: [`LETTER_BYTES_MAX`] for each thread; what has no room is not taken, and who
//! put it counts that.

use std::sync::Arc;

use mio::Waker;
use parking_lot::Mutex;

/// Bytes of letters that wait for one thread.
const LETTER_BYTES_MAX: usize = 8 << 20;

/// Where a thread is written to.
#[derive(Debug)]
pub(crate) struct Mailbox {
    waker: Arc<Waker>,
    letters: Mutex<Letters>,
}

#[derive(Debug, Default)]
struct Letters {
    all: Vec<Letter>,
    bytes: usize,
    /// Nobody empties it any more.
    is_closed: bool,
}

/// A message for one connection of a thread.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) connection: usize,
    /// Which of those that had this number.
    pub(crate) serial: u64,
    pub(crate) text: Vec<u8>,
}

impl Mailbox {
    pub(crate) fn new(waker: Arc<Waker>) -> Self {
        Self { waker, letters: Mutex::default() }
    }

    /// Puts a letter in; false if there is no room.
    pub(super) fn post(&self, letter: Letter) -> bool {
        let mut letters = self.letters.lock();
        let bytes = letters.bytes + letter.text.len();
        if letters.is_closed || bytes > LETTER_BYTES_MAX {
            return false;
        }
        let is_first = letters.all.is_empty();
        letters.bytes = bytes;
        letters.all.push(letter);
        drop(letters);
        if is_first {
            // A thread that can't be woken looks within a tick.
            let _ = self.waker.wake();
        }
        true
    }

    /// All that is there.
    pub(crate) fn take(&self) -> Vec<Letter> {
        let mut letters = self.letters.lock();
        letters.bytes = 0;
        std::mem::take(&mut letters.all)
    }

    /// Takes no more.
    pub(crate) fn close(&self) {
        *self.letters.lock() = Letters { is_closed: true, ..Letters::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_bounded_by_their_bytes_and_come_in_order() {
        let poll = mio::Poll::new().expect("the system has one");
        let waker = Waker::new(poll.registry(), mio::Token(0)).expect("a waker");
        let mailbox = Mailbox::new(Arc::new(waker));
        let letter = |serial, bytes| Letter { connection: 1, serial, text: vec![b'x'; bytes] };
        assert!(mailbox.post(letter(1, LETTER_BYTES_MAX - 1)) && mailbox.post(letter(2, 1)));
        assert!(!mailbox.post(letter(3, 1)), "it is full");
        let serials = |mailbox: &Mailbox| -> Vec<u64> {
            mailbox.take().iter().map(|letter| letter.serial).collect()
        };
        assert_eq!(serials(&mailbox), [1, 2]);
        assert!(mailbox.post(letter(4, 1)), "it is empty again");
        mailbox.close();
        assert!(!mailbox.post(letter(5, 1)) && serials(&mailbox).is_empty());
    }
}

//! What clients' names begin with: eight bytes that millions of sessions share.
//!
//! `-qB4520-` and its like are kept once, and a session holds two bytes for them. Who calls
//! himself something new a million times fills the table and gains nothing: such names are
//! kept whole ([`super::packing`]).

use std::collections::HashMap;

/// A number that stands for no prefix: the name is kept whole.
pub(super) const WHOLE: u16 = u16::MAX;

/// The table of one shard.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    numbers: HashMap<[u8; 8], u16>,
    rows: Vec<([u8; 8], u32)>,
    free: Vec<u16>,
    /// The last one asked for, for neighbours are often alike when all are loaded.
    last: Option<([u8; 8], u16)>,
}

impl Prefixes {
    /// The number of a prefix that is there.
    pub(super) fn find(&self, prefix: [u8; 8]) -> Option<u16> {
        match self.last {
            Some((last, number)) if last == prefix => Some(number),
            _ => self.numbers.get(&prefix).copied(),
        }
    }

    /// Holds a prefix; [`WHOLE`] if the table is full.
    pub(super) fn hold(&mut self, prefix: [u8; 8]) -> u16 {
        if let Some(number) = self.find(prefix) {
            self.rows[usize::from(number)].1 += 1;
            self.last = Some((prefix, number));
            return number;
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.rows[usize::from(number)] = (prefix, 1);
                number
            }
            None if self.rows.len() < usize::from(WHOLE) => {
                self.rows.push((prefix, 1));
                (self.rows.len() - 1) as u16
            }
            None => return WHOLE,
        };
        self.numbers.insert(prefix, number);
        number
    }

    pub(super) fn release(&mut self, number: u16) {
        let Some((prefix, holders)) = self.rows.get_mut(usize::from(number)) else { return };
        *holders = holders.saturating_sub(1);
        if *holders == 0 {
            self.numbers.remove(prefix);
            self.free.push(number);
            self.last = None;
        }
    }

    pub(super) fn prefix(&self, number: u16) -> [u8; 8] {
        self.rows.get(usize::from(number)).map_or([0; 8], |row| row.0)
    }
}

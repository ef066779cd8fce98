//! A block, read line by line, and the table that it refers to.
//!
//! Bounds: the table holds no more than [`TABLE_BYTES_MAX`], counted as the law counts it; of
//! a block that comes to more than its reader takes nothing more is handed on, and it is read
//! to its end all the same, for the blocks behind it refer to what it entered.
//! Invariant: what is read of a connection's blocks does not depend on what is made of them.

use std::collections::VecDeque;

use crate::hpack::parts::{Block, BlockError, FIELD_BYTES};
use crate::hpack::table;

/// What the table may hold: as much as a client may take for granted (RFC 9113 §6.5.2).
const TABLE_BYTES_MAX: usize = 4 << 10;

/// Reads the blocks of one connection, in the order in which they came.
pub struct Decoder {
    /// The newest first.
    entries: VecDeque<Entry>,
    /// What the entries come to.
    bytes: usize,
    bytes_max: usize,
    name: Vec<u8>,
    value: Vec<u8>,
}

struct Entry {
    text: Box<[u8]>,
    name_bytes: usize,
}

impl Entry {
    fn cost(&self) -> usize {
        self.text.len() + FIELD_BYTES
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: TABLE_BYTES_MAX,
            name: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Decoder {
    /// Reads a block and hands on each field, in order: its name and its value, as long as all
    /// come to no more than `bytes_max` and none is refused.
    ///
    /// # Errors
    /// [`BlockError::Broken`] ends the connection; after the others it goes on.
    pub fn decode<E>(
        &mut self,
        block: &[u8],
        bytes_max: usize,
        mut take: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<(), BlockError<E>> {
        // The block was bounded when it was gathered; its fields are counted here.
        let mut block = Block { rest: block, left: usize::MAX };
        self.resize(&mut block)?;
        let (mut read, mut left) = (Ok(()), bytes_max);
        let mut hand_on = |name: &[u8], value: &[u8]| {
            if read.is_ok() {
                read = match left.checked_sub(name.len() + value.len() + FIELD_BYTES) {
                    None => Err(BlockError::TooLarge),
                    Some(rest) => {
                        left = rest;
                        take(name, value).map_err(BlockError::Refused)
                    }
                };
            }
        };
        let (mut own_name, mut own_value) =
            (std::mem::take(&mut self.name), std::mem::take(&mut self.value));
        while let Some(&first) = block.rest.first() {
            if first & 0b1000_0000 != 0 {
                let number = block.number(7)?;
                let (name, value) = self.entry(number).ok_or(BlockError::Broken)?;
                hand_on(name, value);
                continue;
            }
            let is_entered = match first {
                0b0100_0000.. => true,
                // A size may change before the first field only.
                0b0010_0000.. => return Err(BlockError::Broken),
                _ => false,
            };
            let name = match block.number(if is_entered { 6 } else { 4 })? {
                0 => block.text(7, &mut own_name)?,
                number => {
                    let (name, _) = self.entry(number).ok_or(BlockError::Broken)?;
                    own_name.clear();
                    own_name.extend_from_slice(name);
                    &own_name[..]
                }
            };
            let value = block.text(7, &mut own_value)?;
            hand_on(name, value);
            if is_entered {
                self.enter(name, value);
            }
        }
        (self.name, self.value) = (own_name, own_value);
        self.forget_large();
        read
    }

    /// Gives back what a decoder that rests need not hold.
    pub fn rest(&mut self) {
        (self.name, self.value) = (Vec::new(), Vec::new());
    }

    /// Reads what stands before the first field: how large the table is from now on.
    fn resize<E>(&mut self, block: &mut Block<'_>) -> Result<(), BlockError<E>> {
        while let Some(0b0010_0000..=0b0011_1111) = block.rest.first() {
            let bytes_max = block.number(5)?;
            if bytes_max > TABLE_BYTES_MAX {
                return Err(BlockError::Broken);
            }
            self.bytes_max = bytes_max;
            self.evict(0);
        }
        Ok(())
    }

    fn entry(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let place = number.checked_sub(1)?;
        if let Some((name, value)) = table::FIELDS.get(place) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(place - table::FIELDS.len())?;
        entry.text.split_at_checked(entry.name_bytes)
    }

    fn enter(&mut self, name: &[u8], value: &[u8]) {
        let cost = name.len() + value.len() + FIELD_BYTES;
        // One that is larger than the table empties it (RFC 7541 §4.4).
        self.evict(cost);
        if cost <= self.bytes_max {
            let entry = Entry { text: [name, value].concat().into(), name_bytes: name.len() };
            self.entries.push_front(entry);
            self.bytes += cost;
        }
    }

    /// Makes room for so much, the oldest first.
    fn evict(&mut self, cost: usize) {
        while self.bytes + cost > self.bytes_max {
            let Some(oldest) = self.entries.pop_back() else { break };
            self.bytes -= oldest.cost();
        }
    }

    /// A text that was longer than most is no reason to keep so much room.
    fn forget_large(&mut self) {
        for text in [&mut self.name, &mut self.value] {
            if text.capacity() > TABLE_BYTES_MAX {
                *text = Vec::new();
            }
        }
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

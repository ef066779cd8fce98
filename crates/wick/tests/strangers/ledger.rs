//! Who was told what: finds bytes of one visitor in the hands of another.
//!
//! Known to belong to somebody: texts that only that visitor may read, the session ids
//! that the site handed out, and addresses. Invariants: 1. A session id has one owner.
//! 2. A text in [`Ledger::keep`] is read by its owner alone.

use std::collections::HashMap;

use crate::client::Answer;

/// What every private text contains, so that most pages need one look only.
pub(crate) const MARK: &str = "Mk";
/// The shortest word that is taken for a session id.
const ID_BYTES_MIN: usize = 20;

/// What was handed out, and what reached the wrong hands.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Private texts with their owners.
    texts: Vec<(String, usize)>,
    /// Session ids with their owners.
    ids: HashMap<String, usize>,
    /// The names of cookies that hold them.
    names: Vec<String>,
    /// What pages have before a word that is a visitor's own.
    starts: Vec<String>,
    /// Addresses as cookies hold them.
    addresses: Vec<String>,
    pub(crate) leaks: Vec<String>,
}

impl Ledger {
    /// From now on this text belongs to a visitor; it contains [`MARK`].
    pub(crate) fn keep(&mut self, owner: usize, text: String) {
        self.texts.push((text, owner));
    }

    /// Behind these words a page shows something that no two visitors have alike.
    pub(crate) fn know_start(&mut self, start: &str) {
        self.starts.push(start.to_owned());
    }

    /// An address from which visitors come.
    pub(crate) fn know_address(&mut self, address: &str) {
        self.addresses.push(base64(address));
    }

    /// Looks through what a visitor at an address was given.
    pub(crate) fn look(&mut self, visitor: usize, address: &str, target: &str, answer: &Answer) {
        let place = |what: &str| {
            let verdict = answer.field("cache-status");
            format!("visitor {visitor} at {target} ({verdict}) got {what}")
        };
        let mut found = Vec::new();
        for line in answer.fields("set-cookie") {
            let own = base64(address);
            let others = self.addresses.iter().filter(|other| **other != own);
            for other in others.filter(|other| line.contains(other.as_str())) {
                found.push(place(&format!("the address {other} in {line}")));
            }
            let pair = line.split(';').next().unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if value.len() >= ID_BYTES_MIN && is_id(value) {
                if !self.names.iter().any(|known| known == name) {
                    self.names.push(name.to_owned());
                }
                found.extend(self.hand(visitor, value).map(|what| place(&what)));
            }
        }
        let in_links = self.names.iter().map(|name| format!("{name}="));
        for start in in_links.chain(self.starts.clone()).collect::<Vec<_>>() {
            for value in words_behind(&answer.body, &start) {
                found.extend(self.hand(visitor, value).map(|what| place(&what)));
            }
        }
        for word in answer.body.split(|letter: char| !letter.is_ascii_alphanumeric()) {
            if let Some(owner) = self.ids.get(word).filter(|owner| **owner != visitor) {
                found.push(place(&format!("visitor {owner}'s session id {word} in the page")));
            }
        }
        if answer.body.contains(MARK) || answer.head.contains(MARK) {
            for (text, owner) in &self.texts {
                let shows = answer.body.contains(text) || answer.head.contains(text);
                if *owner != visitor && shows {
                    found.push(place(&format!("visitor {owner}'s {text:?}")));
                }
            }
        }
        self.leaks.append(&mut found);
    }

    /// Hands a session id to a visitor; says so if it was somebody else's.
    fn hand(&mut self, visitor: usize, id: &str) -> Option<String> {
        let owner = *self.ids.entry(id.to_owned()).or_insert(visitor);
        (owner != visitor).then(|| format!("visitor {owner}'s session id {id}"))
    }
}

/// Whether a value is a word such as session ids are, and says nothing else.
fn is_id(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b',')
}

fn words_behind<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let words = text
        .split(start)
        .skip(1)
        .filter_map(|rest| rest.split(|letter: char| !letter.is_ascii_alphanumeric()).next());
    words.filter(|word| word.len() >= ID_BYTES_MIN)
}

/// RFC 4648 §4, without what pads it at the end.
fn base64(text: &str) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..=part.len() {
            out.push(char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    out
}

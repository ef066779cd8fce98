//! Request ids: one name for a request in the access log, in the app's and at the visitor.
//!
//! Invariant: an id is made here, or by a proxy that is trusted and writes it properly; what
//! a stranger sends under that name goes nowhere.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use wire::Fields;

/// The field that bears it.
pub(crate) const FIELD: &str = "x-request-id";
/// The longest that a proxy's may be.
const BYTES_MAX: usize = 64;
/// Those made here are 128 bits, in hexadecimal digits.
const OWN_BYTES: usize = 32;

/// The id of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestId {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl RequestId {
    /// The id that the fields of a trusted proxy bear; none if they bear none, or several, or
    /// one that could mean something to whoever reads a log.
    pub(crate) fn told(fields: &Fields) -> Option<Self> {
        let mut all = fields.all_named(FIELD);
        let (Some(told), None) = (all.next(), all.next()) else { return None };
        let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:=+/@".contains(&byte);
        if !(1..=BYTES_MAX).contains(&told.len()) || !told.iter().all(is_plain) {
            return None;
        }
        let mut bytes = [0; BYTES_MAX];
        bytes[..told.len()].copy_from_slice(told);
        Some(Self { bytes, length: told.len() })
    }

    /// One that nobody had before, nor can guess.
    pub(crate) fn new() -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        static SEEDS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let halves = SEEDS.each_ref().map(|seed| u128::from(seed.hash_one(number)));
        let bits = halves[0] << 64 | halves[1];
        let mut bytes = [0; BYTES_MAX];
        for (at, byte) in bytes[..OWN_BYTES].iter_mut().enumerate() {
            *byte = DIGITS[(bits >> (4 * at)) as usize & 15];
        }
        Self { bytes, length: OWN_BYTES }
    }

    /// Its letters.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Its letters, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.as_bytes()).into_owned()
    }

    /// Makes it the only one in these fields.
    pub(crate) fn put(&self, fields: &mut Fields) {
        remove(fields);
        fields.push(FIELD, self.as_bytes());
    }
}

/// Takes any id out of these fields, also one that a CGI environment would show as such.
pub(crate) fn remove(fields: &mut Fields) {
    let is_id = |name: &[u8]| {
        name.len() == FIELD.len()
            && name.iter().zip(FIELD.bytes()).all(|(&byte, known)| {
                byte.eq_ignore_ascii_case(&known) || (byte == b'_' && known == b'-')
            })
    };
    fields.retain(|_, name, _| !is_id(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &str) -> Option<String> {
        let fields = Fields::parse(fields.as_bytes()).expect("valid fields");
        RequestId::told(&fields).map(|id| id.text())
    }

    #[test]
    fn a_proxys_id_is_taken_only_if_it_is_one_plain_word() {
        let longest = "a".repeat(64);
        for plain in
            ["7", "0b9f2c1e-8a77-4f5e", "Root=1-67891233-abcdef012345678912345678", &longest]
        {
            assert_eq!(told(&format!("X-Request-ID: {plain}")).as_deref(), Some(plain));
        }
        let too_long = format!("x-request-id: {longest}a");
        for fields in [
            "",
            "x-request-id:",
            "x-request-id: a b",
            "x-request-id: a\"b",
            "x-request-id: a\nx-request-id: b",
            "x_request_id: a",
            &too_long,
        ] {
            assert_eq!(told(fields), None, "{fields}");
        }
    }

    #[test]
    fn no_two_requests_are_given_the_same() {
        let ids: std::collections::HashSet<_> =
            (0..10_000).map(|_| RequestId::new().text()).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(ids.iter().all(|id| id.len() == OWN_BYTES), "32 digits each");
    }

    #[test]
    fn it_takes_the_place_of_whatever_calls_itself_so() {
        let mut fields =
            Fields::parse(b"X-Request-ID: a\nx_request-id: b\nx-own: c").expect("fine");
        let id = RequestId::new();
        id.put(&mut fields);
        let names: Vec<_> = fields.iter_known().map(|(_, name, _)| name.to_vec()).collect();
        assert_eq!(names, [b"x-own".to_vec(), FIELD.into()]);
        assert_eq!(RequestId::told(&fields), Some(id));
    }
}

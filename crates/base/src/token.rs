//! Tokens: words that open a door to whoever shows them.
//!
//! Invariants: 1. A comparison takes a time that tells nothing of where the two differ.
//! 2. A token is never printed.

use std::fmt;
use std::hint::black_box;

/// What opens a door.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token; none if it has fewer bytes than that, and could be guessed.
    #[must_use]
    pub fn new(text: &str, bytes_min: usize) -> Option<Self> {
        (text.len() >= bytes_min.max(1)).then(|| Self(text.to_owned()))
    }

    /// Whether this is it.
    #[must_use]
    pub fn is(&self, shown: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut difference = own.len() ^ shown.len();
        for (at, &byte) in shown.iter().enumerate() {
            difference |= usize::from(byte ^ own[at % own.len()]);
        }
        black_box(difference) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::new("open-sesame", 8).expect("it is long enough");
        for (shown, expected) in [
            ("open-sesame", true),
            ("open-sesam", false),
            ("open-sesamE", false),
            ("open-sesameopen-sesame", false),
            ("", false),
        ] {
            assert_eq!(token.is(shown.as_bytes()), expected, "{shown}");
        }
    }

    #[test]
    fn a_short_token_is_none_and_none_is_printed() {
        assert_eq!(Token::new("sesame", 8), None);
        assert_eq!(Token::new("", 0), None);
        assert!(!format!("{:?}", Token::new("open-sesame", 8)).contains("sesame"));
    }
}

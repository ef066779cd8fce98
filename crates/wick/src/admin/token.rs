//! The token by which somebody who is not on this machine comes to the admin listener.
//!
//! Programs show it as a bearer token, browsers as the password of any user: they ask for one.
//! Invariant: it is in no log, no error and no answer.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Fewer could be tried out one by one.
const BYTES_MIN: usize = 16;
/// The longest `Authorization` that is looked at.
const SHOWN_BYTES_MAX: usize = 1024;

/// What opens the admin listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token(base::Token);

impl Token {
    /// A token; none if the text is so short that it could be guessed.
    pub(crate) fn new(text: &str) -> Option<Self> {
        base::Token::new(text, BYTES_MIN).map(Self)
    }

    /// Whether an `Authorization` shows it.
    pub(crate) fn is_shown_by(&self, authorization: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(authorization) else { return false };
        let Some((scheme, shown)) = text.split_once(' ').filter(|_| text.len() <= SHOWN_BYTES_MAX)
        else {
            return false;
        };
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.0.is(shown.trim().as_bytes());
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return false;
        }
        let Some(pair) = base64(shown.trim()) else { return false };
        let password = pair.iter().position(|&byte| byte == b':').map(|at| &pair[at + 1..]);
        password.is_some_and(|password| self.0.is(password))
    }
}

/// The user of an `Authorization` that has one.
pub(crate) fn user(authorization: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(authorization).ok()?;
    let (scheme, shown) = text.split_once(' ').filter(|_| text.len() <= SHOWN_BYTES_MAX)?;
    let pair = scheme.eq_ignore_ascii_case("basic").then(|| base64(shown.trim())).flatten()?;
    let name = pair.split(|&byte| byte == b':').next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Base64 whose end may be loose: programs differ in it, and the token is compared anyway.
const LOOSE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Bytes written in base64 (RFC 4648 §4); padding may be left out.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    // One letter alone is less than a byte.
    let whole = if text.len() % 4 == 1 { &text[..text.len() - 1] } else { text };
    LOOSE.decode(whole).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-of-many-letters";

    #[test]
    fn the_token_is_shown_as_bearer_or_as_the_password_of_anybody() {
        let token = Token::new(TOKEN).expect("it is long enough");
        for (shown, is_good) in [
            ("Bearer a-token-of-many-letters", true),
            ("bearer   a-token-of-many-letters ", true),
            ("Bearer a-token-of-many-letterS", false),
            ("Bearer a-token-of-many-letters-and-more", false),
            ("Bearer a-token", false),
            ("Bearer ", false),
            ("Bearer", false),
            ("", false),
            // me:a-token-of-many-letters
            ("Basic bWU6YS10b2tlbi1vZi1tYW55LWxldHRlcnM=", true),
            ("basic bWU6YS10b2tlbi1vZi1tYW55LWxldHRlcnM", true),
            // a-token-of-many-letters:me
            ("Basic YS10b2tlbi1vZi1tYW55LWxldHRlcnM6bWU=", false),
            ("Basic a-token-of-many-letters", false),
            ("Basic ====", false),
            ("Digest a-token-of-many-letters", false),
        ] {
            assert_eq!(token.is_shown_by(shown.as_bytes()), is_good, "{shown}");
        }
        assert!(!token.is_shown_by(b"Bearer \xff"));
        assert!(!token.is_shown_by(format!("Bearer {}", "x".repeat(2000)).as_bytes()));
    }

    #[test]
    fn a_short_token_is_none_and_none_is_printed() {
        assert!(Token::new("fifteen-letters").is_none());
        assert!(!format!("{:?}", Token::new(TOKEN)).contains("letters"));
    }

    #[test]
    fn base64_is_read() {
        for (text, expected) in [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8=", Some("fo")),
            ("Zm9v", Some("foo")),
            ("Zm9vYmFy", Some("foobar")),
            // What is left over at the end is no byte.
            ("Zh", Some("f")),
            ("Zm9vY", Some("foo")),
            ("Zg====", Some("f")),
            ("Zm9vé", None),
            ("Zm 9v", None),
            ("Zm-v", None),
        ] {
            assert_eq!(base64(text), expected.map(|text| text.as_bytes().to_vec()), "{text}");
        }
    }
}

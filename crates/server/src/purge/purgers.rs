//! Who may purge: a program on this machine, or whoever shows the site's token.
//!
//! Never an address that a field tells. Behind a proxy on this machine everybody comes from
//! here, so a request that was forwarded must show the token.
//! Invariant: the token is in no log, no answer and no request to an origin.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use base::Token;
use wire::{Fields, Name};

/// How long a site keeps quiet after it told of a refusal.
const QUIET_MS: u64 = 60_000;

/// Fewer can be tried out one by one.
const TOKEN_BYTES_MIN: usize = 8;

/// What opens the door to purges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeToken(Token);

impl PurgeToken {
    /// A token; none if the text is so short that it could be guessed.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Token::new(text, TOKEN_BYTES_MIN).map(Self)
    }
}

/// The door of one site.
pub(crate) struct Purgers {
    token: Option<PurgeToken>,
    /// When a refusal may be told again.
    tell_at_ms: AtomicU64,
}

impl Purgers {
    pub(crate) fn new(token: Option<PurgeToken>) -> Self {
        Self { token, tell_at_ms: AtomicU64::new(0) }
    }

    /// Whether this token opens it.
    pub(crate) fn is_of(&self, token: Option<&PurgeToken>) -> bool {
        self.token.as_ref() == token
    }

    /// Whether the sender of these fields may purge, who may be a program on this machine.
    pub(crate) fn lets_in(&self, is_here: bool, fields: &Fields) -> bool {
        (is_here && !was_forwarded(fields))
            || self.token.as_ref().is_some_and(|token| shown(fields).any(|one| token.0.is(one)))
    }

    /// What to tell the owner about a refusal; nothing if that was told a moment ago.
    pub(crate) fn complaint(&self, site: &str, peer: SocketAddr, ticks_ms: u64) -> Option<String> {
        let at = self.tell_at_ms.load(Ordering::Relaxed);
        let next = ticks_ms + QUIET_MS;
        if ticks_ms < at
            || self
                .tell_at_ms
                .compare_exchange(at, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return None;
        }
        let what = match self.token {
            Some(_) => "it must show purge_token, as \"X-Purge-Token: …\"",
            None => {
                "set purge_token = \"…\" for the site in wick.toml and let it show that, as \
                 \"X-Purge-Token: …\""
            }
        };
        Some(format!(
            "a purge of {site} from {} was refused, so old pages may stay: only programs on this \
             machine may purge unasked; {what}",
            peer.ip().to_canonical()
        ))
    }
}

/// Whether somebody says that the request came from elsewhere.
fn was_forwarded(fields: &Fields) -> bool {
    [Name::XForwardedFor, Name::XForwardedHost, Name::XForwardedProto, Name::Forwarded, Name::Via]
        .iter()
        .any(|&name| fields.has(name))
        || fields.all_named("x-real-ip").next().is_some()
}

fn shown(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    let bearer = fields.all(Name::Authorization).filter_map(|value| {
        let (scheme, token) = value.split_at_checked(b"bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
    });
    bearer.chain(fields.all_named("x-purge-token")).chain(fields.all_named("fastly-key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lets_in(token: &str, peer: &str, fields: &str) -> bool {
        let purgers = Purgers::new(PurgeToken::new(token));
        let peer = SocketAddr::new(peer.parse().expect("an address"), 1);
        let is_here = crate::journey::Peers::new(peer, peer, "http").is_here;
        purgers.lets_in(is_here, &Fields::parse(fields.as_bytes()).expect("valid fields"))
    }

    #[test]
    fn programs_on_this_machine_may_purge_unless_they_forward() {
        for here in ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"] {
            assert!(lets_in("", here, ""), "{here}");
        }
        for elsewhere in ["192.0.2.1", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1"] {
            assert!(!lets_in("", elsewhere, ""), "{elsewhere}");
            assert!(!lets_in("", elsewhere, "X-Forwarded-For: 127.0.0.1"), "{elsewhere}");
        }
        for forwarded in [
            "X-Forwarded-For: 127.0.0.1",
            "Forwarded: for=127.0.0.1",
            "X-Real-IP: ::1",
            "Via: 1.1 x",
        ] {
            assert!(!lets_in("", "127.0.0.1", forwarded), "{forwarded}");
            let with_token = format!("{forwarded}\nX-Purge-Token: open-sesame");
            assert!(lets_in("open-sesame", "127.0.0.1", &with_token), "{forwarded}");
        }
    }

    #[test]
    fn who_shows_the_token_may_purge_from_anywhere() {
        for (fields, is_let_in) in [
            ("Authorization: Bearer open-sesame", true),
            ("authorization: bearer  open-sesame ", true),
            ("X-Purge-Token: open-sesame", true),
            ("Fastly-Key: open-sesame", true),
            ("X-Purge-Token: wrong\nX-Purge-Token: open-sesame", true),
            ("Authorization: Basic open-sesame", false),
            ("Authorization: Bearer", false),
            ("X-Purge-Token: open-sesam", false),
            ("X-Purge-Token: open-sesames", false),
            ("X-Purge-Token: open-sesameopen-sesame", false),
            ("X-Purge-Token:", false),
            ("Cookie: open-sesame", false),
        ] {
            assert_eq!(lets_in("open-sesame", "192.0.2.1", fields), is_let_in, "{fields}");
        }
        assert!(!lets_in("", "192.0.2.1", "X-Purge-Token:"), "no token lets nobody in");
    }

    #[test]
    fn a_refusal_is_told_once_a_minute_with_what_to_do_and_without_the_token() {
        let peer = "192.0.2.7:99".parse().expect("an address");
        let purgers = Purgers::new(None);
        let told = purgers.complaint("/srv/site", peer, 5).expect("the first");
        assert!(told.contains("192.0.2.7") && told.contains("purge_token = \"…\""), "{told}");
        assert_eq!(purgers.complaint("/srv/site", peer, 60_004), None);
        assert!(purgers.complaint("/srv/site", peer, 60_005).is_some());
        let purgers = Purgers::new(PurgeToken::new("hush-hush"));
        let told = purgers.complaint("/srv/site", peer, 0).expect("the first");
        assert!(!told.contains("hush-hush") && told.contains("must show purge_token"), "{told}");
        assert!(!format!("{:?}", PurgeToken::new("hush-hush")).contains("hush-hush"));
    }
}

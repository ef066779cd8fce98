//! `Cache-Status`: each answer's verdict, told to whoever looks at its head.
//!
//! Law: RFC 9211. Our member comes behind those of caches nearer to the origin, as a
//! field line of its own. Nothing here allocates, apart from room in the buffer.
//! Start at [`write`]; then [`write_stored`] or [`write_not_stored`], then [`write_key`].

use crate::digits;
use crate::reason::{FailReason, MissReason, NoStore, PassReason, StaleReason};
use crate::verdict::Verdict;

/// How much of a key is shown.
const KEY_BYTES_MAX: usize = 256;

/// Appends `wick` with what became of the request: `wick; hit; ttl=30` or
/// `wick; fwd=uri-miss; fwd-status=200`.
///
/// `origin_status` is what the origin said, if it was asked and answered.
pub fn write(
    out: &mut Vec<u8>,
    verdict: Verdict,
    ttl_seconds: Option<i64>,
    origin_status: Option<u16>,
) {
    out.extend_from_slice(b"wick");
    match forward(verdict) {
        None if is_hit(verdict) => out.extend_from_slice(b"; hit"),
        None => {}
        Some(reason) => {
            out.extend_from_slice(b"; fwd=");
            out.extend_from_slice(reason.as_bytes());
        }
    }
    if let Some(status) = origin_status {
        out.extend_from_slice(b"; fwd-status=");
        digits::push(out, status.into());
    }
    if verdict == Verdict::Collapsed {
        out.extend_from_slice(b"; collapsed");
    }
    if let Some(seconds) = ttl_seconds {
        out.extend_from_slice(if seconds < 0 { b"; ttl=-" } else { b"; ttl=" });
        digits::push(out, seconds.unsigned_abs());
    }
    let detail = detail(verdict);
    if !detail.is_empty() {
        out.extend_from_slice(b"; detail=");
        out.extend_from_slice(detail.as_bytes());
    }
}

/// Appends that the answer was stored.
pub fn write_stored(out: &mut Vec<u8>) {
    out.extend_from_slice(b"; stored");
}

/// Appends of how many parts the answer was put together (ESI).
pub fn write_parts(out: &mut Vec<u8>, parts: u64) {
    out.extend_from_slice(b"; parts=");
    digits::push(out, parts);
}

/// Appends why the answer was not stored. Where [`write`] has given a detail already, this
/// one counts for readers of structured fields: the last one of a name does.
pub fn write_not_stored(out: &mut Vec<u8>, reason: NoStore) {
    out.extend_from_slice(b"; detail=");
    out.extend_from_slice(reason.reason().as_bytes());
}

/// About how long that of a key is: exactly, where all of it may stand as it is.
#[must_use]
pub fn key_bytes(key: &[u8]) -> usize {
    r#"; key="""#.len() + key.len().min(KEY_BYTES_MAX)
}

/// Appends `; key="…"`: printable ASCII as it is, everything else percent-encoded, and no
/// more than a line's worth of it.
pub fn write_key(out: &mut Vec<u8>, key: &[u8]) {
    out.extend_from_slice(b"; key=\"");
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let mut rest = &key[..key.len().min(KEY_BYTES_MAX)];
    loop {
        let (plain, behind) = rest.split_at(rest.iter().take_while(|byte| is_plain(byte)).count());
        out.extend_from_slice(plain);
        let Some((&byte, behind)) = behind.split_first() else { break };
        if byte.is_ascii_graphic() {
            out.extend_from_slice(&[b'\\', byte]);
        } else {
            let digit = |half: u8| b"0123456789ABCDEF"[usize::from(half & 15)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
        }
        rest = behind;
    }
    out.push(b'"');
}

const fn is_hit(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Hit
            | Verdict::Stale(
                StaleReason::WhileRevalidate | StaleReason::Request | StaleReason::Purged
            )
    )
}

/// Why the request went further, in the words of RFC 9211 §2.2.
const fn forward(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Hit
        | Verdict::Stale(
            StaleReason::WhileRevalidate | StaleReason::Request | StaleReason::Purged,
        )
        | Verdict::Synthetic(_)
        | Verdict::Refused(_) => None,
        Verdict::Revalidated | Verdict::Stale(StaleReason::Error | StaleReason::Slow) => {
            Some("stale")
        }
        Verdict::Collapsed | Verdict::Fellow => Some("miss"),
        Verdict::Miss(reason) => Some(match reason {
            MissReason::UriMiss => "uri-miss",
            MissReason::VaryMiss => "vary-miss",
            MissReason::Expired | MissReason::Swept | MissReason::NoCache => "stale",
            MissReason::RequestNoCache
            | MissReason::RequestMaxAge
            | MissReason::RequestMinFresh => "request",
            MissReason::Partial => "partial",
        }),
        Verdict::Pass(reason) => Some(match reason {
            PassReason::Method => "method",
            _ => "bypass",
        }),
        Verdict::Failed(reason) => match reason {
            FailReason::OnlyIfCached
            | FailReason::QueueFull
            | FailReason::ClientBody
            | FailReason::Internal => None,
            _ => Some("miss"),
        },
    }
}

/// The reason where the rest of the member doesn't give it. With it, each verdict's word
/// can be read back from its member: see the test.
const fn detail(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Miss(
            MissReason::UriMiss | MissReason::VaryMiss | MissReason::Expired | MissReason::Partial,
        )
        | Verdict::Pass(PassReason::Method) => "",
        Verdict::Revalidated | Verdict::Fellow => verdict.word(),
        verdict => verdict.reason(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::OwnReason;

    fn check(verdict: Verdict, ttl: Option<i64>, status: Option<u16>, expected: &str) {
        let mut out = Vec::new();
        write(&mut out, verdict, ttl, status);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn members_say_what_became_of_the_request() {
        let stale = |reason| Verdict::Stale(reason);
        check(Verdict::Hit, Some(30), None, "wick; hit; ttl=30");
        check(Verdict::Hit, Some(i64::MIN), None, "wick; hit; ttl=-9223372036854775808");
        check(
            stale(StaleReason::WhileRevalidate),
            Some(-3),
            None,
            "wick; hit; ttl=-3; detail=while-revalidate",
        );
        check(stale(StaleReason::Request), Some(-3), None, "wick; hit; ttl=-3; detail=max-stale");
        check(
            stale(StaleReason::Error),
            Some(-3),
            Some(503),
            "wick; fwd=stale; fwd-status=503; ttl=-3; detail=error",
        );
        check(
            Verdict::Revalidated,
            Some(9),
            Some(304),
            "wick; fwd=stale; fwd-status=304; ttl=9; detail=revalidated",
        );
        check(Verdict::Collapsed, Some(9), None, "wick; fwd=miss; collapsed; ttl=9");
        check(
            Verdict::Miss(MissReason::UriMiss),
            None,
            Some(200),
            "wick; fwd=uri-miss; fwd-status=200",
        );
        check(Verdict::Miss(MissReason::VaryMiss), None, None, "wick; fwd=vary-miss");
        check(
            Verdict::Miss(MissReason::Expired),
            None,
            Some(200),
            "wick; fwd=stale; fwd-status=200",
        );
        check(
            Verdict::Miss(MissReason::RequestMaxAge),
            None,
            None,
            "wick; fwd=request; detail=request-max-age",
        );
        check(
            Verdict::Pass(PassReason::Method),
            None,
            Some(303),
            "wick; fwd=method; fwd-status=303",
        );
        check(
            Verdict::Pass(PassReason::Remembered),
            None,
            None,
            "wick; fwd=bypass; detail=uncacheable-remembered",
        );
        check(
            Verdict::Failed(FailReason::OriginTimeout),
            None,
            None,
            "wick; fwd=miss; detail=origin-timeout",
        );
        check(Verdict::Failed(FailReason::OnlyIfCached), None, None, "wick; detail=only-if-cached");
        check(
            Verdict::Refused(crate::RefuseReason::HostUnknown),
            None,
            None,
            "wick; detail=host-unknown",
        );
        check(Verdict::Synthetic(OwnReason::Https), None, None, "wick; detail=https");
    }

    #[test]
    fn what_came_from_another_node_is_told_from_what_came_from_the_origin() {
        check(Verdict::Fellow, Some(9), None, "wick; fwd=miss; ttl=9; detail=fellow");
    }

    #[test]
    fn each_members_word_and_reason_can_be_read_back() {
        let members: Vec<_> = Verdict::ALL
            .iter()
            .map(|&verdict| {
                let mut out = Vec::new();
                write(&mut out, verdict, None, None);
                out
            })
            .collect();
        for (at, member) in members.iter().enumerate() {
            assert!(!members[..at].contains(member), "{}", Verdict::ALL[at]);
        }
    }

    #[test]
    fn members_are_structured_fields_whatever_the_key_holds() {
        for &verdict in Verdict::ALL {
            for stored in [Ok(()), Err(NoStore::SetCookie)] {
                let mut out = b"cdn; hit, ".to_vec();
                write(&mut out, verdict, Some(-1), Some(200));
                match stored {
                    Ok(()) => write_stored(&mut out),
                    Err(reason) => write_not_stored(&mut out, reason),
                }
                write_key(&mut out, b"http|a|/x?\"\\\xc3\xa9\x00y");
                let list: sfv::List = sfv::Parser::new(&out).parse().expect("a structured list");
                assert_eq!(list.len(), 2);
            }
        }
        let mut out = Vec::new();
        write_key(&mut out, b"/\"\\\xe9");
        assert_eq!(out, b"; key=\"/\\\"\\\\%E9\"");
        out.clear();
        write_key(&mut out, &[b'a'; 10_000]);
        assert_eq!(out.len(), KEY_BYTES_MAX + 8);
    }
}

//! Requests to go on in another protocol, such as WebSocket: which are passed on, and what
//! is said on both sides of us.
//!
//! Law: RFC 9110 §7.8, §15.2.2. Only a plain GET is passed on, and only for protocols that
//! are not HTTP or TLS themselves: who spoke those with the origin could ask it for what is
//! refused here. Nothing is a tunnel before the origin has answered 101 and named a protocol
//! that was asked for.

use core::net::IpAddr;

use wire::{Fields, Name, RequestHead, Version};

use crate::forwarding::{to_client, to_origin};

/// Whether the client asks for a protocol that is not HTTP. An offer to go on in another
/// version of HTTP or in TLS may be ignored, and browsers' tools make it all the time; so
/// may an offer in HTTP/1.0 or one that `Connection` doesn't name.
pub(crate) fn is_upgrade(head: &RequestHead) -> bool {
    head.version == Version::Http11
        && head.fields.has_member(Name::Connection, "upgrade")
        && offers(&head.fields).next().is_some()
}

/// The fields to ask the origin with for a request to upgrade.
#[must_use]
pub fn to_origin_upgrading(head: &RequestHead, peer: IpAddr, scheme: &str) -> Fields {
    let mut fields = to_origin(head, peer, scheme);
    fields.remove(Name::Te);
    fields.set(Name::Connection, "upgrade");
    fields.set(Name::Upgrade, offers(&head.fields).collect::<Vec<_>>().join(&b", "[..]));
    fields
}

/// The fields to tell the client with that the origin has switched; none if it has switched
/// to something that nobody asked for.
#[must_use]
pub fn to_client_switched(request: &Fields, response: &Fields) -> Option<Fields> {
    let mut switched = response.members(Name::Upgrade).peekable();
    switched.peek()?;
    let is_asked = |protocol: &[u8]| offers(request).any(|o| o.eq_ignore_ascii_case(protocol));
    if !switched.all(is_asked) {
        return None;
    }
    let protocols = response.members(Name::Upgrade).collect::<Vec<_>>().join(&b", "[..]);
    let mut fields = to_client(response);
    fields.remove(Name::ContentLength);
    fields.put(Name::Connection, "upgrade");
    fields.put(Name::Upgrade, protocols);
    Some(fields)
}

/// The protocols that are asked for, but for those that may be ignored and never pass.
fn offers(fields: &Fields) -> impl Iterator<Item = &[u8]> {
    fields.members(Name::Upgrade).filter(|protocol| {
        let name = protocol.split(|&b| b == b'/').next().unwrap_or_default();
        let never = [&b"h2c"[..], b"h2", b"h3", b"http", b"tls"];
        !never.iter().any(|known| name.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;
    use crate::written::fields;

    #[test]
    fn only_protocols_that_are_not_http_reach_the_origin() {
        for (asked, sent) in [
            ("upgrade: websocket\nconnection: Upgrade", "websocket"),
            (
                "upgrade: h2c, websocket\nconnection: keep-alive, upgrade, http2-settings\nhttp2-settings: x",
                "websocket",
            ),
            (
                "upgrade: WebSocket\nupgrade: foo/2, TLS/1.0\nconnection: upgrade",
                "WebSocket, foo/2",
            ),
        ] {
            let head = RequestHead {
                method: Method::GET,
                host: "a.test".to_owned(),
                version: Version::Http11,
                fields: fields(&format!("{asked}\nte: trailers\nsec-websocket-key: k")),
                ..RequestHead::default()
            };
            assert!(is_upgrade(&head), "{asked}");
            let peer = "192.0.2.1".parse().expect("an address");
            let fields = to_origin_upgrading(&head, peer, "http");
            assert_eq!(fields.text(Name::Upgrade), Some(sent), "{asked}");
            assert_eq!(fields.text(Name::Connection), Some("upgrade"), "{asked}");
            let names: Vec<_> = fields.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
            assert!(!names.contains(&b"http2-settings".to_vec()) && !fields.has(Name::Te));
            assert!(names.contains(&b"sec-websocket-key".to_vec()), "{asked}");
        }
    }

    #[test]
    fn a_switch_is_told_if_it_was_asked_for() {
        let request = fields("upgrade: websocket, foo/2\nconnection: upgrade");
        for (response, told) in [
            ("upgrade: websocket\nconnection: upgrade", Some("websocket")),
            ("upgrade: WebSocket\nconnection: upgrade\nkeep-alive: 5", Some("WebSocket")),
            ("upgrade: foo/2\nconnection: upgrade\ncontent-length: 5", Some("foo/2")),
            ("upgrade: h2c\nconnection: upgrade", None),
            ("upgrade: websocket, h2c\nconnection: upgrade", None),
            ("connection: upgrade", None),
        ] {
            let switched = to_client_switched(&request, &fields(response));
            let protocols = switched.as_ref().and_then(|fields| fields.text(Name::Upgrade));
            assert_eq!(protocols, told, "{response}");
            if let Some(fields) = &switched {
                assert_eq!(fields.text(Name::Connection), Some("upgrade"));
                assert!(!fields.has(Name::ContentLength) && !fields.has(Name::KeepAlive));
            }
        }
    }
}

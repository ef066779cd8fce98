//! Fields that belong to one connection and must not travel further.
//!
//! Law: RFC 9110 §7.6.1; RFC 9111 §3.1.

use wire::{Fields, Name};

/// Whether a field ends at this hop, whatever `Connection` says.
pub(crate) fn is_of_one_hop(known: Option<Name>, name: &[u8]) -> bool {
    match known {
        Some(name) => matches!(
            name,
            Name::Connection
                | Name::KeepAlive
                | Name::ProxyAuthenticate
                | Name::ProxyAuthorization
                | Name::ProxyConnection
                | Name::Te
                | Name::Trailer
                | Name::TransferEncoding
                | Name::Upgrade
        ),
        None => [&b"http2-settings"[..], b"proxy-authentication-info"]
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other)),
    }
}

/// Whether `Connection` names this field.
pub(crate) fn is_named(message: &Fields, name: &[u8]) -> bool {
    message.has(Name::Connection)
        && message.members(Name::Connection).any(|option| option.eq_ignore_ascii_case(name))
}

/// Whether `Connection` names anything that is not about connections: a field that
/// would be taken from the origin's sight after the key was made of it.
pub(crate) fn names_other_fields(request: &Fields) -> bool {
    request.has(Name::Connection)
        && request.members(Name::Connection).any(|option| {
            let about_connections = [&b"close"[..], b"keep-alive", b"upgrade", b"te"];
            !about_connections.iter().any(|known| option.eq_ignore_ascii_case(known))
                && !is_of_one_hop(Name::of(option), option)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_about_connections_leave_the_request_shareable() {
        for (options, other) in [
            ("close", false),
            ("keep-alive, TE, Trailer", false),
            ("Upgrade, HTTP2-Settings", false),
            ("close, cookie", true),
            ("x-tenant", true),
            ("host", true),
        ] {
            let fields = Fields::parse(format!("connection: {options}").as_bytes());
            assert_eq!(names_other_fields(&fields.expect("valid fields")), other, "{options}");
        }
        assert!(!names_other_fields(&Fields::new()));
    }
}

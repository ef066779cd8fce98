//! How a connection goes on in WebSocket.
//!
//! Law: RFC 6455 §4.2. No extension and no subprotocol is agreed on, and any page may ask: there
//! is no cookie here that another site could make use of.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest as _, Sha1};

/// What a server shows that it has understood by (§1.3).
const MARK: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION: &[u8] = b"13";
const KEY_BYTES: usize = 16;

/// A request's wish to go on in WebSocket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Upgrade<'a> {
    key: &'a [u8],
    version: &'a [u8],
}

/// Whether a request of HTTP/1.1 with these fields wants that.
pub(crate) fn wish<'a>(fields: &[httparse::Header<'a>]) -> Option<Upgrade<'a>> {
    let named = |name: &'static str| {
        fields.iter().filter(move |field| field.name.eq_ignore_ascii_case(name))
    };
    let says = |name, word: &str| {
        let words = named(name).flat_map(|field| field.value.split(|&byte| byte == b','));
        words.map(<[u8]>::trim_ascii).any(|it| it.eq_ignore_ascii_case(word.as_bytes()))
    };
    let value = |name| named(name).next().map_or(&b""[..], |field| field.value.trim_ascii());
    (says("upgrade", "websocket") && says("connection", "upgrade")).then(|| Upgrade {
        key: value("sec-websocket-key"),
        version: value("sec-websocket-version"),
    })
}

impl Upgrade<'_> {
    /// What shows that it was understood; else the whole answer that says what is wrong.
    pub(super) fn accepted(&self) -> Result<String, &'static [u8]> {
        if self.version != VERSION {
            return Err(b"HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\n\
                         Content-Length: 0\r\nConnection: close\r\n\r\n");
        }
        let is_key = BASE64_STANDARD.decode(self.key).is_ok_and(|key| key.len() == KEY_BYTES);
        if !is_key {
            return Err(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\
                         Connection: close\r\n\r\n");
        }
        let digest = Sha1::new().chain_update(self.key).chain_update(MARK).finalize();
        Ok(BASE64_STANDARD.encode(digest))
    }
}

/// Appends the answer behind which WebSocket begins.
pub(super) fn put_accepted(out: &mut Vec<u8>, accepted: &str) {
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
          Sec-WebSocket-Accept: ",
    );
    out.extend_from_slice(accepted.as_bytes());
    out.extend_from_slice(b"\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &[(&'static str, &'static str)]) -> String {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| httparse::Header { name, value: value.as_bytes() })
            .collect();
        match wish(&fields).map(|wish| wish.accepted()) {
            None => "none".to_owned(),
            Some(Ok(accepted)) => accepted,
            Some(Err(answer)) => String::from_utf8_lossy(&answer[9..12]).into_owned(),
        }
    }

    #[test]
    fn a_wish_is_understood_as_browsers_and_proxies_write_it() {
        let key = ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let version = ("Sec-WebSocket-Version", "13");
        let (upgrade, connection) = (("Upgrade", "websocket"), ("Connection", "Upgrade"));
        // The example of RFC 6455 §1.3.
        let accepted = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
        for (fields, expected) in [
            (&[upgrade, connection, key, version][..], accepted),
            (
                &[("upgrade", "WebSocket"), ("connection", "keep-alive, upgrade"), key, version],
                accepted,
            ),
            (&[upgrade, connection, key, ("Sec-WebSocket-Version", "8")], "426"),
            (&[upgrade, connection, key], "426"),
            (&[upgrade, connection, ("Sec-WebSocket-Key", "short"), version], "400"),
            (&[upgrade, connection, ("Sec-WebSocket-Key", "c2hvcnQ="), version], "400"),
            (&[upgrade, connection, version], "400"),
            (&[upgrade, key, version], "none"),
            (&[connection, key, version], "none"),
            (&[("Upgrade", "h2c"), connection], "none"),
            (&[], "none"),
        ] {
            assert_eq!(told(fields), expected, "{fields:?}");
        }
    }
}

//! What php-fpm is asked about itself, over the socket by which it runs the site.
//!
//! Invariants: 1. No visitor waits for it: it takes a child that is free at once, or none.
//! 2. Its connection is closed behind the answer, so no child is held by it. 3. No visitor can
//! ask the same: what is asked for is no path of the site.
//! Start at [`PhpOrigin::inquire`].

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use wire::fastcgi::encode_param;

use super::exchange::Exchange;
use super::spool::Stored;
use super::{Failure, PhpOrigin};
use crate::OriginError;
use crate::timeouts::{seconds, within};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest that is read.
const ANSWER_BYTES_MAX: usize = 1 << 20;

impl PhpOrigin {
    /// Runs `script`, which is a file of ours or a page of php-fpm's own, and returns what it
    /// says; nothing if every child is busy.
    ///
    /// # Errors
    /// As [`crate::Origin::send`]; an answer with another status than 200 is malformed.
    pub async fn inquire(&self, script: &Path, query: &str) -> Result<Option<Bytes>, OriginError> {
        let Some(slot) = self.slots.try_take() else { return Ok(None) };
        let asked = async {
            let connection = self.fresh().await?;
            let nothing = Stored::Memory(Bytes::new());
            let exchange = Exchange::new(connection, &environment(script, query), nothing, false);
            let got = self.head_of(exchange, PATIENCE).await;
            let got = got.map_err(|Failure { error, .. }| error)?;
            let begun = self.begun(got, slot, &None);
            if begun.cgi.head.status != 200 {
                let status = begun.cgi.head.status;
                return Err(OriginError::Malformed(format!("a status of {status}")));
            }
            let (body, _) = begun.pump.into_body(begun.first).await;
            let whole = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let whole = whole.map_err(|error| OriginError::Malformed(error.to_string()))?;
            Ok(Some(whole.to_bytes()))
        };
        let late = Err(OriginError::FirstByteTimeout { seconds: seconds(PATIENCE) });
        within(PATIENCE, asked).await.unwrap_or(late)
    }
}

fn environment(script: &Path, query: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    let script = script.as_os_str().as_bytes();
    for (name, value) in [
        ("GATEWAY_INTERFACE", &b"CGI/1.1"[..]),
        ("SERVER_PROTOCOL", b"HTTP/1.1"),
        ("REDIRECT_STATUS", b"200"),
        ("REQUEST_METHOD", b"GET"),
        ("REQUEST_URI", script),
        ("SCRIPT_NAME", script),
        ("SCRIPT_FILENAME", script),
        ("QUERY_STRING", query.as_bytes()),
        ("REMOTE_ADDR", b"127.0.0.1"),
        ("SERVER_NAME", b"localhost"),
        ("CONTENT_LENGTH", b""),
    ] {
        encode_param(&mut out, name.as_bytes(), value);
    }
    out
}

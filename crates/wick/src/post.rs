//! What somebody else's server is told by POST, at an address that an owner wrote.
//!
//! Invariant: the address is never shown, since whoever knows it may write there.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use origin::{Call, HttpOptions, HttpOrigin, HttpServer, Origin, TlsSettings};
use tokio::time::timeout;
use wire::{Fields, Name, RequestHead, body};

/// What is read of an answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// An address, as `http://HOST/PATH` or `https://HOST/PATH`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) server: String,
    pub(crate) target: String,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Address(…)")
    }
}

/// A server's answer.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// How long it wants to be left alone.
    pub(crate) retry_after: Option<Duration>,
    /// Its body; empty if that is longer than anybody reads.
    pub(crate) body: Bytes,
}

impl Address {
    /// Reads one; none if it is of another scheme, or holds a user's name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        if !matches!(scheme, "http" | "https") || !is_plain || authority.contains(['@', '?', '#']) {
            return None;
        }
        let target = path.split('#').next().unwrap_or(path).to_owned();
        let address = Self { server: format!("{scheme}://{authority}"), target };
        address.origin().map(|_| address)
    }

    /// What connections to it are made by, and kept for the next one.
    pub(crate) fn origin(&self) -> Option<Origin> {
        let servers = [HttpServer::at(&self.server)];
        let made = HttpOrigin::of(&servers, &TlsSettings::default(), HttpOptions::default());
        made.map(Origin::Http).ok()
    }

    /// A request to it.
    pub(crate) fn call(&self, method: http::Method, fields: Fields, text: Option<String>) -> Call {
        let host = self.server.split_once("://").map_or("", |(_, host)| host).to_owned();
        let target = self.target.clone();
        let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        Call {
            head: RequestHead { method, target, host, fields, ..RequestHead::default() },
            body_length: text.as_ref().map(|text| text.len() as u64),
            body: text.map(body::full),
            peer: here,
            local: here,
            scheme: "http",
            is_counted: false,
            early: None,
            phases: None,
        }
    }

    /// Tells it JSON once, within so long; why not, if there was no answer.
    pub(crate) async fn post(
        &self,
        origin: &Origin,
        json: String,
        within: Duration,
    ) -> Result<Answered, String> {
        self.post_as(origin, "application/json", json, within).await
    }

    /// The same with a text of any type.
    pub(crate) async fn post_as(
        &self,
        origin: &Origin,
        media_type: &'static str,
        text: String,
        within: Duration,
    ) -> Result<Answered, String> {
        let mut fields = Fields::new();
        fields.put(Name::ContentType, media_type);
        let call = self.call(http::Method::POST, fields, Some(text));
        let asked = async {
            let answer = origin.send(call).await.map_err(|error| error.to_string())?;
            let retry_after = answer.head.fields.text(Name::RetryAfter);
            let retry_after = retry_after.and_then(|text| text.parse().ok());
            let read = Limited::new(answer.body, ANSWER_BYTES_MAX).collect().await;
            Ok(Answered {
                status: answer.head.status,
                retry_after: retry_after.map(Duration::from_secs),
                body: read.map(http_body_util::Collected::to_bytes).unwrap_or_default(),
            })
        };
        let late = || Err(format!("nothing within {} s", within.as_secs()));
        timeout(within, asked).await.unwrap_or_else(|_| late())
    }
}

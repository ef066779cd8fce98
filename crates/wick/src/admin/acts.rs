//! What may be done through the admin listener: overrule what was learned, try an address out.
//!
//! In: a request that the [`Guard`](super::guard::Guard) has let in, and its body. Out: JSON.
//! Invariants: 1. only POST of JSON acts, which no page of another site can send unasked. 2.
//! nothing is overruled where no token has to be shown, for whoever is on this machine may look.
//! 3. a body is read no further than [`BODY_BYTES_MAX`], and no longer than [`PATIENCE`].

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use server::{OverruleOrder, Server, TryOut};
use tokio::runtime::Handle;

use super::token;

/// Bytes of a body.
const BODY_BYTES_MAX: usize = 16 << 10;
/// For a body to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Letters of a user's name that are kept.
const NAME_LETTERS_MAX: usize = 40;

/// What may be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Overrule,
    TryOut,
}

impl Act {
    pub(crate) fn at(path: &str) -> Option<Self> {
        Some(match path {
            "/api/overrule" => Self::Overrule,
            "/api/try" => Self::TryOut,
            _ => return None,
        })
    }
}

/// Who does it.
pub(crate) struct Acting {
    pub(crate) server: Arc<Server>,
    /// Where requests to origins are at home: what they begin outlives this listener.
    pub(crate) road: Handle,
}

/// What comes of it: a status, and JSON.
pub(crate) type Outcome = (StatusCode, Value);

fn wrong(status: StatusCode, why: impl Into<String>) -> Outcome {
    (status, json!({ "wrong": why.into() }))
}

impl Acting {
    /// Does what a request asks for. `has_token`: one had to be shown.
    pub(crate) async fn act<B>(
        &self,
        act: Act,
        head: &Parts,
        peer: IpAddr,
        has_token: bool,
        body: B,
    ) -> Outcome
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if act == Act::Overrule && !has_token {
            return wrong(
                StatusCode::FORBIDDEN,
                "whoever is on this machine may look, and so may change nothing: set admin_token \
                 in wick.toml and restart Wick, or run \"wick overrule\" as its user",
            );
        }
        let kind = head.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes());
        if !kind.is_some_and(|kind| kind.starts_with(b"application/json")) {
            return wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send it as application/json");
        }
        let limited = std::pin::pin!(Limited::new(body, BODY_BYTES_MAX).collect());
        let body = match tokio::time::timeout(PATIENCE, limited).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return wrong(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
            Err(_) => return wrong(StatusCode::REQUEST_TIMEOUT, "the body stopped coming"),
        };
        let done = match act {
            Act::Overrule => self.overrule(&body, who(head, peer)).await,
            Act::TryOut => self.try_out(&body).await,
        };
        match done {
            Ok(done) => (StatusCode::OK, done),
            Err(why) => wrong(StatusCode::BAD_REQUEST, why),
        }
    }

    async fn overrule(&self, body: &[u8], by: String) -> Result<Value, String> {
        let order = OverruleOrder { by, ..read(body)? };
        let server = self.server.clone();
        // It waits for the disk.
        let done = tokio::task::spawn_blocking(move || server.overrule(&order)).await;
        let lines = done.map_err(|_| "it has a fault; please report it".to_owned())??;
        Ok(json!({ "lines": lines }))
    }

    async fn try_out(&self, body: &[u8]) -> Result<Value, String> {
        let wanted: TryOut = read(body)?;
        let server = self.server.clone();
        let tried = self.road.spawn(async move { server.try_out(wanted).await }).await;
        let tried = tried.map_err(|_| "Wick stops".to_owned())??;
        serde_json::to_value(tried).map_err(|error| error.to_string())
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    serde_json::from_slice(body).map_err(|error| format!("the body can't be read: {error}"))
}

/// Who asks: the name that came with the token, if a person gave one, and from where.
fn who(head: &Parts, peer: IpAddr) -> String {
    let shown = head.headers.get(AUTHORIZATION).map(|shown| shown.as_bytes());
    let name: String = shown
        .and_then(token::user)
        .unwrap_or_default()
        .chars()
        .filter(|letter| !letter.is_control())
        .take(NAME_LETTERS_MAX)
        .collect();
    match name.trim() {
        "" => format!("the dashboard at {peer}"),
        // A name may be of four bytes a letter.
        name => format!("{name} at {peer}"),
    }
}

//! Checks: a page that a server is asked for now and then, to find out how it is.
//!
//! A check has a connection of its own and takes no slot: a server whose slots are all taken
//! is busy, not ill.

use std::time::Duration;

use http::Method;
use wire::{Fields, Name, RequestHead};

use super::exchange::Outgoing;
use super::member::Member;
use crate::timeouts::{seconds, within};

/// How the health of servers is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// What is asked for.
    pub path: String,
    /// The `Host` that is asked for; empty: the server's own.
    pub host: String,
    /// How long after one check the next begins.
    pub every: Duration,
    /// How long one may take.
    pub timeout: Duration,
    /// The status of one that is well; none: any from 200 to 399.
    pub status: Option<u16>,
}

impl HealthCheck {
    fn request(&self) -> RequestHead {
        let mut fields = Fields::new();
        fields.put(Name::UserAgent, "wick-health-check");
        fields.put(Name::Connection, "close");
        RequestHead {
            method: Method::GET,
            target: self.path.clone(),
            host: self.host.clone(),
            fields,
            ..RequestHead::default()
        }
    }

    fn wants(&self, status: u16) -> bool {
        self.status.map_or((200..400).contains(&status), |wanted| wanted == status)
    }
}

/// Asks once; an error says in words what was wrong.
pub(crate) async fn ask(member: &Member, check: &HealthCheck) -> Result<(), String> {
    let asked = async {
        let mut request = Outgoing::own(check.request());
        let got = member.send_alone(&mut request).await;
        let got = got.map_err(|failure| failure.error.to_string())?;
        match got.response.status().as_u16() {
            status if check.wants(status) => Ok(()),
            status => Err(format!("{} is answered with {status}", check.path)),
        }
    };
    match within(check.timeout, asked).await {
        Some(result) => result,
        None => Err(format!("{} isn't answered within {} s", check.path, seconds(check.timeout))),
    }
}

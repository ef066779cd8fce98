//! Which public pages a running Wick keeps, for an audit that goes through all of them.
//!
//! Asked through the control socket, so by the owner of its state folder alone. What bears a
//! secret is left out here already.
//! Bounds: a part at a time (`server::Listed`), of each site as many addresses as are wanted.

use std::collections::BTreeMap;
use std::path::Path;

use ::crawl::bears_secret;
use serde::{Deserialize, Serialize};
use server::Server;
use url::Url;

use super::TARGET_BYTES_MAX;
use crate::control::{ControlError, ask_observed};
use crate::observing::asking::Question;

/// Which pages are wanted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredQuestion {
    scheme: String,
    /// As a visitor's browser writes it: with a port that isn't usual.
    host: String,
    /// Where the last part ended.
    after: Option<u64>,
}

/// Some of the pages.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct StoredAnswer {
    targets: Vec<String>,
    next: Option<u64>,
}

/// What a server keeps.
pub(crate) fn tell(server: &Server, question: &StoredQuestion) -> StoredAnswer {
    let StoredQuestion { scheme, host, after } = question;
    let is_told = |target: &str| target.len() <= TARGET_BYTES_MAX && !bears_secret(target);
    let listed = server.public_targets(scheme, host, *after, is_told);
    StoredAnswer { targets: listed.targets, next: listed.next }
}

/// What the Wick that runs with this state folder keeps of each site, at most so many pages.
pub(crate) fn of_running(
    state: &Path,
    sites: &[Url],
    most: usize,
) -> Result<BTreeMap<String, Vec<String>>, ControlError> {
    let mut all = BTreeMap::new();
    for site in sites {
        let name = site.host_str().unwrap_or("");
        let host = site.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        let (mut targets, mut after) = (Vec::new(), None);
        loop {
            let scheme = site.scheme().to_owned();
            let question = StoredQuestion { scheme, host: host.clone(), after };
            let answer: StoredAnswer = ask_observed(state, &Question::Stored(question))?;
            targets.extend(answer.targets);
            after = answer.next;
            if after.is_none() || targets.len() >= most {
                break;
            }
        }
        targets.truncate(most);
        all.insert(site.to_string(), targets);
    }
    Ok(all)
}

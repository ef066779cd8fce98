//! One address asked for and tested: the same work whoever does it, here or on another machine.
//!
//! In: an address and its host. Out: [`Taken`], all that the book wants to know of the answer.
//! Start at [`run`].

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::Method;
use serde::{Deserialize, Serialize};
use url::Url;
use wire::Name;

use crate::fetch::{Answer, FetchError, Host};
use crate::finding::Finding;
use crate::kind::Tests;
use crate::page::{Facts, Link, Page};
use crate::tests::caching;

/// How a cache says that it has nothing.
const NOTHING_STORED: u16 = 504;

/// What an answer comes to, when its tests are done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taken {
    /// Its status.
    pub status: u16,
    /// Where it says that it is sent on to.
    pub location: Option<String>,
    /// For how long the server wants not to be asked.
    pub retry_after: Option<Duration>,
    /// How long it took.
    pub took: Duration,
    /// What is kept of the page.
    pub facts: Facts,
    /// Its links.
    pub links: Vec<Link>,
    /// Addresses that it names as a feed.
    pub feed: Vec<String>,
    /// What its tests found.
    pub findings: Vec<Finding>,
    /// Whether a test broke off.
    pub is_broken: bool,
}

/// What came of an address.
pub(crate) type Outcome = Result<Taken, FetchError>;

/// How an address is asked for, and what its answer is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manner {
    /// The tests.
    pub tests: Tests,
    /// Whether a cache on the way is asked first for what it has, so that who makes the pages is
    /// asked for nothing that lies there.
    pub store_first: bool,
}

/// Asks for an address, and tests the answer where it holds nobody up; `place` is given back
/// once it is there.
pub(crate) async fn run<P>(host: Arc<Host>, url: Url, manner: Manner, place: P) -> Outcome {
    let answer = asked(&host, &url, &[], manner.store_first).await;
    drop(place);
    let answer = answer?;
    let bare = bare(&answer);
    let made = tokio::task::spawn_blocking(move || examined(&url, &answer, manner.tests));
    // A test that broke is no reason to lose the answer, but is told as what it is.
    Ok(made.await.unwrap_or(Taken { is_broken: true, ..bare }))
}

/// Asks for an address; where the store comes first, for what a cache has of it before that (RFC
/// 9111 §5.2.1.7: who has nothing answers 504).
pub(crate) async fn asked(
    host: &Host,
    url: &Url,
    fields: &[(&'static str, String)],
    store_first: bool,
) -> Result<Answer, FetchError> {
    if store_first {
        let mut only = fields.to_vec();
        only.push(("cache-control", "only-if-cached".to_owned()));
        let answer = host.ask(Method::GET, url, &only).await?;
        if answer.status != NOTHING_STORED {
            return Ok(answer);
        }
    }
    host.ask(Method::GET, url, fields).await
}

fn bare(answer: &Answer) -> Taken {
    Taken {
        status: answer.status,
        location: answer.fields.text(Name::Location).map(|to| to.trim().to_owned()),
        retry_after: answer.retry_after(SystemTime::now()),
        took: answer.took,
        ..Taken::default()
    }
}

/// All that these tests of an answer say.
pub(crate) fn examined(url: &Url, answer: &Answer, tests: Tests) -> Taken {
    let page = Page::of(url, answer);
    let kind = answer.fields.text(Name::ContentType).unwrap_or("");
    let feed = match kind.contains("xml") && answer.status == 200 {
        true => crawl::feed::links(&String::from_utf8_lossy(&answer.body)),
        false => Vec::new(),
    };
    Taken {
        facts: page.facts(caching::verdict(url, answer).to_owned()),
        links: page.links(),
        findings: crate::tests::examine(&page, tests),
        feed,
        ..bare(answer)
    }
}

//! What is audited: sites, how much of them, and whether that may be.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use crate::baseline::{Baseline, BaselineError};
use crate::book::BookError;
use crate::browser::{BrowserError, BrowserPlan};
use crate::fetch::FetchError;
use crate::kind::Tests;

/// An audit.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where each site begins.
    pub sites: Vec<Url>,
    /// Hosts that belong to them, as `host` or `host:port`.
    pub also: Vec<String>,
    /// Hosts that are not this machine and may be audited.
    pub named: Vec<String>,
    /// Pages of each site that are asked for.
    pub pages: usize,
    /// Links from the beginning that are followed.
    pub depth: u32,
    /// Links to other sites that are asked for; none: 0.
    pub external: usize,
    /// Pages that are asked for as several strangers.
    pub probes: usize,
    /// The browser in which some pages are judged, too.
    pub browser: Option<BrowserPlan>,
    /// Which kinds of tests are run.
    pub tests: Tests,
    /// Pages of each site that a running Wick keeps, by where the site begins; where it is asked
    /// for them, its store comes before its origin.
    pub stored: Option<BTreeMap<String, Vec<String>>>,
    /// An earlier report, which this run is compared with instead of with the last one.
    pub baseline: Option<Baseline>,
    /// Requests a second to one origin.
    pub rate: Option<f64>,
    /// The folder of the books.
    pub state: PathBuf,
    /// Whether a run that was interrupted is begun anew.
    pub anew: bool,
}

/// Why a site can't be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// Nobody said that it may be.
    #[error(
        "{host} at {address} is not this machine, and its owner may not want thousands of \
         requests; if you may audit it, say so: --i-may-audit {host}"
    )]
    Unnamed {
        /// The host.
        host: String,
        /// Its address.
        address: String,
    },
    /// It isn't there.
    #[error("{0} can't be asked: {1}; see that it runs, and that the address is right")]
    Unreachable(String, FetchError),
    /// It has no page.
    #[error(
        "no page of HTML was found: {0} {1}; begin at a page (and name by --also what other \
         host it sends on to)"
    )]
    Empty(String, String),
    /// It doesn't want robots.
    #[error(
        "{0}/robots.txt forbids all of {0} to wick; allow it there with a group of its own \
         (\"User-agent: wick\")"
    )]
    Forbidden(String),
    /// Nobody knows what it wants.
    #[error("{0}/robots.txt answers {1}: until it is answered, nothing is allowed (RFC 9309)")]
    Robots(String, u16),
    /// Its book.
    #[error(transparent)]
    Book(#[from] BookError),
    /// What it is to be compared with.
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    /// SQLite.
    #[error("the book can't be read or written: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The browser.
    #[error(transparent)]
    Browser(#[from] BrowserError),
    /// TLS.
    #[error("TLS can't be set up: {0}")]
    Tls(#[from] rustls::Error),
    /// A thread that broke.
    #[error("a test broke off: {0}; please tell the authors of Wick which page it was")]
    Broken(String),
}

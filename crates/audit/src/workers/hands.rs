//! What a worker does with what it was handed, by whatever way that came.
//!
//! What it is told to ask it asks at the addresses that the coordinator found.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};
use url::Url;

use super::{Handed, VERSION, locked};
use crate::errand::{self, Outcome};
use crate::fetch::{Client, FetchError, Host};
use crate::scope::origin;

/// Hosts that are known; with more, all are forgotten.
const HOSTS_MAX: usize = 256;
/// What came of a page, packed, and as it is sent by HTTP.
const PACKED_BYTES_MAX: usize = 16 << 20;
pub(super) const BODY_BYTES_MAX: usize = 64 << 20;
/// Whoever took a page so often and is gone may be gone for its sake.
const TIMES_MAX: u64 = 3;

/// An origin, and where it is.
type HostKey = (String, Vec<SocketAddr>);

/// Who fetches and tests.
pub struct Hands {
    client: Client,
    pub(super) name: String,
    pub(super) machine: String,
    hosts: Mutex<HashMap<HostKey, Arc<Host>>>,
}

/// What a worker tells of itself before it takes anything.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: String,
    pub(super) machine: String,
    pub(super) worker: String,
}

/// What the coordinator says to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Welcome {
    /// It may take pages.
    In {
        /// Also those of sites on the coordinator's own machine.
        is_here: bool,
    },
    /// It may not, for this reason.
    Refused(String),
    /// There is no more to do.
    Over,
}

impl Hands {
    /// A worker's.
    ///
    /// # Errors
    /// TLS can't be set up.
    pub fn new() -> Result<Self, rustls::Error> {
        Ok(Self {
            client: Client::new()?,
            name: format!("{:016x}", rand::random::<u64>()),
            machine: super::machine(),
            hosts: Mutex::default(),
        })
    }

    /// What is to be said to the coordinator.
    #[must_use]
    pub fn hello(&self) -> Vec<u8> {
        let (version, machine) = (VERSION.to_owned(), self.machine.clone());
        let hello = Hello { version, machine, worker: self.name.clone() };
        serde_json::to_vec(&hello).unwrap_or_default()
    }

    /// What the coordinator answers to it.
    #[must_use]
    pub fn heard(answer: &[u8]) -> Welcome {
        let other = |_| Welcome::Refused("it speaks as no coordinator of this version".to_owned());
        serde_json::from_slice(answer).unwrap_or_else(other)
    }

    /// Does the work that was taken for the so manieth time, and packs what came of it.
    pub async fn work(&self, taken: &[u8], times: u64) -> Vec<u8> {
        let outcome = match serde_json::from_slice::<Handed>(taken) {
            Ok(_) if times > TIMES_MAX => Err(FetchError::Lost),
            Ok(handed) => self.run(&handed).await,
            Err(error) => Err(FetchError::Broken(error.to_string())),
        };
        let packed = pack(&outcome);
        if packed.len() <= PACKED_BYTES_MAX {
            return packed;
        }
        pack(&Err(FetchError::Broken("more came of it than can be sent".to_owned())))
    }

    pub(super) async fn run(&self, handed: &Handed) -> Outcome {
        let broken = |_| FetchError::Broken("the coordinator names no address".to_owned());
        let url = Url::parse(&handed.url).map_err(broken)?;
        let key = (origin(&url), handed.addresses.clone());
        let known = locked(&self.hosts).get(&key).cloned();
        let host = match known {
            Some(host) => host,
            None => {
                let host = Arc::new(self.client.host_at(&url, handed.addresses.clone())?);
                let mut hosts = locked(&self.hosts);
                if hosts.len() >= HOSTS_MAX {
                    hosts.clear();
                }
                hosts.insert(key, Arc::clone(&host));
                host
            }
        };
        errand::run(host, url, handed.manner, ()).await
    }

    pub(super) async fn coordinator(&self, url: &Url) -> Result<Host, FetchError> {
        self.client.host(url).await
    }
}

/// What came of a page in a tenth of its bytes.
pub(super) fn pack(outcome: &Outcome) -> Vec<u8> {
    let plain = serde_json::to_vec(outcome).unwrap_or_default();
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Memory takes all that is written; what isn't whole can't be read and is done anew.
    let _ = packed.write_all(&plain);
    packed.finish().unwrap_or_default()
}

/// None if it was packed by nobody.
pub(super) fn unpack(packed: &[u8]) -> Option<Outcome> {
    let mut plain = Vec::new();
    let mut read = DeflateDecoder::new(packed).take(BODY_BYTES_MAX as u64);
    read.read_to_end(&mut plain).ok()?;
    serde_json::from_slice(&plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::{Manner, Taken};
    use crate::kind::Tests;

    #[test]
    fn what_came_of_a_page_is_unpacked_as_it_was_packed() {
        let location = Some("https://a.test/".repeat(1000));
        let taken = Ok(Taken { status: 301, location, ..Taken::default() });
        let packed = pack(&taken);
        assert!(packed.len() < 1000, "{}", packed.len());
        assert_eq!(unpack(&packed), Some(taken));
        assert_eq!(unpack(&packed[..packed.len() / 2]), None);
        assert_eq!(unpack(b"something else"), None);
    }

    #[tokio::test]
    async fn a_page_that_ended_several_workers_is_not_asked_for_by_one_more() {
        let hands = Hands::new().unwrap();
        let handed = Handed {
            lease: 1,
            url: "http://a.test/".to_owned(),
            addresses: Vec::new(),
            manner: Manner { tests: Tests::ALL, store_first: false },
        };
        let work = serde_json::to_vec(&handed).unwrap();
        let packed = hands.work(&work, TIMES_MAX + 1).await;
        assert_eq!(unpack(&packed), Some(Err(FetchError::Lost)));
        let packed = hands.work(b"nothing of the kind", 1).await;
        assert!(matches!(unpack(&packed), Some(Err(FetchError::Broken(_)))));
    }
}

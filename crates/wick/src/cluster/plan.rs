//! What the owner wrote of the cluster, held against what can be.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cluster::{Seal, Settings, SettingsError};
use server::Shield;

use crate::settings::{ClusterSettings, Secret};

/// The lag limit unless the owner says otherwise.
const LAG: Duration = Duration::from_secs(2);
/// More than any secret has.
const SECRET_FILE_BYTES_MAX: usize = 4096;

/// What this node runs on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterPlan {
    pub(crate) node: Settings,
}

/// What can't be, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterPlanError {
    /// It can't find the others.
    #[error(transparent)]
    Node(#[from] SettingsError),
    /// Who isn't of the cluster could ask for pages, and could read what is asked.
    #[error(
        "listen = \"{0}\" can be reached from other machines: add secret = \"…\", the same on all \
         nodes, such as \"openssl rand -hex 16\" prints"
    )]
    Open(SocketAddr),
    /// An address that other nodes could do nothing with.
    #[error(
        "listen = \"{0}\" is no address at which other nodes could ask this one: name this \
         machine's in the network of the nodes, with a port, such as \"10.0.0.5:7070\""
    )]
    Nowhere(SocketAddr),
    /// A secret that anybody could try out.
    #[error(
        "the secret is shorter than 16 characters: write a longer one, such as \"openssl rand \
         -hex 16\" prints"
    )]
    ShortSecret,
    /// Two secrets.
    #[error("there is a secret and a secret_file: take one of them out")]
    TwoSecrets,
    /// No secret where one should be.
    #[error("can't read the secret_file {0}: {1}")]
    SecretFile(PathBuf, String),
}

impl ClusterPlan {
    /// Holds what the owner wrote against what can be.
    pub(crate) fn of(written: ClusterSettings) -> Result<Self, ClusterPlanError> {
        let addresses = written.nats.map(|nats| nats.to_vec()).unwrap_or_default();
        let addresses: Vec<_> = addresses.iter().map(|address| address.0.as_str()).collect();
        let node = written.node.unwrap_or_else(machine_name);
        let name = written.name.unwrap_or_else(|| "wick".to_owned());
        let lag = written.lag.map_or(LAG, |lag| lag.0);
        let mut settings =
            Settings::new(&addresses.join(","), &name, &node, lag, written.credentials)?;
        let secret = match (written.secret, written.secret_file) {
            (Some(_), Some(_)) => return Err(ClusterPlanError::TwoSecrets),
            (Some(Secret(text)), None) => Some(text),
            (None, Some(path)) => Some(read(&path)?),
            (None, None) => None,
        };
        if secret.as_ref().is_some_and(|text| Shield::new(Some(text)).is_none()) {
            return Err(ClusterPlanError::ShortSecret);
        }
        if let Some(address) = written.listen {
            if address.ip().is_unspecified() || address.port() == 0 {
                return Err(ClusterPlanError::Nowhere(address));
            }
            if !address.ip().is_loopback() && secret.is_none() {
                return Err(ClusterPlanError::Open(address));
            }
        }
        (settings.listen, settings.secret) = (written.listen, secret);
        Ok(Self { node: settings })
    }

    /// Whether nodes have a secret together.
    pub(crate) fn has_secret(&self) -> bool {
        self.node.secret.is_some()
    }

    /// By what it asks others for pages and is asked; none: it takes no part.
    pub(crate) fn shield(&self, seal: Option<&Seal>) -> Option<Arc<Shield>> {
        self.node.listen?;
        Shield::new(seal.map(Seal::shown)).map(Arc::new)
    }
}

/// The machine's name, with what a node's name can't have made `-`.
fn machine_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let fit = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().take(64).map(fit).collect()
}

/// The first line of a file with a secret in it.
fn read(path: &Path) -> Result<String, ClusterPlanError> {
    let wrong = |why: String| ClusterPlanError::SecretFile(path.to_owned(), why);
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{error}; name a file that this user may read")))?;
    if text.len() > SECRET_FILE_BYTES_MAX {
        return Err(wrong("it is too large; name a file with nothing but the secret".to_owned()));
    }
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

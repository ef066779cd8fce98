//! What was decided about clients of Sphinx's.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use search::Limits;
use search::sphinx::conf::{self, Conf, Listen};
use search::sphinx::{Protocol, Wishes};

use crate::dictionary::korean;
use crate::own_user;
use crate::settings::{OneOrMany, SphinxSettings};

/// Indexes are made anew so often.
const EVERY: Duration = Duration::from_secs(60);
/// Each has threads and a writer's memory.
const INDEXES_MAX: usize = 64;
/// Where searchd listens by custom.
const USUAL: [(u16, Protocol); 2] = [(9312, Protocol::Binary), (9306, Protocol::MySql)];

/// Clients of Sphinx's, what they find, and where they come to.
#[derive(Debug)]
pub(crate) struct SphinxPlan {
    /// Sphinx's own settings file.
    pub(crate) file: Option<PathBuf>,
    /// What it says.
    pub(crate) conf: Conf,
    pub(crate) listen: Vec<Listen>,
    /// Ports that the file opens to others and that are of this machine alone here.
    pub(crate) closed: Vec<SocketAddr>,
    pub(crate) every: Duration,
}

impl SphinxPlan {
    /// What the settings come to, with the file that they name.
    pub(crate) fn of(written: SphinxSettings) -> Result<Self, String> {
        let conf = written.conf.as_deref().map(read).transpose()?.unwrap_or_default();
        if conf.indexes.len() > INDEXES_MAX {
            let count = conf.indexes.len();
            return Err(format!(
                "conf has {count} indexes, more than {INDEXES_MAX}: take some out"
            ));
        }
        let every = written.every.map_or(EVERY, |every| every.0);
        if every.is_zero() {
            return Err("every is nothing: write a time such as \"1m\"".to_owned());
        }
        let mut closed = Vec::new();
        let listen = match &written.listen {
            Some(named) => OneOrMany::to_vec(named).into_iter().map(|port| port.0).collect(),
            None => listen_of(&conf, &mut closed),
        };
        if listen.is_empty() {
            return Err("listen is empty: name an address, or leave it out".to_owned());
        }
        Ok(Self { file: written.conf, conf, listen, closed, every })
    }

    /// What takes effect only with a restart, for comparison.
    pub(crate) fn fixed(&self) -> String {
        format!("{:?}", self.listen)
    }

    /// What is to be made, in the state folder.
    pub(crate) fn wishes(&self, state: &Path) -> Wishes {
        Wishes {
            folder: folder(state).join("indexes"),
            conf: self.conf.clone(),
            every: self.every,
            limits: Limits::default(),
            morphemes: korean(state),
        }
    }
}

/// Seconds since a time that is in seconds since 1970.
pub(super) fn age(since: u64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_secs().saturating_sub(since)
}

/// The folder of all that is found.
pub(super) fn folder(state: &Path) -> PathBuf {
    state.join("sphinx")
}

/// Sphinx's own settings file. Passwords stand in it, so it may be root's alone.
fn read(path: &Path) -> Result<Conf, String> {
    let shown = path.display();
    let text = own_user::read(path).map_err(|error| {
        format!("conf {shown} can't be read: {error}; name a file that this user may read")
    })?;
    conf::read(&String::from_utf8_lossy(&text)).map_err(|error| format!("conf {shown}, {error}"))
}

/// The ports of the file, on this machine alone: searchd asks nobody who they are.
fn listen_of(conf: &Conf, closed: &mut Vec<SocketAddr>) -> Vec<Listen> {
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if conf.listen.is_empty() {
        return USUAL.map(|(port, protocol)| Listen { address: local(port), protocol }).to_vec();
    }
    let mut listen: Vec<Listen> = Vec::new();
    for named in &conf.listen {
        let is_local = |address: IpAddr| address.is_loopback();
        let mut own = *named;
        if !is_local(named.address.ip()) {
            closed.push(named.address);
            own.address = local(named.address.port());
        }
        if listen.iter().all(|other| other.address != own.address) {
            listen.push(own);
        }
    }
    listen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str, conf: Option<&str>) -> Result<SphinxPlan, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut text = text.to_owned();
        if let Some(conf) = conf {
            let path = folder.path().join("sphinx.conf");
            std::fs::write(&path, conf).expect("it is written");
            text += &format!("\nconf = {path:?}");
        }
        SphinxPlan::of(toml::from_str(&text).map_err(|error| error.to_string())?)
    }

    fn listens(plan: &SphinxPlan) -> Vec<String> {
        let one = |listen: &Listen| format!("{} {:?}", listen.address, listen.protocol);
        plan.listen.iter().map(one).collect()
    }

    #[test]
    fn ports_are_of_this_machine_unless_the_owner_writes_otherwise() {
        let usual = ["127.0.0.1:9312 Binary", "127.0.0.1:9306 MySql"];
        assert_eq!(listens(&planned("", None).expect("a plan")), usual);
        let text =
            "searchd {\n listen = 9312\n listen = 10.0.0.1:9306:mysql41\n listen = [::1]:9\n}";
        let plan = planned("", Some(text)).expect("a plan");
        assert_eq!(listens(&plan), [usual[0], usual[1], "[::1]:9 Binary"]);
        assert_eq!(plan.closed.len(), 2);
        let open = planned("listen = \"0.0.0.0:9306:mysql41\"", Some(text)).expect("a plan");
        assert_eq!(listens(&open), ["0.0.0.0:9306 MySql"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_what_to_write() {
        for (text, conf, expected) in [
            ("every = 0", None, "every is nothing: write a time"),
            ("listen = []", None, "listen is empty: name an address"),
            ("listen = \"here\"", None, "expected an address such as"),
            ("conf = \"/no/such.conf\"", None, "conf /no/such.conf can't be read: "),
            ("", Some("index a {\n source = b }"), "sphinx.conf, line 1: index a names the source"),
        ] {
            let told = planned(text, conf).map(drop).expect_err(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}

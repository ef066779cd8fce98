//! Certificates: the owner's own, and those that a CA issues by itself (ACME, RFC 8555).
//!
//! [`Prepared`] is what a plan asks for, with everything read that can be wrong; once it
//! begins, [`own`] looks after files and [`keeping`] after what comes from a CA, together with
//! the other nodes of a cluster ([`fellows`]). What visitors
//! are shown meanwhile lies in [`showcase`], what outlives a restart on the [`shelf`]; [`stapling`] has
//! CAs say that what is shown was not revoked.
//! Invariants: 1. no key and no account is ever told. 2. nothing that goes wrong here ends
//! the server or a connection.

pub(crate) mod check;
mod client;
mod exchange;
mod fellows;
mod in_turn;
mod issue;
mod keeping;
mod made;
mod own;
mod plan;
mod proof;
mod schedule;
mod setting;
mod shelf;
mod showcase;
mod stapling;
mod told;

use std::sync::Arc;

use base::complaint::complain;
use server::{Served, Tls};
use tokio::task::JoinSet;

pub(crate) use fellows::{Fellows, TURN, is_news};
pub(crate) use own::Files;
pub(crate) use plan::{AcmePlan, Binding, CertificatePlan, check_plan, names};
pub(crate) use setting::{BindingKey, CertificateSetting, Directories};

use crate::plan::{Plan, SitePlan};
use client::{Client, ClientError};
use keeping::{Keeper, Kept};
use own::{OwnError, Watched};
use plan::ways;
use shelf::Shelf;
use showcase::{Showcase, Shown};
use stapling::Stapler;

/// Why TLS can't begin; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// A file of the owner's.
    #[error(transparent)]
    Own(#[from] OwnError),
    /// What CAs are asked by.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The library, or the system's randomness.
    #[error("TLS can't be set up: {0}")]
    Tls(String),
}

/// All certificates of a plan, ready to be shown.
pub(crate) struct Prepared {
    showcase: Arc<Showcase>,
    watched: Vec<Watched>,
    keeper: Option<Keeper>,
    kept: Vec<Kept>,
    shelf: Shelf,
    /// What a person is told of each.
    pub(crate) found: Vec<String>,
}

/// Certificates that are looked after.
pub(crate) struct Certificates {
    pub(crate) tls: Arc<Tls>,
    fellows: Option<Arc<Fellows>>,
    tasks: JoinSet<()>,
}

impl Prepared {
    /// Reads what a plan asks for; none where nobody listens for TLS.
    pub(crate) fn of(plan: &Plan) -> Result<Option<Self>, CertificateError> {
        if plan.listen_tls.is_empty() {
            return Ok(None);
        }
        let tls = Tls::new().map_err(|error| CertificateError::Tls(error.to_string()))?;
        let prepared = Self::with(plan, tls)?;
        if !prepared.kept.is_empty() && plan.cluster.as_ref().is_some_and(|one| !one.has_secret()) {
            complain(
                "cluster: without a secret in [cluster] each node orders certificates for itself, \
                 and a CA that asks another node sees no proof",
            );
        }
        Ok(Some(prepared))
    }

    fn with(plan: &Plan, tls: Arc<Tls>) -> Result<Self, CertificateError> {
        let shelf = Shelf::of(&plan.state);
        let mut made = Making::new(&shelf, &plan.acme.directories);
        for site in &plan.sites {
            match &site.certificate {
                CertificatePlan::Off => {}
                CertificatePlan::Files(files) => made.add_own(site, files)?,
                CertificatePlan::Acme => made.add_issued(site)?,
            }
        }
        let Making { shown, watched, kept, found, .. } = made;
        let showcase = Arc::new(Showcase::new(tls, shown));
        let keeper = match kept.is_empty() {
            true => None,
            false => Some(Keeper {
                client: Client::new(plan.acme.ca_file.as_deref())?,
                shelf: shelf.clone(),
                showcase: showcase.clone(),
                directories: plan.acme.directories.0.clone(),
                email: plan.acme.email.clone(),
                binding: plan.acme.binding.clone(),
                ways: ways(plan),
                fellows: None,
            }),
        };
        Ok(Self { showcase, watched, keeper, kept, shelf, found })
    }

    /// What the server is given.
    pub(crate) fn tls(&self) -> Arc<Tls> {
        self.showcase.tls.clone()
    }

    /// Shows everything, and looks after it from now on, together with these other nodes.
    pub(crate) fn begin(self, fellows: Option<Arc<Fellows>>) -> Certificates {
        let mut tasks = JoinSet::new();
        let tls = self.tls();
        self.showcase.show();
        if let Some(mut keeper) = self.keeper {
            keeper.fellows.clone_from(&fellows);
            tasks.spawn(keeper.keep(self.kept));
        }
        tasks.spawn(own::watch(self.watched, self.showcase.clone()));
        tasks.spawn(Stapler::new(self.showcase, self.shelf).keep());
        Certificates { tls, fellows, tasks }
    }
}

impl Certificates {
    /// What other settings ask for, in the place of these; nothing changes yet.
    pub(crate) fn after(&self, plan: &Plan) -> Result<Prepared, CertificateError> {
        Prepared::with(plan, self.tls.clone())
    }

    /// Looks after these from now on.
    pub(crate) fn succeed(&mut self, prepared: Prepared) {
        self.tasks.abort_all();
        *self = prepared.begin(self.fellows.take());
    }
}

/// What has been read so far.
struct Making<'a> {
    shelf: &'a Shelf,
    directories: &'a Directories,
    shown: Vec<Shown>,
    watched: Vec<Watched>,
    kept: Vec<Kept>,
    found: Vec<String>,
}

impl<'a> Making<'a> {
    fn new(shelf: &'a Shelf, directories: &'a Directories) -> Self {
        let (shown, watched, kept, found) = Default::default();
        Self { shelf, directories, shown, watched, kept, found }
    }

    /// A site with files of its own.
    fn add_own(&mut self, site: &SitePlan, files: &Files) -> Result<(), CertificateError> {
        let identity = Arc::new(files.read()?);
        let until = told::day(identity.facts().not_after);
        self.found.push(format!("TLS       {}, good until {until}", files.chain.display()));
        self.watched.push(Watched::new(self.shown.len(), files.clone()));
        let mut names = names(&site.hosts);
        if names.is_empty() {
            names.clone_from(&identity.facts().names);
        }
        let is_for_any = site.hosts.is_empty();
        let served = Served { names, identity, redirects: site.redirects, is_for_any };
        self.shown.push(Shown { served, wants_redirects: site.redirects });
        Ok(())
    }

    /// A site whose certificates a CA issues: one for each name.
    fn add_issued(&mut self, site: &SitePlan) -> Result<(), CertificateError> {
        // Two sites may have one name on two ports.
        let is_new = |name: &String| self.kept.iter().all(|kept| kept.name != *name);
        for name in names(&site.hosts).into_iter().filter(is_new).collect::<Vec<_>>() {
            let lying = self.shelf.certificate(&name);
            let ca = self.directories.0.first().map_or("", |directory| told::host(directory));
            let identity = match &lying {
                Some(lying) => {
                    let until = told::day(lying.identity.facts().not_after);
                    self.found.push(format!("TLS       {name}, good until {until}"));
                    lying.identity.clone()
                }
                None => {
                    self.found.push(format!("TLS       {name}: {ca} is asked for a certificate"));
                    complain(format_args!(
                        "there is no certificate for {name} yet: until {ca} has issued one, \
                         browsers are shown one that they warn of, and HTTP is served as it is"
                    ));
                    let stand_in = made::stand_in(std::slice::from_ref(&name));
                    Arc::new(stand_in.map_err(CertificateError::Tls)?)
                }
            };
            let is_believed = lying.is_some() && identity.facts().not_after > told::now();
            let served = Served {
                names: vec![name.clone()],
                identity,
                redirects: site.redirects && is_believed,
                is_for_any: false,
            };
            // One of a CA that is not wanted any more is shown until there is another.
            let lying = lying.filter(|lying| self.directories.0.contains(&lying.directory));
            self.kept.push(Kept::new(name, self.shown.len(), lying));
            self.shown.push(Shown { served, wants_redirects: site.redirects });
        }
        Ok(())
    }
}

//! A CA of the test's own.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use time::OffsetDateTime;

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// By which visitors know it.
    pub(crate) file: PathBuf,
}

/// A certificate and its key, in files.
pub(crate) struct Pair {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Authority {
    pub(crate) fn new(folder: &Path) -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "the test's CA");
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let file = folder.join("ca.pem");
        fs::write(&file, certificate.pem()).expect("it is written");
        Self { issuer: Issuer::new(parameters, key), file }
    }

    /// Certificate and key as PEM.
    pub(crate) fn issue(&self, names: &[&str]) -> (String, String) {
        let CertificateParams { not_before, not_after, .. } = CertificateParams::default();
        self.issue_for(names, not_before, not_after)
    }

    /// The same, with a life from one moment to another.
    pub(crate) fn issue_for(
        &self,
        names: &[&str],
        not_before: OffsetDateTime,
        not_after: OffsetDateTime,
    ) -> (String, String) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).expect("names");
        (parameters.not_before, parameters.not_after) = (not_before, not_after);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// The same in two files.
    pub(crate) fn pair(&self, folder: &Path, label: &str, names: &[&str]) -> Pair {
        let pair = Pair {
            chain: folder.join(format!("{label}.pem")),
            key: folder.join(format!("{label}.key")),
        };
        pair.write(&self.issue(names));
        pair
    }
}

impl Pair {
    /// Puts another certificate in its place.
    pub(crate) fn write(&self, (chain, key): &(String, String)) {
        fs::write(&self.key, key).expect("it is written");
        fs::write(&self.chain, chain).expect("it is written");
    }

    /// As `wick.toml` names them.
    pub(crate) fn settings(&self) -> String {
        let (chain, key) = (self.chain.display(), self.key.display());
        format!("certificate = \"{chain}\"\ncertificate_key = \"{key}\"\n")
    }
}

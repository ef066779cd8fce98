//! What was decided about certificates, and whether it can be had.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::proof::Way;
use super::{BindingKey, CertificateSetting, Directories, Files};
use crate::plan::{Plan, PlanError, SitePlan};
use crate::settings::SiteSettings;

/// What was decided about CAs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcmePlan {
    pub(crate) directories: Directories,
    pub(crate) email: Option<String>,
    pub(crate) ca_file: Option<PathBuf>,
    /// What binds an account at the first CA to one that the owner has there.
    pub(crate) binding: Option<Binding>,
}

/// External account binding (RFC 8555 §7.3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) id: String,
    pub(crate) key: BindingKey,
}

/// Where a site's certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CertificatePlan {
    /// From a CA, one for each host.
    Acme,
    Files(Files),
    /// The site isn't served by TLS.
    Off,
}

impl CertificatePlan {
    /// What is written of a site.
    pub(crate) fn of(site: &SiteSettings) -> Self {
        match site.certificate.clone().unwrap_or_default() {
            CertificateSetting::Auto => Self::Acme,
            CertificateSetting::Off => Self::Off,
            CertificateSetting::File(chain) => {
                let key = site.certificate_key.clone().unwrap_or_else(|| chain.clone());
                Self::Files(Files { chain, key })
            }
        }
    }
}

/// Names for certificates: a host's port says nothing there.
pub(crate) fn names(hosts: &[String]) -> Vec<String> {
    let plain = |host: &String| {
        let port = host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        port.map_or(host.as_str(), |(name, _)| name).to_ascii_lowercase()
    };
    let mut names = Vec::new();
    for name in hosts.iter().map(plain) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// How a CA can be shown whose a name is. By TLS only where port 443 is ours, or where there
/// is nothing else.
pub(crate) fn ways(plan: &Plan) -> Vec<Way> {
    let by_http = (!plan.listen.is_empty()).then_some(Way::Http);
    let is_at_443 = plan.listen_tls.iter().any(|address| address.port() == 443);
    let by_tls = (is_at_443 || by_http.is_none()).then_some(Way::Tls);
    by_http.into_iter().chain(by_tls).collect()
}

/// Whether every site can have the certificate that it shall have.
pub(crate) fn check_plan(
    sites: &[SitePlan],
    listen_tls: &[SocketAddr],
    acme: &AcmePlan,
) -> Result<(), PlanError> {
    let mut is_served = false;
    for (at, site) in sites.iter().enumerate() {
        match &site.certificate {
            CertificatePlan::Files(_) if listen_tls.is_empty() => {
                return Err(PlanError::NotListening(at + 1));
            }
            CertificatePlan::Acme if !listen_tls.is_empty() => {
                let names = names(&site.hosts);
                let bad = names.iter().find(|name| !is_provable(name, acme));
                bad.map_or(Ok(()), |name| Err(PlanError::BadName(name.clone())))?;
                if names.is_empty() {
                    return Err(PlanError::NoName);
                }
            }
            _ => {}
        }
        is_served |= site.certificate != CertificatePlan::Off;
    }
    if is_served || listen_tls.is_empty() { Ok(()) } else { Err(PlanError::AllOff) }
}

/// Whether a CA could issue a certificate for a name; a private one may know more names.
fn is_provable(name: &str, acme: &AcmePlan) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(plain)
    };
    name.len() <= 253
        && name.split('.').all(is_label)
        && name.parse::<IpAddr>().is_err()
        && (name.contains('.') || !acme.directories.are_public())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Serve;

    #[test]
    fn names_that_a_ca_could_issue_for_are_told_from_others() {
        let public = AcmePlan::default();
        let directories = Directories(vec!["https://ca.intern/dir".to_owned()]);
        let private = AcmePlan { directories, ..AcmePlan::default() };
        for (name, by_public, by_private) in [
            ("example.org", true, true),
            ("xn--bcher-kva.example", true, true),
            ("localhost", false, true),
            ("192.0.2.1", false, false),
            ("[::1]", false, false),
            ("../../etc/passwd", false, false),
            ("a..b", false, false),
            ("*.example.org", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_provable(name, &public), by_public, "{name}");
            assert_eq!(is_provable(name, &private), by_private, "{name}");
        }
    }

    #[test]
    fn a_domain_is_all_that_a_site_in_the_open_needs() {
        let of = |serve: Serve| Plan::of(&Serve { site: Some("/srv".into()), ..serve });
        let domain = vec!["example.org".to_owned()];
        let plan = of(Serve { domain: domain.clone(), ..Serve::default() }).expect("a plan");
        let shown = |all: &[SocketAddr]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(&plan.listen), ["0.0.0.0:80", "[::]:80"]);
        assert_eq!(shown(&plan.listen_tls), ["0.0.0.0:443", "[::]:443"]);
        assert_eq!(plan.sites[0].hosts, domain);
        assert_eq!(plan.sites[0].certificate, CertificatePlan::Acme);
        assert_eq!(ways(&plan), [Way::Http, Way::Tls]);
        let listen_tls = vec!["127.0.0.1:8443".parse().expect("an address")];
        let elsewhere = Serve { domain, listen_tls: listen_tls.clone(), ..Serve::default() };
        let plan = of(elsewhere).expect("a plan");
        assert_eq!((&plan.listen_tls, ways(&plan)), (&listen_tls, vec![Way::Http]));
        let nameless = of(Serve { listen_tls, ..Serve::default() }).expect_err("no plan");
        assert!(nameless.to_string().contains("--domain example.org"), "{nameless}");
        let local = of(Serve { domain: vec!["localhost".into()], ..Serve::default() });
        let local = local.expect_err("no plan").to_string();
        assert!(local.contains("no certificate can be got for localhost"), "{local}");
    }

    #[test]
    fn a_name_has_no_port_and_stands_once() {
        let hosts = ["A.test", "b.test", "a.test:8080"].map(str::to_owned);
        assert_eq!(names(&hosts), ["a.test", "b.test"]);
    }
}

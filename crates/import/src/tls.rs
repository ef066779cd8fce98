//! Certificates and HTTPS: the one place where they become settings.
//!
//! Invariant: `listen_tls` and `certificate` never come one without the other.

use std::net::SocketAddr;
use std::time::Duration;

use crate::found::{Imported, Place, Section, Value, Why};

/// An address that is listened on for HTTPS.
pub(crate) fn listen(imported: &mut Imported, addresses: &[SocketAddr], place: &Place) {
    for address in addresses {
        imported.top.add("listen_tls", &address.to_string(), place);
    }
}

/// A site's certificate (`certificate`) or its key (`certificate_key`).
pub(crate) fn file(
    imported: &mut Imported,
    (site, name): (&mut Section, &'static str),
    path: &str,
    (place, quoted): (&Place, &str),
) {
    let advice = match crate::address::is_plain_path(path) {
        false => "write the whole path, from its first slash, as certificate of the site",
        true => {
            if site.set(name, Value::Text(path.to_owned()), place) {
                return;
            }
            "a site has one certificate in Wick: the first is taken"
        }
    };
    imported.leave(place, quoted, Why::Cannot, advice);
}

/// A certificate that the server gets by itself.
pub(crate) fn automatic(site: &mut Section, place: &Place) {
    site.set("certificate", Value::Text("auto".into()), place);
}

/// A redirect of whoever comes by HTTP.
pub(crate) fn redirect() -> (Why, &'static str) {
    (Why::NotNeeded, "Wick sends visitors to HTTPS by itself where it has a certificate")
}

/// `Strict-Transport-Security`: says whether a field is that, and has a time.
pub(crate) fn hsts(site: &mut Section, name: &str, value: &str, place: &Place) -> bool {
    let seconds = value
        .split(';')
        .filter_map(|part| part.trim().strip_prefix("max-age="))
        .find_map(|seconds| seconds.trim_matches('"').parse::<u32>().ok())
        .filter(|&seconds| seconds > 0);
    match seconds.filter(|_| name.eq_ignore_ascii_case("strict-transport-security")) {
        Some(seconds) => {
            let time = Duration::from_secs(seconds.into());
            site.set("hsts", Value::Time(time), place);
            site.note("hsts", "for this host alone, not for those below it");
            true
        }
        None => false,
    }
}

/// Certificates only where HTTPS is listened for, and the other way round.
pub(crate) fn settle(imported: &mut Imported) {
    let is_listening = !imported.top.texts("listen_tls").is_empty();
    let mut is_served = false;
    for site in &mut imported.sites {
        if !is_listening || site.find("certificate").is_none() {
            site.remove("certificate");
            site.remove("certificate_key");
        }
        let names = site.texts("hosts");
        // No CA knows these names.
        let is_provable = !names.is_empty()
            && names.iter().all(|name| name.contains('.') && !ends_in_number(name));
        let is_automatic = site.texts("certificate") == ["auto"];
        if is_listening
            && (site.find("certificate").is_none() || is_automatic && !is_provable)
            && let Some(place) = site.place.clone()
        {
            site.replace("certificate", Value::Text("off".into()), &place);
        }
        is_served |= site.find("certificate").is_some() && site.texts("certificate") != ["off"];
    }
    if is_listening && !is_served {
        let setting = imported.top.find("listen_tls").cloned();
        imported.top.remove("listen_tls");
        for place in setting.iter().flat_map(|setting| &setting.places) {
            let advice = "no site has a certificate for it: write listen_tls and, for the site, \
                          certificate = \"/path/fullchain.pem\" or \"auto\"";
            imported.leave(place, "HTTPS", Why::Cannot, advice);
        }
        imported.sites.iter_mut().for_each(|site| site.remove("certificate"));
    }
}

/// Of an IP address.
fn ends_in_number(name: &str) -> bool {
    name.ends_with(']') || name.rsplit('.').next().is_some_and(|end| end.parse::<u32>().is_ok())
}

//! Certificates and HTTPS: the one place where they become settings, or are told as left.
//!
//! Invariant: `listen_tls` and `certificate` never come one without the other.

use std::net::SocketAddr;

use crate::abilities::Abilities;
use crate::found::{Imported, Place, Section, Value, Why};

const NOT_YET: &str =
    "Wick speaks no HTTPS yet: let something that does stand before it, on this machine";

/// An address that is listened on for HTTPS.
pub(crate) fn listen(
    imported: &mut Imported,
    abilities: Abilities,
    addresses: &[SocketAddr],
    place: &Place,
    quoted: &str,
) {
    if !abilities.tls {
        imported.leave(place, quoted, Why::Cannot, NOT_YET);
        return;
    }
    for address in addresses {
        imported.top.add("listen_tls", &address.to_string(), place);
    }
}

/// A site's certificate (`certificate`) or its key (`certificate_key`).
pub(crate) fn file(
    imported: &mut Imported,
    abilities: Abilities,
    (site, name): (&mut Section, &'static str),
    path: &str,
    (place, quoted): (&Place, &str),
) {
    let advice = match (abilities.tls, crate::address::is_plain_path(path)) {
        (false, _) => NOT_YET,
        (true, false) => "write the whole path, from its first slash, as certificate of the site",
        (true, true) => {
            if site.set(name, Value::Text(path.to_owned()), place) {
                return;
            }
            "a site has one certificate in Wick: the first is taken"
        }
    };
    imported.leave(place, quoted, Why::Cannot, advice);
}

/// A certificate that the server gets by itself.
pub(crate) fn automatic(
    imported: &mut Imported,
    abilities: Abilities,
    site: &mut Section,
    (place, quoted): (&Place, &str),
) {
    if !abilities.tls {
        imported.leave(place, quoted, Why::Cannot, NOT_YET);
        return;
    }
    site.set("certificate", Value::Text("auto".into()), place);
}

/// A redirect of whoever comes by HTTP.
pub(crate) fn redirect(abilities: Abilities) -> (Why, &'static str) {
    match abilities.tls {
        true => {
            (Why::NotNeeded, "Wick sends visitors to HTTPS by itself where it has a certificate")
        }
        false => (Why::Cannot, "leave the redirect to HTTPS to what speaks HTTPS before Wick"),
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
        if is_listening && (site.find("certificate").is_none() || is_automatic && !is_provable) {
            if let Some(place) = site.place.clone() {
                site.replace("certificate", Value::Text("off".into()), &place);
            }
        }
        is_served |= site.find("certificate").is_some() && site.texts("certificate") != ["off"];
    }
    if is_listening && !is_served {
        imported.top.remove("listen_tls");
        imported.sites.iter_mut().for_each(|site| site.remove("certificate"));
    }
}

/// Of an IP address.
fn ends_in_number(name: &str) -> bool {
    name.ends_with(']') || name.rsplit('.').next().is_some_and(|end| end.parse::<u32>().is_ok())
}

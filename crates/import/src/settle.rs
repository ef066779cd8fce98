//! Sites that can be served together.
//!
//! Invariants: 1. no host has two sites. 2. at most one site answers for any host.
//! 3. sites that differ only in their hosts are one. 4. no address to listen on takes
//! another one's port.

use std::collections::HashMap;
use std::net::SocketAddr;

use crate::found::{Imported, Place, Section, Value, Why};

/// Passes over the sites: each only takes something away, and hardly any needs a third.
const PASSES_MAX: usize = 8;

/// Brings what was found into order.
pub(crate) fn settle(imported: &mut Imported) {
    for name in ["listen", "listen_tls"] {
        keep_free_addresses(imported, name);
    }
    for _ in 0..PASSES_MAX {
        let before = imported.sites.clone();
        settle_sites(imported);
        // Sites whose certificates are alike now may be one.
        crate::tls::settle(imported);
        if imported.sites == before {
            break;
        }
    }
}

fn settle_sites(imported: &mut Imported) {
    let sites = std::mem::take(&mut imported.sites);
    let mut owners: HashMap<String, Place> = HashMap::new();
    let mut kept: Vec<Section> = Vec::new();
    let mut twins: HashMap<String, usize> = HashMap::new();
    for mut site in sites {
        let Some(place) = site.place.clone() else { continue };
        let had_hosts = site.find("hosts").is_some();
        keep_free_hosts(imported, &mut site, &place, &mut owners);
        if had_hosts && site.texts("hosts").is_empty() {
            continue;
        }
        let twin = twins.get(&besides_hosts(&site)).and_then(|&at| kept.get_mut(at));
        match twin {
            Some(twin) => {
                for host in site.texts("hosts").to_vec() {
                    twin.add("hosts", &host, &place);
                }
                if !had_hosts {
                    // Any host: the names say nothing any more.
                    twin.remove("hosts");
                }
                twin.is_default |= site.is_default;
            }
            None => {
                twins.insert(besides_hosts(&site), kept.len());
                kept.push(site);
            }
        }
    }
    keep_one_for_any_host(imported, &mut kept);
    imported.sites = kept;
}

/// All addresses of a port are one address only: the others are among them.
fn keep_free_addresses(imported: &mut Imported, name: &'static str) {
    let Some(setting) = imported.top.settings.iter_mut().find(|setting| setting.name == name)
    else {
        return;
    };
    let Value::List(texts) = &mut setting.value else { return };
    let all: Vec<SocketAddr> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    let is_covered = |address: SocketAddr| {
        let covers = |other: &SocketAddr| {
            other.ip().is_unspecified()
                && other.port() == address.port()
                && other.is_ipv4() == address.is_ipv4()
        };
        !address.ip().is_unspecified() && all.iter().any(covers)
    };
    texts.retain(|text| text.parse().is_ok_and(|address| !is_covered(address)));
}

/// Takes out the hosts that an earlier site answers for.
fn keep_free_hosts(
    imported: &mut Imported,
    site: &mut Section,
    place: &Place,
    owners: &mut HashMap<String, Place>,
) {
    let hosts = site.texts("hosts").to_vec();
    if hosts.is_empty() {
        return;
    }
    let mut free = Vec::new();
    for host in hosts {
        match owners.get(&host) {
            Some(owner) if owner != place => {
                let advice = format!(
                    "the site at {owner} answers for this host: Wick tells sites apart by host \
                     alone, not by port"
                );
                imported.leave(place, &host, Why::Cannot, advice);
            }
            _ => {
                owners.insert(host.clone(), place.clone());
                free.push(host);
            }
        }
    }
    if let Some(setting) = site.settings.iter_mut().find(|setting| setting.name == "hosts") {
        setting.value = Value::List(free);
    }
}

/// All that is said of a site but its hosts: the same for two that may be one.
fn besides_hosts(site: &Section) -> String {
    let others = site.settings.iter().filter(|setting| setting.name != "hosts");
    let mut rest: Vec<_> = others.map(|setting| (setting.name, &setting.value)).collect();
    rest.sort_by_key(|(name, _)| *name);
    format!("{rest:?}")
}

/// Of the sites without hosts the chosen one stays, or else the first.
fn keep_one_for_any_host(imported: &mut Imported, sites: &mut Vec<Section>) {
    let is_any = |site: &Section| site.texts("hosts").is_empty();
    let chosen = sites.iter().position(|site| is_any(site) && site.is_default);
    let Some(chosen) = chosen.or_else(|| sites.iter().position(is_any)) else { return };
    let mut at = 0;
    sites.retain(|site| {
        let is_kept = !is_any(site) || at == chosen;
        at += 1;
        if let (false, Some(place)) = (is_kept, &site.place) {
            let origin = site.texts("origin").join(", ");
            let advice = "another site answers for any host already: give this one a [[site]] \
                          with hosts = [\"name\"]";
            imported.leave(place, &origin, Why::Cannot, advice);
        }
        is_kept
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: usize, origin: &str, hosts: &[&str]) -> Section {
        let place = Place { file: "f".into(), line };
        let mut site = Section { place: Some(place.clone()), ..Section::default() };
        site.set("origin", Value::Text(origin.into()), &place);
        hosts.iter().for_each(|host| site.add("hosts", host, &place));
        site
    }

    #[test]
    fn hosts_have_one_site_and_twins_are_one() {
        for (sites, expected, left) in [
            (vec![site(1, "/a", &["x"]), site(2, "/b", &["x", "y"])], "/a:x /b:y", 1),
            (vec![site(1, "/a", &["x"]), site(2, "/b", &["x"])], "/a:x", 1),
            (vec![site(1, "/a", &["x"]), site(2, "/a", &["y"])], "/a:x,y", 0),
            (vec![site(1, "/a", &["x"]), site(2, "/a", &[])], "/a:", 0),
            (vec![site(1, "/a", &[]), site(2, "/b", &[])], "/a:", 1),
            (vec![site(1, "/a", &["x"]), site(1, "/a", &["x"])], "/a:x", 0),
        ] {
            let mut imported = Imported { sites, ..Imported::default() };
            settle(&mut imported);
            let told: Vec<_> = imported
                .sites
                .iter()
                .map(|site| {
                    format!("{}:{}", site.texts("origin")[0], site.texts("hosts").join(","))
                })
                .collect();
            assert_eq!((told.join(" ").as_str(), imported.left.len()), (expected, left));
        }
    }

    #[test]
    fn an_address_among_all_addresses_is_left_out() {
        let mut imported = Imported::default();
        let place = Place { file: "f".into(), line: 1 };
        for address in ["127.0.0.1:80", "[::1]:80", "0.0.0.0:80", "127.0.0.1:81"] {
            imported.top.add("listen", address, &place);
        }
        settle(&mut imported);
        assert_eq!(imported.top.texts("listen"), ["[::1]:80", "0.0.0.0:80", "127.0.0.1:81"]);
    }

    #[test]
    fn the_chosen_site_answers_for_any_host() {
        let mut chosen = site(2, "/b", &[]);
        chosen.is_default = true;
        let mut imported =
            Imported { sites: vec![site(1, "/a", &[]), chosen], ..Imported::default() };
        settle(&mut imported);
        assert_eq!(imported.sites.len(), 1);
        assert_eq!(imported.sites[0].texts("origin"), ["/b"]);
    }
}

//! What comes by plain HTTP where there is TLS: a CA that checks whose a name is gets its
//! proof, everybody else is sent to HTTPS.
//!
//! Law: RFC 8555 §8.3; RFC 9110 §15.4.9. Invariant: nobody is sent away for a name whose
//! certificate no browser would take.

use std::sync::atomic::Ordering;

use wire::RequestHead;

use crate::Server;
use crate::journey::Peers;
use crate::pipeline::Turn;
use crate::reply::Reply;

/// Where a CA looks for its proofs.
const PROOFS: &str = "/.well-known/acme-challenge/";

/// The answer to a request that needn't come to a site.
pub(crate) fn answer(server: &Server, head: &RequestHead, peers: Peers) -> Option<Turn> {
    let tls = server.tls.as_ref()?;
    if let Some(token) = head.target.strip_prefix(PROOFS) {
        // What isn't ours may be a proof of the site's own.
        let proof = tls.certificates.challenges.proof(token)?;
        return Some(Turn::Arrived(Reply::proof(proof)));
    }
    if peers.scheme != "http" || !redirects(server, head) {
        return None;
    }
    let tls_port = tls.port.load(Ordering::Relaxed);
    let address = address(&head.host, &head.target, peers.local.port(), tls_port);
    Some(Turn::Arrived(Reply::to_https(&address)))
}

/// Whether a request by plain HTTP is sent to HTTPS.
pub(crate) fn redirects(server: &Server, head: &RequestHead) -> bool {
    let Some(tls) = &server.tls else { return false };
    head.target.starts_with('/') && tls.certificates.redirects(split(&head.host).0)
}

/// Where to. Who names no port has come to 80, wherever we listen: something leads from there
/// to us, and then something leads from 443 as well.
fn address(host: &str, target: &str, local_port: u16, tls_port: u16) -> String {
    let (name, port) = split(host);
    let is_led = port.is_none() && local_port != 80;
    match tls_port == 443 || is_led {
        true => format!("https://{name}{target}"),
        false => format!("https://{name}:{tls_port}{target}"),
    }
}

/// A host without its port, and the port.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_page_is_named_with_a_port_only_where_it_is_needed() {
        for (host, local_port, tls_port, expected) in [
            ("a.test", 80, 443, "https://a.test/x?y"),
            ("a.test:80", 80, 443, "https://a.test/x?y"),
            ("a.test", 80, 8443, "https://a.test:8443/x?y"),
            ("a.test:8080", 8080, 8443, "https://a.test:8443/x?y"),
            ("a.test", 8080, 8443, "https://a.test/x?y"),
            ("[::1]", 80, 443, "https://[::1]/x?y"),
            ("[::1]:8080", 8080, 8443, "https://[::1]:8443/x?y"),
        ] {
            assert_eq!(address(host, "/x?y", local_port, tls_port), expected);
        }
    }
}

//! What a person reads at start and at stop.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base::amount::show_bytes;
use search::sphinx::Protocol;
use server::Server;
use wire::Coding;

use crate::certificates::{self, CertificatePlan};
use crate::own_user;
use crate::run::Running;

/// Writes to standard output. Somebody who no longer reads is no reason to stop serving.
pub(crate) fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Where a browser on this machine finds a listener: all addresses are none to go to.
pub(crate) fn url(address: SocketAddr) -> String {
    url_by("http", 80, address)
}

fn url_by(scheme: &str, port: u16, address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let here = SocketAddr::new(ip, address.port()).to_string();
    let here = here.strip_suffix(&format!(":{port}")).unwrap_or(&here);
    format!("{scheme}://{here}/")
}

/// Where it listens, what was found, and what to do next.
pub(crate) fn start(running: &Running) -> String {
    let Running { plan, addresses, addresses_tls, addresses_http3, found, .. } = running;
    let mut text = String::new();
    for line in found {
        let _ = writeln!(text, "  {line}");
    }
    let memory = show_bytes(plan.memory_bytes);
    let threads = match plan.threads {
        1 => "1 thread".to_owned(),
        many => format!("{many} threads"),
    };
    let _ = writeln!(text, "  cache     {memory} of memory, on {threads}");
    let _ = writeln!(text, "  state     {}", plan.state.display());
    if let Some(admin) = &running.admin {
        let told = admin.address.map(|address| format!("{} (how all this is)", url(address)));
        let trouble = admin.trouble.as_ref().map(|why| format!("none: {why}"));
        for told in told.into_iter().chain(trouble) {
            let _ = writeln!(text, "  admin     {told}");
        }
    }
    if let Some(user) = own_user::told() {
        let _ = writeln!(text, "  user      {user}");
    }
    let plain = addresses.iter().map(|&address| (address, url(address)));
    let tls = addresses_tls.iter().map(|&address| (address, url_by("https", 443, address)));
    for (address, url) in plain.chain(tls) {
        let all = if address.ip().is_unspecified() { "   (and all other addresses)" } else { "" };
        let _ = writeln!(text, "  listening {url}{all}");
    }
    text.push_str(&beside(running));
    for address in addresses_http3 {
        let _ = writeln!(text, "  HTTP/3    {address} over UDP");
    }
    if let Some(page) = first_page(running) {
        let try_it = format!("curl -sD- -o /dev/null {page}");
        let _ = writeln!(text, "\nTry it:  {try_it}   (Cache-Status tells why)");
        let state = plan.state.display();
        let _ = writeln!(text, "Ask why: wick explain {page} --state {state}");
    }
    let mut sites = addresses.iter().chain(addresses_tls).peekable();
    let has_sites = sites.peek().is_some();
    if has_sites && sites.all(|address| address.ip().is_loopback()) {
        text.push_str(
            "Only this machine can reach it; --domain NAME opens it to the world, with HTTPS.\n",
        );
    }
    let tracked = running.tracker.as_ref().map(|tracker| tracker.addresses().0);
    let mut tracked = tracked.into_iter().flatten().peekable();
    if tracked.peek().is_some() && tracked.all(|address| address.ip().is_loopback()) {
        text.push_str(
            "Only this machine can reach the tracker; listen = [\"0.0.0.0:2710\", \"[::]:2710\"] in \
             [tracker] opens it to the world.\n",
        );
    }
    text.push_str("Ctrl-C stops it.\n");
    text
}

/// What else is listened for.
fn beside(running: &Running) -> String {
    let mut text = String::new();
    if let Some(tracker) = &running.tracker {
        let (http, udp) = tracker.addresses();
        for address in http {
            let _ = writeln!(text, "  tracker   {}announce", url(address));
        }
        for address in udp {
            let _ = writeln!(text, "  tracker   udp://{address}/announce");
        }
    }
    for port in running.sphinx.iter().flat_map(|searching| searching.ports()) {
        let protocol = match port.protocol {
            Protocol::Binary => "",
            Protocol::MySql => " (SphinxQL)",
        };
        let _ = writeln!(text, "  sphinx    {}{protocol}", port.address);
    }
    text
}

/// A page that visitors ask for: by its name where there is a certificate for one.
fn first_page(running: &Running) -> Option<String> {
    let Running { plan, addresses, addresses_tls, .. } = running;
    let named = plan.sites.iter().filter(|site| site.certificate != CertificatePlan::Off);
    let name = named.flat_map(|site| certificates::names(&site.hosts)).next();
    match (addresses_tls.first(), name) {
        (Some(address), Some(name)) if address.port() == 443 => Some(format!("https://{name}/")),
        (Some(address), Some(name)) => Some(format!("https://{name}:{}/", address.port())),
        _ => addresses.first().map(|&address| url(address)),
    }
}

/// What was done, so that a short run tells something too.
pub(crate) fn stop(server: &Server, log_lost: u64) -> String {
    let counters = server.counters();
    let answers = counters.answers();
    let fetches = counters.fetches.read();
    let mut text = format!("\nStopped after {answers} answers, {fetches} asked of the origin.\n");
    let mut verdicts: Vec<_> = counters.verdicts().collect();
    verdicts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (verdict, count) in verdicts.iter().take(8) {
        let share = *count as f64 * 100.0 / answers.max(1) as f64;
        let _ = writeln!(text, "  {share:>5.1} %  {verdict}");
    }
    for (coding, counts) in Coding::ALL.into_iter().zip(&counters.codings) {
        let (before, after) = (counts.before_bytes.read(), counts.after_bytes.read());
        if before > 0 {
            let (before, after) = (show_bytes(before), show_bytes(after));
            let _ =
                writeln!(text, "  {before} of content were sent as {after} of {}", coding.as_str());
        }
    }
    for (count, what) in troubles(server, log_lost).into_iter().chain(disk_troubles(server)) {
        if count > 0 {
            let _ = writeln!(text, "  {count} {what}");
        }
    }
    text
}

/// The same of the disk.
fn disk_troubles(server: &Server) -> [(u64, &'static str); 4] {
    [
        (
            server.disk_counts().map_or(0, |counts| counts.dropped),
            "pages were not kept on the disk: it was too slow, or they were too large",
        ),
        (
            server.disk_counts().map_or(0, |counts| counts.damaged),
            "pages on the disk were damaged and were asked of the origin: see to the disk",
        ),
        (
            server.disk_reads_refused(),
            "requests went to the origin because too many waited for the disk",
        ),
        (
            server.counters().slices_not_kept.read(),
            "slices of large bodies were not kept on the disk: too many came at once, or it was too slow",
        ),
    ]
}

/// What bit or went wrong, and how often: each with what its owner reads of it.
fn troubles(server: &Server, log_lost: u64) -> Vec<(u64, &'static str)> {
    let counters = server.counters();
    vec![
        (counters.panics.read(), "tasks panicked, which is a defect of Wick's: please report it"),
        (counters.connections_refused.read(), "connections were turned away: there were too many"),
        (
            counters.connections_of_one.read(),
            "connections were turned away: their address had too many",
        ),
        (
            counters.introductions_refused.read(),
            "connections of proxy_protocol's proxies began with no header and were closed",
        ),
        (
            server.rates_forgotten(),
            "addresses over the rate were forgotten for others: too many come at once",
        ),
        (counters.connections_late.read(), "connections were closed for want of progress"),
        (counters.connections_cut.read(), "connections were cut: grace or upgrade_grace was over"),
        (counters.clients_slow.read(), "clients were let go: they sent or took less than min_rate"),
        (counters.handshakes_failed.read(), "TLS handshakes came to nothing"),
        (
            counters.connections_calmed.read(),
            "HTTP/2 or HTTP/3 connections were closed: their clients sent too much that asks for nothing",
        ),
        (
            counters.streams_refused.read(),
            "HTTP/2 or HTTP/3 requests were refused: their clients had reset too many still under way",
        ),
        (counters.streams_late.read(), "HTTP/2 or HTTP/3 answers were given up: nobody took them"),
        (
            counters.addresses_asked.read(),
            "HTTP/3 clients were asked to show that their address is theirs: many came at once",
        ),
        (
            counters.accept_failures.read(),
            "connections could not be accepted: raise the limit on open files",
        ),
        (
            counters.codings_put_off.read(),
            "times an answer stayed uncompressed, for want of memory or because others were at it",
        ),
        (
            counters.pages_withdrawn.read(),
            "shared pages turned out personal and were withdrawn: \"wick explain URL\" says why",
        ),
        (
            counters.purges_refused.read(),
            "purges were refused: only programs on this machine and purge_token may purge",
        ),
        (
            server.of_origins(|origin| origin.ejections.read()),
            "times an origin's server failed and was left out: standard error says which and why",
        ),
        (
            server.of_origins(|origin| origin.retries.read()),
            "requests met such a server and were sent to another",
        ),
        (
            server.of_origins(|origin| origin.retries_refused.read()),
            "requests could not be sent to another server: too many had been",
        ),
        (
            server.purges_widened(),
            "purges took more than was asked for: there were too many patterns or tags",
        ),
        (log_lost, "log lines were lost because the disk was too slow or full"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_one_that_can_be_gone_to() {
        for (address, shown) in [
            ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:80", "http://127.0.0.1/"),
            ("[::]:8080", "http://[::1]:8080/"),
            ("[::1]:80", "http://[::1]/"),
            ("203.0.113.7:8000", "http://203.0.113.7:8000/"),
        ] {
            assert_eq!(url(address.parse().expect("an address")), shown);
        }
    }
}

//! `wick check` on certificates: which there are, how long they are good, and what is missing.

use std::os::unix::fs::PermissionsExt;

use server::Facts;
use tokio::net::lookup_host;

use super::shelf::Shelf;
use super::{CertificatePlan, Files, names, told};
use crate::announce::say;
use crate::plan::{Plan, SitePlan};

const DAY_SECONDS: i64 = 86_400;

/// Says what holds for a site.
pub(crate) async fn check(plan: &Plan, site: &SitePlan, wrong: &mut Vec<String>) {
    if plan.listen_tls.is_empty() {
        return;
    }
    match &site.certificate {
        CertificatePlan::Off => say("  TLS       off\n"),
        CertificatePlan::Files(files) => check_own(site, files, wrong),
        CertificatePlan::Acme => {
            for name in names(&site.hosts) {
                check_issued(plan, &name, wrong).await;
            }
        }
    }
}

fn check_own(site: &SitePlan, files: &Files, wrong: &mut Vec<String>) {
    let shown = files.chain.display();
    let facts = match files.read() {
        Ok(identity) => identity.facts().clone(),
        Err(error) => {
            say(&format!("  TLS       {shown}\n"));
            return wrong.push(error.to_string());
        }
    };
    let (life, issuer) = (life(&facts), told::words(&facts.issuer));
    say(&format!("  TLS       {shown}: {}, {life}, by {issuer}\n", facts.names.join(", ")));
    check_stapling(&shown.to_string(), &facts, wrong);
    if facts.not_after < told::now() {
        wrong.push(format!("{shown} {life}: put a newer one in its place"));
    }
    for name in names(&site.hosts).iter().filter(|name| !facts.covers(name)) {
        wrong.push(format!("{shown} is not for {name}: browsers warn of it there"));
    }
    let mode = files.key.metadata().map(|data| data.permissions().mode());
    if mode.is_ok_and(|mode| mode & 0o004 != 0) {
        let key = files.key.display();
        wrong.push(format!("{key} holds a key that everybody can read: chmod 600 {key}"));
    }
}

/// Says whether its CA tells by OCSP that it was not revoked, and what hangs on that.
fn check_stapling(shown: &str, facts: &Facts, wrong: &mut Vec<String>) {
    match (&facts.responder, facts.must_staple) {
        (None, false) => {}
        (None, true) => wrong.push(format!(
            "{shown} is to be shown with its CA's word that it was not revoked (must-staple), and \
             names nobody who gives it: browsers refuse it; get one without"
        )),
        (Some(responder), must) => {
            say(&format!(
                "            stapled with what {} says of it (OCSP)\n",
                told::words(responder)
            ));
            if must {
                say("            browsers refuse it without (must-staple): get one without, so \
                     that it is served while the responder is out\n");
            }
        }
    }
}

async fn check_issued(plan: &Plan, name: &str, wrong: &mut Vec<String>) {
    let directories = &plan.acme.directories.0;
    let asked = directories.iter().map(|directory| told::host(directory)).collect::<Vec<_>>();
    match Shelf::of(&plan.state).certificate(name) {
        Some(lying) => {
            let (life, ca) = (life(lying.identity.facts()), told::host(&lying.directory));
            say(&format!("  TLS       {name}: {life}, by {ca}\n"));
            check_stapling(name, lying.identity.facts(), wrong);
        }
        None => {
            say(&format!("  TLS       {name}: none yet, {} is asked\n", asked.join(", then ")));
        }
    }
    if lookup_host((name, 443)).await.is_err() {
        wrong.push(format!(
            "{name} leads nowhere, so no CA issues a certificate for it: let its DNS name this \
             machine's address"
        ));
    }
    let is_at = |port| {
        let addresses = plan.listen.iter().chain(&plan.listen_tls);
        addresses.into_iter().any(|address| address.port() == port)
    };
    if plan.acme.directories.are_public() && !is_at(80) && !is_at(443) {
        say("            a CA comes to port 80 or 443: something must lead it from there to us\n");
    }
}

/// How long a certificate is good.
fn life(facts: &Facts) -> String {
    let (left, day) = (facts.not_after - told::now(), told::day(facts.not_after));
    match left {
        ..=0 => format!("has ended on {day}"),
        1..DAY_SECONDS => format!("good until {day}, less than a day"),
        _ => format!("good until {day}, {} days", left / DAY_SECONDS),
    }
}

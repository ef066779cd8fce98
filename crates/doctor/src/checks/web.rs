//! Apache with PHP inside.

use base::amount::show_bytes;

use super::{Check, Verdict, View, advice, fine};
use crate::finding::{Class, Confidence};

pub(super) const CHECKS: &[Check] = &[Check {
    number: 54,
    id: "mod_php",
    class: Class::Danger,
    needs: "Apache's settings, and the memory of its workers (as root)",
    formula: "MaxRequestWorkers ≤ what others leave ÷ p95 of Private_* of a worker; better: php-fpm",
    source: "Apache manual, prefork; apache2buddy",
    judge: mod_php,
}];

fn mod_php(view: &View<'_>) -> Option<Verdict> {
    let machine = view.machine;
    let loads_php = machine
        .directives
        .iter()
        .any(|one| one.name == "apache.loadmodule" && one.value.starts_with("php"));
    if !machine.processes.iter().any(|one| one.name == "apache2" || one.name == "httpd") {
        return fine("no Apache runs here");
    }
    if !loads_php {
        return fine("Apache runs no PHP itself");
    }
    let each = machine.process_bytes("apache2").or_else(|| machine.process_bytes("httpd"))?;
    let workers = machine
        .directives
        .iter()
        .rfind(|one| one.name == "apache.maxrequestworkers")
        .and_then(|one| one.value.parse::<u64>().ok())
        .unwrap_or(256);
    let spent = machine.processes.iter().filter(|one| one.name == "apache2" || one.name == "httpd");
    let spent: u64 = spent.filter_map(|one| one.private_bytes).sum();
    let others = view.budget.advised_bytes().saturating_sub(spent);
    let left = view.budget.spendable_bytes.saturating_sub(others);
    let room = (left / each.max(1)).max(1);
    let evidence = format!(
        "{workers} workers of {} each, and others leave {}, enough for {room}",
        show_bytes(each),
        show_bytes(left)
    );
    let found = advice(evidence)
        .gain("a worker with PHP inside is held by every picture and every slow visitor")
        .sure(Confidence::Medium)
        .revert("a2dismod proxy_fcgi mpm_event && a2enmod mpm_prefork php, and restart Apache");
    let better = "move PHP to php-fpm: a2dismod php mpm_prefork && a2enmod mpm_event proxy_fcgi \
                  setenvif && a2enconf php-fpm, and restart Apache";
    if workers > room {
        return found
            .fix(format!("MaxRequestWorkers {room} at most, at once; then {better}"))
            .found();
    }
    found.class(Class::Slow).fix(better).found()
}

//! `/metrics`: everything of [`Now`] under names that stay.
//!
//! A counter's name is that of the field it is counted in, behind what it is about; its help is
//! the field's comment. So a counter that is new is told here without being named here.
//! `packaging/grafana/wick.json` shows these names; a test holds it against them.

use base::Count;
use observe::alerts::Kind;
use observe::metrics::{self, Family, Page};
use policy::Verdict;

use super::cluster_metrics;
use super::now::{Cache, Now, PhpNow, SiteNow};
use super::subjects::DatabaseState;

/// Everything as a page of numbers.
pub(crate) fn page(now: &Now) -> Page {
    let mut page = Page::default();
    let build = [("version", now.version)];
    page.gauge("wick_build_details", "The version that runs.", &build, Some(true));
    page.gauge("wick_uptime_seconds", "Time since the start.", &[], Some(now.uptime_seconds));
    for (verdict, number) in &now.verdicts {
        answers(&mut page, *verdict, *number);
    }
    page.gauge("wick_connections", "Connections of visitors.", &[], Some(now.connections));
    page.gauge("wick_flights", "Fetches that others may wait for.", &[], Some(now.flights));
    counts(&mut page, "wick", &[], &now.counters);
    for coding in &now.codings {
        let labels = [("coding", coding.coding)];
        let (before, after) = (coding.before_bytes, coding.after_bytes);
        page.count("wick_coded_before_bytes", "Bodies before they were coded.", &labels, before);
        page.count("wick_coded_after_bytes", "The same bodies as they were sent.", &labels, after);
    }
    let lost = "Lines that the access log could not take.";
    page.count("wick_log_lines_lost", lost, &[], now.log_lines_lost);
    counts(&mut page, "wick_admin", &[], &now.admin);
    counts(&mut page, "wick_traces", &[], &now.traces);
    if let Some(observed) = &now.observed {
        let help = "How long answers took until their last byte was handed on; one hit in \
                    sixteen is timed and counts for those between.";
        page.times("wick_answer_seconds", help, &observed.times);
    }
    cache(&mut page, &now.cache);
    if let Some(disk) = &now.disk {
        let help = "Pages on the disk.";
        page.gauge("wick_disk_pages", help, &[], Some(disk.pages));
        let help = "What the files of those pages have.";
        page.gauge("wick_disk_used_bytes", help, &[], Some(disk.used_bytes));
        counts(&mut page, "wick_disk", &[], &disk.counts);
    }
    now.sites.iter().for_each(|one| site(&mut page, one));
    for certificate in &now.certificates {
        let names = certificate.names.join(" ");
        let help = "When a certificate ends, in unix time.";
        let name = "wick_certificate_end_timestamp_seconds";
        page.gauge(name, help, &[("names", &names)], Some(certificate.ends_seconds));
    }
    if let Some(tracker) = &now.tracker {
        tracker.put(&mut page);
    }
    for search in &now.searches {
        let labels = [("site", search.site.as_str())];
        let help = "Pages in the index of a site's search.";
        page.gauge("wick_search_pages", help, &labels, search.pages);
        let help = "What the files of that index have.";
        page.gauge("wick_search_disk_bytes", help, &labels, search.disk_bytes);
        counts(&mut page, "wick_search", &labels, &search.counters);
    }
    for audit in &now.audits {
        let labels = [("site", audit.site.as_str())];
        counts(&mut page, "wick_audit", &labels, &audit.counters);
    }
    if let Some(node) = &now.own_node {
        cluster_metrics::put(&mut page, node);
    }
    for kind in Kind::ALL {
        let raised = now.alerts.iter().filter(|alert| alert.kind == kind).count() as u64;
        let help = "Alerts of a kind that have begun and are not over.";
        page.gauge("wick_alerts_raised", help, &[("kind", kind.name())], Some(raised));
    }
    machine(&mut page, now);
    process(&mut page, now);
    page
}

fn answers(page: &mut Page, verdict: Verdict, number: u64) {
    let labels = [("verdict", verdict.word()), ("reason", verdict.reason())];
    let help = "Answers, by what became of the request and why.";
    page.count("wick_answers", help, &labels, number);
}

fn counts(page: &mut Page, about: &str, labels: &[(&str, &str)], counts: &[Count]) {
    for Count { name, what, number } in counts {
        let name = format!("{about}_{name}");
        match name.strip_suffix("_us") {
            // Times have one unit wherever they are told.
            Some(name) => page.number(
                Family {
                    name: &format!("{name}_seconds"),
                    kind: metrics::Kind::Counter,
                    help: what,
                },
                labels,
                *number as f64 / 1e6,
            ),
            None => page.count(&name, what, labels, *number),
        }
    }
}

fn cache(page: &mut Page, cache: &Cache) {
    for (name, help, bytes) in [
        ("wick_memory_figure_bytes", "The owner's figure for the process.", cache.memory_bytes),
        ("wick_cache_limit_bytes", "The most that the cache may hold now.", cache.limit_bytes),
        ("wick_cache_used_bytes", "What the cache holds.", cache.used_bytes),
        ("wick_cache_reserved_bytes", "Set aside for bodies under way.", cache.reserved_bytes),
    ] {
        page.gauge(name, help, &[], Some(bytes));
    }
    page.gauge("wick_cache_pages", "Responses in the cache.", &[], Some(cache.pages));
    counts(page, "wick_cache", &[], &cache.counts);
}

fn site(page: &mut Page, site: &SiteNow) {
    let labels = [("site", site.name.as_str())];
    counts(page, "wick_origin", &labels, &site.origin);
    counts(page, "wick_strangers", &labels, &site.strangers);
    counts(page, "wick_changes", &labels, &site.changes);
    for (name, help, number) in [
        ("wick_origin_slots", "Requests that may be with the origin at once.", site.slots),
        ("wick_origin_slots_taken", "Requests that are with the origin.", site.slots_taken),
        ("wick_origin_waiting", "Requests that wait for the origin.", site.waiting),
    ] {
        page.gauge(name, help, &labels, number);
    }
    let followed = "Whether changes of the site are heard.";
    page.gauge("wick_changes_followed", followed, &labels, site.is_followed);
    let widened = "Purges that took more than was asked for.";
    page.count("wick_purges_widened", widened, &labels, site.purges_widened);
    let forgotten = "Addresses over the rate that were forgotten for others.";
    page.count("wick_rates_forgotten", forgotten, &labels, site.rates_forgotten);
    if let Some(told) = &site.php {
        php(page, &labels, told);
    }
    site.databases.iter().for_each(|one| database(page, &site.name, one));
}

fn php(page: &mut Page, labels: &[(&str, &str)], php: &PhpNow) {
    let PhpNow { restarts, pool, opcache } = php;
    if let Some(restarts) = restarts {
        page.count("wick_php_restarts", "Times that php-fpm was started again.", labels, *restarts);
    }
    if let Some(pool) = pool {
        for (name, help, number) in [
            ("wick_php_children", "Children of php-fpm.", pool.total),
            ("wick_php_children_active", "Children with a request.", pool.active),
            ("wick_php_children_idle", "Children without a request.", pool.idle),
            ("wick_php_queue", "Connections that wait for a child.", pool.queue),
        ] {
            page.gauge(name, help, labels, Some(number));
        }
        page.count("wick_php_accepted", "Connections that php-fpm took.", labels, pool.accepted);
        page.count("wick_php_slow", "Requests that were slow by php-fpm's log.", labels, pool.slow);
        let help = "How often no further child could be made.";
        page.count("wick_php_children_max_reached", help, labels, pool.children_max_reached);
    }
    let Some(opcache) = opcache else { return };
    for (name, help, number) in [
        ("wick_opcache_used_bytes", "Memory with scripts in it.", opcache.used_bytes),
        ("wick_opcache_free_bytes", "Memory for more scripts.", opcache.free_bytes),
        ("wick_opcache_wasted_bytes", "Memory of scripts that changed.", opcache.wasted_bytes),
        ("wick_opcache_scripts", "Scripts in the opcode cache.", opcache.scripts),
        ("wick_opcache_keys", "Names of scripts.", opcache.keys),
        ("wick_opcache_keys_limit", "The most names that there may be.", opcache.keys_max),
    ] {
        page.gauge(name, help, labels, Some(number));
    }
    page.count("wick_opcache_hits", "Looks that found a script.", labels, opcache.hits);
    page.count("wick_opcache_misses", "Looks that found none.", labels, opcache.misses);
    page.count("wick_opcache_restarts", "Restarts because it was full.", labels, opcache.restarts);
}

fn database(page: &mut Page, site: &str, database: &DatabaseState) {
    let labels = [("site", site), ("database", database.name.as_str()), ("kind", database.kind)];
    let up = "Whether the database server lets itself be asked.";
    page.gauge("wick_database_up", up, &labels, Some(database.lost.is_none()));
    for (name, help, number) in [
        ("wick_database_connections", "Connections to the server.", database.connections),
        ("wick_database_running", "Connections that work at the moment.", database.running),
    ] {
        page.gauge(name, help, &labels, number);
    }
    for (name, help, number) in [
        (
            "wick_database_questions",
            "Statements, or transactions of PostgreSQL, since the server's start.",
            database.questions,
        ),
        ("wick_database_slow", "Statements that took long.", database.slow),
        ("wick_database_memory_hits", "Reads that memory answered.", database.memory_hits),
        ("wick_database_memory_misses", "Reads that went to the disk.", database.memory_misses),
    ] {
        if let Some(number) = number {
            page.count(name, help, &labels, number);
        }
    }
}

fn machine(page: &mut Page, now: &Now) {
    let machine = &now.machine;
    let cores = Some(machine.cores.len() as u64).filter(|cores| *cores > 0);
    page.gauge("wick_machine_cores", "Cores.", &[], cores);
    for (at, share) in machine.cores.iter().enumerate() {
        let core = at.to_string();
        let help = "How busy a core was in the last second.";
        page.gauge("wick_machine_core_busy_ratio", help, &[("core", &core)], Some(*share));
    }
    page.gauge("wick_machine_load", "Programs that work or wait to.", &[], machine.load);
    for (resource, ratio) in [
        ("processor", machine.pressure_processor_ratio),
        ("memory", machine.pressure_memory_ratio),
        ("disk", machine.pressure_disk_ratio),
    ] {
        let help = "The share of the last ten seconds in which somebody waited for a resource.";
        page.gauge("wick_machine_pressure_ratio", help, &[("resource", resource)], ratio);
    }
    for (name, help, number) in [
        ("wick_machine_memory_bytes", "All memory.", machine.memory_total_bytes),
        (
            "wick_machine_memory_available_bytes",
            "Memory that programs could still have.",
            machine.memory_available_bytes,
        ),
        ("wick_machine_swap_bytes", "All of the swap.", machine.swap_total_bytes),
        ("wick_machine_swap_used_bytes", "What of it is used.", machine.swap_used_bytes),
        ("wick_machine_disk_bytes", "The disk of the state folder.", machine.disk_total_bytes),
        ("wick_machine_disk_free_bytes", "What of it is free.", machine.disk_free_bytes),
        (
            "wick_machine_accept_queue",
            "Connections that wait to be accepted by Wick.",
            machine.accept_queue,
        ),
    ] {
        page.gauge(name, help, &[], number);
    }
    for (name, help, number) in [
        ("wick_machine_disk_read_bytes", "Bytes read from disks.", machine.disk_read_bytes),
        ("wick_machine_disk_written_bytes", "Bytes written to disks.", machine.disk_written_bytes),
        (
            "wick_machine_network_received_bytes",
            "Bytes that came over the network.",
            machine.network_received_bytes,
        ),
        (
            "wick_machine_network_sent_bytes",
            "Bytes that went over the network.",
            machine.network_sent_bytes,
        ),
        (
            "wick_machine_accept_overflows",
            "Connections that found the queue of a listener full, of any program.",
            machine.accept_overflows,
        ),
    ] {
        if let Some(number) = number {
            page.count(name, help, &[], number);
        }
    }
    seconds(page, "wick_machine_busy_seconds", "Work of all cores.", machine.busy_seconds);
    let stolen = "Work that the host kept the cores from.";
    seconds(page, "wick_machine_stolen_seconds", stolen, machine.stolen_seconds);
}

/// Names that every program's own numbers have.
fn process(page: &mut Page, now: &Now) {
    let process = now.machine.process;
    for (name, help, number) in [
        ("process_resident_memory_bytes", "Memory of the process.", process.resident_bytes),
        ("process_open_fds", "Open descriptors.", process.descriptors),
        ("process_max_fds", "The most that there may be.", process.descriptors_max),
        ("process_threads", "Threads.", process.threads),
    ] {
        page.gauge(name, help, &[], number);
    }
    seconds(page, "process_cpu_seconds", "Work of the process.", process.busy_seconds);
}

fn seconds(page: &mut Page, name: &str, help: &str, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        page.number(Family { name, kind: metrics::Kind::Counter, help }, &[], seconds);
    }
}

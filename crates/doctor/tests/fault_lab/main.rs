//! The fault lab: a tuned host of which nothing is found, and one fault after the other put in.
//!
//! A host is a recorded tree, made here: files as the kernel and packages write them, answers
//! of the database and php-fpm as they give them. `bench/doctor --only faults` prints what is found
//! of each.

mod faults;
mod host;
mod silence;

use std::time::Duration;

use doctor::Class;
use doctor::read::{Options, look};

use faults::{FAULTS, NO_FAULTS, PG_FAULTS, POOL_FILE, UNKNOWN, VARIABLES_FILE};
use host::{Host, Lab, PHP, STATUS};

#[test]
fn each_fault_of_a_postgresql_is_found_and_hardly_anything_else() {
    let lab = Lab::of(Host::with_postgresql());
    assert_eq!(lab.examine(&[]).findings, []);
    let missed = lab.missed(PG_FAULTS, 1);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), PG_FAULTS.len(), missed.join("\n"));
}

#[test]
fn of_a_tuned_host_nothing_is_found() {
    let examination = Host::tuned().examine();
    assert_eq!(examination.findings, []);
    let unjudged: Vec<_> = examination.unseen.iter().map(|one| one.id).collect();
    assert!(examination.fine.len() >= 56, "only these weren't judged: {unjudged:?}");
}

#[test]
fn each_fault_is_found_and_hardly_anything_else() {
    let missed = Lab::of(Host::tuned()).missed(FAULTS, 2);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), FAULTS.len(), missed.join("\n"));
}

#[test]
fn what_only_looks_like_a_fault_is_fine() {
    let lab = Lab::of(Host::tuned());
    for (id, edits) in NO_FAULTS {
        let examination = lab.examine(edits);
        assert_eq!(examination.findings, [], "{id} by {edits:?}");
        assert!(examination.fine.iter().any(|one| one.id == *id), "{id}: {examination:?}");
    }
}

#[test]
fn what_can_not_be_known_is_said_to_be_unknown() {
    let lab = Lab::of(Host::tuned());
    for (id, edits) in UNKNOWN {
        let examination = lab.examine(edits);
        assert_eq!(examination.findings, [], "{id} by {edits:?}");
        assert!(examination.unseen.iter().any(|one| one.id == *id), "{id}: {examination:?}");
    }
}

#[test]
fn the_table_of_faults_is_printed_and_nearly_all_are_found() {
    let mut tried = Lab::of(Host::tuned()).tried(FAULTS);
    tried.extend(Lab::of(Host::with_postgresql()).tried(PG_FAULTS));
    println!("| check | fault | found | other findings |\n| --- | --- | --- | --- |");
    tried.iter().for_each(|one| println!("{}", one.line()));
    let found = tried.iter().filter(|one| one.is_found).count();

    let (maria, postgres) = (Lab::of(Host::tuned()), Lab::of(Host::with_postgresql()));
    let mut alarms = 0;
    let mut look = |lab: &Lab, what: &str, edits| {
        let found = lab.examine(edits).findings.len();
        println!("| – | {what} | – | {found} |");
        alarms += found;
    };
    look(&maria, "a tuned host with MariaDB", &[]);
    look(&postgres, "a tuned host with PostgreSQL", &[]);
    for (id, edits) in NO_FAULTS {
        look(&maria, &format!("what only looks like a fault to `{id}`"), edits);
    }
    for (id, edits) in UNKNOWN {
        look(&maria, &format!("what `{id}` can't know"), edits);
    }
    let share = found as f64 * 100.0 / tried.len() as f64;
    println!("\n{found} of {} faults are found, {share:.1} %; {alarms} false alarms", tried.len());
    assert!(found * 100 >= tried.len() * 95);
    assert_eq!(alarms, 0);
}

/// A Wick's own php-fpm beside the package's, as a Wick writes its file.
fn beside_a_wick() -> Host {
    let mut host = Host::tuned();
    let file = "/run/wick/fpm/php-fpm.conf";
    host.put(
        file.trim_start_matches('/'),
        "; Written by wick at every start.\n[global]\ndaemonize = no\n[wick-1]\n\
         listen = /run/wick/fpm/php-fpm.sock\nlisten.backlog = 1024\npm = static\n\
         pm.max_children = 4\npm.max_requests = 5000\npm.status_path = /wick-status\n\
         request_terminate_timeout = 300s\n",
    );
    host.process(600, "php-fpm8.2", &format!("php-fpm: master process ({file})"), 8, 10);
    for pid in 601..=604 {
        host.process(pid, "php-fpm8.2", "php-fpm: pool wick-1", 40, 1);
        host.put(&format!("proc/{pid}/stat"), format!("{pid} (php-fpm8.2) S 600 1 1 0 -1\n"));
    }
    let status = STATUS.replace("www", "wick-1").replace("@accepted", "5000");
    host.put("recorded/fpm-wick-1.json", status.replace("@requests", "500").replace(":10", ":60"));
    host.put("recorded/php-_run_wick_fpm_php-fpm.conf.json", PHP);
    host
}

#[test]
fn a_wicks_own_php_fpm_is_judged_and_what_to_do_is_said_in_its_settings() {
    let host = beside_a_wick();
    let well = host.examine();
    assert_eq!(well.findings, []);
    let pools = well.fine.iter().find(|one| one.id == "opcache").expect("it was judged");
    assert!(pools.because.contains("PHP /run/wick/fpm/php-fpm.conf"), "{pools:?}");

    let status = "recorded/fpm-wick-1.json";
    let full = host.clone().with(status, "reached\":0", "reached\":9").examine().findings;
    let [found] = full.as_slice() else { panic!("{full:?}") };
    assert_eq!((found.id, found.subject.as_str()), ("pool_saturated", "wick-1"));
    assert_eq!(found.fix.changes, [], "a Wick would write over it");
    assert!(found.fix.words.contains("php_children = 6 for the site in wick.toml"), "{found:?}");

    let cache = "recorded/php-_run_wick_fpm_php-fpm.conf.json";
    let full = host.with(cache, "60000000", "130000000").examine().findings;
    let [found] = full.as_slice() else { panic!("{full:?}") };
    assert_eq!(found.subject, "PHP /run/wick/fpm/php-fpm.conf");
    assert!(found.fix.words.contains("opcache.memory_consumption = 192"), "{found:?}");
}

#[test]
fn each_of_several_versions_of_php_is_asked_for_its_own_opcode_cache() {
    let mut host = Host::tuned();
    host.put("etc/php/8.3/fpm/pool.d/www.conf", host.0["etc/php/8.2/fpm/pool.d/www.conf"].clone());
    let title = "php-fpm: master process (/etc/php/8.3/fpm/php-fpm.conf)";
    host.process(700, "php-fpm8.3", title, 8, 10);
    for pid in 701..=704 {
        host.process(pid, "php-fpm8.3", "php-fpm: pool www", 90, 1);
        host.put(&format!("proc/{pid}/stat"), format!("{pid} (php-fpm8.3) S 700 1 1 0 -1\n"));
    }
    let told = "recorded/php-8.3.json";
    host.put(told, PHP);
    assert_eq!(host.examine().findings, []);
    let found = host
        .clone()
        .with(told, "\"opcache.enable\":\"1\"", "\"opcache.enable\":\"0\"")
        .examine()
        .findings;
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((found.id, found.subject.as_str()), ("opcache", "PHP 8.3"));
    let change = found.fix.changes[0].to_string();
    assert_eq!(change, "php.ini of php-fpm 8.3: opcache.enable=1  (now 0)");

    // It is a pool of its own, though its name is another's.
    host.put("recorded/fpm-www@8.3.json", IDLE);
    let found = host.examine().findings;
    let [found] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(found.id, "pool_mode");
    assert_eq!(found.fix.changes[0].to_string(), "pool [www]: pm = ondemand  (now static)");
    assert!(found.evidence.contains("360.0 MiB") || found.evidence.contains("377"), "{found:?}");
}

/// Nine requests in three days.
const IDLE: &str = r#"{"pool":"www","start since":259200,"accepted conn":9,"listen queue":0,
    "max children reached":0,"processes":[]}"#;

#[test]
fn children_that_would_only_wait_for_processors_are_not_advised() {
    let (path, reached) = ("later/recorded/fpm-www.json", "\"max children reached\":");
    let mut host = Host::tuned().with(path, &format!("{reached}0"), &format!("{reached}4"));
    let words = |host: &Host| {
        let found = host.examine().findings;
        let found = found.iter().find(|one| one.id == "pool_saturated").expect("it is found");
        (found.fix.words.clone(), found.fix.changes.first().map(|change| change.new.clone()))
    };
    assert_eq!(words(&host).1.as_deref(), Some("30"), "there is room for half as many again");
    // 200 requests of 100 ms each, for which two children had a processor for 10 s each, that is all
    // of the time: four cores bear eight at most.
    for pid in [101, 102] {
        host.put(&format!("proc/{pid}/schedstat"), "5000000000 1 1\n");
        host.put(&format!("later/proc/{pid}/schedstat"), "25000000000 1 1\n");
    }
    let (told, change) = words(&host);
    assert_eq!(change, None);
    assert!(told.contains("not more children: a request takes 100.0 % of a processor"), "{told}");
    // For a tenth of it: 40 do.
    for pid in [101, 102] {
        host.put(&format!("later/proc/{pid}/schedstat"), "7000000000 1 1\n");
    }
    assert_eq!(words(&host).1.as_deref(), Some("30"));
}

#[test]
fn a_program_that_has_most_of_its_files_open_is_found() {
    let mut host = Host::tuned();
    for file in 2..700 {
        host.put(&format!("proc/300/fd/{file}"), "");
    }
    let found = host.examine().findings;
    assert_eq!((found.len(), found[0].id, found[0].subject.as_str()), (1, "open_files", "nginx"));
    assert_eq!(
        found[0].fix.changes[0].to_string(),
        "unit nginx.service: LimitNOFILE=65536  (now 1024)"
    );
}

#[test]
fn pools_of_a_php_fpm_that_does_not_run_are_left_alone() {
    let mut host = Host::tuned().with(POOL_FILE, "request_slowlog_timeout = 5s\n", "");
    assert_eq!(host.clone().examine().findings.len(), 1);
    for pid in 100..=120 {
        host.0.retain(|path, _| !path.starts_with(&format!("proc/{pid}/")));
    }
    assert_eq!(host.examine().findings, []);
}

#[test]
fn php_within_apache_is_found_wherever_its_workers_are_set() {
    for (file, text) in [
        (
            "etc/apache2/mods-enabled/mpm_prefork.conf",
            "<IfModule mpm_prefork_module>\nMaxRequestWorkers 151\n</IfModule>\n",
        ),
        ("etc/apache2/apache2.conf", "MaxRequestWorkers 151\n"),
        ("etc/apache2/sites-enabled/site.conf", "MaxClients 151\n"),
        (
            "etc/httpd/conf/httpd.conf",
            "<IfModule prefork.c>\nMaxRequestWorkers 151\n</IfModule>\n\
             <IfModule event.c>\nMaxRequestWorkers 9\n</IfModule>\n",
        ),
    ] {
        let mut host = Host::tuned();
        host.put(
            "etc/apache2/mods-enabled/php8.2.load",
            "LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so\n",
        );
        host.put(file, text);
        for pid in 500..510 {
            host.process(pid, "apache2", "/usr/sbin/apache2 -k start", 60, 20);
        }
        let found = host.examine().findings;
        let found = found.iter().find(|one| one.id == "mod_php").expect(file);
        assert_eq!(found.class, Class::Danger, "{found:?}");
        assert!(found.evidence.starts_with("151 workers of "), "{file}: {found:?}");
    }
}

#[test]
fn what_decides_over_durability_is_never_applied() {
    let faults = [("trx_commit\t1", "trx_commit\t0"), ("io_capacity\t2000", "io_capacity\t200")];
    for (from, to) in faults {
        let found = Host::tuned().with(VARIABLES_FILE, from, to).examine().findings;
        let changes = found.iter().flat_map(|finding| &finding.fix.changes);
        assert!(!changes.into_iter().any(|change| change.name.contains("flush_log")));
    }
}

#[test]
fn a_machine_without_anything_is_told_what_could_not_be_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::at(folder.path().to_owned(), Duration::ZERO);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let seen = runtime.expect("a runtime").block_on(look(&options));
    assert!(seen.expect_err("no machine").to_string().contains("/proc"));
}

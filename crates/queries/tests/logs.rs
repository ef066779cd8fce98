//! Logs of real servers: what is read of them, however they are cut.

use std::path::Path;

use queries::classes::Classes;
use queries::logs::{Format, Reading};
use queries::query::Query;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

fn log(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs").join(name);
    std::fs::read(path).expect("the log is there")
}

/// All that is told of a log that comes in pieces of these lengths, over and over.
fn told(log: &[u8], pieces: &[usize]) -> (Vec<String>, Reading) {
    let mut all = Vec::new();
    let mut reading = Reading::default();
    let mut rest = log;
    let mut lengths = pieces.iter().cycle();
    while !rest.is_empty() {
        let length = lengths.next().copied().unwrap_or(rest.len()).clamp(1, rest.len());
        let (piece, left) = rest.split_at(length);
        reading.take(piece, &mut |query: &Query<'_>| all.push(format!("{query:?}")));
        rest = left;
    }
    reading.end(&mut |query: &Query<'_>| all.push(format!("{query:?}")));
    (all, reading)
}

fn classes(log: &[u8]) -> (Classes, Reading) {
    let (mut classes, mut reading) = (Classes::default(), Reading::default());
    reading.take(log, &mut |query: &Query<'_>| classes.take(query));
    reading.end(&mut |query: &Query<'_>| classes.take(query));
    (classes, reading)
}

const LOGS: &[(&str, Format)] = &[
    ("mariadb-10.11.log", Format::Slow),
    // Made by hand from MariaDB's documents, of log_slow_verbosity = all: Debian has no such server.
    ("mariadb-11-by-hand.log", Format::Slow),
    ("mysql-8.0-extra.log", Format::Slow),
    ("mysql-5.7.log", Format::Slow),
    ("postgresql-15-stderr.log", Format::PostgresStderr),
    ("postgresql-15.csv", Format::PostgresCsv),
    ("postgresql-15.json", Format::PostgresJson),
    ("postgresql-15-json-plans.log", Format::PostgresStderr),
    ("postgresql-15-yaml-plans.log", Format::PostgresStderr),
];

#[test]
fn logs_are_known_and_read_whole() {
    for (name, format) in LOGS {
        let (_, reading) = classes(&log(name));
        assert_eq!(reading.format(), Some(*format), "{name}");
        assert_eq!(reading.faults().unread, 0, "{name}: {:?}", reading.faults());
    }
}

#[test]
fn cuts_change_nothing() {
    let mut dice = StdRng::seed_from_u64(7);
    for (name, _) in LOGS {
        let log = log(name);
        let (whole, _) = told(&log, &[]);
        assert!(whole.len() > 5, "{name}");
        for most in [3, 100, 4000] {
            let pieces: Vec<_> = (0..500).map(|_| dice.random_range(1..=most)).collect();
            assert_eq!(told(&log, &pieces).0, whole, "{name} in pieces up to {most}");
        }
    }
}

/// One class: its fingerprint, how often, and rows sent and examined.
fn row(classes: &Classes, fingerprint: &str) -> Option<(u64, u64, u64)> {
    let ranked = classes.ranked();
    let class = ranked.iter().find(|class| class.fingerprint == fingerprint)?;
    Some((class.sums.count, class.sums.rows_sent, class.sums.rows_examined))
}

#[test]
fn mariadb_is_told_with_its_plans() {
    let (classes, _) = classes(&log("mariadb-10.11.log"));
    let count = "select count(*) from posts where topic_id = ?";
    assert_eq!(row(&classes, count), Some((2, 2, 6000)));
    assert_eq!(row(&classes, "select * from posts where id in (?+)"), Some((2, 8, 8)));
    let multi = "insert into posts (topic_id, title) values (?+)";
    assert_eq!(row(&classes, multi), Some((1, 0, 0)), "a head in a text is no head");
    let ranked = classes.ranked();
    let class = ranked.iter().find(|class| class.fingerprint == count).expect("it is there");
    assert!(class.marks.full_scan && !class.marks.sort);
    assert!(class.example.plan.contains("posts\tALL"), "{}", class.example.plan);
    assert_eq!(
        (&*class.databases.names, &*class.users.names),
        (&["site".into()][..], &["root".into()][..])
    );
    assert_eq!(class.sums.seen, Some((1_795_413_933, 1_795_413_933)));
}

#[test]
fn what_engines_tell_of_pages_disturbs_nothing() {
    let (classes, _) = classes(&log("mariadb-11-by-hand.log"));
    let count = "select count(*) from posts where topic_id = ?";
    assert_eq!(row(&classes, count), Some((2, 2, 6000)));
    assert_eq!(classes.all.nanoseconds, 2_540_000_000);
    let ranked = classes.ranked();
    assert_eq!(
        (ranked[0].fingerprint.as_str(), &*ranked[0].databases.names),
        (count, &["site".into()][..])
    );
    assert!(ranked[0].marks.full_scan && !ranked[0].marks.temporary);
    assert!(ranked[0].example.plan.contains("posts\tALL"));
    let (temporary, sort) = (ranked[1].marks.temporary, ranked[1].marks.sort);
    assert!(temporary && sort && !ranked[1].marks.on_disk, "{:?}", ranked[1]);
}

#[test]
fn plans_in_json_and_yaml_give_rows_too() {
    for name in ["postgresql-15-json-plans.log", "postgresql-15-yaml-plans.log"] {
        let (classes, _) = classes(&log(name));
        let count = "select count(*) from posts where topic_id = ?";
        assert_eq!(row(&classes, count), Some((2, 2, 6000)), "{name}");
        let sorted = "select \"title\" from posts where title <> ? order by topic_id desc limit ?";
        assert_eq!(row(&classes, sorted), Some((1, 5, 3000)), "{name}");
        assert_eq!(
            row(&classes, "select * from posts where id in (?+)"),
            Some((1, 3, 3)),
            "{name}"
        );
        let ranked = classes.ranked();
        let class = ranked.iter().find(|class| class.fingerprint == sorted).expect("it is there");
        assert!(class.marks.full_scan && class.marks.sort, "{name}");
        assert!(class.example.plan.contains("Seq Scan"), "{}", class.example.plan);
    }
}

#[test]
fn mysql_is_told() {
    let (classes, _) = classes(&log("mysql-8.0-extra.log"));
    let count = "select count(*) from posts where topic_id = ?";
    assert_eq!(row(&classes, count), Some((2, 2, 1800)));
    assert!(classes.ranked().iter().any(|class| class.is_command && class.fingerprint == "Quit"));
    let marks = |words: &str| {
        let ranked = classes.ranked();
        let class = ranked.iter().find(|class| class.fingerprint.starts_with(words));
        let marks = class.expect("it is there").marks;
        (marks.full_scan, marks.temporary)
    };
    assert_eq!(marks("select count(*) from posts where topic_id"), (true, false));
    assert_eq!(marks("select * from posts where id in"), (false, false));
    assert_eq!(marks("insert into posts"), (false, true), "made of a temporary table");
    let (classes, _) = self::classes(&log("mysql-5.7.log"));
    let thread = "select * from thread where id = ?";
    assert_eq!(row(&classes, thread), Some((2, 2, 200)));
    let ranked = classes.ranked();
    let class = ranked.iter().find(|class| class.fingerprint == thread).expect("it is there");
    assert_eq!(class.databases.names, ["forum", "shop"]);
    assert_eq!(class.hosts.names, ["192.0.2.7", "web.example.org"]);
    assert_eq!(class.sums.lock_nanoseconds, 30_000);
}

#[test]
fn postgresql_is_told_the_same_in_each_layout() {
    let layouts = ["postgresql-15-stderr.log", "postgresql-15.csv", "postgresql-15.json"];
    let all: Vec<_> = layouts.iter().map(|name| classes(&log(name)).0).collect();
    for classes in &all {
        let count = "select count(*) from posts where topic_id = ?";
        assert_eq!(row(classes, count), Some((2, 2, 6000)), "a plan is no execution of its own");
        assert_eq!(row(classes, "execute one(?, ?)"), Some((1, 1, 1)));
        assert_eq!(row(classes, "select pg_sleep(?)"), Some((1, 1, 0)));
        assert_eq!(classes.all, all[0].all);
        let ranked = classes.ranked();
        let class = ranked.iter().find(|class| class.fingerprint == count).expect("it is there");
        assert!(class.marks.full_scan);
        assert_eq!(
            (&*class.users.names, &*class.databases.names),
            (&["postgres".into()][..], &["postgres".into()][..])
        );
    }
}

#[test]
fn what_is_damaged_is_counted_and_costs_no_more_than_itself() {
    for (name, _) in LOGS {
        let log = log(name);
        let (sound, _) = classes(&log);
        let line = log.iter().skip(log.len() / 2).position(|byte| *byte == b'\n').unwrap_or(0);
        // Behind a whole entry, at the end: what follows nothing is read as nothing.
        let damaged = [&log[..], b"\x00\xff garbage 'secret'\n{\n"].concat();
        let (hurt, reading) = classes(&damaged);
        assert!(line < log.len());
        assert!(hurt.all.count >= sound.all.count - 1, "{name}");
        let examples = reading.faults().examples.join("\n");
        assert!(!examples.contains("secret"), "{examples}");
    }
}

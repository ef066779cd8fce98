//! What holds for any statement: seeded, so that a failure comes again.

use queries::fingerprint::{FINGERPRINT_BYTES_MAX, Fingerprinter};
use queries::tokens::{Dialect, redact};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

const BOTH: [Dialect; 2] = [Dialect::MySql, Dialect::Postgres];

/// Pieces that statements, and what is none, are made of.
const PIECES: &[&str] = &[
    "select", "in", "values", "VALUE", "array", "limit", "offset", "is", "not", "null", "true",
    "x", "n", "e", "_utf8", "t1", "2fa", "@v", "1", "0x1f", "1.5e-3", ".5", "1e5", "'a'",
    "'it''s'", "'b\\'", "\"q\"", "`n`", "`", "'", "\"", "$1", "$$", "$t$", "?", "?+", "(", ")",
    "[", "]", ",", ".", ";", "+", "-", "--", "-- ", "#", "/*", "/*!", "/*!50000", "*/", "*", "/",
    "=", "<=>", "->", "->>", "::", "|", "||", ":", "@", "\\", "\n", " ", " ", " ", "é", "\0",
    "(?+)", "(1,2)", "('a',3)", "u&'x'", "from", "between", "and", "9a.9b", "1.a", "a.1", "{", "}",
    "!", "%",
];

fn soup(dice: &mut StdRng) -> String {
    let count = dice.random_range(0..24);
    (0..count).filter_map(|_| PIECES.choose(dice).copied()).collect()
}

#[test]
fn the_fingerprint_of_a_fingerprint_is_itself() {
    let mut dice = StdRng::seed_from_u64(11);
    let mut maker = Fingerprinter::default();
    for _ in 0..100_000 {
        let statement = soup(&mut dice);
        for dialect in BOTH {
            let first = maker.of(statement.as_bytes(), dialect).to_vec();
            assert!(first.len() <= FINGERPRINT_BYTES_MAX + 260);
            let second = maker.of(&first, dialect);
            assert_eq!(
                String::from_utf8_lossy(second),
                String::from_utf8_lossy(&first),
                "{dialect:?}: {statement:?}"
            );
        }
    }
}

/// A literal, and what of it would be seen if it were not taken for one.
fn literal(dice: &mut StdRng, dialect: Dialect) -> String {
    let noise = ["", " ", "''", "--", "/*", "*/", "(", ",", ";", "#", "`", "\n", "?"];
    let mut text = String::from("secret");
    (0..3).for_each(|_| text.push_str(noise.choose(dice).copied().unwrap_or_default()));
    match (dice.random_range(0..5), dialect) {
        (0, Dialect::MySql) => format!("\"{text}\\\"secret\""),
        (1, Dialect::MySql) => format!("'{text}\\'secret'"),
        (2, Dialect::MySql) => format!("_utf8mb4'{text}'"),
        (0, Dialect::Postgres) => format!("$tag${text}'secret$tag$"),
        (1, Dialect::Postgres) => format!("E'{text}\\'secret'"),
        (2, Dialect::Postgres) => format!("U&'{text}'"),
        (3, _) => "0xfacade".to_owned(),
        _ => format!("'{text}'"),
    }
}

#[test]
fn no_literal_survives() {
    let mut dice = StdRng::seed_from_u64(12);
    let mut maker = Fingerprinter::default();
    for _ in 0..20_000 {
        for dialect in BOTH {
            let mut one = || literal(&mut dice, dialect);
            let statement = format!(
                "SELECT a FROM t1 WHERE b = {} AND c IN ({}, {}) /* secret */ OR d LIKE {} LIMIT {}",
                one(),
                one(),
                one(),
                one(),
                one()
            );
            let told = maker.of(statement.as_bytes(), dialect);
            let expected = "select a from t1 where b = ? and c in (?+) or d like ? limit ?";
            assert_eq!(String::from_utf8_lossy(told), expected, "{statement}");
            // Nor where it is cut off anywhere.
            let cut = dice.random_range(0..=statement.len());
            let told = redact(&statement.as_bytes()[..cut], dialect);
            assert!(!told.contains("secret") && !told.contains("facade"), "{told}");
        }
    }
}

//! Layers: which room of the house may know of which.
//!
//! Invariants: 1. a crate depends on lower rows only, never on its own row: what
//! two neighbours share belongs below them. 2. a crate that stands in no row is
//! an error, so that a new one is placed on purpose.

use crate::metadata::Metadata;

/// The house, lowest row first. Rooms that are not built yet have their place already.
const ROWS: &[&[&str]] = &[
    &["base", "resident", "loopback"],
    &["wire"],
    &[
        "policy",
        "align",
        "store",
        "origin",
        "changes",
        "import",
        "transform",
        "markup",
        "crawl",
        "conformance",
        "db",
    ],
    &["server", "observe", "tracker", "search", "audit", "doctor", "queries", "loadgen", "cluster"],
    &["wick", "testkit", "xtask"],
    // The fuzz targets reach into every room, the scene parser included.
    &["fuzz"],
];

/// Every edge that points up or sideways, and every crate without a place.
pub(crate) fn check(metadata: &Metadata) -> Vec<String> {
    let mut findings = Vec::new();
    for package in metadata.ours() {
        let Some(own) = row(&package.name) else {
            findings.push(format!(
                "{}: stands in no row; give it a place in xtask/src/layers.rs",
                package.name
            ));
            continue;
        };
        for need in package.dependencies.iter().filter(|need| need.path.is_some()) {
            let Some(other) = row(&need.name) else { continue };
            if other >= own {
                let way = if other == own { "beside" } else { "above" };
                findings.push(format!(
                    "{} depends on {}, which is {way} it; only lower rows may be used",
                    package.name, need.name
                ));
            }
        }
    }
    findings
}

fn row(name: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::check as check_layers;
    use crate::metadata::samples::{graph, ours};

    fn check(name: &str, needs: &[&str], expected: &[&str]) {
        let found = check_layers(&graph(vec![ours(name, needs)]));
        assert_eq!(found, expected, "{name} -> {needs:?}");
    }

    #[test]
    fn arrows_point_down() {
        check("server", &["base", "wire", "policy", "store", "origin"], &[]);
        check("testkit", &["server"], &[]);
        check("fuzz", &["testkit"], &[]);
        check(
            "wire",
            &["policy"],
            &["wire depends on policy, which is above it; only lower rows may be used"],
        );
    }

    #[test]
    fn neighbours_do_not_see_each_other() {
        check(
            "store",
            &["policy", "base"],
            &["store depends on policy, which is beside it; only lower rows may be used"],
        );
        check(
            "wick",
            &["testkit"],
            &["wick depends on testkit, which is beside it; only lower rows may be used"],
        );
    }

    #[test]
    fn a_crate_without_a_place_is_told() {
        check(
            "attic",
            &["base", "resident"],
            &["attic: stands in no row; give it a place in xtask/src/layers.rs"],
        );
    }
}

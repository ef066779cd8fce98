//! Dependencies: each from the registry, each on terms that fit ours.
//!
//! Invariant: the terms are those of the lock file on every platform, not only of
//! what this machine happens to build.

use std::collections::BTreeMap;

use crate::metadata::{Metadata, Package};
use crate::spdx::is_allowed;

/// The one registry that a dependency may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Permissive terms, none of which asks anything of Wick's users.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Terms that bind the files under them, and none that are beside or link to them. These are
/// used as their authors publish them, so what is asked is to say where they come from:
/// `packaging/copyright` does. A changed copy would have to be published.
const FILE_BY_FILE: &[&str] = &["MPL-2.0"];

/// Terms allowed for one package only.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The fuzzer's C++ runtime; it is in no binary that leaves this repository.
    ("libfuzzer-sys", "NCSA"),
];

/// What is wrong; also prints which packages are there in several major versions.
pub(crate) fn check(metadata: &Metadata) -> Vec<String> {
    let twice = several_majors(metadata);
    println!("    {} packages", metadata.packages.len());
    for (name, versions) in twice {
        println!("    in several major versions: {name} {}", versions.join(", "));
    }
    metadata.packages.iter().flat_map(|package| faults(metadata, package)).collect()
}

fn faults(metadata: &Metadata, package: &Package) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: String| {
        faults.push(format!("{} {}: {what}", package.name, package.version));
    };
    match &package.source {
        None if !metadata.is_ours(package) => fault("lies outside the workspace".to_owned()),
        Some(source) if source != REGISTRY => fault(format!("comes from {source}")),
        _ => {}
    }
    match &package.license {
        None => fault("states no licence".to_owned()),
        Some(terms) => match is_allowed(terms, &allowed_for(&package.name)) {
            Ok(true) => {}
            Ok(false) => fault(format!("`{terms}` is not among the allowed licences")),
            Err(error) => fault(format!("`{terms}` can't be read: {error}")),
        },
    }
    faults
}

fn allowed_for(name: &str) -> Vec<&'static str> {
    let own = EXCEPTIONS.iter().filter(|(package, _)| *package == name).map(|(_, term)| *term);
    ALLOWED.iter().chain(FILE_BY_FILE).copied().chain(own).collect()
}

/// Packages of which more than one incompatible version is in the graph.
fn several_majors(metadata: &Metadata) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in &metadata.packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, all| all.windows(2).any(|pair| major(pair[0]) != major(pair[1])));
    versions
}

/// The part of a version that cargo holds incompatible with every other.
fn major(version: &str) -> &str {
    let mut kept = version.match_indices('.').map(|(at, _)| &version[..at]);
    let first = kept.next().unwrap_or(version);
    if first == "0" { kept.next().unwrap_or(version) } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::samples::{foreign, graph, ours};

    fn check(package: Package, expected: &[&str]) {
        assert_eq!(super::check(&graph(vec![package])), expected);
    }

    #[test]
    fn permissive_terms_pass_and_others_are_told() {
        check(foreign("good", "1.0.0", Some("MIT OR GPL-3.0-only")), &[]);
        check(
            foreign("bad", "1.0.0", Some("GPL-3.0-only")),
            &["bad 1.0.0: `GPL-3.0-only` is not among the allowed licences"],
        );
        check(foreign("by-file", "1.0.0", Some("MPL-2.0")), &[]);
        check(foreign("none", "1.0.0", None), &["none 1.0.0: states no licence"]);
        check(
            foreign("odd", "1.0.0", Some("MIT OR")),
            &["odd 1.0.0: `MIT OR` can't be read: it ends in the middle"],
        );
    }

    #[test]
    fn an_exception_holds_for_its_package_only() {
        check(foreign("libfuzzer-sys", "0.4.0", Some("(MIT OR Apache-2.0) AND NCSA")), &[]);
        check(
            foreign("other", "0.4.0", Some("NCSA")),
            &["other 0.4.0: `NCSA` is not among the allowed licences"],
        );
    }

    #[test]
    fn a_dependency_from_elsewhere_is_told() {
        let mut fork = foreign("fork", "1.0.0", Some("MIT"));
        fork.source = Some("git+https://example.org/fork".to_owned());
        check(fork, &["fork 1.0.0: comes from git+https://example.org/fork"]);

        let mut metadata = graph(vec![ours("stray", &[])]);
        metadata.workspace_members.clear();
        assert_eq!(super::check(&metadata), ["stray 0.1.0: lies outside the workspace"]);
    }

    #[test]
    fn versions_that_cargo_may_not_swap_are_listed() {
        let package = |version| foreign("twice", version, Some("MIT"));
        let listed = |first, second| {
            !several_majors(&graph(vec![package(first), package(second)])).is_empty()
        };
        assert!(listed("1.2.0", "2.0.0"));
        assert!(listed("0.1.9", "0.2.0"));
        assert!(!listed("1.2.0", "1.9.1"));
        assert!(!listed("0.3.1", "0.3.7"));
    }
}

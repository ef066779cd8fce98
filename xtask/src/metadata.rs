//! What cargo knows of the workspace and of everything that it depends on.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// The part of `cargo metadata` that the checks read.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    /// Every package of the dependency graph, on every platform.
    pub(crate) packages: Vec<Package>,
    /// Which of them are ours.
    pub(crate) workspace_members: Vec<String>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Cargo's own name for it, unique.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// An SPDX expression, when its author wrote one.
    pub(crate) license: Option<String>,
    /// Where it comes from; a folder on this machine has none.
    pub(crate) source: Option<String>,
    /// What it asks for, of every kind: normal, development, build.
    pub(crate) dependencies: Vec<Dependency>,
    /// What is built of it.
    pub(crate) targets: Vec<Target>,
}

/// One thing that is built of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    /// What cargo's options call it.
    pub(crate) name: String,
    /// `test` for integration tests; `lib`, `bin` and others.
    pub(crate) kind: Vec<String>,
}

/// One thing that a package asks for.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    /// The package's name, whatever it is renamed to.
    pub(crate) name: String,
    /// The folder, for a dependency named by path.
    pub(crate) path: Option<String>,
}

impl Metadata {
    /// Asks cargo, which must not change the lock file.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("cargo can't be started: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("cargo metadata can't be read: {error}"))
    }

    /// Whether the package is one of the workspace's own.
    pub(crate) fn is_ours(&self, package: &Package) -> bool {
        self.workspace_members.contains(&package.id)
    }

    /// The workspace's own packages.
    pub(crate) fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.is_ours(package))
    }
}

#[cfg(test)]
pub(crate) mod samples {
    //! Small graphs for the tests of the checks.

    use super::{Dependency, Metadata, Package};

    /// The one registry that is allowed.
    pub(crate) const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

    /// A package of ours that depends on others of ours.
    pub(crate) fn ours(name: &str, needs: &[&str]) -> Package {
        let dependency =
            |need: &&str| Dependency { name: (*need).to_owned(), path: Some((*need).to_owned()) };
        Package {
            dependencies: needs.iter().map(dependency).collect(),
            source: None,
            ..foreign(name, "0.1.0", Some("MIT OR Apache-2.0"))
        }
    }

    /// A package from the registry.
    pub(crate) fn foreign(name: &str, version: &str, license: Option<&str>) -> Package {
        Package {
            id: format!("{name} {version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.map(str::to_owned),
            source: Some(REGISTRY.to_owned()),
            dependencies: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// A graph in which every package without a source is a member.
    pub(crate) fn graph(packages: Vec<Package>) -> Metadata {
        let ours = packages.iter().filter(|package| package.source.is_none());
        Metadata { workspace_members: ours.map(|package| package.id.clone()).collect(), packages }
    }
}

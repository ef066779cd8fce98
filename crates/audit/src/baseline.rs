//! An earlier report that a run is compared with: that of the last deploy, say.
//!
//! In: a file as `--format json` wrote it. Out: what it found of each site, by mark.
//! Invariant: a report that doesn't tell all of a site is no baseline of it.
//! Start at [`Baseline::read`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use url::Url;

use crate::finding::Finding;
use crate::report::FORM;

/// A file that is larger isn't read.
const BYTES_MAX: u64 = 512 << 20;

/// Why a file is no baseline.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It can't be read.
    #[error("the baseline {0} can't be read: {1}")]
    File(PathBuf, std::io::Error),
    /// It is larger than any report.
    #[error("the baseline {0} has more than {max} MiB", max = BYTES_MAX >> 20)]
    Large(PathBuf),
    /// It is something else.
    #[error("the baseline {0} is no report of an audit ({1}); write one by --format json > {0}")]
    Other(PathBuf, String),
    /// It was written by another version.
    #[error("the baseline {0} has the form {1}, and not {FORM}: write it anew with this version")]
    Form(PathBuf, u32),
    /// It doesn't have the site.
    #[error("the baseline {path} has no report of {site}; it has {known}")]
    Missing {
        /// The file.
        path: PathBuf,
        /// The site.
        site: String,
        /// The sites that it has.
        known: String,
    },
    /// It has half of the site.
    #[error("the baseline {0} doesn't tell all of {1}, as that audit didn't end: make it anew")]
    Half(PathBuf, String),
}

#[derive(Deserialize)]
struct Told {
    form: u32,
    sites: Vec<ToldSite>,
}

#[derive(Deserialize)]
struct ToldSite {
    site: String,
    is_whole: bool,
    findings: Vec<Finding>,
}

/// What an earlier report found.
#[derive(Clone, Debug)]
pub struct Baseline {
    path: PathBuf,
    /// Sites, and whether it tells all of each.
    sites: HashMap<String, (bool, HashMap<u64, Finding>)>,
}

impl Baseline {
    /// Reads a report.
    ///
    /// # Errors
    /// It isn't one, or of another version.
    pub fn read(path: &Path) -> Result<Self, BaselineError> {
        let unread = |error| BaselineError::File(path.to_owned(), error);
        if std::fs::metadata(path).map_err(unread)?.len() > BYTES_MAX {
            return Err(BaselineError::Large(path.to_owned()));
        }
        let text = std::fs::read(path).map_err(unread)?;
        let told: Told = serde_json::from_slice(&text)
            .map_err(|error| BaselineError::Other(path.to_owned(), error.to_string()))?;
        if told.form != FORM {
            return Err(BaselineError::Form(path.to_owned(), told.form));
        }
        let sites = told.sites.into_iter().map(|site| {
            let marked = site.findings.into_iter().map(|finding| (finding.mark(), finding));
            (site.site, (site.is_whole, marked.collect()))
        });
        Ok(Self { path: path.to_owned(), sites: sites.collect() })
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What it found of a site.
    ///
    /// # Errors
    /// It doesn't tell of that site, or not all of it.
    pub fn of(&self, site: &Url) -> Result<&HashMap<u64, Finding>, BaselineError> {
        match self.sites.get(site.as_str()) {
            Some((true, findings)) => Ok(findings),
            Some((false, _)) => Err(BaselineError::Half(self.path.clone(), site.to_string())),
            None => {
                let mut known: Vec<&str> = self.sites.keys().map(String::as_str).collect();
                known.sort_unstable();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let (path, site) = (self.path.clone(), site.to_string());
                Err(BaselineError::Missing { path, site, known })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Place, Severity};
    use crate::report::{Grouped, Report, SiteReport, json};

    fn written(text: &str) -> Result<Baseline, BaselineError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        std::fs::write(&path, text).unwrap();
        Baseline::read(&path)
    }

    #[test]
    fn a_report_is_read_as_it_was_written_and_nothing_else_is() {
        let finding = Finding {
            severity: Severity::Error,
            rule: "link-broken".to_owned(),
            url: "http://a.test/x".to_owned(),
            place: Place { line: 3, column: 1 },
            message: "it is \"there\"".to_owned(),
        };
        let findings = vec![Grouped { finding: finding.clone(), is_new: false }];
        let site = |site: &str, is_whole| SiteReport {
            site: site.to_owned(),
            is_whole,
            findings: findings.clone(),
            ..SiteReport::default()
        };
        let sites = vec![site("http://a.test/", true), site("http://b.test/", false)];
        let baseline = written(&json(&Report::of(sites))).unwrap();
        let url = |text: &str| Url::parse(text).unwrap();
        let found = baseline.of(&url("http://a.test/")).unwrap();
        assert_eq!(found.values().collect::<Vec<_>>(), [&finding]);
        assert!(found.contains_key(&finding.mark()));
        let half = baseline.of(&url("http://b.test/")).unwrap_err().to_string();
        assert!(half.contains("doesn't tell all of http://b.test/"), "{half}");
        let missing = baseline.of(&url("http://c.test/")).unwrap_err().to_string();
        assert!(missing.contains("it has http://a.test/, http://b.test/"), "{missing}");
        for wrong in ["", "{}", "[]", "{\"form\": 1, \"sites\": [{}]}"] {
            let error = written(wrong).unwrap_err().to_string();
            assert!(error.contains("is no report of an audit"), "{error}");
        }
        let other = written("{\"form\": 99, \"sites\": []}").unwrap_err().to_string();
        assert!(other.contains("has the form 99"), "{other}");
    }
}

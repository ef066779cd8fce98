//! Tidy: the parts of the house style that a machine can see.
//!
//! In: every source file of the repository. Out: findings as `file:line: what`.
//! Each check is a pure function of one file's path and text, so that its tests
//! can show it bad samples.

mod functions;
mod names;
mod note;
mod purity;

use std::path::Path;

/// No file may be longer; most are a quarter of it.
const FILE_LINES_MAX: usize = 800;

/// What else is read than Rust, for its length and its name.
const ENDINGS: &[&str] = &["rs", "php", "py", "sh", "js", "css"];

/// Folders that hold what others or machines wrote.
const SKIPPED: &[&str] = &["target", "node_modules", "corpus"];

/// Every finding in the repository.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    let mut files = 0;
    walk(root, &mut |path| {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{} can't be read: {error}", path.display()))?;
        let path = path.strip_prefix(root).unwrap_or(path);
        findings.extend(check_file(&path.to_string_lossy(), &text));
        files += 1;
        Ok(())
    })?;
    println!("    {files} files");
    Ok(findings)
}

fn check_file(path: &str, text: &str) -> Vec<String> {
    let mut findings: Vec<String> =
        names::check(path).into_iter().chain(file_length(path, text)).collect();
    if path.ends_with(".rs") {
        findings.extend(note::check(path, text));
        match syn::parse_file(text) {
            Ok(file) => {
                findings.extend(functions::check(path, &file));
                findings.extend(purity::check(path, text, &file));
            }
            Err(error) => {
                findings.push(format!("{path}:{}: {error}", error.span().start().line));
            }
        }
    }
    findings
}

fn file_length(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > FILE_LINES_MAX)
        .then(|| format!("{path}:{lines}: {lines} lines; {FILE_LINES_MAX} is the most"))
}

/// Calls `visit` for each source file below `folder`, in the order of their names.
fn walk(folder: &Path, visit: &mut dyn FnMut(&Path) -> Result<(), String>) -> Result<(), String> {
    let unreadable = |error| format!("{} can't be read: {error}", folder.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A link would show a file twice, or lead out of the repository.
        if name.starts_with('.') || SKIPPED.contains(&&*name) || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            walk(&path, visit)?;
        } else if path.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known)) {
            visit(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_over_the_limit_is_told_and_one_at_it_is_not() {
        assert_eq!(file_length("a.php", &"x\n".repeat(FILE_LINES_MAX)), None);
        assert_eq!(
            file_length("a.php", &"x\n".repeat(FILE_LINES_MAX + 1)).as_deref(),
            Some("a.php:801: 801 lines; 800 is the most"),
        );
    }

    #[test]
    fn every_check_looks_at_a_rust_file() {
        let body = "    step();\n".repeat(71);
        let text = format!("use std::fs;\nfn long() {{\n{body}}}\n");
        let findings = check_file("crates/policy/src/utils.rs", &text);
        let told = |what: &str| findings.iter().any(|finding| finding.contains(what));
        assert!(told("says nothing"), "{findings:?}");
        assert!(told("module note"), "{findings:?}");
        assert!(told("`long` has"), "{findings:?}");
        assert!(told("std::fs"), "{findings:?}");
        assert_eq!(findings.len(), 4, "{findings:?}");
    }

    #[test]
    fn a_file_that_is_no_rust_is_told() {
        let findings = check_file("crates/wire/src/broken.rs", "//! Broken.\n\nfn {\n");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("crates/wire/src/broken.rs:3: "), "{findings:?}");
    }
}

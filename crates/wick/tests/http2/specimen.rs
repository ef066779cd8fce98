//! An app whose form holds a token, laid out where it can write.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::wick::open_folder;

/// Lays the specimen, what it needs and folders for its data into a folder of its own.
pub(crate) fn lay_out() -> TempDir {
    let outer = open_folder();
    let specimens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specimens");
    for part in ["token-hidden-field", "lib"] {
        let from = specimens.join(part).display().to_string();
        let copied = Command::new("cp").args(["-rL", &from]).arg(outer.path()).status();
        assert!(copied.is_ok_and(|status| status.success()), "{from}");
    }
    let data = outer.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let (prepended, shown) = (outer.path().join("folders.php"), data.display());
    fs::write(&prepended, format!("<?php\nputenv('SPECIMEN_DATA={shown}');\n")).expect("a file");
    let settings = format!(
        "auto_prepend_file = \"{}\"\nsession.save_path = \"{shown}\"\n",
        prepended.display()
    );
    fs::write(outer.path().join("token-hidden-field/.user.ini"), settings).expect("a file");
    outer
}

/// What stands in `text` between the first `before` and the next quotation mark.
pub(crate) fn quoted<'a>(text: &'a str, before: &str) -> &'a str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default()
}
